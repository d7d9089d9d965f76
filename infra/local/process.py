"""Child processes of the local stack, which end with us however we end; ports; the error that is a sentence."""

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

ROOT = Path(__file__).resolve().parents[2]
LOCAL = ROOT / ".local"
_GUARD = Path(__file__).with_name("guard.py")
_PORTS = range(20_000, 32_768)
"""Below those that systems give to connections and to servers that do not mind: nobody is given one by chance."""
_held: list[socket.socket] = []


class StackProblem(Exception):
    """Why the stack cannot run, in one sentence without a full stop."""


class Child:
    """A command under a guard, in a session of its own: Ctrl-C in the terminal does not reach it, `stop` does."""

    def __init__(
        self,
        name: str,
        command: list[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        held: Sequence[int] = (),
        scratch: Path | None = None,
    ) -> None:
        """`env` adds to ours; `held` are file descriptors (locks) that the guard keeps open until all has ended.

        `scratch`, a file or folder, is removed when the command was ended, even if we were killed.
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
                pass_fds=held,
            )
        assert self._guard.stdout
        self.pid = int(self._guard.stdout.readline() or 0)

    def running(self) -> bool:
        return self._guard.poll() is None

    def wait_until(self, ready: Callable[[], bool], seconds: float = 60) -> None:
        """Poll `ready` until it is true. Raises StackProblem when the command ends or the time is over."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.running():
                raise StackProblem(f"{self.name} ended while starting: {self._last_words()} (log: {self.log})")
            if time.monotonic() > deadline:
                raise StackProblem(f"{self.name} did not start within {seconds:.0f} s (log: {self.log})")
            time.sleep(0.02)

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Ends it when the block fails, so that its log stays to be read, or is interrupted."""
        try:
            yield
        except Exception:
            self.kill()
            raise
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it gracefully (it may write its state) and wait; calling again is harmless."""
        if self._guard.stdin and not self._guard.stdin.closed:
            self._guard.stdin.close()
        self._guard.wait()

    def kill(self) -> None:
        """End it as a crash would (SIGKILL), and wait; its scratch stays."""
        if self.running():
            os.kill(self.pid, signal.SIGKILL)
            self._guard.wait()
        self.stop()

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def free_port() -> int:
    """A port for a server, ours as long as we live: no other process is told it before the server has it, or after.

    It stays bound, without listening, which on Linux hinders no server that sets SO_REUSEADDR, as they all do.
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
            _held.append(probe)
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
