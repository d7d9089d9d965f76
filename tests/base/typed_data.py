"""Typed data of random types and values, of the kinds that the service signs."""

from random import Random
from typing import Any

from eth_utils import to_checksum_address

from chalicelib.base.addresses import tron_address_of

_SCALARS = ("string", "bytes", "bytes32", "bool", "address", "address")
_INTEGERS = ("uint8", "uint32", "uint96", "uint128", "uint256")
_TEXTS = ("", "a", "two words", "žluťoučký 馬 🐎", "line\nline", "x" * 100)


def typed_data(random: Random, tron: bool = False) -> dict[str, Any]:
    """{domain, types, primaryType, message}: one struct of plain members, as the service signs them."""
    name = random.choice(["Zebra", "Mail", "apple", "A1", "_x"])
    kinds = [random.choice(_SCALARS + _INTEGERS) for _ in range(random.randint(1, 12))]
    fields = [{"name": f"m{position}", "type": kind} for position, kind in enumerate(kinds)]
    members = {
        "name": random.choice(_TEXTS),
        "version": "1",
        "chainId": random.choice([1, 8453, 728126428]),
        "verifyingContract": _address(random, tron),
        "salt": "0x" + random.randbytes(32).hex(),
    }
    chosen = random.sample(list(members), random.randint(1, len(members)))
    return {
        "domain": {member: value for member, value in members.items() if member in chosen},
        "types": {name: fields},
        "primaryType": name,
        "message": {field["name"]: _value(random, field["type"], tron) for field in fields},
    }


def _value(random: Random, kind: str, tron: bool) -> Any:
    if kind == "string":
        return random.choice(_TEXTS)
    if kind == "bool":
        return random.random() < 0.5
    if kind == "address":
        return _address(random, tron)
    if kind.startswith("bytes"):
        return "0x" + random.randbytes(int(kind[5:] or random.randint(0, 70))).hex()
    highest = 2 ** int(kind.removeprefix("uint")) - 1
    return str(random.choice([highest, 0, random.randint(0, highest)]))


def _address(random: Random, tron: bool) -> str:
    raw = random.randbytes(20)
    return tron_address_of(raw) if tron else to_checksum_address(raw)
