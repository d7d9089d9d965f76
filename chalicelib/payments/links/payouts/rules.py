"""Payouts: links that their creator pays, to one recipient or to several, and the merge of several into a batch."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from chalicelib.base import money
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, Forbidden
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.chains.catalogue.networks import Network, find_network
from chalicelib.chains.catalogue.recipients import parse_recipient
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.links.creation import Draft, Terms, build_link, check_networks, check_totals, redirect_label_of
from chalicelib.payments.links.errors import TronBatchRefused
from chalicelib.payments.links.multicalls import rules as multicall_rules
from chalicelib.payments.links.multicalls.children import check_none_blocked, evaluate_children
from chalicelib.payments.links.records import Link, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.requests.field_problems import Path, for_each, parse_field, refuse_field
from chalicelib.payments.requests.records import PayeeName
from chalicelib.payments.requests.targets import Item, Target, resolve
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.sessions.records import Wallet

LARGEST_MERGE = 30
"""The most payouts in a batch: they are merged in one transaction, with three records each."""
_MAX_QUOTED = 80  # characters of a sent text that an error message repeats


@frozen
class PayoutDraft:
    """The payout that a creator wants, as sent; `link` has the fields that payouts share with other links."""

    recipient: str
    creator_wallet: str
    network: str
    currency: str
    amount: str
    link: Draft
    recipient_name: PayeeName | None = None
    """The name that was sent, if `recipient` is what it resolved to."""


@frozen
class PayoutsDraft:
    """The payouts that a creator wants as one link, as sent: they are the items of `link`."""

    creator_wallet: str
    link: Draft


@frozen
class MergeDraft:
    """The payouts to merge into a batch, and the redirect of the batch's page."""

    tokens: tuple[str, ...]
    redirect_url: str | None
    redirect_label: str | None


@frozen
class Merge:
    """What is written in one transaction: the batch, and the invalidated payouts with their requests."""

    batch: PayableLink
    children: tuple[PayableLink, ...]


def create_payout(
    draft: PayoutDraft, owner: Owner, terms: Terms, now: datetime, entropy: Entropy, wallet: Wallet | None
) -> PayableLink:
    """The new payout. `wallet` is the wallet that signed in, if any; it has to be the creator's.

    The payee destination of a client id does not apply, as it is for payments to the client. Raises BadRequest with
    what to change, Forbidden for another wallet (specification, payouts).
    """
    chain, token = _network_and_token(draft)
    recipient = _address("recipient", draft.recipient, chain, terms)
    creator = _address("creatorWalletAddress", draft.creator_wallet, chain, terms)
    if same_address(creator, recipient):
        raise refuse_field(("creatorWalletAddress",), "is the recipient: give the wallet that pays")
    if wallet is not None:
        _check_signed_in(creator, wallet, chain)
    amount = parse_field(("amount",), lambda text: money.parse_amount(text, token.decimals), draft.amount)
    target = Target(recipient, token, amount, payee_name=draft.recipient_name)
    return _build_payout(draft.link, [target], owner, terms, now, entropy, creator)


def create_payouts(
    draft: PayoutsDraft, owner: Owner, terms: Terms, now: datetime, entropy: Entropy, wallet: Wallet | None
) -> PayableLink:
    """The new payouts as one link; `wallet` and the payee destination as in `create_payout`.

    Raises ValidationFailed with what to change in each wrong entry, BadRequest, Forbidden for another wallet.
    """

    def target_of(item: Item, path: Path) -> Target:
        target = resolve(item, path, terms.requests, None)
        if target.invoice is not None:
            raise refuse_field((*path, "invoiceCurrency"), f"must be {target.token.id}, as paymentCurrency")
        if same_address(draft.creator_wallet, target.payee):
            raise refuse_field((*path, "payee"), "is creatorWalletAddress: give whom that wallet pays")
        return target

    targets = for_each(draft.link.items, target_of)
    check_networks(targets)
    chain = find_network(targets[0].token.network)
    assert chain is not None, "the catalogue has the network of each of its tokens"
    creator = _address("creatorWalletAddress", draft.creator_wallet, chain, terms)
    if wallet is not None:
        _check_signed_in(creator, wallet, chain)
    return _build_payout(draft.link, targets, owner, terms, now, entropy, creator)


def _build_payout(
    draft: Draft, targets: Sequence[Target], owner: Owner, terms: Terms, now: datetime, entropy: Entropy, creator: str
) -> PayableLink:
    """The link and its requests, of which each names the creator as its payer."""
    payout = build_link(draft, targets, owner, terms, now, entropy, creator)
    return replace(payout, requests=tuple(replace(each, payer=creator) for each in payout.requests))


def merge(
    draft: MergeDraft,
    owner: Owner,
    found: Mapping[str, PayableLink],
    claimed: Container[str],
    terms: Terms,
    now: datetime,
    entropy: Entropy,
) -> Merge:
    """The batch of the payouts in `found`; `claimed` are the tokens that a live multicall holds.

    The batch takes over their requests with ids, references and paid amounts, so that calldata built before still pays
    its request, and the daily counts have them as before. The payouts are invalidated and name their successor. Their
    own requests are written again as moved, so that a payment recorded concurrently conflicts and is recorded for the
    batch. Raises MulticallRefused with every payout that cannot be merged, BadRequest if they do not fit together.
    """
    parent = multicall_rules.new_parent(owner, draft.tokens, None, found, now, entropy)
    check_none_blocked(evaluate_children(parent, found, claimed, now), now)
    payables = [found[token] for token in draft.tokens]
    _check_mergeable(payables)
    link = _batch_link(draft, parent, payables, now + terms.lifetime)
    requests = tuple(
        replace(
            payable.requests[0],
            payable_id=link.token,
            position=position,
            reference=payable.link.reference,
            version=0,
        )
        for position, payable in enumerate(payables)
    )
    check_totals(link, requests)
    return Merge(PayableLink(requests, link), tuple(_invalidate_link(payable, link.token) for payable in payables))


def _batch_link(draft: MergeDraft, parent: Link, payables: Sequence[PayableLink], expires_at: datetime) -> Link:
    first = payables[0].link
    origins = {payable.link.origin for payable in payables}
    return replace(
        parent,
        payment_type=PaymentType.BATCH,
        child_tokens=(),
        merged_tokens=draft.tokens,
        client_id=first.client_id,
        origin=origins.pop() if len(origins) == 1 else None,
        expires_at=expires_at,
        fee_percentage=first.fee_percentage,
        fee_address=first.fee_address,
        redirect_url=draft.redirect_url,
        redirect_label=redirect_label_of(draft.redirect_url, draft.redirect_label),
        creator_wallet=first.creator_wallet,
    )


def _network_and_token(draft: PayoutDraft) -> tuple[Network, Token]:
    chain, token = find_network(draft.network), token_with_id(draft.currency)
    if chain is None:
        name = draft.network[:_MAX_QUOTED]
        raise BadRequest(f"Network {name} is not supported; GET /v2/currencies lists the networks")
    if token is None:
        raise BadRequest(f"Currency {draft.currency[:_MAX_QUOTED]} is not supported; GET /v2/currencies lists the ids")
    if token.network != chain.name:
        raise BadRequest(f"Currency {token.id} is not on {chain.name}: network and currency have to agree")
    return chain, token


def _address(name: str, text: str, chain: Network, terms: Terms) -> str:
    return parse_field((name,), lambda text: parse_recipient(text, chain.family, terms.requests.own), text)


def _check_signed_in(creator: str, wallet: Wallet, chain: Network) -> None:
    """Raises Forbidden unless the creator signed in. A contract wallet's session is valid on one chain only: the same
    address can belong to somebody else on another chain."""
    if not same_address(creator, wallet.address) or wallet.chain_id not in (None, chain.chain_id):
        raise Forbidden("creatorWalletAddress is not the wallet that signed in")


def _check_mergeable(payables: Sequence[PayableLink]) -> None:
    """Raises BadRequest unless one wallet can pay the payouts in one transaction, with one fee to one address."""
    if any(payable.requests[0].network == "tron" for payable in payables):
        raise TronBatchRefused("Combine them by POST /v2/secure-payments/multicall-payouts")
    shared: tuple[tuple[str, Callable[[PayableLink], object]], ...] = (
        ("network", lambda payable: payable.requests[0].network),
        ("creatorWalletAddress", lambda payable: payable.link.creator_wallet),
        ("fee percentage and feeAddress", _fee_of),
        ("client ID", lambda payable: payable.link.client_id),
    )
    first = payables[0]
    for name, value_of in shared:
        others = [payable.link.token for payable in payables if value_of(payable) != value_of(first)]
        if others:
            raise BadRequest(f"A batch has one {name}, and {', '.join(others)} have another than {first.link.token}")


def _fee_of(payable: PayableLink) -> object:
    """The percentage as a number, so that 1 and 1.0 are equal, and the address; None if no fee is charged."""
    fee = payable.link.fee
    return (money.parse_percentage(fee.percentage or "0"), fee.address) if fee.is_charged else None


def _invalidate_link(payable: PayableLink, successor: str) -> PayableLink:
    link = replace(payable.link, status=LinkStatus.INVALIDATED, successor_token=successor)
    moved = tuple(replace(each, is_moved=True, counted_as=None) for each in payable.requests)
    return replace(payable, link=link, requests=moved)
