"""Names of payees, resolved on a real chain with its contracts: hostile names, resolvers and gateways."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes
from chalicelib.base.errors import ChainUnavailable, ValidationFailed
from chalicelib.chains.calldata.names import ETHER, coin_type
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.outbound.sender import WebhookSender
from infra.local.chain import Chain
from infra.local.names import gateway_resolver, install_names, register, set_primary, set_record, set_resolver
from tests.fakes.world import World
from tests.onchain.conftest import Nodes
from tests.support.rehearsed import few

ALICE, BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
BASE = coin_type(8453)
MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11"


@pytest.fixture(scope="session")
def _named(running_chain_of: Callable[[str], Chain]) -> Chain:
    """The chain of mainnet with ENS, before any test takes its snapshot."""
    chain = running_chain_of("mainnet")
    install_names(chain)
    return chain


@pytest.fixture
def ens(_named: Chain, chain_of: Callable[[str], Chain]) -> Chain:
    return chain_of("mainnet")


@pytest.fixture
def world(ens: Chain, world_on: Callable[..., World]) -> World:
    return world_on("mainnet", "base")


def ask_for(world: World, name: str, currency: str = "USDC-base") -> Request:
    draft = Draft(Item("1", None, name, currency, currency))
    return requests.create(world.services, replace(world.owner, client_id=None), draft)


def read(world: World, request: Request) -> Request:
    found = request_store.request(world.services.store, request.request_id)
    assert found is not None
    return found


def refusal(world: World, name: str, currency: str = "USDC-base") -> str:
    """What is said of a name that is refused. Nothing is written."""
    before = stored(world)
    with pytest.raises(ValidationFailed) as refused:
        ask_for(world, name, currency)
    assert stored(world) == before
    (problem,) = refused.value.problems
    assert problem.path == ("payee",)
    return problem.message


def stored(world: World) -> int:
    """How many items the tables have, but for counters of rate limits."""
    names = world.client.list_tables()["TableNames"]
    items = [each for name in names for each in world.client.scan(TableName=name)["Items"]]
    return sum("RATE#" not in json.dumps(each, default=str) for each in items)


def test_a_name_is_resolved_for_the_network_of_the_payment(world: World, ens: Chain) -> None:
    register(ens, "alice.eth", {ETHER: ALICE, BASE: BOB})
    assert ask_for(world, "alice.eth").payee == BOB
    found = ask_for(world, "alice.eth", "USDC-mainnet")
    assert found.payee == ALICE
    assert found.payee_name is not None
    assert (found.payee_name.name, found.payee_name.resolved_at) == ("alice.eth", world.now)
    assert read(world, found).payee_name == found.payee_name


def test_without_an_address_for_the_network_a_key_of_mainnet_is_paid_there(world: World, ens: Chain) -> None:
    register(ens, "alice.eth", {ETHER: ALICE})
    assert ask_for(world, "alice.eth").payee == ALICE


def test_a_contract_of_mainnet_is_refused_for_another_network_also_if_code_is_there(
    world: World, ens: Chain, chain_of: Callable[[str], Chain]
) -> None:
    wallet, both = (ens.deploy("0x6001600c60003960016000f300") for _ in range(2))
    chain_of("base").rpc("anvil_setCode", both, "0x00")
    for name, contract in (("safe.eth", wallet), ("both.eth", both)):
        register(ens, name, {ETHER: contract})
        assert "is a contract on mainnet: its owner may not own that address on base" in refusal(world, name)
        assert ask_for(world, name, "USDC-mainnet").payee.lower() == contract.lower()


def test_a_delegated_key_is_paid(world: World, ens: Chain) -> None:
    ens.rpc("anvil_setCode", BOB, "0xef0100" + MULTICALL[2:])
    register(ens, "delegated.eth", {ETHER: BOB})
    assert ask_for(world, "delegated.eth").payee == BOB


def test_a_name_is_primary_only_where_the_address_names_itself_so(world: World, ens: Chain) -> None:
    for name, reverse in (("alice.eth", "alice.eth"), ("bob.eth", "alice.eth"), ("carol.eth", "")):
        register(ens, name, {ETHER: ALICE})
        set_primary(ens, ALICE, reverse)
        found = ask_for(world, name)
        assert found.payee_name is not None
        assert found.payee_name.is_primary is (name == reverse), name


def test_the_reverse_record_is_that_of_the_coin_type_by_which_the_address_was_found(world: World, ens: Chain) -> None:
    register(ens, "alice.eth", {BASE: ALICE})
    set_primary(ens, ALICE, "alice.eth")
    assert not ask_for(world, "alice.eth").payee_name.is_primary  # type: ignore[union-attr]
    set_primary(ens, ALICE, "alice.eth", BASE)
    assert ask_for(world, "alice.eth").payee_name.is_primary  # type: ignore[union-attr]


def test_a_name_that_moves_changes_nothing_of_what_was_created(world: World, ens: Chain) -> None:
    register(ens, "alice.eth", {ETHER: ALICE})
    before = ask_for(world, "alice.eth")
    register(ens, "alice.eth", {ETHER: BOB})
    assert read(world, before).payee == ALICE
    assert ask_for(world, "alice.eth").payee == BOB


def test_a_subname_is_resolved_by_its_own_record_alone_unless_the_parents_resolver_is_an_extended_one(
    world: World, ens: Chain
) -> None:
    register(ens, "alice.eth", {ETHER: ALICE})
    assert "has no address" in refusal(world, "shop.alice.eth")


@pytest.mark.parametrize("name", ["nobody.eth", "nobody.example"])
def test_a_name_that_nobody_has_is_refused_in_words(world: World, name: str) -> None:
    assert "has no address in ENS" in refusal(world, name)


# Contracts as creation code: what each does when it is asked.
RESOLVERS = {
    "none": (None, "has no address"),
    "an address without code": (BOB, "has no address"),
    "reverts": ("0x6005600c60003960056000f360006000fd", "its resolver fails"),
    "reverts with a megabyte": ("0x6007600c60003960076000f36210000060 00fd".replace(" ", ""), "its resolver fails"),
    "breaks": ("0x6001600c60003960016000f3fe", "its resolver fails"),
    "jumps to itself": ("0x6005600c60003960056000f35b60005600fe", "its resolver fails"),
    "answers nothing": ("0x6001600c60003960016000f300", "has no address"),
    "answers seven bytes": ("0x6005600c60003960056000f360076000f3", "is not an address"),
    "answers a megabyte": ("0x6007600c60003960076000f3621000006000f3", "cannot be resolved"),
    "answers more than an address": ("0x600b600c600039600b6000f3600019600052602060 00f3".replace(" ", ""), "is not an address"),
}


def resolver_of_ether(ens: Chain, failing: str) -> str:
    """A resolver that has ALICE for ether, and reverts with so many bytes (hex) when it is asked for anything else."""
    answer = f"5b73{ALICE[2:]}60005260206000f3"
    return ens.deploy(f"0x6032600c60003960326000f360003560e01c633b3b57de14601457{'60' + failing}6000fd{answer}")


def test_a_resolver_without_addresses_of_other_networks_is_asked_for_that_of_mainnet(world: World, ens: Chain) -> None:
    set_resolver(ens, "old.eth", resolver_of_ether(ens, "00"))
    assert ask_for(world, "old.eth").payee == ALICE


def test_a_resolver_that_fails_for_the_network_is_refused_and_not_asked_for_mainnet(world: World, ens: Chain) -> None:
    set_resolver(ens, "bad.eth", resolver_of_ether(ens, "04"))
    assert "its resolver fails" in refusal(world, "bad.eth")
    assert ask_for(world, "bad.eth", "USDC-mainnet").payee == ALICE


@pytest.mark.parametrize("case", RESOLVERS)
def test_a_hostile_resolver_is_refused_in_words(world: World, ens: Chain, case: str) -> None:
    code, said = RESOLVERS[case]
    if code is not None:
        set_resolver(ens, "bad.eth", code if len(code) == 42 else ens.deploy(code))
    assert said in refusal(world, "bad.eth", "USDC-mainnet")


RECORDS = {
    "the zero address": (ETHER, address_bytes(ZERO_ADDRESS), "has no address"),
    "the zero address of the network": (BASE, address_bytes(ZERO_ADDRESS), "zero address"),
    "too short": (BASE, b"\x01" * 19, "is not an address"),
    "too long": (BASE, b"\x01" * 21, "is not an address"),
    "a bitcoin script": (BASE, b"\x76\xa9\x14" + b"\x01" * 20 + b"\x88\xac", "is not an address"),
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_hostile_record_is_refused_in_words(world: World, ens: Chain, case: str) -> None:
    coin, raw, said = RECORDS[case]
    register(ens, "bad.eth", {})
    set_record(ens, "bad.eth", coin, raw)
    assert said in refusal(world, "bad.eth")


@dataclass
class Gateway:
    """A gateway on this machine: what it answers, and what it was asked."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def gives(self, address: str) -> None:
        self.body = json.dumps({"data": "0x" + bytes(12).hex() + address_bytes(address).hex()}).encode()


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    gateway = Gateway()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            gateway.asked.append((self.command, self.rfile.read(length).decode() if length else self.path))
            self.send_response(gateway.status)
            for name, value in gateway.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(gateway.body)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    gateway.url = f"http://127.0.0.1:{server.server_port}"
    yield gateway
    server.shutdown()


@pytest.fixture
def open_world(world: World) -> World:
    """Its sender may reach this machine, as that of a local stack."""
    world.services = replace(world.services, sender=WebhookSender(allow_loopback=True, deadline_seconds=1))
    return world


def test_a_gateway_answers_for_every_name_below_one_with_an_extended_resolver(
    open_world: World, ens: Chain, gateway: Gateway
) -> None:
    gateway.gives(BOB)
    set_resolver(ens, "shops.eth", gateway_resolver(ens, gateway.url + "/{sender}/{data}.json"))
    assert ask_for(open_world, "one.shops.eth", "USDC-mainnet").payee == BOB
    assert ask_for(open_world, "two.of.shops.eth", "USDC-mainnet").payee == BOB
    method, path = gateway.asked[0]
    assert method == "GET" and path.endswith(".json") and path.startswith("/0x")


def test_a_gateway_without_data_in_its_url_gets_a_post(open_world: World, ens: Chain, gateway: Gateway) -> None:
    gateway.gives(BOB)
    set_resolver(ens, "shops.eth", gateway_resolver(ens, gateway.url))
    assert ask_for(open_world, "one.shops.eth", "USDC-mainnet").payee == BOB
    method, body = gateway.asked[0]
    assert method == "POST" and set(json.loads(body)) == {"data", "sender"}


ANSWERS = {
    "an error": (500, b"", "status 500"),
    "not found": (404, b"", "status 404"),
    "a redirect": (302, b"", "status 302"),
    "nothing": (200, b"", "has no data"),
    "text": (200, b"hello", "has no data"),
    "a list": (200, b"[]", "has no data"),
    "nested too deeply": (200, b"[" * 50_000, "has no data"),
    "no hex": (200, b'{"data": "0xzz"}', "has no data"),
    "a number": (200, b'{"data": 5}', "has no data"),
    "too much": (200, b'{"data": "0x' + b"00" * 200_000 + b'"}', "has no data"),
    "data that is no address": (200, b'{"data": "0x1234"}', "is not an address"),
    "the zero address": (200, json.dumps({"data": "0x" + "00" * 32}).encode(), "has no address"),
    "no address": (200, b'{"data": "0x"}', "has no address"),
}


@pytest.mark.parametrize("case", few({"an error", "a redirect", "no hex", "too much"}, ANSWERS))
def test_a_hostile_answer_of_a_gateway_is_refused_in_words(
    open_world: World, ens: Chain, gateway: Gateway, case: str
) -> None:
    gateway.status, gateway.body, said = ANSWERS[case]
    gateway.headers = {"Location": gateway.url + "/elsewhere"} if gateway.status == 302 else {}
    set_resolver(ens, "shops.eth", gateway_resolver(ens, gateway.url))
    assert said in refusal(open_world, "one.shops.eth", "USDC-mainnet")
    assert not any("elsewhere" in path for _, path in gateway.asked)


def test_a_gateway_that_is_asked_again_and_again_is_left(open_world: World, ens: Chain, gateway: Gateway) -> None:
    gateway.gives(BOB)
    set_resolver(ens, "shops.eth", gateway_resolver(ens, gateway.url, asks_again=True))
    assert "again and again" in refusal(open_world, "one.shops.eth", "USDC-mainnet")
    assert len(gateway.asked) == 5


PRIVATE = ("https://127.0.0.1", "https://10.0.0.1/{data}", "https://169.254.169.254/latest", "https://[::1]", "https://localhost")


@pytest.mark.parametrize("url", few(PRIVATE[:3], [*PRIVATE, "http://shop.example", "file:///etc/passwd", "https://a@shop.example", "x"]))
def test_a_gateway_that_is_not_public_is_never_asked(world: World, ens: Chain, url: str) -> None:
    world.services = replace(world.services, sender=WebhookSender(allow_loopback=False, deadline_seconds=1))
    set_resolver(ens, "shops.eth", gateway_resolver(ens, url))
    said = refusal(world, "one.shops.eth", "USDC-mainnet")
    assert "address refused" in said and "give the address" in said


def test_a_silent_gateway_is_left_after_the_deadline(open_world: World, ens: Chain) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        set_resolver(ens, "shops.eth", gateway_resolver(ens, f"http://127.0.0.1:{silent.getsockname()[1]}"))
        assert "no answer in time" in refusal(open_world, "one.shops.eth", "USDC-mainnet")


def test_a_silent_node_is_unavailable_and_nothing_is_written(world_on: Callable[..., World], chain_of: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    world = world_on("base")
    nodes = Nodes({"base": chain_of("base").url, "mainnet": f"http://127.0.0.1:{port}"})
    world.services = replace(world.services, chains=Chains(nodes))
    before = stored(world)
    with pytest.raises(ChainUnavailable):
        ask_for(world, "alice.eth")
    assert stored(world) == before


def test_of_several_nodes_one_that_is_silent_or_contradicts_stops_it(
    world: World, ens: Chain, chain_of: Callable[[str], Chain]
) -> None:
    register(ens, "alice.eth", {ETHER: ALICE})
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    before = stored(world)
    serve(world, chain_of, [f"http://127.0.0.1:{port}", ens.url])
    with pytest.raises(ChainUnavailable):
        ask_for(world, "alice.eth")
    lying = chain_of("optimism")
    install_names(lying)
    register(lying, "alice.eth", {ETHER: BOB})
    serve(world, chain_of, [ens.url, lying.url])
    with pytest.raises(NodesDisagree):
        ask_for(world, "alice.eth")
    assert stored(world) == before


def serve(world: World, chain_of: Callable[[str], Chain], mainnet: list[str]) -> None:
    """Has the deployment read mainnet from these nodes."""
    nodes = SimpleNamespace(rpc_urls={"base": (chain_of("base").url,), "mainnet": tuple(mainnet)}, tron_api_key=None)
    world.services = replace(world.services, chains=Chains(nodes))


def test_where_the_universal_resolver_is_not_the_node_is_not_usable(world_on: Callable[..., World], chain_of: Any) -> None:
    world = world_on("base")
    serve(world, chain_of, [chain_of("sepolia").url])
    with pytest.raises(ChainUnavailable, match="universal resolver"):
        ask_for(world, "alice.eth")


def test_without_a_node_of_mainnet_and_on_tron_names_are_refused_in_words(
    world: World, world_on: Callable[..., World]
) -> None:
    assert "no node of mainnet" in refusal(world_on("base"), "alice.eth")
    assert "not resolved for Tron" in refusal(world_on("mainnet", "tron"), "alice.eth", "USDT-tron")
