"""100 at once against the app over HTTP, on a real local cloud: limits are exact, a key has one effect, a challenge one session."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from botocore.config import Config

from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import ApiKey, ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.rate_limits import store as limit_store
from chalicelib.platform.access.rate_limits.records import CallCounter
from chalicelib.platform.access.rate_limits.rules import (
    REQUESTS_PER_SECOND,
    UNITS_PER_MINUTE,
    Window,
    account_quota,
    client_quota,
    units_window,
)
from chalicelib.platform.access.sessions.records import SessionPointer
from infra import admin
from infra.local.cloud import Cloud
from infra.local.gateway import Server
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import PREFIX
from tests.support.api import stop_time
from tests.support.client import Api, Reply, item
from tests.support.rehearsed import few, rehearsed
from tests.support.running import restart, running, serving

PARALLEL = 100
LISTING, CREATE = "/v2/currencies", "/v2/secure-payments"


class Patient(Config):  # type: ignore[misc]
    """Waits for a cloud of this machine: a request that is given up after five seconds and sent again counts twice."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "connect_timeout": 60, "read_timeout": 60})


@dataclass
class Site:
    """The app on the cloud, with one API key, and time that stands still."""

    api: Api
    key: str
    account_id: str

    @property
    def headers(self) -> dict[str, str]:
        return {"x-api-key": self.key}


@pytest.fixture(scope="module")
def server(cloud: Cloud) -> Iterator[Server]:
    wanted = {**cloud.environment(), "RATE_LIMIT_SCALE": "1", "TRUSTED_PROXY_HEADER": "x-caller"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in wanted.items():
            patch.setenv(name, value)
        patch.setattr("botocore.config.Config", Patient)
        restart()
        cloud.put_rpc_urls(PREFIX, {"sepolia": "http://127.0.0.1:9"})
        with serving() as server:
            yield server


@pytest.fixture
def site(server: Server) -> Site:
    """A new account and key each time, and a minute in which nothing was counted yet."""
    restart()
    stop_time()
    services = running()
    account_id = admin.create_account(services, "race")
    return Site(Api(server.server_port), admin.create_api_key(services, account_id, "race"), account_id)


def at_once(ask: Callable[[int], Reply]) -> list[Reply]:
    """100 requests that start together."""
    barrier = threading.Barrier(PARALLEL)

    def run(number: int) -> Reply:
        barrier.wait()
        return ask(number)

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, range(PARALLEL)))


@pytest.mark.parametrize("tier", few([Tier.BASIC], Tier))
def test_of_100_calls_in_one_second_exactly_those_of_the_tier_pass(site: Site, tier: Tier) -> None:
    store = running().store
    record = store.get(ApiKey, ApiKey.KEY.of(credential_hash=credential_hash(site.key)))
    assert record is not None
    store.write(replace(record, tier=tier))
    replies = at_once(lambda _: site.api.get(LISTING, site.headers))
    allowed = REQUESTS_PER_SECOND[tier]
    assert Counter(reply.status for reply in replies) == {200: allowed, 429: PARALLEL - allowed}
    left = sorted(int(reply.headers["ratelimit-remaining"]) for reply in replies if reply.status == 200)
    assert left == list(range(allowed))
    assert {reply.headers["ratelimit-limit"] for reply in replies} == {str(allowed)}


def test_20_keys_of_an_account_get_no_more_than_its_limit_together(site: Site) -> None:
    services = running()
    keys = [{"x-api-key": admin.create_api_key(services, site.account_id, "one of many")} for _ in range(20)]
    leave_units(site.account_id, 57)
    replies = at_once(lambda number: site.api.get(LISTING, keys[number % 20]))
    assert Counter(reply.status for reply in replies) == {200: 57, 429: 43}
    assert {reply.headers["ratelimit-limit"] for reply in replies if reply.status == 429} == {"1200"}


@rehearsed
def test_units_of_many_items_are_counted_whole_and_exactly(site: Site) -> None:
    """100 requests, each for a link of several items: the links that were made fit into what was left."""
    services = running()
    keys = [{"x-api-key": admin.create_api_key(services, site.account_id, "one of many")} for _ in range(20)]
    leave_units(site.account_id, 200)
    sizes = [2 + number % 5 for number in range(PARALLEL)]
    replies = at_once(
        lambda number: site.api.request("POST", CREATE, {"requests": [item()] * sizes[number]}, keys[number % 20])
    )
    made = [size for size, reply in zip(sizes, replies, strict=True) if reply.status == 201]
    assert {reply.status for reply in replies} == {201, 429} and links_of(site.account_id) == len(made)
    left = UNITS_PER_MINUTE - counted_units(site.account_id)
    assert 0 <= left < max(sizes), "what is left was too little for the last one"
    refused = PARALLEL - len(made)
    assert sum(made) <= 200 - left <= sum(made) + refused, "of a refused request at most the call itself was counted"


@rehearsed
def test_items_by_a_client_id_alone_fit_its_limit_and_the_share_of_each_address(site: Site) -> None:
    """A stranger at one address, and customers at 24 others, send 100 requests at once."""
    client_id = admin.create_client_id(running(), site.account_id, "web", [])
    record = running().store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(client_id)))
    assert record is not None
    quota = client_quota(record.record_id)
    leave_units(site.account_id, 600, quota)

    def ask(number: int) -> Reply:
        address = "203.0.113.7" if number < 5 else f"198.51.100.{number % 24}"
        items = 150 if number < 5 else 2 + number % 5
        headers = {"x-client-id": client_id, "x-caller": address}
        return site.api.request("POST", CREATE, {"requests": [item()] * items}, headers)

    replies = at_once(ask)
    assert {reply.status for reply in replies} == {201, 429}
    of_stranger = 150 * sum(reply.status == 201 for reply in replies[:5])
    of_others = sum(2 + number % 5 for number in range(5, PARALLEL) if replies[number].status == 201)
    left = UNITS_PER_MINUTE - counted_units(site.account_id, quota)
    assert of_stranger <= 300, "of 750"
    assert of_stranger + of_others == 600 - left and left >= 0, "what was counted is what was made"
    assert of_others > 294 and (left < 6 or of_stranger < 300)


def leave_units(account_id: str, units: int, quota: str | None = None) -> None:
    """Counts all units of the account's minute but so many, or those of another quota."""
    limit_store.count(running().store, units_of(account_id, quota), UNITS_PER_MINUTE - units)


def counted_units(account_id: str, quota: str | None = None) -> int:
    counter = CallCounter(units_of(account_id, quota).key, running().clock())
    key = {"pk": {"S": counter.key.pk}, "sk": {"S": counter.key.sk}}
    found = running().store.client.get_item(TableName=f"{PREFIX}-ops", Key=key, ConsistentRead=True)
    return int(found["Item"]["calls"]["N"])


def units_of(account_id: str, quota: str | None = None) -> Window:
    return units_window(quota or account_quota(account_id), 1, running().clock())


def test_100_guesses_of_credentials_are_5_answers_and_95_refusals(site: Site) -> None:
    replies = at_once(lambda number: site.api.get(CREATE + "/x", {"x-api-key": f"key_{number}"}))
    assert Counter(reply.status for reply in replies) == {401: 5, 429: 95}


def test_100_equal_posts_under_one_key_have_one_effect(site: Site) -> None:
    """A limit would refuse most of them before the key is looked at: this caller's is far away."""
    body = {"requests": [item()]}
    lift_limits()
    replies = at_once(lambda _: site.api.request("POST", CREATE, body, {**site.headers, "idempotency-key": "once"}))
    statuses = Counter(reply.status for reply in replies)
    assert set(statuses) <= {201, 409} and statuses[201] >= 1
    assert len({reply.body for reply in replies if reply.status == 201}) == 1
    assert sum("idempotent-replayed" not in reply.headers for reply in replies if reply.status == 201) == 1
    assert links_of(site.account_id) == 1
    again = site.api.request("POST", CREATE, body, {**site.headers, "idempotency-key": "once"})
    assert (again.status, again.body) == (201, next(reply.body for reply in replies if reply.status == 201))


@rehearsed
def test_100_equal_posts_under_100_keys_have_100_effects(site: Site) -> None:
    lift_limits()
    body = {"requests": [item()]}
    replies = at_once(
        lambda number: site.api.request("POST", CREATE, body, {**site.headers, "idempotency-key": f"{number}"})
    )
    assert {reply.status for reply in replies} == {201}
    assert links_of(site.account_id) == PARALLEL


def test_100_answers_to_one_challenge_open_one_session(site: Site) -> None:
    lift_limits()
    wallet = evm_wallet(site.account_id)
    asked = site.api.request("POST", "/v1/auth/wallet/challenge", {"address": wallet.address}).json
    body = {**{name: asked[name] for name in ("challengeId", "nonce", "message")}, "signature": wallet.sign(asked["message"])}
    replies = at_once(lambda _: site.api.request("POST", "/v1/auth/wallet/verify", body))
    assert Counter(reply.status for reply in replies) == {200: 1, 401: PARALLEL - 1}
    store = running().store
    identity = person_store.identity(store, wallet.address)
    assert identity is not None
    (_,) = store.query(SessionPointer, SessionPointer.KEY.all(person_id=identity.person_id))
    (joined,) = person_store.memberships_of(store, identity.person_id)
    lines = store.query(AuditEntry, AuditEntry.KEY.all(account_id=joined.account_id))
    assert [line.action for line in lines].count("session.created") == 1


def lift_limits() -> None:
    """A process of the same deployment with limits that nobody reaches."""
    os.environ["RATE_LIMIT_SCALE"] = "100000"
    try:
        restart()
        stop_time()
    finally:
        os.environ["RATE_LIMIT_SCALE"] = "1"


def links_of(account_id: str) -> int:
    client, found, start = running().store.client, 0, {}
    while True:
        page: dict[str, Any] = client.scan(
            TableName=f"{PREFIX}-payments",
            FilterExpression="sk = :link AND account_id = :account",
            ExpressionAttributeValues={":link": {"S": "LINK"}, ":account": {"S": account_id}},
            **start,
        )
        found += len(page["Items"])
        if "LastEvaluatedKey" not in page:
            return found
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
