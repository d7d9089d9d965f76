"""The table of what credentials may do with what was made with each of them, against the sentences that it follows."""

import itertools
from dataclasses import dataclass

import pytest

from chalicelib.base.errors import Forbidden
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import TABLE, Use, changes_only_public, check_changes, finds_links, may, sees

SECRETS = (Mode.API_KEY, Mode.SESSION)
MAKERS = (None, *SECRETS, Mode.ORCHESTRATOR, Mode.CLIENT_ID)


@dataclass(frozen=True)
class Caller:
    mode: Mode | None
    client_id: str | None = None
    account_id: str = "acct"


@dataclass(frozen=True)
class Thing:
    created_with: Mode | None
    client_id: str | None = None
    account_id: str = "acct"


def test_the_table_has_every_use_and_every_credential_that_acts_for_an_account() -> None:
    assert set(TABLE) == set(Use)
    for row in TABLE.values():
        assert set(row) == {*SECRETS, Mode.ORCHESTRATOR, Mode.CLIENT_ID}


@pytest.mark.parametrize("use", Use)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_of_the_account_does_everything_with_everything_that_it_sees(
    use: Use, maker: Mode | None, secret: Mode
) -> None:
    for of in (None, "cli_a", "cli_b"):
        assert may(Caller(secret), use, Thing(maker, of))
        assert may(Caller(secret, "cli_a"), use, Thing(maker, of)) == (of != "cli_b")
        assert not may(Caller(secret, account_id="other"), use, Thing(maker, of))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_client_id_alone_changes_only_what_it_alone_has_made_and_reads_nothing_private(maker: Mode | None) -> None:
    for of in (None, "cli_a", "cli_b"):
        caller, thing = Caller(Mode.CLIENT_ID, "cli_a"), Thing(maker, of)
        assert may(caller, Use.SEE, thing) == (of != "cli_b"), "payers read what the merchant's server has made"
        is_own = maker is Mode.CLIENT_ID and of != "cli_b"  # nothing is made with a client id alone and without one
        assert may(caller, Use.CHANGE, thing) == is_own
        assert not may(caller, Use.READ_PRIVATE, thing)
        assert not may(caller, Use.FIND_LINK, thing)
    assert not finds_links(Caller(Mode.CLIENT_ID, "cli_a"))


@pytest.mark.parametrize("maker", MAKERS)
def test_an_orchestrator_reaches_only_what_was_made_for_its_client_id(maker: Mode | None) -> None:
    for of in (None, "cli_a", "cli_b"):
        caller, thing = Caller(Mode.ORCHESTRATOR, "cli_a"), Thing(maker, of)
        assert may(caller, Use.SEE, thing) == may(caller, Use.FIND_LINK, thing) == (of == "cli_a")
        is_changed = of == "cli_a" and maker in (Mode.ORCHESTRATOR, Mode.CLIENT_ID)
        assert may(caller, Use.CHANGE, thing) == is_changed
        assert may(caller, Use.READ_PRIVATE, thing) == (of == "cli_a" and maker is Mode.ORCHESTRATOR)
    assert finds_links(Caller(Mode.ORCHESTRATOR, "cli_a"))


def test_a_client_id_alone_finds_only_the_webhooks_of_client_ids_alone() -> None:
    assert [mode for mode in TABLE[Use.CHANGE] if changes_only_public(Caller(mode, "cli_a"))] == [Mode.CLIENT_ID]


def test_whoever_may_not_change_is_told_what_to_send() -> None:
    for mode, maker in itertools.product(TABLE[Use.CHANGE], MAKERS):
        caller, thing = Caller(mode, "cli_a"), Thing(maker, "cli_a")
        if may(caller, Use.CHANGE, thing):
            check_changes(caller, thing)
            continue
        with pytest.raises(Forbidden, match="send an x-api-key, or sign in for a session"):
            check_changes(caller, thing)


def test_what_is_not_seen_is_not_used_at_all() -> None:
    for use, mode, maker in itertools.product(Use, TABLE[Use.SEE], MAKERS):
        caller = Caller(mode, "cli_a")
        for thing in (Thing(maker, "cli_b"), Thing(maker, "cli_a", "other")):
            assert not sees(caller, thing) and not may(caller, use, thing)
