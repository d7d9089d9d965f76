"""Tether on Ethereum, paid from base: an allowance that anybody leaves at the contract that makes the calls stops nothing."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from eth_account import Account

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.chains.calldata.bridges.across import (
    HandlerMessage,
    decode_deposit,
    decode_message,
    encode_deposit,
    encode_message,
)
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, ACROSS_SPOKE_POOL, address_of
from chalicelib.crosschain.service.router.rules import Wanted
from chalicelib.crosschain.service.router.verification import Limits, verify
from chalicelib.platform.outbound.lifi import Lifi
from infra.local.across import Bridge, Deposited
from infra.local.across_contracts import call_data, send_good_call
from infra.local.across_relayer import Relayer
from infra.local.chain import Chain
from infra.local.router import Router
from tests.crosschain.service.router.routes import PAYEE, question, wanted
from tests.onchain.tether_double import CREATION as TETHER

pytestmark = pytest.mark.xdist_group("bridge")

STRANGER = evm_address("0x" + "66" * 20)


@pytest.fixture
def bridge(chain_of: Callable[[str], Chain]) -> Bridge:
    chains = {network: chain_of(network) for network in ("base", "mainnet")}
    chains["mainnet"].etch(TETHER, [wanted("BASE", "ETHEREUM", "USDT").destination.address])
    return Bridge(chains)


@pytest.fixture
def payment() -> Wanted:
    payer = Account.create().address
    return wanted("BASE", "ETHEREUM", "USDT", payer=payer, fallback=payer)


def left_allowance(bridge: Bridge, payment: Wanted) -> None:
    """Has the handler allow the fee proxy one unit: its function is called by bridges, and by anybody else."""
    grant = approve(payment.destination.address, payment.call.to, 1)
    message = encode_message(HandlerMessage(((grant.to, grant.data, 0),), ZERO_ADDRESS))
    types = ["address", "uint256", "address", "bytes"]
    data = call_data("handleV3AcrossMessage(address,uint256,address,bytes)", types, [grant.to, 0, STRANGER, message])
    chain = bridge.chains["mainnet"]
    chain.fund_native(STRANGER, chain.coin)
    send_good_call(chain, STRANGER, address_of(ACROSS_HANDLER, "mainnet"), data)


def deposited(bridge: Bridge, payment: Wanted, data: str) -> Deposited:
    chain, pool = bridge.chains["base"], address_of(ACROSS_SPOKE_POOL, "base")
    chain.fund(payment.payer, 10**6)
    send_good_call(chain, payment.payer, payment.source.address, approve(payment.source.address, pool, 10**12).data)
    receipt = send_good_call(chain, payment.payer, pool, data)
    (found,) = bridge.deposits_of("base", receipt["transactionHash"])
    return found


def test_a_left_allowance_does_not_stop_a_payment_of_a_verified_route(bridge: Bridge, payment: Wanted) -> None:
    with Router(Relayer(bridge)) as router:
        step = Lifi(router.url, "test").quote_call(question(payment))
    now = int(bridge.chains["base"].rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
    route = verify(step, payment, datetime.fromtimestamp(now, UTC), Limits(200, 5))
    found = deposited(bridge, payment, route.transaction.data)
    left_allowance(bridge, payment)
    bridge.fill(found)
    assert not bridge.outcome(found).has_failed_calls
    assert bridge.chains["mainnet"].token_balance(payment.destination.address, PAYEE) == 12_500_000


def test_it_stops_a_payment_that_only_approves_its_amount(bridge: Bridge, payment: Wanted) -> None:
    with Router(Relayer(bridge)) as router:
        step = Lifi(router.url, "test").quote_call(question(payment))
    deposit = decode_deposit(step.data)
    assert deposit is not None
    message = decode_message(deposit.message)
    assert message is not None and len(message.calls) == 3
    short = replace(deposit, message=encode_message(replace(message, calls=message.calls[1:])))
    found = deposited(bridge, payment, encode_deposit(short))
    left_allowance(bridge, payment)
    bridge.fill(found)
    assert bridge.outcome(found).has_failed_calls
    assert bridge.chains["mainnet"].token_balance(payment.destination.address, PAYEE) == 0
