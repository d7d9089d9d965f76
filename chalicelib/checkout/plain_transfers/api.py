"""The view of what is at the address of a request for plain transfers."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints

from chalicelib.base.money import format_amount
from chalicelib.chains.catalogue.tokens import token_at
from chalicelib.checkout.plain_transfers import flows
from chalicelib.checkout.plain_transfers.flows import Found
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.plain_transfers.schemas import PlainTransferAnswer, plain_transfer_field
from chalicelib.payments.transactions import TransactionAnswer, transaction_answer
from chalicelib.platform.http.fields import NetworkName, form
from chalicelib.platform.http.schemas import Input, Output
from chalicelib.platform.http.view import Call
from chalicelib.platform.settings import ValueForm

_WHAT = r"^(0x[a-fA-F0-9]{40}|native)$"


class PlainTransferQuery(Input):
    network: NetworkName | None = Field(
        None, description="Another network than that of the request, to which something was sent by mistake"
    )
    token: Annotated[str, StringConstraints(pattern=_WHAT), form(_WHAT)] | None = Field(
        None, description="The address of another token, or `native` for the native coin"
    )


class PlainTransferState(Output):
    requestId: str
    paymentReference: str
    plainTransfer: PlainTransferAnswer
    network: str = Field(description="Where the balance was read")
    tokenAddress: str | None = Field(description="Of what; null for the native coin")
    balance: str = Field(description="What is at the address now, in base units")
    amount: str | None = Field(description="The same as a decimal number; null for a token that is not in the list")
    isDeployed: bool = Field(description="Whether the address has its contract there")
    purpose: Literal["pay_out", "rescue"] = Field(
        description="pay_out: payee and fee are paid, and the payment is confirmed as any other; rescue: all goes to "
        "the payee, and only the token of the request counts as a payment"
    )
    transactions: list[TransactionAnswer] = Field(
        description="What empties the address, for any wallet with gas on `network`; empty if nothing can"
    )
    unavailable: str | None = Field(description="Why `transactions` is empty")

    @classmethod
    def of(cls, found: Found, value_form: ValueForm) -> Self:
        sent = found.emptying.transaction
        return cls.from_record(
            found.request,
            **plain_transfer_field(found.request),
            network=found.network,
            tokenAddress=found.token,
            balance=str(found.state.balance),
            amount=_amount(found),
            isDeployed=found.state.is_deployed,
            purpose=found.emptying.purpose.value,
            transactions=[] if sent is None else [transaction_answer(sent, value_form)],
            unavailable=found.emptying.unavailable,
        )


def _amount(found: Found) -> str | None:
    if found.token is None:
        return format_amount(found.state.balance, 18)
    token = token_at(found.network, found.token)
    return format_amount(found.state.balance, token.decimals) if token else None


def read_plain_transfer(call: Call[None, PlainTransferQuery]) -> PlainTransferState:
    query, services = call.query, call.services
    found = flows.read(services, call.path["request_id"], Viewer.of(call.caller), query.network, query.token)
    return PlainTransferState.of(found, services.settings.value_form("plain"))
