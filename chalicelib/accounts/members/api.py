"""Views of an account's members and invitations, for people who are signed in or invited."""

from chalicelib.accounts.members import flows, invitations
from chalicelib.accounts.members.rules import new_secret
from chalicelib.accounts.members.schemas import (
    ChangeRole,
    InvitationAnswer,
    InvitationCreated,
    InvitationWithdrawn,
    Invite,
    Joined,
    MemberAnswer,
    OpenInvitation,
    RegisterInvited,
    RoleChanged,
    SessionsEnded,
    UseInvitation,
)
from chalicelib.accounts.sign_in.schemas import Done, Registered
from chalicelib.base.languages import language_of
from chalicelib.mail.flows import is_configured
from chalicelib.platform.access.people.records import Role, is_email
from chalicelib.platform.http.view import AnyCall, Call


def _own_id(call: AnyCall) -> str:
    return call.caller.signed_in.person.person_id


def list_members(call: Call[None, None]) -> list[MemberAnswer]:
    found = flows.list_members(call.services, call.caller.account_id)
    return [MemberAnswer.of(membership, person, _own_id(call)) for membership, person in found]


def change_role(call: Call[ChangeRole, None]) -> RoleChanged:
    person_id, role = call.path["person_id"], Role(call.body.role)
    changed = flows.change_role(call.services, call.actor, _own_id(call), person_id, role)
    return RoleChanged(id=changed.person_id, role=changed.role.value)


def remove_member(call: Call[None, None]) -> Done:
    flows.remove(call.services, call.actor, _own_id(call), call.path["person_id"])
    return Done(success=True)


def end_sessions_of_member(call: Call[None, None]) -> SessionsEnded:
    return SessionsEnded(ended=flows.end_sessions(call.services, call.actor, _own_id(call), call.path["person_id"]))


def leave_account(call: Call[None, None]) -> Done:
    flows.leave(call.services, call.actor, _own_id(call))
    return Done(success=True)


def invite(call: Call[Invite, None]) -> InvitationCreated:
    name, role = call.body.name, Role(call.body.role)
    shown = new_secret(call.caller.account_id, *call.source)
    made, secret = invitations.invite(call.services, call.actor, _own_id(call), name, role, shown)
    if is_email(made.name) and is_configured(call.services):  # whoever has the link could register as the invited one
        return InvitationCreated.of(made, secret=None, link=None, emailSent=True)
    return InvitationCreated.of(made, secret=secret, link=invitations.link_of(call.services, secret), emailSent=False)


def list_invitations(call: Call[None, None]) -> list[InvitationAnswer]:
    return [InvitationAnswer.of(each) for each in invitations.list_open(call.services, call.caller.account_id)]


def withdraw_invitation(call: Call[None, None]) -> InvitationWithdrawn:
    invitation_id = call.path["invitation_id"]
    invitations.withdraw(call.services, call.actor, _own_id(call), invitation_id)
    return InvitationWithdrawn(id=invitation_id, withdrawn=True)


def look_up_invitation(call: Call[UseInvitation, None]) -> OpenInvitation:
    return OpenInvitation.of(*invitations.look_up(call.services, call.body.secret))


def accept_invitation(call: Call[UseInvitation, None]) -> Joined:
    return Joined.of(invitations.accept(call.services, call.actor, _own_id(call), call.body.secret))


def register_invited(call: Call[RegisterInvited, None]) -> Registered:
    language = language_of(call.headers.get("accept-language", ""))
    person = invitations.register(call.services, call.actor, call.body.secret, call.body.password, language)
    return Registered.of(person, email_sent=is_configured(call.services))
