"""A node in front of a chain in memory that forgets, lags, or answers calls of JSON-RPC wrongly, as a test says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.readings import (
    AccountReading,
    Receipt,
    Sight,
    Sought,
    StepResult,
    TokenBalances,
    UsedNonce,
)
from tests.fakes.chain import FakeChain
from tests.fakes.mempool import GAS, Raw

RECEIPT, LOGS, HEADER, ACCOUNT, BALANCE, BLOCKS = "receipt", "logs", "header", "account", "balance", "blocks"
ANSWERS = (RECEIPT, LOGS, HEADER, ACCOUNT, BALANCE, BLOCKS)
"""Each is what one method of JSON-RPC returns."""


@dataclass
class Lies:
    """What a node lies about, as long as `is_active`: the `answers`, and of a transaction what `verdict` says.

    True: that it succeeded and has moved `amount`; False: that it reverted; None: that it is in no block.
    """

    answers: frozenset[str]
    verdict: Callable[[Raw], bool | None]
    amount: int
    nonces: int = 0
    """What is added to the nonce of the account."""
    lag: int = 0
    """How many of the newest blocks it does not have."""
    balance: int = 10**18
    is_active: bool = True
    number: int = 0
    """How many answers were wrong."""


@dataclass
class LyingNode:
    """A `Chain` of a chain in memory; what it does not lie about is the truth."""

    chain: FakeChain
    lies: Lies
    network: str = field(init=False)

    def __post_init__(self) -> None:
        self.network = self.chain.network

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chain, name)

    def lies_about(self, answer: str) -> bool:
        return self.lies.is_active and answer in self.lies.answers

    def read_account(self, address: str) -> AccountReading:
        true = self.chain.read_account(address)
        if not self.lies_about(ACCOUNT):
            return true
        self.lies.number += 1
        nonce = max(true.nonce + self.lies.nonces, 0)
        return replace(true, head=true.head - self.lies.lag, nonce=nonce)

    def receipts_of(self, tx_hashes: Sequence[str]) -> dict[str, Receipt]:
        true = self.chain.receipts_of(tx_hashes)
        if not self.lies_about(RECEIPT):
            return true
        said = {each: self._receipt(each, true.get(each)) for each in tx_hashes}
        return {tx_hash: receipt for tx_hash, receipt in said.items() if receipt is not None}

    def _receipt(self, tx_hash: str, true: Receipt | None) -> Receipt | None:
        raw = next(raw for raw in self.chain.mempool.sent if raw.tx_hash == tx_hash)
        success = self.lies.verdict(raw)
        self.lies.number += (true.success if true is not None else None) != success
        if success is None:
            return None
        number = true.block_number if true is not None else max(len(self.chain.blocks) - 12, 0)
        return Receipt(tx_hash, number, self.chain.blocks[number].hash, success, BaseUnits(GAS * raw.max_fee))

    def sights(self, sought: Sequence[Sought]) -> tuple[Sight, ...]:
        return tuple(map(self._sight, sought, self.chain.sights(sought)))

    def _sight(self, each: Sought, true: Sight) -> Sight:
        moved, receipt = list(true.moved[-1:]), true.receipt
        if self.lies_about(RECEIPT):
            receipt = self._receipt(each.tx_hash, true.receipt)
        if self.lies_about(LOGS) and moved:
            moved = [self._moved(each)]
        if receipt is not None and each.flow is not None:
            moved.append(self._moved(each) if self.lies_about(RECEIPT) else true.moved[0])
        block_hash = "0x" + "fe" * 32 if self.lies_about(HEADER) else true.block_hash
        return Sight(block_hash, true.is_deep or self.lies_about(HEADER), receipt, tuple(moved))

    def _moved(self, each: Sought) -> int:
        raw = next(raw for raw in self.chain.mempool.sent if raw.tx_hash == each.tx_hash)
        return self.lies.amount if self.lies.verdict(raw) else 0

    def used_nonces(self, sender: str, numbers: Sequence[int], blocks: BlockRange) -> tuple[UsedNonce, ...]:
        """One without a right signature is not taken from a node (chains/nodes/accounts/nonces.py), so it can only leave some out."""
        return () if self.lies_about(BLOCKS) else self.chain.used_nonces(sender, numbers, blocks)

    def token_balances(self, account: str, tokens: Sequence[str]) -> TokenBalances:
        true = self.chain.token_balances(account, tokens)
        if not self.lies_about(BALANCE):
            return true
        self.lies.number += 1
        return replace(true, balances=dict.fromkeys(tokens, self.lies.balance))

    def run_each(self, sender: str, wanted: Any) -> tuple[StepResult, ...]:
        """Whoever lies about receipts has every call accepted."""
        if not self.lies_about(RECEIPT):
            return self.chain.run_each(sender, wanted)
        return tuple(StepResult(True, None, GAS) for _ in wanted)


def served(services: Any, network: str, *nodes: Any) -> Any:
    """The services of a deployment that reads a network by these nodes, the first of which is preferred."""
    others = services.chains
    chain: Any = nodes[0]
    if len(nodes) > 1:
        chain = Nodes([(f"node-{number}", each) for number, each in enumerate(nodes)], services.clock)

    def of(name: str) -> Any:
        return chain if name == network else others.of(name)

    chains: Any = SimpleNamespace(of=of, evm=of, tron=others.tron, networks=others.networks)
    return replace(services, chains=chains)


class Liar:
    """A node that answers some calls as a test wants, by the names of its methods, and all others as its chain does."""

    def __init__(self, chain: Any, **answers: Any) -> None:
        self.chain, self.answers = chain, answers

    def __getattr__(self, name: str) -> Any:
        return self.answers[name] if name in self.answers else getattr(self.chain, name)


def served_beside(services: Any, network: str, liar: Liar, is_first: bool) -> Any:
    """The services of a deployment that reads a network by a liar and by the honest node behind it."""
    return served(services, network, *((liar, liar.chain) if is_first else (liar.chain, liar)))


def silent(*args: Any, **kwargs: Any) -> Any:
    """What any method of a dead node does."""
    raise ChainUnavailable("does not answer")


class Silent(Liar):
    """A node that does not answer while it `is_down`."""

    is_down = True

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.chain, name)
        return silent if self.is_down and callable(value) else value
