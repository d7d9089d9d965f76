"""What callers send and see of payments from other chains."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from chalicelib.base.errors import Conflict, Locked
from chalicelib.checkout.announcements.api import RecordIntent, record_intent
from chalicelib.checkout.flows import describe
from chalicelib.checkout.schemas.link import secure_payment_answer
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.requests.list_names import transaction
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.search.payments import flows as payment_search
from chalicelib.payments.search.payments.records import Filters
from chalicelib.payments.search.payments.schemas import payment_answer
from chalicelib.payments.search.requests import flows as request_search
from chalicelib.payments.search.requests.responses import request_answer
from tests.fakes.announcements import SAFE
from tests.fakes.bridge import Bridge
from tests.fakes.chain import SENDER
from tests.fakes.payouts import store_payouts
from tests.support.errors import body_of

HASH = "0x" + "ab" * 32
BODY = {"txHash": HASH, "chain": "BASE", "token": "USDC"}


def read(**changes: Any) -> RecordIntent:
    return RecordIntent.model_validate({name: value for name, value in {**BODY, **changes}.items() if value is not None})


@pytest.mark.parametrize("digits", [63, 65])
def test_a_hash_of_65_or_67_characters_is_refused(digits: int) -> None:
    with pytest.raises(ValidationError):
        read(txHash="0x" + "a" * digits)


@pytest.mark.parametrize(
    "changes",
    [
        {"txHash": 7}, {"chain": "base"}, {"token": 5}, {"token": None}, {"safeTxHash": HASH}, {"txHash": None},
        {"safePaymentDeadline": "1"}, {"transactionIndices": []}, {"transactionIndices": "0"}, {"bridgeTool": 1},
    ],
)
def test_what_is_not_of_the_form_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(**changes)


def test_a_hash_in_upper_case_is_lowered_and_fields_of_later_clients_are_accepted() -> None:
    body = read(
        txHash="0x" + "AB" * 32, bridgeTool="across", executionKind="evm_cross_chain", payerEoaAddress=SENDER,
        sourceNetwork="base", sourceToken="USDC", sourceAmount="1.0", routeKind="crosschain",
    )
    assert (body.draft().tx_hash, body.draft().bridge_tool) == (HASH, "across")


def call(bridge: Bridge, token: str, body: RecordIntent) -> Any:
    caller = SimpleNamespace(
        account_id=bridge.world.account_id, client_id=None, reads_any_link=False, mode=None
    )
    return SimpleNamespace(services=bridge.world.services, path={"token": token}, caller=caller, body=body)


def test_the_answer_repeats_what_was_announced(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    answer = record_intent(call(bridge, payment.link.token, read(txHash=sent.tx_hash))).model_dump(exclude_unset=True)
    assert answer == {
        "intentId": bridge.announced(payment).announced_id,
        "paymentReference": payment.requests[0].payment_reference,
        "txHash": sent.tx_hash,
        "isListening": True,
    }


def test_a_safes_payment_from_another_chain_has_no_transaction_yet(bridge: Bridge) -> None:
    payment = bridge.link()
    source: Any = bridge.world.services.chains.evm("base")
    source.contracts.add(SAFE)
    body = read(txHash=None, safeTxHash=HASH, payerAddress=SAFE, safePaymentDeadline=4_000_000_000)
    answer = record_intent(call(bridge, payment.link.token, body)).model_dump(exclude_unset=True)
    assert answer == {
        "intentId": bridge.announced(payment).announced_id,
        "paymentReference": payment.requests[0].payment_reference,
        "txHash": None,
        "safeTxHash": HASH,
        "safePaymentDeadline": 4_000_000_000,
        "isListening": True,
        "payerAddress": SAFE,
    }


def test_a_multicalls_announcement_is_answered_with_a_receipt(bridge: Bridge) -> None:
    children = store_payouts(
        bridge.world.services, bridge.world.account_id, 2, creator_wallet=SENDER, currency="USDC-arbitrum-one"
    )
    tokens = [each.link.token for each in children]
    parent = multicalls.create(bridge.world.services, bridge.world.owner, tokens, None).payable.link.token
    sent = bridge.send(children[0])
    indices = [{"childPosition": 0, "transactionIndex": 1, "routeTool": "across"}]
    body = read(
        txHash=sent.tx_hash, token=None, smartAccountAddress=SENDER, userOpHash=HASH, transactionIndices=indices
    )
    assert record_intent(call(bridge, parent, body)).model_dump(exclude_unset=True) == {
        "receiptId": bridge.announced(children[0]).announced_id,
        "multicallId": parent,
        "parentToken": parent,
        "txHash": sent.tx_hash,
        "sourceChain": "BASE",
        "smartAccountAddress": SENDER,
        "userOpHash": HASH,
        "transactionIndices": indices,
        "isListening": False,
    }


def test_a_locked_link_shows_the_stage_and_both_transactions(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent, bridge_tool="across")
    bridge.include(sent)
    bridge.track()
    with pytest.raises(Locked) as refusal:
        check_payable(bridge.world.load(payment), bridge.world.now)
    body = body_of(refusal.value)
    assert body["requestStatuses"][0]["chainId"] == 8453
    (shown,) = body["crosschainIntents"]
    assert (shown["status"], shown["stage"], shown["bridgeTool"]) == ("pending", "bridge", "across")
    assert (shown["sourceTxHash"], shown["destinationTxHash"]) == (sent.tx_hash, None)
    assert (shown["payerAddress"], shown["held"], shown["failureReason"]) == (SENDER, None, None)


def test_after_a_partial_end_the_link_and_the_request_show_what_the_payer_has(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    filled = bridge.fill(sent, payment.requests[0], fails=True)
    bridge.track()
    viewer = Viewer(bridge.world.account_id, None)
    described = describe(bridge.world.services, payment.link.token, viewer, None)
    found = request_search.find(bridge.world.services, payment.requests[0].request_id, viewer)
    for answer in (secure_payment_answer(described, {}), request_answer(found, "service", shows_customer=True)):
        (shown,) = answer.model_dump()["crosschainIntents"]
        assert (shown["status"], shown["destinationTxHash"]) == ("partial", filled)
        assert shown["held"] == {
            "amount": "12.625", "currency": "USDC", "network": "arbitrum-one", "walletAddress": SENDER
        }


def test_a_completed_link_tells_the_second_payer_that_the_payment_is_a_surplus(bridge: Bridge) -> None:
    payment = bridge.link()
    other = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
    both = [bridge.send(payment), bridge.send(payment, other)]
    for sent in both:
        bridge.announce(payment, sent)
        bridge.include(sent)
        bridge.fill(sent, payment.requests[0])
    bridge.track()
    bridge.track()
    with pytest.raises(Conflict) as refusal:
        check_payable(bridge.world.load(payment), bridge.world.now)
    shown = {each["payerAddress"]: each["isSurplus"] for each in body_of(refusal.value)["crosschainIntents"]}
    assert shown == {SENDER: False, other: True}


def test_a_payment_shows_both_networks_and_both_transactions(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    filled = bridge.fill(sent, payment.requests[0])
    bridge.tick()
    store, request_id = bridge.world.services.store, payment.requests[0].request_id
    before = payment_answer(payment_store.payments(store, request_id)[0], None, "service", False)
    assert (before.sourceNetwork, before.sourceTxHash, before.destinationTxHash) == ("base", None, filled)
    bridge.track()
    after = payment_answer(payment_store.payments(store, request_id)[0], None, "service", False)
    assert (after.type, after.sourceNetwork, after.destinationNetwork) == ("crosschain", "base", "arbitrum-one")
    assert (after.sourceTxHash, after.destinationTxHash) == (sent.tx_hash, filled)


def test_a_payment_is_found_by_either_transaction(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    filled = bridge.fill(sent, payment.requests[0])
    bridge.track()
    for tx_hash in (sent.tx_hash, filled):
        wanted = Filters(bridge.world.account_id, tx_hash=transaction(tx_hash))
        page = payment_search.page_at(bridge.world.services, wanted, 0, 10)
        assert [each.tx_hash for each in page.payments] == [filled]
