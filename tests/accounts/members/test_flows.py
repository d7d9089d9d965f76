"""Members of an account: invited, changed, removed and leaving; and what happens if it is done at the same moment."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from chalicelib.accounts.members import flows, invitations
from chalicelib.accounts.members.rules import MAX_ACCOUNTS, MAX_MEMBERS
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import identities, open_sessions
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound, ServiceError, Unauthorized
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.callers import Caller, SentCredential
from chalicelib.platform.access.flows import identify
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.people.rules import with_sessions_ended
from chalicelib.platform.access.permissions import check_permitted
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import WriteConflict
from tests.accounts.test_races import Flow, interleavings
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World
from tests.support.light_passwords import light_passwords
from tests.support.members import member_of, opened

PASSWORD = "correct horse"


@pytest.fixture(autouse=True)
def quick_passwords() -> Iterator[None]:
    with light_passwords():
        yield


class Firm:
    """An account with Ann, its owner, whose account it is, and others as they join."""

    def __init__(self, world: World) -> None:
        self.world = world
        ann = sign_in_flows.register(world.services, "ann@shop.example", PASSWORD, Actor("", "anonymous", "203.0.113.7", "r"))
        self.account_id, self.ann = ann.account_id, ann.person_id

    def actor(self, person_id: str = "") -> Actor:
        return Actor(self.account_id, f"person:{person_id or self.ann}", "203.0.113.7", "request-1")

    def joins(self, name: str, role: Role) -> str:
        return member_of(self.world.services, self.account_id, name, role).person_id

    def roles(self) -> dict[str, Role]:
        return {each.person_id: each.role for each in person_store.members(self.world.services.store, self.account_id)}

    def token(self, name: str) -> str:
        return opened(self.world.services, self.account_id, name)[1]

    def lines(self) -> list[tuple[str, str, str]]:
        found = self.world.services.store.query(AuditEntry, AuditEntry.KEY.all(account_id=self.account_id))
        return [(each.actor, each.action, each.target) for each in found]


@pytest.fixture
def firm(world: World) -> Firm:
    return Firm(world)


def caller(services: Services, token: str) -> Caller:
    return identify(services, SentCredential(Mode.SESSION, token), None, "203.0.113.7")


def is_valid(services: Services, token: str) -> bool:
    try:
        return caller(services, token).session is not None
    except Unauthorized:
        return False


def invited(firm: Firm, name: str = "bob@shop.example", role: Role = Role.FINANCE, by: str | None = None) -> str:
    """The secret of an invitation by Ann or somebody else."""
    by = by or firm.ann
    return invitations.invite(firm.world.services, firm.actor(by), by, name, role)[1]


def outsider(world: World, name: str = "bob@shop.example") -> str:
    """The id of a person with an account of their own."""
    return sign_in_flows.register(world.services, name, PASSWORD, Actor("", "anonymous", "203.0.113.7", "r")).person_id


# --- identification ---


def test_a_session_of_a_member_is_identified_in_one_read_with_the_scopes_of_the_role(world: World, firm: Firm) -> None:
    firm.joins("bob@shop.example", Role.SUPPORT)
    token = firm.token("bob@shop.example")
    with counted(world.client) as calls:
        bob = caller(world.services, token)
    assert dict(calls.by_operation) == {"BatchGetItem": 1}
    assert bob.account_id == firm.account_id and bob.signed_in.membership.role is Role.SUPPORT
    check_permitted(bob, "secure_payments:write")
    check_permitted(bob, None)
    with pytest.raises(Forbidden) as refusal:
        check_permitted(bob, "payouts:write")
    assert refusal.value.message == "Your role in this account is support, which lacks the scope payouts:write"


def test_another_role_holds_from_the_next_call_on_and_keeps_the_sessions(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.ADMIN)
    token = firm.token("bob@shop.example")
    flows.change_role(world.services, firm.actor(), firm.ann, bob, Role.VIEWER)
    assert caller(world.services, token).signed_in.membership.role is Role.VIEWER


# --- roles, removing and leaving ---


def test_members_are_listed_in_the_order_in_which_they_joined(world: World, firm: Firm) -> None:
    world.advance(1)
    bob = firm.joins(evm_wallet().address, Role.VIEWER)
    found = flows.list_members(world.services, firm.account_id)
    assert [(membership.role, person.person_id, person.label) for membership, person in found] == [
        (Role.OWNER, firm.ann, "ann@shop.example"),
        (Role.VIEWER, bob, evm_wallet().address),
    ]


def test_a_role_is_changed_with_an_entry_that_names_the_person(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.VIEWER)
    assert flows.change_role(world.services, firm.actor(), firm.ann, bob, Role.ADMIN).role is Role.ADMIN
    assert firm.roles()[bob] is Role.ADMIN
    assert (f"person:{firm.ann}", "member.role_changed", bob) in firm.lines()
    before = firm.lines()
    flows.change_role(world.services, firm.actor(), firm.ann, bob, Role.ADMIN)
    assert firm.lines() == before, "the same role is no change"


def test_an_admin_touches_no_owner_and_makes_none(world: World, firm: Firm) -> None:
    bob, eve = firm.joins("bob@shop.example", Role.ADMIN), firm.joins("eve@shop.example", Role.OWNER)
    services, actor = world.services, firm.actor(bob)
    for refused in (
        lambda: flows.change_role(services, actor, bob, eve, Role.VIEWER),
        lambda: flows.change_role(services, actor, bob, bob, Role.OWNER),
        lambda: flows.remove(services, actor, bob, eve),
        lambda: flows.end_sessions(services, actor, bob, eve),
        lambda: invitations.invite(services, actor, bob, "x@shop.example", Role.OWNER),
        lambda: invitations.withdraw(services, actor, bob, _owner_invitation(firm)),
    ):
        with pytest.raises(Forbidden, match="which lacks the scope owners:write"):
            refused()
    assert firm.roles() == {firm.ann: Role.OWNER, bob: Role.ADMIN, eve: Role.OWNER}


def _owner_invitation(firm: Firm) -> str:
    invited(firm, "new-owner@shop.example", Role.OWNER)
    return invitations.list_open(firm.world.services, firm.account_id)[0].invitation_id


def test_removing_a_member_ends_their_sessions_and_withdraws_their_invitations(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.ADMIN)
    token, own = firm.token("bob@shop.example"), outsider(world, "bobs-friend@shop.example")
    secret = invited(firm, "bobs-friend@shop.example", Role.ADMIN, by=bob)
    with counted(world.client) as calls:
        flows.remove(world.services, firm.actor(), firm.ann, bob)
    assert calls.by_operation["TransactWriteItems"] == 1
    assert not is_valid(world.services, token) and bob not in firm.roles()
    assert (f"person:{firm.ann}", "member.removed", bob) in firm.lines()
    with pytest.raises(NotFound, match="This invitation has expired, was used, or was withdrawn"):
        invitations.accept(world.services, firm.actor(own), own, secret)
    with pytest.raises(NotFound, match="Member not found"):
        flows.remove(world.services, firm.actor(), firm.ann, bob)


def test_another_role_withdraws_the_invitations_that_it_may_not_make(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.OWNER)
    for role in (Role.OWNER, Role.FINANCE):
        invited(firm, f"{role}@shop.example", role, by=bob)
    invited(firm, "anns@shop.example", Role.OWNER)
    left = []
    for role in (Role.ADMIN, Role.VIEWER):
        flows.change_role(world.services, firm.actor(), firm.ann, bob, role)
        left.append({each.name for each in invitations.list_open(world.services, firm.account_id)})
    assert left == [{"finance@shop.example", "anns@shop.example"}, {"anns@shop.example"}]


def test_sessions_of_the_time_before_stay_ended_if_the_person_joins_again(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.VIEWER)
    token = firm.token("bob@shop.example")
    flows.remove(world.services, firm.actor(), firm.ann, bob)
    world.advance(1)
    assert firm.joins("bob@shop.example", Role.VIEWER) == bob
    assert not is_valid(world.services, token) and is_valid(world.services, firm.token("bob@shop.example"))
    assert [each.account_id for each in open_sessions.list_open(world.services, bob)] == [firm.account_id]


def test_who_loses_the_right_to_invite_takes_their_invitations_along(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.ADMIN)
    invited(firm, "x@shop.example", by=bob)
    flows.change_role(world.services, firm.actor(), firm.ann, bob, Role.OWNER)
    assert len(invitations.list_open(world.services, firm.account_id)) == 1
    flows.change_role(world.services, firm.actor(), firm.ann, bob, Role.FINANCE)
    assert invitations.list_open(world.services, firm.account_id) == ()


def test_the_last_owner_neither_leaves_nor_is_removed_nor_demoted(world: World, firm: Firm) -> None:
    admin = firm.joins("bob@shop.example", Role.ADMIN)
    for refused in (
        lambda: flows.leave(world.services, firm.actor(), firm.ann),
        lambda: flows.remove(world.services, firm.actor(), firm.ann, firm.ann),
        lambda: flows.change_role(world.services, firm.actor(), firm.ann, firm.ann, Role.ADMIN),
        lambda: flows.remove(world.services, firm.actor(), None, firm.ann),
    ):
        with pytest.raises(Conflict, match="This is the last owner of the account"):
            refused()
    assert firm.roles() == {firm.ann: Role.OWNER, admin: Role.ADMIN}
    flows.change_role(world.services, firm.actor(), firm.ann, admin, Role.OWNER)
    flows.leave(world.services, firm.actor(), firm.ann)
    assert firm.roles() == {admin: Role.OWNER}
    assert (f"person:{firm.ann}", "member.left", firm.ann) in firm.lines()


def test_a_person_who_is_in_no_account_any_more_signs_in_to_a_new_one(world: World, firm: Firm) -> None:
    firm.joins("bob@shop.example", Role.OWNER)
    flows.leave(world.services, firm.actor(), firm.ann)
    session, token = sign_in_flows.log_in(world.services, "ann@shop.example", PASSWORD, None, firm.actor())
    assert session.account_id != firm.account_id and session.person_id == firm.ann
    assert caller(world.services, token).signed_in.membership.role is Role.OWNER


def test_an_admin_ends_the_sessions_of_a_member_here_and_not_elsewhere(world: World, firm: Firm) -> None:
    bob = outsider(world)
    own = sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, firm.actor())[1]
    firm.joins("bob@shop.example", Role.VIEWER)
    here = [firm.token("bob@shop.example") for _ in range(3)]
    assert flows.end_sessions(world.services, firm.actor(), firm.ann, bob) == 3
    assert [is_valid(world.services, each) for each in (*here, own)] == [False] * 3 + [True]


# --- races ---


def test_of_two_owners_who_remove_each_other_at_once_one_stays_wherever_they_meet() -> None:
    firms: list[Firm] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        firm = Firm(world)
        bob = firm.joins("bob@shop.example", Role.OWNER)
        firms[:] = [firm]
        return (
            lambda services: flows.remove(services, firm.actor(), firm.ann, bob),
            lambda services: flows.remove(services, firm.actor(bob), bob, firm.ann),
        )

    for _, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        assert list(firms[0].roles().values()) == [Role.OWNER]


def test_of_two_owners_who_leave_or_step_down_at_once_one_stays_wherever_they_meet() -> None:
    firms: list[Firm] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        firm = Firm(world)
        bob = firm.joins("bob@shop.example", Role.OWNER)
        firms[:] = [firm]
        return (
            lambda services: flows.leave(services, firm.actor(), firm.ann),
            lambda services: flows.change_role(services, firm.actor(bob), bob, bob, Role.VIEWER),
        )

    refusals = []
    for _, result in interleavings(prepare):
        assert list(firms[0].roles().values()).count(Role.OWNER) == 1
        refusals += [result] if isinstance(result, ServiceError) else []
    assert refusals and {error.message[:37] for error in refusals} == {"This is the last owner of the account"}


def test_who_is_removed_while_they_make_an_admin_or_invite_has_done_nothing() -> None:
    firms: list[Firm] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        firm = Firm(world)
        bob, eve = firm.joins("bob@shop.example", Role.ADMIN), firm.joins("eve@shop.example", Role.VIEWER)
        firms[:] = [firm]

        def both(services: Services) -> None:
            invitations.invite(services, firm.actor(bob), bob, "x@shop.example", Role.ADMIN)
            flows.change_role(services, firm.actor(bob), bob, eve, Role.ADMIN)

        return both, lambda services: flows.remove(services, firm.actor(), firm.ann, bob)

    for world, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        assert invitations.list_open(world.services, firms[0].account_id) == ()


def test_no_session_outlives_the_removal_of_its_member_wherever_they_meet() -> None:
    tokens: list[str] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        firm, tokens[:] = Firm(world), []
        bob = outsider(world)
        firm.joins("bob@shop.example", Role.ADMIN)
        there = opened(world.services, firm.account_id, "bob@shop.example")[1]
        own = sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, firm.actor())[1]
        tokens.append(there)

        def sign_in_again(services: Services) -> None:
            member = caller(services, own).signed_in
            tokens.append(sign_in_flows.switch(services, member, firm.account_id, firm.actor(bob))[1])
            caller(services, there)

        return sign_in_again, lambda services: flows.remove(services, firm.actor(), firm.ann, bob)

    for world, _ in interleavings(prepare):
        assert not any(is_valid(world.services, token) for token in tokens)


def test_removing_is_done_whole_or_not_wherever_the_process_dies(world: World, firm: Firm) -> None:
    bob = firm.joins("bob@shop.example", Role.ADMIN)
    token = firm.token("bob@shop.example")
    for fatal in range(1, 5):
        with pytest.raises(Crash):
            wire = Tripwire(fatal, before=False)
            flows.remove(world.start(FragileClient(world.client, wire)), firm.actor(), firm.ann, bob)
        assert is_valid(world.services, token) == (bob in firm.roles())
    assert bob not in firm.roles() and person_store.memberships_of(world.services.store, bob) == ()


# --- invitations ---


def test_an_invited_person_joins_with_the_role_and_signs_in_to_the_account_next(world: World, firm: Firm) -> None:
    bob, secret = outsider(world), invited(firm)
    assert invitations.look_up(world.services, secret)[0].role is Role.FINANCE
    actor = replace(firm.actor(bob), account_id="bobs own")
    joined = invitations.accept(world.services, actor, bob, secret)
    assert (joined.account_id, joined.role, firm.roles()[bob]) == (firm.account_id, Role.FINANCE, Role.FINANCE)
    assert (f"person:{bob}", "member.joined", bob) in firm.lines()
    session, _ = sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, firm.actor())
    assert session.account_id == firm.account_id
    assert len(person_store.accounts_of(world.services.store, bob)) == 2


def test_an_invitation_is_used_once(world: World, firm: Firm) -> None:
    bob, secret = outsider(world), invited(firm)
    invitations.accept(world.services, firm.actor(bob), bob, secret)
    flows.leave(world.services, firm.actor(bob), bob)
    for use in (
        lambda: invitations.accept(world.services, firm.actor(bob), bob, secret),
        lambda: invitations.register(world.services, firm.actor(bob), secret, PASSWORD, "en"),
        lambda: invitations.look_up(world.services, secret),
    ):
        with pytest.raises(NotFound, match="This invitation has expired, was used, or was withdrawn"):
            use()


def test_an_expired_a_withdrawn_and_a_replaced_invitation_are_as_unknown_as_a_used_one(world: World, firm: Firm) -> None:
    bob = outsider(world)
    withdrawn = invited(firm)
    (invitation,) = invitations.list_open(world.services, firm.account_id)
    invitations.withdraw(world.services, firm.actor(), firm.ann, invitation.invitation_id)
    with pytest.raises(NotFound, match="Invitation not found"):
        invitations.withdraw(world.services, firm.actor(), firm.ann, invitation.invitation_id)
    replaced, expired = invited(firm), invited(firm)
    assert len(invitations.list_open(world.services, firm.account_id)) == 1
    world.now += timedelta(days=7)
    for secret in (withdrawn, replaced, expired):
        with pytest.raises(NotFound, match="This invitation has expired, was used, or was withdrawn"):
            invitations.accept(world.services, firm.actor(bob), bob, secret)
    assert invitations.list_open(world.services, firm.account_id) == () and bob not in firm.roles()


def test_an_invitation_of_somebody_else_is_refused_and_stays(world: World, firm: Firm) -> None:
    bob, eve, secret = outsider(world), outsider(world, "eve@shop.example"), invited(firm)
    with pytest.raises(Forbidden, match="This invitation is for another e-mail address or wallet"):
        invitations.accept(world.services, firm.actor(eve), eve, secret)
    assert invitations.accept(world.services, firm.actor(bob), bob, secret)


def test_an_e_mail_address_that_is_invited_registers_by_the_link(world: World, firm: Firm) -> None:
    secret = invited(firm)
    anonymous = Actor("", "anonymous", "203.0.113.7", "r")
    person = invitations.register(world.services, anonymous, secret, PASSWORD, "en")
    assert firm.roles()[person.person_id] is Role.FINANCE
    assert (f"person:{person.person_id}", "member.joined", person.person_id) in firm.lines()
    session, _ = sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, anonymous)
    assert session.account_id == firm.account_id
    assert [each.account_id for each, _ in person_store.accounts_of(world.services.store, person.person_id)] == [firm.account_id]


def test_who_is_registered_or_invited_by_wallet_is_told_to_sign_in(world: World, firm: Firm) -> None:
    outsider(world)
    for name, refusal in (("bob@shop.example", Conflict), (evm_wallet().address, BadRequest)):
        with pytest.raises(refusal, match="sign in.*then accept the invitation"):
            invitations.register(world.services, firm.actor(), invited(firm, name), PASSWORD, "en")


def test_a_member_is_not_invited_again_and_joins_once(world: World, firm: Firm) -> None:
    bob, secret = outsider(world), invited(firm)
    firm.joins("bob@shop.example", Role.VIEWER)
    with pytest.raises(Conflict, match="This person is a member of the account already"):
        invited(firm)
    with pytest.raises(Conflict, match="You are a member of this account already"):
        invitations.accept(world.services, firm.actor(bob), bob, secret)


def test_of_two_uses_of_an_invitation_at_once_one_counts() -> None:
    firms: list[Firm] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        firm = Firm(world)
        firms[:] = [firm]
        secret = invited(firm)
        anonymous = Actor("", "anonymous", "203.0.113.7", "r")
        return (
            lambda services: invitations.register(services, anonymous, secret, PASSWORD, "en"),
            lambda services: invitations.register(services, anonymous, secret, "another horse", "en"),
        )

    for world, result in interleavings(prepare):
        assert not isinstance(result, WriteConflict)
        assert len(firms[0].roles()) == 2
        known = person_store.identity(world.services.store, "bob@shop.example")
        assert known is not None and known.person_id in firms[0].roles()


def test_no_more_than_so_many_members_and_invitations_however_many_come_at_once() -> None:
    firms: list[Firm] = []

    def prepare(world: World) -> tuple[Flow, Flow]:
        firm = Firm(world)
        firms[:] = [firm]
        for number in range(MAX_MEMBERS - 2):
            firm.joins(f"m{number}@shop.example", Role.VIEWER)

        def inviting(name: str) -> Flow:
            return lambda services: invitations.invite(services, firm.actor(), firm.ann, name, Role.VIEWER)

        return inviting("x@shop.example"), inviting("y@shop.example")

    for world, result in interleavings(prepare):
        assert len(firms[0].roles()) + len(invitations.list_open(world.services, firms[0].account_id)) == MAX_MEMBERS
        assert not isinstance(result, WriteConflict)


def test_a_person_is_in_no_more_than_so_many_accounts(world: World, firm: Firm) -> None:
    bob = outsider(world)
    for number in range(MAX_ACCOUNTS - 1):
        member_of(world.services, f"01KJM9CZ00ACCT0000000000{number:02}", "bob@shop.example")
    with pytest.raises(BadRequest, match=f"No more than {MAX_ACCOUNTS} accounts a person"):
        invitations.accept(world.services, firm.actor(bob), bob, invited(firm))


# --- switching ---


def test_no_call_that_a_new_password_overtakes_leaves_a_session(world: World, firm: Firm) -> None:
    """The sessions have ended by the version of the person, and are not deleted yet."""
    bob = outsider(world)
    firm.joins("bob@shop.example", Role.VIEWER)
    _, token = sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, firm.actor())
    member = caller(world.services, token).signed_in
    wallet = identities.add(world.services, member.person, evm_wallet("bob").address, firm.actor(bob))
    stored = person_store.find_person(world.services.store, bob)
    assert stored is not None
    world.services.store.write(with_sessions_ended(stored))
    with pytest.raises(Unauthorized):
        sign_in_flows.switch(world.services, member, firm.account_id, firm.actor(bob))
    with pytest.raises(Unauthorized):
        identities.remove(world.services, member, wallet.name_hash, firm.actor(bob))
    assert not is_valid(world.services, token)


def test_switching_opens_a_session_for_the_other_account_and_ends_the_present_one(world: World, firm: Firm) -> None:
    bob = outsider(world)
    firm.joins("bob@shop.example", Role.VIEWER)
    old, token = sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, firm.actor())
    world.advance(60)
    member = caller(world.services, token).signed_in
    new, other = sign_in_flows.switch(world.services, member, firm.account_id, firm.actor(bob))
    assert (new.account_id, new.kind, new.subject, new.expires_at) == (
        firm.account_id, old.kind, old.subject, member.session.expires_at,
    )
    assert is_valid(world.services, other) and not is_valid(world.services, token)
    assert ("session.created", new.session_id) in {(action, target) for _, action, target in firm.lines()}
    assert sign_in_flows.log_in(world.services, "bob@shop.example", PASSWORD, None, firm.actor())[0].account_id == firm.account_id
    with pytest.raises(NotFound, match="You are not a member of this account"):
        sign_in_flows.switch(world.services, caller(world.services, other).signed_in, "01KJM9CZ00ACCT000000000000", firm.actor(bob))
