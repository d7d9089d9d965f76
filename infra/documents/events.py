"""Writes the tables of docs/webhooks.md from the code: the kinds of events, and their fields (webhooks/kinds.py).

    python -m infra.documents.events           write them
    python -m infra.documents.events --check   exit with status 1 if they are not what the code says
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from chalicelib.webhooks.fields import Field
from chalicelib.webhooks.kinds import CORE, Kind

FILE = Path(__file__).parents[2] / "docs" / "webhooks.md"
KINDS, FIELDS = "| Event | When it is sent |", "| Field | Events | Type | Present | Meaning |"
"""The first rows of the tables. In the table of fields `payment.confirmed` is called confirmed, and others likewise."""
_ABOUT_VARIANTS = {
    "client_id": "A variant of the core event, if the link or request belongs to a client id.",
    "checkout": "A variant of the core event, for every request of a link. A request without a link has none.",
}
_PERSONAL = "; empty for an unconfirmed webhook"


def document(text: str) -> str:
    """The document with these tables in place of those that `text` has."""
    for head, rows in ((KINDS, _kinds()), (FIELDS, _fields())):
        found = re.search(rf"^{re.escape(head)}\n(\|.*\n)+", text, re.MULTILINE)
        assert found, f"docs/webhooks.md needs a table that begins with {head}"
        table = "\n".join((head, re.sub(r"[^|]+", "---", head), *rows)) + "\n"
        text = text[: found.start()] + table + text[found.end() :]
    return text


def _kinds() -> Iterator[str]:
    yield from (f"| `{kind.name}` | {kind.when} |" for kind in CORE)
    for variant, about in _ABOUT_VARIANTS.items():
        names = ", ".join(f"`{kind.name}.{variant}`" for kind in CORE if variant in kind.variants)
        yield f"| {names} | {about} |"


def _fields() -> Iterator[str]:
    kinds_of = dict[int, tuple[Field, list[Kind]]]()
    for kind in CORE:
        for field in kind.fields:
            kinds_of.setdefault(id(field), (field, []))[1].append(kind)
    for field, kinds in kinds_of.values():
        events = "all" if len(kinds) == len(CORE) else ", ".join(_short(kind.name) for kind in kinds)
        parts = ", ".join(f"`{each.name}`" for each in field.parts)
        meaning = field.meaning + (f": {parts}" if parts else "") + (_PERSONAL if field.is_personal else "")
        yield f"| `{field.name}` | {events} | {field.type} | {field.present} | {meaning} |"


def _short(name: str) -> str:
    return name.removeprefix("payment.") if name.startswith("payment.") else f"`{name}`"


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the tables of docs/webhooks.md.")
    parser.add_argument("--check", action="store_true", help="compare only")
    before = FILE.read_text(encoding="utf-8")
    after = document(before)
    if parser.parse_args().check:
        return int(before != after)
    FILE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
