"""Writes docs/openapi.json, which is what is promised to clients, and what is made of it (infra/documents/derived.py).

    python -m infra.documents.api           write the files, unless that breaks what openapi.json promises
    python -m infra.documents.api --answers FILE    with the responses in FILE in place of those that it has
    python -m infra.documents.api --check   exit with status 1 if openapi.json is not what this code makes

A change that a client can notice (infra/documents/changes.py) needs another revision in infra/documents/openapi.py
and pyproject.toml (`info.x-revision`): while the first number is 0 the second one rises, afterwards the first. If only
the document was wrong, and the service refused before what it refuses now, delete the file and write it anew.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from chalicelib.platform.http.documents import EXAMPLE_URL, FOLDER, OPENAPI
from infra.documents.changes import breaking_changes
from infra.documents.derived import as_text, write_documents
from infra.documents.operations import answers_in

ROOT, FILE = FOLDER.parent, FOLDER / OPENAPI
_SETTINGS = {
    "STAGE": "local",
    "RESOURCE_PREFIX": "payment-requests-local",
    **dict.fromkeys(("API_URL", "AUTH_URL", "PAY_URL", "EXPLORER_URL"), EXAMPLE_URL),
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""What the app needs to be imported; none of it is in the document."""


def current(server_url: str = EXAMPLE_URL, answers: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The document of this code, with the responses of examples that the file has, but for `answers`, and with paths in
    the order of the file: what moves in the code changes no line of it."""
    os.environ.update({name: value for name, value in _SETTINGS.items() if name not in os.environ})
    import app  # noqa: F401 - registers the operations
    from infra.documents.openapi import build

    kept = read_document()
    made: dict[str, Any] = json.loads(json.dumps(build(server_url, {**answers_in(kept), **answers})))
    paths = made["paths"]
    return {**made, "paths": {path: paths[path] for path in (*kept["paths"], *paths) if path in paths}}


def read_document() -> dict[str, Any]:
    """The document of the file."""
    kept: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {"paths": {}}
    return kept


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
    parser.add_argument("--answers", type=Path)
    options = parser.parse_args()
    has_answers = options.answers is not None and options.answers.exists()
    document = current(answers=json.loads(options.answers.read_text(encoding="utf-8")) if has_answers else {})
    if FILE.exists() and (found := problems(read_document(), document)):
        print("This breaks clients; undo it, or raise the revision:", *found, sep="\n  ", file=sys.stderr)
        return 1
    if options.check:
        return int(read_document() != document)
    FILE.write_text(as_text(document), encoding="utf-8")
    write_documents(FILE, FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
