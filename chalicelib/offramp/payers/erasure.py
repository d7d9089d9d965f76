"""Erases payers: destroys the data key and all that it sealed, and has the provider erase what it may.

What stays are the ids of payer and bank accounts, their dates and statuses, because payouts that were made refer to
them. Nothing of it names the person: the entry of the merchant's id goes with the key.
"""

from chalicelib.offramp.payers import rules, store
from chalicelib.offramp.payers.reading import read
from chalicelib.offramp.payers.records import BankAccount, Payer
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.outbound.compliance import ProviderUnavailable
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts, try_write
from chalicelib.platform.storage.store import Delete


@retry_conflicts(5)
def erase(services: Services, actor: Actor, client_user_id: str) -> tuple[Payer, tuple[BankAccount, ...]]:
    """Erases a payer of the account. Returns what is left. One transaction, one request to the provider.

    If the provider does not answer, the sweep asks again until it does. Raises PayerNotFound, Conflict during a payout.
    """
    payer = read(services, actor.account_id, client_user_id)
    now = services.clock()
    left = rules.erase_payer(payer, now)
    accounts = tuple(rules.erase_account(each) for each in store.bank_accounts(services.store, payer.user_id))
    name = store.name(services.store, rules.name_hash(actor.account_id, client_user_id))
    key = privacy.person_key(services.store, payer.user_id)
    gone = [Delete(each) for each in (name, key) if each is not None]
    entry = audit.make_entry(actor, "payer.erased", payer.user_id, now, services.entropy)
    services.store.write(left, *accounts, *gone, entry)
    return forget(services, payer.user_id) or left, accounts


def forget(services: Services, user_id: str) -> Payer | None:
    """Has the provider erase a person who was erased here; None if it does not answer or is not asked any more."""
    payer = store.payer(services.store, user_id)
    if payer is None or payer.erased_at is None or payer.check_at is None:
        return payer
    if not services.compliance.is_configured:
        return None
    try:
        services.compliance.forget_user(user_id)
    except ProviderUnavailable as error:
        services.log.warning("provider does not answer", extra={"reason": error.logged})
        return None
    forgotten = rules.forget_payer(payer, services.clock())
    return forgotten if try_write(services.store, forgotten) else None
