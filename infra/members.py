"""Operator commands for the members of an account: inviting and listing them."""

from chalicelib.accounts.members import flows as members
from chalicelib.accounts.members import invitations
from chalicelib.base.addresses import address_of_family
from chalicelib.base.email_addresses import email_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.services import Services


def invite(services: Services, actor: Actor, name: str, role: Role) -> str:
    """Invites an e-mail address or the address of a wallet to the actor's account; returns the link.

    Raises BadRequest, NotFound, Conflict.
    """
    if "@" in name:
        invited = email_address(name).name
    elif name.startswith(("0x", "T")):
        invited = address_of_family(name, "tron" if name.startswith("T") else "evm")
    else:
        raise BadRequest(f"{name} is neither an e-mail address nor the address of a wallet.")
    return invitations.link_of(services, invitations.invite(services, actor, None, invited, role)[1])


def list_members(services: Services, account_id: str) -> list[str]:
    """A line for each member of the account, and for each open invitation. Raises NotFound."""
    lines = [
        f"{person.person_id}  {membership.role:9}  since {iso(membership.joined_at)}  {person.label}"
        for membership, person in members.list_members(services, account_id)
    ]
    for each in invitations.list_open(services, account_id):
        lines.append(f"{each.invitation_id}  {each.role:9}  invited, until {iso(each.expires_at)}  {each.name}")
    return lines
