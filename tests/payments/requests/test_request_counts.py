"""Daily counts of requests: each under its status on the day of its creation, whatever becomes of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.payments.requests import request_counts
from chalicelib.payments.requests.records import Request, RequestStatus
from tests.platform.storage.kept_records import ACCOUNT, NOW, RECORDS

KEPT = RECORDS["request"]
assert isinstance(KEPT, Request)
NEW = replace(KEPT, account_id=ACCOUNT, client_id="cli", created_at=NOW, status=RequestStatus.CREATED, is_moved=False, counted_as=None)
STATES = st.builds(
    replace,
    st.just(NEW),
    status=st.sampled_from(RequestStatus),
    account_id=st.sampled_from(("", ACCOUNT)),
    is_moved=st.booleans(),
)


def added(before: Sequence[Request], after: Sequence[Request]) -> Counter[tuple[str, str, str]]:
    total = Counter[tuple[str, str, str]]()
    for record, amounts in request_counts.amounts(before, after):
        for name, amount in amounts.items():
            total[record.series, record.day, name] += amount
    return total


def test_a_request_adds_one_to_its_account_and_its_client_id() -> None:
    marked = request_counts.mark_request(NEW)
    day = NOW.date().isoformat()
    assert added([], [marked]) == {("REQUESTS", day, "created"): 1, ("REQUESTS#cli", day, "created"): 1}
    assert len(request_counts.amounts([], [marked])) == request_counts.LARGEST
    assert added([marked], [replace(marked, payee="0x")]) == {}, "it has the same status"


def test_the_requests_of_a_transaction_add_to_two_records_for_each_day() -> None:
    made = [
        request_counts.mark_request(replace(NEW, request_id=f"01{number:064x}", created_at=NOW - timedelta(days=number % 2)))
        for number in range(40)
    ]
    assert len(request_counts.amounts([], made)) == 2 * request_counts.LARGEST
    assert set(added([], made).values()) == {20}


@given(st.lists(STATES, min_size=1, max_size=6))
def test_what_a_request_added_is_exactly_what_its_last_state_adds(states: list[Request]) -> None:
    total, stored = Counter[tuple[str, str, str]](), list[Request]()
    for state in states:
        marked = request_counts.mark_request(replace(state, counted_as=stored[0].counted_as if stored else None))
        total.update(added(stored, [marked]))
        stored = [marked]
    assert {name: number for name, number in total.items() if number} == added([], stored)
