"""Models of what is sent about payers and their bank accounts."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, StrictBool, StringConstraints, field_validator, model_validator

from chalicelib.base.email_addresses import MAX_LENGTH as MAX_EMAIL_LENGTH
from chalicelib.base.email_addresses import STORED_PATTERN
from chalicelib.offramp.payers import formats
from chalicelib.offramp.payers.details import Details
from chalicelib.platform.http.fields import ShortText, form
from chalicelib.platform.http.schemas import Input, rule

_Country = Annotated[str, form(formats.COUNTRY)]
_Day = Annotated[str, form(formats.DAY, "birth-date")]
_Part = Annotated[str, StringConstraints(min_length=1, max_length=64)]
_Beneficiary = Literal["individual", "business"]
_US = ["US", "us", "Us", "uS"]
_TAX_NUMBERS: dict[str, Any] = {
    "if": {"properties": {"country": {"enum": _US}}},
    "then": {"properties": {"ssn": {"pattern": formats.SOCIAL_SECURITY}}},
}


class _Person(Input):
    """What payers and bank accounts have in common."""

    @field_validator("country", "nationality", check_fields=False)
    @classmethod
    def _two_letters(cls, value: str) -> str:
        if not re.fullmatch(formats.COUNTRY, value):
            raise rule("must be two letters, such as US")
        return value.upper()

    @field_validator("dateOfBirth", check_fields=False)
    @classmethod
    def _day(cls, value: str) -> str:
        if not formats.is_day(value):
            raise rule("must be a day as YYYY-MM-DD, such as 1985-12-12")
        return value

    def details(self, now: datetime) -> Details:
        """What was given, by name, without the merchant's id. Raises ValidationFailed for a date of birth to come."""
        given = {name: text for name, text in self.model_dump().items() if text is not None}
        formats.check_birth(given["dateOfBirth"], now)
        given.pop("clientUserId", None)
        return given


class CreatePayer(_Person):
    model_config = ConfigDict(json_schema_extra=_TAX_NUMBERS)

    clientUserId: ShortText = Field(description="Your own id of the person, unique in your account")
    email: Annotated[str, form(STORED_PATTERN, "email-address", maxLength=MAX_EMAIL_LENGTH)] = Field(
        description="E-mail address"
    )
    firstName: ShortText = Field(description="Given name; of a business, of who represents it")
    lastName: ShortText = Field(description="Family name")
    beneficiaryType: _Beneficiary = Field(description="Who is paid: a person or a business")
    companyName: ShortText | None = Field(None, description="Of a business")
    dateOfBirth: _Day = Field(description="YYYY-MM-DD")
    addressLine1: ShortText = Field(description="Street and number")
    addressLine2: ShortText | None = Field(None, description="Further parts of the address")
    city: ShortText = Field(description="The city")
    state: ShortText = Field(description="State or province")
    postcode: ShortText = Field(description="Postal code")
    country: _Country = Field(description="Of residence: two letters of ISO 3166, such as US")
    nationality: _Country = Field(description="Two letters of ISO 3166")
    phone: Annotated[str, form(formats.PHONE)] = Field(description="With the country code, such as +12125551234")
    ssn: Annotated[str, form(formats.TAX_NUMBER)] = Field(
        description="Social security number of a resident of the US, elsewhere the tax number"
    )
    sourceOfFunds: ShortText | None = Field(None, description="Where the money comes from")
    businessActivity: ShortText | None = Field(None, description="What a business does")

    @field_validator("email")
    @classmethod
    def _email(cls, value: str) -> str:
        if len(value) > MAX_EMAIL_LENGTH or not re.fullmatch(STORED_PATTERN, value) or not value.isprintable():
            raise rule("must be an e-mail address")
        return value

    @field_validator("phone")
    @classmethod
    def _phone(cls, value: str) -> str:
        if not re.fullmatch(formats.PHONE, value):
            raise rule("must be 2 to 15 digits with the country code, such as +12125551234")
        return value

    @model_validator(mode="after")
    def _tax_number(self) -> Self:
        if self.country == "US":
            if not re.fullmatch(formats.SOCIAL_SECURITY, self.ssn):
                raise rule("must be a social security number of nine digits, such as 123-45-6789", "ssn")
        elif not re.fullmatch(formats.TAX_NUMBER, self.ssn):
            raise rule("must be 1 to 64 letters, digits, spaces, dots, slashes or hyphens", "ssn")
        return self


class PayerQuery(Input):
    export: bool = Field(False, description="true adds all personal data that is kept")


class UpdatePayer(Input):
    agreementCompleted: Annotated[StrictBool, form(const=True)] = Field(
        description="Only true: an agreement is not taken back here"
    )

    @model_validator(mode="before")
    @classmethod
    def _is_given(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("agreementCompleted") is None:
            raise rule("agreementCompleted must be provided")
        return values

    @field_validator("agreementCompleted")
    @classmethod
    def _check_completed(cls, value: bool) -> bool:
        if not value:
            raise rule("must be true: an agreement is not taken back here")
        return value


class AddPaymentDetails(_Person):
    bankName: ShortText = Field(description="The bank")
    accountName: ShortText = Field(description="The name on the account")
    accountNumber: _Part | None = Field(None, description="The number of the account")
    routingNumber: _Part | None = Field(None, description="The routing number of a bank in the US")
    beneficiaryType: _Beneficiary = Field(description="Whose account it is: a person's or a business'")
    currency: Annotated[str, form(formats.CURRENCY)] = Field(description="Three letters of ISO 4217, such as usd")
    addressLine1: ShortText = Field(description="Street and number of the owner")
    addressLine2: ShortText | None = Field(None, description="Further parts of the address")
    city: ShortText = Field(description="The city")
    state: ShortText | None = Field(None, description="State or province")
    country: _Country = Field(description="Two letters of ISO 3166, such as US")
    dateOfBirth: _Day = Field(description="Of the owner, YYYY-MM-DD")
    postalCode: ShortText = Field(description="Postal code")
    rails: Literal["local", "swift", "wire"] = Field("local", description="How the money is sent")
    sortCode: _Part | None = Field(None, description="Of a bank in the United Kingdom")
    iban: Annotated[str, form(format="iban")] | None = Field(None, description="International number of the account")
    swiftBic: Annotated[str, form(formats.BIC)] | None = Field(None, description="The bank by ISO 9362")
    documentNumber: _Part | None = Field(None, description="Of an identity document, where the bank asks for it")
    documentType: _Part | None = Field(None, description="Of which kind that document is")
    accountType: Literal["checking", "savings"] | None = Field(None, description="The kind of the account")
    ribNumber: _Part | None = Field(None, description="Relevé d'identité bancaire")
    bsbNumber: _Part | None = Field(None, description="Of a bank in Australia")
    ncc: _Part | None = Field(None, description="National clearing code")
    branchCode: _Part | None = Field(None, description="The branch of the bank")
    bankCode: _Part | None = Field(None, description="The bank, where it has a code")
    ifsc: _Part | None = Field(None, description="Of a bank in India")

    @field_validator("currency")
    @classmethod
    def _three_letters(cls, value: str) -> str:
        if not re.fullmatch(formats.CURRENCY, value):
            raise rule("must be three letters, such as usd")
        return value

    @field_validator("iban")
    @classmethod
    def _iban(cls, value: str | None) -> str | None:
        found = None if value is None else formats.iban(value)
        if value is not None and found is None:
            raise rule("must be an IBAN with its check digits, such as DE89370400440532013000")
        return found

    @field_validator("swiftBic")
    @classmethod
    def _bic(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(formats.BIC, value):
            raise rule("must be a BIC of 8 or 11 characters, such as DEUTDEFF")
        return value


class PaymentDetailsQuery(Input):
    paymentDetailsId: ShortText | None = Field(None, description="Only this bank account")
