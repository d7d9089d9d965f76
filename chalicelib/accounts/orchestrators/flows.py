"""Registers orchestrators, and links client ids to them and ends those links."""

from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators import store
from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.accounts.orchestrators.rules import link, new_orchestrator, unlink
from chalicelib.base.errors import NotFound
from chalicelib.base.ids import Source
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import CredentialStatus, OrchestratorKey
from chalicelib.platform.services import Services

MAX_ORCHESTRATORS = 10


def register(
    services: Services, actor: Actor, name: str, contact_email: str, source: Source | None = None
) -> tuple[Orchestrator, OrchestratorKey, str]:
    """A new orchestrator, the record of its key, and the key, which is not stored. Two reads, one transaction.

    Their ids and the key are drawn from `source`, if they were shown before. Raises BadRequest if the e-mail address is
    invalid or the account has too many orchestrators.
    """
    now = services.clock()
    created = new_orchestrator(actor, name, contact_email, now, source or Source(now, services.entropy))
    orchestrator, key, _ = created
    entry = audit.make_entry(actor, "orchestrator.created", orchestrator.orchestrator_id, now, services.entropy)
    limit = credentials.Limit(MAX_ORCHESTRATORS, "orchestrators")
    credentials.add_within(services, limit, key, orchestrator, entry)
    return created


def list_own(services: Services, account_id: str) -> list[tuple[Orchestrator, OrchestratorKey]]:
    """An account's orchestrators whose keys are not revoked, newest first, each with its key. One query, two reads."""
    keys = [key for key, _ in credentials.list_own(services, account_id, OrchestratorKey)]
    found = store.orchestrators(services.store, [key.orchestrator_id for key in keys])
    own = [(found[key.orchestrator_id], key) for key in keys]
    return sorted(own, key=lambda each: (each[0].created_at, each[0].orchestrator_id), reverse=True)


def revoke(services: Services, actor: Actor, orchestrator_id: str) -> None:
    """Revokes the key of an orchestrator of the actor's account permanently; client ids that are linked stay so.

    One query and two reads, one transaction. Raises NotFound, also if it was revoked before.
    """
    for key, _ in credentials.list_own(services, actor.account_id, OrchestratorKey):
        if key.orchestrator_id == orchestrator_id and key.status is CredentialStatus.ACTIVE:
            credentials.revoke(services, actor, key)
            return
    raise NotFound("Orchestrator not found")


def list_links(services: Services, orchestrator_id: str, page: int, limit: int) -> tuple[tuple[Linkage, ...], int]:
    """A page (from 1) of an orchestrator's links, newest first, and the number of all. Reads all links."""
    links = store.linkages(services.store, orchestrator_id)
    in_order = sorted(links, key=lambda each: (each.created_at, each.client_id), reverse=True)
    start = (page - 1) * limit
    return tuple(in_order[start : start + limit]), len(in_order)


def link_client(services: Services, actor: Actor, orchestrator_id: str, client_id: str) -> tuple[Linkage, bool]:
    """Links a client id, which is possible once. Returns the link, and whether it existed. One read, one transaction.

    Raises NotFound, Forbidden or Conflict (rules.link).
    """
    orchestrator, linkage, client = store.linkage_and_client(services.store, orchestrator_id, client_id)
    if linkage is not None and linkage.status is LinkageStatus.ACTIVE:
        return linkage, True
    now = services.clock()
    created, linked = link(orchestrator, client, linkage, now)
    entries = audit.entries(actor, "orchestrator.linked", linked.record_id, (linked.account_id,), now, services.entropy)
    services.store.write(created, linked, *entries)
    return created, False


def unlink_client(services: Services, actor: Actor, orchestrator_id: str, client_id: str) -> tuple[Linkage, bool]:
    """Ends a link permanently. Returns it, and whether it had ended. One read, one transaction. Raises NotFound."""
    _, linkage, client = store.linkage_and_client(services.store, orchestrator_id, client_id)
    if linkage is None or client is None:
        raise NotFound("This client ID is not linked to this orchestrator")
    if linkage.status is LinkageStatus.REVOKED:
        return linkage, True
    now = services.clock()
    ended, unlinked = unlink(linkage, client, now)
    entries = audit.entries(
        actor, "orchestrator.unlinked", unlinked.record_id, (unlinked.account_id,), now, services.entropy
    )
    services.store.write(ended, unlinked, *entries)
    return ended, False
