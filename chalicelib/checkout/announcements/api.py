"""Views that announce a transaction for a link, and withdraw it."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from chalicelib.chains.catalogue.labels import Label
from chalicelib.checkout.announcements import flows
from chalicelib.checkout.schemas.link import EvmWallet
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.announcers import FORM, announcer_of
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedTransaction
from chalicelib.platform.http.fields import NULL, WHOLE, ShortText, together
from chalicelib.platform.http.schemas import Input, Output, rule
from chalicelib.platform.http.view import Call

_END_OF_TIME = 253_402_300_799
"""The last second of the year 9999."""
Hash = Annotated[str, StringConstraints(pattern=r"^0x[a-fA-F0-9]{64}$")]
Secret = Annotated[str, StringConstraints(pattern=FORM)]
UnixSeconds = Annotated[int, Field(strict=True, gt=0, le=_END_OF_TIME), WHOLE]


class RecordIntent(Input):
    """Exactly one of `txHash`, of a transaction that was sent, and `safeTxHash`, of one that a Safe's owners sign.

    The `txHash` of a transaction on Tron begins with 0x here, too.
    """

    model_config = ConfigDict(
        json_schema_extra={
            **together({"safePaymentDeadline": ["safeTxHash"]}),
            "if": {"required": ["txHash"], "properties": {"txHash": {"type": "string"}}},
            "then": {"properties": {"safeTxHash": NULL}},
            "else": {"required": ["safeTxHash"], "properties": {"safeTxHash": {"type": "string"}}},
            "not": {"properties": {"token": NULL, "transactionIndices": NULL}},
        }
    )

    txHash: Hash | None = Field(None, description="The transaction that pays the link, once a wallet has sent it")
    safeTxHash: Hash | None = Field(None, description="The Safe transaction that pays the link, once it is proposed")
    safePaymentDeadline: UnixSeconds | None = Field(None, description="Unix seconds; only with safeTxHash")
    chain: Label = Field(
        description="The network of the transaction: that of the link, or the one that it is paid from"
    )
    token: Annotated[str, StringConstraints(min_length=1, max_length=20)] | None = Field(
        None, description="Symbol of the token that is paid with, such as USDC; required without transactionIndices"
    )
    payerAddress: EvmWallet | None = Field(None, description="The Safe, or the wallet that sent the transaction")
    announcerSecret: Secret | None = Field(
        None,
        description=(
            "32 random bytes of the caller's, in hexadecimal: the transaction does not lock the link for calls that "
            "have them in the header x-announcer-secret"
        ),
    )
    bridgeTool: ShortText | None = Field(None, description="The bridge of a payment from another chain, as across")
    smartAccountAddress: EvmWallet | None = Field(None, description="Who sent the transaction of a multicall")
    userOpHash: Hash | None = Field(None, description="The user operation of it")
    transactionIndices: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=250)] | None = Field(
        None, description="Which call of a multicall's transaction is of which child; returned as they are"
    )

    @model_validator(mode="after")
    def _one_hash(self) -> Self:
        if (self.txHash is None) == (self.safeTxHash is None):
            raise rule("Give exactly one of txHash and safeTxHash")
        if self.safePaymentDeadline is not None and self.safeTxHash is None:
            raise rule("can only be given with safeTxHash", "safePaymentDeadline")
        if self.token is None and self.transactionIndices is None:
            raise rule("is required", "token")
        return self

    def draft(self) -> Announcement:
        """The body as plain values; hashes in lower case."""
        end = self.safePaymentDeadline
        return self.plain(
            Announcement,
            tx_hash=self.txHash.lower() if self.txHash else None,
            safe_tx_hash=self.safeTxHash.lower() if self.safeTxHash else None,
            deadline=datetime.fromtimestamp(end, UTC) if end is not None else None,
            announcer=announcer_of(self.announcerSecret),
        )


class IntentRecorded(Output):
    """Has the hash that was announced; `safePaymentDeadline` and `payerAddress` are present if they were sent."""

    intentId: str
    paymentReference: str
    txHash: str | None = Field(description="The transaction; null as long as a Safe's owners sign it")
    safeTxHash: str | None = None
    safePaymentDeadline: int | None = None
    isListening: Literal[True]
    payerAddress: str | None = Field(None, description="The Safe, or the wallet that sent the transaction")


class MulticallIntentRecorded(Output):
    """The answer to an announcement with `transactionIndices`, which is for a multicall's transaction."""

    receiptId: str = Field(description="The id of the intent")
    multicallId: str = Field(description="The multicall's link")
    parentToken: str = Field(description="The same")
    txHash: str | None = Field(description="The transaction, if it was announced by its hash")
    safeTxHash: str | None = Field(None, description="The Safe transaction, if it was announced by its hash")
    sourceChain: str = Field(description="The network of the transaction")
    smartAccountAddress: str | None = Field(description="As it was sent")
    userOpHash: str | None = Field(description="As it was sent")
    transactionIndices: list[dict[str, Any]] = Field(description="As they were sent")
    isListening: Literal[False] = Field(description="Each child has an intent of its own")


class IntentWithdrawn(Output):
    intentId: str
    status: Literal["lapsed"]


def record_intent(call: Call[RecordIntent, None]) -> IntentRecorded | MulticallIntentRecorded:
    payable, announced = flows.record(call.services, call.path["token"], Viewer.of(call.caller), call.body.draft())
    if call.body.transactionIndices is not None:
        return _of_multicall(call.body, payable.link.token, announced, call.body.transactionIndices)
    optional: dict[str, Any] = {}
    if announced.safe_tx_hash is not None:
        optional["safeTxHash"] = announced.safe_tx_hash
    if announced.deadline is not None:
        optional["safePaymentDeadline"] = int(announced.deadline.timestamp())
    if announced.payer_address is not None:
        optional["payerAddress"] = announced.payer_address
    return IntentRecorded(
        intentId=announced.announced_id,
        paymentReference=payable.requests[0].payment_reference,
        txHash=announced.transaction_hash,
        isListening=True,
        **optional,
    )


def _of_multicall(
    body: RecordIntent, token: str, announced: AnnouncedTransaction, indices: list[dict[str, Any]]
) -> MulticallIntentRecorded:
    optional = {} if announced.safe_tx_hash is None else {"safeTxHash": announced.safe_tx_hash}
    return MulticallIntentRecorded(
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


def withdraw_intent(call: Call[None, None]) -> IntentWithdrawn:
    announced = flows.withdraw(call.services, call.path["token"], Viewer.of(call.caller))
    return IntentWithdrawn(intentId=announced.announced_id, status="lapsed")
