"""The events of the commerce escrow and of its collector for pre-approvals (transfers.py decodes them)."""

from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits


class EscrowEventKind(StrEnum):
    """What an event says. All but the first are of the escrow itself."""

    PRE_APPROVED = "pre_approved"
    """The payer allows the escrow to take the money; nothing has moved."""
    AUTHORIZED = "authorized"
    CHARGED = "charged"
    CAPTURED = "captured"
    VOIDED = "voided"
    RECLAIMED = "reclaimed"
    REFUNDED = "refunded"


ENDS = (EscrowEventKind.VOIDED, EscrowEventKind.RECLAIMED)
"""By these all that is held goes back to the payer."""


@frozen
class LoggedEscrow:
    """One event. `payment_hash` is the escrow's name of the payment, in lower case, and the topic of the log.

    `amount` is in base units of the payment's token, 0 for a pre-approval. `payer` is that of the terms that the event
    shows, in lower-case hex; None for the kinds that show none. `fee_bps` (1/10,000 of the amount, rounded down) and
    `fee_receiver` are those of a capture or charge; without a fee, the receiver may be the zero address.
    """

    kind: EscrowEventKind
    payment_hash: str
    amount: BaseUnits
    payer: str | None = None
    fee_bps: int = 0
    fee_receiver: str | None = None
