"""Many at once on a real local cloud: exactly as many credentials and orchestrators as an account may have."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.credentials import flows
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialPointer, OrchestratorKey
from chalicelib.platform.access.credentials.store import Credential, pointers
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.fakes.world import World
from tests.support.rehearsed import rehearsed

AT_ONCE = 20
FEWER = 30
"""Instead of MAX_CREDENTIALS: with fewer items to count the same races take a tenth of the time."""
_worlds = itertools.count()
Add = Callable[[Services, World], Any]
DOMAINS = ["https://shop.example"]
LIMITED: list[tuple[type[Credential], int, str, Add]] = [
    (
        OrchestratorKey,
        orchestrators.MAX_ORCHESTRATORS,
        "orchestrators",
        lambda services, world: orchestrators.register(services, world.actor, "Platform", "ops@platform.example"),
    ),
    (
        ApiKey,
        FEWER,
        "API keys",
        lambda services, world: api_keys.create_api_key(services, world.actor, {"label": "server"}),
    ),
    (
        ClientId,
        FEWER,
        "Client IDs",
        lambda services, world: client_ids.create_client_id(
            services, world.actor, {"label": "web", "allowed_domains": DOMAINS}
        ),
    ),
]


@pytest.fixture
def world(cloud: Cloud) -> World:
    """A deployment of its own account on the shared cloud."""
    number = next(_worlds)
    world = World(cloud.client("dynamodb"), seed=2000 + number)
    world.account_id = f"limits{number}"
    return world


def in_parallel(act: Add, cloud: Cloud, world: World) -> list[Any]:
    """Runs `act` in threads that start together; refusals are results."""
    barrier = threading.Barrier(AT_ONCE)
    services = [world.start(cloud.client("dynamodb")) for _ in range(10)]

    def run(number: int) -> Any:
        barrier.wait()
        try:
            return act(services[number % len(services)], world)
        except (BadRequest, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(run, range(AT_ONCE)))


@pytest.mark.parametrize(("kind", "most", "name", "add"), LIMITED, ids=lambda each: getattr(each, "KIND", ""))
def test_of_many_at_once_exactly_those_are_added_that_there_is_room_for(
    kind: type[Credential],
    most: int,
    name: str,
    add: Add,
    cloud: Cloud,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(flows, "MAX_CREDENTIALS", FEWER)
    existing = most - 10
    world.services.store.put_many(
        CredentialPointer(world.account_id, kind.KIND, f"old{number:04}", "hash") for number in range(existing)
    )
    results = in_parallel(add, cloud, world)
    refused = [result for result in results if isinstance(result, Exception)]
    assert {str(result) for result in refused} == {f"No more than {most} {name} an account"}
    assert len(refused) == AT_ONCE - 10
    assert len(pointers(world.services.store, world.account_id, kind)) == most


@rehearsed
def test_what_is_added_at_once_while_there_is_room_is_all_added(cloud: Cloud, world: World) -> None:
    results = in_parallel(LIMITED[1][3], cloud, world)
    assert not [result for result in results if isinstance(result, Exception)]
    assert len(pointers(world.services.store, world.account_id, ApiKey)) == AT_ONCE


def test_a_revoked_key_makes_room_for_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MAX_CREDENTIALS", 2)
    made = [api_keys.create_api_key(world.services, world.actor, {"label": "server"})[0] for _ in range(2)]
    with pytest.raises(BadRequest, match="No more than 2 API keys"):
        api_keys.create_api_key(world.services, world.actor, {"label": "server"})
    api_keys.revoke_api_key(world.services, world.actor, made[0].key_id)
    api_keys.create_api_key(world.services, world.actor, {"label": "server"})
