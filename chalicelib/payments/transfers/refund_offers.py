"""Refund offers: which amounts of a link's transfers are to be returned to whom, and what of them was sent.

An offer is for one transfer. The transfers of one payer, request and token share a reference, so what was sent with it
is taken as sent for the earliest of them first.
"""

from collections.abc import Mapping

from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.checkout import spender_of
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.explanations.parts import Explanation
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.chains.nodes.history.receipts import PaidTransfer
from chalicelib.payments.requests.payments.records import Payment, Refund, UnmatchedTransfer
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import payment_reference, reference_topic
from chalicelib.payments.transfers.rules import ClassifiedTransfer

RefundKey = tuple[str, str]
"""Topic and currency of a Refund."""


@frozen
class RefundOffer:
    """The refund of `amount`, of which `sent` was sent, last by `tx_hash`. Amounts are in base units.

    `transactions` are what the payee signs to return the rest to the payer through the fee proxy; none once all is
    sent. For a token the first one approves the exact amount, whatever was approved before.
    """

    token: Token
    payer: str
    amount: BaseUnits
    sent: BaseUnits
    tx_hash: str | None
    transactions: tuple[Transaction, ...]
    explanations: tuple[Explanation, ...]

    @property
    def is_sent(self) -> bool:
        return self.sent >= self.amount


def refund_key(each: ClassifiedTransfer, payer: str) -> RefundKey:
    """The key of the Refund of a refundable transfer to its payer."""
    assert each.token is not None, "only a catalogued token is refunded"
    return order_refund_key(each.request, payer, each.token.id)


def order_refund_key(request: Request, receiver: str, currency: str) -> RefundKey:
    """The key of the Refund of a request to an address in a currency."""
    return reference_topic(_reference(request, receiver)), currency


def paid_transfer_of(request: Request, transfer: Payment | UnmatchedTransfer, token: Token) -> PaidTransfer:
    """A transfer as the node needs it: transaction hashes with 0x, on Tron, too."""
    tx_hash, address = "0x" + transfer.tx_hash.removeprefix("0x"), None if token.is_native else token.address
    return PaidTransfer(tx_hash, address, request.payee, transfer.amount, transfer.event_key)


def offer_of(request: Request, token: Token, receiver: str, amount: BaseUnits) -> RefundOffer:
    """A refund of an amount of a request, of which nothing is sent."""
    transactions = _transactions(token, receiver, amount, _reference(request, receiver))
    return RefundOffer(token, receiver, amount, BaseUnits(0), None, transactions, explain(token.network, transactions))


def offers(
    payers: Mapping[ClassifiedTransfer, str], refunds: Mapping[RefundKey, Refund]
) -> dict[ClassifiedTransfer, RefundOffer]:
    """The offers of refundable transfers, given in the order of the list with their payers."""
    left = {key: int(refund.sent) for key, refund in refunds.items()}
    made = {}
    for each, payer in payers.items():
        key = refund_key(each, payer)
        sent = min(left.get(key, 0), each.refundable)
        left[key] = left.get(key, 0) - sent
        made[each] = _offer(each, payer, BaseUnits(sent), refunds[key].tx_hash if sent else None)
    return made


def _offer(each: ClassifiedTransfer, payer: str, sent: BaseUnits, tx_hash: str | None) -> RefundOffer:
    token, rest = each.token, BaseUnits(each.refundable - sent)
    assert token is not None, "only a catalogued token is refunded"
    transactions = _transactions(token, payer, rest, _reference(each.request, payer)) if rest else ()
    explanations = explain(token.network, transactions) if transactions else ()
    return RefundOffer(token, payer, each.refundable, sent, tx_hash, transactions, explanations)


def _transactions(token: Token, payer: str, amount: BaseUnits, reference: bytes) -> tuple[Transaction, ...]:
    if token.is_native:
        return (fee_proxy.pay_native(token.network, payee=payer, amount=amount, reference=reference),)
    pay = fee_proxy.pay_erc20(token.network, token=token.address, payee=payer, amount=amount, reference=reference)
    return (erc20.approve(token.address, spender_of(token, batched=False), amount), pay)


def _reference(request: Request, payer: str) -> bytes:
    return payment_reference(request.request_id, request.salt, payer)
