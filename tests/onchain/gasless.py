"""A shop on base whose payers have dollars and no coin: the real code of delegate, fee proxy and ERC-3009 token."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from eth_account import Account

from chalicelib.chains.calldata.tokens import erc3009
from chalicelib.chains.nodes.chains import Chains
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.gasless import flows as gasless
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless import store as gasless_store
from chalicelib.gasless.records import GaslessPayment, Stage
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import Role
from chalicelib.relayer.tracking import track
from infra.local import calls as aws_calls
from infra.local.chain import Chain
from tests.fakes.chain import FakeChain
from tests.fakes.gasless import PAGE
from tests.fakes.requests import store_request
from tests.fakes.world import PREFIX, World
from tests.onchain.conftest import Nodes

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
HAD = 10**9


class WithFeeds(Chains):
    """The real nodes of some networks, and mainnet in memory, which has the price feeds."""

    def add(self, chain: FakeChain) -> None:
        self._feeds = chain

    def of(self, network: str) -> Any:
        aws_calls.record_call("secretsmanager:GetSecretValue", "rpc-urls")
        return self._feeds if network == "mainnet" else super().of(network)

    @property
    def networks(self) -> tuple[str, ...]:
        return (*super().networks, "mainnet") if hasattr(self, "_feeds") else super().networks


class Shop:
    """A deployment on base with gasless payments, and a payer with dollars, a key and no coin."""

    def __init__(self, client: Any, chain: Chain, account: Any = None) -> None:
        self.chain = chain
        self.world = World(
            client,
            WithFeeds(Nodes({"base": chain.url})),
            relayer_keys=dict.fromkeys(("base", "optimism"), "secret"),
            confirmations={"base": 2},
        )
        self.services.secrets.gasless_networks = "base,optimism"  # type: ignore[misc]
        block = chain.rpc("eth_getBlockByNumber", "latest", False)
        self.world.now = datetime.fromtimestamp(int(block["timestamp"], 16), UTC)
        self.world.prices.set("ETH", "USD", "3000")
        self.world.prices.set("USDC", "USD", "1")
        self.account = relayer_flows.account_address(self.services, "base", Role.GASLESS)
        chain.fund_native(self.account, 10**20)
        chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(10**7))
        self.tick()

    @property
    def services(self) -> Any:
        return self.world.services

    @property
    def owner(self) -> Owner:
        return Owner(self.world.account_id, None, None)

    def payer(self) -> Any:
        """A wallet with dollars and no coin, with its key."""
        account = Account.create()
        self.chain.fund_token(account.address, USDC, HAD)
        return account

    def request(self, **changes: Any) -> Request:
        return store_request(self.services, **{"currency": "USDC-base", **changes})

    def offer(self, request: Request, payer: str, part: Part | None = None) -> GaslessPayment:
        viewer = Viewer(self.world.account_id, None)
        made = paying.pay(
            self.services, request.request_id, self.owner, viewer, PayOptions(payer, is_gasless=True), part or Part()
        )
        assert isinstance(made, GaslessPayment)
        return made

    def link(self, **changes: Any) -> PayableLink:
        return self.world.create_link(**{"currency": "USDC-base", **changes})

    def offer_link(self, payable: PayableLink, payer: str) -> GaslessPayment:
        """As the page has it offered."""
        return checkout.pay_gasless(self.services, payable.link.token, PAGE, PayOptions(payer))

    def sign(
        self, made: GaslessPayment, account: Any, change: Callable[[dict[str, Any]], None] = lambda typed: None
    ) -> str:
        typed = erc3009.typed_data(made.authorization)
        values = {name: int(each) if each.isdigit() else each for name, each in typed["values"].items()}
        typed = {**typed, "values": values}
        change(typed)
        signed = Account.sign_typed_data(account.key, typed["domain"], typed["types"], typed["values"])
        return "0x" + bytes(signed.signature).hex()

    def accept(self, made: GaslessPayment, signature: str) -> GaslessPayment:
        if made.link_token is not None:
            return gasless.accept_for_link(self.services, made.link_token, PAGE, made.payment_id, signature)
        return gasless.accept(self.services, self.owner, made.payment_id, signature)

    def signed(self, payer: Any, **changes: Any) -> GaslessPayment:
        """A new request of which the payer has signed the payment."""
        made = self.offer(self.request(**changes), payer.address)
        return self.accept(made, self.sign(made, payer))

    def signed_link(self, payer: Any) -> GaslessPayment:
        """As `signed`, of a new link."""
        made = self.offer_link(self.link(), payer.address)
        return self.accept(made, self.sign(made, payer))

    def load(self, made: GaslessPayment) -> GaslessPayment:
        found = gasless_store.payment(self.services.store, made.payment_id)
        assert found is not None
        return found

    def loaded(self, made: GaslessPayment) -> Request:
        found = request_store.request(self.services.store, made.request_id)
        assert found is not None
        return found

    def stored(self) -> int:
        """How many gasless payments are stored."""
        items = self.world.client.scan(TableName=f"{PREFIX}-payments")["Items"]
        return sum(each["sk"]["S"] == "GASLESS" for each in items)

    def payers(self, made: GaslessPayment) -> list[str | None]:
        """Who paid its request, by the payments that were recorded."""
        return [each.payer for each in payment_store.payments(self.services.store, made.request_id)]

    def announced(self) -> list[dict[str, Any]]:
        """What the merchant's webhook was sent."""
        queue = self.world.queue
        queue.messages = [each for each in queue.messages if not each.queue.endswith("relayed")]
        self.world.drain()
        return [json.loads(each.body) for each in self.world.receiver.posted]

    def tick(self) -> None:
        self.chain.mine(3)
        self.world.tick(network="base")

    def run(self) -> None:
        """What a minute does: the schedule, the next blocks, and the checks of the relayer."""
        gasless_running.run_due(self.services)
        self.world.advance(15)
        self.tick()
        track(self.services, "base")
        self.world.advance(15)

    def run_to(self, made: GaslessPayment, stage: Stage, most: int = 14) -> GaslessPayment:
        for _ in range(most):
            self.run()
            if self.load(made).stage is stage:
                return self.load(made)
        raise AssertionError(self.load(made))

    def balance(self, address: str) -> int:
        return self.chain.token_balance(USDC, address)
