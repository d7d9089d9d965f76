"""Recipients: addresses of which nobody gets back what is sent there are refused."""

import re
from pathlib import Path

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes, tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.chains.calldata.wallets.erc6492 import SENDER
from chalicelib.chains.catalogue.contracts import address_of, contracts_on
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.recipients import RESERVED, parse_recipient
from chalicelib.chains.catalogue.tokens import find_tokens, require_token
from tests.fakes.escrows import CONTRACTS

WALLET = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
WALLET_TRON = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"


@pytest.mark.parametrize("chain", ALL_NETWORKS, ids=lambda chain: chain.name)
def test_every_contract_of_every_network_is_refused_by_its_name(chain: object) -> None:
    for name, address in contracts_on(chain.name).items():  # type: ignore[attr-defined]
        with pytest.raises(BadRequest, match="is the contract of .*funds sent there are lost"):
            parse_recipient(address, "tron" if address.startswith("T") else "evm", {})
        assert name


def test_no_contract_whose_address_stands_in_the_code_is_a_payee() -> None:
    """Others than contracts: a sender that nobody has the key of, one in an example, and the payer of test mode."""
    texts = [each.read_text() for kind in ("py", "json") for each in sorted(Path("chalicelib").rglob(f"*.{kind}"))]
    addresses = {each.lower() for text in texts for each in re.findall(r"\b0x[0-9a-fA-F]{40}\b", text)}
    others = {SENDER, "0x742d35cc6634c0532925a3b844bc454e4438f44e", "0x7e57000000000000000000000000000000007e57"}
    assert len(addresses) > 50 and others < addresses
    for address in addresses - others:
        with pytest.raises(BadRequest, match="funds sent there are lost"):
            parse_recipient(address, "evm", {})


def test_every_token_of_the_catalogue_is_refused() -> None:
    tokens = [token for token in find_tokens() if not token.is_native and not token.is_fiat]
    assert len(tokens) > 50
    for token in tokens:
        with pytest.raises(BadRequest, match="is the contract of"):
            parse_recipient(token.address, "tron" if token.type == "TRC20" else "evm", {})


def test_a_contract_is_refused_in_any_case_of_its_letters() -> None:
    proxy = address_of("ERC20FeeProxy", "base")
    for text in (proxy, proxy.lower(), "0x" + proxy[2:].upper()):
        with pytest.raises(BadRequest, match="is the contract of ERC20FeeProxy"):
            parse_recipient(text, "evm", {})
    with pytest.raises(BadRequest, match="is the contract of USDC-base"):
        parse_recipient(require_token("USDC-base").address.lower(), "evm", {})


def test_the_zero_address_is_refused_in_both_spellings() -> None:
    for text, family in ((ZERO_ADDRESS, "evm"), (tron_address_of(bytes(20)), "tron")):
        with pytest.raises(BadRequest, match="is the zero address: funds sent there are lost"):
            parse_recipient(text, family, {})


@pytest.mark.parametrize(
    "address",
    [
        "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE",  # by which wallets and routers mean the native coin
        "0xfffffffffffffffffffffffffffffffffffffffe",
        "0xffffffffffffffffffffffffffffffffffffffff",
        "0x4200000000000000000000000000000000000006",  # on optimism and base
        "0x42000000000000000000000000000000000007ff",
    ],
)
def test_an_address_that_stands_for_a_coin_or_for_code_of_a_network_is_refused(address: str) -> None:
    for family, text in (("evm", address.lower()), ("tron", tron_address_of(bytes.fromhex(address[2:])))):
        with pytest.raises(BadRequest, match="is an address that nobody has the key of: funds sent there are lost"):
            parse_recipient(text, family, {})


@pytest.mark.parametrize("number", [*range(1, 0x12), 0x64, 0x100, 0x1000, 0x800A, 0xDEAD, 0x1000001, RESERVED - 1])
def test_an_address_that_is_reserved_for_code_of_the_network_or_burns_tokens_is_refused(number: int) -> None:
    raw = number.to_bytes(20)
    for text, family in (("0x" + raw.hex(), "evm"), (tron_address_of(raw), "tron")):
        with pytest.raises(BadRequest, match="is an address that nobody has the key of: funds sent there are lost"):
            parse_recipient(text, family, {})
    assert parse_recipient(f"0x{RESERVED + number:040x}", "evm", {})


def test_a_wallet_is_returned_in_its_canonical_spelling() -> None:
    assert parse_recipient(WALLET.lower(), "evm", {}).lower() == WALLET.lower()
    assert parse_recipient(WALLET.lower(), "evm", {}) != WALLET.lower()
    assert parse_recipient(WALLET_TRON, "tron", {}) == WALLET_TRON
    with pytest.raises(BadRequest, match="Invalid EVM address"):
        parse_recipient(WALLET_TRON, "evm", {})


@pytest.mark.parametrize("name", CONTRACTS.names)
def test_a_contract_that_only_the_setting_names_is_refused_by_its_name(name: str) -> None:
    address = CONTRACTS.names[name]
    assert parse_recipient(address, "evm", {}) == address
    own = {address_bytes(address): f"the contract of {name}"}
    with pytest.raises(BadRequest, match=f"is the contract of {name}, .*funds sent there are lost"):
        parse_recipient(address.lower(), "evm", own)
    with pytest.raises(BadRequest, match=f"is the contract of {name}, "):
        parse_recipient(tron_address_of(address_bytes(address)), "tron", own)
