"""Runs a schedule of a deployed stage without waiting for its minute."""

import json

from infra.iam import function_name
from infra.local.cloud import Cloud


def tick(cloud: Cloud, stage: str) -> None:
    """Runs the schedule that has each chain read."""
    event = {"version": "0", "id": "tick", "account": "", "time": "", "region": "", "resources": [], "detail": {}}
    event |= {"detail-type": "Scheduled Event", "source": "aws.events"}
    payload = json.dumps(event).encode()
    answer = cloud.client("lambda").invoke(FunctionName=function_name(stage, "start_scans"), Payload=payload)
    assert "FunctionError" not in answer, answer["Payload"].read()
