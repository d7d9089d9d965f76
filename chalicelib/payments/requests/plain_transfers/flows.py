"""Gives new requests addresses for plain transfers, where their callers or their accounts want that."""

from collections import Counter
from datetime import timedelta

from chalicelib.base.errors import Conflict
from chalicelib.base.money import Fee
from chalicelib.payments.requests.field_problems import Path
from chalicelib.payments.requests.plain_transfers import rules
from chalicelib.payments.requests.plain_transfers.records import KEPT_FOR
from chalicelib.payments.requests.plain_transfers.rules import FIELD, WATCHED_FOR
from chalicelib.payments.requests.plain_transfers.store import list_watched
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services

CACHED_FOR = timedelta(minutes=1)


def with_address(
    services: Services, owner: Owner, request: Request, fee: Fee, wanted: bool | None, path: Path = ()
) -> Request:
    """A new request with its address, if that is `wanted`, or with None if its account has that for all payments.

    Raises ValidationFailed, which says why a request cannot have one, and Forbidden for a client id that is sent alone
    and whose account does not have it for all, Conflict if too many addresses are watched.
    """
    if wanted is False or (wanted is None and rules.refusal(request)):
        return request
    if not has_for_all(services, owner.account_id):
        if wanted is None:
            return request
        rules.check_may_ask(owner)
    is_public = owner.mode is Mode.CLIENT_ID
    made = rules.with_address(request, fee, path, own_addresses(services), is_public=is_public)
    counts = _counts(services, request.network)
    reason = rules.none_left(counts, owner.account_id, is_public)
    if reason is not None:
        if wanted is None:
            return request
        raise Conflict(f"{FIELD}: {reason}; each counts for {(WATCHED_FOR + KEPT_FOR).days} days from its creation")
    counts[owner.account_id, is_public] += 1
    return made


def _counts(services: Services, network: str) -> Counter[tuple[str, bool]]:
    """How many addresses of a network are watched. Up to three queries a minute in each container, which adds its own:
    so the bounds can be exceeded by what other containers create within a minute."""
    known, now = services.watched_addresses.get(network), services.clock()
    if known is None or not timedelta() <= now - known[0] < CACHED_FOR:
        counts = Counter((each.account_id, each.is_public) for each in list_watched(services.store, network))
        known = services.watched_addresses[network] = now, counts
    return known[1]


def has_for_all(services: Services, account_id: str) -> bool:
    """Whether an account has an address for every payment that can have one. One read a minute in each container."""
    known, now = services.plain_transfers.get(account_id), services.clock()
    if known is None or not timedelta() <= now - known[0] < CACHED_FOR:
        account = credential_store.account(services.store, account_id)
        known = services.plain_transfers[account_id] = now, account is not None and account.plain_transfers
    return known[1]
