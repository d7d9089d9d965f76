"""Finds the Tron vectors: addresses, signed messages and typed data, references, calls of our contracts.

The folder (or file) is named by the environment variable TRON_VECTORS; without it, it is `vectors/tron/` beside this file.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, TRON_BATCH, address_of

OWN = Path(__file__).with_name("vectors") / "tron"
COVERED = ("addresses", "messages", "typedData", "legacyV1", "request", "networks", "triggers")

# The calls that are built, and the contract on mainnet that takes each; None is any token.
TRIGGERS = {
    "approve(address,uint256)": None,
    "transferFromWithReferenceAndFee(address,address,uint256,bytes,uint256,address)": ERC20_FEE_PROXY,
    "batchERC20PaymentsWithReference(address,address[],uint256[],bytes[],uint256[],address)": TRON_BATCH,
}


@dataclass(frozen=True)
class Vector:
    """One entry of one family of one file; `owners` are the wallets that the file names as signers."""

    file: str
    family: str
    name: str
    entry: Any
    owners: frozenset[str]

    def __str__(self) -> str:
        return f"{self.file}:{self.family}:{self.name}"


def folder() -> Path:
    return Path(os.environ.get("TRON_VECTORS") or OWN)


def find(place: Path) -> tuple[list[Vector], list[str]]:
    """The entries to check, and the names of what is left over: entries of other families, files of another format."""
    covered, left = [], []
    for path in sorted(place.glob("*.json")) if place.is_dir() else [place]:
        content = _read(path)
        if content is None:
            left.append(f"{path.name} (another format)")
            continue
        owners = frozenset(_owners(content))
        for family, value in content.items():
            for name, entry in _entries(value):
                if family in COVERED and (family != "triggers" or _is_built(entry)):
                    covered.append(Vector(path.name, family, name, entry, owners))
                elif not family.startswith("_"):
                    left.append(f"{path.name}:{family}:{name}")
    return covered, left


def _is_built(trigger: dict[str, Any]) -> bool:
    if trigger.get("functionSelector") not in TRIGGERS:
        return False
    contract = TRIGGERS[trigger["functionSelector"]]
    return contract is None or trigger["contract"] == address_of(contract, "tron")


def _entries(value: Any) -> list[tuple[str, Any]]:
    """A family is a list of entries, some with an id, or one entry."""
    if not isinstance(value, list):
        return [("0", value)]
    return [(str(entry.get("id", at)) if isinstance(entry, dict) else str(at), entry) for at, entry in enumerate(value)]


def _owners(content: dict[str, Any]) -> list[str]:
    signed = [entry for family in ("messages", "typedData") for entry in content.get(family, [])]
    return [entry["owner"] for entry in signed if "owner" in entry]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(content, dict) and any(family in content for family in (*COVERED[:4], "triggers"))
    return content if known else None
