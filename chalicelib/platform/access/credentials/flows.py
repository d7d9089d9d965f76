"""Records when credentials were last used."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from chalicelib.platform.access.credentials import store
from chalicelib.platform.access.credentials.records import LastUse
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import try_write

USE_INTERVAL = timedelta(minutes=1)
"""How often a container records the use of a credential."""
_MAX_REMEMBERED = 10_000  # credentials whose last use a container holds in memory


def record_use(services: Services, record_ids: Iterable[str]) -> None:
    """Records that credentials are used now, at most once a minute for each credential and container.

    Failures are logged and not raised: they must not fail the request.
    """
    now = services.clock()
    if len(services.last_uses) > _MAX_REMEMBERED:
        services.last_uses.clear()
    for record_id in record_ids:
        recorded = services.last_uses.get(record_id)
        if recorded is None or now - recorded >= USE_INTERVAL:
            services.last_uses[record_id] = now
            try:
                _write_use(services, record_id, now)
            except Exception:  # any failure of DynamoDB
                services.log.exception("last use not recorded", extra={"record": record_id})


def _write_use(services: Services, record_id: str, now: datetime) -> None:
    stored = store.last_use(services.store, record_id)
    if stored is not None and now - stored.at < USE_INTERVAL:
        return  # another container has recorded it
    try_write(services.store, LastUse(record_id, now, version=stored.version if stored else 0))
