"""What is shown of each function that is explained.

The functions are those of explanations/functions.py, but for that of Tron, where no wallet reads descriptors.
"""

from collections.abc import Mapping

from chalicelib.chains.calldata.bridges.across import DEPOSIT
from chalicelib.chains.calldata.bridges.lifi import START, SWAP_AND_START
from chalicelib.chains.calldata.clear_signing.fields import (
    Display,
    Field,
    address,
    allowance,
    amount,
    chain,
    coins,
    currency,
    hidden_fields,
    moment,
    raw,
    seconds,
    share,
    token,
    unless_zero,
)
from chalicelib.chains.calldata.escrow.calls import AUTHORIZE, CAPTURE, CHARGE, PRE_APPROVE, RECLAIM, REFUND, VOID
from chalicelib.chains.calldata.explanations import functions

_CALLED = "@.to"
_FEE_TO = address("_feeAddress", "Fee to")
_REFERENCE = raw("_paymentReference", "Reference")


def _fields_of_conversion(native: bool) -> tuple[Field, ...]:
    """A payment whose amounts are converted. A wallet that does not know the first currency of the path, as it is fiat,
    shows its amounts as whole numbers; the most that is spent is always in what is paid."""
    most = coins("@.value", "At most") if native else amount("_maxToSpend", "At most", "_path.[-1]")
    return (
        most,
        address("_to", "To"),
        amount("_requestAmount", "Invoice amount", "_path.[0]"),
        currency("_path.[0]", "Invoice currency"),
        *(() if native else (token("_path.[-1]", "Paid in"),)),
        amount("_feeAmount", "Fee", "_path.[0]"),
        _FEE_TO,
        _REFERENCE,
        seconds("_maxRateTimespan", "Age of the rate"),
    )


def _details(at: str) -> tuple[Field, ...]:
    """The payments of a batch. Those that are not converted have a path of one currency, in which they are paid."""
    first, last = f"{at}.path.[0]", f"{at}.path.[-1]"
    return (
        amount(f"{at}.requestAmount", "Amount", first),
        address(f"{at}.recipient", "To"),
        currency(first, "Currency"),
        token(last, "Paid in"),
        unless_zero(amount(f"{at}.maxToSpend", "At most", last)),
        amount(f"{at}.feeAmount", "Fee", first),
        raw(f"{at}.paymentReference", "Reference"),
        unless_zero(seconds(f"{at}.maxRateTimespan", "Age of the rate")),
    )


def _terms(*, expiries: bool) -> tuple[Field, ...]:
    """The terms of a commerce payment."""
    times = {"preApprovalExpiry": "Hold until", "authorizationExpiry": "Capture until", "refundExpiry": "Refund until"}
    shown = tuple(moment(f"paymentInfo.{name}", label) for name, label in times.items())
    return (
        address("paymentInfo.receiver", "To"),
        address("paymentInfo.payer", "From"),
        address("paymentInfo.operator", "Operator"),
        token("paymentInfo.token"),
        amount("paymentInfo.maxAmount", "At most", "paymentInfo.token"),
        *(shown if expiries else ()),
        share("paymentInfo.maxFeeBps", "Highest fee"),
        address("paymentInfo.feeReceiver", "Fee to"),
        *hidden_fields("paymentInfo.minFeeBps", "paymentInfo.salt"),
        *(() if expiries else hidden_fields(*(f"paymentInfo.{name}" for name in times))),
    )


_ESCROW_AMOUNT = amount("amount", "Amount", "paymentInfo.token")
_COLLECTED = (
    _ESCROW_AMOUNT,
    *_terms(expiries=True),
    address("tokenCollector", "Taken by"),
    *hidden_fields("collectorData"),
)
_FEE = (share("feeBps", "Fee"), address("feeReceiver", "Fee paid to"))
_BRIDGED = (
    amount("_bridgeData.minAmount", "Deposit", "_bridgeData.sendingAssetId"),
    chain("_bridgeData.destinationChainId", "To the chain"),
    address("_bridgeData.receiver", "To"),
    raw("_bridgeData.bridge", "Bridge"),
    raw("_acrossData.receiverAddress", "Contract there"),
    raw("_acrossData.message", "Calls there"),
    raw("_acrossData.refundAddress", "Back to"),
    raw("_acrossData.receivingAssetId", "Token there"),
    raw("_acrossData.outputAmount", "Amount there"),
    moment("_acrossData.fillDeadline", "Until"),
    *hidden_fields(
        *(f"_bridgeData.{name}" for name in ("transactionId", "integrator", "referrer", "sendingAssetId")),
        *(f"_bridgeData.{name}" for name in ("hasSourceSwaps", "hasDestinationCall")),
        *(f"_acrossData.{name}" for name in ("outputAmountMultiplier", "exclusiveRelayer")),
        *(f"_acrossData.{name}" for name in ("quoteTimestamp", "exclusivityDeadline")),
    ),
)

DISPLAYS: Mapping[bytes, Display] = {
    functions.APPROVE: Display(
        "Approve",
        "Let {spender} take {amount}",
        (address("spender", "Spender"), allowance("amount", "Amount", _CALLED)),
    ),
    functions.TRANSFER: Display(
        "Send", "Send {amount} to {to}", (amount("amount", "Amount", _CALLED), address("to", "To"))
    ),
    functions.TRANSFER_FROM: Display(
        "Send",
        "Send {amount} of {from} to {to}",
        (amount("amount", "Amount", _CALLED), address("from", "From"), address("to", "To")),
    ),
    functions.PAY_ERC20: Display(
        "Pay",
        "Pay {_amount} to {_to}",
        (
            amount("_amount", "Amount", "_tokenAddress"),
            address("_to", "To"),
            amount("_feeAmount", "Fee", "_tokenAddress"),
            _FEE_TO,
            _REFERENCE,
            token("_tokenAddress"),
        ),
    ),
    functions.PAY_NATIVE: Display(
        "Pay",
        "Pay {@.value} with its fee to {_to}",
        (coins("@.value", "Amount and fee"), address("_to", "To"), coins("_feeAmount", "Fee"), _FEE_TO, _REFERENCE),
    ),
    functions.PAY_ERC20_CONVERTED: Display(
        "Pay", "Pay at most {_maxToSpend} to {_to}", _fields_of_conversion(native=False)
    ),
    functions.PAY_NATIVE_CONVERTED: Display(
        "Pay", "Pay at most {@.value} to {_to}", (*_fields_of_conversion(native=True), *hidden_fields("_path.[-1]"))
    ),
    functions.BATCH_ONE_TOKEN: Display(
        "Pay several",
        "Make several payments",
        (*_details("requestDetails.[]"), address("feeAddress", "Fees to"), *hidden_fields("pathsToUSD")),
    ),
    functions.BATCH_GROUPS: Display(
        "Pay several",
        "Make several payments, with up to {@.value}",
        (
            coins("@.value", "Coins sent"),
            *_details("metaDetails.[].requestDetails.[]"),
            address("feeAddress", "Fees to"),
            *hidden_fields("metaDetails.[].paymentNetworkId", "pathsToUSD"),
        ),
    ),
    functions.TRIGGER_PAYMENT: Display(
        "Pay as agreed",
        "Pay {p.amount} of {p.subscriber} to {p.recipient}",
        (
            amount("p.amount", "Amount", "p.token"),
            address("p.subscriber", "From"),
            address("p.recipient", "To"),
            amount("p.feeAmount", "Fee", "p.token"),
            address("p.feeAddress", "Fee to"),
            amount("p.relayerFee", "To the sender", "p.token"),
            token("p.token"),
            raw("index", "Payment number"),
            raw("p.totalPayments", "Payments in all"),
            raw("paymentReference", "Reference"),
            moment("p.deadline", "Until"),
            *hidden_fields("p.periodSeconds", "p.firstPayment", "p.nonce", "p.strictOrder", "signature"),
        ),
    ),
    PRE_APPROVE: Display(
        "Approve payment", "Let {paymentInfo.receiver} be paid {paymentInfo.maxAmount}", _terms(expiries=True)
    ),
    AUTHORIZE: Display("Authorize", "Hold {amount} for {paymentInfo.receiver}", _COLLECTED),
    CHARGE: Display("Charge", "Pay {amount} to {paymentInfo.receiver}", (*_COLLECTED, *_FEE)),
    CAPTURE: Display(
        "Capture", "Pay {amount} to {paymentInfo.receiver}", (_ESCROW_AMOUNT, *_terms(expiries=False), *_FEE)
    ),
    VOID: Display("Give back", "Give what is held back to {paymentInfo.payer}", _terms(expiries=False)),
    RECLAIM: Display("Take back", "Take what is held back to {paymentInfo.payer}", _terms(expiries=False)),
    REFUND: Display("Refund", "Refund {amount} to {paymentInfo.payer}", _COLLECTED),
    DEPOSIT: Display(
        "Bridge",
        "Deposit {inputAmount} for the chain {destinationChainId}",
        (
            amount("inputAmount", "Deposit", "inputToken"),
            chain("destinationChainId", "To the chain"),
            address("recipient", "To"),
            raw("outputAmount", "Amount there"),
            address("outputToken", "Token there"),
            address("depositor", "Back to"),
            moment("fillDeadline", "Until"),
            token("inputToken"),
            raw("message", "Calls there"),
            *hidden_fields("exclusiveRelayer", "quoteTimestamp", "exclusivityParameter"),
        ),
    ),
    START: Display("Bridge", "Deposit {_bridgeData.minAmount} for {_bridgeData.receiver}", _BRIDGED),
    SWAP_AND_START: Display(
        "Bridge",
        "Deposit {_bridgeData.minAmount} for {_bridgeData.receiver}",
        (
            *_BRIDGED,
            amount("_swapData.[].fromAmount", "Taken, fees included", "_swapData.[].sendingAssetId"),
            *hidden_fields(
                *(f"_swapData.[].{name}" for name in ("callTo", "approveTo", "sendingAssetId", "receivingAssetId")),
                *(f"_swapData.[].{name}" for name in ("callData", "requiresDeposit")),
            ),
        ),
    ),
    functions.MULTI_SEND_CALLS: Display(
        "Make several calls", "Make several calls of a Safe", (raw("transactions", "Calls"),)
    ),
}
