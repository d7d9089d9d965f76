"""Stored record: the data key of a person."""

from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.records import KEYS, KeyPattern, Record


@frozen
class PersonKey(Record):
    """The data key of one person, encrypted by KMS. When it is deleted, nothing can read what it sealed."""

    KEY = KeyPattern(KEYS, "PERSON#{person_id}", "KEY")

    person_id: str
    wrapped: str
    created_at: datetime
