"""Wallets that change their network or account while somebody pays: it is paid, or the page says which to choose."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.pages.conftest import NewVisitor
from tests.pages.purse import REJECTS, Purse
from tests.pages.stack import Stack
from tests.pages.test_troubles import SENT, by_hand
from tests.support.items import native
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")
MAINNET = 1
ELSEWHERE = {"eth_getTransactionReceipt": None, "eth_getTransactionByHash": None, "eth_getTransactionCount": "0x0"}
"""What a node of a network says where the wallet has sent nothing."""
BY_EVENT_AND_WITHOUT = pytest.mark.parametrize("says_so", [True, False], ids=["by an event", "only when asked"])


@pytest.fixture
def mover(purse: Purse) -> Purse:
    """A wallet whose node is that of the network which it is on."""

    def say(method: str, there: str | None) -> Callable[..., dict[str, Any]]:
        return lambda *params: {"result": purse.chain.rpc(method, *params) if purse.chain_id != MAINNET else there}

    purse.says = {method: say(method, there) for method, there in ELSEWHERE.items()}
    return purse


@BY_EVENT_AND_WITHOUT
def test_one_that_changes_its_network_while_its_approval_waits_is_named_the_network(
    stack: Stack, mover: Purse, new_visitor: NewVisitor, says_so: bool
) -> None:
    """Once it is back, the payment is asked for by itself."""
    token = stack.shop.link()
    visitor = new_visitor(mover).open(token).connect(mover)
    with by_hand(stack.chain):
        visitor.pay("waiting")
        for chain_id in (MAINNET, stack.chain.chain_id):
            mover.chain_id = chain_id
            if says_so:
                visitor.emit(mover, "chainChanged", hex(chain_id))
            if chain_id == MAINNET:
                visitor.reach("away-chain").shows("Your wallet is on another network", "Switch it to Sepolia")
                stack.mine()
        visitor.until(lambda: len(mover.sent) == 2)
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)


def test_one_that_changes_its_network_after_its_approval_is_asked_to_switch_and_pays(
    stack: Stack, mover: Purse, new_visitor: NewVisitor
) -> None:
    """From the moment at which the page has read that the approval is in a block."""

    def moves() -> dict[str, Any]:
        del mover.says["eth_blockNumber"]
        mover.chain_id = MAINNET
        return {"result": stack.chain.rpc("eth_blockNumber")}

    def send(asked: dict[str, Any]) -> dict[str, Any]:
        if not mover.sent:
            mover.says["eth_blockNumber"] = moves
        return {"result": mover.send(asked)}

    mover.says[SENT] = send
    token = stack.shop.link()
    visitor = new_visitor(mover).open(token).connect(mover).pay("confirming")
    assert mover.asked.count("wallet_switchEthereumChain") == 1 and len(mover.sent) == 2
    stack.settle()
    visitor.reach("completed")


def test_who_refuses_to_switch_is_named_the_network_and_pays_after_choosing_it_by_hand(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    purse.chain_id, purse.says = MAINNET, {"wallet_switchEthereumChain": REJECTS}
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse).pay("network")
    visitor.shows("Your wallet is on another network", "Switch it to Sepolia", "Chain ID")
    assert SENT not in purse.asked and not visitor.can_pay()
    purse.chain_id = stack.chain.chain_id
    visitor.press("Try again").reach("review").pay("confirming")
    assert purse.asked.count(SENT) == 1


@rehearsed
def test_one_that_leaves_the_network_before_it_is_asked_to_pay_is_asked_for_nothing(
    stack: Stack, mover: Purse, new_visitor: NewVisitor
) -> None:
    count = mover.says["eth_getTransactionCount"]
    assert callable(count)

    def moves(*params: Any) -> dict[str, Any]:
        mover.chain_id, found = MAINNET, count(*params)
        return found

    mover.says["eth_getTransactionCount"] = moves
    visitor = new_visitor(mover).open(stack.shop.link(native())).connect(mover).pay("network")
    visitor.shows("Switch it to Sepolia")
    assert SENT not in mover.asked
    mover.says["eth_getTransactionCount"] = count
    visitor.press("Try again").reach("review").pay("confirming")


@BY_EVENT_AND_WITHOUT
def test_one_that_changes_its_account_while_its_approval_waits_pays_with_the_other(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, says_so: bool
) -> None:
    other = Purse(stack.chain, purse.name)
    token = stack.shop.link()
    visitor = new_visitor(purse).open(token).connect(purse)
    with by_hand(stack.chain):
        visitor.pay("waiting")
        purse.says["eth_accounts"] = {"result": [other.address, purse.address]}
        if says_so:
            visitor.emit(purse, "accountsChanged", [other.address, purse.address])
        stack.mine()
        visitor.reach("review").shows(other.address.lower(), "Your wallet has changed to another account.")
    other.is_connected = True
    visitor.wears(other)
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert (len(purse.sent), len(other.sent)) == (1, 2)


@rehearsed
def test_one_that_names_several_accounts_and_writes_its_own_in_another_case_pays(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    other = Purse(stack.chain)
    purse.says["eth_requestAccounts"] = {"result": [purse.address, other.address]}
    purse.says["eth_accounts"] = {"result": ["0x" + purse.address[2:].upper(), other.address]}
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    visitor.emit(purse, "accountsChanged", [purse.address.lower(), other.address])
    visitor.pay("confirming")


@rehearsed
def test_an_approval_that_was_sped_up_is_found_and_the_payment_is_offered(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    def send(asked: dict[str, Any]) -> dict[str, Any]:
        sent = purse.send(asked)
        return {"result": sent if len(purse.sent) == 2 else "0x" + "ab" * 32}

    purse.says[SENT] = send
    token = stack.shop.link()
    visitor = new_visitor(purse).open(token).connect(purse).pay("waiting")
    visitor.reach("review").shows("Your wallet will ask you once.")
    visitor.pay("confirming")
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)
    assert len(purse.sent) == 2
