"""Reads the deployed resources of a stage from the AWS account, in the format of Chalice's deployment record.

Chalice writes `.chalice/deployed/<stage>.json` only after a deployment that succeeded. After a failure its next run
creates a second REST API and stops at roles that exist (aws/chalice issue 1340). So the record is made before each
deployment from the resources in the account. Their names follow from application, stage and function, except for the
REST API, which is found by its name and stage, and event sources, which are found by their function.
"""

from collections.abc import Callable, Iterator
from typing import Any

from botocore.exceptions import ClientError

from infra import APP
from infra.iam import ACCESS, function_name
from infra.stack import DeploymentStopped

Client = Callable[[str], Any]
Resource = dict[str, str]


def read_deployed_record(client: Client, stage: str) -> dict[str, Any]:
    """Chalice's record (schema 2.0) of the resources of `stage`. `client(service)` makes the AWS clients.

    It includes functions that app.py no longer has, so that Chalice removes them.
    """
    functions = list_deployed_functions(client("lambda"), stage)
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
    """The id of the REST API named APP that has the stage, or has no stage because its first deployment failed.

    Raises DeploymentStopped if there are several, as only the operator knows which one callers use.
    """
    apigateway = client("apigateway")
    candidates = [
        api["id"]
        for page in apigateway.get_paginator("get_rest_apis").paginate()
        for api in page["items"]
        if api["name"] == APP
    ]
    stages = {
        api: {item["stageName"] for item in apigateway.get_stages(restApiId=api).get("item", [])} for api in candidates
    }
    matching = [api for api in candidates if stage in stages[api]] or [api for api in candidates if not stages[api]]
    if len(matching) > 1:
        raise DeploymentStopped(
            f"There are several REST APIs named {APP} for stage {stage} ({', '.join(sorted(matching))});"
            " delete all but the one that is in use, then deploy again."
        )
    return matching[0] if matching else None


def list_deployed_functions(lambda_: Any, stage: str) -> dict[str, str]:
    """Name in app.py -> ARN, of the functions whose name and role have the names of this stage."""
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
    pages = events.get_paginator("list_rules").paginate(NamePrefix=prefix)
    for rule in (each for page in pages for each in page["Rules"]):
        name = rule["Name"].removeprefix(prefix)
        if name.removesuffix("-event") in functions:
            yield _resource(name, "cloudwatch_event", rule_name=rule["Name"])


def _rest_api(apigateway: Any, stage: str) -> Iterator[Resource]:
    api = rest_api_id(lambda _service: apigateway, stage)
    if api is not None:
        yield _resource("rest_api", "rest_api", rest_api_id=api, rest_api_url="")


def _resource(name: str, kind: str, **values: str) -> Resource:
    return {"name": name, "resource_type": kind, **values}
