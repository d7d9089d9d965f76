"""Models of payouts: what is paid out, alone or in a batch, and the transactions that do it."""

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from chalicelib.base.addresses import same_address
from chalicelib.checkout.payouts.flows import BatchDraft
from chalicelib.checkout.payouts.rules import MOST_AT_ONCE
from chalicelib.checkout.pipeline import Prepared
from chalicelib.checkout.rules import PayOptions
from chalicelib.checkout.schemas.facts import batch_facts, conversion_answers, single_facts, transaction_answers
from chalicelib.checkout.schemas.link import Wallet
from chalicelib.checkout.schemas.pay import BatchMetadata, ConversionAnswer, FeeFields, PayMetadata, SourceFields
from chalicelib.payments.payable.rules import Position
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.names.schemas import PayeeNameAnswer, name_fields
from chalicelib.payments.requests.rules import amount_text
from chalicelib.payments.requests.schemas import CustomerInfoBody
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.transactions import TransactionAnswer
from chalicelib.platform.http.fields import Amount, CurrencyId, OwnName, Payee, together
from chalicelib.platform.http.schemas import Input, Output, rule, unsent
from chalicelib.platform.settings import ValueForm
from chalicelib.recurring.schemas import PayoutRecurrence

_Currency = Annotated[CurrencyId, StringConstraints(min_length=1)]
RequestId = Annotated[str, StringConstraints(min_length=1, max_length=66)]


class PayoutItem(Input):
    """An amount in one currency that is paid to one payee in a token."""

    payee: Annotated[Payee, StringConstraints(min_length=1)] = Field(
        description="Who is paid, by address or by a name of ENS"
    )
    amount: Amount = Field(description="In the invoice currency: a human-readable decimal amount, greater than 0")
    invoiceCurrency: _Currency = Field(description="The currency of the amount: a token, or a fiat code such as USD")
    paymentCurrency: _Currency = Field(description="Which token is paid")

    @property
    def item(self) -> Item:
        return Item(self.amount, None, self.payee, self.invoiceCurrency, self.paymentCurrency)


class Payout(PayoutItem, FeeFields, SourceFields):
    model_config = ConfigDict(json_schema_extra=together({"chain": ["token"], "token": ["chain"]}))

    payerWallet: Wallet | None = Field(None, description="Who pays: then the answer says what that wallet has")
    payerAddress: Wallet | None = Field(None, description="Another name of `payerWallet`")
    reference: OwnName = Field(None, description="Your own name for it, such as an invoice number; empty is none")
    customerInfo: CustomerInfoBody | None = None
    recurrence: PayoutRecurrence | None = Field(
        None, description="Makes it a recurring payout, which is paid by the service after its payer has signed once"
    )

    @property
    def items_written(self) -> int:
        return 1

    @model_validator(mode="after")
    def _names_one_wallet(self) -> Self:
        if self.payerWallet is not None and self.payerAddress is not None:
            raise rule("is another name of payerWallet: give one of them", "payerAddress")
        given = self.payerWallet or self.payerAddress
        if self.source is not None and given is None:
            raise rule("is needed with chain and token: the wallet that pays from there", "payerWallet")
        if self.source is not None and self.recurrence is not None:
            raise rule("cannot be given with recurrence: each payment is made on the payout's own network", "chain")
        if self.recurrence and given and not same_address(given, self.recurrence.payer):
            raise rule("is not recurrence.payer, who pays: leave it out", "payerWallet")
        return self

    @property
    def options(self) -> PayOptions:
        return PayOptions(self.payerWallet or self.payerAddress, self.source)

    def draft(self) -> Draft:
        customer = self.customerInfo.record() if self.customerInfo else None
        return Draft(self.item, reference=self.reference, customer_info=customer)


class PayoutBatch(FeeFields):
    """Either `requests`, which are created, or `requestIds` of stored ones. All are paid on one EVM network."""

    requests: Annotated[list[PayoutItem], Field(min_length=1, max_length=MOST_AT_ONCE)] | None = Field(
        None, description="What is paid to whom"
    )
    requestIds: Annotated[list[RequestId], Field(min_length=1, max_length=MOST_AT_ONCE)] | None = Field(
        None, description="Requests without a link, of which what is left is paid"
    )
    payer: Wallet | None = Field(None, description="Who pays: then the answer says what that wallet has")

    @property
    def items_written(self) -> int:
        return len(self.requests or self.requestIds or ())

    @model_validator(mode="after")
    def _names_either(self) -> Self:
        if (self.requests is None) == (self.requestIds is None):
            raise rule("Give either requests or requestIds")
        return self

    def draft(self) -> BatchDraft:
        drafts = tuple(Draft(each.item) for each in self.requests or ())
        request_ids = tuple(each.lower() for each in self.requestIds or ())
        return BatchDraft(drafts, request_ids, self.payer, self.fee)


class PayoutCreated(Output):
    """Facts of the wallet are absent without `payerWallet`."""

    requestId: str
    paymentReference: str = Field(description="Stands in the calldata and logs of its payments")
    transactions: list[TransactionAnswer] = Field(description="Approvals and the payment, in the order they are sent")
    metadata: PayMetadata = Field(description="What they need and do")
    payeeName: PayeeNameAnswer = Field(
        default_factory=unsent, description="Absent unless the payee was given by a name of ENS"
    )


class PaidRequest(Output):
    requestId: str
    paymentReference: str
    payee: str = Field(description="Who is paid")
    amount: str = Field(description="What is paid, in the invoice currency")
    invoiceCurrency: str
    paymentCurrency: str
    payeeName: PayeeNameAnswer = Field(
        default_factory=unsent, description="Absent unless the payee was given by a name of ENS"
    )


class PayoutBatchCreated(Output):
    """Sign the approvals and then the payment, in this order."""

    ERC20ApprovalTransactions: list[TransactionAnswer] = Field(description="The approvals")
    batchPaymentTransaction: TransactionAnswer = Field(description="The payment")
    transactions: list[TransactionAnswer] = Field(description="All of them, in the order they are sent")
    requests: list[PaidRequest] = Field(description="What is paid, in the order of the body")
    conversions: list[ConversionAnswer] | None = Field(None, description="Of the payments that are converted")
    metadata: BatchMetadata | None = Field(None, description="With `payer`: what they need and do")


def payout_answer(prepared: Prepared, value_form: ValueForm) -> PayoutCreated:
    """A payout with its transactions. `approvalTransactionIndex` is null if the wallet needs no approval."""
    request = prepared.cart.positions[0].owed.request
    known = {"approvalTransactionIndex": None} if prepared.holdings is not None else {}
    return PayoutCreated(
        requestId=request.request_id,
        paymentReference=request.payment_reference,
        transactions=transaction_answers(prepared, value_form),
        metadata=PayMetadata(**{**known, **single_facts(prepared)}),
        **name_fields(request),
    )


def batch_answer(prepared: Prepared, approvals: ValueForm, payment: ValueForm) -> PayoutBatchCreated:
    """A batch of payouts with its transactions, the values of its approvals and of its payment in these forms."""
    granting = transaction_answers(prepared, approvals)[:-1]
    paying = transaction_answers(prepared, payment)[-1]
    facts: dict[str, Any] = conversion_answers(prepared)
    if prepared.holdings is not None:
        facts["metadata"] = BatchMetadata(**batch_facts(prepared))
    return PayoutBatchCreated(
        ERC20ApprovalTransactions=granting,
        batchPaymentTransaction=paying,
        transactions=[*granting, paying],
        requests=[_answer_paid(each) for each in prepared.cart.positions],
        **facts,
    )


def _answer_paid(position: Position) -> PaidRequest:
    owed = position.owed
    return PaidRequest.from_record(
        owed.request,
        amount=amount_text(owed.amount, owed.request),
        invoiceCurrency=owed.invoice.id,
        paymentCurrency=owed.token.id,
        **name_fields(owed.request),
    )
