"""Records an announced payment from another chain: where it comes from, and what is known of it already."""

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.catalogue.networks import Network, require_network
from chalicelib.crosschain.core.bridged_calls import read_source
from chalicelib.crosschain.core.records import BridgeTransfer
from chalicelib.payments.announcements.admission import AnnouncedStart, Announcement, names_payment
from chalicelib.payments.announcements.bridges import deposits
from chalicelib.payments.announcements.observing import read_sent
from chalicelib.payments.links.records import PayableLink, PaymentType, Proof
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services

_FOREIGN = "This transaction does not pay this link: announce the one that deposits into the bridge, not an approval"


def is_bridge_transfer(payable: PayableLink, draft: Announcement) -> bool:
    """Whether a draft is of a transaction on another chain than the link's; of a multicall, than that of a child."""
    return any(draft.chain != require_network(each.network).label for each in payable.requests)


def children_paid(
    services: Services, payable: PayableLink, parts: Sequence[PayableLink], draft: Announcement
) -> tuple[str, ...]:
    """The tokens of the multicall's children that a transaction of a source chain pays, through a bridge or on that
    chain itself; none if it is not known yet.

    One request to the source chain's node. Raises BadRequest if the transaction pays none of them.
    """
    if payable.link.payment_type is not PaymentType.MULTICALL or draft.tx_hash is None:
        return ()
    source = deposits.check_source(payable, draft.chain, draft.token)
    sent = read_sent(services, source.name, draft.tx_hash)
    if sent is None:
        return ()
    own = [each for each in parts if each.requests and require_network(each.requests[0].network) == source]
    here = tuple(each.link.token for each in own if names_payment(each, sent.to, sent.data))
    if here:
        return here
    references = {each.deposit.payment_reference for each in _find_deposits(source, payable, sent)}
    return tuple(
        part.link.token for part in parts if any(each.payment_reference in references for each in part.requests)
    )


def start_announced(
    services: Services, payable: PayableLink, parts: Sequence[PayableLink], draft: Announcement, start: AnnouncedStart
) -> tuple[Network, AnnouncedStart]:
    """The source chain, and the start of an announced transaction on it, without the Safe of a Safe's transaction.

    One read, and one request to the source chain's node. Raises BadRequest if the transaction cannot pay the link,
    ChainUnavailable if a node does not answer or detection has not begun on the link's chain.
    """
    source = deposits.check_source(payable, draft.chain, draft.token)
    destination = require_network(payable.requests[0].network)
    cursor = scan_store.cursor(services.store, destination.name)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {destination.name} yet: try again in a minute")
    searched_to = max(cursor.scanned_to - destination.log_range, 0)
    bridge_transfer = BridgeTransfer(destination.name, services.clock(), searched_to, tool=draft.bridge_tool)
    start = replace(start, network=source.name, bridge_transfer=bridge_transfer)
    if draft.tx_hash is None:
        return source, start
    sent = read_sent(services, source.name, draft.tx_hash)
    if sent is None:
        return source, start
    paid = _find_deposits(source, payable, sent)
    if not paid:
        return source, start  # of a smart wallet, maybe: it is known once it is in a block
    _check_amount(services, payable, parts, paid[0])
    known = replace(bridge_transfer, deposit=paid[0].deposit)
    return source, replace(start, wallet=sent.sender, nonce=sent.nonce, proof=Proof.SENT, bridge_transfer=known)


def _find_deposits(source: Network, payable: PayableLink, sent: SentTransaction) -> tuple[deposits.PaidDeposit, ...]:
    """The deposits that pay the link. Raises BadRequest if there can be none."""
    if sent.success is False:
        raise BadRequest("This transaction failed: get the transactions from /pay again")
    paid = deposits.deposits_of(source, payable.requests, sent)
    if not paid and (sent.block is not None or read_source(source, sent.to or "", sent.data) is not None):
        raise BadRequest(_FOREIGN)
    return paid


def _check_amount(
    services: Services, payable: PayableLink, parts: Sequence[PayableLink], paid: deposits.PaidDeposit
) -> None:
    """Raises BadRequest for a deposit that brings less than what is due, takes too little to be filled, or that only
    whoever sends it may fill: it could lock the link for long without the money for it."""
    request = deposits.request_of(payable.requests, paid.deposit)
    assert request is not None, "the deposit pays a request of the link"
    if not paid.is_timely or not deposits.covers(
        paid.deposit, request, deposits.least_due_of(services, parts, request)
    ):
        raise BadRequest("This transaction does not pay what is due of this link: get the transactions from /pay again")
