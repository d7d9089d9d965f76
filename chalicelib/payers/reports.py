"""Takes what the provider says of payers and bank accounts, in answers and in events: the state and its event at once.

Each change is one transaction with its event, on condition that nobody else has changed the record: a report that comes
again, or after a newer one, finds that number taken and writes nothing.
"""

from dataclasses import replace

from chalicelib.base import ids
from chalicelib.base.errors import NotFound
from chalicelib.outbound.compliance import ProviderAccount, ProviderUnavailable, ProviderUser
from chalicelib.payers import rules, store
from chalicelib.payers.details import person
from chalicelib.payers.records import AccountStatus, AgreementStatus, BankAccount, Payer
from chalicelib.payers.rules import AccountReport, Report
from chalicelib.privacy import flows as privacy
from chalicelib.services import Services
from chalicelib.storage.store import WriteConflict
from chalicelib.webhooks.contents import sealed_body
from chalicelib.webhooks.flows import queue_announcements
from chalicelib.webhooks.records import Event
from chalicelib.webhooks.rules import Payload, compact_json

_TRIES = 5
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


def take_user(services: Services, user: ProviderUser) -> Payer:
    """The payer after a report. One read without news; else two reads, a KMS call and a transaction.

    Raises NotFound if this service knows no such person, ProviderUnavailable for a status that is not documented.
    """
    report = report_of(user)
    for _ in range(_TRIES):
        payer = store.payer(services.store, user.user_id)
        if payer is None:
            raise NotFound(UNKNOWN_SUBJECT)
        after = rules.after_report(payer, report, services.clock())
        if after == payer:
            return payer
        has_moved = (after.kyc_status, after.agreement_status) != (payer.kyc_status, payer.agreement_status)
        if _commit(services, payer, after, after if has_moved else None, None):
            return replace(after, version=payer.version + 1)
    raise WriteConflict


def take_account(services: Services, reported: ProviderAccount) -> BankAccount:
    """The bank account after a report; as `take_user`."""
    report = account_report_of(reported)
    for _ in range(_TRIES):
        account = store.bank_account(services.store, reported.user_id, reported.account_id)
        payer = store.payer(services.store, reported.user_id)
        if account is None or payer is None:
            raise NotFound(UNKNOWN_SUBJECT)
        after = rules.after_account_report(account, report, services.clock())
        if after == account:
            return account
        if _commit(services, payer, after, after if after.status is not account.status else None, report.reason):
            return replace(after, version=account.version + 1)
    raise WriteConflict


def _commit(
    services: Services, payer: Payer, changed: Payer | BankAccount, news: Payer | BankAccount | None, reason: str | None
) -> bool:
    """Writes a record and the event of what is new. Returns False if one of them was changed meanwhile."""
    event = _event(services, payer, news, reason) if news is not None else None
    try:
        if news is not None and event is None:
            raise WriteConflict  # the person was erased after the record was read
        services.store.write(changed, *([event] if event else []))
    except WriteConflict:
        return False
    queue_announcements(services, [event] if event else [])
    return True


def _event(services: Services, payer: Payer, news: Payer | BankAccount, reason: str | None) -> Event | None:
    """The event, sealed for the person that it is about; None if the person was erased."""
    key, now = privacy.data_key(services, payer.user_id), services.clock()
    if key is None or payer.sealed is None:
        return None
    client_user_id, _ = person(key, payer)
    payload: Payload = (
        rules.compliance_payload(news, client_user_id, now)
        if isinstance(news, Payer)
        else rules.account_payload(news, client_user_id, reason, now)
    )
    return Event(
        event_id=ids.ulid(now, services.entropy),
        kind=payload["event"],
        account_id=payer.account_id,
        client_id=payer.client_id,
        body=sealed_body(services, key, compact_json(payload)),
        created_at=now,
        announced=False,
        person_id=payer.user_id,
    )
