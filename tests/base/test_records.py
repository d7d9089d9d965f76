"""How records declare keys: patterns of the fields and properties that they are made of."""

from datetime import datetime

import pytest

from chalicelib.base.frozen import frozen
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY, PAYMENTS, Key, KeyPattern, KeyRange, Record


@frozen
class Example(Record):
    KEY = KeyPattern(PAYMENTS, "OWNER#{owner}", "PART#{number:03}#{name:.4}")

    owner: str
    number: int
    name: str


def test_the_key_of_a_record_is_the_key_of_its_values() -> None:
    key = Key(PAYMENTS, "OWNER#me", "PART#007#long")
    assert Example("me", 7, "longer than four").key == key
    assert Example.KEY.of(owner="me", number=7, name="longer than four") == key


def test_a_key_needs_every_value() -> None:
    with pytest.raises(KeyError):
        Example.KEY.of(owner="me", number=7)


def test_values_are_not_read_as_patterns() -> None:
    """They come from callers, too: a brace in one is a character like any other."""
    assert Example("{number}", 7, "{0.x}").key == Key(PAYMENTS, "OWNER#{number}", "PART#007#{0.x")
    assert Example.KEY.of(owner="{number}", number=7, name="{0.x}").pk == "OWNER#{number}"


def test_a_range_holds_the_keys_that_begin_with_the_given_values() -> None:
    assert Example.KEY.all(owner="me") == KeyRange(PAYMENTS, "OWNER#me", "PART#", "PART#" + LAST_SORT_KEY)
    assert Example.KEY.all(owner="me", number=7) == KeyRange(
        PAYMENTS, "OWNER#me", "PART#007#", "PART#007#" + LAST_SORT_KEY
    )
    assert Example.KEY.starting(owner="me", number=7) == KeyRange(
        PAYMENTS, "OWNER#me", "PART#007#", "PART#" + LAST_SORT_KEY
    )


def test_a_range_of_a_pattern_that_begins_with_a_value_is_the_whole_partition() -> None:
    pattern = KeyPattern(PAYMENTS, "OWNER#{owner}", "{name}#{number}")
    assert pattern.all(owner="me") == KeyRange(PAYMENTS, "OWNER#me", FIRST_SORT_KEY, LAST_SORT_KEY)
    assert pattern.all(owner="me", name="a") == KeyRange(PAYMENTS, "OWNER#me", "a#", "a#" + LAST_SORT_KEY)
    assert FIRST_SORT_KEY < "!" and LAST_SORT_KEY > "~", "every sort key lies between them"


def test_a_range_with_every_value_is_of_one_record() -> None:
    keys = Example.KEY.all(owner="me", number=7, name="name")
    assert keys == KeyRange(PAYMENTS, "OWNER#me", "PART#007#name", "PART#007#name" + LAST_SORT_KEY)


def test_the_kind_of_a_record_is_the_first_word_of_its_sort_key() -> None:
    assert (Example.KEY.kind, KeyPattern(PAYMENTS, "A#{a}", "ALONE").kind) == ("PART", "ALONE")


def test_a_key_may_be_made_of_a_property() -> None:
    @frozen
    class Derived(Record):
        KEY = KeyPattern(PAYMENTS, "DAY#{day}", "ONE")

        at: datetime

        @property
        def day(self) -> str:
            return f"{self.at:%Y-%m-%d}"

    assert Derived(datetime(2026, 3, 1)).key.pk == "DAY#2026-03-01"


def test_a_record_that_says_nothing_else_is_never_due_and_stays() -> None:
    record = Example("me", 7, "name")
    assert (record.next_due, record.vanishes_at, record.DUE_GROUP) == (None, None, "")
