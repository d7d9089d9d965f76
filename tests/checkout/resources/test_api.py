"""The quote of energy and bandwidth in the answers about payments on Tron, and what is refused before it burns TRX."""

from typing import Any

import pytest

from tests.checkout.broadcasts.test_api import OTHER, PAYER, paid_by, payment_of, send
from tests.checkout.test_pay_kinds import pay
from tests.fakes.tron import call_of, sign_raw, signed_raw
from tests.support.client import Shop
from tests.support.items import tron
from tests.support.node import Node


def resources(shop: Shop, node: Node) -> dict[str, Any]:
    metadata = pay(shop, shop.link(tron()), wallet=PAYER.address)["metadata"]
    assert metadata["hasEnoughGas"] is metadata["resources"]["canPay"]
    found: dict[str, Any] = metadata["resources"]
    return found


def test_a_wallet_sees_what_the_network_takes_before_it_signs(shop: Shop, node: Node) -> None:
    node.native = 2_000_000
    found = resources(shop, node)
    grant, payment = found["steps"]
    assert (grant["energy"], grant["bandwidth"], grant["isMeasured"]) == (34_100, 345, True)
    assert (payment["energy"], payment["isMeasured"]) == (78_100, False)
    burned = (34_100 + 78_100) * 100 + payment["bandwidth"] * 1000
    assert (found["burned"], found["missing"]) == (str(burned), str(burned - 2_000_000))
    assert (found["canPay"], found["problem"]) == (False, "too_little_trx")
    assert "the wallet has 2:" in found["advice"]


def test_a_payment_that_is_approved_is_measured_itself(shop: Shop, node: Node) -> None:
    node.allowance = 10**12
    (payment,) = resources(shop, node)["steps"]
    assert (payment["energy"], payment["isMeasured"]) == (34_100, True)


@pytest.mark.parametrize("value", [-1, 0, 10**18, "100", None, 101])
def test_a_node_with_an_absurd_price_or_one_that_it_contradicts_never_says_fine(shop: Shop, node: Node, value: Any) -> None:
    node.parameters = {"getEnergyFee": value}
    found = resources(shop, node)
    assert (found["canPay"], found["problem"], found["steps"], "burned" in found) == (False, "unknown", [], False)


def test_what_cannot_be_measured_is_not_fine(shop: Shop, node: Node) -> None:
    node.reverts = {"a9059cbb"}
    found = resources(shop, node)
    assert (found["problem"], "energy" in found["steps"][0], "energy" in found["steps"][1]) == ("unknown", True, False)


def test_what_would_end_out_of_energy_is_refused_and_not_sent(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    signed = paid_by(shop, token)
    node.native = 3_099_999
    reply = send(shop, token, signed)
    assert (reply.status, reply.json["code"], node.sent) == (400, "too_little_trx", [])
    assert reply.json["resources"]["steps"][0]["energy"] == 31_000, "without a margin"
    node.native = 3_100_000
    assert send(shop, token, signed).json["result"] is True


def test_a_fee_limit_that_buys_too_little_energy_is_refused(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    reply = send(shop, token, paid_by(shop, token, fee_limit=3_099_999))
    assert (reply.status, reply.json["code"], node.sent) == (400, "fee_limit", [])


@pytest.mark.parametrize("path", ["gettransactionfrompending", "gettransactionbyid"])
def test_what_the_network_has_already_is_not_refused(shop: Shop, node: Node, path: str) -> None:
    """It has burned the TRX that seem to be missing."""
    token = shop.link(tron())
    signed = paid_by(shop, token)
    node.native = 0
    node.found = {f"/wallet/{path}": {"txID": signed["txID"]}}
    assert send(shop, token, signed).json["result"] is True


@pytest.mark.parametrize("path", ["gettransactionfrompending", "gettransactionbyid"])
def test_nobody_is_told_that_nothing_was_sent_while_the_node_does_not_say_whether_it_was(
    shop: Shop, node: Node, path: str
) -> None:
    token = shop.link(tron())
    signed = paid_by(shop, token)
    node.native = 0
    node.found = {f"/wallet/{path}": {"Error": "busy"}}
    reply = send(shop, token, signed)
    assert (reply.status, node.sent) == (502, [])
    assert "may have been sent before: look it up" in reply.message


def test_the_fees_for_a_memo_and_a_second_signature_are_counted(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    node.native = 4_099_999
    reply = send(shop, token, paid_by(shop, token, memo=b"note"))
    assert (reply.status, reply.json["code"], reply.json["resources"]["missing"]) == (400, "too_little_trx", "1")
    payment = payment_of(shop, token)
    raw = call_of(PAYER, payment["to"], payment["data"], permission_id=2).encode()
    both = {**signed_raw(PAYER, raw), "signature": [sign_raw(wallet, raw).hex() for wallet in (OTHER, PAYER)]}
    reply = send(shop, token, both)
    (step,) = reply.json["resources"]["steps"]
    assert (step["fees"], step["bandwidthBurned"]) == ("1000000", "609000"), "it is too long for the free bandwidth, too"
    assert reply.json["resources"]["missing"] == "609001"
    assert (reply.json["resources"]["memoPrice"], reply.json["resources"]["signaturesPrice"]) == ("1000000", "1000000")
    assert node.sent == []


def test_nothing_is_sent_while_the_node_does_not_say_what_it_takes(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    signed = paid_by(shop, token)
    node.parameters = {"getEnergyFee": -5}
    assert (send(shop, token, signed).status, node.sent) == (503, [])


def test_a_call_that_waits_for_the_block_of_its_approval_is_sent(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    signed = paid_by(shop, token)
    node.reverts = {"c219a14d"}
    assert send(shop, token, signed).json["result"] is True
