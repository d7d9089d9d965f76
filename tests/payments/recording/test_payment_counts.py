"""Daily counts: what a payment adds, once, whatever becomes of it."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import SHARDS, DailyCount
from chalicelib.platform.storage.store import LARGEST_TRANSACTION
from tests.platform.storage.kept_records import ACCOUNT, NOW, PAYMENT, WALLET

OTHER = "0x" + "ab" * 20
PAID = replace(PAYMENT, account_id=ACCOUNT, client_id="cli", payee=WALLET, currency="USDC-base", invoice_currency="USD", reference="INV", paid_at=NOW)
PAYMENTS = st.builds(
    replace,
    st.just(PAID),
    client_id=st.sampled_from((None, "cli")),
    payer=st.sampled_from((None, WALLET, WALLET.lower(), OTHER)),
    reference=st.sampled_from((None, "INV")),
    status=st.sampled_from(PaymentStatus),
    paid_at=st.sampled_from((None, NOW, NOW + timedelta(days=1))),
    account_id=st.sampled_from(("", ACCOUNT)),
)


def added(before: list[Payment], after: list[Payment]) -> Counter[tuple[str, str, str, str]]:
    total = Counter[tuple[str, str, str, str]]()
    for record, amounts in payment_counts.amounts(before, after):
        for name, amount in amounts.items():
            total[record.series, record.day, record.client_id, name] += amount
    return total


def test_a_payment_adds_one_to_its_account_client_wallets_and_reference() -> None:
    payment = payment_counts.mark_payment(replace(PAID, payer=OTHER))
    facets = "USDC-base|USD|direct|"
    assert added([], [payment]) == {
        ("ACCOUNT", "2026-03-01", "", facets): 1,
        ("CLIENT#cli", "2026-03-01", "", facets): 1,
        (f"WALLET#{OTHER}", "2026-03-01", "cli", facets + "payer"): 1,
        (f"WALLET#{WALLET.lower()}", "2026-03-01", "cli", facets + "payee"): 1,
        ("REFERENCE#INV", "2026-03-01", "cli", facets): 1,
    }
    assert len(payment_counts.amounts([], [payment])) == payment_counts.LARGEST


def test_payments_of_one_request_and_day_add_to_the_same_records() -> None:
    payments = [payment_counts.mark_payment(replace(PAID, event_key=f"e-{number}")) for number in range(20)]
    changed = payment_counts.amounts([], payments)
    assert len(changed) == 4
    assert {amount for _, amounts in changed for amount in amounts.values()} == {20}
    assert len(changed) < LARGEST_TRANSACTION


@given(st.lists(PAYMENTS, min_size=1, max_size=6))
def test_what_a_payment_added_is_exactly_what_its_last_state_adds(states: list[Payment]) -> None:
    total, stored = Counter[tuple[str, str, str, str]](), list[Payment]()
    for state in states:
        marked = payment_counts.mark_payment(replace(state, is_counted=stored[0].is_counted if stored else False))
        total.update(added(stored, [marked]))
        stored = [marked]
    expected = added([], stored) if stored[0].is_counted else {}
    assert {name: number for name, number in total.items() if number} == expected


def test_the_payments_of_requests_are_spread_over_all_shards() -> None:
    requests = [replace(PAID, request_id=f"01{number:064x}", is_counted=True) for number in range(100)]
    shards = {record.shard for record, _ in payment_counts.amounts([], requests) if isinstance(record, DailyCount)}
    assert shards == set(range(SHARDS))
