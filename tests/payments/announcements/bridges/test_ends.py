"""What a merchant is notified of a payment from another chain that did not pay."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from chalicelib.payments.announcements.bridges.ends import fail_announced
from chalicelib.payments.links.records import AnnouncedStatus, PayableLink
from chalicelib.payments.requests.quotes import flows as quotes
from tests.fakes.announcements import PAGE
from tests.fakes.bridge import Bridge, Sent
from tests.fakes.event_bodies import assert_is_described
from tests.payments.announcements.bridges.test_checks import failures


@pytest.mark.parametrize(
    ("status", "reason", "notified"),
    [
        (AnnouncedStatus.FAILED, "It failed: ERC20: transfer amount exceeds balance", "insufficient_funds"),
        (AnnouncedStatus.FAILED, "It failed: INSUFFICIENT allowance", "insufficient_funds"),
        (AnnouncedStatus.FAILED, "It failed", "failed"),
        (AnnouncedStatus.FAILED, None, "failed"),
        (AnnouncedStatus.PARTIAL, "exceeds balance", "bounced"),
        (AnnouncedStatus.REFUNDED, None, "bounced"),
    ],
)
def test_its_sub_status_says_whether_the_payer_had_too_little_or_has_the_tokens_back(
    bridge: Bridge, status: AnnouncedStatus, reason: str | None, notified: str
) -> None:
    payment = bridge.link()
    announced = bridge.announce(payment, bridge.send(payment))
    assert announced.bridge_transfer is not None
    ended = replace(announced, status=status, bridge_transfer=replace(announced.bridge_transfer, reason=reason))
    event = fail_announced(bridge.world.services, payment.requests[0], ended, None)
    body = json.loads(event.body)
    assert (body["subStatus"], body["isCryptoToFiat"], body["txHash"]) == (notified, False, announced.transaction_hash)


def in_dollars(bridge: Bridge, is_quoted: bool = True) -> PayableLink:
    """A link over 12.50 dollars, of which one costs 1.25 USDC."""
    bridge.world.register_webhook()
    bridge.world.prices.set("USD", "USDC", "1.25")
    payment = bridge.world.create_link(amount="12.5", invoice_currency="USD", payment_currency="USDC-arbitrum-one")
    if is_quoted:
        quotes.hold(bridge.world.services, payment.requests)
    return payment


def sent_for(bridge: Bridge, payable: PayableLink) -> Sent:
    sent = bridge.send_deposit(bridge.deposit_for(payable.requests[0], amount=15_625_000))
    bridge.announce(payable, sent)
    return sent


def given_back(bridge: Bridge, payable: PayableLink, sent: Sent) -> None:
    bridge.include(sent)
    bridge.track()
    bridge.fill(sent, payable.requests[0], fails=True)
    bridge.track()


def nobody_fills(bridge: Bridge, payable: PayableLink, sent: Sent) -> None:
    bridge.include(sent)
    for minutes in (1, 100, 30):
        bridge.track(minutes)
    bridge.refund(sent)
    bridge.track(5)


def reverts(bridge: Bridge, payable: PayableLink, sent: Sent) -> None:
    bridge.include(sent, success=False)
    bridge.track()


@pytest.mark.parametrize(
    ("ends", "status", "notified"),
    [
        (given_back, AnnouncedStatus.PARTIAL, "bounced"),
        (nobody_fills, AnnouncedStatus.REFUNDED, "bounced"),
        (reverts, AnnouncedStatus.FAILED, "failed"),
    ],
)
def test_a_failure_of_an_invoice_in_dollars_is_told_in_dollars(
    bridge: Bridge, ends: Callable[[Bridge, PayableLink, Sent], None], status: AnnouncedStatus, notified: str
) -> None:
    payment = in_dollars(bridge)
    ends(bridge, payment, sent_for(bridge, payment))
    assert bridge.announced(payment).status is status
    (body,) = failures(bridge)
    assert_is_described(body)
    assert (body["amount"], body["expectedAmount"], body["totalAmountPaid"]) == ("12.5", "12.5", "0")
    assert (body["currency"], body["paymentCurrency"], body["subStatus"]) == ("USD", "USDC", notified)
    assert (body["convertedAmountSource"], body["conversionRateSource"]) == ("15.625", "1.25")


def sent_unquoted(bridge: Bridge, payable: PayableLink, amount: int) -> Sent:
    """A deposit that is announced before the node has it, so that nothing of it is known then."""
    sent = bridge.send_deposit(bridge.deposit_for(payable.requests[0], amount=amount))
    known = bridge.source.transactions.pop(sent.tx_hash)
    bridge.announce(payable, sent, PAGE)
    bridge.source.transactions[sent.tx_hash] = known
    return sent


def test_without_a_quote_it_is_valued_by_the_rate_of_its_time(bridge: Bridge) -> None:
    payment = in_dollars(bridge, is_quoted=False)
    given_back(bridge, payment, sent_unquoted(bridge, payment, 7_812_500))
    (body,) = failures(bridge)
    assert (body["amount"], body["currency"], body["conversionRateSource"]) == ("6.25", "USD", "1.25")
    assert bridge.announced(payment).status is AnnouncedStatus.PARTIAL


@pytest.mark.parametrize("ends", [given_back, nobody_fills, reverts])
def test_without_quote_and_rate_it_is_told_at_once_with_what_is_left_and_the_link_is_free(
    bridge: Bridge, ends: Callable[[Bridge, PayableLink, Sent], None]
) -> None:
    payment = in_dollars(bridge, is_quoted=False)
    sent = sent_unquoted(bridge, payment, 15_625_000)
    bridge.world.prices.api.is_down = bridge.world.prices.feeds.is_down = True
    ends(bridge, payment, sent)
    (body,) = failures(bridge)
    assert_is_described(body)
    assert (body["amount"], body["expectedAmount"], body["currency"]) == ("12.5", "12.5", "USD")
    assert "conversionRate" not in body and "convertedAmountSource" not in body
    assert not bridge.announced(payment).is_locking
    bridge.track(30)
    assert len(failures(bridge)) == 1


def test_a_failure_of_an_invoice_in_its_token_has_no_rate(bridge: Bridge) -> None:
    bridge.world.register_webhook()
    payment = bridge.link(amount="12.5")
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    reverts(bridge, payment, sent)
    (body,) = failures(bridge)
    assert (body["amount"], body["currency"]) == ("12.5", "USDC") and "conversionRate" not in body
