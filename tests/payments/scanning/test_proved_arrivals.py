"""What arrived of payments in blocks that are proved: the receipts that prove them say it, and no node beside them."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC
from chalicelib.payments.requests.plain_transfers import store as plain_transfer_store
from chalicelib.payments.scanning.records import Evidence
from tests.fakes.chain import FakeChain
from tests.fakes.world import in_process_aws
from tests.payments.scanning.checks.test_absence import AMOUNT, Network


@pytest.fixture
def pair(client: Any) -> Network:
    found = Network(client)
    found.end_trial()
    return found


@pytest.fixture
def client() -> Iterator[Any]:
    with in_process_aws() as client:
        yield client


def keeps_one_percent(amount: int) -> int:
    return amount * 99 // 100


def moves_nothing(amount: int) -> int:
    return 0


def silent(*given: Any) -> Any:
    raise ChainUnavailable("does not answer")


def say_nothing_of_transfers(node: FakeChain) -> None:
    """The node answers what proves blocks, and nothing else about payments."""
    node.read_payments = node.read_transfers = silent  # type: ignore[method-assign]
    node.find_receipts = node.read_receipts = silent  # type: ignore[method-assign]


def say_that_all_arrived(node: FakeChain) -> None:
    """The node lies about what tokens have moved wherever it is not proved."""

    def lying(read: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            moved, node.moved = node.moved, lambda amount: amount
            try:
                return read(*given)
            finally:
                node.moved = moved

        return call

    for name in ("read_payments", "read_transfers", "find_receipts", "read_receipts"):
        setattr(node, name, lying(getattr(node, name)))


@pytest.mark.parametrize("moved", [keeps_one_percent, moves_nothing], ids=lambda each: each.__name__)
def test_one_node_that_is_left_is_not_believed_that_more_arrived_than_the_receipts_prove(
    pair: Network, moved: Callable[[int], int]
) -> None:
    payment = pair.world.create_link()
    for node in pair.nodes:
        node.moved = moved
    say_that_all_arrived(pair.first)
    say_nothing_of_transfers(pair.second)
    pair.first.pay(payment.requests[0])
    pair.tick()
    assert (pair.evidence, pair.paid(payment)) == (Evidence.PROVED_BY_RECEIPTS, moved(AMOUNT))


def test_what_is_proved_to_have_arrived_is_asked_of_no_other_receipt(pair: Network) -> None:
    payment = pair.world.create_link()
    for node in pair.nodes:
        node.moved = keeps_one_percent
        node.find_receipts = silent  # type: ignore[method-assign]
    pair.first.pay(payment.requests[0])
    pair.tick()
    assert pair.paid(payment) == keeps_one_percent(AMOUNT)


def test_that_an_address_was_emptied_is_not_proved_by_the_payments_of_its_block(pair: Network) -> None:
    """No event names it, so that the one node that is left would be believed at once."""
    other, plain = pair.world.create_link(), pair.world.create_link(plain_transfer=True)
    (watched,) = plain_transfer_store.list_watched(pair.world.services.store, pair.name)
    pair.first.pay(other.requests[0])
    block = pair.first.blocks[-1]
    ends = [f"0x{address[2:].lower():0>64}" for address in (watched.address, watched.payee)]
    log = {
        **block.logs[-1], "address": watched.token_address.lower(), "topics": [TRANSFER_TOPIC, *ends],
        "data": f"0x{AMOUNT:064x}", "transactionHash": "0x" + "e5" * 32, "logIndex": "0x9",
    }  # fmt: skip
    block.logs.append(log)
    answers = pair.second.read_payments
    say_nothing_of_transfers(pair.second)
    pair.tick()
    assert pair.paid(plain) == 0
    del pair.second.find_receipts, pair.second.read_receipts, pair.second.read_transfers
    pair.second.read_payments = answers  # type: ignore[method-assign]
    pair.world.advance(60)
    pair.tick()
    assert (pair.paid(other), pair.paid(plain)) == (AMOUNT, AMOUNT)
