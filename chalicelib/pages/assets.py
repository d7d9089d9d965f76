"""The hosted payment page: its files as they are served, with their types and hashes, read once per process."""

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FACTS = ("<!--facts-->", "<!--/facts-->")
"""What stands between them differs from link to link; all else of the page is the same for everybody."""
_FOLDER = Path(__file__).parent / "payment"
_TYPES = {".js": "text/javascript", ".json": "application/json"}
_PLACEHOLDER = re.compile(r"\{\{(sha384|v):([\w./-]+)\}\}")
_STYLE = "{{style}}"
_COMMENTS = re.compile(r"^ *(?://|/\*\*).*\n", re.MULTILINE)
"""Lines that are for who reads the code, a sixth of its weight on the way to a payer."""


@dataclass(frozen=True)
class Asset:
    """One file. `version` is in the links to it, so that browsers keep it; `integrity` is what they hold it to."""

    text: str
    content_type: str
    version: str
    integrity: str


@cache
def assets() -> dict[str, Asset]:
    """Every file but the page itself and its style, which is in it, by its path below `pages/`, without comments."""
    files = [path for path in sorted(_FOLDER.rglob("*")) if path.suffix in _TYPES]
    return {path.relative_to(_FOLDER).as_posix(): _asset(path) for path in files}


@cache
def template() -> tuple[str, str]:
    """The page before and after the facts, with its style, versions and hashes filled in."""

    def filled(match: re.Match[str]) -> str:
        asset = assets()[match[2]]
        return asset.integrity if match[1] == "sha384" else asset.version

    text = _PLACEHOLDER.sub(filled, (_FOLDER / "index.html").read_text(encoding="utf-8")).replace(_STYLE, _style())
    before, _, rest = text.partition(FACTS[0])
    return before + FACTS[0], FACTS[1] + rest.partition(FACTS[1])[2]


@cache
def locales() -> frozenset[str]:
    """The languages that the page is written in."""
    return frozenset(Path(name).stem for name in assets() if name.startswith("locales/"))


@cache
def locale(language: str) -> dict[str, str]:
    """The messages of a language by their keys; callers must not change them."""
    messages: dict[str, str] = json.loads(assets()[f"locales/{language}.json"].text)
    return messages


def script_hashes() -> list[str]:
    """What the policy of the page names: the hashes of its scripts."""
    return [asset.integrity for name, asset in assets().items() if name.endswith(".js")]


def style_hash() -> str:
    """What the policy of the page names: the hash of its style."""
    return _integrity(_style())


def _style() -> str:
    """In the page itself: a request less before it can be read."""
    return (_FOLDER / "page.css").read_text(encoding="utf-8")


def _asset(path: Path) -> Asset:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        text = _COMMENTS.sub("", text)
    kind = f"{_TYPES[path.suffix]}; charset=utf-8"
    return Asset(text, kind, hashlib.sha256(text.encode()).hexdigest()[:16], _integrity(text))


def _integrity(text: str) -> str:
    return f"sha384-{b64encode(hashlib.sha384(text.encode()).digest()).decode()}"
