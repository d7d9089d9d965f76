"""By which lists a search for payments is read, as the daily counts tell how much each of them has."""

from dataclasses import replace

import pytest

from chalicelib.base.records import Counts
from chalicelib.payments.recording.payment_counts import ACCOUNT, Role
from chalicelib.payments.requests.records import DailyCount
from chalicelib.payments.search.payments import rules
from chalicelib.payments.search.payments.records import Filters

WANTED = Filters("acct", type="payment", currency="USDC-base", network="base", symbol="USDC")
PAID = "USDC-base|USD|payment|"


def day(counts: dict[str, int], number: int = 1) -> DailyCount:
    return DailyCount("acct", ACCOUNT, f"2026-03-{number:02}", "", 0, Counts(counts))


def test_a_search_is_read_by_the_filter_that_leaves_fewest_payments() -> None:
    rows = {
        PAID: 3,
        "USDC-base|USD|refund|": 40,
        "ETH-base-base|USD|payment|": 50,
        "USDC-mainnet|USD|payment|": 60,
    }
    found = rules.sum_up_counts(WANTED, [day(rows), day({PAID: 2}, 2)])
    assert (found.total, found.days) == (5, {"2026-03-02": 2, "2026-03-01": 3})
    assert found.by_filter == {"type": 115, "currency": 45, "network": 95, "symbol": 105}
    assert rules.choose_filter(WANTED, found) == "currency"
    by_type = rules.sum_up_counts(replace(WANTED, type="refund"), [day(rows)])
    assert by_type.total == 40 and rules.choose_filter(replace(WANTED, type="refund"), by_type) == "type"
    assert rules.choose_filter(Filters("acct"), rules.sum_up_counts(Filters("acct"), [day(rows)])) == ""
    assert rules.choose_filter(replace(WANTED, tx_hash="0x12"), found) == "tx_hash", "what names something comes first"


def test_payments_in_a_token_that_is_not_in_the_catalogue_any_more_have_no_network() -> None:
    rows = {"OLD-base|USD|payment|": 7, PAID: 1}
    assert rules.sum_up_counts(Filters("acct", network="base"), [day(rows)]).total == 1
    assert rules.sum_up_counts(Filters("acct"), [day(rows)]).total == 8


@pytest.mark.parametrize(
    ("roles", "indexes"),
    [
        (None, ("by_payer", "by_payee")),
        ({Role.PAYER, Role.PAYEE}, ("by_payer", "by_payee")),
        ({Role.PAYER}, ("by_payer",)),
        ({Role.PAYEE}, ("by_payee",)),
    ],
)
def test_of_a_wallet_that_only_pays_or_only_receives_one_list_is_read(
    roles: set[Role] | None, indexes: tuple[str, ...]
) -> None:
    known = None if roles is None else frozenset(roles)
    assert rules.indexes_of("wallet", known) == indexes
    assert rules.indexes_of("payer", known) == ("by_payer",) and rules.indexes_of("", known) == ("by_account",)
