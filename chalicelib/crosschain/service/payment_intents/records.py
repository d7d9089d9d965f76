"""Stored records: payment intents, each of which is one payment from another chain that its payer signs."""

from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record
from chalicelib.chains.calldata.tokens.erc2612 import TokenPermit
from chalicelib.chains.calldata.tokens.permit2 import PaymentPermit
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.payments.links.records import AnnouncedTransaction
from chalicelib.payments.rates.records import Rate

UNSIGNED_RETENTION, RETENTION = timedelta(days=1), timedelta(days=90)
"""How long a payment intent is kept after its deadline if nobody signs it, and after its end."""


class Stage(StrEnum):
    """Where the money is."""

    OFFERED = "offered"
    """With the payer, who has not signed."""
    TAKING = "taking"
    """With the payer; it may be taken by what they have signed."""
    TAKEN = "taken"
    """In the service's account, from which it goes into the bridge or back to the payer."""
    BRIDGED = "bridged"
    """In the bridge, as `announced` says."""
    ENDED = "ended"


class End(StrEnum):
    SETTLED = "settled"
    PARTIAL = "partial"
    REFUNDED = "refunded"
    """Back with the payer, from the bridge or from the service's account."""
    FAILED = "failed"
    """Nothing was taken."""


@frozen
class PaymentIntent(Record):
    """A payment of a request from another chain, made of tokens that its payer lets the service take by a signature.

    `permit` is what is signed, in base units of the `source` (an id of the catalogue), and `token_permit` the approval
    for Permit2 that can be signed with it. `call` is what pays on the request's network; it takes `amount` base units
    of the request's token there, of which the payee gets `due`, for `owed` of the request's amount, by the `rate` if
    that is converted.

    From the acceptance on `taking` base units are taken, exactly once; the destination has no block with the payment
    before `searched_to`. The calls of the relayer have these keys (relayer/custody.py):

        {id}/permit    {id}/take    {id}/approve/{approvals}    {id}/spend/{spends}

    `announced` is the payment in the bridge. `reason` says in words why it does not go on, or did not pay.
    """

    KEY = KeyPattern(PAYMENTS, "PERMIT#{intent_id}", "PERMIT")
    DUE_GROUP = "PERMIT"

    intent_id: str
    account_id: str
    client_id: str | None
    request_id: str
    source: str
    permit: PaymentPermit
    token_permit: TokenPermit | None
    call: Transaction
    amount: BaseUnits
    due: BaseUnits
    owed: BaseUnits
    created_at: datetime
    rate: Rate | None = None
    stage: Stage = Stage.OFFERED
    end: End | None = None
    signature: str | None = None
    approval_signature: str | None = None
    accepted_at: datetime | None = None
    taking: BaseUnits = BaseUnits(0)
    searched_to: int = 0
    taken_at: datetime | None = None
    approvals: int = 1
    spends: int = 1
    announced: AnnouncedTransaction | None = None
    returned_by: str | None = None
    """The hash of the transaction that returned the tokens from the service's account."""
    reason: str | None = None
    ended_at: datetime | None = None
    check_at: datetime | None = None
    """When it is looked at next; None before it is accepted, and after its end."""

    @property
    def payer(self) -> str:
        return self.permit.source.account

    @property
    def network(self) -> str:
        """The network that the payment comes from."""
        return self.permit.network

    @property
    def next_due(self) -> datetime | None:
        """When the payment intent is looked at next."""
        return self.check_at

    @property
    def vanishes_at(self) -> datetime | None:
        """A day after its deadline if nobody signs it, 90 days after its end; None while it is being made."""
        if self.stage is Stage.OFFERED:
            return self.created_at + LIFETIME + UNSIGNED_RETENTION
        return self.ended_at + RETENTION if self.ended_at is not None else None


LIFETIME = timedelta(hours=1)
"""How long a payer has for the signature, and the service for taking the tokens."""
