"""Models of the journal."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from chalicelib.base.money import format_amount
from chalicelib.base.timestamps import iso
from chalicelib.books.journal.rules import Entry, Kind, Posting
from chalicelib.books.journal.wallet_lines import Line, amount_text
from chalicelib.chains.catalogue.conversions import on_chain_decimals
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.search.payments.schemas import ListedNetwork
from chalicelib.platform.http.fields import DIGITS, Address, ExcelFlag
from chalicelib.platform.http.schemas import Dated, Output, address_text, rule

MOST = 1_000


class EntriesQuery(Dated):
    clientId: Annotated[str, Field(max_length=64)] | None = Field(None, description="That of the requests")
    limit: Annotated[int, Field(ge=1, le=MOST), DIGITS] = Field(MOST, description="Entries of a page, 1 to 1000")
    cursor: Annotated[str, Field(max_length=2_000)] | None = Field(
        None, description="`nextCursor` of the page before; the first page without it"
    )


class JournalQuery(EntriesQuery):
    excel: ExcelFlag = None


def _fiat(text: str) -> str:
    found = token_with_id(text)
    if found is None or not found.is_fiat:
        raise rule("must be a fiat currency, such as USD: GET /v2/journal has the tokens themselves")
    return found.id


class WalletQuery(EntriesQuery):
    network: ListedNetwork = Field(description="Where the wallet is")
    walletAddress: Annotated[Address, AfterValidator(address_text)] = Field(
        description="An address that you are paid at, or pay from"
    )
    currency: Annotated[str, Field(max_length=64), AfterValidator(_fiat)] = Field(
        description="The fiat currency of the books, such as USD"
    )
    format: Literal["json", "ofx", "xero", "quickbooks"] = Field(
        "json", description="json, or the program that reads the file"
    )

    @model_validator(mode="after")
    def _of_one_family(self) -> Self:
        if self.walletAddress.startswith("0x") != (self.network != "tron"):
            raise rule(f"is not an address of {self.network}", "walletAddress")
        return self


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
    """What a payment, refund or payout changes."""

    id: str = Field(description="That of the payment in GET /v2/payments")
    kind: Kind = Field(description="refund: also what comes back of a payout")
    timestamp: str = Field(json_schema_extra={"format": "date-time"}, description="The time of the block")
    currency: str = Field(description="The id of the invoice currency")
    requestId: str
    reference: str | None = Field(description="Your own name for the request")
    network: str
    txHash: str
    payer: str | None = Field(description="Who paid, by the word of one node; null if the chain does not tell")
    payee: str
    postings: list[PostingAnswer]

    @classmethod
    def of(cls, entry: Entry) -> Self:
        payment = entry.payment
        return cls.from_record(
            payment,
            id=payment.payment_id,
            kind=entry.kind,
            timestamp=iso(payment.at),
            currency=entry.currency.id,
            postings=[PostingAnswer.of(each, entry.currency) for each in entry.postings],
        )


class JournalPage(Output):
    entries: list[EntryAnswer] = Field(description="Newest first")
    nextCursor: str | None = Field(description="Null on the last page")


def signed_amount(amount: int, currency: Token) -> str:
    """Base units as decimal text in whole units, with a sign below 0."""
    return f"{'-' if amount < 0 else ''}{format_amount(abs(amount), on_chain_decimals(currency))}"


class LineAnswer(Output):
    """What one payment, refund or payout has moved in the wallet."""

    id: str = Field(description="That of the payment in GET /v2/payments")
    kind: Kind
    timestamp: str = Field(json_schema_extra={"format": "date-time"}, description="The time of the block")
    amount: str = Field(description="Above 0 what the wallet got, below 0 what it sent, in the fiat currency")
    other: str | None = Field(description="Who paid the wallet, or was paid from it; null if the chain does not tell")
    requestId: str
    reference: str | None = Field(description="Your own name for the request")
    txHash: str

    @classmethod
    def of(cls, line: Line, currency: Token) -> Self:
        return cls.from_record(
            line.payment,
            id=line.payment.payment_id,
            kind=line.kind,
            timestamp=iso(line.payment.at),
            amount=amount_text(line.amount, currency),
            other=line.other,
        )


class WalletPage(Output):
    lines: list[LineAnswer] = Field(description="Newest first")
    unvalued: int = Field(description="Entries of the page that are left out, as no value in `currency` is known")
    nextCursor: str | None = Field(description="Null on the last page")
