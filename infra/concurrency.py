"""Takes the maximum from the consumer of a queue that has none any more: Chalice changes one, and never removes it."""

from collections.abc import Mapping
from typing import Any

from chalicelib.platform.setting_readers import MOST_AT_ONCE
from infra.iam import function_name
from infra.recovery.pausing import wait_until_settled

_FUNCTION, _SETTING = "deliver_webhook", "WEBHOOK_CONCURRENCY"


def remove_maximum(lambda_: Any, stage: str, variables: Mapping[str, str]) -> None:
    """Has Lambda run as many consumers of first attempts at webhooks as it does of one queue, if the stage asks for it.

    Safe to repeat.
    """
    if variables.get(_SETTING) != str(MOST_AT_ONCE):
        return
    mappings = lambda_.list_event_source_mappings(FunctionName=function_name(stage, _FUNCTION))["EventSourceMappings"]
    for each in mappings:
        if "MaximumConcurrency" in each.get("ScalingConfig", {}):
            wait_until_settled(lambda_, each["UUID"], each["EventSourceArn"].rpartition(":")[2])
            lambda_.update_event_source_mapping(UUID=each["UUID"], ScalingConfig={})
