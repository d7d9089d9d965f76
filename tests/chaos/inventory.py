"""What a stage has in an account, in a form in which two stages are equal if the same was deployed."""

import json
import re
from typing import Any

from infra.account import rest_api_id
from infra.local.cloud import Cloud

STACKS = ("CREATE_COMPLETE", "UPDATE_COMPLETE")


def inventory(cloud: Cloud, prefix: str) -> dict[str, Any]:
    """The resources whose names begin with `prefix`, by kind, without what AWS names: ids of APIs, of mappings and of
    the versions of layers."""
    api = rest_api_id(cloud.client, prefix.rpartition("-")[2])
    found = {
        **_functions(cloud, prefix),
        **_api(cloud, api),
        "roles": {name: _policies(cloud, name) for name in _roles(cloud, prefix)},
        "rules": {
            each["Name"]: _rule(cloud, each)
            for each in cloud.client("events").list_rules(NamePrefix=prefix)["Rules"]
        },
        "queues": sorted(cloud.client("sqs").list_queues(QueueNamePrefix=prefix).get("QueueUrls", [])),
        "tables": _names(cloud, "dynamodb", "list_tables", "TableNames", "", prefix),
        "logs": _names(cloud, "logs", "describe_log_groups", "logGroups", "logGroupName", prefix),
        "alarms": _names(cloud, "cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName", prefix),
        "topics": _names(cloud, "sns", "list_topics", "Topics", "TopicArn", prefix),
        "keys": len(_pages(cloud, "kms", "list_keys", "Keys")),
        "aliases": _names(cloud, "kms", "list_aliases", "Aliases", "AliasName", prefix),
        "secrets": _names(cloud, "secretsmanager", "list_secrets", "SecretList", "Name", prefix),
        "stacks": _stacks(cloud),
        "lock": [each for each in _objects(cloud, prefix) if not each.startswith(("deployments/", "builds/"))],
    }
    text = json.dumps(found, sort_keys=True, default=str)
    return dict(json.loads(re.sub(re.escape(api or "-"), "<api>", text)))


def _functions(cloud: Cloud, prefix: str) -> dict[str, Any]:
    lambda_ = cloud.client("lambda")
    names = [each["FunctionName"] for each in _pages(cloud, "lambda", "list_functions", "Functions")]
    mine = [name for name in names if name.startswith(prefix)]
    layers = lambda_.list_layer_versions(LayerName=f"{prefix}-managed-layer")["LayerVersions"]
    mappings = lambda_.list_event_source_mappings()["EventSourceMappings"]
    return {
        "functions": {name: _function(lambda_, name) for name in mine},
        "versions of the layer": len(layers),
        "mappings": sorted(
            [each["FunctionArn"], each["EventSourceArn"], each["State"], each["BatchSize"]] for each in mappings
        ),
    }


def _function(lambda_: Any, name: str) -> dict[str, Any]:
    found = lambda_.get_function(FunctionName=name)
    kept = ("Runtime", "Handler", "MemorySize", "Timeout", "Architectures", "Environment", "Role", "CodeSha256")
    statements = json.loads(_policy(lambda_, name))["Statement"]
    return {
        **{each: found["Configuration"].get(each) for each in kept},
        "layers": len(found["Configuration"].get("Layers", [])),
        "reserved": found.get("Concurrency"),
        "recursion": lambda_.get_function_recursion_config(FunctionName=name)["RecursiveLoop"],
        "invoked by": sorted([str(each["Principal"]), json.dumps(each.get("Condition"))] for each in statements),
    }


def _policy(lambda_: Any, name: str) -> str:
    try:
        return str(lambda_.get_policy(FunctionName=name)["Policy"])
    except lambda_.exceptions.ResourceNotFoundException:
        return '{"Statement": []}'


def _api(cloud: Cloud, api: str | None) -> dict[str, Any]:
    gateway = cloud.client("apigateway")
    if api is None:
        return {"api": None}
    resources = gateway.get_resources(restApiId=api, limit=500)["items"]
    stages = gateway.get_stages(restApiId=api)["item"]
    return {
        "apis": len(gateway.get_rest_apis()["items"]),
        "api": sorted([each["path"], sorted(each.get("resourceMethods", {}))] for each in resources),
        "stages": [[each["stageName"], each.get("methodSettings"), each.get("accessLogSettings")] for each in stages],
        "responses": sorted(each["responseType"] for each in gateway.get_gateway_responses(restApiId=api)["items"]),
    }


def _roles(cloud: Cloud, prefix: str) -> list[str]:
    names = [each["RoleName"] for each in _pages(cloud, "iam", "list_roles", "Roles")]
    return [name for name in names if name.startswith(prefix)]


def _policies(cloud: Cloud, role: str) -> dict[str, Any]:
    iam = cloud.client("iam")
    names = iam.list_role_policies(RoleName=role)["PolicyNames"]
    return {name: iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names}


def _rule(cloud: Cloud, rule: dict[str, Any]) -> list[Any]:
    targets = cloud.client("events").list_targets_by_rule(Rule=rule["Name"])["Targets"]
    return [rule.get("ScheduleExpression"), rule["State"], sorted(each["Arn"] for each in targets)]


def _stacks(cloud: Cloud) -> dict[str, Any]:
    """The resources of each stack, and whether CloudFormation has finished it."""
    cloudformation = cloud.client("cloudformation")
    resources = {
        each["StackName"]: cloudformation.describe_stack_resources(StackName=each["StackName"])["StackResources"]
        for each in _pages(cloud, "cloudformation", "list_stacks", "StackSummaries")
        if each["StackStatus"] != "DELETE_COMPLETE"
    }
    return {
        name: [
            cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] in STACKS,
            sorted(each["LogicalResourceId"] for each in found),
        ]
        for name, found in resources.items()
    }


def _names(cloud: Cloud, service: str, operation: str, key: str, name: str, prefix: str) -> list[str]:
    """The names, by their attribute if they have others, that have the prefix of the stage in them."""
    found = [each[name] if name else each for each in _pages(cloud, service, operation, key)]
    return sorted(each for each in found if prefix in each)


def _objects(cloud: Cloud, prefix: str) -> list[str]:
    """Those of the bucket of deployments: that of the archive outlives a stage."""
    s3 = cloud.client("s3")
    names = [each["Name"] for each in s3.list_buckets()["Buckets"]]
    (bucket,) = [each for each in names if each.startswith(prefix) and not each.startswith(f"{prefix}-archive-")]
    return [each["Key"] for each in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]


def _pages(cloud: Cloud, service: str, operation: str, key: str) -> list[Any]:
    return [each for page in cloud.client(service).get_paginator(operation).paginate() for each in page[key]]
