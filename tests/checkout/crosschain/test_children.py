"""Multicalls from one source: a route per child, the children of the source itself directly, failures by child."""

import threading
from typing import Any

import pytest
from eth_abi import decode

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, BATCH, ERC20_FEE_PROXY, LIFI_DIAMOND, address_of
from chalicelib.chains.nodes.accounts.balances import TokenReading
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.multicalls.children import MulticallRefused, SetRefused
from chalicelib.payments.links.multicalls.rules import ExecutionKind
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.outbound.lifi import RouterRefused, RouterUnavailable
from tests.checkout.crosschain.conftest import BASE_USDC, Bridged
from tests.crosschain.service.router import diamond
from tests.fakes.payouts import store_payouts
from tests.fakes.router import answer_to
from tests.fakes.world import WALLET
from tests.support.errors import body_of
from tests.support.patience import patience

ARBITRUM, MAINNET, BASE = "USDC-arbitrum-one", "USDT-mainnet", "USDC-base"


def combined(world: Bridged, *currencies: str, kind: ExecutionKind | None = None) -> PayableLink:
    """A multicall of payouts in these currencies, in this order."""
    tokens = [
        store_payouts(world.services, world.account_id, 1, currency=each)[0].link.token for each in currencies
    ]
    return multicalls.create(world.services, Owner(world.account_id, None, None), tokens, kind).payable


def approved(body: dict[str, Any]) -> list[tuple[str, int]]:
    """(spender, amount) of each approval."""
    found = []
    for index in body["metadata"]["approvalTransactionIndices"]:
        spender, amount = decode(["address", "uint256"], bytes.fromhex(body["transactions"][index]["data"][10:]))
        found.append((spender, amount))
    return found


def failures(refused: pytest.ExceptionInfo[MulticallRefused]) -> list[tuple[str, str, str]]:
    return [
        (each["reason"], each["recoveryAction"], each["message"]) for each in body_of(refused.value)["failures"]
    ]


def test_each_child_has_a_route_and_one_approval_covers_all(world: Bridged) -> None:
    payment = combined(world, ARBITRUM, MAINNET, ARBITRUM)
    body = world.pay(payment)
    assert (body["paymentType"], body["executionKind"]) == ("multicall", "evm_cross_chain")
    assert (body["network"], body["chainId"], body["destinationCalls"]) == (
        "base", 8453, [each["destinationCall"] for each in body["children"]]
    )
    metadata = body["metadata"]
    assert (len(body["transactions"]), metadata["bridgeTxIndices"]) == (4, [1, 2, 3])
    assert (metadata["childCount"], metadata["executableLegCount"]) == (3, 3)
    amounts = [int(each["data"][10 + 64 * 4 : 10 + 64 * 5], 16) for each in body["transactions"][1:]]
    spoke = address_of(ACROSS_SPOKE_POOL, "base").lower()
    assert approved(body) == [(spoke, sum(amounts))]
    assert "batchPaymentTransaction" not in body
    assert "batchPaymentTransactionIndex" not in metadata
    assert len(world.router.calls) == 3


def test_a_child_names_the_call_that_pays_it(world: Bridged) -> None:
    payment = combined(world, ARBITRUM, MAINNET)
    body = world.pay(payment)
    for child, reference in zip(body["children"], body["references"], strict=True):
        call = child["destinationCall"]
        proxy = address_of(ERC20_FEE_PROXY, child["network"])
        assert (call["target"], call["contractAddress"], call["network"]) == (proxy, proxy, child["network"])
        assert call["calldata"].startswith("0xc219a14d")
        assert reference[2:] in call["calldata"]
        assert child["sourceTokenAddress"] == "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
        assert child["tokenAddress"] != child["sourceTokenAddress"]
    assert [child["destinationCall"]["chain"] for child in body["children"]] == ["ARBITRUM", "ETHEREUM"]


def test_children_of_the_source_itself_are_paid_directly_in_one_batch(world: Bridged) -> None:
    payment = combined(world, BASE, ARBITRUM, BASE)
    body = world.pay(payment)
    batch, spoke = address_of(BATCH, "base"), address_of(ACROSS_SPOKE_POOL, "base")
    assert [spender for spender, _ in approved(body)] == [batch.lower(), spoke.lower()]
    assert (body["batchPaymentTransaction"], body["metadata"]["batchPaymentTransactionIndex"]) == (body["transactions"][2], 2)
    assert body["batchPaymentTransaction"]["to"] == batch
    assert body["metadata"]["bridgeTxIndices"] == [3]
    assert ["destinationCall" in each for each in body["children"]] == [False, True, False]
    assert (len(body["destinationCalls"]), len(world.router.calls)) == (1, 1)


def test_one_child_of_the_source_itself_is_paid_through_the_fee_proxy(world: Bridged) -> None:
    body = world.pay(combined(world, BASE, ARBITRUM))
    assert body["batchPaymentTransaction"]["to"] == address_of(ERC20_FEE_PROXY, "base")


def test_the_sums_of_both_sides_are_stated(world: Bridged) -> None:
    metadata = world.pay(combined(world, BASE, ARBITRUM))["metadata"]
    sums = [float(metadata[name]) for name in ("sourceSideAmount", "bridgeSourceAmount", "sourceAmount", "bridgeFeeAmount")]
    assert sums[0] + sums[1] == pytest.approx(sums[2])
    assert sums[1] - sums[3] == pytest.approx(sums[0])
    assert (metadata["bridge"], metadata["sourceToken"], metadata["sourceNetwork"]) == ("across", "USDC", "base")
    assert metadata["quoteExpiresAt"].endswith("Z")
    assert metadata["executionDeadline"] == int(world.now.timestamp()) + 3600


def test_children_that_are_all_of_the_source_need_no_route(world: Bridged) -> None:
    payment = combined(world, BASE, BASE)
    assert world.pay(payment)["executionKind"] == "evm_same_chain"
    assert world.router.calls == []


def test_children_of_one_currency_are_paid_from_elsewhere_too(world: Bridged) -> None:
    body = world.pay(combined(world, ARBITRUM, ARBITRUM))
    assert body["executionKind"] == "evm_cross_chain"


def test_a_safe_makes_all_of_them_in_one_transaction(world: Bridged) -> None:
    for name in ("base", "arbitrum-one", "mainnet"):
        world.on(name).contracts = {WALLET}
    body = world.pay(combined(world, ARBITRUM, MAINNET), is_safe=True)
    assert body["safeTransaction"]["operation"] == 1
    assert body["metadata"]["safePaymentDeadline"] == body["metadata"]["executionDeadline"]
    world.on("mainnet").contracts = set()
    with pytest.raises(BadRequest, match="not on mainnet"):
        world.pay(combined(world, ARBITRUM, MAINNET), is_safe=True)


def test_twenty_quotes_are_asked_for_at_the_same_time(world: Bridged, monkeypatch: pytest.MonkeyPatch) -> None:
    together, answer = threading.Barrier(20, timeout=patience()), world.router.quote_call

    def quote_call(wanted: Any) -> Any:
        together.wait()  # breaks unless twenty questions are under way
        return answer(wanted)

    monkeypatch.setattr(world.router, "quote_call", quote_call)
    assert world.pay(combined(world, *[ARBITRUM] * 20))["metadata"]["bridgeTxIndices"] == list(range(1, 21))


# --- what is refused ---


def test_more_children_than_routes_are_quoted_for_are_refused(world: Bridged) -> None:
    with pytest.raises(SetRefused) as refused:
        world.pay(combined(world, *[ARBITRUM] * 21))
    body = body_of(refused.value)
    assert body["cap"] == {"type": "child_count", "maximum": 20, "actual": 21, "reduceBy": 1}
    assert body["failures"][0]["reason"] == "cap_exceeded"
    assert world.router.calls == []


def test_children_of_several_networks_need_a_source(world: Bridged) -> None:
    with pytest.raises(BadRequest, match="give chain and token"):
        world.pay(combined(world, ARBITRUM, MAINNET), None)


def test_a_multicall_of_one_network_by_request_stays_there(world: Bridged) -> None:
    payment = combined(world, ARBITRUM, ARBITRUM, kind=ExecutionKind.EVM_SAME_CHAIN)
    with pytest.raises(BadRequest, match="omit chain and token"):
        world.pay(payment)
    assert world.pay(payment, None)["executionKind"] == "evm_same_chain"


def test_a_child_without_a_route_is_named_with_its_reason(world: Bridged) -> None:
    with pytest.raises(MulticallRefused) as refused:
        world.pay(combined(world, "USDT-base", ARBITRUM))
    ((reason, action, message),) = failures(refused)
    assert (reason, action) == ("unsupported_route", "switch_route")
    assert "USDC is not exchanged for USDT on BASE" in message
    assert world.router.calls == []


def test_a_child_that_is_too_small_for_the_bridge_is_named(world: Bridged) -> None:
    small = store_payouts(world.services, world.account_id, 1, amount=BaseUnits(500_000), currency=ARBITRUM)[0].link.token
    other = store_payouts(world.services, world.account_id, 1, currency=ARBITRUM)[0].link.token
    payment = multicalls.create(world.services, Owner(world.account_id, None, None), [other, small], None).payable
    with pytest.raises(MulticallRefused) as refused:
        world.pay(payment)
    ((reason, action, message),) = failures(refused)
    assert (reason, action) == ("unsupported_route", "switch_route")
    assert "at least 1 USD is paid, and this is 0.5" in message
    assert body_of(refused.value)["failures"][0]["securePaymentToken"] == small
    assert world.router.calls == []


def test_routes_through_two_contracts_have_an_approval_of_what_each_takes(world: Bridged) -> None:
    now = int(world.now.timestamp())

    def through_diamond(answer: dict[str, Any]) -> dict[str, Any]:
        asked = next(each for each in world.router.calls if answer == answer_to(each, now))
        return answer if asked.to_chain == 1 else diamond.answer(diamond.true_call(asked, now), asked)

    world.router.change = through_diamond
    body = world.pay(combined(world, ARBITRUM, MAINNET))
    sums = dict(approved(body))
    assert set(sums) == {address_of(name, "base").lower() for name in (LIFI_DIAMOND, ACROSS_SPOKE_POOL)}
    first, second = body["metadata"]["bridgeTxIndices"]
    assert [body["transactions"][index]["to"] for index in (first, second)] == [
        address_of(LIFI_DIAMOND, "base"), address_of(ACROSS_SPOKE_POOL, "base")
    ]
    assert all(12_500_000 < amount < 13_000_000 for amount in sums.values()), "one child each"


@pytest.mark.parametrize(
    ("trouble", "reason", "action"),
    [
        (RouterUnavailable("busy", 60), "quote_unavailable", "wait_for_quote_refresh"),
        (RouterRefused(1002, "no liquidity"), "unsupported_route", "switch_route"),
    ],
)
def test_a_child_whose_quote_fails_is_named_and_the_others_are_not(
    world: Bridged, monkeypatch: pytest.MonkeyPatch, trouble: Exception, reason: str, action: str
) -> None:
    answer = world.router.quote_call

    def quote_call(wanted: Any) -> Any:
        if wanted.to_chain == 1:
            raise trouble
        return answer(wanted)

    monkeypatch.setattr(world.router, "quote_call", quote_call)
    payment = combined(world, ARBITRUM, MAINNET, ARBITRUM)
    with pytest.raises(MulticallRefused) as refused:
        world.pay(payment)
    assert [each[:2] for each in failures(refused)] == [(reason, action)]
    assert body_of(refused.value)["failures"][0]["securePaymentToken"] == payment.link.child_tokens[1]


def test_a_wallet_with_too_little_for_all_is_told_so(world: Bridged) -> None:
    payment = combined(world, ARBITRUM, MAINNET)
    needed = world.pay(payment)["metadata"]["sourceAmount"]
    units = BaseUnits(int(float(needed) * 10**6) - 1)
    world.on("base").holding = TokenReading(units, BaseUnits(0))
    metadata = world.pay(payment, BASE_USDC)["metadata"]
    assert (metadata["hasEnoughBalance"], metadata["canMakePayment"]) == (False, False)
    (short,) = metadata["insufficientTokens"]
    assert (short["paymentCurrencyId"], short["required"]) == ("USDC-base", needed)


def test_another_symbol_pays_as_well(world: Bridged) -> None:
    body = world.pay(combined(world, ARBITRUM, MAINNET), SourceToken("OPTIMISM", "USDT"))
    assert body["metadata"]["sourceNetwork"] == "optimism"
