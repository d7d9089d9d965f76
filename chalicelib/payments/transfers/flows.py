"""Lists the transfers of a link or of a request, and builds the refunds of amounts that were not owed.

Refunds and their references are kept before their calldata is shown, so that the scanner finds each that is sent.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen, make_from
from chalicelib.chains.nodes.agreement import agree
from chalicelib.chains.nodes.history.receipts import PaymentSender
from chalicelib.chains.nodes.nodes import NodesDisagree, first_node_of
from chalicelib.chains.nodes.readings import Agreed
from chalicelib.payments.links import store as link_store
from chalicelib.payments.links.reading import Viewer, load_request, load_visible
from chalicelib.payments.links.records import Link, PayableLink, PaymentType, Proof
from chalicelib.payments.recording import unmatched
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment, Refund
from chalicelib.payments.requests.records import Reference, Request
from chalicelib.payments.transfers import refund_offers, rules
from chalicelib.payments.transfers.refund_offers import RefundKey, RefundOffer
from chalicelib.payments.transfers.rules import ClassifiedTransfer, TransfersOfChildren
from chalicelib.platform.emergency_stop.flows import refuse_while_stopped
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import LARGEST_TRANSACTION, with_next_version

MAX_LISTED = 1000
"""The most transfers in one response: anybody can add to them."""
MAX_REFUNDS = LARGEST_TRANSACTION // 2
"""The most refunds in one response: they are stored in one transaction, with two records each, and each payer is read
from a receipt, on Tron with one call per receipt."""
_TIME_FOR_PAYERS = timedelta(seconds=10)
"""After so long no further receipt is asked for by itself."""
_BY_PROVIDER = "The off-ramp provider has received it: ask the provider to return it"
_BY_PAYEE = "The payee paid itself: there is nothing to return"
_BY_BRIDGE = "A bridge brought it from another network: ask the payer where to send it on this one"
_BY_CONTRACT = "A contract paid, maybe with the money of somebody else: ask the payer where to send it"


@frozen
class ListedTransfer:
    """A transfer with its refund. If an amount is refundable and `refund` is None, `unavailable` says why.

    `payer` is who paid: of a refundable transfer as it is read now, else as it was recorded; None if that is not known.
    """

    classified: ClassifiedTransfer
    payer: str | None = None
    refund: RefundOffer | None = None
    unavailable: str | None = None


@frozen
class Listing:
    """The transfers of some requests.

    `truncated` if there are more than MAX_LISTED, payments that are too small to be listed, or maybe more unmatched
    transfers than are stored.
    """

    transfers: tuple[ListedTransfer, ...]
    truncated: bool


def list_of_link(services: Services, token: str, viewer: Viewer) -> Listing:
    """Every transfer of a link's requests, request by request.

    One query for the link, besides those of `_listing`; one more for a link that was merged into a batch, whose expiry
    decides what is late. Raises NotFound, and TransfersOfChildren for a multicall.
    """
    payable = load_visible(services, token, viewer)
    if payable.link.payment_type is PaymentType.MULTICALL:
        raise TransfersOfChildren(payable.link.child_tokens)
    current = link_store.current(services.store, payable) or payable
    return _listing(services, payable.requests, current.link, _known_wallets(payable, current))


def list_of_request(services: Services, name: str, viewer: Viewer) -> tuple[Request, Listing]:
    """The request with this id or payment reference, alone or in a link, and every transfer of it.

    Up to four reads for it, besides those of `_listing`. Raises NotFound.
    """
    request, payable = load_request(services, name, viewer)
    if not isinstance(payable, PayableLink):
        return request, _listing(services, (request,), None, _wallets([request.payer]))
    return request, _listing(services, (request,), payable.link, _known_wallets(payable))


def _listing(services: Services, requests: Sequence[Request], link: Link | None, wallets: frozenset[str]) -> Listing:
    """The transfers of requests, all of one link or one without a link.

    Two queries per request, for its payments and its unmatched transfers. The node is called only if an amount is
    refundable; if it does not answer, the list has no refunds. Refunds that are offered for the first time are stored
    (`kept`).
    """
    classified, is_truncated = list[ClassifiedTransfer](), False
    for request in requests:
        paid = payment_store.payments(services.store, request.request_id)
        stored = payment_store.list_unmatched_transfers(services.store, request.request_id)
        classified += rules.classify(link, request, paid, stored)
        is_truncated = is_truncated or unmatched.may_be_truncated(request) or request.dust_count > 0
    listed = _with_refunds(services, classified[:MAX_LISTED], wallets)
    return Listing(listed, is_truncated or len(classified) > MAX_LISTED)


def _known_wallets(*payments: PayableLink) -> frozenset[str]:
    """The addresses of known payers, which may be contracts: the creators of payouts, and Safes that have proposed or
    executed an announced transaction, or that the link's owner has named. Others may be named by anybody."""
    known = [each.link.creator_wallet for each in payments]
    announcements = [made for each in payments if each.announcements is not None for made in each.announcements.all]
    announcements = [
        each for each in announcements if each.bridge_transfer is None
    ]  # its wallet is one of another network
    named = (
        each for each in announcements if not each.is_public or each.proof is Proof.PROPOSED or each.executed_block
    )
    known += [each.wallet for each in named]
    return _wallets(known)


def _wallets(known: Iterable[str | None]) -> frozenset[str]:
    return frozenset(hex_address(wallet) for wallet in known if wallet is not None)


def _with_refunds(
    services: Services, classified: Sequence[ClassifiedTransfer], wallets: frozenset[str]
) -> tuple[ListedTransfer, ...]:
    """The transfers with their refunds, as far as the nodes say who paid. All of these are on one network."""
    refundable = [each for each in classified if each.refundable][:MAX_REFUNDS]
    try:
        if refundable:
            refuse_while_stopped(services)
        payers, unread = _payers(services, refundable)
    except ChainUnavailable as error:
        reason = error.message
        return tuple(ListedTransfer(each, unavailable=reason if each.refundable else None) for each in classified)
    known = {
        each: payer.address
        for each, payer in payers.items()
        if payer is not None and _unavailable(each, payer, wallets) is None
    }
    wanted = {refund_offers.refund_key(each, payer): (each.request, payer) for each, payer in known.items()}
    offers = refund_offers.offers(known, store_refunds(services, wanted))
    too_many = f"One answer has {MAX_REFUNDS} refunds at most"
    return tuple(
        ListedTransfer(each, unavailable=unread.get(each, too_many))
        if each.refundable and each not in payers
        else _answer_transfer(each, payers, wallets, offers.get(each))
        for each in classified
    )


def _payers(
    services: Services, refundable: Sequence[ClassifiedTransfer]
) -> tuple[dict[ClassifiedTransfer, PaymentSender | None], dict[ClassifiedTransfer, str]]:
    """Who paid transfers, and why that is not known of the others.

    One request to each node. If that fails, one for each transaction, as long as there is time: anybody can make a
    receipt that is too large. Raises NodesDisagree, and ChainUnavailable if all are of one transaction.
    """
    until, by_hash = services.clock() + _TIME_FOR_PAYERS, dict[str, list[ClassifiedTransfer]]()
    for each in refundable:
        by_hash.setdefault(each.transfer.tx_hash, []).append(each)
    try:
        return _read_agreed_payers(services, refundable), {}
    except NodesDisagree:
        raise
    except ChainUnavailable as error:
        if len(by_hash) == 1:
            raise
        reason = error.message
    payers, unread = dict[ClassifiedTransfer, PaymentSender | None](), dict[ClassifiedTransfer, str]()
    for paid_at_once in by_hash.values():
        try:
            if services.clock() < until:
                payers |= _read_agreed_payers(services, paid_at_once)
                continue
        except NodesDisagree:
            raise
        except ChainUnavailable as error:
            reason = error.message
        unread |= dict.fromkeys(paid_at_once, reason)
    return payers, unread


def _read_agreed_payers(
    services: Services, refundable: Sequence[ClassifiedTransfer]
) -> dict[ClassifiedTransfer, PaymentSender | None]:
    if not refundable:
        return {}
    paid = [
        refund_offers.paid_transfer_of(each.request, each.transfer, each.token) for each in refundable if each.token
    ]
    chain = services.chains.of(refundable[0].request.network)
    return _reachable_payers(refundable, agree(chain, lambda node: first_node_of(node).payers_of(paid)))


def _reachable_payers(
    refundable: Sequence[ClassifiedTransfer], read: Agreed[tuple[PaymentSender | None, ...]]
) -> dict[ClassifiedTransfer, PaymentSender | None]:
    return {each: _reachable(each, payer) for each, payer in zip(refundable, read.value, strict=True)}


def _reachable(each: ClassifiedTransfer, payer: PaymentSender | None) -> PaymentSender | None:
    """The address on this network that the payer of a bridged payment named for tokens that cannot be paid, in the
    deposit itself; else the payer as it was read."""
    origin = each.transfer.origin if isinstance(each.transfer, Payment) else None
    if payer is None or payer.bridged_from is None or origin is None or origin.refund_to is None:
        return payer
    return PaymentSender(origin.refund_to, is_wallet=True)


def _answer_transfer(
    each: ClassifiedTransfer,
    payers: Mapping[ClassifiedTransfer, PaymentSender | None],
    wallets: frozenset[str],
    offer: RefundOffer | None,
) -> ListedTransfer:
    if not each.refundable:
        return ListedTransfer(each, each.transfer.payer if isinstance(each.transfer, Payment) else None)
    payer = payers[each]
    if offer is not None:
        return ListedTransfer(each, offer.payer, offer)
    address = payer.address if payer is not None else None
    return ListedTransfer(rules.without_payer(each), address, unavailable=_unavailable(each, payer, wallets))


def _unavailable(each: ClassifiedTransfer, payer: PaymentSender | None, wallets: frozenset[str]) -> str | None:
    """Why the transfer cannot be refunded to its payer; None if it can."""
    if each.request.fiat is not None:
        return _BY_PROVIDER
    if payer is None:
        return "The chain does not tell who paid"
    if hex_address(payer.address) == each.request.payee_in_logs:
        return _BY_PAYEE
    if payer.bridged_from is not None:
        return _BY_BRIDGE
    return None if payer.is_wallet or hex_address(payer.address) in wallets else _BY_CONTRACT


@retry_conflicts(3)
def store_refunds(services: Services, wanted: Mapping[RefundKey, tuple[Request, str]]) -> dict[RefundKey, Refund]:
    """These refunds, each of a request to an address, as they are stored; those that are new are stored now.

    Up to two reads and one transaction. Raises WriteConflict after three conflicts with other callers.
    """
    if not wanted:
        return {}
    stored = payment_store.refunds(services.store, wanted.keys())
    missing = {key: each for key, each in wanted.items() if key not in stored}
    if not missing:
        return stored
    found = request_store.references(services.store, {topic for topic, _ in missing})
    known = {reference.topic for reference in found}
    offered, references = [], dict[str, Reference]()
    for (topic, currency), (request, payer) in missing.items():
        now = services.clock()
        offered.append(make_from(Refund, request, topic=topic, currency=currency, payer=payer, offered_at=now))
        if topic not in known:
            references[topic] = Reference(
                topic, request.payable_id, request.position, is_refund=True, account_id=request.account_id
            )
    services.store.write(*offered, *references.values())
    return {**stored, **{(each.topic, each.currency): with_next_version(each) for each in offered}}
