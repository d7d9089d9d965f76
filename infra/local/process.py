"""Child processes of the local stack, which end when this process ends in any way; free ports; StackProblem."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
_GUARD = Path(__file__).with_name("guard.py")
_PORTS = range(20_000, 32_768)
"""Below the range of ephemeral ports, so the system assigns none of them to a connection or to a server on port 0."""
_reserved: list[socket.socket] = []


class StackProblem(Exception):
    """The stack cannot run. The message is one sentence without a full stop."""


def patience(times: float = 1) -> float:
    """The seconds that processes, chains, clouds and browsers have for what they do here, or `times` as many.

    A minute, or what a run of the tests has measured (tests/support/patience.py).
    """
    return times * float(os.environ.get("TEST_PATIENCE", 60))


class Stoppable:
    """What runs until `stop`, or until the end of a `with`."""

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Child:
    """A command under a guard process, in a session of its own, so that Ctrl-C in the terminal does not end it."""

    def __init__(
        self,
        name: str,
        command: list[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        scratch: Path | None = None,
    ) -> None:
        """`env` is added to this process's environment. The guard keeps the file descriptors `pass_fds` (locks) open.

        The guard removes `scratch`, a file or folder, after it has ended the command, even if this process was killed.
        """
        self.name, self.log = name, log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), str(scratch or ""), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=dict(os.environ, **env) if env else None,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        assert self._guard.stdout
        self.pid = int(self._guard.stdout.readline() or 0)

    def running(self) -> bool:
        return self._guard.poll() is None

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Polls `ready` until it is true. Raises StackProblem if the command ends first or `patience` is over."""
        deadline = time.monotonic() + patience()
        while not ready():
            if not self.running():
                raise StackProblem(f"{self.name} ended while starting: {self._last_log_line()} (log: {self.log})")
            if time.monotonic() > deadline:
                raise StackProblem(f"{self.name} did not start within {patience():.0f} s (log: {self.log})")
            time.sleep(0.02)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Ends the command if the block raises: by SIGKILL for an error, which keeps its log, else gracefully."""
        try:
            yield
        except Exception:
            self.kill()
            raise
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Ends the command by SIGTERM, so that it can write its state, and waits. May be called more than once."""
        if self._guard.stdin and not self._guard.stdin.closed:
            self._guard.stdin.close()
        self._guard.wait()

    def kill(self) -> None:
        """Ends the command by SIGKILL, as a crash would, and waits. Does not remove `scratch`."""
        if self.running():
            os.kill(self.pid, signal.SIGKILL)
            self._guard.wait()
        self.stop()

    def _last_log_line(self) -> str:
        lines = self.log.read_text(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def free_port() -> int:
    """Returns a free port and reserves it for the life of this process, so that no other call returns it.

    On Linux the port stays bound without listening, which does not hinder a server that sets SO_REUSEADDR.
    """
    while True:
        port, probe = secrets.choice(_PORTS), socket.socket()
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            probe.close()
            continue
        if sys.platform == "linux":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _reserved.append(probe)
        else:
            probe.close()
        return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
