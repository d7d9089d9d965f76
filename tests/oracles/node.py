"""Asks JavaScript libraries, in a Node.js process: those of infra/local/node_modules, and a builder of payments."""

import atexit
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from infra.local.bytecode import MODULES
from infra.local.process import ROOT
from tests.support.patience import patience

SCRIPTS = Path(__file__).parent
PAYMENTS = SCRIPTS / "payments"


class ScriptEnded(AssertionError):
    """A script ended before it answered. The message is what it wrote, such as which package is missing."""


def ask(questions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The answers of wallets.js, in order. What the script throws fails the test.

    One process answers all tests, because loading the libraries takes longer than answering.
    """
    return list(served("wallets.js", questions))


def ask_builder(questions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The answers of payments/build.js, which builds payments with npm packages, as those of `ask`."""
    return list(served("payments/build.js", questions))


def ask_detection(questions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The payments that payments/detect.js finds among logs with an npm package, as those of `ask`."""
    return list(served("payments/detect.js", questions))


def ask_router(questions: Sequence[Mapping[str, Any]]) -> list[Any]:
    """What a router answers npm @lifi/sdk (lifi.js), as those of `ask`."""
    return list(served("lifi.js", questions))


def ask_urls(texts: Sequence[str]) -> list[Any]:
    """Host, port, user name and password that a browser reads in URLs (urls.js), None for one that it refuses."""
    return list(served("urls.js", [{"url": text} for text in texts]))


def served(script: str, questions: Any = ()) -> Any:
    """What a script answers to a line of questions, in a process that stays."""
    try:
        process = _running(script)
    except FileNotFoundError as error:
        raise ScriptEnded(f"{error.filename} is missing") from error
    assert process.stdin and process.stdout
    try:
        process.stdin.write(json.dumps(list(questions)) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        _running.cache_clear()
        raise ScriptEnded(process.communicate()[1])
    return json.loads(line)


def run(script: str, questions: Any = ()) -> Any:
    """The JSON that a script writes when it reads the questions."""
    ran = subprocess.run(
        command(script),
        input=json.dumps(list(questions)),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=patience(3),
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@cache
def _running(script: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(script), env=environment(), encoding="utf-8", **pipes)  # type: ignore[call-overload]
    atexit.register(process.kill)
    return process  # type: ignore[no-any-return]


def command(script: str) -> list[str]:
    node = shutil.which("node") or str(ROOT / ".venv/bin/node")
    return [node, str(SCRIPTS / script)]


def environment() -> dict[str, str]:
    search = os.pathsep.join(filter(None, (str(MODULES), os.environ.get("NODE_PATH"))))
    return {**os.environ, "NODE_PATH": search}
