"""Nothing is paid twice: not while the service is behind, not when a wallet kept a request to itself, not by odd notes."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import BUSY, HANGS, REJECTS, Purse, TronPurse
from tests.pages.stack import Stack
from tests.pages.test_payments import OTHER, payout
from tests.pages.test_troubles import SENT, by_hand
from tests.pages.test_two_devices import lapse
from tests.pages.visitor import Visitor
from tests.support.items import native, tron
from tests.support.stored_links import expire, pay_part

pytestmark = pytest.mark.xdist_group("second browser")
HOUR = 3_600_000
"""In milliseconds."""
POOR = {"error": {"code": -32000, "message": "insufficient funds for gas * price + value"}}


def failure(code: Any, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def something_else(stack: Stack, purse: Purse) -> str:
    """The hash of what the account sends next, which pays nothing that is shown."""
    return stack.chain.send_as(purse.address, {"to": OTHER, "value": "0x1", "data": "0x"})


def doubted(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> tuple[Visitor, str]:
    """A page in doubt of its link: its wallet has not answered, and something else has the nonce."""
    token = stack.shop.link(native())
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse).open(token).connect(purse).pay_unanswered(purse)
    something_else(stack, purse)
    return visitor.reload("doubt"), token


def two_fees(stack: Stack, purse: Purse) -> str:
    """A multicall that one transaction cannot pay: each has one address for fees."""
    fees = [{"feePercentage": "1", "feeAddress": FEE_ADDRESS}, {"feePercentage": "2", "feeAddress": OTHER}]
    return stack.made("/multicall-payouts", {"childTokens": [payout(stack, purse, **fee) for fee in fees]})


def age(visitor: Visitor, token: str, *names: str, by: int = HOUR) -> None:
    """What the page noted was that much earlier."""
    change = "([key, names, age]) => { const note = JSON.parse(localStorage[key]); "
    change += "for (const name of names) note[name] = Date.now() - age; localStorage[key] = JSON.stringify(note); }"
    visitor.page.evaluate(change, [f"pay:{token}", names, by])


def withdraw(stack: Stack, token: str) -> None:
    """The link's owner no longer waits for what was announced for it."""
    shop = stack.shop
    assert shop.api.request("DELETE", f"/v2/secure-payments/{token}/intent", None, shop.by_key).status == 200


def sends_and_hangs(purse: Purse) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The wallet sends what it is asked for, and never says so."""

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        purse.send(asked)
        return HANGS

    return answer


def start_again(visitor: Visitor) -> None:
    visitor.page.get_by_role("checkbox").check()
    visitor.press("Start again").reach("review")


# --- more than one transaction ---


def test_the_second_transaction_is_asked_for_when_the_service_knows_of_the_first(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = two_fees(stack, purse)
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    stack.mine(2)
    visitor.reach("settling")
    assert len(purse.sent) == 2
    stack.settle()
    visitor.reach("confirming").reload("confirming")  # not what can be paid one by one, where the second is on its way
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 3
    assert ledger.moved() == {FUSDC: [-20_300_000, 20_000_000]}


def test_between_two_transactions_a_reload_never_offers_the_first_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = two_fees(stack, purse)
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    stack.mine(2)
    visitor.reach("settling").reload("settling")
    assert not visitor.can_pay() and len(visitor.note(token)["references"]) == 1  # type: ignore[index]
    stack.settle()
    visitor.reach("blocked").shows("Some of these payments have been made", "Is already paid", "Pay this one")
    assert not visitor.can_pay() and len(purse.sent) == 2


def test_a_second_transaction_that_is_declined_leaves_what_is_not_paid(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = two_fees(stack, purse)
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    purse.says[SENT] = REJECTS
    stack.settle()
    visitor.reach("wallet-rejected").press("Try again").reach("blocked").shows("Is already paid")
    assert len(purse.sent) == 2


def test_what_a_silent_wallet_has_sent_is_followed_by_the_next_when_the_service_knows_of_it(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = two_fees(stack, purse)
    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says[SENT] = lambda asked: purse.says.update({SENT: sends_and_hangs(purse)}) or {"result": purse.send(asked)}
    visitor.pay("signing")
    visitor.until(lambda: len(purse.sent) == 2)
    visitor.reload("doubt")
    stack.settle()
    visitor.reach("blocked").shows("Is already paid", "Pay this one")


# --- the same debt behind another link ---


@pytest.mark.parametrize(
    ("first", "then", "seen", "end"), [("whole", "one", "sent", "completed"), ("one", "whole", "twin", "blocked")]
)
def test_what_is_on_its_way_behind_one_link_is_not_offered_behind_another(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, first: str, then: str, seen: str, end: str
) -> None:
    """A payout also waits for what the multicall waits for, whoever has sent that."""
    children = [payout(stack, purse), payout(stack, purse)]
    links = {"one": children[0], "whole": stack.made("/multicall-payouts", {"childTokens": children})}
    visitor = new_visitor(purse).open(links[first]).connect(purse)
    there = visitor.another_tab().open(links[then], "review")
    visitor.pay("confirming")
    there.reach(seen)
    assert not there.can_pay() and purse.asked.count(SENT) == 2
    if seen == "twin":
        assert there.page.locator("a.action").get_attribute("href") == f"?token={links[first]}"
    stack.settle()
    there.reach(end)


def test_what_is_on_its_way_is_not_made_part_of_another_link(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    children = [payout(stack, purse), payout(stack, purse)]
    visitor = new_visitor(purse).open(children[0]).connect(purse).pay("confirming")
    visitor.until(lambda: stack.payment(children[0]).is_locked)
    reply = stack.shop.send("POST", "/v2/secure-payments/batch-payouts", {"tokens": children})
    assert (reply.status, reply.json["failures"][0]["reason"]) == (400, "request_processing")


def test_what_was_begun_behind_another_link_is_given_up_by_the_payer_alone(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """And believed no longer when the wallet refuses to be asked again."""
    coins = {"currency": "ETH-sepolia-sepolia", "amount": "0.5"}
    child = payout(stack, purse, **coins)
    whole = stack.made("/multicall-payouts", {"childTokens": [child, payout(stack, purse, **coins)]})
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse).open(child).connect(purse).pay_unanswered(purse).open(whole, "twin")
    assert visitor.button("Start again").count() == 0
    age(visitor, child, "startedAt", by=-HOUR)  # the clock of then was ahead
    assert visitor.reload("twin").button("Start again").count() == 0
    age(visitor, child, "startedAt")
    lapse(child)
    purse.says[SENT] = REJECTS
    start_again(visitor.reload("twin"))
    visitor.pay("wallet-rejected").press("Try again").reach("twin")


def test_what_failed_behind_another_link_is_free_again(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    coins = {"currency": "ETH-sepolia-sepolia", "amount": "0.5"}
    child = payout(stack, purse, **coins)
    whole = stack.made("/multicall-payouts", {"childTokens": [child, payout(stack, purse, **coins)]})
    purse.says[SENT] = lambda asked: {"result": stack.chain.send_as(purse.address, {**asked, "data": asked["data"][:10]})}
    visitor = new_visitor(purse).open(child).connect(purse).pay("waiting")
    age(visitor, child, "startedAt")
    lapse(child)
    visitor.open(whole, "twin").page.wait_for_timeout(300)
    assert visitor.page.locator("a.action").count() == 1 and visitor.button("Start again").count() == 0
    stack.mine()
    visitor.reach("review")


def test_what_was_lost_behind_another_link_is_looked_for_on_its_network(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    coins = {"currency": "ETH-sepolia-sepolia", "amount": "0.5"}
    child = payout(stack, purse, **coins)
    whole = stack.made("/multicall-payouts", {"childTokens": [child, payout(stack, purse, **coins)]})
    purse.says[SENT] = {"result": "0x" + "ab" * 32}
    visitor = new_visitor(purse).open(child).connect(purse).pay("waiting")
    age(visitor, child, "startedAt", "sentAt")
    visitor.until(lambda: stack.payment(child).is_locked)
    withdraw(stack, child)  # as is done by itself for what no node knows
    lapse(child)
    purse.chain_id = 1
    purse.is_connected = True
    start_again(visitor.open(whole, "twin"))
    assert "wallet_switchEthereumChain" in purse.asked


# --- sent, and not what was owed ---


def test_a_transaction_that_is_not_counted_is_a_question_for_the_payee(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """It may be another one's, or the service counts a part of it. Also behind another link that pays the same."""
    coins = {"currency": "ETH-sepolia-sepolia", "amount": "0.5"}
    child = payout(stack, purse, **coins)
    whole = stack.made("/multicall-payouts", {"childTokens": [child, payout(stack, purse, **coins)]})
    other = Purse(stack.chain)
    purse.says[SENT] = {"result": something_else(stack, other)}
    stack.mine(2)
    visitor = new_visitor(purse).open(child).connect(purse).pay("settling")
    visitor.until(lambda: "deepAt" in (visitor.note(child) or {}))
    assert not visitor.can_pay() and visitor.button("Start again").count() == 0
    with stack.lock:
        pay_part(child, 4 * 10**17)
    age(visitor, child, "deepAt", by=-HOUR)  # the clock of then was ahead: it is waited for from now on
    visitor.reload("settling").until(lambda: visitor.note(child)["deepAt"] < time.time() * 1_000)
    age(visitor, child, "deepAt")
    visitor.open(whole, "twin").shows("I asked the payee")
    assert visitor.button("Start again").is_disabled()
    visitor.open(child, "uncounted").shows("Your transaction is confirmed, but this payment is not complete")
    assert not visitor.can_pay() and visitor.button("Start again").is_disabled()
    visitor.page.get_by_label("I asked the payee: what this page shows is still to be paid.").check()
    visitor.press("Start again").reach("review").shows("Left to pay", "0.1 ETH")


def test_a_transaction_that_takes_long_is_waited_for_also_when_the_link_ends(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    with by_hand(stack.chain):
        visitor.pay("waiting")
        age(visitor, token, "startedAt", "sentAt")
        visitor.reload("pending").shows("not lost", "Transaction")
        lost = "key => { localStorage[key] = JSON.stringify({ ...JSON.parse(localStorage[key]), isLost: true }); }"
        visitor.page.evaluate(lost, f"pay:{token}")
        visitor.reload("pending")
        assert not visitor.can_pay()
        with stack.lock:
            expire(token)
        stack.mine(3)
    for _ in range(2):
        visitor.reach("expired").shows("You have sent a transaction for this payment.", purse.sent[0][:10])
        visitor.page.reload()
    stack.settle()
    visitor.reach("completed").shows("Payment complete")


# --- asked for, without an answer ---


def test_a_payment_that_is_on_its_way_without_its_hash_is_not_offered_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    purse.says[SENT] = sends_and_hangs(purse)
    visitor = new_visitor(purse).open(token).connect(purse)
    with by_hand(stack.chain):
        visitor.pay_unanswered(purse)
        visitor.reload("doubt")
        assert not visitor.can_pay()
        stack.mine()
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 1


def test_something_else_with_its_nonce_ends_with_a_question_to_the_payer(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor, token = doubted(stack, purse, new_visitor)
    age(visitor, token, "doubtAt")
    visitor.reload("asked")
    assert not visitor.can_pay() and visitor.button("Start again").is_disabled()
    del purse.says[SENT]
    start_again(visitor)


def test_a_payment_that_was_replaced_ends_with_a_question_to_the_payer(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    purse.says[SENT] = {"result": "0x" + "ab" * 32}
    visitor = new_visitor(purse).open(token).connect(purse).pay("waiting")
    something_else(stack, purse)
    visitor.reach("doubt")
    age(visitor, token, "doubtAt")
    visitor.reload("unclear").shows("It is not certain", "Transaction")
    assert not visitor.can_pay() and visitor.button("Start again").is_disabled()


@pytest.mark.parametrize(("item", "end"), [(native(), "unclear"), (None, "review")])
def test_a_transaction_that_never_comes_is_not_waited_for_for_ever(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, item: Any, end: str
) -> None:
    """An approval is asked for again, a payment when the payer has looked."""
    token = stack.shop.link(*filter(None, [item]))
    purse.says[SENT] = {"result": "0x" + "ab" * 32}
    visitor = new_visitor(purse).open(token).connect(purse).pay("waiting")
    age(visitor, token, "startedAt", "sentAt")
    visitor.reload(end)
    if end == "unclear":
        assert not visitor.can_pay()
        purse.chain_id = 1  # it asks for the network first, on which it can see that nothing came
        start_again(visitor)


@pytest.mark.parametrize("refusal", [REJECTS, BUSY])
def test_a_wallet_that_refuses_the_second_request_may_still_have_the_first(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, refusal: Any
) -> None:
    token = stack.shop.link(native())
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse).open(token).connect(purse).pay_unanswered(purse)
    age(visitor, token, "startedAt")
    visitor.reload("asked")
    purse.says[SENT] = refusal
    start_again(visitor)
    visitor.pay("wallet-rejected" if refusal is REJECTS else "asked")
    visitor.reload("asked")
    assert not visitor.can_pay()


def test_a_wallet_that_fails_before_it_is_asked_was_not_asked(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says["eth_accounts"] = {"error": {"code": -32603, "message": "Internal error"}}
    visitor.pay("wallet-failed").shows("Nothing was sent by this step")
    assert SENT not in purse.asked and visitor.note(token) is None


def test_a_wallet_that_is_busy_may_be_at_the_payment(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    """What another of its accounts does, or has done, says nothing about that."""
    token = stack.shop.link(native())
    purse.says[SENT] = BUSY
    visitor = new_visitor(purse).open(token).connect(purse).pay("asked")
    assert visitor.note(token) is not None
    other = Purse(stack.chain)
    something_else(stack, other)
    purse.address = other.address
    visitor.reload("asked")
    asked = len(purse.asked)
    visitor.until(lambda: len(purse.asked) > asked + 4)
    assert visitor.state == "asked"
    visitor.shows("Your wallet has a request open already", BUSY["error"]["message"], "you can start again from")


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        (failure(5000, "User Rejected"), "wallet-rejected", ["You declined in your wallet"]),
        (failure("ACTION_REJECTED", "no"), "wallet-rejected", ["You declined in your wallet"]),
        (failure(None, "User denied transaction signature."), "wallet-rejected", ["You declined in your wallet"]),
        (failure(-32603, "Request rejected by the user"), "wallet-rejected", ["You declined in your wallet"]),
        (failure(-32003, "Transaction creation failed"), "wallet-failed", ["Nothing was sent", "Transaction creation failed"]),
        (failure(-32603, "Internal JSON-RPC error."), "wallet-failed", ["Nothing was sent", "Internal JSON-RPC error."]),
        (failure(None, "something"), "wallet-failed", ["Your wallet reported an error", "something"]),
        (POOR, "wallet-poor", ["too little for the network fee", "insufficient funds for gas"]),
    ],
)
def test_whatever_a_wallet_says_in_place_of_a_hash_it_can_be_asked_again_if_its_account_has_sent_nothing(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, answer: dict[str, Any], state: str, words: list[str]
) -> None:
    token = stack.shop.link(native())
    purse.says[SENT] = answer
    visitor = new_visitor(purse).open(token).connect(purse).pay(state)
    visitor.shows(*words)
    assert visitor.note(token) is None
    del purse.says[SENT]
    visitor.press("Try again").reach("review").pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 1


@pytest.mark.parametrize("code", [None, -32000, -32003, -32603, 5000, "ACTION_REJECTED"])
def test_a_wallet_that_has_sent_it_and_says_that_it_failed_is_not_asked_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, code: Any
) -> None:
    token = stack.shop.link(native())

    def sends(asked: dict[str, Any]) -> dict[str, Any]:
        purse.send(asked)
        return failure(code, "User rejected")

    purse.says[SENT] = sends
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.locator("#pay").click()
    visitor.until(lambda: len(purse.sent) == 1)
    stack.settle()
    visitor.reach("completed").shows("Payment complete")
    assert purse.asked.count(SENT) == len(purse.sent) == 1


def test_what_a_node_of_tron_refuses_is_over_with_its_time(
    stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(tron())
    visitor = new_visitor(tron_purse).open(token).connect(tron_purse)

    def node(path: str, payload: Any, verb: str) -> dict[str, Any]:
        note = visitor.note(token) if "broadcasttransaction" in path else None
        is_payment = note is not None and note["step"] == "pay"
        return {"result": {"code": "SIGERROR"} if is_payment else tron_purse._result("node", [path, payload, verb])}

    tron_purse.says["node"] = node
    visitor.pay("doubt").shows("SIGERROR")
    assert not visitor.can_pay()
    age(visitor, token, "sentAt", by=121_000)
    visitor.reload("unclear").shows("SIGERROR", "Transaction")
    assert visitor.button("Start again").is_disabled()


# --- what is written down ---


def test_a_failure_is_believed_when_it_is_deep(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    purse.says[SENT] = lambda asked: {
        "result": stack.chain.send_as(purse.address, {**asked, "data": asked["data"][:10]})
    }
    visitor = new_visitor(purse).open(token).connect(purse).pay("waiting")
    visitor.page.wait_for_timeout(500)
    assert visitor.state == "waiting" and visitor.note(token) is not None
    stack.mine()
    visitor.reach("failed")


@pytest.mark.parametrize("whose", ["another account's", "an earlier one"])
def test_the_failure_of_another_transaction_is_none_of_the_payment(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, whose: str
) -> None:
    """The wallet has sent the payment, which no block has yet, and names a transaction that failed before."""
    token, other = stack.shop.link(native()), Purse(stack.chain)
    sender = other if whose == "another account's" else purse
    failed = stack.chain.send_as(sender.address, {"to": FUSDC, "value": "0x1", "data": "0x"})
    stack.mine(20)
    assert stack.chain.receipt(failed)["status"] == "0x0"
    purse.says[SENT] = lambda asked: purse.send(asked) and {"result": failed}
    visitor = new_visitor(purse).open(token).connect(purse)
    with by_hand(stack.chain):
        visitor.pay("unclear").reload("unclear")
        assert not visitor.can_pay() and visitor.button("Start again").is_disabled()
        new_visitor(other).open(token, "claimed")
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 1


def test_of_two_hashes_that_a_wallet_answers_the_first_is_followed(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    other = something_else(stack, Purse(stack.chain))
    purse.says[SENT] = lambda asked: {"result": purse.send(asked), "again": other}
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    assert (visitor.note(token) or {})["txHash"] == purse.sent[0]
    stack.settle()
    visitor.reach("completed").shows(purse.sent[0][:10])
    assert purse.asked.count(SENT) == 1


def test_notes_that_this_page_does_not_write_are_none(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    for note in ("5", "null", '"x"', "{bad", '{"step":"pay","txHash":5}', '{"step":"pay","nonce":0,"wallet":"0x0"}'):
        visitor.page.evaluate("([key, note]) => localStorage.setItem(key, note)", [f"pay:{token}", note])
        visitor.reload("review")
