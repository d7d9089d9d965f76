"""Creation of requests: what a merchant sends, the checks on it, and the records of the new requests."""

from dataclasses import replace
from datetime import datetime

from chalicelib.base import ids
from chalicelib.base.addresses import address_of_family, same_address
from chalicelib.base.errors import Forbidden
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.payments.requests.calendar import start_of, start_recurrence
from chalicelib.payments.requests.field_problems import Path, parse_field, refuse_field
from chalicelib.payments.requests.records import CustomerInfo, Recurrence, Request, RequestStatus
from chalicelib.payments.requests.references import payment_reference
from chalicelib.payments.requests.targets import Item, Target, Terms, resolve, without_payee
from chalicelib.platform.access.callers import Owner


@frozen
class Draft:
    """The request that a merchant wants, as sent; only its form is checked."""

    item: Item
    payer: str | None = None
    reference: str | None = None
    customer_info: CustomerInfo | None = None
    recurrence: Recurrence | None = None
    original_request_id: str | None = None
    original_payment_reference: str | None = None
    is_crypto_to_fiat: bool = False
    plain_transfer: bool | None = None
    """Whether it gets an address for plain transfers; None leaves that to its account."""


def create_request(
    draft: Draft, path: Path, owner: Owner, terms: Terms, now: datetime, entropy: Entropy, bound: Destination | None
) -> Request:
    """The new request, which stands by itself. `path` is where the draft stands in the body, for errors.

    `bound` is the active destination of the client id, where money may go nowhere else. Raises ValidationFailed,
    BadRequest or Forbidden with what to change.
    """
    if draft.is_crypto_to_fiat:
        _check_off_ramp(draft, path, bound)
    if draft.is_crypto_to_fiat and draft.item.payee is None:
        target = without_payee(draft.item, path, terms)
    else:
        target = resolve(_with_payee(draft.item, path, bound), path, terms, bound)
    payer = _payer(draft.payer, target, path) if draft.payer is not None else None
    if draft.recurrence is not None:
        check_start(draft.recurrence.start_date, (*path, "recurrence", "startDate"), now)
    request = new_request(None, 0, target, owner, now, entropy)
    return replace(
        request,
        payer=payer,
        reference=draft.reference,
        customer_info=draft.customer_info,
        recurrence=start_recurrence(draft.recurrence, now) if draft.recurrence else None,
        original_request_id=draft.original_request_id,
        original_payment_reference=draft.original_payment_reference,
        is_crypto_to_fiat=draft.is_crypto_to_fiat,
    )


def new_request(
    payable_id: str | None, position: int, target: Target, owner: Owner, now: datetime, entropy: Entropy
) -> Request:
    """The record of a request in a payable; one that stands by itself with None."""
    request_id, salt = ids.request_id(entropy), ids.salt(entropy)
    return Request(
        payable_id=payable_id or request_id,
        position=position,
        request_id=request_id,
        salt=salt,
        payment_reference="0x" + payment_reference(request_id, salt, target.payee).hex(),
        payee=target.payee,
        network=target.token.network,
        currency=target.token.id,
        amount=target.amount,
        status=RequestStatus.CREATED,
        paid=BaseUnits(0),
        tx_hash=None,
        created_with=owner.mode,
        account_id=owner.account_id,
        client_id=owner.client_id,
        origin=owner.origin,
        created_at=now,
        invoice_currency=target.invoice.id if target.invoice else None,
        payee_name=target.payee_name,
    )


def _check_off_ramp(draft: Draft, path: Path, bound: Destination | None) -> None:
    """Raises ValidationFailed or Forbidden unless what is paid may be sent to a bank account."""
    if bound is not None:
        raise Forbidden(
            "This client ID is bound to a payee destination, where its payments go: leave isCryptoToFiatAvailable out"
        )
    if draft.recurrence is not None:
        raise refuse_field(
            (*path, "recurrence"), "cannot be given with isCryptoToFiatAvailable: create a request for each payment"
        )


def _with_payee(item: Item, path: Path, bound: Destination | None) -> Item:
    """The item with the wallet of the bound destination as its payee, if it names none."""
    if item.payee is not None:
        return item
    if bound is None:
        raise refuse_field((*path, "payee"), "is required (no client ID with an active payee destination is calling)")
    return replace(item, payee=bound.wallet)


def _payer(text: str, target: Target, path: Path) -> str:
    where = (*path, "payer")
    payer = parse_field(where, lambda given: address_of_family(given, family_of(target.token)), text)
    if same_address(payer, target.payee):
        raise refuse_field(where, "is the payee: give the wallet that pays, or leave it out")
    return payer


def check_start(text: str, path: Path, now: datetime) -> datetime:
    """The instant of a start date. Raises ValidationFailed unless it is in ISO 8601 and not before today, by UTC."""
    try:
        start = start_of(text)
    except (ValueError, OverflowError):
        raise refuse_field(path, "must be a date such as 2030-01-31, or an instant, in ISO 8601") from None
    if start.date() < now.date():
        raise refuse_field(path, "is in the past: give today or a later day")
    return start
