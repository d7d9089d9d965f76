"""All transactions of a payment in one confirmation, by wallets that can make several calls at once (EIP-5792)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.onchain.tether_double import CREATION as TETHER
from tests.pages.batch_purse import CALLS, CAPABILITIES, STATUS, BatchPurse, LyingPurse, SafeBatchPurse, refuses
from tests.pages.conftest import NewVisitor
from tests.pages.purse import BUSY, HANGS, Purse
from tests.pages.stack import Stack
from tests.pages.test_never_twice import age, two_fees
from tests.pages.test_troubles import ANSWERS_LATER, SENT
from tests.pages.visitor import Visitor, axe_findings
from tests.support.client import item
from tests.support.items import native

pytestmark = pytest.mark.xdist_group("second browser")
DUE = {FUSDC: [-12_500_000, 12_500_000]}


def ledger_of(stack: Stack, purse: Purse) -> Ledger:
    return Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])


def offered(visitor: Visitor, purse: Purse) -> Visitor:
    """The page has heard what the wallet can do, and shows it."""
    visitor.connect(purse)
    visitor.frame.get_by_text("Your wallet will ask you once.").wait_for()
    return visitor


# --- one prompt where the wallet can ---


@pytest.mark.parametrize("make", [BatchPurse, SafeBatchPurse, lambda chain: SafeBatchPurse(chain, is_old=True)])
def test_approval_and_payment_are_one_prompt(
    stack: Stack, new_visitor: NewVisitor, make: Callable[..., BatchPurse]
) -> None:
    purse, token = make(stack.chain), stack.shop.link()
    ledger = ledger_of(stack, purse)
    visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
    assert axe_findings(visitor.page) == []
    stack.settle()
    visitor.reach("completed").shows("Payment complete", purse.sent[0][:10])
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 0)
    assert ledger.moved() == DUE
    stack.assert_completed(token)


def test_several_payments_and_fees_are_one_prompt(stack: Stack, new_visitor: NewVisitor) -> None:
    """Of several tokens: an approval of each, and the batch."""
    purse = BatchPurse(stack.chain)
    fau = item(invoiceCurrency="FAU-sepolia", paymentCurrency="FAU-sepolia", amount="3")
    token = stack.shop.link(item(amount="1.5"), fau, native(), feePercentage="1", feeAddress=FEE_ADDRESS)
    visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT), len(purse.batches[0]["calls"])) == (1, 0, 3)
    stack.assert_completed(token)


def test_a_multicall_that_takes_several_payments_is_one_prompt(stack: Stack, new_visitor: NewVisitor) -> None:
    """Each has one address for fees: one transaction cannot pay them."""
    purse = BatchPurse(stack.chain)
    token = two_fees(stack, purse)
    ledger = ledger_of(stack, purse)
    visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert (len(purse.batches[0]["calls"]), purse.asked.count(SENT)) == (3, 0)
    assert ledger.moved() == {FUSDC: [-20_300_000, 20_000_000]}


def test_an_allowance_that_has_to_be_withdrawn_first_is_in_the_same_prompt(stack: Stack, new_visitor: NewVisitor) -> None:
    """As Tether has it: an approval over another one is refused."""
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    usual = stack.chain.rpc("eth_getCode", FUSDC, "latest")
    stack.chain.etch(TETHER, [FUSDC])
    try:
        approval = pay_answer(stack, stack.shop.link(item(amount="1")), purse)["transactions"][0]
        stack.chain.receipt(stack.chain.send_as(purse.address, approval))
        ledger = ledger_of(stack, purse)
        visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
        stack.settle()
        visitor.reach("completed")
        assert ledger.moved() == DUE
    finally:
        stack.chain.rpc("anvil_setCode", FUSDC, usual)
    assert (purse.asked.count(CALLS), purse.asked.count(SENT), len(purse.batches[0]["calls"])) == (1, 0, 3)


def pay_answer(stack: Stack, token: str, purse: Purse) -> dict[str, Any]:
    answer: dict[str, Any] = stack.shop.get(f"/v2/secure-payments/{token}/pay?wallet={purse.address}").json
    return answer


def test_the_calls_are_those_of_the_api(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    calls = pay_answer(stack, token, purse)["metadata"]["calls"]
    offered(new_visitor(purse).open(token), purse).pay("confirming")
    assert {name: each for name, each in purse.batches[0].items() if name != "id"} == {**calls, "from": purse.address.lower()}
    assert calls["from"] == purse.address


def test_one_call_is_a_plain_transaction(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain, "ready"), stack.shop.link(native())
    new_visitor(purse).open(token).connect(purse).pay("confirming")
    assert CAPABILITIES not in purse.asked and CALLS not in purse.asked


@pytest.mark.parametrize("answer", [None, {}, {"0xaa36a7": {"paymasterService": {"supported": True}}}])
def test_a_wallet_that_cannot_loads_nothing_more_and_is_asked_twice(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, answer: dict[str, Any] | None
) -> None:
    purse.says[CAPABILITIES] = refuses(-32601) if answer is None else {"result": answer}
    visitor, loaded = new_visitor(purse), list[str]()
    visitor.page.on("request", lambda request: loaded.append(request.url))
    visitor.open(stack.shop.link()).connect(purse).pay("confirming")
    assert purse.asked.count(SENT) == 2 and CAPABILITIES in purse.asked
    assert not any("/calls." in each for each in loaded)


# --- an upgrade of the account is asked for in words first ---


def test_an_account_is_upgraded_only_if_its_owner_says_so(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain, "ready"), stack.shop.link()
    ledger = ledger_of(stack, purse)
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.shows("Your wallet will ask you 2 times.")
    box = visitor.page.get_by_label("Confirm only once: my wallet may turn this account into a smart account")
    assert not box.is_checked() and axe_findings(visitor.page) == []
    box.check()
    visitor.shows("Your wallet will ask you once.")
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT), purse.is_delegated) == (1, 0, True)
    assert ledger.moved() == DUE


def test_without_it_the_transactions_are_plain(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain, "ready"), stack.shop.link()
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.get_by_role("checkbox").wait_for()
    visitor.pay("confirming")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT), purse.is_delegated) == (0, 2, False)


# --- what wallets refuse ---


@pytest.mark.parametrize("code", [4200, -32601, -32602, 5700, 5710, 5740, 5750, 5760])
def test_what_a_wallet_cannot_do_at_once_it_is_asked_for_one_by_one(
    stack: Stack, new_visitor: NewVisitor, code: int
) -> None:
    purse, token = BatchPurse(stack.chain, "ready"), stack.shop.link()
    purse.says[CALLS] = refuses(code)
    ledger = ledger_of(stack, purse)
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 2)
    assert ledger.moved() == DUE


@pytest.mark.parametrize("code", [4001, 4100])
def test_who_declines_is_offered_it_again_and_so_is_everybody_else(
    stack: Stack, new_visitor: NewVisitor, code: int
) -> None:
    purse, other, token = BatchPurse(stack.chain, "ready"), Purse(stack.chain), stack.shop.link()
    purse.says[CALLS] = refuses(code)
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("wallet-rejected").shows("Nothing was sent by this step")
    new_visitor(other).open(token).connect(other)
    del purse.says[CALLS]
    visitor.press("Try again").reach("review")
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("confirming")
    assert purse.asked.count(SENT) == 0


@pytest.mark.parametrize("answer", [refuses(-32000), refuses(-32603), refuses(5730), {"result": {"id": 7}}, {"result": None}])
def test_an_answer_that_says_nothing_is_a_question_to_the_payer(
    stack: Stack, new_visitor: NewVisitor, answer: dict[str, Any]
) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.says[CALLS] = answer
    visitor = offered(new_visitor(purse).open(token), purse).pay("asked")
    assert not visitor.can_pay()
    visitor.reload("asked")
    assert not visitor.can_pay() and purse.asked.count(CALLS) == 1


def test_a_batch_that_was_asked_for_before_is_followed(stack: Stack, new_visitor: NewVisitor) -> None:
    """A wallet that keeps the page's id, and has the batch from before."""
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.honours = True
    ledger = ledger_of(stack, purse)

    def duplicate(asked: dict[str, Any]) -> dict[str, Any]:
        purse.make(asked)
        return refuses(5720)

    purse.says[CALLS] = duplicate
    visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert ledger.moved() == DUE


@pytest.mark.parametrize("code", [4001, 4100, 5750])
def test_a_contract_is_asked_about_after_a_refusal_and_everybody_else_is_offered_it(
    stack: Stack, new_visitor: NewVisitor, code: int
) -> None:
    """Its number of transactions does not show that it has sent nothing; that it stands still ends the claim, and the page,
    which stays open, does not claim it again."""
    purse, other, token = BatchPurse(stack.chain), Purse(stack.chain), stack.shop.link()
    purse.says[CALLS] = refuses(code)
    visitor, claims = new_visitor(purse), list[str]()
    visitor.context.clock.install()
    visitor.page.on("request", lambda asked: claims.append(asked.method) if asked.url.endswith("/signing") else None)
    offered(visitor.open(token), purse).pay("asked").shows("Check your wallet before you pay again")
    new_visitor(other).open(token).connect(other)
    visitor.page.clock.fast_forward(240_000)
    visitor.page.wait_for_timeout(300)
    visitor.reload("asked").page.clock.fast_forward(240_000)
    visitor.page.wait_for_timeout(300)
    assert claims == ["POST", "DELETE"]


@pytest.mark.parametrize(
    "refusal",
    [refuses(5000), refuses(-32000, "User rejected the request."), *({"error": {"code": each, "message": "no"}} for each in ("4001", "ACTION_REJECTED"))],
)
def test_a_batch_is_declined_in_every_form_in_which_a_transaction_is(
    stack: Stack, new_visitor: NewVisitor, refusal: dict[str, Any]
) -> None:
    purse, other, token = BatchPurse(stack.chain, "ready"), Purse(stack.chain), stack.shop.link()
    purse.says[CALLS] = refusal
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("wallet-rejected").shows("Nothing was sent by this step")
    new_visitor(other).open(token).connect(other)


def test_a_wallet_that_is_busy_says_so(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.says[CALLS] = BUSY
    offered(new_visitor(purse).open(token), purse).pay("asked").shows("Your wallet has a request open already")


def test_another_account_is_not_asked_and_the_claim_is_given_back(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, other, token = BatchPurse(stack.chain), Purse(stack.chain), stack.shop.link()
    visitor = offered(new_visitor(purse).open(token), purse)
    purse.says["eth_accounts"] = {"result": [other.address]}
    visitor.pay("review").shows(other.address.lower())
    assert CALLS not in purse.asked
    new_visitor(other).open(token).connect(other)


@pytest.mark.parametrize("refused", ["pay:", ""])
def test_what_cannot_be_noted_is_not_claimed(stack: Stack, new_visitor: NewVisitor, refused: str) -> None:
    """Without storage the claim would lock its own page out, as its secret would not be kept."""
    purse, other, token = BatchPurse(stack.chain), Purse(stack.chain), stack.shop.link()
    visitor = new_visitor(purse)
    visitor.page.add_init_script(
        "const set = Storage.prototype.setItem; Storage.prototype.setItem = function (key, value) {"
        f" if (key.startsWith('{refused}')) throw new DOMException('', 'QuotaExceededError');"
        " return set.call(this, key, value); };"
    )
    offered(visitor.open(token), purse).pay("trouble-storage")
    assert CALLS not in purse.asked
    visitor.press("Try again").reach("review")
    new_visitor(other).open(token).connect(other)


# --- what happens in between ---


def test_while_a_wallet_asks_nobody_else_is_offered_the_payment(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, other, token = BatchPurse(stack.chain, "ready"), Purse(stack.chain), stack.shop.link()
    purse.says[CALLS] = HANGS
    computer = new_visitor(other).open(token).connect(other)
    phone = new_visitor(purse)
    phone.page.add_init_script(ANSWERS_LATER)
    phone.open(token).connect(purse)
    phone.page.get_by_role("checkbox").check()
    phone.pay("signing").until(lambda: CALLS in purse.asked)
    computer.reach("claimed").shows("Another wallet is being asked to pay")
    assert not computer.can_pay() and axe_findings(computer.page) == []
    phone.page.evaluate("window.answer({ error: { code: 4001, message: 'no' } })")
    phone.reach("wallet-rejected")
    computer.reach("review").pay("confirming")
    assert other.asked.count(SENT) == 2


def test_what_was_answered_is_followed_after_a_reload(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    ledger = ledger_of(stack, purse)
    visitor = offered(new_visitor(purse).open(token), purse)
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x1", "status": 100, "atomic": True}}
    visitor.pay("batch").shows("Your wallet is making the payment")
    visitor.until(lambda: STATUS in purse.asked)
    visitor.reload("batch")
    assert not visitor.can_pay() and axe_findings(visitor.page) == []
    there = visitor.another_tab()
    there.page.goto(f"{stack.pay_url}/?token={token}")
    there.reach("elsewhere")
    del purse.says[STATUS]
    visitor.reach("confirming")
    stack.settle()
    visitor.reach("completed").shows("Payment complete")
    assert ledger.moved() == DUE and purse.asked.count(CALLS) == 1


def test_a_wallet_that_never_answers_is_asked_again_only_by_the_payer(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.says[CALLS] = lambda asked: purse.make(asked) and HANGS
    ledger = ledger_of(stack, purse)
    visitor = offered(new_visitor(purse).open(token), purse).pay("signing").until(lambda: len(purse.made) == 1)
    visitor.page.reload()
    visitor.page.wait_for_timeout(500)
    assert not visitor.can_pay()
    stack.settle()
    visitor.reach("completed")
    assert ledger.moved() == DUE and purse.asked.count(CALLS) == 1


def test_after_a_reload_the_page_does_not_say_that_a_wallet_pays_which_has_not_answered(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.says[CALLS] = purse.says[STATUS] = HANGS
    visitor = offered(new_visitor(purse).open(token), purse).pay("signing").until(lambda: CALLS in purse.asked)
    visitor.reload("doubt").shows("Checking what became of your payment")
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": 100, "atomic": True}}
    visitor.reload("batch").shows("Your wallet is making the payment")


def test_a_batch_that_its_wallet_forgets_is_asked_about_in_five_minutes(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token, other = BatchPurse(stack.chain), stack.shop.link(), Purse(stack.chain)
    purse.says[CALLS] = {"result": {"id": "0x01"}}
    visitor = offered(new_visitor(purse).open(token), purse).pay("batch")
    visitor.reach("unclear").shows("If nothing was sent, you can start again from")
    assert purse.asked.count(STATUS) >= 3 and not visitor.can_pay()
    new_visitor(other).open(token, "claimed")
    assert SENT not in other.asked, "what a wallet has forgotten does not end the claim"
    assert visitor.page.get_by_role("checkbox").count() == 0
    age(visitor, token, "startedAt", by=301_000)
    visitor.reload("unclear").page.get_by_role("checkbox").wait_for()


def test_while_its_wallet_calls_a_batch_pending_paying_again_is_not_offered(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.says[CALLS] = {"result": {"id": "0x01"}}
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": 100, "atomic": True}}
    visitor = offered(new_visitor(purse).open(token), purse).pay("batch")
    age(visitor, token, "startedAt", "sentAt")
    asked = purse.asked.count(STATUS)
    visitor.reload("batch").until(lambda: purse.asked.count(STATUS) > asked + 2)
    assert visitor.state == "batch" and not visitor.can_pay()
    purse.says[STATUS] = refuses(5730)
    visitor.reach("unclear").page.get_by_role("checkbox").wait_for()


@pytest.mark.parametrize("answer", [refuses(4200), refuses(-32601), {"result": "odd"}])
def test_a_wallet_that_does_not_say_what_became_of_a_batch_holds_nobody_up(
    stack: Stack, new_visitor: NewVisitor, answer: dict[str, Any]
) -> None:
    """The account has sent something: the page looks what that was, and goes on once the wallet speaks again."""
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    purse.says[STATUS] = answer
    visitor = offered(new_visitor(purse).open(token), purse).pay("doubt")  # after `silent`, which may pass unseen
    assert purse.asked.count(STATUS) >= 3 and not visitor.can_pay()
    del purse.says[STATUS]
    visitor.reach("confirming")
    stack.settle()
    visitor.reach("completed")


# --- what wallets say of a batch is a hint ---


def test_a_failure_inside_of_a_success_is_no_payment(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = SafeBatchPurse(stack.chain, inner_failure=True), stack.shop.link()
    ledger = ledger_of(stack, purse)
    visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
    stack.settle()
    visitor.reach("settling")
    visitor.until(lambda: "deepAt" in (visitor.note(token) or {}))
    age(visitor, token, "deepAt")
    visitor.reload("uncounted").shows("Your transaction is confirmed, but this payment is not complete")
    assert ledger.moved() == {FUSDC: [0, 0]}
    assert not stack.payment(token).is_paid


def test_a_wallet_that_says_it_is_done_and_did_nothing_is_found_out(stack: Stack, new_visitor: NewVisitor) -> None:
    purse = LyingPurse(stack.chain, lambda sent: {"status": 200, "receipts": []}, sends=False)
    token = stack.shop.link()
    visitor = offered(new_visitor(purse).open(token), purse).pay("batch")
    visitor.until(lambda: "deepAt" in (visitor.note(token) or {}))
    age(visitor, token, "deepAt")
    visitor.reload("unclear").shows("It was asked to pay from this account:")
    assert not visitor.can_pay() and visitor.button("Start again").is_disabled()


def test_a_wallet_that_denies_what_it_has_made_is_found_out(stack: Stack, new_visitor: NewVisitor) -> None:
    purse = LyingPurse(stack.chain, lambda sent: {"status": 400}, sends=True)
    token = stack.shop.link()
    ledger = ledger_of(stack, purse)
    visitor = offered(new_visitor(purse).open(token), purse).pay("unclear")
    assert not visitor.can_pay()
    stack.settle()
    visitor.reach("completed")
    assert ledger.moved() == DUE


def test_the_hash_of_somebody_else_is_no_payment(stack: Stack, new_visitor: NewVisitor) -> None:
    theirs = Purse(stack.chain)
    sent = stack.chain.send_as(theirs.address, {"to": PAYEE, "value": "0x1", "data": "0x"})
    stack.mine(2)
    purse = LyingPurse(stack.chain, lambda _: {"status": 200, "receipts": [{"transactionHash": sent}]}, sends=False)
    token = stack.shop.link()
    visitor = offered(new_visitor(purse).open(token), purse).pay("settling")
    visitor.until(lambda: "deepAt" in (visitor.note(token) or {}))
    age(visitor, token, "deepAt")
    visitor.reload("uncounted")
    assert not stack.payment(token).is_paid and not visitor.can_pay()


@pytest.mark.parametrize(("status", "others"), [(500, "choose"), (600, "claimed")])
def test_a_failure_of_somebody_else_is_none_of_the_payment(
    stack: Stack, new_visitor: NewVisitor, status: int, others: str
) -> None:
    """It ends the claim all the same where the wallet says that nothing was made."""
    theirs = Purse(stack.chain)
    sent = stack.chain.send_as(theirs.address, {"to": FUSDC, "value": "0x1", "data": "0x"})
    stack.mine(20)
    assert stack.chain.receipt(sent)["status"] == "0x0"
    lie = {"status": status, "receipts": [{"transactionHash": sent}]}
    purse, token = LyingPurse(stack.chain, lambda _: lie, sends=False), stack.shop.link()
    visitor = offered(new_visitor(purse).open(token), purse).pay("unclear")
    assert not visitor.can_pay()
    visitor.reload("unclear")
    assert not visitor.can_pay() and not stack.payment(token).is_paid
    new_visitor().open(token, others)


def test_what_a_wallet_has_not_answered_is_not_over_by_its_word(stack: Stack, new_visitor: NewVisitor) -> None:
    """It may still ask: nobody else is offered the payment."""
    purse, token = SafeBatchPurse(stack.chain), stack.shop.link()
    purse.says[CALLS] = HANGS
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": 400, "atomic": True}}
    visitor = offered(new_visitor(purse).open(token), purse).pay("signing")
    visitor.until(lambda: CALLS in purse.asked).reload("asked")
    assert visitor.button("Start again").is_disabled()
    new_visitor().open(token, "claimed")


def test_of_two_ids_that_a_wallet_answers_the_first_is_followed(stack: Stack, new_visitor: NewVisitor) -> None:
    purse, token = BatchPurse(stack.chain), stack.shop.link()
    ledger = ledger_of(stack, purse)
    purse.says[CALLS] = lambda asked: {"result": purse.make(asked), "again": {"id": "0xother"}}
    visitor = offered(new_visitor(purse).open(token), purse).pay("confirming")
    assert (visitor.note(token) or {})["batch"]["answered"] in purse.made
    stack.settle()
    visitor.reach("completed")
    assert (purse.asked.count(CALLS), ledger.moved()) == (1, DUE)


def test_a_batch_that_was_not_made_can_be_tried_again(stack: Stack, new_visitor: NewVisitor) -> None:
    """The account is no contract yet, so that its number of transactions shows that it has sent nothing."""
    purse, token = BatchPurse(stack.chain, "ready"), stack.shop.link()
    purse.says[CALLS] = {"result": {"id": "0x01"}}
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": 400, "atomic": True}}
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("unmade").shows("Your wallet did not make the payment")
    assert axe_findings(visitor.page) == []
    purse.says.clear()
    visitor.press("Try again").reach("review")
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("confirming")


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize("make", [BatchPurse, SafeBatchPurse])
def test_a_contract_is_asked_about_a_batch_that_was_not_made_and_everybody_else_is_offered_it(
    stack: Stack, new_visitor: NewVisitor, make: Callable[..., BatchPurse], status: int
) -> None:
    purse, other, token = make(stack.chain), Purse(stack.chain), stack.shop.link()
    purse.says[CALLS] = {"result": {"id": "0x01"}}
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": status, "atomic": True}}
    visitor = offered(new_visitor(purse).open(token), purse).pay("unclear")
    assert not visitor.can_pay()
    new_visitor(other).open(token).connect(other)


@pytest.mark.parametrize("denied", [CALLS, STATUS])
def test_a_safe_that_denies_what_it_has_paid_holds_the_claim(stack: Stack, new_visitor: NewVisitor, denied: str) -> None:
    """Its number of transactions stands still, but what it has does not."""
    purse, token = SafeBatchPurse(stack.chain), stack.shop.link()
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": 400, "atomic": True}}
    if denied == CALLS:
        purse.says[CALLS] = lambda asked: purse.make(asked) and refuses(4001)
    visitor = offered(new_visitor(purse).open(token), purse).pay("asked" if denied == CALLS else "unclear")
    new_visitor().open(token, "claimed")
    stack.settle()
    visitor.reach("completed")
