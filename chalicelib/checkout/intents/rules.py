"""Multisig intents: which may be recorded for a link, and what becomes of one by what the chain shows.

A look at an intent reads the Safe's events only in blocks that detection has finished. These are confirmed, and what
they pay is recorded already: so a transaction that was executed while its link is not completed was no payment of it,
and no intent is given up before everything that could have paid the link has been read.

The Safe may be any contract: one whose events the node does not answer for holds up its own intent, UNREAD_GRACE long.

The payment page announces for anybody who has the link. What it announces is given up after UNKNOWN_AFTER unless the
Safe's service knows it by then, and once MOST_IN_VAIN of these have not paid a link, it announces nothing more for it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.ids import Entropy
from chalicelib.catalogue.networks import Network, network
from chalicelib.catalogue.tokens import token_with_id
from chalicelib.links.errors import LinkClosed, WrongWallet
from chalicelib.links.records import IntentStatus, Link, LinkStatus, SafeIntent, SecurePayment

SOONEST, LATEST = timedelta(seconds=10), timedelta(minutes=5)
"""How long an intent waits for its next look: an eighth of its age, within these."""
_WAIT_SHARE = 8
UNKNOWN_AFTER = timedelta(minutes=10)
"""How long a transaction may stay unknown to the Safe's service, where one answers: owners propose it there before
they sign. Anybody may announce what does not exist."""
MOST_IN_VAIN = 3
UNREAD_GRACE = timedelta(hours=1)
"""How long after its end an intent is kept for the Safe's events that could not be read up to that end."""


@dataclass(frozen=True)
class IntentDraft:
    """What a payer announces. `chain` and `token` are what it pays from; `payer_address` is the Safe."""

    tx_hash: str | None
    safe_tx_hash: str | None
    deadline: datetime | None
    chain: str
    token: str
    payer_address: str | None


@dataclass(frozen=True)
class Origin:
    """What a new intent starts from: the Safe and its transaction's nonce where they are known, the first block that
    is not to be looked through, how long it may stay pending, and whether the payment page announces it."""

    safe: str | None
    nonce: int | None
    scanned_to: int
    lifetime: timedelta
    by_page: bool = False


@dataclass(frozen=True)
class Execution:
    """The transaction as its Safe executed it; without success its calls were undone and its nonce is used up."""

    success: bool
    block: int
    transaction_hash: str


@dataclass(frozen=True)
class Look:
    """What was seen up to `block`, made at `block_time`: the execution, the Safe's nonce after that block (None: not
    asked, or the node does not say), whether the link was completed by then, and whether the Safe's service answered
    that it does not know the transaction. `detected_to` is when the last block was made that detection has finished."""

    block: int
    block_time: datetime
    detected_to: datetime
    execution: Execution | None
    nonce: int | None
    completed: bool
    unknown: bool = False


def reusable(payment: SecurePayment, draft: IntentDraft) -> SafeIntent | None:
    """The pending intent that announces the same transaction; None when a new one has to be decided."""
    intent = payment.intent
    if intent is None or intent.status is not IntentStatus.PENDING or payment.link.status is LinkStatus.COMPLETED:
        return None
    return intent if intent.safe_tx_hash == draft.safe_tx_hash else None


def check_draft(payment: SecurePayment, draft: IntentDraft, now: datetime) -> Network:
    """The network that the announced transaction is executed on. Raises BadRequest for what cannot be tracked.

    A multicall comes with the requests of its children; when these were all merged into other links it has none.
    """
    if not payment.requests:
        raise LinkClosed(LinkStatus.INVALIDATED)
    networks = {request.network for request in payment.requests}
    own = network(payment.requests[0].network)
    assert own is not None, "a stored request is on a catalogued network"
    if own.family == "tron":
        raise BadRequest("Multisig payments are not supported on Tron")
    if len(networks) > 1 or draft.chain != own.label or not _pays_in(payment, draft.token, own):
        raise BadRequest(
            f"Unsupported crosschain configuration: this link is paid in {payment.requests[0].currency} on {own.label},"
            f" and not from {draft.token} on {draft.chain}"
        )
    if draft.safe_tx_hash is None:
        raise BadRequest(
            "A transaction on the link's own network needs no intent, its payment is detected: send safeTxHash to "
            "announce a multisig transaction"
        )
    if draft.deadline is not None and draft.deadline <= now:
        raise BadRequest("safePaymentDeadline must be in the future")
    last = payment.intent
    if last is not None and last.safe_tx_hash == draft.safe_tx_hash and last.status in _NEVER_AGAIN:
        raise BadRequest("This multisig transaction was executed or replaced already: propose a new one")
    return own


def check_announced_by_page(payment: SecurePayment) -> None:
    """Raises BadRequest when enough of what the payment page announced for the link has not paid it.

    Whatever such a transaction is: to announce it holds the link, and to execute it instead pays it just as well.
    """
    if _in_vain(payment) >= MOST_IN_VAIN:
        raise BadRequest(
            f"{MOST_IN_VAIN} multisig transactions were announced for this link and did not pay it, so it waits for no "
            "more of them: execute yours, its payment is detected all the same, or ask the payee to announce it"
        )


def _in_vain(payment: SecurePayment) -> int:
    """How many intents of the page have ended without paying the link; the last one is not pending."""
    last = payment.intent
    if last is None:
        return 0
    return last.in_vain + int(last.by_page and last.status is not IntentStatus.SETTLED)


def _pays_in(payment: SecurePayment, symbol: str, own: Network) -> bool:
    """Whether a request of the link is in the token of that symbol or, as USDC on sepolia, of that id."""
    named = token_with_id(f"{symbol}-{own.name}")
    currencies = (token_with_id(request.currency) for request in payment.requests)
    return any(token is not None and (token == named or token.symbol == symbol) for token in currencies)


def check_payer(link: Link, safe: str | None) -> None:
    """Raises Forbidden when a payout would be paid by another wallet than its creator's."""
    creator = link.creator_wallet
    if creator is not None and safe is not None and not same_address(creator, safe):
        raise WrongWallet(creator)


def create_intent(
    payment: SecurePayment, draft: IntentDraft, origin: Origin, now: datetime, entropy: Entropy
) -> SafeIntent:
    """The intent to store in the place of the link's last one, which is settled."""
    assert draft.safe_tx_hash is not None, "checked before"
    end = now + origin.lifetime
    return SafeIntent(
        link_token=payment.link.token,
        intent_id=ids.ulid(now, entropy),
        network=payment.requests[0].network,
        safe_tx_hash=draft.safe_tx_hash,
        safe=origin.safe,
        nonce=origin.nonce,
        deadline=draft.deadline,
        payer_address=draft.payer_address,
        status=IntentStatus.PENDING,
        created_at=now,
        ends_at=min(draft.deadline, end) if draft.deadline else end,
        check_at=now + SOONEST,
        scanned_to=origin.scanned_to,
        by_page=origin.by_page,
        in_vain=_in_vain(payment),
        version=payment.intent.version if payment.intent else 0,
    )


def decide(intent: SafeIntent, look: Look, now: datetime) -> SafeIntent:
    """The intent after a look. One that is not pending stays as it is.

    It lapses by the clock of the chain and ours: a transaction in a block from before the end still counts, however
    late that block is read, and a chain whose clock runs ahead does not cut the time that was promised. Where the
    Safe's events stay unread, what detection has read decides after UNREAD_GRACE.
    """
    if intent.status is not IntentStatus.PENDING:
        return intent
    seen = replace(intent, scanned_to=look.block) if intent.safe is not None else intent
    if look.execution is not None:
        seen = replace(
            seen, executed_block=look.execution.block, transaction_hash=look.execution.transaction_hash
        )
    if look.completed:
        return replace(seen, status=IntentStatus.SETTLED)
    if look.execution is not None:
        return replace(seen, status=IntentStatus.FAILED)
    if intent.nonce is not None and look.nonce is not None and look.nonce > intent.nonce:
        return replace(seen, status=IntentStatus.REPLACED)
    is_unknown = look.unknown or (intent.by_page and intent.nonce is None)  # the service alone tells the nonce
    end = min(intent.ends_at, intent.created_at + UNKNOWN_AFTER) if is_unknown else intent.ends_at
    is_read = look.block_time > end or (now > end + UNREAD_GRACE and look.detected_to > end)
    if now > end and is_read:
        return replace(seen, status=IntentStatus.LAPSED)
    return postpone(seen, now)


def unseen(intent: SafeIntent, completed: bool, now: datetime) -> SafeIntent:
    """The pending intent when the node does not answer: settled with its link all the same, else it comes later."""
    return replace(intent, status=IntentStatus.SETTLED) if completed else postpone(intent, now)


def withdrawn(payment: SecurePayment) -> SafeIntent:
    """The link's pending intent as its owner ends it. Raises NotFound when the link does not wait.

    Should the Safe execute the transaction after all, what it pays counts as every payment does.
    """
    intent = payment.intent
    if intent is None or intent.status is not IntentStatus.PENDING or payment.link.status is LinkStatus.COMPLETED:
        raise NotFound("No multisig transaction is pending for this link")
    return replace(intent, status=IntentStatus.LAPSED)


def postpone(intent: SafeIntent, now: datetime) -> SafeIntent:
    """The intent with its next look: the older it is the later, but soon after its end."""
    wait = min(max((now - intent.created_at) / _WAIT_SHARE, SOONEST), LATEST)
    return replace(intent, check_at=min(now + wait, max(intent.ends_at, now) + SOONEST))


def span_of(intent: SafeIntent, most: int) -> int:
    """How many blocks of the Safe's events are asked for at once; `most` of a Safe that nothing is known against."""
    return most if intent.span is None else min(intent.span, most)


def narrowed(intent: SafeIntent, refused: int) -> SafeIntent:
    """The intent with half the span that the node did not answer for."""
    return replace(intent, span=max(refused // 2, 1))


def widened(intent: SafeIntent, most: int) -> SafeIntent:
    """The intent after its span was answered for: it grows slowly back to `most`."""
    if intent.span is None:
        return intent
    wider = intent.span + intent.span // 16 + 1
    return replace(intent, span=wider if wider < most else None)


_NEVER_AGAIN = (IntentStatus.FAILED, IntentStatus.REPLACED)
"""Its nonce is used up."""
