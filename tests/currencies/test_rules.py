"""Which currencies a filter selects, and what an invoice currency can be paid in."""

from chalicelib.catalogue.networks import ALL_NETWORKS
from chalicelib.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.currencies.rules import conversion_routes, filtered


def known(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None, id
    return found


def ids(tokens: tuple[Token, ...]) -> list[str]:
    return [each.id for each in tokens]


def test_every_filter_that_is_given_has_to_match() -> None:
    fau = known("FAU-sepolia")
    assert filtered(None, None, "FAU-sepolia") == filtered("sepolia", "fau", "FAU-sepolia") == (fau,)
    assert filtered("mainnet", None, "FAU-sepolia") == filtered(None, "DAI", "FAU-sepolia") == ()
    assert filtered(None, None, "no id") == filtered("no network", None, None) == ()
    assert fau in filtered("sepolia", None, None) and fau in filtered(None, "FAU", None)
    assert filtered(None, None, None) == find_tokens()


def test_a_dollar_invoice_is_paid_in_stablecoins_and_native_coins() -> None:
    assert ids(conversion_routes(known("USD"), ("sepolia",))) == ["ETH-sepolia-sepolia", "FAU-sepolia"]
    assert ids(conversion_routes(known("USD"), ("mainnet",))) == [
        "ETH-mainnet",
        "DAI-mainnet",
        "USDC-mainnet",
        "USDT-mainnet",
    ]
    everywhere = conversion_routes(known("EUR"), None)
    assert {each.network for each in everywhere} == {chain.name for chain in ALL_NETWORKS}
    assert conversion_routes(known("EUR"), ("mainnet", "polygon")) == tuple(
        each for each in everywhere if each.network in ("mainnet", "matic")
    )


def test_a_crypto_invoice_is_paid_in_its_own_token() -> None:
    fau = known("FAU-sepolia")
    assert conversion_routes(fau, None) == (fau,)
    assert conversion_routes(fau, ("sepolia",)) == (fau,)
    assert conversion_routes(fau, ("mainnet",)) == ()


def test_other_fiat_currencies_have_no_route() -> None:
    assert conversion_routes(known("CHF"), None) == ()
    assert conversion_routes(known("USD"), ("nowhere",)) == ()
