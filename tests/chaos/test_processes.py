"""Real processes on a real chain: killed at random times, with forks and a flood of dust, they lose and double nothing."""

import os
import random
import time
from collections.abc import Callable, Iterator

import pytest
from eth_account import Account

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import batch, fee_proxy
from chalicelib.chains.calldata.batch import BatchItem
from chalicelib.chains.calldata.checkout import spender_of
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.recording.matching import MAX_SMALL_PAYMENTS
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.records import Request
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from tests.chaos.deployment import Deployment, Merchant, merchant
from tests.fakes.world import PREFIX
from tests.support.patience import patience

KILLS = int(os.environ.get("CHAOS_KILLS", "40"))
DUST = int(os.environ.get("CHAOS_DUST", "20000"))
DUST_PER_TRANSACTION = 100


def _token() -> Token:
    found = token_with_id("fUSDC-sepolia")
    assert found is not None
    return found


FUSDC = _token()
EVENTS = {"payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"}


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain.start("sepolia") as running:
        yield running


@pytest.fixture(scope="module")
def deployed(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("chaos")
    with Cloud.start(log=folder / "cloud.log") as cloud, pytest.MonkeyPatch.context() as environment:
        cloud.apply_template(PREFIX)
        cloud.put_rpc_urls(PREFIX, {"sepolia": chain.url})
        deployment = Deployment(cloud, chain, folder)
        for name, value in deployment.environment.items():
            environment.setenv(name, value)
        deployment.start()
        yield deployment
        deployment.kill()


@pytest.fixture(scope="module")
def shop(deployed: Deployment) -> Iterator[Merchant]:
    with merchant() as running:
        deployed.register(running.url)
        yield running


class Payer:
    """Has every token; `pay` sends the transactions of a request's payment through the fee proxy."""

    def __init__(self, chain: Chain) -> None:
        account = Account.create()
        self.address, self._key, self._chain = account.address, account.key.hex(), chain
        chain.fund(self.address, 10**6)
        for batched in (False, True):
            self._send(erc20.approve(FUSDC.address, spender_of(FUSDC, batched=batched), 10**15))

    def pay(self, request: Request) -> None:
        """Pays a request whole, in a transaction of its own."""
        reference = bytes.fromhex(request.payment_reference[2:])
        self._send(
            fee_proxy.pay_erc20(
                "sepolia", token=FUSDC.address, payee=request.payee, amount=request.amount, reference=reference
            )
        )

    def dust(self, request: Request, count: int) -> None:
        """Pays a request one base unit, so many times in one transaction."""
        reference = bytes.fromhex(request.payment_reference[2:])
        item = BatchItem(FUSDC.address, request.payee, BaseUnits(1), reference)
        self._send(batch.pay_batch("sepolia", [item] * count))

    def _send(self, transaction: Transaction) -> None:
        receipt = self._chain.send(
            {"to": transaction.to, "data": transaction.data, "value": transaction.value}, self._key
        )
        assert receipt["status"] == "0x1"


def wait_until(is_done: Callable[[], bool], chain: Chain) -> None:
    deadline = time.monotonic() + patience(5)
    while not is_done():
        assert time.monotonic() < deadline, "not settled in time"
        chain.mine()
        time.sleep(1)


def load(deployed: Deployment, payable: PayableLink) -> PayableLink:
    found = link_reading.load(deployed.services, payable.link.token)
    assert found is not None
    return found


def is_completed(deployed: Deployment, payable: PayableLink) -> bool:
    return load(deployed, payable).link.status is LinkStatus.COMPLETED


def test_processes_that_are_killed_at_random_lose_and_double_nothing(
    deployed: Deployment, shop: Merchant, chain: Chain
) -> None:
    rng, payer, paid = random.Random(7), Payer(chain), list[PayableLink]()
    for _ in range(KILLS):
        payment = deployed.create_link()
        payer.pay(payment.requests[0])
        chain.mine(2)
        paid.append(payment)
        time.sleep(rng.uniform(0.5, 4))
        deployed.kill()
        deployed.start()
    wait_until(lambda: all(is_completed(deployed, each) for each in paid), chain)
    wait_until(lambda: all(set(shop.events_of(each)) == EVENTS for each in paid), chain)
    for payment in paid:
        assert load(deployed, payment).requests[0].paid == payment.requests[0].amount
        assert set(shop.events_of(payment).values()) == {1}


@pytest.mark.parametrize("depth", [24, 27, 32])
def test_a_fork_deeper_than_the_confirmations_is_corrected_and_told_again(
    deployed: Deployment, shop: Merchant, chain: Chain, depth: int
) -> None:
    payer = Payer(chain)
    chain.mine(60)  # the funds and approvals of the payer stay below the fork
    payment = deployed.create_link()
    payer.pay(payment.requests[0])
    chain.mine(3)
    wait_until(lambda: is_completed(deployed, payment), chain)
    chain.rpc("anvil_reorg", depth, [])
    chain.mine(3)
    wait_until(lambda: not is_completed(deployed, payment), chain)
    payer.pay(payment.requests[0])
    wait_until(lambda: is_completed(deployed, payment), chain)
    wait_until(lambda: shop.events_of(payment)["payment.confirmed"] == 2, chain)
    assert shop.events_of(payment)["payment.failed"] == 1


def test_dust_to_one_link_is_summed_and_holds_no_other_link_up(
    deployed: Deployment, shop: Merchant, chain: Chain
) -> None:
    payer, dusty = Payer(chain), deployed.create_link(amount="1000000")
    others = list[PayableLink]()
    for number in range(DUST // DUST_PER_TRANSACTION):
        payer.dust(dusty.requests[0], DUST_PER_TRANSACTION)
        if number % 10 == 0:
            others.append(deployed.create_link())
            payer.pay(others[-1].requests[0])
    chain.mine(2)
    wait_until(lambda: all(is_completed(deployed, each) for each in others), chain)
    wait_until(lambda: load(deployed, dusty).requests[0].paid == DUST // DUST_PER_TRANSACTION * DUST_PER_TRANSACTION, chain)
    request = load(deployed, dusty).requests[0]
    listed = payment_store.payments(deployed.services.store, request.request_id)
    assert len(listed) == request.payment_count == MAX_SMALL_PAYMENTS
    assert request.dust_amount + sum(each.amount for each in listed) == request.paid
