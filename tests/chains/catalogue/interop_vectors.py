"""Finds the vectors of interoperable addresses and destination ids.

The folder is named by the environment variable INTEROP_VECTORS; without it, it is `vectors/` beside this file.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

OWN = Path(__file__).with_name("vectors")
COVERED = ("cases", "destinationIds", "rejectList")


def folder() -> Path:
    return Path(os.environ.get("INTEROP_VECTORS") or OWN)


def entries(kind: str) -> list[Any]:
    """The entries of one list, from every file of the format, each as a pytest parameter named by its file."""
    return [
        pytest.param(entry, id=f"{name}:{kind}:{position}")
        for name, content in _files().items()
        if content is not None
        for position, entry in enumerate(content.get(kind, []))
        if _is_eip155(entry)
    ]


def not_covered() -> list[str]:
    """Lists of other kinds, and files of another format, by name."""
    left = []
    for name, content in _files().items():
        if content is None:
            left.append(f"{name} (another format)")
            continue
        others = (key for key, value in content.items() if isinstance(value, list) and key not in COVERED)
        left.extend(f"{name}:{key}" for key in others)
        foreign = (entry for entry in content.get("cases", []) if not _is_eip155(entry))
        left.extend(f"{name}:cases:{entry.get('name')}" for entry in foreign)
    return left


def _files() -> dict[str, dict[str, Any] | None]:
    place = folder()
    return {path.name: _read(path) for path in (sorted(place.glob("*.json")) if place.is_dir() else [place])}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(content, dict) and any(isinstance(content.get(kind), list) for kind in COVERED)
    return content if known else None


def _is_eip155(entry: dict[str, Any]) -> bool:
    return entry.get("namespace", "eip155") == "eip155"
