"""Writes docs/openapi.json, the OpenAPI document as it is promised to clients.

    python -m infra.documents.api           write the file, unless that breaks what it promises
    python -m infra.documents.api --check   exit with status 1 if the file is not what the app serves

A change that a client can notice (infra/documents/changes.py) needs another revision in chalicelib/http/openapi.py
and pyproject.toml (`info.x-revision`): while the first number is 0 the second one rises, afterwards the first. If only
the document was wrong, and the service refused before what it refuses now, delete the file and write it anew.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from infra.documents.changes import breaking_changes

FILE = Path(__file__).parents[2] / "docs" / "openapi.json"
SERVER = "https://api.example.com"
_SETTINGS = {
    "STAGE": "local",
    "RESOURCE_PREFIX": "payment-requests-local",
    **dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL", "EXPLORER_URL"), SERVER),
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""What the app needs to be imported; none of it is in the document."""


def current() -> dict[str, Any]:
    """The document of this code."""
    os.environ.update({name: value for name, value in _SETTINGS.items() if name not in os.environ})
    import app  # noqa: F401 - registers the operations
    from chalicelib.http.openapi import build

    made: dict[str, Any] = json.loads(json.dumps(build(SERVER)))
    return made


def written() -> dict[str, Any]:
    """The document of the file."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return kept


def text_of(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def problems(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The breaking changes, unless the revision says that there are some."""
    before, after = (_breaking_part(each["info"]["x-revision"]) for each in (old, new))
    return [] if after > before else breaking_changes(old, new)


def _breaking_part(revision: str) -> tuple[int, ...]:
    major, minor, _ = (int(part) for part in revision.split("."))
    return (major, minor) if major == 0 else (major,)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    document = current()
    if FILE.exists() and (found := problems(written(), document)):
        print("This breaks clients; undo it, or raise the revision:", *found, sep="\n  ", file=sys.stderr)
        return 1
    if check:
        return int(FILE.read_text(encoding="utf-8") != text_of(document))
    FILE.write_text(text_of(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
