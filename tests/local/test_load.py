"""`make load` on a running stack, for a few seconds: no call fails, and payments on the chain are told of as modelled."""

import json
import os
import subprocess
import sys

import pytest

from infra.local.process import ROOT
from tests.local.running import SHARED, SharedStack

pytestmark = pytest.mark.xdist_group(SHARED)

RUN = "import json, sys; from tests.load.__main__ import run; sys.exit(run(json.load(sys.stdin), seconds=6, users=2))"


def test_a_mixed_load_has_no_errors_and_the_deliveries_of_the_model(shared_stack: SharedStack) -> None:
    planned = subprocess.run(["make", "--dry-run", "load"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (installing,) = (line for line in planned.splitlines() if "pip install" in line)
    subprocess.run(installing, cwd=ROOT, shell=True, check=True)
    variables = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    stack = json.dumps(shared_stack.description())
    done = subprocess.run(
        [sys.executable, "-c", RUN], cwd=ROOT, env=variables, input=stack, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    measured = json.loads((ROOT / ".local" / "load.json").read_text())
    assert measured["failed"] == 0
    assert measured["payments"] >= 1
    assert measured["deliveries_of_a_payment"] == measured["deliveries_by_the_model"] == 3
    compared = {each["name"].split(",")[0] for each in measured["figures"]}
    assert compared == {"create", "list", "pay", "read"}
    assert all(each["ratio"] > 0 for each in measured["figures"])
