"""The services that the app under test is handed: made of the environment, and made anew where a test changes that."""

from app import build
from chalicelib.services import Services, assemble
from chalicelib.settings import Settings

_held: list[Services] = []


def running() -> Services:
    """The services of the app in this process."""
    if not _held:
        _held.append(assemble(Settings.read()))
    return _held[0]


def run_on(services: Services) -> None:
    """Hands the app these services from the next request on."""
    _held[:] = [services]


def restart() -> None:
    """Lets the next request find new services, as a new process would."""
    _held.clear()


app = build(Settings.read(), running)
"""The app, on the services of this module."""
