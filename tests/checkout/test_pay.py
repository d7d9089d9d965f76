"""GET /v2/secure-payments/:token/pay: exact transactions, decoded by an independent library, and how to use them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from eth_abi import decode

from chalicelib.payments.links import reading as link_reading
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Reply, Shop, item, stored
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_links import pay_part

FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
ERC20_PROXY = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
NATIVE_PROXY = "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687"
NOBODY = "0x" + "0" * 40
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
NATIVE = item(amount="0.5", invoiceCurrency="ETH-sepolia-sepolia", paymentCurrency="ETH-sepolia-sepolia")
BASE_USDC = item(invoiceCurrency="USDC-base", paymentCurrency="USDC-base")


def pay(shop: Shop, link: str, **query: str) -> dict[str, Any]:
    reply = ask(shop, link, **query)
    assert reply.status == 200, reply.json
    return reply.json


def ask(shop: Shop, link: str, **query: str) -> Reply:
    return shop.get(f"/v2/secure-payments/{link}/pay?" + "&".join(f"{k}={v}" for k, v in query.items()))


def units_in(transaction: dict[str, Any]) -> int:
    """The value of a transaction, in whatever form it is written."""
    value = transaction["value"]
    text = value["hex"] if isinstance(value, dict) else value
    return int(text, 16) if isinstance(text, str) else int(text)


def approval(transaction: dict[str, Any]) -> tuple[str, int]:
    """(spender, amount) of an approve call on fUSDC."""
    assert (transaction["to"], transaction["data"][:10], units_in(transaction)) == (FUSDC, "0x095ea7b3", 0)
    spender, amount = decode(["address", "uint256"], bytes.fromhex(transaction["data"][10:]))
    return spender, amount


def erc20_payment(transaction: dict[str, Any]) -> tuple[Any, ...]:
    """(token, payee, amount, reference, fee, fee address) of a call to the ERC-20 fee proxy."""
    assert (transaction["to"], transaction["data"][:10], units_in(transaction)) == (ERC20_PROXY, "0xc219a14d", 0)
    types = ["address", "address", "uint256", "bytes", "uint256", "address"]
    return decode(types, bytes.fromhex(transaction["data"][10:]))


def reference_of(token: str) -> bytes:
    payment = link_reading.load(running(), token)
    assert payment is not None
    return bytes.fromhex(payment.requests[0].payment_reference[2:])


# --- transactions ---


def test_a_token_payment_is_an_exact_approval_and_a_payment(shop: Shop) -> None:
    token = shop.link(item(), **FEE)
    grant, payment = pay(shop, token, wallet=WALLET)["transactions"]
    assert approval(grant) == (ERC20_PROXY.lower(), 12_625_000)
    assert erc20_payment(payment) == (
        FUSDC.lower(),
        PAYEE.lower(),
        12_500_000,
        reference_of(token),
        125_000,
        FEE_ADDRESS.lower(),
    )


def test_without_a_fee_nothing_is_charged_and_the_fee_goes_nowhere(shop: Shop) -> None:
    grant, payment = pay(shop, shop.link(), wallet=WALLET)["transactions"]
    assert approval(grant)[1] == 12_500_000
    assert erc20_payment(payment)[4:] == (0, NOBODY)


@pytest.mark.parametrize("allowance", [12_500_000, 12_500_001, 2**256 - 1])
def test_no_approval_is_asked_when_the_allowance_suffices(shop: Shop, node: Node, allowance: int) -> None:
    node.allowance = allowance
    body = pay(shop, shop.link(), wallet=WALLET)
    (payment,) = body["transactions"]
    assert erc20_payment(payment)[2] == 12_500_000
    metadata = body["metadata"]
    assert "approvalTransactionIndex" not in metadata
    assert (metadata["needsApproval"], metadata["hasEnoughAllowance"]) == (False, True)
    assert (metadata["stepsRequired"], metadata["paymentTransactionIndex"]) == (1, 0)


@pytest.mark.parametrize("allowance", [1, 12_499_999])
def test_a_short_allowance_is_replaced_where_the_token_lets_it(shop: Shop, node: Node, allowance: int) -> None:
    node.allowance = allowance
    transactions = pay(shop, shop.link(), wallet=WALLET)["transactions"]
    assert len(transactions) == 2
    assert approval(transactions[0])[1] == 12_500_000


def test_a_token_that_refuses_to_change_an_allowance_gets_it_withdrawn_first(shop: Shop, node: Node) -> None:
    node.allowance, node.refuses_approval = 1, True
    body = pay(shop, shop.link(), wallet=WALLET)
    withdraw, grant, payment = body["transactions"]
    assert (approval(withdraw)[1], approval(grant)[1]) == (0, 12_500_000)
    assert erc20_payment(payment)[2] == 12_500_000
    metadata = body["metadata"]
    assert (metadata["stepsRequired"], metadata["approvalTransactionsCount"]) == (3, 2)
    assert (metadata["approvalTransactionIndex"], metadata["paymentTransactionIndex"]) == (1, 2)
    assert [each["data"] for each in metadata["calls"]["calls"]] == [withdraw["data"], grant["data"], payment["data"]]


def test_the_token_is_not_tried_when_there_is_no_allowance_to_change(shop: Shop, node: Node) -> None:
    node.refuses_approval = True
    assert len(pay(shop, shop.link(), wallet=WALLET)["transactions"]) == 2
    assert node.asked == ["eth_call", "eth_gasPrice"]


def test_without_a_wallet_no_allowance_is_assumed_and_no_node_is_asked(shop: Shop, node: Node) -> None:
    node.allowance = 2**256 - 1
    body = pay(shop, shop.link())
    assert len(body["transactions"]) == 2
    assert node.asked == []
    assert set(body["metadata"]) == {
        "calls",
        "stepsRequired",
        "needsApproval",
        "approvalTransactionIndex",
        "approvalTransactionsCount",
        "paymentTransactionIndex",
        "routeType",
        "sourceAmount",
        "requiredAmount",
        "explanation",
    }


def test_a_native_payment_is_one_transaction_that_carries_amount_and_fee(shop: Shop) -> None:
    token = shop.link(NATIVE, **FEE)
    body = pay(shop, token, wallet=WALLET)
    (payment,) = body["transactions"]
    assert (payment["to"], payment["data"][:10]) == (NATIVE_PROXY, "0xb868980b")
    assert int(payment["value"], 16) == 505 * 10**15
    types = ["address", "bytes", "uint256", "address"]
    assert decode(types, bytes.fromhex(payment["data"][10:])) == (
        PAYEE.lower(),
        reference_of(token),
        5 * 10**15,
        FEE_ADDRESS.lower(),
    )
    assert body["metadata"]["needsApproval"] is False
    assert body["metadata"]["sourceAmount"] == "0.505"


def test_a_partial_payment_leaves_the_rest_and_its_share_of_the_fee(shop: Shop) -> None:
    token = shop.link(item(), **FEE)
    pay_part(token, 5_000_000)
    body = pay(shop, token, wallet=WALLET)
    grant, payment = body["transactions"]
    assert approval(grant)[1] == 7_575_000
    assert (erc20_payment(payment)[2], erc20_payment(payment)[4]) == (7_500_000, 75_000)
    assert body["metadata"]["requiredAmount"] == "7.575"


def test_a_rest_too_small_for_a_fee_carries_none(shop: Shop) -> None:
    token = shop.link(item(), **FEE)
    pay_part(token, 12_499_999)
    _, payment = pay(shop, token)["transactions"]
    assert (erc20_payment(payment)[2], erc20_payment(payment)[4]) == (1, 0)


def test_asking_twice_gives_the_same_and_writes_nothing(shop: Shop) -> None:
    token = shop.link()
    before = stored()
    assert pay(shop, token, wallet=WALLET) == pay(shop, token, wallet=WALLET)
    assert stored() == before


def test_a_contract_put_at_the_fee_address_later_stops_a_native_payment(shop: Shop, node: Node) -> None:
    token = shop.link(NATIVE, **FEE)
    node.contracts = {FEE_ADDRESS.lower()}
    reply = ask(shop, token, wallet=WALLET)
    assert reply.status == 400
    assert "feeAddress is a contract" in reply.message


# --- metadata ---


def test_the_metadata_says_all_about_wallet_and_route(shop: Shop, node: Node) -> None:
    node.native, node.balance, node.allowance = 10**18, 20_000_000, 5
    body = pay(shop, shop.link(item(), **FEE), wallet=WALLET)
    assert set(body) == {"paymentType", "transactions", "feeBundle", "metadata"}
    assert (body["paymentType"], body["feeBundle"]) == ("single", None)
    metadata = body["metadata"]
    assert float(metadata.pop("estimatedNetworkFee")) > 0
    assert len(metadata.pop("explanation")) == 2
    assert len(metadata.pop("calls")["calls"]) == 2
    assert metadata == {
        "stepsRequired": 2,
        "needsApproval": True,
        "approvalTransactionIndex": 0,
        "approvalTransactionsCount": 1,
        "paymentTransactionIndex": 1,
        "routeType": "samechain",
        "sourceAmount": "12.625",
        "requiredAmount": "12.625",
        "platformFee": {"percentage": "1", "address": FEE_ADDRESS},
        "hasEnoughBalance": True,
        "hasEnoughGas": True,
        "hasEnoughAllowance": False,
        "balance": "20",
        "allowance": "0.000005",
        "nativeBalance": "1",
    }


@pytest.mark.parametrize(("balance", "enough"), [(12_500_000, True), (12_499_999, False)])
def test_the_balance_is_compared_with_what_is_taken(shop: Shop, node: Node, balance: int, enough: bool) -> None:
    node.balance = balance
    assert pay(shop, shop.link(), wallet=WALLET)["metadata"]["hasEnoughBalance"] is enough


def test_gas_is_needed_on_top_of_a_native_amount(shop: Shop, node: Node) -> None:
    token = shop.link(NATIVE)
    node.native = 5 * 10**17
    metadata = pay(shop, token, wallet=WALLET)["metadata"]
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"]) == (True, False)
    node.native = 6 * 10**17
    assert pay(shop, token, wallet=WALLET)["metadata"]["hasEnoughGas"] is True


def test_a_native_payment_speaks_of_no_allowance(shop: Shop) -> None:
    metadata = pay(shop, shop.link(NATIVE), wallet=WALLET)["metadata"]
    assert not {"hasEnoughAllowance", "allowance", "approvalTransactionIndex"} & set(metadata)


# --- queries ---


def test_the_links_own_chain_and_token_need_no_bridge(shop: Shop) -> None:
    token = shop.link(BASE_USDC)
    assert pay(shop, token, wallet=WALLET, chain="BASE", token="USDC") == pay(shop, token, wallet=WALLET)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"chain": "BASE", "token": "USDT", "wallet": WALLET}, "USDT is not exchanged for USDC on BASE"),
        ({"chain": "ETHEREUM", "token": "USDT"}, "wallet is needed to pay from another chain"),
    ],
)
def test_a_source_that_is_not_bridged_is_refused(shop: Shop, query: dict[str, str], wanted: str) -> None:
    reply = ask(shop, shop.link(BASE_USDC), **query)
    assert reply.status == 400
    assert wanted in reply.message


@pytest.mark.parametrize("query", [{"chain": "BASE"}, {"token": "USDC"}], ids=str)
def test_chain_and_token_come_together(shop: Shop, query: dict[str, str]) -> None:
    reply = ask(shop, shop.link(BASE_USDC), **query)
    assert (reply.status, reply.message) == (400, "chain and token must be given together")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"chain": "base", "token": "USDC"}, "chain"),
        ({"chain": "SEPOLIA", "token": "USDC"}, "chain"),
        ({"chain": "", "token": "USDC"}, "chain"),
        ({"chain": "BASE", "token": "DAI"}, "token"),
        ({"chain": "BASE", "token": "usdc"}, "token"),
        ({"isSafe": "yes"}, "isSafe"),
        ({"isSafe": "1"}, "isSafe"),
        ({"isSafe": ""}, "isSafe"),
    ],
    ids=str,
)
def test_a_value_outside_its_list_is_refused_with_the_list(shop: Shop, query: dict[str, str], field: str) -> None:
    reply = ask(shop, shop.link(BASE_USDC), wallet=WALLET, **query)
    assert reply.status == 400
    assert reply.message.startswith(f"{field} must be one of ")


def test_a_multisig_needs_a_wallet(shop: Shop) -> None:
    reply = ask(shop, shop.link(), isSafe="true")
    assert reply.status == 400
    assert "wallet is needed with isSafe" in reply.message


def test_a_multisig_excludes_an_eoa_wallet(shop: Shop) -> None:
    reply = ask(shop, shop.link(), wallet=WALLET, isSafe="true", eoaWallet=PAYEE)
    assert (reply.status, reply.message) == (400, "isSafe and eoaWallet cannot be given together")


# --- the payee ---


def test_the_payee_is_not_the_payer_of_a_link(shop: Shop) -> None:
    for link in (shop.link(), shop.link(NATIVE)):
        for payee in (PAYEE, PAYEE.lower()):
            reply = ask(shop, link, wallet=payee)
            wanted = f"wallet is the payee {PAYEE}: give the wallet that pays, or leave it out"
            assert (reply.status, reply.message) == (400, wanted)


# --- the node ---


def test_a_node_that_is_down_is_503_with_retry_after_and_without_its_address(shop: Shop, node: Node) -> None:
    token = shop.link()
    node.status = 500
    reply = ask(shop, token, wallet=WALLET)
    assert (reply.status, reply.headers["retry-after"]) == (503, "5")
    assert str(node.server.server_port) not in reply.body.decode()


def answered(value: Any) -> Callable[[list[Any]], bytes]:
    """Answers every call of a batch with the same result."""
    return lambda calls: json.dumps([{"jsonrpc": "2.0", "id": call["id"], "result": value} for call in calls]).encode()


NONSENSE: dict[str, Callable[[list[Any]], bytes]] = {
    "nothing": lambda calls: b"",
    "HTML": lambda calls: b"<html>busy</html>",
    "invalid UTF-8": lambda calls: b'"\xff\xfe"',
    "null": lambda calls: b"null",
    "a number": lambda calls: b"5",
    "an error for the batch": lambda calls: b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}',
    "too few answers": lambda calls: b"[]",
    "empty results": answered("0x"),
    "no hex": answered("0xzz"),
    "a lying multicall": answered("0x" + "ff" * 96),
}
ANY_TEXT = {"empty results", "no hex", "a lying multicall"}  # eth_getCode may answer any of these


@pytest.mark.parametrize("kind", NONSENSE)
def test_a_node_that_talks_nonsense_is_503(shop: Shop, node: Node, kind: str) -> None:
    token = shop.link()
    node.answers_with = NONSENSE[kind]
    assert ask(shop, token, wallet=WALLET).status == 503


@pytest.mark.parametrize("kind", [kind for kind in NONSENSE if kind not in ANY_TEXT])
def test_a_node_that_talks_nonsense_about_a_fee_address_is_503(shop: Shop, node: Node, kind: str) -> None:
    node.answers_with = NONSENSE[kind]
    before = stored()
    assert shop.create(NATIVE, **FEE).status == 503
    assert stored() == before
