"""Refunds of orders: half, the rest, to whom, found on the chain, told, counted, and undone by a fork."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, NotFound
from chalicelib.chains.catalogue.tokens import require_token
from chalicelib.chains.nodes.history.receipts import PaymentSender
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.recording.causes.refunds import MAX_ANNOUNCED
from chalicelib.payments.requests.payments.records import Direction, Payment, SentRefund
from chalicelib.payments.requests.records import Request
from chalicelib.payments.search.payments.export import table
from chalicelib.payments.search.payments.schemas import payment_answer
from chalicelib.payments.transfers import order_refunds
from chalicelib.payments.transfers.order_refunds import OrderRefund
from chalicelib.webhooks.records import Event
from tests.fakes.escrows import CONTRACTS
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.lying_node import Liar, served, served_beside
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PAYEE, WALLET, World
from tests.payments.recording.test_refunds import refund_of

FULL = 12_500_000
OTHER = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"


class Shop:
    """A world with a link of 12.5 fUSDC, in memory."""

    def __init__(self, **settings: Any) -> None:
        self.world = World(object(), **settings)
        self.store = MemoryStore()
        self.world.services = replace(self.world.services, store=self.store)
        self.world.chain.clock = self.world.clock
        self.world.scan()
        self.payment = self.world.create_link()

    @property
    def request(self) -> Request:
        return self.world.load(self.payment).requests[0]

    def pay(self, amount: int = FULL, payer: str | None = WALLET) -> None:
        self.world.advance(1)
        log = self.world.chain.pay(self.request, amount=amount)
        if payer is not None:
            self.world.chain.payers[log["transactionHash"]] = payer
        self.world.scan()

    def refund(self, amount: str | None = None, to: str | None = None, account: str | None = None) -> OrderRefund:
        viewer = Viewer(account or self.world.account_id, None)
        return order_refunds.refund(self.world.services, self.request.request_id, viewer, amount, to)

    def send(self, amount: int, to: str = WALLET) -> None:
        self.world.advance(1)
        self.world.chain.pay(refund_of(self.request, to), amount=amount)
        self.world.scan()

    def sent(self, kind: str = "payment.refunded") -> list[dict[str, Any]]:
        found = sorted(self.store.all(Event), key=lambda each: each.event_id)
        bodies = [json.loads(each.body) for each in found if each.kind == kind]
        for body in bodies:
            assert_is_described(body)
        return bodies

    @property
    def lines(self) -> list[SentRefund]:
        return self.store.all(SentRefund)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.mark.parametrize("is_first", [True, False])
def test_no_node_of_two_has_a_refund_offered_to_an_address_of_its_own(shop: Shop, is_first: bool) -> None:
    shop.pay()
    honest: Any = shop.world.chain
    liar = Liar(honest, payers_of=lambda paid: tuple(PaymentSender(OTHER, is_wallet=True) for _ in paid))
    services = served_beside(shop.world.services, shop.request.network, liar, is_first)
    viewer = Viewer(shop.world.account_id, None)
    with pytest.raises(NodesDisagree):
        order_refunds.refund(services, shop.request.request_id, viewer, None, None)
    agreeing = served(shop.world.services, shop.request.network, honest, honest)
    assert order_refunds.refund(agreeing, shop.request.request_id, viewer, None, None).offer.payer == WALLET


def test_half_of_an_order_is_refunded_and_then_the_rest(shop: Shop) -> None:
    shop.pay()
    half = shop.refund("6.25")
    assert (half.offer.payer, half.offer.amount, half.left) == (WALLET, 6_250_000, 6_250_000)
    assert [each.function for each in half.offer.explanations][-1].startswith("transferFromWithReferenceAndFee")
    assert shop.refund("6.25") == half, "nothing was sent"
    shop.send(6_250_000)
    assert (shop.request.refunded, shop.request.refund_count) == (6_250_000, 1)
    (sent,) = shop.sent()
    assert (sent["refundedTo"], sent["refundAmount"], sent["requestId"]) == (WALLET, "6.25", shop.request.request_id)
    rest = shop.refund()
    assert (rest.offer.amount, rest.left) == (6_250_000, 0)
    assert rest.offer.transactions[-1].data != half.offer.transactions[0].data
    shop.send(6_250_000)
    assert (shop.request.refunded, len(shop.sent())) == (FULL, 2)
    assert shop.request.status.value == "paid"
    with pytest.raises(Conflict):
        shop.refund()


@pytest.mark.parametrize("amount", ["12.500001", "0", "1.0000001", "-1", "1e3"])
def test_no_more_than_is_left_and_only_amounts_of_the_token(shop: Shop, amount: str) -> None:
    shop.pay()
    with pytest.raises((BadRequest, Conflict), match="amount"):
        shop.refund(amount)


def test_nothing_is_refunded_of_an_unpaid_request_or_to_the_payee_or_by_another_account(shop: Shop) -> None:
    with pytest.raises(Conflict):
        shop.refund()
    shop.pay()
    with pytest.raises(BadRequest, match="payee"):
        shop.refund(to=PAYEE)
    with pytest.raises(BadRequest, match="to: is the contract of USDC-base"):
        shop.refund(to=require_token("USDC-base").address)
    with pytest.raises(NotFound):
        shop.refund(account="another")


def test_of_several_payers_one_has_to_be_named_and_gets_what_they_paid_at_most(shop: Shop) -> None:
    shop.pay(10_000_000)
    shop.pay(2_500_000, OTHER)
    with pytest.raises(Conflict) as refused:
        shop.refund()
    assert f"{WALLET} 10" in refused.value.message and f"{OTHER} 2.5" in refused.value.message
    assert shop.refund(to=OTHER).offer.amount == 2_500_000
    with pytest.raises(Conflict, match="no more than 2.5"):
        shop.refund("3", OTHER)
    shop.send(2_500_000, OTHER)
    with pytest.raises(Conflict, match="no more than 0 "):
        shop.refund("1", OTHER)


@pytest.mark.parametrize("prepare", [
    lambda shop: shop.pay(payer=None),
    lambda shop: (shop.world.chain.contracts.add(WALLET), shop.pay()),
], ids=["unknown", "a contract"])  # fmt: skip
def test_who_cannot_be_told_for_certain_is_offered_nothing_until_the_merchant_names_an_address(
    shop: Shop, prepare: Callable[[Shop], object]
) -> None:
    prepare(shop)
    with pytest.raises(Conflict, match="ask the payer"):
        shop.refund()
    assert (shop.refund(to=OTHER).offer.payer, shop.refund(to=OTHER).offer.amount) == (OTHER, FULL)


def test_more_than_was_paid_is_told_and_not_counted(shop: Shop) -> None:
    """Whoever knows the reference can send more with it."""
    shop.pay(10_000_000)
    shop.refund()
    for _ in range(3):
        shop.send(6_000_000)
    assert shop.request.refunded == 10_000_000
    assert [each.amount for each in sorted(shop.lines, key=lambda each: each.block_number)] == [6_000_000, 4_000_000]
    assert len(shop.sent()) == 3 < MAX_ANNOUNCED


def test_a_refund_that_a_fork_removes_is_not_counted_and_one_that_moves_is_counted_once(shop: Shop) -> None:
    shop.pay()
    shop.refund()
    before = len(shop.world.chain.blocks)
    shop.send(5_000_000)
    shop.world.chain.fork(3, moved_by=1)
    shop.world.scan()
    assert (shop.request.refunded, shop.request.refund_count, len(shop.sent())) == (5_000_000, 1, 1)
    (line,) = shop.lines
    assert shop.world.chain.blocks[line.block_number].hash == line.block_hash
    shop.world.chain.fork(len(shop.world.chain.blocks) - before)
    shop.world.scan()
    assert (shop.request.refunded, shop.request.refund_count) == (0, 0)
    assert [each.status.value for each in shop.lines] == ["reversed"]
    assert shop.refund().offer.amount == FULL


def test_in_lists_and_exports_a_refund_is_a_line_whose_amounts_subtract(shop: Shop) -> None:
    shop.pay(FULL + 500_000)
    shop.refund()
    shop.send(500_000)
    shop.send(6_000_000)
    found = shop.store.all(Payment)
    assert [each.direction for each in found].count(Direction.OUT) == 2
    head, *rows = (line.split(",") for line in table(found, with_head=True).splitlines())
    named = [dict(zip(head, row, strict=True)) for row in rows]
    assert sum(float(row["amount"]) for row in named) == 6.5
    assert sum(float(row["invoiceAmount"]) for row in named) == 6.5
    assert {row["direction"]: row["payee"] for row in named} == {"in": PAYEE, "out": WALLET}
    answers = [payment_answer(each, shop.request, "service", shows_customer=False) for each in found]
    assert sorted(each.amount for each in answers) == ["-0.5", "-6", "13"]
    assert all(each.listed["by_request"].endswith(shop.request.request_id) for each in found)


def test_dust_with_a_refunds_reference_makes_a_bounded_number_of_lines_and_hides_no_refund(shop: Shop) -> None:
    """Anybody may send it, the payer to himself as well."""
    shop.pay()
    shop.refund()
    for _ in range(11):
        shop.world.advance(1)
        for _ in range(10):
            shop.world.chain.pay(refund_of(shop.request, WALLET), amount=1)
        shop.world.scan()
    assert (len(shop.lines), shop.request.refund_count, len(shop.sent())) == (100, 100, MAX_ANNOUNCED)
    shop.send(6_250_000)
    assert shop.sent()[-1]["refundAmount"] == "6.25"
    assert (shop.request.refunded, len(shop.lines)) == (6_250_100, 101)


def test_no_refund_is_offered_to_an_escrow_that_only_the_setting_names() -> None:
    shop = Shop(escrow_contracts={"sepolia": CONTRACTS})
    shop.pay()
    with pytest.raises(BadRequest, match="to: is the contract of AuthCaptureEscrow"):
        shop.refund(to=CONTRACTS.escrow)
