"""Gasless payments on base, which two nodes read; one of them lies about one thing."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.chains.calldata.wallets.delegate import delegated_code
from chalicelib.chains.catalogue.contracts import DELEGATE, address_of
from chalicelib.chains.nodes.readings import StepResult
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless.records import Stage
from infra.local.chain import Chain
from tests.fakes.lying_node import Liar, served
from tests.fakes.world import in_process_aws
from tests.onchain.gasless import HAD, Shop


@pytest.fixture
def shop(chain_of: Callable[[str], Chain]) -> Iterator[Shop]:
    with in_process_aws() as client:
        yield Shop(client, chain_of("base"))


def lie(shop: Shop, **answers: Any) -> Any:
    """Has the network read by a liar, which is asked first, and an honest node; returns the services without it."""
    true = shop.services
    honest = true.chains.evm("base")
    shop.world.services = served(true, "base", Liar(honest, **answers), honest)
    return true


def sent(shop: Shop) -> int:
    return int(shop.chain.rpc("eth_getTransactionCount", shop.account, "latest"), 16)


def test_no_node_alone_has_a_signed_payment_given_up(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)  # the account is delegated
    payer = shop.payer()
    made = shop.signed(payer)
    true = lie(shop, run_as_sent=lambda *args: StepResult(False, "the balance is too low"))
    shop.world.advance(60)
    gasless_running.run_due(shop.services)
    assert shop.load(made).stage is Stage.SIGNED and shop.loaded(made).is_executed
    shop.world.services = true
    shop.world.advance(30)
    shop.run_to(made, Stage.PAID)
    assert shop.balance(payer.address) == HAD - made.authorization.value


def test_no_node_alone_has_the_account_delegate_again(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    made, before = shop.signed(shop.payer()), sent(shop)
    known = bytes.fromhex(shop.chain.rpc("eth_getCode", address_of(DELEGATE, "base"), "latest")[2:])
    true = lie(shop, read_codes=lambda *addresses: (b"", known))
    for _ in range(4):
        shop.run()
    assert sent(shop) == before
    shop.world.services = true
    shop.run_to(made, Stage.PAID)


def test_no_node_alone_has_a_batch_sent_to_an_account_that_does_not_delegate(shop: Shop) -> None:
    made, before = shop.signed(shop.payer()), sent(shop)
    delegate = address_of(DELEGATE, "base")
    known = bytes.fromhex(shop.chain.rpc("eth_getCode", delegate, "latest")[2:])
    true = lie(shop, read_codes=lambda *addresses: (delegated_code(delegate), known))
    for _ in range(4):
        shop.run()
    assert sent(shop) == before
    shop.world.services = true
    shop.run_to(made, Stage.PAID)
