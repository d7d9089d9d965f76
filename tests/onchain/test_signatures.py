"""Wallets on a real chain: EOAs, Safes deployed and not yet, what is not a signature, and nodes that are away."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from eth_account import Account
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import personal_digest
from chalicelib.chains.calldata.wallets import erc6492
from chalicelib.chains.catalogue.data import load
from chalicelib.chains.nodes.evm import EvmChain
from infra.local.bytecode import MODULES
from infra.local.chain import Chain
from infra.local.safe import (
    FALLBACK_HANDLER,
    PROXY_FACTORY,
    SAFE_L2,
    deploy_safe,
    install_safe,
    safe_address,
    sign_safe_message,
    sign_undeployed,
)
from tests.oracles.node import ask

OWNERS = sorted((Account.from_key("0x" + byte * 32) for byte in ("a1", "b2", "c3")), key=lambda owner: owner.address)
ADDRESSES = [owner.address for owner in OWNERS]
KEYS = [owner.key.hex() for owner in OWNERS]
DIGEST = personal_digest("sign in")
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
# Contracts as creation code: what each does when it is called.
BURNS_GAS = "0x6005600c60003960056000f35b60005600fe"  # jumps to itself
BREAKS = "0x6001600c60003960016000f3fe"  # an invalid opcode
SAYS_NOTHING = "0x6001600c60003960016000f300"


@dataclass
class Wallets:
    """A chain with one Safe of two out of three owners, and one of one owner who is not there yet."""

    chain: Chain
    safe: str

    @property
    def node(self) -> EvmChain:
        return EvmChain("sepolia", self.chain.url)

    def sign(self, safe: str, keys: list[str], digest: bytes = DIGEST, chain_id: int | None = None) -> bytes:
        return sign_safe_message(chain_id or self.chain.chain_id, safe, digest, keys)


@pytest.fixture(scope="module")
def wallets(running_chain: Chain) -> Iterator[Wallets]:
    before = running_chain.snapshot()
    yield Wallets(running_chain, deploy_safe(running_chain, ADDRESSES, 2, salt=7))
    running_chain.revert(before)


def eoa_signature(key: str, digest: bytes = DIGEST) -> bytes:
    return bytes(Account.unsafe_sign_hash(digest, key).signature)


def test_the_safe_contracts_have_the_code_of_mainnet(wallets: Wallets) -> None:
    """Their hashes are those of npm @safe-global/safe-deployments, v1.4.1, canonical."""
    code_hashes = {
        SAFE_L2: "b1f926978a0f44a2c0ec8fe822418ae969bd8c3f18d61e5103100339894f81ff",
        PROXY_FACTORY: "50c3cdc4074750a7a974204a716c999edd37482f907608d960b2b025ee0b3317",
        FALLBACK_HANDLER: "7c6007a5d711cea8dfd5d91f5940ec29c7f200fe511eb1fc1397b367af3c42f9",
    }
    for address, expected in code_hashes.items():
        code = bytes.fromhex(wallets.chain.rpc("eth_getCode", address, "latest")[2:])
        assert keccak256(code).hex() == expected


def test_installing_again_changes_nothing(wallets: Wallets) -> None:
    before = wallets.chain.rpc("eth_blockNumber")
    install_safe(wallets.chain)
    assert wallets.chain.rpc("eth_blockNumber") == before


def test_an_eoa_stands_by_its_own_signatures_alone(wallets: Wallets) -> None:
    signature = eoa_signature(KEYS[0])
    assert wallets.node.is_valid_signature(ADDRESSES[0], DIGEST, signature)
    assert wallets.node.is_valid_signature(ADDRESSES[0].lower(), DIGEST, signature)
    assert not wallets.node.is_valid_signature(ADDRESSES[1], DIGEST, signature)
    assert not wallets.node.is_valid_signature(ADDRESSES[0], personal_digest("another"), signature)
    assert not wallets.node.is_valid_signature(ADDRESSES[0], DIGEST, signature[:-1])


def test_an_eoa_needs_no_node() -> None:
    nowhere = EvmChain("sepolia", "http://127.0.0.1:1")
    assert nowhere.is_valid_signature(ADDRESSES[0], DIGEST, eoa_signature(KEYS[0]))


def test_the_forms_that_recovery_refuses_are_not_let_in_by_the_validator(wallets: Wallets) -> None:
    signature = eoa_signature(KEYS[0])
    other_s = (ORDER - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
    twin = signature[:32] + other_s + bytes([55 - signature[64]])
    assert not wallets.node.is_valid_signature(ADDRESSES[0], DIGEST, twin)
    for v in (2, 29, 31, 35, 255):
        assert not wallets.node.is_valid_signature(ADDRESSES[0], DIGEST, signature[:64] + bytes([v]))
    for nobody in (ZERO_ADDRESS, "0x" + "00" * 19 + "04"):
        for tried in (bytes(64) + b"\x1b", os.urandom(64) + b"\x1b", erc6492.wrap(ZERO_ADDRESS, b"", bytes(65))):
            assert not wallets.node.is_valid_signature(nobody, DIGEST, tried)


def test_a_safe_stands_by_what_enough_owners_signed(wallets: Wallets) -> None:
    node, safe = wallets.node, wallets.safe
    assert node.is_valid_signature(safe, DIGEST, wallets.sign(safe, KEYS[:2]))
    assert node.is_valid_signature(safe, DIGEST, wallets.sign(safe, KEYS[1:]))
    assert node.is_valid_signature(safe, DIGEST, wallets.sign(safe, KEYS))
    assert not node.is_valid_signature(safe, DIGEST, wallets.sign(safe, KEYS[:1]))
    assert not node.is_valid_signature(safe, DIGEST, wallets.sign(safe, [KEYS[0], "0x" + "99" * 32]))
    assert not node.is_valid_signature(safe, DIGEST, b"".join(eoa_signature(key) for key in KEYS[:2]))


def test_a_safe_does_not_stand_by_another_digest_safe_or_chain(wallets: Wallets) -> None:
    node, safe = wallets.node, wallets.safe
    other_safe = deploy_safe(wallets.chain, ADDRESSES, 2, salt=8)
    assert not node.is_valid_signature(safe, personal_digest("another"), wallets.sign(safe, KEYS[:2]))
    assert not node.is_valid_signature(other_safe, DIGEST, wallets.sign(safe, KEYS[:2]))
    assert not node.is_valid_signature(safe, DIGEST, wallets.sign(safe, KEYS[:2], chain_id=8453))


def test_a_safe_of_one_owner_may_sign_in_65_bytes(wallets: Wallets) -> None:
    safe = deploy_safe(wallets.chain, ADDRESSES[:1], 1, salt=1)
    signature = wallets.sign(safe, KEYS[:1])
    assert len(signature) == 65
    assert wallets.node.is_valid_signature(safe, DIGEST, signature)
    assert not wallets.node.is_valid_signature(safe, DIGEST, wallets.sign(safe, KEYS[1:2]))


def test_a_safe_signs_before_it_is_deployed_and_still_after(wallets: Wallets) -> None:
    node, of = wallets.node, (ADDRESSES[:2], 1, 4242)
    safe = safe_address(*of)
    plain = wallets.sign(safe, KEYS[:1])
    wrapped = sign_undeployed(*of, plain)
    assert node.is_valid_signature(safe, DIGEST, wrapped)
    assert not node.is_valid_signature(safe, DIGEST, plain)
    assert not node.is_valid_signature(safe, personal_digest("another"), wrapped)
    assert not node.is_valid_signature(safe, DIGEST, sign_undeployed(*of, wallets.sign(safe, KEYS[2:])))
    assert not node.is_valid_signature(safe, DIGEST, sign_undeployed(ADDRESSES[:2], 1, 4243, plain))
    assert not node.is_valid_signature(wallets.safe, DIGEST, wrapped)
    assert not node.has_code(safe), "asking deploys nothing"

    assert deploy_safe(wallets.chain, *of) == safe
    assert node.is_valid_signature(safe, DIGEST, wrapped)
    assert node.is_valid_signature(safe, DIGEST, plain)


def test_viem_says_the_same_on_the_same_chain(wallets: Wallets) -> None:
    of = (ADDRESSES[:2], 1, 99)
    undeployed = safe_address(*of)
    asked = [
        (ADDRESSES[0], eoa_signature(KEYS[0]), True),
        (ADDRESSES[1], eoa_signature(KEYS[0]), False),
        (wallets.safe, wallets.sign(wallets.safe, KEYS[:2]), True),
        (wallets.safe, wallets.sign(wallets.safe, KEYS[:1]), False),
        (undeployed, sign_undeployed(*of, wallets.sign(undeployed, KEYS[:1])), True),
        (undeployed, sign_undeployed(*of, wallets.sign(undeployed, KEYS[2:])), False),
        (undeployed, wallets.sign(undeployed, KEYS[:1]), False),
    ]
    questions = [
        {"ask": "onChain", "url": wallets.chain.url, "address": address, "digest": "0x" + DIGEST.hex()}
        | {"signature": "0x" + signature.hex()}
        for address, signature, _ in asked
    ]
    expected = [verdict for *_, verdict in asked]
    assert ask(questions) == expected
    assert [wallets.node.is_valid_signature(address, DIGEST, signature) for address, signature, _ in asked] == expected


@pytest.mark.parametrize("creation", [BURNS_GAS, BREAKS, SAYS_NOTHING])
def test_a_contract_that_fails_is_a_no_as_wallet_and_as_factory(wallets: Wallets, creation: str) -> None:
    contract = wallets.chain.deploy(creation)
    stranger = Account.create().address
    assert not wallets.node.is_valid_signature(contract, DIGEST, bytes(65))
    assert not wallets.node.is_valid_signature(stranger, DIGEST, erc6492.wrap(contract, b"\1\2\3\4", bytes(65)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(
    signature=st.binary(max_size=300) | st.binary(max_size=300).map(lambda raw: raw + erc6492.MAGIC_SUFFIX),
    at=st.sampled_from(["safe", "eoa", "nobody"]),
)
def test_garbage_is_a_no_and_never_an_error(wallets: Wallets, signature: bytes, at: str) -> None:
    address = {"safe": wallets.safe, "eoa": ADDRESSES[0], "nobody": ZERO_ADDRESS}[at]
    assert wallets.node.is_valid_signature(address, DIGEST, signature) is False


def test_without_a_node_nothing_is_said_about_a_contract(wallets: Wallets) -> None:
    nowhere = EvmChain("sepolia", "http://127.0.0.1:1")
    with pytest.raises(ChainUnavailable):
        nowhere.is_valid_signature(wallets.safe, DIGEST, wallets.sign(wallets.safe, KEYS[:2]))


def test_the_validator_is_the_one_of_viem() -> None:
    text = (MODULES / "viem/_cjs/constants/contracts.js").read_text()
    found = re.findall(r"erc6492SignatureValidatorByteCode = '(0x[0-9a-f]+)'", text)
    assert found == [load("erc6492")["validator"]]
