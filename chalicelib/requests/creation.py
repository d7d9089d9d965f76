"""Creation of requests: what a merchant sends, the checks on it, and the records of the new requests."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from chalicelib.access.callers import Owner
from chalicelib.base import ids, money
from chalicelib.base.addresses import address_bytes, address_of_family, same_address
from chalicelib.base.errors import BadRequest, Forbidden, Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits
from chalicelib.catalogue.conversions import on_chain_units
from chalicelib.catalogue.interop import Destination, parse_destination_id
from chalicelib.catalogue.networks import network_of_chain
from chalicelib.catalogue.tokens import Token, family_of, token_at, token_with_id
from chalicelib.currencies.rules import ConversionFacts, way_of
from chalicelib.requests.calendar import start_of, started
from chalicelib.requests.records import CustomerInfo, Recurrence, Request, RequestStatus
from chalicelib.requests.references import payment_reference

S = TypeVar("S")
T = TypeVar("T")
Path = tuple[str, ...]
"""The fields of a body that lead to a value: `("requests", "0", "payee")`, or `("payee",)` for a body that is one."""
LARGEST_CONVERTED = 2**128 - 1
"""The largest amount of an invoice that is converted, in its units: at any rate it fits in the 256 bits of a token."""
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


@frozen
class Item:
    """What is to be paid to whom, as sent: either `destination_id`, or payee and the two currency ids."""

    amount: str
    destination_id: str | None
    payee: str | None
    invoice_currency: str | None
    payment_currency: str | None

    @property
    def names_payee(self) -> bool:
        """Whether any of the three is given; an empty text is, and is refused."""
        return (self.payee, self.invoice_currency, self.payment_currency) != (None, None, None)


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


@frozen
class Terms:
    """The deployment's settings for new requests."""

    strict_checksum: bool
    conversions: ConversionFacts


@frozen
class Target:
    """One amount to be paid to one payee in `token`, checked.

    `amount` is in the invoice currency, as in Request; `invoice` is None if that is the token itself.
    """

    payee: str
    token: Token
    amount: BaseUnits
    invoice: Token | None = None


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
        target = _without_payee(draft.item, path, terms)
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
        recurrence=started(draft.recurrence, now) if draft.recurrence else None,
        original_request_id=draft.original_request_id,
        original_payment_reference=draft.original_payment_reference,
        is_crypto_to_fiat=draft.is_crypto_to_fiat,
    )


def new_request(
    bill_id: str | None, position: int, target: Target, owner: Owner, now: datetime, entropy: Entropy
) -> Request:
    """The record of a request in a bill; one that stands by itself with None."""
    request_id, salt = ids.request_id(entropy), ids.salt(entropy)
    return Request(
        bill_id=bill_id or request_id,
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
        payment_count=0,
        confirmed_count=0,
        account_id=owner.account_id,
        client_id=owner.client_id,
        origin=owner.origin,
        created_at=now,
        invoice_currency=target.invoice.id if target.invoice else None,
    )


def for_each(entries: Sequence[S], make: Callable[[S, Path], T]) -> list[T]:
    """What `make` returns for each entry of `requests[]` and its path. Raises ValidationFailed with all problems."""
    made: list[T] = []
    problems: list[Problem] = []
    for position, entry in enumerate(entries):
        try:
            made.append(make(entry, ("requests", str(position))))
        except ValidationFailed as error:
            problems += error.problems
    if problems:
        raise ValidationFailed(tuple(problems))
    return made


def parse_field(path: Path, parse: Callable[[str], T], text: str) -> T:
    """`parse(text)`. Raises ValidationFailed with the field's path where it raises BadRequest."""
    try:
        return parse(text)
    except BadRequest as error:
        raise refused(path, error.message) from None


def refused(path: Path, message: str) -> ValidationFailed:
    """The error for one field."""
    return ValidationFailed((Problem(path, message),))


def resolve(item: Item, path: Path, terms: Terms, bound: Destination | None) -> Target:
    """What an item says, checked. `bound` is the active destination of the client id, where money may go nowhere else.

    Raises ValidationFailed, or Forbidden for another destination than the bound one (interface.md, secure payments).
    """
    invoice: Token | None = None
    if item.destination_id is not None:
        payee, token = _from_destination(item, path, terms)
    elif bound is not None and not item.names_payee:
        payee, token = bound.wallet, _token_of(bound, path)
    else:
        payee, token, invoice = _from_fields(item, path, terms)
    where = (*path, "payee" if item.destination_id is None else "destinationId")
    address = parse_field(where, lambda text: address_of_family(text, family_of(token)), payee)
    if not any(address_bytes(address)):
        raise refused(where, "names the zero address: funds sent there are lost")
    if bound is not None and Destination(address, token.chain_id, token.address) != bound:
        raise Forbidden("Destination does not match the configured payment destination.")
    amount = parse_field((*path, "amount"), lambda text: _amount(text, token, invoice), item.amount)
    return Target(address, token, amount, invoice)


def _amount(text: str, token: Token, invoice: Token | None) -> BaseUnits:
    """An amount of an invoice in its units. It has at most the decimals of its currency, such as 2 for USD."""
    if invoice is None:
        return money.parse_amount(text, token.decimals)
    amount = on_chain_units(invoice, money.parse_amount(text, invoice.decimals))
    if amount > LARGEST_CONVERTED:
        raise BadRequest("is too large to be converted to another currency")
    return amount


def _from_destination(item: Item, path: Path, terms: Terms) -> tuple[str, Token]:
    if item.names_payee:
        raise refused(path, "Give either destinationId, or payee, invoiceCurrency and paymentCurrency, not both")
    assert item.destination_id is not None
    where = (*path, "destinationId")
    try:
        destination = parse_destination_id(item.destination_id, terms.strict_checksum).destination
    except BadRequest as error:
        raise ValidationFailed((Problem(where, error.message, verbatim=True),)) from None
    return destination.wallet, _token_of(destination, where)


def _token_of(destination: Destination, path: Path) -> Token:
    chain = network_of_chain(destination.chain_id)
    token = token_at(chain.name, destination.token_address) if chain else None
    if token is None:
        raise refused(path, "names a chain or token that is not supported; GET /v2/currencies lists them")
    return token


def _from_fields(item: Item, path: Path, terms: Terms) -> tuple[str, Token, Token | None]:
    """Payee, payment currency, and the invoice currency unless it is the same."""
    if not (item.payee and item.invoice_currency and item.payment_currency):
        raise refused(
            path,
            "needs destinationId, or payee, invoiceCurrency and paymentCurrency "
            "(no client ID with an active payee destination is calling)",
        )
    return item.payee, *_currencies(item, path, terms)


def _currencies(item: Item, path: Path, terms: Terms) -> tuple[Token, Token | None]:
    """The payment currency, and the invoice currency unless it is the same."""
    assert item.invoice_currency is not None and item.payment_currency is not None, "both were given"
    invoice = _currency((*path, "invoiceCurrency"), item.invoice_currency)
    token = _currency((*path, "paymentCurrency"), item.payment_currency)
    if token.is_fiat:
        raise refused((*path, "paymentCurrency"), f"{token.id} cannot be paid on a chain; choose a token")
    if invoice.id == token.id:
        return token, None
    if way_of(invoice, token, terms.conversions) is None:
        raise refused(
            (*path, "invoiceCurrency"),
            f"{invoice.id} cannot be paid in {token.id} here; "
            f"GET /v2/currencies/{invoice.id}/conversion-routes lists the currencies in which it can",
        )
    return token, invoice


def _without_payee(item: Item, path: Path, terms: Terms) -> Target:
    """What is paid to a bank account: the provider's deposit address becomes the payee at the first /pay."""
    token, invoice = _currencies(item, path, terms)
    amount = parse_field((*path, "amount"), lambda text: _amount(text, token, invoice), item.amount)
    return Target("", token, amount, invoice)


def _check_off_ramp(draft: Draft, path: Path, bound: Destination | None) -> None:
    """Raises ValidationFailed or Forbidden unless what is paid may be sent to a bank account."""
    if bound is not None:
        raise Forbidden(
            "This client ID is bound to a payee destination, where its payments go: leave isCryptoToFiatAvailable out"
        )
    if draft.recurrence is not None:
        raise refused(
            (*path, "recurrence"), "cannot be given with isCryptoToFiatAvailable: create a request for each payment"
        )


def _currency(path: Path, id: str) -> Token:
    token = token_with_id(id)
    if token is None:
        raise refused(path, f"Currency {id[:_MAX_QUOTED]} is not supported; GET /v2/currencies lists the ids")
    return token


def _with_payee(item: Item, path: Path, bound: Destination | None) -> Item:
    """The item with the wallet of the bound destination as its payee, if it names none."""
    if item.payee is not None:
        return item
    if bound is None:
        raise refused((*path, "payee"), "is required (no client ID with an active payee destination is calling)")
    return replace(item, payee=bound.wallet)


def _payer(text: str, target: Target, path: Path) -> str:
    where = (*path, "payer")
    payer = parse_field(where, lambda given: address_of_family(given, family_of(target.token)), text)
    if same_address(payer, target.payee):
        raise refused(where, "is the payee: give the wallet that pays, or leave it out")
    return payer


def check_start(text: str, path: Path, now: datetime) -> datetime:
    """The instant of a start date. Raises ValidationFailed unless it is in ISO 8601 and not before today, by UTC."""
    try:
        start = start_of(text)
    except (ValueError, OverflowError):
        raise refused(path, "must be a date such as 2030-01-31, or an instant, in ISO 8601") from None
    if start.date() < now.date():
        raise refused(path, "is in the past: give today or a later day")
    return start
