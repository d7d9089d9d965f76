"""Follows the transactions of an account until each is deep enough in the chain.

    in no block    signed if a crash left it unsigned; sent again; stuck for long: signed again with higher fees
    in a block     waits for the confirmations, and until every node confirms it; then its call has its outcome
    nonce taken    sent again all the same, and another transaction is searched for: proven, the call is superseded
    a deep fork    calls whose transactions it took out of the chain have no outcome again; the same bytes are sent

An account whose key was replaced is followed, too: what was signed is sent again and finished. What is not signed, or
offers too little, waits for that key, with an alarm.

Each step is one conditional write, before anything is sent: two checks at once, or one after a crash, repeat nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import parse_amount
from chalicelib.chains.catalogue.networks import find_network as network_named
from chalicelib.chains.catalogue.networks import relayer_limits
from chalicelib.chains.nodes.agreement import agree
from chalicelib.chains.nodes.nodes import answer_or_none, every_node
from chalicelib.chains.nodes.readings import AccountReading, Receipt
from chalicelib.platform.emergency_stop.flows import stopped_since
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts, try_write
from chalicelib.platform.storage.store import Add, WriteConflict
from chalicelib.relayer import following, proving, rules, store
from chalicelib.relayer.flows import budget_of, remember_accounts
from chalicelib.relayer.following import ChainState, Finished, Step
from chalicelib.relayer.holdings import store as holdings_store
from chalicelib.relayer.holdings.records import Holding
from chalicelib.relayer.holdings.rules import Place, book_changes, is_counted
from chalicelib.relayer.keys.signer import Signer, signers_of
from chalicelib.relayer.records import CallStatus, RelayedTransaction, RelayerProgress, Reverts
from chalicelib.relayer.reverts import after_outcome, is_payers, undo_outcome
from chalicelib.relayer.sending import send, sign_and_send

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

SPACING = timedelta(seconds=5)
"""Checks of a network follow each other no faster; of several hints at once, one is followed."""
_ITEMS, _MOST_ITEMS = 4, 80
"""The most that closing a transaction writes beside the counts of its payers, and that parts of one transaction of the
database have: there are sums of a few tokens, too."""
_SIGNED_AT_ONCE = 25
Change = Callable[[Reverts | None, str, RelayedTransaction, CallStatus, datetime], Reverts | None]
"""What an outcome changes in the count of reverts of a payer or account, by its name."""


def track(services: Services, network: str) -> bool:
    """Checks the open transactions of a network's accounts, the present and former ones, and the balances of the
    present ones; returns whether some stay open. Raises ChainUnavailable if the node does not answer."""
    signers = {each.address: each for each in signers_of(services, network)}
    known = remember_accounts(services, network, signers)
    checked: dict[str, Signer | None] = {**signers, **dict.fromkeys(known.others(network, signers))}
    still_open = [_check(services, network, address, signer) for address, signer in checked.items()]
    return any(still_open)


def _check(services: Services, network: str, sender: str, signer: Signer | None) -> bool:
    """Checks an account, whose key is not there any more if `signer` is None; returns whether transactions stay open.

    Those are the first ones, and the next ones that the node has room for while the first wait for confirmations.
    Does nothing if a check began within the last five seconds.
    """
    chain, now = services.chains.evm(network), services.clock()
    progress = store.progress(services.store, network, sender)
    progress = progress or RelayerProgress(network, sender, 0, now - 2 * SPACING)
    if now - progress.checked_at < SPACING:
        return False
    if signer is None and not store.transactions_from(services.store, network, sender, progress.open_from, 1):
        return False
    reading, first = chain.read_account(sender), _first_open(services, progress)
    if not reading.is_of_one and (reading.executed <= progress.open_from or not (first or progress.open_from)):
        progress = replace(progress, unused_to=max(progress.unused_to, _newest_confirmed(services, network, reading)))
    try:
        is_low = signer is not None and _is_low(services, network, reading)
        progress = services.store.write(replace(progress, checked_at=now, has_low_balance=is_low))
    except WriteConflict:
        return False  # another check has just begun
    if reading.executed_for_all < progress.open_from:
        progress = _reopen(services, chain, reading, progress)
        first = _first_open(services, progress)
    is_full = len(first) == following.WINDOW
    if signer is not None:
        _watch(services, network, signer, reading)
    others: tuple[RelayedTransaction, ...] = ()
    if is_full:
        beyond = max(first[-1].nonce + 1, reading.nonce)
        others = store.transactions_from(services.store, network, sender, beyond, following.WINDOW)
    transactions = [each for each in (*first, *others) if each.closed_at is None]
    after, closed = progress, dict[int, int | None]()
    if transactions:
        after, closed = _advance_transactions(services, signer, chain, reading, progress, transactions)
    still_open = [each.nonce for each in first if each.closed_at is None and each.nonce not in closed]
    open_from = still_open[0] if still_open else first[-1].nonce + 1 if first else progress.open_from
    if (block := closed.get(open_from - 1)) is not None:  # the next nonce is in no block before that
        after = replace(after, unused_to=max(after.unused_to, block - 1))
    missing = reading.executed_for_all
    if still_open and missing < open_from:  # a fork gave a nonce back that nobody's transaction has now
        facts = {"network": network, "sender": sender, "nonce": open_from, "missing": missing}
        services.log.error("transaction is stuck", extra=facts)
    after = replace(after, open_from=open_from)
    if after != progress:
        services.store.write(after)
    return bool(still_open) or is_full


def _first_open(services: Services, progress: RelayerProgress) -> tuple[RelayedTransaction, ...]:
    return store.transactions_from(
        services.store, progress.network, progress.sender, progress.open_from, following.WINDOW
    )


def _reopen(
    services: Services, chain: "EvmChain", reading: AccountReading, progress: RelayerProgress
) -> RelayerProgress:
    """Takes outcomes back whose transactions a fork deeper than the confirmations took out of the chain, as the nodes
    agree. One request to each.

    A node that is only late has not read to the depth at which their calls were finished: then nothing is done.
    """
    network, now = progress.network, services.clock()
    confirmed_to = _newest_confirmed(services, network, reading)
    try:
        nonce = agree(chain, lambda node: node.transaction_count(progress.sender, confirmed_to)).value
    except ChainUnavailable as error:
        reason = {"network": network, "sender": progress.sender, "reason": error.message}
        services.log.warning("fork not confirmed", extra=reason)
        return progress
    found = store.transactions_from(services.store, network, progress.sender, nonce, following.WINDOW)
    calls = store.calls(services.store, [each.call_key for each in found])
    lost = [
        (each, call)
        for each in found
        if each.closed_at is not None
        and (call := calls.get(each.call_key)) is not None
        and call.block_number is not None
        and call.block_number <= confirmed_to
    ]
    if not lost:
        return progress
    facts = {"network": network, "sender": progress.sender, "nonce": lost[0][0].nonce, "count": len(lost)}
    services.log.error("transactions removed by a fork", extra=facts)
    before = min(each.block_number for each in calls.values() if each.block_number is not None) - 1
    reopened = replace(progress, open_from=min(progress.open_from, lost[0][0].nonce), unused_to=max(before, 0))
    progress = services.store.write(reopened)
    for part in _written_together(lost):
        _write(services, [following.reopen_transaction(*each, now) for each in part], sign=1, undone=part)
    return progress


def _written_together(pairs: Sequence[Finished]) -> Iterator[Sequence[Finished]]:
    """The pairs in parts, in their order, of which each is one transaction of the database."""
    start = items = 0
    for number, (each, _) in enumerate(pairs):
        added = _ITEMS + len(each.reverts_of)
        if items + added > _MOST_ITEMS:
            yield pairs[start:number]
            start, items = number, 0
        items += added
    if pairs:
        yield pairs[start:]


@retry_conflicts(5)  # calls of the same payers may be submitted at the same moment
def _write(services: Services, pairs: Sequence[Finished], sign: int, undone: Sequence[Finished] = ()) -> None:
    """Writes transactions with their calls, and counts what these take from wallets (-1: not any more), and what the
    service's account holds by their outcomes; that the payers of calls that have ended have no open one any more, or of
    those whose outcome is `undone` have it again. A read if that changes, and one for the payers."""
    counted = [(each, is_counted(each, call.status)) for each, call in pairs]
    changes = [(each, counts) for each, counts in counted if counts != each.is_counted]
    booking = book_changes(_entries(services, changes), changes, services.clock())
    transactions = [replace(each, is_counted=counts) for each, counts in counted]
    added = [Add(*each) for each in (*rules.counts_of_taken(transactions, sign), *booking.sums)]
    ended, change = (undone, undo_outcome) if undone else (pairs, after_outcome)
    payers = _change_reverts(services, [each for each in ended if is_payers(each[0])], change)
    services.store.write(*transactions, *(call for _, call in pairs), *booking.entries, *payers, *added)


def _change_reverts(services: Services, ended: Sequence[Finished], change: Change) -> list[Reverts]:
    """The counts of reverts that outcomes of calls `change`. One read, if there are any."""
    if not ended:
        return []
    names = {name for each, _ in ended for name in each.reverts_of}
    known = store.reverts_of_many(services.store, ended[0][0].network, names)
    changed = dict[str, Reverts]()
    for name, transaction, call in ((name, *each) for each in ended for name in each[0].reverts_of):
        before = changed.get(name) or known.get(name)
        after = change(before, name, transaction, call.status, services.clock())
        if after is not None:
            changed[name] = after
    return list(changed.values())


def _entries(services: Services, changes: Sequence[tuple[RelayedTransaction, bool]]) -> dict[Place, Holding]:
    places = [each.moves.place for each, _ in changes if each.moves is not None]
    if not places:
        return {}
    return holdings_store.entries(services.store, changes[0][0].network, changes[0][0].sender, places)


def _advance_transactions(
    services: Services,
    signer: Signer | None,
    chain: "EvmChain",
    reading: AccountReading,
    progress: RelayerProgress,
    transactions: Sequence[RelayedTransaction],
) -> tuple[RelayerProgress, dict[int, int | None]]:
    """Takes the next step of each transaction; returns the progress, and the blocks of the finished ones by nonce."""
    network, now = transactions[0].network, services.clock()
    hashes = [tx_hash for each in transactions for tx_hash in each.hashes]
    receipts = chain.receipts_of(hashes) if hashes else {}
    state = ChainState(reading, receipts, _confirmations(services, network))
    if reading.others and (overdue := [each for each in transactions if following.is_overdue(each, now)]):
        state = replace(state, receipts=_receipts_of_all(chain, state, overdue))
    stuck_after = timedelta(seconds=services.settings.relayer_stuck_seconds)
    by_step: dict[Step, list[RelayedTransaction]] = {step: [] for step in Step}
    for each in transactions:
        by_step[following.next_step(each, state, stuck_after, now, signer is not None)].append(each)
    used_up = [each for each in transactions if following.is_nonce_used(each, state, now)]
    finished = proving.conclude_deep(services, chain, state, by_step[Step.PROVE])
    search = proving.search_others(services, chain, state, progress, used_up)
    closed = _close(services, chain, state, [*finished, *search.finished])
    for each in by_step[Step.NOTE_NONCE_USED]:
        facts = {"network": network, "nonce": each.nonce, "call": each.call_key}
        services.log.warning("nonce used without a receipt", extra=facts)
        services.store.write(replace(each, nonce_used_since=now, nonce_used_at=state.used_at))
    for each in by_step[Step.NOTE_NONCE_FREE]:
        services.store.write(replace(each, nonce_used_since=None, nonce_used_at=None))
    if stopped_since(services) is not None:
        return search.progress, closed  # what is not signed or not sent stays so
    try:
        if signer is not None:
            unsigned = by_step[Step.SIGN]
            for start in range(0, len(unsigned), _SIGNED_AT_ONCE):
                if stopped_since(services) is not None:
                    return search.progress, closed
                sign_and_send(services, chain, signer, reading, unsigned[start : start + _SIGNED_AT_ONCE])
            for each in by_step[Step.REPLACE]:
                _replace(services, chain, signer, reading, each)
        for each in by_step[Step.NEEDS_KEY]:
            facts = {"network": network, "sender": each.sender, "nonce": each.nonce, "call": each.call_key}
            services.log.error("transaction is stuck", extra=facts)
        waiting = [*by_step[Step.SEND], *by_step[Step.NEEDS_KEY]]
        send(services, chain, reading, [each for each in waiting if each.nonce not in closed])
    except WriteConflict:
        services.log.info("another check was faster", extra={"network": network})
    return search.progress, closed


def _receipts_of_all(
    chain: "EvmChain", state: ChainState, overdue: Sequence[RelayedTransaction]
) -> dict[str, Receipt]:
    """The receipts that the first node has, and of overdue transactions those of the others too, where the first one
    has none that is deep enough: of each the one in the lowest block. One request to each that answers, if any is
    overdue. None of them is an outcome (proving.py)."""
    found = dict(state.receipts)
    hashes = [
        tx_hash
        for each in overdue
        for tx_hash in each.hashes
        if tx_hash not in found or found[tx_hash].block_number > state.confirmed_to
    ]
    for node in every_node(chain) if hashes else ():
        for tx_hash, receipt in (answer_or_none(partial(node.receipts_of, hashes)) or {}).items():
            if tx_hash not in found or receipt.block_number < found[tx_hash].block_number:
                found[tx_hash] = receipt
    return found


def _newest_confirmed(services: Services, network: str, reading: AccountReading) -> int:
    """The newest block that is deep enough for every node."""
    return ChainState(reading, {}, _confirmations(services, network)).confirmed_below(reading.oldest_head)


def _confirmations(services: Services, network: str) -> int:
    known = network_named(network)
    assert known is not None, "it was accepted for this network"
    return services.settings.confirmations.get(known.name, known.confirmations)


def _close(
    services: Services, chain: "EvmChain", state: ChainState, finished: Sequence[Finished]
) -> dict[int, int | None]:
    """Writes the outcomes of transactions that are finished; returns their blocks by their nonces."""
    for part in _written_together(finished):
        _write(services, part, sign=-1)
        for _, call in part:
            facts = {"network": call.network, "call": call.call_key, "nonce": call.nonce, "tx_hash": call.tx_hash}
            services.log.info(f"call {call.status.value}", extra=facts)
        for reverts in _change_reverts(services, [each for each in part if not is_payers(each[0])], after_outcome):
            try_write(services.store, reverts)  # False: another check counts the same
    lost = [transaction for transaction, call in finished if call.status is CallStatus.SUPERSEDED]
    if lost:
        counts = [node.transaction_count(lost[0].sender, state.confirmed_to) for node in every_node(chain)]
        with suppress(WriteConflict):  # the next transaction that is lost has it skipped
            _skip_used_nonces(services, lost[0], min(counts))
    return {transaction.nonce: call.block_number for transaction, call in finished}


def _replace(
    services: Services, chain: "EvmChain", signer: Signer, reading: AccountReading, stuck: RelayedTransaction
) -> None:
    """Offers higher fees for a transaction that is stuck, as far as the highest price permits."""
    fees = rules.raise_fees(stuck, reading, budget_of(services, stuck.network))
    facts = {"network": stuck.network, "sender": stuck.sender, "nonce": stuck.nonce, "call": stuck.call_key}
    if fees is None:
        services.log.error("transaction is stuck", extra=facts)
        send(services, chain, reading, [stuck])
        return
    services.log.warning("transaction is replaced", extra={**facts, "max_fee": fees.max_fee})
    with suppress(WriteConflict):  # another check has replaced it, or the next one does
        _send_raised(services, chain, signer, reading, stuck, fees)


@retry_conflicts(5)  # calls may be submitted at the same moment
def _send_raised(
    services: Services,
    chain: "EvmChain",
    signer: Signer,
    reading: AccountReading,
    stuck: RelayedTransaction,
    fees: rules.Fees,
) -> None:
    account = store.account(services.store, stuck.network, stuck.sender)
    assert account is not None, "it was written with the transaction"
    raised = replace(stuck, max_fee=fees.max_fee, tip=fees.tip)
    sign_and_send(services, chain, signer, reading, [raised], rules.spend_more(account, stuck, fees))


@retry_conflicts(5)
def _skip_used_nonces(services: Services, lost: RelayedTransaction, nonce: int) -> None:
    """Moves the next nonce of an account past those that others have used. Raises WriteConflict after five."""
    account = store.account(services.store, lost.network, lost.sender)
    if account is not None and account.next_nonce < nonce:
        services.store.write(replace(account, next_nonce=nonce))


def _is_low(services: Services, network: str, reading: AccountReading) -> bool:
    """Whether an account has less for gas than RELAYER_LOW_BALANCES allows, or else the network's limit."""
    lowest = services.settings.relayer_low_balances.get(network, relayer_limits(network).low_balance)
    return reading.least_balance < parse_amount(lowest, rules.COIN_DECIMALS)


def _watch(services: Services, network: str, signer: Signer, reading: AccountReading) -> None:
    """Logs a low balance, and a day's costs near their limit; alarms count these lines (metrics.py)."""
    facts = {"network": network, "address": signer.address, "balance": str(reading.least_balance)}
    services.log.info("relayer balance", extra=facts)
    if _is_low(services, network, reading):
        services.log.error("relayer balance is low", extra=facts)
    limit = budget_of(services, network).daily_limit
    account = store.account(services.store, network, signer.address)
    if account is None or account.day != f"{services.clock():%Y-%m-%d}":
        return
    if account.spent * 10 >= limit * 9:
        services.log.error("relayer limit is near", extra={"network": network, "spent": str(account.spent)})
