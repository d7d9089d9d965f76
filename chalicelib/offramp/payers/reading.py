"""Finds payers by the merchant's id, with and without the data key."""

from chalicelib.base.errors import BadRequest, Forbidden, NotFound
from chalicelib.base.frozen import frozen
from chalicelib.offramp.payers import rules, store
from chalicelib.offramp.payers.records import AccountStatus, BankAccount, Payer
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import sees
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.services import Services

NOT_OFFERED = (
    "Compliance is only required for off-ramp requests, and this deployment offers none: COMPLIANCE_API_URL is not set"
)
NO_SUCH_DETAILS = "This payer has no such payment details"
NOBODY = "No payer was found with this clientUserId and these paymentDetailsId"
"""Both in one, as a public client ID may ask: it does not learn which person is registered."""


@frozen
class Kept:
    """A payer with the plain data key."""

    payer: Payer
    key: bytes


def check_offered(services: Services) -> None:
    """Raises BadRequest without a provider, whom everything but reading and erasing needs."""
    if not services.compliance.is_configured:
        raise BadRequest(NOT_OFFERED)


def read(services: Services, account_id: str, client_user_id: str) -> Payer:
    """The payer of the merchant's id. Two reads. Raises PayerNotFound."""
    name = store.name(services.store, rules.name_hash(account_id, client_user_id))
    payer = store.payer(services.store, name.user_id) if name else None
    if payer is None or payer.erased_at is not None:
        raise rules.unknown_payer(client_user_id)
    return payer


def read_for(services: Services, owner: Owner, client_user_id: str) -> Payer:
    """The payer of the merchant's id; for a client id alone only one that was registered with it, or without any. Two
    reads. Raises PayerNotFound."""
    payer = read(services, owner.account_id, client_user_id)
    if owner.mode is Mode.CLIENT_ID and not sees(owner, payer):
        raise rules.unknown_payer(client_user_id)
    return payer


def find(services: Services, account_id: str, client_user_id: str) -> Kept | None:
    """The payer of the merchant's id with the data key. Three reads and a KMS call."""
    name = store.name(services.store, rules.name_hash(account_id, client_user_id))
    payer = store.payer(services.store, name.user_id) if name else None
    key = privacy.data_key(services, payer.user_id) if payer else None
    return None if payer is None or key is None or payer.sealed is None else Kept(payer, key)


def payable(services: Services, account_id: str, client_user_id: str, details_id: str) -> tuple[Payer, BankAccount]:
    """The payer and the bank account, if fiat can be sent there now. Three reads.

    Raises NotFound, or Forbidden with what has to happen first.
    """
    try:
        payer = read(services, account_id, client_user_id)
    except rules.PayerNotFound:
        raise NotFound(NOBODY) from None
    account = store.bank_account(services.store, payer.user_id, details_id)
    if account is None or account.sealed is None:
        raise NotFound(NOBODY)
    if not payer.is_compliant:
        states = f"identity {payer.kyc_status.value}, agreement {payer.agreement_status.value}"
        raise Forbidden(f"The payer is not compliant ({states}): POST /v2/payer gives the links to complete both")
    if account.status is not AccountStatus.APPROVED:
        raise Forbidden(f"The bank account is {account.status.value}: wait until it is approved, or add another one")
    return payer, account
