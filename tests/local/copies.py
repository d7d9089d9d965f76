"""A copy of the project to run `make`'s commands in, so that tests never touch the state of the tree they run from."""

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LEFT_OUT = shutil.ignore_patterns("node_modules", "__pycache__", "*.pyc")


def copy_of_the_project(folder: Path) -> Path:
    """The product and its infrastructure with nothing installed."""
    for name in ("app.py", "requirements.txt"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("chalicelib", "infra", ".chalice", "tests/oracles/payments"):
        shutil.copytree(ROOT / name, folder / name, ignore=_LEFT_OUT)
    shutil.copy(ROOT / "tests" / "requirements.lock", folder / "tests")
    return folder


def with_what_setup_makes(copy: Path) -> Path:
    """The copy, borrowing the installed packages of this tree."""
    (copy / ".local").mkdir()
    (ROOT / ".local" / "contracts").mkdir(parents=True, exist_ok=True)
    for name in ("cloud-venv", "contracts"):
        (copy / ".local" / name).symlink_to(ROOT / ".local" / name)
    (copy / "infra" / "local" / "node_modules").symlink_to(ROOT / "infra" / "local" / "node_modules")
    return copy


def environment(**more: str) -> dict[str, str]:
    """Ours, without what would lead the copy back to this tree."""
    dropped = ("PYTHONPATH", "PORT", "ONCE", "FRESH", "KIND", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL")
    return {**{name: value for name, value in os.environ.items() if name not in dropped}, **more}
