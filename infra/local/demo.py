"""`make demo`: the local stack, and on it the scenario of infra/local/outsiders: links paid, the merchant told.

KIND says which links, one file `pay_<kind>.py` each, several with commas between (single). Ends with a link to be paid
in a browser (infra/local/outsiders/offer.py) and keeps running until Ctrl-C; ONCE=1 ends after the scenario, with
status 0 only if every step held. PORT and FRESH as in `make local`.
"""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from infra.local.__main__ import run
from infra.local.stack import DESCRIPTION, Stack

_OUTSIDERS = Path(__file__).with_name("outsiders")
_KINDS = sorted(file.stem.removeprefix("pay_") for file in _OUTSIDERS.glob("pay_*.py"))
_LONGEST_SECONDS = 300


def main() -> int:
    kinds = os.environ.get("KIND") or "single"
    unknown = [kind for kind in kinds.split(",") if kind not in _KINDS]
    if unknown:
        known = ", ".join(_KINDS)
        print(f"KIND must be one of {known}, or several with commas between, not {kinds!r}.", file=sys.stderr)
        return 2
    return run(partial(show, kinds))


def show(kinds: str, stack: Stack) -> int:
    """Run the scenario; 0 if it held. Without ONCE=1, stay until interrupted."""
    once = os.environ.get("ONCE") == "1"
    started = time.monotonic()
    command = [
        sys.executable,
        str(_OUTSIDERS / "scenario.py"),
        str(DESCRIPTION),
        "--kind",
        kinds,
        *([] if once else ["--stay"]),
    ]
    outsiders = subprocess.Popen(command, env=_without_aws(), start_new_session=True)
    try:
        while (status := outsiders.poll()) is None:
            stack.check()
            if once and time.monotonic() - started > _LONGEST_SECONDS:
                print(f"FAILED: the scenario took longer than {_LONGEST_SECONDS} s", flush=True)
                return 1
            time.sleep(0.1)
    finally:
        if outsiders.poll() is None:
            outsiders.send_signal(signal.SIGKILL)  # it holds nothing that needs an orderly end
            outsiders.wait()
    return 0 if status == 0 else 1


def _without_aws() -> dict[str, str]:
    """The environment of an outsider: no path to our code, no way to our cloud."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith("AWS_")}


if __name__ == "__main__":
    sys.exit(main())
