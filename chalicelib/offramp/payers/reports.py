"""Takes what the provider says of payers and bank accounts, in answers and in events: the state and its event at once.

Each change is one transaction with its event, on condition that nobody else has changed the record: a report that comes
again, or after a newer one, finds that number taken and writes nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from chalicelib.base.errors import NotFound
from chalicelib.base.timestamps import iso
from chalicelib.offramp.payers import rules, store
from chalicelib.offramp.payers.details import person
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, BankAccount, Payer
from chalicelib.offramp.payers.rules import AccountReport, Report
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderUnavailable, ProviderUser
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.webhooks.flows import event_context, queue_publishing
from chalicelib.webhooks.kinds import body_of, new_event
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import Payload
from chalicelib.webhooks.sealed_bodies import seal_body

T = TypeVar("T", Payer, BankAccount)
Notified = tuple[str, Callable[[str], Payload]]
"""The kind of an event, and what it tells, made of the merchant's own id of the payer."""
UNKNOWN_SUBJECT = "The event is about something that this service did not send"


def report_of(user: ProviderUser) -> Report:
    """Raises ProviderUnavailable for a status that is not documented."""
    try:
        kyc, agreement = rules.kyc_status(user.kyc_status), AgreementStatus(user.agreement_status)
    except ValueError:
        raise ProviderUnavailable("kycStatus or agreementStatus is not as documented") from None
    return Report(user.sequence, kyc, agreement)


def account_report_of(account: ProviderAccount) -> AccountReport:
    """Raises ProviderUnavailable for a status that is not documented."""
    try:
        return AccountReport(account.sequence, AccountStatus(account.status), account.reason)
    except ValueError:
        raise ProviderUnavailable("status is not as documented") from None


@retry_conflicts(5)
def take_user(services: Services, user: ProviderUser) -> Payer:
    """The payer after a report. One read without news; else two reads, a KMS call and a transaction.

    Raises NotFound if this service knows no such person, ProviderUnavailable for a status that is not documented.
    """
    report = report_of(user)
    payer = store.payer(services.store, user.user_id)
    if payer is None:
        raise NotFound(UNKNOWN_SUBJECT)
    after = rules.after_report(payer, report, services.clock())
    if after == payer:
        return payer
    has_moved = (after.kyc_status, after.agreement_status) != (payer.kyc_status, payer.agreement_status)
    notified = "compliance.updated", partial(rules.compliance_facts, after, user.kyc_status)
    return _write(services, payer, after, notified if has_moved else None)


@retry_conflicts(5)
def take_account(services: Services, reported: ProviderAccount) -> BankAccount:
    """The bank account after a report; as `take_user`, with one read more."""
    report = account_report_of(reported)
    account = store.bank_account(services.store, reported.user_id, reported.account_id)
    payer = store.payer(services.store, reported.user_id)
    if account is None or payer is None:
        raise NotFound(UNKNOWN_SUBJECT)
    after = rules.after_account_report(account, report, services.clock())
    if after == account:
        return account
    has_moved = after.status is not account.status
    notified = "payment_detail.updated", partial(rules.account_facts, after, report.reason)
    return _write(services, payer, after, notified if has_moved else None)


def _write(services: Services, payer: Payer, changed: T, notified: Notified | None) -> T:
    """Writes a record, and the event that reports it, if there is one. Raises WriteConflict."""
    events = [_event(services, payer, changed.version + 1, *notified)] if notified else []
    after = services.store.write(changed, *events)
    queue_publishing(services, events)
    return after


def _event(services: Services, payer: Payer, sequence: int, kind: str, facts: Callable[[str], Payload]) -> Event:
    """The event, sealed for the person that it is about. Raises WriteConflict if the person was erased meanwhile.

    Its `sequence` is the version of the record that is written with it.
    """
    key, context = privacy.data_key(services, payer.user_id), event_context(services)
    if key is None:
        raise WriteConflict
    body = body_of(kind, {**facts(person(key, payer)[0]), "timestamp": iso(context.now), "sequence": sequence})
    event = new_event(kind, seal_body(services, key, body), payer.account_id, payer.client_id, context)
    return replace(event, person_id=payer.user_id, sequence=sequence)
