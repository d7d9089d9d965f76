"""The forms of dates and IBANs, against independent definitions."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import ValidationFailed
from chalicelib.offramp.payers import formats

REGISTRY = [
    "GB29 NWBK 6016 1331 9268 19", "DE89 3704 0044 0532 0130 00", "FR14 2004 1010 0505 0001 3M02 606",
    "NL91 ABNA 0417 1643 00", "CH93 0076 2011 6238 5295 7", "NO93 8601 1117 947", "MT84 MALT 0110 0001 2345 MTLC AST0 01S",
    "ES91 2100 0418 4502 0005 1332", "BR18 0036 0305 0000 1000 9795 493C 1", "AE07 0331 2345 6789 0123 456",
    "AZ21 NABZ 0000 0000 1370 1000 1944", "KZ86 125K ZT50 0410 0100",
]  # fmt: skip
"""The examples of the IBAN registry."""


def test_the_examples_of_the_registry_are_ibans() -> None:
    for text in REGISTRY:
        assert formats.iban(text) == text.replace(" ", "")
        assert formats.iban(text.lower()) == text.replace(" ", "")


@given(text=st.sampled_from(REGISTRY), position=st.integers(0), digit=st.sampled_from("0123456789"))
def test_one_digit_changed_is_no_iban(text: str, position: int, digit: str) -> None:
    compact = text.replace(" ", "")
    at = 2 + position % (len(compact) - 2)
    changed = compact[:at] + digit + compact[at + 1 :]
    assert (formats.iban(changed) == compact) == (changed == compact)
    if changed != compact and compact[at].isdigit():
        assert formats.iban(changed) is None


@given(text=st.text(max_size=40))
def test_no_text_is_an_iban_by_accident(text: str) -> None:
    found = formats.iban(text)
    assert found is None or int("".join(str(int(each, 36)) for each in found[4:] + found[:4])) % 97 == 1


@given(day=st.dates(date(1900, 1, 1), date(2100, 12, 31)))
def test_every_day_of_the_calendar_is_one(day: date) -> None:
    assert formats.is_day(day.isoformat())
    assert not formats.is_day(day.isoformat() + " ")


def test_other_forms_of_iso_8601_are_no_day() -> None:
    assert not [text for text in ("20260315", "2026-W11-7", "2026-03-15T10:00", "2026-03") if formats.is_day(text)]


@given(year=st.integers(1900, 2100), month=st.integers(0, 13), number=st.integers(0, 32))
def test_a_day_that_the_calendar_lacks_is_none(year: int, month: int, number: int) -> None:
    try:
        exists = date(year, month, number) + timedelta() is not None
    except ValueError:
        exists = False
    assert formats.is_day(f"{year}-{month:02}-{number:02}") == exists


@pytest.mark.parametrize(
    ("day", "is_possible"),
    [("1899-12-31", False), ("1900-01-01", True), ("2026-03-14", True), ("2026-03-15", False), ("2027-01-01", False)],
)
def test_who_is_registered_was_born_from_1900_to_yesterday(day: str, is_possible: bool) -> None:
    now = datetime(2026, 3, 15, 23, 59, tzinfo=UTC)
    if is_possible:
        formats.check_birth(day, now)
    else:
        with pytest.raises(ValidationFailed, match="dateOfBirth.*must be in the past, and not before 1900-01-01"):
            formats.check_birth(day, now)
