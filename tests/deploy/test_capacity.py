"""What a month and a payment cost, by counted calls: the committed document, and the goals.

What is counted is the same in every run, as `test_what_is_counted_is_the_same_in_every_run` holds: random ids have one
length. So a goal may be close to it. Where less than 2 % are between them, the goal says what is counted today.
"""

import re

import pytest

from tests.bench import capacity, growth
from tests.bench.ceilings import FACTS
from tests.bench.steps import asked_for_a_payment, idle_networks, payment_steps
from tests.fakes.world import PREFIX
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("costs")  # the calls of a payment are counted once in a process
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@rehearsed
def test_the_document_is_what_the_calls_of_today_cost() -> None:
    committed, today = capacity.DOCUMENT.read_text(), capacity.document()
    assert _NUMBER.sub("", _totals(committed)) == _NUMBER.sub("", _totals(today)), "run `python -m tests.bench.capacity`"
    assert _numbers(today) == pytest.approx(_numbers(committed), rel=0.005), "run `python -m tests.bench.capacity`"
    assert 1.02 * capacity.idle(idle_networks()).total < capacity.IDLE_GOAL  # 44.47 of 46


def test_what_is_counted_is_the_same_in_every_run() -> None:
    runs = (payment_steps(), payment_steps.__wrapped__())
    first, second = ([capacity.amounts_of(step, step.times) for step in steps] for steps in runs)
    assert first == second
    for count in (growth.left_by_a_payment, growth.moved_to_the_archive):
        assert count() == count.__wrapped__()


def _totals(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if "**" in line)


def _numbers(text: str) -> list[float]:
    """The figures of the totals. Random ids and the digits of amounts change them by less than a thousandth."""
    return [float(each.replace(",", "")) for each in _NUMBER.findall(_totals(text))]


def test_a_thousand_payments_cost_less_than_a_quarter_of_a_dollar() -> None:
    steps = payment_steps()
    assert sum(capacity.dollars(capacity.amounts_of(step, step.times * 1_000)) for step in steps) < capacity.PAYMENTS_GOAL


def test_what_a_payment_leaves_is_counted_with_its_entries_in_indexes_and_for_as_long_as_it_stays() -> None:
    left = growth.left_by_a_payment()
    assert 2_000 < left.items < 8_000
    assert left.entries > 3 * left.items, "a payment is in twelve lists of its account"
    assert left.items_for_months > 0, "events and deliveries vanish after a month"


def test_a_year_grows_by_what_stays_and_by_nothing_else() -> None:
    steps = payment_steps()
    first, second = (growth.year(number, 1_000, steps).parts for number in (1, 2))
    grown = {name for name in first if capacity.dollars(second[name]) > 1.01 * capacity.dollars(first[name])}
    assert grown == {
        "records that stay, in tables", "records that stay, in indexes", "point-in-time recovery",
        "moving payments to the archive", "the archive",
    }


@rehearsed
def test_no_year_costs_much_more_than_the_one_before_once_what_is_old_is_moved_away() -> None:
    steps, resting = payment_steps(), capacity.idle(idle_networks())
    second, third, tenth = (sum(capacity.costs_of_year(number, resting, steps).values()) for number in (2, 3, 10))
    assert third < 1.02 * second  # 1.013
    sooner = [sum(capacity.costs_of_year(number, resting, steps, min(capacity.SOONER)).values()) for number in (1, 2)]
    assert sooner[1] < 1.1 * sooner[0]
    assert sooner[1] < 0.92 * second
    assert tenth < 1.05 * second
    moved = growth.moved_to_the_archive()
    assert moved.writes < 53  # 52.06
    assert moved.bytes < 2_000


def test_the_table_of_payments_costs_less_each_year_in_the_class_for_what_is_kept_for_long() -> None:
    """By over 1,000 USD in the first year of ten million payments a month, and by over 3,000 in the second."""
    prices, steps = FACTS["prices"], payment_steps()
    of_payments = [capacity.amounts_of(step, 12 * capacity.A_MONTH * step.times) for step in steps]

    def saved(number: int) -> float:
        parts = growth.year(number, capacity.A_MONTH, steps).parts.values()
        infrequent = [each for amounts in (*parts, *of_payments) for each in amounts.items() if "_infrequent_" in each[0]]
        as_standard = [{name.replace("_infrequent_", "_"): amount} for name, amount in infrequent]
        assert {name for name, _ in infrequent} < prices.keys()
        return sum(map(capacity.dollars, as_standard)) - sum(capacity.dollars({name: each}) for name, each in infrequent)

    assert saved(1) > 1_000
    assert saved(2) > 3_000


def test_a_payment_takes_two_requests_to_the_node_that_is_read_and_to_each_other() -> None:
    """Its header with the logs of what arrived, and its receipt for the payer; its block is read again without more. Each
    other node says what its newest block is, by which the payment is confirmed, and what it has of the logs."""
    one, two = asked_for_a_payment(1), asked_for_a_payment(2)
    assert (one.requests, two.requests) == (2, 4)
    assert one.methods == {"eth_getBlockByNumber": 1, "eth_getLogs": 1, "eth_getTransactionReceipt": 1}
    newest = {"eth_chainId": 1, "eth_blockNumber": 1}
    assert two.methods == {"eth_getBlockByNumber": 2, "eth_getLogs": 3, "eth_getTransactionReceipt": 1, **newest}


def test_a_provider_charges_by_the_weight_of_methods_and_less_for_what_is_more() -> None:
    million = {"eth_getLogs": 1_000_000}
    assert growth.node_dollars("Alchemy, pay as you go", million) == pytest.approx(75 * 0.45)
    assert growth.node_dollars("Alchemy, pay as you go", {"eth_getLogs": 8_000_000}) == pytest.approx(300 * 0.45 + 300 * 0.4)
    assert growth.node_dollars("Infura, Team plan", {"eth_call": 1_000_000}) == pytest.approx(80 * 0.099)


def test_a_payment_takes_two_thirds_of_the_units_that_it_took() -> None:
    """Of 203.9 write and 50.9 read units; 8 of each were of calls that were counted with a key, which the page has not. Four
    are of events in the list of their request."""
    steps = payment_steps()
    assert sum(step.units.writes * step.times for step in steps) < 138  # 137.31
    assert sum(step.units.reads * step.times for step in steps) < 34  # 33.56


def test_the_list_of_mispayments_takes_nothing_of_a_payment_that_is_as_it_was_asked_for() -> None:
    places = {place for step in payment_steps() for place, _ in step.units.partitions}
    assert f"{PREFIX}-webhooks by_kind" in places and f"{PREFIX}-webhooks by_mispayment" not in places
