"""Every command and example of the documents that needs no running stack does what the text says."""

import hashlib
import hmac
import re
import subprocess
import sys
from typing import Any

import pytest

from tests.docs.documents import ALL, DOCS, IDS, Document
from tests.support.served_page import FACTS, Served, serving

ROOT = DOCS["api"].path.parents[1]
RUNNERS = ("curl", "infra.explain", "infra.listen", "page-hash", "infra.admin --help", "infra.admin reindex", "make ", "TEST_KEY")
"""What the shell blocks are run by: test_use.py, the tests below, webhooks/test_listen.py, test_admin.py for what operators run on a stage,
local/test_tutorial.py, and test_structure.py
for what `make` offers."""


def block(document: str, words: str) -> str:
    """The one shell block of a document that has these words."""
    (found,) = [each for each in DOCS[document].blocks("sh") if words in each]
    return found.replace(".venv/bin/python", sys.executable)


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_every_shell_block_is_run_by_a_test(document: Document) -> None:
    for each in document.blocks("sh"):
        assert any(words in each for words in RUNNERS), each


def test_every_python_block_is_run_by_a_test() -> None:
    found = {document.name: len(document.blocks("python")) for document in ALL}
    assert {name: count for name, count in found.items() if count} == {"README.md": 2, "docs/first-order.md": 1, "docs/requests.md": 1, "docs/webhooks.md": 2}


def test_the_operator_commands_are_explained() -> None:
    command = block("credentials", "infra.admin").split()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "create-client-id" in done.stdout


def test_the_explaining_command_says_what_the_bytes_do() -> None:
    command = block("links", "infra.explain").replace("\\\n", " ").split()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Allow ERC20FeeProxy to take up to 12.625 fUSDC" in done.stdout


@pytest.mark.parametrize(("facts", "code"), [(FACTS, 0), (f"<script></script>{FACTS}", 1)], ids=["same", "altered"])
def test_the_comparing_command_says_whether_a_page_is_unmodified(facts: str, code: int) -> None:
    (line,) = [each for each in block("payment-page", "page-hash").splitlines() if "page-hash" in each]
    with serving(Served(facts)) as url:
        host, _, token = url.partition("/?token=")
        command = f"value() {{ echo {host}; }}; TOKEN={token}\n{line.replace('make ', 'make --dry-run ')}"
        steps = subprocess.run(["bash", "-euc", command], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        (step,) = [each for each in steps.splitlines() if "infra.page_hash" in each]
        step = step.replace(".venv/bin/python", sys.executable)
        done = subprocess.run(["bash", "-euc", step], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("\n"), "as this code has them" in done.stdout) == (code, 1, code == 0)


def test_the_verification_example_accepts_only_the_right_signature() -> None:
    example: dict[str, Any] = {}
    exec(DOCS["webhooks"].blocks("python")[0], example)
    signature = hmac.new(b"secret", b"body", hashlib.sha256).hexdigest()
    assert example["is_genuine"](b"body", signature, "secret")
    assert not example["is_genuine"](b"body!", signature, "secret")
    assert not example["is_genuine"](b"body", "ä" * 64, "secret"), "which anybody may send"


@pytest.mark.parametrize("document", ALL, ids=IDS)
def test_no_command_is_cut_off(document: Document) -> None:
    for each in document.blocks("sh"):
        subprocess.run(["bash", "-n", "-c", each], check=True)
        assert not re.search(r"\\\s*\Z", each)
