"""The faster updates of the tests' DynamoDB: an item becomes what moto makes of it, and is refused what moto refuses."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto.dynamodb import models

from tests.fakes import swift_updates
from tests.fakes.world import PREFIX, in_process_aws

TABLE = f"{PREFIX}-payments"
KEY = {"pk": {"S": "A"}, "sk": {"S": "B"}}
NAMES = ("pk", "size_in_units", "other", "#one", "#two")
values = st.one_of(
    st.integers(-5, 5).map(lambda number: {"N": str(number)}),
    st.sampled_from(({"S": ""}, {"S": "text"}, {"BOOL": True}, {"SS": ["a", "b"]}, {"L": [{"N": "1"}]})),
)
expressions = st.sampled_from(
    (
        "SET {} = :a",
        "SET {} = :a, {} = :b",
        "ADD {} :a",
        "SET {} = :a ADD {} :b",
        "SET {} = :a, {} = :b ADD {} :c",
        "SET {} = {} + :a",
        "SET {} = if_not_exists({}, :a)",
        "REMOVE {}",
        "SET {} = :a REMOVE {}",
        "SET {}=:a,{}=:b REMOVE {}",
        "SET {} = :a REMOVE {}, {}",
        "SET {} = :a REMOVE {} ADD {} :b",
        "SET {} = :a REMOVE {}.part",
        "ADD {} :a SET {} = :b",
    )
)
updates = st.tuples(
    expressions, st.permutations(NAMES), st.fixed_dictionaries({":a": values, ":b": values, ":c": values})
)


def made(client: Any, steps: list[Any]) -> list[Any]:
    """What each update answers, or why it was refused."""
    answers = []
    client.delete_item(TableName=TABLE, Key=KEY)
    for expression, names, given_values in steps:
        text = expression.format(*names)
        used = {name: f"attribute{name[1:]}" for name in NAMES if name.startswith("#") and name in text}
        given = {name: value for name, value in given_values.items() if name in text}
        more = {"ExpressionAttributeNames": used} if used else {}
        more |= {"ExpressionAttributeValues": given} if given else {}
        try:
            reply = client.update_item(
                TableName=TABLE, Key=KEY, UpdateExpression=text, ReturnValues="ALL_NEW", **more
            )
            answers.append(reply["Attributes"])
        except client.exceptions.ClientError as error:
            answers.append(str(error))
    return answers


@settings(max_examples=60)
@given(steps=st.lists(updates, min_size=1, max_size=6))
def test_updates_are_those_of_moto(steps: list[Any]) -> None:
    with in_process_aws() as client:
        swift = made(client, steps)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(models, "UpdateExpressionValidator", swift_updates.UpdateExpressionValidator)
            assert swift == made(client, steps)
