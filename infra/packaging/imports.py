"""Imports what functions import at their first call only, so that a broken module stops a deployment, not a call."""

import os
import subprocess
import sys
from pathlib import Path

from infra.configuration import config
from infra.stack import DeploymentStopped

_URLS = ("API_URL", "AUTH_URL", "PAY_URL", "EXPLORER_URL")
_SCRIPT = """
import app
from importlib import import_module

for each in (*app.consumers(app.app.services().settings), *app.SCHEDULES):
    app.import_work(each.work)
for product in app.ROUTES:
    for views, routes in product.ROUTES.items():
        for each in routes:
            getattr(import_module(f"{product.__package__}.{views}"), each.name)
"""


def check_imports(project: Path, stage: str) -> None:
    """Raises DeploymentStopped, with the line that failed, unless all jobs and views in `project` can be imported."""
    read = config(project)
    variables = {**read["environment_variables"], **read["stages"][stage]["environment_variables"]}
    variables |= {name: "https://example.com" for name in _URLS if not variables.get(name)}
    left_out = ("PYTHONPATH", "AWS_CHALICE_CLI_MODE")
    environment = {name: text for name, text in os.environ.items() if name not in left_out}
    command = [sys.executable, "-B", "-c", _SCRIPT]
    done = subprocess.run(
        command, cwd=project, env={**environment, **variables}, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["it gave no reason"]
        where = next((line for line in reversed(lines) if line.startswith("File ")), "")
        raise DeploymentStopped(f"a module of the functions cannot be imported: {lines[-1]} ({where})")
