"""Typed data of random types and values, as EIP-712 allows them."""

from random import Random
from typing import Any

from eth_utils import to_checksum_address

from chalicelib.base.addresses import tron_address_of

_SCALARS = ("string", "bytes", "bytes1", "bytes20", "bytes32", "bool", "address", "address")
_INTEGERS = ("uint8", "uint96", "uint256", "int8", "int128", "int256")
_TEXTS = ("", "a", "two words", "žluťoučký 馬 🐎", "line\nline", "x" * 100)


def typed_data(random: Random, tron: bool = False) -> dict[str, Any]:
    """{domain, types, primaryType, message}: up to four structs, each used by the one before it; nested arrays."""
    names = random.sample(["Zebra", "Mail", "Person", "apple", "A1", "_x"], random.randint(1, 4))
    types: dict[str, list[dict[str, str]]] = {}
    for at, name in enumerate(names):
        kinds = [random.choice(_SCALARS + _INTEGERS) for _ in range(random.randint(1, 4))]
        if at + 1 < len(names):
            kinds += [names[at + 1]] + ([random.choice(names[at + 1 :])] if random.random() < 0.5 else [])
        kinds = [kind + "".join(random.choices(["", "[]", "[2]", "[][2]"], [6, 2, 1, 1])) for kind in kinds]
        random.shuffle(kinds)
        types[name] = [{"name": f"m{position}", "type": kind} for position, kind in enumerate(kinds)]
    members = {
        "name": random.choice(_TEXTS),
        "version": "1",
        "chainId": random.choice([1, 8453, 728126428]),
        "verifyingContract": _address(random, tron),
        "salt": "0x" + random.randbytes(32).hex(),
    }
    chosen = random.sample(list(members), random.randint(1, len(members)))
    return {
        "domain": {name: value for name, value in members.items() if name in chosen},
        "types": types,
        "primaryType": names[0],
        "message": _struct(random, names[0], types, tron),
    }


def _struct(random: Random, name: str, types: Any, tron: bool) -> dict[str, Any]:
    return {field["name"]: _value(random, field["type"], types, tron) for field in types[name]}


def _value(random: Random, kind: str, types: Any, tron: bool) -> Any:
    if kind.endswith("]"):
        item, _, length = kind[:-1].rpartition("[")
        count = int(length) if length else random.randint(0, 3)
        return [_value(random, item, types, tron) for _ in range(count)]
    if kind in types:
        return _struct(random, kind, types, tron)
    if kind == "string":
        return random.choice(_TEXTS)
    if kind == "bool":
        return random.random() < 0.5
    if kind == "address":
        return _address(random, tron)
    if kind.startswith("bytes"):
        return "0x" + random.randbytes(int(kind[5:] or random.randint(0, 70))).hex()
    bits, signed = int(kind.removeprefix("u")[3:]), not kind.startswith("u")
    lowest, highest = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return str(random.choice([lowest, highest, 0, random.randint(lowest, highest)]))


def _address(random: Random, tron: bool) -> str:
    raw = random.randbytes(20)
    return tron_address_of(raw) if tron else to_checksum_address(raw)
