"""Orchestrators and the client ids that are linked to them."""

from chalicelib.access.credentials.records import ClientId
from chalicelib.access.credentials.rules import credential_hash
from chalicelib.accounts.orchestrators.records import Linkage, Orchestrator
from chalicelib.base.records import Key, Record
from chalicelib.storage.store import Store


def orchestrator(store: Store, orchestrator_id: str) -> Orchestrator | None:
    """One read."""
    return store.get(Orchestrator, Orchestrator.KEY.of(orchestrator_id=orchestrator_id))


def linkages(store: Store, orchestrator_id: str) -> tuple[Linkage, ...]:
    """Every client id that is or was linked to an orchestrator, in the order of their texts. One query."""
    return store.query(Linkage, Linkage.KEY.all(orchestrator_id=orchestrator_id))


def linkage(store: Store, orchestrator_id: str, client_id: str) -> tuple[Orchestrator, Linkage | None]:
    """An orchestrator that exists, and the linkage of a client id to it. One read."""
    platform = Orchestrator.KEY.of(orchestrator_id=orchestrator_id)
    linked = Linkage.KEY.of(orchestrator_id=orchestrator_id, client_id=client_id)
    wanted: dict[Key, type[Record]] = {platform: Orchestrator, linked: Linkage}
    found = store.get_many(wanted)
    return found[platform], found.get(linked)


def linkage_and_client(
    store: Store, orchestrator_id: str, client_id: str
) -> tuple[Orchestrator, Linkage | None, ClientId | None]:
    """As `linkage`, with the client id itself. One read."""
    platform = Orchestrator.KEY.of(orchestrator_id=orchestrator_id)
    linked = Linkage.KEY.of(orchestrator_id=orchestrator_id, client_id=client_id)
    client = ClientId.KEY.of(credential_hash=credential_hash(client_id))
    wanted: dict[Key, type[Record]] = {platform: Orchestrator, linked: Linkage, client: ClientId}
    found = store.get_many(wanted)
    return found[platform], found.get(linked), found.get(client)
