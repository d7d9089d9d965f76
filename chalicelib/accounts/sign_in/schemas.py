"""Models of sign-in and sessions."""

from typing import Annotated, Literal, Self

from pydantic import Field

from chalicelib.accounts.sign_in.flows import SignedChallenge
from chalicelib.accounts.sign_in.passwords import MAX_LENGTH, MIN_LENGTH
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.rules import EMAIL_PATTERN, MAX_EMAIL_LENGTH
from chalicelib.base.signatures import MAX_SIGNATURE_BYTES, SIGNATURE_PATTERN
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.credentials.records import User
from chalicelib.platform.access.sessions.records import Session, SessionKind
from chalicelib.platform.http.fields import WHOLE, Address, form
from chalicelib.platform.http.schemas import Input, Output

_MAX_CHAIN_ID = 2**53 - 1  # the largest integer that JSON numbers represent exactly


Signature = Annotated[str, form(SIGNATURE_PATTERN, maxLength=2 + 2 * MAX_SIGNATURE_BYTES)]
Email = Annotated[str, form(EMAIL_PATTERN, "email-address", maxLength=MAX_EMAIL_LENGTH)]


class AskChallenge(Input):
    address: Address = Field(description="EVM (0x...) or Tron (T...)")
    chainId: Annotated[int, Field(strict=True, ge=1, le=_MAX_CHAIN_ID), WHOLE] = Field(
        1, description="The chain of a contract wallet; ignored for Tron"
    )


class AnswerChallenge(Input):
    challengeId: str = Field(description="As it was issued")
    nonce: str = Field(description="As it was issued")
    message: str = Field(description="The message as it was issued, byte for byte")
    signature: Signature = Field(description="Hex, with or without 0x: 65 bytes, or more from a contract wallet")

    def signed(self) -> SignedChallenge:
        """The body as plain values."""
        return SignedChallenge(self.challengeId, self.nonce, self.message, self.signature)


class EmailAndPassword(Input):
    email: Email = Field(description="Upper and lower case are the same")
    password: str = Field(
        description=f"{MIN_LENGTH} to {MAX_LENGTH} characters of any kind",
        json_schema_extra={"format": "password", "minLength": MIN_LENGTH, "maxLength": MAX_LENGTH},
    )


class ChallengeAnswer(Output):
    challengeId: str
    nonce: str
    message: str
    expiresAt: str

    @classmethod
    def of(cls, challenge: Challenge) -> Self:
        return cls(
            challengeId=challenge.challenge_id,
            nonce=challenge.nonce,
            message=challenge.message,
            expiresAt=iso(challenge.expires_at),
        )


class SignedIn(Output):
    """An empty object: the session token is in the cookie."""


class Registered(Output):
    id: str
    email: str
    createdAt: str

    @classmethod
    def of(cls, user: User) -> Self:
        return cls(id=user.account_id, email=user.name, createdAt=iso(user.created_at))


class LoggedIn(Output):
    id: str
    email: str


class Done(Output):
    success: Literal[True]


class Me(Output):
    """Who is signed in: `address` of a wallet, `email` of an e-mail user."""

    id: str
    type: Literal["wallet", "email"]
    address: str | None = Field(None, description="Of a wallet's session")
    email: str | None = Field(None, description="Of an e-mail session")
    expiresAt: str

    @classmethod
    def of(cls, session: Session) -> Self:
        named = "address" if session.kind is SessionKind.WALLET else "email"
        return cls(
            id=session.account_id,
            type=session.kind.value,
            expiresAt=iso(session.expires_at),
            **{named: session.subject},
        )


class SessionAnswer(Output):
    id: str
    createdAt: str
    lastSeenAt: str
    expiresAt: str
    current: bool = Field(description="True for the session of this request")

    @classmethod
    def of(cls, session: Session, current: Session) -> Self:
        return cls(
            id=session.session_id,
            createdAt=iso(session.created_at),
            lastSeenAt=iso(session.last_seen_at),
            expiresAt=iso(session.expires_at),
            current=session.session_id == current.session_id,
        )
