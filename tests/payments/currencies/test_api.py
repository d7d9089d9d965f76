"""The catalogue over HTTP: lists, single tokens, aliases, conversion routes."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from tests.support.api import Configured
from tests.support.client import Api, Shop

NETWORKS = {*(each.name for each in ALL_NETWORKS), "fiat"}
FIELDS = {"id", "name", "symbol", "decimals", "address", "network", "type", "hash", "chainId"}
NOT_FOUND = {"statusCode": 404, "message": "Token not found", "error": "Not Found"}
FUSDC = {
    "id": "fUSDC-sepolia",
    "name": "fUSDC",
    "symbol": "fUSDC",
    "decimals": 6,
    "address": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
    "network": "sepolia",
    "type": "ERC20",
    "hash": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
    "chainId": 11155111,
}
ROUTE = {**FUSDC, "way": "direct"}


def tokens(api: Api, query: str = "") -> list[dict[str, Any]]:
    reply = api.get(f"/v2/currencies{query}")
    assert reply.status == 200, reply.json
    assert isinstance(reply.json, list)
    return reply.json


def ids(api: Api, query: str) -> set[str]:
    return {token["id"] for token in tokens(api, query)}


def test_the_whole_catalogue_covers_all_networks_and_fiat_is_listed_when_it_is_asked_for(api: Api) -> None:
    catalogue = tokens(api)
    assert {token["network"] for token in catalogue} == NETWORKS - {"fiat"}
    assert {token["type"] for token in catalogue} == {"ERC20", "TRC20", "ETH"}
    assert len({token["id"] for token in catalogue}) == len(catalogue)
    assert {token["type"] for token in tokens(api, "?network=fiat")} == {"ISO4217"}
    assert api.get("/v2/currencies?id=eur").json["id"] == "EUR"


def test_every_token_has_its_fields_and_a_trc20_token_has_no_hash(api: Api) -> None:
    for token in tokens(api):
        assert set(token) == FIELDS - ({"hash"} if token["type"] == "TRC20" else set()), token["id"]
        assert isinstance(token["decimals"], int) and isinstance(token["chainId"], int)
        assert token["address"].startswith("T" if token["network"] == "tron" else "0x")
        if token["type"] == "ERC20":
            assert token["hash"] == token["address"]


def test_tron_has_its_fixed_chain_id(api: Api) -> None:
    assert {token["chainId"] for token in tokens(api, "?network=tron")} == {728126428}


@pytest.mark.parametrize("network", sorted(NETWORKS))
def test_a_network_lists_its_own_tokens_alone(api: Api, network: str) -> None:
    assert {token["network"] for token in tokens(api, f"?network={network}")} == {network}


@pytest.mark.parametrize(("alias", "network"), [("polygon", "matic"), ("ethereum", "mainnet")])
def test_a_network_may_be_named_by_its_alias(api: Api, alias: str, network: str) -> None:
    assert tokens(api, f"?network={alias}") == tokens(api, f"?network={network}")


def test_symbol_and_network_give_an_array(api: Api) -> None:
    assert ids(api, "?network=matic&symbol=USDC") == {"USDCn-matic"}
    assert tokens(api, "?network=sepolia&symbol=fUSDC") == [FUSDC]


def test_the_case_of_a_symbol_does_not_matter(api: Api) -> None:
    assert tokens(api, "?network=sepolia&symbol=fusdc") == [FUSDC]


@pytest.mark.parametrize("query", ["network=sepolia", "network=polygon&symbol=usdc", "network=fiat", "network=fiat&symbol=usd"])
def test_the_case_of_a_network_does_not_matter(api: Api, query: str) -> None:
    filters = dict(part.split("=") for part in query.split("&"))
    for spell in (str.upper, str.title):
        changed = "&".join(f"{name}={spell(value)}" for name, value in filters.items())
        assert tokens(api, f"?{changed}") == tokens(api, f"?{query}")


def test_a_symbol_alone_lists_it_on_every_network(api: Api) -> None:
    listed = tokens(api, "?symbol=USDC")
    assert {"mainnet", "base", "matic", "bsc", "tron"} <= {token["network"] for token in listed}


def test_first_only_gives_one_object(api: Api) -> None:
    assert api.get("/v2/currencies?network=sepolia&symbol=fUSDC&firstOnly=true").json == FUSDC


def test_first_only_false_still_gives_an_array(api: Api) -> None:
    assert tokens(api, "?network=sepolia&symbol=fUSDC&firstOnly=false") == [FUSDC]


def test_an_id_gives_one_object(api: Api) -> None:
    assert api.get("/v2/currencies?id=fUSDC-sepolia").json == FUSDC


@pytest.mark.parametrize(
    ("alias", "known"),
    [
        ("USDC-sepolia", "fUSDC-sepolia"),
        ("USDT-sepolia", "fUSDT-sepolia"),
        ("USDC-matic", "USDCn-matic"),
        ("USDC-polygon", "USDCn-matic"),
        ("USDC-optimism", "USDCn-optimism"),
        ("USDC-base-base", "USDC-base"),
        ("USDT-polygon", "USDT-matic"),
        ("USDT0-arbitrum-one", "USDT-arbitrum-one"),
        ("USDT-ethereum", "USDT-mainnet"),
    ],
)
def test_ids_in_use_elsewhere_name_the_same_token(api: Api, alias: str, known: str) -> None:
    reply = api.get(f"/v2/currencies?id={alias}")
    assert (reply.status, reply.json["id"]) == (200, known)


@pytest.mark.parametrize(
    "query",
    [
        "id=NOPE-sepolia",
        "id=",
        "id=fUSDC-sepolia&network=base",
        "network=nowhere",
        "network=",
        "network=sepolia&symbol=NOPE",
        "network=sepolia&symbol=NOPE&firstOnly=true",
        "id=" + "x" * 5000,
        "id=%F0%9F%92%B8-sepolia",
        "id=%FF%FE",
    ],
    ids=lambda query: query[:40],
)
def test_what_is_not_listed_is_404(api: Api, query: str) -> None:
    reply = api.get(f"/v2/currencies?{query}")
    assert (reply.status, reply.json) == (404, NOT_FOUND)


def test_a_symbol_with_the_character_zero_is_400(api: Api) -> None:
    reply = api.get("/v2/currencies?symbol=%00")
    assert reply.status == 400 and "symbol must not contain the character U+0000" in str(reply.message)


@pytest.mark.parametrize("value", ["yes", "", "TRUE", "1", "true%20"])
def test_a_wrong_first_only_is_refused_in_the_documented_body(api: Api, value: str) -> None:
    reply = api.get(f"/v2/currencies?network=sepolia&symbol=fUSDC&firstOnly={value}")
    assert reply.status == 400
    assert reply.json == {
        "statusCode": 400,
        "message": [
            {
                "code": "custom",
                "message": "firstOnly must be 'true' or 'false' if provided",
                "path": ["firstOnly"],
            }
        ],
        "error": "Bad Request",
    }


@pytest.mark.parametrize("query", ["", "network=sepolia&", "symbol=fUSDC&", "network=&symbol=&"])
def test_first_only_needs_network_and_symbol(api: Api, query: str) -> None:
    reply = api.get(f"/v2/currencies?{query}firstOnly=true")
    assert reply.status == 400
    (problem,) = reply.message
    assert problem["path"] == ["firstOnly"]
    assert "network and symbol" in problem["message"]


def test_a_parameter_given_twice_is_refused_in_the_form_of_this_resource(api: Api) -> None:
    reply = api.get("/v2/currencies?network=base&network=sepolia")
    assert reply.status == 400
    (problem,) = reply.message
    assert problem["path"] == ["network"]


def test_unknown_parameters_are_ignored(api: Api) -> None:
    assert api.get("/v2/currencies?id=fUSDC-sepolia&page=2").json == FUSDC


@pytest.fixture
def with_prices(configured: Configured) -> Iterator[None]:
    """A deployment with a price source, which listing routes does not ask, on sepolia, base, mainnet and tron."""
    with configured(PRICE_API_URL="http://127.0.0.1:9"):
        yield


def ways(body: Any) -> dict[str, str]:
    return {route["id"]: route["way"] for route in body["conversionRoutes"]}


def test_routes_on_one_network_name_it(api: Api, with_prices: None) -> None:
    body = api.get("/v2/currencies/USD/conversion-routes?network=base").json
    assert set(body) == {"currencyId", "network", "conversionRoutes"}
    assert (body["currencyId"], body["network"]) == ("USD", "base")
    assert ways(body) == dict.fromkeys(["ETH-base-base", "DAI-base", "USDC-base", "USDT-base"], "quoted")


def test_routes_without_a_filter_name_no_network(api: Api, with_prices: None) -> None:
    body = api.get("/v2/currencies/USD/conversion-routes").json
    assert set(body) == {"currencyId", "network", "conversionRoutes"}
    assert (body["currencyId"], body["network"]) == ("USD", None)
    assert ways(body)["FAU-sepolia"] == "quoted"
    assert {route["network"] for route in body["conversionRoutes"]} == {"mainnet", "base", "sepolia", "tron"}, "the served"


def test_without_a_price_source_only_the_contracts_convert(api: Api) -> None:
    body = api.get("/v2/currencies/USD/conversion-routes").json
    assert set(ways(body).values()) == {"on_chain"}
    assert {route["network"] for route in body["conversionRoutes"]} == {"mainnet"}


def test_routes_on_a_list_of_networks_repeat_it_as_it_was_asked(api: Api, with_prices: None) -> None:
    body = api.get("/v2/currencies/USD/conversion-routes?networks=mainnet,base,polygon").json
    assert set(body) == {"currencyId", "networks", "conversionRoutes"}
    assert (body["currencyId"], body["networks"]) == ("USD", ["mainnet", "base", "polygon"])
    assert {route["network"] for route in body["conversionRoutes"]} == {"mainnet", "base"}, "polygon is not served here"


def test_a_token_is_paid_in_itself(api: Api) -> None:
    body = api.get("/v2/currencies/fUSDC-sepolia/conversion-routes").json
    assert body["conversionRoutes"] == [ROUTE]


def test_routes_echo_the_id_that_was_asked_for(api: Api) -> None:
    body = api.get("/v2/currencies/USDC-sepolia/conversion-routes").json
    assert body["currencyId"] == "USDC-sepolia"
    assert body["conversionRoutes"] == [ROUTE]


@pytest.mark.parametrize("currency", ["NOPE", "%F0%9F%92%B8", "a%2Fb", "x" * 3000])
def test_routes_of_an_unknown_currency_are_404(api: Api, currency: str) -> None:
    reply = api.get(f"/v2/currencies/{currency}/conversion-routes")
    assert (reply.status, reply.json) == (404, NOT_FOUND)


@pytest.mark.parametrize("query", ["network=nowhere", "network=", "networks=nowhere", "networks=", "networks=x,y"])
def test_routes_on_an_unknown_network_are_404_as_its_tokens_are(api: Api, query: str) -> None:
    for path in ("/v2/currencies/USD/conversion-routes", "/v2/currencies/fUSDC-sepolia/conversion-routes"):
        reply = api.get(f"{path}?{query}")
        assert (reply.status, reply.json) == (404, NOT_FOUND)
    assert api.get("/v2/currencies?network=nowhere").json == NOT_FOUND


def test_networks_that_are_not_known_are_left_out_of_a_list(api: Api, with_prices: None) -> None:
    body = api.get("/v2/currencies/USD/conversion-routes?networks=base,nowhere").json
    assert body["networks"] == ["base", "nowhere"]
    assert {route["network"] for route in body["conversionRoutes"]} == {"base"}


def test_the_case_of_a_network_does_not_matter_for_routes_and_is_repeated_as_it_was_asked(api: Api) -> None:
    path = "/v2/currencies/fUSDC-sepolia/conversion-routes"
    asked, known = api.get(f"{path}?network=SEPOLIA").json, api.get(f"{path}?network=sepolia").json
    assert asked["conversionRoutes"] == known["conversionRoutes"] != []
    assert (asked["network"], known["network"]) == ("SEPOLIA", "sepolia")


def test_a_known_network_without_a_route_has_an_empty_list(api: Api) -> None:
    assert api.get("/v2/currencies/fUSDC-sepolia/conversion-routes?network=base").json["conversionRoutes"] == []


def test_the_catalogue_needs_no_credentials_but_accepts_them(api: Api, shop: Shop) -> None:
    for credentials in ({}, shop.by_key, shop.by_client):
        assert api.get("/v2/currencies?id=fUSDC-sepolia", credentials).json == FUSDC


@pytest.mark.parametrize("path", ["/v2/currencies", "/v2/currencies/USD/conversion-routes"])
@pytest.mark.parametrize("header", ["x-api-key", "x-client-id"])
def test_a_wrong_credential_is_refused_even_where_none_is_needed(api: Api, path: str, header: str) -> None:
    reply = api.get(path, {header: "wrong"})
    assert (reply.status, reply.message.startswith(header)) == (401, True)
