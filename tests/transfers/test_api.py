"""GET /v2/secure-payments/:token/transfers: every field, whatever became of the link, and with a node that is away."""

from typing import Any

from tests.fakes.world import PAYEE, WALLET
from tests.support.client import Shop
from tests.support.node import Node
from tests.support.stored_links import complete, expire
from tests.support.stored_transfers import BLOCK_HASH, FUSDC, FUSDT, TX_HASH, paid_by, store_payment, store_unmatched

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
        "expectedAmount": "12.5",
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


def test_the_list_is_there_for_links_that_can_no_longer_be_paid(shop: Shop) -> None:
    expired, completed = shop.link(), shop.link()
    for token, end in ((expired, expire), (completed, complete)):
        store_payment(token, 12_500_000)
        end(token)
    assert transfers_of(shop, expired)[0]["classification"] == "late"
    assert transfers_of(shop, completed)[0]["classification"] == "exact"
