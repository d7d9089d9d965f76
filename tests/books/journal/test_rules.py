"""Double entries: they balance, whatever was paid, and say what wallets, fees and refunds have moved."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.books.journal.rules import FEES, INCOME, OVERPAID, PAID_OUT, RETURNED, entry_of, wallet_account
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import PayoutDraft
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Direction, Payment, PaymentStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.records import Filters
from tests.fakes.recurring import Recurring
from tests.fakes.world import PAYEE, WALLET, World, draft, in_process_aws
from tests.payments.recording.test_commerce_histories import history
from tests.payments.recording.test_refunds import offer, overpaid, send
from tests.payments.search.payments import histories

AT_PAYEE = wallet_account("sepolia", PAYEE)


def random_payments(seed: int, number: int) -> Iterator[Payment]:
    """Payments and refunds with fees, with more than was due, of rates that are as high and low as there are."""
    chance = Random(seed)
    for each in (histories.payment(chance, position) for position in range(number)):
        value = chance.choice((0, 1, each.value, each.amount, 10**chance.randrange(20)))
        yield replace(
            each,
            value=BaseUnits(value),
            fee_amount=BaseUnits(chance.choice((0, 1, 10**6))),
            excess=BaseUnits(chance.choice((0, value, chance.randint(0, value)))),
            direction=chance.choice((Direction.IN, Direction.IN, Direction.OUT)),
            is_payout=chance.random() < 0.25,
        )


def changed_accounts(payments: Iterable[Payment]) -> dict[str, int]:
    """What all entries together change, of payments in one token for amounts in it."""
    changed: Counter[str] = Counter()
    for each in payments:
        changed.update({posting.account: posting.amount for posting in entry_of(each).postings})
    return {account: amount for account, amount in changed.items() if amount}


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client)


def listed(world: World) -> tuple[Payment, ...]:
    return payment_search.page_after(world.services, Filters(world.account_id), "", 100).payments


def test_every_entry_balances_and_moves_what_the_wallet_got_or_sent() -> None:
    for each in random_payments(1, 3_000):
        entry = entry_of(each)
        assert sum(posting.value for posting in entry.postings) == 0
        is_refund = each.direction is Direction.OUT
        is_sent = is_refund != each.is_payout
        (wallet,) = (posting for posting in entry.postings if posting.account.startswith("Assets:"))
        sent = each.amount + each.fee_amount if each.is_payout and not is_refund else each.amount
        assert wallet.amount == (-sent if is_sent else sent)
        assert wallet.account.endswith((each.payer if is_sent else each.payee) or "Unknown")
        assert all(posting.value == posting.amount for posting in entry.postings if posting.currency == entry.currency)


def test_a_payout_is_an_expense_of_the_wallet_that_pays_it_and_so_is_its_fee(world: World) -> None:
    wanted = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "12.50", draft(items=()))
    made = payouts.create(world.services, world.owner, None, wanted)
    item = Item("3", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
    of_no_link = requests.payout(world.services, world.owner, Draft(item))
    requests.save_many(world.services, [of_no_link])
    for request in (*made.requests, of_no_link):
        log = world.chain.pay(request, fee=125_000)
        world.chain.payers[log["transactionHash"]] = WALLET
    world.scan()
    at_payer = wallet_account("sepolia", WALLET)
    paid = 12_500_000 + 3_000_000
    assert changed_accounts(listed(world)) == {PAID_OUT: paid, FEES: 250_000, at_payer: -paid - 250_000}
    assert {entry_of(each).kind for each in listed(world)} == {"payout"}


def test_each_period_of_a_recurring_payout_is_an_expense() -> None:
    recurring = Recurring()
    recurring.start()
    recurring.settle(5)
    (payment,) = listed(recurring.world)
    assert entry_of(payment).kind == "payout"
    assert changed_accounts([payment])[PAID_OUT] == 10_000_000


def test_a_fee_that_the_payer_pays_on_top_is_in_no_account_of_the_payee(world: World) -> None:
    (request,) = world.create_link(fee_percentage="1", fee_address=WALLET).requests
    world.chain.pay(request, amount=12_500_000, fee=125_000)
    world.scan()
    assert changed_accounts(listed(world)) == {AT_PAYEE: 12_500_000, INCOME: -12_500_000}


def test_what_was_too_much_is_owed_to_the_payer_and_a_refund_leaves_the_wallet(world: World) -> None:
    payable = overpaid(world)
    assert changed_accounts(listed(world)) == {AT_PAYEE: 20_000_000, INCOME: -12_500_000, OVERPAID: -7_500_000}
    offer(world, payable)
    send(world, payable, 7_500_000)
    payments = payment_store.payments(world.services.store, payable.requests[0].request_id)
    assert len(payments) == 1 and len(listed(world)) == 2
    after = changed_accounts(listed(world))
    assert (after[INCOME], after[OVERPAID], after[RETURNED]) == (-12_500_000, -7_500_000, 7_500_000)
    assert sum(after.values()) == 0


def test_the_journal_of_a_commerce_payment_is_what_its_escrow_has_moved() -> None:
    for seed in range(300):
        _, books = history(seed)
        counting = [
            each
            for each in (*books.payments.values(), *books.sent_refunds.values())
            if each.status is PaymentStatus.CONFIRMED
        ]
        changed, payment = changed_accounts(counting), books.payment
        assert -changed.get(INCOME, 0) == payment.captured, seed
        assert changed.get(FEES, 0) == payment.fees, seed
        assert changed.get(RETURNED, 0) == payment.refunded, seed
        wallets = sum(amount for account, amount in changed.items() if account.startswith("Assets:"))
        assert wallets == payment.captured - payment.fees - payment.refunded, seed
