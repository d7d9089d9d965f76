"""The service as one process on a real local cloud: attempts on time through SQS delays, JSON logs."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from chalicelib.platform.storage.store import Store
from infra import admin
from infra.local.cloud import Cloud
from infra.local.process import free_port
from tests.fakes.world import PREFIX, World
from tests.support.patience import patience

EXPECTED = (0, 1, 6, 21)
DELAYS = {1: 1, 2: 5, 3: 15}
"""Attempt -> the seconds that the queue is asked to hold it back; never fewer pass."""
DRIPPING = [f"/dripping/{number}" for number in range(6)]


class Receiver(ThreadingHTTPServer):
    """Answers 500 on /failing at once; on /dripping/... it sends byte after byte of a header, for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.attempts: list[tuple[str, float, str]] = []
        self.dripping, self.most_dripping = set[str](), 0
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"

    def of(self, path: str) -> list[tuple[float, str]]:
        return [(at, number) for seen, at, number in self.attempts if seen == path]


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        number = self.headers["x-service-retry-count"]
        self.server.attempts.append((self.path, time.monotonic(), number))
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/failing":
            self.send_error(500)
            return
        self.server.dripping.add(self.path)
        self.server.most_dripping = max(self.server.most_dripping, len(self.server.dripping))
        with suppress(OSError):
            for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 10_000:
                self.wfile.write(bytes([byte]))
                time.sleep(0.1)
        self.server.dripping.discard(self.path)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service") / "service.log"


@pytest.fixture(scope="module")
def service(cloud: Cloud, log: Path) -> Iterator[str]:
    """The base URL of the whole service, run as `python -m infra.local.runner`."""
    cloud.put_rpc_urls(PREFIX, {})
    port = free_port()
    settings = {"WEBHOOK_ALLOW_LOOPBACK": "true", "RATE_LIMIT_SCALE": "1000"}
    environment = {**os.environ, **cloud.environment(), **settings}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.local.runner", "--port", str(port)],
            env=environment,
            cwd=Path(__file__).parents[2],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for_health(url, process, log)
        yield url
    finally:
        process.terminate()
        assert process.wait(patience(3)) == 0, log.read_text()[-2000:]


def wait_for_health(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + patience(2)
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            if requests.get(f"{url}/v2/health", timeout=patience()).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])


def delayed(cloud: Cloud) -> set[tuple[int, int]]:
    """(attempt, seconds) of the messages that the queue was asked to hold back and nobody has received."""
    queued = requests.get(f"{cloud.url}/_ministack/sqs/messages", timeout=patience()).json()["messages"]
    queues = [queue for account in queued.values() for region in account.values() for queue in region.items()]
    waiting = [each for url, messages in queues if url.endswith("-webhook-retries") for each in messages]
    new = [(json.loads(each["Body"]), each) for each in waiting if each["ReceiveCount"] == 0]
    found = {(body["attempt"], each["VisibleAt"] - each["SentTimestamp"]) for body, each in new if "attempt" in body}
    return {(attempt, seconds) for attempt, seconds in found if seconds}


@pytest.fixture(scope="module")
def headers(cloud: Cloud) -> dict[str, str]:
    services = World(cloud.client("dynamodb"), seed=77).services
    assert isinstance(services.store, Store)
    account = admin.create_account(services, "real queue")
    return {"x-client-id": admin.create_client_id(services, account, "server", [])}


def test_attempts_come_at_0_1_6_and_21_seconds_and_dripping_receivers_hold_nobody_up(
    cloud: Cloud, service: str, headers: dict[str, str]
) -> None:
    """No sooner by the clock, and no later than the queue is asked for: what a busy machine adds is not the service's."""
    receiver, asked = Receiver(), set[tuple[int, int]]()
    for path in (*DRIPPING, "/failing"):
        answer = requests.post(f"{service}/v1/webhook", json={"url": receiver.url(path)}, headers=headers, timeout=patience())
        assert answer.status_code == 201, answer.text
    began = time.monotonic()
    answer = requests.post(
        f"{service}/v1/webhook/test", json={"eventType": "payment.confirmed"}, headers=headers, timeout=patience()
    )
    assert (answer.status_code, answer.json()["queued"]) == (201, len(DRIPPING) + 1)
    wanted = {"/failing": 4, **dict.fromkeys(DRIPPING, 2)}
    while any(len(receiver.of(path)) < count for path, count in wanted.items()):
        assert time.monotonic() < began + 300, receiver.attempts
        asked |= delayed(cloud)
        time.sleep(0.1)
    attempts = receiver.of("/failing")
    assert [number for _, number in attempts] == ["0", "1", "2", "3"]
    assert all(at - began >= expected for (at, _), expected in zip(attempts, EXPECTED, strict=True))
    assert (3, DELAYS[3]) in asked and asked <= set(DELAYS.items())
    assert receiver.most_dripping > len(DRIPPING) // 2, "they are waited for at the same time"
    assert all(receiver.of(path)[1][0] - began >= 5 + 1 for path in DRIPPING), "cut after five seconds, one more later"


def test_the_log_is_json_and_holds_no_credential(service: str, headers: dict[str, str], log: Path) -> None:
    requests.get(f"{service}/v2/secure-payments/unknown", headers=headers, timeout=patience())
    whole, _, _ = log.read_text().rpartition("\n")
    lines = [json.loads(line) for line in whole.splitlines() if not line.startswith("serving on ")]
    assert any(line.get("operation") == "read_secure_payment" and line["status"] == 404 for line in lines)
    assert headers["x-client-id"] not in log.read_text()
