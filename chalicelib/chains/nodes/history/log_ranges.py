"""Reads the logs of a range of blocks: those of payments, and the calls and checks for any logs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.contracts import payment_proxies
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.nodes.escrow.transfers import ESCROW_TOPICS, escrow_emitters
from chalicelib.chains.nodes.history.blocks import facts_of, header_hash
from chalicelib.chains.nodes.history.full_blocks import LogFilter, logs_of_block
from chalicelib.chains.nodes.history.logs import BlockFacts, BlockRange, Checkpoint, InconsistentNode
from chalicelib.chains.nodes.history.transfers import PAYMENT_TOPICS
from chalicelib.chains.nodes.rpc.hex_values import quantity
from chalicelib.chains.nodes.rpc.jsonrpc import (
    JsonRpcClient,
    NodeResponseTooLarge,
    NodeTimeout,
    RpcCall,
    block_at,
    raise_first_error,
    unavailable_if_malformed,
)

if TYPE_CHECKING:
    from chalicelib.chains.proofs.headers import Checked


MOST_LOGS = 20_000
"""Logs of several blocks that are read together, about 35 MB of each node: anybody can send any number of transfers to
a payee."""
_Take = Callable[[Any], Any]
"""What becomes of the outcome of a query."""


@frozen
class RangeReading:
    """The logs of payments of a range as the node's JSON, and the hash and time of the range's last block.

    `is_full` if it is one block with so many logs that a query for them was refused (full_blocks.py). `headers` are
    those that were asked for, none if the node did not answer all at once. `again` are the logs of the blocks that were
    to be read again in the same request, None if there were none or the node did not return them.
    """

    logs: tuple[Mapping[str, Any], ...]
    last: BlockFacts
    is_full: bool = False
    headers: tuple["Checked", ...] = ()
    again: tuple[Mapping[str, Any], ...] | None = None


@frozen
class BlockPayments:
    """A block as a node has it, and its logs of payments as the node's JSON; None if the node does not return them.

    `transfers` are the Transfers that were asked for besides, as far as the node returns them: some may be left out.
    """

    facts: BlockFacts
    logs: tuple[Mapping[str, Any], ...] | None
    transfers: tuple[Mapping[str, Any], ...] = ()

    @property
    def all_logs(self) -> tuple[Mapping[str, Any], ...]:
        return (*(self.logs or ()), *self.transfers)


class RangeTooLarge(Exception):
    """The node returns the headers of a range but not its logs. Read a smaller range."""


class BlockRefused(RangeTooLarge):
    """The node returns neither the logs nor the receipts of a single block, the smallest range: the network cannot be
    read further."""


class Disconnected(Exception):
    """The checkpoint's block is no longer canonical: a fork was deeper than the confirmations."""


@unavailable_if_malformed
def read_range(
    node: JsonRpcClient,
    blocks: BlockRange,
    after: Checkpoint | None,
    escrow: EscrowContracts | None = None,
    headers: Sequence[int] = (),
    again: BlockRange | None = None,
) -> RangeReading:
    """The logs of payments in a range of blocks that follows the checkpoint `after`: of all proxies, and of the
    commerce escrow if the network has one, by one query; and in the same request the headers at some heights, and the
    logs of some blocks that were read before.

    Reads the checkpoint's block, the last block, the logs, and the last block again. If the hashes of the last block
    agree, the node had the whole range and no fork happened meanwhile. Raises Disconnected if the checkpoint's block is
    no longer canonical, RangeTooLarge or BlockRefused if the node does not return the logs of these blocks,
    ChainUnavailable if it does not return the headers either.
    """
    last = block_at(blocks.last)
    first = [block_at(after.number), last] if after else [last]
    wanted = _payments(node.network, escrow)
    queries = [wanted.query(place_of(each)) for each in (blocks, again) if each is not None]
    before, (outcome, *others), (last_after, *more) = with_headers(
        node, first, queries, [last], [*map(block_at, headers)]
    )
    last_before = before[-1]
    if not (all(before) and last_after) or last_before["hash"] != last_after["hash"]:
        raise ChainUnavailable(f"The {node.network} node does not have block {blocks.last} settled")
    if after is not None and header_hash(node, before[0], after.number) != after.hash:
        raise Disconnected
    facts = facts_of(node, last_before, blocks.last)
    found, is_full = _complete(node, blocks, outcome, wanted, last_before)
    read_again = _logs_again(node.network, again, others[0]) if again is not None else None
    return RangeReading(found, facts, is_full, _check_headers(headers, more), read_again)


def _logs_again(network: str, blocks: BlockRange, outcome: Any) -> tuple[Mapping[str, Any], ...] | None:
    """The checked logs of a query for a range; None instead of an error: later blocks are read even so."""
    try:
        return check_logs(network, blocks, outcome)
    except (RangeTooLarge, ChainUnavailable):
        return None


@unavailable_if_malformed
def read_payments(
    node: JsonRpcClient, wanted: Mapping[int, Sequence[LogFilter]], escrow: EscrowContracts | None = None
) -> dict[int, BlockPayments]:
    """The blocks at some heights with their logs of payments and the Transfers that are wanted of each, without those
    that the node does not have.

    Two calls for each block, and one for each filter, in as few requests as these fit into. Raises ChainUnavailable if
    the node does not answer the headers, RangeTooLarge if several blocks have more logs than are read together.
    """
    return _read_blocks(node, wanted, (_payments(node.network, escrow),))


@unavailable_if_malformed
def read_transfers(node: JsonRpcClient, wanted: Mapping[int, Sequence[LogFilter]]) -> dict[int, BlockPayments]:
    """The blocks at some heights with the Transfers that are wanted of each, without the logs of payments.

    A call for each header, and one for each filter, as `read_payments`. Raises ChainUnavailable if the node does not
    have one of the blocks.
    """
    found = _read_blocks(node, wanted, ())
    if len(found) < len(wanted):
        raise ChainUnavailable(f"The {node.network} node lags behind what it knew before")
    return found


def _read_blocks(
    node: JsonRpcClient, wanted: Mapping[int, Sequence[LogFilter]], payments: Sequence[LogFilter]
) -> dict[int, BlockPayments]:
    filters = {number: (*payments, *transfers) for number, transfers in wanted.items()}
    found, take = dict[int, BlockPayments](), _counter() if len(filters) > 1 else None
    for part in _parts(filters, node.calls_per_request):
        found |= _read_part(node, part, len(payments), take)
    return found


def _parts(
    filters: Mapping[int, Sequence[LogFilter]], most_calls: int
) -> Iterator[dict[int, Sequence[LogFilter]]]:
    """The blocks in parts of which one request has the calls: a header, and a query for each filter. So the logs of
    each response are counted before the next one is in the memory, too."""
    part, calls = dict[int, Sequence[LogFilter]](), 0
    for number, of_block in filters.items():
        if part and calls + 1 + len(of_block) > most_calls:
            yield part
            part, calls = {}, 0
        part[number], calls = of_block, calls + 1 + len(of_block)
    if part:
        yield part


def _counter() -> _Take:
    """Counts the logs in the outcomes of queries. Raises RangeTooLarge once there are more than MOST_LOGS."""
    count = 0

    def take(outcome: Any) -> Any:
        nonlocal count
        count += len(outcome) if isinstance(outcome, list) else 0
        if count > MOST_LOGS:
            raise RangeTooLarge("the blocks have more logs than are read together")
        return outcome

    return take


def _read_part(
    node: JsonRpcClient, filters: Mapping[int, Sequence[LogFilter]], of_payments: int, take: _Take | None
) -> dict[int, BlockPayments]:
    """Blocks with the logs of their filters, of which the first `of_payments` are those of payments."""
    places = {number: BlockRange(number, number) for number in filters}
    queries = [each.query(place_of(places[number])) for number, of_block in filters.items() for each in of_block]
    headers, outcomes, _ = with_headers(node, [block_at(number) for number in filters], queries, take=take)
    answers, found = iter(outcomes), dict[int, BlockPayments]()
    for (number, of_block), header in zip(filters.items(), headers, strict=True):
        lists = [next(answers) for _ in of_block]
        if header:
            at = places[number]
            known = [check_logs(node.network, at, each) if isinstance(each, list) else None for each in lists]
            logs = next(iter(known[:of_payments]), ())
            transfers = tuple(log for each in known[of_payments:] for log in each or ())
            found[number] = BlockPayments(facts_of(node, header, number), logs, transfers)
    return found


def _payments(network: str, escrow: EscrowContracts | None) -> LogFilter:
    """The logs of all proxies, and of the commerce escrow if the network has one."""
    emitters: tuple[str, ...] = payment_proxies(network)
    topics: tuple[str, ...] = PAYMENT_TOPICS
    if escrow is not None:
        emitters, topics = (*emitters, *escrow_emitters(escrow)), (*topics, *ESCROW_TOPICS)
    return LogFilter(emitters, (topics,))


def _check_headers(numbers: Sequence[int], headers: Sequence[Any]) -> tuple["Checked", ...]:
    """The headers with their hashes recomputed; none if the node did not answer all at once."""
    if not headers:
        return ()
    from chalicelib.chains.proofs.headers import check_header  # other readers of ranges need none

    return tuple(check_header(number, header) for number, header in zip(numbers, headers, strict=True))


def with_headers(
    node: JsonRpcClient,
    before: Sequence[RpcCall],
    queries: Sequence[RpcCall],
    after: Sequence[RpcCall] = (),
    besides: Sequence[RpcCall] = (),
    take: _Take | None = None,
) -> tuple[list[Any], list[Any], list[Any]]:
    """The results of header calls, the outcomes of log queries, and the results of more header calls, in this order;
    after these the outcomes of what is asked `besides`, if the node answers all at once. `take` is given each outcome
    of a query as it comes.

    The outcome of a query is its error if the node answers the headers but not the query: nodes refuse too many blocks
    or logs with any status, code and text, or time out. Raises ChainUnavailable if the node does not answer the
    headers, and RangeTooLarge if with `take` their response is too large. All calls are one batch; if it fails as a
    whole otherwise, the headers and each query are sent on their own.
    """
    first, second = len(before), len(before) + len(queries)
    third = second + len(after)
    try:
        outcomes = node.outcomes([*before, *queries, *after, *besides])
    except ChainUnavailable as error:
        if take is not None and isinstance(error, NodeResponseTooLarge):
            raise RangeTooLarge("the response to the queries for the logs of blocks is too large") from error
        headers = node.results(before)
        takes_too_long = isinstance(error, NodeTimeout)
        taken = take or _as_it_is
        logs = [error if takes_too_long else taken(_outcome(node, query)) for query in queries]
        return headers, logs, node.results(after)
    raise_first_error([*outcomes[:first], *outcomes[second:third]])
    return outcomes[:first], list(map(take or _as_it_is, outcomes[first:second])), outcomes[second:]


def _as_it_is(outcome: Any) -> Any:
    return outcome


def logs_of(node: JsonRpcClient, blocks: BlockRange, wanted: LogFilter) -> tuple[Mapping[str, Any], ...]:
    """The wanted logs of a range of blocks, by one request, or by a few more if it is one block with too many logs.

    Raises ChainUnavailable if the node does not have the last block, and as `check_logs`.
    """
    (last,), (outcome,), _ = with_headers(node, [block_at(blocks.last)], [wanted.query(place_of(blocks))])
    if not last:
        raise ChainUnavailable(f"The {node.network} node does not have block {blocks.last} yet")
    return _complete(node, blocks, outcome, wanted, last)[0]


def _complete(
    node: JsonRpcClient, blocks: BlockRange, outcome: Any, wanted: LogFilter, last: Mapping[str, Any]
) -> tuple[tuple[Mapping[str, Any], ...], bool]:
    """As `check_logs`, but a single block that is refused is read in other ways, by its header `last`; and whether
    that was so."""
    try:
        return check_logs(node.network, blocks, outcome), False
    except BlockRefused:
        header_hash(node, last, blocks.last)
        found = logs_of_block(node, last, wanted, outcome)
        if found is None:
            raise
        return found, True


def check_logs(network: str, blocks: BlockRange, outcome: Any) -> tuple[Mapping[str, Any], ...]:
    """The logs that a query for a range returned, `outcome` being its result or its error.

    Raises RangeTooLarge, or BlockRefused for a range of one block, if there is no list of logs; InconsistentNode if a
    log is of a block outside the range.
    """
    if not isinstance(outcome, list):
        refused = BlockRefused if blocks.first == blocks.last else RangeTooLarge
        raise refused(_reason(outcome))
    if any(not blocks.first <= quantity(log["blockNumber"]) <= blocks.last for log in outcome):
        raise InconsistentNode(network, "it gave logs of other blocks than those of the range")
    return tuple(outcome)


def place_of(blocks: BlockRange) -> dict[str, str]:
    """A range of blocks as a filter for logs has it."""
    return {"fromBlock": hex(blocks.first), "toBlock": hex(blocks.last)}


def _outcome(node: JsonRpcClient, call: RpcCall) -> Any:
    try:
        return node.results([call])[0]
    except ChainUnavailable as error:
        return error


def _reason(outcome: Any) -> str:
    """Why there are no logs, in the node's words if it has some."""
    if isinstance(outcome, ChainUnavailable):
        return outcome.reason or outcome.message
    return "the node returned no list of logs"
