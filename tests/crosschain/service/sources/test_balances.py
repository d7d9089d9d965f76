"""What a wallet has on six chains, and the routes that are offered from them: at the same time, within a limit."""

import threading
import time
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.nodes.accounts.balances import TokenReading
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.requests.schemas import routes_answer
from chalicelib.checkout.schemas.link import secure_payment_answer
from chalicelib.crosschain.service.sources import balances
from chalicelib.crosschain.service.sources.balances import MOST_QUOTES
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.outbound.lifi import RouterRefused
from tests.checkout.crosschain.conftest import Bridged
from tests.fakes.requests import store_request
from tests.fakes.world import FEE_ADDRESS, WALLET
from tests.support.patience import patience

LABELS = {"BASE", "OPTIMISM", "ARBITRUM", "ETHEREUM", "POLYGON", "BNB"}
NOTHING = TokenReading(BaseUnits(0), BaseUnits(0))


def options(world: Bridged, **changes: Any) -> dict[str, Any]:
    """The body of a link that is read with a wallet."""
    payment = world.link(**changes)
    found = checkout.describe(world.services, payment.link.token, world.viewer(), WALLET)
    return secure_payment_answer(found, {}).model_dump(exclude_unset=True)


def routes(world: Bridged, part: Part | None = None, **changes: Any) -> list[dict[str, Any]]:
    request = store_request(world.services, **{"currency": "USDC-arbitrum-one", **changes})
    owner = Owner(request.account_id, None, None)
    found = paying.routes(world.services, request.request_id, owner, world.viewer(), WALLET, part or Part())
    answer = routes_answer(*found, world.services.settings).model_dump(exclude_unset=True)
    listed: list[dict[str, Any]] = answer["routes"]
    return listed


def only(world: Bridged, *owned: str) -> None:
    """The wallet has tokens on these networks alone."""
    for name in world.services.chains.networks:
        if name not in owned:
            world.on(name).holding = NOTHING


# --- balances ---


def test_balances_of_six_chains_are_shown_with_what_is_needed_there(world: Bridged) -> None:
    world.on("bsc").holding = TokenReading(BaseUnits(12_624_999 * 10**12), BaseUnits(0))
    body = options(world)
    assert set(body["paymentOptions"]) == LABELS
    assert set(body["paymentOptions"]["ARBITRUM"]) == {"USDC"}
    for label in LABELS - {"ARBITRUM"}:
        assert set(body["paymentOptions"][label]) == {"USDC", "USDT"}
    assert body["paymentOptions"]["BASE"]["USDT"] == {
        "balance": "1000000000", "hasEnoughBalance": True, "neededAmount": "12.625"
    }
    assert body["paymentOptions"]["BNB"]["USDC"] == {
        "balance": "12.624999", "hasEnoughBalance": False, "neededAmount": "12.625"
    }
    assert body["unavailableChains"] == []
    assert world.router.calls == []


def test_each_node_is_asked_once_and_all_at_the_same_time(world: Bridged, monkeypatch: pytest.MonkeyPatch) -> None:
    together, asked = threading.Barrier(6, timeout=patience()), list[str]()
    for name in world.services.chains.networks:

        def read(name: str = name) -> None:
            asked.append(name)
            together.wait()

        monkeypatch.setattr(world.on(name), "_read", read)
    assert set(options(world)["paymentOptions"]) == LABELS
    assert len(asked) == len(set(asked)) == 6


@pytest.mark.parametrize("down", [("bsc",), ("arbitrum-one",), ("base", "mainnet", "matic")])
def test_a_node_that_does_not_answer_leaves_its_own_chain_out_and_says_so(
    world: Bridged, monkeypatch: pytest.MonkeyPatch, down: tuple[str, ...]
) -> None:
    logged = list[dict[str, str]]()
    monkeypatch.setattr(world.services.log, "warning", lambda message, extra: logged.append(extra))
    for name in down:
        world.on(name).is_down = True
    body = options(world)
    assert {each["network"] for each in logged} == set(down) and all(each["reason"] for each in logged)
    assert len(body["unavailableChains"]) == len(down)
    assert set(body["paymentOptions"]) == LABELS - set(body["unavailableChains"])


def test_a_slow_node_is_not_waited_for(world: Bridged, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(balances, "READ_SECONDS", 0.3)
    monkeypatch.setattr(world.on("matic"), "_read", lambda: released.wait(patience()))
    started = time.monotonic()
    body = options(world)
    waited = time.monotonic() - started
    released.set()
    assert body["unavailableChains"] == ["POLYGON"]
    assert waited < 30  # it would have waited until the test lets the node answer


def test_a_chain_without_a_node_is_no_source(world: Bridged) -> None:
    del world.services.chains._chains["bsc"]  # type: ignore[attr-defined]
    body = options(world)
    assert (set(body["paymentOptions"]), body["unavailableChains"]) == (LABELS - {"BNB"}, [])


@pytest.mark.parametrize("changes", [{"currency": "FAU-sepolia"}, {"currency": "DAI-base"}, {"amount": "0.5"}])
def test_other_links_show_their_own_chain_alone(world: Bridged, changes: dict[str, str]) -> None:
    body = options(world, **changes)
    assert len(body["paymentOptions"]) == 1
    assert "unavailableChains" not in body


# --- routes ---


def test_a_route_from_another_chain_has_its_costs_and_its_time(world: Bridged) -> None:
    only(world, "arbitrum-one", "matic")
    world.on("matic").holdings = {"0xc2132D05D31c914a87C6611C10748AEb04B58e8F": NOTHING}
    direct, bridged = routes(world, Part(fee=Fee("1", FEE_ADDRESS)))
    assert direct["id"] == "REQUEST_NETWORK_PAYMENT"
    assert (bridged["id"], bridged["chain"], bridged["token"]) == ("POLYGON_ARBITRUM_USDC_USDC", "POLYGON", "USDC")
    assert (bridged["speed"], bridged["price_impact"]) == ("FAST", 0)
    gas, crosschain, platform = bridged["feeBreakdown"]
    assert (gas["type"], gas["amount"], gas["currency"], gas["network"]) == ("gas", "0.00026", "POL", "matic")
    assert gas["amountInUSD"] == "0.52", "at the price of the router"
    assert (crosschain["type"], crosschain["provider"], crosschain["amount"]) == ("crosschain", "across", "0.0301")
    assert (platform["type"], platform["amount"], platform["receiverAddress"]) == ("platform", "0.125", FEE_ADDRESS)
    assert bridged["fee"] == round(0.1551 / 12.5, 6)


def test_only_sources_with_the_balance_are_quoted_and_not_too_many(world: Bridged) -> None:
    assert len(routes(world)) == 1 + MOST_QUOTES
    assert len(world.router.calls) == MOST_QUOTES
    assert {each["token"] for each in routes(world)} == {"USDC"}
    assert len(world.router.calls) == 2 * MOST_QUOTES


def test_the_same_question_is_not_quoted_twice(world: Bridged) -> None:
    only(world, "arbitrum-one", "base")
    request = store_request(world.services, currency="USDC-arbitrum-one")
    for _ in range(2):
        paying.routes(world.services, request.request_id, Owner(request.account_id, None, None), world.viewer(), WALLET, Part())
    assert len(world.router.calls) == 2


def test_a_source_whose_quote_fails_is_left_out(world: Bridged) -> None:
    only(world, "arbitrum-one", "base", "matic")
    world.router.trouble_by_chain = {8453: RouterRefused(1002, "no liquidity")}
    assert {each["chain"] for each in routes(world)[1:]} == {"POLYGON"}


def test_a_balance_that_does_not_cover_the_cost_of_the_route_offers_none(world: Bridged) -> None:
    only(world, "arbitrum-one")
    world.on("base").holding = TokenReading(BaseUnits(12_500_000), BaseUnits(0))
    assert len(routes(world)) == 1


def test_a_balance_of_exactly_what_a_route_takes_offers_it(world: Bridged) -> None:
    only(world, "arbitrum-one", "base")
    for balance, number in ((12_530_000, 3), (12_529_999, 1)):
        world.on("base").holding = TokenReading(BaseUnits(balance), BaseUnits(0))
        assert len(routes(world)) == number


def test_only_a_balance_of_what_is_due_at_least_is_quoted_for(world: Bridged) -> None:
    only(world, "arbitrum-one", "base")
    for balance, asked in ((12_499_999, 0), (12_500_000, 2)):  # in both tokens
        world.on("base").holding = TokenReading(BaseUnits(balance), BaseUnits(0))
        routes(world)
        assert len(world.router.calls) == asked


def test_what_cannot_be_bridged_has_the_direct_route_alone(world: Bridged) -> None:
    assert len(routes(world, currency="FAU-sepolia")) == 1
    assert len(routes(world, Part(amount="0.5"))) == 1
    assert world.router.calls == []
