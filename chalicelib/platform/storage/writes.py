"""What one transaction can do to a record, beside writing it."""

from collections.abc import Mapping
from typing import TypeVar

from chalicelib.base.frozen import frozen
from chalicelib.base.records import Record


@frozen
class Delete:
    """Deletes a record if it still has the version that was read."""

    record: Record


@frozen
class Absent:
    """Requires that no record with this record's key exists; writes nothing."""

    record: Record


@frozen
class Unchanged:
    """Requires that a record still has the version that was read; writes nothing."""

    record: Record


@frozen
class Add:
    """Adds amounts, also negative ones, to the counts of a record, by name, whether it exists or not.

    It has no condition and leaves the version as it is. Transactions that add to one record wait for each other.
    """

    record: Record
    amounts: Mapping[str, int]


Write = Record | Delete | Absent | Unchanged | Add
R = TypeVar("R", bound=Record)


def with_next_version(record: R) -> R:
    """A record as it is stored after it was written: with the next version. Copied as `replace` does, in a tenth of the
    time."""
    changed: R = object.__new__(type(record))
    vars(changed).update(vars(record), version=record.version + 1)
    return changed
