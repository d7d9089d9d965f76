"""Make, change and revoke client ids."""

from chalicelib.access.audit.records import Actor
from chalicelib.access.audit.rules import entries
from chalicelib.access.credentials.records import ClientId, CredentialStatus
from chalicelib.accounts.client_ids.rules import ClientIdSettings, changed_client_id, new_client_id
from chalicelib.accounts.credentials.flows import add, audit_line, own, revoke
from chalicelib.accounts.orchestrators import store as orchestrators
from chalicelib.accounts.orchestrators.rules import unlink
from chalicelib.base.errors import BadRequest
from chalicelib.payees import store as payees
from chalicelib.services import Services
from chalicelib.storage.store import Write


def create_client_id(services: Services, actor: Actor, settings: ClientIdSettings) -> ClientId:
    """A new client id of the actor's account. Raises BadRequest."""
    bound = _bound(services, actor.account_id, settings)
    client = new_client_id(actor.account_id, bound, services.clock(), services.entropy)
    add(services, actor, client)
    return client


def change_client_id(services: Services, actor: Actor, record_id: str, settings: ClientIdSettings) -> ClientId:
    """The client id with other settings; one that is revoked stays so. Raises NotFound, BadRequest.

    Settings that admit no orchestrator, or another, end the link to the one that acts for it, in the same transaction.
    """
    client = own(services, actor.account_id, ClientId, record_id)
    bound = _bound(services, actor.account_id, settings)
    changed = changed_client_id(client, bound, services.clock())
    is_end = changed.status is CredentialStatus.REVOKED and client.status is not CredentialStatus.REVOKED
    writes: list[Write] = [audit_line(services, actor, changed, "revoked" if is_end else "updated")]
    if client.orchestrator_id is not None and settings.get("admits_orchestrator", client.orchestrator_id) != (
        client.orchestrator_id
    ):
        changed, ended = _unlinked(services, actor, changed, client.orchestrator_id)
        writes += ended
    services.store.write(changed, *writes)
    return changed


def revoke_client_id(services: Services, actor: Actor, record_id: str) -> ClientId:
    """Ends a client id for good; it stays listed as revoked. To do it again changes nothing. Raises NotFound."""
    return revoke(services, actor, own(services, actor.account_id, ClientId, record_id))


def _unlinked(
    services: Services, actor: Actor, client: ClientId, orchestrator_id: str
) -> tuple[ClientId, list[Write]]:
    """The client id without its orchestrator, and what is written with it; one read."""
    platform, linkage = orchestrators.linkage(services.store, orchestrator_id, client.client_id)
    assert linkage is not None, "a client id names the orchestrator that it is linked to"
    now = services.clock()
    ended, freed = unlink(linkage, client, now)
    accounts = (platform.account_id,)
    lines = entries(actor, "orchestrator.unlinked", client.record_id, accounts, now, services.entropy)
    return freed, [ended, *lines]


def _bound(services: Services, account_id: str, settings: ClientIdSettings) -> ClientIdSettings:
    """The settings with the id of a payee destination's record, which may be named by its ERC-7828 id, too.

    Raises BadRequest unless it is an active destination of the account, and an orchestrator that is admitted exists.
    """
    admitted = settings.get("admits_orchestrator")
    if admitted is not None and orchestrators.orchestrator(services.store, admitted) is None:
        raise BadRequest("orchestratorId is not the id of an orchestrator")
    named = settings.get("payee_destination_id")
    if named is None:
        return settings
    for each in payees.destinations(services.store, account_id):
        if each.is_active and named in (each.record_id, each.destination_id):
            return {**settings, "payee_destination_id": each.record_id}
    raise BadRequest("payeeDestinationId is not an active payee destination of this account")
