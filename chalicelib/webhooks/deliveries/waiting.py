"""Looks after the deliveries that wait for a webhook which does not answer: probes, releases, and gives up."""

from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.webhooks import store as event_store
from chalicelib.webhooks.circuits import rules as circuit_rules
from chalicelib.webhooks.circuits.records import Circuit, CircuitState
from chalicelib.webhooks.deliveries import store
from chalicelib.webhooks.deliveries.flows import deliver, fail, queue_now, queue_tending
from chalicelib.webhooks.deliveries.records import Delivery, DeliveryState, Listing
from chalicelib.webhooks.deliveries.rules import is_too_old, release
from chalicelib.webhooks.endpoints import store as endpoint_store

CHUNK = 30
"""The number of waiting deliveries that one message deals with: those of one transaction."""


def tend(services: Services, webhook_id: str) -> None:
    """Does what is due for a circuit: a probe while it is open, a release of waiting deliveries after it closed.

    Fails the waiting deliveries that are too old, or whose webhook was deleted or switched off. Safe to repeat; a
    message that is lost is sent again by the sweep.
    """
    circuit = event_store.circuit(services.store, webhook_id)
    if circuit is None or circuit.due_at is None or services.clock() < circuit.due_at:
        return
    waiting, more = _waiting(services, webhook_id)
    endpoint = endpoint_store.find_endpoint(services.store, circuit.account_id, circuit.client_id, webhook_id)
    is_gone = endpoint is None or not endpoint.is_active
    rest = list[Delivery]()
    for each in waiting:
        if is_gone or is_too_old(each, services.clock()):
            fail(services, each)
        else:
            rest.append(each)
    if circuit.state is CircuitState.CLOSED:
        _release(services, circuit, rest, bool(waiting))
    elif rest:
        probe = rest[circuit.failed_probes % len(rest)]  # not always the same: it may be one that fails by itself
        deliver(services, probe.delivery_id, probe.attempt, in_slow_lane=True)
    elif more:
        queue_tending(services, circuit)
    else:
        _write_and_continue(services, circuit_rules.close(circuit, services.clock()))


def _waiting(services: Services, webhook_id: str) -> tuple[list[Delivery], bool]:
    found, following = store.oldest(services.store, webhook_id, Listing.WAITING, None, CHUNK)
    return [each for each in found if each.state is DeliveryState.WAITING], following is not None


def _release(services: Services, circuit: Circuit, waiting: list[Delivery], found: bool) -> None:
    now = services.clock()
    released = store.change_all(services.store, [(each, release(each, now)) for each in waiting])
    queue_now(services, released)
    _write_and_continue(services, circuit_rules.after_draining(circuit, found, now))


def _write_and_continue(services: Services, circuit: Circuit) -> None:
    if try_write(services.store, circuit):  # else an attempt has changed it, and queued what follows
        queue_tending(services, circuit)
