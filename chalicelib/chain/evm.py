"""EVM nodes over JSON-RPC: balances for a payer, logs and block hashes for the scan, simulations, wallets' signatures.

Requests of one question travel in one JSON-RPC batch. web3 is imported by the first call, never at start.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Any

from chalicelib.base.addresses import address_bytes, evm_address, same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.base.signatures import recover_digest
from chalicelib.calldata import erc20, erc6492
from chalicelib.calldata import multicall3 as multicall
from chalicelib.calldata.batch import batch_fee_of
from chalicelib.calldata.transaction import Call, Transaction
from chalicelib.catalogue.contracts import fee_proxies
from chalicelib.catalogue.networks import network
from chalicelib.chain import simulation
from chalicelib.chain.jsonrpc import (
    CONNECT_SECONDS,
    READ_SECONDS,
    Question,
    RpcError,
    TooSlow,
    asks,
    raise_first_error,
    results,
)
from chalicelib.chain.logs import TRANSFER_TOPICS, BlockRange, Checkpoint
from chalicelib.chain.receipts import PaidTransfer, Payer, payer
from chalicelib.chain.safe_events import SAFE_TOPICS, SafeEvent, read_event
from chalicelib.chain.simulation import Simulation, StepResult

_TOO_MANY = ("block range", "range too", "range is too", "too many results", "more than", "response size", "too large")
_SAFE_NONCE = "0xaffed0e0"
_DELEGATION, _DELEGATION_LENGTH = "0xef0100", 48
"""What a key's own address has for code once it borrows that of a contract (EIP-7702)."""
_HIGHEST_BATCH_FEE = 1_000
"""Basis points. The contract's owner can set any; what is more than a tenth is not offered to a payer."""
_HIGHEST_GAS_PRICE = 2**128


@dataclass(frozen=True)
class TokenReading:
    """What a wallet holds of a token, and how much of it the spender may take, in base units."""

    balance: BaseUnits
    allowance: BaseUnits


@dataclass(frozen=True)
class WalletReading:
    """What a wallet holds, in base units; `tokens` by their addresses as they were asked for.

    `batch_fee_bps` is the batch contract's own fee in basis points, 0 where it was not asked for. `gas_price` is in
    base units of the native coin per gas; on tron, per unit of energy.
    """

    native_balance: BaseUnits
    tokens: Mapping[str, TokenReading]
    gas_price: BaseUnits
    batch_fee_bps: int = 0


@dataclass(frozen=True)
class RangeReading:
    """The proxies' raw logs of a block range, and the hash of its last block, read before and after the logs."""

    logs: tuple[Mapping[str, Any], ...]
    last_hash: str


class RangeTooLarge(Exception):
    """The node refuses so many blocks or logs at once, or takes too long for them; ask for fewer."""


class Disconnected(Exception):
    """The range does not continue from the checkpoint before it: a fork went deeper than the confirmations."""


class EvmChain:
    """One network's node. Every method raises ChainUnavailable when the node does not answer as it should."""

    def __init__(self, network: str, url: str) -> None:
        self.network = network
        self._url = url
        self._simulates = True

    @asks
    def read_wallet(
        self, wallet: str, tokens: Sequence[str], spender: str, *, batch_fee: bool = False
    ) -> WalletReading:
        """Balances, allowances and the batch contract's fee by one multicall, and the gas price; up to 200 tokens."""
        reads = [multicall.eth_balance(self.network, wallet)]
        for token in tokens:
            reads += [erc20.balance_of(token, wallet), erc20.allowance(token, wallet, spender)]
        if batch_fee:
            reads.append(batch_fee_of(self.network))
        question = self._call(multicall.aggregate(self.network, reads))
        answer, gas_price = self._batch([question, ("eth_gasPrice", [])])
        values = [multicall.as_uint(value) for value in multicall.decode(answer)]
        if len(values) != len(reads):
            raise ChainUnavailable(f"The {self.network} node gave no answer to a multicall")
        known = [value for value in values if value is not None]
        if len(known) != len(reads):
            raise ChainUnavailable(f"A contract on {self.network} does not answer balanceOf, allowance or batchFee")
        fee = self._checked_fee(known.pop()) if batch_fee else 0
        return wallet_reading(tokens, known, int(gas_price, 16), fee)

    @asks
    def read_batch_fee(self) -> int:
        """The batch contract's own fee, in basis points of what is paid. ChainUnavailable when it is out of reason."""
        (answer,) = self._batch([self._call(batch_fee_of(self.network))])
        return self._checked_fee(int(answer, 16))

    @asks
    def has_code(self, address: str) -> bool:
        """Whether a contract lives at the address."""
        (code,) = self._batch([("eth_getCode", [self._hex(address), "latest"])])
        return len(code) > 2

    @asks
    def would_revert(self, sender: str, to: str, data: str) -> bool:
        """Whether the node says that this call fails now."""
        try:
            self._batch([("eth_call", [{"from": sender, "to": to, "data": data}, "latest"])])
        except RpcError:
            return True
        return False

    @asks
    def is_valid_signature(self, address: str, digest: bytes, signature: bytes) -> bool:
        """Whether the wallet at an address stands by a signature over 32 bytes, at the newest block.

        An EOA's is recovered, without the node. A contract's is asked for by ERC-1271, and by ERC-6492 when it is not
        deployed yet, in one eth_call that changes nothing; whatever fails in the wallet's code is a no.
        """
        signer = recover_digest(digest, signature)
        if signer is not None and same_address(signer, address):
            return True
        question = {"data": erc6492.validation(address, digest, signature), "gas": hex(erc6492.GAS)}
        try:
            (answer,) = self._batch([("eth_call", [question, "latest"])])
        except RpcError as error:
            if error.is_revert:
                return False
            raise
        return int(answer, 16) == 1

    @asks
    def simulate(self, sent: Sequence[tuple[str, Transaction]]) -> Simulation:
        """What transactions would do, each with its sender, one after the other, at the newest block.

        By eth_simulateV1 where the node has it. A node that has not runs the first one alone, by eth_call; what the
        others do depends on it.
        """
        calls = [self._transaction(sender, each) for sender, each in sent]
        if self._simulates:
            try:
                return Simulation("eth_simulateV1", self._simulated(calls))
            except RpcError as error:
                self._simulates = not error.is_method_unknown
        asked: list[Question] = [("eth_call", [calls[0], "latest"]), ("eth_estimateGas", [calls[0]])]
        first = simulation.called_step(*self._each(asked))
        rest = (StepResult(None, simulation.UNKNOWN_STEP) for _ in calls[1:])
        return Simulation("eth_call", (first, *rest))

    @asks
    def payers_of(self, payments: Sequence[PaidTransfer]) -> tuple[Payer | None, ...]:
        """Who paid each of them, from the receipts; None where that cannot be told: see chain/receipts.py.

        Payers who did not send the transaction themselves are asked for code, in a second batch.
        """
        hashes = list(dict.fromkeys(payment.tx_hash for payment in payments))
        questions: list[Question] = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in hashes]
        receipts = dict(zip(hashes, self._batch(questions) if questions else (), strict=True))
        found = [(receipts[each.tx_hash], each) for each in payments]
        payers = [payer(self.network, receipt, each) if receipt else None for receipt, each in found]
        senders = {address_bytes(receipt["from"]) for receipt in receipts.values() if receipt}
        others = list(dict.fromkeys(self._text(raw) for raw in payers if raw is not None and raw not in senders))
        contracts = self._contracts(others)
        named = (None if raw is None else self._text(raw) for raw in payers)
        return tuple(None if name is None else Payer(name, name not in contracts) for name in named)

    @asks
    def safe_nonce(self, safe: str, block: int) -> int:
        """How many transactions a Safe had executed after a block, which is the nonce of its next one then."""
        method, (read, _) = self._call(Call(safe, _SAFE_NONCE))
        (answer,) = self._batch([(method, [read, hex(block)])])
        return int(answer, 16)

    @asks
    def safe_event(self, safe: str, safe_tx_hash: str, blocks: BlockRange) -> SafeEvent | None:
        """What a Safe says of a transaction in a block range; None: nothing. Raises RangeTooLarge as read_range does.

        By its hash, which 1.4.1 indexes, and where that finds nothing among all events, for 1.3.0. What is no Safe may
        emit as many as it likes: a single block of more events than the node answers for counts as one without any.
        """
        indexed, each = (_filter(blocks, [safe], SAFE_TOPICS, *rest) for rest in ([[safe_tx_hash]], []))
        asked: list[Question] = [("eth_getLogs", [indexed]), _block(blocks.last), ("eth_getLogs", [each])]
        with _of_range():
            found, end, others = self._each(asked)
            raise_first_error([end, found])
            if not end:
                raise ChainUnavailable(f"The {self.network} node does not have block {blocks.last} yet")
            event = self._event_among(found, safe, safe_tx_hash, blocks)
            if event is not None:
                return event
            if blocks.first == blocks.last and isinstance(others, RpcError) and others.says(*_TOO_MANY):
                return None
            raise_first_error([others])
            return self._event_among(others, safe, safe_tx_hash, blocks)

    @asks
    def head(self) -> int:
        """The newest block's number. Raises ChainUnavailable also when the node is of another chain.

        The native proxy has one address on several chains: a node of the wrong one would turn cheap coins into dear
        ones.
        """
        chain_id, number = self._batch([("eth_chainId", []), ("eth_blockNumber", [])])
        self._check_chain(chain_id)
        return int(number, 16)

    @asks
    def block_hashes(self, numbers: Sequence[int]) -> dict[int, str]:
        """The canonical hash at each height now. A height that the node does not have is no answer: it lags behind."""
        return {number: block["hash"].lower() for number, block in self._blocks(numbers).items()}

    @asks
    def block_times(self, numbers: Sequence[int]) -> dict[int, datetime]:
        """When each block was made (UTC); heights that the node does not have are no answer, as in block_hashes."""
        found = self._blocks(numbers)
        return {number: datetime.fromtimestamp(int(block["timestamp"], 16), UTC) for number, block in found.items()}

    @asks
    def read_range(self, blocks: BlockRange, after: Checkpoint | None) -> RangeReading:
        """The fee proxies' transfer logs of a range that continues from the checkpoint `after`.

        One batch reads the checkpoint's block, the last block, the logs, and the last block again: when the hashes
        agree, the node knew the whole range and no fork passed meanwhile. Raises Disconnected when the checkpoint is
        no longer canonical, RangeTooLarge when the node cannot answer for so many blocks.
        """
        proxies = [self._hex(proxy) for proxy in fee_proxies(self.network)]
        last, previous = _block(blocks.last), _block(after.number if after else blocks.last)
        asked = [previous, last, ("eth_getLogs", [_filter(blocks, proxies, TRANSFER_TOPICS)]), last]
        root, before, logs, now = self._range_batch(asked)
        if not root or not before or not now or before["hash"] != now["hash"] or not isinstance(logs, list):
            raise ChainUnavailable(f"The {self.network} node does not have block {blocks.last} settled")
        if after is not None and root["hash"].lower() != after.hash:
            raise Disconnected
        return RangeReading(self._within(blocks, logs), before["hash"].lower())

    def _simulated(self, calls: list[dict[str, str]]) -> tuple[StepResult, ...]:
        """The steps by eth_simulateV1: one block of the calls, unsigned and without fees, each on what the last left.

        Nodes refuse the whole when the sender lacks the coin that one call sends; that is the last one that sends any.
        """
        asked = {"blockStateCalls": [{"calls": calls}], "validation": False}
        try:
            (blocks,) = self._batch([("eth_simulateV1", [asked, "latest"])])
        except RpcError as error:
            cut = next((i for i in reversed(range(len(calls))) if int(calls[i]["value"], 16)), None)
            if cut is None or not simulation.lacks_funds(error):
                raise
            before = self._simulated(calls[:cut]) if cut else ()
            here = simulation.UNREACHED_STEP if simulation.UNFUNDED_STEP in before else simulation.UNFUNDED_STEP
            return (*before, here, *(simulation.UNREACHED_STEP for _ in calls[cut + 1 :]))
        steps = tuple(simulation.simulated_step(call) for call in blocks[0]["calls"])
        if len(steps) != len(calls):
            raise ChainUnavailable(f"The {self.network} node ran other calls than it was given")
        return steps

    def _blocks(self, numbers: Sequence[int]) -> dict[int, Mapping[str, Any]]:
        asked = list(dict.fromkeys(numbers))
        blocks = self._batch([_block(number) for number in asked]) if asked else []
        if not all(blocks):
            raise ChainUnavailable(f"The {self.network} node lags behind what it knew before")
        return dict(zip(asked, blocks, strict=True))

    def _event_among(self, logs: Any, safe: str, safe_tx_hash: str, blocks: BlockRange) -> SafeEvent | None:
        events = (read_event(safe, log) for log in self._within(blocks, logs))
        return next((event for event in events if event is not None and event.safe_tx_hash == safe_tx_hash), None)

    def _contracts(self, addresses: Sequence[str]) -> set[str]:
        """Those of the addresses that no key owns."""
        asked: list[Question] = [("eth_getCode", [self._hex(address), "latest"]) for address in addresses]
        codes = dict(zip(addresses, self._batch(asked) if asked else (), strict=True))
        delegated = {a for a, code in codes.items() if len(code) == _DELEGATION_LENGTH and code.startswith(_DELEGATION)}
        return {address for address, code in codes.items() if len(code) > 2} - delegated

    def _checked_fee(self, batch_fee_bps: int) -> int:
        if batch_fee_bps > _HIGHEST_BATCH_FEE:
            raise ChainUnavailable(f"The batch contract on {self.network} takes a fee out of reason")
        return batch_fee_bps

    def _within(self, blocks: BlockRange, logs: Any) -> tuple[Mapping[str, Any], ...]:
        if any(not blocks.first <= int(log["blockNumber"], 16) <= blocks.last for log in logs):
            raise ChainUnavailable(f"The {self.network} node gave logs of other blocks than it was asked for")
        return tuple(logs)

    def _check_chain(self, chain_id: str) -> None:
        known = network(self.network)
        if known is None or int(chain_id, 16) != known.chain_id:
            raise ChainUnavailable(f"The node for {self.network} is of chain {int(chain_id, 16)}")

    def _hex(self, address: str) -> str:
        """An address as the node takes it."""
        return address

    def _text(self, raw: bytes) -> str:
        """The 20 bytes of an address as callers write it."""
        return evm_address("0x" + raw.hex())

    def _call(self, read: Call) -> Question:
        return "eth_call", [{"to": self._hex(read.to), "data": read.data}, "latest"]

    def _transaction(self, sender: str, each: Transaction) -> dict[str, str]:
        return {"from": self._hex(sender), "to": self._hex(each.to), "data": each.data, "value": hex(each.value)}

    @cached_property
    def _provider(self) -> Any:
        return _web3().HTTPProvider(self._url, request_kwargs={"timeout": (CONNECT_SECONDS, READ_SECONDS)})

    def _batch(self, calls: Sequence[Question]) -> list[Any]:
        """The results of a JSON-RPC batch, in order. Raises RpcError for the first error object among them."""
        each = self._each(calls)
        raise_first_error(each)
        return each

    def _range_batch(self, calls: Sequence[Question]) -> list[Any]:
        """A batch with a question for logs, which the node may find too many."""
        with _of_range():
            return self._batch(calls)

    def _each(self, calls: Sequence[Question]) -> list[Any]:
        """The results of a JSON-RPC batch, in order, with an RpcError in the place of each that failed."""
        from requests import ReadTimeout

        try:
            answers = self._provider.make_batch_request(list(calls))
        except ReadTimeout as error:
            raise TooSlow(f"The {self.network} node takes too long") from error
        except (OSError, ValueError, TypeError, KeyError, RecursionError, _web3().exceptions.Web3Exception) as error:
            raise ChainUnavailable(f"The {self.network} node does not answer") from error
        return results(self.network, answers, len(calls))


@cache
def _web3() -> Any:
    """web3, imported once. What it imports raises the recursion limit of the process to 100,000, where JSON nested that
    deep, from anybody, ends the process instead of raising RecursionError: so the limit is put back."""
    limit = sys.getrecursionlimit()
    import web3

    sys.setrecursionlimit(limit)
    return web3


def wallet_reading(tokens: Sequence[str], values: Sequence[int], gas_price: int, batch_fee_bps: int) -> WalletReading:
    """A reading from the native balance, then balance and allowance of each token. ValueError for no gas price."""
    if not 0 <= gas_price < _HIGHEST_GAS_PRICE:
        raise ValueError("that is no gas price")
    native, *held = (BaseUnits(value) for value in values)
    pairs = zip(tokens, held[::2], held[1::2], strict=True)
    readings = {token: TokenReading(balance, allowance) for token, balance, allowance in pairs}
    return WalletReading(native, readings, BaseUnits(gas_price), batch_fee_bps)


def _block(number: int) -> Question:
    return "eth_getBlockByNumber", [hex(number), False]


def _filter(blocks: BlockRange, addresses: Sequence[str], *topics: Sequence[str]) -> dict[str, Any]:
    """Logs whose first topic is one of the first, whose second is one of the second, and so on."""
    span = {"fromBlock": hex(blocks.first), "toBlock": hex(blocks.last)}
    return {**span, "address": list(addresses), "topics": [list(each) for each in topics]}


@contextmanager
def _of_range() -> Iterator[None]:
    """Makes RangeTooLarge of a node's refusal to answer for so much."""
    try:
        yield
    except RpcError as error:
        if error.says(*_TOO_MANY):
            raise RangeTooLarge(error.reason) from error
        raise
    except TooSlow as error:
        raise RangeTooLarge("the node takes too long") from error
