"""A person pays from another chain: over local chains with the bridge's own contracts, and the page closed in between."""

from typing import Any

import pytest

from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import Ledger
from tests.pages.bridge_transfers import USDC, USDC_ON_BASE, BridgeTransfers, TwoChains, chosen
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, REJECTS
from tests.pages.test_never_twice import age
from tests.pages.test_two_devices import without_claims

pytestmark = pytest.mark.xdist_group("browser")
AGAIN = "Pay again"
SENT = "eth_sendTransaction"


def test_a_link_is_paid_from_another_chain_with_the_page_closed_at_every_step(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    ledger = Ledger(bridge_transfers.arbitrum, [USDC], [PAYEE, FEE_ADDRESS, traveller.address])
    visitor = chosen(new_visitor(traveller).open(token), traveller)
    visitor.shows("12.6551 USDC on Base", "12.625 USDC on Arbitrum One", "0.0301 USDC", "Offer ends")
    visitor.reload("review").shows("12.6551 USDC on Base")  # the choice is kept
    visitor.pay("route-source").shows("Sent on Base", "Do not pay again")
    assert traveller.asked.count(SENT) == 2
    other = visitor.another_tab().open(token, "route-source")
    assert not other.can_pay()
    visitor.reload("route-source")
    bridge_transfers.bury()
    visitor.reach("route-bridge")
    assert not visitor.reload("route-bridge").can_pay()
    receipt = bridge_transfers.bridge.fill(bridge_transfers.deposited(traveller))
    assert receipt["status"] == "0x1"
    bridge_transfers.arrive()
    visitor.reach("completed").shows("Payment complete", "Paid on Arbitrum One")
    hashes = (traveller.sent[-1], receipt["transactionHash"])
    links = [visitor.frame.locator(f"#sent-{hash_}").get_attribute("href") for hash_ in hashes]
    assert links == [f"https://basescan.org/tx/{hashes[0]}", f"https://arbiscan.io/tx/{hashes[1]}"]
    bridge_transfers.stack.assert_completed(token)
    assert ledger.moved() == {USDC: [12_500_000, 125_000, 0]}
    assert visitor.note(token) is None


def test_closed_between_the_approval_and_its_receipt_it_waits_for_that_and_pays_once(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    ledger = Ledger(bridge_transfers.base, [USDC_ON_BASE], [traveller.address])
    visitor = chosen(new_visitor(traveller).open(token), traveller)
    bridge_transfers.base.rpc("evm_setAutomine", False)
    try:
        visitor.pay("waiting").until(lambda: (visitor.note(token) or {}).get("txHash") == traveller.sent[0])
        visitor.reload("waiting")
        assert not visitor.can_pay() and traveller.asked.count(SENT) == 1
    finally:
        bridge_transfers.base.rpc("evm_setAutomine", True)
        bridge_transfers.base.mine()
    visitor.reach("review").shows("12.6551 USDC on Base")
    assert visitor.note(token) is None and traveller.asked.count(SENT) == 1
    visitor.pay("route-source")
    assert len(bridge_transfers.bridge.deposits_of("base", traveller.sent[-1])) == 1
    assert ledger.moved() == {USDC_ON_BASE: [-12_655_100]}


def test_closed_while_the_wallet_is_asked_for_the_deposit_nothing_is_offered_until_it_is_certain(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    visitor = chosen(new_visitor(traveller).open(token), traveller)
    traveller.says[SENT] = lambda asked: HANGS if len(traveller.sent) else {"result": traveller.send(asked)}
    visitor.pay("signing").until(lambda: traveller.asked.count(SENT) == 2)
    visitor.reload("asked")
    assert not visitor.can_pay() and visitor.note(token) is not None


@pytest.mark.parametrize("hours", [0, 5])
def test_a_deposit_that_its_wallet_denies_is_waited_for_until_it_can_arrive_no_more(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor, hours: int
) -> None:
    """Also by a device whose clock is hours ahead."""
    token, visitor, asked = bridge_transfers.link(), new_visitor(traveller), bridge_transfers.stack.asked
    visitor.page.add_init_script(f"const real = Date.now; Date.now = () => real() + {3_600_000 * hours};")

    def denies(wanted: dict[str, Any]) -> dict[str, Any]:
        if not traveller.sent:
            return {"result": traveller.send(wanted)}
        traveller.send(wanted)
        bridge_transfers.base.mine()  # the page looks for what was sent in the newest block alone
        return REJECTS

    traveller.says[SENT] = denies
    chosen(visitor.open(token), traveller).frame.locator("#pay").click()
    visitor.reach("doubt")
    age(visitor, token, "doubtAt")
    visitor.reload("doubt")
    reads, before = f"GET /v2/secure-payments/{token}", asked.count(f"GET /v2/secure-payments/{token}")
    visitor.until(lambda: asked.count(reads) > before + 2).reach("doubt")
    assert not visitor.can_pay() and visitor.button("Start again").count() == 0
    assert len(bridge_transfers.bridge.deposits_of("base", traveller.sent[-1])) == 1


def test_of_two_payers_from_two_chains_one_pays_and_the_other_is_told_to_ask_for_a_return(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    """The wallet of the second is asked before the first has paid, and its owner confirms although the page says not to."""
    token, other = bridge_transfers.link(), TwoChains(bridge_transfers.bridge, "mainnet")
    without_claims(bridge_transfers.stack, token)
    ledger = Ledger(bridge_transfers.arbitrum, [USDC], [PAYEE])
    first = chosen(new_visitor(traveller).open(token), traveller)
    second = chosen(new_visitor(other).open(token), other, "mainnet")

    def late(asked: dict[str, Any]) -> dict[str, Any]:
        if len(other.sent):
            first.pay("route-source")
            second.reach("withdrawn").shows("reject")
        return {"result": other.send(asked)}

    other.says[SENT] = late
    second.frame.locator("#pay").click()
    second.reach("route-source").shows("Do not pay again")
    for payer, source in ((traveller, "base"), (other, "mainnet")):
        bridge_transfers.bury(source)
        receipt = bridge_transfers.bridge.fill(bridge_transfers.deposited(payer, source))
        assert receipt["status"] == "0x1"
    bridge_transfers.arrive()
    first.reach("completed").shows("Payment complete")
    second.reach("completed").shows("This was paid twice", "Ask the payee to return it")
    assert "Payment complete" not in second.text
    assert not second.reload("completed").can_pay()
    assert ledger.moved() == {USDC: [25_000_000]}


def test_a_payment_that_fails_on_the_other_chain_says_what_the_payer_has_and_is_offered_again(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    visitor = chosen(new_visitor(traveller).open(token), traveller).pay("route-source")
    bridge_transfers.bury()
    bridge_transfers.bridge.fill(bridge_transfers.deposited(traveller), fails=True)
    bridge_transfers.arrive()
    visitor.reach("route-partial").shows("The payee got nothing", "12.625 USDC on Arbitrum One")
    assert not visitor.reload("route-partial").can_pay()
    assert bridge_transfers.arbitrum.token_balance(USDC, traveller.address) == 12_625_000
    visitor.press(AGAIN).reach("review")
    assert visitor.note(token) is None


def test_a_reverted_deposit_is_told_and_offered_again(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    visitor = chosen(new_visitor(traveller).open(token), traveller)
    sent = traveller.send

    def without_tokens(asked: dict[str, Any]) -> str:
        if asked["to"].lower() == USDC_ON_BASE.lower():
            return sent(asked)
        bridge_transfers.base.fund_token(traveller.address, USDC_ON_BASE, 0)
        return bridge_transfers.base.send_as(traveller.address, {name: asked[name] for name in ("to", "data", "value")})

    traveller.says[SENT] = lambda asked: {"result": without_tokens(asked)}
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: traveller.asked.count(SENT) == 2)
    bridge_transfers.stack.confirm("base")
    visitor.reach("failed").press("Try again")
    visitor.reach("review")


def test_what_the_bridge_returns_is_told(bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor) -> None:
    """The last test here: the clocks of both chains are ahead from now on."""
    token = bridge_transfers.link()
    visitor = chosen(new_visitor(traveller).open(token), traveller).pay("route-source")
    bridge_transfers.bury()
    bridge_transfers.arbitrum.rpc("evm_increaseTime", 9_000)
    bridge_transfers.arrive()
    bridge_transfers.track(9_000)
    bridge_transfers.track()
    visitor.reach("route-refunding").shows("Nothing can be paid here until that is certain")
    bridge_transfers.base.rpc("evm_increaseTime", 9_000)
    bridge_transfers.bridge.refund(bridge_transfers.deposited(traveller))
    bridge_transfers.bury()
    bridge_transfers.track(3_600)
    visitor.reach("route-refunded").shows("12.6551 USDC back on Base")
