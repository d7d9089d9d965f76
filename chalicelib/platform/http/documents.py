"""The documents of the API as `make docs` writes them (infra/documents): files in `docs`, also in what Lambda gets.

What a stage has of its own in them is the URL of its API: it takes the place of EXAMPLE_URL when they are read.
"""

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path

import chalicelib
from chalicelib.base.frozen import frozen

OPENAPI, OPENAPI_3_0, REFERENCE = FILES = ("openapi.json", "openapi-3.0.json", "reference.html")
FOLDER = Path(chalicelib.__path__[0]).with_name("docs")
EXAMPLE_URL = "https://api.example.com"


@frozen
class Page:
    """The HTML, a hash of it, and its response headers."""

    text: str
    version: str
    headers: dict[str, str]


@cache
def document(name: str, server_url: str) -> str:
    """The text of one of FILES for an API at that URL. It is read once per process."""
    return (FOLDER / name).read_text(encoding="utf-8").replace(EXAMPLE_URL, server_url)


@cache
def reference_page(server_url: str) -> Page:
    """The page /docs, which may load nothing: its style and its script are allowed by their hashes."""
    text = document(REFERENCE, server_url)
    style, script = (_hash_within(text, each) for each in ("style", "script"))
    policy = (
        f"default-src 'none'; style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Page(text, hashlib.sha256(text.encode()).hexdigest()[:16], headers)


def _hash_within(text: str, element: str) -> str:
    """The hash of what is in the only element of a name, as Content-Security-Policy has it."""
    within = text.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"sha256-{b64encode(hashlib.sha256(within.encode()).digest()).decode()}"
