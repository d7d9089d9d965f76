"""The catalogue's JSON files: networks with their contracts, tokens, prices, and the code of two contracts."""

import json
from functools import cache
from pathlib import Path
from typing import Any


class InvalidData(Exception):
    """A file of this folder has not what the code needs; the message names the file and what is wrong in it."""


@cache
def load(name: str) -> Any:
    """The parsed `<name>.json` of this folder, read once per process. Callers must not modify it."""
    try:
        return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidData(f"{path_of(name)} is not valid JSON: {error}") from error


def path_of(name: str) -> str:
    """Where `<name>.json` is in the repository, for messages."""
    return f"{__name__.replace('.', '/')}/{name}.json"
