"""Creates and updates payers at the provider, and exports what is kept of them.

The id of a person is reserved here before the provider is asked for anything, and the provider creates what has that id
once. So what a crash or a lost answer leaves is finished by the same call again, or by the sweep (payers/checking.py),
and nobody is created twice.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from chalicelib.access.audit import rules as audit
from chalicelib.access.audit.records import Actor
from chalicelib.base import ids
from chalicelib.base.errors import BadRequest, Problem, ValidationFailed
from chalicelib.outbound.compliance import ProviderRefused, ProviderUser
from chalicelib.payers import bank_accounts, rules, store
from chalicelib.payers.details import Details, person, sealed_person
from chalicelib.payers.reading import Kept, check_offered, find, read
from chalicelib.payers.records import BankAccount, Payer, PayerName
from chalicelib.payers.reports import take_user
from chalicelib.privacy import flows as privacy
from chalicelib.privacy import store as keys
from chalicelib.services import Services
from chalicelib.storage.store import Delete, WriteConflict

_TRIES = 5


def put(
    services: Services, actor: Actor, client_id: str | None, client_user_id: str, details: Details
) -> tuple[Payer, ProviderUser]:
    """Creates the payer with the merchant's id, or updates the details. Returns what the provider answered, too.

    One request to the provider. Raises ValidationFailed if it refuses the details, of which nothing is kept then;
    ProviderUnavailable if it does not answer: new details of a new payer are kept and sent by the sweep.
    """
    check_offered(services)
    known = find(services, actor.account_id, client_user_id)
    kept = known or _reserve(services, actor, client_id, client_user_id, details)
    try:
        user = services.compliance.put_user(kept.payer.user_id, details)
    except ProviderRefused as refusal:
        if known is None:
            discard(services, kept.payer.user_id, rules.name_hash(actor.account_id, client_user_id))
        raise _refused(refusal) from None
    if known is not None:
        _keep(services, known, sealed_person(kept.key, client_user_id, details, services.entropy))
    return _still_there(take_user(services, user), client_user_id), user


def complete_agreement(services: Services, account_id: str, client_user_id: str) -> Payer:
    """Tells the provider that the person has accepted the agreement, and takes what the provider says then."""
    check_offered(services)
    payer = read(services, account_id, client_user_id)
    try:
        taken = take_user(services, services.compliance.complete_agreement(payer.user_id))
    except ProviderRefused:
        raise BadRequest("The provider knows of no agreement with this payer: send POST /v2/payer first") from None
    return _still_there(taken, client_user_id)


def export(
    services: Services, actor: Actor, client_user_id: str
) -> tuple[Payer, Details, Sequence[tuple[BankAccount, Details]]]:
    """All personal data that is kept of a payer. Five reads, two KMS calls. Raises PayerNotFound."""
    kept = find(services, actor.account_id, client_user_id)
    if kept is None:
        raise rules.unknown_payer(client_user_id)
    services.store.write(audit.entry(actor, "payer.exported", kept.payer.user_id, services.clock(), services.entropy))
    return kept.payer, person(kept.key, kept.payer)[1], bank_accounts.opened(services, kept)


def discard(services: Services, user_id: str, name_hash: str) -> None:
    """Deletes a payer whose details the provider refused, with bank accounts and data key. Does nothing if the record
    was changed."""
    payer = store.payer(services.store, user_id)
    name, key = store.name(services.store, name_hash), keys.person_key(services.store, user_id)
    accounts = store.bank_accounts(services.store, user_id)
    if payer is not None and not payer.is_submitted and payer.erased_at is None:
        with suppress(WriteConflict):
            services.store.write(*(Delete(each) for each in (payer, name, key, *accounts) if each is not None))


def _still_there(payer: Payer, client_user_id: str) -> Payer:
    """Raises PayerNotFound for a payer who was erased while the provider was asked."""
    if payer.erased_at is not None:
        raise rules.unknown_payer(client_user_id)
    return payer


def _refused(refusal: ProviderRefused) -> ValidationFailed:
    fields = refusal.fields or ("",)
    problems = [Problem((each,) if each else (), "Invalid payer details", verbatim=True) for each in fields]
    return ValidationFailed(tuple(problems))


def _reserve(
    services: Services, actor: Actor, client_id: str | None, client_user_id: str, details: Details
) -> Kept:
    """A new payer with a data key, whom the provider does not know yet. Raises WriteConflict if there is one by now."""
    user_id, now = ids.uuid4(services.entropy), services.clock()
    record, key = privacy.new_key(services, user_id)
    sealed = sealed_person(key, client_user_id, details, services.entropy)
    payer = rules.new_payer(actor.account_id, client_id, user_id, sealed, now)
    name = PayerName(rules.name_hash(actor.account_id, client_user_id), actor.account_id, user_id)
    entry = audit.entry(actor, "payer.created", user_id, now, services.entropy)
    services.store.write(payer, record, name, entry)
    return Kept(replace(payer, version=1), key)


def _keep(services: Services, known: Kept, sealed: str) -> None:
    """Stores new details. The provider's events may change the payer at the same time."""
    payer: Payer | None = known.payer
    for _ in range(_TRIES):
        if payer is None or payer.erased_at is not None:
            return
        try:
            services.store.write(replace(payer, sealed=sealed))
        except WriteConflict:
            payer = store.payer(services.store, known.payer.user_id)
            continue
        return
    raise WriteConflict
