"""Owners are told of every change of credentials, destinations and members, once, however many there are."""

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.passkeys import flows as passkeys
from chalicelib.accounts.sign_in import identities
from chalicelib.base.email_addresses import email_address
from chalicelib.mail import changes, flows, store
from chalicelib.mail.changes import EVERY_SECONDS, MOST_LINES, NEWS
from chalicelib.mail.templates import words_of
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry, concerns_owners
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role, name_hash
from tests.fakes import passkeys as authenticator
from tests.fakes.crash import Crash, FragileQueue, FragileWrites, Tripwire
from tests.fakes.members import store_member
from tests.fakes.world import WALLET, World
from tests.support.members import opened

ANN, BOB = "ann@shop.example", "bob@shop.example"
ACTOR = Actor("acct", "person:ann", "203.0.113.7", "r")


def change(world: World, action: str = "api_key.created", target: str = "key-1", account_id: str = "acct") -> AuditEntry:
    actor = replace(world.actor, account_id=account_id)
    return world.services.store.write(audit.make_entry(actor, action, target, world.now, world.services.entropy))


def mailed(world: World) -> list[tuple[str, str]]:
    """Tells what is due, and sends it; returns to whom what was sent by that."""
    before = len(world.ses.sent)
    changes.tell(world.services)
    world.drain()
    return [(each.to, each.text.replace("\u2068", "").replace("\u2069", "")) for each in world.ses.sent[before:]]


@pytest.fixture(autouse=True)
def account(world: World) -> None:
    world.services.store.write(Account("acct", "Ann's shop", world.now))


def test_each_owner_is_notified_of_a_change_and_nobody_twice(world: World) -> None:
    store_member(world.services, "acct", ANN)
    store_member(world.services, "acct", BOB)
    store_member(world.services, "acct", "eve@shop.example", Role.ADMIN)
    api_keys.create_api_key(world.services, world.actor, {"label": "shop"})
    messages = dict(mailed(world))
    assert messages.keys() == {ANN, BOB}
    assert "In the account Ann's shop at Payment Request Service this has happened:" in messages[ANN]
    assert "2026-03-15 10:00 UTC · API key: created · " in messages[ANN] and "203.0.113.7" in messages[ANN]
    assert mailed(world) == []


def test_whoever_may_approve_is_told_of_changes_that_wait_and_of_nothing_else(world: World) -> None:
    """Else a thief with an owner's session alone decides who hears of what it asks for."""
    for name, role in ((ANN, Role.OWNER), ("fin@shop.example", Role.FINANCE), ("adm@shop.example", Role.ADMIN),
                       ("dev@shop.example", Role.DEVELOPER)):
        store_member(world.services, "acct", name, role)
    change(world, "change.requested", "change-1")
    change(world, "api_key.created", "key-1")
    messages = dict(mailed(world))
    assert messages.keys() == {ANN, "fin@shop.example", "adm@shop.example"}
    assert ["key-1" in messages[each] for each in sorted(messages)] == [False, True, False]
    assert all("change-1" in each for each in messages.values())


def test_nobody_takes_a_persons_address_away_before_it_is_told_so(world: World) -> None:
    """The address from before hears that another was added and itself removed, and of nothing else any more."""
    store_member(world.services, "acct", ANN)
    identities.add(world.services, _ann(world).person, "evil@thief.example", ACTOR)
    identities.remove(world.services, _ann(world), name_hash(ANN), ACTOR)
    change(world, "payee_destination.changed", "0xEvil")
    messages = dict(mailed(world))
    assert messages.keys() == {ANN, "evil@thief.example"}
    assert "Way to sign in: added" in messages[ANN] and "Way to sign in: removed" in messages[ANN]
    assert "0xEvil" not in messages[ANN] and "0xEvil" in messages["evil@thief.example"]
    assert all(each.mailed_to is None for each in entries(world)), "an address is kept no longer than for its mail"


def test_a_person_who_is_no_owner_is_told_of_a_passkey_of_theirs_at_confirmed_addresses(world: World) -> None:
    store_member(world.services, "acct", BOB)
    store_member(world.services, "acct", ANN, Role.VIEWER)
    added = identities.add(world.services, _ann(world).person, "ann@home.example", ACTOR)
    world.services.store.write(replace(added, version=1, verified_at=None))
    ann = _ann(world)
    options = passkeys.ask_to_register(world.services, ann)
    passkeys.register(world.services, ann, authenticator.create(options, "https://auth.example")[1], "phone", ACTOR)
    messages = dict(mailed(world))
    assert messages.keys() == {ANN, BOB} and all("Passkey: added" in each for each in messages.values())


def _ann(world: World) -> Member:
    """Ann in a new session, as the pipeline has her."""
    store, session = world.services.store, opened(world.services, "acct", ANN)[0]
    account, person = credential_store.account(store, "acct"), person_store.find_person(store, session.person_id)
    membership = person_store.find_membership(store, "acct", session.person_id)
    assert account is not None and person is not None and membership is not None
    return Member(session, account, membership, person)


def test_what_neither_moves_money_nor_lets_anybody_in_is_not_told(world: World) -> None:
    store_member(world.services, "acct", ANN)
    for action in ("session.created", "session.refused", "branding.updated", "payer.created", "payout.refused", "account.created"):
        assert not concerns_owners(action)
        assert change(world, action).next_due is None
    assert mailed(world) == []


@pytest.mark.parametrize(
    "action",
    ["api_key.revoked", "client_id.updated", "webhook.created", "payee_destination.changed", "orchestrator.linked",
     "member.role_changed", "person.password_reset", "passkey.added", "notifications.updated", "something.new"],
)
def test_every_other_action_is_notified_also_one_that_is_new(world: World, action: str) -> None:
    store_member(world.services, "acct", ANN)
    change(world, action)
    assert len(mailed(world)) == 1


def test_changes_of_a_minute_are_one_mail_and_those_of_other_accounts_others(world: World) -> None:
    store_member(world.services, "acct", ANN)
    store_member(world.services, "other", BOB)
    for number in range(3):
        change(world, target=f"key-{number}")
    change(world, account_id="other", target="key-9")
    messages = dict(mailed(world))
    assert [f"key-{number}" in messages[ANN] for number in range(10)] == [True] * 3 + [False] * 7
    assert "key-9" in messages[BOB] and "key-1" not in messages[BOB]


def test_nobody_hides_a_change_of_where_money_goes_behind_many_others(world: World) -> None:
    store_member(world.services, "acct", ANN)
    for number in range(60):
        change(world, "webhook.created", f"hook-{number}")
    change(world, "payee_destination.changed", "0xEvil")
    [(_, text)] = mailed(world)
    assert "0xEvil" in text and text.count("Webhook: created") == MOST_LINES - 1
    assert f"Further changes: {61 - MOST_LINES}." in text


@pytest.mark.parametrize("action", ["account.changed", "orchestrator.created", "webhook.created", "passkey.added"])
def test_nobody_hides_one_kind_of_change_behind_many_of_another(world: World, action: str) -> None:
    store_member(world.services, "acct", ANN)
    for number in range(60):
        change(world, "client_id.updated", f"client-{number}")
    change(world, action, "0xEvil")
    [(_, text)] = mailed(world)
    assert "0xEvil" in text


def asked(world: World, target: str, verb: str = "requested") -> None:
    entry = audit.make_entry(world.actor, f"change.{verb}", target, world.now, world.services.entropy)
    world.services.store.write(replace(entry, operation="create_payee_destination"))
    world.advance(0.01)


def test_changes_that_wait_are_listed_first_the_newest_at_the_top_each_with_its_operation(world: World) -> None:
    store_member(world.services, "acct", ANN)
    asked(world, "first")
    for number in range(30):
        asked(world, f"gone-{number}")
        asked(world, f"gone-{number}", "withdrawn")
    asked(world, "last")
    [(_, text)] = mailed(world)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(lines) == MOST_LINES
    assert "create_payee_destination · last" in lines[0] and "create_payee_destination · first" in lines[1]


def test_what_waits_beyond_the_lines_of_a_mail_is_in_the_next_one(world: World) -> None:
    store_member(world.services, "acct", ANN)
    for number in range(MOST_LINES + 3):
        asked(world, f"change-{number:02}")
    messages = [text for _, text in mailed(world)]
    world.advance(EVERY_SECONDS)
    messages += [text for _, text in mailed(world)]
    named = [set(re.findall("change-[0-9]+", text)) for text in messages]
    assert [len(each) for each in named] == [MOST_LINES, 3] and not named[0] & named[1]


def test_a_flood_makes_few_mails_and_none_of_its_changes_is_lost(world: World) -> None:
    store_member(world.services, "acct", ANN)
    messages = list[str]()
    for _ in range(3 * EVERY_SECONDS // 60):
        change(world, "api_key.updated")
        messages += [text for _, text in mailed(world)]
        world.advance(60)
    world.advance(EVERY_SECONDS)
    messages += [text for _, text in mailed(world)]
    assert [text.count("API key: updated") for text in messages] == [1, 5, 5, 4]
    assert [each for each in entries(world) if not each.is_notified] == []


def entries(world: World) -> list[AuditEntry]:
    return list(world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id="acct")))


def test_an_address_that_nobody_confirmed_and_a_wallet_get_none(world: World) -> None:
    store_member(world.services, "acct", ANN, confirmed=False)
    store_member(world.services, "acct", WALLET)
    change(world)
    assert mailed(world) == []
    assert all(each.is_notified for each in entries(world))


def test_without_a_sender_nothing_is_notified_and_later_only_what_is_new(world: World) -> None:
    silent = World(world.client)
    store_member(world.services, "acct", ANN)
    change(world, target="old")
    assert changes.tell(silent.services) == 0
    world.advance(NEWS.total_seconds() + 1)
    change(world, target="new")
    [(_, text)] = mailed(world)
    assert "new" in text and "old" not in text


def test_each_owner_is_notified_in_their_language(world: World) -> None:
    store_member(world.services, "acct", ANN)
    world.services.store.write(replace(store.mailbox(world.services.store, email_address(ANN)), locale="fr"))
    change(world)
    [(_, text)] = mailed(world)
    assert "Clé d'API: création" in text


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("fatal", range(1, 5))
def test_whatever_call_a_process_dies_at_owners_are_told_once(world: World, fatal: int, before: bool) -> None:
    store_member(world.services, "acct", ANN)
    store_member(world.services, "acct", BOB)
    change(world)
    wire = Tripwire(fatal, before)
    with suppress(Crash):
        changes.tell(world.start(FragileWrites(world.client, wire), FragileQueue(world.queue, wire)))
    for _ in range(3):
        world.advance(EVERY_SECONDS)
        changes.tell(world.services)
        flows.sweep(world.services)
        world.drain()
    assert sorted(each.to for each in world.ses.sent) == [ANN, BOB]


def test_two_sweeps_at_once_tell_once(world: World) -> None:
    store_member(world.services, "acct", ANN)
    change(world)
    changes._tell(world.services, "acct", [entries(world)[0].entry_id])
    changes._tell(world.services, "acct", [entries(world)[0].entry_id])
    world.drain()
    assert len(world.ses.sent) == 1


def test_hundreds_of_changes_of_one_account_are_one_mail_and_hold_up_no_other_account(world: World) -> None:
    store_member(world.services, "acct", ANN)
    store_member(world.services, "other", BOB)
    for number in range(200):
        change(world, "api_key.updated", f"key-{number}")
    change(world, account_id="other")
    messages = mailed(world)
    assert sorted(to for to, _ in messages) == [ANN, BOB]
    assert f"Further changes: {200 - MOST_LINES}." in dict(messages)[ANN]
    assert all(each.is_notified for each in entries(world))


def test_every_action_that_owners_are_told_of_has_its_words() -> None:
    """Of the actions that stand in the code as texts, and those that are made of a resource and a verb."""
    sources = [path.read_text() for path in Path(changes.__file__).parents[1].rglob("*.py")]
    call = r'(?:entry|entries|entries_of_person|_entry|_entries)\([^)]*?"([a-z_]+\.[a-z_]+)"'
    named = {action for source in sources for action in re.findall(call, source) if concerns_owners(action)}
    assert {"person.password_reset", "member.joined", "identity.added", "orchestrator.linked"} <= named
    webhooks = {f"webhook.{verb}" for verb in ("created", "deleted", "switched_on", "switched_off", "events_chosen")}
    verbs = ("created", "updated", "revoked", "tier_changed")
    credentials = {f"{noun}.{verb}" for noun in ("api_key", "client_id", "orchestrator_key") for verb in verbs}
    for action in named | webhooks | credentials:
        noun, verb = action.split(".")
        assert {f"noun.{noun}", f"verb.{verb}"} <= words_of("en").keys(), f"say {action} in chalicelib/mail/locales"
