"""Sessions and the challenges that open them: what is signed, how long it holds, when a session ends."""

import hmac
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from chalicelib.core import ids
from chalicelib.core.credentials import credential_hash
from chalicelib.core.errors import Unauthorized
from chalicelib.core.events import iso
from chalicelib.core.ids import Entropy

CHALLENGE_LIFETIME = timedelta(minutes=5)
WALLET_IDLE = timedelta(minutes=15)
EMAIL_LIFETIME = timedelta(days=30)
TOUCH_INTERVAL = timedelta(seconds=10)
"""A session's last use is written at most this often, not at every request of a page that makes ten."""
COOKIE = "session_token"
_ASKED = re.compile(r"[^\n]* wants you to sign in with your (?:Ethereum|Tron) account:\n(0x[0-9A-Fa-f]{40}|T\w{33})\n")
_CHAIN = re.compile(r"\nChain ID: (\d{1,20})\n")


class SessionKind(StrEnum):
    WALLET = "wallet"
    EMAIL = "email"


@dataclass(frozen=True)
class Session:
    """An open session; its token is stored only as a hash. `subject` is the wallet address or the e-mail address.

    `chain_id` is None where a key signed, which is the same on every chain; else the chain whose contract answered.
    """

    token_hash: str
    session_id: str
    account_id: str
    kind: SessionKind
    subject: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime
    chain_id: int | None = None
    version: int = 0


@dataclass(frozen=True)
class Wallet:
    """Who a wallet is: a key, on every chain, or the contract at an address of one chain, `chain_id`."""

    address: str
    chain_id: int | None = None

    @property
    def name(self) -> str:
        return self.address if self.chain_id is None else f"{self.address}@eip155:{self.chain_id}"


@dataclass(frozen=True)
class Challenge:
    """A text that a wallet is asked to sign, once. `chain_id` is where a contract wallet is asked."""

    challenge_id: str
    nonce: str
    address: str
    family: str
    chain_id: int
    message: str
    expires_at: datetime
    version: int = 0


@dataclass(frozen=True)
class Site:
    """Who asks for the signature: `domain` and `uri` of the auth host, and the name in the statement."""

    domain: str
    uri: str
    brand: str


def new_challenge(
    address: str, family: str, chain_id: int, site: Site, now: datetime, entropy: Entropy
) -> Challenge:
    """A challenge for an address already in its canonical form (EIP-55, or base58 on Tron).

    The message is EIP-4361 for EVM; for Tron the same layout with "Tron account" (supplement, 11.2).
    """
    nonce, expires_at = entropy(16).hex(), now + CHALLENGE_LIFETIME
    kind = "Ethereum" if family == "evm" else "Tron"
    lines = [
        f"{site.domain} wants you to sign in with your {kind} account:",
        address,
        "",
        f"Sign in to {site.brand}.",
        "",
        f"URI: {site.uri}",
        "Version: 1",
        *([f"Chain ID: {chain_id}"] if family == "evm" else []),
        f"Nonce: {nonce}",
        f"Issued At: {iso(now)}",
        f"Expiration Time: {iso(expires_at)}",
    ]
    return Challenge(ids.ulid(now, entropy), nonce, address, family, chain_id, "\n".join(lines), expires_at)


def check_answer(challenge: Challenge | None, nonce: str, message: str, now: datetime) -> Challenge:
    """The challenge, when nonce and message are byte for byte the ones that were issued, in time.

    Raises Unauthorized without saying which of them was wrong.
    """
    if (
        challenge is None
        or now >= challenge.expires_at
        or not hmac.compare_digest(challenge.nonce.encode(), nonce.encode())
        or not hmac.compare_digest(challenge.message.encode(), message.encode())
    ):
        raise Unauthorized("Invalid or expired challenge: ask for a new one")
    return challenge


def user_names(message: str) -> tuple[str, ...]:
    """Whom a text to be signed may be for: the wallet it names, and the contract of that address on its chain."""
    asked, chain = _ASKED.match(message), _CHAIN.search(message)
    if asked is None:
        return ()
    wallets = (Wallet(asked[1]), *([Wallet(asked[1], int(chain[1]))] if chain else []))
    return tuple(wallet.name for wallet in wallets)


def open_session(
    account_id: str, kind: SessionKind, subject: str, now: datetime, entropy: Entropy, chain_id: int | None = None
) -> tuple[Session, str]:
    """A new session and its token (256 random bits), which is shown only to its owner."""
    token = ids.session_token(entropy)
    session = Session(
        token_hash=credential_hash(token),
        session_id=ids.ulid(now, entropy),
        account_id=account_id,
        kind=kind,
        subject=subject,
        created_at=now,
        last_seen_at=now,
        expires_at=now + (WALLET_IDLE if kind is SessionKind.WALLET else EMAIL_LIFETIME),
        chain_id=chain_id,
    )
    return session, token


def check_session(session: Session | None, now: datetime) -> Session:
    """Raises Unauthorized unless the session is known and has not ended."""
    if session is None or now >= session.expires_at:
        raise Unauthorized("Session is missing or has ended: sign in again")
    return session


def touched(session: Session, now: datetime) -> Session | None:
    """The session as used now, when that is worth writing; a wallet session then lives on for its idle time."""
    if now - session.last_seen_at < TOUCH_INTERVAL:
        return None
    expires_at = now + WALLET_IDLE if session.kind is SessionKind.WALLET else session.expires_at
    return replace(session, last_seen_at=now, expires_at=expires_at)
