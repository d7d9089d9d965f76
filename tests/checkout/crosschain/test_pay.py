"""/pay from another chain: an exact approval and a verified deposit, whom it returns to, and what it costs."""

from dataclasses import replace
from typing import Any

import pytest
from eth_abi import decode

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, ERC20_FEE_PROXY, address_of
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.crosschain.core.bridged_calls import read_source
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.outbound.lifi import RouterRefused, RouterUnavailable
from tests.bench.calls import counted
from tests.checkout.crosschain.conftest import BASE_USDC, Bridged
from tests.fakes.lying_node import Liar, served
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET

USDC_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
USDC_ARBITRUM = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
SPOKE = address_of(ACROSS_SPOKE_POOL, "base")
OWNER = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"
COST = 12_625_000 * 8 // 10_000 + 20_000
"""What the fake router takes for 12.625 USDC: 8 basis points and two cents."""


def approval(transaction: dict[str, Any]) -> tuple[str, str, int]:
    """(token, spender, amount) of an approve call."""
    assert (transaction["data"][:10], transaction["value"]) == ("0x095ea7b3", "0x0")
    spender, amount = decode(["address", "uint256"], bytes.fromhex(transaction["data"][10:]))
    return transaction["to"], spender, amount


def test_an_exact_approval_comes_first_and_then_the_deposit(world: Bridged) -> None:
    payment = world.link()
    body = world.pay(payment)
    grant, deposit = body["transactions"]
    assert approval(grant) == (USDC_BASE, SPOKE.lower(), 12_625_000 + COST)
    base = find_network("base")
    assert base is not None
    bridged = read_source(base, deposit["to"], deposit["data"])
    assert bridged is not None
    assert (bridged.destination.name, bridged.amount, bridged.fallback) == ("arbitrum-one", 12_625_000, WALLET)
    assert bridged.target == address_of(ERC20_FEE_PROXY, "arbitrum-one")
    types = ["address", "address", "uint256", "bytes", "uint256", "address"]
    assert decode(types, bytes.fromhex(bridged.data[10:])) == (
        USDC_ARBITRUM.lower(),
        PAYEE.lower(),
        12_500_000,
        bytes.fromhex(payment.requests[0].payment_reference[2:]),
        125_000,
        FEE_ADDRESS.lower(),
    )


def test_transactions_have_the_fields_of_routers(world: Bridged) -> None:
    grant, deposit = world.pay(world.link())["transactions"]
    for each, gas in ((grant, 60_000), (deposit, 200_000)):
        assert (each["from"], each["chainType"], each["gasLimit"]) == (WALLET, "evm", hex(gas))
        assert each["value"] == "0x0"


def test_the_metadata_say_what_is_paid_where_and_until_when(world: Bridged) -> None:
    metadata = world.pay(world.link())["metadata"]
    now = int(world.now.timestamp())
    assert (metadata["routeType"], metadata["stepsRequired"], metadata["needsApproval"]) == ("crosschain", 2, True)
    assert (metadata["approvalTransactionIndex"], metadata["paymentTransactionIndex"]) == (0, 1)
    assert metadata["sourceAmount"] == metadata["requiredAmount"] == "12.6551"
    assert metadata["quoteFetchedAt"] == "2026-03-15T10:00:00.000Z"
    assert now < metadata["quoteExpiresAt"] <= metadata["executionDeadline"] == now + 3600
    assert metadata["executionDeadlineBreakdown"] == {"bridge": {"deadline": now + 3600, "source": "decoded"}}
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"], metadata["hasEnoughAllowance"]) == (True, True, False)
    assert (metadata["balance"], metadata["allowance"]) == ("1000000000", "0")
    assert metadata["platformFee"] == {"percentage": "1", "address": FEE_ADDRESS}
    assert "safePaymentDeadline" not in metadata


def test_the_costs_are_broken_down(world: Bridged) -> None:
    costs = world.pay(world.link())["metadata"]["costBreakdown"]
    gas = {"required": True, "currency": "ETH", "hasEnoughBalance": True}
    assert costs["approvalFee"] == {**gas, "amountNative": "0.00006"}
    assert costs["paymentGasFee"] == {**gas, "amountNative": "0.0002"}
    assert costs["totalGasFee"] == {**gas, "amountNative": "0.00026"}
    assert costs["bridgeFee"] == {
        "required": True, "currency": "USDC", "amount": "0.0301", "amountUsd": "0.0301", "hasEnoughBalance": True
    }
    assert costs["fundingStatus"] == dict.fromkeys(
        ("hasEnoughPaymentToken", "hasEnoughApprovalGas", "hasEnoughOverall"), True
    )
    assert costs["totals"] == {
        "paymentAmount": "12.625", "paymentCurrency": "USDC-arbitrum-one", "sourceAmount": "12.6551"
    }


def test_a_wallet_with_too_little_is_told_so(world: Bridged) -> None:
    base = world.on("base")
    base.holding, base.native_balance = TokenReading(BaseUnits(12_655_099), BaseUnits(0)), 10**14
    metadata = world.pay(world.link())["metadata"]
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"]) == (False, False)
    funding = metadata["costBreakdown"]["fundingStatus"]
    assert funding == {"hasEnoughPaymentToken": False, "hasEnoughApprovalGas": True, "hasEnoughOverall": False}


def test_tokens_with_other_decimals_are_compared_by_their_worth(world: Bridged) -> None:
    metadata = world.pay(world.link(), SourceToken("BNB", "USDT"))["metadata"]
    assert (metadata["sourceAmount"], metadata["costBreakdown"]["bridgeFee"]["amount"]) == ("12.6551", "0.0301")


def test_an_approval_is_asked_even_where_the_allowance_suffices(world: Bridged) -> None:
    world.on("base").holding = TokenReading(BaseUnits(10**15), BaseUnits(10**15))
    body = world.pay(world.link())
    assert [approval(each)[2] for each in body["transactions"][:1]] == [12_625_000 + COST]
    assert body["metadata"]["hasEnoughAllowance"] is True


def test_a_token_that_refuses_to_change_an_allowance_gets_it_withdrawn_first(world: Bridged) -> None:
    world.on("mainnet").holding = TokenReading(BaseUnits(10**15), BaseUnits(10**15))
    world.on("mainnet").refuses_reapproval = True
    body = world.pay(world.link(), SourceToken("ETHEREUM", "USDT"))
    assert [approval(each)[2] for each in body["transactions"][:2]] == [0, 12_625_000 + COST]
    assert body["metadata"]["approvalTransactionIndex"] == 1


def test_what_is_signed_is_explained_from_its_bytes(world: Bridged) -> None:
    approving, bridging = world.pay(world.link())["metadata"]["explanation"]
    assert "12.6551 USDC" in approving["summary"]
    assert (bridging["to"], bridging["function"]) == (SPOKE, "depositV3")
    payment = bridging["calls"][-1]
    assert payment["function"] == "transferFromWithReferenceAndFee"
    assert payment["expectedEvent"]["payee"] == PAYEE


def test_the_same_source_as_the_link_pays_directly(world: Bridged) -> None:
    payment = world.link()
    assert world.pay(payment, SourceToken("ARBITRUM", "USDC")) == world.pay(payment, None)
    assert world.router.calls == []


# --- who gets the tokens if the payment fails ---


def test_a_safe_is_the_fallback_and_has_one_transaction_with_its_deadline(world: Bridged) -> None:
    for name in ("base", "arbitrum-one"):
        world.on(name).contracts = {WALLET}
    body = world.pay(world.link(), is_safe=True)
    assert body["safeTransaction"]["operation"] == 1
    assert body["metadata"]["safePaymentDeadline"] == body["metadata"]["executionDeadline"]
    assert world.router.calls[0].fallback == WALLET


def test_a_safe_that_is_none_on_the_source_is_refused(world: Bridged) -> None:
    with pytest.raises(BadRequest, match="not a Safe on base"):
        world.pay(world.link(), is_safe=True)


@pytest.mark.parametrize("is_safe", [True, False])
def test_a_contract_wallet_that_is_missing_on_the_destination_is_refused(world: Bridged, is_safe: bool) -> None:
    world.on("base").contracts = {WALLET}
    with pytest.raises(BadRequest, match="is a contract on base and not on arbitrum-one"):
        world.pay(world.link(), is_safe=is_safe)


def test_no_node_alone_says_that_a_contract_wallet_is_on_the_destination(world: Bridged) -> None:
    world.on("base").contracts = {WALLET}
    honest = world.on("arbitrum-one")
    world.services = served(world.services, "arbitrum-one", Liar(honest, has_code=lambda address: True), honest)
    with pytest.raises(NodesDisagree):
        world.pay(world.link())


@pytest.mark.parametrize("is_contract", [True, False])
def test_no_node_alone_says_whether_the_wallet_is_a_contract_on_the_source(world: Bridged, is_contract: bool) -> None:
    """Of one that is taken for a key, what comes back on the destination would be lost."""
    honest: Any = world.on("base")
    honest.contracts = {WALLET} if is_contract else set()

    def read_wallet(*args: Any, **options: Any) -> WalletReading:
        return replace(honest.read_wallet(*args, **options), is_contract=not is_contract)

    world.services = served(world.services, "base", Liar(honest, read_wallet=read_wallet), honest)
    with pytest.raises(NodesDisagree):
        world.pay(world.link())


def test_the_wallet_that_funds_a_smart_account_is_the_fallback(world: Bridged) -> None:
    world.on("base").contracts = {WALLET}
    body = world.pay(world.link(), eoa_wallet=OWNER)
    (asked,) = world.router.calls
    assert (asked.from_address, asked.fallback) == (WALLET, OWNER)
    (grant,) = body["eoaApprovalTransactions"]
    assert approval(grant) == (USDC_BASE, WALLET.lower(), 12_625_000 + COST)
    drawn, allowed, _ = body["transactions"]
    assert (drawn["data"][:10], approval(allowed)[1]) == ("0x23b872dd", SPOKE.lower())


# --- what is asked of nodes and router ---


def test_one_quote_and_one_read_of_the_source_suffice(world: Bridged, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    for name in world.services.chains.networks:
        chain = world.on(name)
        monkeypatch.setattr(chain, "_read", lambda name=name: reads.append(name))
    world.pay(world.link())
    assert (reads, len(world.router.calls)) == (["base"], 1)


def test_a_kept_route_costs_one_read_more_than_a_direct_payment(world: Bridged) -> None:
    payment = world.link()

    def calls(source: SourceToken | None) -> dict[str, int]:
        with counted(world.client) as made:
            world.pay(payment, source)
        return dict(made.by_operation)

    direct = calls(None)
    first, again = calls(BASE_USDC), calls(BASE_USDC)
    assert again == {**direct, "BatchGetItem": direct.get("BatchGetItem", 0) + 1}
    assert sum(first.values()) == sum(again.values()) + 4


def test_a_simulation_runs_on_the_source_alone(world: Bridged) -> None:
    simulation = world.pay(world.link(), simulate=True)["metadata"]["simulation"]
    assert [each["success"] for each in simulation["steps"]] == [True, True]


# --- what is refused ---


@pytest.mark.parametrize(
    ("currency", "source", "text"),
    [
        ("FAU-sepolia", BASE_USDC, "^FAU is not supported in crosschain payment.$"),
        ("ETH-sepolia-sepolia", BASE_USDC, "^ETH-sepolia is not supported in crosschain payment.$"),
        ("USDT-tron", BASE_USDC, "A link on tron is paid on tron: omit chain and token"),
        ("DAI-base", BASE_USDC, "^DAI is not supported in crosschain payment.$"),
        ("USDT-base", BASE_USDC, "USDC is not exchanged for USDT on BASE"),
    ],
)
def test_pairs_that_are_not_bridged_are_named(world: Bridged, currency: str, source: SourceToken, text: str) -> None:
    changes = {"payee": "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", "fee_address": None, "fee_percentage": None}
    payment = world.link(currency=currency, **(changes if "tron" in currency else {}))
    wallet = "TVjsyZ7fYF3qLF6BQgPmTEZy1xrNNyVAAA" if "tron" in currency else WALLET
    with pytest.raises(BadRequest, match=text):
        world.pay(payment, source, wallet=wallet)
    assert world.router.calls == []


def test_less_than_a_dollar_with_its_fee_is_refused(world: Bridged) -> None:
    with pytest.raises(BadRequest, match="at least 1 USD is paid, and this is 0.9999"):
        world.pay(world.link(amount="0.99"))
    assert world.pay(world.link(amount="0.991"))["transactions"]
    assert len(world.router.calls) == 1


def test_a_wallet_is_needed(world: Bridged) -> None:
    with pytest.raises(BadRequest, match="wallet is needed to pay from another chain"):
        world.pay(world.link(), wallet=None)


def test_a_link_of_several_payments_is_paid_on_its_own_network(world: Bridged) -> None:
    batch = world.link(items=(Item("12.50", None, PAYEE, "USDC-arbitrum-one", "USDC-arbitrum-one"),) * 2)
    with pytest.raises(BadRequest, match="several payments is paid on its own network"):
        world.pay(batch)


@pytest.mark.parametrize("trouble", [RouterUnavailable("down"), RouterUnavailable("busy", 60), RouterRefused(1002, "no")])
def test_a_router_in_trouble_is_a_clear_400_that_changes_nothing(world: Bridged, trouble: Exception) -> None:
    payment = world.load(world.link())
    world.router.trouble = trouble
    with pytest.raises(BadRequest, match="try again|cannot be paid"):
        world.pay(payment)
    assert world.load(payment) == payment


