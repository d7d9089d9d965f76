"""Random histories of payments, forks, crashes and cancellations: what is cancelled stays so, and no money is lost."""

import json
from collections import Counter
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import ServiceError
from chalicelib.payments.links.cancelling import flows
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from tests.fakes.crash import Crash
from tests.fakes.requests import load_request
from tests.payments.recording.test_histories import (
    HISTORIES,
    STEPS,
    UNITS_OF_TOKEN,
    History,
    check_list,
    transfers_on_the_chain,
)


class Cancelling(History):
    """A history in which links and requests are cancelled, too."""

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.world.account_id, None)

    def cancel(self, index: int, dies: bool) -> None:
        world, viewer = self.world, self.viewer
        wanted = [*self.links, *self.alone][index % (len(self.links) + len(self.alone))]
        self.store.dies_at(1 if dies else 10**9, after=True)
        with suppress(Crash, ServiceError):
            if isinstance(wanted, Request):
                flows.cancel_request(world.services, wanted.request_id, viewer, world.actor)
            else:
                flows.cancel_link(world.services, wanted.link.token, viewer, world.actor)  # type: ignore[attr-defined]
        self.store.restart()


CANCELS = st.tuples(st.just("cancel"), st.integers(0, 4), st.booleans())


@settings(max_examples=HISTORIES // 4, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(steps=st.lists(st.one_of(STEPS, CANCELS), min_size=4, max_size=20), first=CANCELS)
def test_a_cancelled_request_is_never_told_as_paid_and_what_arrives_is_recorded(
    steps: list[tuple[Any, ...]], first: tuple[Any, ...]
) -> None:
    history = Cancelling()
    for step in (*steps[: len(steps) // 2], first, *steps[len(steps) // 2 :]):
        getattr(history, step[0])(*step[1:])
    history.settle()
    on_chain = transfers_on_the_chain(history)
    for request in history.requests:
        check(history, load_request(history.world.services, request), on_chain[request.request_id])
    for payment in map(history.world.load, history.links):
        statuses = {request.status for request in payment.requests}
        assert (payment.link.status is LinkStatus.CANCELLED) == (RequestStatus.CANCELLED in statuses)
        assert (payment.link.status is LinkStatus.COMPLETED) == (statuses == {RequestStatus.PAID})
    check_list(history)


def check(history: Cancelling, request: Request, transfers: list[tuple[str, int]]) -> None:
    units = UNITS_OF_TOKEN if request.invoice_currency else 1
    assert request.paid == units * sum(amount for _, amount in transfers), "no money is lost, whatever was first"
    is_cancelled = request.cancelled_at is not None
    assert is_cancelled == (request.status is RequestStatus.CANCELLED)
    assert is_cancelled or (request.status is RequestStatus.PAID) == (request.paid >= request.amount)
    events = [json.loads(each.body) for each in history.store.notified]
    own = [each["event"] for each in events if each.get("requestId") == request.request_id]
    assert own.count("request.cancelled") == is_cancelled, "told once, in the transaction that cancels it"
    if is_cancelled:
        after = Counter(own[own.index("request.cancelled") :])
        assert not after["payment.confirmed"] and not after["payment.partial"], "nothing is told as paid from then on"
    listed = history.store.query(Payment, Payment.KEY.all(request_id=request.request_id))
    standing = [each for each in listed if each.status is PaymentStatus.CONFIRMED]
    assert sum(each.value for each in standing) + request.dust_amount == request.paid
