"""Several nodes of one network: which one is asked, and whether they agree.

A call of a `Chain` is answered by one node, so what belongs together comes from one. If that node fails, the next one
is asked within the same time. One that failed is asked last for a while; each process only remembers what it saw.
What decides, the reading of blocks, takes one node for a whole tick, and compares what it found with the others.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, RangeReading, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.readings import AccountReading, NodeView
from chalicelib.chains.nodes.rpc.http_client import TOTAL_SECONDS
from chalicelib.chains.nodes.rpc.jsonrpc import RpcError

if TYPE_CHECKING:
    from chalicelib.chains.nodes.protocol import Chain
    from chalicelib.chains.nodes.tron import BroadcastResult

T = TypeVar("T")
C = TypeVar("C", bound="Chain")
_LAST_FOR = timedelta(minutes=5)
"""How long a node that failed is asked last."""
_KNOWN_ALREADY = "DUP_TRANSACTION_ERROR"


class NodesDisagree(ChainUnavailable):
    """Two nodes of a network say different things of what decides, so that one of them is wrong.

    `is_logged` says whether the alarm was raised already.
    """

    def __init__(self, network: str, reason: str, *, is_logged: bool = False) -> None:
        super().__init__(f"The nodes of {network} contradict each other")
        self.reason, self.is_logged = reason, is_logged


class Node:
    """One of several nodes, with the methods of its `Chain`. It remembers when it failed last."""

    def __init__(self, host: str, chain: "Chain", clock: Callable[[], datetime]) -> None:
        self.host, self.chain = host, chain
        self.others: Sequence[Node] = ()
        self._clock = clock
        self._failed_at: datetime | None = None

    @property
    def has_failed(self) -> bool:
        return self._failed_at is not None and self._clock() - self._failed_at < _LAST_FOR

    def distrust(self) -> None:
        """Asks this node last for a while, as it gave answers that cannot be true."""
        self._failed_at = self._clock()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.chain, name)
        if not callable(value):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return value(*args, **kwargs)
            except (ChainUnavailable, BlockRefused, BadGateway) as error:
                if not _is_revert(error):
                    self._failed_at = self._clock()
                raise

        return call


class Nodes:
    """The nodes of one network as one `Chain`. `chains` are those of single nodes by host, the preferred one first.

    `report` is called with the network and a reason where a decision is held because the nodes disagree.
    """

    def __init__(
        self,
        chains: Sequence[tuple[str, "Chain"]],
        clock: Callable[[], datetime],
        report: Callable[[str, str], None] = lambda network, reason: None,
    ) -> None:
        self.report = report
        self.nodes = tuple(Node(host, chain, clock) for host, chain in chains)
        for node in self.nodes:
            node.others = [each for each in self.nodes if each is not node]

    @property
    def network(self) -> str:
        return self.nodes[0].chain.network

    @property
    def escrow(self) -> Any:
        return self.nodes[0].chain.escrow

    def __getattr__(self, name: str) -> Any:
        """A method that asks one node after the other until one answers; raises the first error if none does."""

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._first_answer(lambda node: getattr(node, name)(*args, **kwargs))

        return call

    def read_account(self, address: str) -> AccountReading:
        """An account as one node sees it, with prices that no node names alone: base fee and tip are the lower medians
        of what all nodes say that answer; and with what the others say. One request to each."""
        read = [answer_or_none(partial(each.read_account, address)) for each in self.in_order()]
        answers = tuple[AccountReading, ...](each for each in read if each is not None)
        if not answers:
            raise ChainUnavailable(f"No {self.network} node answers")
        middle = (len(answers) - 1) // 2
        base_fee, tip = (sorted(prices)[middle] for prices in zip(*((a.base_fee, a.tip) for a in answers), strict=True))
        is_of_one = len(answers) == 1 < len(self.nodes)
        return replace(answers[0], base_fee=base_fee, tip=tip, others=answers[1:], is_of_one=is_of_one)

    def send_raw(self, signed: Sequence[str]) -> tuple[str | None, ...]:
        """Sends transactions to one node after the other, until one says nothing against any of them."""
        said: tuple[str | None, ...] | None = None

        def send(node: Node) -> tuple[str | None, ...]:
            nonlocal said
            new: tuple[str | None, ...] = node.send_raw(signed)
            said = tuple(a and b for a, b in zip(said or new, new, strict=True))
            if any(said):
                raise ChainUnavailable(f"A {self.network} node refused a transaction")
            return said

        try:
            return self._first_answer(send)
        except ChainUnavailable:
            if said is None:
                raise
            return said

    def broadcast(self, signed: bytes) -> "BroadcastResult":
        """Sends a transaction of Tron to one node after the other, until one accepts or refuses it.

        The network accepts the same bytes once. So a node that knows the transaction confirms that another one, whose
        answer was lost, has sent it.
        """
        from chalicelib.chains.nodes.tron import BroadcastResult

        lost: BadGateway | None = None
        for node in self.in_order():
            try:
                result: BroadcastResult = node.broadcast(signed)
            except BadGateway as error:
                lost = lost or error
                continue
            is_known = lost is not None and result.code == _KNOWN_ALREADY
            return BroadcastResult(True, result.txid, "SUCCESS", "") if is_known else result
        assert lost is not None, "there is at least one node"
        raise lost

    def one(self, is_late: bool) -> tuple["Chain", int]:
        """The node for a whole tick, with its newest block: the first that answers, or, if the network `is_late`, the
        one whose newest block is the highest. Raises ChainUnavailable if no node answers."""
        if not is_late:
            return self._first_answer(lambda node: (cast("Chain", node), node.head()))
        heads = dict[Node, int]()
        failure: ChainUnavailable | None = None
        for node in self.in_order():
            try:
                heads[node] = node.head()
            except ChainUnavailable as error:
                failure = failure or error
        if not heads:
            raise failure or ChainUnavailable(f"No {self.network} node answers")
        best = max(heads, key=lambda node: heads[node])
        return cast("Chain", best), heads[best]

    def views(self, confirmations: int) -> tuple[NodeView, ...]:
        """What each node says now: of its newest block, and of the newest confirmed block of each node."""
        heads = {node: answer_or_none(node.head) for node in self.nodes}
        known = {max(head - confirmations + 1, 0) for head in heads.values() if head is not None}
        numbers = sorted(known)
        views = []
        for node, head in heads.items():
            hashes = None if head is None else answer_or_none(partial(node.block_hashes, numbers))
            views.append(NodeView(node.host, None if hashes is None else head, hashes or {}))
        return tuple(views)

    def in_order(self) -> list[Node]:
        return sorted(self.nodes, key=lambda node: node.has_failed)

    def _first_answer(self, ask: Callable[[Node], T]) -> T:
        deadline = time.monotonic() + TOTAL_SECONDS
        failure: Exception | None = None
        for node in self.in_order():
            if failure is not None and time.monotonic() > deadline:
                break
            try:
                return ask(node)
            except (ChainUnavailable, RangeTooLarge) as error:
                if _is_revert(error):
                    raise
                failure = failure or error
        assert failure is not None, "there is at least one node"
        raise failure


def every_node(chain: C) -> tuple[C, ...]:
    """Each configured node of the network by itself."""
    return tuple(cast(C, node) for node in chain.nodes) if isinstance(chain, Nodes) else (chain,)


def in_order(chain: C) -> tuple[tuple[C, bool], ...]:
    """Each configured node of the network, and whether it failed lately; those that did last."""
    nodes = chain.in_order() if isinstance(chain, Nodes) else ()
    return tuple((cast(C, node), node.has_failed) for node in nodes) or ((chain, False),)


def host_of(chain: "Chain") -> str | None:
    """The host of a node that is one of several; None for the only one."""
    return chain.host if isinstance(chain, Node) else None


def first_node_of(chain: C) -> C:
    """A node that is not asked last for failing now: for receipts, of which anybody can make one that is too large."""
    return cast(C, chain.chain) if isinstance(chain, Node) else chain


def one_node(chain: "Chain", is_late: bool) -> tuple["Chain", int]:
    """The chain as one of its nodes sees it, and the newest block there. Raises ChainUnavailable."""
    return chain.one(is_late) if isinstance(chain, Nodes) else (chain, chain.head())


def others_of(chain: "Chain") -> tuple[Node, ...]:
    """The other nodes of the network, without those that failed lately; none of the only one."""
    return tuple(each for each in chain.others if not each.has_failed) if isinstance(chain, Node) else ()


def read_by_each(
    chain: "Chain", blocks: BlockRange, after: Checkpoint | None
) -> Iterator[tuple["Chain", RangeReading]]:
    """`chain.read_range` by each node of the network that answers, the others before this one, and who that is: what
    some leave out, another one may have. Raises what this one raises if no other answers."""
    is_answered = False
    for reader in (*others_of(chain), chain):
        try:
            reading = reader.read_range(blocks, after)
        except (ChainUnavailable, BlockRefused):
            if reader is chain and not is_answered:
                raise
            continue
        is_answered = True
        yield reader, reading


def agreeing(chain: Node, others: Sequence[Node], hashes: Mapping[int, str]) -> tuple[Node, ...]:
    """The other nodes that have the hash at each of these heights. Raises NodesDisagree if one has another.

    A node that does not answer, or does not have a block, says nothing.
    """
    found = list[Node]()
    for other in others:
        try:
            answered = other.block_hashes(list(hashes))
        except ChainUnavailable:
            continue
        for number, hash in hashes.items():
            if answered[number] not in (None, hash):
                reason = f"block {number} is {hash} at {chain.host} and {answered[number]} at {other.host}"
                raise NodesDisagree(chain.network, reason)
        if None not in answered.values():
            found.append(other)
    return tuple(found)


def answer_or_none(ask: Callable[[], T]) -> T | None:
    """What a node answers; None if it does not."""
    try:
        return ask()
    except ChainUnavailable:
        return None


def _is_revert(error: Exception) -> bool:
    """Whether a contract failed, not the node: so it would at every node."""
    return isinstance(error, RpcError) and error.is_revert
