"""The guarded webhook sender, against real sockets on loopback; only name resolution is played by the tests."""

import contextlib
import datetime
import http.client
import ipaddress
import socket
import ssl
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest
from chalicelib.platform.outbound.sender import PostResult, WebhookSender, _adapter_class, _Deadline, url_as_sent
from infra.local.process import free_port
from tests.support.patience import patience
from tests.support.redirecting import lead_to

SHORT = 0.3  # a deadline for receivers that never finish, so that the tests do not take five seconds each
LONG = 60  # one for all others: a machine that is busy is not a failed attempt
MORE_THAN_ENOUGH = 3000  # pieces that a dripping receiver would send, were it let

Script = Callable[[socket.socket], None]


class Receiver:
    """A webhook receiver on a free loopback port: it reads each request whole, then does what `script` says."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None, reads: bool = True) -> None:
        self.script, self.tls, self.reads = script, tls, reads
        self.requests: list[bytes] = []
        self.began = threading.Event()  # the script, so the sender came so far before its time was over
        self.cut = threading.Event()  # the sender closed while the script still had things to do
        self.finished = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept() on Linux
        self._listener.close()  # and on macOS
        self._thread.join(timeout=patience())

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:  # OSError: the sender refused our TLS
                self._answer(connection)

    def _answer(self, plain: socket.socket) -> None:
        connection = self.tls.wrap_socket(plain, server_side=True) if self.tls else plain
        with connection:
            if self.reads:
                self.requests.append(read_request(connection))
            self.began.set()
            try:
                self.script(connection)
            except OSError:
                self.cut.set()
            self.finished.set()


def read_request(connection: socket.socket) -> bytes:
    def more() -> bytes:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionResetError
        return piece

    received = b""
    while b"\r\n\r\n" not in received:
        received += more()
    head, _, body = received.partition(b"\r\n\r\n")
    length = sum(int(h[15:]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-length:"))
    while len(body) < length:
        body += more()
    return head + b"\r\n\r\n" + body


def cut_off(sender: WebhookSender, receiver: Receiver, url: str = "", body: bytes = b"{}") -> PostResult:
    """The answer to a post that the receiver took up; on a machine that is busy the time may be over before that."""
    for _ in range(20):
        answer = sender.post(url or receiver.url, {}, body)
        if receiver.began.wait(1):
            return answer
    raise AssertionError("no post came so far")


def no_thread_but(known: set[threading.Thread]) -> bool:
    """Whether nothing is left running but these. A lookup that has given its answer may still be about to end."""
    for each in set(threading.enumerate()) - known:
        if each.name == "webhook-lookup":
            each.join(patience())
    return set(threading.enumerate()) <= known


def says(answer: bytes) -> Script:
    return lambda connection: connection.sendall(answer)


def drips(start: bytes, piece: bytes) -> Script:
    def script(connection: socket.socket) -> None:
        connection.sendall(start)
        for _ in range(MORE_THAN_ENOUGH):
            connection.sendall(piece)
            time.sleep(0.01)

    return script


def stays_silent(connection: socket.socket) -> None:
    """Waits until the other side is gone, then reports it like a failed write."""
    while connection.recv(65536):
        pass
    raise ConnectionResetError


NO_CONTENT = says(b"HTTP/1.1 204 No Content\r\n\r\n")


@pytest.fixture
def sender() -> WebhookSender:
    return WebhookSender(allow_loopback=True, deadline_seconds=SHORT)


@pytest.fixture
def patient() -> WebhookSender:
    return WebhookSender(allow_loopback=True, deadline_seconds=LONG)


@pytest.fixture
def public() -> WebhookSender:
    return WebhookSender(allow_loopback=False, deadline_seconds=LONG)


class Resolver:
    """Plays DNS: answers `names` in turn (the last answer stays), numeric hosts by the real resolver."""

    def __init__(self, names: dict[str, list[list[str]]]) -> None:
        self.names = names
        self.asked: list[str] = []
        self.ports: list[int] = []
        self._real = socket.getaddrinfo

    def __call__(self, host: str, port: int, *args: object, **kwargs: object) -> list[object]:
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(host)
            return list(self._real(host, port, *args, **kwargs))  # type: ignore[arg-type]
        self.asked.append(host)
        self.ports.append(port)
        if host not in self.names:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        answers = self.names[host]
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [self._entry(address, port) for address in addresses]

    @staticmethod
    def _entry(address: str, port: int) -> tuple[object, ...]:
        if ":" in address:
            return (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (address, port, 0, 0))
        return (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Resolver]:
    def install(**names: list[list[str]]) -> Resolver:
        resolver = Resolver({name.replace("_", "."): answers for name, answers in names.items()})
        monkeypatch.setattr(socket, "getaddrinfo", resolver)
        return resolver

    return install


def refuse(self: socket.socket, address: object) -> None:
    raise ConnectionRefusedError


@pytest.fixture
def no_connections(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The addresses that anything tried to connect to; nothing gets out."""
    tried: list[object] = []

    def connect(self: socket.socket, address: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return tried


# --- what is sent ---------------------------------------------------------------------------------------------


def test_the_body_and_the_headers_arrive_as_given(patient: WebhookSender) -> None:
    body = '{"event":"payment.confirmed","note":"é / \\u2028"}'.encode() + b"\x00\xff"
    headers = {"content-type": "application/json", "x-service-signature": "ab" * 32, "x-service-retry-count": "0"}
    with Receiver(NO_CONTENT) as receiver:
        answer = patient.post(receiver.url + "?shop=1&x=%2F", headers, body)
    assert answer == PostResult(204, None)
    assert answer.delivered
    head, _, received = receiver.requests[0].partition(b"\r\n\r\n")
    line, *rest = head.decode().split("\r\n")
    assert line == "POST /hook?shop=1&x=%2F HTTP/1.1"
    assert received == body
    sent = {name.lower(): value for name, value in (header.split(": ", 1) for header in rest)}
    assert sent == {
        **headers,
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": "payment-requests-webhooks/1",
        "content-length": str(len(body)),
        "connection": "close",
        "accept-encoding": "identity",
    }


def test_an_empty_and_a_large_body_arrive_whole(patient: WebhookSender) -> None:
    large = bytes(range(256)) * 8192
    with Receiver(NO_CONTENT) as receiver:
        assert patient.post(receiver.url, {}, b"").delivered
        assert patient.post(receiver.url, {}, large).delivered
    assert [request.partition(b"\r\n\r\n")[2] for request in receiver.requests] == [b"", large]


def test_a_file_is_got_with_the_first_kilobyte_of_its_text(patient: WebhookSender) -> None:
    body = b"proof\r\n" + b"x" * 3000
    with Receiver(says(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)) as receiver:
        answer = patient.get(receiver.url)
    assert receiver.requests[0].startswith(b"GET /hook HTTP/1.1\r\n")
    assert b"content-length" not in receiver.requests[0].lower()
    assert (answer.status, answer.answer[:6], len(answer.answer)) == (200, "proof\n", 1024 - 1)


def test_a_file_is_got_from_no_private_address_and_by_no_redirect(patient: WebhookSender, public: WebhookSender) -> None:
    for url in ("https://127.0.0.1/x", "https://10.0.0.1/x", "https://169.254.169.254/x", "http://shop.example/x"):
        answer = public.get(url)
        assert answer.status is None and str(answer.error).startswith("address refused")
    with Receiver(NO_CONTENT) as target:
        redirect = b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % target.url.encode()
        with Receiver(says(redirect)) as receiver:
            assert patient.get(receiver.url).status == 302
    assert target.requests == []


@pytest.mark.parametrize(
    ("status", "delivered"),
    [(200, True), (201, True), (204, True), (299, True), (300, False), (304, False), (400, False), (404, False)]
    + [(410, False), (429, False), (500, False), (503, False), (999, False)],
)
def test_any_2xx_is_a_delivery_and_nothing_else_is(status: int, delivered: bool, patient: WebhookSender) -> None:
    with Receiver(says(b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n\r\nok" % status)) as receiver:
        answer = patient.post(receiver.url, {}, b"{}")
    assert (answer.status, answer.error, answer.delivered) == (status, None, delivered)


def test_a_status_below_200_is_no_delivery() -> None:
    assert [PostResult(status, None).delivered for status in (199, 200, 299, 300)] == [False, True, True, False]


def test_an_attempt_without_an_answer_is_no_delivery() -> None:
    assert not PostResult(None, "connection refused").delivered


@pytest.mark.parametrize(
    "interim",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 199 Later\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\n\r\n" * 30,
    ],
)
def test_an_interim_answer_is_not_the_answer(interim: bytes, patient: WebhookSender) -> None:
    with Receiver(says(interim + b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nkept")) as receiver:
        assert patient.post(receiver.url, {}, b"{}") == PostResult(201, None, "kept")
        assert len(receiver.requests) == 1


def test_an_answer_that_is_interim_alone_is_none(patient: WebhookSender) -> None:
    with Receiver(says(b"HTTP/1.1 103 Early Hints\r\n\r\n")) as receiver:
        assert patient.post(receiver.url, {}, b"{}") == PostResult(None, "connection closed before an answer")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, patient: WebhookSender) -> None:
    with Receiver(NO_CONTENT) as target:
        redirect = f"HTTP/1.1 {status} Moved\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n".encode()
        with Receiver(says(redirect)) as receiver:
            answer = patient.post(receiver.url, {}, b"{}")
    assert answer == PostResult(status, None)
    assert target.requests == []
    assert len(receiver.requests) == 1


def test_proxies_and_credentials_of_the_environment_are_ignored(
    patient: WebhookSender, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password something\n")
    netrc.chmod(0o600)
    with Receiver(NO_CONTENT) as proxy, Receiver(NO_CONTENT) as receiver:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NETRC", str(netrc))
        assert patient.post(receiver.url, {}, b"{}").delivered
    assert proxy.requests == []
    assert b"authorization" not in receiver.requests[0].lower()


def test_localhost_is_reached_on_whichever_loopback_address_it_listens(
    patient: WebhookSender, resolve: Callable[..., Resolver]
) -> None:
    with Receiver(NO_CONTENT) as receiver:
        resolve(localhost=[["::1", "127.0.0.1"]])
        patient.check(f"http://localhost:{receiver.port}/hook")
        assert patient.post(f"http://localhost:{receiver.port}/hook", {}, b"{}").delivered
    assert f"Host: localhost:{receiver.port}".encode() in receiver.requests[0]


# --- five seconds, and then it is over ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(drips(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"), id="one header byte by byte"),
        pytest.param(drips(b"HTTP/1.1 200 OK\r\n", b"X"), id="a header name byte by byte"),
        pytest.param(drips(b"", b"H"), id="a status line that never ends"),
        pytest.param(drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), id="interim answers without end"),
        pytest.param(drips(b"HTTP/1.1 100 Continue\r\n", b"X-Slow: a\r\n"), id="interim headers without end"),
        pytest.param(stays_silent, id="no answer at all"),
    ],
)
def test_a_receiver_without_an_answer_is_cut_off_at_the_deadline(script: Script, sender: WebhookSender) -> None:
    with Receiver(script) as receiver:
        threads = set(threading.enumerate())
        answer = cut_off(sender, receiver)
        assert no_thread_but(threads)
        assert receiver.finished.wait(patience())
    assert answer == PostResult(None, "no answer in time")
    assert receiver.cut.is_set()


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1000000\r\n\r\n",
    ],
)
def test_a_status_counts_though_the_body_never_ends(head: bytes, patient: WebhookSender) -> None:
    with Receiver(drips(head, b"a")) as receiver:
        threads = set(threading.enumerate())
        answer = patient.post(receiver.url, {}, b"{}")
        assert no_thread_but(threads)
        assert receiver.finished.wait(patience())
    assert (answer.status, answer.error) == (200, None)
    assert len(answer.answer) <= 1024
    assert receiver.cut.is_set()


def test_the_body_of_a_redirect_that_never_ends_is_cut_too(patient: WebhookSender) -> None:
    with Receiver(drips(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", b"a")) as receiver:
        assert patient.post(receiver.url, {}, b"{}").status == 302
        assert receiver.finished.wait(patience())
    assert receiver.cut.is_set()


def floods(head: bytes, piece: bytes) -> Script:
    """Sends pieces as fast as they are taken, a gigabyte at most, until none is taken for a second."""

    def script(connection: socket.socket) -> None:
        connection.settimeout(1)
        connection.sendall(head)
        together = piece * max(1, 2**16 // len(piece))
        for _ in range(2**30 // len(together)):
            connection.sendall(together)

    return script


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
_HINTS = b"HTTP/1.1 103 Early Hints\r\n" + (b"X-Long: " + b"a" * 65_000 + b"\r\n") * 90 + b"\r\n"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(floods(b"HTTP/1.1 200 OK\r\n\r\n", b"a"), id="a body"),
        pytest.param(floods(_CHUNKED + b"3fffffff\r\n", b"a"), id="a chunk"),
        pytest.param(floods(_CHUNKED, b"0"), id="the size of a chunk"),
        pytest.param(floods(_CHUNKED + b"1;", b"a"), id="an extension of a chunk"),
        pytest.param(floods(_CHUNKED + b"0\r\n", b"X-A: b\r\n"), id="trailers"),
        pytest.param(floods(b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), id="headers"),
        pytest.param(floods(b"HTTP/1.1 200 OK\r\n", b"X"), id="one header"),
        pytest.param(floods(b"", _HINTS), id="interim answers with six megabytes of headers"),
    ],
)
def test_what_a_receiver_sends_without_end_takes_little_memory(script: Script, sender: WebhookSender) -> None:
    _adapter_class()
    tracemalloc.start()
    try:
        with Receiver(script) as receiver:
            answer = sender.post(receiver.url, {}, b"{}")
            assert receiver.finished.wait(patience())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert receiver.cut.is_set() and len(answer.answer) <= 1024
    assert peak < 64 * 2**20, "a function that delivers has 512 MB"


def test_a_receiver_that_does_not_read_is_cut_off_at_the_deadline(sender: WebhookSender) -> None:
    released = threading.Event()

    def waits(connection: socket.socket) -> None:
        released.wait(patience())
        stays_silent(connection)

    with Receiver(waits, reads=False) as receiver:
        threads = set(threading.enumerate())
        answer = cut_off(sender, receiver, body=bytes(32 * 1024 * 1024))
        assert no_thread_but(threads)
        released.set()
        assert receiver.finished.wait(patience())
    assert answer == PostResult(None, "no answer in time")
    assert receiver.cut.is_set()


def test_a_tls_handshake_that_never_comes_is_cut_off_at_the_deadline(sender: WebhookSender) -> None:
    with Receiver(stays_silent, reads=False) as receiver:
        threads = set(threading.enumerate())
        answer = cut_off(sender, receiver, f"https://127.0.0.1:{receiver.port}/")
        assert no_thread_but(threads)
        assert receiver.finished.wait(patience())
    assert answer == PostResult(None, "no answer in time")
    assert receiver.cut.is_set()


def test_a_tls_handshake_that_drips_is_cut_off_at_the_deadline(sender: WebhookSender) -> None:
    # The head of a TLS record that promises 16 KB of handshake, which then comes byte by byte.
    with Receiver(drips(b"\x16\x03\x03\x40\x00", b"\x02"), reads=False) as receiver:
        answer = cut_off(sender, receiver, f"https://127.0.0.1:{receiver.port}/")
        assert receiver.finished.wait(patience())
    assert answer == PostResult(None, "no answer in time")
    assert receiver.cut.is_set()


def test_a_connection_that_is_never_accepted_ends_at_the_deadline(sender: WebhookSender) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]  # they fill the backlog
        try:
            for client in waiting:
                client.setblocking(False)
                client.connect_ex(full.getsockname())
            threads = set(threading.enumerate())
            answer = sender.post(f"http://127.0.0.1:{full.getsockname()[1]}/", {}, b"{}")
            assert no_thread_but(threads)
        finally:
            for client in waiting:
                client.close()
    assert answer == PostResult(None, "no answer in time")


def test_a_name_server_that_does_not_answer_ends_at_the_deadline(
    sender: WebhookSender, monkeypatch: pytest.MonkeyPatch, no_connections: list[object]
) -> None:
    released = threading.Event()

    def blocks(*_: object, **__: object) -> list[object]:
        released.wait(patience())
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 443))]

    monkeypatch.setattr(socket, "getaddrinfo", blocks)
    threads = set(threading.enumerate())
    answer = sender.post("https://slow.example/", {}, b"{}")
    sender.check("https://slow.example/")
    lookups = set(threading.enumerate()) - threads
    released.set()
    for lookup in lookups:
        lookup.join(patience())
    assert answer == PostResult(None, "no answer in time")
    assert lookups and all(lookup.daemon for lookup in lookups), "a late lookup must not keep the process running"
    assert no_thread_but(threads)
    assert no_connections == [], "a late lookup must not lead to a connection"


def test_a_connection_that_is_made_after_the_deadline_is_shut_down_at_once() -> None:
    near, far = socket.socketpair()
    with near, far, _Deadline(0.01) as deadline:
        until = time.monotonic() + patience()
        while not deadline.is_over and time.monotonic() < until:
            time.sleep(0.001)
        deadline.watch(near)
        far.settimeout(patience())
        assert far.recv(1) == b"", "the connection is shut down"
        with pytest.raises(TimeoutError):
            deadline.remaining()


def test_no_time_is_left_at_the_very_end_of_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 7.0)
    with pytest.raises(TimeoutError):
        _Deadline(0).remaining()
    assert _Deadline(0.25).remaining() == 0.25


def test_the_time_that_the_first_imports_take_is_not_the_receivers(
    sender: WebhookSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = "requests_hardened.ip_filter_adapter"

    class SlowImport:
        def find_spec(self, name: str, *_: object) -> None:
            if name == slow:
                time.sleep(2 * SHORT)

    monkeypatch.delitem(sys.modules, slow, raising=False)
    monkeypatch.setattr(sys, "meta_path", [SlowImport(), *sys.meta_path])
    with Receiver(NO_CONTENT) as receiver:
        for _ in range(20):
            _adapter_class.cache_clear()
            sys.modules.pop(slow, None)
            if sender.post(receiver.url, {}, b"{}").delivered:
                return
    raise AssertionError("the imports take the whole time")


def test_a_post_that_waits_does_not_keep_the_process_running(sender: WebhookSender) -> None:
    running: list[threading.Thread] = []

    def script(connection: socket.socket) -> None:
        running.extend(each for each in threading.enumerate() if isinstance(each, threading.Timer))
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with Receiver(script) as receiver:
        cut_off(sender, receiver)
    assert running and all(each.daemon for each in running)


def test_many_posts_leave_no_thread(patient: WebhookSender) -> None:
    with Receiver(NO_CONTENT) as receiver:
        threads = set(threading.enumerate())
        assert all(patient.post(receiver.url, {}, b"{}").delivered for _ in range(20))
        assert no_thread_but(threads)


# --- every failure is an answer -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", "connection closed before an answer"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "the answer is not valid HTTP"),
        (b"\x00\xff\xfe\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/1.1 20\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/2.0 200 OK\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/1.1 200 " + b"x" * 70000, "the answer is not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 70000 + b"\r\n\r\n", "the answer is not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Many: a\r\n" * 200 + b"\r\n", "the answer is not valid HTTP"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "the request or the answer is malformed",
        ),
    ],
)
def test_a_broken_answer_is_a_failed_attempt(answer: bytes, error: str, patient: WebhookSender) -> None:
    with Receiver(says(answer)) as receiver:
        assert patient.post(receiver.url, {}, b"{}") == PostResult(None, error)


@settings(max_examples=60, deadline=None)
@given(head=st.binary(max_size=300))
def test_no_answer_whatever_breaks_the_sender(head: bytes) -> None:
    sender = WebhookSender(allow_loopback=True)
    for answer in (head, b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n"):
        with Receiver(says(answer)) as receiver:
            result = sender.post(receiver.url, {}, b"{}")
        assert (result.status is None) != (result.error is None)


def test_an_error_that_nobody_foresaw_is_a_failed_attempt_with_its_kind(
    patient: WebhookSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: socket.socket, address: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(socket.socket, "connect", fail)
    answer = patient.post("http://127.0.0.1:8081/", {}, b"{}")
    assert answer == PostResult(None, "the request failed (RuntimeError)")


def test_what_the_receiver_sends_is_not_in_the_error(patient: WebhookSender) -> None:
    with Receiver(says(b"HTTP/1.1 hunter2\r\n\r\nhunter2")) as receiver:
        answer = patient.post(receiver.url + "?token=hunter2", {"x-service-signature": "hunter2"}, b"hunter2")
    assert answer.status is None
    assert "hunter2" not in str(answer.error)


def test_a_closed_port_is_a_failed_attempt(patient: WebhookSender) -> None:
    assert patient.post(f"http://127.0.0.1:{free_port()}/", {}, b"{}") == PostResult(None, "connection refused")


def test_a_reset_is_a_failed_attempt(patient: WebhookSender) -> None:
    def resets(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")

    with Receiver(resets) as receiver:
        assert patient.post(receiver.url, {}, b"{}") == PostResult(None, "connection closed before an answer")


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\nb", "\u20ac"])
def test_a_header_that_cannot_be_sent_is_a_failed_attempt(value: str, patient: WebhookSender) -> None:
    with Receiver(NO_CONTENT) as receiver:
        answer = patient.post(receiver.url, {"x-service-test": value}, b"{}")
    assert answer == PostResult(None, "the request or the answer is malformed")
    assert receiver.requests == []


def test_a_name_that_does_not_resolve_is_accepted_at_first_and_a_failed_attempt_later(
    public: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolve()
    public.check("https://not-yet.example/hook")
    assert public.post("https://not-yet.example/hook", {}, b"{}") == PostResult(None, "the host name does not resolve")
    assert no_connections == []


# --- TLS ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, ssl.SSLContext]]:
    """A self-signed certificate for receiver.example: its file, and a server's TLS context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver.example")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("receiver.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "receiver.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    yield path, context


@pytest.fixture
def trusted(certificate: tuple[Path, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The server's context, with its certificate in the place of the public certificate authorities."""
    monkeypatch.setattr("requests.adapters.DEFAULT_CA_BUNDLE_PATH", str(certificate[0]))
    return certificate[1]


UNTRUSTED = "no secure connection: the certificate or the TLS handshake was not accepted"


def test_a_trusted_receiver_is_reached_by_its_name_over_tls(
    patient: WebhookSender, trusted: ssl.SSLContext, resolve: Callable[..., Resolver]
) -> None:
    resolver = resolve(receiver_example=[["127.0.0.1"]])
    names: list[str | None] = []
    trusted.sni_callback = lambda _socket, name, _context: names.append(name)
    with Receiver(NO_CONTENT, tls=trusted) as receiver:
        answer = patient.post(f"https://receiver.example:{receiver.port}/hook", {"x-a": "b"}, b"{}")
    assert answer == PostResult(204, None)
    assert names == ["receiver.example"]
    assert f"Host: receiver.example:{receiver.port}".encode() in receiver.requests[0]
    assert receiver.requests[0].endswith(b"\r\n\r\n{}")
    assert resolver.asked == ["receiver.example"]


@pytest.mark.parametrize("port", ["", ":443", ":0443", ":00443"])
def test_the_default_port_is_named_neither_in_the_header_host_nor_in_the_url_that_is_sent(
    port: str,
    patient: WebhookSender,
    trusted: ssl.SSLContext,
    resolve: Callable[..., Resolver],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve(receiver_example=[["127.0.0.1"]])
    url = f"https://RECEIVER.example{port}/hook"
    with Receiver(NO_CONTENT, tls=trusted) as receiver:
        lead_to(monkeypatch, 443, receiver.port)
        assert patient.post(url, {}, b"{}") == PostResult(204, None)
    assert b"\r\nHost: receiver.example\r\n" in receiver.requests[0]
    assert url_as_sent(url) == "https://receiver.example/hook"


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://localhost:80", "http://localhost/"),
        ("http://localhost:443/a", "http://localhost:443/a"),
        ("https://hooks.example:80/a", "https://hooks.example:80/a"),
        ("https://hooks.example:08443/a?b=:443", "https://hooks.example:8443/a?b=:443"),
        ("https://hooks.example:443?b", "https://hooks.example/?b"),
        ("https://[2606:4700::1111]:443/a", "https://[2606:4700::1111]/a"),
        ("https://[2606:4700::443]/a", "https://[2606:4700::443]/a"),
    ],
)
def test_a_url_is_sent_in_its_normal_form(url: str, sent: str) -> None:
    assert url_as_sent(url) == sent


def test_an_untrusted_certificate_is_refused(
    patient: WebhookSender, certificate: tuple[Path, ssl.SSLContext], resolve: Callable[..., Resolver]
) -> None:
    resolve(receiver_example=[["127.0.0.1"]])
    with Receiver(NO_CONTENT, tls=certificate[1]) as receiver:
        answer = patient.post(f"https://receiver.example:{receiver.port}/hook", {}, b"{}")
    assert answer == PostResult(None, UNTRUSTED)
    assert receiver.requests == []


def test_an_untrusted_certificate_is_refused_though_the_environment_trusts_it(
    patient: WebhookSender,
    certificate: tuple[Path, ssl.SSLContext],
    resolve: Callable[..., Resolver],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve(receiver_example=[["127.0.0.1"]])
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.setenv(name, str(certificate[0]))
    with Receiver(NO_CONTENT, tls=certificate[1]) as receiver:
        answer = patient.post(f"https://receiver.example:{receiver.port}/hook", {}, b"{}")
    assert answer == PostResult(None, UNTRUSTED)


@pytest.mark.parametrize("host", ["other.example", "127.0.0.1"])
def test_a_certificate_of_another_name_is_refused(
    host: str, patient: WebhookSender, trusted: ssl.SSLContext, resolve: Callable[..., Resolver]
) -> None:
    resolve(other_example=[["127.0.0.1"]])
    with Receiver(NO_CONTENT, tls=trusted) as receiver:
        answer = patient.post(f"https://{host}:{receiver.port}/hook", {}, b"{}")
    assert answer == PostResult(None, UNTRUSTED)
    assert receiver.requests == []


def test_a_receiver_that_speaks_no_tls_is_a_failed_attempt(patient: WebhookSender) -> None:
    with Receiver(says(b"HTTP/1.1 200 OK\r\n\r\n"), reads=False) as receiver:
        assert patient.post(f"https://127.0.0.1:{receiver.port}/", {}, b"{}") == PostResult(None, UNTRUSTED)


def test_headers_that_drip_over_tls_are_cut_off_at_the_deadline(
    sender: WebhookSender, trusted: ssl.SSLContext, resolve: Callable[..., Resolver]
) -> None:
    resolve(receiver_example=[["127.0.0.1"]])
    with Receiver(drips(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a"), tls=trusted) as receiver:
        threads = set(threading.enumerate())
        answer = cut_off(sender, receiver, f"https://receiver.example:{receiver.port}/")
        assert no_thread_but(threads)
        assert receiver.finished.wait(patience())
    assert answer == PostResult(None, "no answer in time")
    assert receiver.cut.is_set()


def test_a_status_over_tls_counts_though_the_body_never_ends(
    patient: WebhookSender, trusted: ssl.SSLContext, resolve: Callable[..., Resolver]
) -> None:
    resolve(receiver_example=[["127.0.0.1"]])
    with Receiver(drips(b"HTTP/1.1 200 OK\r\n\r\n", b"a"), tls=trusted) as receiver:
        assert patient.post(f"https://receiver.example:{receiver.port}/", {}, b"{}").status == 200
        assert receiver.finished.wait(patience())
    assert receiver.cut.is_set()


# --- what is kept of an answer --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b"", ""),
        (b"no such order", "no such order"),
        (b"a" * 5000, "a" * 1024),
        ("é".encode() * 600, "é" * 512),
        (b"a" + "é".encode() * 600, "a" + "é" * 511 + "\ufffd"),
        (b"one\r\ntwo\tthree\x00\x1b[31m\x7f", "one\ntwo\tthree[31m"),
        (b"\xff\xfe<script>", "\ufffd\ufffd<script>"),
        ("left \u202eright\u2066 \u2713\ue000\ufeff".encode(), "left right \u2713"),
    ],
    ids=["none", "text", "long", "cut between characters", "cut in one", "controls", "no utf-8", "directions"],
)
def test_the_first_kilobyte_of_the_answer_is_kept_as_plain_text(body: bytes, kept: str, patient: WebhookSender) -> None:
    head = f"HTTP/1.1 500 Oops\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with Receiver(says(head + body)) as receiver:
        answer = patient.post(receiver.url, {}, b"{}")
    assert (answer.status, answer.error, answer.answer) == (500, None, kept)


@pytest.mark.parametrize(
    "rest",
    [b"Transfer-Encoding: chunked\r\n\r\nnot a length", b"Content-Length: 50\r\n\r\nshort", b"Content-Length: x\r\n\r\nbody"],
    ids=["chunks", "short", "length"],
)
def test_a_body_that_is_malformed_changes_no_status(rest: bytes, patient: WebhookSender) -> None:
    with Receiver(says(b"HTTP/1.1 200 OK\r\n" + rest)) as receiver:
        answer = patient.post(receiver.url, {}, b"{}")
    assert (answer.status, answer.error, answer.delivered) == (200, None, True)


def test_a_body_that_comes_in_pieces_is_put_together(patient: WebhookSender) -> None:
    def script(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"5\r\nhello\r\n", b"6\r\n there\r\n", b"0\r\n\r\n"):
            time.sleep(0.02)
            connection.sendall(piece)

    with Receiver(script) as receiver:
        assert patient.post(receiver.url, {}, b"{}").answer == "hello there"


def test_the_time_of_an_attempt_is_told(sender: WebhookSender) -> None:
    with Receiver(stays_silent) as receiver:
        answer = cut_off(sender, receiver)
    assert answer.error == "no answer in time"
    assert answer.duration_ms >= SHORT * 1000


# --- where nothing is sent ------------------------------------------------------------------------------------

LOOPBACK = [
    "https://localhost/",
    "https://LOCALHOST:8443/hook",
    "https://127.0.0.1/",
    "https://127.0.0.1:8443/",
    "https://127.255.255.254/",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]:8443/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
]
INTERNAL = [
    "https://0.0.0.0/",
    "https://0/",
    "https://0.1.2.3/",
    "https://[::]/",
    "https://10.0.0.1/",
    "https://10.255.255.255:8443/",
    "https://167772161/",
    "https://0x0a000001/",
    "https://10.1/",
    "https://172.16.0.1/",
    "https://172.31.255.255/",
    "https://192.168.0.1/",
    "https://192.168.1/",
    "https://0xc0a80001/",
    "https://169.254.169.254/latest/meta-data/",
    "https://2852039166/latest/meta-data/",
    "https://0xa9fea9fe/",
    "https://0251.0376.0251.0376/",
    "https://169.254.170.2/v2/credentials/",
    "https://[::ffff:169.254.169.254]/",
    "https://[::ffff:a9fe:a9fe]/",
    "https://[fd00:ec2::254]/latest/meta-data/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[fc00::1]/",
    "https://[fd12:3456:789a::1]:8443/",
    "https://100.64.0.1/",
    "https://100.127.255.254/",
    "https://192.0.0.1/",
    "https://192.0.2.1/",
    "https://192.88.99.1/",
    "https://198.18.0.1/",
    "https://198.51.100.1/",
    "https://203.0.113.1/",
    "https://224.0.0.1/",
    "https://239.255.255.250/",
    "https://240.0.0.1/",
    "https://255.255.255.255/",
    "https://[ff02::1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::169.254.169.254]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2002:a9fe:a9fe::1]/",
    "https://[2001:0:7f00:1::]/",
    "https://[2001:db8::1]/",
    "https://[::127.0.0.1]/",
    "https://[::a9fe:a9fe]/",
    "https://[::ffff:0:7f00:1]/",
    "https://[100::1]/",
]
MALFORMED = [
    "",
    " ",
    "https",
    "https:",
    "https://",
    "https:///hook",
    "https://?x",
    "https://:443/",
    "//hooks.example/",
    "/hook",
    "hooks.example/hook",
    "https:hooks.example",
    "https:/hooks.example",
    "ftp://hooks.example/",
    "file:///etc/passwd",
    "gopher://hooks.example:6379/_x",
    "javascript:alert(1)",
    "data:text/plain,x",
    "http://hooks.example/",
    "http://93.184.215.14/",
    "https://user@hooks.example/",
    "https://user:pass@hooks.example/",
    "https://@hooks.example/",
    "https://hooks.example@127.0.0.1/",
    "https://127.0.0.1:443@hooks.example/",
    "https://hooks.example#@127.0.0.1/",
    "https://hooks.example/#",
    "https://hooks.example/hook#part",
    "https://hooks.example\\@127.0.0.1/",
    "https://hooks.example\\.evil.example/",
    "https:\\\\hooks.example/",
    " https://hooks.example/",
    "https://hooks.example/ ",
    "https://hooks.example/a b",
    "https://hooks .example/",
    "https://hooks.example/\r\nX-Evil:1",
    "https://hooks\t.example/",
    "https://hooks.example/\x00",
    "https://hooks.example/\x7f",
    "ht\ntps://hooks.example/",
    "https://hööks.example/",
    "https://１２７.0.0.1/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://hooks.example/ü",
    "https://\udc80.example/",
    "https://%31%32%37.0.0.1/",
    "https://hooks%2eexample/",
    "https://hooks..example/",
    "https://.hooks.example/",
    "https://hooks.example./",
    "https://localhost./",
    "https://127.1./",
    "https://-hooks.example/",
    "https://hooks-.example/",
    "https://*.example/",
    "https://hooks,example/",
    "https://$(id).example/",
    "https://" + "a" * 64 + ".example/",
    "https://" + "a." * 127 + "example/",
    "https://[::1/",
    "https://::1/",
    "https://[hooks.example]/",
    "https://[127.0.0.1]/",
    "https://[93.184.215.14]/",
    "https://[1234]/",
    "https://[:::1]/",
    "https://[1:2:3:4:5:6:7:8:9]/",
    "https://[fe80::1%25eth0]/",
    "https://[fe80::1%eth0]/",
    "https://[::1]hooks.example/",
    "https://hooks.example[::1]/",
    "https://[]/",
    "https://hooks.example:0/",
    "https://hooks.example:00443x/",
    "https://hooks.example:-1/",
    "https://hooks.example:65536/",
    "https://hooks.example:99999999999999999999/",
    "https://hooks.example:443:443/",
    "https://hooks.example:/",
    "https://hooks.example:22/",
    "https://hooks.example:25/",
    "https://hooks.example:1023/",
    "https://hooks.example/" + "a" * (2049 - 22),
]
HOSTILE = [*LOOPBACK, *INTERNAL, *MALFORMED]


def refusal(sender: WebhookSender, url: str) -> str:
    """Why the address cannot be registered; empty where it can."""
    try:
        sender.check(url)
    except BadRequest as refused:
        return refused.message
    return ""


def test_a_hostile_address_is_refused_at_registration(public: WebhookSender, no_connections: list[object]) -> None:
    for url in HOSTILE:
        assert refusal(public, url).startswith("url must "), url
        assert no_connections == [], url


def test_a_hostile_address_is_refused_at_delivery(public: WebhookSender, no_connections: list[object]) -> None:
    for url in HOSTILE:
        answer = public.post(url, {}, b"{}")
        assert answer.status is None, url
        assert str(answer.error).startswith("address refused: "), url
        assert no_connections == [], url


def test_allowing_loopback_allows_nothing_else(patient: WebhookSender, no_connections: list[object]) -> None:
    for url in (*INTERNAL, *MALFORMED):
        for attempt in (url, url.replace("https://", "http://", 1)):
            assert refusal(patient, attempt), attempt
            assert str(patient.post(attempt, {}, b"{}").error).startswith("address refused: "), attempt
            assert no_connections == [], attempt


def test_loopback_is_accepted_where_settings_allow_it(patient: WebhookSender) -> None:
    assert {url: refusal(patient, url) for url in LOOPBACK} == dict.fromkeys(LOOPBACK, "")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "[::1]"])
def test_plain_http_is_for_allowed_loopback_alone(host: str, patient: WebhookSender, public: WebhookSender) -> None:
    patient.check(f"http://{host}:8081/hook")
    with pytest.raises(BadRequest, match="https"):
        public.check(f"http://{host}:8081/hook")


def test_plain_http_to_a_name_is_refused_even_when_it_means_loopback(
    patient: WebhookSender, resolve: Callable[..., Resolver]
) -> None:
    resolve(local_example=[["127.0.0.1"]])
    with pytest.raises(BadRequest, match="https"):
        patient.check("http://local.example:8081/hook")
    patient.check("https://local.example:8443/hook")


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example",
        "https://hooks.example/",
        "HTTPS://Hooks.Example/Path?query=1&x=%20/@:",
        "https://hooks.example:443/",
        "https://hooks.example:80/",
        "https://hooks.example:1024/",
        "https://hooks.example:65535/?a=b",
        "https://xn--hks-rna.example/",
        "https://a_b.hooks-1.example/",
        "https://93.184.215.14/hook",
        "https://[2606:4700::1111]/hook",
        "https://hooks.example/" + "a" * (2048 - 22),
    ],
)
def test_a_public_address_is_accepted(
    url: str, public: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolver = resolve()
    answers = ["hooks.example", "xn--hks-rna.example", "a_b.hooks-1.example"]
    resolver.names = {name: [["93.184.215.14"]] for name in answers}
    public.check(url)
    assert no_connections == [], "the check looks the name up and connects to nothing"


def test_a_host_name_may_have_253_characters(public: WebhookSender, resolve: Callable[..., Resolver]) -> None:
    resolve()
    name = ".".join(["a" * 61] * 4) + ".ab.cd"
    assert len(name) == 253
    assert refusal(public, f"https://{name}/") == ""
    assert "valid host name" in refusal(public, f"https://{name}e/")


def test_each_refusal_says_what_to_change(patient: WebhookSender) -> None:
    for url, said in {
        "https://hooks.example/" + "a" * 2048: "at most 2048 characters",
        "https://hooks.example/ü": "plain ASCII",
        "https://hooks.example\\": "without spaces and backslashes",
        "ftp://hooks.example/": "complete address that begins with https://",
        "https:hooks.example": "complete address",
        "not a url": "complete address that begins with https://, such as https://",
        "höoks.example": "complete address",
        "https://hooks.example/#part": "must not have a fragment",
        "https://user@hooks.example/": "user name or password",
        "https://hooks_.example../": "valid host name",
        "https://[1234]/": "valid host name",
        "https://hooks.example:22/": "port 443, port 80, or a port from 1024",
        "http://hooks.example/": "must begin with https://",
    }.items():
        assert said in refusal(patient, url), url


def test_the_port_of_a_url_without_one_is_that_of_its_scheme(
    patient: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolver = resolve(hooks_example=[["93.184.215.14"]], localhost=[["127.0.0.1"]])
    for url in ("https://hooks.example/", "https://hooks.example:80/", "http://localhost/", "http://localhost:8081/"):
        patient.check(url)
    assert resolver.ports == [443, 80, 80, 8081]


URLS = st.builds(
    lambda start, rest: start + rest,
    st.sampled_from(["", "http://", "https://", "https://[", "https://a.example:", "https://a.example/"]),
    st.text(max_size=60) | st.text("0123456789.:[]xabcf%@#/\\?-_", max_size=40),
)


@settings(max_examples=400, deadline=None)
@given(url=URLS)
def test_any_text_is_refused_or_read_the_same_way_by_the_check_and_the_connection(url: str) -> None:
    sender = WebhookSender(allow_loopback=False, deadline_seconds=LONG)
    resolver = Resolver({})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolver)
        patch.setattr(socket.socket, "connect", refuse)
        try:
            sender.check(url)
        except BadRequest:
            assert str(sender.post(url, {}, b"{}").error).startswith("address refused: ")
            return
        checked, resolver.asked = resolver.asked, []
        assert sender.post(url, {}, b"{}").error in ("the host name does not resolve", "connection refused")
        assert resolver.asked == checked


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.7", "169.254.169.254", "0.0.0.0", "100.64.1.1", "::1", "fd00::1", "::ffff:10.0.0.1"]
    + ["64:ff9b::a9fe:a9fe", "::a9fe:a9fe", "fec0::1", "224.0.0.1"],
)
def test_a_name_that_leads_to_an_address_that_is_not_public_is_refused(
    address: str, public: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolve(inside_example=[[address]])
    with pytest.raises(BadRequest, match="public address"):
        public.check("https://inside.example/")
    assert public.post("https://inside.example/", {}, b"{}") == PostResult(None, "address refused: it is not public")
    assert no_connections == []


def test_a_name_that_changes_to_a_private_address_after_registration_is_refused_at_delivery(
    public: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolve(rebinding_example=[["93.184.215.14"], ["169.254.169.254"]])
    public.check("https://rebinding.example/")
    assert public.post("https://rebinding.example/", {}, b"{}").error == "address refused: it is not public"
    assert no_connections == []


def test_the_address_that_was_checked_is_the_one_connected_to(
    public: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolver = resolve(rebinding_example=[["93.184.215.14"], ["127.0.0.1"]])
    answer = public.post("https://rebinding.example:8443/", {}, b"{}")
    assert answer == PostResult(None, "connection refused")
    assert no_connections == [("93.184.215.14", 8443)]
    assert resolver.asked == ["rebinding.example"]


def test_of_several_addresses_only_the_checked_one_is_tried(
    public: WebhookSender, resolve: Callable[..., Resolver], no_connections: list[object]
) -> None:
    resolve(several_example=[["93.184.215.14", "127.0.0.1", "10.0.0.1"]])
    public.post("https://several.example/", {}, b"{}")
    assert no_connections == [("93.184.215.14", 443)]


# --- cost -----------------------------------------------------------------------------------------------------


def test_importing_the_sender_imports_no_http_client() -> None:
    code = "import sys, chalicelib.platform.outbound.sender; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"requests", "requests_hardened", "urllib3", "ssl", http.client.__name__} & set(loaded)
