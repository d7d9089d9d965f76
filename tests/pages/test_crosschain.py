"""A person pays from another chain: over two local chains with the bridge's own contracts, and the page closed in between."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from chalicelib.catalogue.networks import network
from chalicelib.checkout.intents import tracking
from infra.local.across import Bridge, Deposited
from infra.local.chain import Chain
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import Ledger
from tests.pages.conftest import NewVisitor
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import forge
from tests.pages.visitor import Visitor
from tests.support.client import item
from tests.support.running import restart, running

pytestmark = pytest.mark.xdist_group("browser")
USDC = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
AGAIN = "Pay again"


@dataclass
class Crossings:
    """The bridge between base and arbitrum-one beside the stack, and the service's clock when it looks at payments."""

    stack: Stack
    bridge: Bridge
    ahead: timedelta = timedelta()

    @property
    def base(self) -> Chain:
        return self.bridge.chains["base"]

    @property
    def arbitrum(self) -> Chain:
        return self.bridge.chains["arbitrum-one"]

    def link(self) -> str:
        return self.stack.shop.link(
            item(**dict.fromkeys(("invoiceCurrency", "paymentCurrency"), "USDC-arbitrum-one")), **FEE
        )

    def deposited(self, purse: Purse) -> Deposited:
        (found,) = self.bridge.deposits_of("base", purse.sent[-1])
        return found

    def track(self, seconds: int = 600) -> None:
        """The service looks at its open payments, some time later than at the last time."""
        self.ahead += timedelta(seconds=seconds)
        with self.stack.lock:
            tracking.track_due(replace(running(), clock=lambda: datetime.now(UTC) + self.ahead))

    def bury(self) -> None:
        """The source chain has blocks enough over the deposit, and the service sees that."""
        self.base.mine(network("base").confirmations)  # type: ignore[union-attr]
        self.track()

    def arrive(self) -> None:
        """The destination chain has blocks enough over what was filled, and the service sees that."""
        self.stack.settle("arbitrum-one")
        self.track()


class TwoChains(Purse):
    """Has tokens on base, nothing on arbitrum-one, and begins there."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge.chains["arbitrum-one"], whole=0)
        self._chains = {chain.chain_id: chain for chain in bridge.chains.values()}
        bridge.chains["base"].fund(self.address, 1_000)
        self.chain.fund_native(self.address, 10**18)

    def _result(self, method: str, params: list[Any]) -> Any:
        result = super()._result(method, params)
        self.chain = self._chains[self.chain_id]
        return result


@pytest.fixture(scope="module")
def crossings(stack: Stack) -> Iterator[Crossings]:
    secret = f"{os.environ['RESOURCE_PREFIX']}-rpc-urls"
    secrets = boto3.client("secretsmanager")
    before = secrets.get_secret_value(SecretId=secret)["SecretString"]
    with Chain.start("base") as base, Chain.start("arbitrum-one") as arbitrum:
        chains = {"base": base, "arbitrum-one": arbitrum}
        urls = json.loads(before) | {name: chain.url for name, chain in chains.items()}
        secrets.put_secret_value(SecretId=secret, SecretString=json.dumps(urls))
        restart()
        stack.others |= chains
        stack.settle("arbitrum-one")
        yield Crossings(stack, Bridge(chains))
        stack.others.clear()
        secrets.put_secret_value(SecretId=secret, SecretString=before)
        restart()


@pytest.fixture
def purse(crossings: Crossings) -> TwoChains:
    return TwoChains(crossings.bridge)


def chosen(visitor: Visitor, purse: Purse) -> Visitor:
    """Connects and chooses USDC on base."""
    visitor.connect(purse)
    visitor.frame.locator("#from-base-USDC").click()
    visitor.frame.locator('#from-base-USDC[aria-pressed="true"]').wait_for()
    return visitor


def test_a_link_is_paid_from_another_chain_with_the_page_closed_at_every_step(
    crossings: Crossings, purse: TwoChains, new_visitor: NewVisitor
) -> None:
    token = crossings.link()
    ledger = Ledger(crossings.arbitrum, [USDC], [PAYEE, FEE_ADDRESS, purse.address])
    visitor = chosen(new_visitor(purse).open(token), purse)
    visitor.shows("12.6551 USDC on Base", "12.625 USDC on Arbitrum One", "0.0301 USDC", "Offer ends")
    visitor.reload("review").shows("12.6551 USDC on Base")  # the choice is kept
    visitor.pay("route-source").shows("Sent on Base", "Do not pay again")
    assert purse.asked.count("eth_sendTransaction") == 2
    other = visitor.another_tab().open(token, "route-source")
    assert not other.can_pay()
    visitor.reload("route-source")
    crossings.bury()
    visitor.reach("route-bridge")
    assert not visitor.reload("route-bridge").can_pay()
    receipt = crossings.bridge.fill(crossings.deposited(purse))
    assert receipt["status"] == "0x1"
    crossings.arrive()
    visitor.reach("completed").shows("Payment complete", "Paid on Arbitrum One")
    hashes = (purse.sent[-1], receipt["transactionHash"])
    links = [visitor.frame.locator(f"#sent-{hash_}").get_attribute("href") for hash_ in hashes]
    assert links == [f"https://basescan.org/tx/{hashes[0]}", f"https://arbiscan.io/tx/{hashes[1]}"]
    crossings.stack.assert_completed(token)
    assert ledger.moved() == {USDC: [12_500_000, 125_000, 0]}
    assert visitor.note(token) is None


def test_the_approval_is_gone_on_with_after_the_page_was_closed(
    crossings: Crossings, purse: TwoChains, new_visitor: NewVisitor
) -> None:
    token = crossings.link()
    visitor = chosen(new_visitor(purse).open(token), purse)
    answers = iter([{"result": None}, {"hang": True}])  # the approval, and the deposit

    def ask(*params: Any) -> dict[str, Any]:
        told = next(answers)
        return told if "hang" in told else {"result": purse.send(params[0])}

    purse.says["eth_sendTransaction"] = ask
    visitor.pay("signing").until(lambda: purse.asked.count("eth_sendTransaction") == 2)
    visitor.reload("asked")
    assert not visitor.can_pay() and visitor.note(token) is not None


def test_a_payment_that_fails_on_the_other_chain_says_what_the_payer_has_and_is_offered_again(
    crossings: Crossings, purse: TwoChains, new_visitor: NewVisitor
) -> None:
    token = crossings.link()
    visitor = chosen(new_visitor(purse).open(token), purse).pay("route-source")
    crossings.bury()
    crossings.bridge.fill(crossings.deposited(purse), fails=True)
    crossings.arrive()
    visitor.reach("route-partial").shows("The payee got nothing", "12.625 USDC on Arbitrum One")
    assert not visitor.reload("route-partial").can_pay()
    assert crossings.arbitrum.token_balance(USDC, purse.address) == 12_625_000
    visitor.press(AGAIN).reach("review")
    assert visitor.note(token) is None


def test_a_reverted_deposit_is_told_and_offered_again(
    crossings: Crossings, purse: TwoChains, new_visitor: NewVisitor
) -> None:
    token = crossings.link()
    visitor = chosen(new_visitor(purse).open(token), purse)
    usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
    sent = purse.send

    def without_tokens(asked: dict[str, Any]) -> str:
        if asked["to"].lower() == usdc.lower():
            return sent(asked)
        crossings.base.fund_token(purse.address, usdc, 0)
        return crossings.base.send_as(purse.address, {name: asked[name] for name in ("to", "data", "value")})

    purse.says["eth_sendTransaction"] = lambda asked: {"result": without_tokens(asked)}
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: purse.asked.count("eth_sendTransaction") == 2)
    crossings.base.mine(network("base").confirmations)  # type: ignore[union-attr]
    visitor.reach("failed").press("Try again")
    visitor.reach("review")


@pytest.mark.parametrize("part", ["to", "data"])
def test_a_route_that_was_changed_on_its_way_is_not_signed(
    crossings: Crossings, purse: TwoChains, new_visitor: NewVisitor, part: str
) -> None:
    visitor = new_visitor(purse).open(crossings.link())

    def change(body: dict[str, Any]) -> None:
        if body["metadata"]["routeType"] != "crosschain":
            return
        last = body["transactions"][-1]
        last[part] = last[part].replace(PAYEE[2:].lower(), "66" * 20) if part == "data" else "0x" + "66" * 20

    forge(visitor, "/pay", change)
    visitor.connect(purse)
    visitor.frame.locator("#from-base-USDC").click()
    visitor.reach("unsafe")
    assert "eth_sendTransaction" not in purse.asked
    visitor.press("Pay on Arbitrum One instead").reach("review")


def test_what_the_bridge_returns_is_told(crossings: Crossings, purse: TwoChains, new_visitor: NewVisitor) -> None:
    """The last test here: the clocks of both chains are ahead from now on."""
    token = crossings.link()
    visitor = chosen(new_visitor(purse).open(token), purse).pay("route-source")
    crossings.bury()
    crossings.arbitrum.rpc("evm_increaseTime", 9_000)
    crossings.arrive()
    crossings.track(9_000)
    crossings.track()
    visitor.reach("route-refunding").shows("Nothing can be paid here until that is certain")
    crossings.base.rpc("evm_increaseTime", 9_000)
    crossings.bridge.refund(crossings.deposited(purse))
    crossings.bury()
    crossings.track(3_600)
    visitor.reach("route-refunded").shows("12.6551 USDC back on Base")
