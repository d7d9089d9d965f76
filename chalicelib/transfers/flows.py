"""Lists the transfers of a link, and builds the refunds of amounts that were not owed."""

from collections.abc import Mapping, Sequence

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.calldata import erc20, fee_proxy
from chalicelib.calldata.checkout import spender_of
from chalicelib.calldata.explain import explain
from chalicelib.calldata.explanation import Explanation
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.tokens import Token
from chalicelib.chain.receipts import PaidTransfer, PaymentSender
from chalicelib.links import store as link_store
from chalicelib.links.reading import Viewer, load_visible
from chalicelib.links.records import PaymentType, SecurePayment
from chalicelib.links.rules import check_unlocked
from chalicelib.recording import unmatched
from chalicelib.requests import store as request_store
from chalicelib.requests.records import Request
from chalicelib.requests.references import payment_reference
from chalicelib.services import Services
from chalicelib.transfers import rules as transfers
from chalicelib.transfers.rules import ClassifiedTransfer, TransfersOfChildren

MAX_LISTED = 1000
"""The most transfers in one response: anybody can add to them."""
MAX_REFUNDS = 50
"""The most refunds in one response: each payer is read from a receipt, on Tron with one call per receipt."""

_BY_CONTRACT = "A contract paid, maybe with the money of somebody else: ask the payer where to send it"


@frozen
class Refund:
    """The transactions that the payee signs to return an amount, in base units, to its payer through the fee proxy.

    For a token the first one approves the exact amount, whatever was approved before.
    """

    token: Token
    payer: str
    amount: BaseUnits
    transactions: tuple[Transaction, ...]
    explanations: tuple[Explanation, ...]


@frozen
class ListedTransfer:
    """A transfer with its refund. If an amount is refundable and `refund` is None, `unavailable` says why.

    `payer` is the payer of a refundable transfer, as read from the chain.
    """

    classified: ClassifiedTransfer
    payer: str | None = None
    refund: Refund | None = None
    unavailable: str | None = None


@frozen
class Listing:
    """The transfers of a link. `truncated` if there are more than MAX_LISTED, payments that are too small to be listed,
    or maybe more unmatched transfers than are stored."""

    transfers: tuple[ListedTransfer, ...]
    truncated: bool


def list_transfers(services: Services, token: str, account_id: str, client_id: str | None) -> Listing:
    """Every transfer of a link's requests, request by request.

    One query for the link and two per request, for its payments and its unmatched transfers; one more for a link that
    was merged into a batch, whose expiry decides what is late. The node is called only if an amount is refundable; if
    it does not answer, the list has no refunds.

    Raises NotFound, TransfersOfChildren for a multicall, and LinkLocked while a multisig transaction is pending for the
    link.
    """
    payment = load_visible(services, token, Viewer(account_id, client_id))
    if payment.link.payment_type is PaymentType.MULTICALL:
        raise TransfersOfChildren(payment.link.child_tokens)
    check_unlocked(payment)
    current = link_store.successor(services.store, payment) or payment
    classified, is_truncated = list[ClassifiedTransfer](), False
    for request in payment.requests:
        paid = request_store.payments(services.store, request.request_id)
        stored = request_store.unmatched_transfers(services.store, request.request_id)
        classified += transfers.classify(current, request, paid, stored)
        is_truncated = is_truncated or unmatched.may_be_truncated(request) or request.unlisted_count > 0
    listed = _with_refunds(services, classified[:MAX_LISTED], _known_wallets(payment, current))
    return Listing(listed, is_truncated or len(classified) > MAX_LISTED)


def _known_wallets(*payments: SecurePayment) -> frozenset[str]:
    """The addresses of known payers, which may be contracts: the creators of payouts, and the Safes of intents."""
    known = [each.link.creator_wallet for each in payments]
    known += [each.intent.safe for each in payments if each.intent is not None]
    return frozenset(hex_address(wallet) for wallet in known if wallet is not None)


def _with_refunds(
    services: Services, classified: Sequence[ClassifiedTransfer], wallets: frozenset[str]
) -> tuple[ListedTransfer, ...]:
    """The transfers with their refunds, if the node answers. Refundable transfers of a link are all on one network."""
    refundable = [each for each in classified if each.refundable][:MAX_REFUNDS]
    try:
        payers = _payers(services, refundable)
    except ChainUnavailable as error:
        reason = error.message
        return tuple(ListedTransfer(each, unavailable=reason if each.refundable else None) for each in classified)
    return tuple(_listed_transfer(each, payers, wallets) for each in classified)


def _payers(
    services: Services, refundable: Sequence[ClassifiedTransfer]
) -> dict[ClassifiedTransfer, PaymentSender | None]:
    if not refundable:
        return {}
    chain = services.chains.of(refundable[0].request.network)
    return dict(zip(refundable, chain.payers_of([_paid_transfer(each) for each in refundable]), strict=True))


def _paid_transfer(each: ClassifiedTransfer) -> PaidTransfer:
    """The transfer as the node needs it: transaction hashes with 0x, on Tron, too."""
    assert each.token is not None, "only a catalogued token is refunded"
    return PaidTransfer(
        tx_hash="0x" + each.transfer.tx_hash.removeprefix("0x"),
        token_address=None if each.token.is_native else each.token.address,
        payee=each.request.payee,
        amount=each.transfer.amount,
    )


def _listed_transfer(
    each: ClassifiedTransfer, payers: Mapping[ClassifiedTransfer, PaymentSender | None], wallets: frozenset[str]
) -> ListedTransfer:
    if not each.refundable:
        return ListedTransfer(each)
    if each not in payers:
        return ListedTransfer(each, unavailable=f"One answer has {MAX_REFUNDS} refunds at most")
    payer = payers[each]
    if payer is None:
        return ListedTransfer(transfers.without_payer(each), unavailable="The chain does not tell who paid")
    if not payer.is_wallet and hex_address(payer.address) not in wallets:
        return ListedTransfer(transfers.without_payer(each), payer.address, unavailable=_BY_CONTRACT)
    assert each.token is not None, "only a catalogued token is refunded"
    return ListedTransfer(each, payer.address, _refund(each.request, each.token, each.refundable, payer.address))


def _refund(request: Request, token: Token, amount: BaseUnits, payer: str) -> Refund:
    reference = payment_reference(request.request_id, request.salt, payer)
    if token.is_native:
        pay = fee_proxy.pay_native(token.network, payee=payer, amount=amount, reference=reference)
        transactions: tuple[Transaction, ...] = (pay,)
    else:
        pay = fee_proxy.pay_erc20(
            token.network, token=token.address, payee=payer, amount=amount, reference=reference
        )
        transactions = (erc20.approve(token.address, spender_of(token, batched=False), amount), pay)
    return Refund(token, payer, amount, transactions, explain(token.network, transactions))
