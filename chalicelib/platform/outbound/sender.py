"""The only sender of requests to URLs that merchants enter, or contracts of strangers name.

It protects against SSRF, and ends after five seconds: it connects to public addresses only, and to the same address
that it checked (no second DNS lookup). It follows no redirects, uses no proxy or credentials of the environment,
verifies certificates, reads no more of a response's body than the first kilobyte, or what the caller asks for, and
closes the connection at the deadline.

`requests` and `requests_hardened` are imported inside functions, so that code which sends nothing does not load them.
"""

import ipaddress
import re
import socket
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import field, replace
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.chains.nodes.rpc.http_client import past_interim

DEADLINE_SECONDS = 5.0  # specification, Delivery and retry: DNS, connect, TLS, request and response headers together
ANSWER_BYTES = 1024
"""How much of a response's body is read."""
ANSWER_SECONDS = 1.0
"""How long its body is read after the headers, within the deadline: an attempt that has its status ends soon."""
MAX_URL_LENGTH = 2048
USER_AGENT = "payment-requests-webhooks/1"

_TIMED_OUT = "no answer in time"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_AUTHORITY = re.compile(rf"(?P<host>\[[0-9a-f]*:[0-9a-f:.]+\]|{_LABEL}(?:\.{_LABEL})*)(?::(?P<port>[0-9]{{1,5}}))?")
_DEFAULT_PORT = re.compile(r"^(https://[^/]*):443/|^(http://[^/]*):80/")

T = TypeVar("T")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@frozen
class PostResult:
    """The result of one attempt: either the HTTP status, or a short reason why there is none.

    `answer` is the beginning of the response's body as text without control characters.
    """

    status: int | None
    error: str | None
    answer: str = ""
    duration_ms: int = field(default=0, compare=False)

    @property
    def delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class WebhookSender:
    """Checks the URLs of webhooks and posts to them, and gets files of domains. Keeps no connections between calls; may
    be shared by threads."""

    def __init__(self, allow_loopback: bool, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._allow_loopback = allow_loopback
        self._seconds = deadline_seconds

    def check(self, url: str) -> None:
        """Raises BadRequest, with what to change, unless webhooks may be sent to `url`.

        A host name that does not resolve yet is accepted, because `post` resolves and checks it again.
        """
        host, port = _host_and_port(url, self._allow_loopback)
        from requests import RequestException
        from requests_hardened.ip_filter import InvalidIPAddress, filter_host

        def look_up() -> None:
            _parse_address(filter_host(host, port, allow_loopback=self._allow_loopback))

        try:
            _run_with_timeout(self._seconds, look_up)
        except InvalidIPAddress as refusal:
            message = "url must lead to a public address; private, local and reserved ones are not accepted"
            raise BadRequest(message) from refusal
        except (RequestException, TimeoutError):
            return

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostResult:
        """Posts `body` unchanged, once. Never raises; the error text has no secrets and no data of the receiver.

        The status counts if the response headers were complete before the deadline, whatever happens to the body.
        """
        began = time.monotonic()
        result = self._send("POST", url, headers, body)
        return replace(result, duration_ms=int((time.monotonic() - began) * 1000))

    def get(self, url: str) -> PostResult:
        """Gets `url`, once, and the first ANSWER_BYTES of what is there. Never raises, as `post`."""
        return self._send("GET", url, {}, b"")

    def ask(self, url: str, body: bytes | None, most_bytes: int) -> PostResult:
        """Gets `url`, or posts a body of JSON, once; of the answer so many bytes, until the deadline. Never raises."""
        reading = _Reading(most_bytes, self._seconds)
        if body is None:
            return self._send("GET", url, {}, b"", reading)
        return self._send("POST", url, {"Content-Type": "application/json"}, body, reading)

    def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, reading: "_Reading | None" = None
    ) -> PostResult:
        try:
            _host_and_port(url, self._allow_loopback)
        except BadRequest as refusal:
            return PostResult(None, f"address refused: {refusal.message}")
        _adapter_class()  # its imports take long the first time, and must not count towards the deadline
        with _Deadline(self._seconds) as deadline:
            try:
                return self._response(method, url, headers, body, deadline, reading or _BEGINNING)
            # A response passes through the parsers of four libraries. Any exception there is a failed attempt; if it
            # were raised, SQS would deliver the message again and the POST would be repeated before its time.
            except Exception as error:  # noqa: BLE001
                return PostResult(None, _TIMED_OUT if deadline.is_over else _reason(error))

    def _response(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        deadline: "_Deadline",
        reading: "_Reading",
    ) -> PostResult:
        import requests

        # An adapter, not a session: a session would use the environment and read the body of a redirect.
        all_headers = {"User-Agent": USER_AGENT, "Connection": "close", **headers}
        request = requests.Request(method, url_as_sent(url), headers=all_headers, data=body).prepare()
        is_https = (request.url or "").startswith("https:")
        with (
            closing(_adapter_class()(is_https, self._allow_loopback, deadline)) as adapter,
            closing(adapter.send(request, stream=True, timeout=self._seconds)) as response,
        ):
            if deadline.is_over:  # the parser may have taken the shutdown for the end of the headers
                return PostResult(None, _TIMED_OUT)
            return PostResult(int(response.status_code), None, _beginning(response.raw, deadline, reading))


def url_as_sent(url: str) -> str:
    """What `post` requests when it is given this URL, as its receiver puts it together from host, path and query.

    The default port is left out (RFC 9110, 4.2.3, and 9421, 2.2.3): servers and libraries leave it out as well.
    """
    import requests

    return _DEFAULT_PORT.sub(r"\1\2/", requests.Request("POST", url).prepare().url or url)


@frozen
class _Reading:
    """How much of a response's body is read, and how long."""

    most_bytes: int
    seconds: float


_BEGINNING = _Reading(ANSWER_BYTES, ANSWER_SECONDS)


def _beginning(body: Any, deadline: "_Deadline", reading: _Reading) -> str:
    """The first bytes of a response's body as text. What goes wrong while they are read only makes it shorter."""
    deadline.shorten(reading.seconds)
    received, left = bytearray(), reading.most_bytes
    with suppress(Exception):  # the status counts already
        while left > 0 and (piece := body.read1(left, decode_content=False)):
            received += piece
            left -= len(piece)
    return _plain_text(bytes(received[: reading.most_bytes]))


def _plain_text(received: bytes) -> str:
    """Bytes as UTF-8 text, others are replaced, without control and format characters but for new lines and tabs."""
    text = received.decode("utf-8", "replace")
    return "".join(each for each in text if each in "\n\t" or not unicodedata.category(each).startswith("C"))


class _Deadline:
    """Shuts down the watched connections after a number of seconds, even during a read or write.

    A socket timeout limits each read, not their sum, so a receiver that sends one byte a second would block the worker
    without end. Leaving the `with` block waits for the timer's thread, so none remains in a warm container.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._timers = [_timer(seconds, self._expire)]
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self.is_over = False

    def __enter__(self) -> Self:
        self._timers[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()
            timer.join()
        for watched in self._watched:
            watched.close()

    def remaining(self) -> float:
        """The seconds that are left, more than zero. Raises TimeoutError if none are."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def watch(self, connected: socket.socket) -> None:
        """Shuts a connection down at the deadline. Keeps a duplicate, as TLS takes over the socket's descriptor."""
        with self._lock:
            self._watched.append(connected.dup())
            if self.is_over:
                self._shut_down()

    def shorten(self, seconds: float) -> None:
        """Ends after this many seconds from now, if that is sooner."""
        self._timers.append(_timer(seconds, self._expire))
        self._timers[-1].start()

    def _expire(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut_down()

    def _shut_down(self) -> None:
        for watched in self._watched:
            with suppress(OSError):  # the receiver may have closed the connection
                watched.shutdown(socket.SHUT_RDWR)


def _timer(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    return timer


@cache
def _adapter_class() -> type:
    """The adapter of requests-hardened, which resolves a host once, checks and pins its address, with a deadline."""
    from requests_hardened.ip_filter_adapter import IPFilterAdapter

    class DeadlineAdapter(IPFilterAdapter):
        def __init__(self, is_https: bool, allow_loopback: bool, deadline: _Deadline) -> None:
            super().__init__(is_https_proto=is_https, allow_loopback=allow_loopback)
            self._deadline = deadline

        def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
            resolve = super().build_connection_pool_key_attributes
            host, pool = _run_with_timeout(self._deadline.remaining(), lambda: resolve(request, verify, cert))
            pinned = _parse_address(host["host"])
            # The pinned address is either ::1 or 127.0.0.1, and a local receiver may listen on the other one: try both.
            if pinned.is_loopback and urlsplit(request.url).hostname == "localhost":
                host["host"] = "localhost"
            return host, pool

        def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
            pool = super().get_connection_with_tls_context(*args, **kwargs)
            pool.ConnectionCls = _watch_connections(pool.ConnectionCls, self._deadline)
            return pool

    return DeadlineAdapter


def _watch_connections(connection_class: Any, deadline: _Deadline) -> Any:
    """A subclass of urllib3's http or https connection whose socket the deadline watches, from before TLS begins."""

    class WatchedConnection(past_interim(connection_class)):  # type: ignore[misc]
        def _new_conn(self) -> socket.socket:
            self.timeout = deadline.remaining()  # for connecting, when there is no socket to watch yet
            connected: socket.socket = super()._new_conn()
            deadline.watch(connected)
            return connected

    return WatchedConnection


def _run_with_timeout(seconds: float, work: Callable[[], T]) -> T:
    """Returns or raises the outcome of `work`. Raises TimeoutError after `seconds`.

    For name lookups only: getaddrinfo cannot be interrupted, so a late lookup keeps its thread until the system's
    resolver ends it. Its result is ignored.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001  (raised to the caller)
            result.set_exception(error)

    threading.Thread(target=run, name="webhook-lookup", daemon=True).start()
    return result.result(timeout=seconds)


def _host_and_port(url: str, allow_loopback: bool) -> tuple[str, int]:
    """The host, without brackets, and the port of a webhook URL. Raises BadRequest.

    Stricter than URL parsers, so that all libraries used here parse an accepted URL in the same way.
    """
    if len(url) > MAX_URL_LENGTH:
        raise BadRequest(f"url must have at most {MAX_URL_LENGTH} characters")
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in ("http", "https"):
        raise BadRequest("url must be a complete address that begins with https://, such as https://shop.example/hook")
    if not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        raise BadRequest(
            "url must be plain ASCII without spaces and backslashes; write international names in their xn-- form"
        )
    if "#" in rest:
        raise BadRequest("url must not have a fragment; leave out the # and what follows")
    authority = re.split(r"[/?]", rest, maxsplit=1)[0].lower()
    if "@" in authority:
        raise BadRequest("url must not have a user name or password; leave out what stands before the @")
    match = _AUTHORITY.fullmatch(authority)
    host = match["host"].strip("[]") if match else ""
    if not match or len(host) > 253 or (":" in host and _address(host) is None):
        raise BadRequest("url must have a valid host name or IP address, and a port only as a number")
    port = int(match["port"] or (443 if scheme == "https" else 80))
    if port not in (80, 443) and not 1024 <= port <= 65535:
        raise BadRequest("url must use port 443, port 80, or a port from 1024 to 65535")
    if scheme == "http" and not (allow_loopback and _is_loopback(host)):
        raise BadRequest("url must begin with https://")
    return host, port


def _address(host: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _parse_address(text: str) -> IPAddress:
    """The IP address. Raises InvalidIPAddress for reserved and site-local ones (::/8, fec0::/10, ...).

    requests-hardened accepts those; addresses of ::/8 may embed a private IPv4 address.
    """
    address = ipaddress.ip_address(text.strip("[]"))
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    if site_local or (address.is_reserved and not address.is_loopback):
        from requests_hardened.ip_filter import InvalidIPAddress

        raise InvalidIPAddress(address)
    return address


def _reason(error: BaseException) -> str:
    """One short sentence on why an attempt failed, from the error and the chain of its causes."""
    import http.client

    from requests.exceptions import SSLError
    from requests_hardened.ip_filter import InvalidIPAddress

    reasons: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
        ((InvalidIPAddress,), "address refused: it is not public"),
        ((socket.gaierror,), "the host name does not resolve"),
        ((TimeoutError,), _TIMED_OUT),
        ((SSLError,), "no secure connection: the certificate or the TLS handshake was not accepted"),
        ((ConnectionRefusedError,), "connection refused"),
        ((http.client.RemoteDisconnected, ConnectionError), "connection closed before an answer"),
        ((http.client.HTTPException,), "the answer is not valid HTTP"),
        ((ValueError,), "the request or the answer is malformed"),
        ((OSError,), "no connection"),
    )
    chain: list[BaseException] = []
    while error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__ or error
    for kinds, reason in reasons:
        if any(isinstance(link, kinds) for link in chain):
            return reason
    return f"the request failed ({type(chain[0]).__name__})"
