"""Records multisig intents for links, withdraws them, and checks them until they end."""

from datetime import timedelta

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.catalogue.networks import Network
from chalicelib.chain.evm import EvmChain
from chalicelib.checkout.intents import rules as intents
from chalicelib.checkout.intents.rules import IntentDraft, IntentStart
from chalicelib.checkout.intents.tracking import read_proposal, with_children
from chalicelib.links.reading import Viewer, load_visible
from chalicelib.links.records import SafeIntent, SecurePayment
from chalicelib.links.rules import check_payable
from chalicelib.scanning import store as scan_store
from chalicelib.services import Services
from chalicelib.storage.store import WriteConflict

_ATTEMPTS = 5
"""How often recording or withdrawing is tried again after another write for the same link came first."""


def record(services: Services, token: str, viewer: Viewer, draft: IntentDraft) -> tuple[SecurePayment, SafeIntent]:
    """Records an intent for a link; returns the pending one if it is for the same transaction.

    The intent is written with the link, on condition that the link's version is unchanged: so two intents, or an intent
    and the payment that completes the link, conflict, and the later one is decided again. An intent of a multicall
    locks the multicall, not its children, and ends when the last child is paid. Raises what `check_payable` raises,
    BadRequest, ChainUnavailable, and WriteConflict after five conflicts.
    """
    for _ in range(_ATTEMPTS):
        stored = load_visible(services, token, viewer)
        payment, parts = with_children(services, stored)
        known = intents.same_pending_intent(payment, draft)
        if known is not None:
            return payment, known
        now = services.clock()
        check_payable(payment, now)
        chain = intents.check_draft(payment, draft, now)
        if viewer.reads_any_link:
            intents.check_page_may_announce(payment)
        start = _intent_start(services, chain, draft, viewer)
        for part in parts:
            intents.check_payer(part, start.safe)
        intent = intents.create_intent(payment, draft, start, now, services.entropy)
        try:
            services.store.write(stored.link, intent)
        except WriteConflict:
            continue
        return payment, intent
    raise WriteConflict


def withdraw(services: Services, token: str, account_id: str, client_id: str | None) -> SafeIntent:
    """Ends the pending intent of a link, or of its multicall, for the link's owner; returns the ended intent.

    The write is conditional on the version that was read, so a concurrent check cannot overwrite it or be overwritten.
    Raises NotFound, and WriteConflict after five conflicts.
    """
    for _ in range(_ATTEMPTS):
        payment, _ = with_children(services, load_visible(services, token, Viewer(account_id, client_id)))
        intent = intents.withdraw(payment)
        try:
            services.store.write(intent)
        except WriteConflict:
            continue
        services.log.info("intent withdrawn", extra={"intent_id": intent.intent_id})
        return intent
    raise WriteConflict


def _intent_start(services: Services, chain: Network, draft: IntentDraft, viewer: Viewer) -> IntentStart:
    """The start of a new intent. Events are read from one range before detection's cursor, because the owners may have
    executed the transaction before they announced it."""
    assert draft.safe_tx_hash is not None, "checked before"
    proposal = None
    if draft.payer_address is None:
        proposal, _ = read_proposal(services, chain.name, draft.safe_tx_hash, set())
    else:
        _check_safe(services.chains.evm(chain.name), chain.label, draft.payer_address)
    cursor = scan_store.cursor(services.store, chain.name)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {chain.name} yet: try again in a minute")
    return IntentStart(
        safe=proposal.safe if proposal else draft.payer_address,
        nonce=proposal.terms.nonce if proposal else None,
        scanned_to=max(cursor.scanned_to - chain.log_range, 0),
        lifetime=timedelta(seconds=services.settings.safe_intent_lifetime_seconds),
        by_page=viewer.reads_any_link,
    )


def _check_safe(chain: EvmChain, label: str, address: str) -> None:
    """Raises BadRequest if there is no Safe at the address, ChainUnavailable if the node does not answer."""
    if not chain.has_code(address):
        raise BadRequest(f"payerAddress is no contract on {label}: give the address of the Safe")
    if chain.safe_nonce(address, chain.head()) is None:
        raise BadRequest(f"payerAddress is no Safe on {label}: give the address of the Safe")
