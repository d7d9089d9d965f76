"""The base of stored records: the table and key of each kind, when a record is due, and when it is deleted.

    @frozen
    class Reference(Record):
        KEY = KeyPattern(PAYMENTS, "REFERENCE#{topic}", "REFERENCE")

        topic: str
        ...

    Reference.KEY.of(topic="0x12")      the key of one record, for reading it
    Reference(topic="0x12", ...).key    the same key, from the record
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from string import Formatter
from types import MappingProxyType
from typing import ClassVar, NamedTuple, NewType, Self

from chalicelib.base.frozen import frozen

PAYMENTS, IDENTITY, SESSIONS, WEBHOOKS, OPS, KEYS = "payments", "identity", "sessions", "webhooks", "ops", "keys"
MAILS = "mails"
TABLES = (PAYMENTS, IDENTITY, SESSIONS, WEBHOOKS, MAILS, OPS, KEYS)
FIRST_SORT_KEY, LAST_SORT_KEY = " ", "\uffff"

Counts = NewType("Counts", Mapping[str, int])
"""The type of a field with counts by name, which `storage.store.Add` changes without reading them."""
Uint256 = NewType("Uint256", int)
"""The type of a field with a number of a contract that is no amount: it may have 78 digits, and is stored as text."""
COMPRESSED = MappingProxyType({"preset": b""})
"""The metadata of a field whose text is stored compressed: a write is paid for by the KB. `preset` is the preset
dictionary (RFC 1950), parts of which most values have; it never changes, as what is stored is read with it."""
INLINE = MappingProxyType({"is_inline": True})
"""The metadata of a field with a dataclass whose attributes are stored among those of the record."""


class Key(NamedTuple):
    """The table, partition key and sort key of one record."""

    table: str
    pk: str
    sk: str


class KeyRange(NamedTuple):
    """The records of one partition from the first to the last sort key, both included."""

    table: str
    pk: str
    first: str
    last: str


class KeyPattern:
    """The table of a kind of record, and its partition key and sort key as format strings.

    A placeholder names a field or property of the record. Its format specification may pad a number (`{position:04}`),
    so that keys sort in numeric order, or truncate a text of a caller (`{nonce:.64}`), so that keys stay short.
    """

    def __init__(self, table: str, partition: str, sort: str) -> None:
        self.table = table
        self.partition_format, self.sort_format = partition, sort
        self._partition_of_record, self._sort_of_record = _of_attributes(partition), _of_attributes(sort)
        self._sort_parts = tuple(Formatter().parse(sort))
        self.kind = sort.partition("#")[0]
        """The first word of the sort key, which distinguishes the kinds of records in a partition."""

    def of(self, **values: object) -> Key:
        """The key of the record with these values. Raises KeyError if a placeholder has no value."""
        return Key(self.table, self.partition_format.format_map(values), self.sort_format.format_map(values))

    def of_record(self, record: object) -> Key:
        return Key(self.table, self._partition_of_record.format(record), self._sort_of_record.format(record))

    def names(self, pk: str, sk: str) -> bool:
        """Whether a key is of this kind, by the first words of both of its parts."""
        is_kind = self.kind.startswith("{") or sk.partition("#")[0] == self.kind
        return is_kind and pk.partition("#")[0] == self.partition_format.partition("#")[0]

    def partition(self, **values: object) -> str:
        """The partition key for these values."""
        return self.partition_format.format_map(values)

    def all(self, **values: object) -> KeyRange:
        """The range of all records of a partition whose sort key begins with these values."""
        prefix = self._prefix(values)
        return KeyRange(self.table, self.partition(**values), prefix or FIRST_SORT_KEY, prefix + LAST_SORT_KEY)

    def starting(self, **values: object) -> KeyRange:
        """The range from the first record whose sort key begins with these values to the last one of the kind."""
        return KeyRange(self.table, self.partition(**values), self._prefix(values), self._prefix({}) + LAST_SORT_KEY)

    def _prefix(self, values: dict[str, object]) -> str:
        """The sort key up to the first placeholder without a value."""
        text = ""
        for literal, name, specification, _ in self._sort_parts:
            text += literal
            if name is None or name not in values:
                break
            text += format(values[name], specification or "")
        return text


@frozen
class Record:
    """The base of all stored records, which are frozen dataclasses too.

    `version` is the number of times the record was written, 0 before the first write. A field is stored as an attribute
    of the same name, or of the name in its metadata ("attribute"), which a renamed field needs to read stored items.
    Properties are not stored.
    """

    KEY: ClassVar[KeyPattern]
    DUE_GROUP: ClassVar[str] = ""
    """The prefix of this kind's shards in the index `by_due`. A sweep reads the shards of one group."""
    SCHEMA: ClassVar[int] = 1
    """The shape of this kind's items, which is stored with each as `schema`; an item without it has shape 1.

    Code refuses items of a higher shape than its own. A new attribute that older code can do without is not a new
    shape.
    """
    MAY_LAG: ClassVar[bool] = False
    """Whether reads by key may miss the changes of the last second, for half the units."""
    ARE_FEW: ClassVar[bool] = False
    """Whether their number is limited, for an account or a network, so that a store with an end keeps them."""
    UNREPEATABLE: ClassVar[frozenset[str]] = frozenset()
    """The fields that differ each time the same request is run: ciphertexts, and what describes the single call."""
    RESOURCE: ClassVar[str] = ""
    """What the record is to an approver, if it `redirects`."""
    NAMED_BY: ClassVar[tuple[str, ...]] = ()
    """The fields by which an approver knows one that exists."""
    SHOWN: ClassVar[tuple[str, ...]] = ()
    """The fields of which an approver is shown what changes, and all of a new one; none is drawn at random."""
    SWITCHED_BY: ClassVar[tuple[str, ...]] = ()
    """Those of them that switch it on or off: with another value of one an approver is shown all."""

    version: int = field(default=0, kw_only=True)

    def redirects(self, before: Self | None) -> bool:
        """Whether writing it in place of `before`, or newly if that is None, changes where money goes, or who says so.

        Taking something back is no such change (accounts/changes).
        """
        return False

    def end_redirects(self, person_id: str | None) -> bool:
        """Whether deleting it changes where money goes, or who says so; `person_id` is who deletes it."""
        return False

    @property
    def key(self) -> Key:
        return self.KEY.of_record(self)

    @property
    def next_due(self) -> datetime | None:
        """When a sweep has to process the record, which is its `due_at` in the index `by_due`; None keeps it out."""
        return None

    @property
    def listed(self) -> Mapping[str, str]:
        """The lists that the record is in: the index and the name of the list (`lists.list_of`)."""
        return {}

    @property
    def listed_at(self) -> str:
        """The place of a record in its lists (`lists.place_of`), which every kind that has lists defines."""
        raise NotImplementedError

    @property
    def vanishes_at(self) -> datetime | None:
        """From when DynamoDB may delete the record (it may take days to do so); None for a record that is kept."""
        return None


def _of_attributes(pattern: str) -> str:
    """The same format string with the attributes of its first argument: `LINK#{token}` becomes `LINK#{0.token}`."""
    return "".join(
        literal if name is None else f"{literal}{{0.{name}:{specification}}}"
        for literal, name, specification, _ in Formatter().parse(pattern)
    )
