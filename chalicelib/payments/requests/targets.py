"""Targets: what is to be paid to whom in which token, as sent and checked."""


from chalicelib.base import money
from chalicelib.base.errors import BadRequest, Forbidden, Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.conversions import on_chain_units
from chalicelib.chains.catalogue.interop import Destination, parse_destination_id
from chalicelib.chains.catalogue.networks import network_of_chain
from chalicelib.chains.catalogue.recipients import OwnAddresses, parse_recipient
from chalicelib.chains.catalogue.tokens import Token, family_of, token_at, token_with_id
from chalicelib.payments.currencies.rules import ConversionFacts, way_of
from chalicelib.payments.requests.field_problems import Path, parse_field, refuse_field
from chalicelib.payments.requests.records import PayeeName

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
    payee_name: PayeeName | None = None
    """The name that was sent, if `payee` is what it resolved to."""

    @property
    def names_payee(self) -> bool:
        """Whether any of the three is given; an empty text is, and is refused."""
        return (self.payee, self.invoice_currency, self.payment_currency) != (None, None, None)


@frozen
class Terms:
    """The deployment's settings for new requests."""

    strict_checksum: bool
    conversions: ConversionFacts
    own: OwnAddresses


@frozen
class Target:
    """One amount to be paid to one payee in `token`, checked.

    `amount` is in the invoice currency, as in Request; `invoice` is None if that is the token itself.
    """

    payee: str
    token: Token
    amount: BaseUnits
    invoice: Token | None = None
    payee_name: PayeeName | None = None


def resolve(item: Item, path: Path, terms: Terms, bound: Destination | None) -> Target:
    """What an item says, checked. `bound` is the active destination of the client id, where money may go nowhere else.

    Raises ValidationFailed, or Forbidden for another destination than the bound one (specification, secure payments).
    """
    invoice: Token | None = None
    if item.destination_id is not None:
        payee, token = _from_destination(item, path, terms)
    elif bound is not None and not item.names_payee:
        payee, token = bound.wallet, _token_of(bound, path)
    else:
        payee, token, invoice = _from_fields(item, path, terms)
    where = (*path, "payee" if item.destination_id is None else "destinationId")
    address = parse_field(where, lambda text: parse_recipient(text, family_of(token), terms.own), payee)
    if bound is not None and Destination(address, token.chain_id, token.address) != bound:
        raise Forbidden("Destination does not match the configured payment destination.")
    amount = parse_field((*path, "amount"), lambda text: _amount(text, token, invoice), item.amount)
    return Target(address, token, amount, invoice, item.payee_name)


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
        raise refuse_field(path, "Give either destinationId, or payee, invoiceCurrency and paymentCurrency, not both")
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
        raise refuse_field(path, "names a chain or token that is not supported; GET /v2/currencies lists them")
    return token


def _from_fields(item: Item, path: Path, terms: Terms) -> tuple[str, Token, Token | None]:
    """Payee, payment currency, and the invoice currency unless it is the same."""
    if not (item.payee and item.invoice_currency and item.payment_currency):
        raise refuse_field(
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
        raise refuse_field((*path, "paymentCurrency"), f"{token.id} cannot be paid on a chain; choose a token")
    if invoice.id == token.id:
        return token, None
    if way_of(invoice, token, terms.conversions) is None:
        raise refuse_field(
            (*path, "invoiceCurrency"),
            f"{invoice.id} cannot be paid in {token.id} here; "
            f"GET /v2/currencies/{invoice.id}/conversion-routes lists the currencies in which it can",
        )
    return token, invoice


def without_payee(item: Item, path: Path, terms: Terms) -> Target:
    """What is paid to a bank account: the provider's deposit address becomes the payee at the first /pay."""
    token, invoice = _currencies(item, path, terms)
    amount = parse_field((*path, "amount"), lambda text: _amount(text, token, invoice), item.amount)
    return Target("", token, amount, invoice)


def _currency(path: Path, id: str) -> Token:
    token = token_with_id(id)
    if token is None:
        raise refuse_field(path, f"Currency {id[:_MAX_QUOTED]} is not supported; GET /v2/currencies lists the ids")
    return token
