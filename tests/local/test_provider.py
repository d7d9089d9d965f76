"""The local compliance provider: what it is told to do, what it does by itself, and what it tells of it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.payers.inbound import signature
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, KycStatus
from infra.local.provider import (
    ACCOUNT_CASES,
    ORDER_CASES,
    SECRET,
    USER_CASES,
    Provider,
    ProviderServer,
    sign_headers,
)
from infra.local.serving import JsonRequest
from tests.fakes.compliance import BANK, PERSON


class Inbox:
    """Takes events as the service does."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, url: str, raw: bytes, headers: Mapping[str, str]) -> int:
        assert url == "http://service/v2/provider-events"
        expected = signature(SECRET, headers["x-provider-timestamp"], raw)
        assert headers["x-provider-signature"] == expected
        self.events.append(json.loads(raw))
        return 200


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def provider(inbox: Inbox) -> Provider:
    return Provider("http://service/v2/provider-events", inbox)


def ask(provider: Provider, method: str, path: str, body: Any = None) -> Any:
    return provider.respond(JsonRequest(method, path, {}, body)).body


def walk(provider: Provider) -> None:
    while provider.step():
        pass


@pytest.mark.parametrize("case", USER_CASES)
def test_a_person_walks_through_the_case_of_the_address(provider: Provider, inbox: Inbox, case: str) -> None:
    ask(provider, "PUT", "/users/1", {**PERSON, "email": f"ada+{case}@example.com"})
    walk(provider)
    assert len(inbox.events) == len(USER_CASES[case])
    assert {**USER_CASES[case][-1]}.items() <= inbox.events[-1]["data"].items()
    assert [event["data"]["sequence"] for event in inbox.events] == list(range(2, len(inbox.events) + 2))
    assert {(event["kind"], event["account"]) for event in inbox.events} == {("user", "local")}


@pytest.mark.parametrize("case", [*ACCOUNT_CASES, *ORDER_CASES])
def test_accounts_and_orders_walk_through_the_case_of_the_name(provider: Provider, inbox: Inbox, case: str) -> None:
    ask(provider, "PUT", "/users/1", PERSON)
    ask(provider, "PUT", "/users/1/bank-accounts/2", {**BANK, "accountName": f"Ada Doe {case}"})
    order = {"userId": "1", "bankAccountId": "2", "network": "base", "token": "USDC", "amount": "1"}
    ask(provider, "PUT", "/orders/3", order)
    walk(provider)
    of_account = [event["data"]["status"] for event in inbox.events if event["kind"] == "bank_account"]
    of_order = [event["data"]["status"] for event in inbox.events if event["kind"] == "order"]
    assert of_account == [step["status"] for step in ACCOUNT_CASES.get(case, ACCOUNT_CASES["approved"])]
    assert of_order == [step["status"] for step in ORDER_CASES.get(case, ())]


def test_an_order_takes_another_amount_until_fiat_is_sent(provider: Provider, inbox: Inbox) -> None:
    ask(provider, "PUT", "/users/1", PERSON)
    ask(provider, "PUT", "/users/1/bank-accounts/2", BANK)
    order = {"userId": "1", "bankAccountId": "2", "network": "base", "token": "USDC", "amount": "1"}
    ask(provider, "PUT", "/orders/3", order)
    assert ask(provider, "PUT", "/orders/3", order)["sequence"] == 1
    amended = ask(provider, "PUT", "/orders/3", {**order, "amount": "2"})
    assert (amended["amount"], amended["sequence"], amended["status"]) == ("2", 2, "created")
    provider.move("orders", "3", {"status": "insufficient_funds"})
    assert ask(provider, "PUT", "/orders/3", {**order, "amount": "3"})["status"] == "initiated"
    provider.move("orders", "3", {"status": "sending_fiat"})
    assert ask(provider, "PUT", "/orders/3", {**order, "amount": "4"})["amount"] == "3"


def test_who_names_no_case_stays_until_moved(provider: Provider, inbox: Inbox) -> None:
    ask(provider, "PUT", "/users/1", PERSON)
    walk(provider)
    assert inbox.events == []
    ask(provider, "POST", "/control/users/1", {"kycStatus": "approved"})
    assert [event["data"]["kycStatus"] for event in inbox.events] == ["approved"]
    assert provider.respond(JsonRequest("POST", "/control/users/2", {}, {})).status == 404


def test_events_are_held_mixed_up_and_repeated_on_command(provider: Provider, inbox: Inbox) -> None:
    ask(provider, "PUT", "/users/1", PERSON)
    ask(provider, "POST", "/control/events", {"hold": True})
    for status in ("initiated", "pending", "approved"):
        ask(provider, "POST", "/control/users/1", {"kycStatus": status})
    assert inbox.events == []
    ask(provider, "POST", "/control/events", {"hold": False})
    assert [event["data"]["kycStatus"] for event in inbox.events] == ["approved", "pending", "initiated"]
    ask(provider, "POST", "/control/replay", {"copies": 2})
    assert len(inbox.events) == 3 + 6
    assert len({event["id"] for event in inbox.events}) == 3


def test_what_it_knows_survives_a_restart(tmp_path: Path) -> None:
    first = Provider(state=tmp_path / "provider.json")
    ask(first, "PUT", "/users/1", {**PERSON, "email": "ada+approved@example.com"})
    walk(first)
    again = Provider(state=tmp_path / "provider.json")
    assert ask(again, "GET", "/users/1") == ask(first, "GET", "/users/1")
    assert ask(again, "GET", "/users/1")["sequence"] == 1 + len(USER_CASES["approved"])


def test_it_serves_over_http_and_signs(provider: Provider) -> None:
    with ProviderServer(None, step_seconds=3600) as server:
        assert server.url.startswith("http://127.0.0.1:")
    headers = sign_headers(b"{}", 1773568800, "secret")
    assert headers["x-provider-signature"] == "754c76c0d8f8d120b05d979f50041075f82081d642d382780c2c685313801fcf"


def test_the_cases_walk_through_every_state() -> None:
    def reached(cases: Mapping[str, Iterable[Mapping[str, str]]], name: str) -> set[str]:
        return {step[name] for steps in cases.values() for step in steps if name in step}

    assert reached(USER_CASES, "kycStatus") == {*KycStatus} - {"not_started"}
    assert reached(USER_CASES, "agreementStatus") == {*AgreementStatus} - {"not_started"}
    assert reached(ACCOUNT_CASES, "status") == {*AccountStatus} - {"pending"}
    assert reached(ORDER_CASES, "status") == {*OrderStatus, "on_hold"} - {"created", "unknown", "lost"}
