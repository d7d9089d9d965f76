"""`set-node` and `nodes`: what is checked of a node before its URL is stored, what is stored, and what is printed."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from chalicelib.base.timestamps import iso
from chalicelib.chains.nodes.rpc.http_client import HttpError
from chalicelib.payments.scanning.records import Cursor, DeferredTransaction
from chalicelib.platform.services import assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.secrets import read_entries
from infra import admin
from infra import nodes as infra_nodes
from infra.local.cloud import Cloud
from tests.fakes.node import FakeNode, Outage, TimedChain
from tests.fakes.world import START, create_tables

PREFIX = "payment-requests-nodes"
SECRET = f"{PREFIX}-rpc-urls"
Run = Callable[..., tuple[int, str, str]]


class Served(FakeNode):
    """A node over HTTP below a path with a key. `most` is how many blocks it takes at once; blocks before `pruned` have no
    receipts, or, if it `forgets`, no logs."""

    most, pruned, forgets = 10**9, 0, False

    def __init__(self, chain: TimedChain) -> None:
        super().__init__(chain)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/v2/top-secret"

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        if call["method"] == "eth_getLogs":
            first, last = (int(call["params"][0][name], 16) for name in ("fromBlock", "toBlock"))
            if last - first >= self.most:
                return {
                    "jsonrpc": "2.0",
                    "id": call["id"],
                    "error": {"code": -32005, "message": "block range too large"},
                }
            if last < self.pruned and self.forgets:
                return {"jsonrpc": "2.0", "id": call["id"], "result": []}
        return super()._answer(call)

    def _block(self, number: int) -> Any:
        block = super()._block(number)
        hashes = sorted({log["transactionHash"] for log in self.chain.blocks[number].logs}) if block else []
        return block and {**block, "transactions": hashes}

    def _receipt(self, tx_hash: str) -> Any:
        found = super()._receipt(tx_hash)
        return None if found and int(found["blockNumber"], 16) < self.pruned and not self.forgets else found

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _handler(node: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            try:
                answer = node.post_json(self.path.removeprefix("/v2/top-secret"), body)
            except HttpError:
                return
            self.send_response(answer.status)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *args: Any) -> None:
            return

    return Handler


def chain(network: str, seed: int = 0) -> TimedChain:
    """A chain of 3,000 blocks whose block 1 has a log: it is younger than 30 days, and has no older block."""
    made = TimedChain(network, lambda: START, seed)
    made.mine(2991)
    made.blocks[1].logs.append(
        {
            "address": "0x" + "11" * 20,
            "topics": ["0x" + "22" * 32],
            "data": "0x",
            "transactionHash": "0x" + "33" * 32,
            "logIndex": "0x0",
            "blockNumber": "0x1",
            "blockHash": made.blocks[1].hash,
        }
    )
    return made


@pytest.fixture(scope="module")
def store(cloud: Cloud) -> Any:
    Logger(service="payment-requests")  # keeps the stream it finds when it is made: not the one of a single test
    create_tables(cloud.client("dynamodb"), PREFIX)
    secrets = cloud.client("secretsmanager")
    secrets.create_secret(Name=SECRET, SecretString="{}")
    return secrets


@pytest.fixture
def run(cloud: Cloud, store: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in the local cloud: its exit code, what it printed, and what it said on stderr."""
    store.put_secret_value(SecretId=SECRET, SecretString='{"tron_api_key": "key", "mainnet": "http://other"}')
    for name, value in {**cloud.environment(), "RESOURCE_PREFIX": PREFIX, "STAGE": "local"}.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = admin.main(list(arguments))
        said = capsys.readouterr()
        assert "top-secret" not in said.out + said.err
        return code, said.out.strip(), said.err.strip()

    return run


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    served = list[Served]()

    def serve(network: str = "base", seed: int = 0, **behaviour: Any) -> Served:
        node = Served(chain(network, seed))
        for name, value in behaviour.items():
            setattr(node, name, value)
        served.append(node)
        return node

    yield serve
    for node in served:
        node.close()


def entries(store: Any) -> Any:
    return read_entries(store.get_secret_value(SecretId=SECRET)["SecretString"])


def test_the_first_node_of_a_stage_is_stored_in_a_secret_that_has_no_value_yet(
    run: Run, cloud: Cloud, store: Any, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As CloudFormation makes it."""
    store.delete_secret(SecretId=SECRET, ForceDeleteWithoutRecovery=True)
    store.create_secret(Name=SECRET)
    node = serve("base")
    status, *_ = run("set-node", "--network", "base", node.url)
    assert status == 0
    assert entries(store) == {"base": node.url}


def test_a_node_is_checked_and_stored_and_other_entries_stay(
    run: Run, store: Any, serve: Callable[..., Served]
) -> None:
    node = serve()
    code, out, error = run("set-node", "--network", "base", node.url)
    assert (code, error) == (0, "")
    checked, stored = out.splitlines()
    assert f"{node.host}  chain 8453  block 3000  logs of block 1  2000 blocks at once, as asked for" in checked
    assert stored == "base is stored. It is in force within 60 s."
    assert entries(store) == {"tron_api_key": "key", "mainnet": "http://other", "base": node.url}
    code, out, _ = run("nodes")
    assert [line.split()[:2] for line in out.splitlines()] == [["base", node.host], ["mainnet", "other"]]


def test_deferred_transactions_are_listed_with_their_hashes_and_since_when(run: Run) -> None:
    assert run("deferred")[1] == "No transaction is deferred."
    services = assemble(Settings.read())
    services.store.write(Cursor("mainnet", 8, (), 2000, read_until=START, deferred_from=""))
    services.store.put_many([DeferredTransaction("mainnet", at, f"0x{at:064x}", START) for at in (7, 8)])
    code, out, _ = run("deferred")
    assert (code, out.splitlines()) == (
        0,
        [f"mainnet       block {at}  0x{at:064x}  since {iso(START)}" for at in (7, 8)],
    )
    assert "transactions deferred: see `deferred`" in run("nodes")[1]


def test_a_smaller_range_is_told(run: Run, serve: Callable[..., Served]) -> None:
    _, out, _ = run("set-node", "--network", "base", serve(most=300).url)
    assert "250 blocks at once, of the 2000 that are asked for" in out


def test_several_nodes_are_stored_in_their_order_and_can_be_removed(
    run: Run, store: Any, serve: Callable[..., Served]
) -> None:
    first, second = serve(), serve()
    assert run("set-node", "--network", "base", "-", stdin=f"{first.url}\n{second.url}\n")[0] == 0
    assert entries(store)["base"] == [first.url, second.url]
    assert run("set-node", "--network", "base", "--remove", first.url)[:2] == (
        0,
        "base has 1 left. It is in force within 60 s.",
    )
    assert entries(store)["base"] == [second.url]
    assert run("set-node", "--network", "base", "--remove")[0] == 0
    assert entries(store) == {"tron_api_key": "key", "mainnet": "http://other"}
    assert run("set-node", "--network", "base", "--remove")[0] == 1


def test_a_node_of_tron_is_asked_at_its_two_apis(run: Run, store: Any, serve: Callable[..., Served]) -> None:
    node = serve("tron")
    code, out, _ = run("set-node", "--network", "tron", node.url)
    assert (code, "chain 728126428" in out, entries(store)["tron"]) == (0, True, node.url)


@pytest.mark.parametrize(
    ("network", "behaviour", "sentence"),
    [
        (
            "base",
            {"pruned": 100},
            "it has no receipts of block 1, use a node with an archive of 30 days; nothing is changed.",
        ),
        ("base", {"pruned": 100, "forgets": True}, "it leaves out logs of block 1, use a node with an archive of logs"),
        ("base", {"outage": Outage.REFUSES_LOGS}, "query exceeds max results"),
        ("base", {"outage": Outage.TOO_MANY_REQUESTS}, "The base node refused a request (rate limit)"),
        ("base", {"outage": Outage.TIMEOUT}, "The base node does not answer"),
        ("base", {"most": 0}, "block range too large"),
        ("sepolia", {}, "The node for sepolia is of chain 8453; nothing is changed."),
        ("nowhere", {}, "nowhere is not a network; nothing is changed."),
    ],
)
def test_a_node_that_cannot_be_used_is_refused_with_one_sentence(
    run: Run, store: Any, serve: Callable[..., Served], network: str, behaviour: dict[str, Any], sentence: str
) -> None:
    before = entries(store)
    code, out, error = run("set-node", "--network", network, serve(**behaviour).url)
    assert (code, out) == (1, "")
    assert sentence in error
    assert len(error.splitlines()) == 1
    assert entries(store) == before


@pytest.mark.parametrize(
    "urls",
    [[], ["node.example"], ["ftp://node.example"], ["http://127.0.0.1:9"], ["http://a", "http://a"], ["http://a:80/", "http://A"]],
)
def test_what_is_no_url_of_a_node_is_refused(run: Run, urls: list[str]) -> None:
    code, _, error = run("set-node", "--network", "base", *urls)
    assert (code, len(error.splitlines())) == (1, 1)


def test_nodes_that_disagree_are_not_stored_together(run: Run, serve: Callable[..., Served]) -> None:
    first, second = serve(), serve(seed=1)
    code, _, error = run("set-node", "--network", "base", first.url, second.url)
    assert code == 1
    assert error.startswith("The nodes do not fit together: block ")


def test_a_change_of_somebody_else_is_not_overwritten(
    run: Run, store: Any, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = serve()
    make = infra_nodes.aws_client

    def interposed(service: str) -> Any:
        client = make(service)
        read = client.get_secret_value

        def read_and_be_overtaken(**asked: Any) -> Any:
            found = read(**asked)
            store.put_secret_value(SecretId=SECRET, SecretString='{"optimism": "http://new"}')
            return found

        client.get_secret_value = read_and_be_overtaken
        return client

    monkeypatch.setattr(infra_nodes, "aws_client", interposed)
    code, _, error = run("set-node", "--network", "base", node.url)
    assert (code, error) == (1, "Somebody changed the node URLs at the same moment: run the command again.")
    assert entries(store) == {"optimism": "http://new"}
