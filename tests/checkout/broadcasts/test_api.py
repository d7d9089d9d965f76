"""POST /v2/secure-payments/:token/tron/broadcast: a link's own transactions are sent, nothing else is."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.chains.calldata.tokens import erc20
from chalicelib.platform.http.parsing import MAX_BODY_BYTES
from infra.local.tron_transactions import Call, Transaction
from tests.checkout.test_pay_kinds import pay
from tests.checkout.test_tron import FEE, FEE_TRON, PROXY, payout_on_tron
from tests.fakes.destinations import USDT_TRON
from tests.fakes.tron import call_of, sign_raw, signed_call, signed_raw
from tests.fakes.wallets import tron_wallet
from tests.payments.links.multicalls.test_api import PATH as MULTICALLS
from tests.platform.http.test_openapi import check_answer, text_of
from tests.support.client import Reply, Shop
from tests.support.items import native, tron
from tests.support.node import Node
from tests.support.stored_links import complete, expire, pay_part

PATH = "/v2/secure-payments/{token}/tron/broadcast"
PAYER, OTHER = tron_wallet("payer"), tron_wallet("other")
TRX = 10**6
NOT_THE_LINKS = "The transaction is none of those that pay this link now: take them from /pay and sign anew"
NOT_ONE_CALL = "raw_data_hex is not a transaction with one TriggerSmartContract and nothing else"


def send(shop: Shop, token: str, signed: Any, headers: dict[str, str] | None = None) -> Reply:
    """The reply, held to the OpenAPI document."""
    path = PATH.format(token=token)
    reply = shop.api.request("POST", path, {"signedTransaction": signed}, {**shop.by_client, **(headers or {})})
    check_answer(json.loads(text_of(shop.api.port)), "POST", PATH, reply)
    return reply


def answered(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.message


def payment_of(shop: Shop, token: str) -> dict[str, Any]:
    last: dict[str, Any] = pay(shop, token)["transactions"][-1]
    return last


def paid_by(shop: Shop, token: str, **changes: Any) -> dict[str, Any]:
    """The link's payment, signed by its payer."""
    payment = payment_of(shop, token)
    return signed_call(PAYER, payment["to"], payment["data"], **changes)


def taken(node: Node) -> list[Transaction]:
    return [Transaction.of_hex(sent) for sent in node.sent]


# --- what is sent ---


def test_the_transactions_of_a_link_are_sent_as_they_were_signed(shop: Shop, node: Node) -> None:
    token = shop.link(tron(), **FEE)
    each = [signed_call(PAYER, made["to"], made["data"]) for made in pay(shop, token, wallet=PAYER.address)["transactions"]]
    node.asked.clear()
    for signed in each:
        reply = send(shop, token, signed)
        assert (reply.status, reply.json) == (200, {"result": True, "txid": signed["txID"], "code": "SUCCESS"})
    checked = ["eth_getBalance", "eth_gasPrice", "/wallet/getchainparameters", "/wallet/getaccountresource"]
    assert node.asked == [*checked, "/wallet/triggerconstantcontract", "/wallet/broadcasthex"] * 2
    assert [(sent.raw.hex(), sent.signature_problem()) for sent in taken(node)] == [
        (signed["raw_data_hex"], None) for signed in each
    ]


@pytest.mark.parametrize("amount", [0, 12_500_000])
def test_an_approval_counts_whatever_has_been_approved_since(shop: Shop, node: Node, amount: int) -> None:
    node.allowance = 12_500_000
    grant = erc20.approve(USDT_TRON, PROXY, amount)
    assert send(shop, shop.link(tron()), signed_call(PAYER, grant.to, grant.data)).json["result"] is True


def test_anybody_with_an_api_key_of_the_account_may_send(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    body = {"signedTransaction": paid_by(shop, token)}
    reply = shop.api.request("POST", PATH.format(token=token), body, shop.by_key)
    assert (reply.status, len(node.sent)) == (200, 1)


def test_while_somebody_claims_to_sign_it_it_is_sent_with_their_secret_alone(shop: Shop, node: Node) -> None:
    token, secret = shop.link(tron()), "5e" * 32
    signed = paid_by(shop, token)
    claim = {"calls": "0x" + "ab" * 32, "announcerSecret": secret}
    assert shop.api.request("POST", f"/v2/secure-payments/{token}/signing", claim, shop.by_client).status == 200
    assert send(shop, token, signed).status == 423
    assert send(shop, token, signed, {"x-announcer-secret": secret}).json["result"] is True


def test_several_payouts_are_sent_at_once(shop: Shop, node: Node) -> None:
    children = [payout_on_tron(shop, amount=amount, **FEE) for amount in ("1", "2.5")]
    parent = shop.send("POST", MULTICALLS, {"childTokens": children}).json["token"]
    for made in pay(shop, parent)["transactions"]:
        assert send(shop, parent, signed_call(PAYER, made["to"], made["data"])).json["result"] is True
    alone = payment_of(shop, children[0])
    assert answered(send(shop, parent, signed_call(PAYER, alone["to"], alone["data"]))) == (400, NOT_THE_LINKS)


def test_what_the_node_says_is_passed_on_as_text_without_what_cannot_be_printed(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    signed = paid_by(shop, token)
    message = "Validate signature error: \u202e\n" + "x" * 5000
    node.verdict = {"result": False, "code": "SIGERROR", "message": message.encode().hex(), "txid": "ff" * 32}
    reply = send(shop, token, signed)
    assert reply.status == 200
    assert (reply.json["result"], reply.json["code"], reply.json["txid"]) == (False, "SIGERROR", signed["txID"])
    assert reply.json["message"].startswith("Validate signature error: xxx")
    assert len(reply.json["message"]) == 200


def test_nobody_knows_what_became_of_it_when_the_node_is_away_and_it_may_be_sent_again(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    signed, key = paid_by(shop, token), {"idempotency-key": "k" * 20}
    node.answers_no_broadcast = True
    reply = send(shop, token, signed, key)
    assert reply.status == 502 and "look it up" in reply.message
    node.answers_no_broadcast = False
    assert send(shop, token, signed, key).json["result"] is True
    before = len(node.sent)
    replayed = send(shop, token, signed, key)
    assert (replayed.json["result"], replayed.headers["idempotent-replayed"]) == (True, "true")
    assert len(node.sent) == before


def test_the_keys_of_an_account_with_several_are_the_nodes_to_judge(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    payment = payment_of(shop, token)
    raw = call_of(PAYER, payment["to"], payment["data"], permission_id=2).encode()
    both = {**signed_raw(PAYER, raw), "signature": [sign_raw(wallet, raw).hex() for wallet in (OTHER, PAYER)]}
    for signed in (both, signed_raw(OTHER, raw)):
        assert send(shop, token, signed).status == 200
    assert [len(sent.signatures) for sent in taken(node)] == [2, 1]


def test_a_full_batch_with_all_that_tronweb_repeats_fits_into_a_body() -> None:
    """250 payments of 192 bytes of arguments each."""
    signed = signed_call(PAYER, PROXY, "0x" + "11" * (4 + 10 * 32 + 250 * 192))
    assert len(json.dumps({"signedTransaction": signed})) < MAX_BODY_BYTES


# --- what is not ---


@pytest.fixture
def token(shop: Shop) -> str:
    return shop.link(tron(), **FEE)


def test_another_links_payment_is_not_this_ones(shop: Shop, node: Node, token: str) -> None:
    other = shop.link(tron(), **FEE)
    assert answered(send(shop, token, paid_by(shop, other))) == (400, NOT_THE_LINKS)
    assert node.sent == []


def test_what_has_been_paid_of_the_link_since_makes_it_another_payment(shop: Shop, node: Node, token: str) -> None:
    signed = paid_by(shop, token)
    pay_part(token, 1_000_000)
    assert answered(send(shop, token, signed)) == (400, NOT_THE_LINKS)
    assert send(shop, token, paid_by(shop, token)).status == 200
    assert len(node.sent) == 1


def test_a_call_that_is_not_the_links_is_not_sent(shop: Shop, node: Node, token: str) -> None:
    payment, grant = pay(shop, token)["transactions"][1], erc20.approve(USDT_TRON, PROXY, 12_625_000)
    calls: list[tuple[str, str, dict[str, Any]]] = [
        (FEE_TRON, payment["data"], {}),
        (PROXY, payment["data"], {"call_value": 1}),
        (PROXY, "0x", {}),
        (PROXY, payment["data"][:-1] + "1", {}),
        (PROXY, payment["data"] + "00", {}),
        (PROXY, grant.data, {}),
        (USDT_TRON, grant.data, {"call_value": 1}),
        (USDT_TRON, erc20.approve(USDT_TRON, PROXY, 12_625_001).data, {}),
        (USDT_TRON, erc20.approve(USDT_TRON, FEE_TRON, 12_625_000).data, {}),
        (USDT_TRON, erc20.approve(USDT_TRON, FEE_TRON, 0).data, {}),
    ]
    for to, data, changes in calls:
        assert answered(send(shop, token, signed_call(PAYER, to, data, **changes))) == (400, NOT_THE_LINKS)
    assert node.sent == []


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"expiration": 1_767_225_660_000}, "has expired"),
        ({"expiration": 0}, "has expired"),
        ({"fee_limit": 15_000 * TRX + 1}, "fee_limit is above the 15000000000 sun"),
    ],
    ids=str,
)
def test_what_the_network_would_not_take_is_not_sent(
    shop: Shop, node: Node, token: str, changes: dict[str, Any], hint: str
) -> None:
    reply = send(shop, token, paid_by(shop, token, **changes))
    assert reply.status == 400 and hint in reply.message
    assert node.sent == []


def test_the_highest_fee_limit_is_sent(shop: Shop, node: Node, token: str) -> None:
    assert send(shop, token, paid_by(shop, token, fee_limit=15_000 * TRX)).status == 200


def test_an_owner_who_has_not_signed_pays_nothing(shop: Shop, node: Node, token: str) -> None:
    signed = paid_by(shop, token)
    foreign = sign_raw(OTHER, bytes.fromhex(signed["raw_data_hex"])).hex()
    reply = send(shop, token, {**signed, "signature": [foreign]})
    assert answered(reply) == (400, f"The signature is not of {PAYER.address}, whose transaction this is")
    for none in ("00" * 65, "ff" * 65, signed["signature"][0][:-2] + "07"):
        assert answered(send(shop, token, {**signed, "signature": [none]})) == (400, "A signature is of no key")
    assert node.sent == []


def field(number: int, value: bytes) -> bytes:
    """A protobuf field of bytes."""
    length = len(value)
    size = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
    return bytes([number << 3 | 2]) + size + value


def more_than_one_call(call: Call) -> dict[str, bytes]:
    """The link's payment, with something else in the same transaction."""
    plain = call.encode()
    trigger = field(1, call.owner) + field(2, call.contract) + field(4, call.data)
    url = field(1, b"type.googleapis.com/protocol.TriggerSmartContract")

    def contract(value: bytes) -> bytes:
        return field(11, b"\x08\x1f" + field(2, url + field(2, value)))

    one = contract(trigger)
    assert one in plain
    return {
        "two calls": plain.replace(one, one + one),
        "TRC-10 tokens": plain.replace(one, contract(trigger + b"\x28\x05\x30\xc1\x84\x3d")),
        "a field of ours after another's": plain.replace(one, contract(field(2, b"\x41" + b"\x12" * 20) + trigger)),
        "a trailing field": plain + b"\xf8\x07\x01",
        "trailing bytes": plain + b"\x00",
        "a huge number": plain + b"\xf8\x07" + b"\xff" * 9 + b"\x01",
        "an endless number": plain + b"\xff" * 12,
        "a length beyond the end": plain + b"\x7a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        "a number above 63 bits": plain[:-5] + b"\xff" * 9 + b"\x01",
        "an owner of another kind": replace(call, owner=b"\xa0" + call.owner[1:]).encode(),
        "half": plain[: len(plain) // 2],
        "one byte": b"\x00",
    }


def test_a_transaction_that_is_more_than_the_call_is_not_sent(shop: Shop, node: Node, token: str) -> None:
    payment = payment_of(shop, token)
    for name, raw in more_than_one_call(call_of(PAYER, payment["to"], payment["data"])).items():
        assert (name, answered(send(shop, token, signed_raw(PAYER, raw)))) == (name, (400, NOT_ONE_CALL))
    assert node.sent == []


@pytest.mark.parametrize(
    ("changes", "field_name"),
    [
        ({"raw_data_hex": "zz"}, "raw_data_hex"),
        ({"raw_data_hex": "0x0a"}, "raw_data_hex"),
        ({"raw_data_hex": "0a0"}, "raw_data_hex"),
        ({"raw_data_hex": "0a\n"}, "raw_data_hex"),
        ({"raw_data_hex": ""}, "raw_data_hex"),
        ({"raw_data_hex": "0a" * 65537}, "raw_data_hex"),
        ({"raw_data_hex": None}, "raw_data_hex"),
        ({"signature": []}, "signature"),
        ({"signature": ["11" * 65] * 10}, "signature"),
        ({"signature": ["11" * 64]}, "signature.0"),
        ({"signature": ["11" * 66]}, "signature.0"),
        ({"signature": ["zz" * 65]}, "signature.0"),
        ({"signature": "11" * 65}, "signature"),
        ({"txID": "11" * 31}, "txID"),
        ({"txID": 5}, "txID"),
        ({"raw_data": None}, "raw_data"),
        ({"raw_data": "x"}, "raw_data"),
        ({"raw_data": []}, "raw_data"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_body_of_another_form_is_400_naming_the_field(
    shop: Shop, node: Node, token: str, changes: dict[str, Any], field_name: str
) -> None:
    reply = send(shop, token, {**paid_by(shop, token), **changes})
    assert reply.status == 400
    assert [error["field"] for error in reply.json["errors"]] == [f"signedTransaction.{field_name}"]
    assert node.sent == []


@pytest.mark.parametrize("body", [None, [], "x", {}, {"raw_data": {}}])
def test_a_body_without_a_transaction_is_400(shop: Shop, token: str, body: Any) -> None:
    assert send(shop, token, body).status == 400


def test_an_id_of_other_bytes_is_400_and_its_case_means_nothing(shop: Shop, node: Node, token: str) -> None:
    signed = paid_by(shop, token)
    wrong = {**signed, "txID": "ab" * 32}
    assert answered(send(shop, token, wrong)) == (400, "txID is not the SHA-256 of raw_data_hex")
    for right in ({**signed, "txID": signed["txID"].upper()}, {**signed, "raw_data_hex": signed["raw_data_hex"].upper()}):
        assert send(shop, token, right).json["txid"] == signed["txID"]
    prefixed = ["0x" + signature for signature in signed["signature"]]
    assert send(shop, token, {**signed, "signature": prefixed}).status == 200
    del signed["txID"]
    assert send(shop, token, signed).status == 200


def test_what_is_shown_beside_the_bytes_does_not_count(shop: Shop, node: Node, token: str) -> None:
    """Only the bytes were signed."""
    other = signed_call(OTHER, FEE_TRON, "0xdeadbeef")
    right = paid_by(shop, token)
    assert send(shop, token, {**right, "raw_data": other["raw_data"]}).status == 200
    shown = {**right, "raw_data_hex": other["raw_data_hex"], "signature": other["signature"], "txID": other["txID"]}
    assert answered(send(shop, token, shown)) == (400, NOT_THE_LINKS)
    assert [sent.raw.hex() for sent in taken(node)] == [right["raw_data_hex"]]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(min_value=0), change=st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_never_sent_under_the_old_signature(
    shop: Shop, node: Node, token: str, place: int, change: int
) -> None:
    signed = paid_by(shop, token)
    raw = bytearray.fromhex(signed["raw_data_hex"])
    raw[place % len(raw)] ^= change
    changed = {**signed, "raw_data_hex": raw.hex(), "txID": hashlib.sha256(raw).hexdigest()}
    assert send(shop, token, changed).status == 400
    assert node.sent == []


# --- links that are not paid so ---


def test_a_link_on_another_network_is_400(shop: Shop, node: Node, token: str) -> None:
    message = "This link is paid on sepolia: only transactions on tron are broadcast here"
    signed = paid_by(shop, token)
    for link in (shop.link(), shop.link(native()), shop.link(native(), native())):
        assert answered(send(shop, link, signed)) == (400, message)
    assert node.asked == []


def test_a_link_that_is_not_open_is_refused_as_at_pay(shop: Shop, node: Node, token: str) -> None:
    signed, expired, completed = paid_by(shop, token), shop.link(tron()), shop.link(tron())
    expire(expired)
    complete(completed)
    for link, status in ((expired, 403), (completed, 409), ("01M00000000000000000000000", 404)):
        at_pay = shop.get(f"/v2/secure-payments/{link}/pay")
        assert answered(send(shop, link, signed)) == answered(at_pay) == (status, at_pay.message)
    assert answered(send(Shop(shop.api), token, signed)) == (404, "Secure payment not found")
    assert node.sent == []


def test_a_payout_is_sent_for_its_creator_alone(shop: Shop, node: Node) -> None:
    link = payout_on_tron(shop)
    payment = payment_of(shop, link)
    refused = send(shop, link, signed_call(OTHER, payment["to"], payment["data"]))
    assert answered(refused) == (403, "Only the wallet that created this payout may pay it")
    assert send(shop, link, signed_call(PAYER, payment["to"], payment["data"])).status == 200
    assert len(node.sent) == 1
