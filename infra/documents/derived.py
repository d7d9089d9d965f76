"""Makes what the service serves of docs/openapi.json, its form of OpenAPI 3.0 and the page /docs, and of the guides.

    python -m infra.documents.derived       writes them beside it; `make setup` does, and a package has its own

They are not kept in the repository, as the document and the guides say it all.
"""

import json
import sys
from pathlib import Path
from typing import Any

from chalicelib.platform.http.documents import FOLDER, GUIDE_FOLDER, OPENAPI, OPENAPI_3_0, REFERENCE, WORKFLOWS
from infra.documents.guides import guides_of
from infra.documents.openapi_3_0 import as_3_0
from infra.documents.reference import page


def texts_of(document: dict[str, Any]) -> dict[str, str]:
    """The files, by their names in `docs`, that a document makes up."""
    return {OPENAPI: as_text(document), OPENAPI_3_0: as_text(as_3_0(document)), REFERENCE: page(document)}


def write_documents(openapi: Path, folder: Path) -> None:
    """Writes what is served of a file with the OpenAPI document, itself included, and of the files beside it, into a
    folder."""
    folder.mkdir(exist_ok=True)
    document = json.loads(openapi.read_text(encoding="utf-8"))
    for name, text in texts_of(document).items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / WORKFLOWS).write_text(openapi.with_name(WORKFLOWS).read_text(encoding="utf-8"), encoding="utf-8")
    guides = folder / GUIDE_FOLDER
    guides.mkdir(exist_ok=True)
    for name, text in guides_of(document["info"]["title"], openapi.parent).items():
        (guides / name).write_text(text, encoding="utf-8")


def as_text(document: dict[str, Any]) -> str:
    """A document as it stands in its file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    write_documents(FOLDER / OPENAPI, FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())
