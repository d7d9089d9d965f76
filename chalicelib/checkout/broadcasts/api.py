"""The view that sends a signed Tron transaction, for wallets that cannot send."""

from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from chalicelib.checkout.broadcasts import flows
from chalicelib.checkout.broadcasts.flows import SignedTransaction
from chalicelib.payments.links.announcers import HEADER, announcer_of
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.http.schemas import Input, Output
from chalicelib.platform.http.view import Call

_LONGEST_RAW = 128 * 1024
"""In hexadecimal digits; a batch of 250 payments has 97,000."""
_MOST_SIGNATURES = 5
"""A permission of a Tron account has at most this many keys."""
Hex = Annotated[str, StringConstraints(pattern=r"^([a-fA-F0-9]{2})+$", max_length=_LONGEST_RAW)]
TxId = Annotated[str, StringConstraints(pattern=r"^[a-fA-F0-9]{64}$")]
Signature = Annotated[str, StringConstraints(pattern=r"^(0x)?[a-fA-F0-9]{130}$")]


class SignedTronTransaction(Input):
    """A transaction as tronweb makes it; only `raw_data_hex`, `signature` and `txID` are used."""

    raw_data_hex: Hex = Field(description="The bytes that were signed")
    signature: list[Signature] = Field(
        min_length=1, max_length=_MOST_SIGNATURES, description="65 bytes each, one for each key that signed"
    )
    txID: TxId | None = Field(None, description="When it is given, the SHA-256 of the bytes")
    raw_data: dict[str, Any] = Field(description="The same as an object; not used")


class BroadcastTransaction(Input):
    signedTransaction: SignedTronTransaction

    def as_plain_values(self) -> SignedTransaction:
        sent = self.signedTransaction
        return SignedTransaction(
            raw=bytes.fromhex(sent.raw_data_hex),
            signatures=tuple(bytes.fromhex(each.removeprefix("0x")) for each in sent.signature),
            tx_id=sent.txID.lower() if sent.txID is not None else None,
        )


class BroadcastAnswer(Output):
    """The node's result: `code` is SUCCESS or java-tron's name of the refusal, `message` its text."""

    result: bool
    txid: str
    code: str
    message: str | None = Field(None, description="The node's text about a refusal")


def broadcast_transaction(call: Call[BroadcastTransaction, None]) -> BroadcastAnswer:
    viewer = replace(Viewer.of(call.caller), announcer=announcer_of(call.headers.get(HEADER)))
    result = flows.broadcast(call.services, call.path["token"], viewer, call.body.as_plain_values())
    message: dict[str, Any] = {"message": result.message} if result.message else {}
    return BroadcastAnswer(result=result.result, txid=result.txid, code=result.code, **message)
