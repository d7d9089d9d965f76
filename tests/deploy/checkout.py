"""A copy of this checkout, in which tests change files and run the commands of operators."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from infra.configuration import ROOT
from infra.deploy import quick_waiters
from infra.local.cloud import Cloud

_SETUP = ("infra/local/setup.py", "infra.documents.derived")
"""What every command of the Makefile runs first, the second one where a document is newer than what is made of it."""


class Checkout:
    """A copy of this checkout, whose commands reach the local cloud."""

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        self.environment |= {**cloud.environment(), "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment.pop("AUTH", None)
        self.environment |= quick_waiters(folder)
        self._config = folder / ".chalice" / "config.json"
        for name in ("app.py", "Makefile", "requirements.txt"):
            shutil.copy(ROOT / name, folder)
        for name in ("chalicelib", "infra", ".chalice", "docs"):
            ignored = shutil.ignore_patterns("__pycache__", "node_modules", "deployed", "deployments")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        (folder / ".venv").symlink_to(ROOT / ".venv")
        (folder / ".local").mkdir()
        (ROOT / ".local" / "packages").mkdir(exist_ok=True)
        (folder / ".local" / "packages").symlink_to(ROOT / ".local" / "packages")  # the layer is built once

    def make(self, arguments: str, typed: str = "", status: int = 0) -> str:
        """What a `make` command prints, without the installation that comes before it."""
        listed = subprocess.run(
            ["make", "--no-print-directory", "-n", *arguments.split()], cwd=self.folder, capture_output=True, text=True, check=True
        )
        (command,) = [line for line in listed.stdout.splitlines() if not any(each in line for each in _SETUP)]
        return self.run(command, typed, status)

    def run(self, command: str, typed: str = "", status: int = 0) -> str:
        done = subprocess.run(
            shlex.split(command),
            cwd=self.folder,
            env=self.environment,
            input=typed,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def memory(self, stage: str) -> int:
        """The megabytes of the API's function by the configuration."""
        config = json.loads(self._config.read_text())
        for_all = config["lambda_functions"]["api_handler"]
        own = config["stages"][stage].get("lambda_functions", {}).get("api_handler", {})
        return int({**for_all, **own}["lambda_memory_size"])

    def set_memory(self, stage: str, megabytes: int) -> None:
        config = json.loads(self._config.read_text())
        own = config["stages"][stage].setdefault("lambda_functions", {}).setdefault("api_handler", {})
        own["lambda_memory_size"] = megabytes
        self._config.write_text(json.dumps(config))

    def set_python(self, version: str) -> None:
        config = json.loads(self._config.read_text())
        config["lambda_python"] = version
        self._config.write_text(json.dumps(config))

    def set_hosts(self, stage: str, hosts: object, **variables: str) -> None:
        config = json.loads(self._config.read_text())
        config["stages"][stage]["hosts"] = hosts
        config["stages"][stage]["environment_variables"] |= variables
        self._config.write_text(json.dumps(config))
