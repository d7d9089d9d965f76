"""What the code of a contract tells of what it can do with tokens that it is sent.

A contract that sends tokens on calls one of three functions of them, runs calls that it is given, as wallets do, or
runs code of another contract, as proxies do. The selectors of the first stand in the code in front of their arguments:

    63 selector 60 e0 1b      PUSH4, PUSH1, SHL
    7f selector 00...         PUSH32

and not in a comparison (63 selector 14), by which a token or a collectible finds its own function of that name.
"""

from collections.abc import Iterator
from functools import cache, lru_cache

from chalicelib.base.keccak import keccak256

_SENDING = "transfer(address,uint256)", "transferFrom(address,address,uint256)", "approve(address,uint256)"
_RUNNING = (
    "isValidSignature(bytes32,bytes)",  # ERC-1271
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",  # Safe
    "submitTransaction(address,uint256,bytes)",  # MultiSigWallet
    "execute(address,uint256,bytes)",
    "execute(bytes32,bytes)",  # ERC-7579
    "executeBatch((address,uint256,bytes)[])",
)
_PUSH1, _PUSH2, _PUSH4, _PUSH32 = 0x60, 0x61, 0x63, 0x7F
_CALLCODE, _DELEGATECALL = 0xF2, 0xF4
_DELEGATION = bytes.fromhex("ef0100")


@lru_cache(maxsize=64)  # the longest code takes some milliseconds, and anybody may name contracts
def may_send_tokens(code: bytes) -> bool:
    """Whether tokens that are sent to an address with this code may leave it again: without code, with a delegate of a
    key (EIP-7702), or with code as above."""
    if not code or code.startswith(_DELEGATION):
        return True
    sending, running = _selectors(_SENDING), _selectors(_RUNNING)
    for opcode, pushed, following in _instructions(_without_metadata(code)):
        if opcode in (_CALLCODE, _DELEGATECALL) or (opcode == _PUSH4 and pushed in running):
            return True
        if opcode == _PUSH4 and pushed in sending and following in (_PUSH1, _PUSH2):
            return True
        if opcode == _PUSH32 and pushed[:4] in sending and not any(pushed[4:]):
            return True
    return False


@cache
def _selectors(signatures: tuple[str, ...]) -> frozenset[bytes]:
    return frozenset(keccak256(each.encode())[:4] for each in signatures)


def _instructions(code: bytes) -> Iterator[tuple[int, bytes, int | None]]:
    """Each opcode, what it pushes, and the opcode behind it."""
    at = 0
    while at < len(code):
        opcode = code[at]
        end = at + 1 + (opcode - _PUSH1 + 1 if _PUSH1 <= opcode <= _PUSH32 else 0)
        yield opcode, code[at + 1 : end], code[end] if end < len(code) else None
        at = end


def _without_metadata(code: bytes) -> bytes:
    """The code without what compilers put at its end, whose length is in the last two bytes: it is never run."""
    length = int.from_bytes(code[-2:]) + 2
    is_metadata = 2 < length < len(code) and code[-length] & 0xF0 == 0xA0  # a map of CBOR
    return code[:-length] if is_metadata else code
