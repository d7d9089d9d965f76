"""The authorisation matrix: every operation of the code's own table, every way to call it, everybody's resources."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from chalicelib.access.callers import Owner
from chalicelib.access.credentials.records import ApiKey
from chalicelib.access.credentials.rules import SCOPES
from chalicelib.access.modes import Mode, Rate
from chalicelib.checkout.flows import signable_transactions
from chalicelib.checkout.intents import flows as intents
from chalicelib.checkout.intents.announcements import IntentDraft
from chalicelib.http.credentials import needed_for
from chalicelib.http.operation import OPERATIONS, Operation
from chalicelib.links.multicalls import flows as multicalls
from chalicelib.links.reading import Viewer
from chalicelib.payees.records import Action
from chalicelib.scanning.records import Cursor
from chalicelib.webhooks.deliveries.records import Delivery
from infra import admin
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA
from tests.fakes.payouts import store_payouts
from tests.fakes.tron import signed_call
from tests.fakes.wallets import evm_wallet, tron_wallet
from tests.fakes.world import in_process_tables
from tests.support.client import Api, Reply, item
from tests.support.items import payout
from tests.support.operations import models
from tests.support.running import running
from tests.support.tenants import FLAWS, WAYS, Headers, Tenant, Way

Make = Callable[[Tenant, Way], Any]


@dataclass(frozen=True)
class Example:
    """A request that succeeds, out of what its tenant owns; `owned` says what others answer who do not own it."""

    path: dict[str, Make]
    query: Make | None = None
    body: Make | None = None
    before: Make | None = None
    others: tuple[int, ...] = ()
    """The statuses when it is another tenant's; empty where nothing in it belongs to anybody."""
    wallet_only: bool = False


def example(
    path: dict[str, Make] | None = None, others: tuple[int, ...] | None = None, **facts: Any
) -> Example:
    return Example(path or {}, others=others if others is not None else ((404,) if path else ()), **facts)


def of_owner(make: Callable[[Tenant], Any]) -> Make:
    return lambda owner, way: make(owner)


def a_webhook(owner: Tenant, way: Way) -> str:
    """Webhooks of a client id are its own; a key or a session alone means those of the account."""
    return owner.webhook_of_client() if Mode.CLIENT_ID in way.serves else owner.webhook_of_account()


def a_failed_delivery(owner: Tenant, way: Way) -> Delivery:
    """The same one each time that it is asked for."""
    if owner.failed is None:
        client_id = owner.client_id if Mode.CLIENT_ID in way.serves else None
        owner.failed = owner.failed_delivery(a_webhook(owner, way), client_id)
    return owner.failed


def a_link(owner: Tenant, way: Way) -> dict[str, Any]:
    """A platform's link goes where the client id is bound to."""
    return {"requests": [{"amount": "12.50"} if Mode.ORCHESTRATOR in way.serves else item()]}


def payout_tokens(owner: Tenant) -> list[str]:
    return [made.link.token for made in store_payouts(running(), owner.account_id, 2)]


def multicall_token(owner: Tenant) -> str:
    account = Owner(owner.account_id, None, None)
    return multicalls.create(running(), account, payout_tokens(owner), None).payment.link.token


def signed(action: Action) -> Make:
    return lambda owner, way: dict(zip(("nonce", "signature"), owner.signed(action), strict=True))


def fixed(**fields: Any) -> Make:
    return lambda owner, way: fields


CLIENT_FIELDS = {"label": "shop", "allowedDomains": ["https://shop.example"]}
KEEP = {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}
WEBHOOK = {"webhook_id": a_webhook}
KEY, CLIENT = {"key_id": of_owner(Tenant.key_id)}, {"id": of_owner(Tenant.client_record_id)}
TOKEN = {"token": of_owner(Tenant.link_token)}
EMAIL = {"email": "ann@shop.example", "password": "correct horse"}


def registered(owner: Tenant, way: Way) -> dict[str, str]:
    from chalicelib.accounts.sign_in import flows as sessions

    fields = {**EMAIL, "email": f"{owner.name}@shop.example"}
    sessions.register(running(), fields["email"], fields["password"], owner.actor)
    return fields


def answered(owner: Tenant, way: Way) -> dict[str, str]:
    from chalicelib.accounts.sign_in import flows as sessions

    asked = sessions.challenge(running(), owner.wallet.address, 1)
    signature = owner.wallet.sign(asked.message)
    return {
        "challengeId": asked.challenge_id,
        "nonce": asked.nonce,
        "message": asked.message,
        "signature": signature,
    }


def scanned(owner: Tenant, way: Way) -> None:
    """Detection has begun on sepolia, so that multisig transactions can be followed there."""
    if running().store.get(Cursor, Cursor.KEY.of(network="sepolia")) is None:
        running().store.write(Cursor("sepolia", 100, (), 2000))


def waiting_token(owner: Tenant, way: Way) -> str:
    token = owner.link_token()
    scanned(owner, way)
    draft = IntentDraft(None, "0x" + "ab" * 32, None, "SEPOLIA", "USDC", None)
    intents.record(running(), token, Viewer(owner.account_id, None), draft)
    return token


def tron_signed(owner: Tenant, way: Way) -> dict[str, Any]:
    wallet, viewer = tron_wallet(owner.name), Viewer(owner.account_id, None)
    payment = signable_transactions(running(), owner.tron_token(), viewer, wallet.address)[-1]
    return {"signedTransaction": signed_call(wallet, payment.to, payment.data)}


EXAMPLES: dict[tuple[str, str], Example] = {
    ("GET", "/v2/health"): example(),
    ("GET", "/v2/status"): example(),
    ("GET", "/v1/health"): example(),
    ("GET", "/openapi.json"): example(),
    ("GET", "/v2/currencies"): example(),
    ("GET", "/v2/currencies/{currency_id}/conversion-routes"): example(
        {"currency_id": lambda owner, way: "USD"}, others=()
    ),
    ("POST", "/v2/secure-payments"): example(body=a_link),
    ("GET", "/v2/secure-payments"): example(
        query=lambda owner, way: {"requestId": owner.request_id()}, others=(404,)
    ),
    ("POST", "/v2/secure-payments/payouts"): example(
        body=lambda owner, way: payout(creatorWalletAddress=owner.wallet.address)
    ),
    ("POST", "/v2/secure-payments/batch-payouts"): example(
        body=lambda owner, way: {"tokens": payout_tokens(owner)}, others=(400,)
    ),
    ("POST", "/v2/secure-payments/fees/preview"): example(
        body=fixed(amount="100", currency="USDC", flow="get_paid")
    ),
    ("GET", "/v2/secure-payments/{token}"): example(TOKEN),
    ("GET", "/v2/secure-payments/{token}/pay"): example(TOKEN),
    ("GET", "/v2/secure-payments/{token}/transfers"): example(TOKEN),
    ("POST", "/v2/secure-payments/{token}/intent"): example(
        TOKEN, body=fixed(safeTxHash="0x" + "ab" * 32, chain="SEPOLIA", token="USDC"), before=scanned
    ),
    ("DELETE", "/v2/secure-payments/{token}/intent"): example({"token": waiting_token}),
    ("POST", "/v2/secure-payments/{token}/tron/broadcast"): example(
        {"token": of_owner(Tenant.tron_token)}, body=tron_signed
    ),
    ("POST", "/v2/secure-payments/multicall-payouts"): example(
        body=lambda owner, way: {"childTokens": payout_tokens(owner)}, others=(400,)
    ),
    ("GET", "/v2/secure-payments/multicall-payouts/{token}"): example(
        {"token": of_owner(multicall_token)}, others=(403,)
    ),
    ("POST", "/v1/webhook"): example(body=fixed(url="https://93.184.215.14/hook")),
    ("GET", "/v1/webhook"): example(),
    ("PUT", "/v1/webhook/{webhook_id}"): example(WEBHOOK),
    ("DELETE", "/v1/webhook/{webhook_id}"): example(WEBHOOK),
    ("GET", "/v1/webhook/{webhook_id}/deliveries"): example(WEBHOOK),
    ("POST", "/v1/webhook/{webhook_id}/deliveries/{delivery_id}/redeliver"): example(
        {
            "webhook_id": lambda owner, way: a_failed_delivery(owner, way).webhook_id,
            "delivery_id": lambda owner, way: a_failed_delivery(owner, way).delivery_id,
        }
    ),
    ("POST", "/v1/webhook/{webhook_id}/redeliver"): example(WEBHOOK, body=fixed(since="2026-03-15T10:00:00.000Z")),
    ("POST", "/v1/webhook/test"): example(body=fixed(eventType="payment.confirmed"), before=a_webhook),
    ("POST", "/v1/auth/wallet/challenge"): example(body=fixed(address=evm_wallet().address)),
    ("POST", "/v1/auth/wallet/verify"): example(body=answered),
    ("POST", "/v1/auth/register"): example(body=fixed(**EMAIL)),
    ("POST", "/v1/auth/login"): example(body=registered),
    ("POST", "/v1/auth/logout"): example(),
    ("GET", "/v1/auth/me"): example(),
    ("GET", "/v1/auth/sessions"): example(),
    ("DELETE", "/v1/auth/sessions/{session_id}"): example({"session_id": of_owner(Tenant.session_id)}),
    ("GET", "/v1/audit"): example(),
    ("POST", "/v1/api-keys"): example(body=fixed(label="server")),
    ("GET", "/v1/api-keys"): example(),
    ("GET", "/v1/api-keys/{key_id}"): example(KEY),
    ("PUT", "/v1/api-keys/{key_id}"): example(KEY, body=fixed(label="other")),
    ("DELETE", "/v1/api-keys/{key_id}"): example(KEY),
    **{
        known: facts
        for host in ("/v1/client-ids", "/v2/client-ids")
        for known, facts in {
            ("POST", host): example(body=fixed(**CLIENT_FIELDS)),
            ("GET", host): example(),
            ("GET", f"{host}/{{id}}"): example(CLIENT),
            ("PUT", f"{host}/{{id}}"): example(CLIENT, body=fixed(label="other")),
            ("DELETE", f"{host}/{{id}}"): example(CLIENT),
            ("PUT", f"{host}/{{id}}/branding"): example(CLIENT, body=fixed(termsUrl="https://shop.example/terms")),
            ("GET", f"{host}/{{id}}/branding"): example(CLIENT, before=of_owner(Tenant.branded)),
            ("DELETE", f"{host}/{{id}}/branding"): example(CLIENT),
        }.items()
    },
    ("POST", "/v2/orchestrators"): example(
        body=fixed(orchestratorName="Platform", orchestratorContactEmail="ops@platform.example")
    ),
    ("GET", "/v2/orchestrators/client-ids"): example(),
    ("POST", "/v2/orchestrators/client-ids"): example(
        body=lambda owner, way: {"clientId": owner.client_id}, others=(404,)
    ),
    ("DELETE", "/v2/orchestrators/client-ids/{client_id}"): example({"client_id": of_owner(Tenant.linked)}),
    ("GET", "/v2/payee-destination/signing-data"): example(
        query=lambda owner, way: {
            "walletAddress": owner.wallet.address,
            "tokenAddress": FUSDC_SEPOLIA,
            "chainId": SEPOLIA,
            "action": "add",
        }
    ),
    ("POST", "/v2/payee-destination"): example(body=signed(Action.ADD), others=(400,)),
    ("GET", "/v2/payee-destination"): example(query=lambda owner, way: {"walletAddress": owner.wallet.address}),
    ("GET", "/v2/payee-destination/{destination_id}"): example({"destination_id": of_owner(Tenant.bound)}),
    ("DELETE", "/v2/payee-destination/{destination_id}"): example(
        {"destination_id": of_owner(Tenant.bound)}, body=signed(Action.DEACTIVATE), others=(400,)
    ),
    ("POST", "/v1/payee-destination"): example(body=fixed(**KEEP), wallet_only=True),
    ("PUT", "/v1/payee-destination"): example(
        body=fixed(**{**KEEP, "tokenAddress": FUSDT_SEPOLIA}),
        before=of_owner(Tenant.kept),
        others=(404,),
        wallet_only=True,
    ),
    ("GET", "/v1/payee-destination"): example(wallet_only=True),
    ("GET", "/v1/payee-destination/lookup"): example(
        query=lambda owner, way: {"destinationId": owner.kept()}, others=(403,), wallet_only=True
    ),
    ("GET", "/v1/payee-destination/payout-lookup"): example(
        query=lambda owner, way: {"walletAddress": owner.wallet.address}, wallet_only=True
    ),
    ("PATCH", "/v1/payee-destination/deactivate"): example(
        body=lambda owner, way: {"destinationId": owner.kept()}, others=(403,), wallet_only=True
    ),
}


def needs_client(known: Operation, way: Way) -> bool:
    """Whether an API key is taken only beside a client id: the operation is about that one."""
    return Mode.API_KEY in way.serves and known.path.startswith("/v2/payee-destination")


def headers_for(known: Operation, tenant: Tenant, way: Way) -> Headers:
    beside = {"x-client-id": tenant.client_id} if needs_client(known, way) else {}
    headers = {**way.headers(tenant), **beside}
    if known.signs_in:
        headers.pop("origin", None)  # the shop's page may not sign anybody in
    return headers


@dataclass(frozen=True)
class Prepared:
    """The example of an operation, to be sent with any headers. A refusal changes nothing, so it can be sent again."""

    method: str
    path: str
    body: Any

    def send(self, api: Api, headers: Headers) -> Reply:
        return api.request(self.method, self.path, self.body, headers)


def prepared(known: Operation, owner: Tenant, way: Way) -> Prepared:
    """The operation's example, about what `owner` has."""
    facts = EXAMPLES[known.method, known.path]
    if facts.before:
        facts.before(owner, way)
    parts = {name: quote(make(owner, way), safe="") for name, make in facts.path.items()}
    query = f"?{urlencode(facts.query(owner, way))}" if facts.query else ""
    body = facts.body(owner, way) if facts.body else None
    return Prepared(known.method, known.path.format(**parts) + query, body)


def request(api: Api, known: Operation, headers: Headers, owner: Tenant, way: Way) -> Reply:
    return prepared(known, owner, way).send(api, headers)


def accepts(known: Operation, way: Way) -> bool:
    """A session is ambient, browsers send it to everything: where it means nothing it does not close what is public."""
    is_open = known.modes == (Mode.PUBLIC,) or (Mode.PUBLIC in known.modes and Mode.SESSION in way.serves)
    return is_open or any(mode in known.modes for mode in way.serves)


def is_barred(known: Operation, way: Way) -> bool:
    """Whether the operation is for sessions of wallets, and this is one by e-mail."""
    return EXAMPLES[known.method, known.path].wallet_only and way.name == "e-mail session"


def named(value: object) -> str:
    return f"{value.method} {value.path}" if isinstance(value, Operation) else getattr(value, "name", "")


@pytest.fixture(autouse=True)
def empty_tables(api: Api) -> None:
    """Hundreds of tenants would make what scans or sorts a table slower and slower."""
    for table in in_process_tables().values():
        table.items.clear()


every_operation = pytest.mark.parametrize("known", OPERATIONS, ids=named)


def test_every_operation_has_an_example_and_every_example_its_operation() -> None:
    assert EXAMPLES.keys() == {(known.method, known.path) for known in OPERATIONS}


def test_the_table_says_what_an_operation_shows_and_looks_up() -> None:
    for known in OPERATIONS:
        fields = getattr(models(known).response, "model_fields", {})
        shows = bool({"secret", "key", "rawKey"} & set(fields)) and known.method == "POST"
        assert known.shows_secret or not shows, f"{known.path} shows a secret: its answer is to be kept encrypted"
        assert known.looks_up_token == (known.path.startswith("/v2/secure-payments/") and "{token}" in known.path)
        assert known.rate is not Rate.SIGN_IN or known.modes == (Mode.PUBLIC,), "signing in is counted by address"
        assert known.rate is not None or known.modes == (Mode.PUBLIC,)


@every_operation
def test_an_accepted_mode_is_served(api: Api, known: Operation) -> None:
    for way in accepted_ways(known):
        tenant = Tenant()
        reply = request(api, known, headers_for(known, tenant, way), tenant, way)
        if is_barred(known, way):
            assert (way.name, reply.status, reply.message) == (way.name, 403, "wallet session required")
        else:
            assert (way.name, reply.status) == (way.name, known.status), reply.body


@every_operation
def test_every_other_mode_is_401(api: Api, known: Operation) -> None:
    tenant = Tenant()
    own = prepared(known, tenant, accepted_ways(known)[0])
    for way in WAYS:
        if not accepts(known, way):
            reply = own.send(api, headers_for(known, tenant, way))
            half = way.name == "orchestrator key" and Mode.ORCHESTRATOR in known.modes
            told = "x-client-id is required with x-orchestrator-key" if half else refusal_of(known, way)
            assert (way.name, reply.status, reply.message) == (way.name, 401, told)


@every_operation
def test_a_page_that_is_not_ours_gets_no_cookie(api: Api, known: Operation) -> None:
    """Neither a session nor the end of one. A token in `authorization` is left out: no browser sends it by itself."""
    for way in accepted_ways(known):
        if way.name != "e-mail session":
            tenant = Tenant()
            headers = {**headers_for(known, tenant, way), "origin": "http://blog.auth.test"}
            reply = request(api, known, headers, tenant, way)
            assert "set-cookie" not in reply.headers, way.name
            signs_in = "session_token" in headers.get("cookie", "") or known.signs_in
            assert reply.status == 403 or known.method == "GET" or not signs_in, way.name


def refusal_of(known: Operation, way: Way) -> str:
    """The message for a credential of a kind that the operation does not accept."""
    if way.serves == (Mode.PUBLIC,):
        return "Unauthorized"
    kinds = {Mode.API_KEY: "x-api-key", Mode.CLIENT_ID: "x-client-id", Mode.SESSION: "A session"}
    return f"{kinds.get(way.serves[0], 'x-orchestrator-key')} is not accepted here: send {needed_for(known.modes)}"


def accepted_ways(known: Operation) -> list[Way]:
    return [way for way in WAYS if accepts(known, way)]


OWNED = [known for known in OPERATIONS if EXAMPLES.get((known.method, known.path), example()).others]


@pytest.mark.parametrize("known", OWNED, ids=named)
def test_what_another_tenant_owns_is_as_unknown_as_what_never_was(api: Api, known: Operation) -> None:
    facts, caller = EXAMPLES[known.method, known.path], Tenant()
    for way in accepted_ways(known):
        if not is_barred(known, way):
            reply = request(api, known, headers_for(known, caller, way), Tenant(), way)
            assert reply.status in facts.others, (way.name, reply.body)


def test_every_operation_that_names_a_record_in_its_path_says_what_others_hear() -> None:
    for known in OPERATIONS:
        if "{" in known.path and known.path != "/v2/currencies/{currency_id}/conversion-routes":
            assert known in OWNED


@every_operation
def test_a_flawed_credential_is_refused_as_specified(api: Api, known: Operation) -> None:
    """At every operation that accepts its mode, with the text of the interface; beside its client id a key too."""
    for way in WAYS:
        flaws = [flaw for flaw in FLAWS if flaw[0] == way.name and way.serves[0] in known.modes]
        if not flaws:
            continue
        tenant = Tenant()
        own = prepared(known, tenant, way)
        for name, flaw, spoil, status, message in flaws:
            reply = own.send(api, spoil(tenant, headers_for(known, tenant, way)))
            assert (reply.status, reply.message) == (status, message), (name, flaw)
            tenant.mend()


@every_operation
def test_an_api_key_that_lacks_the_scope_is_403_naming_it(api: Api, known: Operation) -> None:
    if Mode.API_KEY not in known.modes or Mode.PUBLIC in known.modes:
        return
    assert known.scope in SCOPES, "what an API key may do must be possible to limit"
    tenant, way = Tenant(), WAYS[1]
    others = tuple(each for each in SCOPES if each != known.scope)
    headers = tenant.spoil(tenant.by_key(), "x-api-key", ApiKey, scopes=others)
    reply = request(api, known, headers, tenant, way)
    assert (reply.status, reply.message) == (403, f"This API key lacks the scope {known.scope}")
    headers = tenant.spoil(tenant.by_key(), "x-api-key", ApiKey, scopes=(known.scope,))
    fresh = Tenant()
    headers = fresh.spoil(headers_for(known, fresh, way), "x-api-key", ApiKey, scopes=(known.scope,))
    assert request(api, known, headers, fresh, way).status == known.status


def test_a_key_counts_before_a_client_id_and_both_before_a_session(api: Api) -> None:
    """Supplement, part 1: a session is consulted only when no credential header is present."""
    tenant, other = Tenant(), Tenant()
    session = tenant.by_wallet()
    for header, value in (("x-api-key", "key_unknown"), ("x-client-id", "cli_unknown"), ("x-orchestrator-key", "x")):
        reply = api.request("GET", "/v1/auth/me", None, {**session, header: value})
        assert (header, reply.status) == (header, 401)
    key = other.by_key()
    token = other.link_token()
    assert api.get(f"/v2/secure-payments/{token}", {**key, **session}).status == 200
    assert api.get(f"/v2/secure-payments/{token}", {**key, **tenant.by_client()}).status == 403


def test_of_two_credentials_the_first_counts_that_the_operation_accepts(api: Api) -> None:
    tenant = Tenant()
    both = {**tenant.by_key(), **tenant.by_client()}
    wallet = f"/v2/payee-destination?walletAddress={tenant.wallet.address}"
    assert api.get(wallet, both).status == 200
    assert api.get("/v2/client-ids", both).status == 200


def test_a_session_that_a_browser_sends_along_does_not_close_what_is_public(api: Api) -> None:
    for headers in ({"cookie": "session_token=old"}, {"authorization": "Bearer old"}):
        assert api.get("/v2/currencies", headers).status == 200


def test_the_cookie_is_found_between_others_and_two_of_them_have_no_meaning(api: Api) -> None:
    token = Tenant().by_wallet()["cookie"]
    for cookies in (f'a={{"b": 1}}; {token}', f"{token};x", f"a=b;{token}; c=d, e", f"; ;{token}"):
        assert api.get("/v1/auth/me", {"cookie": cookies}).status == 200, cookies
    other = Tenant().by_wallet()["cookie"]
    assert api.get("/v1/auth/me", {"cookie": f"{token}; {other}"}).status == 401
    assert api.get("/v1/auth/me", {"cookie": f"{token}; {token}"}).status == 200


def test_nobody_lists_what_is_anothers(api: Api) -> None:
    mine, theirs = Tenant(), Tenant()
    secrets = [theirs.link_token(), theirs.webhook_of_account(), theirs.key_id(), theirs.client_record_id()]
    for known in OPERATIONS:
        if known.method != "GET" or "{" in known.path or EXAMPLES[known.method, known.path].query:
            continue
        for way in WAYS:
            if accepts(known, way) and not is_barred(known, way):
                text = api.get(known.path, way.headers(mine)).body.decode()
                assert not any(secret in text for secret in (*secrets, theirs.account_id)), known


def test_the_operators_revocation_holds_at_once(api: Api) -> None:
    tenant = Tenant()
    key = tenant.by_key()
    assert api.get("/v2/client-ids", key).status == 200
    admin.revoke(running(), key["x-api-key"])
    assert api.get("/v2/client-ids", key).status == 401


def test_no_refusal_repeats_the_credential(api: Api) -> None:
    for name, _, spoil, _, _ in FLAWS:
        way, tenant = next(way for way in WAYS if way.name == name), Tenant()
        headers = spoil(tenant, way.headers(tenant))
        text = json.dumps(api.request("POST", "/v2/secure-payments", {}, headers).json)
        assert not any(value and value in text for value in headers.values())

