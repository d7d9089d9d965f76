"""The sweep over payers and bank accounts: reads at the provider what is open there, and sends what it does not have.

Events of the provider tell of every change. This makes good those that were lost, and answers that never came.
"""

from contextlib import suppress
from datetime import timedelta
from itertools import takewhile

from chalicelib.base.errors import ValidationFailed
from chalicelib.offramp.payers import bank_accounts, flows, rules, store
from chalicelib.offramp.payers.details import bank_details
from chalicelib.offramp.payers.flows import forget
from chalicelib.offramp.payers.reading import Kept
from chalicelib.offramp.payers.records import BankAccount, Payer
from chalicelib.offramp.payers.reports import take_account, take_user
from chalicelib.offramp.payers.store import Due
from chalicelib.platform.outbound.compliance import ProviderRefused
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.services import Services
from chalicelib.platform.storage import sweeping
from chalicelib.platform.storage.retrying import try_write

BUDGET = timedelta(seconds=35)
"""The sweep begins no record later than this: one takes two requests, of up to 10 s each, and its function has 60 s."""
_BATCH = 25


def check_due(services: Services) -> int:
    """Checks what is due; returns how much. Begins at a random shard. Raises SweepIncomplete if something failed."""
    if not services.compliance.is_configured:
        return 0
    now = services.clock()
    due = store.due(services.store, now, _BATCH, services.entropy(1)[0])
    in_time = takewhile(lambda _: services.clock() < now + BUDGET, due)
    return sweeping.each(services.log, in_time, lambda each: _check(services, each))


def _check(services: Services, due: Due) -> bool:
    """Returns False if there is nothing to do any more. The next check is written first: one that fails is later."""
    record = _record(services, due)
    if record is None or record.next_due is None or record.next_due > services.clock():
        return False
    if not try_write(services.store, rules.check_again(record, services.clock())):
        return False
    if isinstance(record, BankAccount):
        _check_account(services, record)
    elif record.erased_at is not None:
        forget(services, record.user_id)
    else:
        _check_payer(services, record)
    return True


def _record(services: Services, due: Due) -> Payer | BankAccount | None:
    if due.details_id is None:
        return store.payer(services.store, due.user_id)
    return store.bank_account(services.store, due.user_id, due.details_id)


def _check_payer(services: Services, payer: Payer) -> None:
    """Reads a person at the provider, and submits the details if it does not know them, or may not."""
    user = services.compliance.user(payer.user_id)
    if user is not None:
        take_user(services, user)
    key = privacy.data_key(services, payer.user_id) if user is None or payer.update is not None else None
    if key is not None:
        with suppress(ValidationFailed, rules.PayerNotFound):
            flows.submit(services, Kept(payer, key))


def _check_account(services: Services, account: BankAccount) -> None:
    """Reads a bank account at the provider, and submits its details if it does not know them."""
    found = services.compliance.account(account.user_id, account.details_id)
    key = privacy.data_key(services, account.user_id)
    if found is None and key is not None:
        try:
            details = bank_details(key, account)
            found = services.compliance.put_account(account.user_id, account.details_id, details)
        except ProviderRefused:
            bank_accounts.discard(services, account.user_id, account.details_id)
    if found is not None:
        take_account(services, found)
