"""Takes what the provider says of payers and bank accounts, in answers and in events: the state and its event at once.

Each change is one transaction with its event, on condition that nobody else has changed the record: a report that comes
again, or after a newer one, finds that number taken and writes nothing.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TypeVar

from chalicelib.base import ids
from chalicelib.base.errors import NotFound
from chalicelib.offramp.payers import rules, store
from chalicelib.offramp.payers.details import person
from chalicelib.offramp.payers.records import AccountStatus, AgreementStatus, BankAccount, Payer
from chalicelib.offramp.payers.rules import AccountReport, Report
from chalicelib.platform.outbound.compliance import ProviderAccount, ProviderUnavailable, ProviderUser
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retried
from chalicelib.platform.storage.store import WriteConflict
from chalicelib.webhooks.contents import sealed_body
from chalicelib.webhooks.flows import queue_announcements
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import Payload, compact_json

T = TypeVar("T", Payer, BankAccount)
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


@retried(5)
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
    return _write(services, payer, after, partial(rules.compliance_payload, after) if has_moved else None)


@retried(5)
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
    return _write(services, payer, after, partial(rules.account_payload, after, report.reason) if has_moved else None)


def _write(
    services: Services, payer: Payer, changed: T, payload: Callable[[str, datetime], Payload] | None
) -> T:
    """Writes a record, and the event that `payload` makes of the merchant's id and the time. Raises WriteConflict."""
    events = [_event(services, payer, payload)] if payload else []
    after = services.store.write(changed, *events)
    queue_announcements(services, events)
    return after


def _event(services: Services, payer: Payer, payload: Callable[[str, datetime], Payload]) -> Event:
    """The event, sealed for the person that it is about. Raises WriteConflict if the person was erased meanwhile."""
    key, now = privacy.data_key(services, payer.user_id), services.clock()
    if key is None:
        raise WriteConflict
    body = payload(person(key, payer)[0], now)
    return Event(
        event_id=ids.ulid(now, services.entropy),
        kind=body["event"],
        account_id=payer.account_id,
        client_id=payer.client_id,
        body=sealed_body(services, key, compact_json(body)),
        created_at=now,
        announced=False,
        person_id=payer.user_id,
    )
