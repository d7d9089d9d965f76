"""Programs of contracts that strangers could deploy, written in EVM assembly.

A program is words with spaces between: opcodes, `0x...` (bytes to push), `:name` (a jump destination) and `@name` (which
pushes its offset).
"""

from collections.abc import Mapping

_OPCODES: Mapping[str, int] = {
    **{"STOP": 0x00, "ADD": 0x01, "MUL": 0x02, "SUB": 0x03, "DIV": 0x04, "LT": 0x10, "GT": 0x11, "EQ": 0x14, "ISZERO": 0x15, "AND": 0x16, "SHR": 0x1C},
    **{"ADDRESS": 0x30, "ORIGIN": 0x32, "CALLDATALOAD": 0x35, "CALLDATASIZE": 0x36, "CALLDATACOPY": 0x37, "CODECOPY": 0x39, "TIMESTAMP": 0x42},
    **{"RETURNDATASIZE": 0x3D, "RETURNDATACOPY": 0x3E, "POP": 0x50, "MSTORE": 0x52, "SLOAD": 0x54, "SSTORE": 0x55, "JUMP": 0x56, "JUMPI": 0x57},
    **{"GAS": 0x5A, "PUSH0": 0x5F, "DUP1": 0x80, "LOG0": 0xA0, "LOG3": 0xA3, "CREATE": 0xF0, "CALL": 0xF1, "RETURN": 0xF3},
    **{"DELEGATECALL": 0xF4, "CREATE2": 0xF5, "REVERT": 0xFD, "INVALID": 0xFE, "SELFDESTRUCT": 0xFF},
}
_JUMPDEST, _PUSH2 = 0x5B, 0x61

MAGIC = "0x1626ba7e" + "00" * 28
"""The word that isValidSignature (ERC-1271) returns for a valid signature."""
SAYS_YES = f"{MAGIC} PUSH0 MSTORE 0x20 PUSH0 RETURN"
SAYS_NO = "PUSH0 PUSH0 MSTORE 0x20 PUSH0 RETURN"


def answers_signatures(condition: str, otherwise: str) -> str:
    """A wallet that accepts any signature if the condition leaves a number other than zero on the stack.

    It runs `otherwise` for every call that is not of isValidSignature.
    """
    is_asked = "PUSH0 CALLDATALOAD 0xe0 SHR 0x1626ba7e EQ"
    return f"{is_asked} @asked JUMPI {otherwise} :asked {condition} @yes JUMPI {SAYS_NO} :yes {SAYS_YES}"


def reverts_with(text: str) -> str:
    """A contract that reverts with Error(string)."""
    length = -(-len(text) // 32) * 32
    data = bytes.fromhex("08c379a0") + b"".join(n.to_bytes(32, "big") for n in (32, len(text)))
    data += text.encode().ljust(length, b"\0")
    words = [data[start : start + 32].ljust(32, b"\0") for start in range(0, len(data), 32)]
    stores = (f"0x{word.hex()} 0x{32 * index:04x} MSTORE" for index, word in enumerate(words))
    return f"{' '.join(stores)} 0x{len(data):04x} PUSH0 REVERT"


def assemble(program: str) -> bytes:
    """The code of a program. Raises KeyError for an unknown opcode or name."""
    code, destinations, uses = bytearray(), dict[str, int](), dict[int, str]()
    for word in program.split():
        if word.startswith(":"):
            destinations[word[1:]] = len(code)
            code.append(_JUMPDEST)
        elif word.startswith("@"):
            uses[len(code) + 1] = word[1:]
            code += bytes([_PUSH2, 0, 0])
        elif word.startswith("0x"):
            raw = bytes.fromhex(word[2:])
            code += bytes([_OPCODES["PUSH0"] + len(raw)]) + raw
        else:
            code.append(_OPCODES[word])
    for at, name in uses.items():
        code[at : at + 2] = destinations[name].to_bytes(2, "big")
    return bytes(code)


def creation(program: str) -> str:
    """The creation code of a contract with this program, as 0x hex: it returns the code that stands behind it."""
    code = assemble(program)
    start = assemble(f"0x{len(code):04x} 0x000d PUSH0 CODECOPY 0x{len(code):04x} PUSH0 RETURN")
    assert len(start) == 0x0D, "the offset that CODECOPY is given"
    return "0x" + (start + code).hex()
