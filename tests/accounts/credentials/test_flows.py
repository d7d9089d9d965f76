"""API keys and client ids below HTTP: notes of their use, bounds, races, and what a crash leaves behind."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.credentials import flows
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.flows import _MAX_REMEMBERED, record_use
from chalicelib.platform.access.credentials.records import (
    ApiKey,
    ClientId,
    CredentialPointer,
    CredentialStatus,
    LastUse,
)
from chalicelib.platform.access.credentials.store import own_client_id
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.world import World, in_process_aws

PARALLEL = 10
_worlds = itertools.count(1000)


def new_key(world: World, **settings: Any) -> ApiKey:
    key, _ = api_keys.create_api_key(world.services, world.actor, {"label": "k", **settings})  # type: ignore[typeddict-item]
    return replace(key, version=1)


def new_client(world: World, **settings: Any) -> ClientId:
    client = client_ids.create_client_id(world.services, world.actor, {"label": "c", **settings})  # type: ignore[typeddict-item]
    return replace(client, version=1)


def last_use(world: World, record_id: str) -> LastUse | None:
    return world.services.store.get(LastUse, LastUse.KEY.of(record_id=record_id))


def audit_of(world: World) -> list[AuditEntry]:
    return list(world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=world.account_id)))


# --- last use ---


def test_a_use_is_written_once_a_minute_by_a_container(world: World) -> None:
    key = new_key(world)
    first = world.now
    for _ in range(3):
        record_use(world.services, (key.key_id,))
    world.advance(59)
    record_use(world.services, (key.key_id,))
    assert last_use(world, key.key_id) == LastUse(key.key_id, first, version=1)
    world.advance(1)
    record_use(world.services, (key.key_id,))
    assert last_use(world, key.key_id) == LastUse(key.key_id, world.now, version=2)


def test_within_the_minute_a_use_costs_no_call_at_all(world: World) -> None:
    key, client = new_key(world), new_client(world)
    for expected in ({"GetItem": 2, "PutItem": 2}, {}):
        with counted(world.client) as calls:
            record_use(world.services, (key.key_id, client.record_id))
        assert dict(calls.by_operation) == expected


def test_another_container_writes_no_use_that_is_written_already(world: World) -> None:
    key, other = new_key(world), world.start()
    record_use(world.services, (key.key_id,))
    world.advance(30)
    record_use(other, (key.key_id,))
    found = last_use(world, key.key_id)
    assert found is not None and found.version == 1
    world.advance(60)
    record_use(other, (key.key_id,))
    assert flows.read(world.services, world.account_id, ApiKey, key.key_id)[1] == world.now


def test_the_memory_of_a_container_is_bounded(world: World) -> None:
    world.services.last_uses.update({str(number): world.now for number in range(_MAX_REMEMBERED + 1)})
    record_use(world.services, ("x",))
    assert world.services.last_uses == {"x": world.now}


# --- bounds ---


def test_the_number_of_credentials_of_an_account_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MAX_CREDENTIALS", 2)
    keys = [new_key(world), new_key(world)]
    with pytest.raises(BadRequest, match="No more than 2 API keys"):
        new_key(world)
    api_keys.revoke_api_key(world.services, world.actor, keys[0].key_id)
    new_key(world)
    new_client(world), new_client(world)
    with pytest.raises(BadRequest, match="No more than 2 Client IDs"):
        new_client(world)


def test_a_list_that_takes_two_batch_reads_is_read_whole(world: World) -> None:
    made = [new_key(world).key_id for _ in range(51)]
    listed = flows.list_own(world.services, world.account_id, ApiKey)
    assert {key.key_id for key, _ in listed} == set(made)
    assert len(listed) == 51


# --- records ---


def test_a_key_is_stored_as_its_hash_and_leaves_only_a_revoked_record(world: World) -> None:
    key, text = api_keys.create_api_key(world.services, world.actor, {"label": "k"})
    assert text not in str(world.client.scan(TableName="payment-requests-local-identity")["Items"])
    api_keys.revoke_api_key(world.services, world.actor, key.key_id)
    found = flows.find(world.services, text)
    assert found is not None and found.status is CredentialStatus.REVOKED
    assert world.services.store.query(CredentialPointer, CredentialPointer.KEY.all(account_id=world.account_id, kind="API_KEY")) == ()


def test_a_credential_is_found_by_itself_and_by_its_id_of_the_right_account(world: World) -> None:
    key, client = new_key(world), new_client(world)
    assert flows.find(world.services, client.client_id) == client
    assert flows.find(world.services, "key_unknown") is None
    assert flows.find_by_id(world.services, world.account_id, key.key_id) == key
    assert flows.find_by_id(world.services, world.account_id, client.record_id) == client
    assert flows.find_by_id(world.services, "another", key.key_id) is None


def test_a_client_id_is_own_in_any_status_and_nobody_elses(world: World) -> None:
    client = new_client(world)
    client_ids.revoke_client_id(world.services, world.actor, client.record_id)
    assert own_client_id(world.services.store, world.account_id, client.client_id).record_id == client.record_id
    for account_id, text in (("another", client.client_id), (world.account_id, "cli_x"), (world.account_id, "")):
        with pytest.raises(NotFound, match="Client ID not found"):
            own_client_id(world.services.store, account_id, text)


def test_the_tier_is_the_operators_and_in_the_audit_log(world: World) -> None:
    flows.set_tier(world.services, world.actor, new_client(world), Tier.PREMIUM)
    (client, _), *_ = flows.list_own(world.services, world.account_id, ClientId)
    assert client.tier is Tier.PREMIUM
    assert audit_of(world)[-1].action == "client_id.tier_changed"


def test_a_change_costs_two_reads_and_one_transaction(world: World) -> None:
    key = new_key(world)
    with counted(world.client) as calls:
        api_keys.change_api_key(world.services, world.actor, key.key_id, {"label": "y"})
    assert dict(calls.by_operation) == {"GetItem": 2, "TransactWriteItems": 1}


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_wherever_a_process_dies_a_change_and_its_audit_line_are_both_there_or_neither(before: bool) -> None:
    for fatal in range(1, 8):
        with in_process_aws() as client:
            world = World(client)
            services = world.start(FragileClient(client, Tripwire(fatal, before)))
            with suppress(Crash):
                key, _ = api_keys.create_api_key(services, world.actor, {"label": "k"})
                api_keys.change_api_key(services, world.actor, key.key_id, {"label": "y"})
                api_keys.revoke_api_key(services, world.actor, key.key_id)
            items = client.scan(TableName="payment-requests-local-identity")["Items"]
            written = sum(int(item["version"]["N"]) for item in items if item["sk"]["S"] == "API_KEY")
            assert len(audit_of(world)) == written


# --- races, on a real local cloud ---


@pytest.fixture
def shared(cloud: Cloud) -> World:
    """A deployment of its own account on the shared cloud."""
    number = next(_worlds)
    world = World(cloud.client("dynamodb"), seed=number)
    world.account_id = f"acct{number}"
    return world


def in_parallel(act: Callable[[Services, int], Any], cloud: Cloud, world: World) -> list[Any]:
    barrier = threading.Barrier(PARALLEL)

    def run(number: int) -> Any:
        services = world.start(cloud.client("dynamodb"))
        barrier.wait()
        try:
            return act(services, number)
        except (WriteConflict, NotFound) as error:
            return error

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, range(PARALLEL)))


def test_parallel_changes_of_one_key_are_applied_one_after_the_other_or_refused(cloud: Cloud, shared: World) -> None:
    key = new_key(shared)
    scopes = [["webhooks:read"], ["audit:read"]]

    def change(services: Services, number: int) -> ApiKey:
        settings: Any = {"label": str(number)} if number % 2 else {"scopes": scopes[number % 4 // 2]}
        return api_keys.change_api_key(services, shared.actor, key.key_id, settings)

    results = in_parallel(change, cloud, shared)
    applied = [result for result in results if isinstance(result, ApiKey)]
    stored, _ = flows.read(shared.services, shared.account_id, ApiKey, key.key_id)
    assert applied and stored.version == 1 + len(applied)
    assert len({result.version for result in applied}) == len(applied), "none was decided on a state it did not replace"
    assert len(audit_of(shared)) == stored.version
    latest = max(applied, key=lambda result: result.version)
    assert (stored.label, stored.scopes) == (latest.label, latest.scopes)


def test_a_key_that_is_revoked_while_others_change_it_stays_revoked(cloud: Cloud, shared: World) -> None:
    key, text = api_keys.create_api_key(shared.services, shared.actor, {"label": "k"})

    def act(services: Services, number: int) -> Any:
        if number == 0:
            return api_keys.revoke_api_key(services, shared.actor, key.key_id)
        return api_keys.change_api_key(services, shared.actor, key.key_id, None)

    revoked = in_parallel(act, cloud, shared)[0] is None
    if not revoked:
        api_keys.revoke_api_key(shared.services, shared.actor, key.key_id)
    found = flows.find(shared.services, text)
    assert found is not None and found.status is CredentialStatus.REVOKED
    in_parallel(act, cloud, shared)
    found = flows.find(shared.services, text)
    assert found is not None and found.status is CredentialStatus.REVOKED


class RevokedBetween:
    """A DynamoDB client; between the two reads of a change, somebody revokes the key."""

    def __init__(self, client: Any, revoke: Callable[[], object]) -> None:
        self._client, self._reads, self._revoke = client, 0, revoke

    def __getattr__(self, name: str) -> Any:
        if name == "get_item":
            self._reads += 1
            if self._reads == 2:
                self._revoke()
        return getattr(self._client, name)


def test_a_key_that_is_revoked_between_the_reads_of_a_change_is_not_brought_back(cloud: Cloud, shared: World) -> None:
    key, text = api_keys.create_api_key(shared.services, shared.actor, {"label": "k"})
    client = RevokedBetween(
        cloud.client("dynamodb"), lambda: api_keys.revoke_api_key(shared.services, shared.actor, key.key_id)
    )
    with pytest.raises(NotFound):
        api_keys.change_api_key(shared.start(client), shared.actor, key.key_id, None)
    found = flows.find(shared.services, text)
    assert found is not None and found.status is CredentialStatus.REVOKED


def test_a_use_that_ten_containers_note_at_once_is_one_record(cloud: Cloud, shared: World) -> None:
    key = new_key(shared)
    in_parallel(lambda services, _: record_use(services, (key.key_id,)), cloud, shared)
    found = last_use(shared, key.key_id)
    assert found is not None and found.at == shared.now
    shared.now += timedelta(minutes=2)
    in_parallel(lambda services, _: record_use(services, (key.key_id,)), cloud, shared)
    found = last_use(shared, key.key_id)
    assert found is not None and (found.at, found.version) == (shared.now, 2)
