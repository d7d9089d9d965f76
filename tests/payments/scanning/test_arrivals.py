"""What has arrived at addresses for plain transfers is noted as the nodes say alike, and decides nothing."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
from chalicelib.chains.nodes.readings import PlainAddressState
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.plain_transfers.schemas import plain_transfer_field
from chalicelib.payments.requests.plain_transfers.store import list_watched
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.rules import currency_of
from chalicelib.payments.scanning import store
from chalicelib.payments.scanning.arrivals import note_arrivals
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.platform.storage.sweeping import SweepIncomplete
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.world import World


def offered(world: World, **changes: Any) -> PayableLink:
    """A link with an address, of which the network was read."""
    link = world.create_link(plain_transfer=True, **changes)
    world.scan()
    return link


def put(chain: FakeChain, link: PayableLink, units: int) -> None:
    """Has units of the request's token be at its address."""
    request = link.requests[0]
    assert request.plain_transfer is not None
    place = request.plain_transfer.address, currency_of(request).address
    chain.plain_addresses[place] = PlainAddressState(BaseUnits(units), False, True)


def arrived(world: World, link: PayableLink) -> str:
    """What the answer says has arrived; the entry by which the address is watched says the same."""
    request = world.load(link).requests[0]
    assert request.plain_transfer is not None
    entries = {each.address: each.arrived for each in list_watched(world.services.store, "sepolia")}
    assert entries[request.plain_transfer.address.lower()] == request.plain_transfer.arrived
    return str(plain_transfer_field(request)["plainTransfer"].arrivedAmount)


def note(world: World) -> int:
    return note_arrivals(world.services, "sepolia")


def test_what_has_arrived_is_shown_and_counts_for_nothing(world: World) -> None:
    link = offered(world)
    assert arrived(world, link) == "0"
    put(world.chain, link, 12_000_000)
    assert note(world) == 1
    assert arrived(world, link) == "12"
    request = world.load(link).requests[0]
    assert (request.status, request.paid) == (RequestStatus.CREATED, 0)
    assert plain_transfer_field(request)["plainTransfer"].amount == "12.625", "it is not subtracted"
    assert note(world) == 0, "nothing has changed"
    put(world.chain, link, 0)
    assert note(world) == 1
    assert arrived(world, link) == "0"


def test_a_tick_a_minute_notes_arrivals(world: World) -> None:
    link = offered(world)
    put(world.chain, link, 7)
    for compares_nodes, expected in ((False, "0"), (True, "0.000007")):
        scan_chain(world.services, json.dumps({"network": "sepolia", "compareNodes": compares_nodes}))
        assert arrived(world, link) == expected


def test_what_is_paid_out_stays_arrived_until_it_is_recorded_as_paid(world: World) -> None:
    link = offered(world)
    put(world.chain, link, 12_500_000)
    note(world)
    world.chain.pay(link.requests[0])
    put(world.chain, link, 0)
    world.chain.mine(2)
    scan_chain(world.services, json.dumps({"network": "sepolia", "compareNodes": True}))
    assert arrived(world, link) == "12.5"
    world.record()
    assert note(world) == 1
    assert (arrived(world, link), world.load(link).requests[0].status) == ("0", RequestStatus.PAID)


def test_nothing_is_asked_without_addresses_or_before_the_network_is_read(world: World) -> None:
    world.create_link()
    world.scan()
    world.chain.is_down = True
    assert note(world) == 0
    fresh = World(world.client, chains=FakeChains(FakeChain("base")), seed=1)
    fresh.create_link(plain_transfer=True, currency="USDC-base")
    assert note_arrivals(fresh.services, "base") == 0
    assert note_arrivals(fresh.services, "tron") == 0


def test_while_the_node_does_not_answer_what_was_known_stays(world: World, caplog: Any) -> None:
    link = offered(world)
    put(world.chain, link, 5_000_000)
    note(world)
    put(world.chain, link, 0)
    world.chain.is_down = True
    assert note(world) == 0
    world.chain.is_down = False
    assert arrived(world, link) == "5"


def test_a_token_that_does_not_say_what_is_there_holds_up_no_other(world: World) -> None:
    silent, other = offered(world), offered(world, currency="FAU-sepolia")
    world.chain.silent_tokens = {currency_of(silent.requests[0]).address.lower()}
    for link in (silent, other):
        put(world.chain, link, 10**6)
    assert note(world) == 1
    assert (arrived(world, silent), arrived(world, other)) == ("0", "0.000000000001")


class Three:
    """A network with three nodes, of which the third may say something else of what is at addresses."""

    def __init__(self, world: World) -> None:
        self.chains = [FakeChain("sepolia") for _ in range(3)]
        nodes = Nodes([(f"node{index}.example", chain) for index, chain in enumerate(self.chains)], world.clock)
        self.world = World(world.client, chains=FakeChains(nodes))
        for chain in self.chains[1:]:
            chain.blocks = self.chains[0].blocks
        self.chains[0].mine(50)
        self.link = self.world.create_link(plain_transfer=True)
        self.chains[0].mine(5)
        scan_chain(self.world.services, json.dumps({"network": "sepolia", "compareNodes": True}))

    def put(self, *units: int) -> None:
        for chain, amount in zip(self.chains, units, strict=True):
            put(chain, self.link, amount)

    def arrived(self) -> str:
        note(self.world)
        return arrived(self.world, self.link)


@pytest.fixture
def three(world: World) -> Three:
    return Three(world)


def test_one_node_of_several_neither_makes_up_an_arrival_nor_takes_one_back(three: Three) -> None:
    three.put(0, 0, 5_000_000)
    assert three.arrived() == "0"
    three.put(5_000_000, 5_000_000, 5_000_000)
    assert three.arrived() == "5"
    three.put(5_000_000, 5_000_000, 0)
    assert three.arrived() == "5"
    three.put(0, 0, 0)
    assert three.arrived() == "0"


def test_one_node_alone_of_several_has_nothing_noted(three: Three) -> None:
    three.put(5_000_000, 5_000_000, 5_000_000)
    for chain in three.chains[:2]:
        chain.is_down = True
    assert three.arrived() == "0"
    three.chains[0].is_down = False
    assert three.arrived() == "5"


def test_a_node_that_does_not_have_the_block_yet_says_nothing(three: Three) -> None:
    three.put(5_000_000, 5_000_000, 0)
    three.chains[2].lag = 30
    assert three.arrived() == "5"


def test_while_nodes_disagree_about_blocks_nothing_is_noted(three: Three) -> None:
    cursor = store.cursor(three.world.services.store, "sepolia")
    assert cursor is not None and cursor.nodes is not None
    three.world.services.store.write(replace(cursor, nodes=replace(cursor.nodes, agree=False)))
    three.put(5_000_000, 5_000_000, 5_000_000)
    assert three.arrived() == "0"


def test_an_arrival_that_cannot_be_noted_holds_up_no_other_and_is_noted_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [offered(world) for _ in range(3)]
    for link in links:
        put(world.chain, link, 1_000_000)
    broken = links[1].requests[0].payable_id
    write = type(world.services.store).write

    def refuse(self: Any, *writes: Any) -> Any:
        if any(getattr(each, "payable_id", "") == broken for each in writes):
            raise RuntimeError("a test says so")
        return write(self, *writes)

    monkeypatch.setattr(type(world.services.store), "write", refuse)
    with pytest.raises(SweepIncomplete):
        note(world)
    assert [arrived(world, link) for link in links] == ["1", "0", "1"]
    monkeypatch.undo()
    assert note(world) == 1
    assert [arrived(world, link) for link in links] == ["1", "1", "1"]


def test_a_request_that_changes_meanwhile_is_noted_by_the_next_reading(world: World) -> None:
    link = offered(world)
    put(world.chain, link, 1_000_000)
    request = world.load(link).requests[0]
    read = world.chain.read_plain_balances

    def change_then_read(addresses: Sequence[PlainAddress], block: int) -> Any:
        (entry,) = list_watched(world.services.store, "sepolia")
        world.services.store.write(replace(entry, arrived=BaseUnits(7)), replace(request, note="another worker"))
        return read(addresses, block)

    world.chain.read_plain_balances = change_then_read  # type: ignore[method-assign]
    assert note(world) == 0
    world.chain.read_plain_balances = read  # type: ignore[method-assign]
    assert note(world) == 1
    assert (arrived(world, link), world.load(link).requests[0].note) == ("1", "another worker")


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_ends_at_any_call_leaves_both_records_alike(world: World, before: bool) -> None:
    link, units = offered(world), 0
    for fatal in range(1, 10):
        units += 1_000_000
        put(world.chain, link, units)
        wire = Tripwire(fatal, before)
        try:
            note_arrivals(world.start(FragileClient(world.client, wire)), "sepolia")
        except Crash:
            arrived(world, link)
        else:
            break
        finally:
            world.start(world.client)
    else:
        pytest.fail("it makes more calls than that")
    note(world)
    assert arrived(world, link) == str(units // 10**6)
