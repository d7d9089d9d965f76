"""Orchestrators: whose client ids they may link, once in a life, and who then creates links."""

from dataclasses import replace

import pytest

from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.client_ids.rules import ClientIdSettings
from chalicelib.accounts.orchestrators import flows
from chalicelib.accounts.orchestrators.records import LinkageStatus, Orchestrator
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.payments.links import flows as links
from chalicelib.platform.access.audit.records import AuditEntry
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.credentials.store import own_client_id
from chalicelib.platform.access.modes import Tier
from tests.accounts.payees.test_flows import add, new_client, owner, remove, stored
from tests.fakes.world import World, draft


def register(world: World, account_id: str | None = None) -> Orchestrator:
    actor = replace(world.actor, account_id=account_id or world.account_id)
    return flows.register(world.services, actor, "Plat", "Help@Plat.example")[0]


def admit(world: World, client: ClientId, platform: Orchestrator | None) -> ClientId:
    """As the owner says whose platform may link it."""
    settings: ClientIdSettings = {"admits_orchestrator": platform.orchestrator_id if platform else None}
    return client_ids.change_client_id(world.services, world.actor, client.record_id, settings)


def link(world: World, platform: Orchestrator, client: ClientId) -> tuple[LinkageStatus, bool]:
    actor = replace(world.actor, account_id=platform.account_id)
    linkage, already = flows.link_client(world.services, actor, platform.orchestrator_id, client.client_id)
    return linkage.status, already


def unlink(world: World, platform: Orchestrator, client: ClientId) -> tuple[LinkageStatus, bool]:
    actor = replace(world.actor, account_id=platform.account_id)
    linkage, already = flows.unlink_client(world.services, actor, platform.orchestrator_id, client.client_id)
    return linkage.status, already


def audited(world: World, account_id: str) -> list[str]:
    return [line.action for line in world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account_id))]


def test_a_key_is_stored_only_as_its_hash_and_told_by_its_prefix(world: World) -> None:
    orchestrator, key, text = flows.register(world.services, world.actor, "Plat", "Help@Plat.example")
    assert (orchestrator.contact_email, key.tier) == ("help@plat.example", Tier.DEFAULT)
    assert text.startswith("orc_live_") and key.prefix == text[:13]
    found = world.services.store.get(OrchestratorKey, OrchestratorKey.KEY.of(credential_hash=credential_hash(text)))
    assert found == replace(key, version=1)
    assert audited(world, world.account_id) == ["orchestrator.created"]


def test_a_contact_is_an_email_address(world: World) -> None:
    with pytest.raises(BadRequest, match="e-mail"):
        flows.register(world.services, world.actor, "Plat", "nobody")


def test_a_client_id_is_linked_once_in_its_life_to_whomever(world: World) -> None:
    first, second, client = register(world), register(world), new_client(world)
    assert link(world, first, client) == (LinkageStatus.ACTIVE, False)
    assert link(world, first, client) == (LinkageStatus.ACTIVE, True)
    with pytest.raises(Conflict, match="linked once only"):
        link(world, second, client)
    assert unlink(world, first, client) == (LinkageStatus.REVOKED, False)
    assert unlink(world, first, client) == (LinkageStatus.REVOKED, True)
    for platform in (first, second):
        with pytest.raises(Conflict, match="linked once only"):
            link(world, platform, client)
    assert stored(world, client).orchestrator_id is None
    with pytest.raises(NotFound):
        unlink(world, second, client)


def test_to_know_a_client_id_is_no_consent_of_its_owner(world: World) -> None:
    client = new_client(world)
    with pytest.raises(NotFound):
        link(world, register(world, "stranger"), client)
    assert stored(world, client) == client
    admit(world, client, register(world, "another"))
    partner = register(world, "partner")
    with pytest.raises(NotFound):
        link(world, partner, client)
    admit(world, client, partner)
    assert link(world, partner, client) == (LinkageStatus.ACTIVE, False)


def test_an_owner_who_changes_their_mind_before_the_link_prevents_it(world: World) -> None:
    client, platform = new_client(world), register(world, "partner")
    admit(world, client, platform)
    admit(world, client, None)
    with pytest.raises(NotFound):
        link(world, platform, client)


@pytest.mark.parametrize("account_id", ["partner", None], ids=["of another account", "of the same account"])
def test_the_owner_ends_a_link(world: World, account_id: str | None) -> None:
    client, platform = new_client(world), register(world, account_id)
    admit(world, client, platform)
    link(world, platform, client)
    client_ids.change_client_id(world.services, world.actor, client.record_id, {"label": "other"})
    assert admit(world, client, platform).orchestrator_id == platform.orchestrator_id
    world.advance(1)
    freed = admit(world, client, None)
    assert (freed.orchestrator_id, freed.admits_orchestrator, freed.was_linked) == (None, None, True)
    assert stored(world, client).orchestrator_id is None
    (linkage,), _ = flows.list_links(world.services, platform.orchestrator_id, 1, 10)
    assert (linkage.status, linkage.revoked_at) == (LinkageStatus.REVOKED, world.now)
    for concerned in {world.account_id, platform.account_id}:
        assert "orchestrator.unlinked" in audited(world, concerned)
    assert admit(world, client, None).orchestrator_id is None
    assert unlink(world, platform, client) == (LinkageStatus.REVOKED, True)


def test_to_admit_another_platform_ends_the_link_to_the_first(world: World) -> None:
    client, platform = new_client(world), register(world)
    link(world, platform, client)
    assert admit(world, client, register(world, "another")).orchestrator_id is None


def test_only_a_platform_that_there_is_can_be_admitted(world: World) -> None:
    for settings in ({"admits_orchestrator": "nobody"}, {"admits_orchestrator": "x" * 255}):
        with pytest.raises(BadRequest, match="orchestratorId"):
            new_client(world, **settings)


def test_an_account_has_at_most_ten_platforms(world: World) -> None:
    for _ in range(flows.MAX_ORCHESTRATORS):
        register(world)
    with pytest.raises(BadRequest, match="No more than 10 orchestrators an account"):
        register(world)
    assert register(world, "another")


def test_both_accounts_read_of_a_link_and_its_end(world: World) -> None:
    client, platform = new_client(world), register(world, "partner")
    admit(world, client, platform)
    world.advance(1)
    link(world, platform, client)
    world.advance(1)
    unlink(world, platform, client)
    for account_id in (world.account_id, "partner"):
        assert audited(world, account_id)[-2:] == ["orchestrator.linked", "orchestrator.unlinked"]


@pytest.mark.parametrize("status", [CredentialStatus.INACTIVE, CredentialStatus.REVOKED])
def test_a_client_id_that_is_shut_is_not_linked(world: World, status: CredentialStatus) -> None:
    client, platform = new_client(world), register(world)
    client_ids.change_client_id(world.services, world.actor, client.record_id, {"status": status})
    with pytest.raises(Forbidden, match=status):
        link(world, platform, client)


def test_an_unknown_client_id_is_not_linked(world: World) -> None:
    platform = register(world)
    with pytest.raises(NotFound):
        flows.link_client(world.services, world.actor, platform.orchestrator_id, "cli_unknown")
    with pytest.raises(NotFound):
        flows.unlink_client(world.services, world.actor, platform.orchestrator_id, "cli_unknown")


def test_links_are_listed_newest_first_by_the_page(world: World) -> None:
    platform, other = register(world), register(world)
    made = []
    for _ in range(3):
        world.advance(1)
        made.append(new_client(world).client_id)
        link(world, platform, stored_client(world, made[-1]))
    link(world, other, new_client(world))
    pages = [flows.list_links(world.services, platform.orchestrator_id, page, 2) for page in (1, 2, 3)]
    assert [[each.client_id for each in found] for found, _ in pages] == [made[:0:-1], made[:1], []]
    assert {total for _, total in pages} == {3}


def stored_client(world: World, client_id: str) -> ClientId:
    return own_client_id(world.services.store, world.account_id, client_id)


def test_a_linked_client_id_creates_only_by_the_pair_and_only_bound(world: World) -> None:
    platform, client = register(world), new_client(world)
    link(world, platform, client)
    pair, alone = platform.orchestrator_id, None
    with pytest.raises(Forbidden, match="send x-orchestrator-key and x-client-id"):
        links.create(world.services, owner(world, client, alone), draft())
    with pytest.raises(BadRequest, match="No active payee destination for this client ID"):
        links.create(world.services, owner(world, client, pair), draft())
    made = add(world, client)
    bare = draft(payee=None, invoice_currency=None, payment_currency=None)
    assert links.create(world.services, owner(world, client, pair), bare).requests[0].payee == made.wallet_address
    with pytest.raises(Forbidden, match="send x-orchestrator-key"):
        links.create(world.services, owner(world, client, alone), bare)
    remove(world, client, made)
    with pytest.raises(BadRequest, match="No active payee destination"):
        links.create(world.services, owner(world, client, pair), draft())
    unlink(world, platform, client)
    assert links.create(world.services, owner(world, client, alone), draft()).requests
