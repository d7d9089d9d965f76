"""Models of the journal."""

from typing import Annotated, Literal, Self

from pydantic import Field

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.books.journal.rules import Entry, Posting
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.payments.requests.payments.records import Direction
from chalicelib.platform.http.fields import DIGITS, ExcelFlag
from chalicelib.platform.http.schemas import Dated, Output

MOST = 1_000


class JournalQuery(Dated):
    clientId: Annotated[str, Field(max_length=64)] | None = Field(None, description="That of the requests")
    limit: Annotated[int, Field(ge=1, le=MOST), DIGITS] = Field(MOST, description="Entries of a page, 1 to 1000")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="`nextCursor` of the page before; the first page without it"
    )
    excel: ExcelFlag = None


class PostingAnswer(Output):
    """A change of one account."""

    account: str
    amount: str = Field(description="Above 0 a debit, below 0 a credit; in whole units of `currency`")
    currency: str = Field(description="The id of the currency")
    value: str = Field(description="The same in the currency of the entry, in which all postings add up to 0")

    @classmethod
    def of(cls, posting: Posting, invoice: Token) -> Self:
        return cls(
            account=posting.account,
            amount=signed_amount(posting.amount, posting.currency),
            currency=posting.currency.id,
            value=signed_amount(posting.value, invoice),
        )


class EntryAnswer(Output):
    """What a payment or refund changes."""

    id: str = Field(description="That of the payment in GET /v2/payments")
    kind: Literal["payment", "refund"]
    timestamp: str = Field(json_schema_extra={"format": "date-time"}, description="The time of the block")
    currency: str = Field(description="The id of the invoice currency")
    requestId: str
    reference: str | None = Field(description="Your own name for the request")
    network: str
    txHash: str
    payer: str | None = Field(description="Null if the chain does not tell")
    payee: str
    postings: list[PostingAnswer]

    @classmethod
    def of(cls, entry: Entry) -> Self:
        payment = entry.payment
        return cls.from_record(
            payment,
            id=payment.payment_id,
            kind=kind_of(entry),
            timestamp=iso(payment.at),
            currency=entry.currency.id,
            postings=[PostingAnswer.of(each, entry.currency) for each in entry.postings],
        )


class JournalPage(Output):
    entries: list[EntryAnswer] = Field(description="Newest first")
    nextCursor: str | None = Field(description="Null on the last page")


def kind_of(entry: Entry) -> Literal["payment", "refund"]:
    return "refund" if entry.payment.direction is Direction.OUT else "payment"


def signed_amount(amount: int, currency: Token) -> str:
    """Base units as decimal text in whole units, with a sign below 0."""
    return f"{'-' if amount < 0 else ''}{format_amount(abs(amount), on_chain_decimals(currency))}"
