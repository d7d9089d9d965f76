"""Runs `chalice` in a copy of the project, so that the files it writes are not in the repository.

The copy has app.py, chalicelib, the documents that it serves, requirements.lock as requirements.txt, and .chalice with
the configuration and the policies of the stage. The zip files (bundle.py) are put where Chalice looks for those of an
earlier run, so that it makes none. The layer is kept in `.local/packages`: it is built once for all stages, until the
pinned packages or its builder change.

    python -m infra.packaging.package --stage prod --out out     # what `make package` runs: no AWS, no credentials
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chalice.deploy.packager import AppOnlyDeploymentPackager, DependencyBuilder, LayerDeploymentPackager
from chalice.utils import UI, OSUtils

from chalicelib.platform.http.documents import OPENAPI
from infra.configuration import ROOT, architecture_of, config, python_of, stages
from infra.documents.derived import write_documents
from infra.iam import ANYWHERE, Place, write_policies
from infra.packaging.bundle import layer_key, need_python, write_code, write_layer
from infra.packaging.imports import check_imports
from infra.packaging.scratch import scratch_folder
from infra.stack import DeploymentStopped

PACKAGES = ROOT / ".local" / "packages"
LOCK = Path(__file__).with_name("requirements.lock")
ANY_REGION = "us-east-1"
_END_WITH_PARENT = """
import os, sys, threading

def end_with_parent():
    os.read(0, 1)
    os._exit(1)

threading.Thread(target=end_with_parent, daemon=True).start()
"""


@contextmanager
def project_copy(
    stage: str, settings: dict[str, Any] | None = None, layer: bool = True, place: Place = ANYWHERE
) -> Iterator[Path]:
    """A temporary directory to run Chalice in. `settings` override the configuration of `stage`.

    Without `layer` the functions get no packages; they have to find them on their machine. `place` is where the
    policies of the functions hold.
    """
    with scratch_folder() as copy:
        shutil.copy(ROOT / "app.py", copy)
        (copy / "requirements.txt").write_text(LOCK.read_text() if layer else "")
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "chalicelib", copy / "chalicelib", ignore=ignored)
        write_documents(ROOT / "docs" / OPENAPI, copy / "docs")
        (copy / ".chalice" / "deployments").mkdir(parents=True)
        write_policies(copy / ".chalice" / "policies", stage, place)
        changed = config()
        own = changed["stages"][stage]
        for key, value in (settings or {}).items():
            own[key] = {**own.get(key, {}), **value} if isinstance(value, dict) else value
        own["lambda_python"] = python_of(changed, stage)  # a rollback from a machine with another one has to know
        (copy / ".chalice" / "config.json").write_text(json.dumps(changed))
        _put_zips(copy, architecture_of(own), own["lambda_python"], layer)
        yield copy


def chalice(copy: Path, arguments: list[str], python: str, environment: dict[str, str] | None = None) -> None:
    """Runs Chalice for functions that run on the version `python`: by itself it takes that of the interpreter.

    Raises DeploymentStopped if it fails, with the last line of what it said. It ends with this process, also if this
    one is killed: nobody changes a stage whose lock nobody renews.
    """
    script = f"{_END_WITH_PARENT}from chalice.config import Config; Config.lambda_python_version = 'python{python}'; "
    command = [sys.executable, "-c", f"{script}from chalice.cli import main; sys.exit(main())", *arguments]
    variables = {**(environment if environment is not None else os.environ), "PYTHONDONTWRITEBYTECODE": "1"}
    reader, writer = os.pipe()  # only this process has its other end
    try:
        done = subprocess.run(
            command, cwd=copy, env=variables, check=False, stdin=reader, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(reader)
        os.close(writer)
    sys.stderr.write(done.stderr)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["it gave no reason"]
        raise DeploymentStopped(f"chalice {arguments[0]} ended with status {done.returncode}: {said[-1]}")


def package(
    stage: str, out: Path, settings: dict[str, Any] | None = None, layer: bool = True, place: Place = ANYWHERE
) -> None:
    """Writes sam.json, deployment.zip and layer-deployment.zip of a stage to `out`. Needs PyPI once, and no AWS."""
    with project_copy(stage, settings, layer, place) as copy:
        check_imports(copy, stage)
        environment = {"AWS_DEFAULT_REGION": ANY_REGION, **os.environ}
        python = python_of(config(copy), stage)
        chalice(copy, ["package", "--stage", stage, str(out.resolve())], python, environment)


def _put_zips(copy: Path, architecture: str, python: str, layer: bool) -> None:
    """Puts the zip files where Chalice looks for those of an earlier run."""
    code, packages = zip_names(copy, architecture, python)
    write_code(copy, code, python)
    if layer:
        packages.hardlink_to(_keep_layer({"arm64": "aarch64"}.get(architecture, architecture), python))


def zip_names(project: Path, architecture: str, python: str) -> tuple[Path, Path]:
    """Where Chalice looks for the code and the layer, by names that it makes of the files in `project`."""
    version = f"python{python}"
    parts = (OSUtils(), DependencyBuilder(OSUtils()), UI(), architecture)
    code = AppOnlyDeploymentPackager(*parts).deployment_package_filename(str(project), version)
    layer = LayerDeploymentPackager(*parts).deployment_package_filename(str(project), version)
    return Path(code), Path(layer)


def _keep_layer(machine: str, python: str) -> Path:
    """The layer in PACKAGES, which is built if it is not there. It appears there in one step."""
    kept = PACKAGES / f"layer-{layer_key(LOCK, machine, python)}.zip"
    if not kept.exists():
        PACKAGES.mkdir(exist_ok=True)
        with scratch_folder() as folder:
            built = folder / kept.name
            write_layer(LOCK, machine, built, python)
            built.replace(kept)
    return kept


def main() -> int:
    command = "python -m infra.packaging.package"
    parser = argparse.ArgumentParser(prog=command, description="Build what a stage deploys.")
    parser.add_argument("--stage", choices=stages(), required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        need_python(python_of(config(), arguments.stage))
        package(arguments.stage, arguments.out)
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
