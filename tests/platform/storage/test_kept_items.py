"""Items as the first version of this shape wrote them are read, and written again with no other difference than is listed."""

import json
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

from chalicelib.base.records import INLINE, Record
from chalicelib.payments.links.records import AnnouncedTransaction
from chalicelib.platform.access.rate_limits import store as limit_store
from chalicelib.platform.access.rate_limits.rules import Window
from chalicelib.platform.storage.items import item_of
from chalicelib.platform.storage.store import Store
from infra.documents.data import record_classes
from tests.fakes.world import PREFIX, World
from tests.platform.storage.kept_records import NOW, RECORDS

SHAPE_1: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "items_of_shape_1.json").read_text())
"""The item of each of RECORDS as it was written then. A change adds to ADDED, and never writes this file anew."""
WRITTEN_WITHOUT_A_RECORD = {"CallCounter"}
"""By UpdateItem, in place; compared on its own below."""
ADDED: dict[str, set[str]] = {
    "Account": {"approval_delay_hours", "plain_transfers"},
    "ApiKey": {"is_test"},
    "AuditEntry": {"is_notified", "due_at", "due_shard"},
    "Challenge": {"purpose"},
    "Circuit": {"is_notified"},
    "ClientId": {"is_test", "may_read_payers"},
    "Cursor": {"next_targets", "silent", "weak"},
    "Endpoint": {"secret_number", "is_confirmed", "http_signature"},
    "RelayedCall": {"many_open"},
    "RecurringPayment": {"by_account", "listed_at"},
    "RelayedTransaction": {"payers"},
    "RelayerProgress": {"has_low_balance"},
    "Reverts": {"more_open_calls", "successes"},
    "Link": {"has_known_payees", "is_being_cancelled"},
    "Request": {"event_count", "paid_when_cancelled"},
}
"""The attributes that are written since, by kind, beside those of lists; items without them are read."""
OTHERWISE = {
    "SigningNonce": {"ttl"},
    "RecurringPayment": {"template"},
    "LinkAnnouncements": {"bridge_transfer", "others"},
    "PaymentIntent": {"announced"},
    "Delivery": {"body"},
    "Event": {"body"},
}
"""The attributes that are written otherwise since: a nonce is kept for longer, a template has more fields inside, the
number of a deposit is text, what is inside the other announced transactions leaves out its defaults, and bodies are
compressed with a preset dictionary."""
RAISED = {"Delivery", "Event"}
"""The kinds that are written in a higher shape since, with its number."""
WITHOUT_INDEX = {"by_symbol", "by_invoice_symbol"}
"""The lists that are not written any more: a symbol is looked for in those of its currencies."""
KEPT = sorted(SHAPE_1["items"])


def kind_of(record: Record) -> str:
    return type(record).__name__


def test_every_kept_item_has_its_record_and_every_kind_a_record() -> None:
    assert set(KEPT) <= RECORDS.keys()
    kinds = {kind_of(record) for record in RECORDS.values()}
    assert kinds | WRITTEN_WITHOUT_A_RECORD == {cls.__name__ for cls in record_classes()}


def at_default(record: Any) -> set[str]:
    """The attributes of the fields that have their defaults, and so are not written."""
    found = set[str]()
    for each in fields(record):
        value = getattr(record, each.name)
        if each.metadata == INLINE:
            found |= at_default(value)
        elif each.default is not MISSING and value == each.default:
            found.add(each.metadata.get("attribute", each.name))
    return found - {"version"} - AnnouncedTransaction.FORMER.keys()


def test_a_record_is_written_as_it_always_was_except_for_the_attributes_that_were_added_and_defaults() -> None:
    for name in KEPT:
        record, kept = RECORDS[name], SHAPE_1["items"][name]
        assert record.key.table == kept["table"], name
        item = item_of(record, record.key)
        defaults = at_default(record)
        assert not defaults & item.keys(), name
        added = ADDED.get(kind_of(record), set()) - defaults
        assert added <= item.keys(), name
        shape = {"schema": {"N": str(record.SCHEMA)}}
        assert (record.SCHEMA > 1) == (kind_of(record) in RAISED), name
        otherwise = OTHERWISE.get(kind_of(record), set())
        before = {each: value for each, value in kept["item"].items() if each not in WITHOUT_INDEX | otherwise | defaults}
        assert {each: item[each] for each in item.keys() - added - otherwise} == before | shape, name


def test_an_item_of_an_earlier_version_is_read_by_its_key(moto: World) -> None:
    """One has a number that is too long for DynamoDB, and not for moto."""
    for name in KEPT:
        record, kept = RECORDS[name], SHAPE_1["items"][name]
        moto.client.put_item(TableName=f"{PREFIX}-{kept['table']}", Item=kept["item"])
        found = Store(PREFIX, moto.client).get(type(record), record.key)
        assert found == replace(record, version=record.version + 1), name


def test_a_record_is_read_as_it_was_written(world: World) -> None:
    for name, record in RECORDS.items():
        item = item_of(record, record.key)
        world.client.put_item(TableName=f"{PREFIX}-{record.key.table}", Item=item)
        found = Store(PREFIX, world.client).get(type(record), record.key)
        assert found == replace(record, version=record.version + 1), name


def test_a_counter_is_where_it_always_was(world: World) -> None:
    kept = SHAPE_1["counter"]
    limit_store.count(world.services.store, Window("tier#caller#1", 3, 1, NOW.replace(microsecond=0)))
    item = world.client.get_item(TableName=f"{PREFIX}-{kept['TableName']}", Key=kept["Key"])["Item"]
    assert item == {**kept["Key"], "calls": {"N": "1"}, "ttl": kept["ttl"]}
