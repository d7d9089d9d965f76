"""The view that sends a signed Tron transaction, for wallets that cannot send."""

from dataclasses import replace
from typing import Any

from chalicelib.checkout.broadcasts import flows
from chalicelib.checkout.broadcasts.schemas import BroadcastAnswer, BroadcastTransaction
from chalicelib.payments.links.announcers import HEADER, announcer_of
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.view import Call


def broadcast_transaction(call: Call[BroadcastTransaction, None]) -> BroadcastAnswer:
    viewer = replace(Viewer.of(call.caller), announcer=announcer_of(call.headers.get(HEADER)))
    result = flows.broadcast(call.services, call.path["token"], viewer, call.body.as_plain_values())
    message: dict[str, Any] = {"message": result.message} if result.message else {}
    return BroadcastAnswer(result=result.result, txid=result.txid, code=result.code, **message)
