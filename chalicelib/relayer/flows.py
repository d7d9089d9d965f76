"""Submits calls of contracts, which the service's own account makes once each, and says what became of them.

`submit` accepts a call by writing it together with its nonce. From then on it is executed at most once, whatever
fails: what `submit` leaves undone after that, tracking.py does. `submit` waits for no block.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, parse_amount
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import PERMIT2, RECURRING_PROXY, contracts_on
from chalicelib.chains.catalogue.escrows import escrow_contracts
from chalicelib.chains.catalogue.networks import relayer_limits
from chalicelib.chains.nodes.agreement import agree, combine_answers
from chalicelib.chains.nodes.readings import AccountReading, Agreed, StepResult, TokenBalances
from chalicelib.platform.emergency_stop.flows import refuse_while_stopped
from chalicelib.platform.own_accounts import store as own_accounts
from chalicelib.platform.own_accounts.records import Sender, Senders
from chalicelib.platform.services import Services
from chalicelib.platform.storage.queue import Message, send_hints
from chalicelib.platform.storage.retrying import retry_conflicts, try_write
from chalicelib.platform.storage.store import Add, WriteConflict, with_next_version
from chalicelib.relayer import reservations, rules, store
from chalicelib.relayer.delays import read_open_calls, without_ended_calls
from chalicelib.relayer.dry_runs import dry_run
from chalicelib.relayer.following import WINDOW
from chalicelib.relayer.holdings import flows as holdings
from chalicelib.relayer.holdings import store as holdings_store
from chalicelib.relayer.holdings.rules import book_changes
from chalicelib.relayer.keys.signer import Signer, has_signer, signer_of, signers_of
from chalicelib.relayer.records import (
    ANY,
    WITHDRAWN,
    AccountUse,
    CallStatus,
    RelayedCall,
    RelayedTransaction,
    RelayerAccount,
    Role,
    Source,
    TakenFunds,
    Taking,
)
from chalicelib.relayer.reservations import Limits, Reservation
from chalicelib.relayer.rules import Budget, Call, Submission, SubmissionStatus
from chalicelib.relayer.sending import sign_and_send
from chalicelib.relayer.store import Known

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

MOST_CALLS = 10
_ATTEMPTS = 20
"""Workers that submit at the same time take nonces one after the other; in each round one of them succeeds."""
HINT_SECONDS = 10
BUSY = "too many calls are submitted at once"


@frozen
class Outcome:
    """What became of a call. Statuses other than UNKNOWN are final: they are on the canonical chain, and deep enough.
    Only a fork deeper than the confirmations makes them UNKNOWN again.

    `reason` says why it reverted, in words.
    """

    status: CallStatus
    tx_hash: str | None = None
    block_number: int | None = None
    reason: str | None = None


@frozen
class AccountState:
    """An account of the service: its balance in base units, its next nonce, how many calls are open, and what it holds
    for others, by token, in base units.

    Without an answer of the node the balance is None, and the next nonce also, if the account was never used.
    """

    network: str
    address: str
    balance: BaseUnits | None
    next_nonce: int | None
    open: int
    holdings: tuple[tuple[str, int], ...] = ()


def can_submit(services: Services, network: str, role: Role = Role.SERVICE) -> bool:
    """Whether the deployment has a key for this account on the network. Reads as `has_signer`."""
    return has_signer(services, network, role)


def account_address(services: Services, network: str, role: Role = Role.SERVICE) -> str:
    """The address of the service's account on a network. Raises NoRelayer without a key for it."""
    return signer_of(services, network, role).address


@retry_conflicts(5)
def remember_accounts(services: Services, network: str, addresses: Collection[str]) -> Senders:
    """Adds accounts of the service on a network to those that it has had, and returns all of them.

    One read, and one write if an account is new.
    """
    known = own_accounts.senders(services.store)
    new = tuple(each for address in addresses if (each := Sender(network, address)) not in known.accounts)
    return services.store.write(replace(known, accounts=(*known.accounts, *new))) if new else known


def account_states(services: Services) -> list[AccountState]:
    """The account on each network, and former ones, whose key was replaced, as long as they have open calls.

    Writes accounts that are new: before anybody is told an address, it is refused as a recipient.
    """
    keyed = services.settings.relayer_keys
    present = [(network, signer.address) for network in keyed for signer in signers_of(services, network)]
    for network in keyed:
        remember_accounts(services, network, [address for each, address in present if each == network])
    known = [(each.network, each.address) for each in own_accounts.senders(services.store).accounts]
    states = [_account_state(services, *each) for each in dict.fromkeys([*present, *known])]
    return [each for each in states if each.open or each.holdings or (each.network, each.address) in present]


def _account_state(services: Services, network: str, address: str) -> AccountState:
    try:
        reading = services.chains.evm(network).read_account(address)
    except ChainUnavailable:
        reading = None
    account = store.account(services.store, network, address)
    progress = store.progress(services.store, network, address)
    begun = store.transactions_from(services.store, network, address, progress.open_from if progress else 0, WINDOW)
    still_open = sum(each.closed_at is None for each in begun)
    balance, nonce = (reading.balance, reading.nonce) if reading is not None else (None, None)
    totals = holdings_store.sums(services.store, network, address)
    for_others = tuple((each.token, each.total) for each in totals if each.total)
    return AccountState(network, address, balance, account.next_nonce if account else nonce, still_open, for_others)


def submit(services: Services, calls: Sequence[Call]) -> tuple[Submission, ...]:
    """Submits 1 to 10 calls of one account, with distinct keys; returns what each led to, in their order.

    A call whose key was accepted before is ACCEPTED again, and nothing else happens. One that spends tokens which the
    account does not hold for it is POSTPONED, and so is each that spends tokens of which it has less than it holds for
    all. Raises NoRelayer without a key for
    the network, and ChainUnavailable if the node does not answer or payments are stopped; then nothing was written.
    """
    assert 0 < len(calls) <= MOST_CALLS and len({(call.network, call.role) for call in calls}) == 1
    network, keys = calls[0].network, [call.key for call in calls]
    assert len(set(keys)) == len(keys), "keys are distinct"
    signer, chain = signer_of(services, network, calls[0].role), services.chains.evm(network)
    known = _read_known(services, signer, calls)
    new = [call for call in calls if call.key not in known.calls]
    results = {key: Submission(key, SubmissionStatus.ACCEPTED) for key in keys}
    if new:
        refuse_while_stopped(services)
        reading = chain.read_account(signer.address)
        steps = dry_run(chain, signer.address, new, reading, budget_of(services, network))
        balances = holdings.read_balances(services, signer.address, new)
        reservation = _reserve_calls(services, signer, reading, new, steps, known, balances)
        results |= {each.key: each for each in reservation.submissions}
        _log_postponed(services, network, reservation.submissions)
        if reservation.transactions:
            _send_accepted(services, chain, signer, reading, reservation.transactions)
    return tuple(results[key] for key in keys)


def try_call(services: Services, sender: str, call: Call) -> StepResult:
    """What a call leads to now, run as `submit` runs it; nothing is written. One call to each node, and
    for foreign code one more to one of them.

    Raises ChainUnavailable, also if it does not say.
    """
    chain = services.chains.evm(call.network)
    reading = chain.read_account(sender) if call.runs_foreign_code else None
    (step,) = dry_run(chain, sender, [call], reading, budget_of(services, call.network)).value
    if step.success is None:
        raise ChainUnavailable(f"The {call.network} node does not say what the call leads to: try again")
    return step


def outcome(services: Services, key: str) -> Outcome | None:
    """What became of a call; None if no call with this key was accepted. One read."""
    call = store.call(services.store, key)
    return None if call is None else outcome_of(call)


def find_accepted(services: Services, key: str) -> tuple[Outcome, Transaction] | None:
    """What became of a call, and which one the key was accepted for; None if none was. Two reads.

    Whoever submits different calls under one key learns from it which of them may be executed. Raises LookupError 90
    days after its outcome.
    """
    call = store.call(services.store, key)
    if call is None:
        return None
    found = store.transactions_from(services.store, call.network, call.sender, call.nonce, 1)
    if not found or found[0].call_key != key:
        raise LookupError(f"the transaction of the call {key} is not kept any more")
    return outcome_of(call), Transaction(found[0].to, found[0].data, found[0].value)


def withdrawal(services: Services, network: str, key: str, reason: str) -> RelayedCall:
    """The record after which a key accepts no call any more: its outcome is SUPERSEDED, with the reason.

    It is written in one transaction with what gives the call up. That raises WriteConflict if another worker has
    submitted the call in the meantime: then nothing is given up, and the call has an outcome.
    """
    now = services.clock()
    return RelayedCall(key, network, "", WITHDRAWN, now, CallStatus.SUPERSEDED, reason=reason)


def find_hash(services: Services, key: str) -> str | None:
    """The hash of the transaction of a call: in a block, or as it was signed last; None if it is not signed. Two reads.

    Another one takes its place if it is signed again with a higher fee.
    """
    call = store.call(services.store, key)
    if call is None or call.tx_hash is not None:
        return call.tx_hash if call is not None else None
    found = store.transactions_from(services.store, call.network, call.sender, call.nonce, 1)
    return found[0].hashes[-1] if found and found[0].call_key == key and found[0].hashes else None


def outcome_of(call: RelayedCall) -> Outcome:
    return Outcome(call.status, call.tx_hash, call.block_number, call.reason)


def budget_of(services: Services, network: str) -> Budget:
    settings = services.settings
    limits = relayer_limits(network)
    most = settings.relayer_max_fee_gwei.get(network, limits.max_fee_gwei)
    limit = settings.relayer_daily_limits.get(network, limits.daily_limit)
    return Budget(
        most * rules.GWEI,
        parse_amount(limit, rules.COIN_DECIMALS),
        settings.relayer_reserve_percent,
        settings.relayer_account_percent,
    )


def _reserve_calls(
    services: Services,
    signer: Signer,
    reading: AccountReading,
    calls: Sequence[Call],
    steps: Agreed[tuple[StepResult, ...]],
    known: Known,
    balances: Sequence[TokenBalances],
) -> Reservation:
    """The reservation of the calls, written. Another worker may have accepted some of them in the meantime."""
    network = calls[0].network
    budget, left, taken = budget_of(services, network), dict[Source, int](), None
    unused = known.account or _new_account(services.chains.evm(network), signer.address)
    for _ in range(_ATTEMPTS):
        account = known.account or unused
        wanted = [(call, step) for call, step in zip(calls, steps.value, strict=True) if call.key not in known.calls]
        if taken != known.taken:  # else the nodes were asked after the last call for these wallets began or ended
            left, taken = _left(services, network, [call for call, _ in wanted], known), known.taken
        permission = holdings.permission(services, signer.address, [call for call, _ in wanted], balances)
        allowed = [(call, step) for call, step in wanted if call.key not in permission.refused]
        limits = Limits(budget, left, known.uses, known.reverts, known.uncounted)
        reservation = reservations.reserve(account, allowed, reading, limits, services.clock())
        reservation = replace(reservation, submissions=(*reservation.submissions, *_decide_refused(permission.refused)))
        if not reservation.calls:
            return reservation
        changes = [(each, True) for each in reservation.transactions if each.is_counted]
        booking = book_changes(permission.entries, changes, services.clock())
        added = [Add(*each) for each in (*rules.counts_of_taken(reservation.transactions), *booking.sums)]
        new = (*reservation.calls, *reservation.transactions, *reservation.uses, *reservation.payers)
        if try_write(services.store, reservation.account, *new, *booking.entries, *added):
            return replace(reservation, transactions=tuple(map(with_next_version, reservation.transactions)))
        known = _read_known(services, signer, calls)
    busy = [Submission(call.key, SubmissionStatus.POSTPONED, BUSY) for call in calls if call.key not in known.calls]
    return Reservation(account, (), (), tuple(busy))


def _new_account(chain: "EvmChain", address: str) -> RelayerAccount:
    """An account that has submitted nothing, with the next nonce on which the nodes agree. Raises as `agree`."""
    nonce = agree(chain, lambda node: node.read_account(address).nonce)
    return RelayerAccount(chain.network, address, nonce.value, "", BaseUnits(0))


def _decide_refused(reasons: Mapping[str, str]) -> Iterator[Submission]:
    """What is submitted again later, when the ledger may allow it."""
    return (Submission(key, SubmissionStatus.POSTPONED, reason) for key, reason in reasons.items())


def _read_known(services: Services, signer: Signer, calls: Sequence[Call], day: str = "") -> Known:
    """What is stored of calls and their accounts, with what these have used on the day of the relayer's account: not
    before `day` and today. One read, and another one if that day is later, as the clock of another worker is."""
    network, keys = calls[0].network, [call.key for call in calls]
    counters = _counters(services, network, calls)
    day = max(day, f"{services.clock():%Y-%m-%d}")
    uses = [AccountUse(network, name, day) for name in dict.fromkeys(c.account_id for c in calls)]
    reverts_of = dict.fromkeys(name for call in calls for name in call.reverts_of)
    known = store.find_known(services.store, network, signer.address, keys, counters, uses, reverts_of)
    if known.account is not None and known.account.day > day:
        return _read_known(services, signer, calls, known.account.day)
    open_calls = read_open_calls(services, known.reverts)
    uncounted = {key for key, each in open_calls.items() if each.sender != signer.address and not each.many_open}
    return replace(known, reverts=without_ended_calls(known.reverts, open_calls), uncounted=frozenset(uncounted))


def _takings(calls: Sequence[Call]) -> dict[Source, Taking]:
    """One of each source."""
    return {call.takes.source: call.takes for call in calls if call.takes is not None}


def _counters(services: Services, network: str, calls: Sequence[Call]) -> list[TakenFunds]:
    """The counts of what open calls take from the same wallets, by all contracts by which this service takes tokens."""
    own = [address for name, address in contracts_on(network).items() if name in (PERMIT2, RECURRING_PROXY)]
    contracts = escrow_contracts(network, services.settings.escrow_contracts)
    own += [contracts.pre_approval, contracts.erc3009] if contracts is not None else []
    takings = _takings(calls).values()
    every = [replace(takes, spender=each) for takes in takings for each in (takes.spender, *own)]
    return list({each.source: each.counter(network) for each in every}.values())


def _left(services: Services, network: str, calls: Sequence[Call], known: Known) -> dict[Source, int]:
    """What wallets have, and have allowed, apart from what open calls take.

    A request to each node, of whose answers the least counts. It is read after the counts: calls that end in between
    are subtracted twice rather than never. Calls that begin in between change the account, so that this is read again.
    """
    under_way = Counter(known.taken)
    for (wallet, token, _), amount in known.taken.items():
        under_way[wallet, token, ANY] += amount
    contracts, left = escrow_contracts(network, services.settings.escrow_contracts), dict[Source, int]()
    takings = _takings(calls)
    funds = _funds(services, network, list(takings.values()))
    for (source, takes), (balance, allowance) in zip(takings.items(), funds, strict=True):
        left[takes.of_all_spenders] = balance - under_way[takes.of_all_spenders]
        if contracts is None or takes.spender != contracts.erc3009:  # which takes what was signed, allowed or not
            left[source] = allowance - under_way[source]
    return left


def _funds(services: Services, network: str, takings: Sequence[Taking]) -> list[tuple[int, int]]:
    """The balance and the allowance that each call takes from, in base units; of each the least that a node says."""
    if not takings:
        return []
    wanted = [(takes.wallet, takes.token, takes.spender) for takes in takings]

    def least(said: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
        return [(min(each[0] for each in of), min(each[1] for each in of)) for of in zip(*said, strict=True)]

    chain = services.chains.evm(network)
    return combine_answers(
        chain, lambda node: [(each.balance, each.allowance) for each in node.read_funds(wanted)], least
    ).value


def _send_accepted(
    services: Services,
    chain: "EvmChain",
    signer: Signer,
    reading: AccountReading,
    transactions: Sequence[RelayedTransaction],
) -> None:
    """Signs and sends what was accepted, and queues the first look at it. A failure is left to tracking."""
    network = transactions[0].network
    hint = Message({"network": network}, network, HINT_SECONDS)
    send_hints(services.queue, services.log, services.settings.queue("relayed"), [hint])
    try:
        sign_and_send(services, chain, signer, reading, transactions)
    except WriteConflict:
        services.log.info("transactions were signed by tracking", extra={"network": network})
    except ChainUnavailable as error:
        services.log.warning("transactions not sent", extra={"network": network, "reason": error.message})
    except Exception:  # whatever it is: the calls are accepted, and the answer must say so
        services.log.exception("transactions not signed", extra={"network": network})


def _log_postponed(services: Services, network: str, submissions: Sequence[Submission]) -> None:
    """Logs calls that wait for the operator; alarms count these lines (metrics.py)."""
    for each in submissions:
        if each.is_limited:
            services.log.info("call waits for its account", extra={"network": network, "call": each.key})
        elif each.status is SubmissionStatus.POSTPONED:
            facts = {"network": network, "call": each.key, "reason": each.reason}
            services.log.warning("call postponed", extra=facts)
