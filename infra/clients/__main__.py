"""Makes the packages for clients, and what is to be published: a wheel, an sdist and a tarball of npm.

    python -m infra.clients [--out .local/clients] [python] [typescript]
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from infra.clients.emit_python import python_files
from infra.clients.emit_typescript import typescript_files
from infra.documents.api import read_document
from infra.local.bytecode import MODULES
from infra.local.process import ROOT

SOURCES = Path(__file__).parent
OUT = ROOT / ".local" / "clients"
_BUILD = "from setuptools import build_meta as b; b.build_sdist('dist'); b.build_wheel('dist')"


def build_python(out: Path) -> list[Path]:
    """The sdist and the wheel, made in a new folder `python` of `out`."""
    folder = _copy("python", out)
    _write(folder / "payment_requests", python_files(read_document()))
    _run([sys.executable, "-c", _BUILD], folder)
    return sorted((folder / "dist").iterdir())


def build_typescript(out: Path) -> list[Path]:
    """The tarball of npm, made in a new folder `typescript` of `out`."""
    folder = _copy("typescript", out)
    files = typescript_files(read_document(), (folder / "package.json").read_text())
    _write(folder, files)
    _run([str(MODULES / ".bin" / "tsc"), "--project", "."], folder)
    npm = shutil.which("npm") or str(Path(sys.executable).with_name("npm"))
    (folder / "dist").mkdir()
    _run([npm, "pack", "--ignore-scripts", "--pack-destination", "dist"], folder)
    return sorted((folder / "dist").iterdir())


BUILDS = {"python": build_python, "typescript": build_typescript}


def main(arguments: list[str]) -> int:
    """Makes the packages and prints where they are."""
    parser = argparse.ArgumentParser(prog="python -m infra.clients", description=__doc__)
    parser.add_argument("language", nargs="*", choices=[*BUILDS, []], help="without one: all")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    for language in options.language or BUILDS:
        print(*BUILDS[language](options.out), sep="\n")
    return 0


def _copy(language: str, out: Path) -> Path:
    """A new folder with what is written by hand."""
    folder = out / language
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES / language, folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _run(command: list[str], folder: Path) -> None:
    """Runs a step. Raises SystemExit with what it said if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
