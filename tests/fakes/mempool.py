"""The waiting transactions of a chain in memory: accepts raw ones, puts them into blocks, drops, forgets and replaces."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Protocol

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.readings import (
    AccountReading,
    Receipt,
    Sight,
    Sought,
    StepResult,
    TokenBalances,
    UsedNonce,
)
from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout

GAS = 60_000


@dataclass(frozen=True)
class Raw:
    """A signed transaction as its bytes say it."""

    tx_hash: str
    sender: str
    nonce: int
    to: str
    data: str
    value: int
    gas: int
    max_fee: int
    tip: int
    delegate: str | None = None
    """The contract to which the sender delegates by it, which takes the next nonce, too."""


class Blocks(Protocol):
    """What of the chain (tests/fakes/chain.py) its waiting transactions need."""

    blocks: list[Any]

    def block_hashes(self, numbers: Any) -> Any: ...

    def receipts_of(self, hashes: Any) -> Any: ...


@dataclass
class Mempool:
    """`executes` is called for each transaction as it gets into a block; the text it returns is a revert reason.

    `dry_run` gives the revert reason of a call on the newest state. `holds` keeps transactions out of blocks. `answers`
    is how sending ends: "ok", "refused", "timeout before" or "timeout after" the node has taken the transactions.
    """

    chain: Blocks
    executes: Callable[[Raw], str | None] = lambda raw: None
    dry_run: Callable[[str, str], str | None] = lambda to, data: None
    balance: int = 10**21
    base_fee: int = 10**9
    tip: int = 10**8
    holds: bool = False
    answers: str = "ok"
    waiting: dict[tuple[str, int], Raw] = field(default_factory=dict)
    executed: dict[str, tuple[int, Raw, str | None]] = field(default_factory=dict)
    """{hash: (block number, transaction, revert reason)}"""
    sent: list[Raw] = field(default_factory=list)
    """Everything that was ever sent, each time."""
    transfers: dict[str, list[tuple[str, str, str, int]]] = field(default_factory=dict)
    """{hash: (token, sender, receiver, amount)} of the tokens that transactions in blocks have moved."""
    balance_of: Callable[[str, str], int] = lambda account, token: 0
    executing: str | None = None
    """The hash of the transaction that is being executed."""

    def include(self) -> None:
        """Puts what can be executed into the newest block."""
        for sender in sorted({raw.sender for raw in self.waiting.values()} if not self.holds else ()):
            while (raw := self.waiting.get((sender, self.nonce(sender)))) and raw.max_fee >= self.base_fee:
                self.execute(raw)

    def execute(self, raw: Raw) -> None:
        self.waiting.pop((raw.sender, raw.nonce), None)
        self.executing = raw.tx_hash
        self.executed[raw.tx_hash] = (len(self.chain.blocks) - 1, raw, self.executes(raw))
        self.executing = None

    def moved(self, token: str, sender: str, receiver: str, amount: int) -> None:
        """Notes what the transaction that is being executed moves; what moves without one is nobody's."""
        if self.executing is not None:
            self.transfers.setdefault(self.executing, []).append((token, sender, receiver, amount))

    def reorganise(self, from_block: int) -> None:
        """Returns the transactions of removed blocks to those that wait."""
        for tx_hash, (block, raw, _) in list(self.executed.items()):
            if block >= from_block:
                del self.executed[tx_hash]
                self.transfers.pop(tx_hash, None)
                self.waiting[raw.sender, raw.nonce] = raw

    def forget(self) -> None:
        self.waiting.clear()

    def nonce(self, sender: str, block: int | None = None) -> int:
        """How many nonces of an account are used in the blocks up to one."""
        return sum(
            1 if raw.delegate is None else 2
            for at, raw, _ in self.executed.values()
            if raw.sender == sender and (block is None or at <= block)
        )

    def steal_nonce(self, sender: str) -> None:
        """Executes another transaction with the account's next nonce, as a second user of its key would."""
        nonce = self.nonce(sender)
        self.execute(Raw(f"0x{nonce:064x}", sender, nonce, "0x" + "99" * 20, "0x", 0, GAS, 10**9, 10**9))

    # what `EvmChain` has

    def read_account(self, address: str) -> AccountReading:
        nonce = self.nonce(address)
        head = len(self.chain.blocks) - 1
        return AccountReading(
            head, nonce, BaseUnits(self.balance), BaseUnits(self.base_fee), BaseUnits(self.tip)
        )

    def run_each(self, sender: str, wanted: Sequence[tuple[Transaction, int]]) -> tuple[StepResult, ...]:
        reasons = [self.dry_run(each.to, each.data) for each, _ in wanted]
        return tuple(StepResult(reason is None, reason, GAS if reason is None else None) for reason in reasons)

    def run_as_sent(self, sender: str, each: Transaction, gas: int, max_fee: int, tip: int) -> StepResult:
        (step,) = self.run_each(sender, [(each, gas)])
        return replace(step, gas=gas if step.success else None)

    def send_raw(self, signed: Sequence[str]) -> tuple[str | None, ...]:
        if self.answers == "timeout before":
            raise NodeTimeout("the node takes too long")
        answers = tuple(self._take(raw_transaction(text)) for text in signed)
        if self.answers == "timeout after":
            raise NodeTimeout("the node takes too long")
        return answers

    def _take(self, raw: Raw) -> str | None:
        self.sent.append(raw)
        if self.answers == "refused":
            return "insufficient funds for gas * price + value"
        if raw.nonce < self.nonce(raw.sender):
            return "nonce too low"
        old = self.waiting.get((raw.sender, raw.nonce))
        if old is not None and old.tx_hash == raw.tx_hash:
            return "already known"
        if old is not None and (raw.max_fee * 10 < old.max_fee * 11 or raw.tip * 10 < old.tip * 11):
            return "replacement transaction underpriced"
        self.waiting[raw.sender, raw.nonce] = raw
        return None

    def receipts_of(self, tx_hashes: Sequence[str]) -> dict[str, Receipt]:
        found = {tx_hash: self.executed[tx_hash] for tx_hash in tx_hashes if tx_hash in self.executed}
        return {
            tx_hash: Receipt(tx_hash, block, self.chain.blocks[block].hash, reason is None, BaseUnits(GAS * raw.max_fee))
            for tx_hash, (block, raw, reason) in found.items()
        }

    def sights(self, sought: Sequence[Sought]) -> tuple[Sight, ...]:
        numbers = sorted({height for each in sought for height in (each.block_number, each.deep_block)})
        hashes, receipts = self.chain.block_hashes(numbers), self.chain.receipts_of([each.tx_hash for each in sought])
        found = []
        for each in sought:
            receipt, moved = receipts.get(each.tx_hash), self._moved(each)
            is_deep = hashes[each.deep_block] is not None
            found.append(Sight(hashes[each.block_number], is_deep, receipt, moved[0 if receipt else 1 :]))
        return tuple(found)

    def _moved(self, each: Sought) -> tuple[int, ...]:
        if each.flow is None:
            return ()
        amount = 0
        for token, *sides, units in self.transfers.get(each.tx_hash, ()) if each.tx_hash in self.executed else ():
            if same_address(token, each.flow.token) and same_address(sides[1 if each.flow.inward else 0], each.flow.account):
                amount += units
        return (amount, amount)

    def used_nonces(self, sender: str, numbers: Sequence[int], blocks: BlockRange) -> tuple[UsedNonce, ...]:
        return tuple(
            UsedNonce(raw.nonce, raw.tx_hash, block)
            for block, raw, _ in self.executed.values()
            if raw.sender == sender and blocks.first <= block <= blocks.last
        )

    def token_balances(self, account: str, tokens: Sequence[str]) -> TokenBalances:
        return TokenBalances(self.nonce(account), {token: self.balance_of(account, token) for token in tokens})

    def replayed(self, each: Transaction) -> StepResult:
        for _, raw, reason in self.executed.values():
            if raw.data == each.data and reason is not None:
                return StepResult(False, reason)
        return StepResult(True)


@cache
def raw_transaction(text: str) -> Raw:
    """Decodes a signed transaction of EIP-1559 or EIP-7702. Raises ChainUnavailable for other bytes."""
    from eth_account import Account
    from eth_account.typed_transactions.typed_transaction import TypedTransaction
    from hexbytes import HexBytes

    if not text.startswith(("0x02", "0x04")):
        raise ChainUnavailable("the node refuses the bytes")
    fields = TypedTransaction.from_bytes(HexBytes(text)).as_dict()
    delegates = ["0x" + bytes(HexBytes(each["address"])).hex() for each in fields.get("authorizationList", ())]
    return Raw(
        tx_hash="0x" + keccak256(bytes.fromhex(text[2:])).hex(),
        sender=Account.recover_transaction(text),
        nonce=fields["nonce"],
        to="0x" + bytes(HexBytes(fields["to"])).hex(),
        data="0x" + bytes(HexBytes(fields["data"])).hex(),
        value=fields["value"],
        gas=fields["gas"],
        max_fee=fields["maxFeePerGas"],
        tip=fields["maxPriorityFeePerGas"],
        delegate=delegates[0] if delegates else None,
    )
