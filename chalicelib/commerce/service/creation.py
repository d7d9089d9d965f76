"""Creation of commerce payments: what a merchant sends, the checks on it, and the records of the new payment."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import Forbidden
from chalicelib.base.frozen import frozen, make_from
from chalicelib.base.ids import Entropy
from chalicelib.base.money import BaseUnits, Fee, parse_percentage
from chalicelib.chains.calldata.escrow.payment_info import MAX_AMOUNT
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.chains.catalogue.recipients import parse_recipient
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.links.creation import Draft as LinkDraft
from chalicelib.payments.links.creation import Terms as LinkTerms
from chalicelib.payments.links.creation import build_link
from chalicelib.payments.links.fees import rules as fees
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.field_problems import parse_field, refuse_field
from chalicelib.payments.requests.targets import Target
from chalicelib.payments.requests.targets import Terms as RequestTerms
from chalicelib.platform.access.callers import Owner

_TOO_LARGE = "is larger than the escrow can hold: at most 2^120 - 1 base units"
_SALT_BYTES = 32
_NO_OPTIONS = LinkDraft(())
"""Of the link: it has neither fee, reference nor redirect."""
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


@frozen
class Draft:
    """The commerce payment that a merchant wants, as sent; only its form is checked. Times are in Unix seconds."""

    merchant_id: str
    merchant_address: str
    buyer_address: str | None
    amount: int
    currency: str
    max_amount: int
    pre_approval_expiry: int | None
    authorization_expiry: int | None
    refund_expiry: int | None
    min_fee_bps: int
    max_fee_bps: int
    fee_receiver: str | None


@frozen
class Lifetimes:
    """How long each stage lasts if nothing else is asked for, each after the end of the one before."""

    pre_approval: timedelta
    authorization: timedelta
    refund: timedelta


@frozen
class Place:
    """Where the money is held: the escrow of the token's network, and who operates it."""

    escrow: str
    operator: str
    is_service_operator: bool


@frozen
class Conditions:
    """What a new payment depends on beside its body. `bound` is the active payee destination of the client id."""

    place: Place
    lifetimes: Lifetimes
    requests: RequestTerms
    bound: Destination | None


def token_of(draft: Draft) -> Token:
    """The token that is paid. Raises ValidationFailed for what is not an ERC-20 token of the catalogue."""
    token = token_with_id(draft.currency)
    if token is None:
        text = draft.currency[:_MAX_QUOTED]
        raise refuse_field(("paymentCurrency",), f"{text} is not supported; GET /v2/currencies lists the ids")
    if token.is_fiat or token.is_native or token.network == "tron":
        raise refuse_field(("paymentCurrency",), f"{token.id} cannot be held by the escrow: choose an ERC-20 token")
    return token


def create_payment(
    draft: Draft, owner: Owner, token: Token, conditions: Conditions, now: datetime, entropy: Entropy
) -> tuple[PayableLink, CommercePayment]:
    """The new link with its request, and the commerce payment.

    Raises ValidationFailed with what to change, Forbidden for another payee than the bound destination.
    """
    receiver, buyer = _addresses(draft, conditions.requests)
    bound, place = conditions.bound, conditions.place
    if bound is not None and Destination(receiver, token.chain_id, token.address) != bound:
        raise Forbidden("Destination does not match the configured payment destination.")
    _check_amounts(draft)
    min_fee_bps, max_fee_bps, fee_receiver = fee_bounds(draft, owner.settings.fee, conditions.requests)
    pre_approval_expiry, authorization_expiry, refund_expiry = _expiries(draft, conditions.lifetimes, now)
    link_terms = LinkTerms(authorization_expiry - now, conditions.requests)
    target = Target(receiver, token, BaseUnits(draft.amount))
    payable = build_link(_NO_OPTIONS, (target,), _without_fee(owner), link_terms, now, entropy)
    (request,) = payable.requests
    return payable, make_from(
        CommercePayment,
        request,
        merchant_id=draft.merchant_id,
        escrow=place.escrow,
        operator=place.operator,
        is_service_operator=place.is_service_operator,
        collects_unasked=owner.may_execute,
        receiver=receiver,
        buyer=buyer,
        max_amount=BaseUnits(draft.max_amount),
        pre_approval_expiry=pre_approval_expiry,
        authorization_expiry=authorization_expiry,
        refund_expiry=refund_expiry,
        min_fee_bps=min_fee_bps,
        max_fee_bps=max_fee_bps,
        fee_receiver=fee_receiver,
        salt=entropy(_SALT_BYTES).hex(),
        changed_at=now,
        check_at=pre_approval_expiry,
    )


def fee_bounds(draft: Draft, client_fee: Fee, terms: RequestTerms) -> tuple[int, int, str | None]:
    """What the fee of a capture may be, in 1/10000, and who gets it; None: whom the capture names.

    These are the bounds of the body; a client id with a fee takes no more than that, for its own receiver. Raises
    ValidationFailed, BadRequest if the client id's fee goes to no EVM address.
    """
    receiver = _wallet("feeReceiver", draft.fee_receiver, terms) if draft.fee_receiver is not None else None
    if client_fee.is_charged:
        fee = fees.resolve(Fee(), client_fee, "evm", terms.own)
        assert fee.percentage is not None, "it is charged"
        most = int(parse_percentage(fee.percentage) * 100)
        return min(draft.min_fee_bps, most), most, fee.address
    if draft.min_fee_bps > draft.max_fee_bps:
        raise refuse_field(("minFeeBps",), "must not be more than maxFeeBps")
    return draft.min_fee_bps, draft.max_fee_bps, receiver


def _expiries(draft: Draft, lifetimes: Lifetimes, now: datetime) -> tuple[datetime, datetime, datetime]:
    """When each stage ends. Raises ValidationFailed unless they are in the future and in their order."""
    pre_approval = _instant(draft.pre_approval_expiry, now + lifetimes.pre_approval)
    authorization = _instant(draft.authorization_expiry, pre_approval + lifetimes.authorization)
    refund = _instant(draft.refund_expiry, authorization + lifetimes.refund)
    if pre_approval <= now:
        raise refuse_field(("preApprovalExpiry",), "must be in the future, in Unix seconds")
    if authorization < pre_approval:
        raise refuse_field(("authorizationExpiry",), "must not be before preApprovalExpiry")
    if refund < authorization:
        raise refuse_field(("refundExpiry",), "must not be before authorizationExpiry")
    return pre_approval, authorization, refund


def _instant(sent: int | None, default: datetime) -> datetime:
    return datetime.fromtimestamp(sent, UTC) if sent is not None else default.replace(microsecond=0)


def _check_amounts(draft: Draft) -> None:
    if draft.amount > MAX_AMOUNT:
        raise refuse_field(("amount",), _TOO_LARGE)
    if draft.max_amount > MAX_AMOUNT:
        raise refuse_field(("maxAmount",), _TOO_LARGE)
    if draft.max_amount < draft.amount:
        raise refuse_field(("maxAmount",), "must not be less than amount")


def _addresses(draft: Draft, terms: RequestTerms) -> tuple[str, str | None]:
    """The merchant's wallet and that of the buyer, if one is named."""
    receiver = _wallet("merchantAddress", draft.merchant_address, terms)
    buyer = _wallet("buyerAddress", draft.buyer_address, terms) if draft.buyer_address is not None else None
    if buyer is not None and same_address(buyer, receiver):
        raise refuse_field(("buyerAddress",), "is the merchant: give the wallet that pays, or leave it out")
    return receiver, buyer


def _wallet(name: str, text: str, terms: RequestTerms) -> str:
    return parse_field((name,), lambda given: parse_recipient(given, "evm", terms.own), text)


def _without_fee(owner: Owner) -> Owner:
    """The owner without the fee of the client id: the link has none, as it is taken from what is captured."""
    return replace(owner, settings=replace(owner.settings, fee_percentage=None))
