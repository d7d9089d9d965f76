"""Contracts of strangers, where the service calls them: wallets that sign in, Safes of payers, payees of a native coin.

Whatever such a contract does, its own caller gets a refusal, nobody else notices, and no wallet is opened to a stranger.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from eth_account import Account

from chalicelib.accounts.sign_in import flows as sign_in_flows
from chalicelib.accounts.sign_in import wallets
from chalicelib.accounts.sign_in.wallets import SignedChallenge
from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest, Unauthorized
from chalicelib.base.keccak import keccak256
from chalicelib.base.signatures import MAX_SIGNATURE_BYTES, personal_digest
from chalicelib.chains.calldata import multicall3
from chalicelib.chains.calldata.abi import WORD
from chalicelib.chains.calldata.transaction import Call
from chalicelib.chains.calldata.wallets import erc6492
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, MULTICALL3, address_of
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.rpc.jsonrpc import READ_GAS
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.reading import Viewer
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.sessions.records import Session
from infra.local.chain import Chain
from infra.local.safe import Safe, sign_safe_message
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.fakes.world import World
from tests.onchain.conftest import SAFE_OWNERS
from tests.onchain.hostile import MAGIC, SAYS_NO, SAYS_YES, answers_signatures, assemble, creation, reverts_with
from tests.onchain.payer import FUSDC, Payer, pay_body

DIGEST = personal_digest("sign in")
ANYTHING = bytes(65)
STRANGER = evm_address("0x" + "ef" * 20)
SEPOLIA = 11155111
ACTOR = Actor("", "anonymous", "203.0.113.7", "req-1")

FAILS = {
    "an endless loop": ":again @again JUMP",
    "calls itself": "PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL INVALID",
    "an invalid opcode": "INVALID",
    "an empty stack": "POP",
    "a jump to nowhere": "PUSH0 JUMP",
    "return data that is not there": "0x10 PUSH0 PUSH0 RETURNDATACOPY",
    "memory without end": "PUSH0 0xffffffffffffffff MSTORE",
    "10 MB": "0xa00000 PUSH0 RETURN",
    "a contract too large to create": "0x100000 PUSH0 PUSH0 CREATE",
    "a revert with 100 kB": "0x019000 PUSH0 REVERT",
    "a revert with 2 MB": "0x200000 PUSH0 REVERT",
    "a revert without data": "PUSH0 PUSH0 REVERT",
    "a reason with wrong offsets": "0x08c379a0" + "ff" * 28 + " PUSH0 MSTORE 0x44 PUSH0 REVERT",
    "words of a node that is late": reverts_with("execution aborted (timeout = 5s)"),
    "words of a node without the block": reverts_with("header not found: missing trie node"),
    "words of a node that refuses": reverts_with("429 Too Many Requests: daily request limit exceeded"),
    "words of a node without funds": reverts_with("insufficient funds for gas * price + value"),
}
"""Programs that fail, or return more than a node may send."""
NO_ANSWER = {
    "nothing": "STOP",
    "its own end": "PUSH0 SELFDESTRUCT",
    "4 bytes": f"{MAGIC} PUSH0 MSTORE 0x04 PUSH0 RETURN",
    "31 bytes": f"{MAGIC} PUSH0 MSTORE 0x1f PUSH0 RETURN",
}
"""Programs that succeed and return less than one word."""

Place = Callable[[str], str]


@pytest.fixture(scope="module")
def hostile_chain(running_chain: Chain) -> Iterator[Chain]:
    before = running_chain.snapshot()
    yield running_chain
    running_chain.revert(before)


@pytest.fixture
def node(hostile_chain: Chain) -> EvmChain:
    return EvmChain("sepolia", hostile_chain.url)


@pytest.fixture
def place(hostile_chain: Chain) -> Place:
    """place(program): the address of a new contract with that program."""

    def at_new_address(program: str) -> str:
        address = str(Account.create().address)
        hostile_chain.rpc("anvil_setCode", address, "0x" + assemble(program).hex())
        return address

    return at_new_address


def programs(*tables: dict[str, str]) -> pytest.MarkDecorator:
    known = {name: program for table in tables for name, program in table.items()}
    return pytest.mark.parametrize("program", known.values(), ids=known.keys())


# --- wallets that sign in ---


@programs(FAILS, NO_ANSWER)
def test_a_wallet_that_fails_has_signed_nothing_as_wallet_and_as_factory(
    node: EvmChain, place: Place, program: str
) -> None:
    contract = place(program)
    assert node.is_valid_signature(contract, DIGEST, ANYTHING) is False
    assert node.is_valid_signature(contract, DIGEST, erc6492.wrap(contract, b"\1\2\3\4", ANYTHING)) is False
    assert node.is_valid_signature(STRANGER, DIGEST, erc6492.wrap(contract, b"\1\2\3\4", ANYTHING)) is False
    assert node.is_valid_signature(place(SAYS_YES), DIGEST, ANYTHING), "the next wallet is served"


def test_only_the_whole_word_of_the_standard_is_a_yes(node: EvmChain, place: Place) -> None:
    dirty = f"0x1626ba7e{'00' * 27}01 PUSH0 MSTORE 0x20 PUSH0 RETURN"
    at_the_end = f"0x{'00' * 28}1626ba7e PUSH0 MSTORE 0x20 PUSH0 RETURN"
    other = f"0x20c13b0b{'00' * 28} PUSH0 MSTORE 0x20 PUSH0 RETURN"
    reverted = f"{MAGIC} PUSH0 MSTORE 0x20 PUSH0 REVERT"
    for program in (dirty, at_the_end, other, reverted, SAYS_NO):
        assert node.is_valid_signature(place(program), DIGEST, ANYTHING) is False, program
    with_megabytes_behind = f"{MAGIC} PUSH0 MSTORE 0x200000 PUSH0 RETURN"
    for program in (SAYS_YES, with_megabytes_behind):
        assert node.is_valid_signature(place(program), DIGEST, ANYTHING), program


def test_a_wallet_has_ten_million_gas_whatever_the_node_would_allow(node: EvmChain, place: Place) -> None:
    """The programs succeed only if they find less gas than the limit."""
    assert node.is_valid_signature(
        place(f"0x{erc6492.GAS:08x} GAS LT @yes JUMPI INVALID :yes {SAYS_YES}"), DIGEST, ANYTHING
    )
    assert (node.safe_nonce(place("GAS PUSH0 MSTORE 0x20 PUSH0 RETURN"), node.head()) or READ_GAS) < READ_GAS


def test_a_signature_of_the_greatest_length_is_checked_within_the_gas(node: EvmChain, place: Place) -> None:
    longest = ANYTHING.ljust(MAX_SIGNATURE_BYTES, b"\1")
    assert node.is_valid_signature(place(SAYS_YES), DIGEST, longest)
    wrapped = erc6492.wrap(place("STOP"), b"\1" * (MAX_SIGNATURE_BYTES - 1000), ANYTHING)
    assert node.is_valid_signature(place(SAYS_YES), DIGEST, wrapped)


def test_of_nested_wrappers_the_outermost_alone_is_unwrapped(node: EvmChain, place: Place) -> None:
    opened = answers_signatures("PUSH0 SLOAD", otherwise="0x01 PUSH0 SSTORE STOP")
    wallet = place(opened)
    inner = erc6492.wrap(wallet, b"\1\2\3\4", ANYTHING)
    for _ in range(50):
        inner = erc6492.wrap(place("STOP"), b"", inner)
    assert node.is_valid_signature(wallet, DIGEST, inner) is False


def test_no_factory_makes_a_signature_of_somebody_else(node: EvmChain, place: Place, hostile_chain: Chain) -> None:
    """Neither for a key nor for a Safe: not contracts of ours, which anybody may call, nor the Safe itself."""
    safe, eoa, yes = Safe.deploy(hostile_chain, SAFE_OWNERS), evm_wallet("victim").address, place(SAYS_YES)
    forged = sign_safe_message(SEPOLIA, safe.address, DIGEST, ["0x" + "99" * 32, "0x" + "98" * 32])
    intruder = bytes.fromhex("0d582f13" + bytes(12).hex() + STRANGER[2:] + f"{1:064x}")  # addOwnerWithThreshold
    through_multicall = multicall3.aggregate("sepolia", [Call(safe.address, "0x" + intruder.hex()), Call(yes, "0x12")])
    calls = [
        (yes, b"\1\2\3\4"),
        (safe.address, intruder),
        (address_of(MULTICALL3, "sepolia"), bytes.fromhex(through_multicall.data[2:])),
        (address_of(ERC20_FEE_PROXY, "sepolia"), b"\1\2\3\4"),
        (FUSDC, bytes.fromhex("095ea7b3" + bytes(12).hex() + STRANGER[2:] + "ff" * 32)),
    ]
    for factory, call in calls:
        for victim in (safe.address, eoa):
            for signature in (ANYTHING, forged):
                assert node.is_valid_signature(victim, DIGEST, erc6492.wrap(factory, call, signature)) is False
    real = sign_safe_message(SEPOLIA, safe.address, DIGEST, list(SAFE_OWNERS[:2]))
    assert node.is_valid_signature(safe.address, DIGEST, erc6492.wrap(yes, b"\1\2\3\4", real)), "it has its own owners"


def test_a_wallet_that_trusts_the_zero_address_as_origin_is_not_opened_by_a_simulation(
    node: EvmChain, place: Place
) -> None:
    """Early ERC-4337 accounts do not check signatures then, so that anybody can estimate their operations."""
    wallet = place(answers_signatures("PUSH0 SLOAD", otherwise="ORIGIN ISZERO PUSH0 SSTORE STOP"))
    assert node.is_valid_signature(wallet, DIGEST, erc6492.wrap(wallet, b"\1\2\3\4", ANYTHING)) is False
    during_the_check = place(answers_signatures("ORIGIN ISZERO", otherwise="STOP"))
    assert node.is_valid_signature(during_the_check, DIGEST, ANYTHING) is False


def test_the_sender_of_the_check_is_nobodys() -> None:
    assert "0x" + keccak256(b"nobody signs for this sender")[-20:].hex() == erc6492.SENDER


def test_a_factory_that_deploys_another_contract_signs_for_that_one_alone(node: EvmChain, place: Place) -> None:
    create2 = "PUSH0 CALLDATALOAD 0x20 CALLDATASIZE SUB DUP1 0x20 PUSH0 CALLDATACOPY PUSH0 PUSH0 CREATE2 STOP"
    factory, salt = place(create2), bytes(WORD)
    yes, no = (bytes.fromhex(creation(program)[2:]) for program in (SAYS_YES, SAYS_NO))

    def wallet_of(init: bytes) -> str:
        return evm_address("0x" + keccak256(b"\xff" + bytes.fromhex(factory[2:]) + salt + keccak256(init))[-20:].hex())

    wrapped = erc6492.wrap(factory, salt + yes, ANYTHING)
    assert node.is_valid_signature(wallet_of(yes), DIGEST, wrapped)
    assert node.is_valid_signature(wallet_of(no), DIGEST, wrapped) is False
    assert not node.has_code(wallet_of(yes)), "asking deploys nothing"


# --- what a wallet's session is worth ---


def signed_in(world: World, address: str, sign: Callable[[str], str]) -> Session:
    challenge = wallets.create_challenge(world.services, address, SEPOLIA)
    signed = SignedChallenge(challenge.challenge_id, challenge.nonce, challenge.message, sign(challenge.message))
    return sign_in_flows.sign_in(world.services, signed, None, ACTOR)[0]


def anything(message: str) -> str:
    return ANYTHING.hex()


@programs({name: FAILS[name] for name in ("an endless loop", "a revert with 100 kB", "words of a node that refuses")})
def test_a_wallet_that_fails_is_refused_and_not_told_to_try_again(world: World, place: Place, program: str) -> None:
    with pytest.raises(Unauthorized, match="The signature is not the wallet's"):
        signed_in(world, place(program), anything)


def test_a_wallet_that_changes_its_mind_is_asked_once_for_each_sign_in(
    world: World, chain: Chain, place: Place
) -> None:
    wallet = place(SAYS_YES)
    first = signed_in(world, wallet, anything)
    chain.rpc("anvil_setCode", wallet, "0x" + assemble(SAYS_NO).hex())
    with pytest.raises(Unauthorized):
        signed_in(world, wallet, anything)
    chain.rpc("anvil_setCode", wallet, "0x")
    with pytest.raises(Unauthorized):
        signed_in(world, wallet, anything)
    chain.rpc("anvil_setCode", wallet, "0x" + assemble(SAYS_YES).hex())
    assert signed_in(world, wallet, anything).account_id == first.account_id


def test_the_code_that_a_key_delegates_to_signs_for_another_account_than_the_key(
    world: World, chain: Chain, place: Place
) -> None:
    """EIP-7702: a delegate that accepts everything opens an account of this chain, and not the key's."""
    owner: EvmWallet = evm_wallet("delegating")
    own = signed_in(world, owner.address, owner.sign)
    chain.rpc("anvil_setCode", owner.address, "0xef0100" + place(SAYS_YES)[2:].lower())
    by_delegate = signed_in(world, owner.address, anything)
    assert signed_in(world, owner.address, owner.sign).account_id == own.account_id
    assert by_delegate.account_id != own.account_id
    assert (own.chain_id, by_delegate.chain_id) == (None, SEPOLIA)


# --- Safes of payers ---


@programs(FAILS, NO_ANSWER)
def test_a_contract_that_is_no_safe_cannot_be_waited_for(world: World, place: Place, program: str) -> None:
    world.tick()  # detection has begun
    contract, payment = place(program), world.create_link()
    draft = Announcement(None, "0x" + "ab" * 32, None, "SEPOLIA", "fUSDC", contract)
    with pytest.raises(BadRequest, match="payerAddress is not a Safe on SEPOLIA"):
        announcements.record(world.services, payment.link.token, Viewer(world.account_id, None), draft)


# --- payees of a native coin ---


def simulation_of_payment(world: World, payer: Payer, payee: str) -> dict[str, Any]:
    """What the quote of a payment to the payee says; the quote itself is complete."""
    native: dict[str, Any] = {"currency": "ETH-sepolia-sepolia", "fee_percentage": None, "fee_address": None}
    body = pay_body(world, world.create_link(amount="1", payee=payee, **native), payer.address, simulate=True)
    assert len(body["transactions"]) == 1
    simulation: dict[str, Any] = body["metadata"]["simulation"]
    return simulation


@programs(FAILS)
def test_a_payee_that_fails_leaves_the_payer_a_quote_and_the_foreseen_failure(
    world: World, payer: Payer, place: Place, program: str
) -> None:
    (step,) = simulation_of_payment(world, payer, place(program))["steps"]
    assert step["success"] in (False, None)
    assert len(step["revertReason"]) <= 200


@programs(
    {
        "less gas than 2**24": "0x01000000 GAS LT @in JUMPI INVALID :in STOP",
        "2 MB of logs": ":again 0x2000 PUSH0 LOG0 0x0493e0 GAS GT @again JUMPI STOP",
    }
)
def test_a_payee_can_use_what_a_transaction_can_have_and_no_more(
    world: World, payer: Payer, place: Place, program: str
) -> None:
    assert simulation_of_payment(world, payer, place(program))["success"] is True
