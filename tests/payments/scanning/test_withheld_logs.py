"""A log that a node withholds at first, from the reading of its block to the recorded payment."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.payments.scanning.rules import TARGETS, VERIFIED_AFTER
from tests.fakes.world import in_process_aws
from tests.payments.scanning.test_agreement import AMOUNT, Group

TICK = timedelta(seconds=20)


@pytest.fixture
def client() -> Iterator[Any]:
    with in_process_aws() as client:
        yield client


@pytest.mark.parametrize("before", [0, 1, 7, 12], ids=lambda each: f"{each} minutes after the first target")
@pytest.mark.parametrize("count", [1, 2])
def test_a_log_that_is_withheld_for_a_minute_is_recorded_ten_to_eleven_minutes_after_its_block_was_read_first(
    client: Any, count: int, before: int
) -> None:
    group = Group(client, count)
    group.run(before)
    payment = group.world.create_link()
    for node in group.nodes:
        node.hides_logs = True
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    read_first = group.world.now
    group.run(minutes=1)
    for node in group.nodes:
        node.hides_logs = False
    while not group.paid(payment) and group.world.now - read_first < timedelta(minutes=20):
        group.run(minutes=1)
    assert group.paid(payment) == AMOUNT
    late = group.world.now - read_first - VERIFIED_AFTER[0]
    assert timedelta(0) <= late <= VERIFIED_AFTER[0] / TARGETS + TICK


@pytest.mark.parametrize("count", [2, 3])
def test_a_node_that_withholds_a_log_for_ever_does_not_hide_what_others_withheld_for_a_minute(
    client: Any, count: int
) -> None:
    """All have listed the same nothing: so it was not noticed when the block was read first."""
    group = Group(client, count)
    group.run(1)
    payment = group.world.create_link()
    for node in group.nodes:
        node.hides_logs = True
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=1)
    for node in group.nodes:
        node.hides_logs = node is group.nodes[1]
    group.run(minutes=12)
    assert group.paid(payment) == AMOUNT
