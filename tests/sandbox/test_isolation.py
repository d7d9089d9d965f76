"""Live and test never meet: over all operations that name, read or list something, with the keys of one account."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.base.lists import LISTS
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.sandbox.opening import open_sandbox
from chalicelib.sandbox.rules import check_possible
from chalicelib.webhooks.endpoints import flows as endpoints
from tests.fakes.world import PREFIX, clear_tables
from tests.support.client import Api
from tests.support.examples import EXAMPLES, is_of_tests, needs_client, prepared
from tests.support.running import run_on, running
from tests.support.tenants import WAYS, Headers, Tenant

KEY = next(way for way in WAYS if way.serves == (Mode.API_KEY,))
BY_KEY = [known for known in OPERATIONS if Mode.API_KEY in known.modes]
OWNED = [known for known in BY_KEY if EXAMPLES[known.method, known.path].others]
LISTS_OF_ACCOUNTS = [
    known
    for known in BY_KEY
    if known.method == "GET" and "{" not in known.path and not EXAMPLES[known.method, known.path].query
]


def named(known: Operation) -> str:
    return f"{known.method} {known.path}"


@pytest.fixture(autouse=True)
def new_tables(api: Api) -> None:
    clear_tables()


def is_possible(known: Operation) -> bool:
    try:
        check_possible(OPERATIONS[known], known.executes)
    except Conflict:
        return False
    return True


@contextmanager
def inside(tenant: Tenant) -> Iterator[None]:
    """What is made within is made in the sandbox of the tenant, which has the client id of the live account there, too."""
    live, client = running(), tenant.client
    sandbox = open_sandbox(live, tenant.account_id)
    sandbox.store.put_many([client])
    run_on(sandbox)
    try:
        yield
    finally:
        run_on(live)


def live_key(known: Operation, tenant: Tenant) -> Headers:
    return {**tenant.by_key(), **({"x-client-id": tenant.client_id} if needs_client(known, KEY) else {})}


@pytest.mark.parametrize("known", OWNED, ids=named)
def test_with_a_test_key_what_is_live_is_as_unknown_as_what_never_was(api: Api, known: Operation) -> None:
    tenant = Tenant()
    if is_of_tests(known):  # its example is of a sandbox: here it names a live link
        sent = api.request(known.method, known.path, {"token": tenant.link_token()}, tenant.by_test_key())
        assert sent.status == 404
        return
    own = prepared(known, tenant, KEY)
    before = everything()
    reply = own.send(api, tenant.by_test_key())
    unknown = EXAMPLES[known.method, known.path].others if is_possible(known) else (409,)
    assert reply.status in unknown, reply.body
    assert outside(everything()) == outside(before)


NOT_MADE_THERE = {"reclaim_secure_payment"}
"""About commerce payments, of which there is none in a sandbox."""


@pytest.mark.parametrize(
    "known", [known for known in OWNED if is_possible(known) and known.name not in NOT_MADE_THERE], ids=named
)
def test_with_a_live_key_what_is_in_the_sandbox_is_as_unknown_as_what_never_was(api: Api, known: Operation) -> None:
    tenant, others = Tenant(), EXAMPLES[known.method, known.path].others
    if is_of_tests(known):
        assert prepared(known, tenant, KEY).send(api, tenant.by_key()).status == 403
        return
    with inside(tenant):
        own = prepared(known, tenant, KEY)
    reply = own.send(api, live_key(known, tenant))
    assert reply.status in others, reply.body
    assert own.send(api, tenant.by_test_key()).status not in others, "with a test key it is there"


@pytest.mark.parametrize("known", LISTS_OF_ACCOUNTS, ids=named)
def test_no_list_of_one_has_what_is_in_the_other(api: Api, known: Operation) -> None:
    tenant = Tenant()
    example = EXAMPLES[known.method, known.path]
    if example.before is not None and not is_of_tests(known):
        example.before(tenant, KEY)
    shown = [tenant.link_token(), a_webhook(tenant)]
    text = api.get(known.path, tenant.by_test_key()).body.decode()
    assert not any(each in text for each in shown)
    if is_possible(known):
        empty = api.get(known.path, Tenant().by_test_key())
        assert shape(empty.json) == shape(api.get(known.path, tenant.by_test_key()).json), "as where nothing ever was"
    with inside(tenant):
        if example.before is not None and is_possible(known) and not is_of_tests(known):
            example.before(tenant, KEY)
        there = [tenant.link_token(), a_webhook(tenant)]
    text = api.get(known.path, live_key(known, tenant)).body.decode()
    assert not any(each in text for each in there)


def a_webhook(tenant: Tenant) -> str:
    """One of the account, live or in its sandbox; a new one if it has none."""
    found = endpoints.list_all(running(), tenant.account_id)
    return found[0].webhook_id if found else tenant.webhook_of_account()


def shape(value: Any) -> Any:
    """A JSON value without its texts and numbers: which fields it has, and how many entries each list."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else None


def everything() -> dict[tuple[str, str, str], dict[str, Any]]:
    """Every item of every table, by table and key; without counters of calls and uses of credentials."""
    client = running().store.client
    found = {}
    for table in ("payments", "identity", "webhooks", "ops", "keys", "mails"):
        for item in client.scan(TableName=f"{PREFIX}-{table}")["Items"]:
            found[table, item["pk"]["S"], item["sk"]["S"]] = item
    return found


def outside(items: dict[tuple[str, str, str], dict[str, Any]]) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Those outside of sandboxes, but for what says who calls."""
    calls = ("RATE#", "USED#", "CREDENTIAL#", "ACCOUNT#", "AUDIT#")
    return {key: item for key, item in items.items() if not key[1].startswith(("test/", *calls))}


def test_what_a_test_key_makes_is_in_the_sandbox_alone_by_every_key_and_index(api: Api) -> None:
    tenant, other = Tenant(), Tenant()
    key, others = tenant.by_test_key(), other.by_test_key()
    before = everything()
    hook = api.request("POST", "/v1/webhook", {"url": "https://93.184.215.14/"}, key)
    assert hook.status == 201
    for headers, amount in ((key, "full"), (others, "half")):
        made = api.request("POST", "/v2/secure-payments", {"requests": [REQUEST]}, headers)
        assert made.status == 201, made.body
        paid = api.request("POST", "/v2/test/pay", {"token": made.json["token"], "amount": amount}, headers)
        assert (paid.status, paid.json["transfersFound"]) == (201, 1), paid.body
    after = everything()
    assert outside(after) == outside(before)
    made_items = {place: item for place, item in after.items() if place[1].startswith("test/")}
    assert {place[1].split("/")[1] for place in made_items} == {tenant.account_id, other.account_id}
    indexes = {"due_shard", *(index for of_table in LISTS.values() for index in of_table)}
    for place, item in made_items.items():
        prefix = "/".join(place[1].split("/")[:2]) + "/"
        named = {name: value["S"] for name, value in item.items() if name in indexes}
        assert all(text.startswith(prefix) for text in named.values()), place
    assert api.get("/v2/request", key).json["requests"] and len(api.get("/v2/request", others).json["requests"]) == 1
    assert api.get("/v2/request", tenant.by_key()).json["requests"] == []


def test_what_grows_with_the_use_of_a_test_key_is_deleted_after_a_time(api: Api) -> None:
    tenant = Tenant()
    key = tenant.by_test_key()
    assert api.request("POST", "/v1/webhook", {"url": "https://93.184.215.14/"}, key).status == 201

    def kept() -> set[tuple[str, str, str]]:
        """What is in the sandbox and never deleted, after one more payment."""
        made = api.request("POST", "/v2/secure-payments", {"requests": [REQUEST]}, key)
        paid = api.request("POST", "/v2/test/pay", {"token": made.json["token"]}, key)
        assert paid.status == 201, paid.body
        return {place for place, item in everything().items() if place[1].startswith("test/") and "ttl" not in item}

    first = kept()
    assert len(first) < 15 and kept() == first


REQUEST = {
    "payee": "0xf17f52151EbEF6C7334FAD080c5704D77216b732",
    "amount": "12.50",
    "invoiceCurrency": "USDC-base",
    "paymentCurrency": "USDC-base",
}
