"""Random histories of payments, forks, crashes and acceptances: what is accepted is paid while it stands."""

import json
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import ServiceError
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.transfers.accepting import flows
from infra.check.invariants import Picture, lists, totals
from tests.fakes.crash import Crash
from tests.fakes.requests import load_request
from tests.payments.links.cancelling.test_histories import CANCELS, Cancelling
from tests.payments.recording.test_histories import (
    HISTORIES,
    STEPS,
    UNITS_OF_TOKEN,
    check_list,
    transfers_on_the_chain,
)


class Accepting(Cancelling):
    """A history in which what was paid of requests is accepted, too."""

    def accept(self, index: int, dies: bool) -> None:
        world, wanted = self.world, self.requests[index % len(self.requests)]
        self.store.dies_at(1 if dies else 10**9, after=True)
        with suppress(Crash, ServiceError):
            flows.accept(world.services, wanted.request_id, self.viewer, world.actor)
        self.store.restart()


ACCEPTS = st.tuples(st.just("accept"), st.integers(0, 5), st.booleans())
PARTS = st.tuples(st.just("confirm"), st.integers(0, 5), st.just([4_000_000]))


@settings(max_examples=HISTORIES // 8, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    steps=st.lists(st.one_of(STEPS, PARTS, ACCEPTS, ACCEPTS, CANCELS), min_size=4, max_size=20), first=PARTS, then=ACCEPTS
)
def test_what_is_accepted_is_paid_while_it_stands_and_what_arrives_is_recorded(
    steps: list[tuple[Any, ...]], first: tuple[Any, ...], then: tuple[Any, ...]
) -> None:
    history = Accepting()
    half = len(steps) // 2
    for step in (*steps[:half], first, (then[0], first[1], then[2]), *steps[half:]):
        getattr(history, step[0])(*step[1:])
    history.settle()
    on_chain = transfers_on_the_chain(history)
    for request in history.requests:
        check(history, load_request(history.world.services, request), on_chain[request.request_id])
    for payment in map(history.world.load, history.links):
        is_paid = all(request.status is RequestStatus.PAID for request in payment.requests)
        assert (payment.link.status is LinkStatus.COMPLETED) == is_paid
    check_list(history)
    picture = Picture.of(history.store.everything(), history.world.now)
    assert [each for invariant in (totals, lists) for each in invariant(picture)] == []


def check(history: Accepting, request: Request, transfers: list[tuple[str, int]]) -> None:
    units = UNITS_OF_TOKEN if request.invoice_currency else 1
    assert request.paid == units * sum(amount for _, amount in transfers), "no money is lost, whatever was first"
    if request.cancelled_at is None:
        assert (request.status is RequestStatus.PAID) == (request.paid >= request.due)
    events = [json.loads(each.body) for each in history.store.notified]
    own = [each for each in events if each.get("requestId") == request.request_id]
    accepted = [each for each in own if each["event"] == "payment.confirmed" and each["amount"] == "0"]
    assert bool(accepted) == (request.accepted_at is not None), "told in the transaction that accepts it"
    assert all(each["labels"] == ["under"] for each in accepted)
