"""DynamoDB in memory answers as moto and the local cloud do: what the store sends, generated, and what it must not send.

Where moto takes what AWS refuses, or answers otherwise, only the local cloud is asked.
"""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.platform.storage.store import Store
from infra.local.cloud import Cloud
from tests.fakes.memory_dynamodb import MemoryDynamoDB
from tests.fakes.world import PREFIX, dynamodb_in_memory, dynamodb_of_moto
from tests.platform.storage.generated import STEPS, answer, examples, hold_to

TABLE = f"{PREFIX}-payments"
KB = 1_000
EXAMPLES = 100 if os.environ.get("CHAOS") else 10
"""Of the store's operations and of the client's calls, which take a third of a second each."""


@pytest.fixture(scope="module")
def memory() -> MemoryDynamoDB:
    return dynamodb_in_memory()


@pytest.fixture(scope="module")
def moto() -> Iterator[Any]:
    with dynamodb_of_moto() as client:
        yield client


@pytest.fixture(scope="module")
def local(cloud: Cloud) -> Any:
    return cloud.client("dynamodb")


# --- Operations of the store ---


def hold_store_to(memory: Any, other: Any, steps: Any) -> None:
    records = hold_to(*(Store(PREFIX, client, at_once=1) for client in (memory, other)), steps)  # type: ignore[call-arg]
    assert records.items(memory) == records.items(other)


@settings(max_examples=EXAMPLES)
@given(STEPS)
def test_any_operations_of_the_store_answer_and_leave_what_they_do_on_moto(memory: Any, moto: Any, steps: Any) -> None:
    hold_store_to(memory, moto, steps)


@settings(max_examples=EXAMPLES)
@given(STEPS)
def test_any_operations_of_the_store_answer_and_leave_what_they_do_on_the_local_cloud(memory: Any, local: Any, steps: Any) -> None:
    hold_store_to(memory, local, steps)


# --- Calls of the client ---

TEXTS = st.sampled_from(("a", "b", "~", "é"))
VALUES = st.one_of(
    st.integers(-3, 3).map(lambda number: {"N": str(number)}),
    st.sampled_from(({"S": ""}, {"S": "text"}, {"BOOL": True}, {"B": b"\x00\xff"}, {"L": [{"N": "1"}]}, {"M": {"x": {"S": "y"}}})),
)
KEYS = st.tuples(st.sampled_from("ab"), TEXTS | st.just(""))
ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "due_shard": st.sampled_from(({"S": "one"}, {"S": "two"})),
        "due_at": st.integers(1, 12).map(lambda number: {"N": str(number)}),
        "by_account": TEXTS.map(lambda text: {"S": text}),
        "listed_at": TEXTS.map(lambda text: {"S": text}),
        "calls": VALUES,
        "version": VALUES,
    },
)
CONDITIONS = st.sampled_from(
    (
        "",
        "attribute_not_exists(pk)",
        "attribute_exists(pk)",
        "version = :v",
        "calls >= :v",
        "attribute_not_exists(calls) OR calls <= :v",
        "(calls = :v OR version = :v) AND sk < :v",
        "begins_with(sk, :v)",
    )
)
UPDATES = st.sampled_from(("SET calls = :w", "ADD calls :w", "SET #v=:w REMOVE calls", "REMOVE calls, #v", "SET sk = :w", "SET #v = :w ADD calls :w"))
ACTIONS = st.tuples(st.sampled_from(("Put", "Update", "Delete", "ConditionCheck")), KEYS, ATTRIBUTES, CONDITIONS, UPDATES, VALUES, st.booleans())


def action_of(name: str, action: Any) -> dict[str, Any]:
    """An action of a transaction on one of the items of an example."""
    kind, (pk, sk), attributes, condition, update, value, shows = action
    condition = condition or ("attribute_not_exists(nothing)" if kind == "ConditionCheck" else "")
    update = update if kind == "Update" else ""
    names = {"#v": "version"} if "#v" in update else {}
    values = {each: value for each in (":v", ":w") if each in condition + update}
    given = {
        "ConditionExpression": condition,
        "UpdateExpression": update,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": values,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD" if shows and condition else "",
    }
    key = {"pk": {"S": f"{name}{pk}"}, "sk": {"S": sk}}
    place = {"Item": key | attributes} if kind == "Put" else {"Key": key}
    return {kind: {"TableName": TABLE, **place, **{each: one for each, one in given.items() if one}}}


def call(client: Any, name: str, actions: list[Any]) -> Any:
    """One call for a single write, a transaction for several."""
    made = [action_of(name, each) for each in actions]
    ((kind, parameters),) = made[0].items()
    if len(made) > 1 or kind == "ConditionCheck":
        return answer(lambda: client.transact_write_items(TransactItems=made))
    return answer(lambda: getattr(client, f"{kind.lower()}_item")(**parameters))


QUERIES = [
    ("", "pk = :a", ()),
    *(("", f"pk = :a AND sk {each} :b", ("S",)) for each in ("<", "<=", ">", ">=", "=")),
    ("", "pk = :a AND sk BETWEEN :b AND :c", ("S", "S")),
    ("", "pk = :a AND begins_with(sk, :b)", ("S",)),
    ("by_due", "due_shard = :a AND due_at BETWEEN :b AND :c", ("N", "N")),
    ("by_due", "due_shard = :a AND due_at > :b", ("N",)),
    ("by_account", "by_account = :a", ()),
]


def pages(client: Any, name: str, number: int, limit: int, forward: bool) -> list[Any]:
    """All pages of one of QUERIES, each with whether it says that more may follow."""
    index, condition, kinds = QUERIES[number]
    bounds = [{kind: "2" if kind == "N" else "a"} for kind in kinds]
    bounds[1:] = [{kind: "9" if kind == "N" else "é"} for kind in kinds[1:]]
    partition = {"": f"{name}a", "by_due": "one", "by_account": "a"}[index]
    values = {":a": {"S": partition}, **dict(zip((":b", ":c"), bounds, strict=False))}
    asked: dict[str, Any] = {"TableName": TABLE, "KeyConditionExpression": condition, "ExpressionAttributeValues": values}
    asked |= {"IndexName": index} if index else {}
    found = []
    while True:
        page = client.query(**asked, Limit=limit, ScanIndexForward=forward)
        found.append((page["Items"], page["Count"], page.get("LastEvaluatedKey")))
        if "LastEvaluatedKey" not in page:
            return found
        asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def listed(found: list[Any], name: str) -> list[Any]:
    """The items of one example, of all pages; those with an equal place in an index are in no order."""
    items = [item for page, _, _ in found for item in page if item["pk"]["S"].startswith(name)]
    return sorted(items, key=repr)


CALLS = st.lists(st.lists(ACTIONS, min_size=1, max_size=3), min_size=2, max_size=8)


def hold_client_to(memory: Any, other: Any, calls: list[Any], limit: int, is_exact: bool) -> None:
    name = f"R{next(examples)}"
    for actions in calls:
        assert call(memory, name, actions) == call(other, name, actions), actions
    for number, (index, _, _) in enumerate(QUERIES):
        for forward in (True, False):
            mine, theirs = (pages(client, name, number, limit, forward) for client in (memory, other))
            if index:
                assert listed(mine, name) == listed(theirs, name)
            elif is_exact:
                assert mine == theirs
            else:
                assert [item for page, _, _ in mine for item in page] == [item for page, _, _ in theirs for item in page]


@settings(max_examples=EXAMPLES)
@given(CALLS, st.integers(1, 4))
def test_any_calls_answer_and_leave_what_they_do_on_the_local_cloud(memory: Any, local: Any, calls: Any, limit: int) -> None:
    hold_client_to(memory, local, calls, limit, is_exact=True)


# --- What the store must not send ---


def item(sk: str = "s", size: int = 0, **more: Any) -> dict[str, Any]:
    return {"pk": {"S": "LIMITS"}, "sk": {"S": sk}, **more, **({"text": {"S": "x" * size}} if size else {})}


def put(sk: str, size: int = 0, **more: Any) -> dict[str, Any]:
    return {"Put": {"TableName": TABLE, "Item": item(sk, size, **more)}}


def update(text: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"TableName": TABLE, "Key": item(), "UpdateExpression": text, "ExpressionAttributeValues": {":v": value, **more}}


def query(condition: str, index: str = "", **more: Any) -> dict[str, Any]:
    values = {each: {"S": each[1:]} for each in (":a", ":b", ":c") if each in condition}
    more |= {"IndexName": index} if index else {}
    return {"TableName": TABLE, "KeyConditionExpression": condition, "ExpressionAttributeValues": values, **more}


def transaction(*actions: dict[str, Any], token: str = "") -> dict[str, Any]:
    return {"TransactItems": [*actions], **({"ClientRequestToken": token} if token else {})}


def batch(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"RequestItems": {TABLE: [{"PutRequest": {"Item": each}} for each in requests]}}


def keys(*sort_keys: str) -> dict[str, Any]:
    return {"RequestItems": {TABLE: {"Keys": [item(sk) for sk in sort_keys]}}}


ONE, LONG = {"N": "1"}, {"S": "x" * 30 * KB}
BAD: dict[str, tuple[str, dict[str, Any]]] = {
    "a partition without a name": ("put_item", {"TableName": TABLE, "Item": {**item(), "pk": {"S": ""}}}),
    "an empty sort key": ("put_item", {"TableName": TABLE, "Item": item("")}),
    "an empty sort key that is read": ("get_item", {"TableName": TABLE, "Key": item("")}),
    "no sort key": ("put_item", {"TableName": TABLE, "Item": {"pk": {"S": "LIMITS"}}}),
    "a sort key of 1,025 bytes": ("put_item", {"TableName": TABLE, "Item": item("x" * 1_025)}),
    "a partition key of 2,049 bytes": ("put_item", {"TableName": TABLE, "Item": {**item(), "pk": {"S": "x" * 2_049}}}),
    "an empty key of an index": ("put_item", {"TableName": TABLE, "Item": item(by_account={"S": ""}, listed_at={"S": "1"})}),
    "an item of 410 KB": ("put_item", put("big", 410 * KB)["Put"]),
    "an item of 410 KB in a transaction": ("transact_write_items", transaction(put("a"), put("b", 410 * KB))),
    "an item of 410 KB in a batch": ("batch_write_item", batch(item("a"), item("b", 410 * KB))),
    "an update to 420 KB": ("update_item", update("SET more = :v", LONG)),
    "no text that a number can be added to": ("update_item", update("ADD words :v", ONE)),
    "101 actions": ("transact_write_items", transaction(*(put(f"{number}") for number in range(101)))),
    "two actions on one item": ("transact_write_items", transaction(put("a"), put("a"))),
    "an action and a check of one item": ("transact_write_items", transaction(put("a"), {"ConditionCheck": {"TableName": TABLE, "Key": item("a"), "ConditionExpression": "attribute_exists(pk)"}})),
    "101 keys": ("batch_get_item", keys(*map(str, range(101)))),
    "one key twice": ("batch_get_item", keys("a", "a")),
    "two puts of one item": ("batch_write_item", batch(item("a"), item("a"))),
    "a value that is not used": ("update_item", update("SET more = :v", ONE, **{":w": ONE})),
    "a value that is not given": ("update_item", update("SET more = :v, less = :w", ONE)),
    "a change of a key": ("update_item", update("SET sk = :v", {"S": "other"})),
    "a reserved word": ("update_item", update("SET status = :v", {"S": "paid"})),
    "a consistent read of an index": ("query", query("by_account = :a", "by_account", ConsistentRead=True)),
    "an empty bound": ("query", {**query("pk = :a AND sk < :b"), "ExpressionAttributeValues": {":a": {"S": "a"}, ":b": {"S": ""}}}),
    "a table that does not exist": ("get_item", {"TableName": "nothing", "Key": item()}),
}
REFUSED_BY_AWS_ALONE: dict[str, tuple[str, dict[str, Any]]] = {
    "a text in place of an index's number": ("put_item", {"TableName": TABLE, "Item": item(due_shard={"S": "1"}, due_at={"S": "1"})}),
    "a number of 39 digits": ("put_item", {"TableName": TABLE, "Item": item(number={"N": "1" * 39})}),
    "26 puts": ("batch_write_item", batch(*(item(f"{number}") for number in range(26)))),
    "a transaction of 4 MB": ("transact_write_items", transaction(*(put(f"{number}", 390 * KB) for number in range(11)))),
    "an update to 420 KB in a transaction": ("transact_write_items", transaction(put("a"), {"Update": update("SET more = :v", LONG)})),
    "a number added to a text in a transaction": ("transact_write_items", transaction(put("a"), {"Update": update("ADD words :v", ONE)})),
    "bounds the other way round": ("query", query("pk = :a AND sk BETWEEN :c AND :b")),
    "an index that does not exist": ("query", query("pk = :a", "by_nothing")),
    "the token of another transaction": ("transact_write_items", transaction(put("b"), token="of another transaction")),
}


def prepare(client: Any) -> None:
    client.put_item(TableName=TABLE, Item=item("s", 390 * KB, words={"S": "text"}))
    client.transact_write_items(**transaction(put("a"), token="of another transaction"))


def items(client: Any) -> list[Any]:
    found = client.query(**query("pk = :a") | {"ExpressionAttributeValues": {":a": {"S": "LIMITS"}}})
    return [{name: each for name, each in one.items() if name != "text"} for one in found["Items"]]


def refusal(client: Any, call: tuple[str, dict[str, Any]]) -> Any:
    """Why it is refused, and what is stored then."""
    prepare(client)
    method, parameters = call
    with pytest.raises(ClientError) as refused:
        getattr(client, method)(**parameters)
    reasons = [each["Code"] for each in refused.value.response.get("CancellationReasons", ())]
    return refused.value.response["Error"]["Code"], reasons, items(client)


@pytest.mark.parametrize("name", BAD)
def test_what_dynamodb_refuses_is_refused_as_moto_does(memory: Any, moto: Any, name: str) -> None:
    assert refusal(memory, BAD[name]) == refusal(moto, BAD[name])


@pytest.mark.parametrize("name", [*BAD, *REFUSED_BY_AWS_ALONE])
def test_what_dynamodb_refuses_is_refused_as_the_local_cloud_does(memory: Any, local: Any, name: str) -> None:
    bad = (BAD | REFUSED_BY_AWS_ALONE)[name]
    assert refusal(memory, bad) == refusal(local, bad)


def test_a_transaction_that_is_sent_again_with_its_token_is_applied_once(memory: Any, local: Any) -> None:
    key = {**item(), "pk": {"S": "REPEATED"}}
    for client in (memory, local):
        for _ in range(2):
            client.transact_write_items(**transaction({"Update": {**update("ADD calls :v", ONE), "Key": key}}, token="a transaction sent twice"))
        assert client.get_item(TableName=TABLE, Key=key)["Item"]["calls"] == ONE


def test_a_query_ends_at_a_megabyte_and_goes_on_from_there(memory: Any, local: Any) -> None:
    found = []
    for client in (memory, local):
        for number in range(5):
            client.put_item(TableName=TABLE, Item={**item(f"{number}", 350 * KB), "pk": {"S": "MEGABYTES"}})
        asked = query("pk = :a") | {"ExpressionAttributeValues": {":a": {"S": "MEGABYTES"}}}
        found.append([(page["Count"], "LastEvaluatedKey" in page) for page in client.get_paginator("query").paginate(**asked)])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "text", ["contains(words, :v)", "version IN (:v)", "version = :v AND", "a.b = :v", "version <> :v"]
)
def test_a_condition_that_the_product_does_not_use_is_an_error_of_the_test(memory: Any, text: str) -> None:
    with pytest.raises(NotImplementedError):
        memory.put_item(TableName=TABLE, Item=item(), ConditionExpression=text, ExpressionAttributeValues={":v": ONE})


@pytest.mark.parametrize("text", ["SET a = a + :v", "SET a = if_not_exists(a, :v)", "DELETE a :v", "SET a = :v SET b = :v", "SET a.b = :v"])
def test_an_update_that_the_product_does_not_use_is_an_error_of_the_test(memory: Any, text: str) -> None:
    with pytest.raises(NotImplementedError):
        memory.update_item(TableName=TABLE, Key=item(), UpdateExpression=text, ExpressionAttributeValues={":v": ONE})


def test_what_a_caller_does_to_an_item_that_it_read_or_wrote_is_not_stored(memory: Any) -> None:
    key = {**item(), "pk": {"S": "CALLERS"}}
    written = {**key, "list": {"L": [{"M": {"x": {"S": "y"}}}]}}
    memory.put_item(TableName=TABLE, Item=written)
    written["list"]["L"][0]["M"]["x"]["S"] = "z"
    read = memory.get_item(TableName=TABLE, Key=key)["Item"]
    read["list"]["L"].clear()
    assert memory.get_item(TableName=TABLE, Key=key)["Item"]["list"] == {"L": [{"M": {"x": {"S": "y"}}}]}
