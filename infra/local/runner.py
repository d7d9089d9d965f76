"""Runs the service in one process: HTTP, queue consumers and schedules of a Chalice app, with any AWS endpoint.

    python -m infra.local.runner [--port 8000]

Reads the settings and the AWS configuration from the environment. SIGTERM and SIGINT finish the work in progress, then
end the process.
"""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Self

from chalice import Chalice
from chalice.app import ScheduledEventConfig, SQSEventConfig

from infra.local import calls
from infra.local.events import REGION, Consumer, Timer
from infra.local.gateway import Server

HOST = "127.0.0.1"


class Runner:
    """A running app. Use as a context manager, or call `start` and `stop`. `port` 0 chooses a free port."""

    def __init__(self, app: Chalice, port: int = 0) -> None:
        """Raises OSError if the port is in use."""
        self._stop = threading.Event()
        self.server = Server(app, HOST, port)
        self.port = int(self.server.server_address[1])
        self.url = f"http://{HOST}:{self.port}"
        self._sources = list(app.event_sources)
        self._app, self._threads = app, list[threading.Thread]()

    def start(self) -> Self:
        queues = [source for source in self._sources if isinstance(source, SQSEventConfig)]
        sqs = _sqs_client() if queues else None
        parts: list[Consumer | Timer] = [Consumer(self._app, source, sqs) for source in queues]
        parts += [Timer(self._app, source) for source in self._sources if isinstance(source, ScheduledEventConfig)]
        self._threads = [threading.Thread(target=part.run, args=(self._stop,)) for part in parts]
        self._threads.append(threading.Thread(target=self.server.serve_forever, args=(0.05,)))
        for thread in self._threads:
            thread.daemon = True  # a handler that hangs must not keep the process alive
            thread.start()
        return self

    def stop(self, seconds: float = 12) -> None:
        """Accepts no more work and waits for the work in progress, `seconds` at most for each thread."""
        self._stop.set()
        self.server.close(seconds)
        for thread in self._threads:
            thread.join(seconds)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _sqs_client() -> object:
    import boto3
    from botocore.config import Config

    return boto3.client("sqs", region_name=REGION, config=Config(max_pool_connections=50, read_timeout=30))


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m infra.local.runner", description="Run the service.")
    arguments.add_argument("--port", type=int, default=int(os.environ.get("PORT", "8000")))
    port = arguments.parse_args().port
    ended = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    from app import app  # after the signal handlers are set, because the import takes a second

    if folder := os.environ.get(calls.VARIABLE):
        calls.record_to(Path(folder))

    try:
        runner = Runner(app, port)
    except (OSError, OverflowError) as error:
        print(f"The service cannot listen on port {port}: {error}.", file=sys.stderr)
        return 2
    with runner:
        print(f"serving on {runner.url}\n", end="", flush=True)  # in one write, because other threads log
        ended.wait()
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # does not wait for handlers that hang
