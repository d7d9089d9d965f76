"""What happens meanwhile: the page closed and opened again, the link, the service and the chain changed below it."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.fakes.world import PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import forge
from tests.pages.test_never_twice import age, doubted
from tests.pages.test_payments import payout
from tests.pages.test_troubles import SENT, by_hand
from tests.support.items import native
from tests.support.stored_links import expire, pay_part

pytestmark = pytest.mark.xdist_group("second browser")


# --- closed and opened again ---


def test_closed_after_the_approval_it_goes_on_with_the_payment_alone(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link()
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])
    visitor = new_visitor(purse)
    with by_hand(stack.chain):
        visitor.open(token).connect(purse).pay("waiting")
        visitor.page.close()
        stack.mine()
    again = visitor.another_tab()
    purse.is_connected = False
    again.open(token).shows("Choose a wallet", "Other ways to pay")  # an approval pays nothing
    again.connect(purse).shows("Your wallet will ask you once")
    again.pay("confirming")
    stack.settle()
    again.reach("completed")
    assert len(purse.sent) == 2
    assert ledger.moved() == {FUSDC: [-12_500_000, 12_500_000]}


def test_closed_after_the_payment_it_finds_it_again(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse)
    with by_hand(stack.chain):
        visitor.open(token).connect(purse).pay("waiting")
        visitor.reload("waiting")
        assert not visitor.can_pay()
        stack.mine()
        visitor.reach("confirming")
    stack.settle()
    visitor.reach("completed")
    assert purse.asked.count(SENT) == 1


def test_who_comes_back_when_it_has_arrived_is_told_that_it_has(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """Also later. Somebody else is told that it is paid already."""
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    visitor.page.goto("about:blank")
    stack.settle()
    visitor.open(token, "completed").shows("Payment complete", purse.sent[0][:10])
    visitor.reload("completed").shows("Payment complete")
    new_visitor().open(token, "completed").shows("Already paid")


def test_found_again_without_its_wallet_it_says_which_one_is_needed(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse)
    with by_hand(stack.chain):
        visitor.open(token).connect(purse).pay("waiting")
        purse.is_connected = False
        visitor.reload("choose").shows("You have already started to pay here")
        stack.mine()
    visitor.connect(purse, "confirming")


def test_a_link_that_expires_while_it_is_open_is_not_paid(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).unwatched().open(token).connect(purse)
    with stack.lock:
        expire(token)
    visitor.pay("expired")
    assert SENT not in purse.asked
    assert not visitor.can_pay()


def test_a_cancelled_link_says_so_while_it_is_open_and_when_it_is_opened(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).unwatched().open(token).connect(purse)
    path = f"/v2/secure-payments/{token}/cancel"
    assert stack.shop.api.request("POST", path, None, stack.shop.by_key).status == 200
    visitor.pay("cancelled").shows("This payment was cancelled", "Do not pay.")
    assert SENT not in purse.asked
    assert not visitor.can_pay()
    new_visitor().open(token, "cancelled").shows("If you have paid already, ask the payee to return the money.")


def test_a_link_that_ends_meanwhile_tells_of_what_was_asked_for(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor, token = doubted(stack, purse, new_visitor)
    with stack.lock:
        expire(token)
    age(visitor, token, "doubtAt")
    visitor.reload("expired").shows("Your wallet was asked to pay and has not answered", purse.address.lower())


def test_what_is_paid_in_another_tab_is_paid_here(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    here = new_visitor(purse).open(token).connect(purse)
    there = here.another_tab().open(token, "review")
    with by_hand(stack.chain):
        there.pay("waiting")
        here.reach("elsewhere")
        assert not here.can_pay()
        stack.mine()
    stack.settle()
    there.reach("completed")
    here.reach("completed")
    assert purse.asked.count(SENT) == 1


def test_a_part_that_is_paid_leaves_the_rest_to_pay(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link()
    with stack.lock:
        pay_part(token, 2_500_000)
    visitor = new_visitor(purse).open(token)
    visitor.shows("Left to pay", "10 fUSDC", "2.5 fUSDC")
    visitor.connect(purse).pay("confirming")


def test_what_is_entered_by_hand_is_what_is_left(stack: Stack, new_visitor: NewVisitor) -> None:
    token = stack.shop.link()
    visitor = new_visitor().open(token)
    visitor.page.locator("#manual summary").click()
    data, code = visitor.page.locator("#manual-data-1"), visitor.page.locator(".qr[src$='step=1']")
    code.evaluate("each => each.decode()")
    before = code.screenshot()
    with stack.lock:
        pay_part(token, 2_500_000)
    left = stack.shop.get(f"/v2/secure-payments/{token}/pay").json["transactions"][1]["data"]
    expect(data).to_have_value(left)
    code.evaluate("each => each.decode()")
    assert code.screenshot() != before
    visitor.shows("Left to pay", "Do not send it again.")


# --- the service and the chain ---


def test_a_service_that_is_away_is_said_so_and_asked_again(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse)
    api = re.compile(re.escape(stack.api_url))
    visitor.page.route(api, lambda route: route.abort())
    visitor.open(token, "trouble-away").shows("The payment service does not answer")
    visitor.page.unroute(api)
    visitor.press("Try again").reach("choose").connect(purse).pay("confirming")
    visitor.page.route(api, lambda route: route.fulfill(status=503, json={}))
    stack.settle()
    visitor.reach("settling")
    visitor.page.unroute(api)
    visitor.reach("completed")


def test_a_link_that_cannot_be_read_is_no_trouble_of_the_wallet(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    forge(visitor, "", lambda body: body | {"paymentType": "multicall", "children": [None]})
    visitor.pay("trouble-odd").shows("an answer that this page does not understand")
    assert purse.sent == []


def test_what_cannot_be_paid_is_offered_once_it_can(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.made("/multicall-payouts", {"childTokens": [payout(stack, purse), payout(stack, purse)]})
    reasons = ["request_processing"]

    def stopped(body: dict[str, Any]) -> None:
        for reason in reasons:
            body["canExecute"] = False
            body["children"][0] |= {"blockReason": reason, "executable": False}

    visitor = new_visitor(purse)
    forge(visitor, "", stopped)
    visitor.open(token, "blocked").shows("Is being paid")
    reasons[:] = ["compliance_failed"]
    visitor.shows("Was stopped by a compliance check")
    reasons.clear()
    visitor.reach("choose")
    refusal: dict[str, Any] = {"status": 400, "json": {"message": "no", "failures": [{}]}}
    pattern = re.compile(re.escape(stack.api_url) + r"/v2/secure-payments/\w+/pay")
    visitor.page.route(pattern, lambda route: route.fulfill(headers={"access-control-allow-origin": "*"}, **refusal))
    visitor.connect(purse, "blocked")
    visitor.page.unroute(pattern)
    visitor.press("Try again").reach("review")


def test_a_link_that_a_safe_no_longer_holds_is_offered_again(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor, pattern = new_visitor(), re.compile(re.escape(stack.api_url))
    locked = {"status": 423, "json": {"requestStatuses": []}, "headers": {"access-control-allow-origin": "*"}}
    visitor.page.route(pattern, lambda route: route.fulfill(**locked))
    visitor.open(stack.shop.link(), "safe")
    visitor.page.unroute(pattern)
    visitor.reach("choose")


def announce(stack: Stack, token: str, tx_hash: str) -> None:
    """What the front end of another payer does once its wallet has sent a transaction."""
    body = {"txHash": tx_hash, "chain": "SEPOLIA", "token": "USDC"}
    shop = stack.shop
    assert shop.api.request("POST", f"/v2/secure-payments/{token}/intent", body, shop.by_key).status == 200


def test_a_link_for_which_somebody_sent_a_transaction_is_not_offered_until_that_one_is_given_up(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, tx_hash = stack.shop.link(), "0x" + "7c" * 32
    before = new_visitor(purse).open(token).connect(purse)
    announce(stack, token, tx_hash)
    later = new_visitor().open(token, "sent")
    later.shows("Sent, not yet confirmed", tx_hash[:10])
    before.reach("sent")
    assert purse.asked.count(SENT) == 0
    shop = stack.shop
    assert shop.api.request("DELETE", f"/v2/secure-payments/{token}/intent", None, shop.by_key).status == 200
    later.reach("choose")


def test_a_page_goes_on_following_its_own_transaction_when_that_one_is_announced(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link()
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    note = visitor.note(token)
    assert note is not None
    announce(stack, token, note["txHash"])
    other = new_visitor().open(token, "sent")
    visitor.page.wait_for_timeout(4_000)
    assert visitor.state == "confirming"
    stack.settle()
    visitor.reach("completed")
    other.reach("completed")


def test_a_block_that_is_undone_takes_the_page_back_to_waiting(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    before = stack.chain.snapshot()
    visitor.pay("confirming")
    stack.chain.revert(before)
    visitor.reach("waiting", "unfound")  # the network has forgotten the transaction, too
    assert not visitor.can_pay()
    stack.chain.rpc("eth_sendRawTransaction", purse.raw[0])
    visitor.reach("confirming")
    stack.settle()
    visitor.reach("completed")
    assert purse.asked.count(SENT) == 1


def test_a_transaction_that_fails_is_told_and_can_be_made_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())

    def reverts(asked: dict[str, Any]) -> dict[str, Any]:
        broken = {**asked, "data": asked["data"][:10]}
        return {"result": stack.chain.send_as(purse.address, broken)}

    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says[SENT] = reverts
    visitor.pay("waiting")
    stack.mine()
    visitor.reach("failed").shows("The transaction failed")
    assert visitor.note(token) is None
    visitor.press("Try again").reach("review")
