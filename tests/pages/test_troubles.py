"""What goes wrong while somebody pays: the page says so, pays nothing twice, and finds its own payment again."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route

from infra.local.chain import Chain
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import BUSY, HANGS, OK, REJECTS, UNKNOWN_CHAIN, Purse, SafePurse, TronPurse
from tests.pages.stack import Stack
from tests.pages.visitor import without_policy
from tests.support.items import native, tron
from tests.support.rehearsed import rehearsed
from tests.support.stored_links import complete, expire, pay_part

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
    visitor.page.clock.fast_forward("00:40")
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


ANSWERS_LATER = """{
  const real = window.askWallet;
  window.askWallet = async (...given) => {
    const answer = await real(...given);
    return answer.hang ? new Promise((resolve) => (window.answer = resolve)) : answer;
  };
}"""
"""A wallet that hangs does so until `answer` is called with what it says."""


@rehearsed
def test_while_a_wallet_asks_the_payer_is_told_that_it_is_paid_already(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """What is sent all the same is not called the payment, and what nobody answered may still be confirmed."""
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse).unwatched()
    visitor.page.add_init_script(ANSWERS_LATER)
    for answer in (REJECTS, BUSY, {"result": "0x" + "cd" * 32}):
        token = stack.shop.link(native())
        visitor.open(token, "choose" if answer is REJECTS else "review")
        (visitor.connect(purse) if answer is REJECTS else visitor).pay_unanswered(purse)
        with stack.lock:
            complete(token)
        visitor.reach("withdrawn").shows("If the request is still open in your wallet, reject it there.")
        assert visitor.note(token) is not None
        if answer is BUSY:
            visitor.reload("completed").shows("Already paid", "Your wallet was asked to pay and has not answered")
        else:
            visitor.page.evaluate("answer => window.answer(answer)", answer)
            visitor.reach("completed").shows("Already paid")
        assert (visitor.note(token) is None) is (answer is REJECTS)
    visitor.shows("If it was another one and yours arrives as well, ask the payee to return it", "0xcdcdcdcd")


@pytest.mark.parametrize("happens", [expire, lambda token: pay_part(token, 10**17)], ids=["expired", "paid in part"])
def test_what_was_asked_for_before_the_link_changed_is_the_payment_when_it_is_counted(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, happens: Callable[[str], None]
) -> None:
    token, asked = stack.shop.link(native()), list[Any]()
    purse.says[SENT] = lambda wanted: asked.append(wanted) or HANGS
    visitor = new_visitor(purse).unwatched()
    visitor.page.add_init_script(ANSWERS_LATER)
    visitor.open(token).connect(purse).pay("signing").until(lambda: len(asked) > 0)
    with stack.lock:
        happens(token)
    visitor.reach("withdrawn")
    visitor.page.evaluate("hash => window.answer({ result: hash })", purse.send(asked[0]))
    stack.settle()
    ends = ["Payment complete", purse.sent[0][:10]] if happens is expire else ["More was paid than was due", "0.1 ETH"]
    visitor.reach("completed").shows(*ends)
    assert visitor.note(token) is None


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
    ("switch", "add"),
    [
        (OK, None),  # it says that it has switched
        pytest.param(UNKNOWN_CHAIN, REJECTS, marks=rehearsed),
        pytest.param(UNKNOWN_CHAIN, OK, marks=rehearsed),
    ],
)
def test_a_wallet_that_stays_on_another_network_is_not_asked_to_pay(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, switch: Any, add: Any
) -> None:
    purse.chain_id, purse.says = 1, {"wallet_switchEthereumChain": switch, "wallet_addEthereumChain": add}
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    visitor.pay("network")
    assert SENT not in purse.asked
    assert not visitor.can_pay()


def test_a_wallet_that_knows_no_pending_block_and_adds_networks_alone_pays(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    def count(address: str, block: str) -> dict[str, Any]:
        if block == "pending":
            return {"error": {"code": -32602, "message": "unknown block"}}
        return {"result": stack.chain.rpc("eth_getTransactionCount", address, block)}

    def add(chain: dict[str, Any]) -> dict[str, Any]:
        purse.chain_id = int(chain["chainId"], 16)
        return OK

    purse.chain_id = 1
    purse.says = {
        "eth_getTransactionCount": count,
        "eth_chainId": lambda: {"result": purse.chain_id},
        "wallet_switchEthereumChain": {"error": {"code": -32601, "message": "no such method"}},
        "wallet_addEthereumChain": add,
    }
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    visitor.pay("confirming")
    assert purse.asked.count(SENT) == 1


INNER = {"code": -32603, "message": "Internal JSON-RPC error.", "data": {"originalError": {"code": 4902}}}


@pytest.mark.parametrize("spelling", [int, str], ids=["a number", "decimal text"])
def test_a_wallet_that_writes_chains_otherwise_and_wraps_its_errors_adds_the_network_and_pays(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, spelling: Callable[[int], Any]
) -> None:
    def add(chain: dict[str, Any]) -> dict[str, Any]:
        purse.chain_id = int(chain["chainId"], 16)
        return OK

    purse.chain_id = 1
    purse.says = {
        "eth_chainId": lambda: {"result": spelling(purse.chain_id)},
        "wallet_switchEthereumChain": {"error": INNER},
        "wallet_addEthereumChain": add,
    }
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    visitor.pay("confirming")
    assert purse.asked.count(SENT) == 1


@rehearsed
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
    visitor.shows(other.address.lower(), "Your wallet has changed to another account.")
    visitor.reach("review")


def test_a_wallet_that_is_locked_meanwhile_is_named_as_that(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    purse.says["eth_accounts"] = {"result": []}
    visitor.pay("choose").shows("Your wallet is locked or no longer connected to this page.")
    assert SENT not in purse.asked
    del purse.says["eth_accounts"]
    visitor.connect(purse).pay("confirming")
    purse.says["eth_accounts"] = {"result": []}
    visitor.emit(purse, "accountsChanged", [])
    stack.settle()
    visitor.reach("completed").shows("Payment complete")


LOCK = """isLocked => {
  addEventListener("TIP6963:announceProvider", ({ detail: { provider: { tronWeb } } }) => {
    window.unlocked ??= tronWeb.defaultAddress;
    tronWeb.defaultAddress = isLocked ? { hex: false, base58: false } : window.unlocked;
  }, { once: true });
  dispatchEvent(new Event("TIP6963:requestProvider"));
}"""
"""As TronLink's tronWeb says that it is locked."""


def test_a_tron_wallet_that_is_locked_is_named_as_that(
    stack: Stack, tron_purse: TronPurse, new_visitor: NewVisitor
) -> None:
    """Before it is asked to sign, and while the page is open; what was sent is followed all the same."""
    visitor = new_visitor(tron_purse).open(stack.shop.link(tron())).connect(tron_purse)
    visitor.page.evaluate(LOCK, True)
    visitor.pay("choose").shows("Your wallet is locked or no longer connected to this page.")
    visitor.page.evaluate(LOCK, False)
    visitor.connect(tron_purse)
    visitor.page.evaluate(LOCK, True)
    visitor.emit(tron_purse, "accountsChanged", [])
    visitor.reach("choose").shows("Your wallet is locked or no longer connected to this page.")
    visitor.page.evaluate(LOCK, False)
    visitor.connect(tron_purse).pay("confirming")
    visitor.page.evaluate(LOCK, True)
    visitor.emit(tron_purse, "accountsChanged", [])
    stack.settle("tron")
    visitor.reach("completed")


@rehearsed
def test_who_changes_the_account_while_the_wallet_asks_is_told(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    other = Purse(stack.chain)
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse).pay_unanswered(purse)
    purse.says["eth_accounts"] = {"result": [other.address]}
    visitor.emit(purse, "accountsChanged", [other.address])
    visitor.shows("Your wallet has changed to another account.")


@rehearsed
def test_a_wallet_that_is_locked_while_it_asks_is_not_taken_for_another_account(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    purse.says[SENT] = HANGS
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse).pay_unanswered(purse)
    visitor.emit(purse, "accountsChanged", [])
    visitor.shows("Your wallet is locked or no longer connected to this page.")
    assert "changed to another account" not in visitor.text


@rehearsed
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


@rehearsed
def test_a_wallet_that_announces_nothing_is_found(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    purse.how = "injected"
    visitor = new_visitor(purse).open(stack.shop.link(native()))
    visitor.press("Ethereum").reach("review").pay("confirming")


ADDS_A_SCRIPT = """addEventListener("DOMContentLoaded", () => {
  const script = document.createElement("script");
  script.append("window.ethereum = { request: async () => [], on() {}, removeListener() {} };");
  document.head.append(script);
  document.documentElement.dataset.added = "";
});"""
"""What some in-app browsers and extensions do: their wallet is the script of an element in the page."""


def test_a_wallet_that_adds_a_script_element_is_stopped_by_the_policy_and_the_page_says_so(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    """The same wallet is offered where the page has no policy."""
    visitor = new_visitor()
    visitor.page.add_init_script(ADDS_A_SCRIPT)
    visitor.open(stack.shop.link()).page.locator("html[data-added]").wait_for(state="attached")
    visitor.shows("No wallet was found in this browser", "Wallets that add a script of their own to the page are blocked here")
    assert visitor.page.evaluate("window.ethereum") is None and not visitor.page.locator("button.wallet").count()
    assert visitor.complaints and all("Trusted" in each or "trusted-types" in each for each in visitor.complaints)
    visitor.complaints.clear()

    def without(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, headers=without_policy(reply))

    visitor.page.route("**/?token=*", without)
    visitor.reload("choose").page.locator("button.wallet").wait_for()
    assert "are blocked here" not in visitor.text


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
