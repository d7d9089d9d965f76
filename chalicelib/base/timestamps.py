"""The text form of timestamps in responses and events."""

from datetime import UTC, datetime


def iso(instant: datetime) -> str:
    """ISO 8601 UTC with milliseconds: 2026-03-15T10:00:00.000Z."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
