"""Tables that are ready for more writes than new ones take, as a stage asks for it."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.stack import DeploymentStopped
from infra.warming import warm, warm_differences

WANTED = {"webhooks": 13_000, "webhooks by_due": 9_000, "ops": 6_100}


@pytest.fixture
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("dynamodb", "us-east-1")
        for table, indexes in (("webhooks", ("by_due", "by_kind")), ("ops", ()), ("payments", ())):
            _make(client, f"payment-requests-prod-{table}", indexes)
        yield client


def _make(client: Any, table: str, indexes: tuple[str, ...]) -> None:
    keys: Any = [{"AttributeName": "pk", "KeyType": "HASH"}]
    found: Any = [{"IndexName": each, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}} for each in indexes]
    client.create_table(
        TableName=table,
        KeySchema=keys,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": found} if found else {}),
    )


def test_what_is_lower_is_raised_once_and_what_nobody_asked_for_stays(dynamodb: Any) -> None:
    before = list(warm_differences(dynamodb, "prod", WANTED))
    assert before == [
        "ops: it is ready for 4000 write units a second, and 6100 here",
        "webhooks: it is ready for 4000 write units a second, and 13000 here",
        "webhooks by_due: it is ready for 4000 write units a second, and 9000 here",
    ]
    warm(dynamodb, "prod", WANTED)
    assert list(warm_differences(dynamodb, "prod", WANTED)) == []
    updates = list[Any]()
    dynamodb.meta.events.register("before-call.dynamodb.UpdateTable", lambda params, **_: updates.append(params))
    warm(dynamodb, "prod", WANTED)
    assert updates == [], "nothing is paid for twice"
    assert list(warm_differences(dynamodb, "prod", {"webhooks by_kind": 4_000, "payments": 4_000})) == []


def test_a_stage_that_asks_for_less_than_there_is_lowers_nothing(dynamodb: Any) -> None:
    warm(dynamodb, "prod", WANTED)
    warm(dynamodb, "prod", {"webhooks": 5_000})
    assert list(warm_differences(dynamodb, "prod", WANTED)) == []


def test_an_index_that_does_not_exist_is_named(dynamodb: Any) -> None:
    with pytest.raises(DeploymentStopped, match="webhooks by_dues, and there is no such index"):
        warm(dynamodb, "prod", {"webhooks by_dues": 9_000})
