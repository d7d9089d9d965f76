"""What one check reads of the two chains of a payment from another one."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Uint256
from chalicelib.crosschain.core.records import Deposit, Returned
from chalicelib.payments.links.records import Proof

if TYPE_CHECKING:
    from chalicelib.chains.nodes.readings import Agreed


class Source(StrEnum):
    """What the source chain's node says of the transaction."""

    WAITING = "waiting"
    """The node has it, in no block or in one that is not deep enough."""
    MISSING = "missing"
    """The node does not have it."""
    REPLACED = "replaced"
    """The node does not have it, and its wallet's nonce was used up to a block that is deep enough."""
    REVERTED = "reverted"
    FOREIGN = "foreign"
    """It does not deposit what pays the link."""
    DEPOSITED = "deposited"


class Arrival(StrEnum):
    """What the destination chain's node says of a deposit."""

    OPEN = "open"
    """Not filled; it may be."""
    EXPIRED = "expired"
    """Not filled, after a block that is deep enough and later than the deadline: nobody can fill it any more."""
    PAID = "paid"
    """Filled, with the event of the payment."""
    BOUNCED = "bounced"
    """Filled, the payment failed, and the tokens went to the fallback."""
    UNCLEAR = "unclear"
    """Filled, and how is not known: the transaction was not found."""


@frozen
class SourceObservation:
    """What was read of the source chain; `time` is that of its newest block that is deep enough.

    `deposit` is that of the transaction if the node has it, or of what a Safe's owners sign, and `proof` how that is
    known; `covers` is whether it brings what is due, and others have the time and a reason to fill it. `destination` is
    where it leads if that is another chain than was thought, which is searched after the block `searched_to`. The rest
    is set where it is DEPOSITED. `reason` says why it REVERTED, if the node says so.
    """

    outcome: Source
    time: "Agreed[datetime]"
    in_block: bool = False
    proof: Proof | None = None
    wallet: str | None = None
    nonce: int | None = None
    tx_hash: str | None = None
    deposit: Deposit | None = None
    deposit_id: Uint256 | None = None
    relay_hash: str | None = None
    block: int | None = None
    deposited_at: datetime | None = None
    reason: str | None = None
    fill_key: str | None = None
    covers: bool = True
    destination: str | None = None
    searched_to: int = 0


@frozen
class ArrivalObservation:
    """What was read of the destination chain, whose blocks up to `searched_to` were searched for the fill.

    `tx_hash` is that of the fill, and `payment_key` the event key of the payment that it made.
    """

    outcome: Arrival
    searched_to: int
    tx_hash: str | None = None
    returned: Returned | None = None
    payment_key: str | None = None


@frozen
class RefundObservation:
    """What was read of the source chain, whose blocks up to `searched_to` were searched for the refund."""

    searched_to: int
    tx_hash: str | None = None
    returned: Returned | None = None


@frozen
class Observation:
    """One check; None for what was not read, or not answered."""

    source: SourceObservation | None = None
    arrival: ArrivalObservation | None = None
    refund: RefundObservation | None = None
