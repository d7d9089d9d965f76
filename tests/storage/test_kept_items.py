"""Items that an earlier version wrote are read, and written again, without any difference."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.access.rate_limits import store as limits
from chalicelib.access.rate_limits.rules import Window
from chalicelib.storage.store import Store, item_of
from infra.data_docs import record_classes
from tests.fakes.world import PREFIX, World
from tests.storage.kept_records import NOW, RECORDS

BEFORE: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "items_before_rooms.json").read_text())
WRITTEN_WITHOUT_A_RECORD = {"CallCounter"}
"""By UpdateItem, in place; compared on its own below."""


def test_every_kind_of_record_is_among_the_kept_items() -> None:
    assert RECORDS.keys() == BEFORE["items"].keys()
    kinds = {type(record).__name__ for record in RECORDS.values()}
    assert kinds | WRITTEN_WITHOUT_A_RECORD == {cls.__name__ for cls in record_classes()}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_written_as_it_always_was(name: str) -> None:
    record, kept = RECORDS[name], BEFORE["items"][name]
    assert record.key.table == kept["table"]
    assert item_of(record, record.key) == kept["item"]


@pytest.mark.parametrize("name", RECORDS)
def test_an_item_of_an_earlier_version_is_read_by_its_key(world: World, name: str) -> None:
    record, kept = RECORDS[name], BEFORE["items"][name]
    world.client.put_item(TableName=f"{PREFIX}-{kept['table']}", Item=kept["item"])
    found = Store(PREFIX, world.client).get(type(record), record.key)
    assert found == replace(record, version=record.version + 1)


def test_a_counter_is_where_it_always_was(world: World) -> None:
    kept = BEFORE["counter"]
    limits.count(world.services.store, Window("tier#caller#1", 3, 1, NOW.replace(microsecond=0)))
    item = world.client.get_item(TableName=f"{PREFIX}-{kept['TableName']}", Key=kept["Key"])["Item"]
    assert item == {**kept["Key"], "calls": {"N": "1"}, "ttl": kept["ttl"]}
