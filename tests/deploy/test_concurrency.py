"""The maximum of a queue's consumer: what a setting asks for, and that it is removed, which Chalice does not do."""

from typing import Any

import pytest

from app import build
from chalicelib.platform.settings import InvalidSettings, Settings
from infra.concurrency import remove_maximum
from infra.configuration import variables_of
from infra.verify import _maximum

ARN = "arn:aws:sqs:us-east-1:000000000000:payment-requests-prod-webhooks"


class Lambda:
    """One mapping of a queue to deliver_webhook, which takes no change while it is being changed."""

    def __init__(self, **config: Any) -> None:
        self.mapping = {"UUID": "u1", "EventSourceArn": ARN, "BatchSize": 1, "State": "Updating", **config}
        self.changes = 0

    def list_event_source_mappings(self, FunctionName: str) -> dict[str, Any]:
        assert FunctionName == "payment-requests-prod-deliver_webhook"
        return {"EventSourceMappings": [dict(self.mapping)]}

    def get_event_source_mapping(self, UUID: str) -> dict[str, Any]:
        self.mapping["State"] = "Enabled"
        return dict(self.mapping)

    def update_event_source_mapping(self, UUID: str, ScalingConfig: dict[str, int]) -> None:
        assert self.mapping["State"] == "Enabled", "ResourceInUseException"
        self.changes += 1
        self.mapping["ScalingConfig"] = ScalingConfig


def test_the_maximum_is_removed_once_where_the_stage_asks_for_none() -> None:
    client = Lambda(ScalingConfig={"MaximumConcurrency": 200})
    for _ in range(2):
        remove_maximum(client, "prod", {"WEBHOOK_CONCURRENCY": "1250"})
    assert client.changes == 1
    assert _maximum(client.mapping) is None


@pytest.mark.parametrize("variables", [{}, {"WEBHOOK_CONCURRENCY": "200"}, {"WEBHOOK_CONCURRENCY": "1000"}])
def test_a_maximum_that_the_stage_asks_for_stays(variables: dict[str, str]) -> None:
    client = Lambda(ScalingConfig={"MaximumConcurrency": 200})
    remove_maximum(client, "prod", variables)
    assert (client.changes, _maximum(client.mapping)) == (0, 200)


@pytest.mark.parametrize(("text", "maximum"), [("2", 2), ("1000", 1000), ("1250", None)])
def test_a_stage_says_how_many_first_attempts_are_made_at_once(text: str, maximum: int | None) -> None:
    settings = Settings.read({**variables_of("prod"), "WEBHOOK_CONCURRENCY": text})
    (source,) = [each for each in build(settings, lambda: None).event_sources if each.name == "deliver_webhook"]  # type: ignore[arg-type, return-value]
    assert source.maximum_concurrency == maximum  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["1", "1001", "1249", "1251", "many"])
def test_lambda_has_no_other_maximum(text: str) -> None:
    with pytest.raises(InvalidSettings):
        Settings.read({**variables_of("prod"), "WEBHOOK_CONCURRENCY": text})
