"""Signed Tron transactions that pay a link, sent for wallets that only sign."""

from typing import Any

from chalice import Blueprint

from chalicelib.access.modes import Mode
from chalicelib.checkout.broadcasts import flows as broadcasts
from chalicelib.checkout.broadcasts.schemas import BroadcastAnswer, BroadcastTransaction
from chalicelib.http.edge import operation
from chalicelib.http.operation import Call
from chalicelib.links.flows import Reader

blueprint = Blueprint(__name__)


@operation(
    blueprint,
    "POST",
    "/v2/secure-payments/{token}/tron/broadcast",
    summary="Send a signed transaction that pays a link on Tron",
    modes=(Mode.API_KEY, Mode.CLIENT_ID),
    scope="secure_payments:write",
    body=BroadcastTransaction,
    answer=BroadcastAnswer,
    looks_up_token=True,
    by_page=True,
    errors=(400, 401, 403, 404, 409, 423, 502, 503),
)
def broadcast_transaction(call: Call) -> BroadcastAnswer:
    said = broadcasts.broadcast(call.services, call.path["token"], Reader.of(call.caller), call.body.signed())
    message: dict[str, Any] = {"message": said.message} if said.message else {}
    return BroadcastAnswer(result=said.result, txid=said.txid, code=said.code, **message)
