"""Records announced transactions for links, and withdraws them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.chains.calldata.wallets.safe import SafeTerms, safe_tx_hash
from chalicelib.chains.catalogue.networks import Network
from chalicelib.chains.nodes.agreement import read_agreed_head
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.checkout.flows import safe_transactions
from chalicelib.payments.announcements import admission
from chalicelib.payments.announcements.admission import AnnouncedStart, Announcement
from chalicelib.payments.announcements.bridges import recording as bridge_recording
from chalicelib.payments.announcements.observing import nonce_of, proof_of, read_proposal, read_sent
from chalicelib.payments.announcements.rules import withdraw_announced
from chalicelib.payments.links.multicalls.reading import add_children
from chalicelib.payments.links.reading import Viewer, load_stored, load_visible, screen_link
from chalicelib.payments.links.records import AnnouncedTransaction, PayableLink, Proof
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.ownership import check_changes
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts

_NONCES = 5
"""With how many nonces, from the Safe's on, the hash of the link's own transactions is computed: a Safe may have
other transactions in its queue."""


@retry_conflicts(5)
def record(
    services: Services, token: str, viewer: Viewer, draft: Announcement
) -> tuple[PayableLink, AnnouncedTransaction]:
    """Records an announced transaction for a link; returns the pending one if it is for the same transaction.

    The announced transaction is written with the link, on condition that the link's version is unchanged: so two
    announced transactions, or an announced transaction and the payment that completes the link, conflict, and the later
    one is decided again. An announced transaction of a multicall locks the multicall, not its children, and ends when
    the last child is paid; a transaction of another chain is recorded for each child that it pays, and for the
    multicall only as long as that is not known. Raises what
    `check_payable` raises, but not because of other pending announced transactions of this link; BadRequest,
    ChainUnavailable, and WriteConflict after five conflicts.
    """
    viewer = replace(viewer, announcer=None)  # what is written back has every announced transaction
    stored = load_stored(services, token, viewer)
    if stored.commerce is not None:
        raise BadRequest("A commerce payment waits for no announced transaction: its status follows the escrow")
    payable, parts = add_children(services, stored)
    known = admission.pending_for(payable, draft)
    if known is not None and known.link_token != token:
        return payable, known  # of the multicall that has claimed the link
    now, lifetime = services.clock(), timedelta(seconds=services.settings.safe_transaction_lifetime_seconds)
    if known is not None and not _is_missing(known):
        start = AnnouncedStart(known.wallet, known.nonce, known.scanned_to, lifetime, viewer.is_public)
        start = replace(start, network=known.network, bridge_transfer=known.bridge_transfer)
    else:
        _check_open(screen_link(services, payable), now)
        if bridge_recording.is_bridge_transfer(payable, draft):
            children = bridge_recording.children_paid(services, payable, parts, draft)
            if children:
                recorded = [record(services, child, viewer, draft) for child in children]
                return payable, recorded[0][1]
        start = _start(services, payable, parts, draft, AnnouncedStart(None, None, 0, lifetime, viewer.is_public))
    new = admission.create_announced_transaction(payable, draft, start, now, services.entropy)
    written, announced = admission.admit_announced(payable, new, lifetime)
    if written == payable.announcements:
        return payable, announced
    services.store.write(stored.link, written)
    return payable, announced


@retry_conflicts(5)
def withdraw(services: Services, token: str, viewer: Viewer) -> AnnouncedTransaction:
    """Ends the pending announced transactions of a link, or of its multicall, for the link's owner; returns the first.

    The write is conditional on the version that was read, so a concurrent check cannot overwrite it or be overwritten.
    Raises NotFound, Forbidden, and WriteConflict after five conflicts.
    """
    payable, _ = add_children(services, load_visible(services, token, viewer))
    check_changes(viewer, payable)
    announcements = withdraw_announced(payable)
    services.store.write(announcements)
    announced = announcements.first
    services.log.info("announced transactions withdrawn", extra={"announced_id": announced.announced_id})
    return announced


def _check_open(payable: PayableLink, now: datetime) -> None:
    """Raises what `check_payable` raises, but not because of other pending announced transactions of this very link,
    nor because the service makes a payment of it or somebody is asked to sign one: what was sent is recorded all the
    same."""
    known = payable.announcements
    is_of_multicall = known is not None and known.link_token != payable.link.token
    requests = tuple(replace(each, execution=None) for each in payable.requests)
    others = known if is_of_multicall else None
    check_payable(replace(payable, requests=requests, announcements=others, signing=None), now)


def _start(
    services: Services, payable: PayableLink, parts: Sequence[PayableLink], draft: Announcement, start: AnnouncedStart
) -> AnnouncedStart:
    """The start of a new announced transaction. Events are read from one range before detection's cursor, because the
    owners may have executed the transaction before they announced it."""
    if bridge_recording.is_bridge_transfer(payable, draft):
        return _start_elsewhere(services, payable, parts, draft, start)
    chain = admission.check_draft(payable, draft, services.clock())
    cursor = scan_store.cursor(services.store, chain.name)
    if cursor is None:
        raise ChainUnavailable(f"Detection has not begun on {chain.name} yet: try again in a minute")
    start = replace(start, scanned_to=max(cursor.scanned_to - chain.log_range, 0))
    if draft.tx_hash is not None:
        sent = read_sent(services, chain.name, draft.tx_hash, cursor.scanned_to)
        if sent is None:
            return start
        admission.check_sent(payable, sent, cursor.scanned_to)
        return replace(start, wallet=sent.sender, nonce=nonce_of(chain.name, sent), proof=Proof.SENT)
    start = _with_safe(services, chain, payable, parts, draft, start)
    for part in parts:
        admission.check_payer(part.link, start.wallet)
    return start


def _is_missing(known: AnnouncedTransaction) -> bool:
    """Whether the node did not have a transaction of the link's own chain when it was announced: it is asked again."""
    return known.safe_tx_hash is None and known.proof is None and known.bridge_transfer is None


def _start_elsewhere(
    services: Services, payable: PayableLink, parts: Sequence[PayableLink], draft: Announcement, start: AnnouncedStart
) -> AnnouncedStart:
    """The start of an announced transaction on another chain than the link's. A Safe's events are read from one range
    before the newest block on, which is what the nodes agree on: before that nothing is looked for."""
    admission.check_deadline(draft, services.clock())
    chain, start = bridge_recording.start_announced(services, payable, parts, draft, start)
    if draft.safe_tx_hash is None:
        return start
    first = max(read_agreed_head(services.chains.evm(chain.name)).value - chain.log_range, 0)
    start = _with_safe(services, chain, payable, (), draft, replace(start, scanned_to=first))
    for part in parts:
        admission.check_payer(part.link, start.wallet)
    return start


def _with_safe(
    services: Services,
    chain: Network,
    payable: PayableLink,
    parts: Sequence[PayableLink],
    draft: Announcement,
    start: AnnouncedStart,
) -> AnnouncedStart:
    """The start with what is known of a multisig transaction: its Safe, its nonce, and the proof that they are right.

    Raises BadRequest if the Safe that the payer names is not one, or not the one of the transaction.
    """
    named, announced = draft.payer_address, draft.safe_tx_hash
    assert announced is not None, "it is a multisig transaction"
    first = _nonce_of_safe(services.chains.evm(chain.name), chain.label, named) if named is not None else 0
    proposal, _ = read_proposal(services, payable.link.account_id, chain.name, announced, set())
    if proposal is not None:
        if named is not None and not same_address(named, proposal.safe):
            raise BadRequest("payerAddress is not the Safe of this transaction: give the Safe that executes it")
        return replace(start, wallet=proposal.safe, nonce=proposal.terms.nonce, proof=proof_of(payable, proposal))
    if named is None:
        return start
    for transaction in safe_transactions(services, payable.link, parts):
        for nonce in range(first, first + _NONCES):
            if safe_tx_hash(chain.chain_id, named, transaction, SafeTerms(nonce)) == announced:
                return replace(start, wallet=named, nonce=nonce, proof=Proof.COMPUTED)
    return replace(start, wallet=named)


def _nonce_of_safe(chain: EvmChain, label: str, address: str) -> int:
    """The nonce of a Safe's next transaction.

    Raises BadRequest if there is no Safe at the address, ChainUnavailable if the node does not answer.
    """
    if not chain.has_code(address):
        raise BadRequest(f"payerAddress is not a contract on {label}: give the address of the Safe")
    nonce = chain.safe_nonce(address, chain.head())
    if nonce is None:
        raise BadRequest(f"payerAddress is not a Safe on {label}: give the address of the Safe")
    return nonce
