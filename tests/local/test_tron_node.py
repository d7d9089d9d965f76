"""The local Tron node: what wallets' libraries pay through it, what it refuses as java-tron does, what it remembers."""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account
from tronpy.exceptions import BadSignature, TaposError, TransactionError, UnknownError
from tronpy.keys import PrivateKey

from chalicelib.base.addresses import tron_to_evm
from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC
from chalicelib.payments.requests.references import reference_topic
from infra.local.outsiders.tron_payer import TronpyPayer, TronwebPayer
from infra.local.tron import TronNode
from infra.local.tron_blocks import SOLID_AFTER
from infra.local.tron_transactions import Call, Malformed, Transaction, address21
from tests.support.patience import patience, wait_for

USDT, PROXY = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", address_of(ERC20_FEE_PROXY, "tron")
BATCH = address_of("ERC20BatchPayments", "tron")
PAYEE, FEE_ADDRESS = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7", "TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs"
REFERENCE = bytes.fromhex("15a9c8dbd58c5977")


@pytest.fixture(scope="module")
def running() -> Iterator[TronNode]:
    with TronNode.start() as node:
        yield node


@pytest.fixture
def node(running: TronNode) -> Iterator[TronNode]:
    before = running.chain.snapshot()
    yield running
    running.chain.revert(before)


@pytest.fixture
def payer(node: TronNode) -> TronpyPayer:
    payer = TronpyPayer(node.url, Account.create().key.hex())
    node.chain.fund(payer.address, 1000)
    return payer


def approve(amount: int = 1_010_000) -> dict[str, Any]:
    made = erc20.approve(USDT, PROXY, amount)
    return {"to": made.to, "data": made.data, "value": made.value}


def pay() -> dict[str, Any]:
    amounts = {"amount": 1_000_000, "fee_amount": 10_000}
    made = fee_proxy.pay_erc20("tron", token=USDT, payee=PAYEE, reference=REFERENCE, fee_address=FEE_ADDRESS, **amounts)
    return {"to": made.to, "data": made.data, "value": made.value}


def post(node: TronNode, path: str, body: Any) -> dict[str, Any]:
    answer = requests.post(f"{node.url}/{path}", json=body, timeout=patience())
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def rpc(node: TronNode, method: str, *params: Any) -> dict[str, Any]:
    return post(node, "jsonrpc", {"jsonrpc": "2.0", "id": 7, "method": method, "params": params})


@pytest.mark.parametrize("library", [TronpyPayer, TronwebPayer])
def test_wallets_libraries_approve_and_pay_through_http_alone(node: TronNode, library: type) -> None:
    payer = library(node.url, Account.create().key.hex())
    node.chain.fund(payer.address, 1000)
    approved, paid = payer.pay([approve(), pay()])
    pass_fds = [node.chain.token_balance(USDT, holder) for holder in (payer.address, PAYEE, FEE_ADDRESS)]
    assert pass_fds == [1000 * 10**6 - 1_010_000, 1_000_000, 10_000]
    assert approved["contractResult"] == [f"{1:064x}"]
    assert [log["topics"][-1] for log in paid["log"] if log["address"] == tron_to_evm(PROXY)[2:]] == [
        reference_topic(REFERENCE)[2:]
    ]


def test_the_batch_contract_pays_several_by_the_fee_proxy(node: TronNode, payer: TronpyPayer) -> None:
    def words(*values: int | str) -> str:
        return "".join(f"{v:064x}" if isinstance(v, int) else tron_to_evm(v)[2:].rjust(64, "0") for v in values)

    # batchERC20PaymentsWithReference(token, payees, amounts, references, fees, fee address), one payee
    references = words(1, 32, 8) + REFERENCE.hex().ljust(64, "0")
    lists = words(1, PAYEE) + words(1, 1_000_000) + references + words(1, 10_000)
    data = "0xc6e6d98b" + words(USDT, 192, 256, 320, 448, FEE_ADDRESS) + lists
    allow = erc20.approve(USDT, BATCH, 1_010_000)
    (paid,) = payer.pay([{"to": allow.to, "data": allow.data, "value": 0}, {"to": BATCH, "data": data, "value": 0}])[1:]
    assert node.chain.token_balance(USDT, PAYEE) == 1_000_000
    assert tron_to_evm(PROXY)[2:] in {log["address"] for log in paid["log"]}


class TestWhatIsRefused:
    @pytest.fixture
    def key(self, payer: TronpyPayer) -> PrivateKey:
        return payer._key

    def test_a_signature_of_somebody_else(self, payer: TronpyPayer) -> None:
        transaction = payer.build(approve())
        transaction._permission = None  # or tronpy itself would refuse
        with pytest.raises(BadSignature, match="is not signed by the owner"):
            transaction.sign(PrivateKey.random()).broadcast()

    @pytest.mark.parametrize("signature", ["", "00" * 64, "ff" * 65, "00" * 65])
    def test_a_signature_that_is_none(self, node: TronNode, payer: TronpyPayer, signature: str) -> None:
        body = {**payer.build(approve()).to_json(), "signature": [signature]}
        answer = post(node, "wallet/broadcasttransaction", body)
        assert answer["code"] == "SIGERROR"
        assert bytes.fromhex(answer["message"]).startswith(b"Validate signature error")
        assert "result" not in answer

    def test_the_same_twice(self, node: TronNode, payer: TronpyPayer, key: PrivateKey) -> None:
        transaction = payer.build(approve()).sign(key)
        assert transaction.broadcast()["result"] is True
        with pytest.raises(UnknownError, match="DUP_TRANSACTION_ERROR"):
            transaction.broadcast()
        logs = wait_for(lambda: rpc(node, "eth_getLogs", {"address": tron_to_evm(USDT), "fromBlock": "0x0"})["result"])
        assert len(logs) == 1

    def test_what_has_expired_or_lives_too_long(self, payer: TronpyPayer, key: PrivateKey) -> None:
        for milliseconds in (time.time() * 1000 - 1, time.time() * 1000 + 25 * 3600 * 1000):
            transaction = payer.build(approve())
            transaction._raw_data["expiration"] = int(milliseconds)
            signed = Transaction.of_json(transaction.to_json())
            transaction.set_signature([key.sign_msg_hash(bytes.fromhex(signed.id)).hex()])
            with pytest.raises(TransactionError, match="Transaction expired"):
                transaction.broadcast()

    def test_what_refers_to_a_block_of_another_chain(self, payer: TronpyPayer, key: PrivateKey) -> None:
        transaction = payer.build(approve())
        transaction._raw_data["ref_block_hash"] = "00" * 8
        signed = Transaction.of_json(transaction.to_json())
        transaction.set_signature([key.sign_msg_hash(bytes.fromhex(signed.id)).hex()])
        with pytest.raises(TaposError):
            transaction.broadcast()

    def test_a_call_of_what_is_no_contract(self, node: TronNode, payer: TronpyPayer) -> None:
        asked = {"owner_address": payer.address, "contract_address": PAYEE, "data": "00", "visible": True}
        answer = post(node, "wallet/triggersmartcontract", asked)
        assert answer["result"]["code"] == "CONTRACT_VALIDATE_ERROR"
        assert post(node, "wallet/triggerconstantcontract", asked)["result"]["code"] == "CONTRACT_VALIDATE_ERROR"

    @pytest.mark.parametrize(
        "body", [{}, {"raw_data": 1}, {"raw_data": {"contract": [{"type": "VoteWitnessContract"}]}}, []]
    )
    def test_what_is_no_call_of_a_contract(self, node: TronNode, body: Any) -> None:
        assert "Error" in post(node, "wallet/broadcasttransaction", body)
        assert "Error" in post(node, "wallet/broadcasthex", {"transaction": "ff00"})
        with pytest.raises(Malformed):
            Call.of_bytes(b"\xff")


def test_a_call_that_reverts_is_in_a_block_as_failed(node: TronNode, payer: TronpyPayer) -> None:
    with pytest.raises(RuntimeError, match="REVERT"):
        payer.pay([pay()])
    block = post(node, "wallet/getnowblock", {})
    (transaction,) = block["transactions"]
    info = post(node, "wallet/gettransactioninfobyid", {"value": transaction["txID"]})
    assert (info["result"], info["receipt"]["result"], info["log"]) == ("FAILED", "REVERT", [])
    assert node.chain.token_balance(USDT, PAYEE) == 0


def test_a_signed_transaction_may_be_sent_as_bytes(node: TronNode, payer: TronpyPayer) -> None:
    signed = Transaction.of_json(payer.build(approve()).sign(payer._key).to_json())
    raw, (signature,) = signed.raw, signed.signatures
    text = b"\x0a" + bytes([len(raw) & 0x7F | 0x80, len(raw) >> 7]) + raw + b"\x12\x41" + signature
    tampered = text[:-1] + bytes([text[-1] ^ 1])
    refused = post(node, "wallet/broadcasthex", {"transaction": tampered.hex()})
    assert (refused["result"], refused["code"]) == (False, "SIGERROR")
    sent = post(node, "wallet/broadcasthex", {"transaction": text.hex()})
    assert (sent["result"], sent["code"], sent["txid"]) == (True, "SUCCESS", signed.id)
    assert post(node, "wallet/broadcasthex", {"transaction": text.hex()})["code"] == "DUP_TRANSACTION_ERROR"


def test_a_transaction_is_solid_some_blocks_later(node: TronNode, payer: TronpyPayer) -> None:
    (approved,) = payer.pay([approve()])
    asked = {"value": approved["id"]}
    assert post(node, "walletsolidity/gettransactioninfobyid", asked) == {}
    assert post(node, "walletsolidity/gettransactionbyid", asked) == {}
    node.chain.mine(SOLID_AFTER)
    assert post(node, "walletsolidity/gettransactioninfobyid", asked)["id"] == approved["id"]
    solid = post(node, "walletsolidity/getnowblock", {})
    assert solid["block_header"]["raw_data"]["number"] == approved["blockNumber"]
    assert solid == post(node, "wallet/getblockbyid", {"value": solid["blockID"]})
    assert int(rpc(node, "eth_getBlockByNumber", "finalized", False)["result"]["number"], 16) == approved["blockNumber"]


class TestJsonRpc:
    def test_names_transactions_and_blocks_as_tron_does(self, node: TronNode, payer: TronpyPayer) -> None:
        _, paid = payer.pay([approve(), pay()])
        block = post(node, "wallet/getblockbynum", {"num": paid["blockNumber"]})
        wanted = {"address": [tron_to_evm(PROXY)], "topics": [ERC20_TRANSFER_TOPIC, reference_topic(REFERENCE)]}
        (log,) = rpc(node, "eth_getLogs", {**wanted, "fromBlock": "0x0", "toBlock": "latest"})["result"]
        assert (log["transactionHash"], log["blockHash"]) == (f"0x{paid['id']}", f"0x{block['blockID']}")
        assert [log] == rpc(node, "eth_getLogs", {**wanted, "blockHash": log["blockHash"]})["result"]
        receipt = rpc(node, "eth_getTransactionReceipt", log["transactionHash"])["result"]
        assert (receipt["status"], log in receipt["logs"]) == ("0x1", True)
        by_number = rpc(node, "eth_getBlockByNumber", log["blockNumber"], False)["result"]
        assert (by_number["hash"], by_number["transactions"]) == (log["blockHash"], [log["transactionHash"]])
        assert by_number["parentHash"][2:18] == f"{paid['blockNumber'] - 1:016x}"
        assert rpc(node, "eth_getBlockByHash", by_number["hash"], False)["result"] == by_number

    def test_reads_the_newest_state_alone(self, node: TronNode, payer: TronpyPayer) -> None:
        address = tron_to_evm(payer.address)
        assert rpc(node, "eth_chainId")["result"] == "0x2b6653dc"
        assert int(rpc(node, "eth_getBalance", address, "latest")["result"], 16) == 1000 * 10**6
        read = erc20.balance_of(USDT, payer.address)
        call = {"to": tron_to_evm(USDT), "data": read.data}
        assert int(rpc(node, "eth_call", call, "latest")["result"], 16) == 1000 * 10**6
        for tag in ("pending", "0x1"):
            assert rpc(node, "eth_call", call, tag)["error"]["code"] == -32602
            assert rpc(node, "eth_getBalance", address, tag)["error"]["code"] == -32602

    def test_tells_a_revert_from_what_it_does_not_serve(self, node: TronNode, payer: TronpyPayer) -> None:
        call = {"from": tron_to_evm(payer.address), "to": tron_to_evm(PROXY), "data": pay()["data"]}
        assert rpc(node, "eth_call", call, "latest")["error"] == {
            "code": -32000,
            "message": "REVERT opcode executed",
            "data": "0x",
        }
        for method in ("eth_sendRawTransaction", "eth_getTransactionCount", "anvil_setBalance"):
            assert rpc(node, method)["error"]["code"] == -32601
        assert rpc(node, "eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(5001)})["error"]["code"] == -32602
        assert post(node, "jsonrpc", [{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}])["error"]
        assert rpc(node, "eth_call")["error"]["code"] == -32602


def test_after_a_restart_transactions_have_their_names(tmp_path: Path) -> None:
    state, key = tmp_path / "tron.json", Account.create().key.hex()
    with TronNode.start(state=state) as first:
        payer = TronpyPayer(first.url, key)
        first.chain.fund(payer.address, 1000)
        _, paid = payer.pay([approve(), pay()])
    with TronNode.start(state=state) as second:
        wanted = {"address": tron_to_evm(PROXY), "fromBlock": "0x0"}
        (log,) = rpc(second, "eth_getLogs", wanted)["result"]
        assert log["transactionHash"] == f"0x{paid['id']}"
        again = post(second, "wallet/gettransactioninfobyid", {"value": paid["id"], "visible": True})
        assert {**again, "contractResult": paid["contractResult"]} == paid


def test_a_fork_forgets_what_it_drops(node: TronNode, payer: TronpyPayer) -> None:
    before = node.chain.snapshot()
    signed = payer.build(approve()).sign(payer._key)
    assert signed.broadcast().wait(timeout=patience())["id"] == signed.txid, "a transaction that waits outlives the fork"
    node.chain.revert(before)
    assert post(node, "wallet/gettransactioninfobyid", {"value": signed.txid}) == {}
    assert signed.broadcast()["result"] is True


def test_what_is_read_of_a_transaction_is_what_was_written(payer: TronpyPayer) -> None:
    body = payer.build(approve()).to_json()
    body["raw_data"] |= {"data": b"note".hex(), "contract": [{**body["raw_data"]["contract"][0], "Permission_id": 2}]}
    ours = Transaction.of_json(body)
    assert (ours.call.memo, ours.call.permission_id) == (b"note", 2)
    assert Call.of_bytes(ours.raw) == ours.call == Call.of_json(ours.call.json())


class TestResources:
    def resources(self, node: TronNode, payer: TronpyPayer) -> dict[str, Any]:
        return post(node, "wallet/getaccountresource", {"address": payer.address, "visible": True})

    def test_free_bandwidth_pays_the_approval_and_trx_pay_the_rest(self, node: TronNode, payer: TronpyPayer) -> None:
        before = payer.balance(None, payer.address)
        approved, paid = payer.pay([approve(), pay()])
        assert self.resources(node, payer)["freeNetUsed"] == 346, "with the fee limit of 300 TRX"
        assert before - payer.balance(None, payer.address) == approved["fee"] + paid["fee"]

    def test_a_stake_is_used_before_trx_are_burned(self, node: TronNode, payer: TronpyPayer) -> None:
        node.resources.stake(address21(payer.address), energy=10**6, bandwidth=10**4)
        approved, paid = payer.pay([approve(), pay()])
        found = self.resources(node, payer)
        assert (approved["fee"], paid["fee"], found["NetUsed"], "freeNetUsed" in found) == (0, 0, 886, False)
        assert found["EnergyUsed"] > 100_000

    def test_a_wallet_that_runs_out_of_energy_burns_its_trx_and_pays_nothing(
        self, node: TronNode, payer: TronpyPayer
    ) -> None:
        payer.pay([approve()])
        node.chain.fund_native(payer.address, 3_000_000)
        with pytest.raises(RuntimeError, match="OUT_OF_ENERGY"):
            payer.pay([pay()])
        assert payer.balance(None, payer.address) < 100, "less than a unit of energy costs"
        assert node.chain.token_balance(USDT, PAYEE) == 0

    def test_a_fee_limit_ends_a_call_that_could_be_paid(self, node: TronNode, payer: TronpyPayer) -> None:
        before = payer.balance(None, payer.address)
        with pytest.raises(RuntimeError, match="OUT_OF_ENERGY"):
            payer.pay([{**approve(), "feeLimit": 1_000_000}])
        assert before - payer.balance(None, payer.address) == 1_000_000

    def test_a_memo_has_a_fee_and_its_transaction_waits_nowhere_once_it_is_in_a_block(
        self, node: TronNode, payer: TronpyPayer
    ) -> None:
        body = payer.build(approve()).to_json()
        raw = Transaction.of_json({"raw_data": {**body["raw_data"], "data": b"note".hex()}}).raw
        made = Transaction(Call.of_bytes(raw), raw, (payer._key.sign_msg_hash(hashlib.sha256(raw).digest()),))
        assert post(node, "wallet/gettransactionfrompending", {"value": made.id}) == {}
        assert post(node, "wallet/broadcasttransaction", made.json())["result"] is True
        paid = wait_for(lambda: post(node, "wallet/gettransactioninfobyid", {"value": made.id}))
        assert paid["fee"] == 1_000_000 + paid["receipt"]["energy_usage_total"] * 100
        assert post(node, "wallet/gettransactionfrompending", {"value": made.id}) == {}
        assert post(node, "wallet/gettransactionbyid", {"value": made.id})["txID"] == made.id

    def test_an_address_without_trx_is_no_account(self, node: TronNode, payer: TronpyPayer) -> None:
        signed = payer.build(approve()).sign(payer._key)
        node.chain.fund_native(payer.address, 0)
        assert self.resources(node, payer) == {}
        answer = post(node, "wallet/broadcasttransaction", signed.to_json())
        assert bytes.fromhex(answer["message"]).decode().endswith(f"account [{payer.address}] does not exist")

    def test_nobody_pays_for_bandwidth_without_trx(self, node: TronNode, payer: TronpyPayer) -> None:
        payer.pay([approve()])
        signed = payer.build(pay()).sign(payer._key)
        node.chain.fund_native(payer.address, 539_999)
        assert post(node, "wallet/broadcasttransaction", signed.to_json())["code"] == "BANDWITH_ERROR"

    def test_trx_create_the_account_that_they_are_sent_to_and_the_sender_pays_for_that(
        self, node: TronNode, payer: TronpyPayer
    ) -> None:
        other = TronpyPayer(node.url, Account.create().key.hex())
        before = payer.balance(None, payer.address)
        assert payer.send_trx(other.address, 2_000_000)["fee"] == 1_100_000
        assert payer.send_trx(other.address, 1_000_000)["fee"] == 0, "it is one, and the bandwidth is free"
        assert other.balance(None, other.address) == 3_000_000
        assert before - payer.balance(None, payer.address) >= 4_100_000
        assert self.resources(node, other)["freeNetLimit"] == 600
