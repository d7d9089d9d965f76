"""The catalogue of currencies: ids and aliases, search and hashes."""

from collections import Counter
from collections.abc import Callable

import pytest

from chalicelib.base.addresses import address_of_family
from chalicelib.chains.catalogue.data import InvalidData
from chalicelib.chains.catalogue.networks import ALL_NETWORKS, find_network
from chalicelib.chains.catalogue.tokens import (
    Token,
    _tokens_of,
    currency_hash,
    family_of,
    find_tokens,
    token_at,
    token_with_id,
)


def known(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None, id
    return found


def ids(tokens: tuple[Token, ...]) -> list[str]:
    return [each.id for each in tokens]


def test_a_token_has_the_nine_fields_of_the_interface() -> None:
    assert known("USDC-base") == Token(
        id="USDC-base",
        name="USD Coin",
        symbol="USDC",
        decimals=6,
        address="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        network="base",
        type="ERC20",
        hash="0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
        chain_id=8453,
    )


def test_the_catalogue_has_every_kind_of_currency() -> None:
    """How many there are is held by the published list (test_tokens_sources.py)."""
    counted = Counter(each.type for each in find_tokens())
    assert counted.keys() == {"ISO4217", "ERC20", "ETH", "TRC20"}
    assert (counted["ISO4217"], counted["ETH"]) == (179, sum(each.family == "evm" for each in ALL_NETWORKS))
    assert len({each.id for each in find_tokens()}) == counted.total()


def test_no_network_lists_a_symbol_or_an_address_twice() -> None:
    assert max(Counter((each.network, each.symbol.lower()) for each in find_tokens()).values()) == 1
    assert max(Counter((each.network, each.address.lower()) for each in find_tokens()).values()) == 1


@pytest.mark.parametrize(
    ("id", "target"),
    [
        ("USDC-sepolia", "fUSDC-sepolia"),
        ("USDT-sepolia", "fUSDT-sepolia"),
        ("USDC-matic", "USDCn-matic"),
        ("USDC-optimism", "USDCn-optimism"),
        ("USDC-base-base", "USDC-base"),
        ("USDT0-arbitrum-one", "USDT-arbitrum-one"),
        ("USDT0-optimism", "USDT-optimism"),
        ("USDT0-matic", "USDT-matic"),
        ("USDT-polygon", "USDT-matic"),
        ("USDC-polygon", "USDCn-matic"),
        ("USDC-ethereum", "USDC-mainnet"),
        ("ETH-ethereum", "ETH-mainnet"),
    ],
)
def test_an_alias_leads_to_the_token_it_means(id: str, target: str) -> None:
    assert token_with_id(id) is known(target)


@pytest.mark.parametrize(
    "id",
    [
        "",
        "-",
        "-base",
        "USDC",
        "DAI-sepolia",
        "USDC-fiat",
        "USD-mainnet",
        "polygon",
    ],
)
def test_an_id_without_a_token_of_its_own_finds_nothing(id: str) -> None:
    assert token_with_id(id) is None


@pytest.mark.parametrize("change", [str.lower, str.upper, str.swapcase])
@pytest.mark.parametrize("id", ["USDC-base", "fUSDC-sepolia", "USDT-polygon", "USDT0-optimism", "USDC-base-base", "EUR"])
def test_the_case_of_an_id_does_not_matter(id: str, change: Callable[[str], str]) -> None:
    assert token_with_id(change(id)) == token_with_id(id) is not None


def test_ids_differ_in_more_than_case() -> None:
    ids = [each.id.lower() for each in find_tokens()]
    assert len(set(ids)) == len(ids)


def test_tokens_are_searched_by_network_and_symbol() -> None:
    assert ids(find_tokens(network="matic", symbol="USDC")) == ["USDCn-matic"]
    assert ids(find_tokens(network="polygon", symbol="USDC")) == ["USDCn-matic"]
    assert ids(find_tokens(network="sepolia")) == [
        "ETH-sepolia-sepolia",
        "FAU-sepolia",
        "fUSDC-sepolia",
        "fUSDT-sepolia",
    ]
    assert {each.network for each in find_tokens(symbol="USDT")} == {
        "mainnet",
        "arbitrum-one",
        "optimism",
        "base",
        "matic",
        "bsc",
        "tron",
    }
    assert len(find_tokens(network="fiat")) == 179
    assert find_tokens(network="nowhere") == ()


def test_a_symbol_is_searched_without_case() -> None:
    assert ids(find_tokens(network="base", symbol="usdc")) == ["USDC-base"]
    assert ids(find_tokens(network="sepolia", symbol="FUSDC")) == ["fUSDC-sepolia"]


def test_every_hash_follows_its_rule() -> None:
    for each in find_tokens():
        if each.is_native or each.is_fiat:
            assert each.hash == currency_hash(each.type, each.symbol)
        else:
            assert each.hash == each.address
    assert known("ETH-mainnet").hash == "0xf5af88e117747e87fc5929f2ff87221b1447652e"
    assert known("ETH-sepolia-sepolia").address == "0xbb3546497a53cd710beb11b84c5240327f145bcb"
    assert known("USD").hash == "0x775eb53d00dd0acd3ec1696472105d579b9b386b"
    assert known("USD").address == "0x0000000000000000000000000000000000555344"


def test_every_token_address_is_valid_on_its_network() -> None:
    for chain in ALL_NETWORKS:
        for each in find_tokens(network=chain.name):
            address_of_family(each.address, chain.family)
            assert each.chain_id == chain.chain_id


@pytest.mark.parametrize(
    ("code", "decimals"), [("USD", 2), ("JPY", 0), ("KRW", 0), ("BHD", 3), ("CLF", 4), ("UYW", 4), ("EUR", 2)]
)
def test_fiat_currencies_have_the_decimals_of_iso_4217(code: str, decimals: int) -> None:
    assert (known(code).decimals, known(code).network, known(code).chain_id) == (decimals, "fiat", 0)


def test_the_binance_pegged_stablecoins_have_18_decimals() -> None:
    assert [known(id).decimals for id in ("USDC-bsc", "USDT-bsc", "USDC-tron")] == [18, 18, 6]


def test_a_token_is_found_at_its_address() -> None:
    usdc, tether = known("USDC-base"), known("USDT-tron")
    assert token_at("base", usdc.address.lower()) is usdc
    assert token_at("polygon", known("USDCn-matic").address) is known("USDCn-matic")
    assert token_at("mainnet", usdc.address) is None
    assert token_at("tron", tether.address) is tether
    assert token_at("tron", tether.address.lower()) is None
    assert token_at("sepolia", known("ETH-sepolia-sepolia").hash) is known("ETH-sepolia-sepolia")


def test_every_network_of_a_token_is_known() -> None:
    assert {each.network for each in find_tokens() if find_network(each.network) is None} == {"fiat"}


def test_a_token_has_the_family_of_its_network_and_fiat_has_none() -> None:
    assert (family_of(known("USDC-base")), family_of(known("USDT-tron"))) == ("evm", "tron")
    with pytest.raises(AssertionError, match="fiat has no network family"):
        family_of(known("USD"))


def test_every_native_coin_has_18_decimals() -> None:
    assert {each.decimals for each in find_tokens() if each.is_native} == {18}


def test_a_token_without_decimals_or_address_is_refused_with_the_file_and_its_name() -> None:
    chain = find_network("base")
    assert chain is not None
    with pytest.raises(InvalidData, match=r"catalogue/data/tokens\.json: NEW on base has no address and no decimals"):
        list(_tokens_of(chain, {"contracts": {"base": {"NEW": {"priceId": "new"}}}}))
