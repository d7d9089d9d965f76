"""Creates or updates the CloudFormation stacks of a stage from infra/template.py, on AWS or a local cloud.

    python -m infra.stack    # prints the template of what a stack that was deleted by hand has left (infra/runbook.md)
"""

import json
import time
from typing import Any

import yaml
from botocore.exceptions import ClientError

from infra import APP
from infra.configuration import concurrency_of, config
from infra.indexes import Template, steps
from infra.stacks import split_into_stacks
from infra.template import whole_template

GOOD = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


class DeploymentStopped(Exception):
    """The deployment failed. The message is for the operator; `status` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def apply_stack(cloudformation: Any, stage: str) -> None:
    """Creates or updates the stacks of `stage` (infra/stacks.py) and waits for each.

    `cloudformation` is a boto3 client. New indexes of a table that exists take an update each (infra/indexes.py). A
    creation that fails is not rolled back: the next run continues it, and does not fail because names are taken.
    CloudFormation rolls back an update that fails. Raises DeploymentStopped with the reasons that CloudFormation gives.
    """
    for end, template in split_into_stacks(whole_template()).items():
        _apply(cloudformation, f"{APP}-{stage}{end}", stage, template)


def apply_template(cloudformation: Any, name: str, stage: str, template: Template) -> dict[str, str]:
    """Creates or updates one stack of another template in the same way; returns its outputs by name."""
    return _outputs(_apply(cloudformation, name, stage, template))


def _apply(cloudformation: Any, name: str, stage: str, wanted: Template) -> dict[str, Any]:
    """Creates or updates one stack, and returns it when it is changed."""
    own = config()["stages"].get(stage, {})
    values = {"Prefix": f"{APP}-{stage}", "Stage": stage, "ManyFunctions": str(concurrency_of(own) * 4 // 5)}
    request: dict[str, Any] = {
        "StackName": name,
        "Parameters": [
            {"ParameterKey": key, "ParameterValue": values[key]}
            for key in wanted.get("Parameters", {})
            if key in values
        ],
    }
    stack = _describe(cloudformation, name)
    if stack is None:
        cloudformation.create_stack(**request, TemplateBody=body_of(wanted), DisableRollback=True)
        return _good(cloudformation, name)
    if stack["StackStatus"].endswith("_IN_PROGRESS"):
        raise DeploymentStopped(f"The stack {name} is being changed by someone else ({stack['StackStatus']}).")
    if stack["StackStatus"] == "UPDATE_ROLLBACK_FAILED":
        stack = _end_rollback(cloudformation, name)
    # A creation that failed, and failed again when it was continued, can only be updated like this.
    request["DisableRollback"] = stack["StackStatus"] in ("CREATE_FAILED", "UPDATE_FAILED")
    for template in steps(read_deployed_template(cloudformation, name), wanted):
        if _update(cloudformation, {**request, "TemplateBody": body_of(template)}):
            stack = _good(cloudformation, name)
    return stack


def has_stack(cloudformation: Any, name: str) -> bool:
    """Whether there is such a stack."""
    return _describe(cloudformation, name) is not None


def stack_names(stage: str) -> list[str]:
    """The stacks of a stage, in the order in which they are made; the first one holds the data."""
    return [f"{APP}-{stage}{end}" for end in split_into_stacks(whole_template())]


def missing_resources(cloudformation: Any, stage: str) -> list[str]:
    """The resources of the template that the stacks of a stage do not have."""
    missing: set[str] = set()
    for end, template in split_into_stacks(whole_template()).items():
        name = f"{APP}-{stage}{end}"
        there = read_deployed_template(cloudformation, name)["Resources"] if has_stack(cloudformation, name) else {}
        missing |= template["Resources"].keys() - there.keys()
    return sorted(missing)


def delete_stack(cloudformation: Any, name: str) -> None:
    """Deletes a stack, if there is one, and waits for it. Raises DeploymentStopped with the reasons for a failure."""
    if not has_stack(cloudformation, name):
        return
    cloudformation.delete_stack(StackName=name)
    pause = 0.1
    while (stack := _describe(cloudformation, name)) is not None:
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            raise DeploymentStopped(_failure(cloudformation, name, stack))
        time.sleep(pause)
        pause = min(pause * 2, 5)


def reduce_stack(cloudformation: Any, stage: str) -> None:
    """Deletes all of the first stack of a stage but what holds data: resources with a deletion policy, and their names.

    What stays belongs to the stack, so that the next deployment completes it.
    """
    name = f"{APP}-{stage}"
    template = read_deployed_template(cloudformation, name)
    kept = {
        each: resource
        for each, resource in template["Resources"].items()
        if resource.get("DeletionPolicy") == "Retain" or resource["Type"] == "AWS::KMS::Alias"
    }
    if kept.keys() != template["Resources"].keys():
        without_outputs = {each: part for each, part in template.items() if each != "Outputs"}
        _apply(cloudformation, name, stage, {**without_outputs, "Resources": kept})


def left_template() -> Template:
    """The template of what stays when the first stack is deleted by hand: what has a deletion policy."""
    template = split_into_stacks(whole_template())[""]
    left = {name: each for name, each in template["Resources"].items() if each.get("DeletionPolicy") == "Retain"}
    return {**template, "Resources": left}


def body_of(template: Template) -> str:
    """A template as it is sent: JSON without spaces, because CloudFormation takes 51,200 bytes."""
    return json.dumps(template, separators=(",", ":"))


def read_deployed_template(cloudformation: Any, name: str) -> Template:
    """The template of the last update of a stack that succeeded."""
    body = cloudformation.get_template(StackName=name)["TemplateBody"]
    template: Template = yaml.safe_load(body) if isinstance(body, str) else body
    return template


def _good(cloudformation: Any, name: str) -> dict[str, Any]:
    """The stack when it is changed. Raises DeploymentStopped if that failed."""
    stack = _wait_until_settled(cloudformation, name)
    if stack["StackStatus"] not in GOOD:
        raise DeploymentStopped(_failure(cloudformation, name, stack))
    return stack


def _end_rollback(cloudformation: Any, name: str) -> dict[str, Any]:
    """Ends a rollback that CloudFormation gave up, as it takes no update before. Raises DeploymentStopped."""
    cloudformation.continue_update_rollback(StackName=name)
    stack = _wait_until_settled(cloudformation, name)
    if stack["StackStatus"] != "UPDATE_ROLLBACK_COMPLETE":
        raise DeploymentStopped(_failure(cloudformation, name, stack))
    return stack


def _update(cloudformation: Any, request: dict[str, Any]) -> bool:
    """Starts an update; returns False if there is nothing to change."""
    try:
        cloudformation.update_stack(**request)
    except ClientError as error:
        message = error.response["Error"]["Message"]
        if "No updates are to be performed" in message:
            return False
        raise DeploymentStopped(f"CloudFormation refuses to update {request['StackName']}: {message}") from error
    return True


def _describe(cloudformation: Any, name: str) -> dict[str, Any] | None:
    try:
        stack: dict[str, Any] = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in error.response["Error"]["Message"]:
            return None
        raise
    return None if stack["StackStatus"] == "DELETE_COMPLETE" else stack


def _wait_until_settled(cloudformation: Any, name: str) -> dict[str, Any]:
    """The stack when nothing is in progress any more. CloudFormation limits how long that takes."""
    pause = 0.1
    while True:
        stack = _describe(cloudformation, name)
        if stack is None:
            raise DeploymentStopped(f"The stack {name} has gone while it was being made.")
        if not stack["StackStatus"].endswith("_IN_PROGRESS"):
            return stack
        time.sleep(pause)
        pause = min(pause * 2, 5)


def _failure(cloudformation: Any, name: str, stack: dict[str, Any]) -> str:
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    reasons = [
        f"  {event['LogicalResourceId']}: {event['ResourceStatusReason']}"
        for event in reversed(events)
        if event["ResourceStatus"].endswith("_FAILED") and event.get("ResourceStatusReason")
    ]
    return "\n".join([f"The stack {name} ended as {stack['StackStatus']}:", *dict.fromkeys(reasons)])


def _outputs(stack: dict[str, Any]) -> dict[str, str]:
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


if __name__ == "__main__":
    print(body_of(left_template()))
