"""The files of the hosted payment page as they are served, under names with their hashes; read once per process."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from chalicelib.pages import files as page_files

FACTS = ("<!--facts-->", "<!--/facts-->")
"""Markers around the part of the page that depends on the link."""
JOINED: Mapping[str, Sequence[str]] = {
    "page.js": ("link.js", "notes.js", "files.js", "wallets.js", "poll.js", "appearance.js", "page.js"),
    "payment.js": (
        *("abi.js", "addresses.js", "contracts.js", "calldata.js", "identity.js", "conversion.js", "outcomes.js"),
        *("quote.js", "sessions.js", "claims.js", "denials.js", "views.js", "follow.js", "signer.js", "payment.js"),
    ),
    "tron.js": ("energy.js", "tron.js"),
    "obstacles.js": ("exchange.js", "obstacles.js"),
    "bridge.js": ("deposits.js", "bridge.js"),
    "commerce.js": ("authorize.js", "commerce.js"),
    "gasless.js": ("keccak.js", "gasless_words.js", "gasless_offer.js", "gasless.js"),
}
"""Scripts that are loaded together and served as one file, each after those that it needs to begin: the page until a
wallet is connected, paying, what Tron wallets need, what few links need, and three other ways to pay. Any other script
is a file of its own."""
_FOLDER = Path(__file__).parent / "payment"
_WALLETCONNECT = _FOLDER / "walletconnect"
"""What the page has besides when it was opened with WalletConnect: scripts, one of them a library, and messages."""
_PLACEHOLDER = re.compile(r"\{\{(sha384|file):([\w./-]+)\}\}")
_MAP, _STYLE = "{{import-map}}", "{{style}}"
_STYLE_COMMENTS = re.compile(r" */\*.*?\*/\n?", re.DOTALL)


@cache
def scripts(walletconnect: bool = False) -> dict[str, str]:
    """Returns the scripts by name, without comments; here and below those for WalletConnect only if it is asked for."""
    return {**page_files.scripts_of(_FOLDER), **(page_files.scripts_of(_WALLETCONNECT) if walletconnect else {})}


@cache
def assets(walletconnect: bool = False) -> dict[str, page_files.Asset]:
    """Returns the files of scripts, and the locales, by their path below `/pages/` without the hash."""
    folders = (_FOLDER, _WALLETCONNECT) if walletconnect else (_FOLDER,)
    paths = [path for folder in folders for path in sorted(folder.glob("locales/*"))]
    texts = {f"locales/{path.name}": path.read_text(encoding="utf-8") for path in paths}
    return {
        **page_files.script_files(scripts(walletconnect), JOINED),
        **{name: page_files.asset_of(name, text, page_files.JSON) for name, text in texts.items()},
    }


@cache
def served_assets() -> dict[str, page_files.Asset]:
    """Returns all of them by the path that they are served at."""
    return {asset.path: asset for asset in assets(walletconnect=True).values()}


@cache
def template(walletconnect: bool = False) -> tuple[str, str]:
    """Returns the page's HTML before and after the facts, with style, import map, paths and hashes filled in."""

    def fill(match: re.Match[str]) -> str:
        asset = assets(walletconnect)[match[2]]
        return asset.integrity if match[1] == "sha384" else f"pages/{asset.path}"

    text = (_FOLDER / "index.html").read_text(encoding="utf-8")
    if walletconnect:
        text = text.replace("</head>", f"{(_WALLETCONNECT / 'links.html').read_text(encoding='utf-8')}</head>")
    text = _PLACEHOLDER.sub(fill, text).replace(_STYLE, _style()).replace(_MAP, _import_map(walletconnect))
    before, _, rest = text.partition(FACTS[0])
    return before + FACTS[0], FACTS[1] + rest.partition(FACTS[1])[2]


@cache
def locales() -> frozenset[str]:
    """Returns the languages of the page."""
    stems = (Path(name).stem for name in assets() if name.startswith("locales/"))
    return frozenset(stem for stem in stems if "." not in stem)


@cache
def messages_of(language: str, group: str = "") -> dict[str, str]:
    """Returns the messages of a language by key, or those of a group: of links such as `commerce`, its own and some in
    place of the others; of `walletconnect`. Callers must not change the dictionary, which is cached."""
    name = f"{language}.{group}" if group else language
    messages: dict[str, str] = json.loads(assets(walletconnect=True)[f"locales/{name}.json"].text)
    return messages


@cache
def text_without_scripts(language: str) -> str:
    """Returns what the page says where scripts do not run, which no script needs."""
    texts: dict[str, str] = json.loads((_FOLDER / "noscript.json").read_text(encoding="utf-8"))
    return texts[language]


def tokens() -> str:
    """Returns the colours, sizes and type that the payment page and the dashboard share, as custom properties."""
    return (_FOLDER / "tokens.css").read_text(encoding="utf-8")


def script_hashes(walletconnect: bool = False) -> list[str]:
    """Returns the hashes of the import map and of the scripts, for the page's Content-Security-Policy."""
    return [
        page_files.integrity_of(_import_map(walletconnect)),
        *(each.integrity for each in _script_files(walletconnect)),
    ]


def style_hash() -> str:
    """Returns the hash of the style, for the page's Content-Security-Policy."""
    return page_files.integrity_of(_style())


def _style() -> str:
    """Returns the style without comments, inline in the page to save a request."""
    return _STYLE_COMMENTS.sub("", tokens() + (_FOLDER / "page.css").read_text(encoding="utf-8"))


@cache
def _import_map(walletconnect: bool) -> str:
    """Returns where the browser finds each script and locale, and the hash of each file of scripts."""
    files, known, found = page_files.files_of_parts(JOINED), scripts(walletconnect), assets(walletconnect)
    names = [*known, *(name for name in found if name not in known)]
    imports = {f"./pages/{name}": f"./pages/{found[files.get(name, name)].path}" for name in names}
    integrity = {f"./pages/{each.path}": each.integrity for each in _script_files(walletconnect)}
    return json.dumps({"imports": imports, "integrity": integrity}, separators=(",", ":"))


def _script_files(walletconnect: bool) -> list[page_files.Asset]:
    return [each for each in assets(walletconnect).values() if each.content_type == page_files.JAVASCRIPT]
