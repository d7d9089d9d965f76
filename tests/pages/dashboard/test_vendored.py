"""The libraries of the dashboard and of the payment page, made again from npm."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chalicelib.pages import dashboard_html
from infra.local.bytecode import MODULES

PAGES = Path(dashboard_html.__file__).parent
FOLDERS = [PAGES / "dashboard", PAGES / "payment/walletconnect"]
LOCK = json.loads((MODULES.parent / "package-lock.json").read_text())["packages"]

pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def noted_in(folder: Path) -> Any:
    return json.loads((folder / "vendor.json").read_text())


def locked(name: str, version: str) -> dict[str, Any]:
    """The package of the lock file, also below another package."""
    found = [each for path, each in LOCK.items() if path.endswith(f"node_modules/{name}") and each["version"] == version]
    assert found and all(each["integrity"] == found[0]["integrity"] for each in found), f"{name} {version}"
    return found[0]  # type: ignore[no-any-return]


def test_the_packages_of_the_lock_file_are_those_that_are_noted(folder: Path) -> None:
    noted = noted_in(folder)
    for name, each in noted["packages"].items():
        package = locked(name, each["version"])
        assert (package["integrity"], package["license"]) == (each["integrity"], each["license"]), name
    assert locked("@esbuild/linux-x64", noted["bundler"]["esbuild"])["integrity"] == noted["bundler"]["@esbuild/linux-x64"]
    assert LOCK["node_modules/esbuild"]["version"] == noted["bundler"]["esbuild"]


def test_the_same_bytes_come_of_them_by_the_noted_options_and_of_no_others(folder: Path, tmp_path: Path) -> None:
    noted, metafile = noted_in(folder), tmp_path / "inputs.json"
    vendored = (folder / noted["file"]).read_bytes()
    banner = vendored.splitlines()[0].decode()
    given = [f"--{each}" for each in noted["bundler"]["options"].removeprefix("--").split(" --")]
    options = [f"--banner:js={banner}" if each.startswith("--banner:js=") else each for each in given]
    assert bundled(noted, options) == vendored and hashlib.sha256(vendored).hexdigest() == noted["sha256"]
    bundled(noted, [*options, f"--metafile={metafile}", f"--outfile={tmp_path / 'out.js'}"])
    (output,) = (each for each in json.loads(metafile.read_text())["outputs"].values())
    used = [path for path, each in output["inputs"].items() if each["bytesInOutput"] and "node_modules/" in path]
    names = {"/".join(path.rpartition("node_modules/")[2].split("/")[: 2 if "node_modules/@" in path[path.rindex("node_modules/") :] else 1]) for path in used}
    assert names == noted["packages"].keys()


def bundled(noted: Any, options: list[str]) -> bytes:
    node = shutil.which("node")
    assert node is not None
    command = [node, str(MODULES / "esbuild/bin/esbuild"), *options]
    made = subprocess.run(command, input="\n".join(noted["entry"]).encode(), cwd=MODULES.parent, capture_output=True, check=True)
    return made.stdout
