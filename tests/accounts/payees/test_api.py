"""Payee destinations over HTTP: signed for a client id, or kept by the wallet that signed in."""

import itertools
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from infra import admin
from tests.chains.catalogue.interop_vectors import entries
from tests.fakes.destinations import BASE, FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA, TRON, USDC_BASE, USDT_TRON, sign
from tests.fakes.wallets import EvmWallet, TronWallet, evm_wallet, high_s, tron_wallet
from tests.support.api import Configured
from tests.support.client import ORIGIN, Api, Reply, Shop, item, stored
from tests.support.running import running
from tests.support.signed_in import by_email, by_wallet

PATH, OWN = "/v2/payee-destination", "/v1/payee-destination"
FIELDS = {
    "id",
    "destinationId",
    "walletAddress",
    "tokenAddress",
    "chainId",
    "accessPolicy",
    "binaryInteropAddress",
    "humanReadableInteropAddress",
    "claimed",
    "active",
    "createdAt",
}
_names = itertools.count()


def new_wallet() -> EvmWallet:
    """A wallet of no destination yet: a wallet has one."""
    return evm_wallet(f"payee {next(_names)}")


def signing_data(shop: Shop, wallet: str, token: str = FUSDC_SEPOLIA, chain: Any = SEPOLIA, action: str = "add") -> Reply:
    query = {"walletAddress": wallet, "tokenAddress": token, "chainId": chain, "action": action}
    return shop.get(f"{PATH}/signing-data?{urlencode(query)}")


def signed(shop: Shop, wallet: EvmWallet | TronWallet, *route: Any, action: str = "add") -> dict[str, str]:
    reply = signing_data(shop, wallet.address, *route, action=action)
    assert reply.status == 200, reply.json
    return {"signature": sign(wallet, reply.json), "nonce": reply.json["nonce"]}


def beside(shop: Shop) -> dict[str, str]:
    """The shop's API key and its client id: so it vouches for a wallet."""
    return {**shop.by_key, "x-client-id": shop.client_id}


def bind(shop: Shop, body: Any) -> Reply:
    return shop.api.request("POST", PATH, body, beside(shop))


def add(shop: Shop, wallet: EvmWallet | TronWallet, *route: Any) -> dict[str, Any]:
    reply = bind(shop, signed(shop, wallet, *route))
    assert reply.status == 201, reply.json
    body: dict[str, Any] = reply.json
    return body


def at(destination_id: str) -> str:
    return f"{PATH}/{quote(destination_id, safe='@:')}"


def remove(shop: Shop, wallet: EvmWallet | TronWallet, destination_id: str, *route: Any) -> Reply:
    return shop.send("DELETE", at(destination_id), signed(shop, wallet, *route, action="deactivate"))


# --- signed for a client id ---


def test_signing_data_can_be_signed_by_libraries_of_either_habit(new_shop: Shop) -> None:
    wallet = new_wallet()
    body = signing_data(new_shop, wallet.address.lower(), FUSDC_SEPOLIA.lower(), "11155111").json
    assert set(body) == {
        "domain", "types", "primaryType", "message", "values",
        "nonce", "expiresAt", "walletAddress", "action", "clientId", "tokenAddress", "chainId",
    }  # fmt: skip
    assert body["message"] == body["values"] == {name: body[name] for name in body["message"]}
    assert body["domain"] == {"name": "Payment Request Service Payee Destination", "version": "1", "chainId": SEPOLIA}
    assert (body["walletAddress"], body["tokenAddress"]) == (wallet.address, FUSDC_SEPOLIA)
    assert len(bytes.fromhex(body["nonce"])) == 16
    assert list(body["types"]) == [body["primaryType"]] == ["PayeeDestination"]


def test_a_destination_is_made_read_and_deactivated(new_shop: Shop) -> None:
    wallet = new_wallet()
    made = add(new_shop, wallet)
    assert made.pop("message") == "Payee destination created successfully"
    assert set(made) == FIELDS
    assert made["destinationId"] == f"{made['humanReadableInteropAddress']}:{FUSDC_SEPOLIA}"
    assert made["binaryInteropAddress"] == f"0x00010000" f"03aa36a714{wallet.address[2:].lower()}"
    assert (made["active"], made["claimed"], made["chainId"], made["accessPolicy"]) == (True, True, SEPOLIA, None)
    assert new_shop.get(f"{PATH}?walletAddress={wallet.address}").json == made
    assert new_shop.get(at(made["destinationId"])).json == made
    assert new_shop.get(at(made["destinationId"].lower())).json == made, "an id is the same in either case"
    assert new_shop.get(at(f"sepolia:{wallet.address}:{FUSDC_SEPOLIA}")).json == made
    gone = remove(new_shop, wallet, made["destinationId"].lower())
    assert (gone.status, gone.json) == (
        200,
        {
            "success": True,
            "message": "Payee destination deactivated successfully",
            "destinationId": made["destinationId"],
            "active": False,
        },
    )
    assert new_shop.get(f"{PATH}?walletAddress={wallet.address}").body == b"null"
    assert new_shop.get(at(made["destinationId"])).json == {**made, "active": False}
    assert add(new_shop, wallet)["id"] == made["id"]


def test_a_tron_destination_is_signed_by_tip_712(new_shop: Shop) -> None:
    wallet = tron_wallet(f"payee {next(_names)}")
    made = add(new_shop, wallet, USDT_TRON, TRON)
    assert (made["walletAddress"], made["tokenAddress"], made["chainId"]) == (wallet.address, USDT_TRON, TRON)
    assert new_shop.get(at(made["destinationId"])).status == 200
    assert new_shop.get(at(made["destinationId"].lower())).status == 404
    assert remove(new_shop, wallet, made["destinationId"], USDT_TRON, TRON).status == 200


def test_a_hash_that_is_not_encoded_cuts_the_id_off_and_the_answer_says_so(new_shop: Shop) -> None:
    wallet = new_wallet()
    made = add(new_shop, wallet)
    cut = f"{PATH}/{made['destinationId'].partition('#')[0]}"
    body = signed(new_shop, wallet, action="deactivate")
    for reply in (new_shop.get(cut), new_shop.send("DELETE", cut, body)):
        assert reply.status == 404 and "%23" in reply.message
    assert new_shop.send("DELETE", at(made["destinationId"]), body).status == 200, "the nonce was not used up"


@pytest.mark.parametrize("entry", entries("rejectList"))
def test_a_malformed_id_is_found_nowhere(new_shop: Shop, entry: dict[str, str]) -> None:
    id_text = entry["input"] or " "  # nothing at all would be another path
    assert new_shop.get(at(id_text)).status == 404
    reply = remove(new_shop, new_wallet(), id_text)
    assert (reply.status, reply.message) == (400, "Destination not found or validation failed") or (
        reply.status == 404 and "%23" in reply.message
    )


@pytest.mark.parametrize("entry", entries("rejectList"))
def test_a_malformed_id_makes_no_link_where_checksums_are_strict(
    shop: Shop, entry: dict[str, str], configured: Configured
) -> None:
    with configured(INTEROP_CHECKSUM="strict"):
        reply = shop.create({"amount": "1", "destinationId": entry["input"]})
    assert (reply.status, reply.message) == (400, "Invalid destination ID format")


def test_a_wrong_checksum_still_names_the_destination_unless_they_are_strict(
    new_shop: Shop, configured: Configured
) -> None:
    made = add(new_shop, new_wallet())
    head, _, tail = made["destinationId"].partition("#")
    wrong = at(f"{head}#00000000{tail[8:]}")
    assert new_shop.get(wrong).json["id"] == made["id"]
    with configured(INTEROP_CHECKSUM="strict"):
        assert new_shop.get(wrong).status == 404
        assert new_shop.get(at(made["destinationId"])).status == 200


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"wallet": "0x12"}, "walletAddress: Invalid EVM address"),
        ({"wallet": "T" + "1" * 33}, "walletAddress: Invalid EVM address"),
        ({"token": USDC_BASE}, "tokenAddress is not a supported token on sepolia"),
        ({"chain": "1e3"}, "chainId must be a whole number"),
        ({"chain": "-1"}, "chainId must be a whole number"),
        ({"chain": "١"}, "chainId must be a whole number"),
        ({"chain": "0"}, "chainId is not of a supported network"),
        ({"chain": str(TRON)}, "walletAddress: Invalid Tron address"),
        ({"chain": str(BASE)}, "tokenAddress is not a supported token on base"),
        ({"action": "remove"}, "action must be one of"),
        ({"action": ""}, "action must be one of"),
    ],
    ids=str,
)
def test_signing_data_is_for_what_could_be_a_destination(shop: Shop, change: dict[str, Any], text: str) -> None:
    reply = signing_data(shop, **{"wallet": evm_wallet().address, **change})
    assert reply.status == 400 and reply.message.startswith(text)


def test_signing_data_needs_every_parameter(shop: Shop) -> None:
    reply = shop.get(f"{PATH}/signing-data")
    assert {error["field"] for error in reply.json["errors"]} == {"walletAddress", "action", "tokenAddress", "chainId"}
    assert shop.get(PATH).status == 400
    assert shop.get(f"{PATH}?walletAddress=nobody").message.startswith("walletAddress: ")


def test_a_nonce_works_once(new_shop: Shop) -> None:
    body = signed(new_shop, new_wallet())
    assert bind(new_shop, body).status == 201
    reply = bind(new_shop, body)
    assert (reply.status, reply.message) == (400, "Invalid or expired nonce: get new signing data")


def test_a_lost_answer_is_had_again_by_its_idempotency_key(new_shop: Shop) -> None:
    body, headers = signed(new_shop, new_wallet()), {**beside(new_shop), "idempotency-key": "again"}
    first, second = (new_shop.api.request("POST", PATH, body, headers) for _ in range(2))
    assert (first.status, first.body) == (201, second.body)
    assert second.headers["idempotent-replayed"] == "true"


@pytest.mark.usefixtures("api")
def test_what_is_not_signed_by_the_wallet_for_this_purpose_is_refused(new_shop: Shop) -> None:
    wallet, other = new_wallet(), Shop(new_shop.api)
    body = signed(new_shop, wallet)
    before = stored()
    refused = [
        (401, {**body, "signature": high_s(body["signature"])}),
        (401, {**body, "signature": body["signature"][:-2] + "1d"}),
        (401, {**body, "signature": sign(new_wallet(), signing_data(new_shop, wallet.address).json)}),
        (400, {**body, "signature": body["signature"][2:]}),
        (400, {**body, "signature": body["signature"] + "00"}),
        (400, {**body, "signature": body["signature"] + "\n"}),
        (400, {**body, "nonce": "0" * 32}),
        (400, {**body, "nonce": body["nonce"].upper() + "x" * 64}),
        (400, {**body, "nonce": ""}),
        (400, {**body, "nonce": 7}),
        (400, {"nonce": body["nonce"]}),
        (400, {"signature": body["signature"]}),
    ]
    for status, changed in refused:
        reply = new_shop.send("POST", PATH, changed)
        assert reply.status == status, (changed, reply.json)
    assert other.send("POST", PATH, body).status == 400, "the nonce is another client id's"
    after = stored()
    assert {**after, "sessions": 0} == {**before, "sessions": 0}, "but for the nonces nothing was written"
    assert bind(new_shop, body).status == 201


def test_destinations_of_another_client_id_are_not_to_be_seen_or_ended(new_shop: Shop) -> None:
    wallet, stranger = new_wallet(), Shop(new_shop.api)
    made = add(new_shop, wallet)
    assert stranger.get(f"{PATH}?walletAddress={wallet.address}").body == b"null"
    assert stranger.get(at(made["destinationId"])).status == 404
    assert remove(stranger, wallet, made["destinationId"]).status == 403
    reply = bind(stranger, signed(stranger, wallet))
    assert (reply.status, reply.message) == (403, "The active destination of this wallet belongs to another client ID")


def test_who_knows_client_id_and_origin_cannot_turn_its_money_to_a_wallet_of_their_own(new_shop: Shop) -> None:
    """Both are public, so a thief signs for a wallet of theirs, whose session makes no difference."""
    thief = new_wallet()
    by_wallet(new_shop.api, thief)
    body = signed(new_shop, thief)
    reply = new_shop.send("POST", PATH, body)
    assert (reply.status, reply.message) == (
        403,
        "The wallet is not the client ID's: bind it with an API key of the account beside the client ID, "
        "or from the account's session",
    )
    assert new_shop.create({"amount": "5"}).status == 400, "it is bound to nothing"
    keyless = new_shop.api.request("POST", PATH, body, new_shop.by_key)
    assert (keyless.status, keyless.message) == (401, "x-client-id is required with x-api-key")
    assert new_shop.get(f"{PATH}?walletAddress={thief.address}").body == b"null"


def test_the_wallet_of_an_account_binds_its_client_ids_without_a_key(api: Api) -> None:
    wallet, shop = new_wallet(), Shop(api)
    body = {"label": "web", "allowedDomains": [ORIGIN]}
    shop.client_id = by_wallet(api, wallet).send("POST", "/v1/client-ids", body).json["clientId"]
    shop.by_client = {"x-client-id": shop.client_id, "origin": ORIGIN}
    data = signing_data(shop, wallet.address).json
    assert data["message"]["clientId"] == shop.client_id, "the wallet shows whom it binds"
    assert shop.send("POST", PATH, {"signature": sign(wallet, data), "nonce": data["nonce"]}).status == 201


def test_a_wallet_has_one_active_destination_and_a_client_id_one_wallet(new_shop: Shop) -> None:
    wallet = new_wallet()
    add(new_shop, wallet)
    assert new_shop.send("POST", PATH, signed(new_shop, wallet, FUSDT_SEPOLIA)).status == 409
    reply = bind(new_shop, signed(new_shop, new_wallet()))
    assert (reply.status, "bound to another wallet" in reply.message) == (403, True)


def test_after_its_destination_is_deactivated_a_client_id_is_bound_to_another_wallet(new_shop: Shop) -> None:
    old, new, third = new_wallet(), new_wallet(), new_wallet()
    first = add(new_shop, old)
    assert remove(new_shop, old, first["destinationId"]).status == 200
    refused = new_shop.send("POST", PATH, signed(new_shop, third))
    assert refused.status == 403, "a stranger's wallet, with the client id alone"
    second = add(new_shop, new)
    link = new_shop.create({"amount": "5"}).json["token"]
    assert new_shop.get(f"/v2/secure-payments/{link}").json["payee"] == new.address
    (client,) = new_shop.api.get("/v2/client-ids", new_shop.by_key).json
    path = f"/v2/client-ids/{client['id']}"
    assert new_shop.api.get(path, new_shop.by_key).json["payeeDestinationId"] == second["id"]
    unbound = new_shop.api.request("PUT", path, {"payeeDestinationId": None}, new_shop.by_key)
    assert (unbound.status, unbound.json["payeeDestinationId"]) == (200, None)
    assert add(new_shop, third)["walletAddress"] == third.address
    back = new_shop.api.request("PUT", path, {"payeeDestinationId": second["destinationId"]}, new_shop.by_key)
    assert (back.status, back.json["payeeDestinationId"]) == (200, second["id"])


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_only_a_client_id_with_its_origin_may_ask(shop: Shop, api: Api, method: str) -> None:
    body = {"signature": "0x" + "00" * 65, "nonce": "x"} if method == "POST" else None
    path = PATH if method == "POST" else f"{PATH}?walletAddress={evm_wallet().address}"
    for headers, status in (
        ({}, 401),
        (shop.by_key, 401),
        ({**shop.by_key, "x-client-id": "cli_unknown"}, 401),
        ({**Shop(api).by_key, "x-client-id": shop.client_id}, 401),
        ({"x-client-id": shop.client_id}, 401),
        ({"x-client-id": shop.client_id, "origin": "https://evil.example"}, 403),
        ({"authorization": f"Bearer {by_email(api).token}"}, 403),
    ):
        assert api.request(method, path, body, headers).status == status


# --- kept by the wallet that signed in ---


def test_a_wallet_session_keeps_one_destination(api: Api) -> None:
    wallet = new_wallet()
    dashboard = by_wallet(api, wallet)
    assert dashboard.get(OWN).body == b"null"
    body = {"tokenAddress": FUSDC_SEPOLIA.lower(), "chainId": SEPOLIA}
    assert dashboard.send("PUT", OWN, body).status == 404
    made = dashboard.send("POST", OWN, body)
    assert made.status == 201 and set(made.json) == FIELDS
    assert dashboard.get(OWN).json == made.json
    assert dashboard.send("POST", OWN, {**body, "walletAddress": wallet.address.lower()}).json == made.json
    assert dashboard.send("POST", OWN, {**body, "tokenAddress": FUSDT_SEPOLIA}).status == 409
    policy = {"mode": "off", "screeningProvider": None, "hideUntilApproved": False, "hidePayeeAddress": False}
    other = {"tokenAddress": USDC_BASE, "chainId": BASE, "accessPolicy": {"mode": "off"}}
    changed = dashboard.send("PUT", OWN, other)
    assert (changed.status, changed.json["id"], changed.json["accessPolicy"]) == (200, made.json["id"], policy)
    found = dashboard.get(f"{OWN}/lookup?{urlencode({'destinationId': changed.json['destinationId']})}")
    assert (found.status, found.json) == (200, changed.json)
    assert dashboard.get(f"{OWN}/lookup?{urlencode({'destinationId': made.json['destinationId']})}").status == 404
    ended = dashboard.send("PATCH", f"{OWN}/deactivate", {"destinationId": changed.json["destinationId"]})
    assert (ended.status, ended.body) == (200, b'{"success":true,"message":"Destination deactivated"}')
    assert dashboard.send("PATCH", f"{OWN}/deactivate", {"destinationId": changed.json["destinationId"]}).status == 404
    assert dashboard.get(OWN).body == b"null"


def test_a_tron_wallet_keeps_a_tron_destination(api: Api) -> None:
    wallet = tron_wallet(f"payee {next(_names)}")
    dashboard = by_wallet(api, wallet)
    made = dashboard.send("POST", OWN, {"tokenAddress": USDT_TRON, "chainId": TRON})
    assert (made.status, made.json["walletAddress"]) == (201, wallet.address)
    assert dashboard.send("POST", OWN, {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}).status == 400
    found = dashboard.get(f"{OWN}/payout-lookup?walletAddress={wallet.address}").json
    assert (found["walletAddress"], found["tokenAddress"]) == (wallet.address, USDT_TRON)


def test_a_recipient_is_looked_up_by_their_wallet(api: Api) -> None:
    wallet, dashboard = new_wallet(), by_wallet(api, new_wallet())
    assert dashboard.get(f"{OWN}/payout-lookup?walletAddress={wallet.address}").body == b"null"
    made = by_wallet(api, wallet).send("POST", OWN, {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}).json
    assert dashboard.get(f"{OWN}/payout-lookup?walletAddress={wallet.address.lower()}").json == {
        "destinationId": made["destinationId"],
        "walletAddress": wallet.address,
        "tokenAddress": FUSDC_SEPOLIA,
        "chainId": SEPOLIA,
        "claimed": True,
    }


def test_a_wallet_session_is_no_other_wallets(api: Api) -> None:
    wallet, dashboard = new_wallet(), by_wallet(api, new_wallet())
    made = by_wallet(api, wallet).send("POST", OWN, {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}).json
    mine = {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA, "walletAddress": wallet.address}
    query = urlencode({"destinationId": made["destinationId"]})
    for reply in (
        dashboard.send("POST", OWN, mine),
        dashboard.send("PUT", OWN, mine),
        dashboard.get(f"{OWN}/lookup?{query}"),
        dashboard.send("PATCH", f"{OWN}/deactivate", {"destinationId": made["destinationId"]}),
    ):
        assert reply.status == 403


def test_an_email_session_has_no_wallet(api: Api) -> None:
    dashboard = by_email(api)
    body = {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}
    for reply in (
        dashboard.send("POST", OWN, body),
        dashboard.send("PUT", OWN, body),
        dashboard.get(OWN),
        dashboard.get(f"{OWN}/lookup?destinationId=x"),
        dashboard.get(f"{OWN}/payout-lookup?walletAddress={evm_wallet().address}"),
        dashboard.send("PATCH", f"{OWN}/deactivate", {"destinationId": "x"}),
    ):
        assert (reply.status, reply.message) == (403, "wallet session required")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"accessPolicy": {"mode": "kyt_all_wallets"}}, "accessPolicy.mode must be off"),
        ({"accessPolicy": {"mode": "off", "hideUntilApproved": True}}, "accessPolicy.hideUntilApproved cannot be true"),
        ({"accessPolicy": {"mode": "off", "hidePayeeAddress": True}}, "accessPolicy.hidePayeeAddress cannot be true"),
        ({"accessPolicy": {}}, "accessPolicy.mode is required"),
        ({"accessPolicy": "off"}, "accessPolicy must be an object"),
        ({"chainId": "11155111"}, "chainId must be a whole number"),
        ({"chainId": 11155111.5}, "chainId must be a whole number"),
        ({"chainId": True}, "chainId must be a whole number"),
        ({"chainId": 0}, "chainId must be greater than 0"),
        ({"chainId": 2**53}, "chainId must be at most"),
        ({"chainId": 999}, "chainId is not of a supported network"),
        ({"tokenAddress": None}, "tokenAddress must be a string"),
        ({"tokenAddress": USDC_BASE}, "tokenAddress is not a supported token on sepolia"),
    ],
    ids=str,
)
def test_what_cannot_be_kept_is_400_with_a_sentence(api: Api, change: dict[str, Any], text: str) -> None:
    dashboard = by_wallet(api, evm_wallet("refused"))
    reply = dashboard.send("POST", OWN, {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA, **change})
    assert reply.status == 400 and reply.message.startswith(text), reply.message


# --- links that carry only an amount ---


def test_a_bound_client_id_creates_a_link_from_an_amount_alone(new_shop: Shop) -> None:
    wallet = new_wallet()
    refused = new_shop.create({"amount": "5"})
    assert refused.status == 400 and "destinationId" in refused.message
    made = add(new_shop, wallet)
    link = new_shop.get(f"/v2/secure-payments/{new_shop.link({'amount': '5'})}").json
    assert link["destination"]["destinationId"] == made["destinationId"]
    reply = new_shop.create(item())
    assert (reply.status, reply.message) == (
        403,
        "Destination does not match the configured payment destination.",
    )
    assert new_shop.create({"amount": "5", "destinationId": made["destinationId"]}).status == 201
    beside = {**new_shop.by_key, "x-client-id": new_shop.client_id}
    assert new_shop.api.request("POST", "/v2/secure-payments", {"requests": [{"amount": "5"}]}, beside).status == 201
    remove(new_shop, wallet, made["destinationId"])
    assert new_shop.create({"amount": "5"}).status == 400


@pytest.mark.parametrize("signs_in", [by_email, lambda api: by_wallet(api, new_wallet())])
def test_whoever_signs_in_comes_to_a_link_that_carries_only_an_amount(api: Api, signs_in: Any) -> None:
    dashboard, wallet = signs_in(api), new_wallet()
    body = {"label": "web", "allowedDomains": [ORIGIN], "operatorWalletAddress": wallet.address}
    client_id = dashboard.send("POST", "/v1/client-ids", body).json["clientId"]
    shop = Shop(api)
    shop.client_id, shop.by_client = client_id, {"x-client-id": client_id, "origin": ORIGIN}
    assert shop.send("POST", PATH, signed(shop, wallet)).status == 201
    token = shop.link({"amount": "5"})
    assert shop.get(f"/v2/secure-payments/{token}").json["payee"] == wallet.address


def test_a_wallet_binds_a_client_id_to_what_it_keeps(api: Api) -> None:
    wallet = new_wallet()
    dashboard = by_wallet(api, wallet)
    kept = dashboard.send("POST", OWN, {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}).json
    body = {"label": "server", "allowedDomains": [], "payeeDestinationId": kept["id"]}
    client_id = dashboard.send("POST", "/v1/client-ids", body).json["clientId"]
    headers = {"x-client-id": client_id}
    made = api.request("POST", "/v2/secure-payments", {"requests": [{"amount": "5"}]}, headers)
    assert made.status == 201
    assert api.get(f"/v2/secure-payments/{made.json['token']}", headers).json["payee"] == wallet.address


def test_a_session_creates_links_of_its_account(api: Api) -> None:
    dashboard = by_email(api)
    assert dashboard.send("POST", "/v2/secure-payments", {"requests": [item()]}).status == 201
    assert dashboard.send("POST", "/v2/secure-payments", {"requests": [{"amount": "5"}]}).status == 400


def test_the_fee_of_a_client_id_is_what_the_payer_sees(new_shop: Shop) -> None:
    services = running()
    account = admin.create_account(services, "fees")
    key = {"x-api-key": admin.create_api_key(services, account, "server")}
    body = {"label": "web", "allowedDomains": [ORIGIN], "feePercentage": "2.5", "feeAddress": evm_wallet().address}
    client_id = new_shop.api.request("POST", "/v2/client-ids", body, key).json["clientId"]
    new_shop.by_client = {"x-client-id": client_id, "origin": ORIGIN}
    token = new_shop.link(item(), feePercentage="1", feeAddress=new_wallet().address)
    fee = new_shop.get(f"/v2/secure-payments/{token}/pay").json["metadata"]["platformFee"]
    assert fee == {"percentage": "2.5", "address": evm_wallet().address}


def test_every_change_is_in_the_audit_log_and_nothing_secret_in_any_log(new_shop: Shop) -> None:
    wallet = new_wallet()
    body = signed(new_shop, wallet)
    destination_id = bind(new_shop, body).json["destinationId"]
    remove(new_shop, wallet, destination_id)
    lines = new_shop.api.get("/v1/audit", new_shop.by_key).json
    assert {"payee_destination.added", "payee_destination.deactivated", "client_id.bound"} <= {
        line["action"] for line in next(iter(lines.values()))
    }
    assert body["signature"] not in json.dumps(lines) + new_shop.api.log.getvalue()
