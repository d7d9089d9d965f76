"""Prints what the payment page is, or says where a served one differs from it.

    python -m infra.page_hash        # the SHA-256 of each of its files, and of the page without the facts of any link
    python -m infra.page_hash URL    # reads that page and every file of it, and compares; exit code 1 if they differ

`make page-hash` and `make page-hash URL=...` run these.
"""

import hashlib
import re
import sys
from collections.abc import Iterator
from html import unescape
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from chalicelib.pages.assets import assets, template

_HTML = "text/html; charset=utf-8"
_SECONDS = 20
_LARGEST = 4 * 1024 * 1024
_UNREAD = (OSError, ValueError, HTTPException)
_TURNS = ("content-encoding", "link", "refresh")
"""Headers by which other bytes are run than those that were read."""
_FACTS = re.compile(
    r'<meta name="api-url" content="([^"<>]*)"><meta name="client-id" content="([^"<>]*)"><noscript>(.*)</noscript>',
    re.DOTALL,
)
"""All that may stand between the two marks. A browser that runs scripts takes what is in `noscript` for text."""
_ESCAPES = re.compile(r"<script|</noscript|<!--", re.IGNORECASE)


def hashes() -> dict[str, str]:
    """SHA-256 by path; `/` is the page, with nothing between its two comments that enclose the facts."""
    files = {"/": "".join(template()), **{f"/pages/{name}": asset.text for name, asset in assets().items()}}
    return {path: _sha256(text.encode()) for path, text in files.items()}


def compare(url: str) -> tuple[list[str], str]:
    """Where the page at an address, and its files on that host, are not what this code has, a line each; and whom the
    page asks, which is for the reader to judge."""
    (parts, before, after) = urlsplit(url), *template()
    host, page = f"{parts.scheme}://{parts.netloc}", parts.path or "/"
    try:
        body = _read(url, _HTML)
    except _UNREAD as error:
        return [f"{page}: {error}"], ""
    found = [f"{page}: {each}" for each in _page_differences(body, before.encode(), after.encode())]
    for name, asset in assets().items():
        try:
            digest = _sha256(_read(f"{host}/pages/{name}", asset.content_type))
            if digest != _sha256(asset.text.encode()):
                found.append(f"/pages/{name}: its SHA-256 is {digest}")
        except _UNREAD as error:
            found.append(f"/pages/{name}: {error}")
    named = _FACTS.search(body.decode(errors="replace"))
    return found, f"it asks {unescape(named[1])!r} as client id {unescape(named[2])!r}" if named else ""


def _page_differences(body: bytes, before: bytes, after: bytes) -> Iterator[str]:
    """Outside of the marks every byte is this code's; between them are two metas and one noscript, which ends once."""
    if len(body) < len(before) + len(after) or not body.startswith(before) or not body.endswith(after):
        yield "it differs outside of the facts of the link"
        return
    facts = _FACTS.fullmatch(body[len(before) : len(body) - len(after)].decode(errors="replace"))
    if facts is None:
        yield "more than the two metas and one noscript stands between the marks of the facts"
    elif _ESCAPES.search(facts[3]):
        yield "the noscript holds a script, its own end, or a comment"


def _read(address: str, content_type: str) -> bytes:
    """The body of a plain answer of 200 of that type. Raises what _UNREAD names for all others."""
    if not address.startswith(("http://", "https://")):
        raise ValueError("the address of a page begins with https:// or http://")
    try:
        with build_opener(_NoRedirect).open(address, timeout=_SECONDS) as answer:
            status, headers, body = answer.status, answer.headers, answer.read(_LARGEST)
    except HTTPError as refusal:
        refusal.close()
        status, headers, body = refusal.code, refusal.headers, b""
    if status != 200:
        raise ValueError(f"answered with status {status}")
    if headers.get("content-type") != content_type:
        raise ValueError(f"sent as {headers.get('content-type')!r}, and not as {content_type!r}")
    for name in _TURNS:
        if name in headers:
            raise ValueError(f"sent with a header {name}")
    return bytes(body)


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Another address is another page."""


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def main(arguments: list[str]) -> int:
    if not arguments:
        for path, digest in hashes().items():
            print(f"{digest}  {path}")
        return 0
    found, asks = compare(arguments[0])
    for line in found or [f"The page and its {len(assets())} files are as this code has them; {asks}"]:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
