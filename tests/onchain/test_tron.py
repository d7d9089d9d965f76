"""Links on Tron paid by unmodified tronweb and tronpy over HTTP with the API's bytes, found in solidified blocks."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.chains.catalogue.contracts import TRON_BATCH, address_of
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import PayoutDraft
from chalicelib.payments.links.records import LinkStatus, PayableLink
from infra.local.tron import TronNode
from infra.local.tron_blocks import SOLID_AFTER
from tests.fakes.world import World, draft
from tests.onchain.ledger import Ledger, allowance, assert_completed, confirmed, request_ids, settle
from tests.onchain.payer import pay_body

USDT, USDC = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8"
PAYEES = (
    "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7",
    "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8",
    "TNjYAmvTJUvPMYFd4GbgQSn9ZQSJZxvHEj",
)
FEE_ADDRESS = "TG3XXyExBkPp9nzdajDZsozEu4BkaSJozs"

PayerOf = Callable[[str], Any]


@pytest.fixture
def world(world_on: Callable[..., World]) -> World:
    world = world_on("tron")
    world.register_webhook()
    return world


def settle_solid(world: World, tron: TronNode) -> int:
    """What is recorded once the blocks are solid; before that, nothing is."""
    assert world.tick(network="tron") == 0
    tron.chain.mine(SOLID_AFTER)
    return settle(world, tron.chain)


@pytest.mark.parametrize("library", ["tronweb", "tronpy"])
def test_a_single_link_is_paid_with_its_fee(world: World, tron: TronNode, tron_payer_of: PayerOf, library: str) -> None:
    payer = tron_payer_of(library)
    payment = world.create_link(currency="USDT-tron", amount="12.5", payee=PAYEES[0], fee_address=FEE_ADDRESS)
    ledger = Ledger(tron.chain, [USDT], [payer.address, PAYEES[0], FEE_ADDRESS])
    body = pay_body(world, payment, payer.address)
    payer.pay(body["transactions"])
    assert ledger.moved() == {USDT: [-12_625_000, 12_500_000, 125_000]}
    assert allowance(tron.chain, USDT, payer.address, body["transactions"][-1]["to"]) == 0
    assert settle_solid(world, tron) == 1
    assert_completed(world, payment)
    assert confirmed(world) == request_ids(payment)


@pytest.mark.parametrize(("library", "fee"), [("tronweb", "1"), ("tronpy", "1"), ("tronpy", None)])
def test_a_multicall_is_paid_through_the_batch_contract(
    world: World, tron: TronNode, tron_payer_of: PayerOf, library: str, fee: str | None
) -> None:
    payer = tron_payer_of(library)
    children = [payout(world, payer.address, payee, fee) for payee in PAYEES]
    tokens = [child.link.token for child in children]
    parent = multicalls.create(world.services, world.owner, tokens, None).payable
    body = pay_body(world, parent, payer.address)
    assert body["executionKind"] == "tron_batch"
    assert body["references"] == [child.requests[0].payment_reference for child in children]
    batch = address_of(TRON_BATCH, "tron")
    assert [each["to"] for each in body["transactions"]] == [USDC, batch]
    fees = 300_000 if fee else 0
    ledger = Ledger(tron.chain, [USDC], [payer.address, *PAYEES, FEE_ADDRESS, batch])
    payer.pay(body["transactions"])
    assert ledger.moved() == {USDC: [-30_000_000 - fees, *[10_000_000] * 3, fees, 0]}
    assert allowance(tron.chain, USDC, payer.address, batch) == 0
    assert settle_solid(world, tron) == 3
    for child in children:
        assert_completed(world, child)
    assert multicall_reading.read(world.services, parent.link.token, world.account_id).status is LinkStatus.COMPLETED
    assert confirmed(world) == sorted(child.requests[0].request_id for child in children)


def payout(world: World, creator: str, recipient: str, fee: str | None) -> PayableLink:
    about = draft(items=(), fee_percentage=fee, fee_address=FEE_ADDRESS if fee else None)
    asked = PayoutDraft(recipient, creator, "tron", "USDC-tron", "10", about)
    return payouts.create(world.services, world.owner, None, asked)
