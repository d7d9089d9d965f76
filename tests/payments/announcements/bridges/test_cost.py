"""What one check of a payment from another chain costs, in calls to each remote party."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from chalicelib.payments.announcements import tracking
from chalicelib.platform.outbound.lifi import RouterStatus
from tests.fakes.bridge import Bridge, Sent

READS = (
    "head", "block_facts", "sent_transaction", "transaction_count", "fills", "find_receipts", "fill_status",
    "returns", "replayed",
)


def counted(bridge: Bridge) -> Counter[str]:
    """Counts what is called from now on: of the two chains, the router and the tables."""
    calls = Counter[str]()

    def count(owner: Any, name: str, label: str) -> None:
        read: Callable[..., Any] = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            calls[label] += 1
            return read(*given, **named)

        setattr(owner, name, call)

    for name in READS:
        count(bridge.source, name, "source")
        count(bridge.destination, name, "destination")
    count(bridge.world.router, "status", "router")
    for name in ("get", "get_many", "query", "query_mixed", "write"):
        count(bridge.world.services.store, name, "tables")
    return calls


def cost_of_a_check(bridge: Bridge, minutes: float = 6) -> dict[str, int]:
    bridge.tick(minutes)
    before = +calls_of(bridge)
    tracking.track_due(bridge.world.services)
    return dict(calls_of(bridge) - before)


def calls_of(bridge: Bridge) -> Counter[str]:
    found: Counter[str] = bridge.__dict__.setdefault("calls", None) or counted(bridge)
    bridge.__dict__["calls"] = found
    return found


def deposited(bridge: Bridge) -> Sent:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    return sent


def test_a_transaction_that_waits_costs_three_calls_to_the_source_chain() -> None:
    bridge = Bridge()
    deposited(bridge)
    assert cost_of_a_check(bridge) == {"source": 3, "tables": 3}


def test_one_that_no_node_has_costs_one_more() -> None:
    bridge = Bridge()
    sent = deposited(bridge)
    del bridge.source.transactions[sent.tx_hash]
    assert cost_of_a_check(bridge) == {"source": 4, "tables": 3}


def test_a_deposit_that_is_not_filled_costs_one_read_and_one_call_to_the_destination_for_each_range() -> None:
    bridge = Bridge()
    sent = deposited(bridge)
    bridge.include(sent)
    bridge.track()
    assert cost_of_a_check(bridge) == {"destination": 1, "tables": 4}


def test_a_fill_costs_three_more_and_ends_it() -> None:
    bridge = Bridge()
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    bridge.track()
    bridge.fill(sent, payment.requests[0])
    assert cost_of_a_check(bridge) == {"destination": 4, "tables": 7}
    assert cost_of_a_check(bridge) == {}


def test_after_its_deadline_the_state_is_asked_once_and_the_router_only_of_what_was_filled_unseen() -> None:
    bridge = Bridge()
    sent = deposited(bridge)
    bridge.include(sent)
    bridge.track()
    bridge.track(130)
    refunding = cost_of_a_check(bridge, 31)
    assert refunding == {"destination": 2, "source": 2, "tables": 4}
    bridge = Bridge()
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    bridge.track()
    bridge.fill(sent, payment.requests[0], fails=True)
    bridge.destination.hides_logs = True
    bridge.world.router.statuses[sent.tx_hash] = RouterStatus("DONE", "PARTIAL", sent.tx_hash, None, 42161, "across")
    bridge.track(130)
    assert cost_of_a_check(bridge, 31) == {"destination": 2, "router": 1, "tables": 4}
