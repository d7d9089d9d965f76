"""What wallets answer of batches of calls (EIP-5792) is read in every form that there is; other forms are no promise."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.node import served

DRIVER = str(Path(__file__).parent / "calls_driver.js")
BASE = 8453
SUPPORTED, READY = {"atomic": {"status": "supported"}}, {"atomic": {"status": "ready"}}
OLD = {"atomicBatch": {"supported": True}}
HASH, OTHER = "0x" + "AB" * 32, "0x" + "cd" * 32
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**6) | st.text(max_size=12) | st.sampled_from(["supported", "ready"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["0x2105", "8453", "0x0", "atomic", "status", "atomicBatch", "id", "receipts"]), inner, max_size=4),
    max_leaves=12,
)


def answers(name: str, *questions: tuple[Any, ...]) -> list[Any]:
    found: list[Any] = served(DRIVER, [[name, list(each)] for each in questions])
    return found


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        ({"0x2105": SUPPORTED}, "supported"),
        ({"0x2105": READY}, "ready"),
        ({"0x2105": {**SUPPORTED, **OLD}}, "supported"),
        ({"0x2105": OLD}, "supported"),
        ({"0x02105": SUPPORTED}, "supported"),
        ({"0X2105": SUPPORTED}, "supported"),
        ({"8453": READY}, "ready"),
        ({"0x0": SUPPORTED, "0x2105": {"paymasterService": {"supported": True}}}, "supported"),
        ({"0x0": SUPPORTED}, "supported"),
        ({"0x0": SUPPORTED, "0x2105": READY}, "ready"),
        ({"0x0": SUPPORTED, "0x2105": {"atomic": {"status": "unsupported"}}}, None),
        ({"0x2105": {"atomic": {"status": "unsupported"}, **OLD}}, None),
        ({"0x2105": {"atomic": {"status": True}}}, None),
        ({"0x2105": {"atomic": "supported"}}, None),
        ({"0x2105": {"atomicBatch": {"supported": "true"}}}, None),
        ({"0x2105": {"atomicBatch": {"supported": 1}}}, None),
        ({"0x1": SUPPORTED}, None),
        ({"base": SUPPORTED}, None),
        ({}, None),
        ([], None),
        (None, None),
        ("supported", None),
    ],
)
def test_what_a_wallet_can_do(answer: Any, wanted: str | None) -> None:
    assert answers("atomicity", (answer, BASE)) == [wanted]


def test_ids_of_batches() -> None:
    answer = [{"id": "0x01"}, "0x02", {"id": "x" * 8_194}, {"id": "x" * 8_195}, {"id": ""}, {"id": 7}, None, {}]
    assert answers("idOf", *((each,) for each in answer)) == ["0x01", "0x02", "x" * 8_194, *["lied"] * 5]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (100, "pending"), (199, "pending"), (200, "done"), (299, "done"), (400, "failed"), (500, "failed"), (501, "failed"),
        (600, "partly"), ("200", "done"), ("100", "pending"), ("CONFIRMED", "done"), ("PENDING", "pending"), (300, "odd"),
        (0, "odd"), (None, "odd"), ("done", "odd"), ("0x64", "odd"), (200.5, "odd"), (True, "odd"), ([200], "odd"), ({}, "odd"),
    ],
)  # fmt: skip
def test_states_of_batches(status: Any, state: str) -> None:
    assert answers("statusOf", ({"status": status},)) == [{"state": state, "hash": None}]


def test_the_transaction_of_a_batch_is_the_last_of_its_receipts() -> None:
    """One, as many as calls, or one that is not in a list; none while it is pending or was made in part, whatever it names."""
    receipt, other = {"transactionHash": HASH}, {"transactionHash": OTHER}
    answer: list[Any] = [[receipt], [receipt] * 3, receipt, [other, receipt], [{"transactionHash": "0x12"}, None, "x"], None]
    without = ({"status": number, "receipts": [receipt]} for number in (100, 600))
    found = answers("statusOf", *(({"status": 200, "receipts": each},) for each in answer), *((each,) for each in without))
    assert [each["hash"] for each in found] == [HASH.lower()] * 4 + [None] * 4


@settings(max_examples=15, deadline=None)
@given(st.lists(JUNK, min_size=20, max_size=20))
def test_no_answer_breaks_the_reader(answer: list[Any]) -> None:
    for found in answers("atomicity", *((each, BASE) for each in answer)):
        assert found in ("supported", "ready", None)
    for found in answers("statusOf", *((each,) for each in answer)):
        assert found["state"] in ("pending", "done", "failed", "partly", "odd")
    for found, each in zip(answers("idOf", *((each,) for each in answer)), answer, strict=True):
        assert found == "lied" or found in (each, each.get("id") if isinstance(each, dict) else None)
