"""Reconciliation: compares the totals of requests with their payments, those of commerce payments with the escrow."""

from chalicelib.base.addresses import same_address
from chalicelib.commerce.core.ledger import is_state_of
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.matching import differing_totals
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import Request
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services

_READINGS = 3
"""How often a payable is read that changes while its payments are read."""


def reconcile(services: Services, payable_id: str) -> list[Request]:
    """The requests of a payable whose stored totals are not those of their payments; each is logged as an error.

    Changes nothing: a difference is a fault of this service, which a person has to look at. One query for the payable
    and one per request that was paid, which has a limited number of payments.
    """
    payable = link_store.load_payable(services.store, payable_id)
    for _ in range(_READINGS):
        if payable is None:
            return []
        paid = {
            each.request_id: payment_store.payments(services.store, each.request_id)
            for each in _requests_with_payment(payable)
        }
        before, payable = payable, link_store.load_payable(services.store, payable_id)
        if payable == before:
            break
    else:
        return []  # it changes all the time; it is compared again when later blocks are read again
    differing = [each for each in _requests_with_payment(before) if differing_totals(each, paid[each.request_id])]
    for request in differing:
        services.log.error("totals differ", extra={"payable": payable_id, "request_id": request.request_id})
    return differing


def reconcile_escrow(services: Services, payable_id: str) -> bool | None:
    """Whether the totals of a link's commerce payment are what the escrow itself says; a difference is an error in the
    log. None if that cannot be told: it was never paid, its network has no escrow now, or it changes meanwhile.

    Compares the state of the block up to which the network is read, if everything that was read is recorded. Changes
    nothing. Five reads at most, one of them of the node. Raises ChainUnavailable.
    """
    before = link_store.load_payable(services.store, payable_id)
    payment = before.commerce if before is not None else None
    if payment is None or payment.payment_hash is None:
        return None
    cursor = scan_store.cursor(services.store, payment.network)
    chain = services.chains.evm(payment.network)
    is_there = chain.escrow is not None and same_address(chain.escrow.escrow, payment.escrow)
    if cursor is None or not is_there or scan_store.has_work(services.store, [payable_id]):
        return None
    (state,) = chain.read_escrow([payment.payment_hash], cursor.scanned_to)
    after = link_store.load_payable(services.store, payable_id)
    if after is None or after.commerce != payment:
        return None
    if is_state_of(payment, state.collected, state.capturable, state.refundable):
        return True
    facts = {"capturable": payment.capturable, "capturable_of_escrow": state.capturable}
    facts |= {"to_refund": payment.refundable, "refundable": state.refundable}
    services.log.error("escrow differs", extra={"payable": payable_id, "network": payment.network, **facts})
    return False


def _requests_with_payment(payable: Payable) -> list[Request]:
    return [each for each in payable.requests if each.paid or each.payment_count]
