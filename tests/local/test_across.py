"""The local bridge: Across's own contracts at the addresses of the catalogue, deposits by calldata that others built."""

import json
from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak

from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    ERC20_FEE_PROXY,
    PERMIT2,
    address_of,
)
from infra.local.across import Bridge
from infra.local.across_contracts import FILL_SECONDS, QUOTE_SECONDS
from infra.local.across_relayer import Relayer
from infra.local.bytecode import MODULES
from infra.local.chain import Chain
from tests.local.bridge_payer import AMOUNT, FEE, FEE_ADDRESS, HERE, PAYEE, THERE, BridgePayer
from tests.support.patience import wait_for

pytestmark = pytest.mark.xdist_group("bridge")

ARTEFACTS = MODULES / "@across-protocol/contracts/artifacts"
POOL = json.loads((ARTEFACTS / "contracts/Ethereum_SpokePool.sol/Ethereum_SpokePool.json").read_text())
HANDLER = json.loads((ARTEFACTS / "contracts/handlers/MulticallHandler.sol/MulticallHandler.json").read_text())
PERMIT2_RUNTIME = json.loads((MODULES / "@1inch/solidity-utils/dist/src/permit2.json").read_text())["bytecode"]
NETWORKS = ("base", "arbitrum-one")


def code(chain: Chain, address: str) -> str:
    return str(chain.rpc("eth_getCode", address, "latest"))


def read(chain: Chain, address: str, function: str) -> int:
    data = "0x" + keccak(text=function)[:4].hex()
    return int(chain.rpc("eth_call", {"to": address, "data": data}, "latest"), 16)


def without(code: str, wanted: str) -> str:
    """The code with zeros where `wanted` has them: a constructor writes its own values into gaps of zeros."""
    assert len(code) == len(wanted)
    return "".join("0" if other == "0" else each for each, other in zip(code, wanted, strict=True))


@pytest.mark.parametrize("network", NETWORKS)
def test_the_contracts_are_those_of_the_packages_at_the_addresses_of_the_catalogue(
    network: str, bridge: Bridge
) -> None:
    chain = bridge.chains[network]
    assert code(chain, address_of(ACROSS_HANDLER, network)) == HANDLER["deployedBytecode"]
    assert code(chain, address_of(PERMIT2, network)) == PERMIT2_RUNTIME
    pool, slot = (
        address_of(ACROSS_SPOKE_POOL, network),
        hex(int.from_bytes(keccak(text="eip1967.proxy.implementation")) - 1),
    )
    implementation = "0x" + chain.rpc("eth_getStorageAt", pool, slot, "latest")[-40:]
    assert without(code(chain, implementation), POOL["deployedBytecode"]) == POOL["deployedBytecode"]
    assert read(chain, pool, "depositQuoteTimeBuffer()") == QUOTE_SECONDS
    assert read(chain, pool, "fillDeadlineBuffer()") == FILL_SECONDS


def test_contracts_that_are_there_stay_as_they_are(payer: BridgePayer, bridge: Bridge) -> None:
    payer.send(payer.quote())
    before = bridge.deposits("base")
    assert Bridge(bridge.chains).deposits("base") == before
    payer.send(payer.quote())
    assert [each.id for each in bridge.deposits("base")] == [0, 1]


@pytest.mark.parametrize("network", NETWORKS)
def test_permit2_signs_for_its_own_address_and_chain(network: str, bridge: Bridge) -> None:
    chain, permit2 = bridge.chains[network], address_of(PERMIT2, network)
    kind = keccak(text="EIP712Domain(string name,uint256 chainId,address verifyingContract)")
    domain = encode(
        ["bytes32", "bytes32", "uint256", "address"], [kind, keccak(text="Permit2"), chain.chain_id, permit2]
    )
    assert read(chain, permit2, "DOMAIN_SEPARATOR()") == int.from_bytes(keccak(domain))


def test_a_filled_deposit_pays_on_the_other_chain_and_nothing_is_left_in_between(
    payer: BridgePayer, bridge: Bridge, relayer: Relayer
) -> None:
    sent = payer.send(payer.quote())
    assert sent["status"] == "0x1"
    relayer.step()
    [payment] = payer.payments()
    [deposited] = bridge.deposits("base")
    assert bridge.outcome(deposited).filled == payment["transactionHash"]
    assert payer.there.token_balance(THERE.address, PAYEE) == AMOUNT
    assert payer.there.token_balance(THERE.address, FEE_ADDRESS) == FEE
    assert payer.there.token_balance(THERE.address, address_of(ACROSS_HANDLER, "arbitrum-one")) == 0


def test_a_deposit_is_filled_once(payer: BridgePayer, bridge: Bridge, relayer: Relayer) -> None:
    payer.send(payer.quote())
    relayer.step()
    relayer.step()
    [deposited] = bridge.deposits("base")
    again = bridge.fill(deposited)
    assert again["status"] == "0x0"
    assert reverted(payer.there, again) == "RelayFilled()"
    assert len(payer.payments()) == 1


def test_tokens_of_a_call_that_fails_are_at_the_fallback_address_and_nothing_is_paid(
    payer: BridgePayer, bridge: Bridge
) -> None:
    fallback = "0x" + "44" * 20
    call = payer.wanted()["contractCalls"][0]
    too_much = {**call, "fromAmount": str(AMOUNT)}  # the payment wants the fee, too
    payer.send(payer.quote(contractCalls=[too_much], toFallbackAddress=fallback))
    [deposited] = bridge.deposits("base")
    assert bridge.fill(deposited)["status"] == "0x1"
    outcome = bridge.outcome(deposited)
    assert outcome.filled and outcome.has_failed_calls
    assert payer.there.token_balance(THERE.address, fallback) == AMOUNT + FEE
    assert payer.payments() == []


def test_a_good_call_can_be_made_to_fail_for_one_fill(payer: BridgePayer, bridge: Bridge) -> None:
    before = payer.there.token_balance(THERE.address, payer.address)
    for fails in (True, False):
        payer.send(payer.quote())
        deposited = bridge.deposits("base")[-1]
        assert bridge.fill(deposited, fails)["status"] == "0x1"
        assert bridge.outcome(deposited).has_failed_calls is fails
    assert payer.there.token_balance(THERE.address, payer.address) == before + AMOUNT + FEE
    assert len(payer.payments()) == 1
    assert len(code(payer.there, address_of(ERC20_FEE_PROXY, "arbitrum-one"))) > 100


def test_a_deposit_an_hour_after_its_quote_reverts(payer: BridgePayer, bridge: Bridge) -> None:
    step = payer.quote()
    payer.here.rpc("evm_increaseTime", QUOTE_SECONDS + 10)
    payer.here.mine()
    late = payer.send(step)
    assert (late["status"], reverted(payer.here, late)) == ("0x0", "InvalidQuoteTimestamp()")
    assert bridge.deposits("base") == []


def test_a_deposit_that_nobody_filled_in_time_is_refunded_on_its_own_chain(
    payer: BridgePayer, bridge: Bridge, relayer: Relayer
) -> None:
    before = payer.here.token_balance(HERE.address, payer.address)
    payer.send(payer.quote())
    [deposited] = bridge.deposits("base")
    assert payer.here.token_balance(HERE.address, payer.address) == before - deposited.input_amount
    relayer.is_paused = True
    relayer.step()
    payer.there.rpc("evm_increaseTime", 7210)
    payer.there.mine()
    assert bridge.outcome(deposited).is_expired
    too_late = bridge.fill(deposited)
    assert (too_late["status"], reverted(payer.there, too_late)) == ("0x0", "ExpiredFillDeadline()")
    relayer.is_paused = False
    relayer.step()
    relayer.step()
    assert bridge.outcome(deposited).refunded
    assert payer.here.token_balance(HERE.address, payer.address) == before
    assert payer.payments() == []


def test_a_relayer_that_runs_by_itself_fills_what_is_deposited(payer: BridgePayer, bridge: Bridge) -> None:
    payer.send(payer.quote())
    [deposited] = bridge.deposits("base")
    with Relayer(bridge, seconds=0.02):
        wait_for(lambda: bridge.outcome(deposited).filled)
    assert len(payer.payments()) == 1


def reverted(chain: Chain, receipt: dict[str, Any]) -> str:
    """The signature of the error that a transaction of the pool reverted with."""
    sent = chain.rpc("eth_getTransactionByHash", receipt["transactionHash"])
    trace = chain.rpc("debug_traceTransaction", sent["hash"], {"tracer": "callTracer"})
    selectors = {
        keccak(text=f"{each['name']}()")[:4].hex(): f"{each['name']}()"
        for each in POOL["abi"]
        if each["type"] == "error"
    }
    return selectors[trace["output"][2:10]]
