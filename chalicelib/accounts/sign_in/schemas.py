"""Models of sign-in and sessions."""

from typing import Annotated, Literal, Self

from pydantic import Field

from chalicelib.accounts.sign_in.passwords import MAX_LENGTH, MIN_LENGTH
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.wallets import SignedChallenge
from chalicelib.base import email_addresses
from chalicelib.base.signatures import MAX_SIGNATURE_BYTES, SIGNATURE_PATTERN
from chalicelib.platform.access.callers import Member
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people.records import Membership, Person, is_email, name_hash
from chalicelib.platform.access.presence import proofs_of
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.http.fields import WHOLE, Address, form
from chalicelib.platform.http.schemas import Input, Output

_MAX_CHAIN_ID = 2**53 - 1  # the largest integer that JSON numbers represent exactly

Signature = Annotated[str, form(SIGNATURE_PATTERN, maxLength=2 + 2 * MAX_SIGNATURE_BYTES)]
Email = Annotated[str, form(email_addresses.PATTERN, "email-address", maxLength=email_addresses.MAX_LENGTH)]


ChainId = Annotated[int, Field(strict=True, ge=1, le=_MAX_CHAIN_ID), WHOLE]
Password = Annotated[
    str,
    Field(
        description=f"{MIN_LENGTH} to {MAX_LENGTH} characters of any kind",
        json_schema_extra={"format": "password", "minLength": MIN_LENGTH, "maxLength": MAX_LENGTH},
    ),
]


class AskChallenge(Input):
    address: Address = Field(description="EVM (0x...) or Tron (T...)")
    chainId: ChainId = Field(1, description="The chain of a contract wallet; ignored for Tron")


class AnswerChallenge(Input):
    challengeId: str = Field(description="As it was issued")
    nonce: str = Field(description="As it was issued")
    message: str = Field(description="The message as it was issued, byte for byte")
    signature: Signature = Field(description="Hex, with or without 0x: 65 bytes, or more from a contract wallet")

    def as_plain_values(self) -> SignedChallenge:
        """The body as plain values."""
        return SignedChallenge(self.challengeId, self.nonce, self.message, self.signature)


class EmailAndPassword(Input):
    email: Email = Field(description="Upper and lower case are the same")
    password: Password


class ChallengeAnswer(Output):
    challengeId: str
    nonce: str
    message: str
    expiresAt: str

    @classmethod
    def of(cls, challenge: Challenge) -> Self:
        return cls.from_record(challenge)


class SignedIn(Output):
    """An empty object: the session token is in the cookie."""


class Registered(Output):
    id: str
    email: str
    createdAt: str
    emailSent: bool = Field(
        description="Whether a link is sent to the address to confirm it; false if this deployment sends no e-mail. To "
        "register without an invitation is complete only when the link is followed"
    )

    @classmethod
    def of(cls, person: Person, email_sent: bool) -> Self:
        return cls.from_record(person, id=person.account_id, email=person.label, emailSent=email_sent)


class LoggedIn(Output):
    id: str
    email: str


class ProvePassword(Input):
    password: Password


class Proved(Output):
    """Until five minutes after `provedAt` the session may do what needs a proof of presence."""

    provedAt: str
    provedBy: Literal["passkey", "wallet", "password"]

    @classmethod
    def of(cls, session: Session) -> Self:
        return cls.from_record(session)


class Done(Output):
    success: Literal[True]


RoleName = Literal["owner", "admin", "finance", "support", "developer", "viewer"]


class OwnAccount(Output):
    id: str
    name: str
    role: RoleName

    @classmethod
    def of(cls, account: Account, membership: Membership) -> Self:
        return cls(id=account.account_id, name=account.name, role=membership.role.value)


class OwnIdentity(Output):
    """A way to sign in. `name` is an e-mail address or the address of a wallet, with the chain of a contract wallet."""

    id: str
    type: Literal["wallet", "email"]
    name: str

    @classmethod
    def of(cls, name: str) -> Self:
        return cls(id=name_hash(name), type="email" if is_email(name) else "wallet", name=name)


class Switch(Input):
    accountId: str = Field(description="Of an account that `GET /v1/auth/me` lists")


class Me(Output):
    """Who is signed in: `address` of a wallet, `email` of an e-mail session. `id` is the account of the session."""

    id: str
    personId: str
    role: RoleName = Field(description="In the account of the session")
    type: Literal["wallet", "email"] = Field(description="With a passkey, what the person signs in with otherwise")
    address: str | None = Field(None, description="Of a wallet's session")
    email: str | None = Field(None, description="Of an e-mail session")
    provedAt: str = Field(description="When the person last proved their presence in this session")
    provedBy: Literal["passkey", "wallet", "password"]
    proofs: list[Literal["passkey", "wallet", "password"]] = Field(description="The proofs that the person can give")
    secondFactorMissing: bool = Field(description="Whether the account demands a second factor that is not proved yet")
    expiresAt: str
    accounts: list[OwnAccount] = Field(description="Those the person is a member of")
    identities: list[OwnIdentity] = Field(description="The wallets and e-mail addresses that the person signs in with")

    @classmethod
    def of(cls, member: Member, accounts: list[tuple[Account, Membership]]) -> Self:
        session = member.session
        account, named = member.account, "email" if is_email(session.subject) else "address"
        return cls.from_record(
            session,
            id=session.account_id,
            role=member.membership.role.value,
            type="email" if is_email(session.subject) else "wallet",
            proofs=[each.value for each in proofs_of(member)],
            secondFactorMissing=account.requires_second_factor and not session.has_second_factor,
            accounts=[OwnAccount.of(*each) for each in accounts],
            identities=[OwnIdentity.of(name) for name in member.person.identities],
            **{named: session.subject},
        )


class SessionAnswer(Output):
    id: str
    accountId: str
    createdAt: str
    lastSeenAt: str
    expiresAt: str
    current: bool = Field(description="True for the session of this request")

    @classmethod
    def of(cls, session: Session, current: Session) -> Self:
        is_current = session.session_id == current.session_id
        return cls.from_record(session, id=session.session_id, current=is_current)
