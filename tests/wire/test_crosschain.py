"""Payments from another chain as existing clients read them: links, multicalls, requests, payouts, and routes."""

from typing import Any

import pytest

from chalicelib.chains.catalogue.bridges import source_networks
from tests.fakes.chain import FakeChain
from tests.fakes.payouts import store_payouts
from tests.fakes.world import PAYEE, WALLET
from tests.wire.conftest import Client
from tests.wire.published import assert_fits

LINK_PAY = "GET /v2/secure-payments/{token}/pay"
SOURCE = f"wallet={WALLET}&chain=ETHEREUM&token=USDC"
ON_BASE = {"payee": PAYEE, "amount": "12.50", "invoiceCurrency": "USDC-base", "paymentCurrency": "USDC-base"}


@pytest.fixture
def bridged(client: Client) -> Client:
    """The same client of a deployment that serves the six chains of the bridge."""
    for each in source_networks():
        client.world.services.chains.add(FakeChain(each.name))  # type: ignore[attr-defined]
    return client


def link(client: Client) -> str:
    return str(client.post("/v2/secure-payments", {"requests": [ON_BASE]})["token"])


def test_a_link(bridged: Client) -> None:
    answer = bridged.get(f"/v2/secure-payments/{link(bridged)}/pay?{SOURCE}")
    assert_fits(LINK_PAY, answer)
    assert_fits("crosschain payment", answer)
    assert (answer["metadata"]["routeType"], answer["metadata"]["needsApproval"]) == ("crosschain", True)


def test_a_step_that_is_refreshed_with_the_published_fields_alone(bridged: Client) -> None:
    token = link(bridged)
    raw = bridged.get(f"/v2/secure-payments/{token}/pay?{SOURCE}")["metadata"]["rawStep"]
    step: dict[str, Any] = {name: raw[name] for name in ("id", "type", "tool")}
    step["action"] = {name: raw["action"][name] for name in ("toChainId", "toAddress")}
    answer = bridged.post(f"/v2/secure-payments/{token}/refresh-step-transaction", {"step": step}, 200)
    assert_fits(LINK_PAY, answer)
    assert_fits("crosschain payment", answer)


def test_a_multicall_over_several_networks(bridged: Client) -> None:
    world = bridged.world
    account = bridged.shop.account_id
    tokens = [
        store_payouts(world.services, account, 1, currency=each)[0].link.token for each in ("USDC-base", "USDT-arbitrum-one")
    ]
    made = bridged.post("/v2/secure-payments/multicall-payouts", {"childTokens": tokens})
    answer = bridged.get(f"/v2/secure-payments/{made['token']}/pay?{SOURCE}")
    assert_fits(LINK_PAY, answer)
    assert answer["executionKind"] == "evm_cross_chain"
    assert all("destinationCall" in each for each in answer["children"])


def test_a_request_and_its_routes(bridged: Client) -> None:
    request_id = bridged.post("/v2/request", ON_BASE)["requestId"]
    routes = bridged.get(f"/v2/request/{request_id}/routes?wallet={WALLET}")
    assert_fits("GET /v2/request/{requestId}/routes", routes)
    others = [each["id"] for each in routes["routes"][1:]]
    assert others and all(each.endswith("_BASE_USDC_USDC") for each in others)
    assert_fits("crosschain payment", bridged.get(f"/v2/request/{request_id}/pay?{SOURCE}"))


def test_a_payout(bridged: Client) -> None:
    answer = bridged.post("/v2/payouts", {**ON_BASE, "payerWallet": WALLET, "chain": "ETHEREUM", "token": "USDC"})
    assert_fits("crosschain payment", answer)
    assert answer["requestId"]


def test_a_source_that_the_setting_writes_otherwise(bridged: Client) -> None:
    bridged.set_value_form("bignumber")
    answer = bridged.get(f"/v2/secure-payments/{link(bridged)}/pay?{SOURCE}")
    assert {str(each["value"]) for each in answer["transactions"]} == {"{'type': 'BigNumber', 'hex': '0x00'}"}
