"""Orchestrators: platforms that create links for client ids of others, and the links that allow it."""

from dataclasses import replace
from datetime import datetime

from chalicelib.access.audit.records import Actor
from chalicelib.access.credentials.records import ClientId, CredentialStatus, OrchestratorKey
from chalicelib.access.credentials.rules import credential_hash
from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.accounts.sign_in.rules import email_address
from chalicelib.base import ids
from chalicelib.base.errors import Conflict, Forbidden, NotFound
from chalicelib.base.ids import Entropy

KEY_PREFIX_LENGTH = len("orc_live_") + 4
"""How much of a key is kept to tell keys apart."""


def new_orchestrator(
    actor: Actor, name: str, contact_email: str, now: datetime, entropy: Entropy
) -> tuple[Orchestrator, OrchestratorKey, str]:
    """A platform of the actor's account, its key's record, and the key itself. Raises BadRequest for the e-mail."""
    text = ids.orchestrator_key(entropy)
    orchestrator = Orchestrator(
        orchestrator_id=ids.ulid(now, entropy),
        account_id=actor.account_id,
        name=name,
        contact_email=email_address(contact_email),
        created_at=now,
    )
    key = OrchestratorKey(
        key_hash=credential_hash(text),
        key_id=ids.ulid(now, entropy),
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
    """The link of a client id to a platform that has none yet, and the client id with it.

    Raises NotFound for a client id that the platform may not know, Forbidden for one that is shut, and Conflict for
    one that was linked before, to whomever.
    """
    if client is None or not (
        client.account_id == orchestrator.account_id or client.admits_orchestrator == orchestrator.orchestrator_id
    ):
        raise NotFound("Client ID not found among those that this orchestrator may link")
    if client.status is not CredentialStatus.ACTIVE:
        raise Forbidden(f"The client ID is {client.status}: only an active one can be linked")
    if linkage is not None or client.was_linked:
        raise Conflict("This client ID was linked to an orchestrator before: a client ID is linked once only")
    made = Linkage(
        orchestrator_id=orchestrator.orchestrator_id,
        client_id=client.client_id,
        client_id_hash=client.client_id_hash,
        status=LinkageStatus.ACTIVE,
        created_at=now,
    )
    return made, replace(client, orchestrator_id=orchestrator.orchestrator_id, was_linked=True, updated_at=now)


def unlink(linkage: Linkage, client: ClientId, now: datetime) -> tuple[Linkage, ClientId]:
    """The link as ended for good; the client id creates for itself again."""
    ended = replace(linkage, status=LinkageStatus.REVOKED, revoked_at=now)
    return ended, replace(client, orchestrator_id=None, updated_at=now)
