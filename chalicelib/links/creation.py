"""Creation of secure payment links: what a merchant sends, the checks on it, and the records of the new link."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from chalicelib.access.callers import Owner
from chalicelib.base import ids, money
from chalicelib.base.addresses import address_bytes, address_of_family
from chalicelib.base.errors import BadRequest, Forbidden, Problem, ValidationFailed
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.catalogue.interop import Destination, parse_destination_id
from chalicelib.catalogue.networks import network_of_chain
from chalicelib.catalogue.tokens import Token, family_of, token_at, token_with_id
from chalicelib.links.fees import rules as fees
from chalicelib.links.records import Flow, Link, LinkStatus, PaymentType, SecurePayment
from chalicelib.links.rules import LARGEST_TOTAL, amount_with_fee
from chalicelib.requests.records import Request, RequestStatus
from chalicelib.requests.references import payment_reference

T = TypeVar("T")
DEFAULT_REDIRECT_LABEL = "Go Back and Close"
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


@frozen
class Item:
    """One entry of `requests[]` as sent: either `destination_id`, or payee and the two currency ids."""

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
    """The link that a merchant wants, as sent: only the form of the texts is checked. A payout has no `items`."""

    items: tuple[Item, ...]
    fee_percentage: str | None
    fee_address: str | None
    reference: str | None
    payer_identifier: str | None
    redirect_url: str | None
    redirect_label: str | None
    recipient_identifier: str | None = None


@frozen
class Target:
    """One amount to be paid to one payee, checked."""

    payee: str
    token: Token
    amount: BaseUnits


@frozen
class Terms:
    """The deployment's settings for new links."""

    lifetime: timedelta
    strict_checksum: bool


def create_link(
    draft: Draft,
    owner: Owner,
    terms: Terms,
    now: datetime,
    entropy: Entropy,
    bound: Destination | None = None,
) -> SecurePayment:
    """The new link: single for one item, a batch for several. `bound` is the active destination of the client id.

    Raises ValidationFailed or BadRequest with what to change in each wrong item, Forbidden for another destination than
    the bound one (interface.md, secure payments).
    """
    targets = _resolve_all(draft.items, terms, bound)
    _check_networks(targets)
    return build_link(draft, targets, owner, terms, now, entropy)


def build_link(
    draft: Draft,
    targets: Sequence[Target],
    owner: Owner,
    terms: Terms,
    now: datetime,
    entropy: Entropy,
    creator_wallet: str | None = None,
) -> SecurePayment:
    """The link and its requests, for targets on one network; a payout with `creator_wallet`. Raises BadRequest."""
    fee = fees.resolve(Fee(draft.fee_percentage, draft.fee_address), owner.settings.fee, family_of(targets[0].token))
    token = ids.ulid(now, entropy)
    link = Link(
        token=token,
        account_id=owner.account_id,
        client_id=owner.client_id,
        origin=owner.origin,
        payment_type=PaymentType.SINGLE if len(targets) == 1 else PaymentType.BATCH,
        status=LinkStatus.PENDING,
        created_at=now,
        expires_at=now + terms.lifetime,
        fee_percentage=fee.percentage,
        fee_address=fee.address,
        reference=draft.reference,
        payer_identifier=draft.payer_identifier,
        redirect_url=draft.redirect_url,
        redirect_label=redirect_label_of(draft.redirect_url, draft.redirect_label),
        flow=Flow.PAY if creator_wallet else Flow.GET_PAID,
        creator_wallet=creator_wallet,
        recipient_identifier=draft.recipient_identifier,
    )
    requests = tuple(
        _new_request(token, position, target, owner, now, entropy) for position, target in enumerate(targets)
    )
    check_totals(link, requests)
    return SecurePayment(link, requests)


def redirect_label_of(redirect_url: str | None, redirect_label: str | None) -> str | None:
    """The label of the button that leads to `redirect_url`; None without a URL."""
    return (redirect_label or DEFAULT_REDIRECT_LABEL) if redirect_url else None


def check_totals(link: Link, requests: Sequence[Request]) -> None:
    """Raises BadRequest if an amount with its fee, or the sum of all of them, is larger than a contract can handle."""
    debits = [amount_with_fee(request.amount, link) for request in requests]
    for position, debit in enumerate(debits):
        if debit > money.MAX_UINT256:
            path = ("requests", str(position), "amount") if link.flow is Flow.GET_PAID else ("amount",)
            raise _refused(path, "with its fee is larger than a token amount can be")
    if len(debits) > 1 and sum(debits) > LARGEST_TOTAL:
        raise BadRequest("The amounts with their fees add up to more than one batch can pay: make several links")


def parse_field(path: tuple[str, ...], parse: Callable[[str], T], text: str) -> T:
    """`parse(text)`. Raises ValidationFailed with the field's path where it raises BadRequest."""
    try:
        return parse(text)
    except BadRequest as error:
        raise _refused(path, error.message) from None


def _refused(path: tuple[str, ...], message: str) -> ValidationFailed:
    return ValidationFailed((Problem(path, message),))


def _resolve_all(items: Sequence[Item], terms: Terms, bound: Destination | None) -> list[Target]:
    targets: list[Target] = []
    problems: list[Problem] = []
    for position, item in enumerate(items):
        try:
            targets.append(_resolve(item, ("requests", str(position)), terms, bound))
        except ValidationFailed as error:
            problems += error.problems
    if problems:
        raise ValidationFailed(tuple(problems))
    return targets


def _resolve(item: Item, path: tuple[str, ...], terms: Terms, bound: Destination | None) -> Target:
    if item.destination_id is not None:
        payee, token = _from_destination(item, path, terms)
    elif bound is not None and not item.names_payee:
        payee, token = bound.wallet, _token_of(bound, path)
    else:
        payee, token = _from_fields(item, path)
    family = family_of(token)
    where = (*path, "payee" if item.destination_id is None else "destinationId")
    address = parse_field(where, lambda text: address_of_family(text, family), payee)
    if not any(address_bytes(address)):
        raise _refused(where, "names the zero address: funds sent there are lost")
    if bound is not None and Destination(address, token.chain_id, token.address) != bound:
        raise Forbidden("Destination does not match the configured payment destination.")
    amount = parse_field((*path, "amount"), lambda text: money.parse_amount(text, token.decimals), item.amount)
    return Target(address, token, amount)


def _from_destination(item: Item, path: tuple[str, ...], terms: Terms) -> tuple[str, Token]:
    if item.names_payee:
        raise _refused(path, "Give either destinationId, or payee, invoiceCurrency and paymentCurrency, not both")
    assert item.destination_id is not None
    where = (*path, "destinationId")
    try:
        destination = parse_destination_id(item.destination_id, terms.strict_checksum).destination
    except BadRequest as error:
        raise ValidationFailed((Problem(where, error.message, verbatim=True),)) from None
    return destination.wallet, _token_of(destination, where)


def _token_of(destination: Destination, path: tuple[str, ...]) -> Token:
    chain = network_of_chain(destination.chain_id)
    token = token_at(chain.name, destination.token_address) if chain else None
    if token is None:
        raise _refused(path, "names a chain or token that is not supported; GET /v2/currencies lists them")
    return token


def _from_fields(item: Item, path: tuple[str, ...]) -> tuple[str, Token]:
    if not (item.payee and item.invoice_currency and item.payment_currency):
        raise _refused(
            path,
            "needs destinationId, or payee, invoiceCurrency and paymentCurrency "
            "(no client ID with an active payee destination is calling)",
        )
    invoice = _currency((*path, "invoiceCurrency"), item.invoice_currency)
    token = _currency((*path, "paymentCurrency"), item.payment_currency)
    if token.network == "fiat":
        raise _refused((*path, "paymentCurrency"), f"{token.id} cannot be paid on a chain; choose a token")
    if invoice != token:
        raise _refused(
            (*path, "invoiceCurrency"),
            f"{invoice.id} cannot be paid in {token.id}: both currencies must be the same token",
        )
    return item.payee, token


def _currency(path: tuple[str, ...], id: str) -> Token:
    token = token_with_id(id)
    if token is None:
        raise _refused(path, f"Currency {id[:_MAX_QUOTED]} is not supported; GET /v2/currencies lists the ids")
    return token


def _check_networks(targets: Sequence[Target]) -> None:
    """Raises BadRequest unless one transaction can pay the batch: one network, and not Tron."""
    if len(targets) > 1 and any(target.token.network == "tron" for target in targets):
        raise BadRequest(
            "Batch payments are not supported for TRON networks. Please submit individual payment requests."
        )
    names = list(dict.fromkeys(target.token.network for target in targets))
    if len(names) > 1:
        raise BadRequest(f"A batch is paid on one network and these items are on {', '.join(names)}: make one for each")


def _new_request(
    bill_id: str, position: int, target: Target, owner: Owner, now: datetime, entropy: Entropy
) -> Request:
    request_id, salt = ids.request_id(entropy), ids.salt(entropy)
    return Request(
        bill_id=bill_id,
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
        account_id=owner.account_id,
        client_id=owner.client_id,
        origin=owner.origin,
        created_at=now,
    )
