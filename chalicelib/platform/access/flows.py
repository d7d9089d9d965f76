"""Identifies the caller: reads the records of a credential in one read, and checks them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

from chalicelib.base.errors import ForeignOrigin, Unauthorized
from chalicelib.platform.access import store
from chalicelib.platform.access.callers import Caller, Member, SentCredential
from chalicelib.platform.access.credentials import rules as credential_rules
from chalicelib.platform.access.credentials.records import Account, ApiKey, ClientId, OrchestratorKey
from chalicelib.platform.access.modes import Mode, Tier
from chalicelib.platform.access.people.records import Membership, Person
from chalicelib.platform.access.rate_limits import store as limit_store
from chalicelib.platform.access.rate_limits.records import Ban
from chalicelib.platform.access.rate_limits.rules import ANONYMOUS, REFUSED, account_quota, caller_digest, client_quota
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import check_session, pointer_of, touch_session
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict

_Fields = dict[str, Any]
"""Fields of a Caller by name."""


def anonymous_caller(
    services: Services, origin: str | None, ip_address: str, session_token: str | None = None, reads_ban: bool = True
) -> Caller:
    """A caller without a credential, identified by address. One read, of the ban, unless `reads_ban` is False."""
    sent_session = credential_rules.credential_hash(session_token) if session_token else None
    return _at_address(services, ANONYMOUS, origin, ip_address, sent_session, reads_ban=reads_ban)


def refuse_caller(services: Services, origin: str | None, ip_address: str) -> Caller:
    """A caller whose credential is wrong, identified by address; counted separately from anonymous ones. One read."""
    return _at_address(services, REFUSED, origin, ip_address)


def identify(services: Services, sent: SentCredential, origin: str | None, ip_address: str) -> Caller:
    """The caller that the credential belongs to, in one read. Raises Unauthorized or Forbidden."""
    if sent.mode is Mode.CLIENT_ID and sent.secret == services.settings.page_client_id:
        return _page(services, origin, ip_address)
    secret_hash = credential_rules.credential_hash(sent.secret)
    digest = caller_digest(secret_hash, ip_address)
    client_id_hash = credential_rules.credential_hash(sent.client_id) if sent.client_id is not None else None
    records = store.records_of(services.store, sent, secret_hash, client_id_hash, digest)
    until, version = _ban_of(records.get(Ban))
    common: _Fields = {
        "mode": sent.mode,
        "digest": digest,
        "key_scope": f"{secret_hash}/{client_id_hash}" if client_id_hash else secret_hash,
        "origin": origin,
        "banned_until": until,
        "ban_version": version,
        "is_test": _are_tests(records),
    }
    caller = _CALLERS[sent.mode](services, sent, records, common, ip_address)
    _check_accounts(sent, records, caller)
    return caller


def _are_tests(records: Any) -> bool:
    """Whether the credentials that are sent are test credentials. Raises Unauthorized if only some of them are."""
    found = {records[kind].is_test for kind in (ApiKey, ClientId) if kind in records}
    found |= {False for kind in (OrchestratorKey, Session) if kind in records}
    if len(found) > 1:
        raise Unauthorized("Test credentials and live ones are sent together: send credentials of one kind")
    return found == {True}


def _check_accounts(sent: SentCredential, records: Any, caller: Caller) -> None:
    """Raises Unauthorized, naming the header, if what is sent belongs to another account than the caller, or than an
    orchestrator's key that is sent."""
    named = {"x-client-id": ClientId, "x-api-key": ApiKey}
    accounts = {name: records[kind].account_id for name, kind in named.items() if kind in records}
    own = {None, caller.account_id, records[OrchestratorKey].account_id if OrchestratorKey in records else None}
    for name, account_id in (*accounts.items(), ("authorization", sent.beside_account)):
        if account_id not in own:
            raise Unauthorized(
                f"{name} belongs to another account than what is sent beside it: send one of the same account, "
                "or leave it out"
            )


def page_visitor(services: Services, ip_address: str, purpose: Literal["page", "picture", "link"]) -> Caller:
    """A browser with the hosted payment page open, counted by address. One read.

    The page, its pictures and its API calls (`link`) have separate counters: any site can make a browser open the page
    with unknown tokens, and that must not ban the browser from the calls that pay.
    """
    secret_hash = credential_rules.credential_hash(services.settings.page_client_id)
    digest = caller_digest(f"{secret_hash}/{purpose}", ip_address)
    until, version = _ban_of(limit_store.ban(services.store, digest))
    return Caller(
        mode=Mode.CLIENT_ID,
        account_id="",
        actor="page",
        digest=digest,
        key_scope=digest,
        tier=Tier.HIGH_VOLUME,
        origin=services.settings.page_origin,
        banned_until=until,
        ban_version=version,
        reads_any_link=True,
    )


def _at_address(
    services: Services,
    group: str,
    origin: str | None,
    ip_address: str,
    sent_session: str | None = None,
    *,
    reads_ban: bool = True,
) -> Caller:
    digest = caller_digest(group, ip_address)
    until, version = _ban_of(limit_store.ban(services.store, digest)) if reads_ban else (None, 0)
    return Caller(
        Mode.PUBLIC, "", "anonymous", digest, digest, Tier.DEFAULT, origin, until, version, sent_session=sent_session
    )


def _page(services: Services, origin: str | None, ip_address: str) -> Caller:
    """The payment page's client id, which is public and only accepted from the page's origin."""
    if not origin:
        raise Unauthorized("Origin header is required")
    if origin != services.settings.page_origin:
        raise ForeignOrigin("Origin is not among the allowed domains of this client ID")
    return page_visitor(services, ip_address, "link")


def _session(services: Services, sent: SentCredential, records: Any, common: _Fields, ip_address: str) -> Caller:
    """Sessions have the limit of the highest tier, as a dashboard page makes ten requests at once. What is sent beside
    one has to be known."""
    for name, kind, beside in (("x-api-key", ApiKey, sent.beside_key), ("x-client-id", ClientId, sent.client_id)):
        with _naming(name, "authorization"):
            if beside is not None and kind not in records:
                raise Unauthorized
    found = records.get(Session), records.get(Membership), records.get(Person)
    session, membership, person = check_session(*found, services.clock())
    common |= {"actor": f"person:{person.person_id}", "quota": account_quota(session.account_id)}
    member = Member(touch(services, session), records[Account], membership, person)
    return Caller(account_id=session.account_id, tier=Tier.HIGH_VOLUME, member=member, **common)


def _api_key(services: Services, sent: SentCredential, records: Any, common: _Fields, ip_address: str) -> Caller:
    """A client id that is sent with an API key needs no Origin, as servers send none."""
    client: ClientId | None = records.get(ClientId)
    with _naming("x-api-key", _client_id_beside(sent), client is not None):
        key = credential_rules.check_api_key(records.get(ApiKey), ip_address, services.clock())
    if sent.client_id is not None:
        default = client.allowed_domains[0] if client and client.allowed_domains else None
        with _naming("x-client-id", "x-api-key"):
            client = credential_rules.check_client_id(client, common["origin"] or default)
    common |= {"actor": f"api_key:{key.key_id}", "key_id": key.key_id, "quota": account_quota(key.account_id)}
    common |= {"uses_payment_intents": key.uses_payment_intents}
    return Caller(account_id=key.account_id, tier=key.tier, scopes=key.scopes, client=client, **common)


def _client_id(services: Services, sent: SentCredential, records: Any, common: _Fields, ip_address: str) -> Caller:
    with _naming("x-client-id"):
        client = credential_rules.check_client_id(records.get(ClientId), common["origin"])
    common |= {
        "actor": f"client_id:{client.client_id}",
        "key_scope": f"{common['digest']}/{common['origin']}",
        "quota": client_quota(client.record_id),
        "uses_payment_intents": client.uses_payment_intents,
    }
    return Caller(account_id=client.account_id, tier=client.tier, client=client, **common)


def _orchestrator(services: Services, sent: SentCredential, records: Any, common: _Fields, ip_address: str) -> Caller:
    """A key with a client id acts for the account of the client id; a key alone for the orchestrator's account.

    Either uses the units of the orchestrator's account, so that it cannot use up those of its merchants.
    """
    with _naming("x-orchestrator-key", _client_id_beside(sent), ClientId in records):
        key = credential_rules.check_orchestrator_key(records.get(OrchestratorKey))
    common |= {"actor": f"orchestrator:{key.orchestrator_id}", "orchestrator_id": key.orchestrator_id}
    common |= {"key_id": key.key_id, "tier": key.tier, "quota": account_quota(key.account_id)}
    if sent.client_id is None:
        return Caller(account_id=key.account_id, **common)
    with _naming("x-client-id", "x-orchestrator-key"):
        client = credential_rules.check_linked(
            credential_rules.check_client_id(records.get(ClientId), common["origin"]), key
        )
    common |= {"uses_payment_intents": client.uses_payment_intents}
    return Caller(account_id=client.account_id, client=client, **common)


def _client_id_beside(sent: SentCredential) -> str | None:
    return "x-client-id" if sent.client_id is not None else None


@contextmanager
def _naming(header: str, beside: str | None = None, is_beside_known: bool = True) -> Iterator[None]:
    """Has the refusal of a credential name its header, and the one that is sent `beside` it if that is unknown too."""
    try:
        yield
    except Unauthorized as refusal:
        if refusal.message != Unauthorized().message:
            raise
        if not is_beside_known and beside is not None:
            raise Unauthorized(f"{header} and {beside} are not known, or not valid any more: send valid ones") from None
        advice = "send a valid one, or leave it out" if beside is not None else "send a valid one"
        raise Unauthorized(f"{header} is not known, or not valid any more: {advice}") from None


_CALLERS = {
    Mode.SESSION: _session,
    Mode.API_KEY: _api_key,
    Mode.CLIENT_ID: _client_id,
    Mode.ORCHESTRATOR: _orchestrator,
    Mode.ORCHESTRATOR_KEY: _orchestrator,
}


def _ban_of(ban: Ban | None) -> tuple[datetime | None, int]:
    return (ban.until, ban.version) if ban else (None, 0)


def touch(services: Services, session: Session) -> Session:
    """Records the use of a session, at most every ten seconds; this prolongs a wallet session. Returns the session."""
    changed = touch_session(session, services.clock())
    if changed is None:
        return session
    try:
        return services.store.write(changed, pointer_of(changed))
    except WriteConflict:
        return session  # another request recorded its use, or ended the session
