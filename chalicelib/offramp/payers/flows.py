"""Creates and updates payers at the provider, exports what is kept of them, and erases them.

The id of a person is reserved here before the provider is asked for anything, and the provider creates what has that id
once. So what a crash or a lost answer leaves is finished by the same call again, or by the sweep
(offramp/payers/checking.py), and nobody is created twice.

New details are kept beside the old ones until the provider has answered (Payer.update), and numbered: the provider
takes each number once. So an update whose answer was lost is sent again, and is never overtaken by an older one.
"""

from collections.abc import Sequence
from contextlib import suppress

from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Problem, ValidationFailed
from chalicelib.offramp.payers import bank_accounts, rules, store
from chalicelib.offramp.payers.details import Details, person, seal_person, submission
from chalicelib.offramp.payers.reading import Kept, check_offered, find, read
from chalicelib.offramp.payers.records import BankAccount, Payer, PayerName
from chalicelib.offramp.payers.reports import take_user
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.outbound.compliance import ProviderRefused, ProviderUnavailable, ProviderUser
from chalicelib.platform.privacy import flows as privacy
from chalicelib.platform.privacy import store as privacy_store
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts, try_write
from chalicelib.platform.storage.store import Delete, WriteConflict


@retry_conflicts(5)
def put(
    services: Services, actor: Actor, client_id: str | None, client_user_id: str, details: Details
) -> tuple[Payer, ProviderUser]:
    """Creates the payer with the merchant's id, or updates the details. Returns what the provider answered, too.

    One request to the provider, one more if an earlier call was left without an answer. Raises ValidationFailed if it
    refuses the details, of which nothing is kept then; ProviderUnavailable if it does not answer: the details are kept
    and sent again by the sweep.
    """
    check_offered(services)
    return submit(services, _newest(services, actor, client_id, client_user_id, details))


def submit(services: Services, kept: Kept) -> tuple[Payer, ProviderUser]:
    """Has the provider take the newest details of a payer. It takes them once, however often they are sent.

    One request to the provider. Raises ValidationFailed if it refuses them; then they are not kept. Raises
    ProviderUnavailable, and PayerNotFound if the payer was erased meanwhile.
    """
    client_user_id, _ = person(kept.key, kept.payer)
    payer, newest = kept.payer, submission(kept.key, kept.payer)
    try:
        user = services.compliance.put_user(payer.user_id, newest, rules.submission_key(payer))
    except ProviderRefused as refusal:
        if payer.update is None and not payer.is_submitted:
            discard(services, payer.user_id, rules.name_hash(payer.account_id, client_user_id))
        _store_answer(services, payer, is_taken=False)
        raise _refusal_error(refusal) from None
    _store_answer(services, payer, is_taken=True)
    taken = take_user(services, user)
    if taken.erased_at is not None:
        raise rules.unknown_payer(client_user_id)
    return taken, user


def complete_agreement(services: Services, account_id: str, client_user_id: str) -> Payer:
    """Tells the provider that the person has accepted the agreement, and takes what the provider says then."""
    check_offered(services)
    payer = read(services, account_id, client_user_id)
    try:
        taken = take_user(services, services.compliance.complete_agreement(payer.user_id))
    except ProviderRefused:
        raise BadRequest("The provider knows of no agreement with this payer: send POST /v2/payer first") from None
    if taken.erased_at is not None:
        raise rules.unknown_payer(client_user_id)
    return taken


def export(
    services: Services, actor: Actor, client_user_id: str
) -> tuple[Payer, Details, Sequence[tuple[BankAccount, Details]]]:
    """All personal data that is kept of a payer. Five reads, two KMS calls. Raises PayerNotFound."""
    kept = find(services, actor.account_id, client_user_id)
    if kept is None:
        raise rules.unknown_payer(client_user_id)
    services.store.write(
        audit.make_entry(actor, "payer.exported", kept.payer.user_id, services.clock(), services.entropy)
    )
    return kept.payer, submission(kept.key, kept.payer), bank_accounts.open_bank_accounts(services, kept)


def discard(services: Services, user_id: str, name_hash: str) -> None:
    """Deletes a payer whose details the provider refused, with bank accounts and data key. Does nothing if the record
    was changed."""
    payer = store.payer(services.store, user_id)
    name, key = store.name(services.store, name_hash), privacy_store.person_key(services.store, user_id)
    accounts = store.bank_accounts(services.store, user_id)
    if payer is not None and not payer.is_submitted and payer.erased_at is None:
        with suppress(WriteConflict):
            services.store.write(*(Delete(each) for each in (payer, name, key, *accounts) if each is not None))


def _refusal_error(refusal: ProviderRefused) -> ValidationFailed:
    fields = refusal.fields or ("",)
    problems = [Problem((each,) if each else (), "Invalid payer details", verbatim=True) for each in fields]
    return ValidationFailed(tuple(problems))


def _newest(services: Services, actor: Actor, client_id: str | None, client_user_id: str, details: Details) -> Kept:
    """The payer whose newest details are these. Raises WriteConflict if somebody else has changed the payer.

    One submission is open at a time: what an earlier call has left without an answer is finished first, so that nothing
    that the provider may have is forgotten here.
    """
    kept = find(services, actor.account_id, client_user_id)
    if kept is not None and rules.is_submission_open(kept.payer) and submission(kept.key, kept.payer) != details:
        with suppress(ValidationFailed):
            submit(services, kept)
        kept = find(services, actor.account_id, client_user_id)
    if kept is None:
        return _reserve(services, actor, client_id, client_user_id, details)
    if submission(kept.key, kept.payer) == details:
        return kept
    sealed = seal_person(kept.key, client_user_id, details, services.entropy)
    changed = rules.updating(kept.payer, sealed, services.clock())
    return Kept(services.store.write(changed), kept.key)


def _reserve(services: Services, actor: Actor, client_id: str | None, client_user_id: str, details: Details) -> Kept:
    """A new payer with a data key, whom the provider does not know yet. Raises WriteConflict if there is one by now."""
    user_id, now = ids.uuid4(services.entropy), services.clock()
    record, key = privacy.new_key(services, user_id)
    sealed = seal_person(key, client_user_id, details, services.entropy)
    payer = rules.new_payer(actor.account_id, client_id, user_id, sealed, now)
    name = PayerName(rules.name_hash(actor.account_id, client_user_id), actor.account_id, user_id)
    entry = audit.make_entry(actor, "payer.created", user_id, now, services.entropy)
    return Kept(services.store.write(payer, record, name, entry), key)


@retry_conflicts(5)
def _store_answer(services: Services, submitted: Payer, is_taken: bool) -> None:
    """Keeps the update that the provider has taken, or drops the one that it refused.

    The provider's events may change the payer at the same time, and another call may have finished the same update.
    """
    payer = store.payer(services.store, submitted.user_id) if submitted.update is not None else None
    after = rules.answer_update(payer, submitted, is_taken) if payer else None
    if after is not None and after != payer:
        services.store.write(after)


@retry_conflicts(5)
def erase(services: Services, actor: Actor, client_user_id: str) -> tuple[Payer, tuple[BankAccount, ...]]:
    """Erases a payer of the account: destroys the data key and all that it sealed, and has the provider erase what it
    may. Returns what is left. One transaction, one request to the provider.

    What stays are the ids of payer and bank accounts, their dates and statuses, because payouts that were made refer to
    them. Nothing of it names the person: the entry of the merchant's id goes with the key.

    If the provider does not answer, the sweep asks again until it does. Raises PayerNotFound, Conflict during a payout.
    """
    payer = read(services, actor.account_id, client_user_id)
    now = services.clock()
    left = rules.erase_payer(payer, now)
    accounts = tuple(rules.erase_account(each) for each in store.bank_accounts(services.store, payer.user_id))
    name = store.name(services.store, rules.name_hash(actor.account_id, client_user_id))
    key = privacy_store.person_key(services.store, payer.user_id)
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
