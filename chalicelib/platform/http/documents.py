"""The documents of the API and the guides, as infra/documents makes them: files in `docs`, also in what Lambda gets.

What a stage has of its own in them is the URL of its API: it takes the place of EXAMPLE_URL when they are read.
"""

import hashlib
from base64 import b64encode
from functools import cache
from pathlib import Path

import chalicelib
from chalicelib.base.frozen import frozen

OPENAPI, OPENAPI_3_0, REFERENCE = FILES = ("openapi.json", "openapi-3.0.json", "reference.html")
GUIDES = (
    "api", "first-order", "test-mode", "credentials", "people", "requests", "links", "payment-page", "payers",
    "commerce", "cross-chain", "plain-transfers", "recurring", "off-ramp", "webhooks", "search", "books", "agents",
    "dashboard", "mail", "clear-signing", "limits",
)  # fmt: skip
"""The documents in `docs` for those who use the service, in the order in which they are listed."""
WORKFLOWS = "workflows.arazzo.yaml"
"""The main flows of an integration in the form of Arazzo 1.0; kept in `docs` as it is served."""
INDEX = "llms.txt"
"""The list of the guides, as programs that read for people look for it (llmstxt.org)."""
GUIDE_FOLDER = "guides"
"""Within FOLDER: each guide as Markdown and as HTML, and INDEX."""
FOLDER = Path(chalicelib.__path__[0]).with_name("docs")
EXAMPLE_URL = "https://api.example.com"


@frozen
class Page:
    """The text of a page, a hash of it, and its response headers."""

    text: str
    version: str
    headers: dict[str, str]


@cache
def document(name: str, server_url: str) -> str:
    """The text of one of FILES for an API at that URL. It is read once per process."""
    return (FOLDER / name).read_text(encoding="utf-8").replace(EXAMPLE_URL, server_url)


@cache
def page(name: str, server_url: str) -> Page:
    """The page of a file in HTML, which may load nothing: its style and its script are allowed by their hashes."""
    text = document(name, server_url)
    style, script = (_hash_within(text, each) for each in ("style", "script"))
    policy = (
        f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
    return _page(text, "text/html", headers)


@cache
def plain_page(name: str, server_url: str, media_type: str) -> Page:
    """The page of a file that is shown as it is written."""
    return _page(document(name, server_url), media_type, {})


def _page(text: str, media_type: str, headers: dict[str, str]) -> Page:
    own = {"Content-Type": f"{media_type}; charset=utf-8", **headers, "X-Content-Type-Options": "nosniff"}
    return Page(text, hashlib.sha256(text.encode()).hexdigest()[:16], own)


def _hash_within(text: str, element: str) -> str:
    """The hash of what is in the only element of a name, as Content-Security-Policy has it; 'none' without one."""
    within = text.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"'sha256-{b64encode(hashlib.sha256(within.encode()).digest()).decode()}'" if within else "'none'"
