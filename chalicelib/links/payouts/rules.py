"""Payouts: links that their maker pays, one recipient each, and how several become one batch."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from chalicelib.access.callers import Owner
from chalicelib.access.sessions.records import Wallet
from chalicelib.base import money
from chalicelib.base.addresses import address_bytes, address_of_family, same_address
from chalicelib.base.errors import BadRequest, Forbidden
from chalicelib.base.ids import Entropy
from chalicelib.base.money import Fee
from chalicelib.catalogue.networks import Network, network
from chalicelib.catalogue.tokens import Token, token_with_id
from chalicelib.links.creation import Draft, Target, Terms, build_link, check_sums, field, label_of
from chalicelib.links.multicalls import rules as multicall
from chalicelib.links.records import LinkStatus, PaymentType, SecurePayment

LARGEST_MERGE = 30
"""How many payouts become one batch: they are merged in one transaction, of three records each."""
_SHOWN = 80  # characters of a text that was sent, in the message that refuses it


@dataclass(frozen=True)
class PayoutDraft:
    """What somebody wants to pay; texts as sent. `about` is what the link says beside it."""

    recipient: str
    creator_wallet: str
    network: str
    currency: str
    amount: str
    about: Draft


@dataclass(frozen=True)
class MergeDraft:
    """Which payouts are to become one batch, and where its page leads to."""

    tokens: tuple[str, ...]
    redirect_url: str | None
    redirect_label: str | None


@dataclass(frozen=True)
class Merge:
    """What is written at once: the batch, and the payouts it takes the place of with their requests."""

    batch: SecurePayment
    children: tuple[SecurePayment, ...]


def create_payout(
    draft: PayoutDraft, owner: Owner, terms: Terms, now: datetime, entropy: Entropy, wallet: Wallet | None
) -> SecurePayment:
    """Decides a payout; `wallet` is the one that signed in, which then has to be the creator's.

    The destination that a client id is bound to is where it is paid, so it says nothing about whom it pays. Raises
    BadRequest with what to change, Forbidden (interface.md, payouts).
    """
    chain, token = _place(draft)
    recipient = _address("recipient", draft.recipient, chain)
    creator = _address("creatorWalletAddress", draft.creator_wallet, chain)
    if wallet is not None:
        _check_signed_in(creator, wallet, chain)
    amount = field("amount", lambda text: money.parse_amount(text, token.decimals), draft.amount)
    return build_link(draft.about, [Target(recipient, token, amount)], owner, terms, now, entropy, creator)


def merge(
    draft: MergeDraft,
    owner: Owner,
    found: Mapping[str, SecurePayment],
    taken: Container[str],
    terms: Terms,
    now: datetime,
    entropy: Entropy,
) -> Merge:
    """Decides the batch of the payouts in `found`; `taken` are those that a living multicall holds.

    The batch has their requests with ids, references and what is paid of them, so that calldata which somebody has
    already finds its request. The payouts are invalidated and name their successor; their own requests are written
    again as they are, so that a payment that is being recorded for one meanwhile finds another version and looks
    again. Raises MulticallRefused with every payout that cannot be merged, BadRequest for rules of the whole set.
    """
    parent = multicall.new_parent(owner, draft.tokens, None, found, now, entropy)
    multicall.refuse_blocked(multicall.examine(parent, found, taken, now), now)
    payments = [found[token] for token in draft.tokens]
    _check_alike(payments)
    first = payments[0].link
    origins = {payment.link.origin for payment in payments}
    link = replace(
        parent,
        payment_type=PaymentType.BATCH,
        child_tokens=(),
        client_id=first.client_id,
        origin=origins.pop() if len(origins) == 1 else None,
        expires_at=now + terms.lifetime,
        fee_percentage=first.fee_percentage,
        fee_address=first.fee_address,
        redirect_url=draft.redirect_url,
        redirect_label=label_of(draft.redirect_url, draft.redirect_label),
        creator_wallet=first.creator_wallet,
    )
    requests = tuple(
        replace(
            payment.requests[0],
            link_token=link.token,
            position=position,
            reference=payment.link.reference,
            version=0,
        )
        for position, payment in enumerate(payments)
    )
    check_sums(link, requests)
    return Merge(SecurePayment(link, requests), tuple(_merged(payment, link.token) for payment in payments))


def _place(draft: PayoutDraft) -> tuple[Network, Token]:
    chain, token = network(draft.network), token_with_id(draft.currency)
    if chain is None:
        raise BadRequest(f"Network {draft.network[:_SHOWN]} is not supported; GET /v2/currencies lists the networks")
    if token is None:
        raise BadRequest(f"Currency {draft.currency[:_SHOWN]} is not supported; GET /v2/currencies lists the ids")
    if token.network != chain.name:
        raise BadRequest(f"Currency {token.id} is not on {chain.name}: network and currency have to agree")
    return chain, token


def _address(name: str, text: str, chain: Network) -> str:
    address = field(name, lambda text: address_of_family(text, chain.family), text)
    if not any(address_bytes(address)):
        raise BadRequest(f"{name} is the zero address, which nobody holds")
    return address


def _check_signed_in(creator: str, wallet: Wallet, chain: Network) -> None:
    """A contract's session is that of one chain: elsewhere the same address may be anybody's."""
    if not same_address(creator, wallet.address) or wallet.chain_id not in (None, chain.chain_id):
        raise Forbidden("creatorWalletAddress is not the wallet that signed in")


def _check_alike(payments: Sequence[SecurePayment]) -> None:
    """One wallet pays a batch in one transaction, with one fee to one address."""
    first = payments[0]
    if any(_network_of(payment) == "tron" for payment in payments):
        raise BadRequest("Batch payments are not supported for TRON networks: multicall-payouts combines payouts there")
    for what, of in (
        ("network", _network_of),
        ("creatorWalletAddress", _creator_of),
        ("fee percentage and feeAddress", _fee_of),
        ("client ID", _client_of),
    ):
        others = [payment.link.token for payment in payments if of(payment) != of(first)]
        if others:
            raise BadRequest(f"A batch has one {what}, and {', '.join(others)} have another than {first.link.token}")


def _network_of(payment: SecurePayment) -> object:
    return payment.requests[0].network


def _client_of(payment: SecurePayment) -> object:
    return payment.link.client_id


def _creator_of(payment: SecurePayment) -> object:
    return payment.link.creator_wallet


def _fee_of(payment: SecurePayment) -> object:
    """The percentage as a number, so that 1 and 1.0 are alike; one that is not charged is none."""
    fee = Fee(payment.link.fee_percentage, payment.link.fee_address)
    return (money.parse_percentage(fee.percentage or "0"), fee.address) if fee.is_charged else None


def _merged(payment: SecurePayment, successor: str) -> SecurePayment:
    link = replace(payment.link, status=LinkStatus.INVALIDATED, successor_token=successor)
    return replace(payment, link=link)
