"""The packages of infra/clients as their users have them: built, installed into folders of their own, and type-checked."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.clients.__main__ import SOURCES, build_python, build_typescript
from infra.local.bytecode import MODULES
from tests.support.patience import patience

CALLS = Path(__file__).with_name("clients") / "own"


@dataclass(frozen=True)
class MadeClient:
    """A folder with an installed package, and the command that runs a program there, without the ending of its name."""

    folder: Path
    language: str
    packed: list[Path]

    def command(self, program: str) -> list[str]:
        if self.language == "python":
            return [str(self.folder / "venv/bin/python"), str(self.folder / f"{program}.py")]
        return ["node", str(self.folder / "built" / f"{program}.js")]

    def run(self, program: str, *arguments: str, **variables: str) -> str:
        """What a program prints."""
        return ran([*self.command(program), *arguments], self.folder, **variables)

    def check(self, program: str) -> str:
        """What the checker of types says of a program, which a strict one accepts if it is empty."""
        if self.language == "python":
            command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--python-executable"]
            command += [str(self.folder / "venv/bin/python"), f"{program}.py"]
        else:
            command = [str(MODULES / ".bin/tsc"), "--project", "."]
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=patience(5)
        ).stdout


def ran(command: list[str], folder: Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=patience(5)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install_python(folder: Path) -> MadeClient:
    """The wheel in a new environment; httpx comes from that of the tests, so that no index is asked."""
    packed = build_python(folder / "out")
    ran([sys.executable, "-m", "venv", "--without-pip", "venv"], folder)
    (packages,) = (folder / "venv").glob("lib/*/site-packages")
    (wheel,) = (each for each in packed if each.suffix == ".whl")
    target = ["--target", str(packages), "--no-deps", "--no-index", str(wheel)]
    ran([sys.executable, "-m", "pip", "install", "--quiet", *target], folder)
    (packages / "tests.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    shutil.copy(SOURCES / "python" / "example.py", folder)
    shutil.copy(CALLS / "calls.py", folder)
    return MadeClient(folder, "python", packed)


def install_typescript(folder: Path) -> MadeClient:
    """The tarball unpacked into `node_modules`, with Node's types beside it, and the programs compiled by strict rules."""
    packed = build_typescript(folder / "out")
    (tarball,) = packed
    with tarfile.open(tarball) as archive:
        archive.extractall(folder, filter="data")
    (folder / "node_modules").mkdir()
    (folder / "package").rename(folder / "node_modules" / "payment-requests")
    shutil.copy(SOURCES / "typescript" / "example.ts", folder)
    shutil.copy(CALLS / "calls.ts", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tsconfig.json").write_text(
        '{"compilerOptions": {"strict": true, "exactOptionalPropertyTypes": true, "target": "es2022", "module": "nodenext",'
        f' "outDir": "built", "types": ["node"], "typeRoots": ["{MODULES / "@types"}"]}}, "include": ["*.ts"]}}'
    )
    made = MadeClient(folder, "typescript", packed)
    assert made.check("") == ""
    return made


@pytest.fixture(scope="session")
def python_client(tmp_path_factory: pytest.TempPathFactory) -> MadeClient:
    return install_python(tmp_path_factory.mktemp("python_client"))


@pytest.fixture(scope="session")
def typescript_client(tmp_path_factory: pytest.TempPathFactory) -> MadeClient:
    return install_typescript(tmp_path_factory.mktemp("typescript_client"))
