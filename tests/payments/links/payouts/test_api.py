"""POST /v2/secure-payments/payouts, /payouts/batch and /batch-payouts over HTTP."""

from typing import Any

import pytest

from chalicelib.base.addresses import tron_address_of
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.records import Flow, LinkStatus, PayableLink, PaymentType
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Api, Reply, Shop, item, stored
from tests.support.items import BATCH, FEE, PAYOUTS, TRON_PAYEE, ZERO, payout, refused
from tests.support.node import Node
from tests.support.running import running
from tests.support.signed_in import by_email, by_wallet
from tests.support.stored_links import complete, expire
from tests.support.tenants import Tenant

TRON_WALLET = tron_address_of(b"\x11" * 20)


def token_of(shop: Shop, **changes: Any) -> str:
    reply = shop.send("POST", PAYOUTS, payout(**changes))
    assert reply.status == 201, reply.json
    token: str = reply.json["token"]
    return token


def merge(shop: Shop, *tokens: str, **fields: Any) -> Reply:
    return shop.send("POST", BATCH, {"tokens": list(tokens), **fields})


def kept(token: str) -> PayableLink:
    payment = link_reading.load(running(), token)
    assert payment is not None
    return payment


# --- one ---


def test_a_payout_answers_as_every_new_link_and_keeps_what_it_was_told(shop: Shop) -> None:
    before = stored()
    before["ops"] += not running().read_networks  # that the network is read from now on
    texts = {"reference": "PAY-7", "recipientIdentifier": "acme", "redirectUrl": "https://shop.example"}
    reply = shop.send("POST", PAYOUTS, payout(**texts, **FEE))
    assert reply.status == 201, reply.json
    assert set(reply.json) == {"requestIds", "securePaymentUrl", "token", "feePlan"}
    assert reply.json["securePaymentUrl"] == f"http://pay.test/?token={reply.json['token']}"
    assert stored() == {**before, "payments": before["payments"] + 4}
    payment = kept(reply.json["token"])
    link = payment.link
    assert (link.flow, link.payment_type, link.status) == (Flow.PAY, PaymentType.SINGLE, LinkStatus.PENDING)
    assert (link.creator_wallet, link.reference, link.recipient_identifier) == (WALLET, "PAY-7", "acme")
    assert (link.redirect_url, link.redirect_label) == ("https://shop.example", "Go Back and Close")
    assert [request.request_id for request in payment.requests] == reply.json["requestIds"]


def test_an_empty_reference_or_name_of_the_recipient_is_none(shop: Shop) -> None:
    link = kept(shop.send("POST", PAYOUTS, payout(reference="", recipientIdentifier="")).json["token"]).link
    assert (link.reference, link.recipient_identifier) == (None, None)


def test_the_plan_of_a_payout_says_what_its_payer_bears(shop: Shop) -> None:
    plan = shop.send("POST", PAYOUTS, payout(**FEE)).json["feePlan"]
    assert {name: plan[name] for name in plan if name != "fees"} == {
        "version": 1,
        "flow": "pay",
        "defaultFeeBearer": "payer",
        "grossAmountUsd": "10",
        "netRecipientAmountUsd": "10",
        "payerTotalAmountUsd": "10.1",
        "totalFeesUsd": "0.1",
        "payeeBorneFeesUsd": "0",
        "payerBorneFeesUsd": "0.1",
    }
    (fee,) = plan["fees"]
    assert (fee["feeBearer"], fee["percentageBps"], fee["calculatedAmountUsd"]) == ("payer", 100, "0.1")
    assert fee["destinationRef"] == {"evmAddress": FEE_ADDRESS}


def test_a_payout_on_tron_is_between_tron_addresses(shop: Shop) -> None:
    on_tron = {"network": "tron", "currency": "USDT-tron", "recipient": TRON_PAYEE}
    assert kept(token_of(shop, **on_tron, creatorWalletAddress=TRON_WALLET)).requests[0].payee == TRON_PAYEE
    refused(shop.send("POST", PAYOUTS, payout(**on_tron)), "creatorWalletAddress", "Invalid Tron address")


def test_the_binding_of_a_client_id_does_not_say_whom_it_pays(api: Api, shop: Shop) -> None:
    tenant = Tenant()
    tenant.bound()
    assert api.request("POST", PAYOUTS, payout(), tenant.by_client()).status == 201


def test_a_platform_needs_no_bound_destination_and_its_client_id_alone_is_not_enough(api: Api, shop: Shop) -> None:
    tenant = Tenant()
    pair = tenant.by_pair()
    assert api.request("POST", PAYOUTS, payout(), pair).status == 201
    reply = api.request("POST", PAYOUTS, payout(), tenant.by_client())
    assert (reply.status, "orchestrator" in reply.message) == (403, True)


def test_a_wallet_that_signed_in_makes_payouts_of_its_own(api: Api, shop: Shop) -> None:
    wallet = evm_wallet("payer")
    dashboard = by_wallet(api, wallet)
    assert dashboard.send("POST", PAYOUTS, payout(creatorWalletAddress=wallet.address.lower())).status == 201
    before = stored()
    reply = dashboard.send("POST", PAYOUTS, payout())
    assert (reply.status, reply.message) == (403, "creatorWalletAddress is not the wallet that signed in")
    assert stored() == before
    assert by_email(api).send("POST", PAYOUTS, payout()).status == 201


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("changes", "hints"),
    [
        ({"recipient": "shop"}, ["recipient", "Invalid EVM address"]),
        ({"recipient": TRON_PAYEE}, ["recipient", "Invalid EVM address"]),
        ({"recipient": ZERO}, ["recipient", "zero address"]),
        ({"recipient": None}, ["recipient", "is required"]),
        ({"creatorWalletAddress": None}, ["creatorWalletAddress", "is required"]),
        ({"creatorWalletAddress": PAYEE.lower()}, ["creatorWalletAddress is the recipient"]),
        ({"creatorWalletAddress": ZERO}, ["creatorWalletAddress", "zero address"]),
        ({"creatorWalletAddress": TRON_WALLET}, ["creatorWalletAddress", "Invalid EVM address"]),
        ({"network": "avalanche"}, ["Network avalanche", "/v2/currencies"]),
        ({"network": ""}, ["network", "at least 1"]),
        ({"network": "x" * 5000}, ["not supported"]),
        ({"network": "fiat"}, ["Network fiat"]),
        ({"network": "base"}, ["fUSDC-sepolia is not on base"]),
        ({"currency": "NOPE-sepolia"}, ["Currency NOPE-sepolia", "/v2/currencies"]),
        ({"currency": "USD"}, ["USD is not on sepolia"]),
        ({"network": "bsc", "currency": "USDC-bsc"}, ["does not serve bsc"]),
        ({"amount": "0"}, ["amount must be greater than 0"]),
        ({"amount": "1.0000001"}, ["amount has too many decimals"]),
        ({"amount": 5}, ["amount", "must be a string"]),
        ({"reference": "x" * 256}, ["reference", "at most 255"]),
        ({"recipientIdentifier": "x" * 256}, ["recipientIdentifier", "at most 255"]),
        ({"feePercentage": "1"}, ["feeAddress", "required"]),
        ({"feePercentage": "101", "feeAddress": FEE_ADDRESS}, ["feePercentage", "0 to 100"]),
        ({"feePercentage": "1", "feeAddress": TRON_PAYEE}, ["feeAddress", "Invalid EVM address"]),
        ({"redirectLabel": "Back"}, ["redirectLabel cannot be provided without redirectUrl"]),
        ({"redirectUrl": "javascript:x"}, ["redirectUrl must be a safe"]),
        ({"accessPolicy": {"mode": "kyt_all_wallets"}}, ["accessPolicy is not offered"]),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_cannot_be_a_payout_is_refused_in_one_sentence(
    shop: Shop, changes: dict[str, Any], hints: list[str]
) -> None:
    assert len(refused(shop.send("POST", PAYOUTS, payout(**changes)), *hints)) < 300


@pytest.mark.usefixtures("nothing_written")
def test_a_native_fee_to_a_contract_is_refused(shop: Shop, node: Node) -> None:
    node.contracts = {FEE_ADDRESS.lower()}
    native = payout(currency="ETH-sepolia-sepolia", amount="0.5", **FEE)
    refused(shop.send("POST", PAYOUTS, native), "feeAddress", "contract")


# --- several at once ---


def rows(*amounts: str, **changes: Any) -> list[dict[str, Any]]:
    return [item(amount=each, **changes) for each in amounts]


def create_batch(shop: Shop, requests: list[dict[str, Any]], **changes: Any) -> Reply:
    return shop.send("POST", f"{PAYOUTS}/batch", {"creatorWalletAddress": WALLET, "requests": requests, **changes})


@pytest.mark.parametrize("count", [1, 2, 200])
def test_payouts_that_are_created_together_are_one_link_of_their_creator(shop: Shop, count: int) -> None:
    wallet = evm_wallet(f"payer of {count}").address
    amounts = [str(number) for number in range(1, count + 1)]
    reply = create_batch(shop, rows(*amounts), creatorWalletAddress=wallet, reference="March", **FEE)
    assert reply.status == 201, reply.json
    batch = kept(reply.json["token"])
    kind = PaymentType.BATCH if count > 1 else PaymentType.SINGLE
    assert (batch.link.flow, batch.link.payment_type, batch.link.creator_wallet, batch.link.reference) == (Flow.PAY, kind, wallet, "March")
    assert [(each.request_id, each.payer) for each in batch.requests] == [(each, wallet) for each in reply.json["requestIds"]]
    assert [each.amount for each in batch.requests] == [number * 10**6 for number in range(1, count + 1)]
    listed = shop.api.get(f"/v2/request?walletAddress={wallet}&securePaymentFlow=outgoing", shop.by_key).json
    assert listed["pagination"]["total"] == count
    mine, others = (shop.get(f"/v2/secure-payments/{batch.link.token}/pay?wallet={each}") for each in (wallet, FEE_ADDRESS))
    assert (mine.status, others.status) == (200, 403)


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("changes", "hints"),
    [
        ({"requests": rows("1", payee=WALLET.lower())}, ["requests.0.payee", "is creatorWalletAddress"]),
        ({"requests": rows("1", "0")}, ["requests.1.amount", "greater than 0"]),
        ({"requests": [*rows("1"), *rows("2", payee=TRON_PAYEE)]}, ["requests.1.payee", "Invalid EVM address"]),
        ({"requests": rows("1", invoiceCurrency="USD")}, ["requests.0.invoiceCurrency"]),
        ({"requests": rows("1", invoiceCurrency="USD", paymentCurrency="USDC-mainnet")}, ["requests.0.invoiceCurrency must be USDC-mainnet"]),
        ({"requests": [*rows("1"), *rows("1", invoiceCurrency="USDC-base", paymentCurrency="USDC-base")]}, ["on one network"]),
        ({"requests": rows("1", "2", payee=TRON_PAYEE, invoiceCurrency="USDT-tron", paymentCurrency="USDT-tron")}, ["not supported for TRON"]),
        ({"requests": rows("1"), "creatorWalletAddress": TRON_WALLET}, ["creatorWalletAddress", "Invalid EVM address"]),
        ({"requests": rows("1"), "creatorWalletAddress": ZERO}, ["creatorWalletAddress", "zero address"]),
        ({"requests": []}, ["requests", "at least 1"]),
        ({"requests": rows(*"1" * 201)}, ["requests", "at most 200"]),
    ],
    ids=lambda value: str(value)[-60:],
)  # fmt: skip
def test_payouts_of_which_one_is_wrong_are_refused_together(shop: Shop, changes: dict[str, Any], hints: list[str]) -> None:
    refused(create_batch(shop, changes.pop("requests"), **changes), *hints)


def test_every_wrong_entry_of_payouts_is_named(shop: Shop) -> None:
    reply = create_batch(shop, [*rows("1", "1.0000001"), *rows("1", payee=ZERO)])
    assert reply.status == 400 and {each["field"] for each in reply.json["errors"]} == {"requests.1.amount", "requests.2.payee"}


def test_a_wallet_that_signed_in_makes_several_payouts_of_its_own_alone(api: Api, shop: Shop) -> None:
    wallet = evm_wallet("payer")
    dashboard = by_wallet(api, wallet)
    body = {"creatorWalletAddress": wallet.address, "requests": rows("1", "2")}
    assert dashboard.send("POST", f"{PAYOUTS}/batch", body).status == 201
    assert dashboard.send("POST", f"{PAYOUTS}/batch", {**body, "creatorWalletAddress": WALLET}).status == 403


# --- several as one batch ---


def test_a_batch_answers_as_every_new_link_with_the_requests_of_its_payouts_in_order(shop: Shop) -> None:
    tokens = [token_of(shop, amount=amount, **FEE) for amount in ("10", "20", "30")]
    request_ids = [kept(token).requests[0].request_id for token in tokens]
    reply = merge(shop, *tokens, redirectUrl="https://shop.example", redirectLabel="Done")
    assert reply.status == 201, reply.json
    assert reply.json["requestIds"] == request_ids
    assert reply.json["feePlan"]["payerTotalAmountUsd"] == "60.6"
    batch = kept(reply.json["token"])
    assert (batch.link.payment_type, batch.link.redirect_label) == (PaymentType.BATCH, "Done")
    for token in tokens:
        assert kept(token).link.status is LinkStatus.INVALIDATED
        assert shop.get(f"/v2/secure-payments/{token}").json["status"] == "invalidated"


def test_every_payout_that_cannot_be_merged_is_named_and_nothing_changes(shop: Shop) -> None:
    fine, late, paid, incoming = token_of(shop), token_of(shop), token_of(shop), shop.link()
    expire(late)
    complete(paid)
    before = stored()
    reply = merge(shop, fine, late, paid, incoming, "01UNKNOWN")
    assert refused(reply) == "Multicall validation failed"
    assert reply.json["code"] == "multicall_validation_failed"
    assert [(f["securePaymentToken"], f["reason"], f["messageKey"]) for f in reply.json["failures"]] == [
        (late, "secure_payment_expired", "multicall.secure_payment_expired"),
        (paid, "already_paid", "multicall.already_paid"),
        (incoming, "not_outgoing", "multicall.not_outgoing"),
        ("01UNKNOWN", "not_found", "multicall.not_found"),
    ]
    assert all(set(failure) >= {"context", "recoveryAction"} for failure in reply.json["failures"])
    assert stored() == before
    assert kept(fine).link.status is LinkStatus.PENDING


def test_anothers_payouts_are_not_merged(api: Api, shop: Shop) -> None:
    tokens = [token_of(shop), token_of(shop)]
    reply = api.request("POST", BATCH, {"tokens": tokens}, Tenant().by_key())
    assert reply.status == 400
    assert PAYEE not in reply.body.decode()
    assert kept(tokens[0]).link.status is LinkStatus.PENDING


def test_a_payout_is_merged_once(shop: Shop) -> None:
    tokens = [token_of(shop), token_of(shop)]
    batch = merge(shop, *tokens).json["token"]
    failures = merge(shop, batch, *tokens).json["failures"]
    assert [f["reason"] for f in failures] == ["not_single_payment", *["secure_payment_not_pending"] * 2]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("fields", "hints"),
    [
        ({"tokens": None}, ["tokens", "must be an array"]),
        ({"tokens": []}, ["tokens", "at least 2"]),
        ({"tokens": ["x"]}, ["tokens", "at least 2"]),
        ({"tokens": ["x", 5]}, ["tokens.1", "must be a string"]),
        ({"tokens": ["x", ""]}, ["tokens.1", "at least 1"]),
        ({"tokens": ["x", "y" * 65]}, ["tokens.1", "at most 64"]),
        ({"tokens": ["x"] * 31}, ["tokens", "at most 30", "multicall-payouts"]),
        ({"tokens": ["x", "x"]}, ["Multicall validation failed"]),
        ({"tokens": ["x", "y"], "redirectLabel": "Back"}, ["without redirectUrl"]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_a_batch_is_refused(shop: Shop, fields: dict[str, Any], hints: list[str]) -> None:
    refused(shop.send("POST", BATCH, fields), *hints)


def test_payouts_of_several_wallets_networks_or_fees_are_named(shop: Shop) -> None:
    first = token_of(shop)
    for changes, hint in (
        ({"creatorWalletAddress": FEE_ADDRESS}, "creatorWalletAddress"),
        ({"network": "base", "currency": "USDC-base"}, "network"),
        (FEE, "fee percentage"),
    ):
        other = token_of(shop, **changes)
        refused(merge(shop, first, other), f"A batch has one {hint}", other)
    assert kept(first).link.status is LinkStatus.PENDING


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("name", ["recipient", "creatorWalletAddress"])
def test_an_escrow_that_only_the_setting_names_neither_pays_nor_is_paid(shop: Shop, name: str) -> None:
    escrow = running().settings.escrow_contracts["sepolia"].escrow
    refused(shop.send("POST", PAYOUTS, payout(**{name: escrow})), name, "is the contract of AuthCaptureEscrow")
