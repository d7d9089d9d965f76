"""Follows the transactions of an account until each is deep enough in the chain.

    in no block    signed if a crash left it unsigned; sent again; stuck for long: signed again with higher fees
    in a block     waits for the confirmations; then its call has its outcome
    nonce taken    another transaction has it, for long: the call is superseded
    a deep fork    calls whose transactions it took out of the chain have no outcome again; the same bytes are sent

An account whose key was replaced is followed, too: what was signed is sent again and finished. What is not signed, or
offers too little, waits for that key, with an alarm.

Each step is one conditional write, before anything is sent: two checks at once, or one after a crash, repeat nothing.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from chalicelib.base.money import parse_amount
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.networks import network as network_named
from chalicelib.chain.readings import AccountReading, Receipt
from chalicelib.relayer import following, rules, store
from chalicelib.relayer.flows import budget_of
from chalicelib.relayer.following import ChainState, Finished, Step
from chalicelib.relayer.keys.signer import Signer, has_signer, signer_of
from chalicelib.relayer.records import RelayedTransaction, RelayerProgress, Sender
from chalicelib.relayer.sending import send, sign_and_send
from chalicelib.services import Services
from chalicelib.stopping.flows import stopped_since
from chalicelib.storage.store import Add, WriteConflict

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain

SPACING = timedelta(seconds=5)
"""Checks of a network follow each other no faster; of several hints at once, one is followed."""
_CLOSED_AT_ONCE = 30
"""Each is at most three writes of one transaction."""
_SIGNED_AT_ONCE = 25
_ATTEMPTS = 5
_UNEXPLAINED = "reverted, and the node does not say why"


def track(services: Services, network: str) -> bool:
    """Checks the open transactions of a network's accounts, the present and former ones, and the balance of the present
    one; returns whether some stay open. Raises ChainUnavailable if the node does not answer."""
    signer = signer_of(services, network) if has_signer(services, network) else None
    known = store.senders(services.store)
    former = known.others(network, signer.address if signer else None)
    if signer is not None and (present := Sender(network, signer.address)) not in known.accounts:
        services.store.write(replace(known, accounts=(*known.accounts, present)))
    is_open = signer is not None and _check(services, network, signer.address, signer)
    return any([is_open, *(_check(services, network, each, None) for each in former)])


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
    try:
        progress = _stored(services, replace(progress, checked_at=now))
    except WriteConflict:
        return False  # another check has just begun
    reading = chain.read_account(sender)
    if reading.nonce < progress.open_from:
        progress = _reopen(services, reading, progress)
    first = store.transactions_from(services.store, network, sender, progress.open_from, following.WINDOW)
    is_full = len(first) == following.WINDOW
    if signer is not None:
        _watch(services, network, signer, reading)
    others: tuple[RelayedTransaction, ...] = ()
    if is_full:
        after = max(first[-1].nonce + 1, reading.nonce)
        others = store.transactions_from(services.store, network, sender, after, following.WINDOW)
    transactions = [each for each in (*first, *others) if each.closed_at is None]
    closed = _advanced(services, signer, chain, reading, transactions) if transactions else set[int]()
    still_open = [each.nonce for each in first if each.closed_at is None and each.nonce not in closed]
    open_from = still_open[0] if still_open else first[-1].nonce + 1 if first else progress.open_from
    if still_open and reading.nonce < open_from:  # a fork gave a nonce back that nobody's transaction has now
        facts = {"network": network, "sender": sender, "nonce": open_from, "missing": reading.nonce}
        services.log.error("transaction is stuck", extra=facts)
    if open_from != progress.open_from:
        services.store.write(replace(progress, open_from=open_from))
    return bool(still_open) or is_full


def _stored(services: Services, progress: RelayerProgress) -> RelayerProgress:
    """The progress as it is stored now."""
    services.store.write(progress)
    return replace(progress, version=progress.version + 1)


def _reopen(services: Services, reading: AccountReading, progress: RelayerProgress) -> RelayerProgress:
    """Takes outcomes back whose transactions a fork deeper than the confirmations took out of the chain.

    A node that is only late has not read to the depth at which their calls were finished: then nothing is done.
    """
    network, now = progress.network, services.clock()
    found = store.transactions_from(services.store, network, progress.sender, reading.nonce, following.WINDOW)
    calls = store.calls(services.store, [each.call_key for each in found])
    confirmed_to = _confirmed_to(services, network, reading)
    lost = [
        following.reopened(each, call, now)
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
    progress = _stored(services, replace(progress, open_from=min(progress.open_from, lost[0][0].nonce)))
    for start in range(0, len(lost), _CLOSED_AT_ONCE):
        _write(services, lost[start : start + _CLOSED_AT_ONCE], sign=1)
    return progress


def _write(services: Services, pairs: Sequence[Finished], sign: int) -> None:
    """Writes transactions with their calls, and counts what these take from wallets (-1: not any more)."""
    taken = rules.taken_by((transaction for transaction, _ in pairs), sign)
    services.store.write(*(record for pair in pairs for record in pair), *(Add(*each) for each in taken))


def _advanced(
    services: Services,
    signer: Signer | None,
    chain: "EvmChain",
    reading: AccountReading,
    transactions: Sequence[RelayedTransaction],
) -> set[int]:
    """Takes the next step of each transaction; returns the nonces of those that are finished."""
    network, now = transactions[0].network, services.clock()
    state = _state(services, chain, reading, transactions)
    stuck_after = timedelta(seconds=services.settings.relayer_stuck_seconds)
    by_step: dict[Step, list[RelayedTransaction]] = {step: [] for step in Step}
    for each in transactions:
        by_step[following.next_step(each, state, stuck_after, now, signer is not None)].append(each)
    closed = _close(services, chain, state, by_step)
    for each in by_step[Step.NOTE_UNSEEN]:
        services.log.error("nonce used by another transaction", extra={"network": network, "nonce": each.nonce})
        services.store.write(replace(each, unseen_since=now))
    for each in by_step[Step.NOTE_SEEN]:
        services.store.write(replace(each, unseen_since=None))
    if stopped_since(services) is not None:
        return closed  # what is not signed or not sent stays so
    try:
        if signer is not None:
            unsigned = by_step[Step.SIGN]
            for start in range(0, len(unsigned), _SIGNED_AT_ONCE):
                if stopped_since(services) is not None:
                    return closed
                sign_and_send(services, chain, signer, reading, unsigned[start : start + _SIGNED_AT_ONCE])
            for each in by_step[Step.REPLACE]:
                _replace(services, chain, signer, reading, each)
        for each in by_step[Step.NEEDS_KEY]:
            facts = {"network": network, "sender": each.sender, "nonce": each.nonce, "call": each.call_key}
            services.log.error("transaction is stuck", extra=facts)
        send(services, chain, reading, [*by_step[Step.SEND], *by_step[Step.NEEDS_KEY]])
    except WriteConflict:
        services.log.info("another check was faster", extra={"network": network})
    return closed


def _state(
    services: Services, chain: "EvmChain", reading: AccountReading, transactions: Sequence[RelayedTransaction]
) -> ChainState:
    """What the node says of the transactions. A receipt whose block is not the canonical one at its height is none."""
    confirmed_to = _confirmed_to(services, chain.network, reading)
    hashes = [tx_hash for each in transactions for tx_hash in each.hashes]
    found = chain.receipts_of(hashes) if hashes else {}
    deep = sorted({receipt.block_number for receipt in found.values() if receipt.block_number <= confirmed_to})
    canonical = chain.block_hashes(deep) if deep else {}
    receipts = {
        tx_hash: each
        for tx_hash, each in found.items()
        if each.block_number > confirmed_to or canonical.get(each.block_number) == each.block_hash
    }
    nonce = transactions[0].nonce  # of an account none of whose nonces is used by others
    if any(each.nonce < reading.nonce and not set(each.hashes) & found.keys() for each in transactions):
        nonce = chain.transaction_count(transactions[0].sender, confirmed_to)
    return ChainState(reading, receipts, confirmed_to, nonce)


def _confirmed_to(services: Services, network: str, reading: AccountReading) -> int:
    """The newest block that is deep enough."""
    known = network_named(network)
    assert known is not None, "it was accepted for this network"
    confirmations = services.settings.confirmations.get(known.name, known.confirmations)
    return max(reading.head - confirmations + 1, 0)


def _close(
    services: Services, chain: "EvmChain", state: ChainState, by_step: dict[Step, list[RelayedTransaction]]
) -> set[int]:
    """Writes the outcomes of transactions that are finished; returns their nonces."""
    now = services.clock()
    done = [
        following.finished(each, receipt, _reason(chain, each, receipt), now)
        for each in by_step[Step.FINISH]
        if (receipt := following.receipt_of(each, state)) is not None
    ]
    done += [following.superseded(each, now) for each in by_step[Step.SUPERSEDE]]
    for start in range(0, len(done), _CLOSED_AT_ONCE):
        part = done[start : start + _CLOSED_AT_ONCE]
        _write(services, part, sign=-1)
        for _, call in part:
            facts = {"network": call.network, "call": call.call_key, "nonce": call.nonce, "tx_hash": call.tx_hash}
            services.log.info(f"call {call.status.value}", extra=facts)
    if by_step[Step.SUPERSEDE]:
        _skip_used_nonces(services, by_step[Step.SUPERSEDE][0], state.confirmed_nonce)
    return {transaction.nonce for transaction, _ in done}


def _reason(chain: "EvmChain", each: RelayedTransaction, receipt: Receipt) -> str | None:
    """Why a transaction reverted, in words: what a node says who runs it before its block; None if it did not."""
    if receipt.success:
        return None
    call = Transaction(each.to, each.data, each.value)
    return chain.replayed(each.sender, call, each.gas_limit, receipt.block_number).reason or _UNEXPLAINED


def _replace(
    services: Services, chain: "EvmChain", signer: Signer, reading: AccountReading, stuck: RelayedTransaction
) -> None:
    """Offers higher fees for a transaction that is stuck, as far as the highest price permits."""
    fees = rules.raised_fees(stuck, reading, budget_of(services, stuck.network))
    facts = {"network": stuck.network, "sender": stuck.sender, "nonce": stuck.nonce, "call": stuck.call_key}
    if fees is None:
        services.log.error("transaction is stuck", extra=facts)
        send(services, chain, reading, [stuck])
        return
    raised = replace(stuck, max_fee=fees.max_fee, tip=fees.tip)
    services.log.warning("transaction is replaced", extra={**facts, "max_fee": fees.max_fee})
    for _ in range(_ATTEMPTS):
        account = store.account(services.store, stuck.network, stuck.sender)
        assert account is not None, "it was written with the transaction"
        with suppress(WriteConflict):  # calls were submitted at the same moment, or another check has replaced it
            sign_and_send(services, chain, signer, reading, [raised], rules.spent_more(account, stuck, fees))
            return


def _skip_used_nonces(services: Services, lost: RelayedTransaction, nonce: int) -> None:
    """Moves the next nonce of an account past those that others have used."""
    for _ in range(_ATTEMPTS):
        account = store.account(services.store, lost.network, lost.sender)
        if account is None or account.next_nonce >= nonce:
            return
        with suppress(WriteConflict):
            services.store.write(replace(account, next_nonce=nonce))
            return


def _watch(services: Services, network: str, signer: Signer, reading: AccountReading) -> None:
    """Logs a low balance, and a day's costs near their limit; alarms count these lines (metrics.py)."""
    facts = {"network": network, "address": signer.address, "balance": str(reading.balance)}
    services.log.info("relayer balance", extra=facts)
    lowest = services.settings.relayer_low_balances.get(network)
    if lowest is not None and reading.balance < parse_amount(lowest, rules.COIN_DECIMALS):
        services.log.error("relayer balance is low", extra=facts)
    limit = budget_of(services, network).daily_limit
    account = store.account(services.store, network, signer.address)
    if limit is None or account is None or account.day != f"{services.clock():%Y-%m-%d}":
        return
    if account.spent * 10 >= limit * 9:
        services.log.error("relayer limit is near", extra={"network": network, "spent": str(account.spent)})
