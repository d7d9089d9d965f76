"""Places in lists: texts that sort by time, for every instant that a caller can send."""

from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from chalicelib.base.lists import last_place_at, place_at, place_of

INSTANTS = st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)


@given(INSTANTS, INSTANTS)
@example(FIRST, FIRST + timedelta(days=1))
@example(datetime(5000, 1, 1, tzinfo=UTC), LAST)
def test_places_sort_as_their_instants_do(one: datetime, other: datetime) -> None:
    first, last = sorted((one, other))
    assert place_at(first) <= place_at(last) <= last_place_at(last)


@given(st.datetimes(datetime(1970, 1, 1), datetime(5137, 1, 1), timezones=st.just(UTC)))
def test_the_records_of_an_instant_are_between_its_first_and_its_last_place(at: datetime) -> None:
    assert place_at(at) < place_of(at, "0") < place_of(at, "zz") < last_place_at(at) < place_at(at + timedelta(milliseconds=1))
