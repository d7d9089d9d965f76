"""Runs what several processes do at the same moment, on the local cloud."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chalicelib.base.errors import ServiceError
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.fakes.world import World

PARALLEL = 12
Act = Callable[[Services], Any]


def at_once(cloud: Cloud, world: World, *acts: Act) -> list[Any]:
    """Runs acts in turn in threads that start together, each as a process of its own; exceptions are results."""
    barrier = threading.Barrier(PARALLEL)

    def run(number: int) -> Any:
        services = world.start(cloud.client("dynamodb"))
        barrier.wait()
        try:
            return acts[number % len(acts)](services)
        except (ServiceError, WriteConflict) as error:
            return error

    with ThreadPoolExecutor(PARALLEL) as pool:
        return list(pool.map(run, range(PARALLEL)))
