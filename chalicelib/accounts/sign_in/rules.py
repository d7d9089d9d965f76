"""The challenges that wallets sign to sign in."""

import hmac
import re
from datetime import datetime, timedelta

from chalicelib.accounts.sign_in.records import Challenge, Purpose
from chalicelib.base import ids
from chalicelib.base.errors import Unauthorized
from chalicelib.base.frozen import frozen
from chalicelib.base.ids import Entropy
from chalicelib.base.timestamps import iso
from chalicelib.platform.access.sessions.records import Wallet

CHALLENGE_LIFETIME = timedelta(minutes=5)
_SIGNER = re.compile(r"[^\n]* wants you to sign in with your (?:Ethereum|Tron) account:\n(0x[0-9A-Fa-f]{40}|T\w{33})\n")
_CHAIN = re.compile(r"\nChain ID: (\d{1,20})\n")


@frozen
class Site:
    """The site in the challenge: `domain` and `uri` of the auth host, and the brand in the statement."""

    domain: str
    uri: str
    brand: str


_STATEMENTS = {
    Purpose.SIGN_IN: "Sign in to {brand}.",
    Purpose.ADD: "Add this wallet to the ways I sign in to {brand}.",
    Purpose.PROVE: "Confirm to {brand} that I am here.",
}


@frozen
class Wanted:
    """For what a wallet is to sign, and in which session; None to sign in."""

    purpose: Purpose = Purpose.SIGN_IN
    session_id: str | None = None


SIGN_IN = Wanted()


def new_challenge(
    wallet: Wallet, family: str, site: Site, wanted: Wanted, now: datetime, entropy: Entropy
) -> Challenge:
    """A challenge for a wallet, whose address is in its canonical form (EIP-55, or base58 on Tron).

    Its chain is the one of a contract wallet. The message follows EIP-4361; for Tron it has the same layout with "Tron
    account" (supplement, 11.2).
    """
    nonce, expires_at = entropy(16).hex(), now + CHALLENGE_LIFETIME
    address, chain_id = wallet.address, wallet.chain_id or 0
    kind = "Ethereum" if family == "evm" else "Tron"
    lines = [
        f"{site.domain} wants you to sign in with your {kind} account:",
        address,
        "",
        _STATEMENTS[wanted.purpose].format(brand=site.brand),
        "",
        f"URI: {site.uri}",
        "Version: 1",
        *([f"Chain ID: {chain_id}"] if family == "evm" else []),
        f"Nonce: {nonce}",
        f"Issued At: {iso(now)}",
        f"Expiration Time: {iso(expires_at)}",
    ]
    text = "\n".join(lines)
    return Challenge(
        ids.ulid(now, entropy), nonce, address, family, chain_id, text, expires_at, wanted.purpose, wanted.session_id
    )


def check_signed(challenge: Challenge | None, nonce: str, message: str, wanted: Wanted, now: datetime) -> Challenge:
    """The challenge. Raises Unauthorized unless it has not expired, was made for what is wanted, and nonce and message
    equal the issued ones.

    The error does not say which of them was wrong.
    """
    if (
        challenge is None
        or (challenge.purpose, challenge.session_id) != (wanted.purpose, wanted.session_id)
        or now >= challenge.expires_at
        or not hmac.compare_digest(challenge.nonce.encode(), nonce.encode())
        or not hmac.compare_digest(challenge.message.encode(), message.encode())
    ):
        raise Unauthorized("Invalid or expired challenge: ask for a new one")
    return challenge


def user_names(message: str) -> tuple[str, ...]:
    """The user names of a challenge's message: the wallet with a private key, and the contract on its chain."""
    account, chain = _SIGNER.match(message), _CHAIN.search(message)
    if account is None:
        return ()
    wallets = (Wallet(account[1]), *([Wallet(account[1], int(chain[1]))] if chain else []))
    return tuple(wallet.name for wallet in wallets)
