"""Items that an earlier version wrote are read, and written again with no other difference than is listed here."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.records import Record
from chalicelib.payments.requests.payments.records import Payment, UnmatchedTransfer
from chalicelib.platform.access.rate_limits import store as limits
from chalicelib.platform.access.rate_limits.rules import Window
from chalicelib.platform.storage.items import item_of
from chalicelib.platform.storage.store import Store
from infra.documents.data import record_classes
from tests.fakes.world import PREFIX, World
from tests.platform.storage.kept_records import NOW, RECORDS

BEFORE: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "items_before_rooms.json").read_text())
WRITTEN_WITHOUT_A_RECORD = {"CallCounter"}
"""By UpdateItem, in place; compared on its own below."""


NOT_READ_ANY_MORE = {"unfinalized payment", "unfinalized unmatched transfer"}
"""Items of kinds that no longer exist; they vanish after seven days."""
ADDED = {
    "Link": {"merged_tokens"},
    "Reference": {"is_refund", "account_id"},
    "Cursor": {"verifications"},
    "Request": {
        "dust_count",
        "dust_amount",
        "unknown_token_count",
        "other_payee_count",
        "right_payee_count",
        "account_id",
        "is_moved",
        "is_crypto_to_fiat",
        "unexpected_count",
        "unexpected_unnotified",
        "received",
        "refunded",
        "refund_count",
    },
    "AnnouncedTransaction": {"others", "locks", "failures_notified", "announcers", "sent_claims"},
    "Payment": {
        "event_key",
        "is_announced",
        "type",
        "account_id",
        "payee",
        "currency",
        "invoice_currency",
        "payment_reference",
        "is_counted",
        "is_unexpected",
        "direction",
        "excess",
    },
    "UnmatchedTransfer": {"event_key", "is_unexpected"},
    "Event": {"variants"},
    "Endpoint": {"events"},
    "Circuit": {"is_slow", "is_public"},
    "Delivery": {"is_public"},
    "EndpointUrl": {"is_public"},
    "IdempotentRequest": {"nonce", "steps"},
    "Account": {"sessions_since"},
    "ApiKey": {"uses_payment_intents"},
    "ClientId": {"uses_payment_intents", "may_execute"},
    "Session": {"user_version"},
    "UnrecordedTransfers": {"waits_for_rate", "account_id"},
    "LoggedTransfer": {"account_id"},
}
"""The attributes that are written since, by kind, beside those of lists; items without them are read."""
KEYS_CHANGED = {"Payment", "UnmatchedTransfer"}
"""Kinds that had the block's hash and the log's index in their sort key, in place of the transaction and the event key."""
KEPT = sorted(BEFORE["items"].keys() - NOT_READ_ANY_MORE)


def kind_of(record: Record) -> str:
    return type(record).__name__


def test_every_kept_item_has_its_record_and_every_kind_a_record() -> None:
    assert set(KEPT) <= RECORDS.keys()
    kinds = {kind_of(record) for record in RECORDS.values()}
    assert kinds | WRITTEN_WITHOUT_A_RECORD == {cls.__name__ for cls in record_classes()}


@pytest.mark.parametrize("name", KEPT)
def test_a_record_is_written_as_it_always_was_except_for_the_attributes_that_were_added(name: str) -> None:
    record, kept = RECORDS[name], BEFORE["items"][name]
    assert record.key.table == kept["table"]
    item = item_of(record, record.key)
    added = {"schema", *ADDED.get(kind_of(record), set()), *record.listed, *(["listed_at"] if record.listed else [])}
    assert added <= item.keys()
    changed_key = {"sk": {"S": record.key.sk}} if kind_of(record) in KEYS_CHANGED else {}
    assert {each: item[each] for each in item.keys() - added} == {**kept["item"], **changed_key}


@pytest.mark.parametrize("name", [name for name in KEPT if kind_of(RECORDS[name]) in KEYS_CHANGED])
def test_a_changed_sort_key_has_the_transaction_and_the_event_key(name: str) -> None:
    record = RECORDS[name]
    assert isinstance(record, Payment | UnmatchedTransfer)
    assert record.key.pk == BEFORE["items"][name]["item"]["pk"]["S"]
    assert record.key.sk == f"{record.network}#{record.tx_hash}#"


@pytest.mark.parametrize("name", KEPT)
def test_an_item_of_an_earlier_version_is_read_by_its_key_or_with_those_of_its_request(world: World, name: str) -> None:
    record, kept = RECORDS[name], BEFORE["items"][name]
    world.client.put_item(TableName=f"{PREFIX}-{kept['table']}", Item=kept["item"])
    store = Store(PREFIX, world.client)
    if isinstance(record, Payment | UnmatchedTransfer):
        (found,) = store.query(type(record), type(record).KEY.all(request_id=record.request_id))
    else:
        found = store.get(type(record), record.key)
    assert found == replace(record, version=record.version + 1)


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_read_as_it_was_written(world: World, name: str) -> None:
    record = RECORDS[name]
    item = item_of(record, record.key)
    world.client.put_item(TableName=f"{PREFIX}-{record.key.table}", Item=item)
    found = Store(PREFIX, world.client).get(type(record), record.key)
    assert found == replace(record, version=record.version + 1)


def test_a_counter_is_where_it_always_was(world: World) -> None:
    kept = BEFORE["counter"]
    limits.count(world.services.store, Window("tier#caller#1", 3, 1, NOW.replace(microsecond=0)))
    item = world.client.get_item(TableName=f"{PREFIX}-{kept['TableName']}", Key=kept["Key"])["Item"]
    assert item == {**kept["Key"], "calls": {"N": "1"}, "ttl": kept["ttl"]}
