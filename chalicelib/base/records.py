"""What a stored record says of itself: its table and key, when it is due, when it vanishes.

    @dataclass(frozen=True)
    class Reference(Record):
        KEY = KeyPattern(PAYMENTS, "REFERENCE#{topic}", "REFERENCE")

        topic: str
        ...

    Reference.KEY.of(topic="0x12")      the key of one record, for reading it
    Reference(topic="0x12", ...).key    the same key, from the record
"""

from datetime import datetime
from string import Formatter
from typing import ClassVar, NamedTuple

PAYMENTS, IDENTITY, SESSIONS, WEBHOOKS, OPS = "payments", "identity", "sessions", "webhooks", "ops"
TABLES = (PAYMENTS, IDENTITY, SESSIONS, WEBHOOKS, OPS)
FIRST_SORT_KEY, LAST_SORT_KEY = " ", "\uffff"


class Key(NamedTuple):
    """Where one record is stored: table, partition key and sort key."""

    table: str
    pk: str
    sk: str


class KeyRange(NamedTuple):
    """Records of one partition, by the first and the last sort key."""

    table: str
    pk: str
    first: str
    last: str


class KeyPattern:
    """Where the records of a kind are stored: a table, and the two keys as format strings.

    A placeholder names a field or property of the record. Its format specification may pad a number (`{position:04}`),
    so that keys sort as the numbers do, or cut a text (`{nonce:.64}`), as keys are also made of what callers send.
    """

    def __init__(self, table: str, partition: str, sort: str) -> None:
        self.table = table
        self.partition_format, self.sort_format = partition, sort
        self._partition_of_record, self._sort_of_record = _of_attributes(partition), _of_attributes(sort)
        self._sort_parts = tuple(Formatter().parse(sort))
        self.kind = sort.partition("#")[0]
        """What tells this kind of record from others of the same partition: the first word of the sort key."""

    def of(self, **values: object) -> Key:
        """The key of the record with these values. Raises KeyError when a placeholder has none."""
        return Key(self.table, self.partition_format.format_map(values), self.sort_format.format_map(values))

    def of_record(self, record: object) -> Key:
        return Key(self.table, self._partition_of_record.format(record), self._sort_of_record.format(record))

    def partition(self, **values: object) -> str:
        """The partition key for these values."""
        return self.partition_format.format_map(values)

    def all(self, **values: object) -> KeyRange:
        """Every record of a partition whose sort key begins with these values."""
        prefix = self._prefix(values)
        return KeyRange(self.table, self.partition(**values), prefix or FIRST_SORT_KEY, prefix + LAST_SORT_KEY)

    def starting(self, **values: object) -> KeyRange:
        """Every record of a partition, from the first whose sort key begins with these values."""
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


class Record:
    """The base of every stored record, which is a frozen dataclass with a field `version`.

    `version` is how often the record was written: 0 for one that is not stored yet. Each field is stored under its own
    name, so renaming a field needs a migration; properties are not stored.
    """

    KEY: ClassVar[KeyPattern]
    DUE_GROUP: ClassVar[str] = ""
    """Which shards of the index `by_due` hold records of this kind: a sweep reads one group."""

    version: int

    @property
    def key(self) -> Key:
        return self.KEY.of_record(self)

    @property
    def next_due(self) -> datetime | None:
        """When a sweep has to look at the record: its place in the index `by_due`, which None keeps it out of."""
        return None

    @property
    def vanishes_at(self) -> datetime | None:
        """When DynamoDB may delete the record, which it may do days later; None for a record that stays."""
        return None


def _of_attributes(pattern: str) -> str:
    """The format string that takes the record itself: `LINK#{token}` as `LINK#{0.token}`."""
    return "".join(
        literal if name is None else f"{literal}{{0.{name}:{specification}}}"
        for literal, name, specification, _ in Formatter().parse(pattern)
    )
