"""Multisig intents: record that a Safe's transaction is to pay a link, and follow it until it is settled."""

from dataclasses import replace
from datetime import timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.calldata.safe import safe_tx_hash
from chalicelib.catalogue.networks import Network, network
from chalicelib.chain.evm import EvmChain
from chalicelib.chain.jsonrpc import RpcError
from chalicelib.chain.logs import BlockRange
from chalicelib.chain.ranges import RangeTooLarge
from chalicelib.chain.safe_service import Proposal, SafeServiceUnavailable
from chalicelib.checkout.intents import rules as intents
from chalicelib.checkout.intents.rules import Execution, IntentDraft, Look, Origin
from chalicelib.detection import store as detection_store
from chalicelib.detection.records import Cursor
from chalicelib.links import store as link_store
from chalicelib.links.flows import Reader, load, load_owned
from chalicelib.links.multicalls import flows as multicalls
from chalicelib.links.records import IntentStatus, Link, LinkStatus, PaymentType, SafeIntent, SecurePayment
from chalicelib.links.rules import check_payable
from chalicelib.services import Services
from chalicelib.storage import sweeping
from chalicelib.storage.store import WriteConflict

_ATTEMPTS = 5
"""How often an intent is decided again after a payment or another intent of the link was written first."""
_BATCH = 25
"""Intents a shard and sweep, which take less than a minute."""
_RANGES_PER_LOOK = 5


def record(services: Services, token: str, reader: Reader, draft: IntentDraft) -> tuple[SecurePayment, SafeIntent]:
    """The intent for a link, new or the pending one of the same transaction.

    Written together with the link, whose version has to be the one that was seen: of two intents, or of an intent and
    the payment that completes the link, one comes first and the other is decided anew. A multicall waits as a whole;
    its children stay payable one by one, and its intent ends when the last of them is paid. Raises what `check_payable`
    does, BadRequest, ChainUnavailable, and WriteConflict when others were faster every time.
    """
    for _ in range(_ATTEMPTS):
        stored = load_owned(services, token, reader)
        payment, parts = _whole(services, stored)
        known = intents.reusable(payment, draft)
        if known is not None:
            return payment, known
        now = services.clock()
        check_payable(payment, now)
        own = intents.check_draft(payment, draft, now)
        if reader.reads_any_link:
            intents.check_announced_by_page(payment)
        origin = _origin(services, own, draft, reader)
        for part in parts:
            intents.check_payer(part, origin.safe)
        intent = intents.create_intent(payment, draft, origin, now, services.entropy)
        try:
            services.store.write(stored.link, intent)
        except WriteConflict:
            continue
        return payment, intent
    raise WriteConflict


def withdraw(services: Services, token: str, account_id: str, client_id: str | None) -> SafeIntent:
    """Ends the intent that a link waits for, its own or its multicall's, for the link's owner; returns it as decided.

    Written only over the version that was seen: a look that comes first decides, and one that comes later changes
    nothing any more. Raises NotFound, and WriteConflict when others were faster every time.
    """
    for _ in range(_ATTEMPTS):
        payment, _ = _whole(services, load_owned(services, token, Reader(account_id, client_id)))
        intent = intents.withdrawn(payment)
        try:
            services.store.write(intent)
        except WriteConflict:
            continue
        services.log.info("intent withdrawn", extra={"intent_id": intent.intent_id})
        return intent
    raise WriteConflict


def track_due(services: Services) -> int:
    """Looks at every intent whose time has come; returns how many are no longer pending.

    A node or a Safe Transaction Service that does not answer is asked once a sweep; its intents are looked at by a
    later sweep. A failure that concerns one Safe, which may be any contract, delays the intents of that Safe only.
    """
    now = services.clock()
    silent: set[str] = set()

    def track(token: str) -> bool:
        intent = link_store.intent(services.store, token)
        if intent is None or intent.status is not IntentStatus.PENDING or intent.check_at > now:
            return False
        after = _followed(services, intent, silent)
        try:
            services.store.write(after)
        except WriteConflict:
            return False  # another sweep was faster
        if after.status is IntentStatus.PENDING:
            return False
        services.log.info("intent ended", extra={"intent_id": intent.intent_id, "status": after.status.value})
        return True

    return sweeping.each(services.log, link_store.tokens_of_due_intents(services.store, now, _BATCH), track)


def _whole(services: Services, stored: SecurePayment) -> tuple[SecurePayment, tuple[Link, ...]]:
    """A link as it stands, and the links that are paid by it: a multicall is what its children make it."""
    if stored.link.payment_type is not PaymentType.MULTICALL:
        return stored, (stored.link,)
    found = multicalls.details(services, stored)
    status = found.status if found.status is LinkStatus.COMPLETED else stored.link.status
    parts = tuple(child.payment.link for child in found.children if child.payment is not None)
    return SecurePayment(replace(stored.link, status=status), found.requests, stored.intent), parts


def _origin(services: Services, own: Network, draft: IntentDraft, reader: Reader) -> Origin:
    """Reading begins one range before what detection has finished: the owners may have executed it before they told."""
    assert draft.safe_tx_hash is not None, "checked before"
    told = None
    if draft.payer_address is None:
        told, _ = _ask(services, own.name, draft.safe_tx_hash, set())
    else:
        _check_safe(services.chains.evm(own.name), own.label, draft.payer_address)
    cursor = detection_store.cursor(services.store, own.name)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {own.name} yet: try again in a minute")
    return Origin(
        safe=told.safe if told else draft.payer_address,
        nonce=told.terms.nonce if told else None,
        scanned_to=max(cursor.scanned_to - own.log_range, 0),
        lifetime=timedelta(seconds=services.settings.safe_intent_lifetime_seconds),
        by_page=reader.reads_any_link,
    )


def _check_safe(chain: EvmChain, label: str, address: str) -> None:
    """Raises BadRequest for an address that does not answer as a Safe, ChainUnavailable when the node does not."""
    if not chain.has_code(address):
        raise BadRequest(f"payerAddress is no contract on {label}: give the address of the Safe")
    try:
        chain.safe_nonce(address, chain.head())
    except RpcError as error:
        if not error.is_revert:
            raise
        raise BadRequest(f"payerAddress is no Safe on {label}: give the address of the Safe") from None


def _followed(services: Services, intent: SafeIntent, silent: set[str]) -> SafeIntent:
    """The intent after a look. The link is read last, and the cursor before it: what was paid up to the cursor is then
    in the link. An intent settles with its link whether or not the node answers."""
    now = services.clock()
    seen, look = intent, None
    if intent.network not in silent:
        try:
            seen, look = _seen(services, intent, silent)
        except ChainUnavailable as error:
            services.log.error("intent not seen", extra={"network": intent.network, "reason": error.message})
            silent.add(intent.network)
    stored = load(services, intent.link_token)
    assert stored is not None, "an intent is written together with its link"
    completed = _whole(services, stored)[0].link.status is LinkStatus.COMPLETED
    if look is None:
        return intents.unseen(intent, completed, now)
    return intents.decide(seen, replace(look, completed=completed), now)


def _seen(services: Services, intent: SafeIntent, silent: set[str]) -> tuple[SafeIntent, Look]:
    """The intent with what its look taught of how to look, and the look itself, without the link.

    The node is asked first for what no payer has a hand in: a failure there is its own, and ChainUnavailable.
    """
    cursor = detection_store.cursor(services.store, intent.network)
    assert cursor is not None, "an intent is recorded where detection has begun"
    chain = services.chains.evm(intent.network)
    detected_to = chain.block_times([cursor.scanned_to])[cursor.scanned_to]
    intent, unknown = _learned(services, intent, silent)
    intent, block, execution = _execution(services, chain, intent, cursor)
    nonce, block_time = None, detected_to
    if block != cursor.scanned_to:
        block_time = chain.block_times([block])[block]
    elif intent.safe is not None and intent.nonce is not None and execution is None:
        nonce = _nonce(chain, intent.safe, block)
    return intent, Look(block, block_time, detected_to, execution, nonce, completed=False, unknown=unknown)


def _execution(
    services: Services, chain: EvmChain, intent: SafeIntent, cursor: Cursor
) -> tuple[SafeIntent, int, Execution | None]:
    """The intent with the span it is read by, how far the Safe's events are read now, and that of its transaction.

    The ranges are at most half as long as those that detection tries next, which the node may refuse. What it refuses
    of this Safe is tried in smaller ones by later looks. Where detection went back after a deep fork, so does this.
    Without a Safe nothing can be read.
    """
    if intent.safe is None or cursor.scanned_to <= intent.scanned_to:
        return intent, cursor.scanned_to, None
    block, most = intent.scanned_to, max(cursor.range_limit // 2, 1)
    for _ in range(_RANGES_PER_LOOK):
        last = min(block + intents.span_of(intent, most), cursor.scanned_to)
        try:
            event = chain.safe_event(intent.safe, intent.safe_tx_hash, BlockRange(block + 1, last))
        except (RangeTooLarge, ChainUnavailable) as error:
            facts = {"intent_id": intent.intent_id, "blocks": last - block, "reason": str(error)}
            services.log.warning("events of a Safe not read", extra=facts)
            return intents.narrowed(intent, last - block), block, None
        block, intent = last, intents.widened(intent, most)
        if event is not None:
            return intent, block, Execution(event.success, event.block_number, event.transaction_hash)
        if block == cursor.scanned_to:
            break
    return intent, block, None


def _nonce(chain: EvmChain, safe: str, block: int) -> int | None:
    """The Safe's nonce after a block; None when the node has forgotten that state, or it is no Safe."""
    try:
        return chain.safe_nonce(safe, block)
    except ChainUnavailable:
        return None


def _learned(services: Services, intent: SafeIntent, silent: set[str]) -> tuple[SafeIntent, bool]:
    """The intent with the Safe and the nonce that the Safe's service names, as long as they are not known; and whether
    the service answered that it does not know the transaction.

    A transaction of another Safe than the payer has named is none that this one could execute.
    """
    if intent.safe is not None and intent.nonce is not None:
        return intent, False
    told, answered = _ask(services, intent.network, intent.safe_tx_hash, silent)
    if told is None or (intent.safe is not None and not same_address(intent.safe, told.safe)):
        return intent, answered
    return replace(intent, safe=told.safe, nonce=told.terms.nonce), False


def _ask(services: Services, name: str, announced: str, silent: set[str]) -> tuple[Proposal | None, bool]:
    """What the Safe's service of a network knows of the transaction with that hash, and whether it answered at all.

    Safe and nonce are taken from no answer whose fields do not have that hash. It only says where to look: what
    happened, the chain says.
    """
    service = f"safes of {name}"
    if service in silent or not services.safes.serves(name):
        return None, False
    try:
        told = services.safes.transaction(name, announced)
    except SafeServiceUnavailable as error:
        services.log.warning("no answer about a multisig transaction", extra={"reason": error.message})
        silent.add(service)
        return None, False
    if told is not None and _hash_of(told, name) != announced:
        services.log.warning("another multisig transaction than was asked for", extra={"safe_tx_hash": announced})
        return None, True
    return told, True


def _hash_of(told: Proposal, name: str) -> str:
    own = network(name)
    assert own is not None, "an intent is recorded on a catalogued network"
    return safe_tx_hash(own.chain_id, told.safe, told.transaction, told.terms)
