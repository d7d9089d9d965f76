"""Decides which calls of the service's account are accepted, one after the other, and gives them nonces."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import AccountReading, StepResult
from chalicelib.relayer.records import (
    AccountUse,
    RelayedCall,
    RelayedTransaction,
    RelayerAccount,
    Reverts,
    Role,
    Source,
)
from chalicelib.relayer.reverts import count_room, delay_of, is_alone, may_follow
from chalicelib.relayer.rules import Budget, Call, Fees, Submission, SubmissionStatus, Use, market_fees

_OPERATORS_TROUBLE = ("AccessControl: ", "Pausable: ")
"""How the reasons begin with which contracts refuse this sender, or everybody, whatever the call (OpenZeppelin)."""
IN_FLIGHT = "another transaction of the account is in no block yet"
TAKEN = "the wallet does not have enough for this payment beside those of it that are under way"
ONE_AT_A_TIME = "the last call for this payer has no outcome yet"
ALONE = "a call for one of these payers was reverted, who pays alone for a day"
_GAS_MARGIN = (5, 4)
"""How much more gas than estimated a transaction may take: the state may change until its block."""


@frozen
class Limits:
    """What the calls of an account may cost and take.

    `left` is what wallets have and have allowed apart from what open calls take; of what is not in it one call at most
    takes. `uses` is what the calls of the day may cost so far, by the account of this service that they are for;
    `reverts` are by `Call.reverts_of`. `uncounted` are open calls of payers by another account of the service, of which
    nothing says what they take, as gasless batches: no call of such a payer is made beside one.
    """

    budget: Budget
    left: Mapping[Source, int] = field(default_factory=dict)
    uses: Mapping[str, AccountUse] = field(default_factory=dict)
    reverts: Mapping[str, Reverts] = field(default_factory=dict)
    uncounted: frozenset[str] = frozenset()


@frozen
class Reservation:
    """The records of the calls that are accepted, to be written together, and what each call led to."""

    account: RelayerAccount
    calls: tuple[RelayedCall, ...]
    transactions: tuple[RelayedTransaction, ...]
    submissions: tuple[Submission, ...]
    uses: tuple[AccountUse, ...] = ()
    payers: tuple[Reverts, ...] = ()
    """Of the payers of the calls, whose next ones wait for these."""


def reserve(
    account: RelayerAccount,
    wanted: Sequence[tuple[Call, StepResult]],
    reading: AccountReading,
    limits: Limits,
    now: datetime,
) -> Reservation:
    """Gives nonces to the calls that succeed now and can be paid for; `wanted` has each with its result on the newest
    state. What a call may cost at most counts towards the limit of the day (UTC) and the share of its account, both of
    a day that is never one before that of the account: the clocks of workers differ.

    A payer has one open call at a time: so however many wallets make theirs revert, each costs the gas of one call in a
    day. Where it may have many, more are open only after others have succeeded.
    """
    reserving = _Reserving(account, reading, limits, now)
    submissions = tuple(reserving.submit(call, result) for call, result in wanted)
    return Reservation(
        reserving.account,
        tuple(reserving.calls),
        tuple(reserving.transactions),
        submissions,
        tuple(reserving.changed_uses.values()),
        tuple(reserving.changed_reverts.values()),
    )


class _Reserving:
    """What is left for the next call while calls are accepted one after the other, and the records of those."""

    def __init__(self, account: RelayerAccount, reading: AccountReading, limits: Limits, now: datetime) -> None:
        today = f"{now:%Y-%m-%d}"
        self.account = account if account.day >= today else replace(account, day=today, spent=BaseUnits(0))
        self.reading, self.budget, self.now = reading, limits.budget, now
        self.fees, self.balance = market_fees(reading, limits.budget), reading.balance
        self.left, self.reverts, self.uncounted = dict(limits.left), dict(limits.reverts), limits.uncounted
        self.uses = {name: each for name, each in limits.uses.items() if each.day == self.account.day}
        self.calls: list[RelayedCall] = []
        self.transactions: list[RelayedTransaction] = []
        self.changed_uses: dict[str, AccountUse] = {}
        self.changed_reverts: dict[str, Reverts] = {}

    def submit(self, call: Call, result: StepResult) -> Submission:
        """What becomes of a call; if it is accepted, what it takes is taken from what is left."""
        gas, fees = gas_of(call, result), self.fees
        cost = gas * fees.max_fee + call.value if fees else 0
        counted = 0 if call.use is Use.PREPAID else cost + (call.prepays * fees.max_fee if fees else 0)
        use = self._use_with(call, cost, counted)
        submission = self._decide(call, result, cost, self.account.spent + counted, use)
        if submission.status is SubmissionStatus.ACCEPTED and fees is not None:
            self._accept(call, gas, fees)
            self.balance = BaseUnits(self.balance - cost)
            self.account = replace(self.account, spent=BaseUnits(self.account.spent + counted))
            if cost or counted:
                self.uses[call.account_id] = self.changed_uses[call.account_id] = use
        return submission

    def _use_with(self, call: Call, cost: int, counted: int) -> AccountUse:
        """What the calls of the day for an account may cost with this one."""
        use = self.uses.get(call.account_id) or AccountUse(call.network, call.account_id, self.account.day)
        prepaid = cost if call.use is Use.PREPAID else 0
        return replace(use, spent=BaseUnits(use.spent + counted), prepaid=BaseUnits(use.prepaid + prepaid))

    def _decide(self, call: Call, result: StepResult, cost: int, spent: int, use: AccountUse) -> Submission:
        """What becomes of a call that may cost `cost`, with which all calls of the day may cost `spent`, and those for
        its account `use`."""
        if call.role is Role.GASLESS and self.account.next_nonce > self.reading.executed:
            return Submission(call.key, SubmissionStatus.WAITING, IN_FLIGHT)
        reverts = [self.reverts.get(each) for each in call.reverts_of]
        if delayed := _delay_call(call, reverts, self.uncounted, self.now):
            return delayed
        if trouble := self._trouble(call, result, cost):
            return Submission(call.key, SubmissionStatus.POSTPONED, trouble)
        if result.success is False:
            return Submission(call.key, SubmissionStatus.REFUSED, result.reason)
        reason, is_limited = self._limit(call, cost, spent, use)
        if reason is not None:
            return Submission(call.key, SubmissionStatus.POSTPONED, reason, is_limited)
        if call.takes is not None and any(self.left[each] < call.takes.amount for each in self._shared_sources(call)):
            return Submission(call.key, SubmissionStatus.WAITING, TAKEN)
        return Submission(call.key, SubmissionStatus.ACCEPTED)

    def _trouble(self, call: Call, result: StepResult, cost: int) -> str | None:
        """Why nothing is known of what a call would do, or the operator has to do something first."""
        if call.runs_foreign_code and self.fees is not None and cost > self.balance:  # a node does not run it then
            return f"the service's account on {call.network} cannot pay for the gas"
        if call.value > self.balance:
            return f"the service's account on {call.network} does not have what the call sends"
        is_unknown = result.success is None or (result.reason or "").startswith(_OPERATORS_TROUBLE)
        return result.reason if is_unknown else None

    def _limit(self, call: Call, cost: int, spent: int, use: AccountUse) -> tuple[str | None, bool]:
        """The limit that a call would exceed, None if none, and whether it is that of its account."""
        network, room, share = call.network, self.budget.room(call.use), self.budget.share(call.use)
        if self.fees is None:
            return f"gas on {network} costs more than RELAYER_MAX_FEE_GWEI allows", False
        if call.use is Use.PREPAID and use.prepaid > self.budget.daily_limit:
            return f"calls that were counted before cost this account more than a whole day's limit on {network}", False
        if room is not None and spent > room:
            return f"RELAYER_DAILY_LIMITS is reached for today on {network}", False
        if share is not None and use.spent > share:
            return f"the share of this account in the gas of today on {network} is used up", True
        return f"the service's account on {network} cannot pay for the gas" if cost > self.balance else None, False

    def _shared_sources(self, call: Call) -> set[Source]:
        """What a call takes from, and others may, too."""
        sources = (call.takes.source, call.takes.of_all_spenders) if call.takes is not None else ()
        return self.left.keys() & set(sources)

    def _accept(self, call: Call, gas: int, fees: Fees) -> None:
        account = self.account
        self.transactions.append(_transaction(account, call, gas, fees, self.now))
        key, nonce = call.key, account.next_nonce
        self.calls.append(RelayedCall(key, call.network, account.sender, nonce, self.now, many_open=call.many_open))
        for each in self._shared_sources(call):
            self.left[each] -= call.takes.amount if call.takes is not None else 0
        for name in call.reverts_of if call.payers else ():
            before = self.reverts.get(name) or Reverts(call.network, name, 0, self.now)
            after = before.with_open_calls((*before.open_calls, call.key))
            self.reverts[name] = self.changed_reverts[name] = after
        nonces = 1 if call.delegate is None else 2
        self.account = replace(account, next_nonce=account.next_nonce + nonces)


def gas_of(call: Call, result: StepResult) -> int:
    """The gas limit with which a call is sent: more than it was estimated to need, or all that it may take."""
    if call.runs_foreign_code:
        return call.most_gas
    return min((result.gas or call.most_gas) * _GAS_MARGIN[0] // _GAS_MARGIN[1], call.most_gas)


def _delay_call(
    call: Call, reverts: Iterable[Reverts | None], uncounted: frozenset[str], now: datetime
) -> Submission | None:
    """What becomes of a call for an account whose last ones were reverted, or for payers of whom one has an open one.
    What protects or gives back tokens is not delayed, nor what can be done though the call before it was reverted, such
    as taking tokens by a permit that somebody else has sent first."""
    for each in reverts:
        others = set(each.open_calls) - {call.follows} if each is not None else set()
        if others and (not call.many_open or others & uncounted or count_room(each) < 1):
            return Submission(call.key, SubmissionStatus.WAITING, ONE_AT_A_TIME)
        if each is not None and may_follow(each, call.follows):
            continue
        reason = delay_of(each, now) if call.use is Use.ORDINARY else None
        if reason is None and len(call.payers) > 1 and is_alone(each, now):
            reason = ALONE
        if reason is not None:
            return Submission(call.key, SubmissionStatus.POSTPONED, reason, is_limited=True)
    return None


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
        account_id=call.account_id,
        payers=call.reverts_of if call.payers else (),
        takes=call.takes,
        moves=call.moves,
        is_counted=call.moves is not None and not call.moves.inward,
        delegate=call.delegate,
        follows=call.follows,
    )
