"""Follows multisig transactions until they are executed, replaced or given up."""

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.calldata.safe import safe_tx_hash
from chalicelib.catalogue.networks import network
from chalicelib.chain.logs import BlockRange
from chalicelib.chain.ranges import RangeTooLarge
from chalicelib.chain.safe_service import Proposal, SafeServiceUnavailable
from chalicelib.checkout.intents import rules as intents
from chalicelib.checkout.intents.rules import Execution, Observation
from chalicelib.links import store as link_store
from chalicelib.links.multicalls import reading as multicalls
from chalicelib.links.reading import load
from chalicelib.links.records import IntentStatus, Link, LinkStatus, PaymentType, SafeIntent, SecurePayment
from chalicelib.scanning import store as scan_store
from chalicelib.scanning.records import Cursor
from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.storage.store import WriteConflict

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain

_DUE_PER_SHARD = 60
_PER_ACCOUNT = 20
"""The most intents of an account that one run checks; the others of that account are postponed."""
_TIME_PER_RUN = timedelta(seconds=40)
"""A run checks no more intents after this time; the Lambda may take 60 seconds."""
_RANGES_PER_CHECK = 5


def track_due(services: Services) -> int:
    """Checks intents that are due, one of each account in turn; returns how many have ended.

    An account that has more than _PER_ACCOUNT of them has the rest postponed: so whoever announces many delays only
    their own. A run begins at a random shard of the index and stops in time. A node or Safe Transaction Service that
    does not answer is called once per run; the other intents that need it are checked by a later run. A failure that
    concerns one intent, or one Safe, which can be any contract, delays no others.
    """
    now, shard = services.clock(), services.entropy(1)[0]
    deadline = now + _TIME_PER_RUN
    due: list[SafeIntent] = []
    unavailable: set[str] = set()

    def read(token: str) -> bool:
        intent = link_store.intent(services.store, token)
        if intent is not None and intent.status is IntentStatus.PENDING and intent.check_at <= now:
            due.append(intent)
        return True

    def track(intent: SafeIntent) -> bool:
        return _write(services, _tracked(services, intent, unavailable))

    def put_off(intent: SafeIntent) -> bool:
        return _write(services, intents.postpone(intent, now))

    ended = 0
    with sweeping.Sweep(services.log) as sweep:
        for token in link_store.tokens_of_due_intents(services.store, now, _DUE_PER_SHARD, shard):
            sweep.run(read, token)
        turn = intents.in_turn(due, _PER_ACCOUNT)
        for act, intent in [*((track, each) for each in turn.checked), *((put_off, each) for each in turn.postponed)]:
            if services.clock() >= deadline:
                services.log.warning("sweep stopped before its end")
                break
            ended += sweep.run(act, intent)
    return ended


def _write(services: Services, intent: SafeIntent) -> bool:
    """Writes an intent after a check; returns whether it has ended."""
    try:
        services.store.write(intent)
    except WriteConflict:
        return False  # another run was faster
    if intent.status is IntentStatus.PENDING:
        return False
    services.log.info("intent ended", extra={"intent_id": intent.intent_id, "status": intent.status.value})
    return True


def with_children(services: Services, stored: SecurePayment) -> tuple[SecurePayment, tuple[Link, ...]]:
    """The link, and the links that it pays. A multicall gets its status and its requests from its children."""
    if stored.link.payment_type is not PaymentType.MULTICALL:
        return stored, (stored.link,)
    details = multicalls.details(services, stored)
    status = details.status if details.status is LinkStatus.COMPLETED else stored.link.status
    parts = tuple(child.payment.link for child in details.children if child.payment is not None)
    return SecurePayment(replace(stored.link, status=status), details.requests, stored.intent), parts


def _tracked(services: Services, intent: SafeIntent, unavailable: set[str]) -> SafeIntent:
    """The intent after a check.

    The link is read after the cursor. An intent ends without payment only if the recorder has no work left for the
    link, for links that were merged into it, or for its children: then the link, read again, has every payment up to
    the cursor. An intent of a completed link is settled even if the node does not answer.
    """
    now = services.clock()
    updated, observation = intent, None
    if intent.network not in unavailable:
        try:
            updated, observation = _observed(services, intent, unavailable)
        except ChainUnavailable as error:
            services.log.error("intent not checked", extra={"network": intent.network, "reason": error.message})
            unavailable.add(intent.network)
    link = _link(services, intent)
    if observation is None:
        return intents.decide_unobserved(intent, link.status is LinkStatus.COMPLETED, now)
    decided = intents.decide(updated, replace(observation, is_completed=link.status is LinkStatus.COMPLETED), now)
    if not intents.ends_unpaid(decided):
        return decided
    if scan_store.has_work(services.store, (link.token, *link.merged_tokens, *link.child_tokens)):
        return intents.postpone(intent, now)
    is_completed = _link(services, intent).status is LinkStatus.COMPLETED  # by what was recorded since it was read
    return intents.decide(updated, replace(observation, is_completed=is_completed), now)


def _link(services: Services, intent: SafeIntent) -> Link:
    """The intent's link as it is now; a multicall has the status that follows from its children."""
    stored = load(services, intent.link_token)
    assert stored is not None, "an intent is written together with its link"
    return with_children(services, stored)[0].link


def _observed(services: Services, intent: SafeIntent, unavailable: set[str]) -> tuple[SafeIntent, Observation]:
    """The intent with its Safe, nonce and span updated, and the observation, without the state of the link.

    The first call to the node does not depend on the payer's data: if it fails, the node is unavailable. Raises
    ChainUnavailable, also if it is not known until when the network was read.
    """
    cursor = scan_store.cursor(services.store, intent.network)
    assert cursor is not None, "an intent is recorded where detection has begun"
    if cursor.read_until is None:
        raise ChainUnavailable(f"The {intent.network} chain has not been read since the service was updated")
    chain = services.chains.evm(intent.network)
    chain.head()
    detected_to = cursor.read_until
    intent, is_unknown = _with_safe_and_nonce(services, intent, unavailable)
    intent, block, execution = _execution(services, chain, intent, cursor)
    nonce, block_time = None, detected_to
    if block != cursor.scanned_to:
        block_time = chain.block_facts([block])[block].time
    elif intent.safe is not None and intent.nonce is not None and execution is None:
        nonce = _nonce(chain, intent.safe, block)
    observation = Observation(block, block_time, detected_to, execution, nonce, False, is_unknown)
    return intent, observation


def _execution(
    services: Services, chain: "EvmChain", intent: SafeIntent, cursor: Cursor
) -> tuple[SafeIntent, int, Execution | None]:
    """The intent with its span updated, the last block read for the Safe's events, and the execution if found.

    Ranges are at most half as long as those that detection reads next, which the node may refuse. After a refusal for
    this Safe, later checks read smaller ranges. If a deep fork rolled detection back, reading is rolled back, too.
    Reads nothing while the Safe is unknown.
    """
    if intent.safe is None or cursor.scanned_to <= intent.scanned_to:
        return intent, cursor.scanned_to, None
    block, max_span = intent.scanned_to, max(cursor.range_limit // 2, 1)
    for _ in range(_RANGES_PER_CHECK):
        last = min(block + intents.span_of(intent, max_span), cursor.scanned_to)
        try:
            event = chain.safe_event(intent.safe, intent.safe_tx_hash, BlockRange(block + 1, last))
        except (RangeTooLarge, ChainUnavailable) as error:
            facts = {"intent_id": intent.intent_id, "blocks": last - block, "reason": str(error)}
            services.log.warning("events of a Safe not read", extra=facts)
            return intents.narrowed(intent, last - block), block, None
        block, intent = last, intents.widened(intent, max_span)
        if event is not None:
            return intent, block, Execution(event.success, event.block_number, event.transaction_hash)
        if block == cursor.scanned_to:
            break
    return intent, block, None


def _nonce(chain: "EvmChain", safe: str, block: int) -> int | None:
    """The Safe's nonce after a block; None if the node no longer has that state or it is no Safe."""
    try:
        return chain.safe_nonce(safe, block)
    except ChainUnavailable:
        return None


def _with_safe_and_nonce(services: Services, intent: SafeIntent, unavailable: set[str]) -> tuple[SafeIntent, bool]:
    """The intent with Safe and nonce from the Safe Transaction Service, if they were not known, and whether the service
    answered that it does not know the transaction.

    A proposal of another Safe counts as unknown, because the payer's Safe cannot execute it.
    """
    if intent.safe is not None and intent.nonce is not None:
        return intent, False
    proposal, is_unknown = read_proposal(services, intent.network, intent.safe_tx_hash, unavailable)
    if proposal is None or (intent.safe is not None and not same_address(intent.safe, proposal.safe)):
        return intent, is_unknown
    return replace(intent, safe=proposal.safe, nonce=proposal.terms.nonce), False


def read_proposal(
    services: Services, name: str, announced: str, unavailable: set[str]
) -> tuple[Proposal | None, bool]:
    """The proposal with that hash from the network's Safe Transaction Service, and whether the service answered.

    A proposal whose fields do not hash to `announced` is ignored. Only its Safe and nonce are used; whether it was
    executed is read from the chain.
    """
    service = f"safes of {name}"
    if service in unavailable or not services.safes.serves(name):
        return None, False
    try:
        proposal = services.safes.transaction(name, announced)
    except SafeServiceUnavailable as error:
        services.log.warning("Safe Transaction Service unavailable", extra={"reason": error.message})
        unavailable.add(service)
        return None, False
    if proposal is not None and _hash_of(proposal, name) != announced:
        services.log.warning("proposal does not have the requested hash", extra={"safe_tx_hash": announced})
        return None, True
    return proposal, True


def _hash_of(proposal: Proposal, name: str) -> str:
    chain = network(name)
    assert chain is not None, "an intent is recorded on a catalogued network"
    return safe_tx_hash(chain.chain_id, proposal.safe, proposal.transaction, proposal.terms)
