"""Finds the calldata vectors: which files have the format, which entries this code covers, and what is left over.

The folder is named by the environment variable VECTORS; without it, it is `vectors/` beside this file.
An entry's family is told by what it is (the selector of its data, the fields of its inputs), never by its id.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chalicelib.chains.catalogue.networks import find_network

OWN = Path(__file__).with_name("vectors")
LISTS = ("calldata", "paymentReferences", "nativeHashes", "typed")

# The calls that are built, by selector, with the inputs each needs.
BUILT = {
    "0xc219a14d": ("network", "token", "payee", "amount"),
    "0xb868980b": ("network", "payee", "amount"),
    "0x3af2c012": ("network", "invoiceCurrency", "payee", "amount", "path", "maxToSpend", "maxRateTimespan"),
    "0xac473c8a": ("network", "invoiceCurrency", "payee", "amount", "path", "maxToSpend", "maxRateTimespan"),
    "0x095ea7b3": ("token", "spender", "amount"),
    "0x9af8a581": ("network", "requests"),
    "0x92cddb91": ("network", "requests"),
    "0x8d80ff0a": ("innerIds",),
    "0xc6184c2f": ("network", "args"),
    "0x41d66202": ("network", "args"),
    "0x9e65819f": ("network", "args"),
    "0x644cd79a": ("network", "args"),
    "0xfa1cad17": ("network", "args"),
    "0xe1a2a66d": ("network", "args"),
    "0xd458db5a": ("network", "args"),
}


@dataclass(frozen=True)
class Vector:
    """One entry of one list of one file."""

    file: str
    kind: str
    name: str
    entry: Any

    def __str__(self) -> str:
        return f"{self.file}:{self.kind}:{self.name}"


@dataclass(frozen=True)
class Found:
    """Entries to check, entries of families not built yet, and files of another format."""

    covered: tuple[Vector, ...]
    not_covered: tuple[Vector, ...]
    other_files: tuple[str, ...]


def folder() -> Path:
    return Path(os.environ.get("VECTORS") or OWN)


def find(place: Path) -> Found:
    """Sorts every `*.json` file of a folder (or one file)."""
    covered, not_covered, others = [], [], []
    for path in sorted(place.glob("*.json")) if place.is_dir() else [place]:
        content = _read(path)
        if content is None:
            others.append(path.name)
            continue
        for kind, entries in content.items():
            for position, entry in enumerate(entries if isinstance(entries, list) else []):
                vector = Vector(path.name, kind, _name(entry, position), entry)
                (covered if _is_covered(vector) else not_covered).append(vector)
    return Found(tuple(covered), tuple(not_covered), tuple(others))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(content, dict) and any(isinstance(content.get(kind), list) for kind in LISTS)
    return content if known else None


def _name(entry: Any, position: int) -> str:
    return str(entry["id"]) if isinstance(entry, dict) and "id" in entry else str(position)


def _is_covered(vector: Vector) -> bool:
    if not isinstance(vector.entry, dict):
        return False
    if vector.kind in ("paymentReferences", "nativeHashes"):
        return True
    if vector.kind == "typed":
        return vector.entry.get("primaryType") in ("SafeTx", "SchedulePermit", "PermitTransferFrom")
    inputs = vector.entry.get("inputs", {}) if vector.kind == "calldata" else {}
    needed = BUILT.get(str(vector.entry.get("data"))[:10])
    if needed is None or any(key not in inputs for key in needed):
        return False
    return "network" not in needed or find_network(inputs["network"]) is not None
