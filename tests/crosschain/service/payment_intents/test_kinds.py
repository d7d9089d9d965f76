"""Which requests are paid by a signature: also amounts in other currencies and those paid out to a bank account."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, Locked
from chalicelib.base.money import BaseUnits, Fee, format_amount
from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.checkout.payouts import flows as payouts
from chalicelib.checkout.payouts.flows import BatchDraft, Terms
from chalicelib.checkout.requests import flows as requests
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.crosschain.service.payment_intents import flows
from chalicelib.crosschain.service.payment_intents.flows import Offer
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.sources.rules import Payer
from chalicelib.offramp.core.records import Order, OrderStatus
from chalicelib.offramp.service.rules import NO_ACCOUNT, ChosenAccount
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import Owed, SourceToken, direct
from chalicelib.payments.requests.quotes.records import HeldRate
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.outbound.lifi import RouterUnavailable
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.offramps import DETAILS, PERSON, store_payer
from tests.fakes.permits import HAD, PAYER, Permits, check_conserved

VIEWER = Viewer("acct", None)
DOLLARS = BaseUnits(1_250_000_000)
"""12.50, with the 8 decimals of amounts in fiat."""
HALF_AN_HOUR = timedelta(minutes=30)
CHOSEN = ChosenAccount(PERSON, DETAILS)


@pytest.fixture
def permits() -> Permits:
    return Permits()


def signed_for(permits: Permits, request: Request, account: ChosenAccount = NO_ACCOUNT, **part: Any) -> PaymentIntent:
    """The payment intent that /pay offers for a request, from then on that of `permits`."""
    permits.request = request
    asked = PayOptions(PAYER, SourceToken("BASE", "USDC"))
    made = requests.pay(
        permits.services, request.request_id, permits.owner, VIEWER, asked, Part(**{"amount": None, "fee": Fee(), **part}), account
    )
    assert isinstance(made, Offer)
    return made.intent


def in_dollars(permits: Permits, rate: str = "1") -> Request:
    permits.world.prices.set("USD", "USDC", rate)
    return permits.new_request(invoice_currency="USD", amount=DOLLARS)


def paid_out(permits: Permits) -> Request:
    """One that is paid out to a bank account, which has no payee yet."""
    store_payer(permits.services)
    return permits.new_request(payee="", is_crypto_to_fiat=True)


def order_of(permits: Permits) -> Order:
    found = permits.services.store.get(Order, Order.KEY.of(request_id=permits.request.request_id))
    assert found is not None
    return found


def make(permits: Permits, intent: PaymentIntent) -> PaymentIntent:
    """The payment intent once it is settled."""
    permits.fill(permits.run_until_bridged(intent), fee=0)
    permits.settle(3)
    found = permits.load(intent)
    assert (found.end, permits.loaded().status) == (End.SETTLED, RequestStatus.PAID)
    check_conserved(permits)
    return found


# --- amounts in other currencies ---


def test_an_amount_in_dollars_is_paid_by_the_rate_that_is_held(permits: Permits) -> None:
    intent = signed_for(permits, in_dollars(permits, "1.002"))
    assert (intent.due, intent.owed) == (12_525_000, DOLLARS)
    make(permits, permits.accept(intent))


def test_a_part_of_an_amount_in_dollars_is_paid(permits: Permits) -> None:
    intent = signed_for(permits, in_dollars(permits), amount="5")
    assert (intent.due, intent.owed) == (5_000_000, 500_000_000)
    permits.fill(permits.run_until_bridged(permits.accept(intent)), fee=0)
    permits.settle(3)
    assert permits.loaded().paid == 500_000_000 and permits.load(intent).end is End.SETTLED


def test_once_its_rate_is_not_held_any_more_the_signature_is_refused(permits: Permits) -> None:
    intent = signed_for(permits, in_dollars(permits))
    permits.world.advance(permits.services.settings.quote_seconds + 1)
    with pytest.raises(Conflict, match="rate by which this amount is converted"):
        permits.accept(intent)
    assert permits.load(intent).stage is Stage.OFFERED


def test_what_was_taken_pays_the_whole_amount_though_the_rate_moves_until_it_is_there(permits: Permits) -> None:
    intent = signed_for(permits, in_dollars(permits))
    permits.accept(intent)
    permits.minute()
    permits.settle(1)
    (held,) = permits.services.store.all(HeldRate)
    assert held.ends_at == permits.load(intent).taken_at + HALF_AN_HOUR
    permits.world.prices.set("USD", "USDC", "1.02")
    permits.settle(8)
    make(permits, intent)


def test_who_delays_the_payment_does_not_keep_the_rate(permits: Permits) -> None:
    """The signature of a converted amount is good for ten minutes after its rate."""
    intent = signed_for(permits, in_dollars(permits))
    ends_at = permits.world.now.timestamp() + permits.services.settings.quote_seconds
    assert intent.permit.deadline == ends_at + 600
    permits.accept(intent)
    permits.balances[PAYER.lower()] = 0
    permits.settle(18)
    permits.balances[PAYER.lower()] = HAD
    permits.settle(20)
    assert permits.load(intent).end is End.FAILED and permits.made["take"] == 0


def test_a_rate_that_is_dearer_since_does_not_matter_while_the_signed_one_is_held(permits: Permits) -> None:
    intent = signed_for(permits, in_dollars(permits))
    permits.world.prices.set("USD", "USDC", "1.01")
    permits.world.advance(permits.services.settings.quote_seconds * 0.6)
    assert signed_for(permits, permits.request).due > intent.due
    make(permits, permits.accept(intent))


# --- bank accounts ---


def test_a_request_that_is_paid_out_to_a_bank_account_is_paid_at_the_providers_address(permits: Permits) -> None:
    intent = signed_for(permits, paid_out(permits), CHOSEN)
    assert permits.loaded().payee == intent.permit.destination.account != ""
    assert order_of(permits).status is OrderStatus.CREATED
    make(permits, permits.accept(intent))
    permits.bridge.tick(1)
    assert order_of(permits).paid_at is not None


@pytest.mark.parametrize("stage", ["offered", "taking", "taken"])
def test_once_the_provider_has_ended_the_payout_nothing_is_brought_there(permits: Permits, stage: str) -> None:
    intent = signed_for(permits, paid_out(permits), CHOSEN)
    if stage != "offered":
        permits.accept(intent)
    if stage == "taken":
        permits.minute()
        assert permits.made["take"] == 1
    permits.services.store.write(replace(order_of(permits), status=OrderStatus.CANCELLED))
    if stage == "offered":
        with pytest.raises(Conflict, match="has ended the payout of this request: create a new request"):
            permits.accept(intent)
        return
    permits.settle(8)
    permits.world.advance(2 * 3600)
    permits.settle(8)
    ended = {"taking": End.FAILED, "taken": End.REFUNDED}[stage]
    assert (permits.load(intent).end, permits.balance(PAYER)) == (ended, HAD)
    check_conserved(permits)


def test_without_the_bank_account_it_is_refused(permits: Permits) -> None:
    with pytest.raises(BadRequest, match="give clientUserId and paymentDetailsId"):
        signed_for(permits, paid_out(permits))


# --- payouts ---


def test_a_payout_is_paid_by_its_id_and_in_no_batch_meanwhile(permits: Permits) -> None:
    other = permits.new_request()
    permits.accept(signed_for(permits, permits.new_request()))
    batch = BatchDraft((), (permits.request.request_id, other.request_id), Terms(PAYER, Fee()))
    with pytest.raises(Locked, match="is being paid by payment intent"):
        payouts.pay_batch(permits.services, permits.owner, VIEWER, batch)


# --- what is not signed ---


def test_a_payment_of_a_schedule_is_not_signed(permits: Permits) -> None:
    with pytest.raises(BadRequest, match="schedule"):
        signed_for(permits, permits.new_request(recurring_payment_id="01KJM9CZ2YSCHEDULE00000000"))


def test_what_a_contract_converts_is_not_signed(permits: Permits) -> None:
    position, source = direct(Owed(permits.request, permits.request.amount, Fee())), token_with_id("USDC-base")
    converted = replace(position, due=replace(position.due, conversion=Conversion(("0x", "0x"), 1, 1)))
    assert source is not None
    with pytest.raises(BadRequest, match="What a contract converts"):
        flows.offer(permits.services, permits.owner, converted, source, Payer(PAYER, PAYER))


def test_a_request_of_a_link_is_not_signed(permits: Permits) -> None:
    link = permits.bridge.link()
    with pytest.raises(BadRequest, match="request of a link"):
        signed_for(permits, link.requests[0])


# --- failures of an invoice in dollars ---


def test_without_a_route_what_the_payment_would_have_counted_for_is_told_in_dollars(permits: Permits) -> None:
    intent = permits.accept(signed_for(permits, in_dollars(permits, "1.25")))
    permits.minute()
    permits.world.router.trouble = RouterUnavailable("down")
    permits.world.advance(120)
    permits.settle(40)
    assert permits.load(intent).end is End.REFUNDED
    check_told_in_dollars(permits, "bounced", intent)


def test_a_payment_that_the_bridge_gives_back_is_told_in_dollars(permits: Permits) -> None:
    intent = permits.accept(signed_for(permits, in_dollars(permits, "1.25")))
    permits.fill(permits.run_until_bridged(intent), fails=True)
    permits.settle(4)
    assert permits.load(intent).end is End.PARTIAL
    check_told_in_dollars(permits, "bounced", intent)


def test_a_payment_of_which_nothing_was_taken_is_told_in_dollars(permits: Permits) -> None:
    intent = permits.accept(signed_for(permits, in_dollars(permits, "1.25")))
    permits.fails.add("take")
    permits.settle(120)
    assert permits.load(intent).end is End.FAILED
    check_told_in_dollars(permits, "failed", intent)


def check_told_in_dollars(permits: Permits, sub_status: str, intent: PaymentIntent) -> None:
    (event,) = permits.events("payment.failed")
    body = json.loads(event.body)
    assert_is_described(body)
    assert (body["currency"], body["paymentCurrency"], body["subStatus"]) == ("USD", "USDC", sub_status)
    assert body["amount"] == body["expectedAmount"] == format_amount(DOLLARS, 8)
    assert body["convertedAmountSource"] == format_amount(intent.due, 6) and body["conversionRateSource"] == "1.25"
