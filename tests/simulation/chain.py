"""Chains with a block each minute, what wallets send to them, and nodes in front of them that fail and lie."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

from eth_abi import decode

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_FEE_PROXY, NATIVE_FEE_PROXY, address_of
from chalicelib.chains.catalogue.tokens import token_at, token_with_id
from chalicelib.chains.nodes.history import log_ranges
from chalicelib.chains.nodes.history.full_blocks import LogFilter
from chalicelib.chains.nodes.history.log_ranges import BlockPayments, RangeReading, RangeTooLarge
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, BlockRange, Checkpoint
from chalicelib.chains.nodes.history.receipts import BlockReceipts
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.readings import Receipt
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient
from chalicelib.chains.nodes.rpc.receipts import RawReceipts
from chalicelib.chains.proofs.headers import Checked, Forged, NotChecked
from tests.fakes.chain import Block, FakeChain, by_transaction
from tests.simulation.chance import Chance
from tests.simulation.rpc import MOST_LOGS, CappedHttp

MINUTE = timedelta(minutes=1)
CONFIRMATIONS = 3
LAG = 8
"""How many blocks a lagging node does not have."""
_DETAILS = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"
OTHER_TOKEN = "0x" + "bad" * 13 + "b"
"""A token that anybody has made, and that is worth nothing."""


@dataclass(frozen=True)
class Transfer:
    """What a wallet sends through a fee proxy; amounts in base units of the token with this id."""

    network: str
    currency: str
    payee: str
    amount: int
    reference: str
    fee: int = 0
    fee_address: str = "0x" + "00" * 20
    token: str = ""
    """Its address, if it is not that of the currency."""

    def log(self, chain: FakeChain, tx_hash: str, place: int) -> dict[str, Any]:
        """The log of it in the newest block, the `place`th of the transaction."""
        paid = SimpleNamespace(
            currency=self.currency, payee=self.payee, amount=self.amount, payment_reference=self.reference
        )
        altered = {"fee_address": self.fee_address, **({"token": self.token} if self.token else {})}
        log = chain.pay_too(paid, fee=self.fee, **altered)  # type: ignore[arg-type]
        log["transactionHash"] = tx_hash
        return log


class SimulatedChain(FakeChain):
    """A block each minute with what was sent before it. `pool` waits for the next block, by the hash of the
    transaction; the times of blocks are whole minutes."""

    def __init__(self, network: str, seed: int, now: datetime) -> None:
        self.minute = now
        self._name = sha256(f"{network}/{seed}".encode()).hexdigest()[:40]
        self.pool: dict[str, list[Transfer]] = {}
        self.soon: list[Callable[[], Any]] = []
        """What happens in the next block besides."""
        self.logged: list[int] = []
        """The numbers of blocks with logs, in order."""
        self._found: dict[str, list[dict[str, Any]]] = {}
        self._found_to = 0
        self._headers: dict[str, Checked] = {}
        super().__init__(network, seed)
        self.is_checkable = True
        self.clock = lambda: self.minute
        self.genesis = now - 10 * MINUTE
        for number, block in enumerate(self.blocks):
            block.time = now - (len(self.blocks) - number) * MINUTE

    def mine(self, count: int = 1) -> None:
        """As the fake does, at a tenth of the cost: thousands of blocks are empty."""
        for _ in range(count):
            number = len(self.blocks)
            name = f"0x{self._name}{self._branch:08x}{number:016x}"
            self.blocks.append(Block(number, name, self.minute))
            if self.mempool.waiting:
                self.mempool.include()

    def submit(self, payer: str, transfers: Sequence[Transfer], name: str) -> str:
        """A transaction of a wallet, which gets into the next block; `name` is what makes its hash. Returns the hash."""
        tx_hash = "0x" + sha256(f"{self.network}/{name}".encode()).hexdigest()
        self.pool[tx_hash] = list(transfers)
        self.payers[tx_hash] = payer
        return tx_hash

    def pass_to(self, minute: datetime) -> None:
        """Mines the blocks of all minutes up to this one."""
        while self.minute < minute:
            self.minute += MINUTE
            self.mine()
            if self.pool:
                for tx_hash, transfers in self.pool.items():
                    for place, each in enumerate(transfers):
                        each.log(self, tx_hash, place)
                self.pool = {}
            acts, self.soon = self.soon, []
            for act in acts:
                act()
            self.note(self.blocks[-1])

    def next_block(self, act: Callable[[], Any]) -> None:
        """Has something happen in the next block."""
        self.soon.append(act)

    def note(self, block: Block) -> None:
        """Remembers that a block has logs."""
        if block.logs and (not self.logged or self.logged[-1] < block.number):
            self.logged.append(block.number)

    def reorganise(self, depth: int, is_lost: Callable[[str], bool]) -> None:
        """Another branch of the same length wins; its first block has the transactions of the old one again, except
        those that are lost: their wallets have sent something else with the nonce."""
        first = len(self.blocks) - depth
        times = [block.time for block in self.blocks[first:]]
        self._found_to = min(self._found_to, first)
        del self.logged[bisect_left(self.logged, first) :]
        dropped = self.fork(depth)
        block = self.blocks[first]
        for old in dropped:
            for log in old.logs:
                if log["transactionHash"] not in self.payers or not is_lost(log["transactionHash"]):
                    place = {"blockNumber": hex(block.number), "blockHash": block.hash, "logIndex": hex(len(block.logs))}
                    block.logs.append({**log, **place})
        for each, time in zip(self.blocks[first:], times, strict=True):
            each.time = time
            self.note(each)

    def canonical(self) -> Iterator[dict[str, Any]]:
        """All logs of the fee proxy in blocks that are deep enough to be confirmed."""
        for number in self.logged:
            if number <= len(self.blocks) - CONFIRMATIONS:
                yield from (log for log in self.blocks[number].logs if log["topics"][0] == ERC20_TRANSFER_TOPIC)

    def _header(self, number: int) -> Checked:
        """As the fake's, made once for each block."""
        block = self.blocks[number] if number < len(self.blocks) else None
        if block is None:
            return NotChecked(number, "there is no such block")
        if block.hash not in self._headers:
            self._headers[block.hash] = super()._header(number)
        return self._headers[block.hash]

    # what FakeChain looks for in all blocks

    def find_receipts(self, tx_hashes: Sequence[str]) -> RawReceipts:
        self._read()
        logs = [log for each in tx_hashes for log in self._logs_of("0x" + each.removeprefix("0x"))]
        return by_transaction(tx_hashes, self._with_transfers(logs))

    def _logs_of(self, tx_hash: str) -> list[dict[str, Any]]:
        for block in self.blocks[self._found_to : -1]:
            for log in block.logs:
                self._found.setdefault(log["transactionHash"], []).append(log)
        self._found_to = max(self._found_to, len(self.blocks) - 1)
        kept = [log for log in self._found.get(tx_hash, ()) if self._is_there(log)]
        return kept + [log for log in self.blocks[-1].logs if log["transactionHash"] == tx_hash]

    def _is_there(self, log: dict[str, Any]) -> bool:
        number = int(log["blockNumber"], 16)
        return number < len(self.blocks) - 1 and self.blocks[number].hash == log["blockHash"]


class FaultyNode:
    """A node in front of a chain. `trouble` is what is wrong with it now, if anything:

    down        answers nothing                     hides       its queries for logs list none
    lags        lacks the newest blocks             doubles     lists each log twice
    forges      lists logs that are not there       pruned      has no receipts of the service's own transactions
    reorders    lists logs from the last one on     misnames    has headers that are not those of their hashes
    """

    TROUBLES = ("down", "lags", "hides", "doubles", "forges", "pruned", "reorders", "misnames")

    def __init__(self, chain: SimulatedChain, chance: Chance) -> None:
        self.chain, self.network, self.trouble = chain, chain.network, ""
        self.full_blocks = 0
        """How many blocks with more logs than it returns it was asked for."""
        self._chance = chance

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.chain, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._answer()
            return value(*args, **kwargs)

        return call

    def _answer(self) -> None:
        if self.trouble == "down" or self._chance.fires("node"):
            raise ChainUnavailable(f"The {self.network} node does not answer")

    @property
    def _known(self) -> int:
        """How many blocks it has."""
        return len(self.chain.blocks) - (LAG if self.trouble == "lags" else 0)

    def head(self) -> int:
        self._answer()
        return self._known - 1

    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str | None]:
        self._answer()
        return {n: hash if n < self._known else None for n, hash in self.chain.block_hashes(numbers).items()}

    def block_facts(self, numbers: Sequence[int]) -> Any:
        self._answer()
        if any(number >= self._known for number in numbers):
            raise ChainUnavailable("lags behind")
        return self.chain.block_facts(numbers)

    def read_range(
        self,
        blocks: BlockRange,
        after: Checkpoint | None,
        headers: Sequence[int] = (),
        again: BlockRange | None = None,
    ) -> RangeReading:
        if again is not None:
            reading = self.read_range(blocks, after, headers)
            try:
                return replace(reading, again=self.read_range(again, None).logs)
            except (ChainUnavailable, RangeTooLarge):
                return reading
        self._answer()
        if blocks.last >= self._known:
            raise ChainUnavailable("lags behind")
        reading = self.chain.read_range(blocks, after, headers)
        if len(reading.logs) > MOST_LOGS:
            reading = self._full(blocks, after, reading)
        if self.trouble == "hides":
            return replace(reading, logs=())
        if self.trouble == "doubles":
            again = tuple({**log, "logIndex": hex(int(log["logIndex"], 16) + 1000)} for log in reading.logs)
            return replace(reading, logs=(*reading.logs, *again))
        if self.trouble == "forges" and reading.logs:
            forged = {**reading.logs[0], "transactionHash": "0x" + "f0" * 32, "logIndex": "0x7f"}
            return replace(reading, logs=(*reading.logs, forged))
        if self.trouble == "reorders":
            return replace(reading, logs=reading.logs[::-1])
        if self.trouble == "misnames":
            return replace(reading, headers=tuple(map(Forged, headers)))
        return reading

    def read_payments(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        """What its queries for logs of single blocks list."""
        self._answer()
        known = [number for number in wanted if number < self._known]
        readings = {number: self.read_range(BlockRange(number, number), None) for number in known}
        return {
            number: BlockPayments(each.last, each.logs, self.chain._with_transfers(each.logs))
            for number, each in readings.items()
        }

    def read_transfers(self, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
        self._answer()
        if any(number >= self._known for number in wanted):
            raise ChainUnavailable("lags behind")
        return self.chain.read_transfers(wanted)

    def _full(self, blocks: BlockRange, after: Checkpoint | None, reading: RangeReading) -> RangeReading:
        """Blocks with more logs than it returns: the product's client has to read a single one of them otherwise."""
        if blocks.first != blocks.last:
            raise RangeTooLarge("query returned too many results")
        self.full_blocks += 1
        client: Any = CappedHttp(self.chain)
        node = JsonRpcClient(self.network, client)
        return replace(log_ranges.read_range(node, blocks, after, self.chain.escrow), headers=reading.headers)

    def read_headers(self, numbers: Sequence[int]) -> tuple[Checked, ...]:
        self._answer()
        if any(number >= self._known for number in numbers):
            raise ChainUnavailable("lags behind")
        return tuple(map(Forged, numbers)) if self.trouble == "misnames" else self.chain.read_headers(numbers)

    def read_receipts(self, number: int, tx_hashes: Sequence[str]) -> BlockReceipts:
        self._answer()
        if number >= self._known:
            raise ChainUnavailable("lags behind")
        return self.chain.read_receipts(number, tx_hashes)

    def receipts_of(self, tx_hashes: Sequence[str]) -> dict[str, Receipt]:
        self._answer()
        return {} if self.trouble == "pruned" else self.chain.receipts_of(tx_hashes)

    def sights(self, sought: Sequence[Any]) -> Any:
        self._answer()
        seen = self.chain.sights(sought)
        return tuple(replace(each, receipt=None, moved=()) for each in seen) if self.trouble == "pruned" else seen

    def send_raw(self, signed: Sequence[str]) -> Any:
        self._answer()
        answer = self.chain.send_raw(signed)
        if self._chance.fires("unsent"):
            raise ChainUnavailable("The answer is lost")
        return answer


class SimulatedChains:
    """In the place of `Chains`: two nodes of each network, as one process sees them."""

    def __init__(self, nodes: dict[str, tuple[FaultyNode, ...]], clock: Callable[[], datetime]) -> None:
        self.networks = tuple(nodes)
        self._of = {
            name: Nodes([(f"node-{number}", each) for number, each in enumerate(own)], clock)  # type: ignore[misc]
            for name, own in nodes.items()
        }

    def of(self, network: str) -> Any:
        if network not in self._of:
            raise ChainUnavailable(f"This deployment has no node for {network}")
        return self._of[network]

    evm = of

    def tron(self) -> Any:
        return self.of("tron")


def transfers_in(network: str, transactions: Iterable[dict[str, Any]]) -> list[Transfer]:
    """What transactions of a response pay, decoded independently of the service; approvals pay nothing."""
    found: list[Transfer] = []
    for each in transactions:
        to, data = each["to"], bytes.fromhex(each["data"][2:])
        if same_address(to, address_of(ERC20_FEE_PROXY, network)):
            found.append(_erc20(network, *decode(["address", "address", "uint256", "bytes", "uint256", "address"], data[4:])))
        elif same_address(to, address_of(NATIVE_FEE_PROXY, network)):
            payee, reference, fee, receiver = decode(["address", "bytes", "uint256", "address"], data[4:])
            coin = next(each for each in ("ETH-sepolia-sepolia",) if network == "sepolia")
            found.append(Transfer(network, coin, payee, _value(each) - fee, "0x" + reference.hex(), fee, receiver))
        elif same_address(to, address_of(BATCH, network)):
            assert data[:4].hex() == "9af8a581", "one token"
            details, _, receiver = decode([_DETAILS, "address[][]", "address"], data[4:])
            for payee, amount, path, reference, fee, _, _ in details:
                found.append(_erc20(network, path[0], payee, amount, reference, fee, receiver))
    return found


def _erc20(network: str, token: str, payee: str, amount: int, reference: bytes, fee: int, receiver: str) -> Transfer:
    known = token_at(network, evm_address(token))
    assert known is not None
    return Transfer(network, known.id, payee, amount, "0x" + reference.hex(), fee, receiver)


def _value(transaction: dict[str, Any]) -> int:
    value = transaction["value"]
    return int(value["hex"], 16) if isinstance(value, dict) else int(value)


def is_of(log: dict[str, Any], currency: str) -> bool:
    """Whether a log of a fee proxy is about this token."""
    token = token_with_id(currency)
    assert token is not None
    return token.is_native or same_address("0x" + log["data"][26:66], token.address)
