"""The service as one process on a real local cloud: attempts on time through SQS delays, JSON logs."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from chalicelib.aws.store import Store
from infra import admin
from infra.local.cloud import Cloud
from infra.local.process import free_port
from tests.fakes.world import PREFIX, World

EXPECTED = (0, 1, 6, 21)
TOLERANCE = 1.0


class Receiver(ThreadingHTTPServer):
    """Answers 500 on /failing at once; on /dripping it sends a header byte a second, for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.attempts: list[tuple[str, float, str]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

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
        try:
            for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 100:
                self.wfile.write(bytes([byte]))
                time.sleep(1)
        except OSError:
            return

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
    environment = {**os.environ, **cloud.environment(), "WEBHOOK_ALLOW_LOOPBACK": "true"}
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
        assert process.wait(20) == 0, log.read_text()[-2000:]


def wait_for_health(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, log.read_text()[-2000:]
        try:
            if requests.get(f"{url}/v2/health", timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(0.1)
    raise AssertionError(log.read_text()[-2000:])


@pytest.fixture(scope="module")
def headers(cloud: Cloud) -> dict[str, str]:
    services = World(cloud.client("dynamodb"), seed=77).services
    assert isinstance(services.store, Store)
    account = admin.create_account(services, "real queue")
    return {"x-client-id": admin.create_client_id(services, account, "server", [])}


def test_attempts_come_at_0_1_6_and_21_seconds_and_a_dripping_receiver_holds_nobody_up(
    service: str, headers: dict[str, str]
) -> None:
    receiver = Receiver()
    for path in ("/dripping", "/failing"):
        answer = requests.post(f"{service}/v1/webhook", json={"url": receiver.url(path)}, headers=headers, timeout=10)
        assert answer.status_code == 201, answer.text
    answer = requests.post(
        f"{service}/v1/webhook/test", json={"eventType": "payment.confirmed"}, headers=headers, timeout=10
    )
    assert (answer.status_code, answer.json()) == (201, {"sent": 2, "failed": 0})
    deadline = time.monotonic() + 40
    while len(receiver.of("/failing")) < 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    attempts = receiver.of("/failing")
    assert [number for _, number in attempts] == ["0", "1", "2", "3"]
    for (at, _), expected in zip(attempts, EXPECTED, strict=True):
        assert abs(at - attempts[0][0] - expected) < TOLERANCE
    first, second = receiver.of("/dripping")[:2]
    assert 5 <= second[0] - first[0] < 5 + 1 + 2 * TOLERANCE, "cut at five seconds, tried again one second later"


def test_the_log_is_json_and_holds_no_credential(service: str, headers: dict[str, str], log: Path) -> None:
    requests.get(f"{service}/v2/secure-payments/unknown", headers=headers, timeout=10)
    whole, _, _ = log.read_text().rpartition("\n")
    lines = [json.loads(line) for line in whole.splitlines() if not line.startswith("serving on ")]
    assert any(line.get("operation") == "read_secure_payment" and line["status"] == 404 for line in lines)
    assert headers["x-client-id"] not in log.read_text()
