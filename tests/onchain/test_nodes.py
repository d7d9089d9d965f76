"""What real nodes say of wallets, payers, Safes and of transactions that are not sent yet."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import BadRequest
from chalicelib.chains.calldata.batch import BatchItem, pay_batch, pay_tron_batch
from chalicelib.chains.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.tron import (
    PAYMENT_FEE_LIMIT,
    TronTransaction,
    encode_raw,
    encode_signed_transaction,
    recover_signer,
    tx_id,
)
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.chains.catalogue.networks import find_network as known_network
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.history.receipts import PaidTransfer, PaymentSender
from chalicelib.chains.nodes.tron import TronChain
from infra.local.chain import Chain
from infra.local.safe import Safe
from infra.local.tron import TronNode
from infra.local.tron_blocks import SOLID_AFTER
from infra.nodes import check
from tests.fakes.world import FEE_ADDRESS, PAYEE, World
from tests.onchain.payer import FAU, FUSDC, Payer

REFERENCE, OTHER_REFERENCE = bytes(range(8)), bytes(range(8, 16))
PROXY, BATCH_CONTRACT = address_of(ERC20_FEE_PROXY, "sepolia"), address_of(BATCH, "sepolia")
USDT, TRON_PAYEE = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
TRON_BATCH_CONTRACT = address_of(TRON_BATCH, "tron")


def as_dict(transaction: Transaction) -> dict[str, Any]:
    return {"to": transaction.to, "data": transaction.data, "value": transaction.value}


def token_payment(amount: int = 1_000_000) -> Transaction:
    return pay_erc20("sepolia", token=FUSDC, payee=PAYEE, amount=amount, reference=REFERENCE)


@pytest.fixture
def node(chain: Chain) -> EvmChain:
    return EvmChain("sepolia", chain.url)


def test_a_real_node_is_fit_for_its_network_and_for_no_other(chain: Chain, world: World, payer: Payer) -> None:
    payer.send(as_dict(approve(FUSDC, BATCH_CONTRACT, 77)))
    chain.mine(5)
    world.services = replace(world.services, secrets=SimpleNamespace(tron_api_key=None))  # type: ignore[arg-type]
    sepolia, base = (known_network(name) for name in ("sepolia", "base"))
    assert sepolia is not None
    assert base is not None
    found = check(world.services, sepolia, chain.url)
    assert (found.range, found.old_block is not None) == (sepolia.log_range, True)
    with pytest.raises(BadRequest, match="The node for base is of chain 11155111"):
        check(world.services, base, chain.url)


def test_a_wallet_is_read_by_a_node_that_lives_beside_one_that_does_not(chain: Chain, payer: Payer) -> None:
    chains = Chains(SimpleNamespace(rpc_urls={"sepolia": ("http://127.0.0.1:9", chain.url)}))
    reading = chains.of("sepolia").read_wallet(payer.address, [FUSDC], BATCH_CONTRACT)
    wanted = (payer.address, FUSDC, BATCH_CONTRACT)
    assert chains.evm("sepolia").read_funds([wanted] * 2) == (reading.tokens[FUSDC],) * 2
    assert reading.tokens[FUSDC].balance == chain.token_balance(FUSDC, payer.address)


def test_a_wallet_is_read_as_it_is(chain: Chain, node: EvmChain, payer: Payer) -> None:
    payer.send(as_dict(approve(FUSDC, BATCH_CONTRACT, 77)))
    chain.set_batch_fee(30)
    reading = node.read_wallet(payer.address, [FUSDC, FAU], BATCH_CONTRACT, batch_fee=True)
    assert (reading.tokens[FUSDC].allowance, reading.tokens[FAU].allowance) == (77, 0)
    assert reading.tokens[FUSDC].balance == chain.token_balance(FUSDC, payer.address)
    assert reading.native_balance == chain.native_balance(payer.address)
    assert (reading.batch_fee_bps, node.read_batch_fee()) == (30, 30)


def test_an_approval_and_the_payment_that_needs_it_are_simulated_together(node: EvmChain, payer: Payer) -> None:
    grant, payment = approve(FUSDC, PROXY, 1_000_000), token_payment()
    found = node.simulate([(payer.address, grant), (payer.address, payment)])
    assert found.method == "eth_simulateV1"
    assert [step.success for step in found.steps] == [True, True]
    assert all(step.gas and 21_000 < step.gas < 200_000 for step in found.steps)
    alone, after = node.simulate([(payer.address, payment), (payer.address, grant)]).steps
    assert (alone.success, after.success) == (False, True)
    assert alone.reason == "reverted without a reason"


def test_a_simulation_repeats_the_contracts_reason(node: EvmChain, payer: Payer) -> None:
    item = BatchItem(FUSDC, PAYEE, 5, REFERENCE, 0)
    (step,) = node.simulate([(payer.address, pay_batch("sepolia", [item], None))]).steps
    assert (step.success, step.reason) == (False, "Insufficient allowance for batch to pay")


def test_a_native_payment_that_the_sender_cannot_afford_is_the_step_that_fails(node: EvmChain, payer: Payer) -> None:
    def paying(amount: int) -> Transaction:
        return pay_native("sepolia", payee=PAYEE, amount=amount, reference=REFERENCE)

    sender = payer.address
    steps = node.simulate([(sender, approve(FUSDC, PROXY, 1)), (sender, paying(10**30)), (sender, paying(1))]).steps
    assert [step.success for step in steps] == [True, False, None]
    poor = Account.create().address
    (step,) = node.simulate([(poor, paying(1))]).steps
    assert step.success is False
    assert "native coin" in str(step.reason)


@pytest.mark.parametrize(
    ("code", "success"),
    [
        ("623800006000f3", None),  # returns 3.7 MB
        ("623800006000fd", None),  # reverts with 3.7 MB
        ("5b6000600056", False),  # never ends
    ],
)
def test_a_hostile_contract_takes_neither_megabytes_nor_the_nodes_time(
    chain: Chain, node: EvmChain, payer: Payer, code: str, success: bool | None
) -> None:
    hostile = "0x" + "66" * 20
    chain.rpc("anvil_setCode", hostile, "0x" + code)
    found = node.simulate([(payer.address, approve(FUSDC, PROXY, 1)), (payer.address, Transaction(hostile, "0x", 0))])
    assert found.method == "eth_simulateV1"
    assert [step.success for step in found.steps] == ([True, False] if success is False else [None, None])
    assert node.safe_nonce(hostile, node.head()) is None
    assert not node.is_valid_signature(hostile, bytes(32), bytes(65))


def test_the_payer_is_found_in_direct_and_batch_payments_and_of_a_safe(
    node: EvmChain, payer: Payer, safe_on: Callable[[str], Safe]
) -> None:
    safe = safe_on("sepolia")
    payer.send(as_dict(approve(FUSDC, PROXY, 10**9)))
    payer.send(as_dict(approve(FUSDC, BATCH_CONTRACT, 10**9)))
    direct = payer.send(as_dict(token_payment()))
    native = payer.send(as_dict(pay_native("sepolia", payee=PAYEE, amount=5, reference=REFERENCE)))
    items = [
        BatchItem(FUSDC, PAYEE, 5, REFERENCE, 0),
        BatchItem(FUSDC, FEE_ADDRESS, 6, OTHER_REFERENCE, 0),
        BatchItem(None, PAYEE, 7, OTHER_REFERENCE, 0),
    ]
    batch = payer.send(as_dict(pay_batch("sepolia", items, None)))
    safe.execute(safe.transaction(as_dict(approve(FUSDC, PROXY, 10**9))))
    by_safe = safe.execute(safe.transaction(as_dict(token_payment(8))))
    native_by_safe = safe.execute(
        safe.transaction(as_dict(pay_native("sepolia", payee=PAYEE, amount=9, reference=REFERENCE)))
    )

    def paid(receipt: dict[str, Any], token: str | None, amount: int, payee: str = PAYEE) -> PaidTransfer:
        return PaidTransfer(receipt["transactionHash"], token, payee, amount, "")

    found = node.payers_of(
        [
            paid(direct, FUSDC, 1_000_000),
            paid(native, None, 5),
            paid(batch, FUSDC, 5),
            paid(batch, FUSDC, 6, FEE_ADDRESS),
            paid(batch, None, 7),
            paid(by_safe, FUSDC, 8),
            paid(native_by_safe, None, 9),
            paid(direct, FUSDC, 5),
            paid(direct, FAU, 1_000_000),
            PaidTransfer("0x" + "ab" * 32, FUSDC, PAYEE, 5, ""),
        ]
    )
    assert found == (*[PaymentSender(payer.address, True)] * 5, PaymentSender(safe.address, False), None, None, None, None)


def test_what_a_safe_executed_is_told_with_its_hash_and_outcome(
    chain: Chain, node: EvmChain, safe_on: Callable[[str], Safe]
) -> None:
    safe, first = safe_on("sepolia"), node.head() + 1
    good = safe.transaction(as_dict(approve(FUSDC, PROXY, 5)))
    receipt = safe.execute(good)
    before = node.head()
    bad = safe.transaction(as_dict(token_payment(10**18)), safe_tx_gas=200_000)
    safe.execute(bad)
    blocks = BlockRange(first, node.head())
    done, failed = (node.safe_event(safe.address, safe.hash(each), blocks) for each in (good, bad))
    assert done is not None and failed is not None
    assert (done.safe_tx_hash, done.success) == (safe.hash(good), True)
    assert (failed.safe_tx_hash, failed.success) == (safe.hash(bad), False)
    assert node.safe_event(safe.address, "0x" + "ab" * 32, blocks) is None
    assert done.transaction_hash == receipt["transactionHash"]
    assert done.block_number == int(receipt["blockNumber"], 16)
    assert node.block_hashes([done.block_number]) == {done.block_number: done.block_hash}
    assert (node.safe_nonce(safe.address, before), node.safe_nonce(safe.address, node.head())) == (1, 2)


def test_tron_is_read_and_paid_as_the_other_networks(tron: TronNode) -> None:
    from tronpy.keys import PrivateKey

    node, key = TronChain("tron", tron.url), PrivateKey(bytes.fromhex("c1" * 32))
    owner = key.public_key.to_base58check_address()
    tron.chain.fund(owner, 1_000)
    grant = approve(USDT, TRON_BATCH_CONTRACT, 12)
    items = [BatchItem(USDT, TRON_PAYEE, 5, REFERENCE, 0), BatchItem(USDT, TRON_PAYEE, 7, OTHER_REFERENCE, 0)]
    payment, first = pay_tron_batch("tron", items), node.head() + 1
    assert [step.success for step in node.simulate([(owner, grant), (owner, payment)]).steps] == [True, None]
    refused = node.simulate([(owner, payment)]).steps[0]
    assert (refused.success, bool(refused.reason)) == (False, True)
    assert node.which_revert(owner, [payment, grant]) == (True, False)
    assert node.has_code(USDT)
    assert not node.has_code(owner)

    sent = [broadcast(node, tron, key, owner, each) for each in (grant, payment)]
    reading = node.read_wallet(owner, [USDT], TRON_BATCH_CONTRACT)
    assert reading.tokens[USDT].allowance == 0
    assert 900 * 10**6 < reading.native_balance < 1_000 * 10**6, "energy and bandwidth are paid by burning TRX"
    assert tron.chain.token_balance(USDT, TRON_PAYEE) == 12

    newest = tron.head()
    assert node.head() == max(0, newest - SOLID_AFTER)
    tron.chain.mine(SOLID_AFTER)
    assert node.head() == newest
    logs = node.read_range(BlockRange(first, newest), None).logs
    assert [log["address"].lower() for log in logs] == [hex_address(address_of(ERC20_FEE_PROXY, "tron"))] * 2
    assert {log["transactionHash"] for log in logs} == {"0x" + sent[1]}
    assert node.payers_of([PaidTransfer("0x" + sent[1], USDT, TRON_PAYEE, amount, "") for amount in (5, 7)]) == (PaymentSender(owner, True),) * 2


def broadcast(node: TronChain, tron: TronNode, key: Any, owner: str, transaction: Transaction) -> str:
    """The id of a transaction that is built, signed and sent here; a second time it is refused."""
    number = tron.head()
    facts = node.block_facts([number])[number]
    block, now = facts.hash, int(facts.time.timestamp() * 1000)
    raw = encode_raw(
        TronTransaction(
            owner=owner,
            contract=transaction.to,
            data=transaction.data,
            call_value=transaction.value,
            fee_limit=PAYMENT_FEE_LIMIT,
            expiration=now + 3600_000,
            ref_block_bytes=bytes.fromhex(block[2:])[6:8],
            ref_block_hash=bytes.fromhex(block[2:])[8:16],
            timestamp=now,
        )
    )
    signature = key.sign_msg_hash(bytes.fromhex(tx_id(raw))).to_bytes()
    assert recover_signer(raw, signature) == owner
    wrong = node.broadcast(encode_signed_transaction(raw, [signature[:64] + bytes([signature[64] ^ 1])]))
    assert (wrong.result, wrong.code) == (False, "SIGERROR")
    answer = node.broadcast(encode_signed_transaction(raw, [signature]))
    assert (answer.result, answer.txid, answer.code) == (True, tx_id(raw), "SUCCESS")
    again = node.broadcast(encode_signed_transaction(raw, [signature]))
    assert (again.result, again.code) == (False, "DUP_TRANSACTION_ERROR")
    return answer.txid
