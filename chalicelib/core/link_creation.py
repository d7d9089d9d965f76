"""New secure payment links: what a merchant may ask for, and what is written when it holds."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from chalicelib.core import ids, money
from chalicelib.core.addresses import ZERO_ADDRESS, evm_address, tron_address
from chalicelib.core.destinations import Destination, parse_destination_id
from chalicelib.core.errors import BadRequest, Forbidden
from chalicelib.core.ids import Entropy
from chalicelib.core.links import Link, LinkStatus, Request, RequestStatus, SecurePayment, amount_with_fee
from chalicelib.core.money import BaseUnits
from chalicelib.core.networks import network_of_chain
from chalicelib.core.references import payment_reference
from chalicelib.core.tokens import Token, token_at, token_with_id

T = TypeVar("T")
DEFAULT_REDIRECT_LABEL = "Go Back and Close"
_SHOWN = 80  # characters of a text that was sent, in the message that refuses it


@dataclass(frozen=True)
class ClientSettings:
    """What a client id lays down for its links: its fee, the record of the destination it is bound to, and the
    orchestrator that alone creates for it."""

    fee_percentage: str | None = None
    fee_address: str | None = None
    payee_destination_id: str | None = None
    orchestrator_id: str | None = None


@dataclass(frozen=True)
class Owner:
    """Who creates a link: the account, and the client id with its Origin when one was used.

    `orchestrator_id` is set when an orchestrator acts for the client id.
    """

    account_id: str
    client_id: str | None
    origin: str | None
    settings: ClientSettings = ClientSettings()
    orchestrator_id: str | None = None


@dataclass(frozen=True)
class Item:
    """One entry of `requests[]` as it was sent: either `destination_id`, or payee and the two currency ids."""

    amount: str
    destination_id: str | None
    payee: str | None
    invoice_currency: str | None
    payment_currency: str | None


@dataclass(frozen=True)
class Draft:
    """What a merchant asks for; texts as sent, checked for form but not for meaning."""

    items: tuple[Item, ...]
    fee_percentage: str | None
    fee_address: str | None
    reference: str | None
    payer_identifier: str | None
    redirect_url: str | None
    redirect_label: str | None


@dataclass(frozen=True)
class Terms:
    """The service's own rules for new links."""

    lifetime: timedelta
    strict_checksum: bool


def check_creator(owner: Owner, bound: Destination | None) -> None:
    """Who may create for a client id that an orchestrator is linked to: only the pair, and only to be paid at the
    active destination that the client id is bound to (supplement, part 8). Raises Forbidden, BadRequest."""
    if owner.settings.orchestrator_id != owner.orchestrator_id:
        raise Forbidden(
            "This client ID is linked to an orchestrator: send x-orchestrator-key and x-client-id to create for it"
        )
    if owner.orchestrator_id is not None and bound is None:
        raise BadRequest("No active payee destination for this client ID: it has to be bound to one first")


def create_link(
    draft: Draft,
    owner: Owner,
    terms: Terms,
    now: datetime,
    entropy: Entropy,
    bound: Destination | None = None,
) -> SecurePayment:
    """Decides a new link of one payment; `bound` is the active destination of the owner's client id.

    Raises BadRequest with what to change, Forbidden for another destination than the bound one (interface.md, secure
    payments).
    """
    targets = [_resolve(item, position, terms, bound) for position, item in enumerate(draft.items)]
    _refuse_unsupported(targets)
    fee_percentage, fee_address = _fee(draft, owner.settings)
    token = ids.ulid(now, entropy)
    link = Link(
        token=token,
        account_id=owner.account_id,
        client_id=owner.client_id,
        origin=owner.origin,
        payment_type="single",
        status=LinkStatus.PENDING,
        created_at=now,
        expires_at=now + terms.lifetime,
        fee_percentage=fee_percentage,
        fee_address=fee_address,
        reference=draft.reference,
        payer_identifier=draft.payer_identifier,
        redirect_url=draft.redirect_url,
        redirect_label=(draft.redirect_label or DEFAULT_REDIRECT_LABEL) if draft.redirect_url else None,
    )
    requests = tuple(
        _new_request(token, position, target, entropy) for position, target in enumerate(targets)
    )
    for request in requests:
        if amount_with_fee(request.amount, link) > money.MAX_UINT256:
            raise BadRequest("requests.0.amount with its fee is larger than a token amount can be")
    return SecurePayment(link, requests)


@dataclass(frozen=True)
class _Target:
    payee: str
    token: Token
    amount: BaseUnits


def _resolve(item: Item, position: int, terms: Terms, bound: Destination | None) -> _Target:
    if item.destination_id is not None:
        payee, token = _from_destination(item, terms)
    elif bound is not None and not (item.payee or item.invoice_currency or item.payment_currency):
        payee, token = bound.wallet, _token_of(bound)
    else:
        payee, token = _from_fields(item, position)
    is_tron = token.network == "tron"
    address = _field(f"requests.{position}.payee", tron_address if is_tron else evm_address, payee)
    if address == ZERO_ADDRESS:
        raise BadRequest(f"requests.{position}: the payee is the zero address, funds sent there are lost")
    if bound is not None and Destination(address, token.chain_id, token.address) != bound:
        raise Forbidden("Destination does not match the configured payment destination.")
    amount = _field(
        f"requests.{position}.amount", lambda text: money.parse_amount(text, token.decimals), item.amount
    )
    return _Target(address, token, amount)


def _field(name: str, parse: Callable[[str], T], text: str) -> T:
    """`parse(text)`; a refusal then says which field it is about."""
    try:
        return parse(text)
    except BadRequest as error:
        raise BadRequest(f"{name}: {error.message}") from None


def _from_destination(item: Item, terms: Terms) -> tuple[str, Token]:
    if item.payee or item.invoice_currency or item.payment_currency:
        raise BadRequest("Give either destinationId, or payee, invoiceCurrency and paymentCurrency, not both")
    assert item.destination_id is not None
    destination = parse_destination_id(item.destination_id, terms.strict_checksum).destination
    return destination.wallet, _token_of(destination)


def _token_of(destination: Destination) -> Token:
    network = network_of_chain(destination.chain_id)
    token = token_at(network.name, destination.token_address) if network else None
    if token is None:
        raise BadRequest("destinationId names a chain or token that is not supported; GET /v2/currencies lists them")
    return token


def _from_fields(item: Item, position: int) -> tuple[str, Token]:
    if not (item.payee and item.invoice_currency and item.payment_currency):
        raise BadRequest(
            f"requests.{position} needs destinationId, or payee, invoiceCurrency and paymentCurrency "
            "(no client ID with an active payee destination is calling)"
        )
    invoice, token = token_with_id(item.invoice_currency), token_with_id(item.payment_currency)
    if invoice is None or token is None:
        unknown = item.invoice_currency if invoice is None else item.payment_currency
        raise BadRequest(f"Currency {unknown[:_SHOWN]} is not supported; GET /v2/currencies lists the ids")
    if token.network == "fiat":
        raise BadRequest(f"{token.id} cannot be paid on a chain; choose a token as paymentCurrency")
    if invoice != token:
        raise BadRequest(
            f"invoiceCurrency {invoice.id} cannot be paid in {token.id}: both must be the same token"
        )
    return item.payee, token


def _refuse_unsupported(targets: list[_Target]) -> None:
    on_tron, several = any(target.token.network == "tron" for target in targets), len(targets) > 1
    if on_tron and several:
        raise BadRequest(
            "Batch payments are not supported for TRON networks. Please submit individual payment requests."
        )
    if several:
        raise BadRequest("Batch payments are not supported yet: send one item in requests")
    if on_tron:
        raise BadRequest("Payments on tron are not supported yet: choose a currency of another network")


def _fee(draft: Draft, settings: ClientSettings) -> tuple[str | None, str | None]:
    """The fee of a link: the client id's, unless that is zero or none; then the request's (supplement, 4.6)."""
    address = _check_fee(draft)
    if settings.fee_percentage is None or money.parse_percentage(settings.fee_percentage) == 0:
        return draft.fee_percentage, address
    return settings.fee_percentage, settings.fee_address


def _check_fee(draft: Draft) -> str | None:
    """The checksummed fee address. A fee with the zero address would be shown but never moved (onchain facts, 3.1)."""
    if draft.fee_percentage is not None:
        money.parse_percentage(draft.fee_percentage)
        if draft.fee_address is None:
            raise BadRequest("feeAddress is required when feePercentage is set")
    if draft.fee_address is None:
        return None
    address = _field("feeAddress", evm_address, draft.fee_address)
    if address == ZERO_ADDRESS:
        raise BadRequest("feeAddress is the zero address: give the address that receives the fee")
    return address


def _new_request(link_token: str, position: int, target: _Target, entropy: Entropy) -> Request:
    request_id, salt = ids.request_id(entropy), ids.salt(entropy)
    return Request(
        link_token=link_token,
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
    )
