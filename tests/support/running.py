"""The services of the app under test, assembled from the environment; tests replace or restart them."""

import os

from app import build
from chalicelib.services import Services, assemble
from chalicelib.settings import Settings

_held: list[Services] = []


def running() -> Services:
    """Returns the services of the app in this process; assembles them if there are none."""
    if not _held:
        _held.append(assemble(Settings.read(os.environ | {"RELAYER_KEYS": '{"sepolia": "secret"}'})))
    return _held[0]


def run_on(services: Services) -> None:
    """Makes the app use these services from the next request on."""
    _held[:] = [services]


def restart() -> None:
    """Makes the next request assemble new services, as in a new process."""
    _held.clear()


app = build(Settings.read(), running)
"""The app with the services of this module."""
