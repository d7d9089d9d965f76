"""Which currencies a filter selects, and what an invoice currency can be paid in."""

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from chalicelib.payments.currencies.rules import ConversionFacts, Way, conversion_routes, filter_tokens, way_of

EVERYWHERE = ConversionFacts(frozenset(chain.name for chain in ALL_NETWORKS), has_price_source=True)


def known(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None, id
    return found


def ids(tokens: tuple[Token, ...]) -> list[str]:
    return [each.id for each in tokens]


def test_every_filter_that_is_given_has_to_match() -> None:
    fau = known("FAU-sepolia")
    assert filter_tokens(None, None, "FAU-sepolia") == filter_tokens("sepolia", "fau", "FAU-sepolia") == (fau,)
    assert filter_tokens("mainnet", None, "FAU-sepolia") == filter_tokens(None, "DAI", "FAU-sepolia") == ()
    assert filter_tokens(None, None, "no id") == filter_tokens("no network", None, None) == ()
    assert fau in filter_tokens("sepolia", None, None) and fau in filter_tokens(None, "FAU", None)
    assert filter_tokens(None, None, None) == tuple(each for each in find_tokens() if not each.is_fiat)
    assert filter_tokens("fiat", None, None) == tuple(each for each in find_tokens() if each.is_fiat)
    assert filter_tokens(None, None, "EUR") == filter_tokens(None, "eur", None) == (known("EUR"),)


def ways(invoice: str, networks: tuple[str, ...] | None, facts: ConversionFacts = EVERYWHERE) -> dict[str, Way]:
    return {token.id: way for token, way in conversion_routes(known(invoice), networks, facts)}


def test_a_dollar_invoice_is_paid_by_the_contracts_where_they_have_feeds_and_by_quotes_elsewhere() -> None:
    quoted, on_chain = Way.QUOTED, Way.ON_CHAIN
    assert ways("USD", ("sepolia",)) == dict.fromkeys(
        ["ETH-sepolia-sepolia", "FAU-sepolia", "fUSDC-sepolia", "fUSDT-sepolia"], quoted
    )
    assert ways("USD", ("base", "tron")) == dict.fromkeys(
        ["ETH-base-base", "DAI-base", "USDC-base", "USDT-base", "USDC-tron", "USDT-tron"], quoted
    )
    assert ways("USD", ("polygon",)) == dict.fromkeys(["MATIC-matic", "DAI-matic", "USDCn-matic", "USDT-matic"], on_chain)
    assert set(ways("USD", ("mainnet",)).values()) == {on_chain}
    assert "BNB-bsc" not in ways("USD", None) and "LINK-mainnet" not in ways("USD", None)


def test_a_token_is_paid_in_itself_and_in_tokens_with_another_price() -> None:
    in_dai = ways("DAI-mainnet", ("mainnet", "base"))
    assert in_dai["DAI-mainnet"] is Way.DIRECT
    assert in_dai["USDC-mainnet"] is Way.ON_CHAIN
    assert in_dai["USDC-base"] is Way.QUOTED
    assert "DAI-base" not in in_dai, "the same asset on another network: that is a bridge's work"
    assert ways("FAU-sepolia", ("sepolia",))["FAU-sepolia"] is Way.DIRECT
    assert ways("LINK-mainnet", None) == {"LINK-mainnet": Way.DIRECT}


def test_without_a_price_source_nothing_is_quoted() -> None:
    without = ConversionFacts(EVERYWHERE.networks, has_price_source=False)
    assert set(ways("USD", None, without).values()) == {Way.ON_CHAIN}
    assert ways("fUSDC-sepolia", None, without) == {"fUSDC-sepolia": Way.DIRECT}


def test_without_a_network_with_feeds_nothing_is_converted() -> None:
    without = ConversionFacts(frozenset({"base", "sepolia"}), has_price_source=True)
    assert ways("USD", None, without) == {}
    assert ways("USDC-base", None, without) == {"USDC-base": Way.DIRECT}


def test_nothing_is_paid_on_a_network_that_is_not_served() -> None:
    facts = ConversionFacts(frozenset({"mainnet"}), has_price_source=True)
    for invoice, payment in (("USDC-base", "USDC-base"), ("USD", "USDC-base"), ("USD", "USDCn-matic"), ("USD", "EUR")):
        assert way_of(known(invoice), known(payment), facts) is None
    assert way_of(known("USD"), known("USDC-mainnet"), facts) is Way.ON_CHAIN


def test_fiat_without_feeds_has_no_route() -> None:
    assert ways("AED", None) == {}
    assert ways("CAD", ("base",)) != {}
    assert ways("USD", ("nowhere",)) == {}
