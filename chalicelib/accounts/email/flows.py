"""Registers by a link, confirms addresses, and sets passwords by a link. Nobody learns which addresses are known.

For an address that is known as for one that is not, the same is read, encrypted and written, and the same is answered:
what differs is in the mail, which only the owner of the address reads. Each link works once, because what it permits is
deleted in the transaction that uses it.
"""

from dataclasses import replace

from chalicelib.accounts.email import rules, store
from chalicelib.accounts.email.records import EmailToken, Purpose
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import identities, passwords
from chalicelib.accounts.sign_in.refusals import NOBODY
from chalicelib.base import ids
from chalicelib.base.email_addresses import EmailAddress, email_address
from chalicelib.base.errors import Conflict
from chalicelib.base.frozen import frozen
from chalicelib.base.records import Record
from chalicelib.mail import flows as mail
from chalicelib.mail import store as mail_store
from chalicelib.mail.flows import Limit
from chalicelib.mail.records import Mail, Mailbox, MailKind
from chalicelib.mail.rules import Draft
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Identity, Person, is_email
from chalicelib.platform.access.people.rules import new_person
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import Delete, Unchanged, Write

ASKED_IN_SESSION = Limit(of_address=5, of_account=50)
"""Links that whoever is signed in has sent to addresses that they enter: an account does not write to strangers."""


def register(services: Services, email: str, password: str, language: str) -> EmailToken:
    """Has a link sent to an address that makes its account when it is confirmed. Raises BadRequest.

    Two reads, a count, one KMS call and one transaction. Whoever has an account is told so by mail, and nothing else
    happens. No account exists until its address is confirmed, so nobody registers the address of somebody else.
    """
    address = email_address(email)
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    is_known = person_store.identity(services.store, address.name) is not None
    now = services.clock()
    permit = rules.permit(Purpose.REGISTER, address.name, now)
    account_id = ids.ulid(now, services.entropy)
    permit = replace(permit, account_id=account_id, password_hash=hashed, locale=language)
    kind = MailKind.REGISTERED if is_known else MailKind.CONFIRM
    return _send_link(services, permit, _Sending(address, kind, language))


def ask_confirmation(services: Services, account_id: str, person: Person, email: str, language: str) -> None:
    """Has a link sent to an address of a person that is not confirmed, or that they want to sign in with as well.

    Raises Conflict if it is confirmed. If somebody else signs in with it, nothing is sent, and nobody is told.
    """
    address = email_address(email)
    if not mail.is_configured(services):
        return
    identity = person_store.identity(services.store, address.name)
    is_own = identity is not None and identity.person_id == person.person_id
    if identity is not None and is_own and identity.verified_at is not None:
        raise Conflict("This e-mail address is confirmed")
    permit = rules.permit(Purpose.CONFIRM, address.name, services.clock())
    permit = replace(permit, person_id=person.person_id, sessions_since=person.sessions_since)
    draft = _Sending(address, MailKind.CONFIRM, language, account_id, identity is not None and not is_own)
    _send_link(services, permit, draft, ASKED_IN_SESSION)


def confirmation(services: Services, identity: Identity, language: str | None = None) -> tuple[Record, ...]:
    """What is written to have a link sent that confirms the address of a new person; nothing without a sender."""
    if not mail.is_configured(services):
        return ()
    permit = replace(rules.permit(Purpose.CONFIRM, identity.name, services.clock()), person_id=identity.person_id)
    return _write_link(services, permit, _Sending(EmailAddress(identity.name), MailKind.CONFIRM, language))


@retry_conflicts(5)
def confirm(services: Services, token: str, actor: Actor) -> str:
    """Confirms an e-mail address by the token of a link. Returns the address.

    After a registration it makes the account; an address that its person does not sign in with yet, they do from now
    on. One transaction. Raises BadRequest if the link was used, has expired, or was for an address that somebody has
    registered since, or if the sessions of its person were ended since it was asked for: it may have been a thief who
    asked.
    """
    now = services.clock()
    permit = rules.check_token(store.token(services.store, token), now, Purpose.REGISTER, Purpose.CONFIRM)
    identity = person_store.identity(services.store, permit.name)
    if permit.purpose is Purpose.REGISTER:
        if identity is not None:
            raise rules.link_over()
        services.store.write(Delete(permit), *_register_person(services, permit, actor))
        return permit.name
    person = person_store.find_person(services.store, permit.person_id)
    if person is None or person.sessions_since != permit.sessions_since:
        raise rules.link_over()
    if identity is None:
        by = replace(actor, name=f"person:{person.person_id}")
        identities.add(services, person, permit.name, by, Delete(permit))
    elif identity.person_id == person.person_id:
        services.store.write(Delete(permit), Unchanged(person), *_confirm_identity(services, identity, actor))
    else:
        raise rules.link_over()
    return permit.name


def _register_person(services: Services, permit: EmailToken, actor: Actor) -> tuple[Write, ...]:
    """A new person with their account, and the language of their mails."""
    now = services.clock()
    person, identity = new_person(permit.name, permit.account_id, permit.password_hash, now, services.entropy)
    _, _, founded = sign_in_flows.found_account(services, person, actor, permit.account_id)
    mailbox = mail_store.mailbox(services.store, EmailAddress(permit.name))
    return replace(identity, verified_at=now), *founded, replace(mailbox, locale=permit.locale)


def _confirm_identity(services: Services, identity: Identity, actor: Actor) -> tuple[Write, ...]:
    entries = _entries(services, identity.person_id, "email.confirmed", actor)
    return replace(identity, verified_at=services.clock()), *entries


def _entries(services: Services, person_id: str, action: str, actor: Actor) -> tuple[AuditEntry, ...]:
    """An entry by and about the person for each account of theirs."""
    accounts = [each.account_id for each in person_store.memberships_of(services.store, person_id)]
    by = replace(actor, name=f"person:{person_id}")
    return audit.entries_of_person(by, action, person_id, accounts, services.clock(), services.entropy)


def forgot_password(services: Services, email: str, language: str) -> None:
    """Has a link sent to an address by which its person sets a new password; nothing without a sender.

    Three reads, a count, one KMS call and one transaction, whether the address is known or not. Raises BadRequest.
    """
    address = email_address(email)
    if not mail.is_configured(services):
        return
    identity = person_store.identity(services.store, address.name)
    person = person_store.find_person(services.store, identity.person_id if identity else NOBODY)
    permit = rules.permit(Purpose.RESET, address.name, services.clock())
    if person is not None:
        mark = rules.mark_of(person.password_hash)
        permit = replace(permit, person_id=person.person_id, password_mark=mark)
    to = EmailAddress(identity.name) if identity else address
    _send_link(services, permit, _Sending(to, MailKind.RESET, language, is_withheld=person is None))


@retry_conflicts(5)
def reset_password(services: Services, token: str, password: str, actor: Actor) -> None:
    """Sets a new password by the token of a link, and ends all sessions of the person in the same transaction.

    The link came to the address, so the address is confirmed too. Raises BadRequest if the link was used or has
    expired, if the password was changed since it was sent, or if the password cannot be one.
    """
    passwords.check_password(password)
    now = services.clock()
    permit = rules.check_token(store.token(services.store, token), now, Purpose.RESET)
    identity = person_store.identity(services.store, permit.name)
    person = person_store.find_person(services.store, permit.person_id or NOBODY)
    if identity is None or person is None or identity.person_id != person.person_id:
        raise rules.link_over()
    if permit.password_mark != rules.mark_of(person.password_hash):
        raise rules.link_over()
    confirmed = () if identity.verified_at else (replace(identity, verified_at=now),)
    actor = replace(actor, name=f"person:{person.person_id}")
    sign_in_flows.set_password(services, person, password, actor, Delete(permit), *confirmed)


@frozen
class Address:
    """An e-mail address of a person, and what is known of it."""

    identity: Identity
    mailbox: Mailbox


def addresses_of(services: Services, person: Person) -> list[Address]:
    """The e-mail addresses of a person, in the order in which they were added. One read."""
    names = [name for name in person.identities if is_email(name)]
    known = {each.name: each for each in person_store.identities(services.store, names)} if names else {}
    boxes = mail_store.mailboxes(services.store, [EmailAddress(name) for name in known])
    return [Address(known[name], boxes[name]) for name in names if name in known]


@retry_conflicts(5)
def choose_language(services: Services, person: Person, language: str, actor: Actor) -> None:
    """Sets the language of the mails to a person's addresses, with an entry in the audit log of each account of theirs,
    in one transaction; no write if nothing differs."""
    boxes = [each.mailbox for each in addresses_of(services, person) if each.mailbox.locale != language]
    if boxes:
        entries = _entries(services, person.person_id, "email.language_chosen", actor)
        services.store.write(*(replace(each, locale=language) for each in boxes), *entries)


@frozen
class _Sending:
    """The mail that a link is sent with, or that is not sent."""

    to: EmailAddress
    kind: MailKind
    language: str | None = None
    account_id: str = ""
    is_withheld: bool = False


def _send_link(
    services: Services, permit: EmailToken, sending: _Sending, limit: Limit = mail.ASKED_FOR
) -> EmailToken:
    """Writes what a link permits together with the mail that has it, in one transaction."""
    permit, written = _write_link(services, permit, sending, limit)
    services.store.write(permit, written)
    mail.queue_mails(services, [written])
    return permit


def _write_link(
    services: Services, permit: EmailToken, sending: _Sending, limit: Limit = mail.ASKED_FOR
) -> tuple[EmailToken, Mail]:
    """What a link permits, with its token, and the mail that has the link."""
    token = ids.session_token(services.entropy)
    secrets = {"link": mail.link_to(services, rules.PAGES[permit.purpose], token)}
    draft = Draft(sending.kind, sending.to, {}, secrets, sending.account_id)
    [written] = mail.write_mail(services, draft, limit, is_withheld=sending.is_withheld, language=sending.language)
    return replace(permit, token_hash=credential_hash(token)), written
