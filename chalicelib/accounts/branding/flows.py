"""Writes, reads and removes the branding of a client id."""

from chalicelib.accounts.branding import store
from chalicelib.accounts.branding.images import size_of
from chalicelib.accounts.branding.records import PageBranding
from chalicelib.accounts.branding.rules import BrandingDraft, branding_of, version_of
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.base.errors import NotFound
from chalicelib.base.frozen import frozen
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.audit.rules import make_entry
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Delete


@frozen
class Logo:
    """A PNG in base64 and its size in pixels. `version` changes with the image."""

    png: str
    width: int
    height: int
    version: str


def put(services: Services, actor: Actor, record_id: str, draft: BrandingDraft) -> PageBranding:
    """Replaces the client id's branding. Raises NotFound for another account's client id, BadRequest, WriteConflict."""
    client, old = _of_owner(services, actor.account_id, record_id)
    now = services.clock()
    branding = branding_of(client, draft, now, old.version if old else 0)
    services.store.write(branding, make_entry(actor, "branding.updated", record_id, now, services.entropy))
    return branding


def read(services: Services, account_id: str, record_id: str) -> PageBranding:
    """The branding of a client id of this account. Raises NotFound."""
    _, branding = _of_owner(services, account_id, record_id)
    if branding is None:
        raise NotFound("This client ID has no branding")
    return branding


def remove(services: Services, actor: Actor, record_id: str) -> bool:
    """Removes the client id's branding; False if it has none. Raises NotFound for another account's client id."""
    _, branding = _of_owner(services, actor.account_id, record_id)
    if branding is not None:
        audit_entry = make_entry(actor, "branding.removed", record_id, services.clock(), services.entropy)
        services.store.write(Delete(branding), audit_entry)
    return branding is not None


def of_client(services: Services, client_id: str | None) -> PageBranding | None:
    """The branding of a client id. One read; None without a read for a link that has no client id."""
    return None if client_id is None else store.branding(services.store, credential_hash(client_id))


def logo(services: Services, name: str) -> Logo:
    """The logo with the name that its path ends with (`logo_path`). Raises NotFound."""
    branding = store.branding(services.store, name)
    if branding is None or branding.logo is None:
        raise NotFound("There is no such logo")
    return Logo(branding.logo, *size_of(branding.logo), version_of(branding.logo))


def _of_owner(services: Services, account_id: str, record_id: str) -> tuple[ClientId, PageBranding | None]:
    client, _ = credentials.read(services, account_id, ClientId, record_id)
    return client, store.branding(services.store, client.client_id_hash)
