"""Links on Tron over HTTP: created, read, and quoted with base58 addresses and fee limits."""

from typing import Any

import pytest
from eth_abi import decode

from chalicelib.base.addresses import tron_address_of, tron_to_evm
from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, TRON_BATCH, address_of
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.payments.links import reading as link_reading
from tests.checkout.test_pay_kinds import ask, pay, payout, refusal
from tests.fakes.destinations import TRON, USDT_TRON
from tests.fakes.wallets import tron_wallet
from tests.fakes.world import FEE_ADDRESS, WALLET
from tests.payments.links.multicalls.test_api import PATH as MULTICALLS
from tests.support.client import Shop
from tests.support.items import TRON_PAYEE, by_destination, refused, tron
from tests.support.node import Node
from tests.support.running import running
from tests.support.signed_in import by_wallet
from tests.support.stored_links import pay_part

WALLET_TRON = tron_wallet("payer").address
FEE_TRON = tron_address_of(b"\x11" * 20)
FEE = {"feePercentage": "1", "feeAddress": FEE_TRON}
PROXY, BATCH = address_of(ERC20_FEE_PROXY, "tron"), address_of(TRON_BATCH, "tron")
APPROVE, PAY = "0x095ea7b3", "0xc219a14d"


def arguments(types: list[str], data: str) -> tuple[Any, ...]:
    return tuple(decode(types, bytes.fromhex(data[10:])))


def reference_of(token: str) -> bytes:
    payment = link_reading.load(running(), token)
    assert payment is not None
    return bytes.fromhex(payment.requests[0].payment_reference[2:])


def miscased(address: str) -> str:
    """The address with the case of its last letter changed: the checksum is over the letters as they are."""
    place = max(index for index, character in enumerate(address) if character.isalpha())
    return address[:place] + address[place].swapcase() + address[place + 1 :]


def test_a_link_is_paid_by_an_approval_and_a_call_of_the_proxy_under_a_fee_limit(shop: Shop, node: Node) -> None:
    token = shop.link(tron(), **FEE)
    body = pay(shop, token, wallet=WALLET_TRON)
    grant, payment = body["transactions"]
    assert [(each["to"], each["value"], each["feeLimit"]) for each in (grant, payment)] == [
        (USDT_TRON, 0, APPROVAL_FEE_LIMIT),
        (PROXY, 0, PAYMENT_FEE_LIMIT),
    ]
    assert (grant["data"][:10], payment["data"][:10]) == (APPROVE, PAY)
    assert arguments(["address", "uint256"], grant["data"]) == (tron_to_evm(PROXY), 12_625_000)
    assert arguments(["address", "address", "uint256", "bytes", "uint256", "address"], payment["data"]) == (
        tron_to_evm(USDT_TRON),
        tron_to_evm(TRON_PAYEE),
        12_500_000,
        reference_of(token),
        125_000,
        tron_to_evm(FEE_TRON),
    )
    resources = ["/wallet/getchainparameters", "/wallet/getaccountresource"]
    measured = ["/wallet/triggerconstantcontract"] * 3  # the approval, and a transfer to the payee and the fee address
    assert node.asked == ["eth_getBalance", "eth_gasPrice", "eth_call", "eth_call", *resources, *measured]


def test_a_read_without_a_wallet_has_the_options_of_one_that_has_nothing_and_asks_no_node(shop: Shop, node: Node) -> None:
    token = shop.link(tron(), **FEE)
    body = shop.get(f"/v2/secure-payments/{token}").json
    nothing = {"balance": "0", "hasEnoughBalance": False, "neededAmount": "12.625"}
    assert body["paymentOptions"] == {"TRON": {"USDT": nothing}}
    assert node.asked == []
    node.balance = 12_625_000
    enough = {"balance": "12.625", "hasEnoughBalance": True, "neededAmount": "12.625"}
    with_wallet = shop.get(f"/v2/secure-payments/{token}?wallet={WALLET_TRON}").json
    assert with_wallet["paymentOptions"] == {"TRON": {"USDT": enough}}
    assert "paymentOptions" not in shop.get(f"/v2/secure-payments/{shop.link()}").json


def test_the_metadata_compares_what_the_wallet_has_in_trx_of_six_decimals(shop: Shop, node: Node) -> None:
    node.native, node.balance, node.allowance = 25_000_000, 12_500_000, 1_000_000
    metadata = pay(shop, shop.link(tron()), wallet=WALLET_TRON)["metadata"]
    assert (metadata["nativeBalance"], metadata["balance"], metadata["allowance"]) == ("25", "12.5", "1")
    assert (metadata["approvalFeeLimit"], metadata["paymentFeeLimit"]) == ("100000000", "300000000")
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"], metadata["hasEnoughAllowance"]) == (True, True, False)
    # approval 34,100 and payment 78,100 energy with the margin; 345 bytes are free, and those of the payment are not
    burned = (34_100 + 78_100) * 100 + metadata["resources"]["steps"][1]["bandwidth"] * 1000
    assert (metadata["estimatedNetworkFee"], metadata["resources"]["burned"]) == (f"{burned / 10**6:g}", str(burned))
    node.native = burned - 1
    assert pay(shop, shop.link(tron()), wallet=WALLET_TRON)["metadata"]["hasEnoughGas"] is False


def test_an_allowance_that_is_enough_leaves_the_payment_alone(shop: Shop, node: Node) -> None:
    node.allowance = 12_500_000
    (payment,) = pay(shop, shop.link(tron()), wallet=WALLET_TRON)["transactions"]
    assert (payment["to"], payment["feeLimit"]) == (PROXY, PAYMENT_FEE_LIMIT)


def test_without_a_wallet_no_node_is_asked_and_everything_is_approved(shop: Shop, node: Node) -> None:
    body = pay(shop, shop.link(tron()))
    assert [each["to"] for each in body["transactions"]] == [USDT_TRON, PROXY]
    assert "nativeBalance" not in body["metadata"] and node.asked == []


def test_what_is_paid_is_not_asked_again(shop: Shop) -> None:
    token = shop.link(tron())
    pay_part(token, 12_000_000)
    assert arguments(["address", "uint256"], pay(shop, token)["transactions"][0]["data"])[1] == 500_000


def test_every_transaction_is_explained_and_the_first_is_tried(shop: Shop, node: Node) -> None:
    metadata = pay(shop, shop.link(tron()), wallet=WALLET_TRON, simulate="true")["metadata"]
    assert [each["function"] for each in metadata["explanation"]] == ["approve", "transferFromWithReferenceAndFee"]
    event = metadata["explanation"][1]["expectedEvent"]
    assert (event["token"], event["payee"], event["amount"]) == (USDT_TRON, TRON_PAYEE, "12500000")
    assert [step["success"] for step in metadata["simulation"]["steps"]] == [True, None]
    assert node.asked[-1] == "/wallet/triggerconstantcontract"


def test_a_link_is_read_with_and_without_what_a_wallet_holds(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    body = shop.get(f"/v2/secure-payments/{token}").json
    assert (body["network"], body["payee"], body["amount"]) == ("tron", TRON_PAYEE, "12.5")
    assert (body["paymentCurrency"], body["isNativeCurrency"]) == ("USDT-tron", False)
    destination = body["destination"]
    assert (destination["walletAddress"], destination["tokenAddress"]) == (TRON_PAYEE, USDT_TRON)
    assert f"{TRON_PAYEE}@eip155:{TRON}" in destination["destinationId"]
    assert body["paymentOptions"]["TRON"]["USDT"]["balance"] == "0", "a fallback wallet has nothing"
    node.balance = 3_000_000
    options = shop.get(f"/v2/secure-payments/{token}?wallet={WALLET_TRON}").json["paymentOptions"]
    assert options == {"TRON": {"USDT": {"balance": "3", "hasEnoughBalance": False, "neededAmount": "12.5"}}}


def test_a_link_is_made_by_the_id_of_a_destination(shop: Shop) -> None:
    token = shop.link(by_destination(destination_id(Destination(TRON_PAYEE, TRON, USDT_TRON)), "7"))
    read = shop.get(f"/v2/secure-payments/{token}").json
    assert (read["payee"], read["amount"], read["network"]) == (TRON_PAYEE, "7", "tron")
    assert [each["to"] for each in pay(shop, token)["transactions"]] == [USDT_TRON, PROXY]


def test_a_link_of_an_amount_goes_to_the_bound_tron_destination(shop: Shop) -> None:
    wallet = tron_wallet("merchant")
    dashboard = by_wallet(shop.api, wallet)
    kept = dashboard.send("POST", "/v1/payee-destination", {"tokenAddress": USDT_TRON, "chainId": TRON}).json
    fields = {"label": "shop", "allowedDomains": [], "payeeDestinationId": kept["id"]}
    client = {"x-client-id": dashboard.send("POST", "/v1/client-ids", fields).json["clientId"]}
    body = {"requests": [{"amount": "5"}]}
    token = shop.api.request("POST", "/v2/secure-payments", body, client).json["token"]
    payment = shop.api.get(f"/v2/secure-payments/{token}/pay", client).json["transactions"][1]
    payee, amount = arguments(["address", "address", "uint256"], payment["data"])[1:]
    assert (payee, amount) == (tron_to_evm(wallet.address), 5_000_000)


# --- what a link on Tron does not have ---


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"chain": "BASE", "token": "USDC"}, "A link on tron is paid on tron: omit chain and token"),
        ({"wallet": WALLET_TRON, "isSafe": "true"}, "omit isSafe and eoaWallet"),
        ({"wallet": WALLET_TRON, "eoaWallet": WALLET}, "eoaWallet is not an address of tron"),
        ({"wallet": WALLET_TRON, "eoaWallet": WALLET_TRON}, "eoaWallet: Invalid Ethereum address"),
        ({"wallet": WALLET}, "wallet is not an address of tron, on which this is paid"),
        ({"wallet": WALLET_TRON.lower()}, "wallet: Invalid Ethereum address"),
        ({"wallet": "T" + WALLET_TRON[1:].lower()}, "wallet: Invalid Tron address"),
        ({"wallet": miscased(WALLET_TRON)}, "wallet: Invalid Tron address"),
        ({"wallet": "41" + "11" * 20}, "wallet: Invalid Ethereum address"),
    ],
    ids=str,
)
def test_another_way_to_pay_is_400_before_any_node_is_asked(
    shop: Shop, node: Node, query: dict[str, str], text: str
) -> None:
    status, message = refusal(shop, shop.link(tron()), **query)
    assert status == 400 and text in message, message
    assert node.asked == []


def test_a_read_takes_a_tron_wallet_in_its_exact_case_alone(shop: Shop) -> None:
    token = shop.link(tron())
    for wallet in (miscased(WALLET_TRON), WALLET):
        assert shop.get(f"/v2/secure-payments/{token}?wallet={wallet}").status == 400


@pytest.mark.usefixtures("nothing_written")
def test_no_letter_of_an_address_may_change_its_case(shop: Shop) -> None:
    refused(shop.create(tron(payee=miscased(TRON_PAYEE))), "requests.0.payee", "exact case")
    refused(shop.create(tron(), feePercentage="1", feeAddress=miscased(FEE_TRON)), "feeAddress", "exact case")
    refused(shop.create(tron(), feePercentage="1", feeAddress=FEE_ADDRESS), "feeAddress", "Invalid Tron address")


def test_a_node_that_does_not_answer_is_503_for_a_wallet_and_nothing_for_nobody(shop: Shop, node: Node) -> None:
    token = shop.link(tron())
    node.status = 500
    assert ask(shop, token, wallet=WALLET_TRON).status == 503
    assert ask(shop, token).status == 200


# --- payouts and several of them ---


def payout_on_tron(shop: Shop, **changes: Any) -> str:
    fields = {"recipient": TRON_PAYEE, "network": "tron", "currency": "USDT-tron", **changes}
    return payout(shop, WALLET_TRON, **fields)


def test_a_payout_is_paid_by_its_creator_alone(shop: Shop) -> None:
    token = payout_on_tron(shop)
    assert pay(shop, token, wallet=WALLET_TRON)["transactions"][1]["to"] == PROXY
    assert refusal(shop, token, wallet=FEE_TRON) == (403, "Only the wallet that created this payout may pay it")


def test_several_payouts_are_one_call_of_the_batch_contract(shop: Shop, node: Node) -> None:
    children = [payout_on_tron(shop, amount=amount, **FEE) for amount in ("1", "2.5", "4")]
    made = shop.send("POST", MULTICALLS, {"childTokens": children})
    assert made.status == 201, made.json
    body = pay(shop, made.json["token"], wallet=WALLET_TRON)
    assert (body["paymentType"], body["executionKind"], body["chainId"]) == ("multicall", "tron_batch", TRON)
    grant, payment = body["transactions"]
    assert (grant["to"], payment["to"]) == (USDT_TRON, BATCH)
    assert (grant["feeLimit"], payment["feeLimit"]) == (APPROVAL_FEE_LIMIT, PAYMENT_FEE_LIMIT)
    assert arguments(["address", "uint256"], grant["data"]) == (tron_to_evm(BATCH), 7_575_000)
    types = ["address", "address[]", "uint256[]", "bytes[]", "uint256[]", "address"]
    token, payees, amounts, references, fees, fee_address = arguments(types, payment["data"])
    assert (token, set(payees), fee_address) == (tron_to_evm(USDT_TRON), {tron_to_evm(TRON_PAYEE)}, tron_to_evm(FEE_TRON))
    assert (amounts, fees) == ((1_000_000, 2_500_000, 4_000_000), (10_000, 25_000, 40_000))
    assert list(references) == [reference_of(child) for child in children]
    assert body["references"] == ["0x" + reference.hex() for reference in references]
    assert (body["metadata"]["nativeBalance"], body["metadata"]["hasEnoughGas"]) == ("1000000000000", True)
