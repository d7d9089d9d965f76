"""The runner: queue consumers and schedules of a Chalice app, and an orderly end."""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chalice import Chalice, Rate

from infra.local.cloud import Cloud
from infra.local.process import free_port
from infra.local.runner import Runner
from tests.local.copies import ROOT
from tests.support.patience import patience, wait_for


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with Cloud.start() as cloud:
        yield cloud


@pytest.fixture
def queue(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> str:
    """A queue from which no message comes again because it is handled slowly; the environment leads to its cloud."""
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    name = f"queue-{time.monotonic_ns()}"
    cloud.client("sqs").create_queue(QueueName=name, Attributes={"VisibilityTimeout": "300"})
    return name


@pytest.fixture
def impatient(cloud: Cloud, queue: str) -> str:
    """The queue, whose messages come again after one second."""
    sqs = cloud.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "1"})
    return queue


def send(cloud: Cloud, queue: str, *bodies: str) -> None:
    sqs = cloud.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    for body in bodies:
        sqs.send_message(QueueUrl=url, MessageBody=body)


def waiting(cloud: Cloud, queue: str) -> int:
    """Messages that are not deleted, visible or not."""
    sqs = cloud.client("sqs")
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(found[name]) for name in names)


def consumer(queue: str, handle: Callable[[str], Any], **options: int) -> Chalice:
    app = Chalice(app_name="consumer", env={})

    @app.on_sqs_message(queue=queue, **options)
    def consume(event: Any) -> Any:
        return [handle(record.body) for record in event][-1]

    return app


def test_messages_are_handled_and_deleted(cloud: Cloud, queue: str) -> None:
    seen: list[str] = []
    with Runner(consumer(queue, seen.append, batch_size=1)):
        send(cloud, queue, *map(str, range(20)))
        wait_for(lambda: len(seen) == 20 and waiting(cloud, queue) == 0)
    assert sorted(seen, key=int) == [str(number) for number in range(20)]


def test_a_message_whose_handler_crashes_comes_again_until_it_is_handled(
    cloud: Cloud, impatient: str, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    def crash_once(body: str) -> None:
        seen.append(body)
        if len(seen) == 1:
            raise RuntimeError("once")

    with Runner(consumer(impatient, crash_once, batch_size=1)):
        send(cloud, impatient, "again")
        wait_for(lambda: waiting(cloud, impatient) == 0)
    assert len(seen) >= 2 and set(seen) == {"again"}


def test_slow_messages_do_not_hold_up_the_others(cloud: Cloud, queue: str) -> None:
    release, seen = threading.Event(), list[str]()

    def handle(body: str) -> None:
        if body == "slow":
            release.wait(patience(2))
        seen.append(body)

    with Runner(consumer(queue, handle, batch_size=1, maximum_concurrency=4)):
        send(cloud, queue, "slow", "slow", "slow", *("quick" * 1 for _ in range(5)))
        wait_for(lambda: seen == ["quick"] * 5)
        release.set()
        wait_for(lambda: len(seen) == 8)


def test_stopping_lets_a_running_handler_finish(cloud: Cloud, queue: str) -> None:
    started, finished = threading.Event(), threading.Event()

    def handle(body: str) -> None:
        started.set()
        time.sleep(0.5)
        finished.set()

    with Runner(consumer(queue, handle, batch_size=1)):
        send(cloud, queue, "one")
        assert started.wait(patience(2))
    assert finished.is_set()
    assert waiting(cloud, queue) == 0


def test_a_schedule_fires_at_once(capfd: pytest.CaptureFixture[str]) -> None:
    app, fired = Chalice(app_name="scheduled", env={}), list[str]()

    @app.schedule(Rate(1, unit=Rate.MINUTES))
    def sweep(event: Any) -> None:
        fired.append(event.source)
        raise RuntimeError("a crash does not end a schedule")

    with Runner(app):
        wait_for(lambda: fired == ["aws.events"])


SMALL_APP = """
from chalice import Chalice
app = Chalice(app_name="small", env={})
@app.route("/")
def root():
    return {"up": True}
"""


def run_small_app(folder: Path, port: int) -> subprocess.Popen[str]:
    (folder / "app.py").write_text(SMALL_APP)
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "infra.local.runner", "--port", str(port)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=environment, text=True, **pipes)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_serves_until_a_signal_and_ends_with_status_0(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    process = run_small_app(tmp_path, port)
    assert process.stdout and process.stdout.readline() == f"serving on http://127.0.0.1:{port}\n"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        assert answer.read() == b'{"up":true}'
    process.send_signal(number)
    process.send_signal(number)
    _, errors = process.communicate(timeout=patience(2))
    assert (process.returncode, errors) == (0, "")


def test_a_port_in_use_is_one_sentence_and_status_2(tmp_path: Path) -> None:
    with Runner(Chalice(app_name="other", env={})) as other:
        output, errors = run_small_app(tmp_path, other.port).communicate(timeout=patience(2))
    assert output == ""
    assert errors.startswith(f"The service cannot listen on port {other.port}") and errors.count("\n") == 1
