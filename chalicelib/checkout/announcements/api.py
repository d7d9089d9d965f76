"""Views that announce a transaction for a link, and withdraw it."""

from typing import Any

from chalicelib.checkout.announcements import flows, schemas
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedTransaction
from chalicelib.platform.http.view import Call


def record_intent(call: Call[schemas.RecordIntent, None]) -> schemas.IntentRecorded | schemas.MulticallIntentRecorded:
    payable, announced = flows.record(
        call.services, call.path["token"], Viewer.of(call.caller), call.body.draft()
    )
    if call.body.transactionIndices is not None:
        return _of_multicall(call.body, payable.link.token, announced, call.body.transactionIndices)
    optional: dict[str, Any] = {}
    if announced.safe_tx_hash is not None:
        optional["safeTxHash"] = announced.safe_tx_hash
    if announced.deadline is not None:
        optional["safePaymentDeadline"] = int(announced.deadline.timestamp())
    if announced.payer_address is not None:
        optional["payerAddress"] = announced.payer_address
    return schemas.IntentRecorded(
        intentId=announced.announced_id,
        paymentReference=payable.requests[0].payment_reference,
        txHash=announced.transaction_hash,
        isListening=True,
        **optional,
    )


def _of_multicall(
    body: schemas.RecordIntent, token: str, announced: AnnouncedTransaction, indices: list[dict[str, Any]]
) -> schemas.MulticallIntentRecorded:
    optional = {} if announced.safe_tx_hash is None else {"safeTxHash": announced.safe_tx_hash}
    return schemas.MulticallIntentRecorded(
        receiptId=announced.announced_id,
        multicallId=token,
        parentToken=token,
        txHash=announced.transaction_hash,
        sourceChain=body.chain,
        smartAccountAddress=body.smartAccountAddress,
        userOpHash=body.userOpHash,
        transactionIndices=indices,
        isListening=False,
        **optional,
    )


def withdraw_intent(call: Call[None, None]) -> schemas.IntentWithdrawn:
    announced = flows.withdraw(call.services, call.path["token"], Viewer.of(call.caller))
    return schemas.IntentWithdrawn(intentId=announced.announced_id, status="lapsed")
