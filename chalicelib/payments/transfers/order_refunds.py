"""Refunds of an order: what its payee signs to return all or a part of what was paid for a request.

    payments of the request ── who paid, from their receipts ── what is left of what each paid ── one refund

The refund has a reference of its own, made of the request and of who receives it. The scanner finds the transfer by it.
"""

from collections.abc import Mapping, Sequence

from chalicelib.base.addresses import hex_address, same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, format_amount, parse_amount
from chalicelib.chains.catalogue.recipients import parse_recipient
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.chains.nodes.agreement import agree
from chalicelib.chains.nodes.history.receipts import PaymentSender
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import Payable
from chalicelib.payments.recording.matching import select_confirmed
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from chalicelib.payments.transfers import refund_offers
from chalicelib.payments.transfers.flows import store_refunds
from chalicelib.payments.transfers.refund_offers import RefundOffer
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services

MAX_RECEIPTS = 50
"""Of so many payments the payers are read; of a request with more who receives the refund has to be named."""


@frozen
class OrderRefund:
    """A refund to sign; `left` is what can be refunded of the request after it, in base units of its token."""

    request: Request
    offer: RefundOffer
    left: BaseUnits


@frozen
class _Payer:
    """What an address has paid of a request, and what of it was returned to it."""

    address: str
    paid: int
    returned: int = 0


def refund(services: Services, name: str, viewer: Viewer, amount: str | None, to: str | None) -> OrderRefund:
    """The refund of an amount of a request, in its token, to who paid it or to a named address; of all that is left if
    no amount is given.

    Up to four reads for the request, one query for its payments, up to two requests to each node, and two reads and one
    transaction for the reference. It moves nothing, and the same call again has the same answer until one is sent.
    Raises NotFound, BadRequest, ChainUnavailable, and Conflict if less is left or the receiver has to be named.
    """
    request, payable = load_request(services, name, viewer)
    _check(request, payable)
    left = request.received - request.refunded
    if left <= 0:
        raise Conflict("Nothing is left to refund of this request")
    receiver, most = _receiver(services, request, to, left)
    token = currency_of(request)
    wanted = most if amount is None else _parse_amount(amount, token.decimals)
    if wanted > most:
        raise Conflict(f"amount: no more than {format_amount(most, token.decimals)} {token.symbol} can be refunded")
    key = refund_offers.order_refund_key(request, receiver, token.id)
    store_refunds(services, {key: (request, receiver)})
    offer = refund_offers.offer_of(request, token, receiver, BaseUnits(wanted))
    return OrderRefund(request, offer, BaseUnits(left - wanted))


def _check(request: Request, payable: Payable) -> None:
    if request.fiat is not None:
        raise BadRequest("The off-ramp provider has received the payment: ask the provider to return it")
    if payable.commerce is not None:
        raise BadRequest(f"Refund a commerce payment by POST /v2/commerce-payments/{request.request_id}/refund")


def _receiver(services: Services, request: Request, to: str | None, left: int) -> tuple[str, int]:
    """Who receives the refund, and the most that it may be: of a payer what they paid and do not have back."""
    token = currency_of(request)
    named = None if to is None else _address(services, to, family_of(token))
    if named is not None and same_address(named, request.payee):
        raise BadRequest("to: the payee is who refunds")
    payments = select_confirmed(payment_store.payments(services.store, request.request_id))
    try:
        payers = _payers(services, request, payments)
    except ChainUnavailable:
        if named is None:
            raise
        payers = None
    if named is not None:
        own = next((each for each in payers or () if same_address(each.address, named)), None)
        return named, left if own is None else _most(own, left)
    if payers is None or len(payers) != 1:
        paid = ", ".join(f"{each.address} {format_amount(each.paid, token.decimals)}" for each in payers or ())
        raise Conflict(
            "to: name the address that receives the refund"
            + (f", because several have paid: {paid}" if paid else
               ". The chain does not show a wallet that has paid everything: ask the payer")
        )  # fmt: skip
    most = _most(payers[0], left)
    if not most:
        raise Conflict("Nothing is left to refund to who has paid this request")
    return payers[0].address, most


def _most(payer: _Payer, left: int) -> int:
    return min(left, max(payer.paid - payer.returned, 0))


def _payers(services: Services, request: Request, payments: Sequence[Payment]) -> list[_Payer] | None:
    """Who paid a request; None if that is not known of a part, or somebody paid from a contract or another network
    without having named an address here."""
    moved = sum(each.amount for each in payments)
    if len(payments) > MAX_RECEIPTS or moved != request.received:
        return None
    paid = [refund_offers.paid_transfer_of(request, each, currency_of(request)) for each in payments]
    found = agree(services.chains.of(request.network), lambda node: node.payers_of(paid))
    by_address = _amounts_by_payer(request, payments, found)
    return None if by_address is None else _with_returned(services, request, by_address)


def _amounts_by_payer(
    request: Request, payments: Sequence[Payment], senders: Agreed[tuple[PaymentSender | None, ...]]
) -> dict[str, int] | None:
    """What each address has paid, in base units; None if a payment has no address here to which it can be refunded."""
    by_address = dict[str, int]()
    for payment, sender in zip(payments, senders.value, strict=True):
        address = sender.address if sender is not None and sender.is_wallet else None
        if sender is not None and sender.bridged_from is not None and payment.origin is not None:
            address = payment.origin.refund_to
        if address is None or hex_address(address) == request.payee_in_logs:
            return None
        by_address[address] = by_address.get(address, 0) + payment.amount
    return by_address


def _with_returned(services: Services, request: Request, paid: Mapping[str, int]) -> list[_Payer]:
    keys = {address: refund_offers.order_refund_key(request, address, request.currency) for address in paid}
    sent = payment_store.refunds(services.store, keys.values())
    returned = {address: sent[key].sent if key in sent else 0 for address, key in keys.items()}
    return [_Payer(address, amount, returned[address]) for address, amount in paid.items()]


def _parse_amount(amount: str, decimals: int) -> BaseUnits:
    try:
        return parse_amount(amount, decimals)
    except BadRequest as error:
        raise BadRequest(f"amount {error.message}") from None


def _address(services: Services, text: str, family: str) -> str:
    try:
        return parse_recipient(text, family, own_addresses(services))
    except BadRequest as error:
        raise BadRequest(f"to: {error.message}") from None
