"""The approval and the deposit of a payment from another chain in one confirmation, by wallets that can (EIP-5792)."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import Ledger
from tests.pages.batch_purse import CALLS, STATUS, refuses
from tests.pages.bridge_transfers import USDC, USDC_ON_BASE, BatchTwoChains, BridgeTransfers, TwoChains, chosen
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS
from tests.pages.test_troubles import SENT
from tests.pages.visitor import Visitor

pytestmark = pytest.mark.xdist_group("browser")
APPROVE = "0x095ea7b3"


def offered_from_base(visitor: Visitor, purse: BatchTwoChains) -> Visitor:
    chosen(visitor, purse).frame.get_by_text("Your wallet will ask you once.").wait_for()
    return visitor


def test_the_approval_and_the_deposit_are_one_prompt(bridge_transfers: BridgeTransfers, new_visitor: NewVisitor) -> None:
    token, purse = bridge_transfers.link(), BatchTwoChains(bridge_transfers.bridge)
    ledger = Ledger(bridge_transfers.arbitrum, [USDC], [PAYEE, FEE_ADDRESS, purse.address])
    visitor = offered_from_base(new_visitor(purse).open(token), purse).pay("route-source")
    visitor.shows("Sent on Base", "Do not pay again")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 0)
    (asked,) = purse.batches
    assert (asked["chainId"], asked["calls"][0]["data"][:10], len(asked["calls"])) == ("0x2105", APPROVE, 2)
    assert not visitor.reload("route-source").can_pay()
    bridge_transfers.bury()
    assert bridge_transfers.bridge.fill(bridge_transfers.deposited(purse))["status"] == "0x1"
    bridge_transfers.arrive()
    visitor.reach("completed").shows("Payment complete", "Paid on Arbitrum One")
    bridge_transfers.stack.assert_completed(token)
    assert ledger.moved() == {USDC: [12_500_000, 125_000, 0]}


def test_a_wallet_that_asks_for_nothing_new_loads_nothing_new(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    visitor, loaded = new_visitor(traveller), list[str]()
    visitor.page.on("request", lambda request: loaded.append(request.url))
    chosen(visitor.open(bridge_transfers.link()), traveller).pay("route-source")
    files = {urlsplit(each).path.removeprefix("/pages/").partition(".")[0] for each in loaded if "/pages/" in each}
    assert files - {"qr"} == {"page", "payment", "locales/en", "sources", "bridge", "bridge_transfer"}
    assert traveller.asked.count(SENT) == 2


@pytest.mark.parametrize("code", [4200, 5700, 5710, 5740, 5750, 5760, -32602])
def test_a_wallet_that_cannot_make_both_at_once_there_is_asked_for_one_after_the_other(
    bridge_transfers: BridgeTransfers, new_visitor: NewVisitor, code: int
) -> None:
    purse = BatchTwoChains(bridge_transfers.bridge, "ready")
    purse.says[CALLS] = refuses(code)
    visitor = chosen(new_visitor(purse).open(bridge_transfers.link()), purse)
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("route-source")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 2)


@pytest.mark.parametrize("answer", [HANGS, refuses(-32603), {"result": None}])
def test_a_batch_that_was_made_and_not_answered_pays_once(
    bridge_transfers: BridgeTransfers, new_visitor: NewVisitor, answer: dict[str, Any]
) -> None:
    """The page knows no hash: the payment is found on the link's own chain."""
    token, purse = bridge_transfers.link(), BatchTwoChains(bridge_transfers.bridge)
    ledger = Ledger(bridge_transfers.arbitrum, [USDC], [PAYEE])
    purse.says[CALLS] = lambda asked: purse.make(asked) and answer
    visitor = offered_from_base(new_visitor(purse).open(token), purse)
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: len(purse.sent) == 1).reach("signing" if answer == HANGS else "asked", "doubt")
    visitor.page.reload()
    visitor.page.wait_for_timeout(500)
    assert not visitor.can_pay()
    bridge_transfers.bury()
    assert bridge_transfers.bridge.fill(bridge_transfers.deposited(purse))["status"] == "0x1"
    bridge_transfers.arrive()
    visitor.reach("completed")
    assert (ledger.moved(), purse.asked.count(CALLS), purse.asked.count(SENT)) == ({USDC: [12_500_000]}, 1, 0)


def test_a_batch_that_reverts_is_told_and_offered_again(bridge_transfers: BridgeTransfers, new_visitor: NewVisitor) -> None:
    token, purse = bridge_transfers.link(), BatchTwoChains(bridge_transfers.bridge)
    visitor = offered_from_base(new_visitor(purse).open(token), purse)

    def without_tokens(asked: dict[str, Any]) -> dict[str, Any]:
        bridge_transfers.base.fund_token(purse.address, USDC_ON_BASE, 0)
        return {"result": purse.make(asked)}

    purse.says[CALLS] = without_tokens
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: len(purse.sent) == 1)
    bridge_transfers.stack.confirm("base")
    visitor.reach("failed").press("Try again").reach("review")


def test_the_hash_of_somebody_else_is_no_reason_to_pay_again(bridge_transfers: BridgeTransfers, new_visitor: NewVisitor) -> None:
    token, purse = bridge_transfers.link(), BatchTwoChains(bridge_transfers.bridge)
    other = TwoChains(bridge_transfers.bridge)
    theirs = bridge_transfers.base.send_as(other.address, {"to": PAYEE, "value": "0x1", "data": "0x"})
    receipts = [{"transactionHash": theirs, "status": "0x1", "logs": []}]
    purse.says[STATUS] = {"result": {"version": "2.0.0", "id": "0x01", "status": 200, "atomic": True, "receipts": receipts}}
    ledger = Ledger(bridge_transfers.arbitrum, [USDC], [PAYEE])
    visitor = offered_from_base(new_visitor(purse).open(token), purse)
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: len(purse.sent) == 1)
    bridge_transfers.bury()
    visitor.reach("settling")
    assert not visitor.can_pay()
    assert bridge_transfers.bridge.fill(bridge_transfers.deposited(purse))["status"] == "0x1"
    bridge_transfers.arrive()
    visitor.reach("completed")
    assert ledger.moved() == {USDC: [12_500_000]}
