"""Forwards the events of an account to an address of one's own, signed as webhooks are, where nobody can send them:

    API_KEY=... python -m infra.listen --forward http://localhost:3000/hook [--url https://api.example] [--kind ...]

It follows `GET /v2/events`, so it needs no address that is reached from the internet. It begins with what happens now,
or at `--from-date`, and goes on until Ctrl-C. Without `--url` and API_KEY it uses those of `.local/stack.json`.
"""

import json
import os
import secrets
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn

import requests

from chalicelib.base.timestamps import iso
from chalicelib.webhooks.rules import compact_json
from chalicelib.webhooks.signatures import own_headers, standard_headers, standard_secret
from infra.local.process import LOCAL

POLL_SECONDS = 1
RETRIES = (1, 5, 15)
"""The seconds after which an event that was not received is sent again, as a stage does."""
_SECONDS = 5
"""How long an address has to answer, and the service."""
_BRANDS = ("service", "request-network")
_PAGE = 100


class Refused(Exception):
    """The service refuses what is asked, so that asking again is of no use."""


@dataclass
class Listener:
    """Follows the events of an account and forwards each once: `say` gets a line for each attempt."""

    url: str
    api_key: str
    forward: str
    secret: str
    say: Callable[[str], None]
    query: dict[str, str]
    client_id: str | None = None
    sleep: Callable[[float], None] = time.sleep
    session: requests.Session = field(default_factory=requests.Session)
    unsettled: set[str] = field(default_factory=set)
    """The ids of forwarded events that the service will return again."""

    def run(self) -> NoReturn:
        """Forwards until it is interrupted. Raises Refused."""
        while True:
            if not self.forward_next():
                self.sleep(POLL_SECONDS)

    def forward_next(self) -> bool:
        """Forwards the events of the next page, and returns whether more follow at once. Raises Refused."""
        page = self._page()
        if page is None:
            return False
        for event in page["events"]:
            is_new = event["id"] not in self.unsettled
            (self.unsettled.discard if event["settled"] else self.unsettled.add)(event["id"])
            if is_new and self.client_id in (None, event["clientId"]):
                self._forward(event)
        self.query.pop("fromDate", None)
        self.query["after"] = page["nextCursor"]
        return bool(page["hasMore"])

    def _page(self) -> dict[str, Any] | None:
        """The next page; None if the service cannot be reached, or is busy, now."""
        try:
            response = self.session.get(
                f"{self.url}/v2/events",
                params={**self.query, "limit": str(_PAGE)},
                headers={"x-api-key": self.api_key},
                timeout=_SECONDS,
            )
            if response.status_code == 200:
                page: dict[str, Any] = response.json()
                return page
            trouble = f"{response.status_code} {_message(response)}"
            if response.status_code in (400, 401, 403, 404):
                raise Refused(f"{self.url} refuses to list events: {trouble}")
        except (requests.RequestException, ValueError) as error:
            trouble = type(error).__name__
        self.say(f"{self.url} does not list events now ({trouble}); asking again")
        return None

    def _forward(self, event: dict[str, Any]) -> None:
        for number, kind in enumerate((event["kind"], *event["variants"])):
            body = compact_json({**event["body"], "event": kind}).encode()
            self._deliver(event["id"], f"{event['id']}-{number}" if number else event["id"], kind, body)

    def _deliver(self, event_id: str, delivery_id: str, kind: str, body: bytes) -> None:
        for attempt, delay in enumerate((0, *RETRIES)):
            self.sleep(delay)
            outcome = self._post(event_id, delivery_id, attempt, body)
            self.say(f"{kind} {delivery_id}: {outcome}")
            if outcome.startswith("2"):
                return
        self.say(f"{kind} {delivery_id}: given up")

    def _post(self, event_id: str, delivery_id: str, attempt: int, body: bytes) -> str:
        """The status of the response, or why there was none."""
        headers = {
            "content-type": "application/json",
            **standard_headers(delivery_id, [self.secret], body, datetime.now(UTC)),
            **own_headers(_BRANDS, [self.secret], body),
            **{f"x-{brand}-delivery": delivery_id for brand in _BRANDS},
            **{f"x-{brand}-event-id": event_id for brand in _BRANDS},
            **{f"x-{brand}-retry-count": str(attempt) for brand in _BRANDS},
        }
        send = partial(self.session.post, timeout=_SECONDS, allow_redirects=False)
        try:
            return str(send(self.forward, data=body, headers=headers).status_code)
        except requests.RequestException as error:
            return type(error).__name__


def _message(response: requests.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.reason or ""


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> int:
    """The command line; returns the exit status: 0 after Ctrl-C, 2 if it cannot begin."""
    options = _parser().parse_args(arguments)
    stack: dict[str, Any] = json.loads((LOCAL / "stack.json").read_text()) if (LOCAL / "stack.json").exists() else {}
    url = options.url or stack.get("base_url")
    api_key = os.environ.get("API_KEY") or (stack.get("api_key") if url == stack.get("base_url") else None)
    if not url or not api_key:
        missing = "--url" if not url else "the environment variable API_KEY"
        print(f"Give {missing}, or start the local stack (make local), which is used without them.", file=sys.stderr)
        return 2
    secret = options.secret or secrets.token_hex(32)
    query = dict(_query(options))
    listener = Listener(url.rstrip("/"), api_key, options.forward, secret, say, query, options.client_id)
    say(f"Forwarding the events of {listener.url} to {options.forward}")
    say(f"Secret: {secret}, for libraries of Standard Webhooks {standard_secret(secret)}")
    try:
        listener.run()
    except Refused as error:
        print(f"{error}.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def _query(options: Namespace) -> Iterator[tuple[str, str]]:
    yield "fromDate", options.from_date or iso(datetime.now(UTC))
    if options.kind:
        yield "kind", options.kind


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m infra.listen", description="Forwards the events of an account.")
    parser.add_argument("--forward", required=True, metavar="URL", help="where each event is sent")
    parser.add_argument("--url", help="of the service's API; that of the local stack without it")
    parser.add_argument("--kind", help="only events of this kind, such as payment.confirmed")
    parser.add_argument("--client-id", help="only events of this client ID")
    parser.add_argument("--from-date", metavar="TIME", help="UTC, such as 2026-01-31T12:00:00Z; now without it")
    parser.add_argument("--secret", help="what signs the events; a new one without it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
