"""Tokens that keep a part of what they move, or whose balances change by themselves, in EVM assembly (hostile.py).

They have Transfer logs. Every wallet has, and has allowed, all there is, but for who has shares of a rebasing token.
"""

from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC
from tests.onchain.hostile import assemble

ONE_PERCENT = "0x2710 0x26ac 0x44 CALLDATALOAD MUL DIV"
ONE_UNIT = "0x01 0x44 CALLDATALOAD SUB"
"""What is left of the amount that transferFrom is called with."""


def keeping_token(left: str | None) -> bytes:
    """The code of a token whose transferFrom(from, to, amount) moves what the words `left` leave on the stack, or
    nothing without them."""
    logs = f"{left} PUSH0 MSTORE 0x24 CALLDATALOAD 0x04 CALLDATALOAD {TRANSFER_TOPIC} 0x20 PUSH0 LOG3"
    returns = "PUSH0 MSTORE 0x20 PUSH0 RETURN"
    is_moving = "PUSH0 CALLDATALOAD 0xe0 SHR 0x23b872dd EQ"
    return assemble(f"{is_moving} @move JUMPI 0x{2**128:034x} {returns} :move {logs if left else ''} 0x01 {returns}")


def rebasing_token() -> bytes:
    """The code of a token that keeps shares: a balance is the shares times slot 0, in thousandths, rounded down twice.

    Its Transfer logs say the amount that it was called with.
    """
    thousand, rate = "0x03e8", "PUSH0 SLOAD"
    logs = f"0x44 CALLDATALOAD PUSH0 MSTORE 0x24 CALLDATALOAD 0x04 CALLDATALOAD {TRANSFER_TOPIC} 0x20 PUSH0 LOG3"
    returns, selector = "PUSH0 MSTORE 0x20 PUSH0 RETURN", "PUSH0 CALLDATALOAD 0xe0 SHR"
    shares = f"{rate} {thousand} 0x44 CALLDATALOAD MUL DIV 0x24 CALLDATALOAD SSTORE"
    balance = f"{thousand} {rate} 0x04 CALLDATALOAD SLOAD MUL DIV"
    return assemble(
        f"{selector} 0x23b872dd EQ @move JUMPI {selector} 0x70a08231 EQ @balance JUMPI :all 0x{2**128:034x} {returns} "
        f":move {shares} {logs} 0x01 {returns} :balance {balance} DUP1 ISZERO @all JUMPI {returns}"
    )
