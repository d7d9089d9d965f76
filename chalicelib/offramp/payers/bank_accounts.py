"""Submits bank accounts of payers to the provider, and reads them.

As for payers, the id is reserved before the provider is asked, and the same details again are the same account.
"""

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.errors import NotFound, Problem, ValidationFailed
from chalicelib.offramp.payers import rules, store
from chalicelib.offramp.payers.details import Details, bank_details, with_sealed
from chalicelib.offramp.payers.reading import NO_SUCH_DETAILS, Kept, check_offered, find
from chalicelib.offramp.payers.records import BankAccount
from chalicelib.offramp.payers.reports import take_account
from chalicelib.platform.outbound.compliance import ProviderRefused
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts, try_write
from chalicelib.platform.storage.store import Delete

INVALID = "Invalid bank account details"
"""As published (supplement, 4.5)."""


def add(services: Services, account_id: str, client_user_id: str, details: Details) -> BankAccount:
    """Submits a bank account of the payer.

    One request to the provider unless it has the account. Raises PayerNotFound; ValidationFailed if the provider
    refuses the details, of which nothing is kept then; ProviderUnavailable if it does not answer: the sweep submits
    them.
    """
    check_offered(services)
    account = _reserve(services, account_id, client_user_id, details)
    if account.is_submitted:
        return account
    try:
        reported = services.compliance.put_account(account.user_id, account.details_id, details)
    except ProviderRefused as refusal:
        discard(services, account.user_id, account.details_id)
        fields = refusal.fields or ("",)
        raise ValidationFailed(
            tuple(Problem((each,) if each else (), INVALID, verbatim=True) for each in fields)
        ) from None
    taken = take_account(services, reported)
    if taken.sealed is None:  # the payer was erased while the provider was asked
        raise rules.unknown_user(client_user_id)
    return taken


def read(
    services: Services, account_id: str, client_user_id: str, details_id: str | None
) -> Sequence[tuple[BankAccount, Details]]:
    """The bank accounts of a payer with their details, oldest first; or the one that is named.

    Four reads and a KMS call. Raises PayerNotFound, NotFound for an account that the payer does not have.
    """
    kept = find(services, account_id, client_user_id)
    if kept is None:
        raise rules.unknown_payer(client_user_id)
    found = [each for each in open_bank_accounts(services, kept) if details_id in (None, each[0].details_id)]
    if details_id is not None and not found:
        raise NotFound(NO_SUCH_DETAILS)
    return found


def open_bank_accounts(services: Services, kept: Kept) -> list[tuple[BankAccount, Details]]:
    """All bank accounts of a payer with their details, oldest first. One query."""
    found = store.bank_accounts(services.store, kept.payer.user_id)
    in_order = sorted(found, key=lambda account: (account.created_at, account.details_id))
    return [(each, bank_details(kept.key, each)) for each in in_order if each.sealed]  # erased since `kept` was read


def discard(services: Services, user_id: str, details_id: str) -> None:
    """Deletes a bank account whose details the provider refused. Does nothing if a record was changed."""
    payer, account = store.payer(services.store, user_id), store.bank_account(services.store, user_id, details_id)
    if payer is not None and account is not None and not account.is_submitted:
        try_write(services.store, replace(payer, bank_accounts=max(0, payer.bank_accounts - 1)), Delete(account))


@retry_conflicts(5)
def _reserve(services: Services, account_id: str, client_user_id: str, details: Details) -> BankAccount:
    """The account with these details, a new one if the payer has none. Four reads, a KMS call, one transaction.

    The provider's events may change the payer at the same time.
    """
    kept = find(services, account_id, client_user_id)
    if kept is None:
        raise rules.unknown_user(client_user_id)
    mark = rules.fingerprint(kept.key, details)
    for known in store.bank_accounts(services.store, kept.payer.user_id):
        if known.fingerprint == mark:
            return known
    payer, new = rules.new_account(kept.payer, mark, services.clock(), services.entropy)
    return services.store.write(with_sealed(kept.key, new, details, services.entropy), payer)
