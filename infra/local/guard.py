"""Runs a command and ends it when standard input closes. Run as a script, not imported.

The starter holds the other end of the pipe, so the command also ends if the starter is killed. The first argument is a
folder or file (may be empty) that is removed then. It is kept if the command ended by itself, as it may hold its log.
The first line on standard output is the command's process id. The command's output goes to standard error.
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
    input_closed = threading.Event()
    threading.Thread(target=end_with_input, args=(child, input_closed), daemon=True).start()
    child.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)  # processes that the child started and did not end
    if scratch and input_closed.is_set():
        remove(Path(scratch))


def end_with_input(child: subprocess.Popen[bytes], input_closed: threading.Event) -> None:
    while os.read(0, 1024):
        pass
    input_closed.set()
    child.terminate()
    try:
        child.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()


def remove(path: Path) -> None:
    """Removes a file or folder. Retries, because a process that is being killed may still write to it."""
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
