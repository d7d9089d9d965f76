"""POST .../refresh-step-transaction: the same transactions while their quote holds, new ones after it."""

from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.schemas.pay_responses import single_answer
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.targets import Item
from tests.checkout.crosschain.conftest import Bridged
from tests.fakes.world import PAYEE, WALLET

OWNER = "0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef"


def refreshed(world: Bridged, payable: PayableLink, step: dict[str, Any]) -> dict[str, Any]:
    action = step["action"]
    made = checkout.refresh_step(
        world.services, payable.link.token, world.viewer(), step["id"], action["toChainId"], action["toAddress"]
    )
    return single_answer(made, "hex").model_dump(exclude_unset=True, by_alias=True)


@pytest.mark.parametrize("options", [{}, {"is_safe": True}, {"eoa_wallet": OWNER}], ids=str)
def test_a_step_gives_what_pay_gave_and_after_the_quote_a_new_transaction(world: Bridged, options: Any) -> None:
    for name in ("base", "arbitrum-one"):
        world.on(name).contracts = {WALLET, OWNER}
    payment = world.link()
    first = world.pay(payment, **options)
    step = first["metadata"]["rawStep"]
    assert refreshed(world, payment, step) == first
    world.now = world.now.fromtimestamp(first["metadata"]["quoteExpiresAt"], world.now.tzinfo)
    second = refreshed(world, payment, step)
    assert second["transactions"][-1] != first["transactions"][-1]
    assert second["metadata"]["executionDeadline"] > first["metadata"]["executionDeadline"]
    assert second["metadata"]["rawStep"] == step


def test_the_step_says_what_was_verified(world: Bridged) -> None:
    step = world.pay(world.link())["metadata"]["rawStep"]
    assert (step["type"], step["tool"]) == ("lifi", "across")
    action = step["action"]
    assert (action["fromChainId"], action["fromAmount"], action["fromAddress"]) == (8453, "12655100", WALLET)
    assert (action["toChainId"], action["toAddress"]) == (42161, "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9")


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "step-8453-42161"},
        {"id": "another:BASE:USDC:" + WALLET},
        {"action": {"toChainId": 8453}},
        {"action": {"toAddress": WALLET}},
    ],
    ids=str,
)
def test_a_step_of_something_else_is_refused_before_anything_is_quoted(world: Bridged, changes: dict[str, Any]) -> None:
    payment = world.link()
    step = world.pay(payment)["metadata"]["rawStep"]
    other = {**step, **changes, "action": {**step["action"], **changes.get("action", {})}}
    with pytest.raises(BadRequest, match="This step does not pay this link"):
        refreshed(world, payment, other)
    assert len(world.router.calls) == 1


def test_a_step_of_a_link_of_several_payments_is_refused(world: Bridged) -> None:
    """No route of it was ever shown: it is paid on its own network."""
    batch = world.link(items=(Item("12.50", None, PAYEE, "USDC-arbitrum-one", "USDC-arbitrum-one"),) * 2)
    step = world.pay(world.link())["metadata"]["rawStep"]
    with pytest.raises(BadRequest, match="This step does not pay this link"):
        refreshed(world, batch, {**step, "id": f"{batch.link.token}:BASE:USDC:{WALLET}"})
    assert len(world.router.calls) == 1


@pytest.mark.parametrize("rest", ["MOON:USDC:" + WALLET, "BASE:DAI:" + WALLET, "BASE:USDC:0x12", "BASE:USDC:" + WALLET + ":x"])
def test_a_step_that_was_changed_is_a_bad_request(world: Bridged, rest: str) -> None:
    payment = world.link()
    step = world.pay(payment)["metadata"]["rawStep"]
    with pytest.raises(BadRequest):
        refreshed(world, payment, {**step, "id": f"{payment.link.token}:{rest}"})
