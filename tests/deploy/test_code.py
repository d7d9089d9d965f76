"""The zip file that every function gets: it has the code and what the service serves."""

import sys
import zipfile

from chalicelib.platform.http.documents import FILES, GUIDE_FOLDER, GUIDES, INDEX, WORKFLOWS
from infra.packaging.package import project_copy, zip_names

_GUIDES = [f"{each}.{form}" for each in GUIDES for form in ("html", "md")]
SERVED = (*FILES, WORKFLOWS, *(f"{GUIDE_FOLDER}/{each}" for each in (INDEX, *_GUIDES)))
"""The documents that the service shows, by their names in `docs`."""
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_the_functions_get_the_code_and_every_document_that_is_served() -> None:
    with project_copy("prod", {"lambda_python": PYTHON}, layer=False) as copy:
        code, _ = zip_names(copy, "x86_64", PYTHON)
        with zipfile.ZipFile(code) as file:
            names = set(file.namelist())
    assert names >= {"app.py", *(f"docs/{each}" for each in SERVED)}
