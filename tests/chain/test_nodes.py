"""Several nodes as one chain: which of them answers, how long they are asked, and who is sent a transaction."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.chain.chains import Chains, host_of
from chalicelib.chain.evm import EvmChain
from chalicelib.chain.nodes import Nodes
from chalicelib.chain.ranges import RangeTooLarge
from chalicelib.chain.rpc import http_client
from chalicelib.chain.rpc.jsonrpc import RpcError
from chalicelib.chain.tron import BroadcastResult

NOW = datetime(2026, 3, 15, tzinfo=UTC)
ACCEPTED = BroadcastResult(True, "id", "SUCCESS", "")


class Stub:
    """A chain of one node whose every method does what the test says; `asked` counts."""

    network, escrow = "base", None

    def __init__(self, does: Callable[..., Any]) -> None:
        self.does, self.asked = does, 0

    def __getattr__(self, name: str) -> Any:
        def method(*args: Any) -> Any:
            self.asked += 1
            return self.does(*args)

        return method


def raising(error: Exception) -> Callable[..., Any]:
    def do(*args: Any) -> Any:
        raise error

    return do


def nodes_of(*stubs: Stub, clock: Callable[[], datetime] = lambda: NOW) -> Any:
    return Nodes([(f"host{number}", stub) for number, stub in enumerate(stubs)], clock)  # type: ignore[misc]


UNAVAILABLE = ChainUnavailable("The base node does not answer")
LIMIT = RpcError("base", {"code": -32005, "message": "daily limit reached"})
BEHIND = RpcError("base", {"code": -32000, "message": "header not found"})
REVERTED = RpcError("base", {"code": 3, "message": "execution reverted"})


@pytest.mark.parametrize("error", [UNAVAILABLE, LIMIT, BEHIND, RangeTooLarge("more than 10 blocks")])
def test_what_one_node_does_not_answer_another_one_does(error: Exception) -> None:
    broken, sound = Stub(raising(error)), Stub(lambda *args: args)
    assert nodes_of(broken, sound).has_code("0x1") == ("0x1",)
    assert (broken.asked, sound.asked) == (1, 1)


def test_a_node_that_failed_is_asked_last_for_some_minutes() -> None:
    now = NOW
    broken, sound = Stub(raising(UNAVAILABLE)), Stub(lambda: "sound")
    nodes = nodes_of(broken, sound, clock=lambda: now)
    for _ in range(3):
        assert nodes.head() == "sound"
    assert broken.asked == 1
    now, broken.does = now + timedelta(minutes=5), lambda: "well again"
    assert nodes.head() == "well again"


def test_a_contract_that_fails_would_fail_at_every_node() -> None:
    first, second = Stub(raising(REVERTED)), Stub(lambda: 1)
    nodes = nodes_of(first, second)
    for count in (1, 2):
        with pytest.raises(RpcError):
            nodes.read_batch_fee()
        assert (first.asked, second.asked) == (count, 0)


def test_without_a_node_that_answers_the_first_error_is_raised() -> None:
    with pytest.raises(RpcError) as raised:
        nodes_of(Stub(raising(LIMIT)), Stub(raising(UNAVAILABLE))).head()
    assert raised.value is LIMIT


def test_facts_of_the_network_are_no_calls() -> None:
    nodes = nodes_of(Stub(raising(UNAVAILABLE)), Stub(lambda: 1))
    assert (nodes.network, nodes.escrow) == ("base", None)


def test_a_late_network_takes_the_node_with_the_highest_block() -> None:
    nodes = nodes_of(Stub(lambda: 10), Stub(lambda: 12), Stub(raising(UNAVAILABLE)))
    assert [nodes.one(is_late)[1] for is_late in (False, True)] == [10, 12]
    with pytest.raises(ChainUnavailable):
        nodes_of(Stub(raising(UNAVAILABLE)), Stub(raising(LIMIT))).one(True)


def test_a_transaction_is_sent_until_a_node_says_nothing_against_it() -> None:
    refusing, taking, third = Stub(lambda signed: ("underpriced",)), Stub(lambda signed: (None,)), Stub(lambda signed: 1 / 0)
    assert nodes_of(refusing, taking, third).send_raw(["0x1"]) == (None,)
    assert nodes_of(refusing, Stub(raising(UNAVAILABLE))).send_raw(["0x1"]) == ("underpriced",)
    with pytest.raises(ChainUnavailable):
        nodes_of(Stub(raising(UNAVAILABLE)), Stub(raising(UNAVAILABLE))).send_raw(["0x1"])


def test_a_transaction_of_tron_whose_answer_was_lost_is_sent_to_the_next_node() -> None:
    lost = Stub(raising(BadGateway("unknown")))
    known = Stub(lambda signed: BroadcastResult(False, "id", "DUP_TRANSACTION_ERROR", "known"))
    refused = BroadcastResult(False, "", "SIGERROR", "wrong")
    assert nodes_of(lost, Stub(lambda signed: ACCEPTED)).broadcast(b"") == ACCEPTED
    assert nodes_of(lost, known).broadcast(b"") == ACCEPTED
    assert nodes_of(known, lost).broadcast(b"").code == "DUP_TRANSACTION_ERROR"
    assert nodes_of(Stub(lambda signed: refused), Stub(lambda signed: ACCEPTED)).broadcast(b"") == refused
    with pytest.raises(BadGateway):
        nodes_of(lost, Stub(raising(BadGateway("unknown")))).broadcast(b"")


class Silent(BaseHTTPRequestHandler):
    """Answers nothing for longer than any client waits here, at /slow, and a block number elsewhere."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/slow":
            time.sleep(1)
            return
        body = b'[{"id": 0, "result": "0x2105"}, {"id": 1, "result": "0x64"}]'
        status = 429 if self.path == "/limit" else 200
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("broken", ["http://127.0.0.1:9", "/slow", "/limit"])
def test_two_urls_share_the_time_of_one(url: str, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "TOTAL_SECONDS", 0.6)
    urls = {"base": (broken if broken.startswith("http") else url + broken, url + "/key")}
    began = time.monotonic()
    assert Chains(SimpleNamespace(rpc_urls=urls)).of("base").head() == 100
    assert time.monotonic() - began < 0.9


def test_a_chain_is_kept_until_its_urls_change() -> None:
    secrets = SimpleNamespace(rpc_urls={"base": ("http://one",)})
    chains = Chains(secrets)
    first = chains.of("base")
    assert isinstance(first, EvmChain)
    assert chains.of("base") is first
    secrets.rpc_urls = {"base": ("http://one", "http://two")}
    second = chains.of("base")
    assert isinstance(second, Nodes)
    assert chains.of("base") is second
    secrets.rpc_urls = {}
    with pytest.raises(ChainUnavailable):
        chains.of("base")


@pytest.mark.parametrize(
    "url",
    ["https://node.example/v2/secret", "https://user:secret@node.example/", "https://node.example?key=secret"],
)
def test_the_host_of_a_url_has_none_of_its_secrets(url: str) -> None:
    assert host_of(url) == "node.example"
