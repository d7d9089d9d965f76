"""Decides which calls are accepted, and what is offered for their gas.

A call has one nonce for ever. While its transaction is in no block, it may be signed again with higher fees, always
with the same nonce and effect, so at most one of them is executed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chain.readings import AccountReading, StepResult
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import (
    UNDER_WAY,
    RelayedCall,
    RelayedTransaction,
    RelayerAccount,
    Source,
    TakenFunds,
    Taking,
)

GWEI = 10**9
COIN_DECIMALS = 18
"""Of the native coin of every EVM network."""
MOST_GAS = 5_000_000
"""The most gas of a call that names no limit."""
MOST_BYTES = 24_000
"""Of calldata. Nodes accept 128 kB of a transaction; an item of DynamoDB has 400 kB, and holds this twice, as text."""
LONGEST_KEY = 200
_OPERATORS_TROUBLE = ("AccessControl: ", "Pausable: ")
"""How the reasons begin with which contracts refuse this sender, or everybody, whatever the call (OpenZeppelin)."""
TAKEN = "payments from the same wallet are under way, and it does not have enough for this one, too"
_GAS_MARGIN = (5, 4)
"""How much more gas than estimated a transaction may take: the state may change until its block."""
_RAISE = (9, 8)
"""Nodes replace a transaction by one that offers 10 % more, some 12.5 %."""


@frozen
class Call:
    """A call of a contract to be made once: `key` names what is done, and is the same in each attempt to submit it.

    `data` is 0x hex, `value` in base units of the native coin. It may take at most `gas_limit` (None: MOST_GAS).
    `takes` are the tokens that it takes from somebody's wallet, so that open calls together take no more than is there.
    `moves` are those that it moves into or out of the service's account, for the ledger: each call that moves tokens
    out of it has to name them.
    """

    key: str
    network: str
    to: str
    data: str
    value: int = 0
    gas_limit: int | None = None
    takes: Taking | None = None
    moves: Move | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for what no node would take."""
        if not 0 < len(self.key) <= LONGEST_KEY or len(self.data) > len("0x") + 2 * MOST_BYTES or self.value < 0:
            raise ValueError("a call has a key of 1 to 200 characters, at most 24,000 bytes, and no negative value")

    @property
    def most_gas(self) -> int:
        return self.gas_limit or MOST_GAS


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
    """Open calls take from the same wallet, which does not have enough for this one, too. Nothing was written: it is
    submitted again later."""


@frozen
class Submission:
    """What submitting the call `key` led to, and why if it was not accepted."""

    key: str
    status: SubmissionStatus
    reason: str | None = None


@frozen
class Fees:
    """What is offered for a unit of gas, in base units of the native coin; `tip` is part of `max_fee`."""

    max_fee: BaseUnits
    tip: BaseUnits


@frozen
class Budget:
    """What limits an account: `max_fee` per unit of gas, and what the calls of a day may cost, None without a limit."""

    max_fee: int
    daily_limit: int | None


@frozen
class Reservation:
    """The records of the calls that are accepted, to be written together, and what each call led to."""

    account: RelayerAccount
    calls: tuple[RelayedCall, ...]
    transactions: tuple[RelayedTransaction, ...]
    submissions: tuple[Submission, ...]


def market_fees(reading: AccountReading, budget: Budget) -> Fees | None:
    """Fees that hold while the base fee doubles, as far as the highest price permits; None if the present one is above.

    A block may raise the base fee by an eighth: doubled, it is enough for five full blocks.
    """
    if reading.base_fee + reading.tip > budget.max_fee:
        return None
    return Fees(BaseUnits(min(2 * reading.base_fee + reading.tip, budget.max_fee)), reading.tip)


def raised_fees(transaction: RelayedTransaction, reading: AccountReading, budget: Budget) -> Fees | None:
    """Fees with which the same nonce is sent again: an eighth higher, or those of the market; None above the limit."""
    max_fee, tip = _raised(transaction.max_fee), _raised(transaction.tip)
    if max_fee > budget.max_fee:
        return None
    wanted = min(2 * reading.base_fee + reading.tip, budget.max_fee)
    max_fee = max(max_fee, wanted)
    return Fees(BaseUnits(max_fee), BaseUnits(min(max(tip, reading.tip), max_fee)))


def _raised(fee: int) -> int:
    return fee * _RAISE[0] // _RAISE[1] + 1


def reserve(
    account: RelayerAccount,
    wanted: Sequence[tuple[Call, StepResult]],
    reading: AccountReading,
    budget: Budget,
    now: datetime,
    left: Mapping[Source, int],
) -> Reservation:
    """Gives nonces to the calls that succeed now and can be paid for; `wanted` has each with its result on the newest
    state. What a call may cost at most counts towards the limit of the day (UTC).

    `left` is what wallets have apart from what open calls take; of the other wallets one call at most takes.
    """
    day = f"{now:%Y-%m-%d}"
    account = account if account.day == day else replace(account, day=day, spent=BaseUnits(0))
    balance, fees, left = reading.balance, market_fees(reading, budget), dict(left)
    calls: list[RelayedCall] = []
    transactions: list[RelayedTransaction] = []
    submissions: list[Submission] = []
    for call, result in wanted:
        gas = min((result.gas or call.most_gas) * _GAS_MARGIN[0] // _GAS_MARGIN[1], call.most_gas)
        cost = gas * fees.max_fee + call.value if fees else 0
        submission = _submission(call, result, fees, account.spent + cost, cost, balance, budget)
        taken = call.takes if call.takes and call.takes.source in left else None
        if submission.status is SubmissionStatus.ACCEPTED and taken and left[taken.source] < taken.amount:
            submission = Submission(call.key, SubmissionStatus.WAITING, TAKEN)
        submissions.append(submission)
        if submission.status is not SubmissionStatus.ACCEPTED or fees is None:
            continue
        transactions.append(_transaction(account, call, gas, fees, now))
        calls.append(RelayedCall(call.key, call.network, account.sender, account.next_nonce, now))
        if taken:
            left[taken.source] -= taken.amount
        balance = BaseUnits(balance - cost)
        account = replace(account, next_nonce=account.next_nonce + 1, spent=BaseUnits(account.spent + cost))
    return Reservation(account, tuple(calls), tuple(transactions), tuple(submissions))


def _submission(
    call: Call, result: StepResult, fees: Fees | None, spent: int, cost: int, balance: int, budget: Budget
) -> Submission:
    """What becomes of a call that may cost `cost`, with which the day's costs would be `spent`."""
    network = call.network
    postponed: str | None = None
    if call.value > balance:
        postponed = f"the service's account on {network} does not have what the call sends"
    elif result.success is None or (result.reason or "").startswith(_OPERATORS_TROUBLE):
        postponed = result.reason
    elif result.success is False:
        return Submission(call.key, SubmissionStatus.REFUSED, result.reason)
    elif fees is None:
        postponed = f"gas on {network} costs more than RELAYER_MAX_FEE_GWEI allows"
    elif budget.daily_limit is not None and spent > budget.daily_limit:
        postponed = f"RELAYER_DAILY_LIMITS is reached for today on {network}"
    elif cost > balance:
        postponed = f"the service's account on {network} cannot pay for the gas"
    return Submission(call.key, SubmissionStatus.POSTPONED if postponed else SubmissionStatus.ACCEPTED, postponed)


def _transaction(account: RelayerAccount, call: Call, gas: int, fees: Fees, now: datetime) -> RelayedTransaction:
    return RelayedTransaction(
        network=call.network,
        sender=account.sender,
        nonce=account.next_nonce,
        call_key=call.key,
        to=call.to,
        data=call.data,
        value=BaseUnits(call.value),
        gas_limit=gas,
        max_fee=fees.max_fee,
        tip=fees.tip,
        created_at=now,
        takes=call.takes,
        moves=call.moves,
        is_counted=call.moves is not None and not call.moves.inward,
    )


def taken_by(transactions: Iterable[RelayedTransaction], sign: int = 1) -> list[tuple[TakenFunds, dict[str, int]]]:
    """What transactions of one network take from wallets, as what is added to each count; -1 as sign gives it back."""
    counters: dict[Source, TakenFunds] = {}
    sums: Counter[Source] = Counter()
    for each in transactions:
        if each.takes is not None:
            counters[each.takes.source] = each.takes.counter(each.network)
            sums[each.takes.source] += sign * each.takes.amount
    return [(counters[source], {UNDER_WAY: amount}) for source, amount in sums.items()]


def spent_more(account: RelayerAccount, old: RelayedTransaction, fees: Fees) -> RelayerAccount:
    """The account after higher fees are offered for a transaction. They count towards the day, but its limit does not
    stop them: a transaction that is stuck holds up all behind it."""
    more = (fees.max_fee - old.max_fee) * old.gas_limit
    return replace(account, spent=BaseUnits(account.spent + more))
