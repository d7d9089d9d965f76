"""Real chains behind nodes that lose receipts or say false things: the tokens of others in the service's account stay."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Counts
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.nodes.chains import Chains
from chalicelib.commerce.service.due_payments import run_due
from chalicelib.crosschain.service.payment_intents import running as intent_running
from chalicelib.crosschain.service.payment_intents.records import End, Stage
from chalicelib.relayer.holdings.records import TOTAL, Holding, HoldingsTotal
from chalicelib.relayer.tracking import track
from infra.local.across import Bridge
from infra.local.across_relayer import Relayer
from infra.local.chain import Chain
from tests.fakes.world import World, in_process_aws
from tests.onchain.test_commerce_over_http import MERCHANT, ROOT, UNIT, Deployment
from tests.onchain.test_payment_intents import HAD, USDC, Shop
from tests.onchain.troubled_node import TroubledNode
from tests.support.client import Api
from tests.support.running import serving

pytestmark = pytest.mark.xdist_group("bridge")

OTHERS = 50 * UNIT
RECEIPT, LOGS = "eth_getTransactionReceipt", "eth_getLogs"


def hold_for_others(world: World, chain: Chain, account: str, token: str) -> None:
    """Tokens of another payer are in the service's account on their way."""
    chain.fund_token(account, token, OTHERS)
    entry = Holding("base", account, token.lower(), "another payer", world.clock(), BaseUnits(OTHERS))
    world.services.store.write(entry, HoldingsTotal("base", account, token.lower(), Counts({TOTAL: OTHERS})))


def read_by(world: World, urls: dict[str, tuple[str, ...]]) -> None:
    """From now on the deployment reads its networks by these nodes."""
    chains = Chains(SimpleNamespace(rpc_urls=urls, tron_api_key=None), clock=world.clock)
    object.__setattr__(world.services, "chains", chains)


@pytest.fixture
def node(bridge: Bridge) -> Iterator[TroubledNode]:
    troubled = TroubledNode(bridge.chains["base"])
    yield troubled
    troubled.stop()


@pytest.fixture(params=[1, 2], ids=["one node", "two nodes"])
def shop(request: pytest.FixtureRequest, bridge: Bridge, bridge_relayer: Relayer, node: TroubledNode) -> Iterator[Shop]:
    with in_process_aws() as client:
        shop = Shop(client, bridge, bridge_relayer)
        of_base = (node.url, shop.base.url)[: request.param]
        read_by(shop.world, {"base": of_base, "arbitrum-one": (shop.there.url,)})
        hold_for_others(shop.world, shop.base, shop.executor, USDC)
        yield shop


def minutes(shop: Shop, count: int) -> None:
    for _ in range(count):
        intent_running.run_due(shop.services)
        shop.tick()
        track(shop.services, "base")
        shop.world.advance(60)


def losing(number: int) -> Callable[[str, list[Any], Any], Any]:
    """A node without the receipts of blocks from a number on."""

    def lie(method: str, params: list[Any], result: Any) -> Any:
        is_lost = method == RECEIPT and result is not None and int(result["blockNumber"], 16) >= number
        return None if is_lost else result

    return lie


def head(chain: Chain) -> int:
    return int(chain.rpc("eth_blockNumber"), 16)


def test_a_payment_whose_receipt_is_lost_is_not_made_again_with_the_tokens_of_another_payer(
    shop: Shop, node: TroubledNode
) -> None:
    announced = shop.offer()
    taking = shop.accept(announced, shop.signature(announced)).taking
    shop.run_to(announced, Stage.TAKEN)
    node.lie = losing(head(shop.base) + 1)
    minutes(shop, 26)
    assert len(shop.bridge.deposits("base")) == 1
    assert (shop.balance(shop.payer), shop.balance(shop.executor)) == (HAD - taking, OTHERS)
    assert shop.load(announced).spends == 1
    node.lie = None
    shop.run_to(announced, Stage.BRIDGED)


def test_a_false_status_has_no_payment_made_with_the_tokens_of_another_payer(shop: Shop, node: TroubledNode) -> None:
    """The payer moves the tokens away in the block in which they would be taken."""
    announced = shop.offer()
    shop.accept(announced, shop.signature(announced))

    def lie(method: str, params: list[Any], result: Any) -> Any:
        if method == RECEIPT and result is not None and result["from"].lower() == shop.executor.lower():
            return {**result, "status": "0x1"}
        return result

    node.lie = lie
    shop.base.rpc("evm_setAutomine", False)
    intent_running.run_due(shop.services)
    shop.base.rpc("anvil_dropAllTransactions")
    shop.base.rpc("evm_setAutomine", True)
    shop.base.send({"to": USDC, "data": erc20.transfer(USDC, MERCHANT.address, HAD).data}, shop.account.key.hex())
    shop.world.advance(31)
    minutes(shop, 26)
    assert (shop.balance(shop.executor), len(shop.bridge.deposits("base"))) == (OTHERS, 0)
    assert shop.load(announced).stage is Stage.TAKING
    node.lie = None
    minutes(shop, 10)
    assert shop.load(announced).end is End.FAILED and shop.balance(shop.executor) == OTHERS


@pytest.fixture(params=[1, 2], ids=["one node", "two nodes"])
def deployment(
    request: pytest.FixtureRequest, chain_of: Callable[[str], Chain]
) -> Iterator[tuple[Deployment, TroubledNode]]:
    with in_process_aws() as client:
        made = Deployment(client, chain_of("base"))
        node = TroubledNode(made.chain)
        read_by(made.world, {"base": (node.url, made.chain.url)[: request.param]})
        hold_for_others(made.world, made.chain, made.operator, made.token)
        with serving() as server:
            made.serve(Api(server.server_port))
            yield made, node
        node.stop()


def test_a_refund_whose_receipt_is_lost_is_not_returned_again_with_the_tokens_of_another_payer(
    deployment: tuple[Deployment, TroubledNode],
) -> None:
    """The refund cannot be made in time, and the merchant has the tokens back."""
    made, node = deployment
    payment = made.create()
    path = f"{ROOT}/{payment['requestId']}"
    made.call("POST", f"{path}/authorize", {})
    made.minutes(2)
    made.call("POST", f"{path}/capture", {"captureAmount": str(60 * UNIT)})
    made.minutes(2)
    allow = erc20.approve(made.token, payment["operator"], 10 * UNIT)
    made.sign(MERCHANT, allow.to, allow.data)
    made.call("POST", f"{path}/refund", {"refundAmount": str(10 * UNIT)})
    made.world.advance(20)
    made.tick()
    track(made.world.services, "base")
    assert made.balances()[3] == (OTHERS + 10 * UNIT) / UNIT
    made.world.advance(timedelta(minutes=31).total_seconds())
    node.lie = losing(head(made.chain) + 1)
    for _ in range(26):
        run_due(made.world.services)
        made.tick()
        track(made.world.services, "base")
        made.world.advance(60)
    assert made.balances() == [900, 60, 0, OTHERS / UNIT]
    node.lie = None
    made.minutes(8)
    assert made.balances() == [900, 60, 0, OTHERS / UNIT]
    assert made.status(payment)["refundedAmount"] == "0"
