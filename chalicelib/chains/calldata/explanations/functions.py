"""The contract functions whose calls are explained, by selector, with the names that their contracts use."""

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.across import DEPOSIT, DEPOSIT_PARAMETERS
from chalicelib.chains.calldata.escrow.calls import AUTHORIZE, CAPTURE, CHARGE, PRE_APPROVE, RECLAIM, REFUND, VOID
from chalicelib.chains.calldata.escrow.payment_info import MEMBERS as PAYMENT_INFO
from chalicelib.chains.calldata.explanations.decode import Array, Kind
from chalicelib.chains.calldata.lifi import START, START_PARAMETERS, SWAP_AND_START, SWAP_AND_START_PARAMETERS
from chalicelib.chains.calldata.recurring import PERMIT_MEMBERS
from chalicelib.chains.catalogue.contracts import (
    ACROSS_SPOKE_POOL,
    BATCH,
    ERC20_CONVERSION_PROXY,
    ERC20_FEE_PROXY,
    LIFI_DIAMOND,
    MULTI_SEND,
    NATIVE_CONVERSION_PROXY,
    NATIVE_FEE_PROXY,
    RECURRING_PROXY,
    TRON_BATCH,
)
from chalicelib.chains.catalogue.escrows import AUTH_CAPTURE_ESCROW, PRE_APPROVAL_COLLECTOR

APPROVE = bytes.fromhex("095ea7b3")
TRANSFER = bytes.fromhex("a9059cbb")
TRANSFER_FROM = bytes.fromhex("23b872dd")
PAY_ERC20 = bytes.fromhex("c219a14d")
PAY_NATIVE = bytes.fromhex("b868980b")
PAY_ERC20_CONVERTED = bytes.fromhex("3af2c012")
PAY_NATIVE_CONVERTED = bytes.fromhex("ac473c8a")
BATCH_ONE_TOKEN = bytes.fromhex("9af8a581")
BATCH_GROUPS = bytes.fromhex("92cddb91")
BATCH_TRON = bytes.fromhex("c6e6d98b")
TRIGGER_PAYMENT = bytes.fromhex("ac7a9e00")
MULTI_SEND_CALLS = bytes.fromhex("8d80ff0a")

_PATHS = Array(Array("address"))
_CONVERTED: tuple[tuple[str, Kind], ...] = (
    ("_to", "address"),
    ("_requestAmount", "uint256"),
    ("_path", Array("address")),
    ("_paymentReference", "bytes"),
    ("_feeAmount", "uint256"),
    ("_feeAddress", "address"),
)
_DETAILS = Array(("address", "uint256", Array("address"), "bytes", "uint256", "uint256", "uint256"))
_INFO: tuple[tuple[str, Kind], ...] = tuple((f"paymentInfo.{name}", kind) for name, kind in PAYMENT_INFO)
_AMOUNT: tuple[tuple[str, Kind], ...] = (*_INFO, ("amount", "uint256"))
_COLLECTED: tuple[tuple[str, Kind], ...] = (*_AMOUNT, ("tokenCollector", "address"), ("collectorData", "bytes"))
_FEE: tuple[tuple[str, Kind], ...] = (("feeBps", "uint16"), ("feeReceiver", "address"))


@frozen
class Function:
    """A function of one contract, or of every token if `contract` is None."""

    contract: str | None
    name: str
    parameters: tuple[tuple[str, Kind], ...]


FUNCTIONS = {
    APPROVE: Function(None, "approve", (("spender", "address"), ("amount", "uint256"))),
    TRANSFER: Function(None, "transfer", (("to", "address"), ("amount", "uint256"))),
    TRANSFER_FROM: Function(None, "transferFrom", (("from", "address"), ("to", "address"), ("amount", "uint256"))),
    PAY_ERC20: Function(
        ERC20_FEE_PROXY,
        "transferFromWithReferenceAndFee",
        (
            ("_tokenAddress", "address"),
            ("_to", "address"),
            ("_amount", "uint256"),
            ("_paymentReference", "bytes"),
            ("_feeAmount", "uint256"),
            ("_feeAddress", "address"),
        ),
    ),
    PAY_NATIVE: Function(
        NATIVE_FEE_PROXY,
        "transferWithReferenceAndFee",
        (
            ("_to", "address"),
            ("_paymentReference", "bytes"),
            ("_feeAmount", "uint256"),
            ("_feeAddress", "address"),
        ),
    ),
    PAY_ERC20_CONVERTED: Function(
        ERC20_CONVERSION_PROXY,
        "transferFromWithReferenceAndFee",
        (*_CONVERTED, ("_maxToSpend", "uint256"), ("_maxRateTimespan", "uint256")),
    ),
    PAY_NATIVE_CONVERTED: Function(
        NATIVE_CONVERSION_PROXY,
        "transferWithReferenceAndFee",
        (*_CONVERTED, ("_maxRateTimespan", "uint256")),
    ),
    BATCH_ONE_TOKEN: Function(
        BATCH,
        "batchERC20Payments",
        (("requestDetails", _DETAILS), ("pathsToUSD", _PATHS), ("feeAddress", "address")),
    ),
    BATCH_GROUPS: Function(
        BATCH,
        "batchPayments",
        (("metaDetails", Array(("uint256", _DETAILS))), ("pathsToUSD", _PATHS), ("feeAddress", "address")),
    ),
    BATCH_TRON: Function(
        TRON_BATCH,
        "batchERC20PaymentsWithReference",
        (
            ("_tokenAddress", "address"),
            ("_recipients", Array("address")),
            ("_amounts", Array("uint256")),
            ("_paymentReferences", Array("bytes")),
            ("_feeAmounts", Array("uint256")),
            ("_feeAddress", "address"),
        ),
    ),
    TRIGGER_PAYMENT: Function(
        RECURRING_PROXY,
        "triggerRecurringPayment",
        (
            *((f"p.{name}", kind) for name, kind in PERMIT_MEMBERS),  # the permit `p`, which stands in its place
            ("signature", "bytes"),
            ("index", "uint8"),
            ("paymentReference", "bytes"),
        ),
    ),
    PRE_APPROVE: Function(PRE_APPROVAL_COLLECTOR, "preApprove", _INFO),
    AUTHORIZE: Function(AUTH_CAPTURE_ESCROW, "authorize", _COLLECTED),
    CHARGE: Function(AUTH_CAPTURE_ESCROW, "charge", (*_COLLECTED, *_FEE)),
    CAPTURE: Function(AUTH_CAPTURE_ESCROW, "capture", (*_AMOUNT, *_FEE)),
    VOID: Function(AUTH_CAPTURE_ESCROW, "void", _INFO),
    RECLAIM: Function(AUTH_CAPTURE_ESCROW, "reclaim", _INFO),
    REFUND: Function(AUTH_CAPTURE_ESCROW, "refund", _COLLECTED),
    DEPOSIT: Function(ACROSS_SPOKE_POOL, "depositV3", DEPOSIT_PARAMETERS),
    START: Function(LIFI_DIAMOND, "startBridgeTokensViaAcrossV4", START_PARAMETERS),
    SWAP_AND_START: Function(LIFI_DIAMOND, "swapAndStartBridgeTokensViaAcrossV4", SWAP_AND_START_PARAMETERS),
    MULTI_SEND_CALLS: Function(MULTI_SEND, "multiSend", (("transactions", "bytes"),)),
}
