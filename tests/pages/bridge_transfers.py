"""Two local chains with the bridge's own contracts beside the stack of the payment page, and who pays over them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3

from chalicelib.payments.announcements import tracking
from infra.local.across import Bridge, Deposited
from infra.local.chain import Chain
from infra.local.safe import install_safe
from tests.fakes.world import FEE_ADDRESS
from tests.pages.batch_purse import BatchPurse
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import Visitor
from tests.support.client import item
from tests.support.running import restart, running

USDC = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
USDC_ON_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}


@dataclass
class BridgeTransfers:
    """The bridge to arbitrum-one from base and mainnet beside the stack, and the service's clock when it looks at
    payments."""

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

    def deposited(self, purse: Purse, source: str = "base") -> Deposited:
        (found,) = self.bridge.deposits_of(source, purse.sent[-1])
        return found

    def track(self, seconds: int = 600) -> None:
        """The service looks at its open payments, some time later than at the last time."""
        self.ahead += timedelta(seconds=seconds)
        with self.stack.lock:
            tracking.track_due(replace(running(), clock=lambda: datetime.now(UTC) + self.ahead))

    def bury(self, source: str = "base") -> None:
        """The source chain has blocks enough over the deposit, and the service sees that."""
        self.stack.confirm(source)
        self.track()

    def arrive(self) -> None:
        """The destination chain has blocks enough over what was filled, and the service sees that."""
        self.stack.settle("arbitrum-one")
        self.track()


class TwoChains(Purse):
    """Has tokens on one chain, base unless told else, nothing on arbitrum-one, and begins there."""

    def __init__(self, bridge: Bridge, source: str = "base", name: str = "Test Wallet", **kind: Any) -> None:
        super().__init__(bridge.chains["arbitrum-one"], name=name, whole=0, **kind)
        self._chains = {chain.chain_id: chain for chain in bridge.chains.values()}
        bridge.chains[source].fund(self.address, 1_000)
        self.chain.fund_native(self.address, 10**18)

    def _result(self, method: str, params: list[Any]) -> Any:
        result = super()._result(method, params)
        self.chain = self._chains[self.chain_id]
        return result


class BatchTwoChains(TwoChains, BatchPurse):
    """The same with an account that makes several calls at once on base, and says so of both chains.

    `status` is what is said of it at first: `supported`, or `ready` for an account that is delegated by its first batch.
    """

    def __init__(self, bridge: Bridge, status: str = "supported") -> None:
        super().__init__(bridge, upgrade="ready")
        self.status_at_first, there = status, self.chain
        self.chain = bridge.chains["base"]
        install_safe(self.chain)
        if status == "supported":
            self._delegate([])
        self.chain = there

    def capabilities(self) -> dict[str, Any]:
        return {hex(each): {"atomic": {"status": self.status_at_first}} for each in self._chains}


@contextmanager
def running_bridge_transfers(stack: Stack) -> Iterator[BridgeTransfers]:
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
        yield BridgeTransfers(stack, Bridge(chains | {"mainnet": stack.mainnet}))
        stack.others.clear()
        secrets.put_secret_value(SecretId=secret, SecretString=before)
        restart()


def chosen(visitor: Visitor, purse: Purse, source: str = "base") -> Visitor:
    """Connects and chooses USDC on another chain."""
    visitor.connect(purse)
    visitor.frame.locator(f"#from-{source}-USDC").click()
    visitor.frame.locator(f'#from-{source}-USDC[aria-pressed="true"]').wait_for()
    return visitor
