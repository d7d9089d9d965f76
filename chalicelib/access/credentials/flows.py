"""Writes down when credentials were last used."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

from chalicelib.access.credentials import store
from chalicelib.access.credentials.records import LastUse
from chalicelib.services import Services
from chalicelib.storage.store import WriteConflict

USE_INTERVAL = timedelta(minutes=1)
"""How often a container writes down that a credential is used."""
_MAX_NOTED = 10_000


def note_use(services: Services, record_ids: Iterable[str]) -> None:
    """Writes down that credentials are used now; at most once a minute for each of them and this container.

    A failure to write is logged and goes no further: it must not fail the request that is being answered.
    """
    now = services.clock()
    if len(services.noted) > _MAX_NOTED:
        services.noted.clear()
    for record_id in record_ids:
        noted = services.noted.get(record_id)
        if noted is None or now - noted >= USE_INTERVAL:
            services.noted[record_id] = now
            try:
                _write_use(services, record_id, now)
            except Exception:  # whichever way DynamoDB failed
                services.log.exception("last use not noted", extra={"record": record_id})


def _write_use(services: Services, record_id: str, now: datetime) -> None:
    used = store.last_use(services.store, record_id)
    if used is not None and now - used.at < USE_INTERVAL:
        return  # by another container
    with suppress(WriteConflict):  # another container writes it this very moment
        services.store.write(LastUse(record_id, now, used.version if used else 0))
