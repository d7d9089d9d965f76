"""Holds the bodies of events to the models of the OpenAPI document."""

from typing import Any

from infra.documents.event_models import EVENTS


def assert_is_described(body: dict[str, Any]) -> None:
    """The body fits its model, and has no field that the document does not describe. One without a kind is a test's own."""
    if "event" not in body:
        return
    model = EVENTS[body["event"]].model
    model.model_validate(body, strict=True)
    unknown = body.keys() - model.model_fields.keys()
    assert not unknown, f"describe {unknown} in webhooks/kinds.py"
