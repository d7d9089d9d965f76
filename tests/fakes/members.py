"""Members of an account, as they are stored."""

from dataclasses import replace

from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.people.rules import new_membership, new_person
from chalicelib.platform.services import Services


def store_member(services: Services, account_id: str, name: str, role: Role = Role.OWNER, confirmed: bool = True) -> str:
    """Stores a person who signs in with a wallet or an e-mail address, as a member of an account; returns their id."""
    person, identity = new_person(name, account_id, None, services.clock(), services.entropy)
    identity = replace(identity, verified_at=services.clock() if confirmed else None)
    services.store.write(person, identity, *new_membership(account_id, person.person_id, role, services.clock()))
    return person.person_id
