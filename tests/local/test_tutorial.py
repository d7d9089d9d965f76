"""docs/first-order.md, followed against a stack: both of its shops take an order and follow its payment."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.local.bytecode import MODULES
from infra.local.process import free_port
from tests.docs.documents import DOCS
from tests.local.running import SHARED, SharedStack
from tests.support.patience import patience

pytestmark = pytest.mark.xdist_group(SHARED)

TUTORIAL = DOCS["first-order"]
_, REGISTER, ORDER, PAY_HALF, PAY_REST, REORGANISE = TUTORIAL.blocks("sh")


class Shop:
    """One of the two programs of the tutorial, and the commands that its reader types."""

    def __init__(self, stack: dict[str, Any], number: str) -> None:
        self.number, self.port = number, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ, "API_URL": stack["base_url"], "TEST_KEY": stack["test_api_key"], "PAYEE": stack["payee"],
            "SHOP_URL": self.url, "PORT": str(self.port), "no_proxy": "*",
        }  # fmt: skip
        self.environment["WEBHOOK_SECRET"] = self.type(f"{REGISTER}echo -n $WEBHOOK_SECRET")

    def type(self, commands: str) -> str:
        """What the commands print in a shell that keeps the variables of those before."""
        done = subprocess.run(
            ["bash", "-ec", f"{commands}\nif [ -n \"$REQUEST\" ]; then echo \"$REQUEST\" >&2; fi"],
            env=self.environment, capture_output=True, text=True, timeout=patience(5),
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        if done.stderr.strip():
            self.environment["REQUEST"] = done.stderr.strip()
        return done.stdout

    def order(self, commands: str = "") -> dict[str, Any]:
        """The order after these commands, which name the order of the tutorial."""
        if commands:
            self.type(commands.replace("A-1", self.number))
        with urllib.request.urlopen(f"{self.url}/orders/{self.number}", timeout=patience()) as response:
            found: dict[str, Any] = json.loads(response.read())
        return found

    def wait_for(self, status: str) -> None:
        deadline = time.monotonic() + patience(5)
        while (found := self.order())["status"] != status:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    @contextmanager
    def started(self, command: list[str], folder: Path) -> Iterator[None]:
        """Runs the program until it is left, once it answers."""
        process = subprocess.Popen(command, cwd=folder, env=self.environment)
        deadline = time.monotonic() + patience(5)
        try:
            while subprocess.run(["curl", "-s", "-o", os.devnull, self.url], env=self.environment, check=False).returncode:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.wait(timeout=patience())


def follow_the_tutorial(shop: Shop) -> None:
    assert json.loads(shop.type(ORDER.replace("A-1", shop.number)))["status"] == "open"
    assert json.loads(shop.type(ORDER.replace("A-1", shop.number))) == shop.order(), "an order that is sent twice"
    shop.order(PAY_HALF)
    shop.wait_for("partly paid")
    shop.order(PAY_REST)
    shop.wait_for("paid")
    shop.order(REORGANISE)
    shop.wait_for("open")


def test_the_shop_in_python_follows_its_order(shared_stack: SharedStack, tmp_path: Path) -> None:
    (program,) = TUTORIAL.blocks("python")
    (tmp_path / "shop.py").write_text(program)
    shop = Shop(shared_stack.description(), "A-1")
    named = re.search(r"`uvicorn (shop:shop) --port 3000`", TUTORIAL.text)
    assert named is not None
    with shop.started([sys.executable, "-m", "uvicorn", named[1], "--port", str(shop.port)], tmp_path):
        follow_the_tutorial(shop)


def test_the_shop_in_javascript_follows_its_order(shared_stack: SharedStack, tmp_path: Path) -> None:
    (program,) = TUTORIAL.blocks("js")
    (tmp_path / "shop.mjs").write_text(program)
    (tmp_path / "node_modules").symlink_to(MODULES)
    shop = Shop(shared_stack.description(), "B-1")
    with shop.started(["node", "shop.mjs"], tmp_path):
        follow_the_tutorial(shop)
