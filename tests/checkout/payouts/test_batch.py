"""POST /v2/payouts/batch: one transaction pays up to 200 requests, created or stored; refusals write nothing."""

from typing import Any

import pytest
from eth_abi import decode

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import BATCH, address_of
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.requests.records import RequestStatus
from tests.checkout.requests.test_pay import change, read
from tests.checkout.requests.test_pay import made as made_request
from tests.checkout.test_pay import units_in
from tests.checkout.test_tron import WALLET_TRON
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.payments.links.test_limited import limit
from tests.payments.links.test_limited import refused as refused_by_limit
from tests.support.client import Reply, Shop, item, stored
from tests.support.items import ZERO, native, tron
from tests.support.node import Node
from tests.support.running import running

PATH = "/v2/payouts/batch"
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
FAU = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"
OTHER = evm_wallet("other").address
CONTRACT = address_of(BATCH, "sepolia")
TRON_REFUSAL = "Batch payments are not supported for TRON networks"


def fau(**changes: Any) -> dict[str, Any]:
    return item(invoiceCurrency="FAU-sepolia", paymentCurrency="FAU-sepolia", **changes)


def send(shop: Shop, **body: Any) -> Reply:
    return shop.send("POST", PATH, body)


def made(shop: Shop, *items: dict[str, Any], **fields: Any) -> dict[str, Any]:
    reply = send(shop, requests=list(items) or [item()], **fields)
    assert reply.status == 201, reply.json
    answer: dict[str, Any] = reply.json
    return answer


def refusal(shop: Shop, **body: Any) -> tuple[int, str]:
    """Status and message of a call that writes nothing."""
    before = stored()
    reply = send(shop, **body)
    assert stored() == before
    return reply.status, reply.message


def amounts(transaction: dict[str, Any]) -> list[list[int]]:
    """The amounts of each group of a batch payment."""
    detail = "(address,uint256,address[],bytes,uint256,uint256,uint256)"
    data = bytes.fromhex(transaction["data"][10:])
    if transaction["data"][:10] == "0x9af8a581":
        return [[one[1] for one in decode([f"{detail}[]", "address[][]", "address"], data)[0]]]
    groups = decode([f"(uint256,{detail}[])[]", "address[][]", "address"], data)[0]
    return [[one[1] for one in members] for _, members in groups]


# --- what is made ---


def test_tokens_and_the_coin_are_paid_by_one_transaction_after_their_approvals(shop: Shop) -> None:
    body = made(shop, fau(amount="2"), item(amount="3", payee=OTHER), native(), payer=WALLET, **FEE)
    assert list(body) == ["ERC20ApprovalTransactions", "batchPaymentTransaction", "transactions", "requests", "metadata"]
    assert [each["to"] for each in body["ERC20ApprovalTransactions"]] == [FAU, "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"]
    granted = [decode(["address", "uint256"], bytes.fromhex(each["data"][10:])) for each in body["ERC20ApprovalTransactions"]]
    assert granted == [(CONTRACT.lower(), 202 * 10**16), (CONTRACT.lower(), 3_030_000)]
    payment = body["batchPaymentTransaction"]
    assert (payment["to"], payment["data"][:10], units_in(payment)) == (CONTRACT, "0x92cddb91", 505 * 10**15)
    assert amounts(payment) == [[2 * 10**18, 3 * 10**6], [5 * 10**17]]
    listed = body["requests"]
    assert [(each["payee"], each["amount"], each["paymentCurrency"]) for each in listed] == [
        (PAYEE, "2", "FAU-sepolia"),
        (OTHER, "3", "fUSDC-sepolia"),
        (PAYEE, "0.5", "ETH-sepolia-sepolia"),
    ]
    for each in listed:
        request = read(each["requestId"])
        assert each["paymentReference"] == request.payment_reference
        assert each["paymentReference"][2:] in payment["data"]
        assert (request.fee_percentage, request.fee_address, request.payer) == ("1", FEE_ADDRESS, WALLET)
        assert request.listening_since is not None and request.link_token is None


def test_what_the_payer_lacks_is_told(shop: Shop, node: Node) -> None:
    node.balance = 3 * 10**6
    metadata = made(shop, fau(amount="2"), item(amount="3"), payer=WALLET)["metadata"]
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"], metadata["canMakePayment"]) == (False, True, False)
    assert metadata["insufficientTokens"] == [
        {
            "tokenAddress": FAU,
            "tokenSymbol": "FAU",
            "paymentCurrencyId": "FAU-sepolia",
            "required": "2",
            "available": "0.000000000003",
        }
    ]


def test_without_a_payer_nothing_is_said_of_a_wallet(shop: Shop) -> None:
    assert list(made(shop)) == ["ERC20ApprovalTransactions", "batchPaymentTransaction", "transactions", "requests"]


def test_the_same_payee_and_amount_may_be_paid_several_times(shop: Shop) -> None:
    body = made(shop, item(), item())
    assert len({each["requestId"] for each in body["requests"]}) == 2


def test_two_hundred_are_created_and_paid(shop: Shop) -> None:
    body = made(shop, *[item(amount=str(number)) for number in range(1, 201)], payer=WALLET)
    assert len(body["requests"]) == 200
    assert amounts(body["batchPaymentTransaction"]) == [[number * 10**6 for number in range(1, 201)]]
    refused = send(shop, requests=[item()] * 201)
    assert refused.status == 400 and "200" in refused.message


def test_stored_requests_are_paid_with_what_is_left_of_each(shop: Shop) -> None:
    one, other = made_request(shop), made_request(shop, fau())
    change(one, paid=BaseUnits(2_500_000), status=RequestStatus.PARTIALLY_PAID)
    reply = send(shop, requestIds=[one.upper(), other], payer=WALLET, **FEE)
    assert reply.status == 201, reply.json
    assert [(each["requestId"], each["amount"]) for each in reply.json["requests"]] == [(one, "10"), (other, "12.5")]
    assert amounts(reply.json["batchPaymentTransaction"]) == [[10_000_000, 125 * 10**17]]
    assert {read(each).fee_address for each in (one, other)} == {FEE_ADDRESS}
    before = [read(each) for each in (one, other)]
    assert send(shop, requestIds=[one, other], **FEE).status == 201
    assert [read(each) for each in (one, other)] == before


# --- what is refused ---


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Give either requests or requestIds"),
        ({"requests": None, "requestIds": None}, "Give either requests or requestIds"),
        ({"requests": [item()], "requestIds": ["01" + "0" * 64]}, "Give either requests or requestIds"),
        ({"requests": []}, "requests must have at least 1 item"),
        ({"requestIds": []}, "requestIds must have at least 1 item"),
        ({"requests": [item()] * 201}, "requests must have at most 200 items"),
        ({"requestIds": ["01" + "0" * 64] * 201}, "requestIds must have at most 200 items"),
        ({"requests": [item(), item(payee=None)]}, "requests.1.payee is required"),
        ({"requests": [item(), item(payee=ZERO)]}, "requests.1.payee is the zero address"),
        ({"requests": [item(amount="0")]}, "requests.0.amount must be greater than 0"),
        ({"requests": [item(invoiceCurrency="YYYY")]}, "requests.0.invoiceCurrency: Currency YYYY is not supported"),
        (
            {"requests": [item(), item(invoiceCurrency="USDC-base", paymentCurrency="USDC-base")]},
            "All requests must be on the same network",
        ),
        ({"requests": [tron()]}, TRON_REFUSAL),
        ({"requests": [item(), tron()]}, TRON_REFUSAL),
        ({"requests": [item()], "payer": PAYEE}, f"payer is the payee {PAYEE}: give the wallet that pays"),
        ({"requests": [item()], "payer": WALLET_TRON}, "payer is not an address of sepolia, on which this is paid"),
        ({"requests": [item()], "payer": "0x12"}, "payer: Invalid Ethereum address"),
        ({"requests": [item()], "feePercentage": "1"}, "feePercentage and feeAddress must be given together"),
        ({"requests": [item()], **FEE, "feeAddress": ZERO}, "feeAddress: is the zero address"),
        (
            {"requests": [item(amount=str(2**254 // 10**6))] * 3},
            "The amounts with their fees add up to more than one batch can pay",
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_paid_together_is_400_and_nothing_is_written(
    shop: Shop, body: dict[str, Any], text: str
) -> None:
    status, message = refusal(shop, **body)
    assert status == 400 and message.startswith(text), message


def test_every_wrong_item_is_named(shop: Shop) -> None:
    reply = send(shop, requests=[item(amount="0"), item(), item(payee=ZERO)])
    assert [each["field"] for each in reply.json["errors"]] == ["requests.0.amount", "requests.2.payee"]


def test_a_request_that_is_named_twice_unknown_or_of_a_link_is_refused(shop: Shop, new_shop: Shop) -> None:
    request_id, unknown = made_request(shop), "01" + "0" * 64
    assert refusal(shop, requestIds=[request_id, request_id.upper()]) == (
        400,
        f"requestIds names {request_id} more than once",
    )
    payment = link_reading.load(running(), shop.link())
    assert payment is not None
    for missing in (unknown, "x", payment.requests[0].request_id, made_request(new_shop)):
        assert refusal(shop, requestIds=[request_id, missing]) == (
            404,
            f"Request {missing} not found; requests of links are paid by their links",
        )


def test_stored_requests_of_several_networks_or_on_tron_are_refused(shop: Shop) -> None:
    on_sepolia = made_request(shop)
    on_base = made_request(shop, item(invoiceCurrency="USDC-base", paymentCurrency="USDC-base"))
    on_tron = made_request(shop, tron())
    assert refusal(shop, requestIds=[on_sepolia, on_base]) == (400, "All requests must be on the same network")
    assert refusal(shop, requestIds=[on_tron]) == (400, TRON_REFUSAL)
    assert refusal(shop, requestIds=[on_sepolia], payer=PAYEE)[0] == 400


def test_a_request_that_may_be_paid_out_to_a_bank_account_is_paid_by_itself(shop: Shop) -> None:
    to_bank, other = made_request(shop), made_request(shop)
    change(to_bank, is_crypto_to_fiat=True)
    expected = f"Request {to_bank} may be paid out to a bank account: pay it by itself"
    assert refusal(shop, requestIds=[other, to_bank]) == (400, expected)


def test_requests_that_have_been_paid_are_named(shop: Shop) -> None:
    paid, unpaid = made_request(shop), made_request(shop)
    change(paid, paid=BaseUnits(12_500_000), status=RequestStatus.PAID)
    assert refusal(shop, requestIds=[unpaid, paid]) == (409, f"These requests have already been paid: {paid}")


def test_if_the_node_does_not_answer_nothing_is_written(shop: Shop, node: Node) -> None:
    node.status = 500
    assert refusal(shop, requests=[item()])[0] == 503


def test_a_limited_client_id_pays_out_to_its_own_payees_alone(new_shop: Shop) -> None:
    limit(new_shop, allowedPayees=[PAYEE])
    by_key = made_request(new_shop, item(payee=OTHER), new_shop.by_key)
    before = stored()
    refused_by_limit(send(new_shop, requests=[item(), item(payee=OTHER)]), f"payee {OTHER} is not in its allowedPayees")
    refused_by_limit(send(new_shop, requestIds=[by_key]), f"payee {OTHER} is not in its allowedPayees")
    refused_by_limit(send(new_shop, requests=[item()], **FEE), f"feeAddress {FEE_ADDRESS} is neither its own nor")
    assert stored() == before


def test_a_client_id_alone_changes_nothing_of_requests_that_it_has_not_created(shop: Shop) -> None:
    """Anybody can send it: the fee of its calldata is not what the owner's request asks for."""
    by_key, own = made_request(shop, headers=shop.by_key), made_request(shop)
    assert send(shop, requestIds=[by_key, own], **FEE).status == 201
    assert (read(by_key).fee_address, read(by_key).listening_since) == (None, None)
    assert read(own).fee_address == FEE_ADDRESS
