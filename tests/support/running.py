"""The services of the app under test, assembled from the environment; tests replace or restart them."""

from dataclasses import replace

from app import build
from chalicelib.services import Services, assemble
from chalicelib.settings import Settings
from tests.fakes.router import FakeRouter
from tests.fakes.world import PlainSigningKeys

_held: list[Services] = []


def running() -> Services:
    """Returns the services of the app in this process; assembles them if there are none. Their router and the keys of
    the service's own account are in memory."""
    if not _held:
        services = assemble(Settings.read())
        settings = replace(services.settings, relayer_keys={"sepolia": "secret", "mainnet": "secret"})
        made = replace(services, settings=settings, router=FakeRouter(services.clock), signing_keys=PlainSigningKeys())
        _held.append(made)
    return _held[0]


def run_on(services: Services) -> None:
    """Makes the app use these services from the next request on."""
    _held[:] = [services]


def restart() -> None:
    """Makes the next request assemble new services, as in a new process."""
    _held.clear()


app = build(Settings.read(), running)
"""The app with the services of this module."""
