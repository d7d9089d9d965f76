"""The committed OpenAPI document: it is the app's, and a change of it that breaks clients needs a new revision."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from infra.documents import api as api_docs
from infra.documents.changes import breaking_changes
from infra.documents.openapi import REVISION

Change = Callable[[dict[str, Any]], Any]
CREATE, READ = ("/v2/secure-payments", "post"), ("/v2/secure-payments/{token}", "get")
KEPT = api_docs.read_document()


def test_the_committed_document_breaks_no_client() -> None:
    assert api_docs.problems(KEPT, api_docs.current()) == [], "undo it, or raise the revision"


def test_the_version_is_the_specifications_and_the_revision_that_of_the_project() -> None:
    project = (api_docs.ROOT / "pyproject.toml").read_text()
    assert f'version = "{REVISION}"' in project
    assert (KEPT["info"]["version"], KEPT["info"]["x-revision"]) == ("0.13.0", REVISION)


def schema(document: dict[str, Any], name: str) -> dict[str, Any]:
    return document["components"]["schemas"][name]


def operation(document: dict[str, Any], known: tuple[str, str]) -> dict[str, Any]:
    return document["paths"][known[0]][known[1]]


def field(document: dict[str, Any], name: str, of: str) -> dict[str, Any]:
    return schema(document, name)["properties"][of]


BREAKING: dict[str, tuple[Change, str]] = {
    "an operation is removed": (lambda d: d["paths"].pop("/v2/status"), "GET /v2/status: removed"),
    "a field is no longer the one that is asked for": (
        lambda d: schema(d, "UpdateWebhook")["then"]["anyOf"].pop(),
        "PUT /v1/webhook/{webhook_id} body: then has changed",
    ),
    "its name changes": (lambda d: operation(d, READ).update(operationId="read"), "operationId"),
    "a credential is refused": (lambda d: operation(d, READ)["security"].pop(), "clientId are no longer accepted"),
    "a credential is needed": (
        lambda d: operation(d, ("/v2/status", "get")).update(security=[{"apiKey": []}]),
        "calls without a credential are no longer accepted",
    ),
    "another credential is needed beside it": (
        lambda d: operation(d, READ)["security"][0].update(clientId=[]),
        "apiKey are no longer accepted",
    ),
    "another status means success": (
        lambda d: operation(d, CREATE)["responses"].update({"200": operation(d, CREATE)["responses"].pop("201")}),
        "does not respond with 201 any more",
    ),
    "a parameter is required": (
        lambda d: operation(d, READ)["parameters"][1].update(required=True),
        "the parameter wallet is required now",
    ),
    "a parameter is removed": (lambda d: operation(d, READ)["parameters"].pop(1), "the parameter wallet was removed"),
    "a body is required": (
        lambda d: operation(d, ("/v1/api-keys/{key_id}", "put"))["requestBody"].update(required=True),
        "a body is required now",
    ),
    "a field of a body is required": (
        lambda d: schema(d, "CreateSecurePayment")["required"].append("reference"),
        "body.reference: required now",
    ),
    "a new field of a body is required": (
        lambda d: schema(d, "RequestItem").update(required=["amount", "memo"]),
        "body.requests[].memo: required now",
    ),
    "a field of a body is removed": (
        lambda d: schema(d, "CreateSecurePayment")["properties"].pop("reference"),
        "body.reference: removed",
    ),
    "a field of a body has another type": (
        lambda d: field(d, "RequestItem", "amount").update(type="number"),
        "body.requests[].amount: its type",
    ),
    "a value is refused": (
        lambda d: field(d, "FeePreview", "flow").update(enum=["pay"]),
        "body.flow: its values",
    ),
    "values are listed": (
        lambda d: field(d, "CreateWebhook", "url").update(enum=["https://a.example"]),
        "body.url: its values",
    ),
    "null is refused": (
        lambda d: schema(d, "CreateSecurePayment")["properties"].update(reference={"type": "string"}),
        "body.reference: null is no longer accepted",
    ),
    "a pattern changes": (
        lambda d: field(d, "RequestItem", "amount").update(pattern="^[0-9]+$"),
        "body.requests[].amount: pattern",
    ),
    "less fits": (lambda d: field(d, "CreateSecurePayment", "requests").update(maxItems=100), "maxItems is 100 now"),
    "more is needed": (lambda d: field(d, "CreateSecurePayment", "requests").update(minItems=2), "minItems is 2 now"),
    "unknown fields are refused": (
        lambda d: schema(d, "CreateSecurePayment").update(additionalProperties=False),
        "unknown fields are refused now",
    ),
    "fields need each other": (
        lambda d: schema(d, "FeePreview").update(dependentSchemas={"amount": {"required": ["flow"]}}),
        "dependentSchemas",
    ),
    "a field of a response is removed": (
        lambda d: schema(d, "SecurePaymentAnswer")["properties"].pop("payee"),
        "may now be SecurePaymentAnswer",
    ),
    "a field of a plain response is removed": (
        lambda d: schema(d, "SecurePaymentCreated")["properties"].pop("token"),
        "201.token: removed",
    ),
    "a field of a response may be missing": (
        lambda d: schema(d, "SecurePaymentCreated")["required"].remove("token"),
        "201.token: may be missing now",
    ),
    "a field of a response may be null": (
        lambda d: field(d, "SecurePaymentCreated", "token").update(anyOf=[{"type": "string"}, {"type": "null"}]),
        "201.token: may now be null",
    ),
    "a field of a response has another type": (
        lambda d: field(d, "ListedWebhook", "isActive").update(type="string"),
        "200[].isActive: its type",
    ),
    "a response has another value": (
        lambda d: field(d, "Me", "type")["enum"].append("passkey"),
        "200.type: its values",
    ),
    "an event is removed": (lambda d: d["webhooks"].pop("payment.failed"), "payment.failed: removed"),
    "a field of an event is removed": (
        lambda d: schema(d, "PaymentPayload")["properties"].pop("payee"),
        "payment.confirmed.payee: removed",
    ),
}

HARMLESS: dict[str, Change] = {
    "an operation is added": lambda d: d["paths"].update({"/v3/x": {"get": operation(d, READ)}}),
    "texts change": lambda d: operation(d, READ).update(summary="x", description="y"),
    "an error status is added": lambda d: operation(d, READ)["responses"].update({"418": {"description": "x"}}),
    "another credential is accepted": lambda d: operation(d, READ)["security"].append({"sessionCookie": []}),
    "a parameter is added": lambda d: operation(d, READ)["parameters"].append(
        {"name": "x", "in": "query", "required": False, "schema": {"type": "string"}}
    ),
    "a field of a body is added": lambda d: schema(d, "RequestItem")["properties"].update(memo={"type": "string"}),
    "a field of a body is optional": lambda d: schema(d, "FeePreview")["required"].remove("flow"),
    "more values are accepted": lambda d: field(d, "FeePreview", "flow")["enum"].append("x"),
    "one more field may be the one that is asked for": lambda d: schema(d, "UpdateWebhook")["then"]["anyOf"].append({"required": ["x"]}),
    "a pattern has one more alternative": lambda d: field(d, "CreateWebhook", "url").update(
        pattern=f"^({field(d, 'CreateWebhook', 'url')['pattern'][1:-1]}|x)$"
    ),
    "more fits": lambda d: field(d, "CreateSecurePayment", "requests").update(maxItems=300),
    "a bound is lifted": lambda d: field(d, "CreateSecurePayment", "requests").pop("maxItems"),
    "null is accepted": lambda d: field(d, "CreateWebhook", "url").update(
        anyOf=[{**field(d, "CreateWebhook", "url")}, {"type": "null"}]
    ),
    "a field of a response is added": lambda d: schema(d, "SecurePaymentCreated")["properties"].update(
        memo={"type": "string"}
    ),
    "a field of an event is added": lambda d: schema(d, "PaymentPayload")["properties"].update(memo={"type": "string"}),
    "an event is added": lambda d: d["webhooks"].update({"payment.x": d["webhooks"]["payment.failed"]}),
    "a value of a response ends": lambda d: field(d, "Me", "type").update(enum=["wallet"]),
}


def changed(change: Change) -> dict[str, Any]:
    document = copy.deepcopy(KEPT)
    change(document)
    assert document != KEPT
    return document


@pytest.mark.parametrize("name", BREAKING)
def test_a_change_that_breaks_clients_is_named(name: str) -> None:
    change, text = BREAKING[name]
    found = breaking_changes(KEPT, changed(change))
    assert any(text in each for each in found), found


@pytest.mark.parametrize("name", HARMLESS)
def test_a_change_that_no_client_notices_is_none(name: str) -> None:
    assert breaking_changes(KEPT, changed(HARMLESS[name])) == []


def test_the_same_document_has_no_changes() -> None:
    assert breaking_changes(KEPT, copy.deepcopy(KEPT)) == []


@pytest.mark.parametrize(
    ("before", "after", "is_enough"),
    [
        ("0.13.0", "0.13.0", False),
        ("0.13.0", "0.13.1", False),
        ("0.13.0", "0.14.0", True),
        ("0.13.0", "1.0.0", True),
        ("1.2.0", "1.3.0", False),
        ("1.2.0", "2.0.0", True),
    ],
)
def test_only_a_new_revision_allows_a_breaking_change(before: str, after: str, is_enough: bool) -> None:
    old, new = copy.deepcopy(KEPT), changed(BREAKING["an operation is removed"][0])
    old["info"]["x-revision"], new["info"]["x-revision"] = before, after
    assert (api_docs.problems(old, new) == []) == is_enough
