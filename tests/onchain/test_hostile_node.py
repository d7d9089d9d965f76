"""A real chain behind a node whose answers are dropped, forged, doubled, reordered and pruned: what is known of blocks then.

HOSTILE_ANSWERS says how many answers are false; `make chaos` has 10,000 of them.
"""

import io
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.log_ranges import Disconnected, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import Nodes, one_node
from chalicelib.chains.proofs import headers
from chalicelib.chains.proofs.rlp import encode, list_root
from chalicelib.payments.scanning.checks.absence import TRIAL, Known, choose_headers, weigh
from chalicelib.payments.scanning.records import Cursor, Evidence
from infra.local.chain import Chain
from tests.fakes.metrics import FakeMetrics
from tests.fakes.world import PAYEE
from tests.onchain.troubled_node import TroubledNode

ANSWERS = int(os.environ.get("HOSTILE_ANSWERS", "200"))
NOW = datetime(2026, 3, 15, 10, tzinfo=UTC)
PROXY = address_of(ERC20_FEE_PROXY, "sepolia")
STRANGER, WORTHLESS = "0x" + "5d" * 20, "0x" + "5c" * 20
LOGS, RECEIPTS = "eth_getLogs", "eth_getBlockReceipts"
HEADERS = ("eth_getBlockByNumber", "eth_getBlockByHash")
Lie = Callable[[str, Any], Any]


class Liar:
    """Gives false answers of a method while `method` is set, by a `kind` that fits it; `answered` counts them."""

    def __init__(self, seed: int, chain: Chain) -> None:
        self.random, self.chain = random.Random(seed), chain
        self.method, self.kind, self.is_active = LOGS, "dropped", False
        self.answered = 0

    def __call__(self, method: str, params: list[Any], result: Any) -> Any:
        is_meant = method == self.method or (self.method in HEADERS and method in HEADERS)
        if not self.is_active or not is_meant or result is None:
            return result
        said = KINDS[self.method][self.kind](self, deepcopy(result))
        self.answered += said != result
        return said

    def other_block(self) -> Any:
        return self.chain.rpc("eth_getBlockByNumber", hex(self.random.randrange(3, 30)), False)


def changed_log(liar: Liar, log: dict[str, Any]) -> dict[str, Any]:
    """A log that says something else, or is somewhere else."""
    name = liar.random.choice(("data", "topics", "logIndex", "transactionHash", "address"))
    value = {
        "data": log["data"][:130] + f"{liar.random.randrange(2**64):064x}" + log["data"][194:],
        "topics": [log["topics"][0], "0x" + "ab" * 32],
        "logIndex": hex(int(log["logIndex"], 16) + 1),
        "transactionHash": "0x" + "cd" * 32,
        "address": "0xfffffffffffffffffffffffffffffffffffffffe",
    }[name]
    return {**log, name: value}


def forged_logs(liar: Liar, logs: list[Any]) -> list[Any]:
    at = liar.random.randrange(len(logs)) if logs else 0
    return [*logs[:at], changed_log(liar, logs[at]), *logs[at + 1 :]] if logs else logs


def dropped(liar: Liar, items: list[Any]) -> list[Any]:
    at = liar.random.randrange(len(items)) if items else 0
    return [*items[:at], *items[at + 1 :]]


def doubled(liar: Liar, items: list[Any]) -> list[Any]:
    return [*items, liar.random.choice(items)] if items else items


def forged_receipts(liar: Liar, receipts: list[Any]) -> list[Any]:
    with_logs = [each for each in receipts if each["logs"]]
    if with_logs:
        each = liar.random.choice(with_logs)
        each["logs"] = liar.random.choice((dropped, doubled, forged_logs))(liar, each["logs"])
    return receipts


def forged_field(liar: Liar, block: dict[str, Any]) -> dict[str, Any]:
    name = liar.random.choice(("logsBloom", "receiptsRoot", "parentHash", "stateRoot", "timestamp", "extraData"))
    block[name] = {"logsBloom": "0x" + "00" * 256, "timestamp": "0x7", "extraData": "0x01"}.get(name, "0x" + "ab" * 32)
    return block


def fitted(liar: Liar, block: dict[str, Any]) -> dict[str, Any]:
    """A header that hides the logs of its block, by a bloom or a root that fits, and has the hash of its fields: no block
    links to it, and no other node has it."""
    if liar.random.random() < 0.5:
        block["logsBloom"] = "0x" + "00" * 256
    else:
        block["receiptsRoot"] = "0x" + list_root([]).hex()
    known = headers._FIRST + tuple(each for each in headers._LATER if each[0] in block)
    block["hash"] = "0x" + keccak256(encode([headers._value(block[name], size) for name, size in known])).hex()
    return block


def without_field(liar: Liar, block: dict[str, Any]) -> dict[str, Any]:
    del block[liar.random.choice(("receiptsRoot", "logsBloom", "nonce", "parentHash", "requestsHash"))]
    return block


KINDS: dict[str, dict[str, Callable[[Liar, Any], Any]]] = {
    LOGS: {
        "dropped": dropped,
        "forged": forged_logs,
        "doubled": doubled,
        "reordered": lambda liar, logs: list(reversed(logs)),
        "pruned": lambda liar, logs: [],
    },
    RECEIPTS: {
        "dropped": dropped,
        "forged": forged_receipts,
        "doubled": doubled,
        "reordered": lambda liar, receipts: list(reversed(receipts)),
        "pruned": lambda liar, receipts: None,
        "of another block": lambda liar, receipts: liar.chain.rpc(RECEIPTS, liar.other_block()["hash"]),
    },
    HEADERS[0]: {
        "dropped": without_field,
        "forged": forged_field,
        "fitted": fitted,
        "added": lambda liar, block: {**block, "newForkRoot": "0x0"},
        "reordered": lambda liar, block: liar.other_block(),
        "pruned": lambda liar, block: None,
    },
}


class Reader:
    """Reads ranges of a chain by a liar and, unless it is alone, an honest node."""

    def __init__(self, chain: Chain, alone: bool, enforced: bool, every: int, seed: int) -> None:
        self.chain, self.liar = chain, Liar(seed, chain)
        self.node = TroubledNode(chain)
        self.node.lie = self.liar
        self.stream = io.StringIO()
        log = Logger(service="hostile", level="INFO")
        log.registered_handler.setStream(self.stream)  # type: ignore[attr-defined]
        self.services: Any = SimpleNamespace(clock=lambda: NOW, log=log, metrics=FakeMetrics())
        since = NOW - TRIAL if enforced else None
        self.cursor = Cursor("sepolia", 0, (), 100, headers_since=since, receipts_since=since)
        self.policy = replace(require_network("sepolia").absence, headers_every=every)
        self.alone = alone

    def read(self, blocks: BlockRange) -> Known | None:
        """None if the reading was refused."""
        liar = EvmChain("sepolia", self.node.url)
        nodes: Any = liar if self.alone else Nodes(
            [("liar", liar), ("honest", EvmChain("sepolia", self.chain.url))], lambda: NOW
        )
        chain, _ = one_node(nodes, False)
        self.liar.is_active = True
        try:
            reading = chain.read_range(blocks, None, choose_headers(self.policy, blocks))
            return weigh(self.services, chain, self.policy, self.cursor, blocks, reading, NOW + timedelta(hours=1))
        except (ChainUnavailable, RangeTooLarge, Disconnected):
            return None
        finally:
            self.liar.is_active = False

    def lines(self) -> Counter[str]:
        return Counter(json.loads(line)["message"] for line in self.stream.getvalue().splitlines())


@pytest.fixture
def paid(chain: Chain) -> Chain:
    """A chain with 30 blocks: some with payments, some with several, some with other logs, some empty."""
    chain.rpc("anvil_setCode", WORTHLESS, "0x00")
    chain.fund_native(STRANGER, 10**20)
    for number in range(30):
        chain.rpc("evm_setAutomine", False)
        for each in range((0, 1, 0, 3)[number % 4]):
            reference = f"{number:04}{each:04}".encode()
            call = pay_erc20("sepolia", token=WORTHLESS, payee=PAYEE, amount=5 + each, reference=reference)
            chain.send_as(STRANGER, {"to": PROXY, "data": call.data}, gas=200_000)
        chain.mine()
        chain.rpc("evm_setAutomine", True)
    return chain


def truth(chain: Chain, blocks: BlockRange) -> list[str]:
    place = {"fromBlock": hex(blocks.first), "toBlock": hex(blocks.last)}
    return said(chain.rpc(LOGS, {**place, "address": PROXY}))


def said(logs: Any) -> list[str]:
    names = ("blockHash", "logIndex", "transactionHash", "address", "topics", "data")
    return sorted(json.dumps([log[name] for name in names]) for log in logs)


def spans(chain: Chain, seed: int) -> Iterator[BlockRange]:
    head, chosen = int(chain.rpc("eth_blockNumber"), 16), random.Random(seed)
    while True:
        first = chosen.randrange(head - 30, head - 1)
        yield BlockRange(first, min(first + chosen.randrange(1, 12), head))


@pytest.mark.parametrize("every", [1, 100])
def test_an_honest_node_raises_no_alarm_and_its_blocks_are_known(paid: Chain, every: int) -> None:
    reader, ranges = Reader(paid, False, True, every, 7), spans(paid, 7)
    reader.liar.method = "none"
    for _ in range(30):
        blocks = next(ranges)
        known = reader.read(blocks)
        assert known is not None
        assert said(known.reading.logs) == truth(paid, blocks)
        assert known.evidence.is_proof if every == 1 else known.evidence is Evidence.CORROBORATED
    reader.node.stop()
    assert reader.lines() == {}


def kinds_of(every: int) -> list[tuple[str, str]]:
    """Method and kind of each lie; where few headers are read, of the lists of logs alone."""
    return [(method, kind) for method, kinds in KINDS.items() if every == 1 or method == LOGS for kind in kinds]


CASES = [(False, True, 1), (False, False, 1), (False, True, 100), (True, True, 1)]
IDS = ["two nodes", "two nodes, on trial", "two nodes, few headers", "alone"]


@pytest.mark.parametrize(("alone", "enforced", "every"), CASES, ids=IDS)
def test_no_false_answer_is_taken_for_known(paid: Chain, alone: bool, enforced: bool, every: int) -> None:
    """What is known as more than unproved is what the chain has; what one node says alone is never more."""
    for seed, (method, kind) in enumerate(kinds_of(every)):
        reader, ranges = Reader(paid, alone, enforced, every, seed), spans(paid, seed)
        reader.liar.method, reader.liar.kind = method, kind
        wanted = ANSWERS // sum(len(kinds_of(each)) for *_, each in CASES) + 1
        for _ in range(wanted * 40):
            if reader.liar.answered >= wanted:
                break
            blocks = next(ranges)
            known = reader.read(blocks)
            if known is not None and known.evidence is not Evidence.UNPROVED:
                assert not alone
                assert said(known.reading.logs) == truth(paid, blocks), (method, kind, blocks)
        reader.node.stop()
        assert reader.liar.answered >= wanted, (method, kind)
