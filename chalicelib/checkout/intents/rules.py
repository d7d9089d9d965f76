"""Multisig intents: which can be recorded for a link, and the status that follows from an observation of the chain.

A check reads the Safe's events only in blocks that detection has finished. These blocks are confirmed and their
payments recorded. So if the transaction was executed and the link is not completed, the transaction did not pay the
link; and no intent lapses before all blocks that could contain its payment have been read.

The Safe can be any contract. If the node does not return its events, only its own intent is delayed, by UNREAD_GRACE.

Anybody who has a link can announce through the payment page. Such an intent lapses after UNKNOWN_AFTER unless the Safe
Transaction Service knows it by then, and after MAX_UNPAID_ANNOUNCEMENTS of them did not pay, the page cannot announce
more for that link.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import zip_longest

from chalicelib.base import ids
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.catalogue.networks import Network, network
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.links.errors import LinkClosed, WrongWallet
from chalicelib.links.records import IntentStatus, Link, LinkStatus, SafeIntent, SecurePayment

MIN_CHECK_DELAY, MAX_CHECK_DELAY = timedelta(seconds=10), timedelta(minutes=5)
"""The delay until the next check: an eighth of the intent's age, within these bounds."""
_CHECKS_PER_AGE = 8
UNKNOWN_AFTER = timedelta(minutes=10)
"""How long a transaction can be unknown to the Safe Transaction Service, if that answers. Owners propose transactions
there before they sign; without this limit, announcing a transaction that does not exist would lock the link."""
MAX_UNPAID_ANNOUNCEMENTS = 3
UNREAD_GRACE = timedelta(hours=1)
"""How long an intent stays pending after its end if the Safe's events could not be read up to that end."""


@frozen
class IntentDraft:
    """An announcement by a payer: `chain` and `token` are the label and symbol paid with, `payer_address` the Safe."""

    tx_hash: str | None
    safe_tx_hash: str | None
    deadline: datetime | None
    chain: str
    token: str
    payer_address: str | None


@frozen
class IntentStart:
    """The initial state of an intent: the Safe and its transaction's nonce if known, the last block not to search, how
    long the intent can be pending, and whether the payment page announces it."""

    safe: str | None
    nonce: int | None
    scanned_to: int
    lifetime: timedelta
    by_page: bool = False


@frozen
class Turn:
    """What one run does with the intents that are due; `checked` are in the order in which they are checked."""

    checked: tuple[SafeIntent, ...]
    postponed: tuple[SafeIntent, ...]


@frozen
class Execution:
    """The execution by the Safe. Without success, the calls were reverted and the nonce is used."""

    success: bool
    block: int
    transaction_hash: str


@frozen
class Observation:
    """The state up to `block`, whose timestamp is `block_time`.

    `nonce` is the Safe's after that block, None if it was not read or the node does not have it. `is_unknown` means
    that the Safe Transaction Service answered that it does not know the transaction. `detected_to` is the timestamp of
    the last block that detection has finished.
    """

    block: int
    block_time: datetime
    detected_to: datetime
    execution: Execution | None
    nonce: int | None
    is_completed: bool
    is_unknown: bool = False


def same_pending_intent(payment: SecurePayment, draft: IntentDraft) -> SafeIntent | None:
    """The link's pending intent if it is for the same transaction; None if a new one has to be created."""
    intent = payment.intent
    if intent is None or intent.status is not IntentStatus.PENDING or payment.link.status is LinkStatus.COMPLETED:
        return None
    return intent if intent.safe_tx_hash == draft.safe_tx_hash else None


def check_draft(payment: SecurePayment, draft: IntentDraft, now: datetime) -> Network:
    """The network that the announced transaction is executed on. Raises BadRequest if it cannot be tracked.

    A multicall has to be given the requests of its children. It has none if all of them were merged into other links.
    """
    if not payment.requests:
        raise LinkClosed(LinkStatus.INVALIDATED)
    networks = {request.network for request in payment.requests}
    chain = network(payment.requests[0].network)
    assert chain is not None, "a stored request is on a catalogued network"
    if chain.family == "tron":
        raise BadRequest("Multisig payments are not supported on Tron")
    if len(networks) > 1 or draft.chain != chain.label or not _pays_in(payment, draft.token, chain):
        raise BadRequest(
            "Unsupported crosschain configuration: this link is paid in "
            f"{payment.requests[0].currency} on {chain.label}, and not from {draft.token} on {draft.chain}"
        )
    if draft.safe_tx_hash is None:
        raise BadRequest(
            "A transaction on the link's own network needs no intent, its payment is detected: send safeTxHash to "
            "announce a multisig transaction"
        )
    if draft.deadline is not None and draft.deadline <= now:
        raise BadRequest("safePaymentDeadline must be in the future")
    last = payment.intent
    if last is not None and last.safe_tx_hash == draft.safe_tx_hash and last.status in _NONCE_USED:
        raise BadRequest("This multisig transaction was executed or replaced already: propose a new one")
    return chain


def check_page_may_announce(payment: SecurePayment) -> None:
    """Raises BadRequest if MAX_UNPAID_ANNOUNCEMENTS transactions of the payment page did not pay the link.

    An announcement locks the link. A transaction that is executed without one pays the link all the same.
    """
    if _unpaid_announcements(payment) >= MAX_UNPAID_ANNOUNCEMENTS:
        raise BadRequest(
            f"{MAX_UNPAID_ANNOUNCEMENTS} multisig transactions were announced for this link and did not pay it, so it "
            "waits for no more of them: execute yours, its payment is detected all the same, or ask the payee to "
            "announce it"
        )


def _unpaid_announcements(payment: SecurePayment) -> int:
    """How many intents of the page have ended without paying the link. The last intent must not be pending."""
    last = payment.intent
    if last is None:
        return 0
    return last.unpaid_announcements + int(last.by_page and last.status is not IntentStatus.SETTLED)


def _pays_in(payment: SecurePayment, symbol: str, chain: Network) -> bool:
    """Whether a request is in a token with that symbol, or with the id `<symbol>-<network>`, such as USDC-sepolia."""
    named = token_with_id(f"{symbol}-{chain.name}")
    currencies = (token_with_id(request.currency) for request in payment.requests)
    return any(token is not None and (token == named or token.symbol == symbol) for token in currencies)


def check_payer(link: Link, safe: str | None) -> None:
    """Raises WrongWallet if a payout would be paid by another wallet than its creator's."""
    creator = link.creator_wallet
    if creator is not None and safe is not None and not same_address(creator, safe):
        raise WrongWallet(creator)


def create_intent(
    payment: SecurePayment, draft: IntentDraft, start: IntentStart, now: datetime, entropy: Entropy
) -> SafeIntent:
    """A new intent, which replaces the link's last one; that must not be pending."""
    assert draft.safe_tx_hash is not None, "checked before"
    end = now + start.lifetime
    return SafeIntent(
        link_token=payment.link.token,
        intent_id=ids.ulid(now, entropy),
        network=payment.requests[0].network,
        safe_tx_hash=draft.safe_tx_hash,
        safe=start.safe,
        nonce=start.nonce,
        deadline=draft.deadline,
        payer_address=draft.payer_address,
        status=IntentStatus.PENDING,
        created_at=now,
        ends_at=min(draft.deadline, end) if draft.deadline else end,
        check_at=now + MIN_CHECK_DELAY,
        scanned_to=start.scanned_to,
        by_page=start.by_page,
        account_id=payment.link.account_id,
        unpaid_announcements=_unpaid_announcements(payment),
        version=payment.intent.version if payment.intent else 0,
    )


def decide(intent: SafeIntent, observation: Observation, now: datetime) -> SafeIntent:
    """The intent after an observation; unchanged if it is not pending.

    It lapses when both the chain's clock and ours are past its end: a transaction in an earlier block counts however
    late the block is read, and a chain whose clock is ahead does not shorten the time. If the Safe's events stay
    unread, it lapses UNREAD_GRACE after its end by `detected_to` instead of `block_time`.
    """
    if intent.status is not IntentStatus.PENDING:
        return intent
    updated = replace(intent, scanned_to=observation.block) if intent.safe is not None else intent
    if observation.execution is not None:
        updated = replace(
            updated, executed_block=observation.execution.block, transaction_hash=observation.execution.transaction_hash
        )
    if observation.is_completed:
        return replace(updated, status=IntentStatus.SETTLED)
    if observation.execution is not None:
        return replace(updated, status=IntentStatus.FAILED)
    if intent.nonce is not None and observation.nonce is not None and observation.nonce > intent.nonce:
        return replace(updated, status=IntentStatus.REPLACED)
    is_unknown = observation.is_unknown or (intent.by_page and intent.nonce is None)  # only the service returns a nonce
    end = min(intent.ends_at, intent.created_at + UNKNOWN_AFTER) if is_unknown else intent.ends_at
    is_read = observation.block_time > end or (now > end + UNREAD_GRACE and observation.detected_to > end)
    if now > end and is_read:
        return replace(updated, status=IntentStatus.LAPSED)
    return postpone(updated, now)


def ends_unpaid(intent: SafeIntent) -> bool:
    """Whether the intent has ended without paying its link."""
    return intent.status not in (IntentStatus.PENDING, IntentStatus.SETTLED)


def in_turn(due: Iterable[SafeIntent], per_account: int) -> Turn:
    """The intents to check in one run, one of each account in turn, and those beyond `per_account`."""
    by_account: dict[str, list[SafeIntent]] = {}
    for intent in sorted(due, key=lambda each: each.check_at):
        by_account.setdefault(intent.account_id or intent.link_token, []).append(intent)
    rounds = zip_longest(*(of_account[:per_account] for of_account in by_account.values()))
    checked = tuple(intent for each in rounds for intent in each if intent is not None)
    return Turn(checked, tuple(intent for each in by_account.values() for intent in each[per_account:]))


def decide_unobserved(intent: SafeIntent, is_completed: bool, now: datetime) -> SafeIntent:
    """The pending intent if the node does not answer: settled if its link is completed, else checked again later."""
    return replace(intent, status=IntentStatus.SETTLED) if is_completed else postpone(intent, now)


def withdraw(payment: SecurePayment) -> SafeIntent:
    """The link's pending intent, ended by the link's owner. Raises NotFound if none is pending.

    If the Safe executes the transaction later, its payment counts like any other.
    """
    intent = payment.intent
    if intent is None or intent.status is not IntentStatus.PENDING or payment.link.status is LinkStatus.COMPLETED:
        raise NotFound("No multisig transaction is pending for this link")
    return replace(intent, status=IntentStatus.LAPSED)


def postpone(intent: SafeIntent, now: datetime) -> SafeIntent:
    """The intent with its next check: the older the intent, the longer the delay, but soon after its end."""
    wait = min(max((now - intent.created_at) / _CHECKS_PER_AGE, MIN_CHECK_DELAY), MAX_CHECK_DELAY)
    return replace(intent, check_at=min(now + wait, max(intent.ends_at, now) + MIN_CHECK_DELAY))


def span_of(intent: SafeIntent, max_span: int) -> int:
    """How many blocks of the Safe's events are requested at once: `max_span`, or less after refusals for this Safe."""
    return max_span if intent.span is None else min(intent.span, max_span)


def narrowed(intent: SafeIntent, refused: int) -> SafeIntent:
    """The intent with half of the span that the node refused."""
    return replace(intent, span=max(refused // 2, 1))


def widened(intent: SafeIntent, max_span: int) -> SafeIntent:
    """The intent after a successful read: its span grows slowly back to `max_span`."""
    if intent.span is None:
        return intent
    wider = intent.span + intent.span // 16 + 1
    return replace(intent, span=wider if wider < max_span else None)


_NONCE_USED = (IntentStatus.FAILED, IntentStatus.REPLACED)
"""A transaction that ended so cannot be executed any more, because its nonce is used."""
