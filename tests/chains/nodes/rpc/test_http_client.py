"""The HTTP client against servers that are slow, endless, compressed, redirecting, broken or not who they say."""

import datetime
import gzip
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path

import certifi
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from chalicelib.chains.nodes.rpc import http_client
from chalicelib.chains.nodes.rpc.http_client import (
    HttpClient,
    HttpError,
    HttpResponse,
    ResponseTimeout,
    ResponseTooLarge,
)
from tests.support.patience import patience

LIMIT = 100_000

Respond = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Responds as the test says; `seen` keeps (method, path, headers, body), `connections` counts."""

    daemon_threads = False

    def __init__(self, respond: Respond) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.respond = respond
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections = 0
        self.scheme = "http"

    def get_request(self) -> tuple[socket.socket, object]:
        self.connections += 1
        return super().get_request()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_port}"

    @property
    def client(self) -> HttpClient:
        return HttpClient(self.url, LIMIT)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client closes the connection of a response that is too long
            super().handle()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, body))
        with suppress(OSError):  # the client may have left
            self.server.respond(self)

    do_POST = do_GET

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serving(respond: Respond, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(respond)
    if context is not None:
        server.socket, server.scheme = context.wrap_socket(server.socket, server_side=True), "https"
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # failed handshakes are expected
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.socket.close()


def test_json_is_posted_and_connections_are_reused() -> None:
    with serving(lambda handler: handler.send(b"[1]")) as server:
        client = server.client
        for _ in range(3):
            assert client.post_json("/rpc", {"a": 1}, LIMIT) == HttpResponse(200, b"[1]")
        assert client.get("/x?y=z").body == b"[1]"
        method, path, headers, body = server.seen[0]
        assert (method, path, body, headers["content-type"]) == ("POST", "/rpc", b'{"a":1}', "application/json")
        assert headers["user-agent"].startswith("payment-requests/")
        assert "authorization" not in headers
        assert server.seen[-1][:2] == ("GET", "/x?y=z")
        assert server.connections == 1


def test_credentials_in_the_url_and_given_headers_are_sent() -> None:
    with serving(lambda handler: handler.send(b"{}")) as server:
        url = server.url.replace("://", "://user:p%40ss@")
        HttpClient(url, LIMIT, {"X-Key": "secret"}).get("/")
        headers = server.seen[0][2]
        assert headers["authorization"] == "Basic dXNlcjpwQHNz"
        assert headers["x-key"] == "secret"
        assert headers["host"] == f"127.0.0.1:{server.server_port}"


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_compressed_response_is_read(encoding: str, pack: Callable[[bytes], bytes]) -> None:
    text = b"abc" * 10_000
    with serving(lambda handler: handler.send(pack(text), content_encoding=encoding)) as server:
        assert server.client.get("/").body == text
        assert encoding in server.seen[0][2]["accept-encoding"]


@pytest.mark.parametrize("statuses", [(103,), (100, 103), (102, 103, 103), (199,)])
def test_interim_responses_are_passed_over_and_the_connection_stays_in_use(statuses: tuple[int, ...]) -> None:
    def interim_first(handler: Handler) -> None:
        for status in statuses:
            handler.send_response(status)
            handler.send_header("link", "</style.css>; rel=preload")
            handler.end_headers()
        handler.send(b"[1]", x_last="yes")

    with serving(interim_first) as server:
        client = server.client
        for _ in range(3):
            response = client.post_json("/rpc", {"a": 1}, LIMIT)
            assert response == HttpResponse(200, b"[1]")
            assert response.headers["x-last"] == "yes" and "link" not in response.headers
        assert server.connections == 1


def test_interim_responses_are_passed_over_however_many_they_are() -> None:
    def many_first(handler: Handler) -> None:
        for _ in range(1000):
            handler.send_response(103)
            handler.end_headers()
        if handler.path == "/":
            handler.send(b"[1]")
        handler.close_connection = True

    with serving(many_first) as server:
        assert server.client.get("/") == HttpResponse(200, b"[1]")
        with pytest.raises(HttpError):
            server.client.get("/none")


def test_interim_responses_are_passed_over_under_tls_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interim_first(handler: Handler) -> None:
        handler.send_response(103)
        handler.end_headers()
        handler.send(b"over TLS")

    certificate, context = self_signed(tmp_path)
    monkeypatch.setattr(certifi, "where", lambda: str(certificate))
    with serving(interim_first, context) as server:
        assert server.client.get("/") == HttpResponse(200, b"over TLS")


def test_a_chunked_response_is_read() -> None:
    def chunked(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")

    with serving(chunked) as server:
        client = server.client
        assert client.get("/").body == client.get("/").body == b"abcde"
        assert server.connections == 1


def test_the_longest_response_is_the_limit() -> None:
    size = LIMIT
    with serving(lambda handler: handler.send(b"x" * size)) as server:
        assert len(server.client.get("/").body) == LIMIT
        size += 1
        with pytest.raises(ResponseTooLarge):
            server.client.get("/")


@pytest.mark.parametrize(("asked", "longest"), [(10, 10), (LIMIT + 1, LIMIT)])
def test_a_request_may_accept_less_than_its_client(asked: int, longest: int) -> None:
    size = longest
    with serving(lambda handler: handler.send(b"x" * size)) as server:
        assert len(server.client.post_json("/", [], asked).body) == longest
        size += 1
        with pytest.raises(ResponseTooLarge):
            server.client.post_json("/", [], asked)


def test_a_response_that_grows_when_decompressed_is_not_read_to_its_end() -> None:
    packed = gzip.compress(b"\0" * 50_000_000)
    respond = serving(lambda handler: handler.send(packed, content_encoding="gzip"))
    with respond as server, pytest.raises(ResponseTooLarge):
        server.client.get("/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed_and_given_without_a_body(status: int) -> None:
    with serving(lambda handler: handler.send(b"text", status, location="/elsewhere")) as server:
        assert server.client.post_json("/", [], LIMIT) == HttpResponse(status, b"")
        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [400, 404, 413, 429, 500, 503])
def test_the_body_of_an_error_is_read_and_cut_off_after_64_kilobytes(status: int) -> None:
    body = b"text"
    with serving(lambda handler: handler.send(body, status)) as server:
        client = server.client
        assert client.post_json("/", [], LIMIT) == HttpResponse(status, b"text")
        assert not client.post_json("/", [], LIMIT).is_success
        assert server.connections == 1
        body = b"x" * 1_000_000
        assert client.get("/") == HttpResponse(status, b"x" * 65_536)


def test_a_response_that_does_not_begin_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "READ_SECONDS", 0.2)
    given_up = threading.Event()

    def late(handler: Handler) -> None:
        given_up.wait(patience())
        handler.send(b"")

    with serving(late) as server:
        with pytest.raises(ResponseTimeout):
            server.client.get("/")
        given_up.set()


_OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("limit", "begin", "piece"),
    [
        ("READ_SECONDS", _OK + b"x-slow: ", b"a"),
        ("READ_SECONDS", _OK, b"x: y\r\n"),
        ("READ_SECONDS", b"HTTP/1.1 2", b"0"),
        ("READ_SECONDS", b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        ("TOTAL_SECONDS", _OK + b"content-length: 100000\r\n\r\n", b"x"),
        ("TOTAL_SECONDS", _OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        ("TOTAL_SECONDS", _OK + b"transfer-encoding: chunked\r\n\r\n1;", b"x"),
        ("TOTAL_SECONDS", _OK + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"x: y\r\n"),
    ],
    ids=["a header", "headers", "a status", "interim responses", "a body", "chunks", "an extension of a chunk", "trailers"],
)
def test_what_comes_piece_by_piece_ends_at_the_time_of_one_read_or_after_the_headers_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch, limit: str, begin: bytes, piece: bytes
) -> None:
    monkeypatch.setattr(http_client, limit, 0.3)
    given_up, sent = threading.Event(), list[bytes]()

    def drip(handler: Handler) -> None:
        handler.close_connection = True
        handler.wfile.write(begin)
        while len(sent) < 3_000 and not given_up.wait(0.02):
            sent.append(piece)
            handler.wfile.write(piece)

    with serving(drip) as server:
        with pytest.raises(ResponseTimeout):
            server.client.get("/")
        given_up.set()
        assert len(sent) < 3_000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 1_000 + b"\r\n",
    ],
)
def test_what_is_not_a_whole_http_response_is_an_error(raw: bytes) -> None:
    def respond(handler: Handler) -> None:
        handler.wfile.write(raw)
        handler.close_connection = True

    with serving(respond) as server, pytest.raises(HttpError) as raised:
        server.client.get("/")
    assert type(raised.value) is HttpError


def test_a_failed_response_does_not_spoil_the_next_one() -> None:
    raw = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort"

    def respond(handler: Handler) -> None:
        if len(handler.server.seen) == 1:
            handler.wfile.write(raw)
            handler.close_connection = True
        else:
            handler.send(b"whole")

    with serving(respond) as server:
        client = server.client
        with pytest.raises(HttpError):
            client.get("/")
        assert client.get("/").body == b"whole"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "ftp://127.0.0.1", "http://", "http://[::1", "http://a..b", "x://"]
)
def test_a_server_that_cannot_be_reached_is_an_error(url: str) -> None:
    with pytest.raises(HttpError) as raised:
        HttpClient(url, LIMIT).get("/")
    assert type(raised.value) is HttpError


def test_no_proxy_and_no_credentials_are_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login user password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(lambda handler: handler.send(b"direct")) as server:
        assert server.client.get("/").body == b"direct"
        assert "authorization" not in server.seen[0][2]


def test_a_certificate_is_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    certificate, context = self_signed(tmp_path)
    with serving(lambda handler: handler.send(b"over TLS"), context) as server:
        with pytest.raises(HttpError):
            server.client.get("/")
        assert not server.seen
        monkeypatch.setattr(certifi, "where", lambda: str(certificate))
        assert server.client.get("/").body == b"over TLS"
        by_name = HttpClient(server.url.replace("127.0.0.1", "localhost"), LIMIT)
        with pytest.raises(HttpError):  # the certificate is of another name
            by_name.get("/")


def self_signed(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """The certificate of 127.0.0.1 as a file, and a server's context with it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context
