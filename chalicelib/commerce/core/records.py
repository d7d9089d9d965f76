"""Stored records: the commerce payment of a request, and what the escrow did with its money."""

from dataclasses import field
from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind

NOTHING = BaseUnits(0)


class OperationKind(StrEnum):
    """What the operator of a payment has the escrow do. A reclaim is not among them: only the payer can do it."""

    AUTHORIZE = "authorize"
    CHARGE = "charge"
    """Authorizes and captures at once: nothing is ever held."""
    CAPTURE = "capture"
    VOID = "void"
    REFUND = "refund"


class Collector(StrEnum):
    """How the escrow takes the tokens from the payer's wallet."""

    PRE_APPROVAL = "preApproval"
    ERC3009 = "erc3009"
    PERMIT2 = "permit2"


@frozen
class PendingOperation:
    """An operation that the service's own account executes, from when it is reserved until the chain shows its event.

    `number` counts the operations of the payment from 1, so that it names the calls of one. `amount` is in base units;
    of a void, what was held when it was reserved. `payer`, `collector` and `signature` (hex) are those of an
    authorization or charge. `step` and `call_keys` say how far its calls are (commerce/service), and
    `transaction_hash` is that of the newest.
    """

    number: int
    kind: OperationKind
    amount: BaseUnits
    submitted_at: datetime
    fee_bps: int = 0
    fee_receiver: str | None = None
    payer: str | None = None
    collector: Collector = Collector.PRE_APPROVAL
    signature: str | None = None
    reason: str | None = None
    """Why the merchant voids, in its own words."""
    step: str = ""
    call_keys: tuple[str, ...] = ()
    transaction_hash: str | None = None


@frozen
class CommercePayment(Record):
    """What the escrow may take from a payer for a request, what it holds, and what became of it.

    The first fields are the terms. They are part of the hash by which the escrow knows the payment, so they never
    change: `buyer` is the only wallet that may pay, None if any may; `operator` may authorize, capture, void and
    refund; `receiver` gets what is captured, less a fee between `min_fee_bps` and `max_fee_bps` (1/10,000), which goes
    to `fee_receiver`, or to whom the operator names if that is None. `salt` is 64 hex digits. Amounts are in base units
    of `currency`, a token of the catalogue.

    The totals are sums of the escrow's events: `authorized`, `captured` (with `fees`, which are part of it), `voided`,
    `reclaimed` and `refunded`. `payer` is the buyer, or else the wallet that the escrow took the money from, and
    `payment_hash` the escrow's name of the payment with it; None while they are not known. `pre_approved_by` are the
    wallets that allowed the escrow to take the money; the last one is tried next.

    `pending` is the operation that is executed now, `operations` the number of those that were ever reserved. `failure`
    is why the last one went back, and `failed_payer` the wallet whose money it was about; None after one that did not.
    `waiting` are operations that were pending when a fork undid an earlier one, which is pending again before them; in
    the order of their numbers. `is_end_notified` means that the merchant was notified by payment.failed that nothing
    will be captured. With `collects_unasked` the service itself takes what was pre-approved; else only when it is asked
    to.
    """

    KEY = KeyPattern(PAYMENTS, "LINK#{payable_id}", "COMMERCE")
    DUE_GROUP = "COMMERCE"

    payable_id: str = field(metadata={"attribute": "link_token"})
    request_id: str
    account_id: str
    client_id: str | None
    merchant_id: str
    network: str
    currency: str
    escrow: str
    operator: str
    is_service_operator: bool
    receiver: str
    buyer: str | None
    amount: BaseUnits
    max_amount: BaseUnits
    pre_approval_expiry: datetime
    authorization_expiry: datetime
    refund_expiry: datetime
    min_fee_bps: int
    max_fee_bps: int
    fee_receiver: str | None
    salt: str
    created_at: datetime
    changed_at: datetime
    payer: str | None = None
    payment_hash: str | None = None
    pre_approved_by: tuple[str, ...] = ()
    authorized: BaseUnits = NOTHING
    captured: BaseUnits = NOTHING
    fees: BaseUnits = NOTHING
    voided: BaseUnits = NOTHING
    reclaimed: BaseUnits = NOTHING
    refunded: BaseUnits = NOTHING
    pending: PendingOperation | None = None
    waiting: tuple[PendingOperation, ...] = ()
    operations: int = 0
    failure: str | None = None
    failed_payer: str | None = None
    is_end_notified: bool = False
    collects_unasked: bool = True
    check_at: datetime | None = None

    @property
    def capturable(self) -> BaseUnits:
        """What the escrow holds of it."""
        return BaseUnits(max(self.authorized - self.captured - self.voided - self.reclaimed, 0))

    @property
    def refundable(self) -> BaseUnits:
        """What was captured and not refunded."""
        return BaseUnits(max(self.captured - self.refunded, 0))

    @property
    def is_collected(self) -> bool:
        """Whether the escrow has taken the money, which it does once."""
        return self.authorized > 0

    @property
    def next_due(self) -> datetime | None:
        """When the payment is looked at next."""
        return self.check_at


class EntryState(StrEnum):
    """Whether an entry counts."""

    POSTED = "posted"
    VOIDED = "voided"
    """A fork removed its event."""


@frozen
class EscrowEntry(Record):
    """One event of the escrow about a payment: an entry of its ledger. Pre-approvals move no money and have none.

    The key is that of the event's LoggedTransfer. An event that a fork moves to another block is another entry, and the
    former one is voided. `payer` is the wallet that the event is about; `fee_bps` and `fee_receiver` are those of a
    capture or charge. `operation` is the one that the event has ended, which is pending again if a fork removes it.
    """

    KEY = KeyPattern(PAYMENTS, "COMMERCE#{request_id}", "{block_number:012}#{block_hash}#{tx_hash}#{event_key}")

    request_id: str
    block_number: int
    block_hash: str
    tx_hash: str
    event_key: str
    log_index: int
    kind: EscrowEventKind
    amount: BaseUnits
    at: datetime
    """The block's timestamp."""
    fee_bps: int = 0
    fee_receiver: str | None = None
    payer: str | None = None
    state: EntryState = EntryState.POSTED
    operation: PendingOperation | None = None
