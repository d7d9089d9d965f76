"""What records declare of themselves, and the document of it."""

from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any

import pytest

from chalicelib.base.lists import LISTS
from chalicelib.base.records import TABLES, Record
from chalicelib.platform.storage.store import DUE_INDEX
from infra.documents.data import FILE, document, record_classes
from infra.template import whole_template

CLASSES = record_classes()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_record_says_what_it_is_and_is_a_frozen_dataclass(cls: type[Record]) -> None:
    assert is_dataclass(cls)
    with pytest.raises(FrozenInstanceError):
        cls.__new__(cls).version = 1
    assert "version" in {field.name for field in fields(cls)}
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}("), "a dataclass makes such a docstring"
    for name in ("next_due", "vanishes_at"):
        assert getattr(cls, name).__doc__, f"{cls.__name__}.{name} says when, in the document"


def test_no_two_records_have_one_key() -> None:
    """Kinds in one partition differ in the first word of the sort key, which is how a query tells them apart."""
    seen: dict[tuple[str, str, str], type[Record]] = {}
    for cls in CLASSES:
        place = (cls.KEY.table, cls.KEY.partition_format.split("#")[0], cls.KEY.kind)
        other = seen.setdefault(place, cls)
        assert other is cls or {other.__name__, cls.__name__} == {"Ban", "CallCounter"}, (
            f"{cls.__name__} and {other.__name__} may have the same key"
        )


def test_the_document_of_all_records_is_up_to_date() -> None:
    assert FILE.read_text() == document(), "run `make docs`"


def test_every_table_and_index_of_the_document_is_in_the_template() -> None:
    tables = _tables_of_template()
    assert set(TABLES) == tables.keys()
    for cls in CLASSES:
        if cls.next_due is not Record.next_due:
            assert DUE_INDEX in tables[cls.KEY.table], f"{cls.__name__} can be due, but its table has no {DUE_INDEX}"
    due = {cls.KEY.table for cls in CLASSES if cls.next_due is not Record.next_due}
    assert {name for name, indexes in tables.items() if DUE_INDEX in indexes} == due, "an index that no record is in"
    lists = {name: {*indexes} - {DUE_INDEX} for name, indexes in tables.items()}
    assert {name: {*indexes} for name, indexes in LISTS.items()} == {name: each for name, each in lists.items() if each}


def _tables_of_template() -> dict[str, list[str]]:
    """The indexes of each table."""
    resources: dict[str, dict[str, Any]] = whole_template()["Resources"]
    found = {}
    for resource in resources.values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            properties = resource["Properties"]
            name = properties["TableName"]["Fn::Sub"].removeprefix("${Prefix}-")
            found[name] = [index["IndexName"] for index in properties.get("GlobalSecondaryIndexes", [])]
    return found
