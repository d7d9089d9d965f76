"""Makes orchestrators, and links them to client ids."""

from dataclasses import replace
from datetime import datetime

from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.base import ids
from chalicelib.base.email_addresses import email_address
from chalicelib.base.errors import Conflict, Forbidden, NotFound
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.credentials.rules import credential_hash

KEY_PREFIX_LENGTH = len("orc_live_") + 4
"""How many characters of a key are stored to tell keys apart."""


def new_orchestrator(
    actor: Actor, name: str, contact_email: str, now: datetime, source: ids.Source
) -> tuple[Orchestrator, OrchestratorKey, str]:
    """A new orchestrator, the record of its key, and the key. Raises BadRequest if the e-mail address is invalid."""
    text = ids.orchestrator_key(source.entropy)
    orchestrator = Orchestrator(
        orchestrator_id=ids.ulid(*source),
        account_id=actor.account_id,
        name=name,
        contact_email=email_address(contact_email).name,
        created_at=now,
    )
    key = OrchestratorKey(
        key_hash=credential_hash(text),
        key_id=ids.ulid(*source),
        orchestrator_id=orchestrator.orchestrator_id,
        account_id=actor.account_id,
        prefix=text[:KEY_PREFIX_LENGTH],
        status=CredentialStatus.ACTIVE,
        created_at=now,
    )
    return orchestrator, key, text


def link(
    orchestrator: Orchestrator, client: ClientId | None, linkage: Linkage | None, now: datetime
) -> tuple[Linkage, ClientId]:
    """A new link, and the client id as linked. `linkage` is their earlier link, if any.

    Raises NotFound unless the client id exists and may be linked to the orchestrator, Forbidden if it is not active,
    and Conflict if it was linked before, to any orchestrator.
    """
    if client is None or not (
        client.account_id == orchestrator.account_id or client.admits_orchestrator == orchestrator.orchestrator_id
    ):
        raise NotFound("Client ID not found among those that this orchestrator may link")
    if client.status is not CredentialStatus.ACTIVE:
        raise Forbidden(f"The client ID is {client.status}: only an active one can be linked")
    if linkage is not None or client.was_linked:
        raise Conflict("This client ID was linked to an orchestrator before: a client ID is linked once only")
    created = Linkage(
        orchestrator_id=orchestrator.orchestrator_id,
        client_id=client.client_id,
        client_id_hash=client.client_id_hash,
        status=LinkageStatus.ACTIVE,
        created_at=now,
    )
    return created, replace(client, orchestrator_id=orchestrator.orchestrator_id, was_linked=True, updated_at=now)


def unlink(linkage: Linkage, client: ClientId, now: datetime) -> tuple[Linkage, ClientId]:
    """The link as ended, and the client id without orchestrator, which creates links by itself again."""
    ended = replace(linkage, status=LinkageStatus.REVOKED, revoked_at=now)
    return ended, replace(client, orchestrator_id=None, updated_at=now)
