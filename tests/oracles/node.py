"""Asks the JavaScript libraries of infra/local/node_modules, in a Node.js process."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.local.bytecode import MODULES
from infra.local.process import ROOT

SCRIPTS = Path(__file__).parent


def ask(questions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The answers of wallets.js, in order, from one process. What the script throws fails the test."""
    return list(run("wallets.js", questions))


def run(script: str, questions: Any = ()) -> Any:
    """The JSON that a script writes when it reads the questions."""
    node = shutil.which("node") or str(ROOT / ".venv/bin/node")
    search = os.pathsep.join(filter(None, (str(MODULES), os.environ.get("NODE_PATH"))))
    ran = subprocess.run(
        [node, str(SCRIPTS / script)],
        input=json.dumps(list(questions)),
        env={**os.environ, "NODE_PATH": search},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
