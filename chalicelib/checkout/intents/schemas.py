"""Models of intents."""

from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, field_validator, model_validator

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.checkout.intents.rules import IntentDraft
from chalicelib.http.fields import WHOLE, EvmAddress, together
from chalicelib.http.schemas import Input, Output, rule

_END_OF_TIME = 253_402_300_799
"""The last second of the year 9999."""
Hash = Annotated[str, StringConstraints(pattern=r"^0x[a-fA-F0-9]{64}$")]
UnixSeconds = Annotated[int, Field(strict=True, gt=0, le=_END_OF_TIME), WHOLE]


class RecordIntent(Input):
    """Exactly one of `txHash` and `safeTxHash`; on the link's own network only multisig transactions are announced."""

    model_config = ConfigDict(
        json_schema_extra={
            **together({"safePaymentDeadline": ["safeTxHash"]}),
            "if": {"required": ["txHash"], "properties": {"txHash": {"type": "string"}}},
            "then": {"properties": {"safeTxHash": {"type": "null"}}},
            "else": {"required": ["safeTxHash"], "properties": {"safeTxHash": {"type": "string"}}},
        }
    )

    txHash: Hash | None = Field(None, description="Of a transaction on another chain than the link's")
    safeTxHash: Hash | None = Field(None, description="Of the Safe's transaction")
    safePaymentDeadline: UnixSeconds | None = Field(None, description="Unix seconds; only with safeTxHash")
    chain: Literal["BASE", "OPTIMISM", "ARBITRUM", "ETHEREUM", "POLYGON", "BNB", "SEPOLIA", "TRON"] = Field(
        description="The network of the transaction"
    )
    token: Annotated[str, StringConstraints(min_length=1, max_length=20)] = Field(
        description="Symbol of the currency that the link is paid in, such as USDC"
    )
    payerAddress: EvmAddress | None = Field(None, description="The Safe")

    @field_validator("payerAddress")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        try:
            return evm_address(value) if value is not None else None
        except BadRequest:
            raise rule("payerAddress: Invalid Ethereum address") from None

    @model_validator(mode="after")
    def _one_hash(self) -> Self:
        if (self.txHash is None) == (self.safeTxHash is None):
            raise rule("Give exactly one of txHash and safeTxHash")
        if self.safePaymentDeadline is not None and self.safeTxHash is None:
            raise rule("safePaymentDeadline can only be given with safeTxHash")
        return self

    def draft(self) -> IntentDraft:
        """The body as plain values; hashes in lower case."""
        end = self.safePaymentDeadline
        return IntentDraft(
            tx_hash=self.txHash.lower() if self.txHash else None,
            safe_tx_hash=self.safeTxHash.lower() if self.safeTxHash else None,
            deadline=datetime.fromtimestamp(end, UTC) if end is not None else None,
            chain=self.chain,
            token=self.token,
            payer_address=self.payerAddress,
        )


class IntentRecorded(Output):
    """`safePaymentDeadline` and `payerAddress` are present if they were sent."""

    intentId: str
    paymentReference: str
    safeTxHash: str
    safePaymentDeadline: int | None = None
    isListening: Literal[True]
    payerAddress: str | None = Field(None, description="The Safe")


class IntentWithdrawn(Output):
    intentId: str
    status: Literal["lapsed"]
