"""Which fields of events are personal data of the merchant's customers.

A client id is public, so whoever sends it can register a webhook. Such a webhook is sent the fields of NOT_PERSONAL and
no others, so that a new field stays out until it is decided about here. What is public on the chain, such as who paid,
is no secret. Of an event about a person, whose identity or bank account was checked, it learns only that
there was one.
"""

NOT_PERSONAL = frozenset({
    "event", "timestamp",
    "requestId", "requestID", "paymentReference", "explorer", "paymentProcessor", "createdWith", "reference",
    "amount", "totalAmountPaid", "expectedAmount", "excessAmount", "currency", "paymentCurrency", "isCryptoToFiat",
    "conversionRate", "conversionRateSource", "conversionRateDestination", "convertedAmountSource",
    "convertedAmountDestination", "rateProvider", "fees", "recurringPayment",
    "originalRequestId", "originalRequestPaymentReference", "clientId", "origin",
    "network", "txHash", "payee", "payerAddress", "refundedTo", "refundAmount",
    "subStatus", "failureReason", "offrampId",
})  # fmt: skip
PERSONAL = frozenset({
    "customerInfo", "payerIdentifier",
    "rawPayload",
    "clientUserId", "kycStatus", "agreementStatus", "isCompliant",
    "paymentDetailsId", "status", "rejectionMessage",
})  # fmt: skip
"""Who the customer is, what the merchant calls the payer, what a provider says, and what is about a person."""


def is_personal(name: str) -> bool:
    """Whether a field is, or has not been decided about."""
    return name not in NOT_PERSONAL
