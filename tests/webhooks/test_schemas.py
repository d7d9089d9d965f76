"""The `webhooks` section of the OpenAPI document: every kind of event, with the body and headers that are sent.

The fake receiver of tests/fakes/world.py holds every body that any test delivers to the same models.
"""

import json
import re

import pytest

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.offramp.payers.records import AccountStatus, BankAccount
from chalicelib.offramp.payers.rules import account_facts, compliance_facts, new_payer
from chalicelib.platform.http.documents import OPENAPI, document
from chalicelib.webhooks.kinds import KINDS
from chalicelib.webhooks.rules import EventContext
from chalicelib.webhooks.samples import sample_event
from infra.documents.event_models import EVENTS, HEADERS
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.world import START, World

CONTEXT = EventContext(START, bytes, "https://explorer.example", "service-network")
DOCUMENT = json.loads(document(OPENAPI, "http://api.test"))
_AMOUNT = r"(0|[1-9]\d*)(\.\d*[1-9])?"
FORMS = {
    "requestId": "01[0-9a-f]{64}",
    "requestID": "01[0-9a-f]{64}",
    "originalRequestId": "01[0-9a-f]{64}",
    "paymentReference": "0x[0-9a-f]{16}",
    "originalRequestPaymentReference": "0x[0-9a-f]{16}",
    "txHash": "0x[0-9a-f]{64}",
    "network": "|".join(each.name for each in ALL_NETWORKS),
    "offrampId": "offramp_01[0-9a-f]{64}",
    "paymentDetailsId": "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    **dict.fromkeys(("amount", "totalAmountPaid", "expectedAmount", "refundAmount"), _AMOUNT),
}
"""What the values of real events look like, by the field."""


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
    sent = {name: value for name, value in world.receiver.posted[0].headers.items() if not name.startswith("x-request-network-")}
    del sent["content-type"]
    described = {each["name"]: each for each in HEADERS}
    assert sent.keys() == {name for name, each in described.items() if each["required"]}
    for name, value in sent.items():
        assert re.search(described[name]["schema"].get("pattern", ""), value), name


def test_every_example_of_a_header_is_as_it_is_described() -> None:
    assert all(re.search(each["schema"].get("pattern", ""), each["example"]) for each in HEADERS)


def test_a_body_that_is_not_described_is_found() -> None:
    body = json.loads(sample_event("payment.failed", "acct", None, CONTEXT).body)
    with pytest.raises(AssertionError, match="describe"):
        assert_is_described({**body, "memo": "x"})
    with pytest.raises(ValueError, match="paymentReference"):
        assert_is_described({**body, "paymentReference": 5})


def test_a_sample_of_a_payment_has_the_fields_and_forms_of_a_real_one(world: World) -> None:
    world.register_webhook()
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.drain()
    sent = [json.loads(each.body) for each in world.receiver.posted]
    assert {each["event"] for each in sent} >= {"payment.confirmed", "payment.confirmed.checkout"}
    for real in sent:
        sample = json.loads(sample_event(real["event"], "acct", real.get("clientId"), CONTEXT).body)
        assert sample.keys() - {"createdWith"} == real.keys() - {"createdWith"}
        for name, pattern in FORMS.items():
            for body in (real, sample):
                assert name not in body or re.fullmatch(pattern, body[name]), (name, body[name])


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_sample_has_the_form_of_a_real_one_and_its_processor(kind: str) -> None:
    sample = json.loads(sample_event(kind, "acct", None, CONTEXT).body)
    for name, pattern in FORMS.items():
        assert name not in sample or re.fullmatch(pattern, sample[name]), (name, sample[name])
    if "requestId" in sample:
        assert sample["paymentProcessor"] == ("service-tech" if sample.get("isCryptoToFiat") else "service-network")


def test_samples_about_people_have_the_raw_payload_of_real_ones() -> None:
    payer = new_payer("acct", None, "user", "sealed", START)
    account = BankAccount("user", "details", "acct", START, AccountStatus.APPROVED, "sealed", "mark")
    facts = {"compliance.updated": compliance_facts(payer, "approved", "person"), "payment_detail.updated": account_facts(account, None, "person")}
    for kind, real in facts.items():
        sample = json.loads(sample_event(kind, "acct", None, CONTEXT).body)
        assert sample.keys() == real.keys() | {"event", "timestamp", "sequence"}
        assert sample["rawPayload"].keys() == real["rawPayload"].keys()
