"""Converted amounts: the order is for the tokens that were paid, whatever the rate was when it was made."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.base.money import BaseUnits
from chalicelib.offramp.core.records import OrderStatus
from chalicelib.offramp.service import flows, orders
from chalicelib.offramp.service.checking import check_due
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import PaymentStatus
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.compliance import ProviderUnavailable, order_of
from tests.fakes.offramps import load_order, notified, processing, store_payer
from tests.fakes.requests import load_request, standalone, store_request
from tests.fakes.world import World
from tests.offramp.service.test_flows import CHOSEN, STEPS
from tests.payments.recording.test_converted import CONTRACTS, new_world, scan

ASKED = BaseUnits(12_503_750)
FEWER, MORE = 12_400_000, 12_600_000


@pytest.fixture
def world() -> Iterator[World]:
    made = new_world()
    made.register_webhook()
    store_payer(made.services)
    yield made


@pytest.fixture
def logged(world: World, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(world.services.log, "error", lambda message, **_: lines.append(message))
    return lines


def choose(world: World, request: Request, amount: int = ASKED) -> Request:
    owner = Owner(world.account_id, None, None, mode=Mode.API_KEY)
    current = load_request(world.services, request)
    return flows.for_bank_account(world.services, owner, current, CHOSEN, BaseUnits(amount))


def chosen(world: World) -> Request:
    """A request in dollars with an order for what its tokens cost when it was made."""
    return choose(world, store_request(world.services, **{**CONTRACTS, "payee": "", "is_crypto_to_fiat": True}))


def pay(world: World, request: Request, tokens: int) -> None:
    """Pays the whole in dollars by the contract, at the rate of now, by which it costs so many tokens."""
    world.prices.set("USD", "USDC", f"{tokens / 12_500_000:.6f}")
    world.chain.convert(request, tokens)
    scan(world)
    assert load_request(world.services, request).status is RequestStatus.PAID


def order(world: World) -> dict[str, Any]:
    (found,) = world.compliance.provider.resources["orders"].values()
    return found


def say(world: World, status: str) -> None:
    """The provider moves the order and tells of it."""
    moved = world.compliance.provider.move("orders", order(world)["id"], {"status": status})
    flows.take(world.services, order_of(dict(moved)))


def puts(world: World) -> int:
    return sum(method == "PUT" for method, _ in world.compliance.calls)


@pytest.mark.parametrize(("tokens", "amount"), [(FEWER, "12.4"), (MORE, "12.6")])
def test_a_payment_at_another_rate_makes_the_order_one_for_its_tokens(world: World, tokens: int, amount: str) -> None:
    request = chosen(world)
    assert order(world)["amount"] == "12.50375"
    pay(world, request, tokens)
    assert check_due(world.services) == 1
    assert order(world)["amount"] == amount
    assert load_order(world.services, request).amount == amount
    for step in STEPS[1:]:
        say(world, step)
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]


def test_a_payment_at_the_same_rate_changes_no_order(world: World) -> None:
    request = chosen(world)
    pay(world, request, ASKED)
    asked = puts(world)
    check_due(world.services)
    assert puts(world) == asked


def test_a_shortfall_that_is_only_one_by_the_rate_is_told_to_nobody(world: World) -> None:
    """The provider sees the tokens first, before the service has told it that they are all."""
    request = chosen(world)
    say(world, "insufficient_funds")
    assert (notified(world), load_request(world.services, request).fiat) == ([], None)
    pay(world, request, FEWER)
    say(world, "insufficient_funds")
    check_due(world.services)
    assert (order(world)["amount"], order(world)["status"]) == ("12.4", "initiated")
    say(world, "fiat_sent")
    assert notified(world) == [*processing(*STEPS), ("confirmed", "")]


def test_the_word_that_too_little_came_makes_the_next_check_due_at_once(world: World) -> None:
    request = chosen(world)
    pay(world, request, ASKED)
    check_due(world.services)
    assert load_order(world.services, request).check_at != world.now
    say(world, "insufficient_funds")
    assert load_order(world.services, request).check_at == world.now
    assert check_due(world.services) == 1
    assert load_order(world.services, request).status is OrderStatus.INSUFFICIENT_FUNDS
    assert notified(world)[-1] == ("failed", "insufficient_funds"), "the order was for what was paid"


def test_an_order_that_cannot_be_amended_fails_and_is_logged(world: World, logged: list[str]) -> None:
    request = chosen(world)
    pay(world, request, FEWER)
    say(world, "insufficient_funds")
    world.compliance.trouble = lambda method, path: (422, b"{}") if method == "PUT" else None
    check_due(world.services)
    assert logged == ["off-ramp order is not for what was paid"]
    assert notified(world)[-1] == ("failed", "insufficient_funds")
    world.compliance.trouble = lambda method, path: None
    world.advance(86_400)
    check_due(world.services)
    assert order(world)["amount"] == "12.4", "it is tried again, once a day"
    assert notified(world)[-1] == ("processing", "initiated")


def test_an_order_under_way_to_the_bank_is_not_amended_any_more(world: World, logged: list[str]) -> None:
    request = chosen(world)
    pay(world, request, FEWER)
    say(world, "sending_fiat")
    asked = puts(world)
    world.advance(3600)
    check_due(world.services)
    assert (puts(world), order(world)["amount"], logged) == (asked, "12.50375", [])


def test_a_provider_that_has_gone_on_before_it_was_asked_is_logged(world: World, logged: list[str]) -> None:
    request = chosen(world)
    pay(world, request, FEWER)
    world.compliance.provider.move("orders", order(world)["id"], {"status": "sending_fiat"})
    check_due(world.services)
    assert logged == ["off-ramp order is not for what was paid"]
    assert load_order(world.services, request).status is OrderStatus.SENDING_FIAT


@pytest.mark.parametrize("trouble", ["down", "lost"])
def test_an_amendment_without_an_answer_is_made_good_by_the_next_check(world: World, trouble: str) -> None:
    request = chosen(world)
    pay(world, request, FEWER)
    world.compliance.trouble = lambda method, path: trouble if method == "PUT" else None
    assert check_due(world.services) == 0
    world.compliance.trouble = lambda method, path: None
    world.advance(3600)
    check_due(world.services)
    assert order(world)["amount"] == load_order(world.services, request).amount == "12.4"


# --- before the payment ---


def test_new_calldata_at_another_rate_renews_the_order_and_the_same_rate_does_not(world: World) -> None:
    request = chosen(world)
    asked = puts(world)
    assert choose(world, request) == request
    assert puts(world) == asked
    assert choose(world, request, 12_400_000) == request
    assert (order(world)["amount"], load_order(world.services, request).amount) == ("12.4", "12.4")
    assert load_request(world.services, request).payee == request.payee
    assert notified(world) == []


def test_a_renewal_without_an_answer_is_repeated_by_the_same_call(world: World) -> None:
    request = chosen(world)
    world.compliance.trouble = lambda method, path: "lost"
    with pytest.raises(ProviderUnavailable):
        choose(world, request, FEWER)
    world.compliance.trouble = lambda method, path: None
    choose(world, request, FEWER)
    assert load_order(world.services, request).amount == "12.4"


def test_a_renewal_that_the_provider_refuses_is_told_and_changes_nothing(world: World) -> None:
    request = chosen(world)
    world.compliance.trouble = lambda method, path: (422, b'{"fields": ["amount"]}')
    with pytest.raises(BadRequest, match=r"does not accept this payout \(amount\)"):
        choose(world, request, 1)
    assert load_order(world.services, request).amount == "12.50375"


@pytest.mark.parametrize("changed", [{"depositAddress": "0x" + "77" * 20}, {"userId": "another"}, {"bankAccountId": "b"}])
def test_a_renewal_leads_to_no_other_deposit_address_person_or_account(world: World, changed: dict[str, str]) -> None:
    request = chosen(world)
    order(world).update(changed)
    before = load_order(world.services, request)
    with pytest.raises(ProviderUnavailable):
        choose(world, request, FEWER)
    assert load_order(world.services, request) == before
    assert load_request(world.services, request).payee == request.payee


def test_once_a_part_is_paid_the_order_waits_for_the_rest(world: World) -> None:
    request = chosen(world)
    world.chain.convert(request, 5_000_000, 500_000_000)
    scan(world)
    asked = puts(world)
    choose(world, request, 1)
    assert puts(world) == asked


# --- how many tokens are paid out ---


def test_what_is_paid_out_is_what_was_paid_and_of_too_much_the_part_that_is_owed(world: World) -> None:
    request = store_request(world.services, **{**CONTRACTS, "is_crypto_to_fiat": True})
    for tokens in (5_000_000, 7_000_000):
        world.prices.set("USD", "USDC", f"{tokens / 6_250_000:.6f}")
        world.chain.convert(request, tokens, 625_000_000)
        scan(world)
    payments = payment_store.payments(world.services.store, request.request_id)
    known = load_request(world.services, request)
    assert len(payments) == 2 and known.paid == known.amount
    assert orders.amount_paid_out(known, payments) == 12_000_000
    assert orders.amount_paid_out(known, [*payments, replace(payments[0], status=PaymentStatus.REVERSED)]) == 12_000_000
    assert orders.amount_paid_out(replace(known, paid=BaseUnits(known.amount + 1)), payments) == 12_000_000, "rounded up"
    assert orders.amount_paid_out(replace(known, paid=BaseUnits(known.amount * 2)), payments) == 6_000_000
    assert orders.amount_paid_out(replace(known, paid=BaseUnits(known.amount - 1)), payments) == 12_000_000


def test_an_amount_is_compared_as_a_number(world: World) -> None:
    request = standalone(world.services)
    assert orders.is_for("12.50", request, BaseUnits(12_500_000))
    assert not orders.is_for("12.500001", request, BaseUnits(12_500_000))
    assert not orders.is_for("", request, BaseUnits(0)), "an order that the provider gave no amount"
