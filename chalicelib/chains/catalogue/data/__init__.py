"""The catalogue's JSON files: tokens, networks, contract addresses and the ERC-6492 validator's code."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load(name: str) -> Any:
    """The parsed `<name>.json` of this folder, read once per process. Callers must not modify it."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
