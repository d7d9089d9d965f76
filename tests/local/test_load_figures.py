"""`make load`: what becomes of what Locust measured, and which runs count as failed."""

import json
from typing import Any

import pytest

from tests.load import __main__ as load_command
from tests.load.__main__ import BARE, Operation, conclude, figures, operations

RATIOS = {"create": 4.0}
RECEIVED: dict[str, Any] = {"payments": 2, "deliveries": {"payment.confirmed": 2, "other": 4}, "forged": 0, "errors": []}


def row(name: str, times: dict[str, int], failures: int = 0) -> dict[str, Any]:
    total = sum(int(taken) * count for taken, count in times.items())
    return {
        "name": name,
        "num_requests": sum(times.values()),
        "num_failures": failures,
        "total_response_time": total,
        "response_times": times,
    }


def measured(failures: int = 0) -> list[Operation]:
    rows = [row(BARE, {"2": 19, "12": 1}), row("create", {"10": 18, "35": 2}, failures), row("webhook", {"1900": 2})]
    return operations(json.dumps([row("set up", {"5": 1}), *rows]))


def test_each_operation_is_compared_with_the_bare_route() -> None:
    assert [each.name for each in measured()] == [BARE, "create", "webhook"]
    average, most = figures(measured())
    assert (average.name, average.value, average.reference, average.ratio) == ("create, 20 calls", 12.5, 2.5, 5.0)
    assert (most.value, most.reference) == (35, 2)


def status(**changed: Any) -> int:
    failures = changed.pop("failures", 0)
    return conclude(measured(failures), {**RECEIVED, **changed}, RATIOS, 3.0, 60)


@pytest.fixture(autouse=True)
def report(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_command, "REPORT", tmp_path / "load.json")


def test_a_run_without_a_failure_and_with_the_deliveries_of_the_model_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert status() == 0
    said = capsys.readouterr().out
    assert "deliveries of a payment: 3.00, and 3.00 by the model" in said
    assert "create 4.0 x" in said
    assert json.loads(load_command.REPORT.read_text())["failed"] == 0


def test_what_makes_a_run_fail() -> None:
    assert status(failures=1) == 1
    assert status(payments=0, deliveries={}) == 1
    assert status(forged=1) == 1
    assert status(deliveries={"payment.confirmed": 2}) == 1, "a payment was told of less often than the model says"


def test_without_a_stack_one_sentence_says_so(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(load_command, "DESCRIPTION", tmp_path / "none.json")
    monkeypatch.setattr("sys.argv", ["load"])
    assert load_command.main() == 2
    assert capsys.readouterr().err == "No local stack is running here: start one with `make local`.\n"


@pytest.mark.parametrize(
    ("base_url", "node", "named"),
    [
        ("https://api.shop.example", "http://127.0.0.1:8545", "api.shop.example"),
        ("http://localhost:8000", "https://node.example/key", "node.example"),
        ("http://127.0.0.1.shop.example", "http://[::1]:8545", "127.0.0.1.shop.example"),
    ],
)
def test_a_stack_that_is_not_on_this_machine_gets_no_load_without_yes(
    base_url: str,
    node: str,
    named: str,
    tmp_path: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "stack.json").write_text(json.dumps({"base_url": base_url, "rpc": {load_command.NETWORK: node}}))
    monkeypatch.setattr("sys.argv", ["load", "--stack", str(tmp_path / "stack.json")])
    assert load_command.main() == 2
    assert capsys.readouterr().err == f"The load would pay at {named}. Give --yes if it should.\n"


def test_the_local_stack_gets_its_load_without_yes() -> None:
    assert not load_command.hosts_elsewhere({"base_url": "http://localhost:1", "rpc": {load_command.NETWORK: "http://127.0.0.1:2"}})
