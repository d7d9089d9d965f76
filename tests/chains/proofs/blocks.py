"""Real blocks as nodes answered them (blocks.json, each with its source), five of them with all of their receipts."""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class Recorded(NamedTuple):
    network: str
    day: str
    source: str
    block: dict[str, Any]
    receipts: list[dict[str, Any]]

    @property
    def number(self) -> int:
        return int(self.block["number"], 16)


@cache
def recorded() -> tuple[Recorded, ...]:
    blocks = json.loads(Path(__file__).with_name("blocks.json").read_text())
    return tuple(Recorded(**each) for each in blocks)


def named(each: Recorded) -> str:
    return f"{each.network} {each.number}"
