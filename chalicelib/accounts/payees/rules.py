"""Decides which payee destinations may be added, changed and read, and what wallets sign for them."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chalicelib.accounts.payees.records import Action, PayeeDestination, SigningNonce
from chalicelib.base import ids
from chalicelib.base.addresses import address_of_family, same_address, tron_to_evm
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthorized
from chalicelib.base.ids import Entropy
from chalicelib.base.signatures import digest_of_typed_data, recover_digest, signature_bytes
from chalicelib.chains.catalogue.interop import Destination, destination_id, parse_destination_id
from chalicelib.chains.catalogue.networks import Network, find_network, network_of_chain
from chalicelib.chains.catalogue.recipients import OwnAddresses, parse_recipient
from chalicelib.chains.catalogue.tokens import token_at
from chalicelib.platform.access.credentials.records import ClientId
from chalicelib.platform.access.people.records import Membership
from chalicelib.platform.access.people.roles import SCOPES_OF
from chalicelib.platform.access.sessions.records import Wallet

NONCE_LIFETIME = timedelta(minutes=5)
INVALID_NONCE = "Invalid or expired nonce: get new signing data"
NOT_VOUCHED = (
    "The wallet is not the client ID's: bind it with an API key of the account beside the client ID, "
    "or from the account's session"
)
_CUT_OFF = re.compile(r"[0-9A-Za-z]+@eip155:[0-9]+")
_FIELDS = (
    ("walletAddress", "address"),
    ("tokenAddress", "address"),
    ("chainId", "uint256"),
    ("action", "string"),
    ("clientId", "string"),
    ("nonce", "string"),
    ("expiresAt", "uint256"),
)


def parse_route(wallet: str, token_address: str, chain_id: int, own: OwnAddresses) -> Destination:
    """A route in canonical form. Raises BadRequest unless the catalogue has the token on that chain, and for a wallet
    that receives nothing, such as those of `own` (`parse_recipient`)."""
    chain = network_of_chain(chain_id)
    if chain is None:
        raise BadRequest("chainId is not of a supported network; GET /v2/currencies lists them")
    address = _address("walletAddress", wallet, chain, lambda text, family: parse_recipient(text, family, own))
    listed = token_at(chain.name, _address("tokenAddress", token_address, chain))
    if listed is None:
        raise BadRequest(f"tokenAddress is not a supported token on {chain.name}; GET /v2/currencies lists them")
    return Destination(address, chain_id, listed.address)


def wallet_address(text: str) -> str:
    """A wallet of either family in its canonical form. Raises BadRequest."""
    return address_of_family(text, "tron" if text.startswith("T") else "evm")


def route_of_id(text: str, strict: bool) -> Destination:
    """The route that an id names: `<wallet>@eip155:<chain>#<checksum>:<token>` or `<network>:<wallet>:<token>`.

    Raises NotFound for an id that ends before its `#`, as it does in a URL without percent-encoding, and BadRequest for
    any other text that has neither form.
    """
    if _CUT_OFF.fullmatch(text):
        raise NotFound("Payee destination not found: the id ends before its #, which a URL needs as %23")
    parts = text.split(":")
    chain = find_network(parts[0]) if len(parts) == 3 else None
    if chain is None:
        return parse_destination_id(text, strict).destination
    try:
        return parse_route(parts[1], parts[2], chain.chain_id, {})
    except BadRequest:
        raise BadRequest("Invalid destination ID format") from None


def new_nonce(route: Destination, client_id: str, action: Action, now: datetime, entropy: Entropy) -> SigningNonce:
    return SigningNonce(
        nonce=entropy(16).hex(),
        client_id=client_id,
        wallet_address=route.wallet,
        token_address=route.token_address,
        chain_id=route.chain_id,
        action=action,
        expires_at=now + NONCE_LIFETIME,
    )


def signing_data(nonce: SigningNonce, brand: str) -> dict[str, Any]:
    """The typed data that the wallet signs: EIP-712, or TIP-712 for Tron addresses.

    `{domain, types, primaryType, message}`, with the fields of the message in the order of `types`. The message has the
    client id, so that the wallet shows it. `types` does not contain EIP712Domain, as signing libraries require. There
    is not a verifying contract, as no contract reads the signature.
    """
    return {
        "domain": {"name": f"{brand} Payee Destination", "version": "1", "chainId": nonce.chain_id},
        "types": {"PayeeDestination": [{"name": name, "type": kind} for name, kind in _FIELDS]},
        "primaryType": "PayeeDestination",
        "message": {
            "walletAddress": nonce.wallet_address,
            "tokenAddress": nonce.token_address,
            "chainId": nonce.chain_id,
            "action": nonce.action.value,
            "clientId": nonce.client_id,
            "nonce": nonce.nonce,
            "expiresAt": int(nonce.expires_at.timestamp()),
        },
    }


def check_nonce(nonce: SigningNonce | None, text: str, client_id: str, action: Action, now: datetime) -> SigningNonce:
    """Raises BadRequest unless the nonce was issued to this client id for this action and has not expired."""
    if (
        nonce is None
        or nonce.nonce != text
        or nonce.client_id != client_id
        or nonce.action is not action
        or now >= nonce.expires_at
    ):
        raise BadRequest(INVALID_NONCE)
    return nonce


def check_signer(nonce: SigningNonce, signature: str, brand: str) -> None:
    """Raises Unauthorized unless the wallet of the nonce made the signature over its signing data."""
    digest = digest_of_typed_data(signing_data(nonce, brand))
    signer = recover_digest(digest, signature_bytes(signature))
    wallet = nonce.wallet_address
    expected = wallet if wallet.startswith("0x") else tron_to_evm(wallet)
    if signer is None or not same_address(signer, expected):
        raise Unauthorized("The signature is not that of the wallet over this signing data")


def belongs_to(destination: PayeeDestination, client: ClientId) -> bool:
    """Whether a client id may read and deactivate a destination: one of its account that is its own or its binding."""
    return destination.account_id == client.account_id and (
        destination.client_id in (None, client.client_id) or destination.record_id == client.payee_destination_id
    )


def check_addable(
    route: Destination, client: ClientId, bound: PayeeDestination | None, active: PayeeDestination | None
) -> None:
    """Checks that a client id may be bound to a route that its wallet signed.

    `bound` is the destination that the client id is bound to now, `active` the active destination of the wallet, of any
    account. A client id and its origin are public, so anybody could sign with another wallet: a client id that is bound
    to an active destination accepts only its wallet. Raises Forbidden; Conflict if the wallet has another route.
    """
    if bound is not None and bound.is_active and not same_address(bound.wallet_address, route.wallet):
        raise Forbidden(
            "This client ID is bound to another wallet: deactivate that payee destination first, or set "
            "payeeDestinationId to null with PUT /v2/client-ids/{id}"
        )
    if active is None:
        return
    if not belongs_to(active, client):
        raise Forbidden("The active destination of this wallet belongs to another client ID")
    check_no_other(route, active)


def check_vouched(
    route: Destination, client: ClientId, bound: PayeeDestination | None, membership: Membership | None
) -> None:
    """Raises Forbidden unless the account of the client id has confirmed the wallet with more than public data.

    Client id and origin are public and a wallet signs only for itself, so they do not prove that the account wants to
    be paid there. The wallet must be that of a member who may change destinations (`membership` is that of the person
    who signs in with it), the operator wallet of the client id, or the wallet that the client id is bound to. Not
    called if an API key of the account was sent.
    """
    wallets = [client.operator_wallet_address, bound.wallet_address if bound else None]
    is_own = membership is not None and "payee_destinations:write" in SCOPES_OF[membership.role]
    if not is_own and not any(wallet and same_address(wallet, route.wallet) for wallet in wallets):
        raise Forbidden(NOT_VOUCHED)


def check_wallet(wallet: Wallet, route: Destination) -> None:
    """Raises Forbidden unless the route is of the wallet that signed in; of a contract wallet, also on its chain."""
    if not same_address(route.wallet, wallet.address):
        raise Forbidden("This payee destination is another wallet's")
    if wallet.chain_id not in (None, route.chain_id):
        raise Forbidden(
            f"This wallet is a contract of chain {wallet.chain_id}: it has destinations on that chain alone"
        )


def check_no_other(route: Destination, active: PayeeDestination) -> None:
    """Raises Conflict if the active destination has another route."""
    if active.route != route:
        raise Conflict("This wallet has another active destination: deactivate it first")


def activate_destination(
    known: PayeeDestination | None,
    route: Destination,
    account_id: str,
    client_id: str | None,
    now: datetime,
    entropy: Entropy,
) -> PayeeDestination:
    """An active destination for the route: the known one reactivated, or a new one."""
    if known is not None:
        return replace(known, is_active=True, client_id=client_id or known.client_id)
    return PayeeDestination(
        record_id=ids.ulid(now, entropy),
        destination_id=destination_id(route),
        account_id=account_id,
        wallet_address=route.wallet,
        token_address=route.token_address,
        chain_id=route.chain_id,
        is_active=True,
        created_at=now,
        client_id=client_id,
    )


def change_route(destination: PayeeDestination, route: Destination) -> PayeeDestination:
    """The destination with another token or chain. Client ids that are bound to it stay bound."""
    return replace(
        destination,
        destination_id=destination_id(route),
        token_address=route.token_address,
        chain_id=route.chain_id,
    )


def _address(
    name: str, text: str, chain: Network, parse: Callable[[str, str], str] = address_of_family
) -> str:
    try:
        return parse(text, chain.family)
    except BadRequest as error:
        raise BadRequest(f"{name}: {error.message}") from None
