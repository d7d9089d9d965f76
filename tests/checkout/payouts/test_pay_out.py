"""POST /v2/payouts and /v2/pay: one call creates a request and answers with its transactions; refusals write nothing."""

from typing import Any

import pytest

from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT
from chalicelib.payments.requests.records import CustomerInfo, RequestStatus
from tests.checkout.requests.test_pay import pay, read
from tests.checkout.test_pay import FUSDC, NATIVE_PROXY, NOBODY, approval, erc20_payment
from tests.checkout.test_tron import WALLET_TRON
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.payments.links.test_limited import limit
from tests.payments.links.test_limited import refused as refused_by_limit
from tests.support.client import Reply, Shop, item, stored
from tests.support.items import MISCASED, TRON_PAYEE, ZERO, native, tron
from tests.support.node import Node

FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
OTHER = evm_wallet("other").address


def send(shop: Shop, body: dict[str, Any] | None = None, path: str = "/v2/payouts") -> Reply:
    return shop.send("POST", path, body or item())


def made(shop: Shop, body: dict[str, Any] | None = None, path: str = "/v2/payouts") -> dict[str, Any]:
    reply = send(shop, body, path)
    assert reply.status == 201, reply.json
    answer: dict[str, Any] = reply.json
    return answer


def refusal(shop: Shop, **changes: Any) -> tuple[int, str]:
    """Status and message of a call that writes nothing."""
    before = stored()
    reply = send(shop, item(**changes))
    assert stored() == before
    return reply.status, reply.message


def test_an_empty_reference_is_none_and_a_currency_may_be_in_any_case(shop: Shop) -> None:
    in_lower_case = {name: item()[name].lower() for name in ("invoiceCurrency", "paymentCurrency")}
    body = made(shop, {**item(), **FEE, **in_lower_case, "payerWallet": WALLET, "reference": ""})
    assert (read(body["requestId"]).reference, read(body["requestId"]).currency) == (None, "fUSDC-sepolia")


@pytest.mark.parametrize("path", ["/v2/payouts", "/v2/pay"])
def test_a_token_is_paid_out_by_an_approval_and_a_payment(shop: Shop, path: str) -> None:
    body = made(shop, {**item(), **FEE, "payerWallet": WALLET, "reference": "P-1"}, path)
    assert list(body) == ["requestId", "paymentReference", "transactions", "metadata"]
    grant, payment = body["transactions"]
    assert list(grant) == list(payment) == ["data", "to", "value"]
    assert approval(grant)[1] == 12_625_000
    reference = bytes.fromhex(body["paymentReference"][2:])
    assert erc20_payment(payment) == (FUSDC.lower(), PAYEE.lower(), 12_500_000, reference, 125_000, FEE_ADDRESS.lower())
    metadata = body["metadata"]
    assert (metadata["stepsRequired"], metadata["needsApproval"]) == (2, True)
    assert (metadata["approvalTransactionIndex"], metadata["paymentTransactionIndex"]) == (0, 1)
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"]) == (True, True)
    request = read(body["requestId"])
    assert (request.payment_reference, request.payer, request.reference) == (body["paymentReference"], WALLET, "P-1")
    assert (request.fee_percentage, request.fee_address, request.status) == ("1", FEE_ADDRESS, RequestStatus.CREATED)
    assert request.listening_since is not None


def test_without_a_wallet_the_metadata_is_as_it_is_published(shop: Shop, node: Node) -> None:
    body = made(shop, native())
    (payment,) = body["transactions"]
    assert (payment["to"], payment["data"][:10]) == (NATIVE_PROXY, "0xb868980b")
    assert node.asked == []
    own = {"explanation", "approvalTransactionsCount", "routeType", "sourceAmount", "requiredAmount"}
    metadata = {name: value for name, value in body["metadata"].items() if name not in own}
    assert metadata == {"stepsRequired": 1, "needsApproval": False, "paymentTransactionIndex": 0}


def test_with_a_wallet_that_needs_no_approval_its_index_is_null(shop: Shop) -> None:
    assert made(shop, {**native(), "payerAddress": WALLET})["metadata"]["approvalTransactionIndex"] is None


def test_it_can_be_paid_later_by_its_own_operation(shop: Shop) -> None:
    body = made(shop)
    assert pay(shop, body["requestId"])["transactions"] == body["transactions"]


def test_on_tron_there_are_fee_limits(shop: Shop) -> None:
    body = made(shop, {**tron(), "payerWallet": WALLET_TRON})
    assert [each["feeLimit"] for each in body["transactions"]] == [APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT]


def test_the_customer_is_kept(shop: Shop) -> None:
    body = made(shop, {**item(), "customerInfo": {"firstName": "John", "email": "john@shop.example"}})
    assert read(body["requestId"]).customer_info == CustomerInfo("John", None, "john@shop.example", None)


def test_without_a_fee_the_fee_goes_nowhere(shop: Shop) -> None:
    assert erc20_payment(made(shop)["transactions"][1])[4:] == (0, NOBODY)


def test_the_client_ids_fee_is_taken_for_payouts_too(new_shop: Shop) -> None:
    limit(new_shop, feePercentage="2", feeAddress=OTHER)
    assert made(new_shop, {**item(), **FEE})["metadata"]["platformFee"] == {"percentage": "2", "address": OTHER}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"payee": None}, "payee is required"),
        ({"payee": ZERO}, "payee is the zero address"),
        ({"payee": MISCASED}, "payee: "),
        ({"payee": TRON_PAYEE}, "payee: "),
        ({"amount": "0"}, "amount must be greater than 0"),
        ({"amount": "1.0000001"}, "amount has too many decimals"),
        ({"amount": None}, "amount is required"),
        ({"invoiceCurrency": None}, "invoiceCurrency is required"),
        ({"paymentCurrency": "YYYY"}, "paymentCurrency: Currency YYYY is not supported"),
        ({"paymentCurrency": "USD", "invoiceCurrency": "USD"}, "paymentCurrency: USD cannot be paid on a chain"),
        ({"payerWallet": PAYEE}, f"payerWallet is the payee {PAYEE}: give the wallet that pays, or leave it out"),
        ({"payerWallet": PAYEE.lower()}, "payerWallet is the payee"),
        ({"payerAddress": PAYEE}, "payerWallet is the payee"),
        ({"payerWallet": "0x12"}, "payerWallet: Invalid Ethereum address"),
        ({"payerWallet": WALLET_TRON}, "payerWallet is not an address of sepolia, on which this is paid"),
        ({"payerWallet": WALLET, "payerAddress": WALLET}, "payerAddress is another name of payerWallet"),
        ({"feePercentage": "1"}, "feePercentage and feeAddress must be given together"),
        ({"feeAddress": FEE_ADDRESS}, "feePercentage and feeAddress must be given together"),
        ({**FEE, "feePercentage": "101"}, "feePercentage must be a plain decimal number from 0 to 100"),
        ({**FEE, "feeAddress": ZERO}, "feeAddress: is the zero address"),
        ({"customerInfo": {"email": "nobody"}}, "customerInfo.email must be an e-mail address"),
    ],
    ids=str,
)
def test_what_cannot_be_paid_out_is_400_and_nothing_is_written(shop: Shop, changes: dict[str, Any], text: str) -> None:
    status, message = refusal(shop, **changes)
    assert status == 400 and message.startswith(text), message


def test_an_amount_whose_fee_does_not_fit_is_400(shop: Shop) -> None:
    status, message = refusal(shop, amount=str(2**256 // 10**6 - 1), **FEE)
    assert (status, message) == (400, "The amount with its fee is larger than a token amount can be: pay a part of it")


def test_if_the_node_does_not_answer_nothing_is_written(shop: Shop, node: Node) -> None:
    node.status = 500
    status, _ = refusal(shop, payerWallet=WALLET)
    assert status == 503


def test_a_limited_client_id_pays_out_to_its_own_payees_alone(new_shop: Shop) -> None:
    limit(new_shop, allowedPayees=[PAYEE], allowedCurrencies=["fUSDC-sepolia"])
    before = stored()
    refused_by_limit(send(new_shop, item(payee=OTHER)), f"payee {OTHER} is not in its allowedPayees")
    refused_by_limit(send(new_shop, native()), "currency ETH-sepolia-sepolia is not in its allowedCurrencies")
    refused_by_limit(send(new_shop, item(**FEE)), f"feeAddress {FEE_ADDRESS} is neither its own nor in its allowedPayees")
    assert stored() == before
    assert send(new_shop).status == 201
    by_key = new_shop.api.request("POST", "/v2/payouts", item(payee=OTHER), new_shop.by_key)
    assert by_key.status == 201
