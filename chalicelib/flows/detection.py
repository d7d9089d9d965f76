"""Detecting payments: read the next confirmed blocks of a chain, record what pays a request, tell the merchant."""

from dataclasses import replace

from chalicelib.aws.store import WriteConflict
from chalicelib.aws.tables import (
    OPS,
    PAYMENTS,
    Reference,
    YoungPayment,
    cursor_key,
    payments_partition,
    reference_key,
    young_payment_prefix,
)
from chalicelib.core import chainlog, payments
from chalicelib.core.chainlog import Checkpoint, Cursor, ProxyTransfer
from chalicelib.core.links import Payment, Place, Request, SecurePayment
from chalicelib.core.networks import Network, network
from chalicelib.core.payments import Decision
from chalicelib.flows import links, webhooks
from chalicelib.net.evm import Disconnected, EvmChain, RangeReading, RangeTooLarge
from chalicelib.services import Services

_RANGES_PER_TICK = 20
"""What one tick may catch up after an outage; the next tick goes on from there."""
_REFUSALS_PER_TICK = 3
"""A node that refuses or times out is not pressed: the rest of the halving is for the next ticks."""
_DECISION_ATTEMPTS = 10
"""How often a decision is taken anew when another scan or another payment of the request was faster."""


def scan(services: Services, name: str) -> int:
    """Reads a network up to its newest confirmed block; returns how many payments were recorded.

    Safe to repeat and to run twice at a time: payments are recorded by conditional writes before the cursor moves,
    so a crash or a race leads to reading a range again, never to skipping one.
    """
    chain, facts = services.chains.of(name), _network(name)
    confirmations = services.settings.confirmations.get(name, facts.confirmations)
    head = chain.head()
    cursor = services.store.get(Cursor, cursor_key(name))
    if cursor is None:
        cursor = chainlog.first_cursor(name, head, confirmations, facts.log_range)
    recorded = refusals = 0
    for _ in range(_RANGES_PER_TICK):
        blocks = chainlog.next_range(cursor, head, confirmations)
        if blocks is None:
            break
        try:
            reading = chain.read_range(blocks, cursor.newest)
        except Disconnected:
            cursor = _undo_fork(services, chain, cursor)
            continue
        except RangeTooLarge as error:
            services.log.warning("range too large", extra={"network": name, "reason": str(error)})
            cursor, refusals = _store_cursor(services, chainlog.narrow(cursor)), refusals + 1
            if refusals == _REFUSALS_PER_TICK:
                break
            continue
        recorded += _record_all(services, name, reading)
        cursor = _store_cursor(
            services, chainlog.advance(cursor, Checkpoint(blocks.last, reading.last_hash), facts.log_range)
        )
    return recorded


def _record_all(services: Services, name: str, reading: RangeReading) -> int:
    """Records every transfer of a range whose reference is ours; logs the rest of those as what they are."""
    transfers = [t for log in reading.logs if (t := chainlog.decode_transfer(name, log)) is not None]
    wanted = {reference_key(t.reference_topic): Reference for t in transfers}
    references = services.store.get_many(dict(wanted)) if wanted else {}
    recorded = 0
    for transfer in transfers:
        reference = references.get(reference_key(transfer.reference_topic))
        if reference is not None:
            recorded += _record(services, reference, transfer)
    return recorded


def _record(services: Services, reference: Reference, transfer: ProxyTransfer) -> bool:
    for _ in range(_DECISION_ATTEMPTS):
        payment, request = _load(services, reference.link_token, reference.position)
        reason = payments.mismatch(request, transfer)
        if reason is not None:
            services.log.warning(
                "transfer ignored",
                extra={
                    "reason": reason,
                    "network": transfer.network,
                    "tx_hash": transfer.tx_hash,
                    "request_id": request.request_id,
                },
            )
            return False
        decision = payments.record(
            payment, request, _payments_of(services, request), transfer, services.event_context()
        )
        if decision is None:
            return False
        if _commit(services, decision, _young(decision.payment, reference)):
            return True
    raise WriteConflict  # the message comes back, and the range with it


def _undo_fork(services: Services, chain: EvmChain, cursor: Cursor) -> Cursor:
    """The cursor rolled back to the common ancestor, with every payment reversed whose own block is gone."""
    canonical = chain.block_hashes([checkpoint.number for checkpoint in cursor.checkpoints])
    rolled = chainlog.roll_back(cursor, canonical)
    services.log.error(
        "fork deeper than the confirmations",
        extra={"network": cursor.network, "from_block": cursor.scanned_to, "to_block": rolled.scanned_to},
    )
    young_ones = services.store.query(
        YoungPayment,
        OPS,
        cursor_key(cursor.network).pk,
        young_payment_prefix(rolled.scanned_to + 1),
        young_payment_prefix(10**12 - 1) + "\uffff",
    )
    heights = sorted({young.block_number for young in young_ones})
    hashes = chain.block_hashes(heights) if heights else {}
    for young in young_ones:
        if hashes[young.block_number] != young.block_hash:
            _reverse(services, young)
    return _store_cursor(services, rolled)


def _store_cursor(services: Services, cursor: Cursor) -> Cursor:
    """Writes the cursor; WriteConflict means that another scan of this network is at it, and this one ends."""
    services.store.write(cursor)
    return replace(cursor, version=cursor.version + 1)


def _reverse(services: Services, orphan: YoungPayment) -> None:
    for _ in range(_DECISION_ATTEMPTS):
        payment, request = _load(services, orphan.link_token, orphan.position)
        recorded = _payments_of(services, request)
        place = Place(orphan.network, orphan.block_hash, orphan.log_index)
        decision = payments.reverse(payment, request, recorded, place, services.event_context())
        if decision is None or _commit(services, decision, None):
            return
    raise WriteConflict


def _commit(services: Services, decision: Decision, young: YoungPayment | None) -> bool:
    """Writes a decision with its events in one transaction, then announces them; False when it was overtaken."""
    extra = [record for record in (decision.link, young) if record is not None]
    try:
        services.store.write(decision.payment, decision.request, *extra, *decision.events)
    except WriteConflict:
        return False
    if decision.events:
        webhooks.announce(services, [replace(event, version=1) for event in decision.events])
    return True


def _load(services: Services, link_token: str, position: int) -> tuple[SecurePayment, Request]:
    payment = links.load(services, link_token)
    assert payment is not None, "a reference is written together with its link"
    return payment, payment.requests[position]


def _payments_of(services: Services, request: Request) -> tuple[Payment, ...]:
    return services.store.query(Payment, PAYMENTS, payments_partition(request.request_id))


def _young(payment: Payment, reference: Reference) -> YoungPayment | None:
    """The entry that finds a payment after a deep fork; one that stands again has its entry already."""
    if payment.version:
        return None
    return YoungPayment(
        network=payment.network,
        block_number=payment.block_number,
        block_hash=payment.block_hash,
        log_index=payment.log_index,
        link_token=reference.link_token,
        position=reference.position,
        detected_at=payment.detected_at,
    )


def _network(name: str) -> Network:
    found = network(name)
    assert found is not None, "only catalogued networks are scanned"
    return found
