"""The transfers of a link, what each of them was, and the refunds of what was not owed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.calldata import erc20, fee_proxy
from chalicelib.calldata.checkout import spender_of
from chalicelib.calldata.explain import explain
from chalicelib.calldata.explanation import Explanation
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.tokens import Token
from chalicelib.chain.receipts import PaidTransfer, PaymentSender
from chalicelib.detection import unmatched
from chalicelib.links import store as link_store
from chalicelib.links.flows import Reader, load_owned
from chalicelib.links.records import PaymentType, SecurePayment
from chalicelib.links.rules import check_unlocked
from chalicelib.requests import store as request_store
from chalicelib.requests.records import Request
from chalicelib.requests.references import payment_reference
from chalicelib.services import Services
from chalicelib.transfers import rules as transfers
from chalicelib.transfers.rules import ClassifiedTransfer, TransfersOfChildren

MAX_LISTED = 1000
"""Transfers in one answer: anybody can add to them."""
MAX_REFUNDS = 50
"""Refunds in one answer: the payer of each is read from a receipt, on tron by a request of its own."""

_BY_CONTRACT = "A contract paid, maybe with the money of somebody else: ask the payer where to send it"


@dataclass(frozen=True)
class Refund:
    """What the payee signs to return base units of a token, through the fee proxy, to the one who sent them.

    A token is approved for the exact amount first, whatever was approved before.
    """

    token: Token
    payer: str
    amount: BaseUnits
    transactions: tuple[Transaction, ...]
    explanations: tuple[Explanation, ...]


@dataclass(frozen=True)
class Listed:
    """A transfer as it is shown. Where something is to be refunded and `refund` is None, `unavailable` says why.

    `payer` is whom the chain names as the payer of what is to be refunded.
    """

    classified: ClassifiedTransfer
    payer: str | None = None
    refund: Refund | None = None
    unavailable: str | None = None


@dataclass(frozen=True)
class Listing:
    """The transfers of a link; `truncated` when there are more than one answer has, or may have been more of those that
    do not count than are kept."""

    transfers: tuple[Listed, ...]
    truncated: bool


def list_transfers(services: Services, token: str, account_id: str, client_id: str | None) -> Listing:
    """Every transfer of a link's requests, one request after the other.

    Reads the link, and payments and unmatched transfers of each request: one query, and two a request; one more for a
    link that was merged into a batch, whose expiry decides what is late. The node is asked only when something is to be
    refunded; if it does not answer, the list has no refunds.

    Raises NotFound, BadRequest for a multicall, whose children have transfers of their own, and Locked while a multisig
    transaction is on its way for the link.
    """
    payment = load_owned(services, token, Reader(account_id, client_id))
    if payment.link.payment_type is PaymentType.MULTICALL:
        raise TransfersOfChildren(payment.link.child_tokens)
    check_unlocked(payment)
    current = link_store.successor(services.store, payment) or payment
    found, is_cut_off = list[ClassifiedTransfer](), False
    for request in payment.requests:
        paid = request_store.payments(services.store, request.request_id)
        kept = request_store.unmatched_transfers(services.store, request.request_id)
        found += transfers.classify(current, request, paid, kept)
        is_cut_off = is_cut_off or unmatched.may_be_truncated(request, kept)
    listed = _with_refunds(services, found[:MAX_LISTED], _wallets(payment, current))
    return Listing(listed, is_cut_off or len(found) > MAX_LISTED)


def _wallets(*payments: SecurePayment) -> frozenset[str]:
    """The contracts that are known to be the wallets of payers: of who made a payout, and the Safe of an intent."""
    known = [each.link.creator_wallet for each in payments]
    known += [each.intent.safe for each in payments if each.intent is not None]
    return frozenset(hex_address(wallet) for wallet in known if wallet is not None)


def _with_refunds(
    services: Services, found: Sequence[ClassifiedTransfer], wallets: frozenset[str]
) -> tuple[Listed, ...]:
    """All requests of a link are on one network, and what is refunded was sent there."""
    wanted = [each for each in found if each.refundable][:MAX_REFUNDS]
    try:
        payers = _payers(services, wanted)
    except ChainUnavailable as error:
        return tuple(Listed(each, unavailable=error.message if each.refundable else None) for each in found)
    return tuple(_listed(each, payers, wallets) for each in found)


def _payers(services: Services, wanted: Sequence[ClassifiedTransfer]) -> dict[ClassifiedTransfer, PaymentSender | None]:
    if not wanted:
        return {}
    chain = services.chains.of(wanted[0].request.network)
    return dict(zip(wanted, chain.payers_of([_paid(each) for each in wanted]), strict=True))


def _paid(each: ClassifiedTransfer) -> PaidTransfer:
    """As the node knows it: on tron, too, it takes a transaction's hash with 0x."""
    assert each.token is not None, "only a catalogued token is refunded"
    return PaidTransfer(
        tx_hash="0x" + each.transfer.tx_hash.removeprefix("0x"),
        token_address=None if each.token.is_native else each.token.address,
        payee=each.request.payee,
        amount=each.transfer.amount,
    )


def _listed(
    each: ClassifiedTransfer, payers: Mapping[ClassifiedTransfer, PaymentSender | None], wallets: frozenset[str]
) -> Listed:
    if not each.refundable:
        return Listed(each)
    if each not in payers:
        return Listed(each, unavailable=f"One answer has {MAX_REFUNDS} refunds at most")
    payer = payers[each]
    if payer is None:
        return Listed(transfers.without_payer(each), unavailable="The chain does not tell who paid")
    if not payer.is_wallet and hex_address(payer.address) not in wallets:
        return Listed(transfers.without_payer(each), payer.address, unavailable=_BY_CONTRACT)
    assert each.token is not None, "only a catalogued token is refunded"
    return Listed(each, payer.address, _refund(each.request, each.token, each.refundable, payer.address))


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
