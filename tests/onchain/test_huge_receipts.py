"""Transactions with receipts of 13 MiB, which anybody can make for 15.7 million gas each, under a known reference."""

import json
import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.chains import Chains
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.transfers import flows as transfers
from infra.local.chain import Chain
from tests.fakes.world import World, in_process_aws
from tests.onchain.conftest import Nodes
from tests.onchain.hostile import assemble
from tests.onchain.payer import Payer
from tests.onchain.test_full_blocks import GAS_PER_TRANSACTION, SPAMMER, STRANGER, read_to
from tests.support.rehearsed import rehearsed

TRANSACTIONS, EMPTY_LOGS = 8, 38_500
PROXY = address_of(ERC20_FEE_PROXY, "sepolia").lower()
LOGS_AND_PAYMENTS = f"""
    0x40 CALLDATASIZE SUB 0x40 PUSH0 CALLDATACOPY PUSH0 CALLDATALOAD
    :logs PUSH0 PUSH0 LOG0 0x01 PUSH0 SUB ADD DUP1 @logs JUMPI POP
    0x20 CALLDATALOAD
    :again PUSH0 PUSH0 0x40 CALLDATASIZE SUB PUSH0 PUSH0 {PROXY} GAS CALL POP
    0x01 PUSH0 SUB ADD DUP1 @again JUMPI STOP
"""
"""A contract that makes as many empty logs as the first word of its calldata says, and calls the proxy with the rest as
often as the second says."""
MOST_MEMORY = 384 * 1024
"""Kilobytes of this process: with what it has before, less than scan_chain has."""


@pytest.fixture
def world(chain: Chain) -> Iterator[World]:
    """A deployment whose ticks take as long as they take; one at the fakes' clock alone would have time without end."""
    began = time.monotonic()
    with in_process_aws() as client:
        made = World(client, chains=Chains(Nodes({"sepolia": chain.url})))
        made.services = replace(made.services, clock=lambda: made.now + timedelta(seconds=time.monotonic() - began))
        yield made


def tick(world: World) -> None:
    scan_chain(world.services, json.dumps({"network": "sepolia"}))
    world.record()


def memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def spam(
    chain: Chain,
    approval: dict[str, Any],
    paying: dict[str, Any],
    count: int,
    *others: dict[str, Any],
    transactions: int = TRANSACTIONS,
    logs: int = EMPTY_LOGS,
    gas: int = GAS_PER_TRANSACTION,
) -> None:
    """Mines the transactions, each of which pays `count` times, in one block with other ones ({from, to, data})."""
    chain.rpc("evm_setBlockGasLimit", hex(400_000_000))
    for stranger in (SPAMMER, STRANGER):
        chain.fund_native(stranger, 10**20)
    chain.fund_token(SPAMMER, approval["to"], 10**24)
    chain.receipt(chain.send_as(SPAMMER, {"to": approval["to"], "data": approval["data"][:74] + "f" * 64}))
    chain.rpc("anvil_setCode", SPAMMER, "0x" + assemble(LOGS_AND_PAYMENTS).hex())
    data = f"0x{logs:064x}{count:064x}{paying['data'][2:]}"
    chain.rpc("evm_setAutomine", False)
    try:
        sent = [chain.send_as(STRANGER, {"to": SPAMMER, "data": data}, gas=gas) for _ in range(transactions)]
        for other in others:
            chain.send_as(other["from"], other)
        chain.mine()
    finally:
        chain.rpc("evm_setAutomine", True)
    assert {chain.rpc("eth_getTransactionReceipt", each)["status"] for each in sent} == {"0x1"}


@rehearsed
@pytest.mark.parametrize("count", [1, 2])
def test_payments_with_real_huge_receipts_stop_neither_the_network_nor_other_payments_nor_the_list_of_transfers(
    chain: Chain, payer: Payer, world: World, count: int
) -> None:
    """Two equal payments of a transaction are compared with its receipt; of one its payer is read from it."""
    chain.mine(5)
    tick(world)
    spammed, beside, later = (world.create_link() for _ in range(3))
    (_, spamming), (approval, paying) = (payer.quote(world, each)["transactions"] for each in (spammed, beside))
    payer.send(approval)
    spam(chain, approval, spamming, count, {**paying, "from": payer.address})
    payer.pay(world, later)
    chain.mine(3)
    before, confirmed = memory(), int(chain.rpc("eth_blockNumber"), 16) - 1
    for _ in range(2):
        tick(world)
    assert read_to(world) == confirmed, "no lag after two ticks"
    assert {world.load(each).link.status for each in (beside, later)} == {LinkStatus.COMPLETED}
    for _ in range(4):
        world.advance(5)
        tick(world)
    assert world.load(spammed).requests[0].payment_count == TRANSACTIONS * count
    viewer = Viewer(world.account_id, None)
    _, listed = transfers.list_of_request(world.services, spammed.requests[0].request_id, viewer)
    reasons = [each.unavailable or "" for each in listed.transfers]
    contract = [each.startswith("A contract paid") for each in reasons]
    assert contract.count(True) == TRANSACTIONS * count - 1, f"who paid was read of all that can be refunded: {reasons}"
    assert memory() - before < MOST_MEMORY


@rehearsed
def test_many_receipts_that_together_are_larger_than_the_memory_stop_nothing_either(
    chain: Chain, payer: Payer, world: World
) -> None:
    """Receipts of 330 kB, for 460,000 gas each: a hundred of them fit into one response, and 450 were read at once."""
    chain.mine(5)
    tick(world)
    spammed, beside = (world.create_link() for _ in range(2))
    (_, spamming), (approval, paying) = (payer.quote(world, each)["transactions"] for each in (spammed, beside))
    payer.send(approval)
    many = {"transactions": 450, "logs": 850, "gas": 800_000}
    spam(chain, approval, spamming, 2, {**paying, "from": payer.address}, **many)
    chain.mine(3)
    before, confirmed = memory(), int(chain.rpc("eth_blockNumber"), 16) - 1
    for _ in range(2):
        tick(world)
    assert read_to(world) == confirmed, "no lag after two ticks"
    assert world.load(beside).link.status is LinkStatus.COMPLETED
    assert 0 < world.load(spammed).requests[0].payment_count < 2 * 450, "the others are read later, five a tick"
    assert memory() - before < MOST_MEMORY // 2
