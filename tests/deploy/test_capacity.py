"""What a month and a payment cost, by counted calls: the committed document, and the goals."""

from infra.bench import capacity


def test_the_document_is_what_the_calls_of_today_cost() -> None:
    committed, today = capacity.DOCUMENT.read_text(), capacity.document()
    assert _totals(committed) == _totals(today), "run `python -m infra.bench.capacity`"
    assert capacity.idle().total < capacity.IDLE_GOAL


def _totals(text: str) -> list[str]:
    return [line for line in text.splitlines() if "**" in line]


def test_a_thousand_payments_cost_less_than_a_quarter_of_a_dollar() -> None:
    steps = capacity.payment_steps()
    assert sum(capacity.dollars(capacity.amounts_of(step, step.times * 1_000)) for step in steps) < capacity.PAYMENTS_GOAL
