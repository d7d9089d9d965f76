"""Prints the hashes of the payment page, or compares a served page with this code.

    python -m infra.page_hash        # the SHA-256 of each of its files, and of the page without the facts of any link
    python -m infra.page_hash URL    # reads that page and its files, and compares; exit code 1 if they differ

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

from chalicelib.pages.assets import served_assets, template

_HTML = "text/html; charset=utf-8"
_SECONDS = 60
_MAX_BYTES = 4 * 1024 * 1024
_READ_ERRORS = (OSError, ValueError, HTTPException)
_REFUSED_HEADERS = ("content-encoding", "link", "refresh")
"""Headers with which a browser would run other bytes than those that were read."""
_FACTS = re.compile(
    r'<meta name="api-url" content="([^"<>]*)"><meta name="client-id" content="([^"<>]*)">'
    r'(?:<meta name="escrows" content="([^"<>]*)">)?'
    r'(?:<meta name="gasless" content="([^"<>]*)">)?'
    r'(?:<meta name="walletconnect" content="([0-9a-f]{32})">'
    r'(?:<meta name="walletconnect-relay" content="([^"<>]*)">)?)?'
    r"<noscript>(.*)</noscript>",
    re.DOTALL,
)
"""All that may be between the two marks. A browser that runs scripts treats the content of `noscript` as text."""
_CONNECT = "connect=walletconnect"
_ESCAPES = re.compile(r"<script|</noscript|<!--", re.IGNORECASE)


def hashes() -> dict[str, str]:
    """SHA-256 by path. `/` is the page, with nothing between the two comments that enclose the facts of a link; with
    `connect`, as it is when it was opened with WalletConnect."""
    pages = {"/": template(), f"/?{_CONNECT}": template(walletconnect=True)}
    files = {path: "".join(each) for path, each in pages.items()}
    files |= {f"/pages/{path}": asset.text for path, asset in served_assets().items()}
    return {path: _sha256(text.encode()) for path, text in files.items()}


def compare(url: str) -> tuple[list[str], str]:
    """One line for each difference between a served page with its files and this code; and a sentence with the API URL
    and client id that the page uses, which the reader has to judge."""
    parts = urlsplit(url)
    before, after = template(walletconnect=_CONNECT in parts.query.split("&"))
    page = parts.path or "/"
    base = f"{parts.scheme}://{parts.netloc}{page.rpartition('/')[0]}"  # a stage without a host is below /<stage>
    try:
        body = _read(url, _HTML)
    except _READ_ERRORS as error:
        return [f"{page}: {error}"], ""
    differences = [f"{page}: {each}" for each in _page_differences(body, before.encode(), after.encode())]
    for path, asset in served_assets().items():
        try:
            digest = _sha256(_read(f"{base}/pages/{path}", asset.content_type))
            if digest != _sha256(asset.text.encode()):
                differences.append(f"/pages/{path}: its SHA-256 is {digest}")
        except _READ_ERRORS as error:
            differences.append(f"/pages/{path}: {error}")
    facts = _FACTS.search(body.decode(errors="replace"))
    if facts is None:
        return differences, ""
    escrows = f" and has the escrows {unescape(facts[3])} besides" if facts[3] else ""
    gasless = f" and has gasless payments signed to {unescape(facts[4])}" if facts[4] else ""
    project = f" and offers WalletConnect as project {facts[5]}" if facts[5] else ""
    relay = f" by the relay {unescape(facts[6])}" if facts[6] else ""
    asks = f"it asks {unescape(facts[1])!r} as client id {unescape(facts[2])!r}"
    return differences, f"{asks}{escrows}{gasless}{project}{relay}"


def _page_differences(body: bytes, before: bytes, after: bytes) -> Iterator[str]:
    """Checks that every byte outside the marks is this code's, and that between them are the metas and one noscript."""
    if len(body) < len(before) + len(after) or not body.startswith(before) or not body.endswith(after):
        yield "it differs outside of the facts of the link"
        return
    facts = _FACTS.fullmatch(body[len(before) : len(body) - len(after)].decode(errors="replace"))
    if facts is None:
        yield "more than the metas and one noscript stands between the marks of the facts"
    elif _ESCAPES.search(facts[7]):
        yield "the noscript holds a script, its own end, or a comment"


def _read(address: str, content_type: str) -> bytes:
    """The body of a response with status 200 and that type. Raises one of _READ_ERRORS for any other response."""
    if not address.startswith(("http://", "https://")):
        raise ValueError("the address of a page begins with https:// or http://")
    try:
        with build_opener(_NoRedirect).open(address, timeout=_SECONDS) as response:
            status, headers, body = response.status, response.headers, response.read(_MAX_BYTES)
    except HTTPError as error:
        error.close()
        status, headers, body = error.code, error.headers, b""
    if status != 200:
        raise ValueError(f"answered with status {status}")
    if headers.get("content-type") != content_type:
        raise ValueError(f"sent as {headers.get('content-type')!r}, and not as {content_type!r}")
    for name in _REFUSED_HEADERS:
        if name in headers:
            raise ValueError(f"sent with a header {name}")
    return bytes(body)


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Redirects are errors: another address is another page."""


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def main(arguments: list[str]) -> int:
    if not arguments:
        for path, digest in hashes().items():
            print(f"{digest}  {path}")
        return 0
    differences, sentence = compare(arguments[0])
    for line in differences or [f"The page and its {len(served_assets())} files are as this code has them; {sentence}"]:
        print(line)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
