"""Idempotency-Key over HTTP: one effect, the same answer again, and when a key is another's, in use, or free."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib.base.errors import Conflict
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import LinkStatus
from chalicelib.platform.access.callers import Caller, SentCredential
from chalicelib.platform.access.credentials.records import Account, ApiKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.flows import identify
from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.idempotency.rules import begin, scope_hash
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.http.replay import _replay, _store_response, run_once
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.http.responses import HttpResponse
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete, WriteConflict
from infra import admin
from infra.local.gateway import LambdaContext
from tests.fakes.crash import Crash
from tests.fakes.world import FEE_ADDRESS, PAYEE, PREFIX, START
from tests.platform.http.test_pipeline import event, handled
from tests.platform.http.test_rate_limits import key_of
from tests.support.api import Clock, Configured, stop_time
from tests.support.client import Api, Reply, Shop, item, stored
from tests.support.node import Node
from tests.support.running import app, running

CREATE = "/v2/secure-payments"
BODY = {"requests": [item()], "reference": "INV-1"}
KEY = {"idempotency-key": "b4a7-1"}


def create(shop: Shop, headers: dict[str, str] | None = None, body: Any = BODY, path: str = CREATE) -> Reply:
    return shop.api.request("POST", path, body, {**shop.by_key, **KEY, **(headers or {})})


def kept(shop: Shop, credential: str, path: str = CREATE, key: str = KEY["idempotency-key"]) -> IdempotentRequest | None:
    scope = "\n".join((credential_hash(credential), "POST", path, key))
    return running().store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash(scope)))


# --- the same again ---


def test_a_repeated_request_has_one_effect_and_the_same_answer(new_shop: Shop) -> None:
    first, links = create(new_shop), stored()["payments"]
    for _ in range(3):
        again = create(new_shop)
        assert (again.status, again.body) == (first.status, first.body) == (201, first.body)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert "idempotent-replayed" not in first.headers
    assert stored()["payments"] == links


def test_the_same_path_written_otherwise_is_the_same_request(new_shop: Shop) -> None:
    """Gateways serve a path with a slash at its end, and with characters encoded that need not be, as the path itself."""
    first, links = create(new_shop), stored()["payments"]
    for path in (f"{CREATE}/", "/v2/secure-payments/"):
        again = create(new_shop, path=path)
        assert (again.status, again.body, again.headers.get("idempotent-replayed")) == (201, first.body, "true")
    assert stored()["payments"] == links
    hook = create(new_shop, body={"url": "https://93.184.215.14/"}, path="/v1/webhook/").json["id"]
    one = f"/v1/webhook/{hook}"
    written = (one, f"{one}/", f"/v1/webhook/%{ord(hook[0]):02x}{hook[1:]}", f"/v1/webhook/{hook[:-1]}%{ord(hook[-1]):02X}/")
    toggled = [new_shop.api.request("PUT", path, None, {**new_shop.by_key, **KEY}) for path in written]
    assert [reply.json["isActive"] for reply in toggled] == [False] * 4
    assert ["idempotent-replayed" in reply.headers for reply in toggled] == [False, True, True, True]


def test_an_operation_and_its_former_path_are_the_same_request(new_shop: Shop) -> None:
    sent = {"payee": PAYEE, "amount": "1", "invoiceCurrency": "fUSDC-sepolia", "paymentCurrency": "fUSDC-sepolia"}
    paid, again = (create(new_shop, body=sent, path=path) for path in ("/v2/payouts", "/v2/pay"))
    assert (paid.status, again.body, again.headers.get("idempotent-replayed")) == (201, paid.body, "true")


def test_a_key_is_for_one_address_alone(new_shop: Shop) -> None:
    path = "/v2/secure-payments/{}/intent"
    for token in (new_shop.link(), new_shop.link()):
        refused = new_shop.api.request("DELETE", path.format(token), None, {**new_shop.by_key, **KEY})
        assert (refused.status, "idempotent-replayed" in refused.headers) == (404, False)


def test_without_a_key_every_request_is_its_own(new_shop: Shop) -> None:
    first, second = new_shop.create(), new_shop.create()
    assert first.json["token"] != second.json["token"]


def test_refusals_are_repeated_too(new_shop: Shop) -> None:
    replies = [create(new_shop, body={"requests": []}) for _ in range(2)]
    assert [reply.status for reply in replies] == [400, 400]
    assert replies[0].body == replies[1].body
    assert replies[1].headers["idempotent-replayed"] == "true"


def test_every_changing_method_takes_a_key_and_a_get_does_not_look(new_shop: Shop) -> None:
    api, by_key = new_shop.api, new_shop.by_key
    hook = create(new_shop, body={"url": "https://93.184.215.14/"}, path="/v1/webhook").json["id"]
    one = f"/v1/webhook/{hook}"
    toggled = [api.request("PUT", one, None, {**by_key, **KEY}) for _ in range(2)]
    assert toggled[0].body == toggled[1].body
    assert toggled[0].json["isActive"] is False
    deleted = [api.request("DELETE", one, None, {**by_key, **KEY}) for _ in range(2)]
    assert [reply.status for reply in deleted] == [200, 200]
    assert "idempotent-replayed" not in api.get("/v1/webhook", {**by_key, **KEY}).headers
    assert api.get("/v1/webhook", {**by_key, "idempotency-key": ""}).status == 200


def test_a_key_is_kept_for_24_hours(new_shop: Shop, configured: Configured) -> None:
    with configured(RATE_LIMIT_SCALE="1000"):
        clock = stop_time()
        first = create(new_shop)
        clock.advance(24 * 3600 - 1)
        assert create(new_shop).body == first.body
        clock.advance(1)
        again = create(new_shop)
        assert (again.status, "idempotent-replayed" in again.headers) == (201, False)
        assert again.json["token"] != first.json["token"]
        assert create(new_shop).body == again.body


def test_the_answer_holds_no_old_limits(clock: Clock, new_shop: Shop) -> None:
    replies = [create(new_shop) for _ in range(3)]
    assert [reply.headers["ratelimit-remaining"] for reply in replies] == ["4", "3", "2"]


# --- another request ---


@pytest.mark.parametrize(
    "body", [{**BODY, "reference": "INV-2"}, {}, b"", b"{", json.dumps(BODY, indent=1).encode()], ids=str
)
def test_another_body_under_a_key_is_422(new_shop: Shop, body: Any) -> None:
    first = create(new_shop)
    before = stored()
    reply = create(new_shop, {"content-type": "application/json"}, body)
    wanted = "This Idempotency-Key was used with another body: use a new key for a new request"
    assert (reply.status, reply.message) == (422, wanted)
    assert stored() == before
    assert create(new_shop).body == first.body


def test_another_query_under_a_key_is_422(new_shop: Shop) -> None:
    hook = create(new_shop, body={"url": "https://93.184.215.14/"}, path="/v1/webhook").json["id"]
    headers = {**new_shop.by_key, **KEY}
    assert new_shop.api.request("PUT", f"/v1/webhook/{hook}", None, headers).status == 200
    assert new_shop.api.request("PUT", f"/v1/webhook/{hook}?clientId=x", None, headers).status == 422


def test_a_key_belongs_to_one_credential(new_shop: Shop, api: Api) -> None:
    other = Shop(api)
    first = create(new_shop)
    theirs = create(other)
    second_key = create(new_shop, key_of(new_shop))
    beside = create(new_shop, {"x-client-id": new_shop.client_id})
    by_client = api.request("POST", CREATE, BODY, {**new_shop.by_client, **KEY})
    tokens = [reply.json["token"] for reply in (first, theirs, second_key, beside, by_client)]
    assert len(set(tokens)) == 5
    assert not any("idempotent-replayed" in reply.headers for reply in (theirs, second_key, beside, by_client))


def test_a_key_belongs_to_one_path_and_method(new_shop: Shop) -> None:
    first = create(new_shop)
    hook = create(new_shop, body=BODY, path="/v1/webhook")
    assert (first.status, hook.status) == (201, 400)
    assert "idempotent-replayed" not in hook.headers


def test_a_retry_from_another_address_finds_its_key(new_shop: Shop) -> None:
    """A phone changes from Wi-Fi to mobile between the two."""
    first = create(new_shop)
    sent = event("POST", CREATE, headers={**new_shop.by_key, **KEY}, body=json.dumps(BODY))
    sent["requestContext"]["identity"] = {"sourceIp": "198.51.100.9"}
    answer = app(sent, LambdaContext("api_handler", 1024))
    assert (answer["statusCode"], answer["body"].encode()) == (201, first.body)
    assert answer["headers"]["Idempotent-Replayed"] == "true"


def test_after_its_revocation_a_credential_gets_no_old_answer(new_shop: Shop) -> None:
    assert create(new_shop).status == 201
    admin.revoke(running(), new_shop.key)
    assert create(new_shop).status == 401


def test_after_it_lost_its_scope_a_key_gets_no_old_answer(new_shop: Shop) -> None:
    assert create(new_shop).status == 201
    store = running().store
    record = store.get(ApiKey, ApiKey.KEY.of(credential_hash=credential_hash(new_shop.key)))
    assert record is not None
    store.write(replace(record, scopes=("audit:read",)))
    assert create(new_shop).status == 403


def test_keys_of_a_bare_client_id_belong_to_one_origin_and_address(new_shop: Shop) -> None:
    """A client id is public. A stranger takes the key that the shop's page will use, and asks for what it has made."""
    origins = ["https://shop.example", "https://b.example"]
    client_id = admin.create_client_id(running(), new_shop.account_id, "two pages", origins)

    def send(address: str, origin: str, body: Any = BODY) -> tuple[int, str, bool]:
        headers = {"x-client-id": client_id, "origin": origin, "content-type": "application/json", **KEY}
        sent = event("POST", CREATE, headers=headers, body=json.dumps(body))
        sent["requestContext"]["identity"] = {"sourceIp": address}
        answer = app(sent, LambdaContext("api_handler", 1024))
        return answer["statusCode"], answer["body"], "Idempotent-Replayed" in answer["headers"]

    page, stranger = ("203.0.113.7", origins[0]), ("198.51.100.9", origins[0])
    theirs = send(*stranger, {**BODY, "reference": "mine"})
    first = send(*page)
    others = [send("203.0.113.7", origins[1]), send("2001:db8::1", origins[0]), send("2001:db8:0:1::1", origins[0])]
    assert [status for status, _, _ in (theirs, first, *others)] == [201] * 5
    assert len({body for _, body, _ in (theirs, first, *others)}) == 5
    assert send(*page) == (201, first[1], True)
    assert send(*stranger)[0] == 422
    assert send("2001:db8::ffff", origins[0]) == (201, others[1][1], True), "one customer has a whole /64"


def test_the_keys_of_the_payment_page_belong_to_one_address(new_shop: Shop) -> None:
    settings = running().settings
    callers = [
        identify(running(), SentCredential(Mode.CLIENT_ID, settings.page_client_id), settings.page_origin, address)
        for address in ("203.0.113.7", "198.51.100.9", "203.0.113.7")
    ]
    assert callers[0].key_scope == callers[2].key_scope != callers[1].key_scope


def test_callers_without_credential_are_told_apart_by_address(api: Api) -> None:
    path, body = "/v1/auth/wallet/challenge", {"address": "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"}
    mine = [api.request("POST", path, body, KEY) for _ in range(2)]
    assert mine[0].body == mine[1].body
    sent = event("POST", path, headers=KEY, body=json.dumps(body))
    sent["requestContext"]["identity"] = {"sourceIp": "198.51.100.9"}
    assert app(sent, LambdaContext("api_handler", 1024))["body"].encode() != mine[0].body


# --- keys ---


@pytest.mark.parametrize("key", ["", " ", "x" * 256, "\xe9", "a\tb"])
def test_a_key_has_1_to_255_printable_ascii_characters(new_shop: Shop, key: str) -> None:
    before = stored()
    reply = create(new_shop, {"idempotency-key": key})
    assert (reply.status, reply.message) == (400, "Idempotency-Key must have 1 to 255 printable ASCII characters")
    assert stored() == before


@pytest.mark.parametrize("key", ["x" * 255, "550e8400-e29b-41d4-a716-446655440000", '"quoted"', "a b", "0"])
def test_any_other_key_is_taken(new_shop: Shop, key: str) -> None:
    replies = [create(new_shop, {"idempotency-key": key}) for _ in range(2)]
    assert replies[0].body == replies[1].body


def test_a_refused_caller_takes_no_key(new_shop: Shop) -> None:
    before = stored()
    assert create(new_shop, {"x-api-key": "key_wrong"}).status == 401
    assert stored() == before


# --- in flight, and what is not kept ---


def test_a_request_that_is_running_has_its_key_and_loses_it_after_the_lease(
    new_shop: Shop, configured: Configured
) -> None:
    with configured(RATE_LIMIT_SCALE="1000"):
        clock = stop_time()
        crash(new_shop)
        reply = create(new_shop)
        wanted = "A request with this Idempotency-Key is still running: try again in a moment"
        assert (reply.status, reply.message) == (409, wanted)
        assert create(new_shop, body={}).status == 422
        clock.advance(59)
        assert create(new_shop).status == 409
        clock.advance(1)
        assert create(new_shop).status == 201
        assert create(new_shop).headers["idempotent-replayed"] == "true"


SLOW = HttpRequest("id", "POST", CREATE, CREATE, {}, {}, {"idempotency-key": "k"}, frozenset(), b"{}", "203.0.113.7")


def somebody(credential: str) -> Caller:
    return Caller(Mode.API_KEY, "acct", "actor", "digest", credential, Tier.DEFAULT, None)


def test_a_request_that_outlives_its_lease_overwrites_nothing(clock: Clock, api: Api) -> None:
    """It is slow, its key becomes free, another request takes the key and answers: that answer stays."""
    services = running()
    caller = somebody(f"slow-{clock.now}")

    def second(_: Services) -> HttpResponse:
        return HttpResponse(201, "second", {})

    def first(_: Services) -> HttpResponse:
        clock.advance(61)
        assert run_once(services, caller, SLOW, False, second).body == "second"
        return HttpResponse(201, "first", {})

    with pytest.raises(Conflict, match="still running"):
        run_once(services, caller, SLOW, False, first)
    assert run_once(services, caller, SLOW, False, first).body == "second"


def test_a_request_that_outlives_its_lease_frees_no_key_of_another(clock: Clock, api: Api) -> None:
    services = running()
    caller = somebody(f"late-{clock.now}")

    def first(_: Services) -> HttpResponse:
        clock.advance(61)
        run_once(services, caller, SLOW, False, lambda _: HttpResponse(201, "second", {}))
        return HttpResponse(503, "first", {})

    assert run_once(services, caller, SLOW, False, first).body == "first"
    assert run_once(services, caller, SLOW, False, first).body == "second"


def account(name: str) -> Account:
    return Account(name, "made by a view", START)


@pytest.mark.parametrize("failure", [503, 500, 429, RuntimeError, WriteConflict, Crash], ids=str)
def test_after_a_failure_a_request_is_resumed_at_once_and_only_what_is_missing_is_made(
    clock: Clock, api: Api, failure: Any
) -> None:
    services, caller = running(), somebody(f"failed-{failure}-{clock.now}")
    seen = list[tuple[datetime, str]]()

    def run(joined: Services) -> HttpResponse:
        seen.append((joined.clock(), joined.entropy(8).hex()))
        joined.store.write(account(f"{seen[-1][1]}-1"))
        if len(seen) == 1 and isinstance(failure, int):
            return HttpResponse(failure, "first", {})
        if len(seen) == 1:
            raise failure
        joined.store.write(account(f"{seen[-1][1]}-2"))
        return HttpResponse(201, "second", {})

    with suppress(RuntimeError, WriteConflict, Crash):
        assert run_once(services, caller, SLOW, False, run).status == failure
    clock.advance(7)
    assert run_once(services, caller, SLOW, False, run).body == "second"
    assert seen[0] == seen[1]
    assert run_once(services, caller, SLOW, False, run).body == "second"
    assert len(seen) == 2


def test_a_failure_before_the_first_transaction_begins_anew(clock: Clock, api: Api) -> None:
    services, caller = running(), somebody(f"anew-{clock.now}")
    seen = list[tuple[datetime, bytes]]()

    def run(joined: Services) -> HttpResponse:
        seen.append((joined.clock(), joined.entropy(8)))
        return HttpResponse(503 if len(seen) == 1 else 201, "", {})

    assert run_once(services, caller, SLOW, False, run).status == 503
    clock.advance(7)
    assert run_once(services, caller, SLOW, False, run).status == 201
    assert (seen[1][0] - seen[0][0], seen[0][1] == seen[1][1]) == (timedelta(seconds=7), False)


@pytest.mark.parametrize("status", [200, 399, 400, 404, 409, 423, 428, 429, 430, 499, 500, 501])
@pytest.mark.parametrize("kind", ["no effect", "an effect", "final"])
def test_outcomes_with_an_effect_and_final_refusals_are_kept(clock: Clock, api: Api, status: int, kind: str) -> None:
    services, caller = running(), somebody(f"status-{status}-{kind}-{clock.now}")
    made = account(f"{status}-{kind}-{clock.now}")

    def first(joined: Services) -> HttpResponse:
        if kind == "an effect":
            joined.store.write(made)
        return HttpResponse(status, "first", {}, is_final=kind == "final")

    def second(joined: Services) -> HttpResponse:
        if kind == "an effect":
            joined.store.write(made)
        return HttpResponse(200, "second", {})

    assert run_once(services, caller, SLOW, False, first).status == status
    is_kept = status < 400 or (kind != "no effect" and status < 500 and status != 429)
    assert run_once(services, caller, SLOW, False, second).body == ("first" if is_kept else "second")


def test_what_was_refused_because_of_another_state_is_decided_anew_under_its_key(new_shop: Shop) -> None:
    """As a link that waits for a transaction: once that has ended, the same cancellation is made."""
    token = new_shop.link()
    path, headers = f"{CREATE}/{token}/cancel", {**new_shop.by_key, **KEY}
    found = link_reading.load(running(), token)
    assert found is not None
    paid = replace(found.link, status=LinkStatus.COMPLETED)
    paid = running().store.write(paid)
    assert new_shop.api.request("POST", path, None, headers).status == 409
    running().store.write(replace(paid, status=LinkStatus.PENDING))
    reply = new_shop.api.request("POST", path, None, headers)
    assert (reply.status, "idempotent-replayed" in reply.headers) == (200, False)
    assert new_shop.api.request("POST", path, None, headers).headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize(
    ("status", "shows_secret", "headers", "is_encrypted"),
    [
        (201, True, {}, True),
        (201, False, {}, False),
        (201, False, {"Set-Cookie": "session=1"}, True),
        (399, True, {}, True),
        (400, True, {}, False),
        (401, True, {}, False),
    ],
)
def test_what_shows_a_secret_or_sets_a_cookie_is_kept_encrypted_and_a_refusal_is_not(
    clock: Clock, api: Api, status: int, shows_secret: bool, headers: dict[str, str], is_encrypted: bool
) -> None:
    services, caller = running(), somebody(f"secret-{status}-{is_encrypted}-{clock.now}")
    run_once(services, caller, SLOW, shows_secret, lambda _: HttpResponse(status, "{}", headers, is_final=True))
    scope = "\n".join((caller.key_scope, "POST", CREATE, "k"))
    record = services.store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash(scope)))
    assert record is not None
    assert record.is_encrypted is is_encrypted
    again = run_once(services, caller, SLOW, shows_secret, lambda _: HttpResponse(500, "", {}))
    assert (again.status, again.body) == (status, "{}")


def locked_key(caller: Caller, change: Any) -> None:
    """Another request holds the key of SLOW; `change` happens after our write was refused, before we read the record."""
    services = running()
    services.store.write(begin("\n".join((caller.key_scope, "POST", CREATE, "k")), b"\n{}", services.clock(), "nonce"))
    events = services.store.client.meta.events

    def once(**_: Any) -> None:
        events.unregister("before-call.dynamodb.GetItem", once)
        change()

    events.register("before-call.dynamodb.GetItem", once)


def record_of(caller: Caller) -> IdempotentRequest | None:
    scope = "\n".join((caller.key_scope, "POST", CREATE, "k"))
    return running().store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash(scope)))


def test_a_key_that_becomes_free_while_it_is_read_is_taken(clock: Clock, api: Api) -> None:
    caller = somebody(f"freed-{clock.now}")

    def free() -> None:
        record = record_of(caller)
        assert record is not None
        running().store.write(Delete(record))

    locked_key(caller, free)
    assert run_once(running(), caller, SLOW, False, lambda _: HttpResponse(201, "first", {})).body == "first"
    assert run_once(running(), caller, SLOW, False, lambda _: HttpResponse(201, "second", {})).body == "first"


def test_of_two_that_take_a_key_after_its_lease_one_is_told_that_the_other_runs(clock: Clock, api: Api) -> None:
    caller = somebody(f"both-{clock.now}")
    services = running()
    services.store.write(begin("\n".join((caller.key_scope, "POST", CREATE, "k")), b"\n{}", services.clock(), "nonce"))
    clock.advance(61)
    events, tries = services.store.client.meta.events, list[str]()

    def ours(_: Services) -> HttpResponse:
        return HttpResponse(201, "ours", {})

    def theirs(**_: Any) -> None:
        """They take the key after our read, before our second write."""
        if not tries:
            tries.append("the first write")
            return
        events.unregister("before-call.dynamodb.UpdateItem", theirs)
        record = record_of(caller)
        assert record is not None
        services.store.write(replace(record, lease_until=clock.now))

    events.register("before-call.dynamodb.UpdateItem", theirs)
    with pytest.raises(Conflict, match="still running"):
        run_once(services, caller, SLOW, False, ours)


@pytest.mark.parametrize(("length", "pieces"), [(4096, 1), (4097, 2), (8192, 2), (8193, 3)])
def test_a_secret_is_encrypted_in_pieces_of_4096_bytes(clock: Clock, api: Api, length: int, pieces: int) -> None:
    caller = somebody(f"pieces-{length}-{clock.now}")
    around = len(json.dumps(["", {}]))
    run_once(running(), caller, SLOW, True, lambda _: HttpResponse(201, "x" * (length - around), {}))
    record = record_of(caller)
    assert record is not None and record.answer is not None
    assert len(record.answer.split("\n")) == pieces


def test_what_is_no_secret_is_kept_as_it_was_sent(clock: Clock, api: Api) -> None:
    """Escapes in place of letters would make it longer, and an item of DynamoDB has a limit."""
    caller = somebody(f"plain-{clock.now}")
    run_once(running(), caller, SLOW, False, lambda _: HttpResponse(201, "é", {}))
    record = record_of(caller)
    assert record is not None and record.answer == '["é", {}]'


def test_a_request_that_dies_frees_its_key_and_raises(clock: Clock, api: Api) -> None:
    services, caller = running(), somebody(f"dies-{clock.now}")

    def die(_: Services) -> Any:
        raise Crash

    with pytest.raises(Crash):
        run_once(services, caller, SLOW, False, die)
    assert run_once(services, caller, SLOW, False, lambda _: HttpResponse(201, "second", {})).body == "second"


def crash(shop: Shop) -> None:
    """A process that took the key and died before it could keep an answer."""
    scope = "\n".join((credential_hash(shop.key), "POST", CREATE, KEY["idempotency-key"]))
    running().store.write(begin(scope, b"\n" + json.dumps(BODY).encode(), running().clock(), "nonce"))


def test_a_process_that_dies_in_the_middle_leaves_the_key_taken_or_free_never_answered(new_shop: Shop) -> None:
    """Whatever stops the request short of an answer, the next one is not told that it succeeded."""
    client = running().store.client

    def die(**_: Any) -> None:
        raise Crash

    client.meta.events.register("before-call.dynamodb.TransactWriteItems", die)
    try:
        with pytest.raises(Crash):
            handled("POST", CREATE, headers={**new_shop.by_key, **KEY}, body=json.dumps(BODY))
    finally:
        client.meta.events.unregister("before-call.dynamodb.TransactWriteItems", die)
    record = kept(new_shop, new_shop.key)
    assert record is None or record.status is None


@contextmanager
def failing_write() -> Iterator[None]:
    """DynamoDB fails at one transaction, in the words of its API."""
    left = [1]

    def refuse(**_: Any) -> tuple[AWSResponse, dict[str, Any]] | None:
        if not left:
            return None
        left.pop()
        parsed = {"Error": {"Code": "InternalServerError", "Message": "no"}}
        return AWSResponse("http://dynamodb", 500, {}, None), parsed

    events = running().store.client.meta.events
    events.register("before-call.dynamodb.TransactWriteItems", refuse)
    try:
        yield
    finally:
        events.unregister("before-call.dynamodb.TransactWriteItems", refuse)


def test_a_500_is_not_kept(new_shop: Shop) -> None:
    with failing_write():
        assert create(new_shop).status == 500
    assert kept(new_shop, new_shop.key) is None
    reply = create(new_shop)
    assert (reply.status, "idempotent-replayed" in reply.headers) == (201, False)


def test_a_node_that_is_away_is_not_kept(new_shop: Shop, node: Node) -> None:
    native = item(invoiceCurrency="ETH-sepolia-sepolia", paymentCurrency="ETH-sepolia-sepolia")
    body = {"requests": [native], "feePercentage": "1", "feeAddress": FEE_ADDRESS}
    node.status = 500
    reply = create(new_shop, body=body)
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    node.reset()
    assert create(new_shop, body=body).status == 201


def test_a_refusal_to_come_back_later_is_not_kept(clock: Clock, new_shop: Shop) -> None:
    """Thirty tries of one address in a quarter of an hour are counted inside the operation."""
    body = {"email": "many@shop.example", "password": "wrong horse"}

    def log_in(headers: dict[str, str]) -> Reply:
        return new_shop.api.request("POST", "/v1/auth/login", body, headers)

    for _ in range(3):
        assert {log_in({}).status for _ in range(10)} == {401}
        clock.advance(60)
    reply = log_in({"idempotency-key": "many"})
    assert (reply.status, reply.headers["ratelimit-limit"]) == (429, "30")
    clock.advance(15 * 60)
    reply = log_in({"idempotency-key": "many"})
    assert (reply.status, "idempotent-replayed" in reply.headers) == (401, False)


# --- secrets ---


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/webhook", {"url": "https://93.184.215.14/"}),
        ("/v1/webhook", {"url": "https://93.184.215.14/" + "x" * 1500}),
    ],
    ids=["short", "long"],
)
def test_an_answer_with_a_secret_is_kept_encrypted(new_shop: Shop, path: str, body: Any) -> None:
    first, again = create(new_shop, body=body, path=path), create(new_shop, body=body, path=path)
    assert first.body == again.body
    record = kept(new_shop, new_shop.key, path)
    assert record is not None and record.is_encrypted and record.answer is not None
    assert nowhere(first.json["secret"])


def test_a_session_is_kept_encrypted(new_shop: Shop) -> None:
    body = {"email": "kept@shop.example", "password": "correct horse"}
    assert new_shop.api.request("POST", "/v1/auth/register", body).status == 201
    key = {"idempotency-key": "one session"}
    replies = [new_shop.api.request("POST", "/v1/auth/login", body, key) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert replies[0].headers["set-cookie"] == replies[1].headers["set-cookie"]
    assert nowhere(replies[0].headers["set-cookie"].split(";")[0].split("=")[1])
    assert nowhere("correct horse")


def nowhere(secret: str) -> bool:
    """Whether no item of the table holds it."""
    items = running().store.client.scan(TableName=f"{PREFIX}-ops")["Items"]
    return secret not in json.dumps(items, default=str)


def test_an_answer_of_any_length_is_kept_encrypted_in_pieces(new_shop: Shop) -> None:
    """KMS takes 4,096 bytes at once."""
    services = running()
    taken = begin("scope of a long answer", b"", services.clock(), "nonce")
    services.store.write(taken)
    mine, answer = replace(taken, version=1), HttpResponse(201, json.dumps({"key": "é" * 9_000}), {"X-A": "1"})
    _store_response(services, mine, answer, is_secret=True)
    stored_record = services.store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=taken.scope_hash))
    assert stored_record is not None
    read = _replay(services, stored_record)
    assert (read.status, read.body) == (201, answer.body)
    assert read.headers == {"X-A": "1", "Idempotent-Replayed": "true"}


def test_a_body_of_nothing_but_mistakes_is_answered_in_kilobytes_and_kept(new_shop: Shop) -> None:
    body = {"requests": [1] * 60_000}
    replies = [create(new_shop, body=body) for _ in range(2)]
    assert [reply.status for reply in replies] == [400, 400]
    assert replies[0].body == replies[1].body
    assert len(replies[0].body) < 50_000


def test_what_is_kept_vanishes_a_day_later(new_shop: Shop) -> None:
    create(new_shop)
    record = kept(new_shop, new_shop.key)
    assert record is not None
    found = running().store.client.get_item(
        TableName=f"{PREFIX}-ops", Key={"pk": {"S": f"REPEAT#{record.scope_hash}"}, "sk": {"S": "REPEAT"}}
    )["Item"]
    day = timedelta(hours=24)
    assert abs(int(found["ttl"]["N"]) - (running().clock() + day).timestamp()) < 60


def test_what_was_done_is_answered_though_its_answer_cannot_be_kept(
    new_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets, sealed = running().secrets, running().secrets.encrypt

    def away(text: str, owner: str) -> str:
        if text.startswith("["):  # the answer
            raise ConnectionError("KMS is away")
        return sealed(text, owner)

    monkeypatch.setattr(secrets, "encrypt", away)
    reply = create(new_shop, body={"url": "https://93.184.215.14/kept"}, path="/v1/webhook")
    assert reply.status == 201
    assert len(reply.json["secret"]) == 64
