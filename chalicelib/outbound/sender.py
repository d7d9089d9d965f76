"""The one sender for requests to addresses that merchants give us: guarded, pinned, and over after five seconds.

What can never happen here: a connection to an address that is not public, a second look at DNS between the
check and the connection, a followed redirect, a proxy or credential taken from the environment, an unverified
certificate, a body read, or a connection that outlives the deadline.

`requests` and `requests_hardened` are imported inside the functions: a path that sends nothing does not pay for them.
"""

import ipaddress
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from chalicelib.base.errors import BadRequest

DEADLINE_SECONDS = 5.0  # interface.md, Delivery and retry: all of DNS, connect, TLS, request and answer headers
MAX_URL_LENGTH = 2048
USER_AGENT = "payment-requests-webhooks/1"

_TIMED_OUT = "no answer in time"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_AUTHORITY = re.compile(rf"(?P<host>\[[0-9a-f]*:[0-9a-f:.]+\]|{_LABEL}(?:\.{_LABEL})*)(?::(?P<port>[0-9]{{1,5}}))?")

T = TypeVar("T")
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Answer:
    """What came of one attempt: the HTTP status, or a short reason why there is none. Never both."""

    status: int | None
    error: str | None

    @property
    def delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class WebhookSender:
    """Checks the addresses of webhooks and posts to them. Holds no connection between calls; safe to share."""

    def __init__(self, allow_loopback: bool, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._allow_loopback = allow_loopback
        self._seconds = deadline_seconds

    def check(self, url: str) -> None:
        """Raise BadRequest, saying what to change, unless webhooks may be sent to `url`.

        A name that does not resolve now is accepted: it may come later, and `post` looks again.
        """
        host, port = _host_and_port(url, self._allow_loopback)
        from requests import RequestException
        from requests_hardened.ip_filter import InvalidIPAddress, filter_host

        def look_up() -> None:
            _unreserved(filter_host(host, port, allow_loopback=self._allow_loopback))

        try:
            _in_time(self._seconds, look_up)
        except InvalidIPAddress as refusal:
            message = "url must lead to a public address; private, local and reserved ones are not accepted"
            raise BadRequest(message) from refusal
        except (RequestException, TimeoutError):
            return

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """POST `body` as it is, once. Never raises; the error text holds no secret and nothing the receiver sent.

        Any status whose headers were complete before the deadline counts, whatever the body does then.
        """
        try:
            _host_and_port(url, self._allow_loopback)
        except BadRequest as refusal:
            return Answer(None, f"address refused: {refusal.message}")
        _adapter_class()  # the first call imports for long: not on the receiver's time
        answer = Answer(None, None)
        with _Deadline(self._seconds) as deadline:
            try:
                answer = Answer(self._status(url, headers, body, deadline), None)
            # What a receiver sends goes through the parsers of four libraries. Whatever it breaks there is a
            # failed attempt; a crash would put the message back on the queue and repeat the POST out of turn.
            except Exception as error:  # noqa: BLE001
                answer = Answer(None, _reason(error))
        if deadline.over:  # the reader may have taken the cut for the end of the headers
            return Answer(None, _TIMED_OUT)
        return answer

    def _status(self, url: str, headers: Mapping[str, str], body: bytes, deadline: "_Deadline") -> int:
        import requests

        # A bare adapter instead of a session: a session would read the environment and the body of a redirect.
        sent = {"User-Agent": USER_AGENT, "Connection": "close", **headers}
        request = requests.Request("POST", url, headers=sent, data=body).prepare()
        is_https = (request.url or "").startswith("https:")
        with (
            closing(_adapter_class()(is_https, self._allow_loopback, deadline)) as adapter,
            closing(adapter.send(request, stream=True, timeout=self._seconds)) as response,
        ):
            return int(response.status_code)


class _Deadline:
    """Shuts the watched connection down, under whoever is reading or writing it, when the time is over.

    A socket timeout bounds each read, not their sum: a receiver that drips a byte a second would hold the
    worker for ever. Leaving the block waits for the timer's thread, so none is left in a warm container.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self.over = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
        for watched in self._watched:
            watched.close()

    def remaining(self) -> float:
        """Seconds that are left, more than zero. Raises TimeoutError when none are."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def watch(self, connected: socket.socket) -> None:
        """Take charge of a connection. A duplicate, because wrapping in TLS takes the descriptor away."""
        with self._lock:
            self._watched.append(connected.dup())
            if self.over:
                self._shut_down()

    def _cut(self) -> None:
        with self._lock:
            self.over = True
            self._shut_down()

    def _shut_down(self) -> None:
        for watched in self._watched:
            with suppress(OSError):  # the receiver may have gone already
                watched.shutdown(socket.SHUT_RDWR)


@cache
def _adapter_class() -> type:
    """The adapter of requests-hardened, which resolves once, filters and pins, under one deadline."""
    from requests_hardened.ip_filter_adapter import IPFilterAdapter

    class DeadlineAdapter(IPFilterAdapter):
        def __init__(self, is_https: bool, allow_loopback: bool, deadline: _Deadline) -> None:
            super().__init__(is_https_proto=is_https, allow_loopback=allow_loopback)
            self._deadline = deadline

        def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
            resolve = super().build_connection_pool_key_attributes
            host, pool = _in_time(self._deadline.remaining(), lambda: resolve(request, verify, cert))
            pinned = _unreserved(host["host"])
            # A local receiver may listen on ::1 or 127.0.0.1 alone, and the pin holds one of them: try both.
            if pinned.is_loopback and urlsplit(request.url).hostname == "localhost":
                host["host"] = "localhost"
            return host, pool

        def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
            pool = super().get_connection_with_tls_context(*args, **kwargs)
            pool.ConnectionCls = _watched(pool.ConnectionCls, self._deadline)
            return pool

    return DeadlineAdapter


def _watched(connection_class: Any, deadline: _Deadline) -> Any:
    """urllib3's connection, http or https, whose socket the deadline watches from before TLS begins."""

    class WatchedConnection(connection_class):
        def _new_conn(self) -> socket.socket:
            self.timeout = deadline.remaining()  # for the connect itself, which cannot be watched yet
            connected: socket.socket = super()._new_conn()
            deadline.watch(connected)
            return connected

    return WatchedConnection


def _in_time(seconds: float, work: Callable[[], T]) -> T:
    """What `work` returns or raises, or TimeoutError after `seconds`.

    For name lookups only: getaddrinfo cannot be interrupted, so one that is late keeps its thread until the
    system's resolver gives up. It holds no connection of ours and its result is dropped.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001  (handed over to the caller)
            result.set_exception(error)

    threading.Thread(target=run, name="webhook-lookup", daemon=True).start()
    return result.result(timeout=seconds)


def _host_and_port(url: str, allow_loopback: bool) -> tuple[str, int]:
    """The host, without brackets, and the port of a webhook address. Raises BadRequest.

    Stricter than URL parsers, and on purpose: what is accepted here, every parser below reads the same way.
    """
    if len(url) > MAX_URL_LENGTH:
        raise BadRequest(f"url must have at most {MAX_URL_LENGTH} characters")
    if not re.fullmatch(r"[!-~]+", url) or "\\" in url:
        raise BadRequest(
            "url must be plain ASCII without spaces and backslashes; write international names in their xn-- form"
        )
    scheme, found, rest = url.partition("://")
    scheme = scheme.lower()
    if not found or scheme not in ("http", "https"):
        raise BadRequest("url must be a complete address that begins with https://")
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


def _unreserved(pinned: str) -> IPAddress:
    """The address, unless it is one that requests-hardened lets pass: ::/8 (IPv4 in disguise), fec0::/10 ..."""
    address = ipaddress.ip_address(pinned.strip("[]"))
    site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    if site_local or (address.is_reserved and not address.is_loopback):
        from requests_hardened.ip_filter import InvalidIPAddress

        raise InvalidIPAddress(address)
    return address


def _reason(error: BaseException) -> str:
    """One short sentence for a failed attempt, from the chain of exceptions below it."""
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
