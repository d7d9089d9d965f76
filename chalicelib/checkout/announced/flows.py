"""Records announced transactions for links, and withdraws them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.chains.calldata.safe import SafeTerms, safe_tx_hash
from chalicelib.chains.catalogue.networks import Network
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.checkout.announced.tracking import with_children
from chalicelib.checkout.flows import safe_transactions
from chalicelib.crosschain.service.tracking import recording as crossings
from chalicelib.payments.announced import announcements
from chalicelib.payments.announced.announcements import IntentDraft, IntentStart
from chalicelib.payments.announced.observing import nonce_of, proof_of, read_proposal
from chalicelib.payments.announced.rules import withdraw as withdrawn
from chalicelib.payments.links.reading import Viewer, load_stored, load_visible, screened
from chalicelib.payments.links.records import Intent, PayableLink, Proof
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retried

_NONCES = 5
"""With how many nonces, from the Safe's on, the hash of the link's own transactions is computed: a Safe may have
other transactions in its queue."""


@retried(5)
def record(services: Services, token: str, viewer: Viewer, draft: IntentDraft) -> tuple[PayableLink, Intent]:
    """Records an intent for a link; returns the pending one if it is for the same transaction.

    The intent is written with the link, on condition that the link's version is unchanged: so two intents, or an intent
    and the payment that completes the link, conflict, and the later one is decided again. An intent of a multicall
    locks the multicall, not its children, and ends when the last child is paid; a transaction of another chain is
    recorded for each child that it pays, and for the multicall only as long as that is not known. Raises what
    `check_payable` raises, but not because of other pending intents of this link; BadRequest, ChainUnavailable, and
    WriteConflict after five conflicts.
    """
    viewer = replace(viewer, announcer=None)  # what is written back has every intent
    stored = load_stored(services, token, viewer)
    if stored.commerce is not None:
        raise BadRequest("A commerce payment waits for no announced transaction: its status follows the escrow")
    payment, parts = with_children(services, stored)
    known = announcements.pending_for(payment, draft)
    if known is not None and known.link_token != token:
        return payment, known  # of the multicall that has claimed the link
    now, lifetime = services.clock(), timedelta(seconds=services.settings.safe_intent_lifetime_seconds)
    if known is not None and not _is_unseen(known):
        start = IntentStart(known.wallet, known.nonce, known.scanned_to, lifetime, viewer.is_public)
        start = replace(start, network=known.network, crossing=known.crossing)
    else:
        _check_open(screened(services, payment), now)
        if crossings.is_crossing(payment, draft):
            children = crossings.children_paid(services, payment, parts, draft)
            if children:
                recorded = [record(services, child, viewer, draft) for child in children]
                return payment, recorded[0][1]
        start = _start(services, payment, parts, draft, IntentStart(None, None, 0, lifetime, viewer.is_public))
    new = announcements.create_intent(payment, draft, start, now, services.entropy)
    written, intent = announcements.admit(payment, new, lifetime)
    if written == payment.intent:
        return payment, intent
    services.store.write(stored.link, written)
    return payment, intent


@retried(5)
def withdraw(services: Services, token: str, account_id: str, client_id: str | None) -> Intent:
    """Ends the pending intents of a link, or of its multicall, for the link's owner; returns their record.

    The write is conditional on the version that was read, so a concurrent check cannot overwrite it or be overwritten.
    Raises NotFound, and WriteConflict after five conflicts.
    """
    payment, _ = with_children(services, load_visible(services, token, Viewer(account_id, client_id)))
    intent = withdrawn(payment)
    services.store.write(intent)
    services.log.info("intents withdrawn", extra={"intent_id": intent.intent_id})
    return intent


def _check_open(payment: PayableLink, now: datetime) -> None:
    """Raises what `check_payable` raises, but not because of other pending intents of this very link."""
    is_of_multicall = payment.intent is not None and payment.intent.link_token != payment.link.token
    check_payable(payment if is_of_multicall else replace(payment, intent=None), now)


def _start(
    services: Services, payment: PayableLink, parts: Sequence[PayableLink], draft: IntentDraft, start: IntentStart
) -> IntentStart:
    """The start of a new intent. Events are read from one range before detection's cursor, because the owners may have
    executed the transaction before they announced it."""
    if crossings.is_crossing(payment, draft):
        return _start_elsewhere(services, payment, parts, draft, start)
    chain = announcements.check_draft(payment, draft, services.clock())
    cursor = scan_store.cursor(services.store, chain.name)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {chain.name} yet: try again in a minute")
    start = replace(start, scanned_to=max(cursor.scanned_to - chain.log_range, 0))
    if draft.tx_hash is not None:
        sent = services.chains.evm(chain.name).sent_transaction(draft.tx_hash)
        if sent is None:
            return start
        announcements.check_sent(payment, sent, cursor.scanned_to)
        return replace(start, wallet=sent.sender, nonce=nonce_of(chain.name, sent), proof=Proof.SENT)
    start = _with_safe(services, chain, payment, parts, draft, start)
    for part in parts:
        announcements.check_payer(part.link, start.wallet)
    return start


def _is_unseen(known: Intent) -> bool:
    """Whether the node did not have a transaction of the link's own chain when it was announced: it is asked again."""
    return known.safe_tx_hash is None and known.proof is None and known.crossing is None


def _start_elsewhere(
    services: Services, payment: PayableLink, parts: Sequence[PayableLink], draft: IntentDraft, start: IntentStart
) -> IntentStart:
    """The start of an intent on another chain than the link's. A Safe's events are read from one range before the
    newest block on."""
    announcements.check_deadline(draft, services.clock())
    chain, start = crossings.started(services, payment, parts, draft, start)
    if draft.safe_tx_hash is None:
        return start
    first = max(services.chains.evm(chain.name).head() - chain.log_range, 0)
    start = _with_safe(services, chain, payment, (), draft, replace(start, scanned_to=first))
    for part in parts:
        announcements.check_payer(part.link, start.wallet)
    return start


def _with_safe(
    services: Services,
    chain: Network,
    payment: PayableLink,
    parts: Sequence[PayableLink],
    draft: IntentDraft,
    start: IntentStart,
) -> IntentStart:
    """The start with what is known of a multisig transaction: its Safe, its nonce, and the proof that they are right.

    Raises BadRequest if the Safe that the payer names is none, or not the one of the transaction.
    """
    named, announced = draft.payer_address, draft.safe_tx_hash
    assert announced is not None, "it is a multisig transaction"
    first = _nonce_of_safe(services.chains.evm(chain.name), chain.label, named) if named is not None else 0
    proposal, _ = read_proposal(services, chain.name, announced, set())
    if proposal is not None:
        if named is not None and not same_address(named, proposal.safe):
            raise BadRequest("payerAddress is not the Safe of this transaction: give the Safe that executes it")
        return replace(
            start, wallet=proposal.safe, nonce=proposal.terms.nonce, proof=proof_of(payment, proposal)
        )
    if named is None:
        return start
    for transaction in safe_transactions(services, payment.link, parts):
        for nonce in range(first, first + _NONCES):
            if safe_tx_hash(chain.chain_id, named, transaction, SafeTerms(nonce)) == announced:
                return replace(start, wallet=named, nonce=nonce, proof=Proof.COMPUTED)
    return replace(start, wallet=named)


def _nonce_of_safe(chain: EvmChain, label: str, address: str) -> int:
    """The nonce of a Safe's next transaction.

    Raises BadRequest if there is no Safe at the address, ChainUnavailable if the node does not answer.
    """
    if not chain.has_code(address):
        raise BadRequest(f"payerAddress is no contract on {label}: give the address of the Safe")
    nonce = chain.safe_nonce(address, chain.head())
    if nonce is None:
        raise BadRequest(f"payerAddress is no Safe on {label}: give the address of the Safe")
    return nonce
