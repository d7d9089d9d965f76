"""Who may change which member, what keeps an account its owner, and invitations."""

import re
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.accounts.members.records import Invitation
from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.platform.access.credentials.records import APPROVAL_DELAY_HOURS, Account
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people.records import APPROVERS, Identity, Membership, Person, Role
from chalicelib.platform.access.people.roles import OWNERS, SCOPES_OF, check_role

INVITATION_LIFETIME = timedelta(days=7)
MAX_MEMBERS = 50
"""How many members and open invitations an account may have in all."""
MAX_ACCOUNTS = 50
"""How many accounts a person may be a member of."""
MANAGES = "members:write"
"""The scope to change members and to invite."""
UNKNOWN_INVITATION = "This invitation has expired, was used, or was withdrawn, or waits for approval: ask who sent it"
_SECRET = re.compile(r"([0-9A-HJKMNP-TV-Z]{26})\.([0-9A-HJKMNP-TV-Z]{26})\.[A-Za-z0-9]{43}")


@frozen
class Team:
    """The members and invitations of an account, as they are while the version of `account` is this one."""

    account: Account
    members: tuple[Membership, ...]
    invitations: tuple[Invitation, ...]

    def member(self, person_id: str) -> Membership:
        """Raises NotFound."""
        for each in self.members:
            if each.person_id == person_id:
                return each
        raise NotFound("Member not found")

    def open_invitations(self, now: datetime) -> tuple[Invitation, ...]:
        """The oldest first."""
        return tuple(each for each in self.invitations if now < each.expires_at)


def check_manages(team: Team, by: str | None, *roles: Role) -> None:
    """Raises Forbidden unless `by` (None is the operator) is a member whose role may change members of these roles.

    Only owners make owners, and change and remove them.
    """
    if by is None:
        return
    role = next((each.role for each in team.members if each.person_id == by), None)
    if role is None:
        raise Forbidden("You are no longer a member of this account")
    check_role(role, MANAGES)
    if Role.OWNER in roles:
        check_role(role, OWNERS)


def check_keeps_owner(team: Team, leaving: Membership) -> None:
    """Raises Conflict if this member is the last owner, who may neither leave nor get another role."""
    if leaving.role is Role.OWNER and not any(
        each.role is Role.OWNER and each.person_id != leaving.person_id for each in team.members
    ):
        raise Conflict("This is the last owner of the account: make somebody else an owner first")


def with_approvals(team: Team, changed: Membership) -> Account:
    """The account with approvals on once a second person may approve, unless it has chosen. They stay on from then."""
    others = {each.person_id for each in team.members if each.role in APPROVERS} - {changed.person_id}
    if team.account.has_approvals is None and changed.role in APPROVERS and others:
        return replace(team.account, has_approvals=True, approval_delay_hours=APPROVAL_DELAY_HOURS)
    return team.account


def check_room(team: Team, now: datetime, *accepted: Invitation) -> None:
    """Raises BadRequest if the account may have no further member. What is `accepted` has its place already."""
    waiting = [each for each in team.open_invitations(now) if each not in accepted]
    if len(team.members) + len(waiting) >= MAX_MEMBERS:
        raise BadRequest(f"No more than {MAX_MEMBERS} members and open invitations an account")


def invitations_by(team: Team, person_id: str, now: datetime, role: Role | None = None) -> tuple[Invitation, ...]:
    """The open invitations that a person has made; those alone that a member with `role` may not make, if it is given.
    """
    own = (each for each in team.open_invitations(now) if each.invited_by == person_id)
    return tuple(each for each in own if role is None or not _may_invite(role, each.role))


def _may_invite(role: Role, invited: Role) -> bool:
    scopes = SCOPES_OF[role]
    return MANAGES in scopes and (invited is not Role.OWNER or OWNERS in scopes)


def new_secret(account_id: str, now: datetime, entropy: Entropy) -> str:
    """The secret of a new invitation: the ids of account and invitation, and 256 random bits, with dots between."""
    return f"{account_id}.{ids.ulid(now, entropy)}.{ids.session_token(entropy)}"


def new_invitation(secret: str, name: str, role: Role, by: str | None, now: datetime) -> Invitation:
    account_id, invitation_id = parse_secret(secret)
    hashed, expires_at = credential_hash(secret), now + INVITATION_LIFETIME
    return Invitation(account_id, invitation_id, hashed, name, role, by or "operator", now, expires_at)


def parse_secret(secret: str) -> tuple[str, str]:
    """The ids of account and invitation in a secret. Raises NotFound if it names none."""
    match = _SECRET.fullmatch(secret)
    if match is None:
        raise NotFound(UNKNOWN_INVITATION)
    return match[1], match[2]


def check_open(invitation: Invitation | None, secret: str, now: datetime) -> Invitation:
    """Raises NotFound, with one text, unless the invitation exists, has this secret and has not expired."""
    if invitation is None or invitation.secret_hash != credential_hash(secret) or now >= invitation.expires_at:
        raise NotFound(UNKNOWN_INVITATION)
    return invitation


def check_invited(invitation: Invitation, identity: Identity | None, person: Person) -> None:
    """Raises Forbidden unless it is for this person: `identity` is that of the invited name, if there is one.

    The secret of the link is what proves that the person was invited. An e-mail address need not be verified, as a
    service that sends no e-mail could verify none.
    """
    if identity is None or identity.person_id != person.person_id:
        raise Forbidden(
            "This invitation is for another e-mail address or wallet: sign in with the one that was invited, or ask "
            "for an invitation of the one you use"
        )


