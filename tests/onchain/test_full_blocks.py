"""A block with more logs than a node returns: anybody can fill one through the real proxy, and no network may stop."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.chains import Chains
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.scanning import store as scan_store
from infra.local.chain import Chain
from tests.fakes.world import PAYEE, World, in_process_aws
from tests.onchain.capped_node import CappedNode, Words, alchemy, infura, reth
from tests.onchain.conftest import Nodes
from tests.onchain.hostile import assemble
from tests.onchain.payer import Payer
from tests.support.rehearsed import rehearsed

SPAMMER, WORTHLESS, STRANGER = ("0x" + byte * 20 for byte in ("5b", "5c", "5d"))
LOGS = 10_400
GAS_PER_TRANSACTION = 16_000_000
"""Below the 2**24 of mainnet (EIP-7825)."""
LOGS_PER_TRANSACTION = 1_300
REPEATED = f"""
    0x20 CALLDATASIZE SUB 0x20 PUSH0 CALLDATACOPY PUSH0 CALLDATALOAD
    :again PUSH0 PUSH0 0x20 CALLDATASIZE SUB PUSH0 PUSH0 {address_of(ERC20_FEE_PROXY, "sepolia").lower()} GAS CALL POP
    0x01 SUB PUSH0 SUB DUP1 @again JUMPI STOP
"""
"""A contract that calls the proxy with the rest of its calldata, as often as the first word says."""


def fill_block(chain: Chain, *others: dict[str, Any], reference: bytes = b"spamspam", logs: int = LOGS) -> int:
    """Mines a block with so many logs of the real proxy, of a token that moves nothing, and other transactions in their
    midst ({from, to, data}); returns its number."""
    chain.rpc("evm_setBlockGasLimit", hex(400_000_000))
    chain.rpc("anvil_setCode", SPAMMER, "0x" + assemble(REPEATED).hex())
    chain.rpc("anvil_setCode", WORTHLESS, "0x00")
    chain.fund_native(STRANGER, 10**20)
    paying = pay_erc20("sepolia", token=WORTHLESS, payee=PAYEE, amount=1, reference=reference)
    chain.rpc("evm_setAutomine", False)
    try:
        for index, start in enumerate(range(0, logs, LOGS_PER_TRANSACTION)):
            if index == 1:
                for other in others:
                    chain.send_as(other["from"], other)
            times = min(LOGS_PER_TRANSACTION, logs - start)
            data = f"0x{times:064x}{paying.data[2:]}"
            chain.send_as(STRANGER, {"to": SPAMMER, "data": data}, gas=GAS_PER_TRANSACTION)
        chain.mine()
    finally:
        chain.rpc("evm_setAutomine", True)
    number = int(chain.rpc("eth_blockNumber"), 16)
    found = chain.rpc("eth_getLogs", {"fromBlock": hex(number), "toBlock": hex(number)})
    assert len(found) >= logs
    return number


@pytest.fixture
def behind(chain: Chain) -> Iterator[Callable[..., tuple[CappedNode, World]]]:
    """behind(cap=100): a node with limits in front of the chain, and a deployment that reads it."""
    nodes = list[CappedNode]()
    with in_process_aws() as client:

        def start(**limits: Any) -> tuple[CappedNode, World]:
            nodes.append(CappedNode(chain, **limits))
            return nodes[-1], World(client, chains=Chains(Nodes({"sepolia": nodes[-1].url})))

        yield start
    for node in nodes:
        node.stop()


@pytest.mark.parametrize(
    ("cap", "words", "missing"),
    [
        pytest.param(10_000, infura, frozenset[str](), marks=rehearsed),
        (1_000, alchemy, frozenset({"eth_getBlockReceipts"})),
        pytest.param(100, reth, frozenset[str](), marks=rehearsed),
    ],
)
def test_a_block_with_more_logs_than_the_node_returns_delays_its_network_by_a_tick_and_loses_no_payment(
    chain: Chain,
    payer: Payer,
    behind: Callable[..., tuple[CappedNode, World]],
    cap: int,
    words: Words,
    missing: frozenset[str],
) -> None:
    node, world = behind(cap=cap, words=words, missing=missing)
    chain.mine(5)
    world.tick(network="sepolia")
    before, inside, after = (world.create_link() for _ in range(3))
    payer.pay(world, before)
    approval, paying = payer.quote(world, inside)["transactions"]
    payer.send(approval)
    chain.mine(20)
    fill_block(chain, {**paying, "from": payer.address})
    chain.mine(20)
    payer.pay(world, after)
    chain.mine(2)
    node.calls.clear()
    node.requests, ticks, confirmed = 0, 0, int(chain.rpc("eth_blockNumber"), 16) - 1
    while ticks < 2 and read_to(world) < confirmed:
        world.tick(network="sepolia")
        ticks += 1
    assert read_to(world) == confirmed
    for payment in (before, inside, after):
        assert world.load(payment).link.status is LinkStatus.COMPLETED
        assert world.load(payment).requests[0].payment_count == 1
    assert node.requests <= 36, node.calls
    assert node.calls["eth_getLogs"] <= 20
    of_blocks, of_transactions = node.calls["eth_getBlockReceipts"], node.calls["eth_getTransactionReceipt"]
    of_the_block = "of the full block, of those with payments, and one of each payment for what arrived"
    assert (of_blocks <= 4, of_transactions <= 16 + 3) == (True, True), of_the_block


def read_to(world: World) -> int:
    cursor = scan_store.cursor(world.services.store, "sepolia")
    assert cursor is not None
    return cursor.scanned_to


def test_a_log_that_a_node_lists_twice_is_compared_with_the_real_receipt(
    chain: Chain, payer: Payer, behind: Callable[..., tuple[CappedNode, World]]
) -> None:
    node, world = behind()
    chain.mine(5)
    world.tick(network="sepolia")
    payment = world.create_link()
    payer.pay(world, payment)
    chain.mine(2)
    node.change = lambda method, result: listed_twice(result) if method == "eth_getLogs" else result
    for _ in range(2):
        world.tick(network="sepolia")
        assert world.load(payment).requests[0].payment_count == 0
    node.change = lambda method, result: result
    world.tick(network="sepolia")
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(payment).requests[0].payment_count == 1


def test_a_payment_of_a_transaction_that_was_never_there_is_taken_back_by_the_real_block(
    chain: Chain, payer: Payer, behind: Callable[..., tuple[CappedNode, World]]
) -> None:
    node, world = behind()
    chain.mine(5)
    world.tick(network="sepolia")
    payment = world.create_link()
    payer.pay(world, payment)
    chain.mine(2)
    made_up = "0x" + "7a" * 32
    node.change = lambda method, result: (
        [{**log, "transactionHash": made_up} for log in result] if method == "eth_getLogs" else result
    )
    world.tick(network="sepolia")
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    node.change = lambda method, result: result
    for _ in range(3):
        world.advance(601)
        for _ in range(2):
            chain.mine(2)
            world.tick(network="sepolia")
    after = world.load(payment).requests[0]
    assert (after.paid, after.payment_count, after.confirmed_count) == (payment.requests[0].amount, 2, 1)


def listed_twice(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*logs, *({**log, "logIndex": hex(int(log["logIndex"], 16) + 100)} for log in logs)]
