"""The transfers of a link and of a request: every field, whatever became of the link, and with a node that is away."""

from dataclasses import replace
from typing import Any

from chalicelib.base.money import BaseUnits
from chalicelib.payments.requests.records import Request
from tests.fakes.requests import store_request
from tests.fakes.world import PAYEE, WALLET
from tests.support.client import Shop
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_links import complete, expire
from tests.support.stored_transfers import (
    BLOCK_HASH,
    FUSDC,
    FUSDT,
    TX_HASH,
    paid_by,
    store_payment,
    store_payment_of,
    store_unmatched,
)

PATH = "/v2/secure-payments/{token}/transfers"


def transfers_of(shop: Shop, token: str) -> list[dict[str, Any]]:
    reply = shop.get(PATH.format(token=token))
    assert (reply.status, reply.json["token"]) == (200, token)
    found: list[dict[str, Any]] = reply.json["transfers"]
    return found


def test_a_link_without_transfers_has_an_empty_list(shop: Shop) -> None:
    assert transfers_of(shop, shop.link()) == []


def test_an_overpayment_shows_every_fact_and_what_to_sign_to_return_the_excess(shop: Shop, node: Node) -> None:
    token = shop.link()
    made = store_payment(token, 20_000_000)
    paid_by(node, WALLET, 20_000_000)
    (found,) = transfers_of(shop, token)
    refund = found.pop("refund")
    assert found.pop("paymentReference").startswith("0x")
    assert (found.pop("paidAt") < found.pop("detectedAt")) is True
    assert found == {
        "requestId": made.request_id,
        "classification": "over",
        "late": False,
        "counted": True,
        "network": "sepolia",
        "txHash": TX_HASH,
        "logIndex": 3,
        "blockNumber": 77,
        "blockHash": BLOCK_HASH,
        "payee": PAYEE,
        "currency": "fUSDC-sepolia",
        "tokenAddress": FUSDC,
        "amount": "20",
        "baseUnits": "20000000",
        "invoiceCurrency": "fUSDC-sepolia",
        "expectedAmount": "12.5",
        "countedAmount": "20",
        "excessAmount": "7.5",
        "feeAmount": "0.125",
        "status": "confirmed",
        "payerAddress": WALLET,
        "recoveryAction": "refund_excess",
        "refundUnavailable": None,
    }
    assert (refund["payer"], refund["amount"], refund["currency"]) == (WALLET, "7.5", "fUSDC-sepolia")
    assert [set(each) for each in refund["transactions"]] == [{"to", "data", "value"}] * 2
    assert len(refund["explanation"]) == 2


def test_a_stray_transfer_shows_what_came_and_not_what_was_expected(shop: Shop) -> None:
    token = shop.link()
    store_unmatched(token, "0x" + "33" * 20, payee="0x" + "22" * 20)
    (found,) = transfers_of(shop, token)
    assert (found["classification"], found["counted"], found["recoveryAction"]) == (
        "wrong_payee",
        False,
        "contact_receiver",
    )
    assert (found["payee"], found["tokenAddress"]) == ("0x" + "22" * 20, "0x" + "33" * 20)
    assert (found["currency"], found["amount"], found["baseUnits"]) == (None, None, "2000000")
    assert (found["excessAmount"], found["feeAmount"], found["paidAt"]) == (None, None, None)


def test_a_node_that_is_away_costs_the_refund_and_not_the_list(shop: Shop, node: Node) -> None:
    token = shop.link()
    store_unmatched(token, FUSDT)
    node.status = 500
    (found,) = transfers_of(shop, token)
    assert (found["classification"], found["recoveryAction"], found["refund"]) == ("wrong_token", "refund", None)
    assert found["refundUnavailable"] == "The sepolia node does not answer"


def own_request(shop: Shop, **changes: Any) -> Request:
    return store_request(running(), shop.account_id, **changes)


def test_a_request_without_a_link_lists_its_own_under_its_id_and_its_reference(shop: Shop) -> None:
    request = own_request(shop)
    store_payment_of(request, 12_500_000)
    for name in (request.request_id, request.payment_reference):
        body = shop.get(f"/v2/request/{name}/transfers").json
        assert (body["requestId"], body["paymentReference"]) == (request.request_id, request.payment_reference)
        (found,) = body["transfers"]
        assert (found["classification"], found["late"], found["counted"]) == ("exact", False, True)
        assert not body["truncated"]


def test_a_request_of_a_link_lists_what_the_link_does(shop: Shop) -> None:
    token = shop.link()
    made = store_payment(token, 12_500_000)
    assert shop.get(f"/v2/request/{made.request_id}/transfers").json["transfers"] == transfers_of(shop, token)


def test_an_invoice_in_dollars_says_which_amount_is_in_which_currency(shop: Shop, node: Node) -> None:
    """$10.50 at 8 decimals, paid with 20 fUSDC that count for $21: half of it is returned, in fUSDC."""
    request = own_request(shop, invoice_currency="USD", amount=BaseUnits(1_050_000_000))
    made = store_payment_of(request, 20_000_000)
    running().store.write(replace(made, value=BaseUnits(2_100_000_000), version=1))
    paid_by(node, WALLET, 20_000_000)
    (found,) = shop.get(f"/v2/request/{request.request_id}/transfers").json["transfers"]
    assert (found["currency"], found["amount"], found["feeAmount"]) == ("fUSDC-sepolia", "20", "0.125")
    assert found["invoiceCurrency"] == "USD"
    assert (found["expectedAmount"], found["countedAmount"], found["excessAmount"]) == ("10.5", "21", "10.5")
    assert (found["refund"]["amount"], found["refund"]["currency"]) == ("10", "fUSDC-sepolia")


def test_an_unknown_request_is_not_found(shop: Shop) -> None:
    for name in ("01" + "ab" * 32, "0x" + "ab" * 8, "nothing"):
        reply = shop.get(f"/v2/request/{name}/transfers")
        assert (reply.status, reply.json["message"]) == (404, "Request not found")


def test_the_list_is_there_for_links_that_can_no_longer_be_paid(shop: Shop) -> None:
    expired, completed = shop.link(), shop.link()
    for token, end in ((expired, expire), (completed, complete)):
        store_payment(token, 12_500_000)
        end(token)
    assert transfers_of(shop, expired)[0]["classification"] == "late"
    assert transfers_of(shop, completed)[0]["classification"] == "exact"
