"""Models of requests, as merchants create and change them."""

import re
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StrictBool, StringConstraints, field_validator, model_validator

from chalicelib.base.email_addresses import STORED_PATTERN
from chalicelib.payments.requests import records
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.flows import Change
from chalicelib.payments.requests.names.schemas import PayeeNameAnswer, name_fields
from chalicelib.payments.requests.plain_transfers.schemas import (
    PLAIN_TRANSFER,
    PlainTransferAnswer,
    plain_transfer_field,
)
from chalicelib.payments.requests.rules import RequestCancelled
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.http.client_choice import ClientChoice
from chalicelib.platform.http.errors import details_of
from chalicelib.platform.http.fields import Address, Amount, CurrencyId, OwnName, Payee, ShortText, form
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

Note = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_Currency = Annotated[CurrencyId, StringConstraints(min_length=1)]
_Email = Annotated[str, StringConstraints(max_length=255), form(STORED_PATTERN, "email-address")]


class CustomerAddressBody(Input):
    street: Annotated[str, StringConstraints(max_length=255)] | None = Field(None, description="Street and number")
    city: Annotated[str, StringConstraints(max_length=100)] | None = Field(None, description="The city")
    state: Annotated[str, StringConstraints(max_length=100)] | None = Field(None, description="State or province")
    postalCode: Annotated[str, StringConstraints(max_length=20)] | None = Field(None, description="Postal code")
    country: Annotated[str, StringConstraints(min_length=2, max_length=2)] | None = Field(
        None, description="Two letters, such as US"
    )

    def record(self) -> records.CustomerAddress:
        return records.CustomerAddress(self.street, self.city, self.state, self.postalCode, self.country)


class CustomerInfoBody(Input):
    """Who the invoice is for. It is kept for the merchant, and shown to nobody without a secret credential."""

    firstName: _Name | None = Field(None, description="Given name")
    lastName: _Name | None = Field(None, description="Family name")
    email: _Email | None = Field(None, description="E-mail address")
    address: CustomerAddressBody | None = Field(None, description="Postal address")

    @field_validator("email")
    @classmethod
    def _looks_like_one(cls, value: str | None) -> str | None:
        if value is not None and not (re.fullmatch(STORED_PATTERN, value) and value.isprintable()):
            raise rule("must be an e-mail address")
        return value

    def record(self) -> records.CustomerInfo:
        address = self.address.record() if self.address else None
        return records.CustomerInfo(self.firstName, self.lastName, self.email, address)


class RecurrenceBody(Input):
    """How often an invoice recurs: on each date after the first there is a new request, and an event."""

    startDate: Annotated[str, form(format="start-date")] = Field(
        description="A date or an instant in ISO 8601, not before today by UTC"
    )
    frequency: records.Frequency = Field(description="How often it recurs")


class CreateRequest(ClientChoice):
    """An amount in one currency that is owed to one payee, and paid in a token."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {
                "required": ["isCryptoToFiatAvailable", "recurrence"],
                "properties": {"isCryptoToFiatAvailable": {"const": True}, "recurrence": {"type": "object"}},
            }
        }
    )

    amount: Amount = Field(description="In the invoice currency: a human-readable decimal amount, greater than 0")
    invoiceCurrency: _Currency = Field(description="The currency of the amount: a token, or a fiat code such as USD")
    paymentCurrency: _Currency = Field(description="Which token is paid")
    payee: Annotated[Payee, StringConstraints(min_length=1)] | None = Field(
        None,
        description="Who is paid, by address or by a name of ENS; not needed with a client id that is bound to a payee "
        "destination, nor with `isCryptoToFiatAvailable`",
    )
    payer: Address | None = Field(None, description="Who is expected to pay; anybody can")
    reference: OwnName = Field(None, description="Your own name for it, such as an invoice number; empty is none")
    customerInfo: CustomerInfoBody | None = Field(None, description="Who the invoice is for")
    recurrence: RecurrenceBody | None = Field(None, description="Creates a new request on each later date")
    isCryptoToFiatAvailable: StrictBool | None = Field(
        None,
        description="Whether it may be paid out to a bank account (docs/off-ramp.md); then no payee is needed, and no "
        "recurrence possible",
    )
    plainTransfer: StrictBool | None = Field(None, description=PLAIN_TRANSFER)
    originalRequestId: ShortText | None = Field(None, description="Of the first request of a recurrence")
    originalRequestPaymentReference: ShortText | None = Field(None, description="Its payment reference")

    @property
    def items_written(self) -> int:
        return 1

    def draft(self) -> Draft:
        recurrence = self.recurrence
        return self.plain(
            Draft,
            item=Item(self.amount, None, self.payee, self.invoiceCurrency, self.paymentCurrency),
            customer_info=self.customerInfo.record() if self.customerInfo else None,
            recurrence=records.Recurrence(recurrence.startDate, recurrence.frequency) if recurrence else None,
            original_payment_reference=self.originalRequestPaymentReference,
            is_crypto_to_fiat=bool(self.isCryptoToFiatAvailable),
        )


class UpdateRequest(Input):
    """What to change. Fields that are left out do not change."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    isRecurrenceStopped: StrictBool = Field(
        default_factory=unsent, description="Whether its recurrence has ended; false resumes it"
    )
    note: Note | None = Field(
        default_factory=unsent,
        description="Your own text about it, which payers do not see; null removes it. Not with a client ID alone",
    )

    @model_validator(mode="after")
    def _has_any(self) -> Self:
        if not self.model_fields_set:
            raise rule("give isRecurrenceStopped, note, or both")
        return self

    def change(self) -> Change:
        sent = self.sent_fields()
        return Change(sent.get("is_recurrence_stopped"), "note" in sent, sent.get("note"))


class RequestCreated(Output):
    paymentReference: str = Field(description="Stands in the calldata and logs of its payments")
    requestId: str
    payeeName: PayeeNameAnswer = Field(
        default_factory=unsent, description="Absent unless the payee was given by a name of ENS"
    )
    plainTransfer: PlainTransferAnswer = Field(
        default_factory=unsent, description="Its address for plain transfers; absent if it has none"
    )

    @classmethod
    def of(cls, request: records.Request) -> Self:
        return cls.from_record(request, **name_fields(request), **plain_transfer_field(request))


class RequestUpdated(Output):
    requestId: str
    isRecurrenceStopped: bool
    note: str = Field("", description="Absent without one, and for a client ID alone")


@details_of.register
def _(error: RequestCancelled) -> dict[str, Any]:
    return {"status": records.RequestStatus.CANCELLED.value}
