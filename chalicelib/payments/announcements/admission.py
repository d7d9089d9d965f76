"""Announcements of transactions: which are recorded for a link, and which of them lock it.

An announcement is a claim of whoever has the link. It becomes more than that by a proof: the hash of a multisig
transaction is computed from the link's own transactions, or the Safe Transaction Service has it and it pays this link.

A public announcement, by a client id that anybody can send, such as the payment page's, ends after UNKNOWN_AFTER unless
the Safe Transaction Service knows it by then. A link accepts few of those: MAX_CLAIMS, and MAX_COMPUTED if the hash is
computed, so that claims leave room for the Safe itself. What the service knows is limited for each Safe alone.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base import ids
from chalicelib.base.addresses import address_bytes, same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen, make_from
from chalicelib.base.ids import Entropy
from chalicelib.chains.calldata.transaction import PaidEvent, SentTransaction
from chalicelib.chains.catalogue.contracts import payment_contracts
from chalicelib.chains.catalogue.networks import Network, require_network
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.crosschain.core.records import LONGEST_QUOTE, BridgeTransfer
from chalicelib.payments.announcements import rules
from chalicelib.payments.links.errors import LinkClosed, LinkLocked, WrongWallet
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    Link,
    LinkAnnouncements,
    LinkStatus,
    Payable,
    PayableLink,
    Proof,
)
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.requests.rules import find_mismatch

MAX_CLAIMS, MAX_COMPUTED = 3, 6
"""Public announcements of a link that the Safe Transaction Service does not know; of those without any proof, and in
all."""
MAX_PER_SAFE = 3
"""Public announcements of one Safe's transactions that the service knows and that did not pay the link."""
MAX_PENDING = 12
"""Pending announced transactions of a link, whoever announces them."""


@frozen
class Announcement:
    """An announcement by a payer: `chain` and `token` are the label and symbol paid with, `payer_address` the Safe.

    `token` is None in the form for multicalls. `bridge_tool` is the bridge that a payment from another chain goes
    through, as the payer says. `announcer` is the SHA-256 hash of the secret for which it does not lock the link.
    """

    tx_hash: str | None
    safe_tx_hash: str | None
    deadline: datetime | None
    chain: str
    token: str | None
    payer_address: str | None
    bridge_tool: str | None = None
    announcer: str | None = None


@frozen
class AnnouncedStart:
    """The initial state of an announced transaction: the wallet and its transaction's nonce if known, the last block
    not to search, how long the announced transaction can be pending, whether anybody could announce it, and its proof.

    A payment from another chain has that `network`, and a `bridge_transfer`.
    """

    wallet: str | None
    nonce: int | None
    scanned_to: int
    lifetime: timedelta
    is_public: bool = False
    proof: Proof | None = None
    network: str | None = None
    bridge_transfer: BridgeTransfer | None = None


def pending_for(payable: PayableLink, draft: Announcement) -> AnnouncedTransaction | None:
    """The link's pending announced transaction that a draft repeats; None if it is for another transaction, or perhaps
    for one.

    A multisig transaction is the same if its Safe is, or if no Safe is named and the announced transaction's Safe is
    not a mere claim.
    """
    if payable.announcements is None or payable.link.status is LinkStatus.COMPLETED:
        return None
    return next((each for each in payable.announcements.all if _repeats(draft, each)), None)


def _repeats(draft: Announcement, announced: AnnouncedTransaction) -> bool:
    if announced.status is not AnnouncedStatus.PENDING or announced.safe_tx_hash != draft.safe_tx_hash:
        return False
    if require_network(announced.network).label != draft.chain:
        return False
    if announced.safe_tx_hash is None:
        return announced.transaction_hash == draft.tx_hash
    if draft.payer_address is None:
        return announced.payer_address is None or announced.proof is not None
    return announced.wallet is not None and same_address(announced.wallet, draft.payer_address)


def check_draft(payable: PayableLink, draft: Announcement, now: datetime) -> Network:
    """The network that the announced transaction is executed on. Raises BadRequest if it cannot be tracked.

    A multicall has to be given the requests of its children. It has none if all of them were merged into other links.
    """
    if not payable.requests:
        raise LinkClosed(LinkStatus.INVALIDATED)
    networks = {request.network for request in payable.requests}
    chain = require_network(payable.requests[0].network)
    if chain.family == "tron" and draft.safe_tx_hash is not None:
        raise BadRequest("Multisig payments are not supported on Tron: announce the transaction by its txHash")
    if len(networks) > 1 or draft.chain != chain.label or not _pays_in(payable, draft.token, chain):
        raise BadRequest(
            "Unsupported crosschain configuration: this link is paid in "
            f"{payable.requests[0].currency} on {chain.label}, and not from {draft.token} on {draft.chain}"
        )
    check_deadline(draft, now)
    return chain


def check_deadline(draft: Announcement, now: datetime) -> None:
    """Raises BadRequest if the payer's own deadline has passed."""
    if draft.deadline is not None and draft.deadline <= now:
        raise BadRequest("safePaymentDeadline must be in the future")


def _pays_in(payable: PayableLink, symbol: str | None, chain: Network) -> bool:
    """Whether a request is in a token with that symbol, or with the id `<symbol>-<network>`, such as USDC-sepolia.

    True if none is named.
    """
    if symbol is None:
        return True
    named = token_with_id(f"{symbol}-{chain.name}")
    currencies = (token_with_id(request.currency) for request in payable.requests)
    return any(token is not None and (token == named or token.symbol == symbol) for token in currencies)


def check_payer(link: Link, safe: str | None) -> None:
    """Raises WrongWallet if a payout would be paid by another wallet than its creator's."""
    creator = link.creator_wallet
    if creator is not None and safe is not None and not same_address(creator, safe):
        raise WrongWallet(creator)


def names_payment(payable: Payable, to: str | None, data: str) -> bool:
    """Whether a transaction's bytes hold a payment of the link: a reference of it, and a payment contract's address.

    Both may be deep inside the calls of a smart wallet, so this does not say that the payment will succeed.
    """
    raw = (address_bytes(to) if to else b"") + bytes.fromhex(data.removeprefix("0x"))
    contracts = payment_contracts(payable.requests[0].network)
    has_reference = any(bytes.fromhex(each.payment_reference[2:]) in raw for each in payable.requests)
    return has_reference and any(address_bytes(each) in raw for each in contracts)


def check_sent(payable: PayableLink, sent: SentTransaction, scanned_to: int) -> None:
    """Raises BadRequest unless a transaction that the node has can still pay the link."""
    if not pays_link(payable, sent):
        raise BadRequest("This transaction does not pay this link: announce the payment, not an approval")
    if sent.success is False:
        raise BadRequest("This transaction failed: get the transactions from /pay again")
    if sent.block is not None and sent.block <= scanned_to:
        raise BadRequest("This transaction is confirmed, so its payment is detected without an intent")


def pays_link(payable: PayableLink, sent: SentTransaction) -> bool:
    """Whether a transaction names a payment of the link, or has paid one."""
    return names_payment(payable, sent.to, sent.data) or bool(requests_paid_by(payable, sent))


def requests_paid_by(payable: PayableLink, sent: SentTransaction) -> list[Request]:
    """The requests of the link that a transaction has paid: its events have their reference, token and payee."""
    return [each for each in payable.requests if any(_pays(event, each) for event in sent.paid)]


def _pays(event: PaidEvent, request: Request) -> bool:
    reference = bytes.fromhex(request.payment_reference[2:])
    is_right = find_mismatch(request, request.network, event.token_address, event.payee) is None
    return is_right and event.topic == reference_topic(reference)


def create_announced_transaction(
    payable: PayableLink, draft: Announcement, start: AnnouncedStart, now: datetime, entropy: Entropy
) -> AnnouncedTransaction:
    """A new announced transaction, which is not part of the link's record yet."""
    end = now + start.lifetime
    if start.bridge_transfer is not None:  # it ends by the chains' clocks, whatever the payer says
        known = start.bridge_transfer.deposit
        ends_at = known.execution_deadline if known is not None else now + LONGEST_QUOTE
    else:
        ends_at = min(draft.deadline, end) if draft.deadline else end
    return make_from(
        AnnouncedTransaction,
        start,
        link_token=payable.link.token,
        announced_id=ids.ulid(now, entropy),
        network=start.network or payable.requests[0].network,
        safe_tx_hash=draft.safe_tx_hash,
        deadline=draft.deadline,
        payer_address=draft.payer_address,
        status=AnnouncedStatus.PENDING,
        created_at=now,
        ends_at=ends_at,
        check_at=now + rules.MIN_CHECK_DELAY,
        is_public=start.is_public,
        account_id=payable.link.account_id,
        proof=start.proof,
        transaction_hash=draft.tx_hash,
        missing_since=now if draft.tx_hash is not None and start.proof is None else None,
        bridge_transfer=start.bridge_transfer,
        announcers=(draft.announcer,) if draft.announcer is not None else (),
    )


def admit_announced(
    payable: PayableLink, new: AnnouncedTransaction, lifetime: timedelta
) -> tuple[LinkAnnouncements, AnnouncedTransaction]:
    """The link's announced transactions with a new one, and which of them that is: the new one, or the pending one for
    the same transaction with what the new one adds.

    Raises BadRequest if its transaction has ended already or it is one public announcement too many, LinkLocked if too
    many are pending. A public announcement does not prolong an announced transaction beyond `lifetime`.
    """
    before = payable.announcements
    known = before.all if before else ()
    same = next((each for each in known if each.status is AnnouncedStatus.PENDING and rules.is_same(each, new)), None)
    if same is not None:
        bounded = min(new.ends_at, same.created_at + lifetime) if new.is_public else new.ends_at
        announced = rules.merge_announced(same, replace(new, ends_at=bounded))
        return rules.gather_announced(before, (announced if each is same else each for each in known)), announced
    if any(each.status in _RETURNED and rules.is_same(each, new) for each in known):
        raise BadRequest("The payer has this payment back: get the transactions from /pay again")
    if any(each.status in _NONCE_USED and rules.is_same(each, new) for each in known):
        raise BadRequest(
            "This transaction failed or was replaced: get the transactions from /pay again"
            if new.safe_tx_hash is None
            else "This multisig transaction was executed or replaced already: propose a new one"
        )
    if sum(each.is_locking for each in known) >= MAX_PENDING:
        raise LinkLocked(payable)
    claims = before.public_claims if before else 0
    if new.is_public and not _has_room(known, new, claims):
        if new.safe_tx_hash is not None:
            raise BadRequest(
                "Too many multisig transactions were announced for this link and did not pay it, so it waits for no "
                "more of them: execute yours, its payment is detected all the same, or ask the payee to announce it"
            )
        new = replace(new, locks=False)
    elif new.is_public:
        claims += new.proof not in _VOUCHED
    return replace(rules.gather_announced(before, (*known, new)), public_claims=claims), new


def _has_room(known: tuple[AnnouncedTransaction, ...], new: AnnouncedTransaction, claims: int) -> bool:
    """Whether a public announcement is not one too many to lock the link.

    A transaction that is executed without locking the link pays it all the same.
    """
    if new.proof is Proof.SENT:
        return True
    if new.proof is Proof.PROPOSED:
        earlier = (
            each for each in known if each.is_public and each.proof is Proof.PROPOSED and rules.ends_unpaid(each)
        )
        return sum(same_address(str(each.wallet), str(new.wallet)) for each in earlier) < MAX_PER_SAFE
    return claims < (MAX_CLAIMS if new.proof is None else MAX_COMPUTED)


_VOUCHED = (Proof.PROPOSED, Proof.SENT)
"""Proofs that take a wallet of one's own."""
_NONCE_USED = (AnnouncedStatus.FAILED, AnnouncedStatus.REPLACED)
"""A transaction that ended so cannot be executed any more, because its nonce is used."""
_RETURNED = (AnnouncedStatus.PARTIAL, AnnouncedStatus.REFUNDED)
"""A deposit that ended so has been announced to the merchant, and cannot arrive any more."""
