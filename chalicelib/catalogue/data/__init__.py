"""The catalogues the rules are read from: tokens, networks and contract addresses, as JSON files."""

import json
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load(name: str) -> Any:
    """The parsed `<name>.json` of this folder, read once per process; callers must not change it."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
