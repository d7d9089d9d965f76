"""The lock of a stage: one command at a time changes it, on whichever machine.

The object `lock.json` in the bucket of the stage's builds says which command holds the lock, for whom and since when.
It is made only where there is none, replaced and deleted only with the ETag that was read: S3 decides who is first. Its
holder writes it once a minute, and knows it by a random id: a write may have been done though its response was lost.
One that was not written for LOCKED_FOR, by the clock of S3, belongs to a command that was killed, and the next command
takes it over.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Any
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from infra.stack import DeploymentStopped

LOCK = "lock.json"
LOCKED_FOR = timedelta(minutes=5)
"""How long the lock of a command that was killed keeps others out."""
RENEWED_EVERY = timedelta(minutes=1)
_MISSING = ("NoSuchKey", "404")


class Lock:
    """The lock in one bucket. `sts` says who is asking."""

    def __init__(self, s3: Any, sts: Any, bucket: str) -> None:
        self._s3, self._sts, self._bucket = s3, sts, bucket

    @contextmanager
    def hold(self, command: str) -> Iterator[None]:
        """Keeps other commands out of the stage meanwhile. Raises DeploymentStopped while another one holds the lock.

        SIGTERM and SIGHUP end what runs meanwhile, with its child processes, and the lock is released.
        """
        caller = self._sts.get_caller_identity()["Arn"]
        since = datetime.now(UTC).isoformat(timespec="seconds")
        content = json.dumps({"command": command, "by": caller, "since": since, "id": uuid4().hex}).encode()
        renewal = _Renewal(self, content, self._take(content))
        renewal.start()
        try:
            with _end_by_signals():
                yield
        finally:
            etag = renewal.stop()
            with suppress(ClientError, BotoCoreError):  # a lock that stays ends by itself
                self._s3.delete_object(Bucket=self._bucket, Key=LOCK, IfMatch=etag)

    def holder(self) -> str | None:
        """Who holds the lock, in words; None if nobody does, or the stage has no bucket yet."""
        found = self._read()
        return _name_holder(found[1]) if found is not None and found[0] < LOCKED_FOR else None

    def write(self, content: bytes, etag: str | None) -> str | None:
        """Writes the lock if its ETag is this one, or if there is none; returns its new ETag, or None if it is not.

        Raises DeploymentStopped if the stage has no bucket: nothing of it is deployed.
        """
        condition = {"IfNoneMatch": "*"} if etag is None else {"IfMatch": etag}
        try:
            written: str = self._s3.put_object(Bucket=self._bucket, Key=LOCK, Body=content, **condition)["ETag"]
        except ClientError as error:
            code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
            if code == "NoSuchBucket":
                raise DeploymentStopped(f"There is no bucket {self._bucket}: run `make deploy` first.") from error
            if code not in _MISSING and status not in (409, 412):
                raise
            found = self._read()
            return found[2] if found is not None and found[1] == json.loads(content) else None
        return written

    def _take(self, content: bytes) -> str:
        """Takes the lock, also one whose holder was killed; returns its ETag."""
        if etag := self.write(content, None):
            return etag
        found = self._read()
        if found is not None and found[0] < LOCKED_FOR:
            left = max(1, ceil((LOCKED_FOR - found[0]).total_seconds() / 60))
            raise DeploymentStopped(
                f"{_name_holder(found[1])}: wait until it has ended. If it was killed, its lock ends in {left} minutes."
            )
        etag = self.write(content, found[2] if found is not None else None)
        if etag is None:
            raise DeploymentStopped("Another command has begun to change this stage just now.")
        return etag

    def _read(self) -> tuple[timedelta, dict[str, str], str] | None:
        """How long ago the lock was written, what it says, and its ETag; None if there is none."""
        try:
            found = self._s3.get_object(Bucket=self._bucket, Key=LOCK)
        except ClientError as error:
            if error.response["Error"]["Code"] in (*_MISSING, "NoSuchBucket"):
                return None
            raise
        now = parsedate_to_datetime(found["ResponseMetadata"]["HTTPHeaders"]["date"])
        return now - found["LastModified"], json.loads(found["Body"].read()), found["ETag"]


class _Renewal(threading.Thread):
    """Writes the lock again and again while its command runs, and ends the command if it is somebody else's."""

    def __init__(self, lock: Lock, content: bytes, etag: str) -> None:
        super().__init__(daemon=True)
        self._lock, self._content, self._etag = lock, content, etag
        self._ending = threading.Event()

    def stop(self) -> str:
        """Ends the renewals; returns the last ETag."""
        self._ending.set()
        self.join()
        return self._etag

    def run(self) -> None:
        written_at = time.monotonic()
        while not self._ending.wait(RENEWED_EVERY.total_seconds()):
            try:
                etag = self._lock.write(self._content, self._etag)
            except (ClientError, BotoCoreError, DeploymentStopped):  # it is tried again as long as the lock is ours
                if time.monotonic() - written_at < (LOCKED_FOR - RENEWED_EVERY).total_seconds():
                    continue
                etag = None
            if etag is None:
                print("Another command has taken the lock of this stage: this one ends.", file=sys.stderr)
                os.kill(os.getpid(), signal.SIGTERM)
                return
            self._etag, written_at = etag, time.monotonic()


@contextmanager
def _end_by_signals() -> Iterator[None]:
    """Turns the first SIGTERM or SIGHUP into SystemExit, which ends child processes that are waited for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = (signal.SIGTERM, signal.SIGHUP)

    def end(number: int, _frame: Any) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        print(f"Ended by {signal.Signals(number).name}: run the same command again.", file=sys.stderr)
        raise SystemExit(128 + number)

    before = {each: signal.signal(each, end) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _name_holder(content: dict[str, str]) -> str:
    return f"`{content['command']}` of this stage runs since {content['since']}, by {content['by']}"
