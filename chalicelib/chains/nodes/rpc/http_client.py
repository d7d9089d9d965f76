"""A small HTTP client over urllib3, for nodes and for the services that this one asks over HTTP.

It limits the time to connect, the time between two parts of a response, the time for the whole response, and its size.
It follows no redirects and does not retry. The first request imports urllib3, if botocore has not yet.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import field
from functools import cache, cached_property
from http import HTTPStatus
from io import BufferedReader, RawIOBase
from typing import Any
from urllib.parse import unquote

from chalicelib.base.frozen import frozen

CONNECT_SECONDS, READ_SECONDS, TOTAL_SECONDS = 2, 6, 10
"""Two requests, one after the other, take less than the 29 seconds of API Gateway."""
_USER_AGENT = "payment-requests/1"
_CHUNK_BYTES = 64 * 1024
_KEPT_CONNECTIONS = 20
"""Of one server, for requests at the same time."""
_MAX_ERROR_BYTES = 64 * 1024
"""Of the body of a status from 400 on, which holds a message; the rest is not read."""


class HttpError(Exception):
    """No usable response: the connection, TLS or HTTP failed."""


class ResponseTimeout(HttpError):
    """The server accepted the request but did not send the whole response in time."""


class ResponseTooLarge(HttpError):
    """The response is longer than the client accepts."""


@frozen
class HttpResponse:
    """`body` is decompressed. It is empty for redirects, and cut off after 64 kB for a status from 400 on.

    The names of `headers` are in lower case.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def json_of(body: bytes, most_brackets: int, **options: Any) -> Any:
    """The JSON of a body, parsed with `options` of json.loads.

    Raises ValueError if it is not JSON, or has more opening brackets than `most_brackets`: a parser that follows very
    many of them into each other would overflow the stack.
    """
    if body.count(b"[") + body.count(b"{") > most_brackets:
        raise ValueError("too many brackets")
    try:
        return json.loads(body, **options)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


class HttpClient:
    """The client of one server. A user and password in `base_url` are sent as basic authentication.

    `share` is the part of TOTAL_SECONDS that a whole response may take.
    """

    def __init__(
        self,
        base_url: str,
        max_bytes: int,
        headers: Mapping[str, str] | None = None,
        share: float = 1,
    ) -> None:
        self._base_url = base_url
        self._seconds = TOTAL_SECONDS * share
        self._max_bytes = max_bytes
        self._headers = dict(headers or {})

    def get(self, path: str) -> HttpResponse:
        """Raises HttpError."""
        return self._request("GET", path, self._max_bytes)

    def post_json(self, path: str, body: Any, max_bytes: int) -> HttpResponse:
        """Raises HttpError, also for a response that is longer than `max_bytes`, or than the client accepts."""
        return self._request("POST", path, min(max_bytes, self._max_bytes), json=body)

    def put_json(self, path: str, body: Any, headers: Mapping[str, str]) -> HttpResponse:
        """Sends `headers` in addition to those of the client. Raises HttpError."""
        return self._request("PUT", path, self._max_bytes, json=body, headers={**self._pool.headers, **headers})

    def delete(self, path: str) -> HttpResponse:
        """Raises HttpError."""
        return self._request("DELETE", path, self._max_bytes)

    def _request(self, method: str, path: str, max_bytes: int, **content: Any) -> HttpResponse:
        from urllib3 import Timeout
        from urllib3.exceptions import HTTPError, ReadTimeoutError

        timeout = Timeout(connect=min(CONNECT_SECONDS, self._seconds), read=min(READ_SECONDS, self._seconds))
        options: dict[str, Any] = {"timeout": timeout, "retries": False, "redirect": False, "preload_content": False}
        try:
            response = self._pool.request(method, self._base_url + path, **options, **content)
            try:
                body = self._read(response, max_bytes)
            finally:
                response.close()  # after a complete body the connection is already back in the pool and stays open
        except ReadTimeoutError as error:
            raise ResponseTimeout("the response did not arrive in time") from error
        except (HTTPError, OSError, ValueError) as error:
            raise HttpError(str(error)) from error
        return HttpResponse(response.status, body, {name.lower(): value for name, value in response.headers.items()})

    def _read(self, response: Any, max_bytes: int) -> bytes:
        body, is_error = bytearray(), response.status >= 400
        if not is_error and not 200 <= response.status < 300:
            return b""
        while chunk := response.read1(_CHUNK_BYTES):
            body += chunk
            if is_error and len(body) > _MAX_ERROR_BYTES:
                return bytes(body[:_MAX_ERROR_BYTES])
            if len(body) > max_bytes:
                raise ResponseTooLarge(f"the response is longer than {max_bytes} bytes")
        return bytes(body)

    @cached_property
    def _pool(self) -> Any:
        from certifi import where
        from urllib3 import PoolManager, make_headers
        from urllib3.util import parse_url

        credentials = parse_url(self._base_url).auth
        headers = make_headers(
            user_agent=_USER_AGENT,
            accept_encoding="gzip,deflate",
            basic_auth=None if credentials is None else unquote(credentials),
        )
        manager = PoolManager(maxsize=_KEPT_CONNECTIONS, headers={**headers, **self._headers}, ca_certs=where())
        pools: dict[str, Any] = dict(manager.pool_classes_by_scheme)
        manager.pool_classes_by_scheme = {
            scheme: type(pool.__name__, (pool,), {"ConnectionCls": past_interim(pool.ConnectionCls, self._seconds)})
            for scheme, pool in pools.items()
        }
        return manager


class _UntilTime(RawIOBase):
    """Reads of the stream of a socket: together no longer than its timeout until `end_headers`, then `seconds` in all,
    if given. Raises TimeoutError after that."""

    def __init__(self, sock: Any, stream: Any, seconds: float | None) -> None:
        self._sock, self._stream, self._seconds, self._at_once = sock, stream, seconds, sock.gettimeout()
        self._began = time.monotonic()
        self._most = self._at_once

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._most is not None:
            left = self._began + self._most - time.monotonic()
            if left <= 0:
                raise TimeoutError("the response did not arrive in time")
            self._sock.settimeout(min(left, self._at_once or left))
        read: int | None = self._stream.readinto(buffer)
        return read

    def end_headers(self) -> None:
        self._most = self._seconds
        self._sock.settimeout(self._at_once)

    def close(self) -> None:
        self._stream.close()
        super().close()


@cache
def past_interim(connection_class: Any, seconds: float | None = None) -> Any:
    """A subclass of a connection of http.client that passes over all interim responses (RFC 9110, 15.2), such as 103
    Early Hints, where http.client passes over 100 alone.

    They and the headers have the time of one read together, and the whole response `seconds`, if given: with the time
    of a read for each part, a server that sends a byte at a time would never be given up. A single call reads all
    trailers of a body in chunks. TimeoutError is raised after that time."""
    from http.client import HTTPResponse

    class FinalResponse(HTTPResponse):
        def __init__(self, sock: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(sock, *args, **kwargs)
            self._in_time = _UntilTime(sock, self.fp.detach(), seconds)
            self.fp = BufferedReader(self._in_time)

        def begin(self) -> None:
            super().begin()
            while 100 <= self.status < 200 and self.status != HTTPStatus.SWITCHING_PROTOCOLS:
                self.headers = self.msg = None  # type: ignore[assignment]  # else it does not read on
                super().begin()
            self._in_time.end_headers()

    return type(connection_class.__name__, (connection_class,), {"response_class": FinalResponse})
