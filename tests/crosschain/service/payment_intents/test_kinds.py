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
from chalicelib.checkout.payouts import flows as paying_out
from chalicelib.checkout.payouts.flows import BatchDraft
from chalicelib.checkout.requests import flows as paying
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
from chalicelib.payments.requests.quotes.records import LockedRate
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.outbound.lifi import RouterUnavailable
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.offramps import DETAILS, PERSON, store_payer
from tests.fakes.payment_intents import HAD, PAYER, PaymentIntents, check_conserved

VIEWER = Viewer("acct", None)
DOLLARS = BaseUnits(1_250_000_000)
"""12.50, with the 8 decimals of amounts in fiat."""
HALF_AN_HOUR = timedelta(minutes=30)
CHOSEN = ChosenAccount(PERSON, DETAILS)


@pytest.fixture
def payment_intents() -> PaymentIntents:
    return PaymentIntents()


def signed_for(payment_intents: PaymentIntents, request: Request, account: ChosenAccount = NO_ACCOUNT, **part: Any) -> PaymentIntent:
    """The payment intent that /pay offers for a request, from then on that of `payment_intents`."""
    payment_intents.request = request
    asked = PayOptions(PAYER, SourceToken("BASE", "USDC"))
    made = paying.pay(
        payment_intents.services, request.request_id, payment_intents.owner, VIEWER, asked, Part(**{"amount": None, "fee": Fee(), **part}), account
    )
    assert isinstance(made, Offer)
    return made.intent


def in_dollars(payment_intents: PaymentIntents, rate: str = "1") -> Request:
    payment_intents.world.prices.set("USD", "USDC", rate)
    return payment_intents.new_request(invoice_currency="USD", amount=DOLLARS)


def paid_out(payment_intents: PaymentIntents) -> Request:
    """One that is paid out to a bank account, which has no payee yet."""
    store_payer(payment_intents.services)
    return payment_intents.new_request(payee="", is_crypto_to_fiat=True)


def order_of(payment_intents: PaymentIntents) -> Order:
    found = payment_intents.services.store.get(Order, Order.KEY.of(request_id=payment_intents.request.request_id))
    assert found is not None
    return found


def make(payment_intents: PaymentIntents, intent: PaymentIntent) -> PaymentIntent:
    """The payment intent once it is settled."""
    payment_intents.fill(payment_intents.run_until_bridged(intent), fee=0)
    payment_intents.settle(3)
    found = payment_intents.load(intent)
    assert (found.end, payment_intents.loaded().status) == (End.SETTLED, RequestStatus.PAID)
    check_conserved(payment_intents)
    return found


# --- amounts in other currencies ---


def test_an_amount_in_dollars_is_paid_by_the_rate_that_is_locked(payment_intents: PaymentIntents) -> None:
    intent = signed_for(payment_intents, in_dollars(payment_intents, "1.002"))
    assert (intent.due, intent.owed) == (12_525_000, DOLLARS)
    make(payment_intents, payment_intents.accept(intent))


def test_a_part_of_an_amount_in_dollars_is_paid(payment_intents: PaymentIntents) -> None:
    intent = signed_for(payment_intents, in_dollars(payment_intents), amount="5")
    assert (intent.due, intent.owed) == (5_000_000, 500_000_000)
    payment_intents.fill(payment_intents.run_until_bridged(payment_intents.accept(intent)), fee=0)
    payment_intents.settle(3)
    assert payment_intents.loaded().paid == 500_000_000 and payment_intents.load(intent).end is End.SETTLED


def test_once_its_rate_is_not_locked_any_more_the_signature_is_refused(payment_intents: PaymentIntents) -> None:
    intent = signed_for(payment_intents, in_dollars(payment_intents))
    payment_intents.world.advance(payment_intents.services.settings.quote_seconds + 1)
    with pytest.raises(Conflict, match="rate by which this amount is converted"):
        payment_intents.accept(intent)
    assert payment_intents.load(intent).stage is Stage.OFFERED


def test_what_was_taken_pays_the_whole_amount_though_the_rate_moves_until_it_is_there(payment_intents: PaymentIntents) -> None:
    intent = signed_for(payment_intents, in_dollars(payment_intents))
    payment_intents.accept(intent)
    payment_intents.minute()
    payment_intents.settle(1)
    (locked,) = payment_intents.services.store.all(LockedRate)
    assert locked.ends_at == payment_intents.load(intent).taken_at + HALF_AN_HOUR
    payment_intents.world.prices.set("USD", "USDC", "1.02")
    payment_intents.settle(8)
    make(payment_intents, intent)


def test_who_delays_the_payment_does_not_keep_the_rate(payment_intents: PaymentIntents) -> None:
    """The signature of a converted amount is good for ten minutes after its rate."""
    intent = signed_for(payment_intents, in_dollars(payment_intents))
    ends_at = payment_intents.world.now.timestamp() + payment_intents.services.settings.quote_seconds
    assert intent.permit.deadline == ends_at + 600
    payment_intents.accept(intent)
    payment_intents.balances[PAYER.lower()] = 0
    payment_intents.settle(18)
    payment_intents.balances[PAYER.lower()] = HAD
    payment_intents.settle(20)
    assert payment_intents.load(intent).end is End.FAILED and payment_intents.made["take"] == 0


def test_a_rate_that_is_dearer_since_does_not_matter_while_the_signed_one_is_locked(payment_intents: PaymentIntents) -> None:
    intent = signed_for(payment_intents, in_dollars(payment_intents))
    payment_intents.world.prices.set("USD", "USDC", "1.01")
    payment_intents.world.advance(payment_intents.services.settings.quote_seconds * 0.6)
    assert signed_for(payment_intents, payment_intents.request).due > intent.due
    make(payment_intents, payment_intents.accept(intent))


# --- bank accounts ---


def test_a_request_that_is_paid_out_to_a_bank_account_is_paid_at_the_providers_address(payment_intents: PaymentIntents) -> None:
    intent = signed_for(payment_intents, paid_out(payment_intents), CHOSEN)
    assert payment_intents.loaded().payee == intent.permit.destination.account != ""
    assert order_of(payment_intents).status is OrderStatus.CREATED
    make(payment_intents, payment_intents.accept(intent))
    payment_intents.bridge.tick(1)
    assert order_of(payment_intents).paid_at is not None


@pytest.mark.parametrize("stage", ["offered", "taking", "taken"])
def test_once_the_provider_has_ended_the_payout_nothing_is_brought_there(payment_intents: PaymentIntents, stage: str) -> None:
    intent = signed_for(payment_intents, paid_out(payment_intents), CHOSEN)
    if stage != "offered":
        payment_intents.accept(intent)
    if stage == "taken":
        payment_intents.minute()
        assert payment_intents.made["take"] == 1
    payment_intents.services.store.write(replace(order_of(payment_intents), status=OrderStatus.CANCELLED))
    if stage == "offered":
        with pytest.raises(Conflict, match="has ended the payout of this request: create a new request"):
            payment_intents.accept(intent)
        return
    payment_intents.settle(8)
    payment_intents.world.advance(2 * 3600)
    payment_intents.settle(8)
    ended = {"taking": End.FAILED, "taken": End.REFUNDED}[stage]
    assert (payment_intents.load(intent).end, payment_intents.balance(PAYER)) == (ended, HAD)
    check_conserved(payment_intents)


def test_without_the_bank_account_it_is_refused(payment_intents: PaymentIntents) -> None:
    with pytest.raises(BadRequest, match="give clientUserId and paymentDetailsId"):
        signed_for(payment_intents, paid_out(payment_intents))


# --- payouts ---


def test_a_payout_is_paid_by_its_id_and_in_no_batch_meanwhile(payment_intents: PaymentIntents) -> None:
    other = payment_intents.new_request()
    payment_intents.accept(signed_for(payment_intents, payment_intents.new_request()))
    batch = BatchDraft((), (payment_intents.request.request_id, other.request_id), PAYER, Fee())
    with pytest.raises(Locked, match="is being paid by payment intent"):
        paying_out.pay_batch(payment_intents.services, payment_intents.owner, VIEWER, batch)


# --- what is not signed ---


def test_a_payment_of_a_schedule_is_not_signed(payment_intents: PaymentIntents) -> None:
    with pytest.raises(BadRequest, match="schedule"):
        signed_for(payment_intents, payment_intents.new_request(recurring_payment_id="01KJM9CZ2YSCHEDULE00000000"))


def test_what_a_contract_converts_is_not_signed(payment_intents: PaymentIntents) -> None:
    position, source = direct(Owed(payment_intents.request, payment_intents.request.amount, Fee())), token_with_id("USDC-base")
    converted = replace(position, due=replace(position.due, conversion=Conversion(("0x", "0x"), 1, 1)))
    assert source is not None
    with pytest.raises(BadRequest, match="What a contract converts"):
        flows.offer(payment_intents.services, payment_intents.owner, converted, source, Payer(PAYER, PAYER))


def test_a_request_of_a_link_is_not_signed(payment_intents: PaymentIntents) -> None:
    link = payment_intents.bridge.link()
    with pytest.raises(BadRequest, match="request of a link"):
        signed_for(payment_intents, link.requests[0])


# --- failures of an invoice in dollars ---


def test_without_a_route_what_the_payment_would_have_counted_for_is_told_in_dollars(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.accept(signed_for(payment_intents, in_dollars(payment_intents, "1.25")))
    payment_intents.minute()
    payment_intents.world.router.trouble = RouterUnavailable("down")
    payment_intents.world.advance(120)
    payment_intents.settle(40)
    assert payment_intents.load(intent).end is End.REFUNDED
    check_event_in_dollars(payment_intents, "bounced", intent)


def test_a_payment_that_the_bridge_gives_back_is_told_in_dollars(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.accept(signed_for(payment_intents, in_dollars(payment_intents, "1.25")))
    payment_intents.fill(payment_intents.run_until_bridged(intent), fails=True)
    payment_intents.settle(4)
    assert payment_intents.load(intent).end is End.PARTIAL
    check_event_in_dollars(payment_intents, "bounced", intent)


def test_a_payment_of_which_nothing_was_taken_is_told_in_dollars(payment_intents: PaymentIntents) -> None:
    intent = payment_intents.accept(signed_for(payment_intents, in_dollars(payment_intents, "1.25")))
    payment_intents.fails.add("take")
    payment_intents.settle(120)
    assert payment_intents.load(intent).end is End.FAILED
    check_event_in_dollars(payment_intents, "failed", intent)


def check_event_in_dollars(payment_intents: PaymentIntents, sub_status: str, intent: PaymentIntent) -> None:
    (event,) = payment_intents.events("payment.failed")
    body = json.loads(event.body)
    assert_is_described(body)
    assert (body["currency"], body["paymentCurrency"], body["subStatus"]) == ("USD", "USDC", sub_status)
    assert body["amount"] == body["expectedAmount"] == format_amount(DOLLARS, 8)
    assert body["convertedAmountSource"] == format_amount(intent.due, 6) and body["conversionRateSource"] == "1.25"
