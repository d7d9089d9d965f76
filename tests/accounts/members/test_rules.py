"""Who may change which member, what keeps an account its owner, and when an invitation can be used."""

from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.accounts.members.rules import (
    INVITATION_LIFETIME,
    MAX_MEMBERS,
    UNKNOWN_INVITATION,
    Team,
    check_invited,
    check_keeps_owner,
    check_manages,
    check_open,
    check_room,
    invitations_by,
    new_invitation,
    new_secret,
    parse_secret,
)
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people.records import Identity, Membership, Person, Role
from chalicelib.platform.access.people.roles import SCOPES_OF
from tests.fakes.world import START
from tests.platform.access.test_sessions import entropy

ACCOUNT = "01KJM9CZ00ACCT000000000000"


def member(role: Role, name: str = "") -> Membership:
    return Membership(ACCOUNT, name or role, role, START)


def team(*members: Membership) -> Team:
    return Team(Account(ACCOUNT, "shop", START), members, ())


ALL = team(*(member(role) for role in Role))


@pytest.mark.parametrize("role", Role)
def test_only_owners_and_admins_change_members_and_only_owners_change_owners(role: Role) -> None:
    for other in Role:
        manages = role is Role.OWNER or (role is Role.ADMIN and other is not Role.OWNER)
        if manages:
            check_manages(ALL, role, other)
        else:
            with pytest.raises(Forbidden, match=f"^Your role in this account is {role}, which lacks the scope "):
                check_manages(ALL, role, other)


def test_who_is_no_member_any_more_changes_nobody_and_the_operator_everybody() -> None:
    with pytest.raises(Forbidden, match="You are no longer a member of this account"):
        check_manages(ALL, "removed", Role.VIEWER)
    check_manages(ALL, None, Role.OWNER, Role.VIEWER)


def test_the_last_owner_stays() -> None:
    ann, bob = member(Role.OWNER, "ann"), member(Role.OWNER, "bob")
    with pytest.raises(Conflict, match="This is the last owner of the account: make somebody else an owner first"):
        check_keeps_owner(team(ann, member(Role.ADMIN)), ann)
    check_keeps_owner(team(ann, bob), ann)
    check_keeps_owner(team(ann, member(Role.ADMIN)), member(Role.ADMIN))


def test_the_owner_has_every_scope_and_every_other_role_fewer() -> None:
    for role in Role:
        assert set(SCOPES_OF[role]) <= set(SCOPES_OF[Role.OWNER])
        assert len(set(SCOPES_OF[role])) == len(SCOPES_OF[role])
        assert role is Role.OWNER or "owners:write" not in SCOPES_OF[role]
    assert set(SCOPES_OF[Role.VIEWER]) < set(SCOPES_OF[Role.SUPPORT]) < set(SCOPES_OF[Role.FINANCE])
    assert not any(scope.endswith(":write") for scope in SCOPES_OF[Role.VIEWER])


def test_members_and_open_invitations_count_alike_and_what_is_accepted_has_its_place() -> None:
    members = tuple(member(Role.VIEWER, f"m{number}") for number in range(MAX_MEMBERS - 1))
    invitation = new_invitation(new_secret(ACCOUNT, START, entropy()), "bob@shop.example", Role.VIEWER, None, START)
    full = replace(team(*members), invitations=(invitation,))
    with pytest.raises(BadRequest, match=f"No more than {MAX_MEMBERS} members and open invitations an account"):
        check_room(full, START)
    check_room(full, START, invitation)
    check_room(full, START + INVITATION_LIFETIME)
    with pytest.raises(BadRequest):
        check_room(team(*members, member(Role.OWNER)), START)


def test_an_invitation_has_a_secret_that_names_it_and_only_its_hash_is_kept() -> None:
    secret = new_secret(ACCOUNT, START, entropy())
    invitation = new_invitation(secret, "bob@shop.example", Role.ADMIN, "ann", START)
    assert parse_secret(secret) == (ACCOUNT, invitation.invitation_id)
    assert secret not in repr(invitation) and secret.rpartition(".")[2] not in repr(invitation)
    assert len(secret.rpartition(".")[2]) == 43
    last = START + timedelta(days=7) - timedelta(milliseconds=1)
    assert check_open(invitation, secret, last) is invitation
    other = f"{secret[:-1]}{'a' if secret[-1] != 'a' else 'b'}"
    for known, sent, now in ((None, secret, START), (invitation, other, START), (invitation, secret, invitation.expires_at)):
        with pytest.raises(NotFound) as refusal:
            check_open(known, sent, now)
        assert refusal.value.message == UNKNOWN_INVITATION


@pytest.mark.parametrize("text", ["", ".", "x", "a.b.c", f"{ACCOUNT}.{ACCOUNT}.", f"{ACCOUNT}.{ACCOUNT}.{'a' * 44}", "\udcff"])
def test_what_is_no_secret_names_no_invitation(text: str) -> None:
    with pytest.raises(NotFound) as refusal:
        parse_secret(text)
    assert refusal.value.message == UNKNOWN_INVITATION


def test_an_invitation_is_for_whoever_signs_in_with_its_name() -> None:
    invitation = new_invitation(new_secret(ACCOUNT, START, entropy()), "bob@shop.example", Role.ADMIN, "ann", START)
    bob = Person("bob", ("bob@shop.example",), "", START)
    check_invited(invitation, Identity("bob@shop.example", "bob", START), bob)
    for identity in (None, Identity("bob@shop.example", "somebody else", START)):
        with pytest.raises(Forbidden, match="This invitation is for another e-mail address or wallet"):
            check_invited(invitation, identity, bob)


def test_the_invitations_of_a_member_are_those_that_are_open() -> None:
    by_ann = new_invitation(new_secret(ACCOUNT, START, entropy()), "b@shop.example", Role.ADMIN, "ann", START)
    by_bob = new_invitation(new_secret(ACCOUNT, START, entropy()), "c@shop.example", Role.ADMIN, "bob", START)
    both = replace(ALL, invitations=(by_ann, by_bob))
    assert invitations_by(both, "ann", START) == (by_ann,)
    assert invitations_by(both, "ann", START + INVITATION_LIFETIME) == ()
