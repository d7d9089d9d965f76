"""The files of a page as they are served: scripts without comments and joined, each under a name with its hash."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

from chalicelib.base.frozen import frozen

JAVASCRIPT, JSON = "text/javascript; charset=utf-8", "application/json; charset=utf-8"
CSS = "text/css; charset=utf-8"
_COMMENTS = re.compile(r"^ *(?://|/\*\*).*\n|(?<=[;,{}()\[\]]) // .*$", re.MULTILINE)
"""Comments, on lines of their own and at the end of others, about a fifth of a script's size: they are not served."""
_IMPORT = re.compile(r'^import \{ (.+) \} from "\./([\w.]+)";\n', re.MULTILINE)


@frozen
class Asset:
    """One file. `path`, below the folder of the page's files, contains the hash of its text, so that browsers keep it
    for good; `integrity` is its SHA-384 for browsers."""

    text: str
    content_type: str
    path: str
    integrity: str


def asset_of(name: str, text: str, content_type: str) -> Asset:
    """Returns a file as it is served."""
    stem, _, suffix = name.rpartition(".")
    path = f"{stem}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.{suffix}"
    return Asset(text, content_type, path, integrity_of(text))


def integrity_of(text: str) -> str:
    return f"sha384-{b64encode(hashlib.sha384(text.encode()).digest()).decode()}"


def scripts_of(folder: Path) -> dict[str, str]:
    """Returns the scripts of a folder by name, without comments; libraries, which begin with a licence, as they are."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js"))}
    return {name: text if text.startswith("/*!") else _COMMENTS.sub("", text) for name, text in texts.items()}


def script_files(scripts: Mapping[str, str], joined: Mapping[str, Sequence[str]]) -> dict[str, Asset]:
    """Returns the files of scripts by name. `joined` names the parts of each file that has several, in order."""
    parts = {part for file, names in joined.items() for part in names if part != file}
    texts = {name: _join_scripts(scripts, joined.get(name, (name,))) for name in scripts if name not in parts}
    return {name: asset_of(name, text, JAVASCRIPT) for name, text in texts.items()}


def files_of_parts(joined: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Returns the file of each script that is a part of one."""
    return {part: file for file, names in joined.items() for part in names}


def _join_scripts(scripts: Mapping[str, str], names: Sequence[str]) -> str:
    """Returns scripts as one, without their imports of each other; what they import of others stands first, once."""
    imports: dict[str, set[str]] = {}
    for name in names:
        for what, script in _IMPORT.findall(scripts[name]):
            if script not in names:
                imports.setdefault(script, set()).update(what.split(", "))
    lines = [f'import {{ {", ".join(sorted(what))} }} from "./{script}";\n' for script, what in sorted(imports.items())]
    return "".join([*lines, *(_IMPORT.sub("", scripts[name]) for name in names)])
