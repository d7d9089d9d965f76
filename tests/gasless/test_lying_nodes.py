"""Gasless payments on base, which two nodes read; one of them lies about what a payment costs."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.chains.nodes.readings import AccountReading
from chalicelib.gasless.records import GaslessPayment, Stage
from tests.fakes.gasless import HAD, NETWORK, USDC, Gasless
from tests.fakes.lying_node import Liar, served_beside


def offered(lie: Callable[[AccountReading], AccountReading], is_first: bool) -> tuple[GaslessPayment, GaslessPayment]:
    """What honest nodes offer, and what is offered if one of two says something else of the service's account."""
    true, other = Gasless(), Gasless()
    honest = other.chain
    liar = Liar(honest, read_account=lambda address: lie(honest.read_account(address)))
    other.world.services = served_beside(other.services, NETWORK, liar, is_first)
    return true.offer(), other.offer()


def stage_beside(gasless: Gasless, liar: Liar, is_first: bool, made: GaslessPayment) -> Stage:
    """The stage of a payment after four minutes in which the liar is one of two nodes."""
    gasless.world.services = served_beside(gasless.services, NETWORK, liar, is_first)
    for _ in range(4):
        gasless.world.advance(60)
        gasless.run()
        gasless.world.scan()
    return gasless.load(made).stage


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("price", [0, 10**8, 10**10])
def test_no_node_alone_names_the_price_of_a_gasless_payment(price: int, is_first: bool) -> None:
    """By one that is too low the payment would never be made, and by one that is too high its payer would pay more."""
    with pytest.raises(ChainUnavailable, match="price of gas"):
        offered(lambda reading: replace(reading, base_fee=BaseUnits(price)), is_first)


@pytest.mark.parametrize("is_first", [True, False])
def test_no_node_alone_has_the_first_payment_of_a_token_given_up_by_saying_that_the_proxy_is_allowed(
    is_first: bool,
) -> None:
    """Without the approval the batch is reverted when it is run, as all nodes say."""
    gasless = Gasless()
    made, honest = gasless.accept(gasless.offer()), gasless.chain
    token = TokenReading(BaseUnits(HAD), BaseUnits(MAX_UINT256))
    said = WalletReading(BaseUnits(10**18), {USDC: token}, BaseUnits(10**9), 0, False)
    liar = Liar(honest, read_wallet=lambda *args, **kwargs: said)
    assert stage_beside(gasless, liar, is_first, made) is Stage.PAID


@pytest.mark.parametrize("is_first", [True, False])
def test_of_prices_that_are_near_each_other_the_higher_one_is_offered(is_first: bool) -> None:
    true, made = offered(lambda reading: replace(reading, base_fee=BaseUnits(reading.base_fee * 7 // 8)), is_first)
    assert (made.gas_price, made.network_fee) == (true.gas_price, true.network_fee)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("nonce", [0, 10**6])
def test_no_node_alone_has_payments_wait_for_a_transaction_that_is_in_a_block(nonce: int, is_first: bool) -> None:
    """So does a node that is stuck: each payment would wait until its deadline, and end then."""
    gasless = Gasless()
    made, honest = gasless.accept(gasless.offer()), gasless.chain
    gasless.run()
    assert len(honest.mempool.sent) == 1, "the account delegates"
    gasless.world.scan()
    liar = Liar(honest, read_account=lambda address: replace(honest.read_account(address), nonce=nonce))
    assert stage_beside(gasless, liar, is_first, made) is Stage.PAID
