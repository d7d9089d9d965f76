"""Passkeys: registered, used to sign in and to prove presence, and refused for whatever does not hold."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.accounts.passkeys import flows
from chalicelib.accounts.passkeys.records import Passkey
from chalicelib.accounts.passkeys.rules import MAX_PASSKEYS, REFUSED
from chalicelib.accounts.settings import flows as settings
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.base.errors import BadRequest, Conflict, NotFound, Unauthorized
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.presence import (
    PRESENCE,
    ProofRequired,
    check_presence,
    check_second_factor,
    proofs_of,
)
from chalicelib.platform.access.sessions.records import PresenceProof, SessionKind
from chalicelib.platform.storage.store import WriteConflict
from tests.accounts.members.test_flows import caller, is_valid
from tests.accounts.sign_in.test_flows import ACTOR, EMAIL, PASSWORD, audit
from tests.accounts.sign_in.test_identities import acting, by_wallet, signed_in
from tests.accounts.test_races import Flow, interleavings
from tests.fakes import passkeys as authenticator
from tests.fakes.passkeys import SoftKey, flipped, with_response
from tests.fakes.world import World
from tests.support.light_passwords import light_passwords

ORIGIN = "https://auth.example"
EVIL = "https://auth.evil.example"


@pytest.fixture(autouse=True)
def quick_passwords() -> Iterator[None]:
    with light_passwords():
        yield


def registered(world: World, member: Member, **changes: Any) -> tuple[SoftKey, Passkey]:
    key, credential = authenticator.create(flows.ask_to_register(world.services, member), ORIGIN, **changes)
    return key, flows.register(world.services, member, credential, "phone", acting(member))


def answer(world: World, key: SoftKey, **changes: Any) -> dict[str, Any]:
    """What the key answers when its person signs in."""
    return authenticator.get(key, flows.ask_to_sign_in(world.services), ORIGIN, **changes)


def sign_in(world: World, credential: dict[str, Any]) -> str:
    return flows.sign_in(world.services, credential, None, ACTOR)[1]


def as_now(world: World, token: str) -> Member:
    return caller(world.services, token).signed_in


def test_a_passkey_is_registered_and_signs_in_to_the_persons_account(world: World) -> None:
    member, _ = signed_in(world)
    key, passkey = registered(world, member)
    assert (passkey.sign_count, passkey.is_synced, passkey.name) == (0, False, "phone")
    session, token = flows.sign_in(world.services, answer(world, key), None, ACTOR)
    assert (session.kind, session.account_id, session.person_id) == (
        SessionKind.PASSKEY, member.session.account_id, member.person.person_id,
    )
    assert (session.proved_by, session.has_second_factor) == (PresenceProof.PASSKEY, True)
    assert is_valid(world.services, token)
    (found,) = flows.list_own(world.services, member.person.person_id)
    assert (found.sign_count, found.last_used_at) == (1, world.now)
    actions = {line.action for line in audit(world, member.session.account_id)}
    assert actions >= {"passkey.added", "session.created"}


def test_the_options_are_for_this_site_with_verified_users_and_name_no_address_as_id(world: World) -> None:
    member, _ = signed_in(world)
    _, passkey = registered(world, member)
    options = flows.ask_to_register(world.services, member)
    assert options["rp"] == {"name": world.services.settings.brand, "id": "auth.example"}
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["attestation"] == "none" and options["user"]["name"] == "ann@example.com"
    assert [each["id"] for each in options["excludeCredentials"]] == [passkey.credential_id]
    asked = flows.ask_to_sign_in(world.services)
    assert (asked["rpId"], asked["userVerification"], asked.get("allowCredentials", [])) == ("auth.example", "required", [])
    assert asked["challenge"] != flows.ask_to_sign_in(world.services)["challenge"]


@pytest.mark.parametrize(
    "changes",
    [
        {"rp_id": "evil.example"},
        {"verified": False},
        {"challenge": "AAAA"},
        {"crossOrigin": True},
        {"topOrigin": EVIL},
        {"type": "webauthn.create"},
    ],
    ids=str,
)
def test_what_is_made_for_another_site_or_without_its_user_neither_signs_in_nor_is_registered(
    world: World, changes: dict[str, Any]
) -> None:
    member, _ = signed_in(world)
    key, _ = registered(world, member)
    with pytest.raises(Unauthorized) as refusal:
        sign_in(world, answer(world, key, **changes))
    assert refusal.value.message == REFUSED
    if "type" not in changes:
        with pytest.raises((BadRequest, Unauthorized)) as refused:
            registered(world, member, **changes)
        assert refused.value.message == REFUSED
    assert len(flows.list_own(world.services, member.person.person_id)) == 1


@pytest.mark.parametrize("origin", [EVIL, "http://auth.example", "https://auth.example:444", "https://auth.example/", "null"])
def test_an_answer_given_on_another_origin_is_refused(world: World, origin: str) -> None:
    member, _ = signed_in(world)
    key, _ = registered(world, member)
    with pytest.raises(Unauthorized, match="ask for new options"):
        sign_in(world, authenticator.get(key, flows.ask_to_sign_in(world.services), origin))
    options = flows.ask_to_register(world.services, member)
    with pytest.raises(BadRequest, match="ask for new options"):
        flows.register(world.services, member, authenticator.create(options, origin)[1], "x", acting(member))


def test_an_answer_counts_once_in_time_and_for_its_purpose_and_session(world: World) -> None:
    member, token = signed_in(world)
    other, _ = signed_in(world)
    key, _ = registered(world, member)
    used = answer(world, key)
    assert is_valid(world.services, sign_in(world, used))
    to_prove = authenticator.get(key, flows.ask_to_prove(world.services, member), ORIGIN)
    to_sign_in, late = answer(world, key), answer(world, key)
    for refused in (
        lambda: sign_in(world, used),
        lambda: sign_in(world, to_prove),
        lambda: flows.prove(world.services, other, to_prove, acting(other)),
        lambda: flows.prove(world.services, member, to_sign_in, acting(member)),
    ):
        with pytest.raises(Unauthorized, match="ask for new options"):
            refused()
    assert flows.prove(world.services, member, to_prove, acting(member)).proved_by is PresenceProof.PASSKEY
    assert as_now(world, token).session.has_second_factor
    world.now += timedelta(minutes=5)
    with pytest.raises(Unauthorized, match="ask for new options"):
        sign_in(world, late)


def test_a_signature_a_key_or_a_handle_that_is_another_is_refused_and_recorded(world: World) -> None:
    member, _ = signed_in(world)
    key, _ = registered(world, member)
    stranger = SoftKey(key.rp_id, key.user_handle)
    stranger_id = SoftKey(key.rp_id, key.user_handle, raw_id=key.raw_id)
    ours = answer(world, key)
    before = len(audit(world, member.session.account_id))
    for wrong in (
        with_response(ours, signature=flipped(ours["response"]["signature"])),
        with_response(answer(world, key), authenticatorData=ours["response"]["authenticatorData"]),
        answer(world, stranger_id),
        answer(world, stranger),
        with_response(answer(world, key), userHandle=None),
        with_response(answer(world, key), userHandle="bm9ib2R5"),
        with_response(answer(world, key), userHandle="_____w"),
        {**answer(world, key), "rawId": "AAAA"},
    ):
        with pytest.raises(Unauthorized) as refusal:
            sign_in(world, wrong)
        assert refusal.value.message == REFUSED
    refused = [line.action for line in audit(world, member.session.account_id)].count("session.refused")
    assert refused == len(audit(world, member.session.account_id)) - before and refused >= 3


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: with_response(one, clientDataJSON="AAAA"),
        lambda one: with_response(one, clientDataJSON="e30"),
        lambda one: with_response(one, clientDataJSON="WzFd"),
        lambda one: with_response(one, clientDataJSON="!"),
        lambda one: with_response(one, clientDataJSON="W1tbW1tbW1tbW1tbW1tbW1tb" * 80),
        lambda one: with_response(one, authenticatorData="AAAA"),
        lambda one: with_response(one, signature="AAAA"),
        lambda one: {**one, "id": "!"},
    ],
)
def test_junk_is_refused_and_never_a_crash(world: World, spoil: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    member, _ = signed_in(world)
    key, _ = registered(world, member)
    with pytest.raises((BadRequest, Unauthorized)):
        sign_in(world, spoil(answer(world, key)))


@pytest.mark.parametrize("attestation", ["AAAA", "oA", "o2NmbXRkbm9uZWdhdHRTdG10oGhhdXRoRGF0YUA", "gYGBgYGBgYGBgYGB", "_w", "9w"])
def test_junk_in_place_of_a_new_passkey_is_400(world: World, attestation: str) -> None:
    member, _ = signed_in(world)
    _, credential = authenticator.create(flows.ask_to_register(world.services, member), ORIGIN)
    with pytest.raises(BadRequest, match="ask for new options"):
        spoilt = with_response(credential, attestationObject=attestation)
        flows.register(world.services, member, spoilt, "x", acting(member))
    assert flows.list_own(world.services, member.person.person_id) == []


# --- counts ---


def test_a_passkey_of_one_device_has_to_count_on(world: World) -> None:
    member, _ = signed_in(world)
    key, _ = registered(world, member)
    for _ in range(3):
        sign_in(world, answer(world, key))
    for count in (2, 1, -1):
        key.count = count
        with pytest.raises(Unauthorized, match="ask for new options"):
            sign_in(world, answer(world, key))
    assert "session.refused" in {line.action for line in audit(world, member.session.account_id)}
    key.count = 3
    assert is_valid(world.services, sign_in(world, answer(world, key)))


def test_a_synced_passkey_may_count_nothing_or_back_which_the_log_says(world: World) -> None:
    member, _ = signed_in(world)
    key, passkey = registered(world, member, synced=True)
    assert passkey.is_synced
    for count in (0, 0, 7, 3, 3):
        key.count = count
        assert is_valid(world.services, sign_in(world, answer(world, key)))
    actions = [line.action for line in audit(world, member.session.account_id)]
    assert actions.count("passkey.count_fell") == 1


@pytest.mark.parametrize("synced", [True, False])
def test_a_passkey_that_changes_whether_it_can_be_synced_is_refused(world: World, synced: bool) -> None:
    member, _ = signed_in(world)
    key, _ = registered(world, member, synced=synced)
    key.is_synced = not synced
    key.count = 9
    with pytest.raises(Unauthorized, match="ask for new options"):
        sign_in(world, answer(world, key))


# --- several passkeys ---


def test_a_passkey_is_registered_once_and_a_person_has_no_more_than_so_many(world: World) -> None:
    member, _ = signed_in(world)
    options = flows.ask_to_register(world.services, member)
    _, credential = authenticator.create(options, ORIGIN)
    flows.register(world.services, member, credential, "phone", acting(member))
    with pytest.raises(Unauthorized, match="ask for new options"):
        flows.register(world.services, member, credential, "phone", acting(member))
    for _ in range(MAX_PASSKEYS - 1):
        registered(world, member)
    with pytest.raises(BadRequest, match=f"No more than {MAX_PASSKEYS} passkeys a person"):
        registered(world, member)


def test_two_registrations_at_once_are_both_made_or_one_is_refused_and_the_count_holds() -> None:
    known: list[Member] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        member, _ = signed_in(world)
        known[:] = [member]
        for _ in range(MAX_PASSKEYS - 1):
            registered(world, member)
        made = [authenticator.create(flows.ask_to_register(world.services, member), ORIGIN)[1] for _ in range(2)]
        return (
            lambda services: flows.register(services, member, made[0], "x", acting(member)),
            lambda services: flows.register(services, member, made[1], "y", acting(member)),
        )

    for world, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        person = person_store.find_person(world.services.store, known[0].person.person_id)
        assert person is not None
        stored = {each.passkey_id for each in flows.list_own(world.services, person.person_id)}
        assert stored == set(person.passkeys) and len(stored) == MAX_PASSKEYS


def test_an_answer_that_is_sent_twice_at_once_opens_one_session() -> None:
    def prepare(world: World) -> tuple[Flow, Flow]:
        member, _ = signed_in(world)
        key, _ = registered(world, member)
        used = answer(world, key)
        return (
            lambda services: flows.sign_in(services, used, None, ACTOR),
            lambda services: flows.sign_in(services, used, None, ACTOR),
        )

    refused = 0
    for _, result in interleavings(prepare):
        assert isinstance(result, tuple | Unauthorized)
        refused += isinstance(result, Unauthorized)
    assert refused


def test_a_passkey_is_renamed_and_removed_and_nobody_elses_is(world: World) -> None:
    member, token = signed_in(world)
    key, passkey = registered(world, member)
    other = sign_in(world, answer(world, key))
    assert flows.rename(world.services, member, passkey.passkey_id, "old phone", acting(member)).name == "old phone"
    assert flows.rename(world.services, member, passkey.passkey_id, "old phone", acting(member)).name == "old phone"
    (entry,) = [each for each in audit(world, member.session.account_id) if each.action == "passkey.renamed"]
    assert (entry.actor, entry.target) == (f"person:{member.person.person_id}", passkey.passkey_id)
    stranger = caller(world.services, by_wallet(world)).signed_in
    for unknown in ("", "x" * 300, passkey.passkey_id):
        with pytest.raises(NotFound, match="Passkey not found"):
            flows.remove(world.services, stranger, unknown, acting(stranger))
    flows.remove(world.services, member, passkey.passkey_id, acting(member))
    assert [is_valid(world.services, each) for each in (token, other)] == [True, False]
    with pytest.raises(Unauthorized, match="ask for new options"):
        sign_in(world, answer(world, key))
    with pytest.raises(NotFound, match="You have no passkey"):
        flows.ask_to_prove(world.services, member)
    assert "passkey.removed" in {line.action for line in audit(world, member.session.account_id)}


def test_a_passkey_of_another_person_proves_nothing_here(world: World) -> None:
    member, _ = signed_in(world)
    registered(world, member)
    stranger = caller(world.services, by_wallet(world)).signed_in
    key, _ = registered(world, stranger)
    credential = authenticator.get(key, flows.ask_to_prove(world.services, member), ORIGIN)
    with pytest.raises(Unauthorized, match="ask for new options"):
        flows.prove(world.services, member, credential, acting(member))


# --- presence and the second factor ---


def test_signing_in_proves_presence_for_five_minutes_and_a_proof_for_five_more(world: World) -> None:
    member, token = signed_in(world)
    key, _ = registered(world, member)
    check_presence(member, world.now + PRESENCE)
    with pytest.raises(ProofRequired) as refusal:
        check_presence(member, world.now + PRESENCE + timedelta(milliseconds=1))
    assert (refusal.value.code, refusal.value.status) == ("presence_required", 403)
    assert refusal.value.proofs == (PresenceProof.PASSWORD,), "as the caller was before the passkey"
    world.advance(600)
    credential = authenticator.get(key, flows.ask_to_prove(world.services, member), ORIGIN)
    flows.prove(world.services, member, credential, acting(member))
    now = as_now(world, token)
    check_presence(now, world.now + PRESENCE)
    assert proofs_of(now) == (PresenceProof.PASSKEY, PresenceProof.PASSWORD)
    assert "session.proved" in {line.action for line in audit(world, member.session.account_id)}


def test_where_a_second_factor_is_demanded_a_password_alone_opens_nothing_until_a_passkey_proves(world: World) -> None:
    member, token = signed_in(world)
    actor = Actor(member.session.account_id, "person:x", "203.0.113.7", "r")
    with pytest.raises(Conflict, match="your own session has no second factor"):
        settings.change(world.services, actor, member, {"requires_second_factor": True})
    key, passkey = registered(world, member)
    with pytest.raises(ProofRequired) as demanded:
        settings.change(world.services, actor, as_now(world, token), {"requires_second_factor": True})
    assert (demanded.value.code, demanded.value.proofs) == ("presence_required", (PresenceProof.PASSKEY,))
    proof = authenticator.get(key, flows.ask_to_prove(world.services, member), ORIGIN)
    flows.prove(world.services, member, proof, acting(member))
    settings.change(world.services, actor, as_now(world, token), {"requires_second_factor": True})
    check_second_factor(as_now(world, token))
    by_password = caller(world.services, _token_of(world)).signed_in
    with pytest.raises(ProofRequired) as refusal:
        check_second_factor(by_password)
    assert (refusal.value.code, refusal.value.proofs) == ("second_factor_required", (PresenceProof.PASSKEY,))
    with pytest.raises(ProofRequired, match="proof of your presence"):
        check_presence(by_password, world.now)
    with pytest.raises(Conflict, match="This account demands a second factor: add another passkey"):
        flows.remove(world.services, as_now(world, token), passkey.passkey_id, acting(member))
    check_second_factor(as_now(world, sign_in(world, answer(world, key))))


@pytest.mark.parametrize("more", ["x", "\0", " ", "0" * 64])
def test_a_passkey_is_not_found_by_a_longer_id(world: World, more: str) -> None:
    """Its key has the first 64 characters of an id. The last one of an account that demands one would be removed."""
    member, _ = signed_in(world)
    _, passkey = registered(world, member)
    for act in (lambda each: flows.remove(world.services, member, each, acting(member)),
                lambda each: flows.rename(world.services, member, each, "old phone", acting(member))):  # fmt: skip
        with pytest.raises(NotFound, match="Passkey not found"):
            act(passkey.passkey_id + more)
    assert [each.passkey_id for each in flows.list_own(world.services, member.person.person_id)] == [passkey.passkey_id]


def _token_of(world: World) -> str:
    return sign_in_flows.log_in(world.services, EMAIL, PASSWORD, None, ACTOR)[1]


def test_somebody_without_a_passkey_may_add_the_first_one_where_it_is_demanded(world: World) -> None:
    member, token = signed_in(world)
    actor = Actor(member.session.account_id, "person:x", "203.0.113.7", "r")
    wallet = caller(world.services, by_wallet(world)).signed_in
    settings.change(world.services, actor, wallet, {"requires_second_factor": True})
    ann = as_now(world, token)
    with pytest.raises(ProofRequired):
        check_second_factor(ann)
    check_presence(ann, world.now)
    key, _ = registered(world, ann)
    proof = authenticator.get(key, flows.ask_to_prove(world.services, ann), ORIGIN)
    flows.prove(world.services, ann, proof, acting(ann))
    check_second_factor(as_now(world, token))
