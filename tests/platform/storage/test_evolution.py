"""Versions of the code that run beside each other: the older one keeps what the newer one wrote, or refuses it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, get_args, get_type_hints
from uuid import uuid4

import pytest

from chalicelib.base.errors import ServiceError
from chalicelib.base.frozen import frozen
from chalicelib.base.lists import Named, Span, lists, place_of
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, PAYMENTS, Counts, KeyPattern, Record
from chalicelib.platform.storage.items import NewerShape, item_of, update_of
from chalicelib.platform.storage.store import Store
from infra.documents.data import record_classes
from infra.local.cloud import Cloud
from tests.fakes.world import PREFIX, START, World
from tests.platform.storage.kept_records import RECORDS

NESTED, DEFAULTS = (Path(__file__).parent / "vectors" / name for name in ("nested_shapes.json", "defaults.json"))
LATER = START + timedelta(days=1)
MOST_OPERATORS, LONGEST_EXPRESSION = 300, 4_096
"""What DynamoDB accepts in one expression."""


@frozen
class Note(Record):
    """A record as it was before the change."""

    KEY: ClassVar[KeyPattern] = KeyPattern(PAYMENTS, "NOTE#{note_id}", "NOTE")

    note_id: str
    text: str | None


@frozen
class NewNote(Note):
    """The same record after it: with an attribute more, of a list, due and with an end."""

    topic: str | None = None
    ends_at: datetime | None = None

    @property
    def next_due(self) -> datetime | None:
        return self.ends_at

    @property
    def listed(self) -> Mapping[str, str]:
        return lists(self.note_id, "note", {"by_type": self.topic})

    @property
    def listed_at(self) -> str:
        return place_of(START, self.note_id)

    @property
    def vanishes_at(self) -> datetime | None:
        return self.ends_at


class OtherShape(Note):
    """The same record in a form that code of shape 1 cannot read."""

    SCHEMA = 2


@pytest.fixture(params=["memory", "moto", "local cloud"])
def store(request: pytest.FixtureRequest, client_of_moto: Any) -> Store:
    if request.param == "local cloud":
        cloud: Cloud = request.getfixturevalue("cloud")
        return Store(PREFIX, cloud.client("dynamodb"))
    world: World = request.getfixturevalue(request.param)
    return world.services.store


def new_note() -> NewNote:
    return NewNote(uuid4().hex, "first", topic="a", ends_at=START)


def of(note: Note) -> Any:
    return type(note).KEY.of(note_id=note.note_id)


def alone(store: Store, note: Note) -> None:
    store.write(note)


def together(store: Store, note: Note) -> None:
    store.write(note, Note(uuid4().hex, "another"))


def is_listed(store: Store, note: Note) -> bool:
    span = Span(Named("by_type", f"{note.note_id}#note#a"), FIRST_SORT_KEY, LAST_SORT_KEY)
    return bool(store.newest(NewNote, span, 5).records)


def is_due(store: Store, note: Note) -> bool:
    return of(note) in list(store.due(NewNote, LATER, 1_000))


@pytest.mark.parametrize("write", [alone, together])
def test_what_newer_code_wrote_outlives_a_change_by_older_code(
    store: Store, write: Callable[[Store, Note], None]
) -> None:
    note = new_note()
    write(store, note)
    read = store.get(Note, of(note))
    assert read == Note(note.note_id, "first", version=1)
    write(store, replace(read, text="second"))
    assert store.get(NewNote, of(note)) == replace(note, text="second", version=2)
    assert is_listed(store, note) and is_due(store, note)
    write(store, replace(note, text=None, topic=None, ends_at=None, version=2))
    assert store.get(NewNote, of(note)) == NewNote(note.note_id, None, version=3)
    assert not is_listed(store, note) and not is_due(store, note)


def test_an_item_of_a_newer_shape_is_neither_read_nor_changed_by_older_code(store: Store) -> None:
    note = OtherShape(uuid4().hex, "first")
    store.write(note)
    reads: list[Callable[[], Any]] = [
        lambda: store.get(Note, of(note)),
        lambda: store.get_many({of(note): Note}),
        lambda: store.query(Note, Note.KEY.all(note_id=note.note_id)),
        lambda: store.query_mixed((Note,), of(note).pk),
    ]
    for read in reads:
        with pytest.raises(NewerShape) as refused:
            read()
        assert isinstance(refused.value, ServiceError) and refused.value.status == 503
        assert f"NOTE#{note.note_id}" not in refused.value.message
        assert f"Note NOTE#{note.note_id} NOTE has shape 2" in str(refused.value.logged)
    assert store.get(OtherShape, of(note)) == replace(note, version=1)


def test_code_of_a_newer_shape_reads_items_of_the_older_one_and_those_without_a_shape(world: World) -> None:
    store, note = world.services.store, Note(uuid4().hex, "first")
    store.write(note)
    assert store.get(OtherShape, of(note)) == OtherShape(note.note_id, "first", version=1)
    world.client.update_item(
        TableName=f"{PREFIX}-payments",
        Key={"pk": {"S": of(note).pk}, "sk": {"S": of(note).sk}},
        UpdateExpression="REMOVE #s",
        ExpressionAttributeNames={"#s": "schema"},
    )
    assert store.get(Note, of(note)) == replace(note, version=1)


def test_a_change_of_any_kind_of_record_makes_the_item_that_the_record_says_and_keeps_what_it_does_not_know(
    world: World,
) -> None:
    """Before it the item has every attribute that its kind may have."""
    for name, record in RECORDS.items():
        again: Any = replace(record, version=7)  # type: ignore[type-var]
        key, table = again.key, f"{PREFIX}-{again.key.table}"
        removed = set(update_of(again, key)["ExpressionAttributeNames"].values()) - item_of(again, key).keys()
        stale = {each: {"N" if each in ("due_at", "ttl") else "S": "1"} for each in removed}
        unknown = {"of_newer_code": {"S": "kept"}}
        before = {**item_of(replace(again, version=6), key), **stale, **unknown}
        world.client.put_item(TableName=table, Item=before)
        world.services.store.write(again)
        item = world.client.get_item(TableName=table, Key={"pk": {"S": key.pk}, "sk": {"S": key.sk}})["Item"]
        del item["write_id"]
        assert item == {**item_of(again, key), **unknown}, name


def test_a_change_of_any_kind_of_record_is_far_below_the_limits_of_expressions() -> None:
    for name, each in RECORDS.items():
        record: Any = replace(each, version=1)  # type: ignore[type-var]
        parameters = update_of(record, record.key)
        expression, names = parameters["UpdateExpression"], parameters["ExpressionAttributeNames"]
        assert len(expression) < LONGEST_EXPRESSION / 2, name
        assert len(names) < MOST_OPERATORS / 2, name


def test_kinds_with_counts_keep_their_shape() -> None:
    """They are changed without being read."""
    kinds = [cls for cls in record_classes() if Counts in get_type_hints(cls).values()]
    assert kinds and all(cls.SCHEMA == 1 for cls in kinds)


def test_what_is_stored_inside_an_attribute_has_the_fields_it_had() -> None:
    """An attribute is written whole: older code drops what newer code added inside it.

    So new fields belong into the record itself. Where that is wrong: deploy code that has the field and leaves it at its
    default, then code that sets it. Each is a deployment of its own, and the field is added to the file with the first.
    """
    found = {name: sorted(_attributes(cls)) for name, cls in _stored_inside().items()}
    assert found == json.loads(NESTED.read_text()), f"read the docstring; what is right here goes into {NESTED}"


def test_defaults_of_stored_fields_are_what_they_were() -> None:
    """A field at its default has no attribute: another default would change what stored items say.

    So a field whose default was wrong gets another name. New fields are added to the file.
    """
    stored: dict[str, Any] = {**{cls.__name__: cls for cls in record_classes()}, **_stored_inside()}
    found = {
        f"{name}.{field.name}": str(field.default)
        for name, cls in sorted(stored.items())
        for field in fields(cls)
        if field.default is not MISSING and field.default is not None
    }
    assert found == json.loads(DEFAULTS.read_text()), f"read the docstring; new fields go into {DEFAULTS}"


def _stored_inside() -> dict[str, type]:
    """The dataclasses that are stored inside an attribute of a record, by room and name."""
    found = dict[str, type]()
    kinds: list[Any] = list(record_classes())
    for cls in kinds:
        hints = get_type_hints(cls)
        for field in fields(cls):
            _collect(hints[field.name], found)
    return found


def _collect(hint: Any, found: dict[str, type]) -> None:
    """Adds the dataclasses that a type consists of."""
    for part in get_args(hint):
        _collect(part, found)
    if not is_dataclass(hint) or not isinstance(hint, type):
        return
    name = f"{'.'.join(hint.__module__.split('.')[1:-1])}.{hint.__name__}"
    if name not in found:
        found[name] = hint
        for part in get_type_hints(hint).values():
            _collect(part, found)


def _attributes(cls: Any) -> set[str]:
    return {field.metadata.get("attribute", field.name) for field in fields(cls)}.union(getattr(cls, "FORMER", ()))
