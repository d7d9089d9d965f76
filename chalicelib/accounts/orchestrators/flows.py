"""Orchestrators: register a platform, link client ids to it, end a link."""

from chalicelib.access.audit import rules as audit
from chalicelib.access.audit.records import Actor
from chalicelib.access.credentials.records import ClientId, OrchestratorKey, Owned
from chalicelib.access.credentials.rules import credential_hash
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.accounts.orchestrators.rules import link, new_orchestrator, unlink
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.base.records import IDENTITY, Key
from chalicelib.services import Services
from chalicelib.storage.tables import CREDENTIAL_KINDS, credential_key, linkage_key, orchestrator_key

MAX_ORCHESTRATORS = 10


def register(
    services: Services, actor: Actor, name: str, contact_email: str
) -> tuple[Orchestrator, OrchestratorKey, str]:
    """A new platform, its key's record, and the key, which is not readable again. One read, one transaction.

    Raises BadRequest for what is no e-mail address, and when the account has too many.
    """
    now = services.clock()
    made = new_orchestrator(actor, name, contact_email, now, services.entropy)
    if len(credentials.owned(services, actor.account_id, OrchestratorKey)) >= MAX_ORCHESTRATORS:
        raise BadRequest(f"No more than {MAX_ORCHESTRATORS} orchestrators an account")
    orchestrator, key, _ = made
    pointer = Owned(key.account_id, CREDENTIAL_KINDS[OrchestratorKey], key.key_id, key.key_hash)
    line = audit.entry(actor, "orchestrator.created", orchestrator.orchestrator_id, now, services.entropy)
    services.store.write(orchestrator, key, pointer, line)
    return made


def list_links(
    services: Services, orchestrator_id: str, page: int, limit: int
) -> tuple[tuple[Linkage, ...], int]:
    """A page (from 1) of a platform's links, newest first, and how many there are; reads them all."""
    partition = orchestrator_key(orchestrator_id).pk
    links = services.store.query(Linkage, IDENTITY, partition, "CLIENT#", "CLIENT#\uffff")
    in_order = sorted(links, key=lambda each: (each.created_at, each.client_id), reverse=True)
    start = (page - 1) * limit
    return tuple(in_order[start : start + limit]), len(in_order)


def link_client(
    services: Services, actor: Actor, orchestrator_id: str, client_id: str
) -> tuple[Linkage, bool]:
    """Links a client id, once in its life; the link, and whether it was there already. One read, one transaction.

    Raises NotFound, Forbidden or Conflict (core.orchestrators.link).
    """
    orchestrator, client, linkage = _load(services, orchestrator_id, client_id)
    if linkage is not None and linkage.status is LinkageStatus.ACTIVE:
        return linkage, True
    now = services.clock()
    made, linked = link(orchestrator, client, linkage, now)
    lines = audit.entries(
        actor, "orchestrator.linked", linked.record_id, (linked.account_id,), now, services.entropy
    )
    services.store.write(made, linked, *lines)
    return made, False


def unlink_client(
    services: Services, actor: Actor, orchestrator_id: str, client_id: str
) -> tuple[Linkage, bool]:
    """Ends a link for good; the link, and whether it was ended before. Raises NotFound. One read, one transaction."""
    _, client, linkage = _load(services, orchestrator_id, client_id)
    if linkage is None or client is None:
        raise NotFound("This client ID is not linked to this orchestrator")
    if linkage.status is LinkageStatus.REVOKED:
        return linkage, True
    now = services.clock()
    ended, freed = unlink(linkage, client, now)
    lines = audit.entries(
        actor, "orchestrator.unlinked", freed.record_id, (freed.account_id,), now, services.entropy
    )
    services.store.write(ended, freed, *lines)
    return ended, False


def _load(
    services: Services, orchestrator_id: str, client_id: str
) -> tuple[Orchestrator, ClientId | None, Linkage | None]:
    platform, linked = orchestrator_key(orchestrator_id), linkage_key(orchestrator_id, client_id)
    credential = credential_key(credential_hash(client_id), ClientId)
    wanted: dict[Key, type] = {platform: Orchestrator, linked: Linkage, credential: ClientId}
    found = services.store.get_many(wanted)
    return found[platform], found.get(credential), found.get(linked)
