"""What a merchant is told of a payment from another chain that did not pay."""

import json
from dataclasses import replace

import pytest

from chalicelib.crosschain.service.tracking.events import failed_event
from chalicelib.payments.links.records import IntentStatus
from chalicelib.webhooks.flows import event_context
from tests.fakes.bridge import Bridge


@pytest.mark.parametrize(
    ("status", "reason", "told"),
    [
        (IntentStatus.FAILED, "It failed: ERC20: transfer amount exceeds balance", "insufficient_funds"),
        (IntentStatus.FAILED, "It failed: INSUFFICIENT allowance", "insufficient_funds"),
        (IntentStatus.FAILED, "It failed", "failed"),
        (IntentStatus.FAILED, None, "failed"),
        (IntentStatus.PARTIAL, "exceeds balance", "bounced"),
        (IntentStatus.REFUNDED, None, "bounced"),
    ],
)
def test_its_sub_status_says_whether_the_payer_had_too_little_or_has_the_tokens_back(
    bridge: Bridge, status: IntentStatus, reason: str | None, told: str
) -> None:
    payment = bridge.link()
    intent = bridge.announce(payment, bridge.send(payment))
    assert intent.crossing is not None
    ended = replace(intent, status=status, crossing=replace(intent.crossing, reason=reason))
    event = failed_event(payment.requests[0], ended, event_context(bridge.world.services))
    body = json.loads(event.body)
    assert (body["subStatus"], body["isCryptoToFiat"], body["txHash"]) == (told, False, intent.transaction_hash)
