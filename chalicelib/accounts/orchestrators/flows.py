"""Orchestrators: register a platform, link client ids to it, end a link."""

from chalicelib.access.audit import rules as audit
from chalicelib.access.audit.records import Actor
from chalicelib.access.credentials.records import OrchestratorKey
from chalicelib.access.credentials.store import pointers
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators import store
from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.accounts.orchestrators.rules import link, new_orchestrator, unlink
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.services import Services

MAX_ORCHESTRATORS = 10


def register(
    services: Services, actor: Actor, name: str, contact_email: str
) -> tuple[Orchestrator, OrchestratorKey, str]:
    """A new platform, its key's record, and the key, which is not readable again. One read, one transaction.

    Raises BadRequest for what is no e-mail address, and when the account has too many.
    """
    now = services.clock()
    made = new_orchestrator(actor, name, contact_email, now, services.entropy)
    if len(pointers(services.store, actor.account_id, OrchestratorKey)) >= MAX_ORCHESTRATORS:
        raise BadRequest(f"No more than {MAX_ORCHESTRATORS} orchestrators an account")
    orchestrator, key, _ = made
    line = audit.entry(actor, "orchestrator.created", orchestrator.orchestrator_id, now, services.entropy)
    services.store.write(orchestrator, key, credentials.pointer_of(key), line)
    return made


def list_links(
    services: Services, orchestrator_id: str, page: int, limit: int
) -> tuple[tuple[Linkage, ...], int]:
    """A page (from 1) of a platform's links, newest first, and how many there are; reads them all."""
    links = store.linkages(services.store, orchestrator_id)
    in_order = sorted(links, key=lambda each: (each.created_at, each.client_id), reverse=True)
    start = (page - 1) * limit
    return tuple(in_order[start : start + limit]), len(in_order)


def link_client(
    services: Services, actor: Actor, orchestrator_id: str, client_id: str
) -> tuple[Linkage, bool]:
    """Links a client id, once in its life; the link, and whether it was there already. One read, one transaction.

    Raises NotFound, Forbidden or Conflict (rules.link).
    """
    orchestrator, linkage, client = store.linkage_and_client(services.store, orchestrator_id, client_id)
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
    _, linkage, client = store.linkage_and_client(services.store, orchestrator_id, client_id)
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
