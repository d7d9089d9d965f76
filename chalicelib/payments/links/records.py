"""Stored records: links, and the transactions that are announced for them."""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hmac import compare_digest
from typing import ClassVar, Self

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import lists, place_of
from chalicelib.base.money import Fee
from chalicelib.base.records import INLINE, PAYMENTS, KeyPattern, Record
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.crosschain.core.records import BridgeTransfer
from chalicelib.offramp.core.records import Order
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.access.modes import Mode

LINKS = "LINK"
"""The kind of the lists of links."""
ASSEMBLY_TIME = timedelta(minutes=5)
"""How long a multicall may take to claim its children; after that it counts as abandoned by a crash."""


class PaymentType(StrEnum):
    SINGLE = "single"
    BATCH = "batch"
    MULTICALL = "multicall"
    """A parent of payout links that are paid together; it has no requests, its children keep theirs."""


class Flow(StrEnum):
    GET_PAID = "get_paid"
    PAY = "pay"
    """A payout: created by its payer."""


class LinkStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    EXPIRED = "expired"
    INVALIDATED = "invalidated"
    """Merged into a batch link, which has its requests now."""
    COMPLIANCE_FAILED = "compliance_failed"
    CANCELLED = "cancelled"
    """By its owner, before all of it was paid."""
    PARTIALLY_SETTLED = "partially_settled"
    """A multicall of which some children are paid; computed from the children, never stored."""
    AWAITING_CHAIN = "awaiting_chain"
    """Past its expiry, while payments sent before it may still be unseen; computed from the time, never stored."""
    ASSEMBLING = "assembling"
    """A multicall whose children are being claimed; reads do not return it yet."""


@frozen
class Link(Record):
    """A secure payment link; `token` is a ULID, and anybody who has it can open the link.

    `creator_wallet` is the payer of a payout. `parent_token` is the last multicall that claimed the link,
    `child_tokens` are a multicall's children in order. `successor_token` is the batch link that an invalidated link was
    merged into, `merged_tokens` are the links that were merged into a batch link.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{token}", "LINK")

    token: str
    account_id: str
    client_id: str | None
    origin: str | None
    payment_type: PaymentType
    status: LinkStatus
    created_at: datetime
    expires_at: datetime
    fee_percentage: str | None = None
    fee_address: str | None = None
    reference: str | None = None
    payer_identifier: str | None = None
    redirect_url: str | None = None
    redirect_label: str | None = None
    flow: Flow = Flow.GET_PAID
    creator_wallet: str | None = None
    recipient_identifier: str | None = None
    parent_token: str | None = None
    child_tokens: tuple[str, ...] = ()
    execution_kind: str | None = None
    successor_token: str | None = None
    merged_tokens: tuple[str, ...] = ()
    completed_at: datetime | None = None
    expiry_check_at: datetime | None = None
    """When it is checked again whether the chain was read past `expires_at`; None before the first check."""
    cancelled_at: datetime | None = None
    has_known_payees: bool = False
    """Whether the owner of the client id knows who gets money by it, fees included: it was created by a secret
    credential, or within `allowed_payees`. A client id alone is public: with it anybody can name himself as payee."""
    created_with: Mode | None = None
    """The credential that it was created with; None is not known (`PayableLink.created_with`)."""
    is_being_cancelled: bool = False
    """Whether it is cancelled and some of its requests do not say so yet: there were too many for one transaction."""

    @property
    def listed(self) -> Mapping[str, str]:
        if self.status is LinkStatus.ASSEMBLING:
            return {}
        values = {"by_client": self.client_id, "by_status": self.status, "by_reference": self.reference}
        return lists(self.account_id, LINKS, values)

    @property
    def listed_at(self) -> str:
        return place_of(self.created_at, self.token)

    @property
    def fee(self) -> Fee:
        """The platform fee on each of its amounts."""
        return Fee(self.fee_percentage, self.fee_address)

    @property
    def next_due(self) -> datetime | None:
        """While pending, its expiry or the next check of it (None for a multicall); while assembling, when it counts as
        abandoned; while it is being cancelled, since when."""
        if self.is_being_cancelled:
            return self.cancelled_at
        if self.status is LinkStatus.ASSEMBLING:
            return self.created_at + ASSEMBLY_TIME
        if self.status is LinkStatus.PENDING and self.payment_type is not PaymentType.MULTICALL:
            return self.expiry_check_at or self.expires_at
        return None


class AnnouncedStatus(StrEnum):
    PENDING = "pending"
    SETTLED = "settled"
    """Executed, and its payment completed the link; from another chain: it reached the payee."""
    FAILED = "failed"
    """Executed without completing the link: its call failed, or it did not pay all of this link."""
    REPLACED = "replaced"
    """Its wallet executed another transaction with the same nonce."""
    LAPSED = "lapsed"
    """Its deadline passed, nobody who has to know it did so in time, or the link's owner withdrew it."""
    PARTIAL = "partial"
    """From another chain: the payment failed on the link's chain, and the payer has the tokens there."""
    REFUNDED = "refunded"
    """From another chain: nobody brought it to the link's chain in time, and the payer has it back."""


class Proof(StrEnum):
    """Why an announced transaction is known to be one of its wallet that pays its link. Without, it is a mere claim."""

    COMPUTED = "computed"
    """A Safe's: the hash was computed from the link's own transactions. Anybody can do so, for any Safe."""
    PROPOSED = "proposed"
    """A Safe's: the Safe Transaction Service has it, to which only owners of the Safe propose."""
    SENT = "sent"
    """The network's node has it, with the signature of its sender."""


@frozen
class AnnouncedTransaction:
    """An announced transaction that is to pay a link; while it is pending, the link cannot be paid otherwise.

    It is a multisig transaction with a `safe_tx_hash`, or else one that was sent, whose hash is `transaction_hash`. It
    is identified by network, wallet and hash: what another wallet does never ends it.

    `wallet` is the Safe or the sender, `nonce` that of its transaction; both are None until they are known. `deadline`
    is the payer's; after `ends_at` the announced transaction lapses. `scanned_to` is the last block that was searched
    for a Safe's execution, `executed_block` the block of the execution, and `transaction_hash` then its transaction;
    `missing_since` is since when the node does not have a transaction that was sent, None while it has it. `check_at`
    is when the announced transaction is checked next. `span` is the most blocks per request to the node after a
    refusal, None for the usual number. `is_public` means that it was
    announced with a public client id, such as the payment page's, which anybody who has the link can do. An announced
    transaction that does not lock (`locks`) was announced after too many public claims; it does so once it has a proof.
    A payment from another chain has a `bridge_transfer`; its `network` is then the one that is paid from, and it ends
    by what both chains say (payments/announcements/bridges). `announcers` are the SHA-256 hashes of the secrets of
    those who have announced it, for whom it does not lock the link: they follow it themselves.
    """

    FORMER: ClassVar[Mapping[str, int | tuple[()]]] = {
        "in_vain": 0, "failures_notified": 0, "sent_claims": 0, "others": (), "version": 0,
    }  # fmt: skip
    """Of when a link's announced transactions were stored as the first of them, with the counters of the link."""

    link_token: str
    account_id: str
    """The link's."""
    announced_id: str
    network: str
    safe_tx_hash: str | None
    wallet: str | None = field(metadata={"attribute": "safe"})
    nonce: int | None
    deadline: datetime | None
    payer_address: str | None
    status: AnnouncedStatus
    created_at: datetime
    ends_at: datetime
    check_at: datetime
    scanned_to: int
    executed_block: int | None = None
    transaction_hash: str | None = None
    span: int | None = None
    is_public: bool = field(default=False, metadata={"attribute": "by_page"})
    proof: Proof | None = None
    missing_since: datetime | None = field(default=None, metadata={"attribute": "unseen_since"})
    locks: bool = True
    bridge_transfer: BridgeTransfer | None = None
    announcers: tuple[str, ...] = ()

    @property
    def is_locking(self) -> bool:
        return self.status is AnnouncedStatus.PENDING and self.locks

    @property
    def is_open_warning(self) -> bool:
        """Whether this is a transaction that was sent and can still pay the link, but does not lock it any more."""
        is_sent = self.safe_tx_hash is None and self.bridge_transfer is None and self.proof is Proof.SENT
        return is_sent and self.status is AnnouncedStatus.PENDING and not self.locks

    def is_by(self, announcer: str) -> bool:
        """Whether somebody with this hash of a secret has announced it; compared in constant time."""
        return any(compare_digest(each, announcer) for each in self.announcers)


@frozen
class LinkAnnouncements(Record):
    """The transactions that are announced for a link, in the order of `gather_announced`: first those that lock it."""

    KEY = KeyPattern(PAYMENTS, "LINK#{link_token}", "ANNOUNCED")
    DUE_GROUP = "ANNOUNCED"

    first: AnnouncedTransaction = field(metadata=INLINE)
    others: tuple[AnnouncedTransaction, ...] = ()
    public_claims: int = field(default=0, metadata={"attribute": "in_vain"})
    """How many public announcements without the proof PROPOSED or SENT the link has had."""
    sent_claims: int = 0
    """How many publicly announced transactions the node has had, which may lock the link."""
    failures_notified: int = 0
    """How many failures of bridge transfers the merchant was notified of."""

    @property
    def link_token(self) -> str:
        return self.first.link_token

    @property
    def all(self) -> tuple[AnnouncedTransaction, ...]:
        return (self.first, *self.others)

    @property
    def is_locking(self) -> bool:
        return self.first.is_locking

    @property
    def next_due(self) -> datetime | None:
        """When the first of the pending announced transactions is checked next."""
        return min((each.check_at for each in self.all if each.status is AnnouncedStatus.PENDING), default=None)


@frozen
class SigningClaim(Record):
    """Who alone is asked to sign the payment of a link: until `ends_at` it is offered to nobody else.

    `claimant` is the SHA-256 hash of their secret (announcers.py), `calls` the hash of the calls as they gave it,
    `attempt` counts the batches of the link. `claimed_seconds` is for how long earlier claims have held the link.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{link_token}", "SIGNING")
    MEMORY: ClassVar[timedelta] = timedelta(days=1)
    """How long after its end a claim counts towards what claims may hold of a link, and towards its attempts."""

    link_token: str
    account_id: str
    claimant: str
    calls: str
    attempt: int
    claimed_at: datetime
    ends_at: datetime
    claimed_seconds: int = 0

    def is_valid(self, now: datetime) -> bool:
        return now < self.ends_at

    @property
    def vanishes_at(self) -> datetime:
        """A day after its end."""
        return self.ends_at + self.MEMORY


@frozen
class Payable:
    """What is paid and recorded together: one request without a link, or the requests of a link, in order.

    `announcements` are the transactions that are announced for a link. `order` is the off-ramp order of a
    request without a link that is paid out in fiat. `commerce` is set if the one request of a link is paid through the
    commerce escrow. `signing` is who is asked, or was asked last, to sign the payment of a link as one batch of calls.
    """

    requests: tuple[Request, ...]
    link: Link | None = None
    announcements: LinkAnnouncements | None = None
    order: Order | None = None
    commerce: CommercePayment | None = None
    signing: SigningClaim | None = None

    def reference_of(self, request: Request) -> str | None:
        """The merchant's reference of a request: its own, else that of the link."""
        return request.reference or (self.link.reference if self.link else None)

    def fee_of(self, request: Request) -> Fee:
        """The platform fee on a request: that of its link, if it has one."""
        return self.link.fee if self.link else Fee(request.fee_percentage, request.fee_address)

    def is_payout(self, request: Request) -> bool:
        """Whether the account pays a request, and is not paid."""
        of_link = self.link is not None and self.link.flow is Flow.PAY
        return of_link or request.is_payout or request.recurring_payment_id is not None

    def without_announced_by(self, announcer: str | None) -> Self:
        """The link as somebody with this hash of a secret sees it: without the transactions that they announced, and
        without their own claim to sign.

        Only for reading: its announced transactions are not complete.
        """
        if announcer is None:
            return self
        found = self.without_claim_of(announcer)
        if self.announcements is None:
            return found
        first, *others = [each for each in self.announcements.all if not each.is_by(announcer)] or (None,)
        shown = replace(self.announcements, first=first, others=tuple(others)) if first is not None else None
        return replace(found, announcements=shown)

    def without_claim_of(self, claimant: str | None) -> Self:
        """The link as somebody with this hash of a secret reads it, without their own claim to sign."""
        is_own = claimant is not None and self.signing is not None and compare_digest(self.signing.claimant, claimant)
        return replace(self, signing=None) if is_own else self

    @property
    def is_paid(self) -> bool:
        """Whether all requests are paid. A multicall has to be given the requests of its children."""
        all_paid = bool(self.requests) and all(request.status is RequestStatus.PAID for request in self.requests)
        return all_paid or (self.link is not None and self.link.status is LinkStatus.COMPLETED)

    @property
    def is_executed(self) -> bool:
        """Whether the service is making a payment of it that its payer has signed. The payouts of a multicall have no
        such payments."""
        return any(request.is_executed for request in self.requests)

    @property
    def is_locked(self) -> bool:
        """Whether the link is unpaid and waits for an announced transaction, or for a payment that the service makes.
        """
        is_announced = self.announcements is not None and self.announcements.is_locking
        return (is_announced or self.is_executed) and not self.is_paid


@frozen
class PayableLink(Payable):
    """A payable that is a link. A multicall has no requests of its own; it can be given those of its children."""

    link: Link

    @property
    def account_id(self) -> str:
        return self.link.account_id

    @property
    def client_id(self) -> str | None:
        return self.link.client_id

    @property
    def created_with(self) -> Mode | None:
        """The credential that the link was created with; of one that does not say so, that of all its requests."""
        of_requests = {each.created_with for each in self.requests}
        return self.link.created_with or (of_requests.pop() if len(of_requests) == 1 else None)
