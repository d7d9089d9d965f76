"""Signed Tron transactions that pay a link, sent for wallets that only sign."""

from typing import Any

from chalicelib.checkout.broadcasts import flows as broadcasts
from chalicelib.checkout.broadcasts.schemas import BroadcastAnswer, BroadcastTransaction
from chalicelib.http.view import Call
from chalicelib.links.flows import Reader


def broadcast_transaction(call: Call[BroadcastTransaction, None]) -> BroadcastAnswer:
    said = broadcasts.broadcast(call.services, call.path["token"], Reader.of(call.caller), call.body.signed())
    message: dict[str, Any] = {"message": said.message} if said.message else {}
    return BroadcastAnswer(result=said.result, txid=said.txid, code=said.code, **message)
