"""Models of members and invitations."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.members.rules import Team
from chalicelib.accounts.sign_in.schemas import ChainId, Email, Password, RoleName
from chalicelib.base.addresses import address_of_family
from chalicelib.base.email_addresses import email_address
from chalicelib.platform.access.people.records import Membership, Person, is_email
from chalicelib.platform.access.sessions.records import Wallet
from chalicelib.platform.http.fields import Address
from chalicelib.platform.http.schemas import Input, Output, rule, unsent

Secret = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_SECRET = Field(description="What follows `#` in the link")


class ChangeRole(Input):
    role: RoleName = Field(description="The new role")


class MemberAnswer(Output):
    """A member. `name` is the e-mail address that they sign in with, or their wallet."""

    id: str
    name: str
    type: Literal["wallet", "email"]
    role: RoleName
    joinedAt: str
    current: bool = Field(description="True for the person of this request")

    @classmethod
    def of(cls, membership: Membership, person: Person, current: str) -> Self:
        return cls.from_record(
            membership,
            id=person.person_id,
            name=person.label,
            type="email" if is_email(person.label) else "wallet",
            current=person.person_id == current,
        )


class RoleChanged(Output):
    id: str
    role: RoleName


class SessionsEnded(Output):
    ended: int = Field(description="How many sessions there were")


class Invite(Input):
    """For an e-mail address, or for a wallet."""

    role: RoleName = Field(description="The role that the person will have")
    email: Email | None = Field(default_factory=unsent, description="Upper and lower case are the same")
    address: Address | None = Field(default_factory=unsent, description="A wallet, EVM (0x...) or Tron (T...)")
    chainId: ChainId | None = Field(default_factory=unsent, description="Of a contract wallet; none for a private key")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.email is None) == (self.address is None):
            raise rule("must have email or address, and not both")
        if self.chainId is not None and (self.address is None or self.address.startswith("T")):
            raise rule("is for a contract wallet of an EVM chain", "chainId")
        return self

    @property
    def name(self) -> str:
        """The name of the identity that is invited."""
        if self.address is None:
            return email_address(self.email or "").name
        family = "tron" if self.address.startswith("T") else "evm"
        return Wallet(address_of_family(self.address, family), self.chainId).name


class InvitationAnswer(Output):
    """An invitation. `name` is the e-mail address or the wallet that is invited."""

    id: str
    name: str
    type: Literal["wallet", "email"]
    role: RoleName
    invitedBy: str = Field(description="The id of the member who invited, or `operator`")
    createdAt: str
    expiresAt: str

    @classmethod
    def of(cls, invitation: Invitation, /, **more: str | bool | None) -> Self:
        """`more` are the fields that a subclass adds."""
        kind = "email" if is_email(invitation.name) else "wallet"
        return cls.from_record(invitation, id=invitation.invitation_id, type=kind, **more)


class InvitationCreated(InvitationAnswer):
    """The only response that shows the secret. Whoever has the link can join as the person who is invited.

    Both are null if the link is sent by e-mail, to that person alone.
    """

    secret: str | None
    link: str | None
    emailSent: bool = Field(description="Whether the link is sent to the e-mail address that is invited")


class InvitationWithdrawn(Output):
    id: str
    withdrawn: Literal[True]


class UseInvitation(Input):
    secret: Secret = _SECRET


class RegisterInvited(Input):
    secret: Secret = _SECRET
    password: Password


class OpenInvitation(Output):
    """What the person who is invited sees."""

    accountName: str
    name: str = Field(description="The e-mail address or the wallet that is invited")
    type: Literal["wallet", "email"]
    role: RoleName
    expiresAt: str

    @classmethod
    def of(cls, invitation: Invitation, team: Team) -> Self:
        kind = "email" if is_email(invitation.name) else "wallet"
        return cls.from_record(invitation, accountName=team.account.name, type=kind)


class Joined(Output):
    accountId: str
    role: RoleName

    @classmethod
    def of(cls, membership: Membership) -> Self:
        return cls(accountId=membership.account_id, role=membership.role.value)


