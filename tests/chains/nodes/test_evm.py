"""What a node may answer besides the truth: errors in every spelling, nothing, another chain, late, or too little."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from eth_abi import encode

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.accounts.balances import TokenReading
from chalicelib.chains.nodes.accounts.simulation import TOO_LARGE, UNKNOWN_STEP, Simulation, StepResult
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, Disconnected, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockFacts, BlockRange, Checkpoint, InconsistentNode
from chalicelib.chains.nodes.history.receipts import PaidTransfer, PaymentSender
from chalicelib.chains.nodes.rpc import http_client, jsonrpc
from chalicelib.chains.nodes.safes.reads import SAFE_TOPICS, SafeEvent
from tests.support.patience import patience

HASH = "0x" + "ab" * 32
SPAN = BlockRange(5, 9)
WALLET, SPENDER, SAFE = "0x" + "11" * 20, "0x" + "33" * 20, "0x" + "5A" * 20
STEP = Transaction("0x" + "22" * 20, "0x095ea7b3", 0)
SUCCESS, FAILURE = SAFE_TOPICS


def sent(*transactions: Transaction) -> list[tuple[str, Transaction]]:
    return [(WALLET, each) for each in transactions]


Answer = Callable[[list[dict[str, Any]]], Any]


class Node(ThreadingHTTPServer):
    """A JSON-RPC node that answers as the test says."""

    daemon_threads = False  # closing waits for the last answer
    answer: Answer

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def chain(self) -> EvmChain:
        return EvmChain("sepolia", f"http://127.0.0.1:{self.server_address[1]}")

    def results(self, *results: Any) -> None:
        """Answers a batch with these results, in order."""
        self.answer = lambda calls: [
            {"jsonrpc": "2.0", "id": call["id"], "result": result} for call, result in zip(calls, results, strict=True)
        ]

    def logs(self, indexed: list[Any], all_events: list[Any], head: int = 9) -> None:
        """Answers a query with a second topic with `indexed`, others with `all_events`, and headers up to `head`."""

        def result(method: str, query: Any) -> Any:
            if method == "eth_getLogs":
                return indexed if len(query["topics"]) == 2 else all_events
            return block(int(query, 16)) if int(query, 16) <= head else None

        self.answer = lambda calls: [
            {"id": call["id"], "result": result(call["method"], call["params"][0])} for call in calls
        ]

    def error(self, error: Any) -> None:
        self.answer = lambda calls: [{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls]


class Handler(BaseHTTPRequestHandler):
    server: Node

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client closes the connection of a response that is too long
            super().handle()

    def do_POST(self) -> None:
        calls = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = self.server.answer(calls)
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # the client may not wait
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def node() -> Iterator[Node]:
    running = Node()
    yield running
    running.shutdown()
    running.server_close()


def block(number: int, hash: str = HASH) -> dict[str, str]:
    return {"number": hex(number), "hash": hash, "timestamp": "0x5"}


def test_the_head_of_another_chain_is_refused(node: Node) -> None:
    node.results(hex(56), "0x10")
    with pytest.raises(ChainUnavailable, match="chain 56"):
        node.chain.head()
    node.results(hex(11155111), "0x10")
    assert node.chain.head() == 16


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>busy</html>",
        b"[]",
        b"{}",
        b"null",
        b'"text"',
        b'[{"jsonrpc":"2.0","id":1}]',
        b'{"jsonrpc":"2.0","id":1,"error":"daily limit"}',
        b"[" * 5_000,
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"daily request limit exceeded"}}',
    ],
)
def test_whatever_is_not_an_answer_means_that_the_chain_is_away(node: Node, answer: bytes) -> None:
    node.answer = lambda calls: answer
    for ask in (
        node.chain.head,
        lambda: node.chain.block_hashes([1]),
        lambda: node.chain.read_range(SPAN, None),
        lambda: node.chain.has_code("0x" + "11" * 20),
        lambda: node.chain.read_wallet("0x" + "11" * 20, [], "0x" + "22" * 20),
        lambda: node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65)),
    ):
        with pytest.raises(ChainUnavailable):
            ask()


def test_an_error_that_is_null_is_no_error(node: Node) -> None:
    node.answer = lambda calls: [{"id": c["id"], "result": "0xaa36a7", "error": None} for c in calls]
    assert node.chain.head() == 11155111


def test_a_node_out_of_quota_is_away_and_not_asked_for_smaller_ranges(node: Node) -> None:
    node.error({"code": -32005, "message": "daily request limit exceeded"})
    with pytest.raises(ChainUnavailable):
        node.chain.read_range(SPAN, None)


def test_a_node_that_takes_too_long_for_a_range_is_asked_for_less(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "READ_SECONDS", 0.2)
    given_up = threading.Event()

    def too_late(calls: list[dict[str, Any]]) -> Any:
        if any(call["method"] == "eth_getLogs" for call in calls):
            given_up.wait(patience())
        return [{"id": call["id"], "result": block(9)} for call in calls]

    node.answer = too_late
    with pytest.raises(RangeTooLarge):
        node.chain.read_range(SPAN, None)
    given_up.set()


def test_a_block_that_the_node_does_not_have_is_a_lag_and_no_fork(node: Node) -> None:
    node.results(None)
    assert node.chain.block_hashes([9]) == {9: None}
    with pytest.raises(ChainUnavailable, match="lags behind"):
        node.chain.block_facts([9])
    node.results(block(4), None, [], None)
    with pytest.raises(ChainUnavailable, match="settled"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))
    node.results(None, block(9), [], block(9))
    with pytest.raises(ChainUnavailable, match="settled"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))


def test_a_range_that_does_not_continue_from_the_checkpoint_is_disconnected(node: Node) -> None:
    node.results(block(4, "0x" + "cd" * 32), block(9), [], block(9))
    with pytest.raises(Disconnected):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))
    node.results(block(4), block(9), [], block(9))
    assert node.chain.read_range(SPAN, Checkpoint(4, HASH)).last.hash == HASH


def test_the_blocks_that_are_compared_are_the_checkpoint_and_the_last_one_before_and_after_the_logs(node: Node) -> None:
    asked: list[Any] = []

    def answer(calls: list[dict[str, Any]]) -> Any:
        asked[:] = [call["params"][0] for call in calls if call["method"] == "eth_getBlockByNumber"]
        results = [
            [] if call["method"] == "eth_getLogs" else block(int(call["params"][0], 16)) for call in calls
        ]
        return [{"id": call["id"], "result": result} for call, result in zip(calls, results, strict=True)]

    node.answer = answer
    node.chain.read_range(SPAN, Checkpoint(4, HASH))
    assert asked == ["0x4", "0x9", "0x9"]
    node.chain.read_range(SPAN, None)
    assert asked == ["0x9", "0x9"]


def test_a_fork_while_the_logs_are_read_is_noticed(node: Node) -> None:
    node.results(block(4), block(9), [], block(9, "0x" + "cd" * 32))
    with pytest.raises(ChainUnavailable, match="settled"):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))


def test_logs_of_blocks_that_were_not_asked_for_are_refused(node: Node) -> None:
    node.results(block(4), block(9), [{"blockNumber": "0xa"}], block(9))
    with pytest.raises(InconsistentNode) as raised:
        node.chain.read_range(SPAN, Checkpoint(4, HASH))
    assert "other blocks" in raised.value.reason


def test_a_call_that_the_node_refuses_would_revert(node: Node) -> None:
    node.error({"code": 3, "message": "execution reverted"})
    call = Transaction(SAFE, "0x", 0)
    assert node.chain.which_revert(WALLET, [call]) == (True,)
    node.results("0x", "0x")
    assert node.chain.which_revert(WALLET, [call, call]) == (False, False)


def test_a_network_without_a_node_is_away() -> None:
    chains = Chains(SimpleNamespace(rpc_urls={"sepolia": ("http://127.0.0.1:9",)}))
    with pytest.raises(ChainUnavailable, match="no node for base"):
        chains.of("base")
    with pytest.raises(ChainUnavailable, match="does not answer"):
        chains.of("sepolia").head()


@pytest.mark.parametrize("result", [None, 7, [], {}, "", "0x", "zz", True, "0x" + "00" * 32])
def test_a_result_of_another_form_is_no_answer(node: Node, result: Any) -> None:
    node.answer = lambda calls: [{"id": call["id"], "result": result} for call in calls]
    chain, wallet = node.chain, "0x" + "11" * 20
    with pytest.raises(ChainUnavailable):
        chain.read_wallet(wallet, ["0x" + "22" * 20], "0x" + "33" * 20)
    with pytest.raises((ChainUnavailable, Disconnected)):
        chain.read_range(SPAN, Checkpoint(4, HASH))
    if not isinstance(result, str | list | dict):
        with pytest.raises(ChainUnavailable):
            chain.has_code(wallet)


@pytest.mark.parametrize(
    ("answer", "verdict"), [("0x01", True), ("0x00", False), ("0x" + "00" * 31 + "01", True), ("0x02", False)]
)
def test_a_wallet_stands_by_a_signature_when_the_validator_says_1(node: Node, answer: str, verdict: bool) -> None:
    node.results(answer)
    assert node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65)) is verdict


@pytest.mark.parametrize(
    "message",
    ["execution reverted", "execution reverted: GS026", "Execution reverted", "VM execution error.", "out of gas"]
    + ["invalid opcode: INVALID", "stack underflow (0 <=> 1)", "EVM error InvalidFEOpcode", "invalid jump destination"],
)
def test_a_wallet_that_fails_does_not_stand_by_a_signature(node: Node, message: str) -> None:
    node.error({"code": -32000, "message": message})
    assert node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65)) is False


@pytest.mark.parametrize(
    "message", ["daily request limit exceeded", "header not found", "execution aborted (timeout = 5s)", ""]
)
def test_a_node_that_fails_says_nothing_about_a_signature(node: Node, message: str) -> None:
    node.error({"code": -32000, "message": message})
    with pytest.raises(ChainUnavailable):
        node.chain.is_valid_signature("0x" + "11" * 20, bytes(32), bytes(65))


def aggregated(*values: int | None) -> str:
    """What Multicall3 returns when the reads gave these numbers; None is one that failed."""
    answers = [(value is not None, b"" if value is None else value.to_bytes(32, "big")) for value in values]
    return "0x" + encode(["(bool,bytes)[]"], [answers]).hex()


def test_one_batch_reads_every_token_the_gas_price_and_the_batch_fee(node: Node) -> None:
    first, second = "0x" + "22" * 20, "0x" + "AA" * 20
    node.results(aggregated(7, 1, 2, 3, 4, 30), "0x5")
    reading = node.chain.read_wallet(WALLET, [first, second], SPENDER, batch_fee=True)
    assert (reading.native_balance, reading.gas_price, reading.batch_fee_bps) == (7, 5, 30)
    assert reading.tokens == {first: TokenReading(1, 2), second: TokenReading(3, 4)}  # type: ignore[arg-type]
    node.results(aggregated(7), "0x5")
    assert node.chain.read_wallet(WALLET, [], SPENDER).tokens == {}
    node.results("0x" + f"{30:064x}")
    assert node.chain.read_batch_fee() == 30


@pytest.mark.parametrize(
    ("code", "is_contract"), [("0x", False), ("0x6001", True), ("0xef0100" + "11" * 20, False), ("0xef0100", True)]
)
def test_the_same_batch_says_whether_a_contract_is_at_an_address(node: Node, code: str, is_contract: bool) -> None:
    """A key's address that delegates to a contract (EIP-7702) has none of its own."""
    node.results(aggregated(7, 1, 2), "0x5", code)
    assert node.chain.read_wallet(WALLET, ["0x" + "22" * 20], SPENDER, code_of=WALLET).is_contract is is_contract
    node.results(aggregated(7, 1, 2), "0x5")
    assert not node.chain.read_wallet(WALLET, ["0x" + "22" * 20], SPENDER).is_contract


@pytest.mark.parametrize("code", [None, 7, [], {}, "", "6001", True])
def test_code_of_another_form_is_no_answer(node: Node, code: Any) -> None:
    node.results(aggregated(7, 1, 2), "0x5", code)
    with pytest.raises(ChainUnavailable):
        node.chain.read_wallet(WALLET, ["0x" + "22" * 20], SPENDER, code_of=WALLET)


@pytest.mark.parametrize("fee", [1_001, 20_000, 2**255])
def test_a_batch_fee_out_of_reason_is_no_answer(node: Node, fee: int) -> None:
    node.results(aggregated(7, fee), "0x5")
    with pytest.raises(ChainUnavailable, match="out of reason"):
        node.chain.read_wallet(WALLET, [], SPENDER, batch_fee=True)
    node.results("0x" + f"{fee:064x}")
    with pytest.raises(ChainUnavailable, match="out of reason"):
        node.chain.read_batch_fee()
    node.results("0x" + f"{1_000:064x}")
    assert node.chain.read_batch_fee() == 1_000


@pytest.mark.parametrize("price", [hex(2**128), hex(2**300), "-0x1"])
def test_a_gas_price_out_of_reason_is_no_answer(node: Node, price: str) -> None:
    node.results(aggregated(7), price)
    with pytest.raises(ChainUnavailable, match="does not answer as it should"):
        node.chain.read_wallet(WALLET, [], SPENDER)


@pytest.mark.parametrize(
    ("sender", "code", "is_wallet"),
    [
        (WALLET, None, True),
        (SPENDER, "0x", True),
        (SPENDER, "0xef0100" + "11" * 20, True),
        (SPENDER, "0x6001", False),
        (SPENDER, "0xef0100" + "11" * 21, False),
    ],
)
def test_a_payer_is_a_wallet_who_sent_the_transaction_or_has_no_code_of_its_own(
    node: Node, sender: str, code: str | None, is_wallet: bool
) -> None:
    token, payee = "0x" + "22" * 20, "0x" + "44" * 20
    words = ["0x" + address[2:].rjust(64, "0") for address in (WALLET, payee)]
    topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    log = {"address": token, "topics": [topic, *words], "data": f"0x{5:064x}"}
    asked = list[str]()

    def answer(calls: list[dict[str, Any]]) -> Any:
        asked.extend(call["method"] for call in calls)
        receipt = {"transactionHash": HASH, "from": sender, "to": token, "logs": [log]}
        results = [receipt if call["method"] == "eth_getTransactionReceipt" else code for call in calls]
        return [{"jsonrpc": "2.0", "id": c["id"], "result": r} for c, r in zip(calls, results, strict=True)]

    node.answer = answer
    paid = PaidTransfer(HASH, token, payee, 5, "")
    assert node.chain.payers_of([paid, paid]) == (PaymentSender(WALLET, is_wallet),) * 2
    assert asked == ["eth_getTransactionReceipt"] + (["eth_getCode"] if code else [])


def test_two_hundred_tokens_are_one_question(node: Node) -> None:
    tokens = [f"0x{number:040x}" for number in range(1, 201)]
    node.results(aggregated(*range(401)), "0x5")
    reading = node.chain.read_wallet(WALLET, tokens, SPENDER)
    assert reading.tokens[tokens[199]] == TokenReading(399, 400)  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [(7, 1, None), (7, None, 2), (None, 1, 2), (7, 1), (7, 1, 2, 3)])
def test_a_wallet_of_which_something_is_not_known_is_not_known(node: Node, values: tuple[int | None, ...]) -> None:
    node.results(aggregated(*values), "0x5")
    with pytest.raises(ChainUnavailable):
        node.chain.read_wallet(WALLET, ["0x" + "22" * 20], SPENDER)


CHAIN_LIBRARIES = {"web3", "eth_account", "eth_abi", "eth_utils", "tronpy", "aiohttp", "httpx", "requests"}


def test_reading_a_wallet_and_a_range_loads_no_library_for_chains_and_not_requests(node: Node) -> None:
    known = {"eth_call": aggregated(7), "eth_gasPrice": "0x5", "eth_getBlockByNumber": block(9), "eth_getLogs": []}
    node.answer = lambda calls: [{"id": call["id"], "result": known[call["method"]]} for call in calls]
    script = """
import sys
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.logs import BlockRange
chain = EvmChain("sepolia", sys.argv[1])
chain.read_wallet("0x" + "11" * 20, [], "0x" + "33" * 20)
chain.read_range(BlockRange(5, 9), None)
print(*sys.modules)
"""
    url = f"http://127.0.0.1:{node.server_address[1]}"
    loaded = subprocess.run([sys.executable, "-c", script, url], capture_output=True, text=True, check=True).stdout
    assert "urllib3" in loaded.split()
    assert not CHAIN_LIBRARIES & set(loaded.split())


def test_a_range_whose_response_is_too_long_asks_for_a_smaller_one(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_RESPONSE_BYTES", 2_000)
    long = [{"blockNumber": "0x6", "data": "0x" + "00" * 2_000}]

    def answer(calls: list[dict[str, Any]]) -> Any:
        results = [long if call["method"] == "eth_getLogs" else block(int(call["params"][0], 16)) for call in calls]
        return [{"id": call["id"], "result": result} for call, result in zip(calls, results, strict=True)]

    node.answer = answer
    with pytest.raises(RangeTooLarge):
        node.chain.read_range(SPAN, Checkpoint(4, HASH))
    node.results("0x" + "00" * 2_000)
    with pytest.raises(ChainUnavailable, match="too much"):
        node.chain.has_code(WALLET)


def test_asking_a_node_leaves_python_able_to_refuse_deep_json() -> None:
    script = """
import json
from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.evm import EvmChain
try:
    EvmChain("sepolia", "http://127.0.0.1:9").head()
except ChainUnavailable:
    pass
try:
    json.loads("[" * 100_000)
except RecursionError:
    print("refused")
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "refused\n"


def timed(number: int, timestamp: int) -> dict[str, str]:
    return {**block(number), "timestamp": hex(timestamp)}


def test_block_times_are_utc_and_each_block_is_asked_for_once(node: Node) -> None:
    node.results(timed(5, 1_767_225_600), timed(6, 1_767_225_612))
    facts = node.chain.block_facts([5, 6, 5])
    times = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 12, tzinfo=UTC)]
    assert facts == {5: BlockFacts(HASH, times[0]), 6: BlockFacts(HASH, times[1])}
    assert node.chain.block_facts([]) == node.chain.block_hashes([]) == {}
    node.results(timed(5, 1), None)
    with pytest.raises(ChainUnavailable, match="lags behind"):
        node.chain.block_facts([5, 9])


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp": "0x1000000000"},
        {"timestamp": "-0x1"},
        {"timestamp": 5},
        {"timestamp": "0x_5"},
        {"number": "0x6"},
        {"number": "5"},
        {"hash": "0xab"},
        {"hash": None},
    ],
)
def test_a_header_of_another_form_or_height_is_not_believed(node: Node, change: dict[str, Any]) -> None:
    node.results({**timed(5, 1), **change})
    with pytest.raises(ChainUnavailable):
        node.chain.block_facts([5])


def test_more_than_100_blocks_are_read_in_several_batches(node: Node) -> None:
    sizes: list[int] = []

    def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        sizes.append(len(calls))
        headers = {call["id"]: timed(int(call["params"][0], 16), int(call["params"][0], 16)) for call in calls}
        return [{"id": number, "result": header} for number, header in reversed(headers.items())]

    node.answer = answer
    facts = node.chain.block_facts(range(250))
    assert [facts[number].time.timestamp() for number in range(250)] == list(range(250))
    assert len(node.chain.block_hashes(range(250))) == 250
    assert sizes == [100, 100, 50] * 2


def test_a_block_that_the_node_does_not_return_has_no_hash_and_the_others_keep_theirs(node: Node) -> None:
    """Pruned nodes answer null, or an error."""

    def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        outcomes = [{"result": None}, {"error": {"code": -32000, "message": "header not found"}}, {"result": block(7)}]
        return [{"id": call["id"], **outcome} for call, outcome in zip(calls, outcomes, strict=True)]

    node.answer = answer
    assert node.chain.block_hashes([5, 6, 7]) == {5: None, 6: None, 7: HASH}
    node.error({"code": -32005, "message": "daily limit exceeded"})
    with pytest.raises(ChainUnavailable):
        node.chain.block_hashes([5, 6, 7])


def simulating(node: Node, *calls: dict[str, Any]) -> None:
    node.results([{"calls": list(calls)}])


def step(**facts: Any) -> dict[str, Any]:
    return {"status": "0x1", "gasUsed": "0x5208", "returnData": "0x", **facts}


def test_a_simulation_says_of_each_step_whether_it_works_and_what_it_uses(node: Node) -> None:
    reason = "0x08c379a0" + encode(["string"], ["Insufficient\nallowance"]).hex()
    simulating(node, step(), step(status="0x0", returnData=reason, error={"message": "execution reverted"}))
    found = node.chain.simulate(sent(STEP, STEP))
    assert found.method == "eth_simulateV1"
    assert found.steps == (StepResult(True, None, 21_000), StepResult(False, "Insufficientallowance", 21_000))


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "reverted without a reason"),
        ({"error": {"message": "key 0xsecret of node.example is over its limit"}}, "reverted without a reason"),
        ({"error": {"message": "out of gas"}}, "out of gas"),
        ({"error": {"message": "EVM error InvalidFEOpcode"}}, "invalid instruction"),
        ({"error": {"message": "execution reverted", "data": "0x12345678"}}, "own error 0x12345678"),
        ({"returnData": None, "error": {"data": {"data": "0x12345678"}}}, "own error 0x12345678"),
    ],
)
def test_a_reason_is_found_wherever_the_node_puts_it_and_its_own_words_are_not_repeated(
    node: Node, facts: dict[str, Any], said: str
) -> None:
    simulating(node, step(status="0x0", **facts))
    (failed,) = node.chain.simulate(sent(STEP)).steps
    assert failed.success is False
    assert failed.reason is not None
    assert said in failed.reason
    assert "secret" not in failed.reason


@pytest.mark.parametrize(
    "answer", [[], [{}], [{"calls": []}], [{"calls": [step(), step()]}], [{"calls": [{}]}], [{"calls": 7}], {}, "0x"]
)
def test_a_simulation_of_another_form_is_no_answer(node: Node, answer: Any) -> None:
    node.results(answer)
    with pytest.raises(ChainUnavailable):
        node.chain.simulate(sent(STEP))


def without_simulation(node: Node, call: dict[str, Any], estimate: dict[str, Any]) -> list[str]:
    """A node that knows eth_call and eth_estimateGas alone; the methods it was asked for."""
    asked: list[str] = []
    known = {"eth_call": call, "eth_estimateGas": estimate}

    def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        asked.extend(each["method"] for each in calls)
        missing = {"error": {"code": -32601, "message": "the method does not exist/is not available"}}
        return [{"id": each["id"], **known.get(each["method"], missing)} for each in calls]

    node.answer = answer
    return asked


def test_a_node_without_simulation_runs_the_first_step_and_is_not_asked_again(node: Node) -> None:
    asked = without_simulation(node, {"result": "0x"}, {"result": "0x5208"})
    chain = node.chain
    for _ in range(2):
        found = chain.simulate(sent(STEP, STEP))
        assert found.method == "eth_call"
        assert [each.success for each in found.steps] == [True, None]
        assert (found.steps[0].gas, found.steps[1].reason) == (21_000, UNKNOWN_STEP)
    assert asked.count("eth_simulateV1") == 1


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ({"code": 3, "message": "execution reverted", "data": "0x12345678"}, "own error 0x12345678"),
        ({"code": -32000, "message": "insufficient funds for gas * price + value"}, "does not have the native coin"),
        ({"code": -32000, "message": "execution reverted"}, "reverted without a reason"),
    ],
)
def test_a_first_step_that_fails_says_why(node: Node, error: dict[str, Any], said: str) -> None:
    without_simulation(node, {"error": error}, {"error": error})
    (failed,) = node.chain.simulate(sent(STEP)).steps
    assert (failed.success, failed.gas) == (False, None)
    assert said in str(failed.reason)


def test_a_first_step_that_works_may_have_no_estimate(node: Node) -> None:
    without_simulation(node, {"result": "0x"}, {"error": {"code": -32000, "message": "gas required exceeds allowance"}})
    assert node.chain.simulate(sent(STEP)).steps == (StepResult(True, None, None),)


def test_revert_data_that_is_no_bytes_is_no_answer(node: Node) -> None:
    simulating(node, step(status="0x0", returnData="0x1"))
    with pytest.raises(ChainUnavailable):
        node.chain.simulate(sent(STEP))


def test_a_node_that_fails_says_nothing_about_a_step(node: Node) -> None:
    without_simulation(node, {"error": {"code": -32005, "message": "daily limit exceeded"}}, {"result": "0x"})
    with pytest.raises(ChainUnavailable):
        node.chain.simulate(sent(STEP))


def test_steps_before_the_one_that_lacks_the_coin_are_simulated_all_the_same(node: Node) -> None:
    def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        (call,) = calls
        steps = call["params"][0]["blockStateCalls"][0]["calls"]
        if any(int(each["value"], 16) for each in steps):
            failure = {"code": -38014, "message": "insufficient funds for gas * price + value"}
            return [{"id": call["id"], "error": failure}]
        return [{"id": call["id"], "result": [{"calls": [step() for _ in steps]}]}]

    node.answer = answer
    paying = replace(STEP, value=5)
    found = node.chain.simulate(sent(STEP, paying, STEP))
    assert found.method == "eth_simulateV1"
    assert [each.success for each in found.steps] == [True, False, None]
    assert "does not have the native coin" in str(found.steps[1].reason)
    assert [each.success for each in node.chain.simulate(sent(paying, paying)).steps] == [False, None]


def safe_log(topic: str, topics: tuple[str, ...], data: str, **facts: Any) -> dict[str, Any]:
    return {
        "address": SAFE.lower(),
        "topics": [topic, *topics],
        "data": data,
        "blockNumber": "0x6",
        "blockHash": HASH,
        "transactionHash": "0x" + "ef" * 32,
        **facts,
    }


def test_a_safe_says_what_it_executed_in_either_of_its_versions(node: Node) -> None:
    one, other, payment = "0x" + "01" * 32, "0x" + "02" * 32, "00" * 32
    logs = [
        safe_log(SUCCESS, (one,), "0x" + payment),
        safe_log(FAILURE, (), other + payment),
        safe_log(SUCCESS, (), "0x" + payment),
        safe_log(SUCCESS, (one,), one + payment),
        safe_log(SUCCESS, (one,), "0x" + payment, removed=True),
        safe_log(SUCCESS, (one,), "0x" + payment, address=WALLET),
    ]
    node.logs([], logs)
    events = [node.chain.safe_event(SAFE, each, SPAN) for each in (one, other, "0x" + "03" * 32)]
    facts = (6, HASH, "0x" + "ef" * 32)
    assert events == [SafeEvent(one, True, *facts), SafeEvent(other, False, *facts), None]
    node.logs(logs[:1], [])
    assert node.chain.safe_event(SAFE, one, SPAN) == SafeEvent(one, True, *facts)
    node.logs([], [], head=8)
    with pytest.raises(ChainUnavailable, match="does not have block"):
        node.chain.safe_event(SAFE, one, SPAN)
    node.logs([safe_log(SUCCESS, (one,), "0x" + payment, blockNumber="0xa")], [])
    with pytest.raises(InconsistentNode):
        node.chain.safe_event(SAFE, one, SPAN)
    for number in ("0x6", "0x9"):
        node.logs([safe_log(SUCCESS, (one,), "0x" + payment, blockNumber=number, blockHash="0x" + "cd" * 32)], [])
        with pytest.raises(InconsistentNode) as raised:
            node.chain.safe_event(SAFE, one, SPAN)
        assert "cdcd" in raised.value.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"topics": [SUCCESS, "0x" + "01" * 32], "data": "0x" + "01" * 32 + "00" * 32},
        {"topics": [SUCCESS, "0x" + "01" * 32], "data": "0x"},
        {"topics": [SUCCESS], "data": "0x" + "01" * 32},
        {"topics": [SUCCESS], "data": "0x" + "01" * 32 + "00" * 64},
        {"topics": [SUCCESS, "0x" + "01" * 32, HASH], "data": "0x" + "00" * 32},
        {"topics": ["0x" + "00" * 32, "0x" + "01" * 32], "data": "0x" + "00" * 32},
        {"topics": [], "data": "0x" + "01" * 32 + "00" * 32},
    ],
)
def test_a_log_of_another_form_is_no_event_of_a_safe(node: Node, changes: dict[str, Any]) -> None:
    node.results(block(9), [], [safe_log(SUCCESS, (), "0x") | changes])
    assert node.chain.safe_event(SAFE, "0x" + "01" * 32, SPAN) is None


def test_the_nonce_of_a_safe_is_read_as_of_a_block(node: Node) -> None:
    asked: list[Any] = []

    def answer(calls: list[dict[str, Any]]) -> Any:
        asked.extend((call["method"], call["params"]) for call in calls)
        return [{"id": call["id"], "result": "0x" + "00" * 31 + "1f"} for call in calls]

    node.answer = answer
    assert node.chain.safe_nonce(SAFE, 18) == 31
    assert asked == [("eth_call", [{"to": SAFE.lower(), "data": "0xaffed0e0", "gas": hex(10_000_000)}, "0x12"])]


def test_a_block_with_more_events_than_we_accept_is_searched_by_the_hash_alone(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_RESPONSE_BYTES", 5_000)
    one = "0x" + "01" * 32
    found = [safe_log(SUCCESS, (one,), "0x" + "00" * 32, blockNumber="0x9")]
    node.logs(found, [safe_log(SUCCESS, (), "0x" + "00" * 64, blockNumber="0x9")] * 100)
    alone = BlockRange(9, 9)
    for blocks in (SPAN, alone):
        assert node.chain.safe_event(SAFE, one, blocks) == SafeEvent(one, True, 9, HASH, "0x" + "ef" * 32)
    found.clear()
    with pytest.raises(RangeTooLarge):
        node.chain.safe_event(SAFE, one, SPAN)
    assert node.chain.safe_event(SAFE, one, alone) is None


def test_a_contract_that_floods_its_events_hides_none_that_is_indexed_and_says_nothing_else(node: Node) -> None:
    """Its hash is what the node is asked for first; among all events, a block that is refused alone is as empty."""
    found: list[dict[str, Any]] = []
    refusal, asked = "query returned more than 10000 results", list[dict[str, Any]]()

    def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(calls) == 1:
            return [{"id": calls[0]["id"], "result": block(int(calls[0]["params"][0], 16))}]
        last, indexed, others = calls
        asked[:] = [indexed["params"][0], others["params"][0]]
        return [
            {"id": indexed["id"], "result": found},
            {"id": last["id"], "result": block(9)},
            {"id": others["id"], "error": {"code": -32005, "message": refusal}},
        ]

    node.answer, one = answer, "0x" + "01" * 32
    with pytest.raises(RangeTooLarge):
        node.chain.safe_event(SAFE, one, SPAN)
    assert [filter_["topics"] for filter_ in asked] == [[[SUCCESS, FAILURE], [one]], [[SUCCESS, FAILURE]]]
    assert node.chain.safe_event(SAFE, one, BlockRange(9, 9)) is None
    found.append(safe_log(SUCCESS, (one,), "0x" + "00" * 32))
    event = node.chain.safe_event(SAFE, one, SPAN)
    assert event is not None and event.success
    found.clear()
    refusal = "daily request limit exceeded"
    with pytest.raises(BlockRefused):
        node.chain.safe_event(SAFE, one, BlockRange(9, 9))


HOSTILE = "0x" + "ff" * 3_700_000
"""What a contract can return, or log, within the gas of a simulation: 7.4 MB of text."""


def test_a_contract_that_returns_megabytes_leaves_the_result_of_a_simulation_unknown(node: Node) -> None:
    simulating(node, step(), step(returnData=HOSTILE))
    found = node.chain.simulate(sent(STEP, STEP))
    assert found == Simulation("eth_simulateV1", (StepResult(None, TOO_LARGE),) * 2)
    without_simulation(node, {"result": HOSTILE}, {"result": "0x5208"})
    found = node.chain.simulate(sent(STEP, STEP))
    assert found == Simulation("eth_call", (StepResult(None, TOO_LARGE), StepResult(None, UNKNOWN_STEP)))


def test_a_simulation_of_a_thousand_payments_is_read(node: Node) -> None:
    logs = [{"data": "0x" + "00" * 160, "topics": ["0x" + "00" * 32] * 3, "transactionHash": HASH}] * 3_000
    simulating(node, step(logs=logs))
    assert node.chain.simulate(sent(STEP)).steps == (StepResult(True, None, 21_000),)


def test_every_call_that_runs_a_contract_has_a_limit_of_gas_and_of_the_result(node: Node) -> None:
    asked = list[dict[str, Any]]()

    def answer(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        asked.extend(call for call in calls if call["method"] in ("eth_call", "eth_estimateGas", "eth_simulateV1"))
        return [{"id": call["id"], "result": HOSTILE} for call in calls]

    node.answer, chain = answer, node.chain
    assert chain.is_valid_signature(SAFE, bytes(32), bytes(65)) is False
    assert chain.safe_nonce(SAFE, 9) is None
    reads: list[Callable[[], object]] = [
        lambda: chain.read_wallet(WALLET, [SAFE], SPENDER, batch_fee=True),
        chain.read_batch_fee,
        lambda: chain.which_revert(WALLET, [Transaction(SAFE, "0x12", 0)]),
        lambda: chain.has_code(SAFE),
        lambda: chain.payers_of([PaidTransfer(HASH, SAFE, WALLET, 5, "")]),
    ]
    for read in reads:
        with pytest.raises(ChainUnavailable):
            read()
    assert len(asked) == 5
    assert all(0 < int(call["params"][0]["gas"], 16) <= 50_000_000 for call in asked)
    for steps, gas in ((1, 2**24), (2, 2**25), (3, 50_000_000), (200, 50_000_000)):
        asked.clear()
        chain.simulate(sent(*[STEP] * steps))
        assert [call["method"] for call in asked] == ["eth_simulateV1"]
        assert int(asked[0]["params"][0]["blockStateCalls"][0]["blockOverrides"]["gasLimit"], 16) == gas


def test_a_node_that_refuses_says_nothing_about_a_call(node: Node) -> None:
    node.error({"code": -32005, "message": "daily request limit exceeded"})
    with pytest.raises(ChainUnavailable):
        node.chain.which_revert(WALLET, [Transaction(SAFE, "0x", 0)])


@pytest.mark.parametrize("nonce", ["0x" + "f" * 65, "-0x1", "zz", None, 5])
def test_a_nonce_that_is_no_data_is_no_answer(node: Node, nonce: Any) -> None:
    node.results(nonce)
    with pytest.raises(ChainUnavailable):
        node.chain.safe_nonce(SAFE, 9)


@pytest.mark.parametrize("returned", ["0x", "0x07", "0x" + "00" * 31, "0x" + "00" * 33, "0x" + "00" * 64])
def test_a_contract_that_returns_no_nonce_is_no_safe(node: Node, returned: str) -> None:
    node.results(returned)
    assert node.chain.safe_nonce(SAFE, 9) is None


FAILURES = ["execution reverted", "execution reverted: header not found", "VM execution error.", "out of gas"]
FAILURES += ["invalid opcode: INVALID", "stack underflow (0 <=> 1)", "EVM error OutOfOffset", "invalid jump destination"]
FAILURES += ["return data out of bounds", "gas uint64 overflow", "max initcode size exceeded: code size 49153 limit 49152"]


@pytest.mark.parametrize("message", FAILURES)
def test_a_contract_that_fails_is_no_safe(node: Node, message: str) -> None:
    """The texts are those of geth, Nethermind and anvil; geth repeats what the contract says."""
    node.error({"code": -32000, "message": message})
    assert node.chain.safe_nonce(SAFE, 9) is None


def test_a_node_that_fails_says_nothing_about_a_nonce(node: Node) -> None:
    node.error({"code": -32000, "message": "missing trie node"})
    with pytest.raises(ChainUnavailable):
        node.chain.safe_nonce(SAFE, 9)


@pytest.mark.parametrize("number", ["-0x1", "0x", "0x1_0", " 0x10", "16", 16, None, "0x" + "1" * 17])
def test_a_head_that_is_no_number_is_no_answer(node: Node, number: Any) -> None:
    node.results(hex(11155111), number)
    with pytest.raises(ChainUnavailable):
        node.chain.head()
