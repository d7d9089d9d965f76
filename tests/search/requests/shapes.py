"""The fields that existing clients read of a request's status, with their types, as JSON schemas.

Every field may be absent, and answers may have more.
"""

from typing import Any

from jsonschema import Draft202012Validator


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT, _TEXT_OR_NULL, _FLAG = {"type": "string"}, {"type": ["string", "null"]}, {"type": "boolean"}
_SOURCE = {"enum": ["lifi", "chainlink", "coingecko", "unknown"]}
_CUSTOMER = _object(
    firstName=_TEXT,
    lastName=_TEXT,
    email=_TEXT,
    address=_object(street=_TEXT, city=_TEXT, state=_TEXT, postalCode=_TEXT, country=_TEXT),
)
_PART = _object(amount=_TEXT, amountInUsd=_TEXT, conversionRate=_TEXT, rateSource=_SOURCE, timestamp=_TEXT)
_BREAKDOWN = _object(
    paidAmount=_TEXT,
    paidAmountInUsd=_TEXT,
    remainingAmount=_TEXT,
    remainingAmountInUsd=_TEXT,
    currentMarketRate=_TEXT_OR_NULL,
    currentMarketRateSource={"enum": [*_SOURCE["enum"], None]},
    payments=_list(_PART),
)
_FEE = _object(
    type={"enum": ["gas", "platform", "crosschain", "crypto-to-fiat", "offramp"]},
    provider=_TEXT,
    amount=_TEXT,
    currency=_TEXT,
)
_PAYMENT = {
    **_object(
        id=_TEXT,
        amount=_TEXT,
        sourceNetwork=_TEXT,
        destinationNetwork=_TEXT,
        sourceTxHash=_TEXT_OR_NULL,
        destinationTxHash=_TEXT_OR_NULL,
        timestamp=_TEXT,
        type={"enum": ["direct", "conversion", "crosschain", "recurring"]},
        conversionRateSource=_TEXT_OR_NULL,
        conversionRateDestination=_TEXT_OR_NULL,
        convertedAmountSource=_TEXT_OR_NULL,
        convertedAmountDestination=_TEXT_OR_NULL,
        currency=_TEXT,
        paymentCurrency=_TEXT,
        rateProvider=_SOURCE,
        payerAddress=_TEXT_OR_NULL,
        detectionSource=_TEXT_OR_NULL,
        note=_TEXT_OR_NULL,
    ),
    "required": ["id", "amount", "sourceNetwork", "destinationNetwork", "timestamp", "type", "currency", "paymentCurrency"],
}
STATUS = Draft202012Validator(
    {
        **_object(
            hasBeenPaid=_FLAG,
            paymentReference=_TEXT,
            requestId=_TEXT,
            isListening=_FLAG,
            txHash=_TEXT_OR_NULL,
            recurrence={"type": "object"},
            originalRequestId=_TEXT,
            status=_TEXT,
            isCryptoToFiatAvailable=_FLAG,
            originalRequestPaymentReference=_TEXT,
            payments=_list(_PAYMENT),
            isRecurrenceStopped=_FLAG,
            customerInfo={"oneOf": [_CUSTOMER, {"type": "null"}]},
            reference=_TEXT_OR_NULL,
            amountInUsd=_TEXT_OR_NULL,
            conversionRate=_TEXT_OR_NULL,
            rateSource={"enum": [*_SOURCE["enum"], "mixed"]},
            conversionBreakdown={"oneOf": [_BREAKDOWN, {"type": "null"}]},
            fees=_list(_FEE),
            payee=_TEXT_OR_NULL,
            requestAmount=_TEXT,
            invoiceCurrency=_TEXT,
            paymentCurrency=_TEXT,
            payerAddress=_TEXT_OR_NULL,
            paidAmount=_TEXT,
            receivedAmount=_TEXT,
            excessAmount=_TEXT_OR_NULL,
            detectionSource=_TEXT_OR_NULL,
            note=_TEXT_OR_NULL,
        ),
        "required": ["hasBeenPaid", "paymentReference", "requestId", "isListening", "txHash"],
    }
)


def assert_is_status(answer: Any) -> None:
    """Asserts that clients can read the answer, and that no field that clients know by type is null in place of absent."""
    problems = [f"{'.'.join(map(str, each.path))}: {each.message}" for each in STATUS.iter_errors(answer)]
    assert not problems, problems
