"""Calls of the service's account, what limits them, and what is offered for their gas.

A call has one nonce for ever. While its transaction is in no block, it may be signed again with higher fees, always
with the same nonce and effect, so at most one of them is executed.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import field, replace
from datetime import timedelta
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.nodes.readings import AccountReading
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import (
    UNDER_WAY,
    RelayedTransaction,
    RelayerAccount,
    Role,
    Source,
    TakenFunds,
    Taking,
)
from chalicelib.relayer.reverts import payer_name

GWEI = 10**9
COIN_DECIMALS = 18
"""Of the native coin of every EVM network."""
MOST_GAS = 5_000_000
"""The most gas of a call that names no limit."""
MOST_BYTES = 24_000
"""Of calldata. Nodes accept 128 kB of a transaction; an item of DynamoDB has 400 kB, and holds this twice, as text."""
LONGEST_KEY = 200
SENT_BEFORE = timedelta(seconds=30)
"""How long before the deadline of what a payer has signed or approved its call is sent at the latest: its block comes
later, and if it is too late the call is reverted, which delays the payer's next ones by a day."""
_RAISE = (9, 8)
"""Nodes replace a transaction by one that offers 10 % more, some 12.5 %."""

_SIGNATURE_GAS, _SIGNATURE_GAS_WITHOUT_P256 = 100_000, 400_000
_DEPLOYING_GAS = 600_000


def signature_gas(network: str, deploys: bool = False) -> int:
    """What an honest contract wallet needs to check a signature (ERC-1271): a Safe of ten owners 63,000, one with a
    passkey up to 350,000 where that is checked in Solidity. `deploys`: it is deployed before (ERC-6492)."""
    known = network_named(network)
    if deploys:
        return _DEPLOYING_GAS
    return _SIGNATURE_GAS if known is not None and known.has_p256 else _SIGNATURE_GAS_WITHOUT_P256


class Use(StrEnum):
    """Which part of a day's limit a call may use."""

    ORDINARY = "ordinary"
    """All but the reserve."""
    PROTECTED = "protected"
    """The reserve, too: captures, refunds and what gives tokens back."""
    PREPAID = "prepaid"
    """None: it was counted with a call before it (`Call.prepays`). What other calls use never stops it. Its price may
    have risen since, so those of one account may cost at most the whole limit in a day."""


@frozen
class Call:
    """A call of a contract to be made once: `key` names what is done, and is the same in each attempt to submit it.

    `data` is 0x hex, `value` in base units of the native coin. It may take at most `gas_limit` (None: MOST_GAS).
    `takes` are the tokens that it takes from somebody's wallet, so that open calls together take no more than is there.
    `moves` are those that it moves into or out of the service's account, for the ledger: each call that moves tokens
    out of it has to name them.

    `account_id` is the account of this service that it is for, whose share of the day it uses. `payers` are the wallets
    that can make it revert, if they are somebody else's: then its reverts delay the calls of these alone. Each has one
    open call at a time, apart from the one with the key `follows`, which this one needs; or, of calls that may be
    `many_open`, as many as its successes allow. With `runs_foreign_code` it is run as it is sent, with the sender, the
    price and the limit, and sent with that limit, which is counted: code that anybody may deploy can behave otherwise
    in a block than in a dry run.
    `prepays` is the gas of calls that have to follow it, which is counted with it. `role` is the account that makes it,
    and with `delegate` the account delegates to that contract by it.
    """

    key: str
    network: str
    to: str
    data: str
    value: int = 0
    gas_limit: int | None = None
    takes: Taking | None = None
    moves: Move | None = None
    account_id: str = field(kw_only=True)
    payers: tuple[str, ...] = ()
    many_open: bool = False
    follows: str | None = None
    use: Use = Use.ORDINARY
    runs_foreign_code: bool = False
    prepays: int = 0
    role: Role = Role.SERVICE
    delegate: str | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for what no node would take."""
        if not 0 < len(self.key) <= LONGEST_KEY or len(self.data) > len("0x") + 2 * MOST_BYTES or self.value < 0:
            raise ValueError("a call has a key of 1 to 200 characters, at most 24,000 bytes, and no negative value")

    @property
    def most_gas(self) -> int:
        return self.gas_limit or MOST_GAS

    @property
    def reverts_of(self) -> tuple[str, ...]:
        """The names of those among whose reverts it counts."""
        return tuple(map(payer_name, self.payers)) or (self.account_id,)


class SubmissionStatus(StrEnum):
    """What submitting a call led to."""

    ACCEPTED = "accepted"
    """It is executed at most once; `outcome` says what became of it."""
    REFUSED = "refused"
    """It would revert now. Nothing was written: the same key may be submitted again."""
    POSTPONED = "postponed"
    """The service cannot pay for it now or may not make it, the contract is paused, or the node cannot run it. Nothing
    was written; the call itself may be in order."""
    WAITING = "waiting"
    """The wallet that it takes from does not have enough beside what open calls take, its payer has an open call, or
    its account makes one call at a time and another is in no block yet. Nothing was written: it is submitted again
    later."""


@frozen
class Submission:
    """What submitting the call `key` led to, and why if it was not accepted."""

    key: str
    status: SubmissionStatus
    reason: str | None = None
    is_limited: bool = False
    """Whether it is postponed because the account that it is for has used up its share."""


@frozen
class Fees:
    """What is offered for a unit of gas, in base units of the native coin; `tip` is part of `max_fee`."""

    max_fee: BaseUnits
    tip: BaseUnits


@frozen
class Budget:
    """What limits an account: `max_fee` per unit of gas, and what the calls of a day may cost, in base units.

    Of that limit `reserve_percent` are for protected calls alone, and one account of this service may use
    `account_percent` of what its call may use.
    """

    max_fee: int
    daily_limit: int
    reserve_percent: int = 0
    account_percent: int = 100

    def room(self, use: Use) -> int | None:
        """What all calls of a day may have cost after a call; None: anything."""
        if use is Use.PREPAID:
            return None
        percent = 100 if use is Use.PROTECTED else 100 - self.reserve_percent
        return self.daily_limit * percent // 100

    def share(self, use: Use) -> int | None:
        """What all calls of one account of this service may have cost in a day after a call; None: anything."""
        room = self.room(use)
        return None if room is None else room * self.account_percent // 100


def market_fees(reading: AccountReading, budget: Budget) -> Fees | None:
    """Fees that hold while the base fee doubles, as far as the highest price permits; None if the present one is above.

    A block may raise the base fee by an eighth: doubled, it is enough for five full blocks.
    """
    if reading.base_fee + reading.tip > budget.max_fee:
        return None
    return Fees(BaseUnits(min(2 * reading.base_fee + reading.tip, budget.max_fee)), reading.tip)


def raise_fees(transaction: RelayedTransaction, reading: AccountReading, budget: Budget) -> Fees | None:
    """Fees with which the same nonce is sent again: an eighth higher, or those of the market; None above the limit."""
    max_fee, tip = _raise_fee(transaction.max_fee), _raise_fee(transaction.tip)
    if max_fee > budget.max_fee:
        return None
    wanted = min(2 * reading.base_fee + reading.tip, budget.max_fee)
    max_fee = max(max_fee, wanted)
    return Fees(BaseUnits(max_fee), BaseUnits(min(max(tip, reading.tip), max_fee)))


def _raise_fee(fee: int) -> int:
    return fee * _RAISE[0] // _RAISE[1] + 1


def counts_of_taken(
    transactions: Iterable[RelayedTransaction], sign: int = 1
) -> list[tuple[TakenFunds, dict[str, int]]]:
    """What transactions of one network take from wallets, as what is added to each count; -1 as sign gives it back."""
    counters: dict[Source, TakenFunds] = {}
    sums: Counter[Source] = Counter()
    for each in transactions:
        if each.takes is not None:
            counters[each.takes.source] = each.takes.counter(each.network)
            sums[each.takes.source] += sign * each.takes.amount
    return [(counters[source], {UNDER_WAY: amount}) for source, amount in sums.items()]


def spend_more(account: RelayerAccount, old: RelayedTransaction, fees: Fees) -> RelayerAccount:
    """The account after higher fees are offered for a transaction. They count towards the day, but its limit does not
    stop them: a transaction that is stuck holds up all behind it."""
    more = (fees.max_fee - old.max_fee) * old.gas_limit
    return replace(account, spent=BaseUnits(account.spent + more))
