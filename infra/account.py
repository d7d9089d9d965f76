"""What of a stage is in the account already, written in the form of Chalice's own record.

Chalice remembers a deployment in `.chalice/deployed/<stage>.json`, and only when it succeeded: after a failure the next
run makes a second REST API and stops at roles it does not know (aws/chalice issue 1340). So the record is not kept in a
file; before each deployment it is read from the account, where every resource but two has a name that follows from
application, stage and function. The REST API is known by its name and its stage, an event source by its function.
"""

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from infra import APP
from infra.iam import ACCESS, function_name
from infra.stack import DeploymentStopped

Client = Callable[[str], Any]
Resource = dict[str, str]


def deployed_record(client: Client, stage: str) -> dict[str, Any]:
    """Chalice's record (schema 2.0) of what `stage` has in the account that `client(service)` reaches.

    Functions that app.py no longer has are in it too, so that Chalice removes them.
    """
    functions = _functions(client("lambda"), stage)
    names = [*ACCESS, *(name for name in functions if name not in ACCESS)]
    resources = [
        *_layer(client("lambda"), stage),
        *_roles(client("iam"), stage, names),
        *(_resource(name, "lambda_function", lambda_arn=arn) for name, arn in functions.items()),
        *_event_sources(client("lambda"), functions),
        *_rules(client("events"), stage, names),
        *_rest_api(client("apigateway"), stage),
    ]
    return {"resources": resources, "schema_version": "2.0", "backend": "api"}


def rest_api_id(client: Client, stage: str) -> str | None:
    """The REST API of the stage: ours by name, with a stage of that name, or with none after a deployment that failed.

    Raises DeploymentStopped when more than one fits, because only a human knows which one callers use.
    """
    apigateway = client("apigateway")
    ours = [
        api["id"]
        for page in apigateway.get_paginator("get_rest_apis").paginate()
        for api in page["items"]
        if api["name"] == APP
    ]
    stages = {api: {item["stageName"] for item in apigateway.get_stages(restApiId=api).get("item", [])} for api in ours}
    fitting = [api for api in ours if stage in stages[api]] or [api for api in ours if not stages[api]]
    if len(fitting) > 1:
        raise DeploymentStopped(
            f"There are several REST APIs named {APP} for stage {stage} ({', '.join(sorted(fitting))});"
            " delete all but the one that is in use, then deploy again."
        )
    return fitting[0] if fitting else None


def _functions(lambda_: Any, stage: str) -> dict[str, str]:
    """Name in app.py -> ARN. Ours are told by their own name and that of their role."""
    found = {}
    for page in lambda_.get_paginator("list_functions").paginate():
        for item in page["Functions"]:
            role = item["Role"].rpartition("/")[2]
            name = role.removeprefix(f"{APP}-{stage}-")
            if name != role and item["FunctionName"] == function_name(stage, name):
                found[name] = item["FunctionArn"]
    return found


def _layer(lambda_: Any, stage: str) -> Iterator[Resource]:
    versions = lambda_.list_layer_versions(LayerName=f"{APP}-{stage}-managed-layer").get("LayerVersions", [])
    if versions:
        newest = max(versions, key=lambda version: version["Version"])
        yield _resource("managed-layer", "lambda_layer", layer_version_arn=newest["LayerVersionArn"])


def _roles(iam: Any, stage: str, functions: list[str]) -> Iterator[Resource]:
    for function in functions:
        name = f"{APP}-{stage}-{function}"
        try:
            arn = iam.get_role(RoleName=name)["Role"]["Arn"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchEntity":
                raise
        else:
            yield _resource(f"{function}_role", "iam_role", role_arn=arn, role_name=name)


def _event_sources(lambda_: Any, functions: dict[str, str]) -> Iterator[Resource]:
    for function, arn in functions.items():
        mappings = lambda_.list_event_source_mappings(FunctionName=arn)["EventSourceMappings"]
        for mapping in [item for item in mappings if item["State"] != "Deleting"][:1]:
            queue_arn = mapping["EventSourceArn"]
            yield _resource(
                f"{function}-sqs-event-source",
                "sqs_event",
                queue_arn=queue_arn,
                event_uuid=mapping["UUID"],
                queue=queue_arn.rsplit(":", 1)[1],
                lambda_arn=arn,
            )


def _rules(events: Any, stage: str, functions: list[str]) -> Iterator[Resource]:
    prefix = f"{APP}-{stage}-"
    for rule in events.list_rules(NamePrefix=prefix)["Rules"]:
        name = rule["Name"].removeprefix(prefix)
        if name.removesuffix("-event") in functions:
            yield _resource(name, "cloudwatch_event", rule_name=rule["Name"])


def _rest_api(apigateway: Any, stage: str) -> Iterator[Resource]:
    api = rest_api_id(lambda _service: apigateway, stage)
    if api is not None:
        yield _resource("rest_api", "rest_api", rest_api_id=api, rest_api_url="")


def _resource(name: str, kind: str, **values: str) -> Resource:
    return {"name": name, "resource_type": kind, **values}
