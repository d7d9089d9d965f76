"""What counts of a payment is what arrived, by the token's own logs at every node that has it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.history.log_ranges import BlockPayments
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.search.payments.schemas import payment_answer
from infra import admin
from tests.fakes.chain import SENDER, FakeChain
from tests.fakes.world import World, in_process_aws
from tests.payments.scanning.test_agreement import AMOUNT, Group
from tests.support.keyed import Sent


def keeps_one_percent(amount: int) -> int:
    return amount * 99 // 100


def keeps_one_unit(amount: int) -> int:
    return max(amount - 1, 0)


def moves_nothing(amount: int) -> int:
    return 0


@pytest.fixture
def client() -> Iterator[Any]:
    with in_process_aws() as client:
        yield client


def payments(world: World, payable: PayableLink) -> list[Payment]:
    return list(payment_store.payments(world.services.store, payable.requests[0].request_id))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("moved", [keeps_one_percent, keeps_one_unit], ids=lambda each: each.__name__)
def test_a_token_that_keeps_a_part_pays_what_arrived(client: Any, moved: Callable[[int], int], count: int) -> None:
    group = Group(client, count)
    for node in group.nodes:
        node.moved = moved
    payment = group.world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    request = group.world.load(payment).requests[0]
    assert (request.status, request.paid, request.received) == (RequestStatus.PARTIALLY_PAID, moved(AMOUNT), moved(AMOUNT))
    (recorded,) = payments(group.world, payment)
    assert (recorded.amount, recorded.value, recorded.stated_amount) == (moved(AMOUNT), moved(AMOUNT), AMOUNT)
    (line,) = group.logged("less arrived than was paid")
    assert (line["paid"], line["arrived"]) == (AMOUNT, moved(AMOUNT))
    group.nodes[0].pay(payment.requests[0], amount=AMOUNT)
    group.tick()
    assert group.world.load(payment).link.status is LinkStatus.COMPLETED, "the rest is paid as any rest is"


@pytest.mark.parametrize("moved", [None, keeps_one_percent])
def test_what_was_said_to_be_paid_is_told_beside_what_arrived_where_that_is_less(
    client: Any, moved: Callable[[int], int] | None
) -> None:
    group = Group(client, 2)
    for node in group.nodes:
        node.moved = moved or node.moved
    world, services = group.world, group.world.services
    world.account_id = admin.create_account(services, "shop")
    key = admin.create_api_key(services, world.account_id, "server")
    world.register_webhook()
    payment = world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    path = {"request_id": payment.requests[0].request_id}

    def read(name: str, path: Mapping[str, str]) -> dict[str, Any]:
        reply = Sent(name, None, {"x-api-key": key}, dict(path), key=None).to(services)
        assert reply.status == 200
        return dict(reply.json)

    (item,) = read("read_request", path)["payments"]
    (transfer,) = read("list_transfers_of_request", path)["transfers"]
    (listed,) = read("list_transfers", {"token": payment.link.token})["transfers"]
    (recorded,) = payments(world, payment)
    found = payment_answer(recorded, payment.requests[0], "service", shows_customer=False)
    world.drain()
    bodies = [json.loads(each.body) for each in world.receiver.posted]
    (event,) = [each for each in bodies if each["event"] in ("payment.partial", "payment.confirmed")]
    shown = [item, transfer, listed, found.model_dump(exclude_unset=True), event]
    if moved is None:
        assert not any("statedAmount" in each for each in shown)
        return
    assert [each["statedAmount"] for each in shown] == ["12.5"] * 5
    assert [each["amount"] for each in shown] == ["12.375"] * 5


@pytest.mark.parametrize("count", [1, 2])
def test_a_token_that_moves_nothing_pays_nothing(client: Any, count: int) -> None:
    group = Group(client, count)
    for node in group.nodes:
        node.moved = moves_nothing
    payment = group.world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=2)
    assert (group.paid(payment), payments(group.world, payment)) == (0, [])
    assert group.logged("less arrived than was paid")
    assert group.world.load(payment).requests[0].dust_count == 0


def test_a_plain_token_pays_what_its_event_says_and_keeps_nothing_else_of_it(client: Any) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    (recorded,) = payments(group.world, payment)
    assert (recorded.amount, recorded.stated_amount) == (AMOUNT, None)
    assert group.logged("less arrived than was paid") == []


def test_two_events_of_one_transaction_share_what_arrived(client: Any) -> None:
    group = Group(client, 2)
    for node in group.nodes:
        node.moved = keeps_one_percent
    payment = group.world.create_link()
    group.nodes[0].pay(payment.requests[0], amount=5_000_000)
    group.nodes[0].pay_too(payment.requests[0], amount=7_500_000)
    group.tick()
    assert group.paid(payment) == keeps_one_percent(AMOUNT)
    assert sorted(each.amount for each in payments(group.world, payment)) == [4_950_000, 7_425_000]


@pytest.mark.parametrize("liar", [0, 1])
@pytest.mark.parametrize("lie", [keeps_one_percent, moves_nothing], ids=lambda each: each.__name__)
def test_one_node_alone_decides_nothing_of_what_arrived(client: Any, lie: Callable[[int], int], liar: int) -> None:
    group = Group(client, 2)
    group.nodes[liar].moved = lie
    payment = group.world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    assert group.paid(payment) == 0
    assert group.logged("nodes disagree")
    group.nodes[liar].moved = lambda amount: amount
    group.run(minutes=1)
    assert group.paid(payment) == AMOUNT


def silent(*given: Any) -> Any:
    raise ChainUnavailable("does not answer")


@pytest.mark.parametrize("count", [1, 2])
def test_of_a_receipt_that_is_too_large_the_logs_to_the_payee_are_read_and_only_all_of_it_is_believed(
    client: Any, count: int
) -> None:
    group = Group(client, count)
    for node in group.nodes:
        node.find_receipts = silent  # type: ignore[method-assign]
    payment, short = group.world.create_link(), group.world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.tick()
    assert group.paid(payment) == AMOUNT
    for node in group.nodes:
        node.moved = keeps_one_percent
    group.nodes[0].pay(short.requests[0])
    group.tick()
    assert (group.paid(short), len(group.logged("transaction deferred"))) == (0, 1), "logs may be missing there"


@pytest.mark.parametrize("count", [1, 2])
def test_a_receipt_that_no_node_returns_defers_its_transaction_alone(client: Any, count: int) -> None:
    group = Group(client, count)
    first, other = group.world.create_link(), group.world.create_link()
    heavy = group.nodes[0].pay(first.requests[0])["transactionHash"]
    group.nodes[0].pay(other.requests[0])
    for node in group.nodes:
        make_heavy(node, heavy)
    group.tick()
    assert (group.paid(first), group.paid(other)) == (0, AMOUNT)
    assert [line["tx_hash"] for line in group.logged("transaction deferred")] == [heavy]
    later = group.world.create_link()
    group.nodes[0].pay(later.requests[0])
    group.run(minutes=1)
    assert (group.paid(first), group.paid(later)) == (0, AMOUNT), "the network is read on"
    for node in group.nodes:
        del node.read_payments, node.read_transfers, node.find_receipts
    group.run(minutes=1)
    assert group.paid(first) == AMOUNT


def test_what_is_deferred_beside_receipts_that_are_too_large_is_looked_at_at_once_however_many_are_deferred(
    client: Any,
) -> None:
    """After three receipts that are too large no other is asked for in the same request."""
    group, heavy = Group(client, 1), set[str]()
    honest, other = group.world.create_link(), group.world.create_link()

    def pay_twice(payment: PayableLink, amount: int) -> str:
        group.nodes[0].pay(payment.requests[0], amount)
        return str(group.nodes[0].pay_too(payment.requests[0], amount)["transactionHash"])

    def refuse_heavy(read: Callable[[Sequence[str]], Any], hashes: Sequence[str]) -> Any:
        light = [each for each in hashes if each not in heavy]
        return silent() if len(heavy.intersection(hashes)) > 2 or not light else read(light)

    for node in group.nodes:
        node.find_receipts = partial(refuse_heavy, node.find_receipts)  # type: ignore[method-assign]
    for _ in range(6):
        heavy.update(pay_twice(other, 1) for _ in range(4))
        group.tick()
    assert len(group.logged("transaction deferred")) == 24
    heavy.update(pay_twice(other, 1) for _ in range(4))
    pay_twice(honest, AMOUNT // 2)
    group.tick()
    assert group.paid(honest) == AMOUNT


def make_heavy(node: FakeChain, tx_hash: str) -> None:
    """The node returns neither the Transfers of a transaction nor its receipt."""
    logs = node.find_receipts
    leave_out(node, tx_hash)

    def too_large(tx_hashes: Sequence[str]) -> Any:
        return silent() if tx_hash in tx_hashes else logs(tx_hashes)

    node.find_receipts = too_large  # type: ignore[method-assign]


def leave_out(node: FakeChain, tx_hash: str) -> None:
    """The node leaves the Transfers of a transaction out of what it lists."""

    def left(found: Mapping[int, BlockPayments]) -> dict[int, BlockPayments]:
        return {
            at: replace(each, transfers=tuple(log for log in each.transfers if log["transactionHash"] != tx_hash))
            for at, each in found.items()
        }

    payments, transfers = node.read_payments, node.read_transfers
    node.read_payments = lambda wanted: left(payments(wanted))  # type: ignore[method-assign]
    node.read_transfers = lambda wanted: left(transfers(wanted))  # type: ignore[method-assign]


@pytest.mark.parametrize("forgetful", [(0,), (1,), (0, 1)])
def test_what_a_node_leaves_out_of_its_lists_has_arrived_if_it_is_in_the_receipt(
    client: Any, forgetful: tuple[int, ...]
) -> None:
    group = Group(client, 2)
    payment = group.world.create_link()
    tx_hash = group.nodes[0].pay(payment.requests[0])["transactionHash"]
    for number in forgetful:
        leave_out(group.nodes[number], tx_hash)
    group.tick()
    assert group.paid(payment) == AMOUNT
    assert group.logged("less arrived than was paid") == []


def test_one_node_that_is_left_is_believed_for_all_that_the_event_says_and_not_for_less(client: Any) -> None:
    group = Group(client, 2)
    group.nodes[1].is_down = True
    plain, short = group.world.create_link(), group.world.create_link()
    group.nodes[0].pay(plain.requests[0])
    group.run(minutes=4)
    assert group.paid(plain) == AMOUNT
    group.nodes[0].moved = keeps_one_percent
    group.nodes[0].pay(short.requests[0])
    group.run(minutes=2)
    assert group.paid(short) == 0
    group.nodes[1].is_down, group.nodes[1].moved = False, keeps_one_percent
    group.run(minutes=8)
    assert group.paid(short) == keeps_one_percent(AMOUNT)


@pytest.mark.parametrize("is_right_later", [True, False])
def test_what_one_node_that_was_left_said_of_what_arrived_is_compared_once_another_is_back(
    client: Any, is_right_later: bool
) -> None:
    group = Group(client, 2)
    group.nodes[1].is_down, group.nodes[1].moved = True, keeps_one_percent
    payment, later = group.world.create_link(), group.world.create_link()
    group.nodes[0].pay(payment.requests[0])
    group.run(minutes=4)
    assert (group.paid(payment), group.logged("nodes disagree")) == (AMOUNT, [])
    group.nodes[1].is_down = False
    if is_right_later:
        group.nodes[0].moved = keeps_one_percent
    group.run(minutes=8)
    alarm = group.logged("node contradicts itself" if is_right_later else "nodes disagree")
    assert any("arrived in the log" in line["reason"] for line in alarm)
    group.nodes[0].moved = group.nodes[1].moved = keeps_one_percent
    group.nodes[0].pay(later.requests[0])
    group.run(minutes=2)
    assert group.paid(later) == keeps_one_percent(AMOUNT), "the network is held no longer than they disagree"
    assert group.cursor.alone is None


@pytest.mark.parametrize("moved_by", [0, 1])
def test_a_fork_that_moves_a_payment_keeps_what_arrived(client: Any, moved_by: int) -> None:
    group = Group(client, 1)
    chain = group.nodes[0]
    chain.moved = keeps_one_percent
    payment = group.world.create_link()
    chain.pay(payment.requests[0])
    group.tick()
    assert group.paid(payment) == keeps_one_percent(AMOUNT)
    chain.fork(4, moved_by)
    group.run(minutes=1)
    assert group.paid(payment) == keeps_one_percent(AMOUNT)
    (recorded,) = payments(group.world, payment)
    assert (recorded.amount, recorded.stated_amount) == (keeps_one_percent(AMOUNT), AMOUNT)


def noted(asked: list[str], name: str, read: Callable[..., Any]) -> Callable[..., Any]:
    def call(*given: Any) -> Any:
        asked.append(name)
        return read(*given)

    return call


@pytest.mark.parametrize("are_listed", [True, False])
def test_what_arrived_of_many_payments_is_one_request_to_each_node_and_another_for_what_is_left_out(
    client: Any, are_listed: bool
) -> None:
    group = Group(client, 2)
    links = [group.world.create_link() for _ in range(15)]
    paid = [group.nodes[0].pay(link.requests[0])["transactionHash"] for link in links]
    asked = list[str]()
    for place, node in enumerate(group.nodes):
        for tx_hash in paid if not are_listed else ():
            leave_out(node, tx_hash)
        for name in ("block_facts", "read_payments", "read_transfers", "find_receipts", "read_receipts"):
            setattr(node, name, noted(asked, f"{name} of {place}", getattr(node, name)))
    group.tick()
    receipts = ["find_receipts of 0", *([] if are_listed else ["find_receipts of 1"])]  # of 0 for who paid, too
    assert asked == ["read_transfers of 0", "read_payments of 1", *receipts]
    assert [group.paid(each) for each in links] == [AMOUNT] * len(links)


@pytest.mark.parametrize("is_short", [True, False], ids=["short", "repeated"])
def test_a_receipt_that_is_read_for_what_arrived_is_not_read_again_for_who_paid(client: Any, is_short: bool) -> None:
    group = Group(client, 1)
    payment, node, asked = group.world.create_link(), group.nodes[0], list[str]()
    if is_short:
        node.moved = keeps_one_percent
    tx_hash = node.pay(payment.requests[0], amount=5_000_000)["transactionHash"]
    if not is_short:
        node.pay_too(payment.requests[0], amount=5_000_000)
    node.payers[tx_hash] = SENDER
    node.find_receipts = noted(asked, "receipts", node.find_receipts)  # type: ignore[method-assign]
    group.tick()
    assert asked == ["receipts"]
    found = payments(group.world, payment)
    assert [each.payer for each in found] == [SENDER] * (1 if is_short else 2)


def test_payments_that_are_recorded_cost_nothing_when_their_blocks_are_read_again(client: Any) -> None:
    group = Group(client, 1)
    payment, node = group.world.create_link(), group.nodes[0]
    number = int(node.pay(payment.requests[0])["blockNumber"], 16)
    group.tick()
    node.block_facts = node.read_payments = node.read_transfers = silent  # type: ignore[method-assign]
    read, again = node.read_range, list[BlockRange]()

    def read_range(blocks: BlockRange, after: Any, headers: Any = (), of: BlockRange | None = None) -> Any:
        again.extend(each for each in (blocks, of) if each is not None and each.first <= number <= each.last)
        return read(blocks, after, headers, of)

    node.read_range = read_range  # type: ignore[method-assign]
    group.run(minutes=25)
    assert again and (group.paid(payment), group.logged("scan failed")) == (AMOUNT, [])
