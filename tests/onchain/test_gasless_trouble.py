"""Gasless payments while processes end, nodes fail and chains fork: made once or not at all, and no request stays locked."""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base import ids
from chalicelib.base.errors import ChainUnavailable, NotFound
from chalicelib.gasless import rules as gasless_rules
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless import sending as gasless_sending
from chalicelib.gasless.records import GaslessBatch, GaslessPayment, Stage
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.storage.store import Delete
from chalicelib.platform.storage.sweeping import SweepIncomplete
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import CallStatus, Role
from chalicelib.relayer.tracking import track
from infra.local.chain import Chain
from tests.fakes.crash import Crash, FragileWrites, Tripwire
from tests.fakes.world import in_process_aws
from tests.onchain.gasless import HAD, Shop
from tests.onchain.troubled_node import SEND, Trouble, TroubledNode
from tests.support.rehearsed import rehearsed

LEAST_CRASHES = 8
"""How many processes end before three payments have, at least; measured: 10. Fewer would hardly test anything."""
SEEDS = range(int(os.environ.get("GASLESS_SEEDS", "4")))


@pytest.fixture
def shop(chain_of: Callable[[str], Chain]) -> Iterator[Shop]:
    with in_process_aws() as client:
        yield Shop(client, chain_of("base"))


def check_conserved(shop: Shop, payers: Sequence[Any], made: Sequence[GaslessPayment]) -> None:
    """Each payer has paid what they signed if their payment is paid, and nothing otherwise; no request is locked."""
    for payer, each in zip(payers, made, strict=True):
        now, request = shop.load(each), shop.loaded(each)
        spent = HAD - shop.balance(payer.address)
        assert now.stage in (Stage.PAID, Stage.FAILED)
        assert spent == (each.authorization.value if now.stage is Stage.PAID else 0)
        assert (request.status is RequestStatus.PAID) == (now.stage is Stage.PAID)
        assert request.paid in (0, request.amount)
        assert not request.is_executed


def run_to_the_end(shop: Shop, made: Sequence[GaslessPayment], most: int = 30) -> None:
    for _ in range(most):
        if all(shop.load(each).stage in (Stage.PAID, Stage.FAILED) for each in made):
            break
        shop.run()
    for _ in range(2):
        shop.run()


def crash_points(shop: Shop, made: Sequence[GaslessPayment], act: Callable[[Any], None]) -> int:
    """Runs `act` in processes that end after one to six writes, each on the chain and the tables as they were left, until
    the payments have ended; returns how many processes ended so."""
    crashes = 0
    for number in range(300):
        if all(shop.load(each).stage in (Stage.PAID, Stage.FAILED) for each in made):
            return crashes
        wire = Tripwire(1 + number % 6, before=False)
        dying = shop.world.start(client=FragileWrites(shop.world.client, wire))
        dying.secrets.gasless_networks = "base"  # type: ignore[misc]
        try:
            act(dying)
        except Crash:
            crashes += 1
        shop.world.advance(15)
        shop.tick()
        shop.world.advance(15)
    raise AssertionError("it never comes to an end")


def test_a_process_that_ends_after_any_write_makes_no_payment_twice_or_half(shop: Shop) -> None:
    payers = [shop.payer() for _ in range(3)]
    made = [shop.signed(each) for each in payers]

    def act(services: Any) -> None:
        gasless_running.run_due(services)
        track(services, "base")

    assert crash_points(shop, made, act) >= LEAST_CRASHES
    run_to_the_end(shop, made)
    check_conserved(shop, payers, made)
    assert [shop.load(each).stage for each in made] == [Stage.PAID] * 3


@rehearsed
@pytest.mark.parametrize("seed", SEEDS)
def test_a_node_that_loses_requests_and_answers_and_forgets_transactions(shop: Shop, seed: int) -> None:
    chance, node = random.Random(seed), TroubledNode(shop.chain)
    payers = [shop.payer() for _ in range(4)]
    made = [shop.signed(each) for each in payers]
    try:
        shop.services.chains._secrets.urls["base"] = node.url
        kinds = list(Trouble)
        node.trouble = lambda methods: chance.choice(kinds) if chance.random() < 0.25 else None
        for _ in range(10):
            for step in (lambda: gasless_running.run_due(shop.services), lambda: track(shop.services, "base")):
                with suppress(ChainUnavailable, SweepIncomplete):
                    step()
            shop.world.advance(15)
            shop.chain.mine(3)
    finally:
        shop.services.chains._secrets.urls["base"] = shop.chain.url
        node.stop()
    run_to_the_end(shop, made)
    check_conserved(shop, payers, made)


def test_a_silent_node_delays_a_payment_and_loses_none(shop: Shop) -> None:
    payer = shop.payer()
    made, node = shop.signed(payer), TroubledNode(shop.chain)
    try:
        shop.services.chains._secrets.urls["base"] = node.url
        node.trouble = lambda methods: Trouble.NO_REQUEST if SEND not in methods else None
        gasless_running.run_due(shop.services)
        assert shop.load(made).stage is Stage.SIGNED
    finally:
        shop.services.chains._secrets.urls["base"] = shop.chain.url
        node.stop()
    shop.world.advance(30)
    shop.run_to(made, Stage.PAID)
    run_to_the_end(shop, [made])
    check_conserved(shop, [payer], [made])


def silence(shop: Shop, network: str = "base") -> None:
    """Has nobody answer for a network."""
    shop.services.chains._secrets.urls[network] = "http://127.0.0.1:9"


def unsubmitted(shop: Shop) -> GaslessPayment:
    """A payment whose process ended after its batch was stored, before its call was submitted."""
    made, now = shop.signed(shop.payer()), shop.services.clock()
    batch = GaslessBatch("1", "base", made.account_id, shop.account, (made.payment_id,), now, check_at=now)
    shop.services.store.write(batch, gasless_rules.begin_sending(batch, shop.load(made)))
    return made


def test_a_payment_ends_at_its_deadline_whatever_its_node_does(shop: Shop) -> None:
    shop.world.register_webhook()
    payer = shop.payer()
    made = shop.signed(payer, client_id=shop.world.client_id)
    shop.world.advance(60)
    other = unsubmitted(shop)
    silence(shop)
    gasless_running.run_due(shop.services)
    shop.world.advance(gasless_rules.LIFETIME.total_seconds() - 60)
    gasless_running.run_due(shop.services)
    assert shop.load(other).stage is Stage.SENDING, "its batch waits for the node"
    ended = shop.load(made)
    assert ended.stage is Stage.FAILED and ended.reason is not None
    assert ended.reason.startswith("Nothing was taken: its deadline is over: ")
    assert not shop.loaded(made).is_executed
    assert [each["failureReason"] for each in shop.announced()] == [ended.reason]


def test_a_batch_that_was_never_submitted_is_given_up_at_the_deadline_whatever_the_node_does(shop: Shop) -> None:
    made = unsubmitted(shop)
    silence(shop)
    gasless_running.run_due(shop.services)
    assert shop.load(made).stage is Stage.SENDING
    for _ in range(2):
        shop.world.advance(gasless_rules.LIFETIME.total_seconds())
        gasless_running.run_due(shop.services)
    assert shop.load(made).stage is Stage.FAILED
    known = relayer_flows.outcome(shop.services, gasless_sending.call_key("1"))
    assert known is not None and known.status is CallStatus.SUPERSEDED


def test_a_payment_that_was_sent_waits_for_the_chain_past_its_deadline(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    payer = shop.payer()
    made, url = shop.signed(payer), shop.chain.url
    gasless_running.run_due(shop.services)
    silence(shop)
    for _ in range(2):
        shop.world.advance(gasless_rules.LIFETIME.total_seconds())
        gasless_running.run_due(shop.services)
    assert shop.load(made).stage is Stage.SENDING and shop.loaded(made).is_executed
    shop.services.chains._secrets.urls["base"] = url
    shop.run_to(made, Stage.PAID)
    run_to_the_end(shop, [made])
    check_conserved(shop, [payer], [made])


@pytest.mark.parametrize(("seconds", "asked_until"), [(3, 21), (6, 24), (7, 42)])
def test_a_slow_network_leaves_the_others_their_share_of_the_time(
    shop: Shop, seconds: int, asked_until: int
) -> None:
    """Of 40 seconds for two networks it has 20, and asks thrice before it runs payments: one is run all the same. If
    that takes its share, it begins again with what the other one left."""
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    made, node, asked = shop.signed(shop.payer()), TroubledNode(shop.chain), list[float]()
    now, start = shop.services.clock(), shop.services.clock()
    there = relayer_flows.account_address(shop.services, "optimism", Role.GASLESS)
    shop.chain.rpc("anvil_setCode", there, shop.chain.rpc("eth_getCode", shop.account, "latest"))
    shop.chain.fund_native(there, 10**20)
    slow = replace(shop.load(made), network="optimism", version=0, check_at=now - timedelta(minutes=1))
    for number in range(20):
        by = replace(made.authorization, to=there, payer=f"0x{number + 1:040x}")
        shop.services.store.write(replace(slow, authorization=by, payment_id=ids.ulid_from(now, bytes([number] * 10))))

    def slowly(methods: Sequence[str]) -> Trouble | None:
        shop.world.advance(seconds)
        asked.append((shop.services.clock() - start).total_seconds())
        return None

    node.trouble, node.lie = slowly, lambda method, _, result: hex(10) if method == "eth_chainId" else result
    shop.services.chains._secrets.urls["optimism"] = node.url
    try:
        gasless_running.run_due(shop.services)
    finally:
        node.stop()
    assert shop.load(made).stage is Stage.SENDING
    assert asked[-1] == asked_until


def test_a_payment_whose_request_is_gone_ends_and_is_accepted_no_more(shop: Shop) -> None:
    payer = shop.payer()
    made, offered = shop.signed(payer), shop.offer(shop.request(), payer.address)
    for each in (made, offered):
        shop.services.store.write(Delete(shop.loaded(each)))
    with pytest.raises(NotFound):
        shop.accept(offered, shop.sign(offered, payer))
    gasless_running.run_due(shop.services)
    assert (shop.load(made).stage, shop.load(made).reason) == (
        Stage.FAILED, "Nothing was taken: the request is not kept any more"
    )


@pytest.mark.parametrize("of_link", [False, True])
def test_a_fork_that_takes_the_payment_away_before_it_is_confirmed_has_it_made_again(shop: Shop, of_link: bool) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)  # the account is delegated
    payer = shop.payer()
    made = shop.signed_link(payer) if of_link else shop.signed(payer)
    fork = shop.chain.snapshot()
    gasless_running.run_due(shop.services)
    shop.chain.rpc("evm_mine")  # anvil answers before it has mined
    assert shop.balance(payer.address) == HAD - made.authorization.value
    shop.chain.revert(fork)
    assert (shop.load(made).stage, shop.balance(payer.address)) == (Stage.SENDING, HAD)
    shop.world.advance(30)
    run_to_the_end(shop, [made])
    check_conserved(shop, [payer], [made])
    assert shop.load(made).stage is Stage.PAID


def test_a_fork_that_takes_the_delegation_away_has_it_made_again(shop: Shop) -> None:
    payer = shop.payer()
    made, fork = shop.signed(payer), shop.chain.snapshot()
    gasless_running.run_due(shop.services)
    shop.chain.rpc("evm_mine")  # anvil answers before it has mined
    assert shop.chain.rpc("eth_getCode", shop.account, "latest") != "0x"
    shop.chain.revert(fork)
    assert shop.chain.rpc("eth_getCode", shop.account, "latest") == "0x"
    shop.world.advance(30)
    run_to_the_end(shop, [made])
    check_conserved(shop, [payer], [made])
    assert shop.load(made).stage is Stage.PAID


@pytest.mark.parametrize("of_link", [False, True])
def test_a_deep_fork_sends_the_same_bytes_again_and_pays_once(shop: Shop, of_link: bool) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    payer = shop.payer()
    made = shop.signed_link(payer) if of_link else shop.signed(payer)
    fork = shop.chain.snapshot()
    paid = shop.run_to(made, Stage.PAID)
    shop.chain.revert(fork)
    assert shop.balance(payer.address) == HAD
    shop.chain.mine(10)
    for _ in range(6):
        shop.run()
    assert shop.balance(payer.address) == HAD - made.authorization.value
    assert shop.load(made).tx_hash == paid.tx_hash
    assert shop.loaded(made).paid == shop.loaded(made).amount
