"""Writes that DynamoDB applied, but whose response was lost: the repetition by botocore is not a conflict with itself."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from chalicelib.base.records import Record
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.rate_limits.records import CallCounter
from chalicelib.platform.storage.store import Absent, Delete, Store, WriteConflict
from infra.local.cloud import Cloud
from tests.fakes.world import PREFIX, START

LOST = [ReadTimeoutError(endpoint_url="x"), ConnectionClosedError(endpoint_url="x")]


@pytest.fixture
def store(cloud: Cloud) -> Store:
    return Store(PREFIX, cloud.client("dynamodb"))


@contextmanager
def losing(store: Store, times: int = 1, error: Exception = LOST[0]) -> Iterator[list[str]]:
    """The next calls are applied, and their responses are lost; yields the operations that were sent."""
    session, sent = store.client._endpoint.http_session, list[str]()
    send = session.send

    def lossy(request: Any) -> Any:
        target = request.headers["X-Amz-Target"]
        sent.append((target.decode() if isinstance(target, bytes) else target).split(".")[1])
        response = send(request)
        if len(sent) <= times:
            raise error
        return response

    session.send = lossy
    try:
        yield sent
    finally:
        session.send = send


def account() -> Account:
    return Account(uuid4().hex, "n", START)


def stored(store: Store, record: Record) -> Any:
    return store.get(type(record), record.key)


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("times", [1, 2])
def test_a_put_whose_response_is_lost_is_no_conflict(store: Store, error: Exception, times: int) -> None:
    record = account()
    with losing(store, times, error) as sent:
        store.write(record)
    assert sent == ["PutItem"] * (times + 1)
    changed = replace(record, name="m", version=1)
    with losing(store, times, error):
        store.write(changed)
    assert stored(store, record) == replace(changed, version=2)


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_a_transaction_whose_response_is_lost_is_no_conflict(store: Store, error: Exception) -> None:
    first, second, third = account(), account(), account()
    with losing(store, error=error) as sent:
        store.write(first, second, Absent(third))
    assert sent == ["TransactWriteItems"] * 2
    with losing(store, error=error):
        store.write(replace(first, name="m", version=1), Delete(replace(second, version=1)))
    assert stored(store, first) == replace(first, name="m", version=2)
    assert stored(store, second) is None


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
def test_a_delete_whose_response_is_lost_is_no_conflict(store: Store, error: Exception) -> None:
    record = account()
    store.write(record)
    with losing(store, error=error):
        store.write(Delete(replace(record, version=1)))
    assert stored(store, record) is None
    with pytest.raises(WriteConflict):
        store.write(Delete(replace(record, version=1)))


def test_a_write_of_another_process_is_a_conflict_though_its_record_is_equal(store: Store, cloud: Cloud) -> None:
    record, other = account(), Store(PREFIX, cloud.client("dynamodb"))
    store.write(record)
    for again in (store, other):
        with losing(again, times=0), pytest.raises(WriteConflict):
            again.write(record)
    first, second = replace(record, version=1), account()
    store.write(first, second)
    for again in (store, other):
        with pytest.raises(WriteConflict):
            again.write(first, second)
    assert stored(store, record) == replace(record, version=2)


def test_a_lost_write_that_another_process_replaced_is_a_conflict(store: Store, cloud: Cloud) -> None:
    """The record is read again, and the decision is made for what is stored now."""
    record, other = account(), Store(PREFIX, cloud.client("dynamodb"))
    session = store.client._endpoint.http_session
    send = session.send

    def lossy(request: Any) -> Any:
        send(request)
        session.send = send
        other.write(replace(record, name="theirs", version=1))
        raise LOST[0]

    session.send = lossy
    with pytest.raises(WriteConflict):
        store.write(record)
    assert stored(store, record) == replace(record, name="theirs", version=2)


def test_a_batch_whose_response_is_lost_is_put_again(store: Store) -> None:
    records = [account() for _ in range(3)]
    with losing(store) as sent:
        store.put_many(records)
    assert sent == ["BatchWriteItem"] * 2
    assert all(stored(store, record) == replace(record, version=1) for record in records)


@pytest.mark.parametrize("code", ["TransactionInProgressException", "TransactionCanceledException"])
def test_every_attempt_of_a_transaction_has_the_same_token_and_every_transaction_its_own(
    store: Store, code: str
) -> None:
    tokens = list[str]()

    def refuse(params: dict[str, Any], **_: Any) -> Any:
        tokens.append(json.loads(params["body"])["ClientRequestToken"])
        if len(tokens) > 3:
            return None
        parsed = {"Error": {"Code": code, "Message": "no"}, "CancellationReasons": [{"Code": "TransactionConflict"}]}
        return AWSResponse("http://dynamodb", 400, {}, None), parsed

    store.client.meta.events.register("before-call.dynamodb.TransactWriteItems", refuse)
    store.write(account(), account())
    store.write(account(), account())
    assert len(set(tokens[:4])) == 1 and len(tokens) == 5 and tokens[4] != tokens[0]


def test_a_single_put_has_an_id_that_no_other_has_and_records_do_not_show_it(store: Store) -> None:
    record = account()
    ids = set[str]()
    for version in range(3):
        store.write(replace(record, version=version))
        item = store.client.get_item(
            TableName=f"{PREFIX}-{record.key.table}", Key={"pk": {"S": record.key.pk}, "sk": {"S": record.key.sk}}
        )["Item"]
        ids.add(item["write_id"]["S"])
    assert len(ids) == 3
    assert stored(store, record) == replace(record, version=3)


def test_a_call_whose_response_is_lost_is_counted_twice(store: Store) -> None:
    """Counters only limit rates: one call more or less does not matter."""
    counter = CallCounter(uuid4().hex, START + timedelta(seconds=1))
    with losing(store):
        assert store.count(counter, 5) == 2
    assert store.count(counter, 2) is None
