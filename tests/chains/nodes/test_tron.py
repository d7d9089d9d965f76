"""What a Tron node may answer besides the truth, and how what it says is read: older and newer java-tron, TronGrid."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.accounts.simulation import TOO_LARGE, UNKNOWN_STEP, StepResult
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.history.log_ranges import RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange, Checkpoint
from chalicelib.chains.nodes.history.receipts import PaidTransfer, PaymentSender
from chalicelib.chains.nodes.rpc import http_client
from chalicelib.chains.nodes.tron import BroadcastResult, TronChain
from tests.support.patience import patience

OWNER, PAYEE = "TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY", "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
OWNER_HEX, PAYEE_HEX = "928c9af0651632157ef27a2cf17ca72c575a4d21", "74472e7d35395a6b5add427eecb7f4b62ad2b071"
USDT, PROXY = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"
USDT_HEX, PROXY_HEX = "a614f803b6fd780986a42c78ec9c7f77e6ded13c", "1b6ca35d39842cf8fbe49000653a1505412da659"
HASH = "0x" + "ab" * 32
CHAIN_ID = "0x2b6653dc"
REVERT = "08c379a0" + f"{32:064x}{3:064x}" + b"no!".hex().ljust(64, "0")
CALL = Transaction(USDT, "0x095ea7b3", 0)


class Node(ThreadingHTTPServer):
    """Answers paths of the wallet API and methods of JSON-RPC with what a test puts into `answers`."""

    daemon_threads = False  # closing waits for the last answer
    status, raw = 200, b""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Any] = {"eth_chainId": CHAIN_ID}
        self.asked: list[tuple[str, Any]] = []
        self.keys: set[str | None] = set()
        self.may_answer = threading.Event()
        self.may_answer.set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def chain(self) -> TronChain:
        return TronChain("tron", self.url)

    def answer(self, path: str, body: Any) -> Any:
        if path != "/jsonrpc":
            self.asked.append((path, body))
            return self.answers[path]
        assert isinstance(body, dict), "one call a request"
        self.asked.append((body["method"], body["params"]))
        found = self.answers[body["method"]]
        found = found(*body["params"]) if callable(found) else found
        response = found if isinstance(found, dict) and "error" in found else {"result": found}
        return {"jsonrpc": "2.0", "id": body["id"], **response}


class Handler(BaseHTTPRequestHandler):
    server: Node

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client closes the connection of a response that is too long
            super().handle()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.keys.add(self.headers["TRON-PRO-API-KEY"])
        raw = self.server.raw or json.dumps(self.server.answer(self.path, body)).encode()
        self.server.may_answer.wait(patience())
        self.send_response(self.server.status)
        self.end_headers()
        with suppress(OSError):  # who asked may not wait
            self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def node() -> Iterator[Node]:
    running = Node()
    yield running
    running.shutdown()
    running.server_close()


def now_block(number: Any) -> dict[str, Any]:
    return {"blockID": "00", "block_header": {"raw_data": {"number": number, "timestamp": 1}}}


def test_the_head_is_the_newest_solid_block_of_the_right_chain(node: Node) -> None:
    node.answers["/walletsolidity/getnowblock"] = now_block(77)
    assert node.chain.head() == 77
    node.answers["/walletsolidity/getnowblock"] = {"block_header": {"raw_data": {}}}
    assert node.chain.head() == 0
    for wrong in (now_block("77"), now_block(None), now_block(7.5), {}, [], None, {"Error": "busy"}):
        node.answers["/walletsolidity/getnowblock"] = wrong
        with pytest.raises(ChainUnavailable):
            node.chain.head()
    node.answers["eth_chainId"] = "0xcd8690dc"
    with pytest.raises(ChainUnavailable, match="chain 3448148188"):
        node.chain.head()


def test_balances_are_asked_in_hex_and_given_by_the_address_as_it_was_asked(node: Node) -> None:
    values = {"70a08231": 12, "dd62ed3e": 5}
    node.answers |= {
        "eth_getBalance": "0xf4240",
        "eth_gasPrice": "0x64",
        "eth_call": lambda call, block: f"0x{values[call['data'][2:10]]:064x}",
    }
    reading = node.chain.read_wallet(OWNER, [USDT], PROXY, batch_fee=True)
    assert (reading.native_balance, reading.gas_price, reading.batch_fee_bps) == (1_000_000, 100, 0)
    assert (reading.tokens[USDT].balance, reading.tokens[USDT].allowance) == (12, 5)
    questions = [params for method, params in node.asked if method != "eth_gasPrice"]
    assert questions[0] == ["0x" + OWNER_HEX, "latest"]
    assert [(call["to"], block) for call, block in questions[1:]] == [("0x" + USDT_HEX, "latest")] * 2
    assert OWNER_HEX + "0" * 24 + PROXY_HEX in questions[2][0]["data"]
    assert node.chain.read_batch_fee() == 0


@pytest.mark.parametrize("answer", ["0x", "0x" + REVERT, "0x00", "zz", None, 7, {"error": {"message": "REVERT"}}])
def test_a_token_that_does_not_answer_with_one_number_is_no_answer(node: Node, answer: Any) -> None:
    node.answers |= {"eth_getBalance": "0x0", "eth_gasPrice": "0x64", "eth_call": answer}
    with pytest.raises(ChainUnavailable):
        node.chain.read_wallet(OWNER, [USDT], PROXY)


def test_reading_a_wallet_and_broadcasting_loads_no_library_for_chains_and_not_requests(node: Node) -> None:
    node.answers |= {"eth_getBalance": "0x0", "eth_gasPrice": "0x64", "/wallet/broadcasthex": {"result": True}}
    script = f"""
import sys
from chalicelib.chains.nodes.tron import TronChain
chain = TronChain("tron", sys.argv[1])
chain.read_wallet("{OWNER}", [], "{PROXY}")
chain.broadcast(bytes(2))
print(*sys.modules)
"""
    command = [sys.executable, "-c", script, node.url]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "urllib3" in loaded
    assert not {"web3", "eth_account", "eth_abi", "eth_utils", "tronpy", "aiohttp", "httpx", "requests"} & set(loaded)


def block(number: int) -> dict[str, str]:
    return {"number": hex(number), "hash": HASH, "timestamp": "0x69550000"}


def test_a_range_is_read_call_by_call_with_contracts_in_hex(node: Node) -> None:
    log = {"blockNumber": "0x6", "address": "0x" + PROXY_HEX}
    node.answers |= {"eth_getBlockByNumber": lambda number, full: block(int(number, 16)), "eth_getLogs": [log]}
    reading = node.chain.read_range(BlockRange(5, 9), Checkpoint(4, HASH))
    assert (reading.logs, reading.last.hash) == ((log,), HASH)
    (asked,) = next(params for method, params in node.asked if method == "eth_getLogs")
    assert (asked["address"], asked["fromBlock"], asked["toBlock"]) == (["0x" + PROXY_HEX], "0x5", "0x9")
    assert node.chain.block_hashes([5]) == {5: HASH}
    assert node.chain.block_facts([5])[5].time.year == 2025
    node.answers["eth_getLogs"] = {"error": {"code": -32602, "message": "exceed max block range: 5000"}}
    with pytest.raises(RangeTooLarge):
        node.chain.read_range(BlockRange(5, 9), None)
    node.answers["eth_getBlockByNumber"] = None
    assert node.chain.block_hashes([5]) == {5: None}


def test_the_payer_of_a_transfer_is_given_in_base58(node: Node) -> None:
    def word(address: str) -> str:
        return "0x" + address.rjust(64, "0")

    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    log = {"address": "0x" + USDT_HEX, "topics": [transfer, word(OWNER_HEX), word(PAYEE_HEX)], "data": f"0x{12:064x}"}
    node.answers["eth_getTransactionReceipt"] = {"transactionHash": HASH, "from": "0x" + PAYEE_HEX, "to": "0x" + PROXY_HEX, "logs": [log]}
    paid = PaidTransfer(HASH, USDT, PAYEE, 12, "")
    for code, is_wallet in (("0x", True), ("0x6001", False)):
        node.answers["eth_getCode"] = code
        assert node.chain.payers_of([paid, PaidTransfer(HASH, USDT, PAYEE, 13, "")]) == (PaymentSender(OWNER, is_wallet), None)
    node.answers["eth_getTransactionReceipt"] = None
    assert node.chain.payers_of([paid]) == (None,)


def constant(**facts: Any) -> dict[str, Any]:
    return {"result": {"result": True}, "constant_result": [""], "transaction": {"ret": [{}]}, **facts}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (constant(energy_used=1200), StepResult(True, None, 1200)),
        (constant(), StepResult(True, None, None)),
        (
            constant(constant_result=[REVERT], transaction={"ret": [{"ret": "FAILED"}]}, energy_used=30),
            StepResult(False, "no!", 30),
        ),
        (constant(transaction={"ret": [{"ret": "FAILED"}]}), StepResult(False, "reverted without a reason", None)),
        (
            {"result": {"code": "CONTRACT_VALIDATE_ERROR", "message": b"Smart contract is not exist.".hex()}},
            StepResult(False, "Smart contract is not exist.", None),
        ),
    ],
)
def test_a_constant_call_tells_whether_a_step_works(node: Node, answer: Any, said: StepResult) -> None:
    node.answers["/wallet/triggerconstantcontract"] = answer
    found = node.chain.simulate([(OWNER, CALL), (OWNER, CALL)])
    assert found.steps[0] == said
    assert found.steps[1].success is None
    assert node.chain.which_revert(OWNER, [CALL]) == (not said.success,)
    expected = {"owner_address": "41" + OWNER_HEX, "contract_address": "41" + USDT_HEX, "data": "095ea7b3"}
    assert dict(node.asked) == {"/wallet/triggerconstantcontract": expected}


@pytest.mark.parametrize(
    "answer", [{}, [], None, {"Error": "busy"}, {"result": {"code": "OTHER_ERROR"}}, {"result": {"result": True}}]
)
def test_a_constant_call_without_an_answer_says_nothing(node: Node, answer: Any) -> None:
    node.answers["/wallet/triggerconstantcontract"] = answer
    with pytest.raises(ChainUnavailable):
        node.chain.simulate([(OWNER, CALL)])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"result": True, "code": "SUCCESS", "txid": "ab", "message": "", "transaction": "{}"},
            BroadcastResult(True, "ab", "SUCCESS", ""),
        ),
        ({"result": True, "txid": "ab"}, BroadcastResult(True, "ab", "SUCCESS", "")),
        (
            {"code": "SIGERROR", "txid": "ab", "message": b"Validate signature error".hex()},
            BroadcastResult(False, "ab", "SIGERROR", "Validate signature error"),
        ),
        (
            {"result": False, "code": "TAPOS_ERROR", "txid": "ab", "message": "Tapos\u202e check\n error."},
            BroadcastResult(False, "ab", "TAPOS_ERROR", "Tapos check error."),
        ),
        ({"Error": "class X : no"}, BroadcastResult(False, "", "OTHER_ERROR", "class X : no")),
        ({"result": "true", "code": None}, BroadcastResult(False, "", "OTHER_ERROR", "")),
    ],
)
def test_the_nodes_verdict_on_a_transaction(node: Node, answer: Any, said: BroadcastResult) -> None:
    node.answers["/wallet/broadcasthex"] = answer
    assert node.chain.broadcast(b"\1\2") == said
    assert node.asked == [("/wallet/broadcasthex", {"transaction": "0102"})]


def test_nobody_knows_what_became_of_a_transaction_that_the_node_does_not_answer_for(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    for answer in ({}, [], None, "ok"):
        node.answers["/wallet/broadcasthex"] = answer
        with pytest.raises(BadGateway, match="look it up"):
            node.chain.broadcast(b"\1")
    node.status = 429
    with pytest.raises(BadGateway, match="may have been sent"):
        node.chain.broadcast(b"\1")
    node.status = 200
    node.may_answer.clear()
    monkeypatch.setattr(http_client, "READ_SECONDS", 0.2)
    with pytest.raises(BadGateway, match="may have been sent"):
        node.chain.broadcast(b"\1")
    node.may_answer.set()
    with pytest.raises(BadGateway):
        TronChain("tron", "http://127.0.0.1:9").broadcast(b"\1")


@pytest.mark.parametrize("raw", [b"", b"<html>busy</html>", b"null", b"[]", b"{}", b"[" * 5_000])
def test_whatever_is_not_an_answer_means_that_the_chain_is_away(node: Node, raw: bytes) -> None:
    node.raw = raw or b" "
    for ask in (
        node.chain.head,
        lambda: node.chain.block_hashes([1]),
        lambda: node.chain.read_range(BlockRange(5, 9), None),
        lambda: node.chain.has_code(USDT),
        lambda: node.chain.read_wallet(OWNER, [], PROXY),
        lambda: node.chain.which_revert(OWNER, [CALL]),
    ):
        with pytest.raises(ChainUnavailable):
            ask()


def test_tron_has_its_own_kind_of_chain_and_the_key_of_its_provider(node: Node) -> None:
    node.answers["eth_getCode"] = "0x6001"
    chains = Chains(SimpleNamespace(rpc_urls={"tron": (node.url,), "base": (node.url,)}, tron_api_key="secret"))
    assert chains.tron() is chains.of("tron")
    assert not isinstance(chains.of("base"), TronChain)
    assert chains.of("tron").has_code(USDT)
    assert node.keys == {"secret"}
    with pytest.raises(ChainUnavailable):
        Chains(SimpleNamespace(rpc_urls={})).tron()


def test_an_owner_stands_by_a_signature_of_his_key() -> None:
    from tronpy.keys import PrivateKey

    key, digest = PrivateKey(bytes.fromhex("c1" * 32)), bytes(32)
    signature = key.sign_msg_hash(digest).to_bytes()
    chain = TronChain("tron", "http://127.0.0.1:9")
    assert chain.is_valid_signature(key.public_key.to_base58check_address(), digest, signature)
    assert not chain.is_valid_signature(OWNER, digest, signature)


def test_a_contract_that_returns_megabytes_leaves_the_result_of_a_simulation_unknown(node: Node) -> None:
    node.answers["/wallet/triggerconstantcontract"] = constant(constant_result=["ff" * 3_700_000])
    found = node.chain.simulate([(OWNER, CALL), (OWNER, CALL)])
    assert found.steps == (StepResult(None, TOO_LARGE), StepResult(None, UNKNOWN_STEP))
    with pytest.raises(ChainUnavailable):
        node.chain.which_revert(OWNER, [CALL])
