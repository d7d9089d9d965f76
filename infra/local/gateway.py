"""A local API Gateway: an HTTP server that calls the Chalice app with the events that Lambda would receive.

Like API Gateway it responds itself to unknown paths, bodies above 10 MB and malformed requests. Path parameters stay
percent-encoded, as with a REST API. Responses from COMPRESSED_FROM bytes on are compressed if the client accepts gzip.
"""

import contextlib
import gzip
import socket
import sys
import threading
import traceback
import uuid
from base64 import b64decode
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from chalice import Chalice
from chalice.local import CustomLocalChalice, LambdaContext, LocalChalice

from infra.gateway import RESPONSES
from infra.gateway import body as error_body

MAX_BODY = 10 * 1024 * 1024
COMPRESSED_FROM = 1024
"""Bytes: `minimum_compression_size` of .chalice/config.json."""
_MAX_HEADER_LINE = 64 * 1024
_LAMBDA_MILLISECONDS = 29_000
_IDLE_SECONDS = 75
_LINGER_SECONDS = 30
_DROPPED_HEADERS = {"content-length", "content-type", "connection"}


class Refused(Exception):
    """The gateway refuses the request itself, with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def make_thread_safe(app: Chalice) -> None:
    """Gives every thread its own `current_request`, as `chalice local` does. Lambda has only one thread."""
    if not isinstance(app, LocalChalice):
        CustomLocalChalice.__bases__ = (LocalChalice, app.__class__)
        app.__class__ = CustomLocalChalice


class Router:
    """Finds the route of the app for a path. Literal parts of a route take precedence over variables."""

    def __init__(self, routes: list[str]) -> None:
        split = [(route, route.strip("/").split("/")) for route in routes]
        self._routes = sorted(split, key=lambda entry: [part.startswith("{") for part in entry[1]])

    def match(self, path: str) -> tuple[str, dict[str, str]] | None:
        """(route, path parameters), or None. A trailing slash is ignored."""
        parts = path[1:].removesuffix("/").split("/")
        for route, wanted in self._routes:
            if len(wanted) == len(parts) and all(_same(want, part) for want, part in zip(wanted, parts, strict=True)):
                pairs = zip(wanted, parts, strict=True)
                return route, {want[1:-1]: part for want, part in pairs if want.startswith("{")}
        return None


def _same(wanted: str, part: str) -> bool:
    return part != "" if wanted.startswith("{") else wanted == part


class Server(ThreadingHTTPServer):
    """Serves the app on a port: run `serve_forever` in a thread, then `close`."""

    request_queue_size = 256
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, app: Chalice, host: str, port: int) -> None:
        make_thread_safe(app)
        self.app, self.router = app, Router(list(app.routes))
        self.is_closing = False
        self._in_flight, self._idle = 0, threading.Condition()
        super().__init__((host, port), Handler)

    def close(self, seconds: float = 30) -> None:
        """Closes the port and waits until the requests in progress are finished, at most `seconds`."""
        self.is_closing = True
        self.shutdown()
        self.server_close()
        with self._idle:
            self._idle.wait_for(lambda: self._in_flight == 0, seconds)

    @property
    def in_flight(self) -> int:
        """The number of requests in progress."""
        return self._in_flight

    @contextlib.contextmanager
    def count_in_flight(self) -> Any:
        with self._idle:
            self._in_flight += 1
        try:
            yield
        finally:
            with self._idle:
                self._in_flight -= 1
                self._idle.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):  # a closed connection is not worth a trace
            traceback.print_exc()


class Handler(BaseHTTPRequestHandler):
    """One connection: reads requests and sends the app's responses."""

    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise a body written after the headers waits 40 ms for an acknowledgement
    wbufsize = 1 << 16
    timeout = _IDLE_SECONDS
    _request_id = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # every HTTP method, also unknown ones, is passed to the app
            return self._serve
        raise AttributeError(name)

    def _serve(self) -> None:
        self._request_id = str(uuid.uuid4())
        with self.server.count_in_flight():
            try:
                response = self._response()
            except Refused as refusal:
                self._refuse(refusal.status, refusal.message)
                return
            self._send(response)

    def _response(self) -> Mapping[str, Any]:
        if self.request_version == "HTTP/0.9":  # a request line without a version
            self.request_version = "HTTP/1.1"
            raise Refused(400, "The request line is not valid")
        path, _, query = _path_of(self.path).partition("?")
        body = self._body()
        match = self.server.router.match(path)
        if match is None or self.command not in self.server.app.routes[match[0]]:
            status, _ = RESPONSES["MISSING_AUTHENTICATION_TOKEN"]
            return self._gateway_response(status, f"Cannot {self.command} {path}")
        event = self._event(path, query, match, body)
        context = LambdaContext(self.server.app.app_name, 1024, _LAMBDA_MILLISECONDS)
        try:
            response: Mapping[str, Any] = self.server.app(event, context)
        except Exception:  # noqa: BLE001 - the Lambda crashed: a status for the caller, a trace for the log
            traceback.print_exc()
            raise Refused(*RESPONSES["DEFAULT_5XX"]) from None
        return response

    def _event(self, path: str, query: str, match: tuple[str, dict[str, str]], body: bytes) -> dict[str, Any]:
        route, parameters = match
        all_values = parse_qs(query, keep_blank_values=True)
        headers: dict[str, str] = {}
        for name, value in self.headers.items():
            headers[name.lower()] = value  # the last one of repeated headers
        context = {
            "resourcePath": route,
            "httpMethod": self.command,
            "path": path,
            "requestId": self._request_id,
            "stage": "local",
            "domainName": headers.get("host", ""),
            "identity": {"sourceIp": self.client_address[0], "userAgent": headers.get("user-agent")},
        }
        return {
            "resource": route,
            "path": path,
            "httpMethod": self.command,
            "headers": headers,
            "multiValueHeaders": {name: self.headers.get_all(name, []) for name in headers},
            "queryStringParameters": {name: values[-1] for name, values in all_values.items()} or None,
            "multiValueQueryStringParameters": all_values or None,
            "pathParameters": parameters or None,
            "stageVariables": None,
            "requestContext": context,
            "body": _text_if_possible(body),
            "isBase64Encoded": False,
        }

    # --- reading ---

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "identity").lower() != "identity":
            return self._read_chunked_body()
        length = self._content_length()
        body = self.rfile.read(length)
        if len(body) < length:
            raise Refused(400, "The request body ended early")
        return body

    def _content_length(self) -> int:
        values = set(self.headers.get_all("content-length", ["0"]))
        value = values.pop().strip()
        if values or not (value.isascii() and value.isdigit()) or len(value) > 18:
            raise Refused(400, "The Content-Length header is not valid")
        if int(value) > MAX_BODY:
            raise Refused(*RESPONSES["REQUEST_TOO_LARGE"])
        return int(value)

    def _read_chunked_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked" or "content-length" in self.headers:
            raise Refused(400, "The Transfer-Encoding header is not valid")
        body = bytearray()
        while True:
            size = self.rfile.readline(256).split(b";")[0].strip()
            if not size or len(size) > 8 or size.strip(b"0123456789abcdefABCDEF"):
                raise Refused(400, "The request body is not valid")
            length = int(size, 16)
            if len(body) + length > MAX_BODY:
                raise Refused(*RESPONSES["REQUEST_TOO_LARGE"])
            chunk = self.rfile.read(length)
            if len(chunk) < length:
                raise Refused(400, "The request body ended early")
            body += chunk
            if length == 0:
                while self.rfile.readline(_MAX_HEADER_LINE).strip():  # trailers
                    pass
                return bytes(body)
            self.rfile.readline(8)

    def handle_expect_100(self) -> bool:
        """Refuses a body that is too large before the client sends it."""
        self._request_id = str(uuid.uuid4())
        try:
            if "content-length" in self.headers:
                self._content_length()
        except Refused as refusal:
            self._refuse(refusal.status, refusal.message)
            return False
        return super().handle_expect_100()

    # --- writing ---

    def _gateway_response(self, status: int, message: str) -> Mapping[str, Any]:
        """A response of the gateway itself, as infra/gateway.py configures it."""
        headers = {"x-request-id": self._request_id, "Access-Control-Allow-Origin": "*"}
        return {"statusCode": status, "headers": headers, "body": error_body(status, message)}

    def _refuse(self, status: int, message: str) -> None:
        """Responds and closes the connection, because the rest of the request is malformed or was not read."""
        self.close_connection = True
        self._send(self._gateway_response(status, message))
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_LINGER_SECONDS)
            while self.connection.recv(1 << 16):  # otherwise a TCP reset could discard the response
                pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Responds to what the base class refuses (malformed request lines and headers) like `_refuse`."""
        self.request_version = "HTTP/1.1"
        self.command = self.command or "GET"
        self._request_id = str(uuid.uuid4())
        self._refuse(int(code), message or HTTPStatus(code).description or HTTPStatus(code).phrase)

    def _send(self, response: Mapping[str, Any]) -> None:
        body = response.get("body") or b""
        if response.get("isBase64Encoded"):
            body = b64decode(body)
        elif isinstance(body, str):
            body = body.encode()
        headers: dict[str, Any] = {**response.get("headers", {}), **response.get("multiValueHeaders", {})}
        content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), None)
        self.send_response(response["statusCode"])
        if content_type or body:
            self.send_header("content-type", content_type or "application/json")
        if len(body) >= COMPRESSED_FROM and "gzip" in self.headers.get("accept-encoding", ""):
            body = gzip.compress(body, mtime=0)
            self.send_header("content-encoding", "gzip")
        for name, value in headers.items():
            if name.lower() not in _DROPPED_HEADERS:
                for one in value if isinstance(value, list) else [value]:
                    self.send_header(name, str(one))
        if response["statusCode"] not in (204, 304):
            self.send_header("content-length", str(len(body)))
        if self.server.is_closing:
            self.close_connection = True
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        return "payment-requests"

    def log_message(self, format: str, *args: Any) -> None:
        """The app logs its requests itself."""


def _path_of(target: str) -> str:
    """The path and query of a request target, which may be a whole URL (RFC 9112, 3.2.2)."""
    if not target.startswith("/") and "://" in target:
        return "/" + target.split("://", 1)[1].partition("/")[2]
    return target if target.startswith("/") else "/" + target


def _text_if_possible(body: bytes) -> str | bytes | None:
    """The body as text, as in Lambda events. A body that is not UTF-8 stays bytes, which the app refuses."""
    try:
        return body.decode() or None
    except UnicodeDecodeError:
        return body
