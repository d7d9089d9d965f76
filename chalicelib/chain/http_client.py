"""A small HTTP client over urllib3, for nodes and the Safe Transaction Service.

It limits what a server can cost its caller: the time to connect, the wait for each part of a response, the time for
the whole of it, and its size. It follows no redirect and sends nothing a second time. urllib3 is loaded by the first
request; boto3 has loaded it by then.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote

CONNECT_SECONDS, READ_SECONDS, TOTAL_SECONDS = 2, 6, 10
"""Two requests, one after the other, stay within what API Gateway waits for (29 s)."""
_USER_AGENT = "payment-requests/1"
_CHUNK_BYTES = 64 * 1024


class HttpError(Exception):
    """No usable response: the connection, TLS or HTTP failed."""


class ResponseTimeout(HttpError):
    """The server took the request and did not send the whole response in time."""


class ResponseTooLarge(HttpError):
    """The response is longer than the client accepts."""


@dataclass(frozen=True)
class HttpResponse:
    """`body` is decompressed; it is read for a status of 200 to 299 only, and empty otherwise."""

    status: int
    body: bytes


class HttpClient:
    """The client of one server. A user and password in `base_url` are sent as basic authentication."""

    def __init__(self, base_url: str, max_bytes: int, headers: Mapping[str, str] | None = None) -> None:
        self._base_url = base_url
        self._max_bytes = max_bytes
        self._headers = dict(headers or {})

    def get(self, path: str) -> HttpResponse:
        """Raises HttpError."""
        return self._request("GET", path)

    def post_json(self, path: str, body: Any) -> HttpResponse:
        """Raises HttpError."""
        return self._request("POST", path, json=body)

    def _request(self, method: str, path: str, **content: Any) -> HttpResponse:
        from urllib3 import Timeout
        from urllib3.exceptions import HTTPError, ReadTimeoutError

        deadline = time.monotonic() + TOTAL_SECONDS
        timeout = Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        options: dict[str, Any] = {"timeout": timeout, "retries": False, "redirect": False, "preload_content": False}
        try:
            response = self._pool.request(method, self._base_url + path, **options, **content)
            try:
                body = self._read(response, deadline) if 200 <= response.status < 300 else b""
            finally:
                response.close()  # of a body that was read to its end, the connection is in the pool again already
        except ReadTimeoutError as error:
            raise ResponseTimeout("the response did not arrive in time") from error
        except (HTTPError, OSError, ValueError) as error:
            raise HttpError(str(error)) from error
        return HttpResponse(response.status, body)

    def _read(self, response: Any, deadline: float) -> bytes:
        body = bytearray()
        while chunk := response.read1(_CHUNK_BYTES):  # returns what has arrived: a slow server cannot stretch it
            body += chunk
            if len(body) > self._max_bytes:
                raise ResponseTooLarge(f"the response is longer than {self._max_bytes} bytes")
            if time.monotonic() > deadline:
                raise ResponseTimeout("the response did not arrive in time")
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
        return PoolManager(headers={**headers, **self._headers}, ca_certs=where())
