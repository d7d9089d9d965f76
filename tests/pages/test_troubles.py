"""What goes wrong while somebody pays: the page says so, pays nothing twice, and finds its own payment again."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from infra.local.chain import Chain
from tests.api.items import native
from tests.api.stored_links import expire, pay_part
from tests.chain.ledger import Ledger
from tests.chain.payer import FUSDC
from tests.fakes.world import PAYEE
from tests.pages.conftest import NewVisitor
from tests.pages.purse import BUSY, HANGS, OK, REJECTS, UNKNOWN_CHAIN, Purse, SafePurse
from tests.pages.stack import Stack

pytestmark = pytest.mark.xdist_group("browser")
SENT = "eth_sendTransaction"


class by_hand:
    """While it holds, blocks are mined only when a test says so."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def __enter__(self) -> None:
        self._chain.rpc("evm_setAutomine", False)

    def __exit__(self, *_: object) -> None:
        self._chain.rpc("evm_setAutomine", True)


# --- the wallet says no, or nothing ---


def test_a_payment_that_was_declined_can_be_made_after_all(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says[SENT] = REJECTS
    visitor.pay("wallet-rejected").shows("You declined in your wallet")
    assert visitor.note(token) is None
    del purse.says[SENT]
    visitor.press("Try again").reach("review").pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 1


def test_who_does_not_connect_or_answer_is_told_and_can_choose_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse)
    visitor.page.clock.install()
    visitor.open(stack.shop.link())
    purse.says["eth_requestAccounts"] = REJECTS
    visitor.connect(purse, "choose").shows("The wallet was not connected")
    purse.says["eth_requestAccounts"] = BUSY
    visitor.press(purse.name)
    visitor.shows("has a request open already")
    purse.says["eth_requestAccounts"] = HANGS
    visitor.connect(purse, "connecting")
    visitor.page.clock.fast_forward("02:01")
    visitor.reach("choose").shows("The wallet did not answer")
    purse.says["eth_requestAccounts"] = {"result": ["<img src=x>"]}
    visitor.press(purse.name)
    visitor.shows("The wallet could not be connected")


def test_a_wallet_that_hangs_is_named_and_a_reload_does_not_ask_it_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse)
    visitor.page.clock.install()
    visitor.open(token).connect(purse).pay_unanswered(purse)
    visitor.page.clock.fast_forward("00:31")
    visitor.reach("slow").shows(purse.name)
    visitor.reload("asked")
    assert not visitor.can_pay()
    assert purse.asked.count(SENT) == 1
    assert visitor.button("Start again").count() == 0
    visitor.shows("you can start again from")
    del purse.says[SENT]
    visitor.page.clock.fast_forward("05:00")
    visitor.page.clock.run_for(15_000)
    assert visitor.button("Start again").is_disabled()
    visitor.page.get_by_role("checkbox").check()
    visitor.press("Start again")
    visitor.page.clock.run_for(5_000)
    visitor.reach("review").pay("confirming")


def test_a_wallet_that_gives_no_hash_is_not_asked_again(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    """It may have sent it: when it turns up, the page sees so."""
    token = stack.shop.link(native())

    def lies(asked: dict[str, Any]) -> dict[str, Any]:
        purse.send(asked)
        return {"result": "0x1234"}

    visitor = new_visitor(purse).open(token).connect(purse)
    purse.says[SENT] = lies
    visitor.pay("doubt")
    assert not visitor.can_pay()
    stack.settle()
    visitor.reach("completed")
    assert len(purse.sent) == 1


# --- balance and network ---


def test_too_little_balance_offers_nothing_to_sign(stack: Stack, new_visitor: NewVisitor) -> None:
    poor = Purse(stack.chain, whole=0)
    stack.chain.fund_native(poor.address, 10**18)
    stack.chain.fund_token(poor.address, FUSDC, 12_000_000)
    visitor = new_visitor(poor).open(stack.shop.link()).connect(poor)
    visitor.shows("Missing", "0.5 fUSDC")
    assert not visitor.can_pay()
    stack.chain.fund_token(poor.address, FUSDC, 12_500_000)
    visitor.press("Check again").page.locator("#pay").wait_for()


def test_a_wallet_on_another_network_is_asked_to_switch(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    purse.chain_id = 1
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    visitor.pay("confirming")
    assert purse.asked.index("wallet_switchEthereumChain") < purse.asked.index(SENT)


@pytest.mark.parametrize(
    ("switch", "add", "state"),
    [
        (REJECTS, None, "wallet-rejected"),
        (OK, None, "network"),  # it says that it has switched
        (UNKNOWN_CHAIN, REJECTS, "network"),
        (UNKNOWN_CHAIN, OK, "network"),
    ],
)
def test_a_wallet_that_stays_on_another_network_is_not_asked_to_pay(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, switch: Any, add: Any, state: str
) -> None:
    purse.chain_id, purse.says = 1, {"wallet_switchEthereumChain": switch, "wallet_addEthereumChain": add}
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    visitor.pay(state)
    assert SENT not in purse.asked
    assert not visitor.can_pay()


def test_a_wallet_whose_chain_cannot_be_is_not_asked_to_pay(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    purse.says["eth_chainId"] = {"result": "sepolia"}
    visitor.pay("wallet-lied")
    assert SENT not in purse.asked


def test_another_account_of_the_wallet_is_another_payer(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    other = Purse(stack.chain)
    visitor = new_visitor(purse).open(stack.shop.link()).connect(purse)
    purse.says["eth_accounts"] = {"result": [other.address]}
    visitor.emit(purse, "accountsChanged", [other.address])
    visitor.shows(other.address.lower())
    visitor.reach("review")


def test_of_two_wallets_announced_at_once_the_chosen_one_pays(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    other = Purse(stack.chain, "Other Wallet")
    token = stack.shop.link(native())
    visitor = new_visitor(other, purse).open(token)
    assert visitor.page.locator("button.wallet").all_inner_texts() == ["Other Wallet", "Test Wallet"]
    visitor.connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert (len(purse.sent), other.asked) == (1, [])


def test_a_wallet_that_announces_nothing_is_found(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    purse.how = "injected"
    visitor = new_visitor(purse).open(stack.shop.link(native()))
    visitor.press("Ethereum").reach("review").pay("confirming")


FORGETS = """
  Object.defineProperty(window, "localStorage", { get() { throw new DOMException("", "SecurityError"); } });
  navigator.locks.request = () => Promise.reject(new DOMException("", "SecurityError"));
"""
"""What browsers do that are told to keep nothing for a site, or for a frame of another one."""


def test_where_nothing_can_be_kept_nothing_is_asked_for(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse)
    visitor.page.add_init_script(FORGETS)
    visitor.open(stack.shop.link(native())).connect(purse).pay("trouble-storage")
    assert purse.sent == []


def test_a_safe_whose_frame_keeps_nothing_proposes_all_the_same(stack: Stack, new_visitor: NewVisitor) -> None:
    """The service holds the link while its owners sign."""
    safe = SafePurse(stack.chain)
    visitor = new_visitor(safe)
    visitor.page.add_init_script(FORGETS)
    visitor.open_in_safe(stack.shop.link(), "review").pay("safe")
    assert len(safe.proposed) == 1


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
    again.open(token, "review").shows("Your wallet will ask you once")
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
    """And who comes after that, that it is paid already."""
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    visitor.page.goto("about:blank")
    stack.settle()
    visitor.open(token, "completed").shows("Payment complete", purse.sent[0][:10])
    visitor.reload("completed").shows("Already paid")


def test_found_again_without_its_wallet_it_says_which_one_is_needed(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse)
    with by_hand(stack.chain):
        visitor.open(token).connect(purse).pay("waiting")
        purse.is_connected = False
        visitor.reload("choose").shows("You have started to pay here")
        stack.mine()
    visitor.connect(purse, "confirming")


def test_a_link_that_expires_while_it_is_open_is_not_paid(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    with stack.lock:
        expire(token)
    visitor.pay("expired")
    assert SENT not in purse.asked
    assert not visitor.can_pay()


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
    data = visitor.page.locator("#manual-data-1")
    data.wait_for()
    with stack.lock:
        pay_part(token, 2_500_000)
    left = stack.shop.get(f"/v2/secure-payments/{token}/pay").json["transactions"][1]["data"]
    expect(data).to_have_value(left)
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


def test_a_block_that_is_undone_takes_the_page_back_to_waiting(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse)
    before = stack.chain.snapshot()
    visitor.pay("confirming")
    stack.chain.revert(before)
    visitor.reach("waiting")
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
