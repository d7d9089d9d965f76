"""Signs in by a wallet's signature or by e-mail and password; lists and ends sessions."""

from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from chalicelib.access.audit import rules as audit
from chalicelib.access.audit.records import Actor, AuditEntry
from chalicelib.access.credentials import store as users
from chalicelib.access.credentials.records import Account, User
from chalicelib.access.rate_limits import flows as limits
from chalicelib.access.rate_limits.rules import failure_windows
from chalicelib.access.sessions import store as sessions
from chalicelib.access.sessions.records import Session, SessionKind, Wallet
from chalicelib.access.sessions.rules import open_session, pointer_of
from chalicelib.accounts.sign_in import passwords, store
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.rules import Site, check_answer, email_address, new_challenge, user_names
from chalicelib.base import ids
from chalicelib.base import signatures as wallets
from chalicelib.base.addresses import address_of_family
from chalicelib.base.errors import BadRequest, NotFound, TooManyRequests, Unauthorized
from chalicelib.catalogue.networks import network, network_of_chain
from chalicelib.services import Services
from chalicelib.storage.store import Delete, Write, WriteConflict

_ATTEMPTS = 5
"""How often a decision is made again after another request wrote one of its records first."""


@dataclass(frozen=True)
class SignedChallenge:
    """What a wallet sends back; nonce and message have to be the issued ones, byte for byte."""

    challenge_id: str
    nonce: str
    message: str
    signature: str


def challenge(services: Services, address: str, chain_id: int) -> Challenge:
    """A text for the wallet to sign, stored for five minutes; one write. Raises BadRequest for no address.

    `chain_id` is where a contract wallet lives; for a Tron address it is Tron's, whatever was asked for.
    """
    if not address.startswith(("0x", "T")):
        raise BadRequest("Invalid address: use an EVM (0x...) or a Tron (T...) address")
    family = "tron" if address.startswith("T") else "evm"
    tron = network("tron")
    assert tron is not None
    settings = services.settings
    asked = new_challenge(
        address=address_of_family(address, family),
        family=family,
        chain_id=tron.chain_id if family == "tron" else chain_id,
        site=Site(urlsplit(settings.auth_url).netloc, settings.auth_url, settings.brand),
        now=services.clock(),
        entropy=services.entropy,
    )
    services.store.write(asked)
    return asked


def sign_in(
    services: Services, signed: SignedChallenge, replaced: str | None, actor: Actor
) -> tuple[Session, str]:
    """Opens a session for the wallet that signed; its first one makes its account. Returns session and token.

    `replaced` is the hash of the session token that was sent along: that session ends.

    Two reads and one transaction, which uses the challenge up: of several requests that answer it, one succeeds. Raises
    BadRequest for a malformed signature, Unauthorized for a wrong signature or a used challenge (both are written to
    the audit log of the wallet's account), ChainUnavailable when a contract wallet cannot be asked.
    """
    signature = wallets.signature_bytes(signed.signature)
    asked = _answered(services, signed, actor)
    name = _signer(services, asked, signature)
    if name is None:
        _note_refused(services, asked.message, actor)
        raise Unauthorized("The signature is not the wallet's for this message")
    wallet = Wallet(asked.address, None if name == asked.address else asked.chain_id)
    for _ in range(_ATTEMPTS):
        known = users.user(services.store, name)
        made = None if known else _account(services, name, None, actor)
        user = made[0] if made else known
        assert user is not None, "known or made"
        try:
            return _open(services, user, wallet, actor, replaced, Delete(asked), *(made or ()))
        except WriteConflict:
            _answered(services, signed, actor)  # refuses when it was the challenge; else account or session changed
    raise WriteConflict


def register(services: Services, email: str, password: str, actor: Actor) -> User:
    """Makes an account for an e-mail address, in one transaction. Raises BadRequest.

    For an address that has an account the response is the same, after the same work, and nothing is written: it does
    not reveal who is a customer. Logging in afterwards does, as no e-mail is sent to confirm the address.
    """
    name = email_address(email)
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    made = _account(services, name, hashed, actor)
    try:
        services.store.write(*made)
    except WriteConflict:
        services.log.info("an address was registered again")
    return made[0]


def log_in(
    services: Services, email: str, password: str, replaced: str | None, actor: Actor
) -> tuple[Session, str]:
    """Opens a session for an e-mail user in one transaction. Returns session and token.

    Raises Unauthorized, with the same message and after the same work, for an unknown user and for a wrong password,
    and TooManyRequests after too many of these. A try is counted before the password is checked, so that parallel
    requests get no more tries, and given back if the password was right.
    """
    name = email_address(email)
    passwords.check_password(password)
    windows = failure_windows(name, actor.ip_address, services.settings.rate_limit_scale, services.clock())
    limits.count_in_all(services, *windows)
    user = users.user(services.store, name)
    is_right = passwords.is_password(password, user.password_hash if user else None)
    if user is None or not is_right:
        _write_refused(services, user, actor)
        raise Unauthorized("Wrong e-mail address or password")
    limits.uncount(services, *windows)
    for _ in range(_ATTEMPTS):
        with suppress(WriteConflict):  # the session to be replaced was used or ended meanwhile
            return _open(services, user, None, actor, replaced)
    raise WriteConflict


def reset_password(services: Services, email: str, password: str, actor: Actor) -> int:
    """Gives an e-mail user another password and ends their sessions. Returns how many. Raises NotFound and BadRequest.

    `actor` acts on the user's account, whichever that is.
    """
    user = users.user(services.store, email_address(email))
    if user is None:
        raise NotFound("There is no user with this e-mail address.")
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    who = replace(actor, account_id=user.account_id)
    line = audit.entry(who, "account.password_reset", user.account_id, services.clock(), services.entropy)
    services.store.write(replace(user, password_hash=hashed), line)
    return end_all(services, user.account_id, who)


def list_open(services: Services, account_id: str) -> list[Session]:
    """The open sessions of an account, the newest first. Two reads for up to a hundred."""
    return sessions.open_sessions(services.store, account_id, services.clock())


def end_all(services: Services, account_id: str, actor: Actor) -> int:
    """Ends every session of an account, each in a transaction of its own. Returns how many."""
    found = list_open(services, account_id)
    return sum(_end(services, session.token_hash, actor, "session.revoked") for session in found)


def log_out(services: Services, session: Session, actor: Actor) -> None:
    """Ends the session that asks for it."""
    _end(services, session.token_hash, actor, "session.ended")


def revoke(services: Services, account_id: str, session_id: str, actor: Actor) -> None:
    """Ends a session of the account. Raises NotFound for another account's, an ended and an unknown session."""
    pointer = sessions.pointer(services.store, account_id, session_id)
    if pointer is None or not _end(services, pointer.token_hash, actor, "session.revoked"):
        raise NotFound("Session not found")


def _answered(services: Services, signed: SignedChallenge, actor: Actor) -> Challenge:
    stored = store.challenge(services.store, signed.challenge_id)
    try:
        return check_answer(stored, signed.nonce, signed.message, services.clock())
    except Unauthorized:
        _note_refused(services, stored.message if stored else signed.message, actor)
        raise


def _note_refused(services: Services, message: str, actor: Actor) -> None:
    """Writes a refused sign-in to the audit log of the wallet that a message names, if it has an account.

    Counted and limited as wrong passwords are. A used challenge is not kept: then the wallet is the one that the sent
    message names; anybody may ask for a challenge of any wallet.
    """
    for user in users.users(services.store, user_names(message)):
        now, scale = services.clock(), services.settings.rate_limit_scale
        with suppress(TooManyRequests):
            limits.count_in_all(services, *failure_windows(user.name, actor.ip_address, scale, now))
            _write_refused(services, user, actor)


def _write_refused(services: Services, user: User | None, actor: Actor) -> None:
    """The audit log entry of a refused sign-in; for an unknown user a write that fails, which takes the same time."""
    account_id = user.account_id if user else ids.ulid(services.clock(), services.entropy)
    who = replace(actor, account_id=account_id)
    line = audit.entry(who, "session.refused", account_id, services.clock(), services.entropy)
    with suppress(WriteConflict):
        services.store.write(line if user else replace(line, version=1))


def _signer(services: Services, asked: Challenge, signature: bytes) -> str | None:
    """The name of the user who signed, None when it was not the challenge's wallet.

    By recovery if that gives the wallet, without a call; else the wallet contract is asked on the challenge's chain.
    Somebody else may control a contract at the same address on another chain, so its user's name has the chain, and
    each chain's contract has an account of its own.
    """
    if asked.family == "tron":
        return asked.address if wallets.recover_tron(asked.message, signature) == asked.address else None
    if wallets.recover_personal(asked.message, signature) == asked.address:
        return asked.address
    chain = network_of_chain(asked.chain_id)
    if chain is None or chain.family != "evm" or chain.name not in services.chains.networks:
        return None
    digest = wallets.personal_digest(asked.message)
    if not services.chains.of(chain.name).is_valid_signature(asked.address, digest, signature):
        return None
    return Wallet(asked.address, asked.chain_id).name


def _account(
    services: Services, name: str, hashed: str | None, actor: Actor
) -> tuple[User, Account, AuditEntry]:
    """A new user with account and audit line, to be written together."""
    now = services.clock()
    account = Account(ids.ulid(now, services.entropy), name, now)
    who = replace(actor, account_id=account.account_id)
    line = audit.entry(who, "account.created", account.account_id, now, services.entropy)
    return User(name, account.account_id, hashed, now), account, line


def _open(
    services: Services, user: User, wallet: Wallet | None, actor: Actor, replaced: str | None, *writes: Write
) -> tuple[Session, str]:
    """Writes a new session, of the wallet or else of the e-mail user, and its audit entry, together with `writes`.

    The session whose token was sent along ends in the same transaction.
    """
    now = services.clock()
    who_is = (SessionKind.WALLET, wallet.address) if wallet else (SessionKind.EMAIL, user.name)
    chain_id = wallet.chain_id if wallet else None
    session, token = open_session(user.account_id, *who_is, now, services.entropy, chain_id)
    who = replace(actor, account_id=session.account_id, name=f"session:{session.session_id}")
    line = audit.entry(who, "session.created", session.session_id, now, services.entropy)
    ending = _ending(services, replaced, who, "session.replaced") if replaced is not None else ()
    services.store.write(session, pointer_of(session), line, *ending, *writes)
    return replace(session, version=1), token


def _end(services: Services, token_hash: str, actor: Actor, action: str) -> bool:
    """Removes a session; False when it has ended already. Tried again if a use of the session was written meanwhile."""
    for _ in range(_ATTEMPTS):
        ending = _ending(services, token_hash, actor, action)
        if not ending:
            return False
        with suppress(WriteConflict):
            services.store.write(*ending)
            return True
    raise WriteConflict


def _ending(services: Services, token_hash: str, actor: Actor, action: str) -> tuple[Write, ...]:
    """What ends a session, with its audit line, to be written together; nothing when it has ended already."""
    now, session = services.clock(), sessions.session(services.store, token_hash)
    if session is None or now >= session.expires_at:
        return ()
    who = replace(actor, account_id=session.account_id)
    line = audit.entry(who, action, session.session_id, now, services.entropy)
    return Delete(session), Delete(pointer_of(session)), line
