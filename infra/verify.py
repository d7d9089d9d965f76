"""Compares what runs in a stage with this checkout: code, packages, settings, policies, queues, stacks, API, page.

    python -m infra.verify --stage local|dev|prod    # what `make verify` runs; it changes nothing

Prints a line for each difference. Exit code 1 if there are any, 2 if it could not look.
"""

import argparse
import base64
import hashlib
import io
import json
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.platform.setting_readers import MOST_AT_ONCE
from infra import APP, page_hash
from infra.account import read_deployed_record, rest_api_id
from infra.configuration import config, python_of, stages
from infra.deploy import access_log_group, add_addresses
from infra.gateway import response_differences, route_differences, stage_differences
from infra.hosts import stack_of, template_of
from infra.iam import function_name
from infra.invokers import invoker_differences
from infra.keys import find_disabled_keys
from infra.packaging.bundle import need_python
from infra.packaging.package import package
from infra.packaging.scratch import scratch_folder
from infra.recursion import recursion_difference
from infra.stack import DeploymentStopped, has_stack, read_deployed_template
from infra.stacks import split_into_stacks
from infra.target import HOST_PACKAGES, Target, target_of
from infra.template import whole_template
from infra.versions import Deployment
from infra.waf import has_waf, waf_differences
from infra.warming import warm_differences

Properties = dict[str, Any]
_SECONDS = 60
_SETTINGS = ("Runtime", "Handler", "MemorySize", "Timeout", "Architectures")
FOR_CALLS = 100
"""Executions at once that calls of the API and schedules have beside those of queues."""
_NAMED = 5
"""So many files that differ are named."""


def function_of(handler: str) -> str:
    """The name of the function in ACCESS, by its handler: that of the API is `app.app`."""
    name = handler.removeprefix("app.")
    return "api_handler" if name == "app" else name


def differences(target: Target) -> Iterator[str]:
    """Yields a line for each difference. Raises DeploymentStopped if the package cannot be built, ClientError if the
    account may not be read."""
    api = rest_api_id(target.client, target.stage)
    target = add_addresses(target, api) if api else target
    with scratch_folder() as folder:
        layer = target.stage != "local" or not HOST_PACKAGES
        package(target.stage, folder, target.settings, layer, target.place)
        resources = json.loads((folder / "sam.json").read_text())["Resources"]
        wanted = {
            function_of(each["Properties"]["Handler"]): each["Properties"]
            for each in resources.values()
            if each["Type"] == "AWS::Serverless::Function"
        }
        running = {each["name"] for each in _record(target) if each["resource_type"] == "lambda_function"}
        yield from (f"{each}: a function that this checkout does not have" for each in sorted(running - set(wanted)))
        yield from (f"{each}: there is no such function" for each in sorted(set(wanted) - running))
        archives = {_hash(file): file for file in folder.glob("*.zip")}
        for function in sorted(running & set(wanted)):
            found = target.client("lambda").get_function(FunctionName=function_name(target.stage, function))
            yield from _code(target, function, found, archives)
            yield from _settings(function, wanted[function], found["Configuration"])
            yield from _events(target, function, wanted[function])
            yield from _schedules(target, function, wanted[function])
            yield from _find_reserved(function, found)
            yield from recursion_difference(target.client("lambda"), target.stage, function)
            yield from invoker_differences(target.client("lambda"), target.stage, function, api)
            role = resources[wanted[function]["Role"]["Fn::GetAtt"][0]]["Properties"]
            yield from _policies(target, function, role, found["Configuration"]["Role"].rpartition("/")[2])
    yield from _account(target, wanted.values())
    yield from _stacks(target)
    yield from find_silenced(target.client("cloudwatch"), target.stage)
    yield from find_disabled_keys(target.client("kms"), target.stage)
    yield from (f"the deployment of {each} was not finished" for each in latest(target) if not each.finished)
    if api is None:
        yield "there is no REST API"
        return
    yield from domain_differences(target, api)
    own, gateway = config()["stages"][target.stage], target.client("apigateway")
    yield from stage_differences(gateway, api, target.stage, access_log_group(target), own.get("throttling", {}))
    paths = resources["RestAPI"]["Properties"]["DefinitionBody"]["paths"]
    yield from route_differences(gateway, api, target.stage, paths, function_name(target.stage, "api_handler"))
    yield from response_differences(gateway, api)
    yield from warm_differences(target.client("dynamodb"), target.stage, own.get("warm_write_units", {}))
    has = has_waf(config(), target.stage)
    yield from waf_differences(target.client, has, api, target.stage, target.caller_header)
    found, _ = page_hash.compare(f"{target.api_url(api)}/")
    yield from (f"payment page: {line}" for line in found)


def latest(target: Target) -> list[Deployment]:
    """The latest deployment; none if an earlier version deployed the stage, which did not record any."""
    return target.versions().history()[-1:]


def _record(target: Target) -> list[dict[str, str]]:
    resources: list[dict[str, str]] = read_deployed_record(target.client, target.stage)["resources"]
    return resources


def _code(target: Target, function: str, found: Properties, archives: dict[str, Path]) -> Iterator[str]:
    """Compares hashes; where they differ, the files that differ are named."""
    files = {file.name: file for file in archives.values()}
    sent = [("deployment.zip", found["Configuration"]["CodeSha256"], found["Code"]["Location"])]
    for each in found["Configuration"].get("Layers", ()):
        content = target.client("lambda").get_layer_version_by_arn(Arn=each["Arn"])["Content"]
        sent.append(("layer-deployment.zip", content["CodeSha256"], content["Location"]))
    if len(sent) != len(files):
        yield f"{function}: it has {len(sent) - 1} layers, and {len(files) - 1} here"
    for name, digest, location in sent:
        if digest not in archives and name in files:
            yield from (f"{function}: {line}" for line in _compare_files(digest, location, files[name]))


def _compare_files(digest: str, location: str, ours: Path) -> Iterator[str]:
    """Compares the files of an archive, as another machine may compress the same files to other bytes."""
    with urllib.request.urlopen(location, timeout=_SECONDS) as response:
        theirs = response.read()
    if base64.b64encode(hashlib.sha256(theirs).digest()).decode() != digest:
        yield f"what AWS sends of {ours.name} does not have the SHA-256 that runs, {digest}"
        return
    left, right = _contents(io.BytesIO(theirs)), _contents(ours)
    changed = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))
    if changed:
        more = f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        yield f"{ours.name} differs in {', '.join(changed[:_NAMED])}{more}"


def _contents(archive: Path | io.BytesIO) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: hashlib.sha256(opened.read(name)).digest() for name in opened.namelist()}


def _settings(function: str, wanted: Properties, found: Properties) -> Iterator[str]:
    here = {name: wanted[name] for name in _SETTINGS} | {"Tracing": wanted.get("Tracing", "PassThrough"), "VPC": ""}
    vpc = found.get("VpcConfig", {}).get("VpcId", "")
    there = {name: found[name] for name in _SETTINGS} | {"Tracing": found["TracingConfig"]["Mode"], "VPC": vpc}
    yield from _unequal(function, here, there)
    yield from _unequal(function, wanted["Environment"]["Variables"], found.get("Environment", {}).get("Variables", {}))


def _unequal(what: str, here: Properties, there: Properties) -> Iterator[str]:
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            yield f"{what}: {name} is {there.get(name)!r}, and {here.get(name)!r} here"


def _events(target: Target, function: str, wanted: Properties) -> Iterator[str]:
    """Compares how queues feed the function."""
    here = {
        (each["Properties"]["BatchSize"], _maximum(each["Properties"]), "Enabled")
        for each in wanted.get("Events", {}).values()
        if each["Type"] == "SQS"
    }
    name = function_name(target.stage, function)
    mappings = target.client("lambda").list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    there = {(each["BatchSize"], _maximum(each), each["State"]) for each in mappings}
    if here != there or len(mappings) != len(here):
        found, wanted_here = sorted(there, key=str), sorted(here, key=str)
        yield f"{function}: its queue has (batch, concurrency, state) {found}, and {wanted_here} here"


def _maximum(mapping: Properties) -> int | None:
    """How many functions run at once for a queue at most; None if only Lambda's own limit holds."""
    most: int | None = mapping.get("ScalingConfig", {}).get("MaximumConcurrency")
    return most


def _schedules(target: Target, function: str, wanted: Properties) -> Iterator[str]:
    """Compares the rules of EventBridge by which the function runs."""
    events, name = target.client("events"), function_name(target.stage, function)
    here = {
        (each["Properties"]["Schedule"], "ENABLED")
        for each in wanted.get("Events", {}).values()
        if each["Type"] == "Schedule"
    }
    arn = target.client("lambda").get_function_configuration(FunctionName=name)["FunctionArn"]
    rules = [events.describe_rule(Name=each) for each in events.list_rule_names_by_target(TargetArn=arn)["RuleNames"]]
    there = {(each.get("ScheduleExpression"), each["State"]) for each in rules}
    if here != there or len(rules) != len(here):
        yield f"{function}: its schedules are {sorted(there, key=str)}, and {sorted(here)} here"


def _find_reserved(function: str, found: Properties) -> Iterator[str]:
    """Names executions that a person has reserved for a function: none switches it off."""
    if reserved := found.get("Concurrency"):
        yield f"{function}: {reserved['ReservedConcurrentExecutions']} executions are reserved, and none here"


def _account(target: Target, functions: Iterable[Properties]) -> Iterator[str]:
    """Compares how many functions the account runs at once with how many the queues of the stage may take."""
    events = [event for each in functions for event in each.get("Events", {}).values() if event["Type"] == "SQS"]
    needed = sum(_maximum(event["Properties"]) or MOST_AT_ONCE for event in events)
    free = target.client("lambda").get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    if free < needed + FOR_CALLS:
        yield f"the account runs {free} functions at once; the queues of {target.stage} may take {needed} of them"


def _policies(target: Target, function: str, wanted: Properties, role: str) -> Iterator[str]:
    iam = target.client("iam")
    here = [each["PolicyDocument"] for each in wanted["Policies"]]
    names = iam.list_role_policies(RoleName=role)["PolicyNames"]
    there = [iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]
    if there != here:
        extra = sorted(_actions_of(there) - _actions_of(here))
        missing = sorted(_actions_of(here) - _actions_of(there))
        yield f"{function}: its policy differs; more than here: {extra}; less than here: {missing}"
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    yield from (f"{function}: the policy {each['PolicyArn']} is attached to its role" for each in attached)
    trust = iam.get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]
    if _without_names(trust) != _without_names(wanted["AssumeRolePolicyDocument"]):
        yield f"{function}: its role can be assumed by {json.dumps(trust['Statement'])}"


def _without_names(policy: Properties) -> list[Properties]:
    """The statements without their names, which permit nothing."""
    return [{name: value for name, value in each.items() if name != "Sid"} for each in policy["Statement"]]


def _actions_of(policies: list[Properties]) -> set[str]:
    """Every action with its resource."""
    return {
        f"{action} on {resource}"
        for policy in policies
        for statement in policy["Statement"]
        for action in _list_of(statement["Action"])
        for resource in _list_of(statement["Resource"])
    }


def _list_of(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _stacks(target: Target) -> Iterator[str]:
    for end, template in split_into_stacks(whole_template()).items():
        name = f"{APP}-{target.stage}{end}"
        there = read_deployed_template(target.client("cloudformation"), name)["Resources"]
        changed = [
            each for each in template["Resources"].keys() | there if template["Resources"].get(each) != there.get(each)
        ]
        if changed:
            yield f"the stack {name} was made from another template: {', '.join(sorted(changed))}"
        yield from _drift(target.client("cloudformation"), name)


def _drift(cloudformation: Any, name: str) -> Iterator[str]:
    """What was changed by hand of the resources of a stack, as CloudFormation finds it."""
    detection = cloudformation.detect_stack_drift(StackName=name)["StackDriftDetectionId"]
    while True:
        status = cloudformation.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
        if status["DetectionStatus"] != "DETECTION_IN_PROGRESS":
            break
        time.sleep(1)
    if status["DetectionStatus"] != "DETECTION_COMPLETE":
        yield f"the stack {name}: its changes by hand cannot be read: {status.get('DetectionStatusReason')}"
    filters = ["MODIFIED", "DELETED"]
    found = cloudformation.describe_stack_resource_drifts(StackName=name, StackResourceDriftStatusFilters=filters)
    for each in found["StackResourceDrifts"]:
        changed = [f"{one['PropertyPath']} is {one['ActualValue']}" for one in each.get("PropertyDifferences", [])]
        yield f"{each['PhysicalResourceId']}: changed by hand, {', '.join(changed) or 'it is gone'}"


def find_silenced(cloudwatch: Any, stage: str) -> Iterator[str]:
    """Names alarms whose actions a person has switched off: CloudFormation compares what a template says alone."""
    for page in cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{APP}-{stage}-"):
        silenced = [each["AlarmName"] for each in page["MetricAlarms"] if not each["ActionsEnabled"]]
        yield from (f"{name}: its actions are switched off, so that nobody hears it" for name in silenced)


def domain_differences(target: Target, api: str) -> Iterator[str]:
    """Compares the domains, their mappings and their DNS records."""
    here = template_of(target.hosts, api, target.stage)["Resources"] if target.hosts else {}
    cloudformation, name = target.client("cloudformation"), stack_of(target.stage)
    there = read_deployed_template(cloudformation, name)["Resources"] if has_stack(cloudformation, name) else {}
    changed = sorted(each for each in here.keys() | there if here.get(each) != there.get(each))
    if changed:
        yield f"the stack {name} was made for other hosts: {', '.join(changed)}"


def _hash(file: Path) -> str:
    return base64.b64encode(hashlib.sha256(file.read_bytes()).digest()).decode()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.verify", description="Compare a stage with this checkout.")
    parser.add_argument("--stage", choices=stages(), required=True)
    stage = parser.parse_args().stage
    try:
        need_python(python_of(config(), stage))
        target = target_of(stage)
        found = list(differences(target))
        runs = latest(target)
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return 2
    except (BotoCoreError, ClientError, OSError) as error:
        print(f"{stage} cannot be read: {error}", file=sys.stderr)
        return 2
    for deployment in runs:
        print(f"{stage}: {deployment}" + (", a rollback" if deployment.rolled_back_from else ""))
    for line in found or [f"What runs in {stage} is this checkout."]:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
