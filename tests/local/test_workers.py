"""Functions in the local cloud: on which Python they run, what their workers share, and how one is replaced."""

import io
import json
import threading
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from infra.local.cloud import Cloud
from infra.local.pythons import HERE, VERSIONS, find_python
from tests.support.patience import patience
from tests.support.rehearsed import rehearsed

CODE = """
import os, sys, time
import boto3
def run(event, context):
    time.sleep(event.get("seconds", 0))
    version = "%d.%d" % sys.version_info[:2]
    return {"version": version, "place": os.path.realpath(__file__), "says": SAYS}
SAYS = "{says}"
"""
OTHER = next((each for each in VERSIONS if each != HERE and find_python(each)), HERE)


@pytest.fixture(scope="module")
def functions() -> Iterator[Any]:
    with Cloud.start() as cloud:
        yield cloud.client("lambda")


def archive(says: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        opened.writestr(zipfile.ZipInfo("code.py"), CODE.replace("{says}", says))
    return packed.getvalue()


def make(functions: Any, name: str, version: str = HERE) -> str:
    functions.create_function(
        FunctionName=name,
        Role="arn:aws:iam::000000000000:role/any",
        Runtime=f"python{version}",
        Handler="code.run",
        Timeout=30,
        Code={"ZipFile": archive("first")},
    )
    functions.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1})
    return name


def call(functions: Any, name: str, **event: object) -> dict[str, Any]:
    found = functions.invoke(FunctionName=name, Payload=json.dumps(event))
    answer: dict[str, Any] = json.loads(found["Payload"].read())
    assert "FunctionError" not in found, answer
    return answer


@pytest.mark.parametrize("version", sorted({HERE, OTHER}))
def test_a_function_runs_on_the_python_of_its_runtime_and_finds_boto3(functions: Any, version: str) -> None:
    assert call(functions, make(functions, f"on-{version.replace('.', '-')}", version))["version"] == version


def test_workers_of_the_same_code_share_its_files(functions: Any) -> None:
    places = {call(functions, make(functions, name))["place"] for name in ("one", "another")}
    assert len(places) == 1


@rehearsed
def test_a_worker_that_is_replaced_while_it_works_ends_its_work(functions: Any) -> None:
    name, answers = make(functions, "slow"), list[dict[str, Any]]()
    call(functions, name)
    working = threading.Thread(target=lambda: answers.append(call(functions, name, seconds=4)))
    working.start()
    time.sleep(1)
    began = time.monotonic()
    functions.update_function_code(FunctionName=name, ZipFile=archive("second"))
    functions.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1})
    assert call(functions, name)["says"] == "second", "the next call has a new worker"
    assert time.monotonic() - began < 20
    working.join(patience())
    assert [answer["says"] for answer in answers] == ["first"]
