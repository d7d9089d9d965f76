"""Tokens that keep a part of what they move, written in EVM assembly (hostile.py).

They have Transfer logs and no balances: every wallet has, and has allowed, all there is.
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
