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
    "subStatus", "failureReason", "offrampId", "labels", "status", "receivedAmount", "untoldCount",
})  # fmt: skip
PERSONAL = frozenset({"customerInfo", "payerIdentifier", "rawPayload"})
"""Who the customer is, what the merchant calls the payer, and what a provider says."""
ABOUT_PERSONS = ("compliance.updated", "payment_detail.updated")
"""Kinds of which only `event` and `timestamp` are not about the person."""


def is_personal(kind: str, name: str) -> bool:
    """Whether a field of a kind of event is, or has not been decided about."""
    return name not in (("event", "timestamp") if kind in ABOUT_PERSONS else NOT_PERSONAL)
