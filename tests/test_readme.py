"""README.md says only what is so: its commands exist and run, its files are there, its settings are all of them."""

import hashlib
import hmac
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chalicelib.settings import Settings
from tests.support.served_page import FACTS, Served, serving

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def make_targets() -> list[str]:
    return sorted(set(re.findall(r"\bmake ([a-z-]+)", README)))


@pytest.mark.parametrize("target", make_targets())
def test_every_make_target_it_names_exists_and_is_explained(target: str) -> None:
    explained = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.search(rf"make {target}\b", explained)
    subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, check=True)


def test_the_first_screen_has_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:30])
    assert "make demo" in first_screen
    assert "make test" in first_screen


def test_the_operator_commands_run() -> None:
    for line in [line for block in blocks("sh") for line in block.splitlines() if "infra.admin" in line]:
        command = line.replace(".venv/bin/python", sys.executable).split()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        assert "create-client-id" in done.stdout


def test_the_explaining_command_says_what_the_bytes_do() -> None:
    (block,) = [block for block in blocks("sh") if "calldata.explain" in block]
    command = block.replace(".venv/bin/python", sys.executable).replace("\\\n", " ").split()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Allow ERC20FeeProxy to take up to 12.625 fUSDC" in done.stdout


@pytest.mark.parametrize(("facts", "code"), [(FACTS, 0), (f"<script></script>{FACTS}", 1)], ids=["same", "altered"])
def test_the_comparing_command_says_whether_a_page_is_this_codes(facts: str, code: int) -> None:
    (block,) = [block for block in blocks("sh") if "make page-hash URL=" in block]
    with serving(Served(facts)) as url:
        host, _, token = url.partition("/?token=")
        command = f"value() {{ echo {host}; }}; TOKEN={token}\n{block.replace('make ', 'make --dry-run ')}"
        steps = subprocess.run(["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        (step,) = [line for line in steps.splitlines() if "infra.page_hash" in line]
        step = step.replace(".venv/bin/python", sys.executable)
        done = subprocess.run(["bash", "-euc", step], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("\n"), "as this code has them" in done.stdout) == (code, 1, code == 0)


def test_the_verification_example_accepts_the_right_signature_alone() -> None:
    example: dict[str, Any] = {}
    exec(blocks("python")[0], example)
    signature = hmac.new(b"secret", b"body", hashlib.sha256).hexdigest()
    assert example["is_genuine"](b"body", signature, "secret")
    assert not example["is_genuine"](b"body!", signature, "secret")


def test_every_setting_is_documented_and_nothing_else_is() -> None:
    table = README[README.index("| Variable |") : README.index("## Guarantees")]
    names = "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    documented = set(re.findall(r"`([A-Z][A-Z_]+)`", names))
    assert documented == set(Settings.variables())


def test_every_file_it_names_is_there() -> None:
    named = re.findall(r"`((?:tests|infra|chalicelib)/[\w./]+)`|\]\(([\w./]+)\)", README)
    for path in {a or b for a, b in named}:
        assert (ROOT / path).exists(), path
