"""The `webhooks` section of the OpenAPI document: every kind of event, with the body and headers that are sent.

The fake receiver of tests/fakes/world.py holds every body that any test delivers to the same models.
"""

import json

import pytest

from chalicelib.http.openapi import document
from chalicelib.webhooks.rules import KINDS, EventContext
from chalicelib.webhooks.samples import sample_event
from chalicelib.webhooks.schemas import EVENTS, HEADERS
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.world import START, World

CONTEXT = EventContext(START, bytes, "https://explorer.example", "service-network")
DOCUMENT = json.loads(document("http://api.test"))


def test_every_kind_of_event_is_described() -> None:
    assert EVENTS.keys() == set(KINDS) == DOCUMENT["webhooks"].keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client_id", [None, "cli_shop"])
def test_a_sample_is_what_the_document_shows(kind: str, client_id: str | None) -> None:
    body = json.loads(sample_event(kind, "acct", client_id, CONTEXT).body)
    assert_is_described(body)
    content = DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    only_of_clients = set() if kind.endswith(".client_id") else {"clientId", "origin"}
    assert content["example"].keys() == body.keys() - only_of_clients
    assert content["example"]["event"] == kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_an_event_says_what_it_means(kind: str) -> None:
    assert all(field.description for field in EVENTS[kind].model.model_fields.values())


def test_the_headers_of_a_delivery_are_the_ones_that_are_described(world: World) -> None:
    world.register_webhook()
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.drain()
    sent = world.receiver.posted[0].headers
    own = {name for name in sent if name.startswith("x-service-")}
    assert own == {each["name"] for each in HEADERS if each["required"]}


def test_a_body_that_is_not_described_is_found() -> None:
    body = json.loads(sample_event("payment.failed", "acct", None, CONTEXT).body)
    with pytest.raises(AssertionError, match="describe"):
        assert_is_described({**body, "memo": "x"})
    with pytest.raises(ValueError, match="paymentReference"):
        assert_is_described({**body, "paymentReference": 5})
