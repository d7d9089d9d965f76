"""Makes the gasless payments of a network, in batches: each one transaction of the service's account, or none.

    batches    what became of their calls
    payments   delegated? run alone, run together, stored as a batch, submitted

A batch is stored before its call is submitted, and the relayer accepts its key once: after a crash the same batch is
submitted again, or given up for good, before its payments become part of another one. Nodes take one transaction of a
delegated account at a time, so the next batch waits until the one before is in a block (relayer/rules.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.accounts.balances import TokenReading
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.chains.nodes.readings import AccountReading, StepResult
from chalicelib.gasless import rules, store
from chalicelib.gasless.delegation import is_delegated, share_of, submit_delegation
from chalicelib.gasless.ending import end, end_lost
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, Stage
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.emergency_stop.flows import stopped_since
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.delays import find_delays
from chalicelib.relayer.dry_runs import agree_on_step
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.records import CallStatus, RelayedCall, Role
from chalicelib.relayer.reservations import IN_FLIGHT
from chalicelib.relayer.reverts import Delay
from chalicelib.relayer.rules import Call, SubmissionStatus

_BATCH_CHECKED_EVERY = timedelta(seconds=10)
_WRITTEN_AT_ONCE = 50


def call_key(batch_id: str) -> str:
    """The key of a batch's call of the relayer."""
    return f"gasless/{batch_id}"


def advance_network(
    services: Services, network: str, batch_ids: Sequence[str], payment_ids: Sequence[str], until: datetime
) -> bool:
    """Takes the next step of a network's batches, and begins another one if its account may make one now; returns False
    if it is `until` before that."""
    answers = True
    for each in batch_ids:
        if services.clock() >= until:
            return False
        answers = _advance(services, each, answers)
    if services.clock() >= until:
        return False
    waiting = due(services, payment_ids)
    if not waiting or stopped_since(services) is not None:
        return True
    if not answers:
        put_off(services, waiting, f"the {network} node does not answer")
        return True
    try:
        payments = _of_present_account(services, network, waiting)
        return not payments or _begin_batch(services, network, payments[0].authorization.to, payments, until)
    except (BadRequest, ChainUnavailable) as error:  # no key any more, another delegate, or no node: the payments wait
        services.log.error("gasless payments wait", extra={"network": network, "reason": error.message})
        put_off(services, waiting, error.message)
    except WriteConflict:
        services.log.info("another worker was faster", extra={"network": network})
    return True


def due(services: Services, payment_ids: Sequence[str]) -> list[GaslessPayment]:
    """The payments that are to be made now, and not put off. One read."""
    now = services.clock()
    return [each for each in store.payments(services.store, payment_ids) if rules.is_due(each, now)]


def _of_present_account(
    services: Services, network: str, waiting: Sequence[GaslessPayment]
) -> Sequence[GaslessPayment]:
    """The payments that are signed to the account that the service has now; the others wait for their deadline."""
    sender = relayer_flows.account_address(services, network, Role.GASLESS)
    put_off(services, [each for each in waiting if each.authorization.to != sender], "the service has another account")
    return [each for each in waiting if each.authorization.to == sender]


def _begin_batch(
    services: Services, network: str, sender: str, waiting: Sequence[GaslessPayment], until: datetime
) -> bool:
    """Begins the next batch of payments that are signed to an account, or puts them off; returns False if it is `until`
    before one of them was run."""
    chain = services.chains.evm(network)
    reading, account = chain.read_account(sender), relayer_store.account(services.store, network, sender)
    if account is not None and account.next_nonce > reading.executed:  # no node says that all are
        put_off(services, waiting, IN_FLIGHT)
        return True
    if not is_delegated(services, network, sender):
        submission = submit_delegation(services, network, sender, reading.nonce)
        put_off(services, waiting, submission.reason)
        return True
    delays = find_delays(services, network, {each.payer for each in waiting})
    ready = _put_off_delayed(services, waiting, delays, reading)
    if not ready:
        return True
    approved = _find_approved(services, ready, sender)
    alone = {payer for payer, each in delays.items() if each.is_alone}
    wanted: Sequence[GaslessPayment] = ()
    while ready and not wanted:  # payments that fail when they are run do not use up the batch of this minute
        if services.clock() >= until:
            return False
        chosen = rules.choose_payments(ready, int.from_bytes(services.entropy(4)), alone)
        if paid_for := rules.afford(chosen, reading.least_balance // rules.most_price(reading)):
            wanted = _those_that_succeed(services, sender, paid_for, approved, reading, until)
        else:  # to a node they would fail
            put_off(services, chosen, f"the service's account on {network} cannot pay for the gas")
        ready = [each for each in ready if each not in chosen]
    _write_later(services, rules.take_turns(ready, services.clock()))
    if not wanted:
        return True
    now = services.clock()
    batch = GaslessBatch(
        ids.ulid(now, services.entropy), network, wanted[0].account_id, sender,
        tuple(each.payment_id for each in wanted), now, check_at=now,
    )
    services.store.write(batch, *(rules.begin_sending(batch, each) for each in wanted))
    _advance(services, batch.batch_id)
    return True


def _put_off_delayed(
    services: Services, waiting: Sequence[GaslessPayment], delays: Mapping[str, Delay], reading: AccountReading
) -> list[GaslessPayment]:
    """Puts off the payments that may not be made now; returns the others. One read, none without links."""
    price, announced = reading.base_fee + reading.tip, store.announcements(services.store, waiting)
    reasons = [
        delays[each.payer].reason
        or (rules.GAS_COSTS_MORE if price > each.gas_price else None)
        or rules.why_postponed(announced.get(each.link_token or ""))
        for each in waiting
    ]
    for reason in {each for each in reasons if each is not None}:
        put_off(services, [each for each, why in zip(waiting, reasons, strict=True) if why == reason], reason)
    return [each for each, why in zip(waiting, reasons, strict=True) if why is None]


def _those_that_succeed(
    services: Services,
    sender: str,
    payments: Sequence[GaslessPayment],
    approved: Sequence[str],
    reading: AccountReading,
    until: datetime,
) -> Sequence[GaslessPayment]:
    """The payments that succeed alone, as many of the first as succeed together, in halves. None is run `until` then,
    but for the first.

    One that fails alone is given up, once nodes have had time to know what its payer had when they signed.
    """
    wanted = list[GaslessPayment]()
    for number, each in enumerate(payments):
        if number and services.clock() >= until:
            break
        step = _run(services, sender, [each], approved, reading)
        if step.success:
            wanted.append(each)
        elif step.success is False and rules.may_contradict(each, services.clock()):
            end_lost(services, each.payment_id, step.reason or "the payment would be reverted")
        else:
            put_off(services, [each], step.reason)
    while len(wanted) > 1 and not _run(services, sender, wanted, approved, reading).success:
        wanted = wanted[: len(wanted) // 2 if services.clock() < until else 1]
    return wanted


def _run(
    services: Services,
    sender: str,
    payments: Sequence[GaslessPayment],
    approved: Sequence[str],
    reading: AccountReading,
) -> StepResult:
    """What a batch would lead to, as its call would be made, if the nodes agree on it. One request to each."""
    made, price = rules.transaction_of(sender, payments, approved), rules.most_price(reading)
    chain, most = services.chains.evm(payments[0].network), rules.most_gas(payments)
    return combine_answers(
        chain, lambda node: node.run_as_sent(sender, made, most, price, reading.tip), agree_on_step
    ).value


def _find_approved(services: Services, payments: Sequence[GaslessPayment], sender: str) -> tuple[str, ...]:
    """The tokens, in lower case, of which the fee proxy may take as much as all payments together, as all nodes say: by
    the word of one alone a payment would be given up, as it is reverted without the approval. One request to each."""
    tokens = list(dict.fromkeys(each.authorization.token for each in payments))
    proxy = address_of(ERC20_FEE_PROXY, payments[0].network)
    needed = sum(each.authorization.value for each in payments)

    def find_approved(said: Sequence[Mapping[str, TokenReading]]) -> tuple[str, ...]:
        return tuple(token.lower() for token in tokens if all(each[token].allowance >= needed for each in said))

    chain = services.chains.evm(payments[0].network)
    return combine_answers(chain, lambda node: node.read_wallet(sender, tokens, proxy).tokens, find_approved).value


def _advance(services: Services, batch_id: str, answers: bool = True) -> bool:
    """Takes the next step of a batch, as far as none needs a node that does not answer; returns whether it answers."""
    batch = store.batch(services.store, batch_id)
    if batch is None or batch.check_at is None or batch.check_at > services.clock():
        return answers
    try:
        known = relayer_flows.outcome(services, call_key(batch_id))
        if known is None:
            _submit(services, batch, answers)
        elif known.status is CallStatus.UNKNOWN:
            services.store.write(_later(services, batch))
        elif known.status is CallStatus.SUCCEEDED and not _is_recorded(services, batch, known):
            services.store.write(_later(services, batch))  # else its requests could be paid again
        elif known.status is CallStatus.SUCCEEDED:
            _close(services, batch, known.tx_hash, None, has_reverted=False)
        else:
            _close(services, batch, None, known.reason, has_reverted=known.status is CallStatus.REVERTED)
    except ChainUnavailable as error:
        services.log.error("gasless batch waits", extra={"batch": batch_id, "reason": error.message})
        return False
    except WriteConflict:
        services.log.info("another worker was faster", extra={"batch": batch_id})
    return answers


def _is_recorded(services: Services, batch: GaslessBatch, made: Outcome) -> bool:
    """Whether each payment of a batch that was made is recorded, or its block was read again without it: a node may
    leave out logs at first. Two reads, and one for the payments of each request that is still to be paid."""
    requests = store.requests(services.store, store.payments(services.store, batch.payment_ids)).values()
    unpaid = [each for each in requests if not each.is_closed]
    if not unpaid:
        return True
    cursor = scan_store.cursor(services.store, batch.network)
    if cursor is not None and made.block_number is not None and cursor.read_again_to >= made.block_number:
        return not scan_store.has_work(services.store, [each.payable_id for each in unpaid])
    by = batch.network, made.tx_hash or ""
    return all(payment_store.payments_by(services.store, each.request_id, *by) for each in unpaid)


def _submit(services: Services, batch: GaslessBatch, answers: bool) -> None:
    """Submits the call of a batch, of which none was accepted; gives the batch up for good if it is not accepted, or
    cannot succeed any more, for which no node is asked."""
    payments = store.payments(services.store, batch.payment_ids)
    requests, announced = store.requests(services.store, payments), store.announcements(services.store, payments)
    gone = (
        rules.why_gone(each, requests.get(each.request_id), services.clock())
        or rules.why_postponed(announced.get(each.link_token or ""))
        for each in payments
    )
    reason: str | None = "the service sends no transactions of this account any more"
    if any(rules.is_late(each, services.clock()) for each in payments):
        reason = "the deadline of a payment of the transaction is over, or about to be"
    elif why := next((each for each in gone if each is not None), None):  # meanwhile, as nodes may have taken long
        reason = f"of a payment of the transaction: {why}"
    elif not answers:
        return
    elif relayer_flows.can_submit(services, batch.network, Role.GASLESS) and _is_present(services, batch):
        approved = _find_approved(services, payments, batch.sender)
        made = rules.transaction_of(batch.sender, payments, approved)
        payers = tuple(dict.fromkeys(each.payer for each in payments))
        call = Call(
            call_key(batch.batch_id), batch.network, made.to, made.data, gas_limit=rules.most_gas(payments),
            account_id=share_of(batch.account_id), payers=payers,
            runs_foreign_code=any(each.runs_code for each in payments), role=Role.GASLESS,
        )
        (submission,) = relayer_flows.submit(services, [call])
        if submission.status is SubmissionStatus.ACCEPTED:
            services.store.write(_later(services, batch))
            return
        reason = submission.reason
    withdrawn = relayer_flows.withdrawal(services, batch.network, call_key(batch.batch_id), reason or "not accepted")
    _close(services, batch, None, reason, False, withdrawn)


def _is_present(services: Services, batch: GaslessBatch) -> bool:
    return relayer_flows.account_address(services, batch.network, Role.GASLESS) == batch.sender


def _close(
    services: Services,
    batch: GaslessBatch,
    tx_hash: str | None,
    reason: str | None,
    has_reverted: bool,
    *withdrawn: RelayedCall,
) -> None:
    """Ends a batch: with the transaction that made its payments, or else the payments are in no transaction again.

    Payments that were made end one by one, before their batch: a crash in between leaves the rest to the next look.
    """
    now = services.clock()
    closed = replace(batch, ended_at=now, check_at=None)
    if tx_hash is not None:
        for each in batch.payment_ids:
            end(services, each, Stage.SENDING, Stage.PAID, tx_hash, None)
        services.store.write(closed)
        return
    payments = store.payments(services.store, batch.payment_ids)
    services.store.write(
        closed, *withdrawn, *(rules.release_payment(each, reason, has_reverted, now) for each in payments)
    )
    facts = {"batch": batch.batch_id, "network": batch.network, "reason": reason}
    services.log.warning("gasless batch not made", extra=facts)


def put_off(services: Services, payments: Sequence[GaslessPayment], reason: str | None) -> None:
    """Has payments looked at later, behind others."""
    _write_later(services, [rules.put_off(each, reason, services.clock()) for each in payments])


def _write_later(services: Services, later: Sequence[GaslessPayment]) -> None:
    """Writes payments that are looked at later. Those that another worker changes are left to it."""
    for start in range(0, len(later), _WRITTEN_AT_ONCE):
        try_write(services.store, *later[start : start + _WRITTEN_AT_ONCE])


def _later(services: Services, batch: GaslessBatch) -> GaslessBatch:
    return replace(batch, check_at=services.clock() + _BATCH_CHECKED_EVERY)
