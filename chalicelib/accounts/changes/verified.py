"""Which people count as people of their own: those whose name has been shown to be theirs."""

from collections.abc import Iterable

from chalicelib.mail.flows import is_configured
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.services import Services


def find_verified_people(services: Services, person_ids: Iterable[str | None]) -> frozenset[str]:
    """The ids of the people whose `Person.label`, which others see of them, is a wallet or a confirmed e-mail address.

    Somebody who has invited an address of their own invention could be that person, too. A service without a sender
    confirms no address, so everybody counts there. Two reads.
    """
    wanted = frozenset(each for each in person_ids if each is not None)
    if not is_configured(services):
        return wanted
    labels = {each.label: each.person_id for each in person_store.find_people(services.store, wanted).values()}
    shown = person_store.identities(services.store, labels) if labels else []
    return frozenset(labels[each.name] for each in shown if each.verified_at is not None)
