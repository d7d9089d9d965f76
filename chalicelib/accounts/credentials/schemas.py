"""Fields that several kinds of credentials have."""

USES_PAYMENT_INTENTS = (
    "Whether GET /v2/request/{requestId}/pay gives a payment from another chain as a payment intent to sign, and not "
    "as transactions. A client id sends its signature alone only with mayExecute"
)
