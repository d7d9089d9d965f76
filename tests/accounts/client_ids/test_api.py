"""Client ids over HTTP, on both hosts: settings, domains, fees, the bound destination, and what ends them."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from chalicelib.accounts.payees.records import PayeeDestination
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.chains.catalogue.interop import Destination, destination_id
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.support.client import ORIGIN, Api, Reply, Shop, item, stored
from tests.support.items import TRON_PAYEE
from tests.support.opened import by_session
from tests.support.running import running

DOMAINS = ["https://shop.example", "http://localhost:3000"]
SETTINGS = {
    "feePercentage",
    "feeAddress",
    "operatorWalletAddress",
    "defaultPreApprovalExpiry",
    "defaultAuthorizationExpiry",
    "orchestratorId",
    "payeeDestinationId",
    "allowedPayees",
    "allowedCurrencies",
    "usesPaymentIntents",
    "mayExecute",
    "mayReadPayers",
}
CREATED = {"id", "clientId", "label", "allowedDomains", *SETTINGS, "status", "createdAt", "test"}
UPDATED = (CREATED - {"createdAt"}) | {"updatedAt"}
READ = CREATED | {"updatedAt", "lastUsedAt"}
LISTED = {
    "id", "clientId", "label", "allowedDomains", "orchestratorId", "payeeDestinationId", "allowedPayees", "status", "createdAt",
    "lastUsedAt", "test",
}  # fmt: skip
TOKEN = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"


@dataclass
class Host:
    """One of the two hosts, with the credentials it takes."""

    shop: Shop
    path: str
    headers: dict[str, str]

    def send(self, method: str, id: str | None = None, body: Any = None) -> Reply:
        return self.shop.api.request(method, self.path + (f"/{id}" if id else ""), body, self.headers)

    def create(self, **fields: Any) -> Reply:
        return self.send("POST", None, {"label": "web", "allowedDomains": DOMAINS, **fields})

    def created(self, **fields: Any) -> dict[str, Any]:
        reply = self.create(**fields)
        assert reply.status == 201, reply.json
        return reply.json

    def read(self, id: str) -> dict[str, Any]:
        reply = self.send("GET", id)
        assert reply.status == 200, reply.json
        return reply.json

    def listed(self) -> dict[str, dict[str, Any]]:
        return {each["id"]: each for each in self.send("GET").json}


def api_host(shop: Shop) -> Host:
    return Host(shop, "/v2/client-ids", shop.by_key)


def auth_host(shop: Shop) -> Host:
    return Host(shop, "/v1/client-ids", by_session(shop.account_id))


@pytest.fixture(params=[api_host, auth_host], ids=["api host", "auth host"])
def host(request: pytest.FixtureRequest, new_shop: Shop) -> Host:
    made: Host = request.param(new_shop)
    return made


def create_link(api: Api, client_id: str, origin: str | None = ORIGIN) -> Reply:
    headers = {"x-client-id": client_id, **({"origin": origin} if origin else {})}
    return api.request("POST", "/v2/secure-payments", {"requests": [item()]}, headers)


def destination(account_id: str, record_id: str, is_active: bool = True) -> PayeeDestination:
    """A payee destination as binding one leaves it."""
    kept = PayeeDestination(
        record_id=record_id,
        destination_id=destination_id(Destination(PAYEE, 11155111, TOKEN)),
        account_id=account_id,
        wallet_address=PAYEE,
        token_address=TOKEN,
        chain_id=11155111,
        is_active=is_active,
        created_at=running().clock(),
    )
    running().store.write(kept)
    return kept


# --- making ---


def test_a_new_client_id_answers_every_field_and_works_from_its_domains(host: Host) -> None:
    made = host.created()
    assert set(made) == CREATED
    assert re.fullmatch(r"cli_[0-9A-Za-z]{30}", made["clientId"])
    assert re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", made["id"])
    assert (made["label"], made["allowedDomains"], made["status"]) == ("web", DOMAINS, "active")
    assert not any(made[name] for name in SETTINGS)
    assert create_link(host.shop.api, made["clientId"]).status == 201
    assert create_link(host.shop.api, made["clientId"], "http://localhost:3000").status == 201
    assert create_link(host.shop.api, made["clientId"], "https://other.example").status == 403


def test_every_setting_is_kept_and_read_back(host: Host) -> None:
    settings = {
        "feePercentage": "2.5",
        "feeAddress": FEE_ADDRESS,
        "operatorWalletAddress": PAYEE,
        "defaultPreApprovalExpiry": 3600,
        "defaultAuthorizationExpiry": 86400,
        "allowedPayees": [PAYEE, TRON_PAYEE],
        "allowedCurrencies": ["fUSDC-sepolia", "USDT-tron"],
        "usesPaymentIntents": True,
        "mayExecute": True,
        "mayReadPayers": True,
    }
    made = host.created(**settings)
    assert {name: made[name] for name in settings} == settings
    read = host.read(made["id"])
    assert set(read) == READ
    assert {name: read[name] for name in made} == made
    assert (read["updatedAt"], read["lastUsedAt"]) == (read["createdAt"], None)


def test_addresses_are_given_back_in_their_checksummed_form(host: Host) -> None:
    made = host.created(feeAddress=FEE_ADDRESS.lower(), operatorWalletAddress=PAYEE.lower())
    assert (made["feeAddress"], made["operatorWalletAddress"]) == (FEE_ADDRESS, PAYEE)


def test_what_is_allowed_is_kept_in_canonical_form_and_once_each(host: Host) -> None:
    payees = [PAYEE.lower(), TRON_PAYEE, PAYEE]
    made = host.created(allowedPayees=payees, allowedCurrencies=["USDC-sepolia", "fUSDC-sepolia", "USDT-tron"])
    assert made["allowedPayees"] == [PAYEE, TRON_PAYEE]
    assert made["allowedCurrencies"] == ["fUSDC-sepolia", "USDT-tron"]
    assert host.created(allowedPayees=[], allowedCurrencies=[])["allowedPayees"] == []


def test_domains_are_kept_as_browsers_send_them_and_once_each(host: Host) -> None:
    sent = ["HTTPS://Shop.Example:443/", "https://shop.example", "http://127.0.0.1:80", "http://[::1]:3000"]
    assert host.created(allowedDomains=sent)["allowedDomains"] == [
        "https://shop.example",
        "http://127.0.0.1",
        "http://[::1]:3000",
    ]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"label": ""}, "label"),
    ({"label": "x" * 101}, "label must have at most 100 characters"),
    ({"label": None}, "label"),
    ({"allowedDomains": None}, "allowedDomains"),
    ({"allowedDomains": "https://shop.example"}, "allowedDomains"),
    ({"allowedDomains": [5]}, "allowedDomains"),
    ({"allowedDomains": [f"https://shop{number}.example" for number in range(11)]}, "at most 10 items"),
    *(
        ({"allowedDomains": [ORIGIN, domain]}, "allowedDomains: ")
        for domain in (
            "http://shop.example",
            "shop.example",
            "https://shop.example/path",
            "https://shop.example?x=1",
            "https://shop.example#x",
            "https://user@shop.example",
            "https://*.shop.example",
            "https://",
            "ftp://localhost",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "https://shop.example:99999",
            "",
        )
    ),
    ({"allowedDomains": ["https://" + "x" * 300]}, "at most 300 characters"),
    ({"feePercentage": "1"}, "feeAddress is required when feePercentage is set"),
    ({"feePercentage": "", "feeAddress": FEE_ADDRESS}, "feePercentage"),
    ({"feePercentage": 1, "feeAddress": FEE_ADDRESS}, "feePercentage must be a string"),
    *(
        (
            {"feePercentage": text, "feeAddress": FEE_ADDRESS},
            "feePercentage must be a plain decimal number from 0 to 100 with at most 2 decimals",
        )
        for text in ("1.234", "-1", "100.01", "1e1", "x", " 1", "0.000")
    ),
    ({"feeAddress": "0x1"}, "feeAddress: Invalid EVM address"),
    ({"feeAddress": FEE_ADDRESS.swapcase().replace("0X", "0x")}, "feeAddress: Invalid EVM address"),
    ({"feeAddress": "0x" + "0" * 40}, "feeAddress: is the zero address"),
    ({"operatorWalletAddress": "x"}, "operatorWalletAddress: Invalid EVM address"),
    ({"operatorWalletAddress": ""}, "operatorWalletAddress"),
    *(({name: "x"}, f"{name} must be an array") for name in ("allowedPayees", "allowedCurrencies")),
    *(({name: [5]}, f"{name}.0 must be a string") for name in ("allowedPayees", "allowedCurrencies")),
    *(({name: [""]}, f"{name}.0 must have at least 1") for name in ("allowedPayees", "allowedCurrencies")),
    *(({name: value}, f"{name} must be true or false") for name in ("usesPaymentIntents", "mayExecute", "mayReadPayers") for value in ("true", 1, None)),
    ({"allowedPayees": [PAYEE] * 101}, "allowedPayees must have at most 100 items"),
    ({"allowedPayees": [PAYEE, "0x1"]}, "allowedPayees: '0x1': Invalid EVM address"),
    ({"allowedPayees": ["T1"]}, "allowedPayees: 'T1': Invalid Tron address"),
    *(
        ({name: address_of(ERC20_FEE_PROXY, "base")}, f"{name}: is the contract of ERC20FeeProxy")
        for name in ("feeAddress", "operatorWalletAddress")
    ),
    ({"allowedPayees": [address_of(TRON_BATCH, "tron")]}, "is the contract of ERC20BatchPayments"),
    ({"allowedPayees": ["0x" + "0" * 40]}, "is the zero address"),
    ({"allowedCurrencies": ["fUSDC-sepolia"] * 101}, "allowedCurrencies must have at most 100 items"),
    ({"allowedCurrencies": ["DOGE"]}, "allowedCurrencies: 'DOGE' is not supported; GET /v2/currencies lists the ids"),
    ({"allowedCurrencies": ["USD"]}, "allowedCurrencies: USD cannot be paid on a chain"),
    *(
        ({name: value}, name)
        for name in ("defaultPreApprovalExpiry", "defaultAuthorizationExpiry")
        for value in (0, -1, 1.5, "3600", True, 10**40, [])
    ),
]


def test_a_setting_that_cannot_be_is_refused_by_name_when_making_and_when_changing(host: Host) -> None:
    made = host.created()
    before = stored()
    for fields, hint in REFUSED:
        for reply in (host.create(**fields), host.send("PUT", made["id"], fields)):
            assert reply.status == 400 and hint in reply.message, (fields, reply.json)
        assert stored() == before, fields
    assert host.read(made["id"])["updatedAt"] == made["createdAt"]


def test_a_client_id_without_domains_is_made_on_the_auth_host_alone(new_shop: Shop) -> None:
    refused = api_host(new_shop).create(allowedDomains=[])
    assert (refused.status, refused.message) == (400, "allowedDomains must have at least 1 item")
    assert api_host(new_shop).send("POST", None, {"label": "x"}).status == 400
    made = auth_host(new_shop).created(allowedDomains=[])
    assert create_link(new_shop.api, made["clientId"], None).status == 201
    assert auth_host(new_shop).send("POST", None, {"label": "x"}).json["allowedDomains"] == []


def test_both_hosts_show_the_same_client_ids(new_shop: Shop) -> None:
    made = [api_host(new_shop).created(), auth_host(new_shop).created()]
    own = [each for each in api_host(new_shop).listed() if each in {one["id"] for one in made}]
    assert own == [each["id"] for each in made]
    assert api_host(new_shop).listed() == auth_host(new_shop).listed()


# --- listing and reading ---


def test_a_list_shows_the_short_form_and_the_last_use(host: Host) -> None:
    made, other = host.created(), host.created()
    listed = host.listed()[made["id"]]
    assert set(listed) == LISTED and listed["lastUsedAt"] is None
    create_link(host.shop.api, made["clientId"])
    used = host.listed()[made["id"]]["lastUsedAt"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", used)
    assert host.read(made["id"])["lastUsedAt"] == used
    assert host.listed()[other["id"]]["lastUsedAt"] is None


def test_a_client_id_beside_an_api_key_is_used_as_well(host: Host) -> None:
    made = host.created()
    both = {**host.shop.by_key, "x-client-id": made["clientId"]}
    assert host.shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, both).status == 201
    assert host.read(made["id"])["lastUsedAt"] is not None


# --- changing ---


def test_changing_touches_what_was_sent_alone_and_null_unsets(host: Host) -> None:
    made = host.created()
    id, expected = made["id"], {name: made[name] for name in made if name != "createdAt"}
    changes: list[dict[str, Any]] = [
        {"label": "renamed"},
        {"allowedDomains": ["https://other.example"]},
        {"feePercentage": "1.5", "feeAddress": FEE_ADDRESS},
        {"feePercentage": "0"},
        {"feePercentage": None},
        {"feePercentage": "100"},
        {"feePercentage": None, "feeAddress": None},
        {"allowedPayees": [PAYEE], "allowedCurrencies": ["fUSDC-sepolia"]},
        {"allowedPayees": [], "allowedCurrencies": []},
        {"allowedPayees": None, "allowedCurrencies": None},
        {"usesPaymentIntents": True},
        {"usesPaymentIntents": False},
        {"mayExecute": True},
        {"mayExecute": False},
        {"mayReadPayers": True},
        {"mayReadPayers": False},
        {"operatorWalletAddress": PAYEE},
        {"defaultPreApprovalExpiry": 1, "defaultAuthorizationExpiry": 2**32},
        {"operatorWalletAddress": None, "defaultPreApprovalExpiry": None, "defaultAuthorizationExpiry": None},
        {"status": "inactive"},
        {"status": "active"},
        {},
    ]
    for change in changes:
        expected |= change
        reply = host.send("PUT", id, change)
        assert reply.status == 200, reply.json
        assert set(reply.json) == UPDATED
        assert {**reply.json, "updatedAt": 0} == {**expected, "updatedAt": 0}
        assert reply.json["updatedAt"] >= made["createdAt"]
        assert {name: host.read(id)[name] for name in expected} == expected


@pytest.mark.parametrize(
    "body", [{"status": None}, {"status": "paused"}, {"status": "REVOKED"}, {"status": 1}], ids=str
)
def test_an_unknown_status_is_refused(host: Host, body: dict[str, Any]) -> None:
    reply = host.send("PUT", host.created()["id"], body)
    assert reply.status == 400 and reply.message.startswith("status must be one of")


def test_a_fee_does_not_lose_its_address(host: Host) -> None:
    made = host.created(feePercentage="1", feeAddress=FEE_ADDRESS)
    reply = host.send("PUT", made["id"], {"feeAddress": None})
    assert (reply.status, reply.message) == (400, "feeAddress is required when feePercentage is set")
    assert host.read(made["id"])["feeAddress"] == FEE_ADDRESS


def test_new_domains_count_at_once(host: Host) -> None:
    made = host.created()
    host.send("PUT", made["id"], {"allowedDomains": ["https://other.example"]})
    assert create_link(host.shop.api, made["clientId"]).status == 403
    assert create_link(host.shop.api, made["clientId"], "https://other.example").status == 201


def test_domains_are_emptied_on_the_auth_host_alone(new_shop: Shop) -> None:
    made = auth_host(new_shop).created()
    assert api_host(new_shop).send("PUT", made["id"], {"allowedDomains": []}).status == 400
    assert auth_host(new_shop).send("PUT", made["id"], {"allowedDomains": []}).json["allowedDomains"] == []
    assert create_link(new_shop.api, made["clientId"], None).status == 201


def test_a_put_without_a_body_is_refused(host: Host) -> None:
    assert host.send("PUT", host.created()["id"]).status == 400


# --- status ---


def test_an_inactive_client_id_is_403_until_it_is_active_again(host: Host) -> None:
    made = host.created()
    host.send("PUT", made["id"], {"status": "inactive"})
    reply = create_link(host.shop.api, made["clientId"])
    assert (reply.status, reply.message) == (403, "Client ID is inactive")
    host.send("PUT", made["id"], {"status": "active"})
    assert create_link(host.shop.api, made["clientId"]).status == 201


@pytest.mark.parametrize("way", [("DELETE", None), ("PUT", {"status": "revoked"})], ids=["DELETE", "PUT"])
def test_revoking_is_for_good(host: Host, way: tuple[str, Any]) -> None:
    method, body = way
    made = host.created()
    reply = host.send(method, made["id"], body)
    assert (reply.status, set(reply.json), reply.json["status"]) == (200, UPDATED, "revoked")
    refused = create_link(host.shop.api, made["clientId"])
    assert (refused.status, refused.message) == (403, "Client ID has been revoked")
    for status in ("active", "inactive"):
        reply = host.send("PUT", made["id"], {"status": status})
        assert (reply.status, reply.message) == (400, "cannot reactivate revoked ID")
    assert host.read(made["id"])["status"] == host.listed()[made["id"]]["status"] == "revoked"


def test_revoking_again_changes_nothing(host: Host) -> None:
    made = host.created()
    first = host.send("DELETE", made["id"])
    before = stored()
    again = host.send("DELETE", made["id"])
    assert (again.status, again.json) == (200, first.json)
    assert stored() == before


def test_a_revoked_client_id_can_still_be_renamed(host: Host) -> None:
    made = host.created()
    host.send("DELETE", made["id"])
    reply = host.send("PUT", made["id"], {"label": "old shop", "status": "revoked"})
    assert (reply.json["label"], reply.json["status"]) == ("old shop", "revoked")


# --- the bound destination ---


def test_an_own_active_destination_is_bound_by_any_of_its_ids_and_unbound_by_null(host: Host) -> None:
    own = destination(host.shop.account_id, "01M7VQFVRZV5BJJSN4QTFB4MP3")
    for named in (own.record_id, own.destination_id, own.destination_id.lower()):
        made = host.created(payeeDestinationId=named)
        assert made["payeeDestinationId"] == own.record_id
        assert host.read(made["id"])["payeeDestinationId"] == own.record_id
    changed = host.send("PUT", made["id"], {"payeeDestinationId": None})
    assert changed.json["payeeDestinationId"] is None
    assert host.send("PUT", made["id"], {"label": "x"}).json["payeeDestinationId"] is None


def test_another_destination_than_an_own_active_one_is_refused(host: Host) -> None:
    account_id = host.shop.account_id
    foreign = destination(Shop(host.shop.api).account_id, "01M7VQFVRZV5BJJSN4QTFB4MP4")
    ended = destination(account_id, "01M7VQFVRZV5BJJSN4QTFB4MP5", is_active=False)
    made = host.created()
    for named in (
        foreign.record_id,
        foreign.destination_id,
        ended.record_id,
        ended.destination_id,
        "unknown",
        "%00",
        "x@y",
    ):
        for reply in (
            host.create(payeeDestinationId=named),
            host.send("PUT", made["id"], {"payeeDestinationId": named}),
        ):
            assert (reply.status, reply.message) == (
                400,
                "payeeDestinationId is not an active payee destination of this account",
            )


# --- who may ---


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_an_unknown_id_is_404(host: Host, method: str) -> None:
    for id in ("01M7VQFVRZV5BJJSN4QTFB4MP3", "x" * 3000, "%F0%9F%92%B8", "%FF", "a%2Fb"):
        reply = host.send(method, id, {"label": "x"} if method == "PUT" else None)
        assert (id, reply.status, reply.message) == (id, 404, "Client ID not found")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_paths_take_the_internal_id_and_not_the_client_id(host: Host, method: str) -> None:
    made = host.created()
    assert host.send(method, made["clientId"], {"label": "x"} if method == "PUT" else None).status == 404


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_nobody_reaches_the_client_id_of_another(host: Host, method: str) -> None:
    made, stranger = host.created(), Shop(host.shop.api)
    for other in (api_host(stranger), auth_host(stranger)):
        assert other.send(method, made["id"], {"label": "x"} if method == "PUT" else None).status == 404
        assert made["id"] not in other.listed()
    assert create_link(host.shop.api, made["clientId"]).status == 201


def test_each_host_takes_its_own_mode_alone(new_shop: Shop) -> None:
    session = by_session(new_shop.account_id)
    for path, allowed in (("/v2/client-ids", new_shop.by_key), ("/v1/client-ids", session)):
        for headers in ({}, new_shop.by_key, new_shop.by_client, session):
            expected = 200 if headers == allowed else 403 if headers else 401
            assert new_shop.api.get(path, headers).status == expected, (path, headers)


def test_every_change_is_in_the_audit_log(host: Host) -> None:
    id = host.created()["id"]
    host.send("PUT", id, {"label": "y"})
    host.send("PUT", id, {"label": ""})
    host.send("PUT", id, {"status": "revoked"})
    host.send("DELETE", id)
    entries = host.shop.api.get("/v1/audit", host.shop.by_key).json["entries"]
    done = [entry["action"] for entry in entries if entry["target"] == id]
    assert done == ["client_id.revoked", "client_id.updated", "client_id.created"]
    kind = "api_key:" if host.path.startswith("/v2") else "person:"
    assert all(entry["actor"].startswith(kind) for entry in entries if entry["target"] == id)
    assert host.headers.get("x-api-key", host.headers.get("cookie", "")[-20:]) not in json.dumps(entries)
