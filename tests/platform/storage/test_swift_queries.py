"""The faster queries of the tests' DynamoDB: they find what moto finds, in its order, and are refused what moto refuses."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto.dynamodb import responses
from moto.dynamodb.models.table import Table

from tests.fakes import swift_queries
from tests.fakes.world import PREFIX, in_process_aws

TABLE = f"{PREFIX}-payments"
texts = st.sampled_from(("", "A", "B", "C"))
items = st.dictionaries(
    st.tuples(st.sampled_from("AB"), st.sampled_from("ABCD")),
    st.fixed_dictionaries({}, optional={"due_shard": st.sampled_from("12"), "due_at": st.sampled_from("123")}),
    max_size=8,
)
queries = st.fixed_dictionaries(
    {
        "KeyConditionExpression": st.sampled_from(
            (
                "pk = :a",
                "pk = :a AND sk < :b",
                "pk = :a AND sk > :b",
                "pk = :a AND sk BETWEEN :b AND :c",
                "pk = :a AND begins_with(sk, :b)",
                "sk = :a",
                "pk < :a",
            )
        ),
        "ExpressionAttributeValues": st.tuples(texts, texts, texts),
    },
    optional={"ScanIndexForward": st.booleans(), "Limit": st.integers(1, 3)},
)
of_index = st.fixed_dictionaries(
    {
        "IndexName": st.just("by_due"),
        "KeyConditionExpression": st.sampled_from(("due_shard = :a", "due_shard = :a AND due_at <= :b", "due_at = :a")),
        "ExpressionAttributeValues": st.tuples(*[st.sampled_from("123")] * 3),
    },
    optional={"ScanIndexForward": st.booleans(), "Limit": st.integers(1, 3)},
)


def type_in(condition: str, name: str) -> str:
    """The type of what a value is compared with."""
    return "N" if f"due_at <= {name}" in condition or f"due_at = {name}" in condition else "S"


def found(client: Any, query: dict[str, Any]) -> Any:
    """The items and the key to go on from, or why the query was refused."""
    named = zip((":a", ":b", ":c"), query["ExpressionAttributeValues"], strict=True)
    condition = query["KeyConditionExpression"]
    values = {name: {type_in(condition, name): text} for name, text in named if name in condition}
    try:
        reply = client.query(TableName=TABLE, **{**query, "ExpressionAttributeValues": values})
    except client.exceptions.ClientError as error:
        return str(error)
    return reply["Items"], reply["Count"], reply.get("LastEvaluatedKey")


@settings(max_examples=60)
@given(stored=items, asked=st.lists(queries | of_index, min_size=1, max_size=6))
def test_queries_find_what_moto_finds(stored: Any, asked: list[dict[str, Any]]) -> None:
    with in_process_aws() as client, pytest.MonkeyPatch.context() as patch:
        for (pk, sk), more in stored.items():
            attributes = {name: {"N" if name == "due_at" else "S": text} for name, text in more.items()}
            client.put_item(TableName=TABLE, Item={"pk": {"S": pk}, "sk": {"S": sk}, **attributes})
        swift = [found(client, query) for query in asked]
        patch.setattr(Table, "query", swift_queries._query)
        patch.setattr(responses, "parse_expression", swift_queries._parse)
        assert swift == [found(client, query) for query in asked]
