"""Who of an account is written to: members with a confirmed e-mail address."""

from collections.abc import Collection

from chalicelib.base.email_addresses import EmailAddress
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role, is_email
from chalicelib.platform.storage.store import Store

OWNERS = frozenset({Role.OWNER})
"""They are told of every change of credentials, destinations and members; of changes that wait, all who may approve or
refuse them are (APPROVERS)."""
MONEY = frozenset({Role.OWNER, Role.ADMIN, Role.FINANCE})
"""They are told of payments, if the account wants it."""


def addresses(
    store: Store, account_id: str, roles: Collection[Role], person_ids: Collection[str] | None = None
) -> tuple[EmailAddress, ...]:
    """The first confirmed e-mail address of each member with one of these roles; of `person_ids` alone, if given.

    An address that nobody has confirmed may be a stranger's, whom nobody may have written to. One query and two reads
    for up to a hundred members.
    """
    wanted = [each.person_id for each in person_store.members(store, account_id) if each.role in roles]
    wanted = [each for each in wanted if person_ids is None or each in person_ids]
    known = person_store.find_people(store, wanted)
    names = [[name for name in person.identities if is_email(name)] for person in known.values()]
    found = person_store.identities(store, (name for own in names for name in own)) if any(names) else []
    confirmed = {each.name for each in found if each.verified_at is not None}
    firsts = (next((name for name in own if name in confirmed), None) for own in names)
    return tuple(EmailAddress(each) for each in firsts if each is not None)
