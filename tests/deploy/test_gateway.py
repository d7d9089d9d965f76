"""infra/gateway.py: what is set on the stage of the API."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.gateway import BURST, RATE, set_stage, stage_differences
from infra.local.cloud import Cloud
from infra.stack import DeploymentStopped

LOG_GROUP = "arn:aws:logs:us-east-1:000000000000:log-group:/aws/apigateway/payment-requests-dev"


def test_a_stage_has_an_access_log_without_addresses_and_paths_and_limits_that_can_be_set_again(cloud: Cloud) -> None:
    gateway = cloud.client("apigateway")
    api = gateway.create_rest_api(name="calls")["id"]
    root = gateway.get_resources(restApiId=api)["items"][0]["id"]
    gateway.put_method(restApiId=api, resourceId=root, httpMethod="GET", authorizationType="NONE")
    gateway.put_integration(restApiId=api, resourceId=root, httpMethod="GET", type="MOCK")
    gateway.create_deployment(restApiId=api, stageName="dev")
    for limits, expected in (({}, (RATE, BURST)), ({"rate": 50, "burst": 80}, (50, 80)), ({}, (RATE, BURST))):
        set_stage(gateway, api, "dev", LOG_GROUP, limits)
        stage = gateway.get_stage(restApiId=api, stageName="dev")
        every = stage["methodSettings"]["*/*"]
        assert (every["throttlingRateLimit"], every["throttlingBurstLimit"]) == expected
        assert list(stage_differences(gateway, api, "dev", LOG_GROUP, limits)) == []
    others = stage_differences(gateway, api, "dev", "arn:aws:logs:us-east-1:000000000000:log-group:x", {"rate": 1})
    assert [line.partition(" is ")[0] for line in others] == ["API: its access log", "API: its rate"]
    assert stage["accessLogSettings"]["destinationArn"] == LOG_GROUP
    line = json.loads(stage["accessLogSettings"]["format"])
    assert {"request_id", "route", "status", "latency_ms", "integration_error"} <= line.keys()
    assert not {"$context.path", "$context.identity.sourceIp"} & set(line.values())


def test_an_account_without_a_role_for_logs_is_told_what_to_do() -> None:
    class Gateway:
        def update_stage(self, **_: Any) -> None:
            message = "CloudWatch Logs role ARN must be set in account settings to enable logging"
            raise ClientError({"Error": {"Code": "BadRequestException", "Message": message}}, "UpdateStage")

    with pytest.raises(DeploymentStopped, match=r"\.venv/bin/python -m infra\.gateway"):
        set_stage(Gateway(), "api", "dev", LOG_GROUP, {})
