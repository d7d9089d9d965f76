"""Submits calls of contracts, which the service's own account makes once each, and says what became of them.

`submit` accepts a call by writing it together with its nonce. From then on it is executed at most once, whatever
fails: what `submit` leaves undone after that, tracking.py does. `submit` waits for no block.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits, parse_amount
from chalicelib.calldata.transaction import Transaction
from chalicelib.chain.readings import AccountReading, StepResult
from chalicelib.relayer import rules, store
from chalicelib.relayer.following import WINDOW
from chalicelib.relayer.keys.signer import Signer, has_signer, signer_of
from chalicelib.relayer.records import CallStatus, RelayedCall, RelayedTransaction, RelayerAccount
from chalicelib.relayer.rules import Budget, Call, Reservation, Submission, SubmissionStatus
from chalicelib.relayer.sending import sign_and_send
from chalicelib.services import Services
from chalicelib.storage.queue import Message, send_hints
from chalicelib.storage.store import WriteConflict

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain

MOST_CALLS = 10
_ATTEMPTS = 20
"""Workers that submit at the same time take nonces one after the other; in each round one of them succeeds."""
HINT_SECONDS = 10
BUSY = "too many calls are submitted at once"


@frozen
class Outcome:
    """What became of a call. Statuses other than UNKNOWN are final: they are on the canonical chain, and deep enough.

    `reason` says why it reverted, in words.
    """

    status: CallStatus
    tx_hash: str | None = None
    block_number: int | None = None
    reason: str | None = None


@frozen
class AccountState:
    """The service's account on a network: its balance in base units, its next nonce, and how many calls are open."""

    address: str
    balance: BaseUnits
    next_nonce: int
    open: int


def can_submit(services: Services, network: str) -> bool:
    """Whether the deployment has a key for the network. Reads the settings only."""
    return has_signer(services, network)


def account_address(services: Services, network: str) -> str:
    """The address of the service's account on a network. Raises NoRelayer without a key for it."""
    return signer_of(services, network).address


def account_state(services: Services, network: str) -> AccountState:
    """Raises NoRelayer without a key for the network, and ChainUnavailable if the node does not answer."""
    address = account_address(services, network)
    reading = services.chains.evm(network).read_account(address)
    account = store.account(services.store, network, address)
    progress = store.progress(services.store, network, address)
    begun = store.transactions_from(services.store, network, address, progress.open_from if progress else 0, WINDOW)
    still_open = sum(each.closed_at is None for each in begun)
    return AccountState(address, reading.balance, account.next_nonce if account else reading.nonce, still_open)


def submit(services: Services, calls: Sequence[Call]) -> tuple[Submission, ...]:
    """Submits 1 to 10 calls on one network, with distinct keys; returns what each led to, in their order.

    A call whose key was accepted before is ACCEPTED again, and nothing else happens. Raises NoRelayer without a key for
    the network, and ChainUnavailable if the node does not answer; then nothing was written.
    """
    assert 0 < len(calls) <= MOST_CALLS and len({call.network for call in calls}) == 1
    network, keys = calls[0].network, [call.key for call in calls]
    assert len(set(keys)) == len(keys), "keys are distinct"
    signer, chain = signer_of(services, network), services.chains.evm(network)
    account, accepted = store.account_with_calls(services.store, network, signer.address, keys)
    new = [call for call in calls if call.key not in accepted]
    results = {key: Submission(key, SubmissionStatus.ACCEPTED) for key in keys}
    if new:
        reading = chain.read_account(signer.address)
        steps = chain.run_each(signer.address, [(Transaction(c.to, c.data, c.value), c.most_gas) for c in new])
        reservation = _reserved(services, signer, reading, dict(zip(new, steps, strict=True)), (account, accepted))
        results |= {each.key: each for each in reservation.submissions}
        _log_postponed(services, network, reservation.submissions)
        if reservation.transactions:
            _send_accepted(services, chain, signer, reading, reservation.transactions)
    return tuple(results[key] for key in keys)


def outcome(services: Services, key: str) -> Outcome | None:
    """What became of a call; None if no call with this key was accepted. One read."""
    call = store.call(services.store, key)
    return None if call is None else outcome_of(call)


def accepted(services: Services, key: str) -> tuple[Outcome, Transaction] | None:
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


def outcome_of(call: RelayedCall) -> Outcome:
    return Outcome(call.status, call.tx_hash, call.block_number, call.reason)


def budget_of(services: Services, network: str) -> Budget:
    settings = services.settings
    most = settings.relayer_max_fee_gwei.get(network, 100)
    limit = settings.relayer_daily_limits.get(network)
    return Budget(most * rules.GWEI, None if limit is None else parse_amount(limit, rules.COIN_DECIMALS))


def _reserved(
    services: Services,
    signer: Signer,
    reading: AccountReading,
    steps: Mapping[Call, StepResult],
    read: tuple[RelayerAccount | None, Mapping[str, RelayedCall]],
) -> Reservation:
    """The reservation of the calls, written. Another worker may have accepted some of them in the meantime."""
    network, keys = next(iter(steps)).network, [call.key for call in steps]
    budget = budget_of(services, network)
    for _ in range(_ATTEMPTS):
        stored, accepted = read
        account = stored or RelayerAccount(network, signer.address, reading.nonce, "", BaseUnits(0))
        wanted = [(call, step) for call, step in steps.items() if call.key not in accepted]
        reservation = rules.reserve(account, wanted, reading, budget, services.clock())
        if not reservation.calls:
            return reservation
        try:
            services.store.write(reservation.account, *reservation.calls, *reservation.transactions)
        except WriteConflict:
            read = store.account_with_calls(services.store, network, signer.address, keys)
            continue
        written = (replace(each, version=each.version + 1) for each in reservation.transactions)
        return replace(reservation, transactions=tuple(written))
    busy = tuple(Submission(key, SubmissionStatus.POSTPONED, BUSY) for key in keys if key not in read[1])
    return Reservation(account, (), (), busy)


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
    send_hints(services.queue, services.log, services.settings.relayed_queue, [hint])
    try:
        sign_and_send(services, chain, signer, reading, transactions)
    except WriteConflict:
        services.log.info("transactions were signed by tracking", extra={"network": network})
    except ChainUnavailable as error:
        services.log.warning("transactions not sent", extra={"network": network, "reason": error.message})
    except Exception:  # whatever it is: the calls are accepted, and the answer must say so
        services.log.exception("transactions not signed", extra={"network": network})


def _log_postponed(services: Services, network: str, submissions: Sequence[Submission]) -> None:
    """Logs calls that wait for the operator; alarms are made of these lines (infra/template.yaml)."""
    for each in submissions:
        if each.status is SubmissionStatus.POSTPONED:
            facts = {"network": network, "call": each.key, "reason": each.reason}
            services.log.warning("call postponed", extra=facts)
