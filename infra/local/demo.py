"""`make demo`: starts the local stack and runs the scenario of infra/local/outsiders: payments are made, webhooks sent.

KIND names what is paid (`single` by default; several separated by commas), one file `pay_<kind>.py` each. At the
end a link for a browser is printed (infra/local/outsiders/offer.py) and the stack runs until Ctrl-C. With ONCE=1 it
stops after the scenario, with status 0 only if every step succeeded. PORT and FRESH as in `make local`.
"""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from infra.local.__main__ import run
from infra.local.setup import find_browser
from infra.local.stack import DESCRIPTION, Stack

_OUTSIDERS = Path(__file__).with_name("outsiders")
_KINDS = sorted(file.stem.removeprefix("pay_").replace("_", "-") for file in _OUTSIDERS.glob("pay_*.py"))
_STARTING_SECONDS, _LONGEST_OF_A_KIND = 300, 120


def main() -> int:
    kinds = os.environ.get("KIND") or "single"
    unknown = [kind for kind in kinds.split(",") if kind not in _KINDS]
    if unknown:
        known = ", ".join(_KINDS)
        print(f"KIND must be one of {known}, or several with commas between, not {kinds!r}.", file=sys.stderr)
        return 2
    return run(partial(show, kinds))


def show(kinds: str, stack: Stack) -> int:
    """Runs the scenario, without ONCE=1 until interrupted; returns 0 if every step succeeded."""
    once = os.environ.get("ONCE") == "1"
    most = _STARTING_SECONDS + _LONGEST_OF_A_KIND * len(kinds.split(","))
    started = time.monotonic()
    command = [
        sys.executable,
        str(_OUTSIDERS / "scenario.py"),
        str(DESCRIPTION),
        "--kind",
        kinds,
        *([] if once else ["--stay"]),
    ]
    outsiders = subprocess.Popen(command, env=_environment(), start_new_session=True)
    try:
        while (status := outsiders.poll()) is None:
            stack.check()
            if once and time.monotonic() - started > most:
                print(f"FAILED: the scenario took longer than {most} s", flush=True)
                return 1
            time.sleep(0.1)
    finally:
        if outsiders.poll() is None:
            outsiders.send_signal(signal.SIGKILL)  # its browser ends with it, and nothing else is left
            outsiders.wait()
    return 0 if status == 0 else 1


def _environment() -> dict[str, str]:
    """Returns the environment for the scenario: without PYTHONPATH to the service's code and without AWS settings, and
    with the browser that is installed as CHROMIUM."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith("AWS_")}
    return {**kept, "CHROMIUM": find_browser() or ""}


if __name__ == "__main__":
    sys.exit(main())
