"""Creates, changes and revokes client ids."""

from contextlib import suppress

from chalicelib.accounts.client_ids.rules import ClientIdSettings, apply_settings, new_client_id
from chalicelib.accounts.credentials.flows import add, audit_entry, own_credential, revoke
from chalicelib.accounts.orchestrators import store as orchestrator_store
from chalicelib.accounts.orchestrators.rules import unlink
from chalicelib.accounts.payees import store as payee_store
from chalicelib.accounts.payees.rules import route_of_id
from chalicelib.base.errors import BadRequest, NotFound
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.audit.rules import entries
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Write


def create_client_id(services: Services, actor: Actor, settings: ClientIdSettings) -> ClientId:
    """A new client id of the actor's account. Raises BadRequest."""
    resolved = _resolve_payee_id(services, actor.account_id, settings)
    own = own_addresses(services)
    client = new_client_id(actor.account_id, resolved, own, services.clock(), services.entropy)
    add(services, actor, client)
    return client


def change_client_id(services: Services, actor: Actor, record_id: str, settings: ClientIdSettings) -> ClientId:
    """Changes the settings of a client id. Raises NotFound, BadRequest (a revoked client id cannot be reactivated).

    If the settings no longer admit the orchestrator that is linked to it, the same transaction ends that link.
    """
    client = own_credential(services, actor.account_id, ClientId, record_id)
    resolved = _resolve_payee_id(services, actor.account_id, settings)
    changed = apply_settings(client, resolved, own_addresses(services), services.clock())
    is_revocation = changed.status is CredentialStatus.REVOKED and client.status is not CredentialStatus.REVOKED
    writes: list[Write] = [audit_entry(services, actor, changed, "revoked" if is_revocation else "updated")]
    if client.orchestrator_id is not None and settings.get("admits_orchestrator", client.orchestrator_id) != (
        client.orchestrator_id
    ):
        changed, unlinking = _unlink_orchestrator(services, actor, changed, client.orchestrator_id)
        writes += unlinking
    services.store.write(changed, *writes)
    return changed


def revoke_client_id(services: Services, actor: Actor, record_id: str) -> ClientId:
    """Revokes a client id permanently; it stays listed. Does nothing if it is revoked already. Raises NotFound."""
    return revoke(services, actor, own_credential(services, actor.account_id, ClientId, record_id))


def _unlink_orchestrator(
    services: Services, actor: Actor, client: ClientId, orchestrator_id: str
) -> tuple[ClientId, list[Write]]:
    """The client id without its orchestrator, and the other writes of that change. One read."""
    platform, linkage = orchestrator_store.linkage(services.store, orchestrator_id, client.client_id)
    assert linkage is not None, "orchestrator_id is set only while there is a linkage"
    now = services.clock()
    ended, unlinked = unlink(linkage, client, now)
    accounts = (platform.account_id,)
    audit_entries = entries(actor, "orchestrator.unlinked", client.record_id, accounts, now, services.entropy)
    return unlinked, [ended, *audit_entries]


def _resolve_payee_id(services: Services, account_id: str, settings: ClientIdSettings) -> ClientIdSettings:
    """The settings with a payee destination's ERC-7828 id, in any spelling, replaced by its record id.

    Raises BadRequest unless the destination is active and belongs to the account, and the admitted orchestrator exists.
    """
    admitted = settings.get("admits_orchestrator")
    if admitted is not None and orchestrator_store.orchestrator(services.store, admitted) is None:
        raise BadRequest("orchestratorId is not the id of an orchestrator")
    named = settings.get("payee_destination_id")
    if named is None:
        return settings
    route = _route_of(services, named)
    for each in payee_store.destinations(services.store, account_id):
        if each.is_active and (each.record_id == named or each.route == route):
            return {**settings, "payee_destination_id": each.record_id}
    raise BadRequest("payeeDestinationId is not an active payee destination of this account")


def _route_of(services: Services, name: str) -> Destination | None:
    """The route that a destination id names; None for any other text, such as a record id."""
    with suppress(BadRequest, NotFound):
        return route_of_id(name, services.settings.interop_checksum == "strict")
    return None
