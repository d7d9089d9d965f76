"""Reads orchestrators and their links to client ids."""

from collections.abc import Sequence

from chalicelib.accounts.orchestrators.records import Linkage, Orchestrator
from chalicelib.base.records import Key, Record
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.storage.store import Store


def orchestrator(store: Store, orchestrator_id: str) -> Orchestrator | None:
    """The orchestrator with this id. One read."""
    return store.get(Orchestrator, Orchestrator.KEY.of(orchestrator_id=orchestrator_id))


def orchestrators(store: Store, orchestrator_ids: Sequence[str]) -> dict[str, Orchestrator]:
    """The orchestrators that there are of these, by their ids. One read for every 100."""
    keys = {each: Orchestrator.KEY.of(orchestrator_id=each) for each in orchestrator_ids}
    found = store.get_many(dict.fromkeys(keys.values(), Orchestrator))
    return {each: found[key] for each, key in keys.items() if key in found}


def linkages(store: Store, orchestrator_id: str) -> tuple[Linkage, ...]:
    """All links of an orchestrator, also ended ones, sorted by client id. One query."""
    return store.query(Linkage, Linkage.KEY.all(orchestrator_id=orchestrator_id))


def linkage(store: Store, orchestrator_id: str, client_id: str) -> tuple[Orchestrator, Linkage | None]:
    """An orchestrator, which must exist, and its link to a client id. One read."""
    platform = Orchestrator.KEY.of(orchestrator_id=orchestrator_id)
    linked = Linkage.KEY.of(orchestrator_id=orchestrator_id, client_id=client_id)
    wanted: dict[Key, type[Record]] = {platform: Orchestrator, linked: Linkage}
    found = store.get_many(wanted)
    return found[platform], found.get(linked)


def linkage_and_client(
    store: Store, orchestrator_id: str, client_id: str
) -> tuple[Orchestrator, Linkage | None, ClientId | None]:
    """An orchestrator, which must exist, a client id, and the link between them. One read."""
    platform = Orchestrator.KEY.of(orchestrator_id=orchestrator_id)
    linked = Linkage.KEY.of(orchestrator_id=orchestrator_id, client_id=client_id)
    client = ClientId.KEY.of(credential_hash=credential_hash(client_id))
    wanted: dict[Key, type[Record]] = {platform: Orchestrator, linked: Linkage, client: ClientId}
    found = store.get_many(wanted)
    return found[platform], found.get(linked), found.get(client)
