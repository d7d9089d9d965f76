"""The lock of a stage: of commands at once one changes it, also if the one before was killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra import lock
from infra.configuration import ROOT
from infra.local.cloud import Cloud
from infra.lock import LOCK, Lock
from infra.stack import DeploymentStopped
from tests.support.patience import patience

BUCKET = "payment-requests-lock"
HOLD = """
import boto3, subprocess, sys
from datetime import timedelta
from infra import lock
lock.RENEWED_EVERY = timedelta(seconds=0.2)
with lock.Lock(boto3.client("s3"), boto3.client("sts"), sys.argv[1]).hold("make deploy"):
    print("held", flush=True)
    subprocess.run([sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(60)"])
"""


@pytest.fixture(scope="module")
def s3(cloud: Cloud) -> Any:
    client = cloud.client("s3")
    client.create_bucket(Bucket=BUCKET)
    return client


@pytest.fixture
def free_lock(cloud: Cloud, s3: Any) -> Iterator[Lock]:
    s3.delete_object(Bucket=BUCKET, Key=LOCK)
    yield Lock(s3, cloud.client("sts"), BUCKET)


def is_locked(s3: Any) -> bool:
    return "Contents" in s3.list_objects_v2(Bucket=BUCKET)


def test_a_second_command_is_refused_until_the_first_has_ended_however_it_does(free_lock: Lock, s3: Any) -> None:
    for _ in range(2):
        with suppress(RuntimeError), free_lock.hold("make deploy"):
            said = r"`make deploy` of this stage runs since \S+, by arn:\S+: wait .* its lock ends in 5 minutes"
            with pytest.raises(DeploymentStopped, match=said), free_lock.hold("make restore"):
                pass
            assert free_lock.holder() is not None
            raise RuntimeError
        assert not is_locked(s3) and free_lock.holder() is None


def test_a_stage_without_a_bucket_has_no_holder(cloud: Cloud) -> None:
    assert Lock(cloud.client("s3"), cloud.client("sts"), "payment-requests-no-bucket").holder() is None


def test_a_stage_without_a_bucket_is_refused_in_words(cloud: Cloud) -> None:
    missing = Lock(cloud.client("s3"), cloud.client("sts"), "payment-requests-no-bucket")
    with pytest.raises(DeploymentStopped, match="run `make deploy` first"), missing.hold("make finish"):
        pass


class RepeatingS3:
    """S3 through a connection that loses the first response to each write: boto3 sends the write again."""

    def __init__(self, s3: Any) -> None:
        self._s3 = s3

    def __getattr__(self, name: str) -> Any:
        return getattr(self._s3, name)

    def put_object(self, **arguments: Any) -> Any:
        with suppress(ClientError):  # refused: the lock is another one's
            self._s3.put_object(**arguments)
        return self._s3.put_object(**arguments)


def test_a_write_that_was_done_though_its_response_was_lost_gets_the_lock(cloud: Cloud, free_lock: Lock, s3: Any) -> None:
    repeating: Any = RepeatingS3(s3)
    with Lock(repeating, cloud.client("sts"), BUCKET).hold("make deploy"):
        with pytest.raises(DeploymentStopped, match="make deploy"), free_lock.hold("make restore"):
            pass
        other = Lock(repeating, cloud.client("sts"), BUCKET)
        with pytest.raises(DeploymentStopped, match="make deploy"), other.hold("make destroy"):
            pass
    assert not is_locked(s3)


@pytest.mark.parametrize("is_left", [False, True], ids=["free", "left by a command that was killed"])
def test_of_commands_that_begin_at_once_one_gets_the_lock(
    free_lock: Lock, s3: Any, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, is_left: bool
) -> None:
    """Whether the lock is free or has ended: the second is the moment at which reading and writing apart let two in."""
    buckets = [f"{BUCKET}-left-{number}" for number in range(3)] if is_left else 10 * [BUCKET]
    if is_left:
        monkeypatch.setattr(lock, "LOCKED_FOR", timedelta(seconds=5))
        for bucket in buckets:
            s3.create_bucket(Bucket=bucket)
            s3.put_object(Bucket=bucket, Key=LOCK, Body=b'{"command": "x", "by": "x", "since": "x"}')
        time.sleep(6.1)
    for bucket in buckets:
        together = Barrier(6)
        inside: list[int] = []

        def run(number: int, bucket: str = bucket, together: Barrier = together, inside: list[int] = inside) -> str:
            own = Lock(cloud.client("s3"), cloud.client("sts"), bucket)
            together.wait()
            try:
                with own.hold("make deploy"):
                    inside.append(number)
                    together.wait()
                    return "held"
            except DeploymentStopped:
                together.wait()
                return "refused"

        with ThreadPoolExecutor(6) as threads:
            assert sorted(threads.map(run, range(6))) == ["held", *["refused"] * 5]
        assert len(inside) == 1


def test_a_command_that_takes_long_keeps_its_lock(free_lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCKED_FOR", timedelta(seconds=2))
    monkeypatch.setattr(lock, "RENEWED_EVERY", timedelta(seconds=0.3))
    with free_lock.hold("make restore"):
        for _ in range(10):
            time.sleep(0.5)
            with pytest.raises(DeploymentStopped, match="make restore"), free_lock.hold("make deploy"):
                pass


class Running:
    """A process that holds the lock and waits for a child process."""

    def __init__(self, cloud: Cloud) -> None:
        environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": cloud.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        command = [sys.executable, "-c", HOLD, BUCKET]
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"
        self.child = int(self.process.stdout.readline())

    def ended(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=patience())
        return self.process.returncode, said

    @property
    def has_child(self) -> bool:
        state = Path(f"/proc/{self.child}/stat")
        return state.exists() and state.read_text().split()[2] != "Z"


def test_sigterm_ends_a_command_with_its_children_and_releases_the_lock(free_lock: Lock, s3: Any, cloud: Cloud) -> None:
    running = Running(cloud)
    running.process.send_signal(signal.SIGTERM)
    status, said = running.ended()
    assert status == 128 + signal.SIGTERM
    assert said == "Ended by SIGTERM: run the same command again.\n"
    assert not is_locked(s3)
    assert not running.has_child


def test_a_command_that_was_killed_keeps_others_out_for_a_while_only(
    free_lock: Lock, s3: Any, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(cloud)
    running.process.kill()
    os.kill(running.child, signal.SIGKILL)  # it has the pipes of its parent
    running.ended()
    assert is_locked(s3)
    with pytest.raises(DeploymentStopped, match="If it was killed"), free_lock.hold("make rollback"):
        pass
    monkeypatch.setattr(lock, "LOCKED_FOR", timedelta(0))
    with free_lock.hold("make rollback"):
        pass
    assert not is_locked(s3)


def test_a_command_whose_lock_was_taken_ends_and_leaves_the_lock_to_the_other(
    free_lock: Lock, s3: Any, cloud: Cloud
) -> None:
    running = Running(cloud)
    s3.put_object(Bucket=BUCKET, Key=LOCK, Body=b'{"command": "make restore", "by": "another", "since": "now"}')
    status, said = running.ended()
    assert status == 128 + signal.SIGTERM
    assert said.startswith("Another command has taken the lock of this stage: this one ends.")
    assert "make restore" in (free_lock.holder() or "")
    assert not running.has_child


def test_a_command_in_a_thread_holds_the_lock_without_signals(free_lock: Lock, s3: Any) -> None:
    done: list[bool] = []

    def run() -> None:
        with free_lock.hold("make verify"):
            done.append(is_locked(s3))

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert done == [True] and not is_locked(s3)
