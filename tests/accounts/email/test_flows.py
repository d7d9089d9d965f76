"""Registering, confirming and new passwords by links: each once, for its owner alone, and without saying who is known."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from chalicelib.accounts.email import flows
from chalicelib.accounts.members import invitations
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in.passwords import is_password
from chalicelib.base.errors import BadRequest, Conflict, Unauthorized
from chalicelib.mail.records import Mail, MailKind
from chalicelib.platform.access.audit.records import Actor, AuditEntry, concerns_owners
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Person, Role
from chalicelib.platform.access.people.rules import new_membership
from chalicelib.platform.access.sessions import store as session_store
from chalicelib.platform.storage.store import WriteConflict
from infra.local.cloud import Cloud
from tests.accounts.test_races import Flow, interleavings
from tests.bench.calls import counted
from tests.fakes.mails import SENDER
from tests.fakes.world import World, in_process_aws
from tests.support.light_passwords import light_passwords

ACTOR = Actor("", "anonymous", "203.0.113.7", "req-1")
ANN, OLD, NEW = "ann@shop.example", "correct horse", "battery staple"


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client, light_passwords():
        yield World(client, mail_sender=SENDER)


def registered(world: World, name: str = ANN) -> Person:
    sign_in_flows.register(world.services, name, OLD, ACTOR)
    return person(world, name)


def person(world: World, name: str = ANN) -> Person:
    identity = person_store.identity(world.services.store, name)
    found = person_store.find_person(world.services.store, identity.person_id) if identity else None
    assert found is not None
    return found


def token_sent(world: World, name: str = ANN) -> str:
    """The token of the link in the newest message to an address."""
    world.drain()
    message = world.ses.to(name)[-1]
    links = re.findall(r"https://auth\.example/dashboard/(?:confirm|password|invitation)#(\S+)", message.text)
    assert len(links) == 1 and links[0] in message.html
    return links[0]


def log_in(world: World, password: str, name: str = ANN) -> str:
    return sign_in_flows.log_in(world.services, name, password, None, ACTOR)[1]


def ask(world: World, whose: Person, email: str) -> None:
    flows.ask_confirmation(world.services, whose.account_id, whose, email, "en")


# --- registering ---


def test_an_account_exists_when_its_address_is_confirmed(world: World) -> None:
    permit = flows.register(world.services, "Ann@SHOP.example", OLD, "de")
    with pytest.raises(Unauthorized):
        log_in(world, OLD)
    assert flows.confirm(world.services, token_sent(world), ACTOR) == ANN
    made = person(world)
    assert made.account_id == permit.account_id
    assert log_in(world, OLD).startswith(permit.account_id)
    identity = person_store.identity(world.services.store, ANN)
    assert identity is not None and identity.verified_at == world.now
    [address] = flows.addresses_of(world.services, made)
    assert address.mailbox.locale == "de" and world.ses.sent[0].subject == "E-Mail-Adresse bestätigen"


def test_whoever_is_registered_is_told_so_and_nothing_changes(world: World) -> None:
    before = registered(world)
    flows.register(world.services, ANN, "somebody else's", "en")
    world.drain()
    [message] = world.ses.sent
    assert message.subject == "You already have an account" and "#" not in message.text
    assert person(world) == before
    log_in(world, OLD)


def test_the_link_of_a_registration_works_once_and_for_the_first_of_two(world: World) -> None:
    flows.register(world.services, ANN, OLD, "en")
    first = token_sent(world)
    flows.register(world.services, ANN, "of another person", "en")
    second = token_sent(world)
    flows.confirm(world.services, first, ACTOR)
    for used in (first, second):
        with pytest.raises(BadRequest, match="was used already, or has expired"):
            flows.confirm(world.services, used, ACTOR)
    log_in(world, OLD)


def test_a_link_ends_when_its_mail_says_so(world: World) -> None:
    flows.register(world.services, ANN, OLD, "en")
    token = token_sent(world)
    world.advance(24 * 3600)
    with pytest.raises(BadRequest):
        flows.confirm(world.services, token, ACTOR)


# --- confirming ---


def test_an_address_of_before_is_confirmed_by_its_owner(world: World) -> None:
    ann = registered(world)
    ask(world, ann, "ANN@shop.example")
    flows.confirm(world.services, token_sent(world), ACTOR)
    [address] = flows.addresses_of(world.services, ann)
    assert address.identity.verified_at == world.now
    with pytest.raises(Conflict):
        ask(world, ann, ANN)


def test_another_address_is_added_to_the_person_when_its_link_is_followed(world: World) -> None:
    ann = registered(world)
    ask(world, ann, "ann@home.example")
    assert person(world).identities == (ANN,)
    flows.confirm(world.services, token_sent(world, "ann@home.example"), ACTOR)
    assert person(world).identities == (ANN, "ann@home.example")
    log_in(world, OLD, "ann@home.example")


def test_the_address_of_somebody_else_gets_no_mail_and_nobody_is_told_that_it_is_known(world: World) -> None:
    ann = registered(world)
    registered(world, "bob@shop.example")
    ask(world, ann, "bob@shop.example")
    world.drain()
    assert not world.ses.sent
    ask(world, ann, "eve@shop.example")
    eve = token_sent(world, "eve@shop.example")
    registered(world, "eve@shop.example")
    with pytest.raises(BadRequest):
        flows.confirm(world.services, eve, ACTOR)


def test_an_account_has_links_sent_to_fifty_addresses_a_day_at_most(world: World) -> None:
    ann = registered(world)
    for number in range(55):
        ask(world, ann, f"stranger{number}@shop.example")
    world.drain()
    assert len(world.ses.sent) == 50


@pytest.mark.parametrize("text", ["", "x", "a" * 43, "\ud800", "a" * 5000, "../../x"])
def test_a_text_that_is_no_token_is_refused(world: World, text: str) -> None:
    with pytest.raises(BadRequest):
        flows.confirm(world.services, text, ACTOR)
    with pytest.raises(BadRequest):
        flows.reset_password(world.services, text, NEW, ACTOR)


def test_a_link_is_good_for_its_purpose_alone(world: World) -> None:
    ann = registered(world)
    ask(world, ann, ANN)
    confirming = token_sent(world)
    flows.forgot_password(world.services, ANN, "en")
    resetting = token_sent(world)
    with pytest.raises(BadRequest):
        flows.reset_password(world.services, confirming, NEW, ACTOR)
    with pytest.raises(BadRequest):
        flows.confirm(world.services, resetting, ACTOR)


# --- passwords ---


def test_a_new_password_ends_all_sessions_and_confirms_the_address(world: World) -> None:
    ann = registered(world)
    open_session = log_in(world, OLD)
    flows.forgot_password(world.services, ANN, "en")
    flows.reset_password(world.services, token_sent(world), NEW, ACTOR)
    changed = person(world)
    assert is_password(NEW, changed.password_hash) and not is_password(OLD, changed.password_hash)
    assert changed.sessions_since > ann.sessions_since
    assert session_store.open_sessions(world.services.store, ann.person_id, world.now) == []
    assert open_session
    with pytest.raises(Unauthorized):
        log_in(world, OLD)
    log_in(world, NEW)
    identity = person_store.identity(world.services.store, ANN)
    assert identity is not None and identity.verified_at is not None


def test_a_link_to_confirm_an_address_works_no_more_after_a_new_password(world: World) -> None:
    """It may have been a thief who asked for it, whom the new password was to shut out."""
    ann = registered(world)
    asked = (ANN, "evil@thief.example")
    for name in asked:
        ask(world, ann, name)
    before = [token_sent(world, name) for name in asked]
    flows.forgot_password(world.services, ANN, "en")
    flows.reset_password(world.services, token_sent(world), NEW, ACTOR)
    for token in before:
        with pytest.raises(BadRequest, match="was used already, or has expired"):
            flows.confirm(world.services, token, ACTOR)
    assert person(world).identities == (ANN,)
    ask(world, person(world), "ann@home.example")
    flows.confirm(world.services, token_sent(world, "ann@home.example"), ACTOR)
    assert person(world).identities == (ANN, "ann@home.example")


def test_a_link_that_is_followed_while_the_password_is_replaced_adds_nothing_afterwards() -> None:
    """Wherever the two meet, the sessions' end is not followed by another way to sign in."""

    def prepare(world: World) -> tuple[Flow, Flow]:
        mailing = World(world.client, seed=999, mail_sender=SENDER)
        registered(mailing)
        ask(mailing, person(mailing), "evil@thief.example")
        evil = token_sent(mailing, "evil@thief.example")
        flows.forgot_password(mailing.services, ANN, "en")
        reset = token_sent(mailing)
        return (
            lambda services: flows.confirm(services, evil, ACTOR),
            lambda services: flows.reset_password(services, reset, NEW, ACTOR),
        )

    with light_passwords():
        for world, result in interleavings(prepare):
            assert not isinstance(result, WriteConflict)
            ann = person(world)
            assert ann.version == ann.sessions_since, "nothing of the person was written afterwards"


def test_a_link_works_once_for_30_minutes_and_not_after_another_new_password(world: World) -> None:
    registered(world)
    tokens = []
    for _ in range(3):
        flows.forgot_password(world.services, ANN, "en")
        tokens.append(token_sent(world))
    flows.reset_password(world.services, tokens[1], NEW, ACTOR)
    for used in tokens:
        with pytest.raises(BadRequest):
            flows.reset_password(world.services, used, "a third one", ACTOR)
    flows.forgot_password(world.services, ANN, "en")
    last = token_sent(world)
    world.advance(30 * 60)
    with pytest.raises(BadRequest):
        flows.reset_password(world.services, last, "a third one", ACTOR)


@pytest.mark.parametrize("password", ["short", "x" * 101])
def test_a_text_that_is_no_password_leaves_the_link_as_it_is(world: World, password: str) -> None:
    registered(world)
    flows.forgot_password(world.services, ANN, "en")
    token = token_sent(world)
    with pytest.raises(BadRequest, match="password must"):
        flows.reset_password(world.services, token, password, ACTOR)
    flows.reset_password(world.services, token, NEW, ACTOR)


def test_each_account_of_the_person_has_an_entry(world: World) -> None:
    ann = registered(world)
    world.services.store.write(*new_membership("other", ann.person_id, Role.VIEWER, world.now))
    flows.forgot_password(world.services, ANN, "en")
    flows.reset_password(world.services, token_sent(world), NEW, ACTOR)
    for account_id in (ann.account_id, "other"):
        entries = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account_id))
        [entry] = [each for each in entries if each.action == "person.password_reset"]
        assert entry.actor == f"person:{ann.person_id}" or entry.target == ann.person_id


def test_another_language_of_the_mails_is_in_the_audit_log_of_each_account_once(world: World) -> None:
    ann = registered(world)
    world.services.store.write(*new_membership("other", ann.person_id, Role.VIEWER, world.now))
    actor = replace(ACTOR, name=f"person:{ann.person_id}")
    for _ in range(2):
        flows.choose_language(world.services, ann, "de", actor)
    assert [each.mailbox.locale for each in flows.addresses_of(world.services, ann)] == ["de"]
    for account_id in (ann.account_id, "other"):
        entries = world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=account_id))
        [entry] = [each for each in entries if each.action == "email.language_chosen"]
        assert (entry.actor, entry.target) == (actor.name, ann.person_id)
        assert not concerns_owners(entry.action), "what the owners are told of is money, credentials and people"


# --- nobody learns who is known ---


@pytest.mark.parametrize("ask", ["forgot", "register"])
def test_the_same_is_read_encrypted_and_written_for_a_known_address_as_for_an_unknown_one(world: World, ask: str) -> None:
    registered(world)
    seen = []
    for name in (ANN, "nobody@shop.example"):
        with counted(world.client) as calls:
            if ask == "forgot":
                flows.forgot_password(world.services, name, "en")
            else:
                flows.register(world.services, name, OLD, "en")
        mails = [each for each in stored(world, Mail) if each.sealed]
        seen.append((calls.by_operation, len(mails[-1].sealed or "") > 0, len(world.queue.messages)))
        world.queue.messages.clear()
    assert seen[0] == seen[1]


def stored(world: World, kind: type) -> list:
    return [record for record, _ in world.services.store.scan([kind])]


def test_an_unknown_address_gets_no_mail_and_none_is_stored_of_it(world: World) -> None:
    flows.forgot_password(world.services, "nobody@shop.example", "en")
    [mail] = stored(world, Mail)
    assert (mail.kind, mail.recipient) == (MailKind.NOTHING, "")
    world.drain()
    assert not world.ses.sent


def test_more_than_five_an_hour_are_answered_in_the_same_way_and_not_sent(world: World) -> None:
    registered(world)
    for _ in range(8):
        flows.forgot_password(world.services, ANN, "en")
    world.drain()
    assert len(world.ses.sent) == 5


def test_a_mail_goes_to_the_address_of_the_person_however_it_is_asked_for(world: World) -> None:
    registered(world)
    flows.forgot_password(world.services, "ANN@SHOP.EXAMPLE", "en")
    world.drain()
    assert [each.to for each in world.ses.sent] == [ANN]


def test_without_a_sender_nothing_is_written(world: World) -> None:
    silent = World(world.client)
    ann = registered(silent)
    flows.forgot_password(silent.services, ANN, "en")
    ask(silent, ann, ANN)
    assert stored(world, Mail) == [] and not silent.queue.messages
    assert [each for each in world.client.scan(TableName="payment-requests-local-sessions")["Items"] if "EMAIL" in str(each)] == []


# --- invitations ---


def test_an_invitation_is_sent_and_whoever_registers_by_it_confirms_their_address(world: World) -> None:
    ann = registered(world)
    actor = Actor(ann.account_id, f"person:{ann.person_id}", "203.0.113.7", "req-1")
    invitations.invite(world.services, actor, ann.person_id, "bob@shop.example", Role.FINANCE)
    secret = token_sent(world, "bob@shop.example")
    assert "with the role \u2068finance\u2069" in world.ses.to("bob@shop.example")[0].text
    invitations.register(world.services, ACTOR, secret, NEW, "fr")
    bob = person(world, "bob@shop.example")
    identity = person_store.identity(world.services.store, "bob@shop.example")
    assert identity is not None and identity.verified_at is None
    flows.confirm(world.services, token_sent(world, "bob@shop.example"), ACTOR)
    assert flows.addresses_of(world.services, bob)[0].identity.verified_at is not None
    assert world.ses.to("bob@shop.example")[-1].subject == "Confirmez votre adresse e-mail"


def test_an_invitation_of_a_wallet_is_not_sent(world: World) -> None:
    ann = registered(world)
    actor = Actor(ann.account_id, f"person:{ann.person_id}", "203.0.113.7", "req-1")
    invitations.invite(world.services, actor, ann.person_id, "0x627306090abaB3A6e1400e9345bC60c78a8BEf57", Role.VIEWER)
    assert stored(world, Mail) == []


# --- at once ---


@pytest.fixture(scope="module")
def real(cloud: Cloud) -> World:
    return World(cloud.client("dynamodb"), seed=29, mail_sender=SENDER)


def test_a_link_that_is_followed_ten_times_at_once_counts_once(real: World) -> None:
    name = "race@shop.example"
    flows.register(real.services, name, OLD, "en")
    token = token_sent(real, name)

    def confirm(number: int) -> bool:
        try:
            flows.confirm(real.services, token, ACTOR)
        except BadRequest:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(confirm, range(10))) == 1
    flows.forgot_password(real.services, name, "en")
    resetting = token_sent(real, name)

    def reset(number: int) -> bool:
        try:
            flows.reset_password(real.services, resetting, f"password {number}", ACTOR)
        except BadRequest:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(reset, range(10))) == 1
    assert person(real, name).password_hash is not None
