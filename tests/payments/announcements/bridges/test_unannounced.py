"""Payments from another chain that nobody announced: of a request without a link nobody can."""

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.checkout.requests import flows as paying
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import PaymentKind
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.access.callers import Owner
from tests.fakes.bridge import Bridge
from tests.fakes.chain import SENDER
from tests.fakes.requests import load_request, store_request

OTHER = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"


def test_of_two_deposits_for_a_request_without_a_link_one_counts_and_the_other_is_told_as_a_duplicate(
    bridge: Bridge,
) -> None:
    """It is offered until the first one has arrived: nothing says before that a deposit is on its way."""
    world = bridge.world
    world.register_webhook()
    request = store_request(world.services, world.account_id, currency="USDC-arbitrum-one")
    owner, viewer = Owner(world.account_id, None, None), Viewer(world.account_id, None)
    for payer in (SENDER, OTHER):
        assert paying.pay(world.services, request.request_id, owner, viewer, PayOptions(payer), Part())
        sent = bridge.send_deposit(bridge.deposit_for(request, payer), payer)
        bridge.include(sent)
        bridge.fill(sent, request)
    bridge.tick(1)
    with pytest.raises(Conflict):
        paying.pay(world.services, request.request_id, owner, viewer, PayOptions(OTHER), Part())
    paid = payment_store.payments(world.services.store, request.request_id)
    assert {(each.type, each.source_network, each.payer) for each in paid} == {
        (PaymentKind.CROSSCHAIN, "base", SENDER),
        (PaymentKind.CROSSCHAIN, "base", OTHER),
    }
    after = load_request(world.services, request)
    assert (after.paid, after.confirmed_count) == (2 * request.amount, 2)
    _, listing = transfers.list_of_request(world.services, request.request_id, viewer)
    exact, duplicate = listing.transfers
    assert (exact.classified.classification.value, exact.unavailable) == ("exact", None)
    assert (duplicate.classified.classification.value, duplicate.classified.excess) == ("duplicate", request.amount)
    assert (duplicate.payer, duplicate.refund) == (OTHER, None)
    assert duplicate.unavailable is not None and "ask the payer" in duplicate.unavailable
