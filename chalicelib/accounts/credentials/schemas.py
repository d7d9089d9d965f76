"""What the models of several kinds of credentials say of their fields."""

USES_PAYMENT_INTENTS = (
    "Whether GET /v2/request/{requestId}/pay gives a payment from another chain as a payment intent to sign, and not "
    "as transactions. A client id sends its signature alone only with mayExecute"
)
TEST = (
    "Whether it is for test mode: it reads and writes the account's sandbox alone, in which no payment is real. It "
    "stays so"
)
