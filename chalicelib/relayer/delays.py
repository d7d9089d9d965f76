"""What delays the calls for a payer: calls that have no outcome yet, and reverted ones."""

from collections.abc import Container, Iterable, Mapping
from datetime import datetime

from chalicelib.base.errors import Conflict
from chalicelib.platform.services import Services
from chalicelib.relayer import store
from chalicelib.relayer.records import RelayedCall, Reverts
from chalicelib.relayer.reservations import ONE_AT_A_TIME
from chalicelib.relayer.reverts import Delay, count_room, delay_of, is_alone, is_open, payer_name


def check_not_delayed(services: Services, network: str, payer: str) -> None:
    """Raises Conflict for the day after a call for the payer was reverted: nothing would be made before its deadline,
    and nobody else could pay meanwhile. One read."""
    reason = delay_of(store.reverts(services.store, network, payer_name(payer)), services.clock())
    if reason is not None:
        raise Conflict(f"The service makes no payment for this wallet now: {reason}")


def find_delays(services: Services, network: str, payers: Iterable[str]) -> dict[str, Delay]:
    """What delays the calls of payers, by their addresses: open ones, or reverted ones. Two reads at most."""
    names = {each: payer_name(each) for each in payers}
    stored = store.reverts_of_many(services.store, network, names.values())
    known = without_ended_calls(stored, read_open_calls(services, stored))
    now, found = services.clock(), {each: known.get(name) for each, name in names.items()}
    return {payer: Delay(_waits_for(each, now), is_alone(each, now), count_room(each)) for payer, each in found.items()}


def _waits_for(reverts: Reverts | None, now: datetime) -> str | None:
    return ONE_AT_A_TIME if reverts is not None and reverts.open_calls else delay_of(reverts, now)


def read_open_calls(services: Services, reverts: Mapping[str, Reverts]) -> dict[str, RelayedCall]:
    """The open calls for which others wait (`is_open`), by key. One read, if there are any.

    The outcome is written with the count, but a version of this service that knows no open calls leaves them there.
    """
    now = services.clock()
    keys = [key for each in reverts.values() for key in each.open_calls]
    calls = store.calls(services.store, keys) if keys else {}
    return {key: each for key, each in calls.items() if is_open(each, now)}


def without_ended_calls(reverts: Mapping[str, Reverts], open_calls: Container[str]) -> dict[str, Reverts]:
    """The counts with these open calls alone."""
    return {
        name: each.with_open_calls([key for key in each.open_calls if key in open_calls])
        for name, each in reverts.items()
    }
