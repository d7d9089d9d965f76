"""A person opens a link in a browser with a wallet and pays, on real local chains: every kind of link."""

from typing import Any

import pytest

from infra.local.outsiders.tron_payer import fresh_tron_address
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import NATIVE, Ledger
from tests.onchain.payer import FAU, FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import Purse, SafePurse, TronPurse
from tests.pages.stack import Stack
from tests.support.client import item
from tests.support.items import native, tron
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
OTHER = "0x" + "b2" * 20
TRON_USDT = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"


def payout(stack: Stack, purse: Purse, **changes: Any) -> str:
    facts = {"network": "sepolia", "currency": "fUSDC-sepolia", "amount": "10", "recipient": PAYEE, **changes}
    return stack.made("/payouts", {"creatorWalletAddress": purse.address, "reference": "PAY-1", **facts})


def receipts(stack: Stack, purse: Purse) -> list[dict[str, Any]]:
    return [stack.chain.receipt(hash_) for hash_ in purse.sent]


def test_a_token_is_approved_and_paid(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(reference="INV-7", **FEE)
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE, FEE_ADDRESS])
    visitor = new_visitor(purse).open(token)
    visitor.shows("12.625 fUSDC", PAYEE, "INV-7", "Sepolia", "0.125 fUSDC")
    visitor.connect(purse).shows("Allow the payment contract to take 12.625 fUSDC", "1,000,000 fUSDC")
    visitor.pay("confirming").shows("Confirmation 1 of 2")
    stack.settle()
    visitor.reach("completed").shows("Payment complete", "Transaction")
    stack.assert_completed(token)
    assert ledger.moved() == {FUSDC: [-12_625_000, 12_500_000, 125_000]}
    assert purse.asked.count("eth_sendTransaction") == 2
    assert visitor.note(token) is None


@rehearsed
def test_native_coin_is_paid_with_one_signature(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native(payee=OTHER), **FEE)
    ledger = Ledger(stack.chain, [NATIVE], [purse.address, OTHER, FEE_ADDRESS])
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)
    assert ledger.moved(receipts(stack, purse)) == {NATIVE: [-505 * 10**15, 500 * 10**15, 5 * 10**15]}


def test_a_batch_of_two_tokens_and_coin_is_paid_together(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    fau = item(invoiceCurrency="FAU-sepolia", paymentCurrency="FAU-sepolia", payee=OTHER, amount="3")
    token = stack.shop.link(item(amount="1.5"), fau, native(payee=OTHER), **FEE)
    ledger = Ledger(stack.chain, [FUSDC, FAU, NATIVE], [purse.address, PAYEE, OTHER])
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.shows("1.515 fUSDC", "3.03 FAU", "0.505 ETH", "3 payments")
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)
    moved = ledger.moved(receipts(stack, purse))
    assert [moved[FUSDC][1], moved[FAU][2], moved[NATIVE][2]] == [1_500_000, 3 * 10**18, 5 * 10**17]
    assert [moved[FUSDC][0], moved[FAU][0]] == [-1_515_000, -303 * 10**16]
    assert purse.asked.count("eth_sendTransaction") == 3


@rehearsed
def test_a_payout_is_paid_by_its_creator_alone(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = payout(stack, purse)
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])
    stranger = Purse(stack.chain, "Stranger")
    visitor = new_visitor(stranger, purse).open(token).connect(stranger, "foreign")
    assert not visitor.can_pay()
    visitor.shows(purse.address)
    visitor.press("Use another wallet").connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)
    assert ledger.moved() == {FUSDC: [-10_000_000, 10_000_000]}


@pytest.mark.parametrize(("path", "name"), [("/multicall-payouts", "childTokens"), pytest.param("/batch-payouts", "tokens", marks=rehearsed)])
def test_payouts_combined_are_paid_in_one(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, path: str, name: str
) -> None:
    children = [payout(stack, purse), payout(stack, purse, amount="2.5", recipient=OTHER)]
    token = stack.made(path, {name: children})
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE, OTHER])
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.shows("12.5 fUSDC", "2 payments")
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    for each in children if name == "childTokens" else [token]:  # a batch has the requests of its payouts
        stack.assert_completed(each)
    assert ledger.moved() == {FUSDC: [-12_500_000, 10_000_000, 2_500_000]}


def test_of_two_hashes_that_a_safe_answers_the_first_is_waited_for(stack: Stack, new_visitor: NewVisitor) -> None:
    token, safe = stack.shop.link(), SafePurse(stack.chain)
    propose = safe._result
    safe.says["sendTransactions"] = lambda *asked: {
        "result": propose("sendTransactions", [*asked]), "again": {"safeTxHash": "0x" + "ab" * 32}
    }  # fmt: skip
    visitor = new_visitor(safe).open_in_safe(token, "review").pay("safe")
    assert visitor.frame.locator("#safe-hash").input_value() == safe.safe.hash(safe.proposed[0])
    assert len(safe.proposed) == 1


def test_a_safe_proposes_its_owners_sign_and_the_page_waits_for_them(stack: Stack, new_visitor: NewVisitor) -> None:
    token = stack.shop.link()
    safe = SafePurse(stack.chain)
    ledger = Ledger(stack.chain, [FUSDC], [safe.address, PAYEE])
    visitor = new_visitor(safe).open_in_safe(token, "review")
    visitor.pay("safe")
    assert visitor.frame.locator("#safe-hash").input_value() == safe.safe.hash(safe.proposed[0])
    other = visitor.another_tab().open(token, "safe")
    safe.safe.execute(safe.proposed[0])
    stack.settle()
    visitor.reach("completed")
    other.reach("completed")
    stack.assert_completed(token)
    assert ledger.moved() == {FUSDC: [-12_500_000, 12_500_000]}


def test_a_tron_wallet_approves_and_pays(stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor) -> None:
    payee = fresh_tron_address()
    token = stack.shop.link(tron(payee=payee))
    visitor = new_visitor(tron_purse).open(token).connect(tron_purse).pay("confirming")
    stack.settle("tron")
    visitor.reach("completed")
    stack.assert_completed(token)
    assert stack.tron.chain.token_balance(TRON_USDT, payee) == 12_500_000


@rehearsed
def test_a_wallet_with_usdt_alone_is_told_what_it_lacks_until_it_can_pay(
    stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor
) -> None:
    chain, wallet, payee = stack.tron.chain, tron_purse.address, fresh_tron_address()
    chain.fund_native(wallet, 0)
    token = stack.shop.link(tron(payee=payee))
    visitor = new_visitor(tron_purse).open(token).connect(tron_purse)
    visitor.shows("This Tron account does not exist yet")
    chain.fund_native(wallet, 10**6)
    visitor.press("Check again").shows("Your wallet has 1 TRX")
    assert visitor.page.locator("#pay").count() == 0
    chain.fund_native(wallet, 10**9)
    visitor.press("Check again").pay("confirming")
    stack.settle("tron")
    visitor.reach("completed")
    stack.assert_completed(token)


@rehearsed
def test_tron_payouts_are_paid_in_one(stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor) -> None:
    payees = [fresh_tron_address(), fresh_tron_address()]
    facts = {"network": "tron", "currency": "USDT-tron"}
    children = [payout(stack, tron_purse, recipient=payee, **facts) for payee in payees]
    token = stack.made("/multicall-payouts", {"childTokens": children})
    visitor = new_visitor(tron_purse).open(token).connect(tron_purse)
    visitor.pay("confirming")
    stack.settle("tron")
    visitor.reach("completed")
    for child, payee in zip(children, payees, strict=True):
        stack.assert_completed(child)
        assert stack.tron.chain.token_balance(TRON_USDT, payee) == 10_000_000
