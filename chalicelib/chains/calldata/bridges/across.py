"""Deposits into Across, the bridge: a call of its SpokePool on the source chain, with a message for the destination.

SpokePool.depositV3, 4 + 14 words of 32 bytes or more:

    7b939232
    000  depositor: where the tokens go back if nobody fills the deposit in time
    020  recipient: who gets the tokens on the destination chain; with a message a contract, which is called with it
    040  input token, on the source chain
    060  output token, on the destination chain
    080  input amount
    0a0  output amount: what the recipient gets, exactly
    0c0  id of the destination chain
    0e0  exclusive relayer: zero if anybody may fill the deposit
    100  quote timestamp: the source chain refuses the deposit an hour after it
    120  fill deadline: the destination chain refuses to fill it after this second
    140  exclusivity: until when, or for how many seconds, only the exclusive relayer may fill it
    160  0x180: offset of the message
    180  length of the message
    1a0  message, padded with zeros to whole words

The message for MulticallHandler is abi.encode(((address target, bytes data, uint256 value)[] calls, address fallback)).
The handler makes all calls or none. What it has left of the output token then goes to the fallback.
"""

from typing import Any

from chalicelib.base.addresses import evm_address
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.abi import address_word, bytes_tail, call, members, uint_word
from chalicelib.chains.calldata.explanations.decode import SELECTOR, Array, Kind, read

DEPOSIT = bytes.fromhex("7b939232")
DEPOSIT_PARAMETERS = members(
    "address depositor, address recipient, address inputToken, address outputToken, uint256 inputAmount, "
    "uint256 outputAmount, uint256 destinationChainId, address exclusiveRelayer, uint32 quoteTimestamp, "
    "uint32 fillDeadline, uint32 exclusivityParameter, bytes message"
)
"""Names and types in the order of the contract, which is the order of the fields of Deposit."""
QUOTE_SECONDS = 3600
"""How long after its quote timestamp the source chain accepts a deposit (`depositQuoteTimeBuffer` of the contract)."""
_MESSAGE: Kind = (Array(("address", "bytes", "uint256")), "address")


@frozen
class Deposit:
    """The arguments of a deposit: addresses in EIP-55, amounts in base units, times in seconds of Unix time."""

    depositor: str
    recipient: str
    input_token: str
    output_token: str
    input_amount: int
    output_amount: int
    destination_chain_id: int
    exclusive_relayer: str
    quote_timestamp: int
    fill_deadline: int
    exclusivity: int
    message: bytes


@frozen
class HandlerMessage:
    """What MulticallHandler does with the tokens: the calls as (target, data, value), data as 0x hex; all or none."""

    calls: tuple[tuple[str, str, int], ...]
    fallback: str


def encode_deposit(deposit: Deposit) -> str:
    """The calldata as 0x hex. Raises OverflowError for a number that its type cannot hold."""
    for number in (deposit.quote_timestamp, deposit.fill_deadline, deposit.exclusivity):
        number.to_bytes(4, "big")
    return call(
        DEPOSIT,
        address_word(deposit.depositor),
        address_word(deposit.recipient),
        address_word(deposit.input_token),
        address_word(deposit.output_token),
        uint_word(deposit.input_amount),
        uint_word(deposit.output_amount),
        uint_word(deposit.destination_chain_id),
        address_word(deposit.exclusive_relayer),
        uint_word(deposit.quote_timestamp),
        uint_word(deposit.fill_deadline),
        uint_word(deposit.exclusivity),
        uint_word(32 * len(DEPOSIT_PARAMETERS)),
        bytes_tail(deposit.message),
    )


def decode_deposit(data: str) -> Deposit | None:
    """The deposit that calldata makes; None if it is not the canonical encoding of one."""
    try:
        raw = bytes.fromhex(data.removeprefix("0x"))
        if raw[:SELECTOR] != DEPOSIT:
            return None
        values = read(tuple(kind for _, kind in DEPOSIT_PARAMETERS), raw[SELECTOR:])
    except ValueError:
        return None
    arguments: list[Any] = [
        _text(value) if kind == "address" else value
        for (_, kind), value in zip(DEPOSIT_PARAMETERS, values, strict=True)
    ]
    return Deposit(*arguments)


def encode_message(message: HandlerMessage) -> bytes:
    """The message of a deposit for MulticallHandler."""
    made = [
        address_word(target) + uint_word(0x60) + uint_word(value) + bytes_tail(bytes.fromhex(data[2:]))
        for target, data, value in message.calls
    ]
    offsets = [32 * len(made) + sum(map(len, made[:place])) for place in range(len(made))]
    calls = uint_word(len(made)) + b"".join(map(uint_word, offsets)) + b"".join(made)
    return uint_word(0x20) + uint_word(0x40) + address_word(message.fallback) + calls


def decode_message(message: bytes) -> HandlerMessage | None:
    """What a message tells MulticallHandler to do; None if it is not the canonical encoding of one."""
    try:
        ((calls, fallback),) = read((_MESSAGE,), message)
    except ValueError:
        return None
    return HandlerMessage(tuple((_text(to), "0x" + data.hex(), value) for to, data, value in calls), _text(fallback))


def _text(raw: bytes) -> str:
    return evm_address("0x" + raw.hex())
