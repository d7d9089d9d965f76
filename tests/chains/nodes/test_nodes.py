"""Several nodes as one chain: which of them answers, how long they are asked, and who is sent a transaction."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import permutations
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.chains import Chains, host_of
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.log_ranges import BlockRefused, RangeTooLarge
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.nodes import Node, Nodes, NodesDisagree, agreeing, one_node, others_of, read_by_each
from chalicelib.chains.nodes.readings import AccountReading, NodeView
from chalicelib.chains.nodes.rpc import http_client
from chalicelib.chains.nodes.rpc.jsonrpc import RpcError
from chalicelib.chains.nodes.tron import BroadcastResult

NOW = datetime(2026, 3, 15, tzinfo=UTC)
PAYER = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
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
    now += timedelta(minutes=5) - timedelta(seconds=1)
    assert (nodes.head(), broken.asked) == ("sound", 1)
    now, broken.does = now + timedelta(seconds=1), lambda: "well again"
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


def test_no_node_alone_names_the_price_of_gas() -> None:
    def account(base_fee: int, tip: int) -> Stub:
        return Stub(lambda address: AccountReading(100, 7, BaseUnits(5), BaseUnits(base_fee), BaseUnits(tip)))

    for stubs in permutations((account(10, 1), account(11, 199), account(900, 2))):
        read = nodes_of(*stubs).read_account(PAYER)
        assert (read.base_fee, read.tip) == (11, 2), "the middle one of three"
    for stubs in permutations((account(10, 1), account(11, 199))):
        read = nodes_of(*stubs).read_account(PAYER)
        assert (read.base_fee, read.tip) == (10, 1), "the lower one of two"
    read = nodes_of(account(10, 1), Stub(raising(UNAVAILABLE))).read_account(PAYER)
    assert (read.nonce, read.tip) == (7, 1)
    with pytest.raises(ChainUnavailable):
        nodes_of(Stub(raising(UNAVAILABLE)), Stub(raising(UNAVAILABLE))).read_account(PAYER)


def test_a_nonce_is_executed_if_one_node_has_executed_it() -> None:
    def account(nonce: int) -> Stub:
        return Stub(lambda address: AccountReading(100, nonce, BaseUnits(5), BaseUnits(1), BaseUnits(1)))

    for stubs in permutations((account(7), account(8))):
        read = nodes_of(*stubs).read_account(PAYER)
        assert (read.executed, read.nonce) == (8, stubs[0].does(PAYER).nonce)
    assert account(7).does(PAYER).executed == 7


def test_facts_of_the_network_are_no_calls() -> None:
    nodes = nodes_of(Stub(raising(UNAVAILABLE)), Stub(lambda: 1))
    assert (nodes.network, nodes.escrow) == ("base", None)
    single = nodes_of(Stub(lambda: 7))
    assert (single.network, single.escrow) == ("base", None)
    only, head = single.one(False)
    assert (only.network, only.escrow, head) == ("base", None, 7)


def test_a_late_network_takes_the_node_with_the_highest_block() -> None:
    nodes = nodes_of(Stub(lambda: 10), Stub(lambda: 12), Stub(raising(UNAVAILABLE)))
    assert [nodes.one(is_late)[1] for is_late in (False, True)] == [10, 12]
    with pytest.raises(ChainUnavailable):
        nodes_of(Stub(raising(UNAVAILABLE)), Stub(raising(LIMIT))).one(True)


def test_one_node_is_taken_of_several_and_a_single_one_is_itself() -> None:
    single = Stub(lambda: 7)
    assert one_node(single, True) == (single, 7)  # type: ignore[arg-type]
    taken, head = one_node(nodes_of(Stub(lambda: 10), Stub(lambda: 12)), True)
    assert (taken.host, head) == ("host1", 12)  # type: ignore[attr-defined]


class Blocks(Stub):
    """A node whose newest block is `head`; a block's hash is its number and `fork`, from the block of the fork on."""

    def __init__(self, head: int | None, fork: str = "", since: int = 0) -> None:
        super().__init__(lambda *args: "reading")
        self.newest, self.fork, self.since, self.fails = head, fork, since, False

    def head(self) -> int:
        if self.newest is None:
            raise UNAVAILABLE
        return self.newest

    def block_hashes(self, numbers: list[int]) -> dict[int, str | None]:
        head = self.head()
        if self.fails:
            raise UNAVAILABLE
        return {
            number: None if number > head else f"{number}{self.fork if number >= self.since else ''}"
            for number in numbers
        }


def test_each_node_says_its_newest_block_and_the_newest_confirmed_blocks_of_all() -> None:
    nodes = nodes_of(Blocks(20), Blocks(18, "b", since=17), Blocks(None))
    assert nodes.views(3) == (
        NodeView("host0", 20, {16: "16", 18: "18"}),
        NodeView("host1", 18, {16: "16", 18: "18b"}),
        NodeView("host2", None, {}),
    )


def test_the_first_blocks_of_a_chain_are_compared_though_none_is_confirmed() -> None:
    assert nodes_of(Blocks(1), Blocks(None)).views(5)[0] == NodeView("host0", 1, {0: "0"})


def test_a_node_without_hashes_has_no_newest_block_either() -> None:
    half = Blocks(20)
    half.fails = True
    assert nodes_of(half, Blocks(20)).views(1) == (NodeView("host0", None, {}), NodeView("host1", 20, {20: "20"}))


RANGE = BlockRange(1, 2)


def test_blocks_are_read_again_by_each_node_that_answers_this_one_last() -> None:
    first, silent, third = Blocks(9), Stub(raising(UNAVAILABLE)), Stub(lambda *args: "of the third")
    (node, _), said = nodes_of(first, silent, third).one(False), list[Any]()
    first.does = lambda *args: said.append(args) or "its own"

    def read() -> list[tuple[str, Any]]:
        return [(cast("Node", reader).host, reading) for reader, reading in read_by_each(node, RANGE, None)]

    assert read() == [("host2", "of the third"), ("host0", "its own")]
    assert (silent.asked, third.asked) == (1, 1)
    assert said == [(RANGE, None)]
    first.does = raising(BlockRefused("too many logs"))
    assert read() == [("host2", "of the third")]
    assert silent.asked == 1, "it has just failed"
    third.does = raising(BlockRefused("too many logs"))
    with pytest.raises(BlockRefused):
        read()
    first.does = lambda *args: "its own"
    assert read() == [("host0", "its own")]


def test_a_single_node_reads_its_blocks_again_itself() -> None:
    ((_, reading),) = read_by_each(Stub(lambda *args: args), RANGE, None)  # type: ignore[arg-type]
    assert reading == (RANGE, None)  # type: ignore[comparison-overlap]


def test_another_hash_of_a_block_at_another_node_is_a_contradiction_and_a_missing_block_is_none() -> None:
    hashes = {8: "8", 9: "9"}

    def agree(*others: Blocks) -> int:
        reader = cast("Node", nodes_of(Blocks(9), *others).one(False)[0])
        return len(agreeing(reader, reader.others, hashes))

    for others, number in (
        ((Blocks(9),), 1),
        ((Blocks(8),), 0),
        ((Blocks(None),), 0),
        ((Blocks(9), Blocks(9, "b", since=10)), 2),
    ):
        assert agree(*others) == number
    for wrong in ((Blocks(9, "b", since=9),), (Blocks(None), Blocks(9, "b", since=9)), (Blocks(7), Blocks(8, "b"))):
        with pytest.raises(NodesDisagree) as raised:
            agree(*wrong)
        assert f"at host{len(wrong)}" in raised.value.reason and "at host0" in raised.value.reason


def test_a_transaction_is_sent_until_a_node_says_nothing_against_it() -> None:
    refusing, taking, third = (
        Stub(lambda signed: ("underpriced",)),
        Stub(lambda signed: (None,)),
        Stub(lambda signed: 1 / 0),
    )
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
    "again",
    ["http://one/key", "http://ONE/key", "http://one:80/key", "http://one./key", "https://one/key", "https://one:443/key",
     "http://one/key/", " http://one/key", "http://one/%6Bey", "http://user@one/key"],
)  # fmt: skip
def test_a_url_that_is_there_twice_is_one_node_and_confirms_nothing(again: str) -> None:
    chain = Chains(SimpleNamespace(rpc_urls={"base": ("http://one/key", again)})).of("base")
    assert isinstance(chain, EvmChain)
    assert others_of(chain) == ()


@pytest.mark.parametrize(
    "other", ["http://two/key", "http://one/other", "http://one:81/key", "http://one/key?a", "http://one/KEY"]
)
def test_another_url_is_another_node(other: str) -> None:
    chain = Chains(SimpleNamespace(rpc_urls={"base": ("http://one/key", "http://one/key/", other)})).of("base")
    assert isinstance(chain, Nodes)
    assert len(chain.nodes) == 2


@pytest.mark.parametrize(
    "url",
    ["https://node.example/v2/secret", "https://user:secret@node.example/", "https://node.example?key=secret"],
)
def test_the_host_of_a_url_has_none_of_its_secrets(url: str) -> None:
    assert host_of(url) == "node.example"
