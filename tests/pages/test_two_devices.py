"""One payment on two devices: what one has sent the other does not offer, and what was paid too much is told."""

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from chalicelib.payments.announcements import tracking
from chalicelib.payments.links.records import SigningClaim
from infra.local.outsiders.tron_payer import fresh_tron_address
from tests.fakes.world import PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, Purse, SafePurse, TronPurse
from tests.pages.stack import Stack
from tests.pages.test_commerce import Operator
from tests.pages.test_troubles import ANSWERS_LATER, SENT, by_hand
from tests.pages.visitor import Visitor, axe_findings
from tests.support.client import item
from tests.support.items import native, tron
from tests.support.rehearsed import few, parts, rehearsed
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("second browser")


def track(stack: Stack, minutes: int = 0) -> None:
    """What the schedule does for announced transactions, some minutes from now."""
    with stack.lock:
        now = running().clock() + timedelta(minutes=minutes)
        for seconds in (0, 60, 120):  # those of the links of other tests are due as well
            tracking.track_due(replace(running(), clock=lambda seconds=seconds: now + timedelta(seconds=seconds)))


def announces(visitor: Visitor, hash_: str, stack: Stack, token: str) -> Visitor:
    """Waits until the service knows of what the page has sent."""
    def is_known() -> bool:
        announced = stack.payment(token).announcements
        return announced is not None and any(each.transaction_hash == hash_ for each in announced.all)

    return visitor.until(is_known)


def without_claims(stack: Stack, token: str) -> str:
    """The link once claims to sign it have held it for as long as they may: from then on it is paid without."""
    now = running().clock()
    over = SigningClaim(token, stack.payment(token).link.account_id, "00" * 32, "0x" + "00" * 32, 1, now, now)
    running().store.write(replace(over, claimed_seconds=900))
    return token


def lapse(token: str) -> None:
    """The claim of who pays the link is over."""
    claimed = running().store.get(SigningClaim, SigningClaim.KEY.of(link_token=token))
    assert claimed is not None
    running().store.write(replace(claimed, ends_at=claimed.claimed_at))


def asked_both(stack: Stack, phone: Purse, computer: Purse, new_visitor: NewVisitor) -> tuple[str, Visitor, Visitor]:
    """A link for which the wallets of two devices are asked at the same time, before either has sent."""
    token = without_claims(stack, stack.shop.link(native()))
    here, there = (new_visitor(each) for each in (phone, computer))
    asked = dict[str, Any]()
    for visitor, purse in ((here, phone), (there, computer)):
        purse.says[SENT] = lambda wanted, name=purse.address: asked.update({name: wanted}) or HANGS
        visitor.page.add_init_script(ANSWERS_LATER)
        visitor.open(token).connect(purse).pay_unanswered(purse)
    for visitor, purse in ((here, phone), (there, computer)):
        visitor.page.evaluate("hash => window.answer({ result: hash })", purse.send(asked[purse.address]))
    return token, here, there


# --- not offered any more ---


def test_what_the_phone_has_sent_the_computer_does_not_offer(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = stack.shop.link(native()), Purse(stack.chain)
    computer = new_visitor(other).open(token).connect(other)
    with by_hand(stack.chain):
        phone = new_visitor(purse).open(token).connect(purse).pay("waiting")
        computer.reach("sent").shows("Do not pay again.", purse.sent[0][:10])
        assert not computer.can_pay() and axe_findings(computer.page) == []
        assert phone.state == "waiting", "its own announcement does not stop it"
        phone.reload("waiting")
        stack.mine()
    stack.settle()
    phone.reach("completed").shows("Payment complete")
    computer.reach("completed").shows("Already paid")
    assert SENT not in other.asked


@rehearsed
def test_the_computer_asks_once_more_before_it_asks_the_wallet(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = stack.shop.link(item(), item(amount="1")), Purse(stack.chain)
    computer = new_visitor(other).unwatched().open(token).connect(other)
    with by_hand(stack.chain):
        phone = new_visitor(purse).open(token).connect(purse).pay("waiting")
        stack.mine()  # the approval, which is not announced
        phone.until(lambda: len(purse.sent) == 2)
        announces(phone, purse.sent[1], stack, token)
        computer.pay("sent")
        stack.mine()
    assert SENT not in other.asked
    stack.settle()
    computer.reach("completed")


@pytest.mark.parametrize("kind", ["native", "allowed", "two prompts"])
def test_while_one_wallet_is_asked_to_pay_no_other_one_is(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, kind: str
) -> None:
    token, other = stack.shop.link(native() if kind == "native" else item()), Purse(stack.chain)
    if kind == "allowed":  # by an earlier payment, so that this one is a single transaction
        [approval, _] = stack.shop.get(f"/v2/secure-payments/{token}/pay?wallet={purse.address}").json["transactions"]
        purse.send({**approval, "from": purse.address, "value": "0x0"})
        stack.mine()
    phone, computer = new_visitor(purse), new_visitor(other).unwatched().open(token).connect(other)
    phone.page.add_init_script(ANSWERS_LATER)
    pays = list[Any]()
    purse.says[SENT] = lambda asked: (
        {"result": purse.send(asked)} if asked["data"].startswith("0x095ea7b3") else pays.append(asked) or HANGS
    )
    phone.open(token).connect(purse).pay("signing").until(lambda: len(pays) == 1)
    computer.pay("claimed").shows("Another wallet is being asked to pay")
    assert SENT not in other.asked
    phone.page.evaluate("window.answer({ error: { code: 4001, message: 'no' } })")
    phone.reach("wallet-rejected")
    computer.reach("review").pay("confirming")


SIGNS_LATER = """() => {
  const hold = ({ detail: { provider: { tronWeb: { trx } } } }) => {
    const sign = trx.sign.bind(trx);
    const decline = (resolve, reject) => (window.answer = () => reject("Confirmation declined by user"));
    const isApproval = ({ raw_data }) => raw_data.contract[0].parameter.value.data.startsWith("095ea7b3");
    trx.sign = (built, ...more) => (isApproval(built) ? sign(built, ...more) : new Promise(decline));
  };
  addEventListener("TIP6963:announceProvider", hold, { once: true });
  dispatchEvent(new Event("TIP6963:requestProvider"));
}"""
"""A Tron wallet that signs in the page signs approvals, and waits with a payment until `answer` declines it."""
DECLINES = "window.answer?.({ error: { code: 4001, message: 'User rejected the request.' } }) ?? null"


@rehearsed
@pytest.mark.parametrize("kind", ["tron", "safe", "commerce"])
def test_nor_is_another_one_on_tron_for_a_safe_or_for_an_escrow(stack: Stack, new_visitor: NewVisitor, kind: str) -> None:
    if kind == "tron":
        stack.settle("tron")
        token, phone, other = stack.shop.link(tron(payee=fresh_tron_address())), TronPurse(stack.tron), TronPurse(stack.tron)
    else:
        token = Operator(stack).created()[1] if kind == "commerce" else stack.shop.link()
        phone, other = (SafePurse if kind == "safe" else Purse)(stack.chain), Purse(stack.chain)
    here, computer = new_visitor(phone), new_visitor(other).unwatched().open(token).connect(other)
    here.page.add_init_script(ANSWERS_LATER)
    pays = list[Any]()
    phone.says["sendTransactions"] = lambda asked: pays.append(asked) or HANGS
    phone.says[SENT] = lambda asked: (
        {"result": phone.send(asked)} if asked["data"].startswith("0x095ea7b3") else pays.append(asked) or HANGS
    )
    if kind == "safe":
        here.open_in_safe(token, "review")
    else:
        here.open(token).connect(phone)
    if kind == "tron":
        here.page.evaluate(SIGNS_LATER)
    here.pay("signing").until(lambda: bool(pays) or here.page.evaluate("Boolean(window.answer)"))
    computer.pay("claimed").shows("Another wallet is being asked to pay")
    assert SENT not in other.asked
    here.page.evaluate(DECLINES)
    here.reach("wallet-rejected")
    computer.reach("review")


def test_who_comes_back_after_the_claim_is_told_not_to_confirm_while_another_device_is_asked(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = stack.shop.link(native()), Purse(stack.chain)
    purse.says[SENT] = other.says[SENT] = HANGS
    phone = new_visitor(purse)
    phone.context.clock.install()
    phone.open(token).connect(purse).pay_unanswered(purse)
    phone.reload("asked").shows("confirm or reject it there")
    lapse(token)  # while the phone sleeps
    new_visitor(other).open(token).connect(other).pay_unanswered(other)
    phone.page.clock.fast_forward(360_000)
    phone.reach("withdrawn").shows("reject it there")


@pytest.mark.parametrize("is_away", [False, True])
def test_who_was_told_not_to_confirm_is_not_told_otherwise_when_the_page_stops_waiting_for_the_wallet(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, is_away: bool
) -> None:
    """A wallet that has not answered in ten minutes is a question to the payer; not while another device is asked."""
    token, other = stack.shop.link(native()), Purse(stack.chain)
    purse.says[SENT] = other.says[SENT] = HANGS
    phone = new_visitor(purse)
    phone.context.clock.install()
    phone.open(token).connect(purse).pay_unanswered(purse)
    lapse(token)  # while the phone sleeps
    computer = new_visitor(other).open(token).connect(other).pay_unanswered(other)
    phone.page.clock.fast_forward(360_000)
    phone.reach("withdrawn")
    lost = list[str]()
    if is_away:
        phone.context.route("**/v2/**", lambda route: (lost.append(route.request.url), route.abort()))
    seen = "window.seen = []; new MutationObserver(() => seen.push(main.dataset.state)).observe(main, { attributes: true })"
    phone.page.evaluate(f"const main = document.getElementById('main'); {seen}")
    phone.page.clock.fast_forward(300_000)
    if is_away:
        phone.until(lambda: any(each.endswith("/signing") for each in lost)).reach("withdrawn").context.unroute("**/v2/**")
        phone.page.clock.run_for(60_000)
    phone.reach("claimed")
    assert "asked" not in phone.page.evaluate("seen")
    computer.page.close()
    lapse(token)  # nothing came of it
    phone.page.clock.run_for(60_000)
    phone.reach("asked").shows("confirm or reject it there")


@rehearsed
def test_whoever_has_allowed_the_escrow_holds_nobody_up_once_his_wallet_has_sent_that(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = Operator(stack).created()[1], Purse(stack.chain)
    computer = new_visitor(other).open(token).connect(other)
    new_visitor(purse).open(token).connect(purse).pay("confirming")
    computer.reach("review").pay("confirming")


@rehearsed
def test_while_its_wallet_asks_the_computer_says_not_to_confirm(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = without_claims(stack, stack.shop.link(native())), Purse(stack.chain)
    other.says[SENT] = HANGS
    computer = new_visitor(other).open(token).connect(other).pay_unanswered(other)
    with by_hand(stack.chain):
        new_visitor(purse).open(token).connect(purse).pay("waiting")
        computer.reach("withdrawn").shows("reject it there")
        computer.reload("sent").shows("Do not pay again.", "Your wallet was asked to pay and has not answered")


@rehearsed
def test_what_was_sent_and_failed_is_offered_again(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token, other = stack.shop.link(native()), Purse(stack.chain)
    computer = new_visitor(other).open(token).connect(other)

    def fails(asked: dict[str, Any]) -> dict[str, Any]:
        calldata = asked["data"].replace(PAYEE[2:].lower(), "00" * 20)
        return {"result": stack.chain.send_as(purse.address, {**asked, "value": "0x0", "data": calldata})}

    purse.says[SENT] = fails
    with by_hand(stack.chain):
        new_visitor(purse).open(token).connect(purse).pay("waiting")
        computer.reach("sent")
        stack.mine()
    stack.settle()
    track(stack, 1)
    lapse(token)  # or the phone gives it back, once the failure is deep
    computer.reach("review").pay("confirming")


@rehearsed
def test_two_devices_with_tron_wallets(stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor) -> None:
    token, other = stack.shop.link(tron(payee=fresh_tron_address())), TronPurse(stack.tron)
    stack.settle("tron")  # it is being read
    computer = new_visitor(other).open(token).connect(other)
    phone = new_visitor(tron_purse).open(token).connect(tron_purse).pay("confirming")
    computer.reach("sent").shows("Do not pay again.")
    stack.settle("tron")
    phone.reach("completed").shows("Payment complete")
    computer.reach("completed").shows("Already paid")


# --- paid too much ---


def test_a_payment_too_much_is_told_on_both_devices_and_after_they_are_opened_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    other = Purse(stack.chain)
    token, phone, computer = asked_both(stack, purse, other, new_visitor)
    stack.settle()
    counted, surplus = (phone, computer) if stack.payment(token).requests[0].tx_hash in purse.sent else (computer, phone)
    theirs = (other if surplus is computer else purse).sent[0]
    for _ in range(2):
        surplus.reach("completed").shows("More was paid than was due", "Ask the payee to return it", "0.5 ETH")
        counted.reach("completed").shows("Another transaction paid for this as well", "0.5 ETH")
        for visitor in (surplus, counted):
            assert visitor.page.locator(f"#surplus-{theirs}").input_value() == theirs
        assert axe_findings(surplus.page) == []
        surplus.page.reload()
        counted.page.reload()


@rehearsed
def test_of_two_transactions_the_one_that_is_not_recorded_yet_is_not_called_the_payment(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = without_claims(stack, stack.shop.link(native())), Purse(stack.chain)
    phone = new_visitor(purse)
    phone.page.add_init_script(ANSWERS_LATER)
    asked = list[Any]()
    purse.says[SENT] = lambda wanted: asked.append(wanted) or HANGS
    phone.open(token).connect(purse).pay_unanswered(purse)
    new_visitor(other).open(token).connect(other).pay("confirming")
    stack.mine(2)
    with by_hand(stack.chain):
        phone.page.evaluate("hash => window.answer({ result: hash })", purse.send(asked[0]))
        stack.record()
        phone.reach("completed").shows("Already paid", "If it was another one and yours arrives as well", purse.sent[0][:10])
        stack.mine()
    stack.settle()
    phone.shows("More was paid than was due")


@rehearsed
def test_more_than_was_left_is_too_much(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    """Somebody pays a part while the wallet asks: the payment is counted, and half of it was not due."""
    token, asked = stack.shop.link(native()), list[Any]()
    half = stack.shop.get(f"/v2/request/{stack.payment(token).requests[0].request_id}/pay?amount=0.25").json["transactions"]
    phone, other = new_visitor(purse).unwatched(), Purse(stack.chain)
    phone.page.add_init_script(ANSWERS_LATER)
    purse.says[SENT] = lambda wanted: asked.append(wanted) or HANGS
    phone.open(token).connect(purse).pay_unanswered(purse)
    other.send({**half[0], "from": other.address, "value": hex(int(half[0]["value"]["hex"], 16))})
    phone.page.evaluate("hash => window.answer({ result: hash })", purse.send(asked[0]))
    stack.settle()
    phone.reach("completed").shows("More was paid than was due", "0.25 ETH")


# --- strangers ---


@rehearsed
def test_what_waits_for_a_block_for_long_is_a_warning_and_no_lock(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, stranger = stack.shop.link(native()), Purse(stack.chain)
    visitor = new_visitor(purse)
    with by_hand(stack.chain):
        new_visitor(stranger).open(token).connect(stranger).pay("waiting").page.close()
        visitor.open(token, "sent")
        track(stack, 20)
        lapse(token)
        visitor.reach("choose").connect(purse, "warned")
        visitor.shows("A transaction for this payment is still waiting", stranger.sent[0][:10])
        assert not visitor.can_pay() and axe_findings(visitor.page) == []
        assert visitor.button("Pay again").is_disabled()
        visitor.page.get_by_role("checkbox").check()
        visitor.press("Pay again").reach("review").pay("waiting")
        stack.mine()
    stack.settle()
    visitor.reach("completed")


# --- wallets that send and say that they have not ---


def sends_and_declines(purse: Purse, code: int = 4001) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        purse.send(asked)
        return {"error": {"code": code, "message": "User rejected the request."}}

    return answer


@pytest.mark.parametrize(
    ("code", "is_mined"),
    [(4001, True), *(pytest.param(code, False, marks=rehearsed) for code in (4001, 4100, 4200, 4902))],
)
def test_a_wallet_that_sends_and_says_that_it_has_not_is_not_believed(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, code: int, is_mined: bool
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says[SENT] = sends_and_declines(purse, code)
    purse.says["eth_getBlockByNumber"] = {"result": None}  # its node does not show what is in a block
    if is_mined:
        visitor.pay("doubt").reload("doubt")
    else:
        with by_hand(stack.chain):
            visitor.pay("doubt").reload("doubt")
            stack.mine()
    assert not visitor.can_pay()
    stack.settle()
    visitor.reach("completed").shows("Payment complete")
    assert len(purse.sent) == 1


@rehearsed
def test_what_a_wallet_has_sent_and_denies_is_followed_and_announced_if_its_node_shows_it(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, other = stack.shop.link(native()), Purse(stack.chain)
    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says[SENT] = sends_and_declines(purse)
    with by_hand(stack.chain):
        visitor.pay("doubt").shows(purse.sent[0][:10])
        announces(visitor, purse.sent[0], stack, token)
        new_visitor(other).open(token, "sent")
        stack.mine()
    visitor.reach("confirming")
    stack.settle()
    visitor.reach("completed").shows("Payment complete")
    assert len(purse.sent) == 1


@rehearsed
def test_a_wallet_that_sends_it_later_is_asked_about_before_it_is_asked_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token, asked = stack.shop.link(native()), list[Any]()
    purse.says[SENT] = lambda wanted: asked.append(wanted) or {"error": {"code": 4001, "message": "no"}}
    visitor = new_visitor(purse).open(token).connect(purse).pay("wallet-rejected")
    visitor.shows("Nothing was sent by this step")
    purse.send(asked[0])
    visitor.press("Try again").reach("review").pay("asked").shows("Check your wallet before you pay again")
    assert len(asked) == 1 and visitor.button("Start again").is_disabled()
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 1


@pytest.mark.parametrize("silent", few(["nonce"], ["nonce", "contract"]))
def test_where_it_cannot_be_known_the_payer_is_asked_to_look(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, silent: str
) -> None:
    """An account that is a contract may have others send for it: its own number of transactions says nothing."""
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)

    def declines(asked: Any) -> dict[str, Any]:
        if silent == "nonce":
            purse.says["eth_getTransactionCount"] = {"error": {"code": -32603, "message": "no"}}
        return {"error": {"code": 4001, "message": "no"}}

    purse.says[SENT] = declines
    if silent == "contract":
        purse.says["eth_getCode"] = {"result": "0xef0100" + "11" * 20}
    visitor.pay("asked").shows("Check your wallet before you pay again")
    assert visitor.button("Start again").is_disabled() and axe_findings(visitor.page) == []
    del purse.says[SENT]
    purse.says.pop("eth_getTransactionCount", None)
    visitor.page.get_by_role("checkbox").check()
    visitor.press("Start again").reach("review").pay("confirming")


# --- in any order ---

HONEST, LIAR, SILENT = "honest", "sends and declines", "sends and hangs"
NEXT = {(HONEST, "device"), (LIAR, "tab"), (SILENT, "reload")}
"""What `make test` takes of them: each wallet and each place once."""


@pytest.mark.parametrize(
    ("first", "then"),
    [
        pytest.param(a, b, marks=() if (a, b) in NEXT else rehearsed)
        for a in (HONEST, LIAR, SILENT)
        for b in ("tab", "device", "reload")
    ],
)
def test_whatever_the_first_wallet_says_the_next_place_pays_nothing_twice(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, first: str, then: str
) -> None:
    """On another device nothing is known of what a wallet has sent without saying so; the link is told when it arrives."""
    token, other = stack.shop.link(), Purse(stack.chain)
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])
    visitor = new_visitor(purse).open(token).connect(purse)
    approved = len(purse.sent)

    def answers(asked: dict[str, Any]) -> dict[str, Any]:
        is_approval = asked["data"].startswith("0x095ea7b3")
        sent = {"result": purse.send(asked)}
        if first == HONEST or is_approval:
            return sent
        return {"error": {"code": 4001, "message": "no"}} if first == LIAR else HANGS

    purse.says[SENT] = answers
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: len(purse.sent) == approved + 2)
    if first == HONEST:
        announces(visitor, purse.sent[-1], stack, token)
    if then == "reload":
        visitor.page.reload()
        visitor.page.wait_for_timeout(500)
        assert not visitor.can_pay()
    elif then == "tab":
        there = visitor.another_tab()
        there.page.goto(f"{stack.pay_url}/?token={token}")
        there.page.wait_for_timeout(500)
        assert not there.can_pay()
    elif first == HONEST:
        computer = new_visitor(other).open(token, "sent")
        assert not computer.can_pay()
    stack.settle()
    if first == SILENT and then != "reload":
        visitor.reach("withdrawn").page.reload()  # it still waits for the answer of its wallet
    visitor.reach("completed")
    assert ledger.moved() == {FUSDC: [-12_500_000, 12_500_000]}


STEPS = ("phone pays", "computer pays", "phone is opened again", "computer is opened again", "a block", "three blocks")


@pytest.mark.parametrize("seed", parts(int(os.environ.get("SEQUENCES", "3"))))
def test_whatever_two_devices_do_one_after_the_other_the_payee_is_paid_once(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, seed: int
) -> None:
    """Each pays whenever it is offered to, with a wallet that is honest or denies what it has sent."""
    draw, token = Random(seed), stack.shop.link(native())
    purses = {"phone": purse, "computer": Purse(stack.chain)}
    devices = {name: new_visitor(each).open(token).connect(each) for name, each in purses.items()}
    for each in purses.values():
        if draw.random() < 0.5:
            each.says[SENT] = sends_and_declines(each)
    with by_hand(stack.chain):
        for step in draw.choices(STEPS, k=8):
            name = step.split()[0]
            if step.endswith("pays") and devices[name].can_pay():
                sent = len(purses[name].sent)
                devices[name].page.evaluate("document.querySelector('#pay')?.click()")  # unless it is not offered any more
                devices[name].until(lambda name=name: devices[name].state not in ("review", "reading", "signing", "checking"))
                for hash_ in purses[name].sent[sent:]:
                    announces(devices[name], hash_, stack, token)
            elif step.endswith("again"):
                devices[name].page.reload()
                devices[name].page.wait_for_timeout(300)
            elif step.endswith("block"):
                stack.mine(1)
            elif step.endswith("blocks"):
                stack.mine(3)
        if not any(each.sent for each in purses.values()):
            devices["phone"].reload("review").pay("doubt" if SENT in purse.says else "waiting")
        assert sum(len(each.sent) for each in purses.values()) == 1
        stack.settle()
    for device in devices.values():
        device.reach("completed")
    stack.assert_completed(token)
