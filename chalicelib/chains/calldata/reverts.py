"""The reason of a revert in words, from the data that the contract returned.

    08c379a0 | 0x20 | length | text      Error(string), of `require` and `revert`
    4e487b71 | code                      Panic(uint256), of checks that the compiler adds
    4 bytes and more                     an error that the contract defines, named where it is known

Anybody can deploy a contract that returns any text, so the result is always one short printable line.
"""

from chalicelib.chains.calldata.abi import WORD, read_uint

MAX_REASON = 200
_ERROR = bytes.fromhex("08c379a0")
_PANIC = bytes.fromhex("4e487b71")
_PANICS = {
    0x01: "an assertion failed",
    0x11: "arithmetic overflow",
    0x12: "division by zero",
    0x21: "invalid enum value",
    0x32: "index out of bounds",
    0x41: "out of memory",
}
NOT_DUE_YET = "the payment of the schedule is not due yet"
ALREADY_MADE = "the payment of the schedule was already made"
NOT_THE_OWNERS = "the signature of the payment is not that of the tokens' owner"
_CONTRACT_ERRORS = {
    "d5a4f5ea": "the schedule's signature is not that of its subscriber",
    "da023c0b": "the schedule has expired",
    "061235ef": "an earlier payment of the schedule was not made, or this one was",
    "bec060dd": "the schedule has no such payment",
    "b39d2709": NOT_DUE_YET,
    "544db32b": ALREADY_MADE,
    "fb8f41b2": "the token's allowance is too small",
    "e450d38c": "the balance of the token is too small",
    "cd21db4f": "the signature of the payment has expired",
    "756688fe": "the nonce of the payment was used before, or withdrawn",
    "815e1d64": NOT_THE_OWNERS,
    "8baa579f": NOT_THE_OWNERS,
    "b0669cbc": NOT_THE_OWNERS,
    "4be6321b": NOT_THE_OWNERS,
    "e1130dba": "only the operator of the payment, or its payer, may do this",
    "1f2a2005": "the amount is zero",
    "6c0442a2": "the amount is larger than the escrow can hold",
    "092af19e": "the amount is above the maximum amount of the payment",
    "c46cf60f": "the pre-approval of the payment has expired",
    "88ef0760": "the expiries of the payment are not in order",
    "bf47e3f7": "the largest fee of the payment is above all of it",
    "0950d5d0": "the smallest fee of the payment is above its largest",
    "0b345f0c": "the fee is outside of the bounds of the payment",
    "b6802b7f": "the fee has no receiver",
    "4caf6a34": "the receiver of the fee is not that of the payment",
    "5313287d": "the collector of the tokens is not one for this operation",
    "3c73c4a0": "the collector took another amount of tokens",
    "ad7c145a": "the payment was authorized or charged before",
    "36f2d211": "the authorization of the payment has expired",
    "604b0947": "the escrow holds less of the payment",
    "93bb7a12": "the escrow holds nothing of the payment",
    "aa5674ad": "the authorization of the payment has not expired yet",
    "94271bde": "the time to refund the payment is over",
    "6295d604": "the refund is above what was captured and not refunded",
    "a8334d15": "the payer has not pre-approved the payment",
    "19af2135": "the payer pre-approved the payment before",
}
"""The errors of ERC20RecurringPaymentProxy in the order of its checks, of tokens by ERC-6093, of Permit2, and of the
commerce escrow and its collector of pre-approvals."""


def revert_reason(data: bytes) -> str:
    """The reason of a revert in at most 200 characters, for any data."""
    selector, arguments = data[:4], data[4:]
    try:
        if selector == _ERROR:
            start = read_uint(arguments, 0)
            length = read_uint(arguments, start)
            text = arguments[start + WORD : start + WORD + length].decode(errors="replace")
            return printable(text) or "reverted with an empty reason"
        if selector == _PANIC:
            code = read_uint(arguments, 0)
            return f"panic 0x{code:02x}: {_PANICS.get(code, 'a check of the compiler failed')}"
    except ValueError:
        pass  # the data after the selector is malformed
    if len(selector) < 4:
        return "reverted without a reason"
    return _CONTRACT_ERRORS.get(selector.hex(), f"reverted with the contract's own error 0x{selector.hex()}")


def printable(text: str) -> str:
    """The text in one line of at most 200 characters, without control, bidirectional and other invisible characters."""
    return "".join(c for c in text[: 4 * MAX_REASON] if c.isprintable()).strip()[:MAX_REASON]
