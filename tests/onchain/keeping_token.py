"""Tokens that keep a part of what they move, or whose balances change by themselves, in EVM assembly (hostile.py).

They have Transfer logs. Every wallet has, and has allowed, all there is, but for who has shares of a rebasing token.
"""

from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC
from tests.onchain.hostile import assemble, reverts_with

ONE_PERCENT = "0x2710 0x26ac 0x44 CALLDATALOAD MUL DIV"
ONE_UNIT = "0x01 0x44 CALLDATALOAD SUB"
"""What is left of the amount that transferFrom is called with."""
ALL = "0x44 CALLDATALOAD"
_RETURNS = "PUSH0 MSTORE 0x20 PUSH0 RETURN"
SAYS_TRUE, SAYS_FALSE, SAYS_NOTHING = f"0x01 {_RETURNS}", f"PUSH0 {_RETURNS}", "STOP"
_SELECTOR = "PUSH0 CALLDATALOAD 0xe0 SHR"


def keeping_token(left: str | None, ending: str = SAYS_TRUE) -> bytes:
    """The code of a token whose transferFrom(from, to, amount) moves what the words `left` leave on the stack, or
    nothing without them, and ends as the words `ending` do."""
    logs = f"{left} PUSH0 MSTORE 0x24 CALLDATALOAD 0x04 CALLDATALOAD {TRANSFER_TOPIC} 0x20 PUSH0 LOG3"
    is_moving = f"{_SELECTOR} 0x23b872dd EQ"
    return assemble(f"{is_moving} @move JUMPI 0x{2**128:034x} {_RETURNS} :move {logs if left else ''} {ending}")


def refusing_token(refused: str, has_allowance: bool = True) -> bytes:
    """The code of a token that reverts if anything is sent to one address, as that of an issuer with a blacklist. It says
    that nobody is allowed anything unless it `has_allowance`."""
    allowance = "" if has_allowance else f"{_SELECTOR} 0xdd62ed3e EQ @nothing JUMPI"
    logs = f"{ALL} PUSH0 MSTORE 0x24 CALLDATALOAD 0x04 CALLDATALOAD {TRANSFER_TOPIC} 0x20 PUSH0 LOG3"
    return assemble(
        f"{_SELECTOR} 0x23b872dd EQ @move JUMPI {_SELECTOR} 0xa9059cbb EQ @send JUMPI {allowance} "
        f"0x{2**128:034x} {_RETURNS} {'' if has_allowance else f':nothing PUSH0 {_RETURNS}'} "
        f":move 0x24 CALLDATALOAD {refused} EQ @refuse JUMPI {logs} {SAYS_TRUE} "
        f":send 0x04 CALLDATALOAD {refused} EQ @refuse JUMPI {SAYS_TRUE} :refuse {reverts_with('blocked')}"
    )


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


def rebasing_wallets_token() -> bytes:
    """As `rebasing_token`, and whoever pays has shares, too: a transferFrom of more than the balance fails."""
    thousand, rate = "0x03e8", "PUSH0 SLOAD"
    needed, has = f"{rate} {thousand} {ALL} MUL DIV", "0x04 CALLDATALOAD SLOAD"
    takes = f"{needed} {has} LT @refuse JUMPI {needed} {has} SUB 0x04 CALLDATALOAD SSTORE"
    gives = f"{needed} 0x24 CALLDATALOAD SLOAD ADD 0x24 CALLDATALOAD SSTORE"
    logs = f"{ALL} PUSH0 MSTORE 0x24 CALLDATALOAD 0x04 CALLDATALOAD {TRANSFER_TOPIC} 0x20 PUSH0 LOG3"
    return assemble(
        f"{_SELECTOR} 0x23b872dd EQ @move JUMPI {_SELECTOR} 0x70a08231 EQ @balance JUMPI 0x{2**128:034x} {_RETURNS} "
        f":move {takes} {gives} {logs} {SAYS_TRUE} :balance {thousand} {rate} {has} MUL DIV {_RETURNS} "
        f":refuse {reverts_with('balance')}"
    )


def dollar_token(
    left: str, balance: str = "", symbol: str = "USDC", decimals: int = 6, ending: str = SAYS_TRUE
) -> bytes:
    """The code of a token with balances, of which transferFrom(from, to, amount) adds what the words `left` leave on the
    stack, and that are shown as the words `balance` make them. What was allowed is not asked."""
    functions = {
        "move": "23b872dd", "allow": "095ea7b3", "balance": "70a08231", "symbol": "95d89b41", "decimals": "313ce567",
    }  # fmt: skip
    jumps = " ".join(f"{_SELECTOR} 0x{selector} EQ @{name} JUMPI" for name, selector in functions.items())
    takes = "0x44 CALLDATALOAD 0x04 CALLDATALOAD SLOAD SUB 0x04 CALLDATALOAD SSTORE"
    gives = f"{left} 0x24 CALLDATALOAD SLOAD ADD 0x24 CALLDATALOAD SSTORE"
    logs = f"{left} PUSH0 MSTORE 0x24 CALLDATALOAD 0x04 CALLDATALOAD {TRANSFER_TOPIC} 0x20 PUSH0 LOG3"
    stored = f"0x20 PUSH0 MSTORE 0x{len(symbol):02x} 0x20 MSTORE 0x{symbol.encode().hex().ljust(64, '0')} 0x40 MSTORE"
    return assemble(
        f"{jumps} STOP :move {takes} {gives} {logs} {ending} :allow {SAYS_TRUE} "
        f":balance 0x04 CALLDATALOAD SLOAD {balance} {_RETURNS} :symbol {stored} 0x60 PUSH0 RETURN :decimals 0x{decimals:02x} {_RETURNS}"
    )
