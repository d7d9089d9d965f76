"""Runs one command that must not outlive its starter: ends it when standard input closes. Run by path, not imported.

The starter holds the other end of the pipe, so that the command also ends when the starter is killed outright. The
folder or file named first (empty: none) is removed then; not when the command ended by itself: its log may be wanted.
The first line on standard output is the command's process id; whatever the command prints goes to standard error.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

GRACE_SECONDS = 15
_REMOVAL_ATTEMPTS = 50


def main() -> None:
    scratch, *command = sys.argv[1:]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), process_group=0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: child.terminate())
    print(child.pid, flush=True)
    asked = threading.Event()
    threading.Thread(target=end_with_input, args=(child, asked), daemon=True).start()
    child.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # what the child started and left behind
    if scratch and asked.is_set():
        remove(Path(scratch))


def end_with_input(child: subprocess.Popen[bytes], asked: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    asked.set()
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def remove(path: Path) -> None:
    """A process that is being killed may write once more: then again."""
    for _ in range(_REMOVAL_ATTEMPTS):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        if not path.exists():
            return
        time.sleep(0.02)


if __name__ == "__main__":
    main()
