"""The addresses for plain transfers of a network: read once in a tick, and asked for in ranges as long as a node allows."""

from typing import Any

from chalicelib.payments.links.records import LinkStatus
from tests.fakes.world import World


def test_the_addresses_are_read_once_in_a_tick_of_many_ranges(world: World) -> None:
    world.scan()
    world.create_link(plain_transfer=True)
    world.chain.mine(20)
    world.chain.largest_range = 4
    asked: list[str] = []

    def note(params: Any, **_: Any) -> None:
        asked.append(str(params["body"]))

    world.client.meta.events.register("before-call.dynamodb.Query", note)
    world.scan()
    world.client.meta.events.unregister("before-call.dynamodb.Query", note)
    assert sum("WATCHED#sepolia" in each for each in asked) == 1


def test_blocks_are_verified_in_smaller_ranges_by_a_node_that_refuses_only_the_transfers_of_addresses(
    world: World,
) -> None:
    world.scan()
    payment = world.create_link(plain_transfer=True)
    world.chain.mine(20)
    world.chain.pay(payment.requests[0])
    world.chain.mine(20)
    world.chain.hides_logs = True
    world.scan()
    world.chain.hides_logs = False
    assert world.load(payment).link.status is LinkStatus.PENDING
    world.chain.largest_transfer_range = 4
    for _ in range(30):
        world.advance(601)
        world.scan()
    assert world.load(payment).link.status is LinkStatus.COMPLETED
