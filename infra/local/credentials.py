"""Credentials of the local stack: those of the last run if they are still valid, else new ones from the flows.

    a merchant        signs in by e-mail and password; owns the API key and both client ids
    an orchestrator   its key is used with the second client id, which is bound to a destination of the payee
    a second account  an API key of another account
    a payee           with the private key of its address and coins for gas, as for refunds
    wallets           private keys that have not signed in yet
    payers            private keys on EVM chains and on Tron, and the owners of a Safe, all with funds

API key and first client id have the highest tier; the second client id creates links only with the orchestrator's key.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.client_ids.rules import ClientIdSettings
from chalicelib.accounts.credentials import flows as credentials
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.payees import flows as payees
from chalicelib.accounts.payees.records import Action
from chalicelib.accounts.payees.rules import parse_route, signing_data
from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.base.addresses import address_bytes, tron_address_of
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, OrchestratorKey
from chalicelib.platform.access.modes import Tier
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.own_accounts.flows import own_addresses
from chalicelib.platform.services import Services
from infra import admin

PAID_IN = "fUSDC-sepolia"
_KINDS = {
    "orchestrator_key": OrchestratorKey,
    **dict.fromkeys(("api_key", "test_api_key", "second_account"), ApiKey),
    **dict.fromkeys(("client_id", "orchestrator_client_id"), ClientId),
}
_WALLETS = ("wallet", "tron_wallet")
_KEYS = ("payer", "tron_payer", "safe_owners")
_SAFE_OWNERS = 3


def are_known(services: Services, last: Mapping[str, Any]) -> bool:
    """Returns whether all credentials of the last run exist in the service."""
    if not {*_KINDS, *_WALLETS, *_KEYS, "email", "password", "payee", "payee_private_key"} <= set(last):
        return False
    records = {name: credential_store.credential(services.store, last[name]) for name in _KINDS}
    are_all = all(isinstance(records[name], kind) for name, kind in _KINDS.items())
    return are_all and person_store.identity(services.store, last["email"]) is not None


def make(services: Services, origin: str) -> dict[str, Any]:
    """Creates credentials; returns them by their keys in `.local/stack.json`."""
    from eth_account import Account

    payee = _new_key()
    email, password = f"merchant-{secrets.token_hex(4)}@example.com", secrets.token_urlsafe(16)
    merchant = _operator(sign_in_flows.register(services, email, password, _operator("")).account_id)
    api_key = api_keys.create_api_key(services, merchant, {"label": "local"})[1]
    client = _client_id(services, merchant, "local", origin)
    for text in (api_key, client.client_id):
        record = credentials.find(services, text)
        assert record
        credentials.set_tier(services, merchant, record, Tier.HIGH_VOLUME)
    linked = _client_id(services, merchant, "under the orchestrator", origin)
    _bind(services, merchant, linked, payee)
    return {
        "api_key": api_key,
        "test_api_key": api_keys.create_api_key(services, merchant, {"label": "test", "is_test": True})[1],
        "client_id": client.client_id,
        "email": email,
        "password": password,
        "orchestrator_key": _orchestrator(services, merchant, linked),
        "orchestrator_client_id": linked.client_id,
        "second_account": admin.create_api_key(services, admin.create_account(services, "second"), "local"),
        **{name: _new_key() for name in _WALLETS},
        "payee": Account.from_key(payee).address,
        "payee_private_key": payee,
        "payer": _account(),
        "tron_payer": _tron_account(),
        "safe_owners": [_account() for _ in range(_SAFE_OWNERS)],
    }


def _operator(account_id: str) -> Actor:
    return Actor(account_id, "operator", "", "")


def _client_id(services: Services, owner: Actor, label: str, origin: str) -> ClientId:
    made = client_ids.create_client_id(services, owner, {"label": label, "allowed_domains": [origin]})
    return credential_store.own_client_id(services.store, owner.account_id, made.client_id)


def _bind(services: Services, owner: Actor, client: ClientId, private_key: str) -> None:
    """Binds a client id to a destination with the signature of the destination's wallet."""
    from eth_account import Account

    token = token_with_id(PAID_IN)
    assert token
    wallet = Account.from_key(private_key)
    route = parse_route(wallet.address, token.address, token.chain_id, own_addresses(services))
    nonce = payees.issue_nonce(services, client, route, Action.ADD)
    typed = signing_data(nonce, services.settings.brand)
    signed = wallet.sign_typed_data(typed["domain"], typed["types"], typed["message"])
    payees.add(services, owner, client, nonce.nonce, "0x" + bytes(signed.signature).hex(), vouched=True)


def _orchestrator(services: Services, owner: Actor, client: ClientId) -> str:
    """Creates an orchestrator with an account, which the client id admits and is linked to; returns its key."""
    key = admin.create_orchestrator(services, admin.create_account(services, "platform"), "Platform", "ops@example.com")
    record = credentials.find(services, key)
    assert isinstance(record, OrchestratorKey)
    settings: ClientIdSettings = {"admits_orchestrator": record.orchestrator_id}
    client_ids.change_client_id(services, owner, client.record_id, settings)
    orchestrators.link_client(services, _operator(record.account_id), record.orchestrator_id, client.client_id)
    return key


def _account() -> dict[str, str]:
    from eth_account import Account

    key = _new_key()
    return {"address": Account.from_key(key).address, "private_key": key}


def _tron_account() -> dict[str, str]:
    account = _account()
    return {**account, "address": tron_address_of(address_bytes(account["address"]))}


def _new_key() -> str:
    """Returns a new private key as hex, for EVM chains and Tron."""
    from eth_account import Account

    return "0x" + bytes(Account.create().key).hex()
