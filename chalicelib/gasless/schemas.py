"""Models of gasless payments: what a payer signs, what it costs, and how far it is. Amounts are human-readable."""

import json
from typing import Annotated

from pydantic import Field, StringConstraints

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.base.timestamps import iso
from chalicelib.chains.calldata.tokens import erc3009
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.gasless.records import GaslessPayment
from chalicelib.platform.http.fields import form
from chalicelib.platform.http.schemas import Input, Output

Signature = Annotated[str, StringConstraints(pattern=r"^(0x)?([0-9a-fA-F]{2}){65,1024}$")]


class GaslessAnswer(Output):
    """A payment to be signed, which the service makes and pays the gas of."""

    gaslessPaymentId: str = Field(
        description="For POST /v2/gasless-payments/{gaslessPaymentId}, or of a link "
        "/v2/secure-payments/{token}/gasless/{gaslessPaymentId}"
    )
    typedData: str = Field(description="What the wallet signs, as JSON: `{domain, types, values}`")
    amount: str = Field(description="What the payee gets, in the token")
    platformFee: str = Field(description="The fee on top, in the token")
    networkFee: str = Field(description="What the payer pays for the network's gas, in the token")
    total: str = Field(description="What is taken from the payer in all: the value that is signed")
    currency: str = Field(description="The token's currency id")
    expiresAt: str = Field(description="Until when the payment is made, in ISO 8601; sign at least two minutes before")


class SignGaslessPayment(Input):
    signature: Signature = Field(description="Of `typedData`, by the payer's wallet")


class GaslessState(Output):
    gaslessPaymentId: str
    requestId: str = Field(description="The request that it pays")
    status: Annotated[str, form(enum=["offered", "signed", "sending", "paid", "failed"])] = Field(
        description="paid: its transaction is confirmed; failed: nothing was taken"
    )
    transactionHash: str | None = Field(description="Once it is paid")
    reason: str | None = Field(description="Why it waits or has failed")
    expiresAt: str = Field(description="From then on it is not made any more, in ISO 8601")


def gasless_answer(made: GaslessPayment) -> GaslessAnswer:
    decimals = require_token(made.currency).decimals
    amount, fee, network_fee = (format_amount(each, decimals) for each in (made.amount, made.fee, made.network_fee))
    return GaslessAnswer(
        gaslessPaymentId=made.payment_id,
        typedData=json.dumps(erc3009.typed_data(made.authorization)),
        amount=amount,
        platformFee=fee,
        networkFee=network_fee,
        total=format_amount(BaseUnits(made.authorization.value), decimals),
        currency=made.currency,
        expiresAt=iso(made.deadline),
    )


def gasless_state(made: GaslessPayment) -> GaslessState:
    return GaslessState(
        gaslessPaymentId=made.payment_id,
        requestId=made.request_id,
        status=made.stage.value,
        transactionHash=made.tx_hash,
        reason=made.reason,
        expiresAt=iso(made.deadline),
    )
