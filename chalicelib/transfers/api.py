"""The view that lists the transfers of a link, with their classification and refunds."""

from chalicelib.base.addresses import address_of_log
from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.calldata.tron import APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT
from chalicelib.catalogue.networks import network
from chalicelib.checkout.schemas.transactions import TransactionAnswer, explanation_answer, transaction_answer
from chalicelib.http.schemas import iso_or_none
from chalicelib.http.view import Call
from chalicelib.requests.records import Payment, UnmatchedTransfer
from chalicelib.requests.rules import currency_of
from chalicelib.settings import ValueForm
from chalicelib.transfers import flows as transfers
from chalicelib.transfers.flows import ListedTransfer
from chalicelib.transfers.refunds import RefundOffer
from chalicelib.transfers.rules import ClassifiedTransfer
from chalicelib.transfers.schemas import RefundAnswer, TransferAnswer, TransfersAnswer


def list_transfers(call: Call[None, None]) -> TransfersAnswer:
    token, caller, value_form = call.path["token"], call.caller, call.services.settings.transaction_value_form
    listing = transfers.list_transfers(call.services, token, caller.account_id, caller.client_id)
    answers = [_transfer(each, value_form) for each in listing.transfers]
    return TransfersAnswer(token=token, transfers=answers, truncated=listing.truncated)


def _transfer(listed: ListedTransfer, value_form: ValueForm) -> TransferAnswer:
    each = listed.classified
    request, transfer, token = each.request, each.transfer, each.token
    expected = currency_of(request)
    return TransferAnswer(
        requestId=request.request_id,
        paymentReference=request.payment_reference,
        classification=each.classification,
        late=each.late,
        counted=each.counts,
        network=transfer.network,
        txHash=transfer.tx_hash,
        logIndex=transfer.log_index,
        blockNumber=transfer.block_number,
        blockHash=transfer.block_hash,
        payee=_payee(each),
        currency=token.id if token else None,
        tokenAddress=_token_address(each),
        amount=format_amount(transfer.amount, token.decimals) if token else None,
        baseUnits=str(transfer.amount),
        expectedAmount=format_amount(request.amount, expected.decimals),
        excessAmount=None if each.excess is None else format_amount(each.excess, expected.decimals),
        feeAmount=format_amount(transfer.fee_amount, expected.decimals) if isinstance(transfer, Payment) else None,
        paidAt=iso_or_none(transfer.paid_at),
        detectedAt=iso(transfer.detected_at),
        status=transfer.status.value,
        payerAddress=listed.payer,
        recoveryAction=each.action,
        refund=_refund(listed.refund, value_form) if listed.refund else None,
        refundUnavailable=listed.unavailable,
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
    chain = network(transfer.network)
    assert chain is not None, "only catalogued networks are scanned"
    return address_of_log(address, chain.family)


def _refund(refund: RefundOffer, value_form: ValueForm) -> RefundAnswer:
    return RefundAnswer(
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
