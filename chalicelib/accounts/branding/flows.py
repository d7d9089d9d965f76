"""White label: keep, read and remove what a client id's owner wants the payment page to look like."""

from dataclasses import dataclass

from chalicelib.access.audit.records import Actor
from chalicelib.access.audit.rules import entry
from chalicelib.access.credentials.records import ClientId
from chalicelib.access.credentials.rules import credential_hash
from chalicelib.accounts.branding.images import size_of
from chalicelib.accounts.branding.records import Branding
from chalicelib.accounts.branding.rules import BrandingDraft, branding_of, version_of
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.base.errors import NotFound
from chalicelib.links.records import Link
from chalicelib.services import Services
from chalicelib.storage.store import Delete
from chalicelib.storage.tables import branding_key


@dataclass(frozen=True)
class Logo:
    """A PNG in base64 and its size in pixels; another `version` is another picture."""

    png: str
    width: int
    height: int
    version: str


def put(services: Services, actor: Actor, record_id: str, draft: BrandingDraft) -> Branding:
    """The client id's branding from now on, whole. Raises NotFound for another account's, BadRequest, WriteConflict."""
    client, old = _of_owner(services, actor.account_id, record_id)
    now = services.clock()
    branding = branding_of(client, draft, now, old.version if old else 0)
    line = entry(actor, "branding.updated", record_id, now, services.entropy)
    services.store.write(branding, line)
    return branding


def read(services: Services, account_id: str, record_id: str) -> Branding:
    """The branding of a client id of this account. Raises NotFound."""
    _, branding = _of_owner(services, account_id, record_id)
    if branding is None:
        raise NotFound("This client ID has no branding")
    return branding


def remove(services: Services, actor: Actor, record_id: str) -> bool:
    """The page looks as ever again; False when it did. Raises NotFound for a client id of another account."""
    _, branding = _of_owner(services, actor.account_id, record_id)
    if branding is not None:
        line = entry(actor, "branding.removed", record_id, services.clock(), services.entropy)
        services.store.write(Delete(branding), line)
    return branding is not None


def of_link(services: Services, link: Link) -> Branding | None:
    """How the page of a link is to look; one read for a link that a client id made, none for others."""
    if link.client_id is None:
        return None
    return services.store.get(Branding, branding_key(credential_hash(link.client_id)))


def logo(services: Services, name: str) -> Logo:
    """The logo of that name, as its path has it. Raises NotFound."""
    found = services.store.get(Branding, branding_key(name[:64]))
    if found is None or found.logo is None:
        raise NotFound("There is no such logo")
    return Logo(found.logo, *size_of(found.logo), version_of(found.logo))


def _of_owner(services: Services, account_id: str, record_id: str) -> tuple[ClientId, Branding | None]:
    client, _ = credentials.read(services, account_id, ClientId, record_id)
    return client, services.store.get(Branding, branding_key(client.client_id_hash))
