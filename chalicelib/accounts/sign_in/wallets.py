"""Has wallets sign challenges, and finds out who signed."""

from contextlib import suppress
from urllib.parse import urlsplit

from chalicelib.accounts.sign_in import refusals, store
from chalicelib.accounts.sign_in.records import Challenge
from chalicelib.accounts.sign_in.rules import SIGN_IN, Site, Wanted, check_signed, new_challenge, user_names
from chalicelib.base import signatures
from chalicelib.base.addresses import address_of_family
from chalicelib.base.errors import BadRequest, TooManyRequests, Unauthorized
from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.networks import find_network, network_of_chain
from chalicelib.chains.nodes.agreement import agree
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.rate_limits import flows as rate_limits
from chalicelib.platform.access.rate_limits.rules import failure_windows
from chalicelib.platform.access.sessions.records import Wallet
from chalicelib.platform.services import Services


@frozen
class SignedChallenge:
    """A signed challenge. Nonce and message must be the issued ones, byte for byte."""

    challenge_id: str
    nonce: str
    message: str
    signature: str


def create_challenge(services: Services, address: str, chain_id: int, wanted: Wanted = SIGN_IN) -> Challenge:
    """A text for the wallet to sign, stored for five minutes. One write. Raises BadRequest for an invalid address.

    `chain_id` is the chain of a contract wallet. For a Tron address it is ignored.
    """
    if not address.startswith(("0x", "T")):
        raise BadRequest("Invalid address: use an EVM (0x...) or a Tron (T...) address")
    family = "tron" if address.startswith("T") else "evm"
    tron = find_network("tron")
    assert tron is not None
    settings = services.settings
    wallet = Wallet(address_of_family(address, family), tron.chain_id if family == "tron" else chain_id)
    site = Site(urlsplit(settings.auth_url).netloc, settings.auth_url, settings.brand)
    issued = new_challenge(wallet, family, site, wanted, services.clock(), services.entropy)
    services.store.write(issued)
    return issued


def find_challenge(
    services: Services, signed: SignedChallenge, actor: Actor, wanted: Wanted = SIGN_IN
) -> Challenge:
    """The stored challenge that was signed. One read.

    Raises BadRequest for a malformed signature, Unauthorized otherwise, which is recorded.
    """
    signatures.signature_bytes(signed.signature)
    stored = store.challenge(services.store, signed.challenge_id)
    try:
        return check_signed(stored, signed.nonce, signed.message, wanted, services.clock())
    except Unauthorized:
        _record_refusal(services, stored.message if stored else signed.message, actor)
        raise


def signer(services: Services, issued: Challenge, signed: SignedChallenge, actor: Actor) -> Wallet:
    """The wallet that signed. Raises Unauthorized for a wrong signature, which is recorded; ChainUnavailable if the
    contract of the wallet cannot be called, or the nodes of its network do not agree on what it says."""
    wallet = _signer(services, issued, signatures.signature_bytes(signed.signature))
    if wallet is None:
        _record_refusal(services, issued.message, actor)
        raise Unauthorized("The signature is not the wallet's for this message")
    return wallet


def _signer(services: Services, challenge: Challenge, signature: bytes) -> Wallet | None:
    """The signer; None if the challenge's wallet did not sign.

    If the recovered address is not the wallet, the contract on the challenge's chain checks the signature, and the
    nodes have to agree on its answer: one of them alone could sign anybody in. The wallet's name includes the chain,
    because the same address may belong to somebody else on another chain: contracts on different chains are different
    people.
    """
    by_key = Wallet(challenge.address)
    if challenge.family == "tron":
        is_signed = signatures.recover_tron(challenge.message, signature) == challenge.address
        return by_key if is_signed else None
    if signatures.recover_personal(challenge.message, signature) == challenge.address:
        return by_key
    chain = network_of_chain(challenge.chain_id)
    if chain is None or chain.family != "evm" or chain.name not in services.chains.networks:
        return None
    digest = signatures.personal_digest(challenge.message)
    accepted = agree(
        services.chains.of(chain.name), lambda node: node.is_valid_signature(challenge.address, digest, signature)
    )
    if not accepted.value:
        return None
    return Wallet(challenge.address, challenge.chain_id)


def _record_refusal(services: Services, message: str, actor: Actor) -> None:
    """Writes a refused signature to the audit log of the person whose wallet the message names, if there is one.

    Refusals are counted and limited like wrong passwords. A used challenge is deleted, so the message may be one that
    the caller sent and not one that was issued.
    """
    for identity in person_store.identities(services.store, user_names(message)):
        now, scale = services.clock(), services.settings.rate_limit_scale
        with suppress(TooManyRequests):
            rate_limits.count_in_all(services, *failure_windows(identity.name, actor.ip_address, scale, now))
            refusals.record(services, person_store.find_person(services.store, identity.person_id), actor)
