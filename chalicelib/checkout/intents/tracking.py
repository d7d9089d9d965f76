"""Follows multisig transactions until they are executed, replaced or given up."""

from dataclasses import replace
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
from chalicelib.detection import store as detection_store
from chalicelib.detection.records import Cursor
from chalicelib.links import store as link_store
from chalicelib.links.multicalls import reading as multicalls
from chalicelib.links.reading import load
from chalicelib.links.records import IntentStatus, Link, LinkStatus, PaymentType, SafeIntent, SecurePayment
from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.storage.store import WriteConflict

if TYPE_CHECKING:
    from chalicelib.chain.evm import EvmChain

_BATCH = 25
"""The most intents per shard and sweep; a sweep takes less than a minute."""
_RANGES_PER_CHECK = 5


def track_due(services: Services) -> int:
    """Checks every intent that is due; returns how many have ended.

    A node or Safe Transaction Service that does not answer is called once per sweep; the other intents that need it are
    checked by a later sweep. A failure that concerns one Safe, which can be any contract, delays only its own intents.
    """
    now = services.clock()
    unavailable: set[str] = set()

    def track(token: str) -> bool:
        intent = link_store.intent(services.store, token)
        if intent is None or intent.status is not IntentStatus.PENDING or intent.check_at > now:
            return False
        tracked = _tracked(services, intent, unavailable)
        try:
            services.store.write(tracked)
        except WriteConflict:
            return False  # another sweep was faster
        if tracked.status is IntentStatus.PENDING:
            return False
        services.log.info("intent ended", extra={"intent_id": intent.intent_id, "status": tracked.status.value})
        return True

    return sweeping.each(services.log, link_store.tokens_of_due_intents(services.store, now, _BATCH), track)


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

    The link is read after the cursor, so that it has all payments up to the cursor. An intent of a completed link is
    settled even if the node does not answer.
    """
    now = services.clock()
    updated, observation = intent, None
    if intent.network not in unavailable:
        try:
            updated, observation = _observed(services, intent, unavailable)
        except ChainUnavailable as error:
            services.log.error("intent not checked", extra={"network": intent.network, "reason": error.message})
            unavailable.add(intent.network)
    stored = load(services, intent.link_token)
    assert stored is not None, "an intent is written together with its link"
    is_completed = with_children(services, stored)[0].link.status is LinkStatus.COMPLETED
    if observation is None:
        return intents.decide_unobserved(intent, is_completed, now)
    return intents.decide(updated, replace(observation, is_completed=is_completed), now)


def _observed(services: Services, intent: SafeIntent, unavailable: set[str]) -> tuple[SafeIntent, Observation]:
    """The intent with its Safe, nonce and span updated, and the observation, without the state of the link.

    The first call to the node does not depend on the payer's data: if it fails, the node is unavailable. Raises
    ChainUnavailable.
    """
    cursor = detection_store.cursor(services.store, intent.network)
    assert cursor is not None, "an intent is recorded where detection has begun"
    chain = services.chains.evm(intent.network)
    detected_to = chain.block_facts([cursor.scanned_to])[cursor.scanned_to].time
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
