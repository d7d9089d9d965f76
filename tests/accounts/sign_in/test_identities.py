"""Several ways to sign in of one person: added with a proof, removed, and never the last one."""

from collections.abc import Iterator

import pytest

from chalicelib.accounts.sign_in import flows, identities, open_sessions, wallets
from chalicelib.accounts.sign_in.identities import MAX_IDENTITIES
from chalicelib.accounts.sign_in.wallets import SignedChallenge
from chalicelib.base.errors import BadRequest, Conflict, NotFound, Unauthorized
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import name_hash
from chalicelib.platform.storage.store import WriteConflict
from tests.accounts.members.test_flows import caller, is_valid
from tests.accounts.sign_in.test_flows import ACTOR, EMAIL, PASSWORD, answered, asked, audit, log_in, registered
from tests.accounts.test_races import Flow, interleavings
from tests.fakes.wallets import EvmWallet, evm_wallet, tron_wallet
from tests.fakes.world import World
from tests.support.light_passwords import light_passwords


@pytest.fixture(autouse=True)
def quick_passwords() -> Iterator[None]:
    with light_passwords():
        yield


def signed_in(world: World) -> tuple[Member, str]:
    """Ann, signed in by e-mail, and the token of the session."""
    if person_store.identity(world.services.store, EMAIL) is None:
        registered(world)
    token = flows.log_in(world.services, EMAIL, PASSWORD, None, ACTOR)[1]
    return caller(world.services, token).signed_in, token


def acting(member: Member) -> Actor:
    return Actor(member.session.account_id, f"person:{member.person.person_id}", "203.0.113.7", "r")


def answer(world: World, member: Member, wallet: EvmWallet | None = None) -> SignedChallenge:
    wallet = wallet or evm_wallet()
    challenge = identities.challenge(world.services, member, wallet.address, 1)
    return answered(challenge, wallet.sign(challenge.message))


def add(world: World, member: Member, signed: SignedChallenge) -> str:
    return identities.add_wallet(world.services, member, signed, acting(member)).name_hash


def by_wallet(world: World, wallet: EvmWallet | None = None) -> str:
    wallet = wallet or evm_wallet()
    challenge = asked(world, wallet.address)
    return flows.sign_in(world.services, answered(challenge, wallet.sign(challenge.message)), None, ACTOR)[1]


def test_a_wallet_that_was_added_signs_in_to_the_same_person_and_account(world: World) -> None:
    member, _ = signed_in(world)
    added = add(world, member, answer(world, member))
    assert added == name_hash(evm_wallet().address)
    by = caller(world.services, by_wallet(world)).signed_in
    assert by.person.person_id == member.person.person_id and by.session.account_id == member.session.account_id
    assert by.person.identities == (EMAIL, evm_wallet().address)
    lines = {(line.actor, line.action, line.target) for line in audit(world, member.session.account_id)}
    assert (f"person:{member.person.person_id}", "identity.added", added) in lines


def test_a_challenge_to_add_a_wallet_counts_once_and_in_its_session_alone(world: World) -> None:
    member, _ = signed_in(world)
    other, _ = signed_in(world)
    signed = answer(world, member)
    sign_in = asked(world, evm_wallet().address)
    for by, wrong in (
        (other, signed),
        (member, answered(sign_in, evm_wallet().sign(sign_in.message))),
        (member, answered(identities.challenge(world.services, member, evm_wallet().address, 1), "0x" + "11" * 65)),
    ):
        with pytest.raises(Unauthorized):
            add(world, by, wrong)
    with pytest.raises(Unauthorized):
        flows.sign_in(world.services, signed, None, ACTOR)
    add(world, member, signed)
    with pytest.raises(Unauthorized, match="Invalid or expired challenge"):
        add(world, member, signed)


def test_a_wallet_that_signs_somebody_in_is_not_added(world: World) -> None:
    member, _ = signed_in(world)
    by_wallet(world)
    with pytest.raises(Conflict, match="Somebody signs in with this name, another person: remove it there first"):
        add(world, member, answer(world, member))
    add(world, member, answer(world, member, evm_wallet("own")))
    with pytest.raises(Conflict, match="Somebody signs in with this name already"):
        add(world, member, answer(world, member, evm_wallet("own")))


def test_a_person_has_no_more_than_so_many_ways_to_sign_in(world: World) -> None:
    member, _ = signed_in(world)
    for number in range(MAX_IDENTITIES - 1):
        person = person_store.find_person(world.services.store, member.person.person_id)
        assert person is not None
        identities.add(world.services, person, f"a{number}@shop.example", acting(member))
    with pytest.raises(BadRequest, match=f"No more than {MAX_IDENTITIES} wallets and e-mail addresses a person"):
        add(world, member, answer(world, member))


def test_removing_a_way_to_sign_in_ends_all_sessions_but_the_one_that_did_it(world: World) -> None:
    member, token = signed_in(world)
    added = add(world, member, answer(world, member))
    lost, other = by_wallet(world), flows.log_in(world.services, EMAIL, PASSWORD, None, ACTOR)[1]
    identities.remove(world.services, member, added, acting(member))
    assert [is_valid(world.services, each) for each in (token, lost, other)] == [True, False, False]
    world.advance(60)
    open_sessions.log_out(world.services, caller(world.services, token).signed_in.session, ACTOR)
    assert not is_valid(world.services, token), "it is as any other"
    assert person_store.identity(world.services.store, evm_wallet().address) is None
    stranger = caller(world.services, by_wallet(world)).signed_in
    assert stranger.person.person_id != member.person.person_id, "the wallet is nobody's now"
    assert "identity.removed" in {line.action for line in audit(world, member.session.account_id)}


def test_the_session_of_the_removed_way_ends_too_and_the_password_goes_with_the_last_address(world: World) -> None:
    member, token = signed_in(world)
    add(world, member, answer(world, member))
    identities.remove(world.services, member, name_hash(EMAIL), acting(member))
    assert not is_valid(world.services, token)
    with pytest.raises(Unauthorized):
        log_in(world)
    person = person_store.find_person(world.services.store, member.person.person_id)
    assert person is not None and (person.password_hash, person.identities) == (None, (evm_wallet().address,))


def test_the_only_way_to_sign_in_stays_and_nobody_elses_is_removed(world: World) -> None:
    member, _ = signed_in(world)
    by_wallet(world, evm_wallet("stranger"))
    with pytest.raises(Conflict, match="This is your only way to sign in: add another one first"):
        identities.remove(world.services, member, name_hash(EMAIL), acting(member))
    for unknown in ("", "x", name_hash(evm_wallet("stranger").address), name_hash(tron_wallet().address)):
        with pytest.raises(NotFound, match="There is no such way to sign in"):
            identities.remove(world.services, member, unknown, acting(member))


def test_of_two_ways_that_are_removed_at_once_one_stays_wherever_they_meet() -> None:
    known: list[Member] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        member, _ = signed_in(world)
        added = add(world, member, answer(world, member))
        known[:] = [member]
        return (
            lambda services: identities.remove(services, member, added, acting(member)),
            lambda services: identities.remove(services, member, name_hash(EMAIL), acting(member)),
        )

    for world, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        person = person_store.find_person(world.services.store, known[0].person.person_id)
        assert person is not None and len(person.identities) == 1
        assert person_store.identity(world.services.store, person.identities[0]) is not None


def test_a_wallet_that_is_added_and_signs_in_at_once_is_one_persons(world: World) -> None:
    def prepare(world: World) -> tuple[Flow, Flow]:
        member, _ = signed_in(world)
        signed = answer(world, member)
        challenge = wallets.create_challenge(world.services, evm_wallet().address, 1)
        own = answered(challenge, evm_wallet().sign(challenge.message))
        return (
            lambda services: identities.add_wallet(services, member, signed, acting(member)),
            lambda services: flows.sign_in(services, own, None, ACTOR),
        )

    for world_of, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        identity = person_store.identity(world_of.services.store, evm_wallet().address)
        assert identity is not None
        person = person_store.find_person(world_of.services.store, identity.person_id)
        assert person is not None and identity.name in person.identities
