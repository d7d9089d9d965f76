"""What a restore copies back into a table, and what it leaves as it is."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import boto3
import pytest
from moto import mock_aws

from chalicelib.platform.emergency_stop.records import Stop
from chalicelib.platform.storage.store import Store
from infra.recovery import destroy, restore
from infra.recovery.restore import Changes
from infra.stack import DeploymentStopped
from infra.target import Target

KEYS: Any = {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(restore, "_SEGMENTS", 1)  # moto is not made for several threads
    with mock_aws():
        yield boto3.client("dynamodb", "us-east-1")


def make(dynamodb: Any, table: str, **items: str) -> None:
    dynamodb.create_table(TableName=table, **KEYS)
    for name, status in items.items():
        dynamodb.put_item(TableName=table, Item={"pk": {"S": name}, "sk": {"S": "X"}, "status": {"S": status}})


def back_up(dynamodb: Any, table: str) -> None:
    recovery = {"PointInTimeRecoveryEnabled": True}
    dynamodb.update_continuous_backups(TableName=table, PointInTimeRecoverySpecification=recovery)


def items(dynamodb: Any, table: str) -> dict[str, str]:
    return {item["pk"]["S"]: item["status"]["S"] for item in dynamodb.scan(TableName=table)["Items"]}


def test_a_table_becomes_what_its_copy_is_and_a_second_run_changes_nothing(dynamodb: Any) -> None:
    make(dynamodb, "p-payments", same="open", changed="paid", newer="open")
    make(dynamodb, "copy", same="open", changed="open", deleted="open")
    assert restore._copy_back(dynamodb, "copy", "p-payments") == Changes(put=2, deleted=1)
    assert items(dynamodb, "p-payments") == {"same": "open", "changed": "open", "deleted": "open"}
    assert restore._copy_back(dynamodb, "copy", "p-payments") == Changes(0, 0)


def test_more_items_than_one_request_takes(dynamodb: Any) -> None:
    make(dynamodb, "p-payments", **{f"newer{number}": "open" for number in range(60)})
    make(dynamodb, "copy", **{f"older{number}": "open" for number in range(250)})
    assert restore._copy_back(dynamodb, "copy", "p-payments") == Changes(250, 60)
    assert len(items(dynamodb, "p-payments")) == 250


def test_what_was_revoked_or_ended_since_stays_so(dynamodb: Any) -> None:
    make(dynamodb, "p-identity", stolen="revoked", fine="active")
    make(dynamodb, "of-identity", stolen="active", fine="limited")
    restore._copy_back(dynamodb, "of-identity", "p-identity")
    assert items(dynamodb, "p-identity") == {"stolen": "revoked", "fine": "limited"}
    make(dynamodb, "p-sessions", open="active")
    make(dynamodb, "of-sessions", open="older", ended="active")
    restore._copy_back(dynamodb, "of-sessions", "p-sessions")
    assert items(dynamodb, "p-sessions") == {"open": "older"}


def test_payments_that_an_operator_stopped_before_a_restore_stay_stopped(dynamodb: Any) -> None:
    make(dynamodb, "p-ops")
    make(dynamodb, "of-ops")
    Store("p", dynamodb).write(Stop(since=datetime.now(UTC), reason="restore"))
    assert restore._copy_back(dynamodb, "of-ops", "p-ops") == Changes(0, 0)
    assert Store("p", dynamodb).get(Stop, Stop.KEY.of()).reason == "restore"


@pytest.mark.parametrize("fails", ["_drop", "resume"])
def test_a_restore_that_fails_has_not_started_the_stage_so_that_it_can_be_repeated(
    dynamodb: Any, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    done: list[str] = []
    monkeypatch.setattr(restore, "pause", lambda *_: None)
    monkeypatch.setattr(restore, "resume", lambda *_: done.append("started"))
    monkeypatch.setattr(restore, "_restorable", lambda *_: ["payment-requests-prod-ops"])
    monkeypatch.setattr(restore, "_begin", lambda client, _name, copy, _moment: make(client, copy))
    make(dynamodb, "payment-requests-prod-ops")
    target = Target("prod", {}, {})
    monkeypatch.setattr(Target, "client", lambda _, service: boto3.client(service, "us-east-1"))
    boto3.client("s3", "us-east-1").create_bucket(Bucket=target.versions().bucket)

    def fail(*_: Any) -> None:
        raise RuntimeError("no access")

    monkeypatch.setattr(restore, fails, fail)
    with pytest.raises(DeploymentStopped, match="no access"):
        list(restore.restore(target, datetime.now(UTC)))
    assert done == []


def test_tables_are_not_restored_beside_one_that_has_no_backups(dynamodb: Any) -> None:
    for table in restore.TABLES:
        make(dynamodb, f"payment-requests-prod-{table}")
    for table in [each for each in restore.TABLES if each not in ("keys", "ops")]:
        back_up(dynamodb, f"payment-requests-prod-{table}")
    with pytest.raises(DeploymentStopped, match="payment-requests-prod-ops has no backups"):
        restore._restorable(dynamodb, "prod", datetime.now(UTC))


class NewTable:
    """DynamoDB, which does not know a table yet that it has begun to restore, or has removed one that failed."""

    class exceptions:
        class ResourceNotFoundException(Exception):
            pass

    def __init__(self, *statuses: str | None) -> None:
        self.statuses = list(statuses)

    def describe_table(self, **_: str) -> Any:
        status = self.statuses.pop(0)
        if status is None:
            raise self.exceptions.ResourceNotFoundException
        return {"Table": {"TableStatus": status}}


def test_a_table_that_dynamodb_does_not_know_at_once_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore.time, "sleep", lambda _: None)
    restore._wait_until_active(NewTable(None, None, "CREATING", "ACTIVE"), "copy")
    monkeypatch.setattr(restore, "_KNOWN_WITHIN_SECONDS", -1)
    with pytest.raises(DeploymentStopped, match="has no table copy"):
        restore._wait_until_active(NewTable("CREATING", None), "copy")


class Throttled:
    """DynamoDB while it writes one item of a request and leaves the others."""

    def __init__(self) -> None:
        self.written = 0

    def batch_write_item(self, RequestItems: Any) -> Any:
        ((table, requests),) = RequestItems.items()
        self.written += 1
        return {"UnprocessedItems": {table: requests[1:]} if requests[1:] else {}}


def test_what_dynamodb_leaves_is_written_later_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(restore.time, "sleep", pauses.append)
    throttled = Throttled()
    restore._write(throttled, "p-ops", [{"PutRequest": {"Item": {"pk": {"S": str(number)}}}} for number in range(4)])
    assert throttled.written == 4 and pauses == [0.05, 0.1, 0.2]


@pytest.mark.parametrize(
    ("moment", "said"), [("2020-01-01T00:00:00Z", "not before"), ("2999-01-01T00:00:00Z", "not after")]
)
def test_a_time_that_the_backups_do_not_reach_is_refused(dynamodb: Any, moment: str, said: str) -> None:
    for table in restore.TABLES:
        make(dynamodb, f"payment-requests-prod-{table}")
        if table != "keys":
            back_up(dynamodb, f"payment-requests-prod-{table}")
    with pytest.raises(DeploymentStopped, match=f"to a time {said} "):
        restore._restorable(dynamodb, "prod", datetime.fromisoformat(moment))


@pytest.mark.parametrize("text", ["yesterday", "2026-11-22T10:00:00", ""])
def test_a_time_without_a_zone_is_refused(text: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.argv", ["restore", "--stage", "prod", "--time", text])
    with pytest.raises(SystemExit):
        restore.main()
    assert "write the time as 2026-11-22T10:00:00Z" in capsys.readouterr().err


def test_a_table_is_deleted_against_its_protection_and_a_second_run_finds_it_gone(dynamodb: Any) -> None:
    dynamodb.create_table(TableName="p-payments", DeletionProtectionEnabled=True, **KEYS)
    for _ in range(2):
        destroy._delete(lambda _service: dynamodb, "AWS::DynamoDB::Table", "p-payments")
    assert dynamodb.list_tables()["TableNames"] == []


class DeletingTable:
    """DynamoDB while it deletes a table that an interrupted run has begun to delete: it takes no other change."""

    def describe_table(self, **_: str) -> Any:
        return {"Table": {"TableStatus": "DELETING", "DeletionProtectionEnabled": False}}

    def get_waiter(self, name: str) -> Any:
        assert name == "table_not_exists"
        return self

    def wait(self, **_: str) -> None:
        pass


def test_a_table_that_is_being_deleted_is_waited_for() -> None:
    destroy._delete(lambda _service: DeletingTable(), "AWS::DynamoDB::Table", "p-payments")


@pytest.mark.parametrize("typed", ["", "\n", "dev\n", "yes\n"])
def test_a_restore_says_how_far_back_it_goes_and_waits_for_the_name_of_the_stage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    month_ago = datetime.now(UTC) - timedelta(days=31, seconds=5)
    monkeypatch.setattr("sys.argv", ["restore", "--stage", "prod", "--time", month_ago.isoformat()])
    monkeypatch.setattr("sys.stdin", StringIO(typed))
    assert restore.main() == 1
    said = capsys.readouterr()
    assert "all tables of prod back by 31 days" in said.out
    assert "Nothing was changed" in said.err
