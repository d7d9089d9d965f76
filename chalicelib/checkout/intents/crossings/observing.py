"""Reads what became of a payment from another chain: from the source chain's node, then from the destination chain's.

Calls of one check, at most, besides those of the intents in general (tracking.py):

    at SOURCE     3 to the source's node; 1 more if it does not have the transaction, 1 if it reverted; of a Safe's
                  transaction that is not found 2 and RANGES_PER_CHECK, and 1 to the Safe Transaction Service
    from BRIDGE   1 read of DynamoDB; RANGES_PER_CHECK to the destination's node, 1 after the deadline; 2 for the fill
                  once it is found, with 1 more read; 1 to the router if it was filled and that is not found
    at REFUNDING  those of BRIDGE, and 2 and RANGES_PER_CHECK to the source's node; the first time as many as it takes
                  to find the block of the deadline by halves, 20 among a million

A block counts once it is deep enough: on the source chain by its confirmations, on the destination chain once detection
has read it. Every block that decides something is compared with the canonical one at its height.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.bridging.rules import read_source
from chalicelib.calldata.transaction import SentTransaction, Transaction
from chalicelib.catalogue.contracts import ACROSS_HANDLER, ERC20_FEE_PROXY, address_of
from chalicelib.catalogue.networks import Network, network
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.chain.bridges import UNFILLED, LoggedFill, fill_key, fills_in, relay_hash, sent_tokens
from chalicelib.chain.logs import ERC20_TRANSFER_TOPIC, BlockRange, InconsistentNode
from chalicelib.chain.ranges import RangeTooLarge
from chalicelib.checkout.intents.crossings.deposits import paid_by, request_of
from chalicelib.checkout.intents.crossings.rules import (
    Arrival,
    ArrivalSeen,
    RefundSeen,
    Seen,
    Source,
    SourceSeen,
    redirected,
)
from chalicelib.checkout.intents.observing import execution, with_proposal
from chalicelib.links.crossings import Crossing, Deposit, Held, Stage
from chalicelib.links.records import Bill, Intent, Proof, SecurePayment
from chalicelib.outbound.lifi import RouterUnavailable
from chalicelib.requests.records import Request
from chalicelib.requests.references import reference_topic
from chalicelib.requests.rules import currency_of
from chalicelib.scanning import store as scan_store
from chalicelib.scanning.records import Cursor
from chalicelib.services import Services

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain

RANGES_PER_CHECK = 5
T = TypeVar("T")
_ROUTER = "router"
_REPLAY_GAS = 2_000_000


def observed(
    services: Services, payment: Bill | SecurePayment, intent: Intent, unavailable: set[str]
) -> tuple[Intent, Seen]:
    """The intent with what is known of its Safe's transaction, and what the chains say of it.

    A network that does not answer is added to `unavailable`, and not called again for the others of this run. What it
    would say stays None; the other network is read all the same.
    """
    crossing, source = intent.crossing, None
    assert crossing is not None, "it comes from another chain"
    if crossing.stage is Stage.SOURCE:
        before = intent
        read = _answer(
            services,
            intent.network,
            unavailable,
            lambda: read_source_chain(services, payment, before, unavailable),
        )
        if read is None:
            return intent, Seen()
        intent, source = read
        crossing = _on_its_way(crossing, source)
    if crossing.stage is Stage.SOURCE:
        return intent, Seen(source)
    way, known = crossing, intent
    arrival = _answer(
        services, way.destination, unavailable, lambda: _arrival(services, payment, known, way, unavailable)
    )
    refund = None
    if arrival is not None and arrival.outcome is Arrival.EXPIRED:
        refund = _answer(services, intent.network, unavailable, lambda: _refund(services, known, way))
    return intent, Seen(source, arrival, refund)


def _answer(services: Services, name: str, unavailable: set[str], read: Callable[[], T]) -> T | None:
    """What a network's node answers; None if it does not. A refusal of one range concerns this deposit alone."""
    if name in unavailable:
        return None
    try:
        return read()
    except RangeTooLarge as error:
        services.log.warning("events of the bridge not read", extra={"network": name, "reason": str(error)})
    except ChainUnavailable as error:
        services.log.error("intent not checked", extra={"network": name, "reason": error.message})
        unavailable.add(name)
    return None


def _on_its_way(crossing: Crossing, seen: SourceSeen) -> Crossing:
    """The crossing as it is after what was just read, so that its arrival is looked for in the same check."""
    if seen.outcome is not Source.DEPOSITED:
        return crossing
    return replace(
        redirected(crossing, seen),
        stage=Stage.BRIDGE,
        deposit=seen.deposit,
        deposit_id=seen.deposit_id,
        relay_hash=seen.relay_hash,
        fill_key=seen.fill_key,
        deposited_block=seen.block,
        deposited_at=seen.deposited_at,
    )


def read_source_chain(
    services: Services, payment: Bill | SecurePayment, intent: Intent, unavailable: set[str]
) -> tuple[Intent, SourceSeen]:
    """The intent with what is known of its Safe's transaction, and what the source chain says. Raises ChainUnavailable.

    The transaction is read before the time of the chain: what is in no block at a time after its deadline stays so.
    """
    chain = services.chains.evm(intent.network)
    newest, is_unknown, tx_hash = newest_deep(services, chain), False, intent.transaction_hash
    if intent.safe_tx_hash is not None and tx_hash is None:
        intent, is_unknown = with_proposal(services, payment, intent, unavailable)
        before = intent.scanned_to
        intent, last, executed = execution(services, chain, intent, newest, _network(intent.network).log_range)
        intent = replace(intent, scanned_to=last if executed is None else before)
        tx_hash = executed.transaction_hash if executed is not None else None
    sent = chain.sent_transaction(tx_hash) if tx_hash is not None else None
    if sent is None and intent.safe_tx_hash is not None and tx_hash is not None:
        raise InconsistentNode(chain.network, "it has the event of a Safe, but not its transaction")
    if sent is not None and tx_hash is not None:
        return intent, _directed(services, payment, intent, source_seen(chain, payment, newest, sent, tx_hash))
    outcome = _missing(chain, intent, newest, is_unknown)
    return intent, SourceSeen(outcome, chain.block_facts([newest])[newest].time, proof=intent.proof)


def _directed(
    services: Services, payment: Bill | SecurePayment, intent: Intent, seen: SourceSeen
) -> SourceSeen:
    """What was read, with the chain that it leads to if that is another one than was thought. Raises ChainUnavailable
    if that is not read here. At most one read."""
    request = request_of(payment.requests, seen.deposit) if seen.deposit is not None else None
    if request is None or intent.crossing is None or request.network == intent.crossing.destination:
        return seen
    cursor = scan_store.cursor(services.store, request.network)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {request.network} yet")
    first = max(cursor.scanned_to - _network(request.network).log_range, 0)
    return replace(seen, destination=request.network, searched_to=first)


def newest_deep(services: Services, chain: "EvmChain") -> int:
    """The newest block of a chain that is deep enough. One request."""
    known = _network(chain.network)
    return max(chain.head() - services.settings.confirmations.get(known.name, known.confirmations) + 1, 0)


def source_seen(
    chain: "EvmChain", payment: Bill | SecurePayment, newest: int, sent: SentTransaction, tx_hash: str
) -> SourceSeen:
    """What a transaction that the node has says. Raises InconsistentNode if its block is not the canonical one."""
    source = _network(chain.network)
    is_deep = sent.block is not None and sent.block <= newest
    facts = chain.block_facts([newest, *([sent.block] if is_deep and sent.block is not None else [])])
    paid = paid_by(source, payment.requests, sent)
    seen = SourceSeen(
        Source.WAITING,
        facts[newest].time,
        in_block=sent.block is not None,
        proof=Proof.SENT if paid else None,
        wallet=sent.sender,
        nonce=sent.nonce,
        tx_hash=tx_hash,
        deposit=paid[0].deposit if paid else None,
    )
    if sent.block is None or not is_deep:
        is_of_other = not paid and read_source(source, sent.to or "", sent.data) is not None
        return replace(seen, outcome=Source.FOREIGN) if is_of_other else seen
    if sent.block_hash is not None and facts[sent.block].hash != sent.block_hash:
        raise InconsistentNode(chain.network, f"a receipt is of block {sent.block_hash}, which is not canonical")
    if not sent.success:
        return replace(seen, outcome=Source.REVERTED, reason=_reason(chain, sent, sent.block))
    if not paid or paid[0].logged is None:
        return replace(seen, outcome=Source.FOREIGN)
    logged = paid[0].logged
    return replace(
        seen,
        outcome=Source.DEPOSITED,
        deposit_id=logged.deposit_id,
        relay_hash=relay_hash(logged, source.chain_id),
        fill_key=fill_key(logged, source.chain_id),
        block=sent.block,
        deposited_at=facts[sent.block].time,
    )


def _missing(chain: "EvmChain", intent: Intent, newest: int, is_unknown: bool) -> Source:
    """What is known of a transaction that the node does not have: whether its nonce is used, as far as it is known."""
    if intent.safe_tx_hash is not None:
        if intent.wallet is not None and intent.nonce is not None:
            count = chain.safe_nonce(intent.wallet, newest)
            if count is not None and count > intent.nonce and intent.scanned_to >= newest:
                return Source.REPLACED
        return Source.MISSING if is_unknown else Source.WAITING
    if intent.wallet is None or intent.nonce is None:
        return Source.MISSING
    return Source.REPLACED if chain.transaction_count(intent.wallet, newest) > intent.nonce else Source.MISSING


def _reason(chain: "EvmChain", sent: SentTransaction, block: int) -> str | None:
    """Why a transaction reverted, if the node says so when it is asked to run it before its block."""
    if sent.to is None:
        return None
    try:
        return chain.replayed(sent.sender, Transaction(sent.to, sent.data, 0), _REPLAY_GAS, block).reason
    except ChainUnavailable:
        return None


def _arrival(
    services: Services, payment: Bill | SecurePayment, intent: Intent, crossing: Crossing, unavailable: set[str]
) -> ArrivalSeen:
    """What became of a deposit on its destination chain, up to where detection has read that. Raises ChainUnavailable,
    RangeTooLarge."""
    cursor = scan_store.cursor(services.store, crossing.destination)
    deposit = crossing.deposit
    assert deposit is not None and crossing.relay_hash is not None, "it was deposited"
    if cursor is None or cursor.read_until is None:
        raise ChainUnavailable(f"The {crossing.destination} chain has not been read yet")
    chain, origin = services.chains.evm(crossing.destination), _network(intent.network).chain_id
    found, last = _searched(chain, cursor, crossing, origin)
    if found is None and last < cursor.scanned_to:
        return ArrivalSeen(Arrival.OPEN, last)
    if found is None:
        if cursor.read_until <= deposit.fill_deadline:
            return ArrivalSeen(Arrival.OPEN, last)
        if chain.fill_status(crossing.relay_hash, cursor.scanned_to) in UNFILLED:
            return ArrivalSeen(Arrival.EXPIRED, last)
        found = _hinted(services, chain, intent, crossing, unavailable)
        if found is None or found.block_number > cursor.scanned_to:
            return ArrivalSeen(Arrival.UNCLEAR, last)
    if chain.block_facts([found.block_number])[found.block_number].hash != found.block_hash:
        raise InconsistentNode(chain.network, f"a fill is of block {found.block_hash}, which is not canonical")
    logs = chain.logs_of_transactions([found.tx_hash])
    return _filled(payment.requests, deposit, found, _logs_of_fill(chain.network, logs, found), crossing.searched_to)


def _searched(
    chain: "EvmChain", cursor: Cursor, crossing: Crossing, origin_chain_id: int
) -> tuple[LoggedFill | None, int]:
    """The fill, if it is found in the next blocks, and the last block that was searched."""
    assert crossing.deposit_id is not None, "it was deposited"
    last, span = min(crossing.searched_to, cursor.scanned_to), max(cursor.range_limit // 2, 1)
    for _ in range(RANGES_PER_CHECK):
        if last >= cursor.scanned_to:
            break
        blocks = BlockRange(last + 1, min(last + span, cursor.scanned_to))
        found = chain.fills(origin_chain_id, crossing.deposit_id, blocks)
        own = next((each for each in found if each.key == crossing.fill_key), None)
        if own is not None:
            return own, last
        last = blocks.last
    return None, last


def _hinted(
    services: Services, chain: "EvmChain", intent: Intent, crossing: Crossing, unavailable: set[str]
) -> LoggedFill | None:
    """The fill in the transaction that the router names, if that has it: its word alone proves nothing."""
    if _ROUTER in unavailable or not services.router.is_configured or intent.transaction_hash is None:
        return None
    source, destination = _network(intent.network), _network(crossing.destination)
    try:
        claim = services.router.status(intent.transaction_hash, source.chain_id, destination.chain_id, None)
    except RouterUnavailable as error:
        services.log.warning("router unavailable", extra={"reason": str(error)})
        unavailable.add(_ROUTER)
        return None
    if claim.receiving_hash is None or claim.receiving_chain_id != destination.chain_id:
        return None
    logs = chain.logs_of_transactions([claim.receiving_hash])
    return next((each for each in fills_in(chain.network, logs) if each.key == crossing.fill_key), None)


def _logs_of_fill(
    name: str, logs: Sequence[Mapping[str, Any]], fill: LoggedFill
) -> Sequence[Mapping[str, Any]]:
    """The logs of what a fill did: those after its event, up to the event of the next fill in the transaction.

    A log that the node repeats counts once. Raises InconsistentNode if the fill's event is not among the logs: then
    others may be missing, too.
    """
    by_index = {int(log["logIndex"], 16): log for log in logs}
    ordered = [by_index[index] for index in sorted(by_index)]
    own: list[Mapping[str, Any]] | None = None
    for log in ordered:
        for each in fills_in(name, [log]):
            if own is not None:
                return own
            own = [] if each.key == fill.key else None
        if own is not None:
            own.append(log)
    if own is None:
        raise InconsistentNode(name, "the receipt of a fill does not have the event of the fill")
    return own


def _filled(
    requests: Sequence[Request],
    deposit: Deposit,
    fill: LoggedFill,
    logs: Sequence[Mapping[str, Any]],
    searched_to: int,
) -> ArrivalSeen:
    """Whether a fill paid, by the event of the payment; if not, what the payer got on the destination chain."""
    request = request_of(requests, deposit)
    assert request is not None, "the deposit pays a request of the link"
    token, proxy = currency_of(request), address_of(ERC20_FEE_PROXY, request.network)
    topics = [ERC20_TRANSFER_TOPIC, reference_topic(bytes.fromhex(request.payment_reference[2:]))]
    for log in logs:
        if log["address"].lower() == proxy.lower() and [each.lower() for each in log["topics"]] == topics:
            return ArrivalSeen(Arrival.PAID, searched_to, fill.tx_hash)
    handler = address_of(ACROSS_HANDLER, request.network)
    got = sent_tokens(logs, token.address, handler, deposit.fallback)
    held = Held(deposit.fallback, token.id, BaseUnits(got)) if got else None
    return ArrivalSeen(Arrival.BOUNCED, searched_to, fill.tx_hash, held)


def _refund(services: Services, intent: Intent, crossing: Crossing) -> RefundSeen:
    """What the bridge returned on the source chain after the deadline. Raises ChainUnavailable, RangeTooLarge."""
    chain, deposit = services.chains.evm(intent.network), crossing.deposit
    assert deposit is not None, "it was deposited"
    token = token_with_id(deposit.input_token)
    assert token is not None, "a stored deposit is of a catalogued token"
    newest = newest_deep(services, chain)
    last = crossing.refund_searched_to
    if last is None:
        last = _last_block_until(chain, deposit.fill_deadline, crossing.deposited_block or 0, newest)
    span = max(_network(intent.network).log_range // 2, 1)
    for _ in range(RANGES_PER_CHECK):
        if last >= newest:
            break
        blocks = BlockRange(last + 1, min(last + span, newest))
        for each in chain.returns(token.address, deposit.depositor, deposit.input_amount, blocks):
            facts = chain.block_facts([each.block_number])[each.block_number]
            if facts.hash != each.block_hash:
                raise InconsistentNode(chain.network, f"a refund is of block {each.block_hash}, not canonical")
            if facts.time > deposit.fill_deadline:
                return RefundSeen(last, each.tx_hash, Held(deposit.depositor, token.id, deposit.input_amount))
        last = blocks.last
    return RefundSeen(last)


def _last_block_until(chain: "EvmChain", instant: datetime, first: int, newest: int) -> int:
    """The last block up to an instant among those from `first` to `newest`; `first` if all are later."""
    while first < newest:
        middle = (first + newest + 1) // 2
        if chain.block_facts([middle])[middle].time <= instant:
            first = middle
        else:
            newest = middle - 1
    return first


def _network(name: str) -> Network:
    known = network(name)
    assert known is not None, "an intent is recorded on a catalogued network"
    return known
