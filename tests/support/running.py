"""The services of the app under test, assembled from the environment; tests replace or restart them."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from app import build
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.store import Store
from infra.local.gateway import Server
from tests.fakes.objects import FakeObjects
from tests.fakes.router import FakeRouter
from tests.fakes.txt_records import FakeTxtRecords
from tests.fakes.world import PlainSigningKeys, in_process_client

_kept: list[Services] = []
_PARTS = ("escrow", "preApproval", "erc3009", "permit2", "operatorRefund")
ESCROW = {
    "ESCROW_CONTRACTS": json.dumps(
        {"sepolia": {name: f"0x{number:02x}" + "e5" * 19 for number, name in enumerate(_PARTS, 0xA1)}}
    )
}
"""The contracts of commerce payments on sepolia, unless the environment says others."""


def running() -> Services:
    """Returns the services of the app in this process; assembles them if there are none. Their router, archive, DNS and the
    keys of the service's own account are in memory, and DynamoDB within `in_process_aws()`."""
    if not _kept:
        networks = json.dumps({"sepolia": "secret", "mainnet": "secret"})
        services = assemble(Settings.read({**ESCROW, **os.environ, "RELAYER_KEYS": networks}))
        fakes: dict[str, Any] = {"router": FakeRouter(services.clock), "signing_keys": PlainSigningKeys(), "txt_records": FakeTxtRecords()}
        if (client := in_process_client()) is not None:
            fakes["store"] = Store(services.settings.resource_prefix, client)
        _kept.append(replace(services, archive=FakeObjects(), **fakes))
    return _kept[0]


def run_on(services: Services) -> None:
    """Makes the app use these services from the next request on."""
    _kept[:] = [services]


def restart() -> None:
    """Makes the next request assemble new services, as in a new process."""
    _kept.clear()


app = build(Settings.read(), running)
"""The app with the services of this module."""


@contextmanager
def serving() -> Iterator[Server]:
    """The app on a free port. At the end, its requests have ended and its services are gone."""
    server = Server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()
        restart()
