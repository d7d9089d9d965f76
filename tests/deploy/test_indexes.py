"""New indexes: a stage that exists gets them one by one, in updates that can be interrupted."""

from copy import deepcopy
from typing import Any

import pytest

from infra import stack
from infra.indexes import steps
from infra.local.cloud import Cloud
from infra.stack import DeploymentStopped, apply_stack
from infra.template import whole_template

WANTED = whole_template()
TABLES = ("PaymentsTable", "WebhooksTable")


def with_indexes(**kept: int) -> dict[str, Any]:
    """The template with so many indexes of each table, as an earlier version or an interrupted update left it."""
    template = deepcopy(WANTED)
    for name, number in kept.items():
        table = template["Resources"][name]["Properties"]
        table["GlobalSecondaryIndexes"] = table["GlobalSecondaryIndexes"][:number]
        used = {key["AttributeName"] for index in table["GlobalSecondaryIndexes"] for key in index["KeySchema"]} | {"pk", "sk"}
        table["AttributeDefinitions"] = [each for each in table["AttributeDefinitions"] if each["AttributeName"] in used]
    return template


def names(template: dict[str, Any], table: str) -> list[str]:
    return [each["IndexName"] for each in template["Resources"][table]["Properties"].get("GlobalSecondaryIndexes", [])]


@pytest.mark.parametrize(("payments", "webhooks"), [(1, 1), (1, 3), (9, 2), (14, 3), (14, 5)])
def test_each_update_adds_one_index_to_a_table_and_the_last_is_the_template(payments: int, webhooks: int) -> None:
    before = with_indexes(PaymentsTable=payments, WebhooksTable=webhooks)
    found = list(steps(before, WANTED))
    assert found[-1] == WANTED
    assert len(found) == max(14 - payments, 5 - webhooks, 1)
    for former, template in zip([before, *found], found, strict=False):
        for table in TABLES:
            assert len(set(names(template, table)) ^ set(names(former, table))) <= 1
            properties = template["Resources"][table]["Properties"]
            keys = [*properties["KeySchema"], *(key for each in properties["GlobalSecondaryIndexes"] for key in each["KeySchema"])]
            defined = [each["AttributeName"] for each in properties["AttributeDefinitions"]]
            assert sorted(defined) == sorted({key["AttributeName"] for key in keys}), "AWS wants them to agree"


def test_an_index_that_is_not_wanted_any_more_goes_the_same_way() -> None:
    fewer = with_indexes(PaymentsTable=12)
    found = list(steps(WANTED, fewer))
    assert [len(names(each, "PaymentsTable")) for each in found] == [13, 12]
    assert found[-1] == fewer


def test_a_new_stage_has_all_at_once_and_an_old_one_step_by_step_and_goes_on_after_an_interruption(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, table = with_indexes(PaymentsTable=1, WebhooksTable=1), "payment-requests-steps-payments"
    cloudformation, dynamodb = cloud.client("cloudformation"), cloud.client("dynamodb")
    updates = list[dict[str, Any]]()

    class Interrupted:
        """The CloudFormation client of a deployment that ends before its fifth update."""

        def __getattr__(self, name: str) -> Any:
            return getattr(cloudformation, name)

        def update_stack(self, **request: Any) -> Any:
            if len(updates) == 4:
                raise DeploymentStopped("the connection is lost")
            updates.append(request)
            return cloudformation.update_stack(**request)

    monkeypatch.setattr(stack, "whole_template", lambda: old)
    apply_stack(cloudformation, "steps")
    dynamodb.put_item(TableName=table, Item={name: {"S": "x"} for name in ("pk", "sk", "by_account", "listed_at")})
    monkeypatch.setattr(stack, "whole_template", whole_template)
    with pytest.raises(DeploymentStopped):
        apply_stack(Interrupted(), "steps")
    assert len(dynamodb.describe_table(TableName=table)["Table"]["GlobalSecondaryIndexes"]) == 5
    apply_stack(cloudformation, "steps")
    made = {each["IndexName"] for each in dynamodb.describe_table(TableName=table)["Table"]["GlobalSecondaryIndexes"]}
    assert made == set(names(WANTED, "PaymentsTable"))
    found = dynamodb.query(
        TableName=table, IndexName="by_account", KeyConditionExpression="by_account = :x", ExpressionAttributeValues={":x": {"S": "x"}}
    )
    assert found["Count"] == 1, "what was there before is in the new index"
