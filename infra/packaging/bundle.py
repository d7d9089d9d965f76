"""Builds the two zip files that Lambda gets: the code, and the layer with the packages of requirements.lock.

Both have bytecode that Python does not compare with the sources (unchecked-hash), as /var/task cannot be written to and
each cold start would compile every module. The same checkout gives the same bytes wherever and whenever it is built:
entries are sorted and have one date and one mode, bytecode names the paths that files have in Lambda, and a wheel is
unpacked only if its hash is in requirements.lock.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

from infra.local.pythons import find_python
from infra.packaging.scratch import scratch_folder
from infra.stack import DeploymentStopped

TASK, LAYER = "/var/task", "/opt"
_GLIBC = {"3.11": 26, "3.12": 34, "3.13": 34}
"""What Lambda has for each Python is glibc 2.26 or 2.34, and wheels for earlier ones, down to 2.17, run there, too."""
DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


def need_python(version: str) -> str:
    """The interpreter that makes bytecode for functions of `version`, which no other one reads.

    Raises DeploymentStopped (status 2) if this machine has none.
    """
    found = find_python(version) if version in _GLIBC else None
    if found is None:
        known = f"; functions run on {', '.join(_GLIBC)}" if version not in _GLIBC else ""
        raise DeploymentStopped(
            f"The functions run on Python {version}, and this machine has none to build their bytecode with: install it"
            f" so that `python{version}` starts (lambda_python in .chalice/config.json says the version{known}).",
            2,
        )
    return found


def write_code(project: Path, out: Path, python: str) -> None:
    """Writes the zip file of the functions: app.py, chalicelib and docs, which has what is served, of `project`, with
    what Chalice adds, and bytecode for the version `python`."""
    with scratch_folder() as folder:
        chalice = Path(sysconfig.get_path("purelib"), "chalice")
        (folder / "chalice").mkdir()
        for module in ("__init__.py", "app.py"):
            shutil.copyfile(chalice / module, folder / "chalice" / module)
        shutil.copyfile(project / "app.py", folder / "app.py")
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(project / "chalicelib", folder / "chalicelib", ignore=ignored)
        shutil.copytree(project / "docs", folder / "docs")
        _compile(folder, TASK, python)
        _zip(folder, out)


def write_layer(lock: Path, machine: str, out: Path, python: str) -> None:
    """Writes the zip file of the layer: the wheels of `lock` for `machine` ("x86_64", "aarch64") and the version
    `python`, and bytecode."""
    with scratch_folder() as scratch:
        wheels, folder = scratch / "wheels", scratch / "layer"
        _download(lock, machine, wheels, python)
        for wheel in sorted(wheels.glob("*.whl")):
            _unpack(wheel, folder / f"python/lib/python{python}/site-packages")
        _compile(folder, LAYER, python)
        _zip(folder, out)


def layer_key(lock: Path, machine: str, python: str) -> str:
    """A name for the layer that differs whenever its bytes may."""
    digest = hashlib.sha256(f"{need_python(python)} {python} {machine}".encode())
    for file in (lock, Path(__file__)):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _download(lock: Path, machine: str, to: Path, python: str) -> None:
    """Has pip fetch binary wheels alone, and refuse each whose hash is not in `lock`."""
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(_GLIBC[python], 16, -1)]
    platforms.append(f"manylinux2014_{machine}")
    options = ["--require-hashes", "--only-binary=:all:", "--no-deps", "--implementation=cp", "--progress-bar=off"]
    options += [f"--python-version={python}", *(f"--platform={each}" for each in platforms)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options, f"--dest={to}", f"--requirement={lock}"]
    _run("pip download", command)


def _unpack(wheel: Path, site: Path) -> None:
    """Unpacks a wheel without its scripts. What a wheel has in `<name>.data/purelib` or `platlib` belongs beside it."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = Path(entry.filename).parts
            if parts[0].endswith(".data"):
                if parts[1] not in ("purelib", "platlib"):
                    continue
                parts = parts[2:]
            if not entry.is_dir():
                file = site.joinpath(*parts)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.read(entry))


def _compile(folder: Path, place: str, python: str) -> None:
    """Compiles every module below `folder`, which Lambda has at `place`."""
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", place]
    environment = {"PYTHONHASHSEED": "0", "PATH": os.environ.get("PATH", "")}
    _run("compileall", [need_python(python), "-S", "-s", "-m", "compileall", *options, str(folder)], environment)


def _zip(folder: Path, out: Path) -> None:
    names = sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system, entry.external_attr = 3, _MODE
            archive.writestr(entry, (folder / name).read_bytes(), zipfile.ZIP_DEFLATED, 9)


def _run(name: str, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
    """Raises DeploymentStopped with what the command said if it fails."""
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
        raise DeploymentStopped(f"{name} did not succeed: {' / '.join(said)}")
