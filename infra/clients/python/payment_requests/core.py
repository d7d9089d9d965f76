"""Calls of the API: credentials, retries with idempotency keys, errors, and pages of lists."""

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, Self
from urllib.parse import quote

import httpx

from payment_requests._version import VERSION
from payment_requests.errors import ConnectionFailed, error_of

ATTEMPTS = 4
_SECONDS = 35.0
"""How long a call may take, unless `http` says otherwise: the service ends its own after 29 seconds."""
_DELAY, _LONGEST = 0.5, 30.0
_REPEATABLE = ("GET", "PUT", "DELETE")  # RFC 9110, 9.2.2
_LATER = (429, 500, 502, 503, 504)
"""The statuses after which the same request may succeed."""


class Calling(Protocol):
    """What makes the calls of a group."""

    def call(
        self,
        verb: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        takes_key: bool = False,
        idempotency_key: str | None = None,
    ) -> Any: ...


class Caller:
    """Calls operations with one or more credentials.

    `auth_url` is the host of the operations under /v1, where a deployment has another one for them. A call is made up
    to ATTEMPTS times: if nothing was sent, after 429, and, if repeating it has no second effect, after 5xx and broken
    connections: GET, PUT and DELETE, and all that takes an idempotency key, for which a random one is sent unless you
    give one.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        client_id: str | None = None,
        orchestrator_key: str | None = None,
        auth_url: str | None = None,
        http: httpx.Client | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._url, self._auth_url = url.rstrip("/"), (auth_url or url).rstrip("/")
        sent = {"x-api-key": api_key, "x-client-id": client_id, "x-orchestrator-key": orchestrator_key}
        self._headers = {name: value for name, value in sent.items() if value}
        self._headers["user-agent"] = f"payment-requests-python/{VERSION}"
        self._http = http or httpx.Client(timeout=_SECONDS)
        self._sleep = sleep

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(
        self,
        verb: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, object] | None = None,
        takes_key: bool = False,
        idempotency_key: str | None = None,
    ) -> Any:
        """The JSON of the response. Raises ApiError, or ConnectionFailed if there is none."""
        headers = dict(self._headers)
        if takes_key:
            headers["idempotency-key"] = idempotency_key or str(uuid.uuid4())
        url = (self._auth_url if path.startswith("/v1/") else self._url) + path
        request = self._http.build_request(verb, url, headers=headers, params=_texts(query or {}), json=body)
        is_repeatable = takes_key or verb in _REPEATABLE
        for attempt in range(ATTEMPTS):
            is_last = attempt == ATTEMPTS - 1
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                if is_last or not (is_repeatable or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)):
                    raise ConnectionFailed(str(error) or type(error).__name__) from error
                self._sleep(_delay(attempt, None))
                continue
            if response.is_success and response.status_code != httpx.codes.ACCEPTED:
                return response.json()
            if not is_last and response.status_code in (_LATER if is_repeatable else _LATER[:1]):
                self._sleep(_delay(attempt, response.headers.get("retry-after")))
                continue
            return _result(response)
        raise AssertionError("the last attempt returns or raises")


class Group:
    """The operations of one group, which a Caller calls."""

    def __init__(self, caller: Calling) -> None:
        self._call = caller.call

    @staticmethod
    def _quote(text: str) -> str:
        return quote(text, safe="")

    @staticmethod
    def _pages(read: Callable[[str | None], Any], field: str) -> Iterator[Any]:
        """The entries of all pages, in order. A page is read when the first entry of it is asked for."""
        place = None
        while True:
            page = read(place)
            yield from page[field]
            about = page.get("pagination", page)
            place = about.get("nextCursor")
            if not place or not about.get("hasMore", True):
                return


def _result(response: httpx.Response) -> Any:
    """The JSON of a response that is neither tried again nor plainly a success. Raises the error that it tells of."""
    try:
        body = response.json()
    except ValueError:
        body = None
    waits = response.status_code == httpx.codes.ACCEPTED and isinstance(body, dict) and "pendingChange" in body
    if response.is_success and not waits:
        return body
    raise error_of(response.status_code, body, response.headers.get("x-request-id"))


def _texts(query: Mapping[str, object]) -> dict[str, str]:
    """The parameters that are given, as the query has them."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None
    }


def _delay(attempt: int, retry_after: str | None) -> float:
    """The seconds until the next attempt: as long as the service asks for, or twice as long each time."""
    if retry_after and retry_after.isdigit():
        return min(float(retry_after), _LONGEST)
    return random.uniform(0.5, 1) * _DELAY * float(2**attempt)  # so that many clients do not come back together
