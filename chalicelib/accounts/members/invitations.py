"""Invites people to an account, and lets them join it."""

from dataclasses import replace

from chalicelib.accounts.email.flows import confirmation
from chalicelib.accounts.members import store
from chalicelib.accounts.members.flows import ATTEMPTS
from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.members.rules import (
    MAX_ACCOUNTS,
    Team,
    check_invited,
    check_manages,
    check_open,
    check_room,
    new_invitation,
    new_secret,
    parse_secret,
    with_approvals,
)
from chalicelib.accounts.sign_in import passwords
from chalicelib.base.email_addresses import EmailAddress
from chalicelib.base.errors import BadRequest, Conflict, NotFound
from chalicelib.base.records import Record
from chalicelib.mail import flows as mail
from chalicelib.mail.flows import Limit
from chalicelib.mail.records import Mail, MailKind
from chalicelib.mail.rules import Draft
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Membership, Person, Role, is_email
from chalicelib.platform.access.people.rules import new_membership, new_person
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete

EACH_DAY = Limit(of_account=100)
"""How many invitations of an account are sent by e-mail in a day; others are made, and their link is not sent."""


def link_of(services: Services, secret: str) -> str:
    """The link that is sent."""
    return mail.link_to(services, "invitation", secret)


@retry_conflicts(ATTEMPTS)
def invite(
    services: Services, actor: Actor, by: str | None, name: str, role: Role, secret: str | None = None
) -> tuple[Invitation, str]:
    """An invitation for a wallet (`Wallet.name`) or an e-mail address in lower case, and its secret: `secret` if that
    was shown before.

    It takes the place of an open one for the same name. `by` is None for the operator. Raises Forbidden, Conflict if
    the person is a member, BadRequest if there are too many.
    """
    team = store.team(services.store, actor.account_id)
    check_manages(team, by, role)
    now = services.clock()
    former = [each for each in team.invitations if each.name == name]
    check_room(team, now, *former)
    known = person_store.identity(services.store, name)
    if known and any(each.person_id == known.person_id for each in team.members):
        raise Conflict("This person is a member of the account already")
    secret = secret or new_secret(actor.account_id, now, services.entropy)
    invitation = new_invitation(secret, name, role, by, now)
    entry = _entry(services, actor, "invitation.created", invitation.invitation_id)
    mails = _mails(services, team, invitation, secret)
    services.store.write(team.account, invitation, *(Delete(each) for each in former), entry, *mails)
    mail.queue_mails(services, mails)
    return invitation, secret


def _mails(services: Services, team: Team, invitation: Invitation, secret: str) -> tuple[Mail, ...]:
    """The mail with the link, to an e-mail address that is invited."""
    if not is_email(invitation.name):
        return ()
    facts = {"account": team.account.name, "role": invitation.role.value}
    link = {"link": link_of(services, secret)}
    draft = Draft(MailKind.INVITATION, EmailAddress(invitation.name), facts, link, invitation.account_id)
    return mail.write_mail(services, draft, EACH_DAY)


def list_open(services: Services, account_id: str) -> tuple[Invitation, ...]:
    """The open invitations of an account, the oldest first. One read, two queries."""
    return store.team(services.store, account_id).open_invitations(services.clock())


@retry_conflicts(ATTEMPTS)
def withdraw(services: Services, actor: Actor, by: str, invitation_id: str) -> None:
    """Withdraws an invitation. Raises NotFound, Forbidden."""
    team = store.team(services.store, actor.account_id)
    found = [each for each in team.open_invitations(services.clock()) if each.invitation_id == invitation_id]
    if not found:
        raise NotFound("Invitation not found")
    check_manages(team, by, found[0].role)
    services.store.write(team.account, Delete(found[0]), _entry(services, actor, "invitation.withdrawn", invitation_id))


def look_up(services: Services, secret: str) -> tuple[Invitation, Team]:
    """The invitation with this secret, and the account that it is to. Two reads, two queries. Raises NotFound."""
    account_id, invitation_id = parse_secret(secret)
    known = store.invitation(services.store, account_id, invitation_id)
    invitation = check_open(known, secret, services.clock())
    return invitation, store.team(services.store, account_id)


@retry_conflicts(ATTEMPTS)
def accept(services: Services, actor: Actor, person_id: str, secret: str) -> Membership:
    """Makes a person who is signed in a member of the account that invited them; the next session is for it.

    Raises NotFound, Forbidden if the invitation is for somebody else, Conflict if they are a member, BadRequest.
    """
    invitation, team = look_up(services, secret)
    person = person_store.find_person(services.store, person_id)
    assert person is not None, "of a session"
    check_invited(invitation, person_store.identity(services.store, invitation.name), person)
    if any(each.person_id == person_id for each in team.members):
        raise Conflict("You are a member of this account already")
    if len(person_store.memberships_of(services.store, person_id)) >= MAX_ACCOUNTS:
        raise BadRequest(f"No more than {MAX_ACCOUNTS} accounts a person")
    return _join(services, actor, invitation, team, replace(person, account_id=invitation.account_id))


@retry_conflicts(ATTEMPTS)
def register(services: Services, actor: Actor, secret: str, password: str, language: str) -> Person:
    """Registers the invited e-mail address with a password, as a member of the account that invited it.

    Whoever invited has seen the link too, so the address is confirmed by a link of its own, which is sent now. Raises
    NotFound, Conflict if the address is registered, BadRequest for the invitation of a wallet.
    """
    invitation, team = look_up(services, secret)
    if not is_email(invitation.name):
        raise BadRequest("This invitation is for a wallet: sign in with it, then accept the invitation")
    if person_store.identity(services.store, invitation.name) is not None:
        raise Conflict("This e-mail address is registered: sign in, then accept the invitation")
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    now = services.clock()
    person, identity = new_person(invitation.name, invitation.account_id, hashed, now, services.entropy)
    by = replace(actor, name=f"person:{person.person_id}")
    sent = confirmation(services, identity, language)
    _join(services, by, invitation, team, person, identity, *sent)
    mail.queue_mails(services, (each for each in sent if isinstance(each, Mail)))
    return person


def _join(
    services: Services, actor: Actor, invitation: Invitation, team: Team, person: Person, *writes: Record
) -> Membership:
    """Writes a membership and the person, and deletes the invitation. Raises BadRequest if the account is full."""
    now = services.clock()
    check_room(team, now, invitation)
    membership, pointer = new_membership(invitation.account_id, person.person_id, invitation.role, now)
    actor = replace(actor, account_id=invitation.account_id)
    entry = _entry(services, actor, "member.joined", person.person_id)
    account = with_approvals(team, membership)
    services.store.write(account, Delete(invitation), membership, pointer, person, entry, *writes)
    return membership


def _entry(services: Services, actor: Actor, action: str, target: str) -> AuditEntry:
    return audit.make_entry(actor, action, target, services.clock(), services.entropy)
