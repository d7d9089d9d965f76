"""infra/invokers.py: who may invoke the functions of a stage."""

import io
import json
import zipfile
from typing import Any

from infra.iam import function_name
from infra.invokers import invoker_differences, remove_other_invokers
from infra.local.cloud import Cloud

STAGE = "dev"
ROLE = "payment-requests-dev-api_handler"
HERE = "us-east-1:000000000000"
API, GONE = "ours000001", "gone000001"


def test_only_the_present_api_and_the_own_rule_keep_their_permission_to_invoke_a_function(cloud: Cloud) -> None:
    lambda_ = cloud.client("lambda")
    role = cloud.client("iam").create_role(RoleName=ROLE, AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    permitted = {
        "api_handler": [execute_api(GONE), execute_api(API), events("scan_chain"), ("sns.amazonaws.com", "")],
        "expire_links": [events("expire_links"), events("scan_chain"), execute_api(API), ("000000000017", "")],
        "retry_webhook": [],
    }
    for function, permissions in permitted.items():
        make_function(lambda_, role, function, permissions)
    differences = [line for each in permitted for line in invoker_differences(lambda_, STAGE, each, API)]
    assert len(differences) == 6, differences
    assert differences[0].startswith('api_handler: {"Service": "apigateway.amazonaws.com"} may invoke it, for arn:aws:')
    for _twice in range(2):
        remove_other_invokers(lambda_, STAGE, permitted, API)
        assert sources(lambda_, "api_handler") == [execute_api(API)[1]]
        assert sources(lambda_, "expire_links") == [events("expire_links")[1]]
    assert [line for each in permitted for line in invoker_differences(lambda_, STAGE, each, API)] == []


def execute_api(api: str) -> tuple[str, str]:
    return "apigateway.amazonaws.com", f"arn:aws:execute-api:{HERE}:{api}/*"


def events(function: str) -> tuple[str, str]:
    return "events.amazonaws.com", f"arn:aws:events:{HERE}:rule/payment-requests-{STAGE}-{function}-event"


def make_function(lambda_: Any, role: str, function: str, permissions: list[tuple[str, str]]) -> None:
    name, file = function_name(STAGE, function), io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("app.py", "")
    lambda_.create_function(
        FunctionName=name, Runtime="python3.11", Role=role, Handler="app.app", Code={"ZipFile": file.getvalue()}
    )
    for number, (principal, source) in enumerate(permissions):
        lambda_.add_permission(
            FunctionName=name,
            StatementId=f"statement-{number}",
            Action="lambda:InvokeFunction",
            Principal=principal,
            **({"SourceArn": source} if source else {}),
        )


def sources(lambda_: Any, function: str) -> list[str]:
    statements = json.loads(lambda_.get_policy(FunctionName=function_name(STAGE, function))["Policy"])["Statement"]
    return [each["Condition"]["ArnLike"]["AWS:SourceArn"] for each in statements]
