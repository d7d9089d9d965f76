"""Timestamps in responses and events."""

from datetime import UTC, datetime, timedelta, timezone

from chalicelib.base.timestamps import iso


def test_a_timestamp_is_utc_with_milliseconds_and_a_z() -> None:
    assert iso(datetime(2026, 3, 15, 10, tzinfo=UTC)) == "2026-03-15T10:00:00.000Z"
    assert iso(datetime(2026, 3, 15, 10, 0, 0, 123_987, tzinfo=UTC)) == "2026-03-15T10:00:00.123Z"


def test_a_time_of_another_zone_is_converted() -> None:
    assert iso(datetime(2026, 3, 15, 1, tzinfo=timezone(timedelta(hours=2)))) == "2026-03-14T23:00:00.000Z"
