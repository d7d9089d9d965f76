"""Runs `chalice` in a copy of the project, so that the files it writes are not in the repository.

The copy has app.py, chalicelib, requirements.txt and .chalice with the configuration of the stage, and no bytecode of
this machine. The layer with the dependencies is kept in `.local/packages`, named by Chalice's hash of its contents: it
is built once for all stages, until requirements.txt changes.

    python -m infra.package --stage prod --out out     # what `make package` runs: no AWS, no credentials
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infra.stack import DeploymentStopped

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / ".local" / "packages"
CONFIG = ROOT / ".chalice" / "config.json"
ANY_REGION = "us-east-1"


@contextmanager
def project_copy(stage: str, settings: dict[str, Any] | None = None) -> Iterator[Path]:
    """A temporary directory to run Chalice in. `settings` override the configuration of `stage`."""
    (ROOT / ".local").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="chalice-", dir=ROOT / ".local") as name:
        copy = Path(name)
        shutil.copy(ROOT / "app.py", copy)
        shutil.copy(ROOT / "requirements.txt", copy)
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "chalicelib", copy / "chalicelib", ignore=ignored)
        (copy / ".chalice").mkdir()
        for policy in CONFIG.parent.glob("policy-*.json"):
            shutil.copy(policy, copy / ".chalice")
        config = json.loads(CONFIG.read_text())
        own = config["stages"][stage]
        for key, value in (settings or {}).items():
            own[key] = {**own.get(key, {}), **value} if isinstance(value, dict) else value
        (copy / ".chalice" / "config.json").write_text(json.dumps(config))
        _take_packages(copy / ".chalice" / "deployments")
        yield copy
        _keep_packages(copy / ".chalice" / "deployments")


def chalice(copy: Path, arguments: list[str], environment: dict[str, str] | None = None) -> None:
    """Runs the chalice of this interpreter, which decides the Lambda runtime. Raises DeploymentStopped if it fails."""
    command = [sys.executable, "-c", "from chalice.cli import main; main()", *arguments]
    variables = {**(environment if environment is not None else os.environ), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=copy, env=variables, check=False)
    if done.returncode != 0:
        raise DeploymentStopped(f"chalice {arguments[0]} did not succeed; what it said is above.")


def package(stage: str, out: Path) -> None:
    """Writes sam.json, deployment.zip and layer-deployment.zip of a stage to `out`. Needs PyPI once, and no AWS."""
    with project_copy(stage) as copy:
        environment = {"AWS_DEFAULT_REGION": ANY_REGION, **os.environ}
        chalice(copy, ["package", "--stage", stage, str(out.resolve())], environment)


def stages() -> list[str]:
    """The stages in .chalice/config.json."""
    return list(json.loads(CONFIG.read_text())["stages"])


def _take_packages(folder: Path) -> None:
    folder.mkdir()
    PACKAGES.mkdir(exist_ok=True)
    for built in PACKAGES.glob("*.zip"):
        (folder / built.name).hardlink_to(built)


def _keep_packages(folder: Path) -> None:
    """Moves a new layer to PACKAGES, in one step. Code packages are not kept, as building them is quick."""
    for built in folder.glob("managed-layer-*.zip"):
        if not (PACKAGES / built.name).exists():
            built.replace(PACKAGES / built.name)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m infra.package", description="Build what a stage deploys.")
    parser.add_argument("--stage", choices=stages(), required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    package(arguments.stage, arguments.out)


if __name__ == "__main__":
    main()
