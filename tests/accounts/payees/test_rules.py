"""Payee destinations: ids of either form, what is signed and by whom, and whom a client id may be bound to."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import base58
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.accounts.payees.records import Action, PayeeDestination
from chalicelib.accounts.payees.rules import (
    INVALID_NONCE,
    activate_destination,
    belongs_to,
    change_route,
    check_addable,
    check_nonce,
    check_signer,
    new_nonce,
    parse_route,
    route_of_id,
    signing_data,
    wallet_address,
)
from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest, Conflict, Forbidden, NotFound, Unauthorized
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from tests.fakes.destinations import BASE, SEPOLIA, TRON, USDC_BASE, USDT_BASE, USDT_TRON, sign
from tests.fakes.wallets import EvmWallet, TronWallet, evm_wallet, high_s, tron_wallet, with_v
from tests.fakes.world import START

BRAND = "Shop"
WALLET, ON_TRON = evm_wallet(), tron_wallet()
ROUTE = Destination(WALLET.address, BASE, USDC_BASE)
TRON_ROUTE = Destination(ON_TRON.address, TRON, USDT_TRON)
CLIENT = ClientId("hash", "cli_a", "record", "acct", "", (), CredentialStatus.ACTIVE, START)
PAYABLE = [token for token in find_tokens() if not token.is_fiat]


def entropy(length: int) -> bytes:
    return bytes(range(length))


def wallet_on(token: Token, raw: bytes) -> str:
    chain = find_network(token.network)
    assert chain is not None
    if chain.family == "tron":
        return base58.b58encode_check(b"\x41" + raw).decode()
    return evm_address("0x" + raw.hex())


routes = st.builds(
    lambda token, raw: (token, Destination(wallet_on(token, raw), token.chain_id, token.address)),
    st.sampled_from(PAYABLE),
    st.binary(min_size=20, max_size=20).filter(any),  # nobody is paid at the zero address
)


@given(routes)
def test_every_route_survives_being_written_and_read_in_either_form(made: tuple[Token, Destination]) -> None:
    token, route = made
    older = f"{token.network}:{route.wallet}:{route.token_address}"
    for text in (destination_id(route), older):
        found = route_of_id(text, strict=True)
        assert found == route
        assert (found.wallet, found.token_address) == (route.wallet, route.token_address)


@given(st.text(alphabet="0123456789abcdefxT@:#%eip155ABCDEFbase", max_size=140))
def test_any_other_text_is_no_route(text: str) -> None:
    with pytest.raises((BadRequest, NotFound)):
        route_of_id(text, strict=True)


@pytest.mark.parametrize(
    "text",
    [
        "base",
        f"base:{WALLET.address}",
        f"base:{WALLET.address}:{USDC_BASE}:",
        f"base:{WALLET.address}:{WALLET.address}",
        f"gnosis:{WALLET.address}:{USDC_BASE}",
        f"base:{WALLET.address[:-1]}:{USDC_BASE}",
    ],
)
def test_an_older_id_has_a_network_a_wallet_and_a_token(text: str) -> None:
    with pytest.raises(BadRequest, match="Invalid destination ID format"):
        route_of_id(text, strict=False)


def test_a_wallet_is_of_the_family_that_its_first_letter_tells() -> None:
    assert wallet_address(WALLET.address.lower()) == WALLET.address
    assert wallet_address(ON_TRON.address) == ON_TRON.address
    with pytest.raises(BadRequest, match="^Invalid EVM address"):
        wallet_address(ON_TRON.address[1:])
    with pytest.raises(BadRequest, match="^Invalid Tron address"):
        wallet_address(ON_TRON.address[:-1])


@pytest.mark.parametrize("text", [f"{WALLET.address}@eip155:8453", f"{ON_TRON.address}@eip155:{TRON}"])
def test_an_id_that_ends_before_its_hash_says_how_to_send_it(text: str) -> None:
    with pytest.raises(NotFound, match="%23"):
        route_of_id(text, strict=False)


def test_the_older_form_knows_networks_by_their_aliases() -> None:
    route = route_of_id(f"polygon:{WALLET.address.lower()}:0x3c499c542cef5e3811e1192ce70d8cc03d5c3359", strict=False)
    assert (route.chain_id, route.wallet) == (137, WALLET.address)


@pytest.mark.parametrize(
    ("wallet", "token", "chain_id", "message"),
    [
        (WALLET.address, USDC_BASE, 10, "tokenAddress is not a supported token on optimism"),
        (WALLET.address, USDC_BASE, 56_000, "chainId is not of a supported network"),
        (WALLET.address, WALLET.address, BASE, "tokenAddress is not a supported token on base"),
        (ON_TRON.address, USDC_BASE, BASE, "walletAddress: Invalid EVM address"),
        (WALLET.address, USDT_TRON, TRON, "walletAddress: Invalid Tron address"),
        (WALLET.address[:-1], USDC_BASE, BASE, "walletAddress: Invalid EVM address"),
        (USDC_BASE, USDC_BASE, BASE, "walletAddress: is the contract of USDC-base"),
        (WALLET.address, USDT_TRON, BASE, "tokenAddress: Invalid EVM address"),
        (WALLET.address, "", BASE, "tokenAddress: Invalid EVM address"),
        (ON_TRON.address.lower(), USDT_TRON, TRON, "walletAddress: Invalid Tron address"),
    ],
)
def test_a_route_needs_a_catalogued_token_and_addresses_of_its_chain(
    wallet: str, token: str, chain_id: int, message: str
) -> None:
    with pytest.raises(BadRequest, match=message):
        parse_route(wallet, token, chain_id, {})


def test_a_route_is_spelt_as_in_the_catalogue() -> None:
    route = parse_route(WALLET.address.lower(), USDC_BASE.lower(), BASE, {})
    assert (route.wallet, route.token_address) == (WALLET.address, USDC_BASE)


def test_signing_data_has_the_documented_form() -> None:
    nonce = new_nonce(ROUTE, "cli_a", Action.ADD, START, entropy)
    assert signing_data(nonce, BRAND) == {
        "domain": {"name": "Shop Payee Destination", "version": "1", "chainId": BASE},
        "types": {
            "PayeeDestination": [
                {"name": "walletAddress", "type": "address"},
                {"name": "tokenAddress", "type": "address"},
                {"name": "chainId", "type": "uint256"},
                {"name": "action", "type": "string"},
                {"name": "clientId", "type": "string"},
                {"name": "nonce", "type": "string"},
                {"name": "expiresAt", "type": "uint256"},
            ]
        },
        "primaryType": "PayeeDestination",
        "message": {
            "walletAddress": WALLET.address,
            "tokenAddress": USDC_BASE,
            "chainId": BASE,
            "action": "add",
            "clientId": "cli_a",
            "nonce": bytes(range(16)).hex(),
            "expiresAt": int((START + timedelta(minutes=5)).timestamp()),
        },
    }


@pytest.mark.parametrize(("wallet", "route"), [(WALLET, ROUTE), (ON_TRON, TRON_ROUTE)])
def test_the_wallet_of_the_route_signs(wallet: EvmWallet | TronWallet, route: Destination) -> None:
    nonce = new_nonce(route, "cli_a", Action.ADD, START, entropy)
    signature = sign(wallet, signing_data(nonce, BRAND))
    check_signer(nonce, signature, BRAND)
    check_signer(nonce, with_v(signature, int(signature[-2:], 16) - 27), BRAND)
    stranger = evm_wallet("stranger") if isinstance(wallet, EvmWallet) else tron_wallet("stranger")
    for refused in (
        sign(stranger, signing_data(nonce, BRAND)),
        sign(wallet, signing_data(nonce, "Another")),
        high_s(signature),
        with_v(signature, 29),
        "0x" + "00" * 65,
        "0x" + "ff" * 65,
    ):
        with pytest.raises(Unauthorized):
            check_signer(nonce, refused, BRAND)


@pytest.mark.parametrize(
    "change",
    [
        {"token_address": USDT_BASE},
        {"chain_id": SEPOLIA},
        {"action": Action.DEACTIVATE},
        {"nonce": "00" * 16},
        {"expires_at": START + timedelta(hours=1)},
        {"wallet_address": evm_wallet("stranger").address},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_signature_holds_for_nothing_else_than_what_was_shown(change: dict[str, Any]) -> None:
    nonce = new_nonce(ROUTE, "cli_a", Action.ADD, START, entropy)
    with pytest.raises(Unauthorized):
        check_signer(replace(nonce, **change), sign(WALLET, signing_data(nonce, BRAND)), BRAND)


def test_a_nonce_is_for_one_client_id_one_action_and_five_minutes() -> None:
    nonce = new_nonce(ROUTE, "cli_a", Action.ADD, START, entropy)
    last = START + timedelta(minutes=5) - timedelta(milliseconds=1)
    assert check_nonce(nonce, nonce.nonce, "cli_a", Action.ADD, last) == nonce
    for text, client, action, now, stored in (
        (nonce.nonce, "cli_a", Action.ADD, START + timedelta(minutes=5), nonce),
        (nonce.nonce, "cli_b", Action.ADD, START, nonce),
        (nonce.nonce, "cli_a", Action.DEACTIVATE, START, nonce),
        (nonce.nonce + "0", "cli_a", Action.ADD, START, nonce),
        (nonce.nonce, "cli_a", Action.ADD, START, None),
    ):
        with pytest.raises(BadRequest, match=INVALID_NONCE):
            check_nonce(stored, text, client, action, now)


# --- whom a client id may be bound to ---


def made(client_id: str | None = "cli_a", account: str = "acct", route: Destination = ROUTE) -> PayeeDestination:
    return activate_destination(None, route, account, client_id, START, entropy)


def test_a_wallet_without_a_destination_may_be_bound_to_a_client_id_without_one() -> None:
    check_addable(ROUTE, CLIENT, None, None)


def test_the_same_route_again_is_no_conflict() -> None:
    check_addable(ROUTE, replace(CLIENT, payee_destination_id=made().record_id), made(), made())


def test_a_destination_that_the_account_keeps_without_a_client_id_may_be_bound() -> None:
    check_addable(ROUTE, CLIENT, None, made(client_id=None))


def test_a_client_id_stays_with_its_wallet_until_the_destination_is_inactive() -> None:
    other = Destination(evm_wallet("stranger").address, BASE, USDC_BASE)
    with pytest.raises(Forbidden, match="bound to another wallet"):
        check_addable(other, CLIENT, made(), None)
    check_addable(other, CLIENT, replace(made(), is_active=False), None)


@pytest.mark.parametrize("active", [made("cli_b"), made("cli_a", "other"), made(None, "other")])
def test_a_wallet_that_is_another_client_ids_is_refused(active: PayeeDestination) -> None:
    with pytest.raises(Forbidden, match="belongs to another client ID"):
        check_addable(ROUTE, CLIENT, None, active)


def test_a_wallet_has_one_active_destination() -> None:
    with pytest.raises(Conflict, match="deactivate it first"):
        check_addable(ROUTE, CLIENT, None, made(route=Destination(WALLET.address, BASE, USDT_BASE)))


def test_a_destination_is_also_the_client_ids_that_its_account_bound_to_it() -> None:
    shared = made("cli_b")
    assert not belongs_to(shared, CLIENT)
    assert belongs_to(shared, replace(CLIENT, payee_destination_id=shared.record_id))
    assert not belongs_to(shared, replace(CLIENT, payee_destination_id=shared.record_id, account_id="other"))


def test_a_known_destination_is_established_again_under_its_own_id() -> None:
    known = replace(made(), is_active=False, version=3)
    assert activate_destination(known, ROUTE, "acct", "cli_b", START, entropy) == replace(
        known, is_active=True, client_id="cli_b"
    )
    assert activate_destination(known, ROUTE, "acct", None, START, entropy).client_id == "cli_a"


def test_a_rerouted_destination_keeps_its_record() -> None:
    changed = change_route(made(), Destination(WALLET.address, BASE, USDT_BASE))
    assert (changed.record_id, changed.token_address) == (made().record_id, USDT_BASE)
    assert route_of_id(changed.destination_id, strict=True) == changed.route
