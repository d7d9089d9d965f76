"""The contract functions whose calls are explained, by selector, with the names that their contracts use."""

from functools import cached_property

from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import members
from chalicelib.chains.calldata.bridges import lifi
from chalicelib.chains.calldata.bridges.across import DEPOSIT, DEPOSIT_PARAMETERS
from chalicelib.chains.calldata.escrow.calls import AUTHORIZE, CAPTURE, CHARGE, PRE_APPROVE, RECLAIM, REFUND, VOID
from chalicelib.chains.calldata.escrow.payment_info import MEMBERS as PAYMENT_INFO
from chalicelib.chains.calldata.explanations.decode import Array, Kind, type_text
from chalicelib.chains.calldata.recurring import PERMIT_MEMBERS
from chalicelib.chains.catalogue import contracts
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
    *members("address _to, uint256 _requestAmount"),
    ("_path", Array("address")),
    *members("bytes _paymentReference, uint256 _feeAmount, address _feeAddress"),
)
_DETAIL: Kind = ("address", "uint256", Array("address"), "bytes", "uint256", "uint256", "uint256")
_DETAILS = Array(_DETAIL)
_GROUP: Kind = ("uint256", _DETAILS)
MEMBER_NAMES: dict[Kind, tuple[str, ...]] = {
    _DETAIL: ("recipient", "requestAmount", "path", "paymentReference", "feeAmount", "maxToSpend", "maxRateTimespan"),
    _GROUP: ("paymentNetworkId", "requestDetails"),
    **lifi.DIAMOND_MEMBERS,
}
"""The members of structs that have a dynamic one, as their contracts name them."""
_INFO = tuple((f"paymentInfo.{name}", kind) for name, kind in PAYMENT_INFO)
_AMOUNT = (*_INFO, *members("uint256 amount"))
_COLLECTED = (*_AMOUNT, *members("address tokenCollector, bytes collectorData"))
_FEE = members("uint16 feeBps, address feeReceiver")


@frozen
class Function:
    """A function of one contract, or of every token if `contract` is None."""

    contract: str | None
    name: str
    parameters: tuple[tuple[str, Kind], ...]

    @cached_property
    def type_texts(self) -> tuple[tuple[str, str], ...]:
        """Names and types as Solidity writes them."""
        return tuple((name, type_text(kind)) for name, kind in self.parameters)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parameters)


FUNCTIONS = {
    APPROVE: Function(None, "approve", members("address spender, uint256 amount")),
    TRANSFER: Function(None, "transfer", members("address to, uint256 amount")),
    TRANSFER_FROM: Function(None, "transferFrom", members("address from, address to, uint256 amount")),
    PAY_ERC20: Function(
        contracts.ERC20_FEE_PROXY,
        "transferFromWithReferenceAndFee",
        members(
            "address _tokenAddress, address _to, uint256 _amount, bytes _paymentReference, uint256 _feeAmount, "
            "address _feeAddress"
        ),
    ),
    PAY_NATIVE: Function(
        contracts.NATIVE_FEE_PROXY,
        "transferWithReferenceAndFee",
        members("address _to, bytes _paymentReference, uint256 _feeAmount, address _feeAddress"),
    ),
    PAY_ERC20_CONVERTED: Function(
        contracts.ERC20_CONVERSION_PROXY,
        "transferFromWithReferenceAndFee",
        (*_CONVERTED, *members("uint256 _maxToSpend, uint256 _maxRateTimespan")),
    ),
    PAY_NATIVE_CONVERTED: Function(
        contracts.NATIVE_CONVERSION_PROXY,
        "transferWithReferenceAndFee",
        (*_CONVERTED, *members("uint256 _maxRateTimespan")),
    ),
    BATCH_ONE_TOKEN: Function(
        contracts.BATCH,
        "batchERC20Payments",
        (("requestDetails", _DETAILS), ("pathsToUSD", _PATHS), ("feeAddress", "address")),
    ),
    BATCH_GROUPS: Function(
        contracts.BATCH,
        "batchPayments",
        (("metaDetails", Array(_GROUP)), ("pathsToUSD", _PATHS), ("feeAddress", "address")),
    ),
    BATCH_TRON: Function(
        contracts.TRON_BATCH,
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
        contracts.RECURRING_PROXY,
        "triggerRecurringPayment",
        (
            *((f"p.{name}", kind) for name, kind in PERMIT_MEMBERS),  # the permit `p`, which stands in its place
            *members("bytes signature, uint8 index, bytes paymentReference"),
        ),
    ),
    PRE_APPROVE: Function(PRE_APPROVAL_COLLECTOR, "preApprove", _INFO),
    AUTHORIZE: Function(AUTH_CAPTURE_ESCROW, "authorize", _COLLECTED),
    CHARGE: Function(AUTH_CAPTURE_ESCROW, "charge", (*_COLLECTED, *_FEE)),
    CAPTURE: Function(AUTH_CAPTURE_ESCROW, "capture", (*_AMOUNT, *_FEE)),
    VOID: Function(AUTH_CAPTURE_ESCROW, "void", _INFO),
    RECLAIM: Function(AUTH_CAPTURE_ESCROW, "reclaim", _INFO),
    REFUND: Function(AUTH_CAPTURE_ESCROW, "refund", _COLLECTED),
    DEPOSIT: Function(contracts.ACROSS_SPOKE_POOL, "depositV3", DEPOSIT_PARAMETERS),
    lifi.START: Function(contracts.LIFI_DIAMOND, "startBridgeTokensViaAcrossV4", lifi.START_PARAMETERS),
    lifi.SWAP_AND_START: Function(
        contracts.LIFI_DIAMOND, "swapAndStartBridgeTokensViaAcrossV4", lifi.SWAP_AND_START_PARAMETERS
    ),
    MULTI_SEND_CALLS: Function(contracts.MULTI_SEND, "multiSend", (("transactions", "bytes"),)),
}
