"""Signs in by a wallet's signature or by e-mail and password; lists and ends sessions."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from urllib.parse import urlsplit

from chalicelib.accounts.sign_in import passwords, store
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.rules import Site, check_signed, email_address, new_challenge, user_names
from chalicelib.base import ids
from chalicelib.base import signatures as wallets
from chalicelib.base.addresses import address_of_family
from chalicelib.base.errors import BadRequest, NotFound, TooManyRequests, Unauthorized
from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.networks import network, network_of_chain
from chalicelib.platform.access.audit import rules as audit
from chalicelib.platform.access.audit.records import Actor, AuditEntry
from chalicelib.platform.access.credentials import store as users
from chalicelib.platform.access.credentials.records import Account, User
from chalicelib.platform.access.rate_limits import flows as limits
from chalicelib.platform.access.rate_limits.rules import failure_windows
from chalicelib.platform.access.sessions import store as sessions
from chalicelib.platform.access.sessions.records import Session, SessionKind, Wallet
from chalicelib.platform.access.sessions.rules import open_session, pointer_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retried, retry, try_write
from chalicelib.platform.storage.store import Delete, Unchanged, Write, written


@frozen
class SignedChallenge:
    """A signed challenge. Nonce and message must be the issued ones, byte for byte."""

    challenge_id: str
    nonce: str
    message: str
    signature: str


def challenge(services: Services, address: str, chain_id: int) -> Challenge:
    """A text for the wallet to sign, stored for five minutes. One write. Raises BadRequest for an invalid address.

    `chain_id` is the chain of a contract wallet. For a Tron address it is ignored.
    """
    if not address.startswith(("0x", "T")):
        raise BadRequest("Invalid address: use an EVM (0x...) or a Tron (T...) address")
    family = "tron" if address.startswith("T") else "evm"
    tron = network("tron")
    assert tron is not None
    settings = services.settings
    issued = new_challenge(
        address=address_of_family(address, family),
        family=family,
        chain_id=tron.chain_id if family == "tron" else chain_id,
        site=Site(urlsplit(settings.auth_url).netloc, settings.auth_url, settings.brand),
        now=services.clock(),
        entropy=services.entropy,
    )
    services.store.write(issued)
    return issued


def sign_in(
    services: Services, signed: SignedChallenge, replaced: str | None, actor: Actor
) -> tuple[Session, str]:
    """Opens a session for the wallet that signed; the first one creates its account. Returns session and token.

    `replaced` is the token hash of a session that ends with this one. Two reads and one transaction, which deletes the
    challenge, so it can be used once. Raises BadRequest for a malformed signature, Unauthorized for a wrong signature
    or a used challenge (both are recorded in the audit log of the wallet's account), ChainUnavailable if the contract
    of the wallet cannot be called.
    """
    signature = wallets.signature_bytes(signed.signature)
    issued = _issued_challenge(services, signed, actor)
    name = _signer(services, issued, signature)
    if name is None:
        _record_refusal(services, issued.message, actor)
        raise Unauthorized("The signature is not the wallet's for this message")
    wallet = Wallet(issued.address, None if name == issued.address else issued.chain_id)

    def open_with(unused: Challenge) -> tuple[Session, str]:
        known = users.user(services.store, name)
        created = None if known else _new_account(services, name, None, actor)
        user = created[0] if created else known
        assert user is not None, "known or created"
        return _open(services, user, wallet, actor, replaced, Delete(unused), *(created or ()))

    # The second reading raises if the challenge was used; else the account or the session has changed.
    return retry(5, open_with, issued, lambda: _issued_challenge(services, signed, actor))


def register(services: Services, email: str, password: str, actor: Actor) -> User:
    """Creates an account for an e-mail address, in one transaction. Raises BadRequest.

    For an address that has an account the response is the same, after the same work, and nothing is written, so it
    does not reveal who is a customer. Logging in afterwards does, as no e-mail is sent to confirm the address.
    """
    name = email_address(email)
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    created = _new_account(services, name, hashed, actor)
    if not try_write(services.store, *created):
        services.log.info("e-mail address is registered already")
    return created[0]


def log_in(
    services: Services, email: str, password: str, replaced: str | None, actor: Actor
) -> tuple[Session, str]:
    """Opens a session for an e-mail user in one transaction. Returns session and token.

    Raises Unauthorized, with the same message and after the same work, for an unknown user and for a wrong password;
    TooManyRequests after too many failures. An attempt is counted before the password is checked, so that parallel
    requests do not get more attempts, and uncounted if the password is right. If the user changed meanwhile, the
    password is checked again: no session is opened with one that was replaced.
    """
    name = email_address(email)
    passwords.check_password(password)
    windows = failure_windows(name, actor.ip_address, services.settings.rate_limit_scale, services.clock())
    limits.count_in_all(services, *windows)
    user = _checked(services, name, password, actor)
    limits.uncount(services, *windows)
    again = partial(_checked, services, name, password, actor)
    return retry(5, lambda user: _open(services, user, None, actor, replaced), user, again)


def reset_password(services: Services, email: str, password: str, actor: Actor) -> int:
    """Sets a new password for an e-mail user and ends their sessions. Returns how many. Raises NotFound, BadRequest.

    All of them end in the transaction that sets the password; then they are deleted, one transaction each. The account
    of `actor` is replaced by the user's.
    """
    user = users.user(services.store, email_address(email))
    if user is None:
        raise NotFound("There is no user with this e-mail address.")
    account = users.account(services.store, user.account_id)
    assert account is not None, "written together with its user"
    hashed = passwords.password_hash(password, services.entropy(passwords.SALT_BYTES))
    actor = replace(actor, account_id=user.account_id)
    entry = audit.entry(actor, "account.password_reset", user.account_id, services.clock(), services.entropy)
    renewed = replace(user, password_hash=hashed)
    services.store.write(renewed, replace(account, sessions_since=written(user).version), entry)
    return end_all(services, user.account_id, actor)


def list_open(services: Services, account_id: str) -> list[Session]:
    """The open sessions of an account, the newest first. Two reads for up to a hundred."""
    return sessions.open_sessions(services.store, account_id, services.clock())


def end_all(services: Services, account_id: str, actor: Actor) -> int:
    """Ends every session of an account, one transaction each. Returns how many."""
    open_sessions = list_open(services, account_id)
    return sum(_end(services, session.token_hash, actor, "session.revoked") for session in open_sessions)


def log_out(services: Services, session: Session, actor: Actor) -> None:
    """Ends the caller's session."""
    _end(services, session.token_hash, actor, "session.ended")


def revoke(services: Services, account_id: str, session_id: str, actor: Actor) -> None:
    """Ends a session of the account. Raises NotFound if it is unknown, has ended, or belongs to another account."""
    pointer = sessions.pointer(services.store, account_id, session_id)
    if pointer is None or not _end(services, pointer.token_hash, actor, "session.revoked"):
        raise NotFound("Session not found")


def _issued_challenge(services: Services, signed: SignedChallenge, actor: Actor) -> Challenge:
    """The stored challenge that was signed. One read. Raises Unauthorized, and records the refusal."""
    stored = store.challenge(services.store, signed.challenge_id)
    try:
        return check_signed(stored, signed.nonce, signed.message, services.clock())
    except Unauthorized:
        _record_refusal(services, stored.message if stored else signed.message, actor)
        raise


def _checked(services: Services, name: str, password: str, actor: Actor) -> User:
    """The user with this name, if it is their password. Raises Unauthorized, and records the refusal."""
    user = users.user(services.store, name)
    is_right = passwords.is_password(password, user.password_hash if user else None)
    if user is None or not is_right:
        _write_refusal(services, user, actor)
        raise Unauthorized("Wrong e-mail address or password")
    return user


def _record_refusal(services: Services, message: str, actor: Actor) -> None:
    """Writes a refused sign-in to the audit log of the wallet that the message names, if it has an account.

    Refusals are counted and limited like wrong passwords. A used challenge is deleted, so the message may be one that
    the caller sent and not one that was issued.
    """
    for user in users.users(services.store, user_names(message)):
        now, scale = services.clock(), services.settings.rate_limit_scale
        with suppress(TooManyRequests):
            limits.count_in_all(services, *failure_windows(user.name, actor.ip_address, scale, now))
            _write_refusal(services, user, actor)


def _write_refusal(services: Services, user: User | None, actor: Actor) -> None:
    """Writes the audit entry of a refused sign-in. For an unknown user the write fails, which takes the same time."""
    account_id = user.account_id if user else ids.ulid(services.clock(), services.entropy)
    actor = replace(actor, account_id=account_id)
    entry = audit.entry(actor, "session.refused", account_id, services.clock(), services.entropy)
    try_write(services.store, entry if user else replace(entry, version=1))


def _signer(services: Services, challenge: Challenge, signature: bytes) -> str | None:
    """The user name (`Wallet.name`) of the signer; None if the challenge's wallet did not sign.

    If the recovered address is not the wallet, the wallet contract on the challenge's chain checks the signature. Its
    name includes the chain, because the same address may belong to somebody else on another chain: contracts on
    different chains have different accounts.
    """
    if challenge.family == "tron":
        return challenge.address if wallets.recover_tron(challenge.message, signature) == challenge.address else None
    if wallets.recover_personal(challenge.message, signature) == challenge.address:
        return challenge.address
    chain = network_of_chain(challenge.chain_id)
    if chain is None or chain.family != "evm" or chain.name not in services.chains.networks:
        return None
    digest = wallets.personal_digest(challenge.message)
    if not services.chains.of(chain.name).is_valid_signature(challenge.address, digest, signature):
        return None
    return Wallet(challenge.address, challenge.chain_id).name


def _new_account(
    services: Services, name: str, hashed: str | None, actor: Actor
) -> tuple[User, Account, AuditEntry]:
    """A new user, account and audit entry, to be written together."""
    now = services.clock()
    account = Account(ids.ulid(now, services.entropy), name, now)
    actor = replace(actor, account_id=account.account_id)
    entry = audit.entry(actor, "account.created", account.account_id, now, services.entropy)
    return User(name, account.account_id, hashed, now), account, entry


def _open(
    services: Services, user: User, wallet: Wallet | None, actor: Actor, replaced: str | None, *writes: Write
) -> tuple[Session, str]:
    """Writes a new session and its audit entry, together with `writes`. Without `wallet`, the user is an e-mail user.

    The session with the token hash `replaced` ends in the same transaction. Raises WriteConflict if the user was
    changed since it was read. A new user is one of `writes`.
    """
    now = services.clock()
    kind, subject = (SessionKind.WALLET, wallet.address) if wallet else (SessionKind.EMAIL, user.name)
    chain_id = wallet.chain_id if wallet else None
    session, token = open_session(user.account_id, kind, subject, now, services.entropy, chain_id, user.version)
    actor = replace(actor, account_id=session.account_id, name=f"session:{session.session_id}")
    entry = audit.entry(actor, "session.created", session.session_id, now, services.entropy)
    ending = _ending(services, replaced, actor, "session.replaced") if replaced is not None else ()
    known = (Unchanged(user),) if user.version else ()
    return services.store.write(session, pointer_of(session), entry, *ending, *known, *writes), token


@retried(5)
def _end(services: Services, token_hash: str, actor: Actor, action: str) -> bool:
    """Deletes a session; returns False if it has ended. Tries again if a use of the session was recorded meanwhile."""
    ending = _ending(services, token_hash, actor, action)
    if ending:
        services.store.write(*ending)
    return bool(ending)


def _ending(services: Services, token_hash: str, actor: Actor, action: str) -> tuple[Write, ...]:
    """The writes that end a session, with its audit entry; empty if it has ended."""
    now, session = services.clock(), sessions.session(services.store, token_hash)
    if session is None or now >= session.expires_at:
        return ()
    actor = replace(actor, account_id=session.account_id)
    entry = audit.entry(actor, action, session.session_id, now, services.entropy)
    return Delete(session), Delete(pointer_of(session)), entry
