"""Creation of secure payment links: what a merchant sends, the checks on it, and the records of the new link."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from chalicelib.base import ids, money
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.money import Fee
from chalicelib.base.timestamps import iso
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.chains.catalogue.tokens import family_of
from chalicelib.payments.links.errors import TronBatchRefused
from chalicelib.payments.links.fees import rules as fees
from chalicelib.payments.links.permissions import knows_payees
from chalicelib.payments.links.records import Flow, Link, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.links.rules import LARGEST_TOTAL, check_expiry
from chalicelib.payments.requests.creation import new_request
from chalicelib.payments.requests.field_problems import for_each, refuse_field
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.targets import Item, Target, resolve
from chalicelib.payments.requests.targets import Terms as RequestTerms
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode

DEFAULT_REDIRECT_LABEL = "Go Back and Close"


@frozen
class Draft:
    """The link that a merchant wants, as sent: only the form of the texts is checked. A payout has no `items`."""

    items: tuple[Item, ...]
    fee_percentage: str | None = None
    fee_address: str | None = None
    reference: str | None = None
    payer_identifier: str | None = None
    redirect_url: str | None = None
    redirect_label: str | None = None
    recipient_identifier: str | None = None
    expires_at: datetime | None = None
    """None leaves it to the deployment's settings."""
    plain_transfer: bool | None = None
    """Whether the payment gets an address for plain transfers; None leaves that to its account."""


@frozen
class Terms:
    """The deployment's settings for new links."""

    lifetime: timedelta
    requests: RequestTerms


def create_link(
    draft: Draft,
    owner: Owner,
    terms: Terms,
    now: datetime,
    entropy: Entropy,
    bound: Destination | None = None,
) -> PayableLink:
    """The new link: single for one item, a batch for several. `bound` is the active destination of the client id.

    Raises ValidationFailed or BadRequest with what to change in each wrong item, Forbidden for another destination than
    the bound one (specification, secure payments).
    """
    targets = for_each(draft.items, lambda item, path: resolve(item, path, terms.requests, bound))
    check_networks(targets)
    return build_link(draft, targets, owner, terms, now, entropy)


def build_link(
    draft: Draft,
    targets: Sequence[Target],
    owner: Owner,
    terms: Terms,
    now: datetime,
    entropy: Entropy,
    creator_wallet: str | None = None,
) -> PayableLink:
    """The link and its requests, for targets on one network; a payout with `creator_wallet`. Raises BadRequest."""
    latest = now + terms.lifetime
    expires_at = draft.expires_at or latest
    check_expiry(expires_at, now)
    if owner.mode is Mode.CLIENT_ID and expires_at > latest:
        raise BadRequest(f"expiresAt can be no later than {iso(latest)} with a client ID alone: send an API key")
    requested, family = Fee(draft.fee_percentage, draft.fee_address), family_of(targets[0].token)
    fee = fees.resolve(requested, owner.settings.fee, family, terms.requests.own)
    token = ids.link_token(now, entropy, owner.sandbox)
    link = Link(
        token=token,
        account_id=owner.account_id,
        client_id=owner.client_id,
        origin=owner.origin,
        payment_type=PaymentType.SINGLE if len(targets) == 1 else PaymentType.BATCH,
        status=LinkStatus.PENDING,
        created_at=now,
        expires_at=expires_at,
        fee_percentage=fee.percentage,
        fee_address=fee.address,
        reference=draft.reference,
        payer_identifier=draft.payer_identifier,
        redirect_url=draft.redirect_url,
        redirect_label=redirect_label_of(draft.redirect_url, draft.redirect_label),
        flow=Flow.PAY if creator_wallet else Flow.GET_PAID,
        creator_wallet=creator_wallet,
        recipient_identifier=draft.recipient_identifier,
        has_known_payees=knows_payees(owner),
        created_with=owner.mode,
    )
    requests = tuple(
        new_request(token, position, target, owner, now, entropy) for position, target in enumerate(targets)
    )
    check_totals(link, requests)
    return PayableLink(requests, link)


def redirect_label_of(redirect_url: str | None, redirect_label: str | None) -> str | None:
    """The label of the button that leads to `redirect_url`; None without a URL."""
    return (redirect_label or DEFAULT_REDIRECT_LABEL) if redirect_url else None


def check_totals(link: Link, requests: Sequence[Request]) -> None:
    """Raises BadRequest if an amount with its fee, or the sum of all of them, is larger than a contract can handle.

    What is converted is not added: it is in other units, and far from these limits (payments/requests/targets.py).
    """
    debits = [request.amount + link.fee.on(request.amount) for request in requests]
    for position, debit in enumerate(debits):
        if debit > money.MAX_UINT256:
            is_entry = link.flow is Flow.GET_PAID or len(requests) > 1
            path = ("requests", str(position), "amount") if is_entry else ("amount",)
            raise refuse_field(path, "with its fee is larger than a token amount can be")
    direct = [debit for debit, request in zip(debits, requests, strict=True) if request.invoice_currency is None]
    if len(direct) > 1 and sum(direct) > LARGEST_TOTAL:
        raise BadRequest("The amounts with their fees add up to more than one batch can pay: make several links")


def check_networks(targets: Sequence[Target]) -> None:
    """Raises BadRequest unless one transaction can pay the batch: one network, and not Tron."""
    if len(targets) > 1 and any(target.token.network == "tron" for target in targets):
        raise TronBatchRefused("Make one link for each of them")
    names = list(dict.fromkeys(target.token.network for target in targets))
    if len(names) > 1:
        raise BadRequest(f"A batch is paid on one network and these items are on {', '.join(names)}: make one for each")
