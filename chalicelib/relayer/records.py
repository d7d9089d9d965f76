"""Stored records of the service's own accounts: calls, the transactions that make them, next nonces and spending."""

from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, KeyPattern, Record

TRANSACTION_RETENTION = timedelta(days=90)
"""How long a transaction is kept after its call has its outcome."""


class CallStatus(StrEnum):
    """What became of a call."""

    UNKNOWN = "unknown"
    """It may be executed at any time, or have been."""
    SUCCEEDED = "succeeded"
    REVERTED = "reverted"
    """Its transaction is in a block and had no effect."""
    SUPERSEDED = "superseded"
    """Another transaction, which is not this service's, has its nonce: it was not executed and never can be."""


@frozen
class RelayedCall(Record):
    """A call that was accepted: it has one nonce of one account for ever. The other statuses than UNKNOWN are final.

    `tx_hash`, `block_number` and `cost` (base units of the native coin, for gas) are those of the transaction in the
    block; `reason` says why it reverted.
    """

    KEY = KeyPattern(PAYMENTS, "RELAYED#{call_key}", "RELAYED")

    call_key: str
    network: str
    sender: str
    nonce: int
    created_at: datetime
    status: CallStatus = CallStatus.UNKNOWN
    tx_hash: str | None = None
    block_number: int | None = None
    cost: BaseUnits | None = None
    reason: str | None = None
    version: int = 0


@frozen
class RelayedTransaction(Record):
    """The transaction of a nonce, signed once for each fee that was offered; all have the same effect.

    `max_fee` and `tip` are those that were offered last, per unit of gas. `hashes` are those of all that were signed,
    the last one of `raw` (0x hex); there are none before `signed_at`. `unseen_since` is when the chain first had
    another transaction with this nonce. `closed_at` is set when the call has its final status.
    """

    KEY = KeyPattern(PAYMENTS, "RELAYER#{network}#{sender}", "NONCE#{nonce:012}")

    network: str
    sender: str
    nonce: int
    call_key: str
    to: str
    data: str
    value: BaseUnits
    gas_limit: int
    max_fee: BaseUnits
    tip: BaseUnits
    created_at: datetime
    hashes: tuple[str, ...] = ()
    raw: str | None = None
    signed_at: datetime | None = None
    unseen_since: datetime | None = None
    closed_at: datetime | None = None
    version: int = 0

    @property
    def vanishes_at(self) -> datetime | None:
        """90 days after its call has its outcome, which is kept; None before that."""
        return None if self.closed_at is None else self.closed_at + TRANSACTION_RETENTION


@frozen
class RelayerAccount(Record):
    """The next nonce of an account that no call has, and the most that the calls of a day (UTC date) may cost, in base
    units of the native coin."""

    KEY = KeyPattern(PAYMENTS, "RELAYER#{network}#{sender}", "ACCOUNT")

    network: str
    sender: str
    next_nonce: int
    day: str
    spent: BaseUnits
    version: int = 0


@frozen
class RelayerProgress(Record):
    """How far the transactions of an account are finished: every nonce below `open_from`.

    `checked_at` is when the last check of them began.
    """

    KEY = KeyPattern(PAYMENTS, "RELAYER#{network}#{sender}", "PROGRESS")

    network: str
    sender: str
    open_from: int
    checked_at: datetime
    version: int = 0
