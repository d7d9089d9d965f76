"""The dashboard as it is served: its files, its one page for all views, and the response headers of that page."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from chalicelib.chains.catalogue.escrows import escrow_networks
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.pages import files as page_files
from chalicelib.pages.assets import script_hashes, style_hash, tokens
from chalicelib.pages.headers import headers_of
from chalicelib.platform.access.people.roles import SCOPES_OF
from chalicelib.platform.settings import Settings
from chalicelib.webhooks.endpoints.rules import CHOICES

JOINED: Mapping[str, Sequence[str]] = {
    "dashboard.js": (
        *("text.js", "csv.js", "api.js", "route.js", "components.js", "proofs.js", "payment_rows.js", "attention.js"),
        *("home.js", "shell.js", "dashboard.js"),
    ),
}
"""The scripts of every view, and Home, which are served as one file; each other view has a file of its own."""
_FOLDER = Path(__file__).parent / "dashboard"
_PLACEHOLDER = re.compile(r"\{\{(sha384|file):([\w./-]+)\}\}")


@cache
def assets() -> dict[str, page_files.Asset]:
    """Returns the scripts, the style and the messages by name without the hash."""
    style = tokens() + (_FOLDER / "dashboard.css").read_text(encoding="utf-8")
    messages = {path.name: path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("locales/*.json"))}
    return {
        **page_files.script_files(page_files.scripts_of(_FOLDER), JOINED),
        **page_files.script_files(page_files.scripts_of(_FOLDER / "frame"), {}),
        "dashboard.css": page_files.asset_of("dashboard.css", style, page_files.CSS),
        **{name: page_files.asset_of(name, text, page_files.JSON) for name, text in messages.items()},
    }


@cache
def served_files() -> dict[str, page_files.Asset]:
    """Returns the same by the name that they are served under, below `/dashboard/files/`."""
    return {asset.path: asset for asset in assets().values()}


def page(settings: Settings) -> str:
    """Returns the page. It is the same for every view and everybody: who is signed in, its script asks the API."""
    signature = f"x-{settings.header_brands[0]}-signature"
    escrows = json.dumps(escrow_networks(settings.escrow_contracts), separators=(",", ":"))
    facts = (("brand", settings.brand), ("api", settings.api_url), ("signature", signature), ("escrows", escrows))
    return _page(_root(settings), facts)


def page_headers(settings: Settings) -> dict[str, str]:
    """Returns the response headers of the page with its Content-Security-Policy: nothing from other hosts, no inline
    script but the import map, no text as HTML."""
    scripts = " ".join(f"'{each.integrity}'" for each in _scripts())
    return headers_of(
        settings.auth_url,
        f"'{page_files.integrity_of(_import_map(_root(settings)))}' {scripts}",
        styles="'self'",
        frames="'self'",
    )


def preview_script(settings: Settings) -> str:
    """Returns what the payment page has besides in a frame of the dashboard: it answers in place of the API."""
    asset = assets()["preview.js"]
    return f'<script src="{_root(settings)}/dashboard/files/{asset.path}" integrity="{asset.integrity}"></script>'


def preview_headers(settings: Settings) -> dict[str, str]:
    """Returns the response headers of that page: only the dashboard may frame it, and it calls no other host."""
    hashes = " ".join(f"'{each}'" for each in (assets()["preview.js"].integrity, *script_hashes()))
    return headers_of(settings.auth_url, hashes, styles=f"'{style_hash()}'", ancestors="'self'")


def _root(settings: Settings) -> str:
    """Returns the path of AUTH_URL: empty, or `/<stage>` where the stage has no hosts."""
    return urlsplit(settings.auth_url).path.rstrip("/")


@cache
def _page(root: str, facts: tuple[tuple[str, str], ...]) -> str:
    def fill(match: re.Match[str]) -> str:
        asset = assets()[match[2]]
        return asset.integrity if match[1] == "sha384" else f"{root}/dashboard/files/{asset.path}"

    text = _PLACEHOLDER.sub(fill, (_FOLDER / "index.html").read_text(encoding="utf-8"))
    roles = json.dumps({role.value: scopes for role, scopes in SCOPES_OF.items()}, separators=(",", ":"))
    known = {
        each.name: {"title": each.title, "chainId": each.chain_id, "explorer": each.explorer_url}
        for each in ALL_NETWORKS
    }
    networks = json.dumps(known, separators=(",", ":"))
    events = json.dumps(CHOICES, separators=(",", ":"))
    for name, value in (*facts, ("root", root), ("roles", roles), ("networks", networks), ("events", events)):
        text = text.replace(f"{{{{{name}}}}}", escape(value))
    return text.replace("{{import-map}}", _import_map(root))


@cache
def _import_map(root: str) -> str:
    """Returns where the browser finds each script and the messages, and the hash of each script."""
    folder, files = f"{root}/dashboard/files/", page_files.files_of_parts(JOINED)
    names = [*page_files.scripts_of(_FOLDER), *(name for name in assets() if name.endswith(".json"))]
    imports = {f"{folder}{name}": f"{folder}{assets()[files.get(name, name)].path}" for name in names}
    integrity = {f"{folder}{each.path}": each.integrity for each in _scripts()}
    return json.dumps({"imports": imports, "integrity": integrity}, indent=0)


def _scripts() -> list[page_files.Asset]:
    names = page_files.scripts_of(_FOLDER)
    return [each for name, each in assets().items() if name in names]
