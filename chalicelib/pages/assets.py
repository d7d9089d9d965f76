"""The files of the hosted payment page as they are served, with types and hashes; read once per process."""

import hashlib
import json
import re
from base64 import b64encode
from functools import cache
from pathlib import Path

from chalicelib.base.frozen import frozen

FACTS = ("<!--facts-->", "<!--/facts-->")
"""Markers around the part of the page that depends on the link."""
_FOLDER = Path(__file__).parent / "payment"
_TYPES = {".js": "text/javascript", ".json": "application/json"}
_PLACEHOLDER = re.compile(r"\{\{(sha384|v):([\w./-]+)\}\}")
_STYLE = "{{style}}"
_COMMENTS = re.compile(r"^ *(?://|/\*\*).*\n", re.MULTILINE)
"""Comment lines, about a sixth of a script's size: they are not served."""


@frozen
class Asset:
    """One file. `version` is part of its URLs, so that browsers cache it; `integrity` is its SHA-384 for browsers."""

    text: str
    content_type: str
    version: str
    integrity: str


@cache
def assets() -> dict[str, Asset]:
    """Returns the scripts, without comments, and the locales by their path below `/pages/`."""
    files = [path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _TYPES]
    return {path.relative_to(_FOLDER).as_posix(): _asset(path) for path in files}


@cache
def template() -> tuple[str, str]:
    """Returns the page's HTML before and after the facts, with style, versions and hashes filled in."""

    def filled(match: re.Match[str]) -> str:
        asset = assets()[match[2]]
        return asset.integrity if match[1] == "sha384" else asset.version

    text = _PLACEHOLDER.sub(filled, (_FOLDER / "index.html").read_text(encoding="utf-8")).replace(_STYLE, _style())
    before, _, rest = text.partition(FACTS[0])
    return before + FACTS[0], FACTS[1] + rest.partition(FACTS[1])[2]


@cache
def locales() -> frozenset[str]:
    """Returns the languages of the page."""
    stems = (Path(name).stem for name in assets() if name.startswith("locales/"))
    return frozenset(stem for stem in stems if "." not in stem)


@cache
def locale(language: str, group: str = "") -> dict[str, str]:
    """Returns the messages of a language by key, or those of a group of links such as `held`: its own, and some in
    place of the others. Callers must not change the dictionary, which is cached."""
    name = f"{language}.{group}" if group else language
    messages: dict[str, str] = json.loads(assets()[f"locales/{name}.json"].text)
    return messages


def script_hashes() -> list[str]:
    """Returns the hashes of the scripts, for the page's Content-Security-Policy."""
    return [asset.integrity for name, asset in assets().items() if name.endswith(".js")]


def style_hash() -> str:
    """Returns the hash of the style, for the page's Content-Security-Policy."""
    return _integrity(_style())


def _style() -> str:
    """Returns the style, which is inline in the page to save a request."""
    return (_FOLDER / "page.css").read_text(encoding="utf-8")


def _asset(path: Path) -> Asset:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        text = _COMMENTS.sub("", text)
    kind = f"{_TYPES[path.suffix]}; charset=utf-8"
    return Asset(text, kind, hashlib.sha256(text.encode()).hexdigest()[:16], _integrity(text))


def _integrity(text: str) -> str:
    return f"sha384-{b64encode(hashlib.sha384(text.encode()).digest()).decode()}"
