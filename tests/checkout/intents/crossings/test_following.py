"""A link that is paid from another chain waits for what both chains say, and for nothing else."""

import pytest

from chalicelib.base.errors import Locked
from chalicelib.links.crossings import Stage
from chalicelib.links.records import IntentStatus, LinkStatus, Proof, SecurePayment
from chalicelib.links.rules import check_payable
from chalicelib.requests.payments import store as payment_store
from chalicelib.requests.payments.records import PaymentKind
from tests.fakes.bridge import Bridge
from tests.fakes.chain import SENDER


def is_free(bridge: Bridge, payment: SecurePayment) -> bool:
    try:
        check_payable(bridge.world.load(payment), bridge.world.now)
    except Locked:
        return False
    return True


def test_a_payment_from_another_chain_completes_the_link_and_is_known_by_both_transactions(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    intent = bridge.announce(payment, sent)
    assert (intent.network, intent.wallet, intent.proof) == ("base", SENDER, Proof.SENT)
    assert not is_free(bridge, payment)
    bridge.include(sent)
    bridge.track()
    intent = bridge.intent(payment)
    assert intent.crossing is not None
    assert (intent.status, intent.crossing.stage) == (IntentStatus.PENDING, Stage.BRIDGE)
    filled = bridge.fill(sent, payment.requests[0])
    bridge.track()
    assert bridge.world.load(payment).link.status is LinkStatus.COMPLETED
    intent = bridge.intent(payment)
    assert intent.crossing is not None
    assert (intent.status, intent.crossing.destination_hash) == (IntentStatus.SETTLED, filled)
    (paid,) = payment_store.payments(bridge.world.services.store, payment.requests[0].request_id)
    assert (paid.type, paid.payer, paid.tx_hash) == (PaymentKind.CROSSCHAIN, SENDER, filled)
    assert (paid.source_network, paid.source_hash) == ("base", sent.tx_hash)
