"""`python -m infra.listen`: events of the real API, forwarded to a real receiver that verifies them as any library does."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from standardwebhooks import Webhook

from chalicelib.webhooks.records import EventVariant
from chalicelib.webhooks.signatures import sign, standard_secret
from infra import listen
from infra.listen import RETRIES, Listener, Refused
from tests.docs.documents import DOCS
from tests.support.client import Shop
from tests.support.http_server import Request, Response, serving
from tests.support.patience import patience, wait_for
from tests.support.running import running
from tests.webhooks.test_events import write

SECRET = "5e" * 32


class Receiver:
    """Keeps what it is sent, and answers with the statuses in their order, then with 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses, self.received = list(statuses), list[tuple[Mapping[str, str], bytes]]()

    def answer(self, request: Request) -> Response:
        self.received.append((request.headers, request.body))
        return Response(self.statuses.pop(0) if self.statuses else 200)

    @property
    def kinds(self) -> list[str]:
        return [json.loads(body)["event"] for _, body in self.received]


@contextmanager
def receiving(receiver: Receiver) -> Iterator[str]:
    """Yields the URL of the receiver."""
    with serving(receiver.answer) as url:
        yield f"{url}/hook"


def address(shop: Shop) -> str:
    return f"http://127.0.0.1:{shop.api.port}"


def listener(shop: Shop, hook: str, said: list[str], **options: Any) -> Listener:
    known = {"url": address(shop), "api_key": shop.by_key["x-api-key"], "query": {}, "sleep": lambda _: None, **options}
    return Listener(forward=hook, secret=SECRET, say=said.append, **known)


def test_each_event_and_variant_is_forwarded_once_and_verified_by_a_library(new_shop: Shop) -> None:
    receiver, said = Receiver(), list[str]()
    variant = (EventVariant("payment.confirmed.checkout"),)
    with receiving(receiver) as hook:
        listening = listener(new_shop, hook, said)
        event = write(running(), new_shop.account_id, variants=variant)
        for _ in range(3):
            listening.forward_next()
        write(running(), new_shop.account_id, kind="payment.failed")
        listening.forward_next()
    assert receiver.kinds == ["payment.confirmed", "payment.confirmed.checkout", "payment.failed"]
    for headers, body in receiver.received:
        assert Webhook(standard_secret(SECRET)).verify(body, headers) == json.loads(body)
        assert headers["x-request-network-signature"] == headers["x-service-signature"] == sign(SECRET, body)
    first, second, _ = [headers["x-service-delivery"] for headers, _ in receiver.received]
    assert (first, second) == (event.event_id, f"{event.event_id}-1")
    assert said[0] == f"payment.confirmed {event.event_id}: 200"


def test_an_event_that_is_not_received_is_sent_again_after_1_5_and_15_seconds(new_shop: Shop) -> None:
    receiver, said, slept = Receiver(500, 302), list[str](), list[float]()
    write(running(), new_shop.account_id)
    with receiving(receiver) as hook:
        listener(new_shop, hook, said, sleep=slept.append).forward_next()
    assert [headers["x-service-retry-count"] for headers, _ in receiver.received] == ["0", "1", "2"]
    assert slept == [0, *RETRIES[:2]]
    assert [line[-5:] for line in said] == [": 500", ": 302", ": 200"]


def test_an_address_that_does_not_answer_is_given_up_after_four_attempts(new_shop: Shop) -> None:
    said, slept = list[str](), list[float]()
    write(running(), new_shop.account_id)
    with receiving(Receiver()) as hook:
        listening = listener(new_shop, hook, said, sleep=slept.append)
        listening.forward = "http://127.0.0.1:9/hook"
        listening.forward_next()
        listening.forward_next()
    assert slept == [0, *RETRIES]
    assert [line.split(": ")[1] for line in said] == ["ConnectionError"] * 4 + ["given up"]


def test_only_events_of_one_kind_or_client_id_are_forwarded(new_shop: Shop) -> None:
    write(running(), new_shop.account_id)
    write(running(), new_shop.account_id, kind="payment.failed", client_id="cli_one")
    for options, kinds in (({"query": {"kind": "payment.failed"}}, ["payment.failed"]), ({"client_id": "cli_two"}, [])):
        receiver = Receiver()
        with receiving(receiver) as hook:
            listener(new_shop, hook, [], **options).forward_next()
        assert receiver.kinds == kinds


def test_a_key_that_is_refused_ends_it_and_a_service_that_is_away_does_not(new_shop: Shop) -> None:
    said = list[str]()
    with receiving(Receiver()) as hook, pytest.raises(Refused, match="refuses to list events: 401 "):
        listener(new_shop, hook, said, api_key="rk_unknown").forward_next()
    assert listener(new_shop, "", said, url="http://127.0.0.1:9").forward_next() is False
    assert said == ["http://127.0.0.1:9 does not list events now (ConnectionError); asking again"]


def test_the_command_says_what_it_misses_and_what_it_signs_with(
    new_shop: Shop, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("API_KEY", raising=False)
    url = address(new_shop)
    assert listen.main(["--forward", "http://127.0.0.1:9", "--url", url]) == 2
    assert capsys.readouterr().err.startswith("Give the environment variable API_KEY, or start the local stack")
    monkeypatch.setenv("API_KEY", "rk_unknown")
    said = list[str]()
    with receiving(Receiver()) as hook:
        assert listen.main(["--forward", hook, "--url", url, "--secret", SECRET], said.append) == 2
    assert capsys.readouterr().err.startswith(f"{url} refuses to list events: 401 ")
    assert said[1] == f"Secret: {SECRET}, for libraries of Standard Webhooks {standard_secret(SECRET)}"


def test_the_command_of_the_documents_forwards_until_it_is_interrupted(new_shop: Shop) -> None:
    (block,) = [each for each in DOCS["webhooks"].blocks("sh") if "infra.listen" in each]
    receiver = Receiver()
    with receiving(receiver) as hook:
        command = block.replace(".venv/bin/python", f"exec {sys.executable}").replace("http://localhost:3000/hook", hook)
        environment = {**os.environ, "API_URL": address(new_shop), "API_KEY": new_shop.by_key["x-api-key"]}
        with subprocess.Popen(
            ["bash", "-euc", command],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # else it is ignored as here, in background
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == f"Forwarding the events of {address(new_shop)} to {hook}\n"
            write(running(), new_shop.account_id)
            wait_for(lambda: receiver.received)
            child.send_signal(signal.SIGINT)
            assert child.wait(patience()) == 0
    assert receiver.kinds == ["payment.confirmed"]
