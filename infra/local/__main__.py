"""`make local`: the stack in the foreground until Ctrl-C or SIGTERM.

PORT chooses the port of the service (8000), FRESH=1 starts from an empty state. Exit status 2, with one sentence, when
something is in the way.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType

from infra.local.process import LOCAL, ROOT, StackProblem
from infra.local.stack import DESCRIPTION, MAIL, Stack, running_stack

_WATCH_SECONDS = 0.5


class _Ended(BaseException):
    """Someone asked us to end. Not an Exception, so that nothing on the way takes it for a failure."""


def end_on_signals() -> None:
    """Have the first SIGINT or SIGTERM raise _Ended; later ones do not disturb the ending."""

    def end(number: int, frame: FrameType | None) -> None:
        for every in (signal.SIGINT, signal.SIGTERM):
            signal.signal(every, lambda *_: None)  # under SIG_IGN Python complains of one that came already
        raise _Ended

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def run(then: Callable[[Stack], int]) -> int:
    """Start the stack, do `then` with it, end the stack; the exit status."""
    end_on_signals()
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"  # all we talk to is on this machine
    try:
        port = _port()
        with running_stack(port, os.environ.get("FRESH") == "1", _say) as stack:
            return then(stack)
    except StackProblem as problem:
        print(f"{_capitalise(str(problem))}.", file=sys.stderr)
        return 2
    except _Ended:
        _say("ended")
        return 0


def keep_running(stack: Stack) -> int:
    """Print where everything is, then wait."""
    _say(f"ready: {stack.description['base_url']}, described in {DESCRIPTION.relative_to(ROOT)}; Ctrl-C ends it")
    _say(f"e-mails at {stack.description['mail_url']}, and in {MAIL.relative_to(ROOT)}")
    while True:
        stack.check()
        time.sleep(_WATCH_SECONDS)


def _port() -> int:
    text = os.environ.get("PORT", "8000")
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise StackProblem(f"PORT must be a number from 1 to 65535, not {text!r}")
    return int(text)


def _say(text: str) -> None:
    print(f"local: {text}", flush=True)


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


if __name__ == "__main__":
    LOCAL.mkdir(exist_ok=True)
    sys.exit(run(keep_running))
