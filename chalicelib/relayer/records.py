"""Stored records of the service's own accounts: calls, the transactions that make them, next nonces and spending."""

from collections.abc import Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.base.records import PAYMENTS, Counts, KeyPattern, Record
from chalicelib.relayer.holdings.records import Move

TRANSACTION_RETENTION = timedelta(days=90)
"""How long a transaction is kept, with its signed bytes, after its call has its outcome."""
USE_RETENTION = timedelta(days=3)
"""How long after its day began it is kept what the calls for an account may cost."""
SUCCESS_RETENTION = timedelta(days=100)
"""How long after a payer's last call it is kept how many of them succeeded: longer than three months of payrolls."""
Source = tuple[str, str, str]
"""Where tokens are taken from on a network: a wallet, a token and the spender that it allows them to, in lower case; or
ANY, for all that is taken of the token from the wallet."""
ANY = "*"
UNDER_WAY = "under way"
"""The name of the only count of TakenFunds."""

WITHDRAWN = -1
"""The nonce of a call that was withdrawn before any was reserved for it."""


class Role(StrEnum):
    """Which of the service's accounts on a network makes a call. Each has a key of its own."""

    SERVICE = "service"
    GASLESS = "gasless"
    """The account of gasless payments, which delegates to a contract (EIP-7702): nodes take one transaction of it at a
    time."""


class CallStatus(StrEnum):
    """What became of a call."""

    UNKNOWN = "unknown"
    """It may be executed at any time, or have been."""
    SUCCEEDED = "succeeded"
    REVERTED = "reverted"
    """Its transaction is in a block and had no effect."""
    SUPERSEDED = "superseded"
    """It was not executed and never can be: another transaction, which is not this service's, is proven to have its
    nonce, or it was withdrawn before it had one."""


@frozen
class TakenFunds(Record):
    """What the open calls of a network may take from one wallet, of one token by the allowance of one spender."""

    KEY = KeyPattern(PAYMENTS, "TAKEN#{network}#{wallet}#{token}#{spender}", "TAKEN")

    network: str
    wallet: str
    token: str
    spender: str
    amounts: Counts = field(default_factory=lambda: Counts({}))
    """In base units, under the name UNDER_WAY."""

    @property
    def source(self) -> Source:
        return self.wallet, self.token, self.spender

    @property
    def under_way(self) -> int:
        return self.amounts.get(UNDER_WAY, 0)


@frozen
class Taking:
    """Tokens that a call takes from a wallet, which has allowed them to `spender`, or signed a transfer to it; `amount`
    is in base units."""

    wallet: str
    token: str
    spender: str
    amount: BaseUnits

    @property
    def source(self) -> Source:
        return self.wallet.lower(), self.token.lower(), self.spender.lower()

    @property
    def of_all_spenders(self) -> Source:
        return self.wallet.lower(), self.token.lower(), ANY

    def counter(self, network: str) -> TakenFunds:
        """The count that it is part of while its call is open, without what is stored."""
        return TakenFunds(network, *self.source)


@frozen
class RelayedCall(Record):
    """A call that was accepted: it has one nonce of one account for ever. The other statuses than UNKNOWN are final,
    except that a fork deeper than the confirmations takes them back with the transaction (tracking.py).

    `tx_hash`, `block_number` and `cost` (base units of the native coin, for gas) are those of the transaction in the
    block; `reason` says why it reverted. Its payers may have `many_open` such calls at once.
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
    many_open: bool = False


@frozen
class RelayedTransaction(Record):
    """The transaction of a nonce, signed once for each fee that was offered; all have the same effect.

    `max_fee` and `tip` are those that were offered last, per unit of gas. `hashes` are those of all that were signed,
    the last one of `raw` (0x hex), which is kept so that it can be sent again after a deep fork; there are none before
    `signed_at`. `nonce_used_since` is since when its nonce is used, as a node says, while nothing proves what became of
    it, and `nonce_used_at` the newest block then that a node has, unless one alone of several has answered. `closed_at`
    is set when the call has its final status. `call_version` is the version of the call while it is open. It counts
    among the reverts (Reverts) of its `payers`, by their names there, or if it has none of the account `account_id`,
    which was a payer's name before there could be several. `is_counted` is whether the ledger of holdings has what it
    `moves`. With `delegate` the account delegates to that contract by it, which takes the nonce after its own, too.
    `follows` is the key of the call that this one needs.
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
    nonce_used_since: datetime | None = field(default=None, metadata={"attribute": "unseen_since"})
    nonce_used_at: int | None = field(default=None, metadata={"attribute": "unseen_at"})
    closed_at: datetime | None = None
    account_id: str = ""
    takes: Taking | None = None
    moves: Move | None = None
    is_counted: bool = False
    call_version: int = 1
    delegate: str | None = None
    payers: tuple[str, ...] = ()
    follows: str | None = None

    @property
    def reverts_of(self) -> tuple[str, ...]:
        """The names of those among whose reverts it counts."""
        return self.payers or (self.account_id,)

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


@frozen
class AccountUse(Record):
    """The most that the calls of a day (UTC date) for one account of this service may cost, in base units of the native
    coin; `prepaid` is that of those that were counted with calls before them. It is written together with the relayer's
    account, so that it is exact."""

    KEY = KeyPattern(PAYMENTS, "RELAYED_FOR#{network}#{account_id}", "SPENT#{day}")

    network: str
    account_id: str
    day: str
    spent: BaseUnits = BaseUnits(0)
    prepaid: BaseUnits = BaseUnits(0)

    @property
    def vanishes_at(self) -> datetime:
        """Three days after its day began."""
        return datetime.fromisoformat(self.day).replace(tzinfo=UTC) + USE_RETENTION


@frozen
class Reverts(Record):
    """How many calls for one account of this service were reverted in a block since the last one that succeeded, or for
    one payer alone since the last one with other payers; `last_at` is when that was counted. `open_call` is the key of
    a payer's call that has no outcome yet, for which the next one waits, `more_open_calls` are those of others, and
    `reverted_call` is that of the last one that was reverted. Calls that were reverted for a payer, also with others,
    have used up the time `until` then. `successes` are a payer's calls that have succeeded since the last one that was
    reverted for the payer alone."""

    KEY = KeyPattern(PAYMENTS, "RELAYED_FOR#{network}#{account_id}", "REVERTS")

    network: str
    account_id: str
    count: int
    last_at: datetime
    open_call: str | None = None
    reverted_call: str | None = None
    until: datetime | None = None
    more_open_calls: tuple[str, ...] = ()
    successes: int = 0

    @property
    def open_calls(self) -> tuple[str, ...]:
        return self.more_open_calls if self.open_call is None else (self.open_call, *self.more_open_calls)

    def with_open_calls(self, keys: Sequence[str]) -> "Reverts":
        """This record with these open calls, the oldest first."""
        return replace(self, open_call=keys[0] if keys else None, more_open_calls=tuple(keys[1:]))

    @property
    def vanishes_at(self) -> datetime | None:
        """Three days after it was counted last, 100 of a payer with successes; None while a call is open."""
        retention = SUCCESS_RETENTION if self.successes else USE_RETENTION
        return None if self.open_calls else self.last_at + retention


@frozen
class RelayerProgress(Record):
    """How far the transactions of an account are finished: every nonce below `open_from`.

    `checked_at` is when the last check of them began. No block up to `unused_to` has a transaction of the account with
    the nonce `open_from` or a later one. Blocks up to `searched_to` were searched for one that has the nonce of a call;
    it is 0 where that begins anew. `has_low_balance` is whether the last check found less of the native coin than the
    operator has set as low.
    """

    KEY = KeyPattern(PAYMENTS, "RELAYER#{network}#{sender}", "PROGRESS")

    network: str
    sender: str
    open_from: int
    checked_at: datetime
    unused_to: int = 0
    searched_to: int = 0
    has_low_balance: bool = False
