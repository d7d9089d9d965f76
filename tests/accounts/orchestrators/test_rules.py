"""Orchestrators and their keys, and which client ids are linked to them."""

import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.accounts.orchestrators.records import Linkage, LinkageStatus, Orchestrator
from chalicelib.accounts.orchestrators.rules import link, new_orchestrator, unlink
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.base.ids import Source
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.credentials.rules import credential_hash
from tests.fakes.world import START

LATER = START + timedelta(minutes=1)
LAST = START + timedelta(minutes=2)
PLATFORM = Orchestrator("orc1", "platform", "Platform", "ops@platform.example", START)
OWN = ClientId("hash", "cli_x", "01", "platform", "web", (), CredentialStatus.ACTIVE, START)
ADMITTING = replace(OWN, account_id="shop", admits_orchestrator="orc1")


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


def test_a_new_orchestrator_has_a_key_of_which_hash_and_first_letters_are_stored() -> None:
    actor = Actor("platform", "test", "127.0.0.1", "-")
    made, key, text = new_orchestrator(actor, "Platform", "Ops@Platform.Example", START, Source(START, entropy()))
    assert made == Orchestrator(made.orchestrator_id, "platform", "Platform", "ops@platform.example", START)
    assert key == OrchestratorKey(
        credential_hash(text), key.key_id, made.orchestrator_id, "platform", text[:13], CredentialStatus.ACTIVE, START
    )
    assert text.startswith("orc_live_") and len(key.prefix) == 13
    with pytest.raises(BadRequest, match="email must be an e-mail address"):
        new_orchestrator(actor, "Platform", "ops", START, Source(START, entropy()))


@pytest.mark.parametrize("client", [OWN, ADMITTING])
def test_a_client_id_of_its_own_account_or_that_admits_it_is_linked(client: ClientId) -> None:
    linkage, linked = link(PLATFORM, client, None, LATER)
    assert linkage == Linkage("orc1", "cli_x", "hash", LinkageStatus.ACTIVE, LATER)
    assert linked == replace(client, orchestrator_id="orc1", was_linked=True, updated_at=LATER)


@pytest.mark.parametrize("client", [None, replace(OWN, account_id="shop"), replace(ADMITTING, admits_orchestrator="orc2")])
def test_any_other_client_id_is_not_found(client: ClientId | None) -> None:
    with pytest.raises(NotFound, match="Client ID not found among those that this orchestrator may link"):
        link(PLATFORM, client, None, LATER)


@pytest.mark.parametrize("status", [CredentialStatus.INACTIVE, CredentialStatus.REVOKED])
def test_a_client_id_that_is_not_active_is_not_linked(status: CredentialStatus) -> None:
    with pytest.raises(Forbidden, match=f"^The client ID is {status}: only an active one can be linked"):
        link(PLATFORM, replace(OWN, status=status), None, LATER)


def test_a_client_id_is_linked_once_only_and_creates_by_itself_when_the_link_has_ended() -> None:
    linkage, linked = link(PLATFORM, OWN, None, LATER)
    ended, alone = unlink(linkage, linked, LAST)
    assert ended == replace(linkage, status=LinkageStatus.REVOKED, revoked_at=LAST)
    assert alone == replace(linked, orchestrator_id=None, updated_at=LAST)
    for earlier, client in ((ended, OWN), (None, alone), (ended, alone)):
        with pytest.raises(Conflict, match="linked once only"):
            link(PLATFORM, client, earlier, LATER)
