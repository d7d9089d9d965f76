"""Views that create payouts, one or several as a batch, and merge payouts into a batch."""

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from chalicelib.payments.links.payouts import flows
from chalicelib.payments.links.payouts.rules import LARGEST_MERGE, MergeDraft, PayoutDraft, PayoutsDraft
from chalicelib.payments.links.schemas import NewLink, Redirect, RequestItem, SecurePaymentCreated
from chalicelib.platform.http.client_choice import owner_of
from chalicelib.platform.http.fields import Amount, CurrencyId, NetworkName, OwnName, Payee, Recipient
from chalicelib.platform.http.schemas import rule
from chalicelib.platform.http.view import Call

Token = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class CreatePayout(NewLink):
    recipient: Payee = Field(description="Who is paid: an address of the network's family, or a name of ENS")
    creatorWalletAddress: Recipient = Field(description="Who pays: an address of the network's family")
    network: Annotated[NetworkName, StringConstraints(min_length=1)] = Field(description="The network of the currency")
    currency: Annotated[CurrencyId, StringConstraints(min_length=1)] = Field(description="<symbol>-<network>")
    amount: Amount = Field(description="Human-readable decimal amount, greater than 0")
    recipientIdentifier: OwnName = Field(None, description="Your own name for the recipient; empty is none")

    def draft(self) -> PayoutDraft:
        link = self.link_draft(items=(), payer_identifier=None)
        return PayoutDraft(self.recipient, self.creatorWalletAddress, self.network, self.currency, self.amount, link)


class CreatePayouts(NewLink):
    """A link that its creator pays to several recipients, in one transaction on one EVM network."""

    creatorWalletAddress: Recipient = Field(description="Who pays: an address of the network's family")
    requests: Annotated[list[RequestItem], Field(min_length=1, max_length=200)] = Field(
        description="What is paid to whom, in the token that is paid"
    )

    @property
    def items_written(self) -> int:
        return len(self.requests)

    def draft(self) -> PayoutsDraft:
        items = tuple(each.item() for each in self.requests)
        return PayoutsDraft(self.creatorWalletAddress, self.link_draft(items=items, payer_identifier=None))


class BatchPayouts(Redirect):
    tokens: Annotated[list[Token], Field(min_length=2, json_schema_extra={"maxItems": LARGEST_MERGE})] = Field(
        description="Pending payouts of one network, creator wallet and fee; they are invalidated"
    )

    @property
    def items_written(self) -> int:
        return len(self.tokens)

    @model_validator(mode="after")
    def _fits_one_transaction(self) -> Self:
        if len(self.tokens) > LARGEST_MERGE:
            raise rule(
                f"must be at most {LARGEST_MERGE}; POST /v2/secure-payments/multicall-payouts combines more", "tokens"
            )
        return self

    def draft(self) -> MergeDraft:
        return MergeDraft(tuple(self.tokens), self.redirectUrl, self.redirectLabel)


def create_payout(call: Call[CreatePayout, None]) -> SecurePaymentCreated:
    payable = flows.create(call.services, owner_of(call), call.caller.session, call.body.draft())
    return SecurePaymentCreated.of(payable, call.services.settings.pay_url)


def create_payouts(call: Call[CreatePayouts, None]) -> SecurePaymentCreated:
    payable = flows.create_batch(call.services, owner_of(call), call.caller.session, call.body.draft())
    return SecurePaymentCreated.of(payable, call.services.settings.pay_url)


def batch_payouts(call: Call[BatchPayouts, None]) -> SecurePaymentCreated:
    payable = flows.combine(call.services, call.caller.owner, call.body.draft())
    return SecurePaymentCreated.of(payable, call.services.settings.pay_url)
