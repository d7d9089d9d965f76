"""How a stage is stopped for a restore, and started again, where Lambda takes its time."""

import pytest
from botocore.session import get_session

from infra.recovery import pausing
from infra.stack import DeploymentStopped
from infra.target import Target

RECORD = {
    "resources": [
        {"name": "api_handler", "resource_type": "lambda_function", "lambda_arn": "arn:api"},
        {"name": "q-sqs-event-source", "resource_type": "sqs_event", "event_uuid": "u1", "queue": "webhooks"},
        {"name": "r-event", "resource_type": "cloudwatch_event", "rule_name": "every-minute"},
    ]
}


class Aws:
    """Lambda and EventBridge. A queue that is being changed takes no other change, and is not changed at once."""

    def __init__(self, state: str = "Enabled", reads: int = 2) -> None:
        self.state, self.reads = state, reads
        self.done: list[str] = []

    def get_event_source_mapping(self, UUID: str) -> dict[str, str]:
        if self.state.endswith("ing"):
            self.reads -= 1
            if self.reads <= 0:
                self.state = {"Disabling": "Disabled", "Enabling": "Enabled"}[self.state]
        return {"State": self.state}

    def update_event_source_mapping(self, UUID: str, Enabled: bool) -> None:
        assert not self.state.endswith("ing"), "ResourceInUseException"
        self.state, self.reads = ("Enabling" if Enabled else "Disabling"), 2
        self.done.append(f"queue {Enabled}")

    def put_function_concurrency(self, FunctionName: str, ReservedConcurrentExecutions: int) -> None:
        self.done.append(f"API {ReservedConcurrentExecutions}")

    def delete_function_concurrency(self, FunctionName: str) -> None:
        self.done.append("API")

    def update_function_configuration(self, FunctionName: str, Description: str) -> None:
        self.done.append(f"new containers of {FunctionName}")

    def get_waiter(self, name: str) -> "Aws":
        model = get_session().get_waiter_model("lambda")
        assert name.replace("_", "") in [each.lower() for each in model.waiter_names]
        return self

    def wait(self, FunctionName: str) -> None:
        pass

    def enable_rule(self, Name: str) -> None:
        self.done.append("schedule True")

    def disable_rule(self, Name: str) -> None:
        self.done.append("schedule False")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing.time, "sleep", lambda _: None)
    monkeypatch.setattr(pausing, "read_deployed_record", lambda *_: RECORD)


def target(monkeypatch: pytest.MonkeyPatch, aws: Aws) -> Target:
    monkeypatch.setattr(Target, "client", lambda *_: aws)
    return Target("prod", {}, {})


def test_the_api_stops_first_and_starts_last_in_new_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws()
    pausing.pause(target(monkeypatch, aws), drain_seconds=0)
    assert aws.done == ["API 0", "queue False", "schedule False"] and aws.state == "Disabled"
    aws.done.clear()
    pausing.resume(target(monkeypatch, aws))
    assert aws.done == ["new containers of arn:api", "queue True", "schedule True", "API"]


@pytest.mark.parametrize("state", ["Disabling", "Disabled", "Enabling"])
def test_a_stop_that_was_interrupted_goes_on(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    aws = Aws(state)
    pausing.pause(target(monkeypatch, aws), drain_seconds=0)
    assert aws.state == "Disabled"


def test_a_queue_that_is_changed_for_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pausing, "SETTLED_WITHIN_SECONDS", -1)
    with pytest.raises(DeploymentStopped, match=r"how it reads the queue webhooks \(Updating\)"):
        pausing.pause(target(monkeypatch, Aws("Updating", reads=10**9)), drain_seconds=0)
