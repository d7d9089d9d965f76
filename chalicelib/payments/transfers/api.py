"""The views that list the transfers of a link or of a request, with their classification and refunds."""

from chalicelib.base.addresses import address_of_log
from chalicelib.base.money import format_amount
from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT
from chalicelib.chains.catalogue.networks import require_network
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.payments.records import Payment, UnmatchedTransfer
from chalicelib.payments.requests.rules import amount_text, currency_of, invoice_of, stated_field
from chalicelib.payments.transactions import TransactionAnswer, explanation_answer, transaction_answer
from chalicelib.payments.transfers import flows, order_refunds, schemas
from chalicelib.payments.transfers.flows import ListedTransfer, Listing
from chalicelib.payments.transfers.refund_offers import RefundOffer
from chalicelib.payments.transfers.rules import ClassifiedTransfer
from chalicelib.platform.http.view import Call
from chalicelib.platform.settings import ValueForm


def list_transfers(call: Call[None, None]) -> schemas.TransfersAnswer:
    listing = flows.list_of_link(call.services, call.path["token"], Viewer.of(call.caller))
    return schemas.TransfersAnswer(
        token=call.path["token"], transfers=_transfers(call, listing), truncated=listing.truncated
    )


def list_transfers_of_request(call: Call[None, None]) -> schemas.RequestTransfersAnswer:
    request, listing = flows.list_of_request(call.services, call.path["request_id"], Viewer.of(call.caller))
    return schemas.RequestTransfersAnswer(
        requestId=request.request_id,
        paymentReference=request.payment_reference,
        transfers=_transfers(call, listing),
        truncated=listing.truncated,
    )


def refund_request(call: Call[schemas.RefundRequest, None]) -> schemas.OrderRefundAnswer:
    name, body = call.path["request_id"], call.body
    made = order_refunds.refund(call.services, name, Viewer.of(call.caller), body.amount, body.to)
    request, offer = made.request, made.offer
    decimals = offer.token.decimals
    return schemas.OrderRefundAnswer(
        requestId=request.request_id,
        paymentReference=request.payment_reference,
        payer=offer.payer,
        amount=format_amount(offer.amount, decimals),
        currency=offer.token.id,
        refundedAmount=format_amount(request.refunded, decimals),
        remainingAmount=format_amount(made.left, decimals),
        transactions=_transactions(offer, call.services.settings.value_form("plain")),
        explanation=[explanation_answer(each) for each in offer.explanations],
    )


def _transfers(call: Call[None, None], listing: Listing) -> list[schemas.TransferAnswer]:
    return [_transfer(each, call.services.settings.value_form("plain")) for each in listing.transfers]


def _transfer(listed: ListedTransfer, value_form: ValueForm) -> schemas.TransferAnswer:
    each = listed.classified
    request, transfer, token = each.request, each.transfer, each.token
    invoice = invoice_of(request)
    paid = transfer if isinstance(transfer, Payment) else None
    return schemas.TransferAnswer.from_record(
        transfer,
        requestId=request.request_id,
        paymentReference=request.payment_reference,
        classification=each.classification,
        late=each.late,
        counted=each.counts,
        payee=_payee(each),
        currency=token.id if token else None,
        tokenAddress=_token_address(each),
        amount=format_amount(transfer.amount, token.decimals) if token else None,
        baseUnits=str(transfer.amount),
        invoiceCurrency=invoice.id,
        countedAmount=amount_text(paid.value, request) if paid and each.counts else None,
        expectedAmount=amount_text(request.amount, request),
        excessAmount=None if each.excess is None else amount_text(each.excess, request),
        feeAmount=format_amount(paid.fee_amount, currency_of(request).decimals) if paid else None,
        payerAddress=listed.payer,
        recoveryAction=each.action,
        refund=_refund(listed.refund, value_form) if listed.refund else None,
        refundUnavailable=listed.unavailable,
        **(stated_field(transfer, token) if token else {}),
    )


def _payee(each: ClassifiedTransfer) -> str:
    """The receiver: the request's payee for a payment, for an unmatched transfer the address in its log."""
    if isinstance(each.transfer, UnmatchedTransfer):
        return _display_address(each.transfer, each.transfer.payee)
    return each.request.payee


def _token_address(each: ClassifiedTransfer) -> str | None:
    if isinstance(each.transfer, UnmatchedTransfer):
        address = each.transfer.token_address
        return _display_address(each.transfer, address) if address else None
    return each.token.address if each.token and not each.token.is_native else None


def _display_address(transfer: UnmatchedTransfer, address: str) -> str:
    return address_of_log(address, require_network(transfer.network).family)


def _refund(refund: RefundOffer, value_form: ValueForm) -> schemas.RefundAnswer:
    return schemas.RefundAnswer(
        payer=refund.payer,
        amount=format_amount(refund.amount, refund.token.decimals),
        currency=refund.token.id,
        status="sent" if refund.is_sent else "offered",
        sentAmount=format_amount(refund.sent, refund.token.decimals),
        txHash=refund.tx_hash,
        transactions=_transactions(refund, value_form),
        explanation=[explanation_answer(each) for each in refund.explanations],
    )


def _transactions(refund: RefundOffer, value_form: ValueForm) -> list[TransactionAnswer]:
    answers = [transaction_answer(each, value_form) for each in refund.transactions]
    if refund.token.network != "tron" or not answers:
        return answers
    limits = (APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT)
    return [each.model_copy(update={"feeLimit": limit}) for each, limit in zip(answers, limits, strict=True)]
