"""Calls of LI.FI's diamond that deposit into Across (AcrossFacetV4), and the message for LI.FI's contract at the end.

    startBridgeTokensViaAcrossV4(BridgeData, AcrossV4Data)
    swapAndStartBridgeTokensViaAcrossV4(BridgeData, SwapData[], AcrossV4Data)

    BridgeData    bytes32 transactionId, string bridge, string integrator, address referrer, address sendingAssetId,
                  address receiver, uint256 minAmount, uint256 destinationChainId, bool hasSourceSwaps,
                  bool hasDestinationCall
    SwapData      address callTo, address approveTo, address sendingAssetId, address receivingAssetId,
                  uint256 fromAmount, bytes callData, bool requiresDeposit
    AcrossV4Data  bytes32 receiverAddress, bytes32 refundAddress, bytes32 receivingAssetId, uint256 outputAmount,
                  uint128 outputAmountMultiplier, bytes32 exclusiveRelayer, uint32 quoteTimestamp, uint32 fillDeadline,
                  uint32 exclusivityDeadline, bytes message

The diamond takes `minAmount` of the token from the sender and deposits it. In the second form it takes the `fromAmount`
of the swaps, makes them, reverts if less than `minAmount` is left, deposits what is left, and wants for it on the other
chain what is left times the multiplier / 10**30. Of swaps only one is read here: forwardERC20Fees(token, (recipient,
amount)[]), which pays LI.FI's fees out of the token itself.

The message for ReceiverAcrossV4 is abi.encode(bytes32 transactionId, SwapData[] swaps, address receiver): it makes the
swaps, here one call that pays, and sends what is left, or everything if that fails, to the receiver. Source:
github.com/lifinance/contracts, AcrossFacetV4 1.0.0, ReceiverAcrossV4 1.0.0.
"""

from typing import Any

from chalicelib.base.addresses import evm_address
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import WORD, read_uint
from chalicelib.chains.calldata.bridges.across import Deposit
from chalicelib.chains.calldata.explanations.decode import SELECTOR, Array, Kind, read

START = bytes.fromhex("df87ec62")
SWAP_AND_START = bytes.fromhex("a629fcbf")
FORWARD_FEES = bytes.fromhex("332d746b")
_BRIDGE: Kind = ("bytes32", "string", "string", "address", "address", "address", "uint256", "uint256", "bool", "bool")
_SWAP: Kind = ("address", "address", "address", "address", "uint256", "bytes", "bool")
_SWAPS: Kind = Array(_SWAP)
_ACROSS: Kind = (*("bytes32",) * 3, "uint256", "uint128", "bytes32", "uint32", "uint32", "uint32", "bytes")
DIAMOND_MEMBERS: dict[Kind, tuple[str, ...]] = {
    _BRIDGE: (
        *("transactionId", "bridge", "integrator", "referrer", "sendingAssetId"),
        *("receiver", "minAmount", "destinationChainId", "hasSourceSwaps", "hasDestinationCall"),
    ),
    _SWAP: ("callTo", "approveTo", "sendingAssetId", "receivingAssetId", "fromAmount", "callData", "requiresDeposit"),
    _ACROSS: (
        *("receiverAddress", "refundAddress", "receivingAssetId", "outputAmount", "outputAmountMultiplier"),
        *("exclusiveRelayer", "quoteTimestamp", "fillDeadline", "exclusivityDeadline", "message"),
    ),
}
"""The members of the three structs, as above."""
START_PARAMETERS: tuple[tuple[str, Kind], ...] = (("_bridgeData", _BRIDGE), ("_acrossData", _ACROSS))
SWAP_AND_START_PARAMETERS: tuple[tuple[str, Kind], ...] = (
    ("_bridgeData", _BRIDGE),
    ("_swapData", _SWAPS),
    ("_acrossData", _ACROSS),
)
_MULTIPLIED = 10**30

Values = tuple[Any, ...]


@frozen
class DiamondDeposit:
    """A deposit that the diamond makes, `taken` from its sender in base units of the input token, fees included."""

    deposit: Deposit
    taken: int


@frozen
class ReceiverMessage:
    """What ReceiverAcrossV4 does: lets `target` take `amount` of the `token` and calls it.

    What is left of the token, all of it if the call fails, goes to `receiver`.
    """

    token: str
    target: str
    data: str
    amount: int
    receiver: str


def decode_diamond(data: str) -> DiamondDeposit | None:
    """The deposit that a call of the diamond makes; None if it is not one, or does anything else beside it."""
    try:
        raw = bytes.fromhex(data.removeprefix("0x"))
        if raw[:SELECTOR] == START:
            bridge, across = read((_BRIDGE, _ACROSS), raw[SELECTOR:])
            return deposit_of(bridge, None, across)
        if raw[:SELECTOR] == SWAP_AND_START:
            return deposit_of(*read((_BRIDGE, _SWAPS, _ACROSS), raw[SELECTOR:]))
    except ValueError:
        return None
    return None


def deposit_of(bridge: Values, swaps: Values | None, across: Values) -> DiamondDeposit:
    """The deposit that decoded arguments make; `swaps` are None for the function that takes none.

    Raises ValueError if they do anything else beside it, or would be refused.
    """
    least, has_swaps, has_call = bridge[6], bridge[8], bridge[9]
    taken = least if swaps is None else _amount_taken(swaps, bridge[4], least)
    output = across[3] if swaps is None else least * across[4] // _MULTIPLIED
    if bool(has_swaps) != (swaps is not None) or not has_call:
        raise ValueError("it contradicts itself")
    ends = (_address(across[1]), _address(across[0]), _text(bridge[4]), _address(across[2]))
    return DiamondDeposit(Deposit(*ends, least, output, bridge[7], _address(across[5]), *across[6:]), taken)


def decode_receiver_message(message: bytes) -> ReceiverMessage | None:
    """What a message tells ReceiverAcrossV4 to do; None unless it is one call with the tokens that arrived."""
    try:
        _, swaps, receiver = read(("bytes32", _SWAPS, "address"), message)
    except ValueError:
        return None
    if len(swaps) != 1:
        return None
    target, spender, token, left, amount, data, _ = swaps[0]
    if target != spender or token != left:
        return None
    return ReceiverMessage(_text(token), _text(target), "0x" + data.hex(), amount, _text(receiver))


def _amount_taken(swaps: Values, token: bytes, left: int) -> int:
    """What swaps that pay fees take from the sender, so that `left` is left. Raises ValueError for other swaps."""
    if len(swaps) != 1:
        raise ValueError("it makes more than one swap, or none")
    target, spender, sent, received, taken, data, is_taken = swaps[0]
    if target != spender or sent != token or received != token or not is_taken:
        raise ValueError("it swaps tokens")
    if taken - _fees(data, token) != left:
        raise ValueError("its fees are not what is missing")
    return int(taken)


def _fees(data: bytes, token: bytes) -> int:
    """The sum that a call of forwardERC20Fees pays in a token. Raises ValueError for other bytes."""
    arguments = data[SELECTOR:]
    words = [read_uint(arguments, start) for start in range(0, len(arguments), WORD)]
    head, pairs = words[:3], words[3:]
    if data[:SELECTOR] != FORWARD_FEES or head != [int.from_bytes(token, "big"), 2 * WORD, len(pairs) // 2]:
        raise ValueError("a swap does something else than pay fees")
    if len(pairs) % 2 or any(recipient >> 160 for recipient in pairs[::2]):
        raise ValueError("the fees are not encoded as they should be")
    return sum(pairs[1::2])


def _address(word: int) -> str:
    """The address in a bytes32. Raises ValueError if it is none of an EVM chain."""
    if word >> 160:
        raise ValueError("an address has more than 20 bytes")
    return _text(word.to_bytes(20, "big"))


def _text(raw: bytes) -> str:
    return evm_address("0x" + raw.hex())
