"""GET /v2/secure-payments/:token/pay of batches, payouts and Tron links, and for Safes and funded smart accounts."""

from typing import Any

import pytest
from eth_abi import decode

from chalicelib.chains.calldata.wallets.safe import unpack_transactions
from chalicelib.chains.catalogue.contracts import BATCH, ERC20_FEE_PROXY, MULTI_SEND, address_of
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.fees.rules import plan_of
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, WALLET
from tests.support.client import Reply, Shop, item, stored
from tests.support.node import Node
from tests.support.running import running
from tests.support.stored_links import pay_part

FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
EOA = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
NATIVE = item(amount="0.5", invoiceCurrency="ETH-sepolia-sepolia", paymentCurrency="ETH-sepolia-sepolia")
FUSDT = item(amount="3", invoiceCurrency="fUSDT-sepolia", paymentCurrency="fUSDT-sepolia")
DETAIL = "(address,uint256,address[],bytes,uint256,uint256,uint256)"
TRON_WALLET = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"


def ask(shop: Shop, link: str, **query: str) -> Reply:
    return shop.get(f"/v2/secure-payments/{link}/pay?" + "&".join(f"{k}={v}" for k, v in query.items()))


def pay(shop: Shop, link: str, **query: str) -> Any:
    reply = ask(shop, link, **query)
    assert reply.status == 200, reply.json
    return reply.json


def refusal(shop: Shop, link: str, **query: str) -> tuple[int, str]:
    reply = ask(shop, link, **query)
    return reply.status, reply.message


def payout(shop: Shop, creator: str = WALLET, **changes: Any) -> str:
    body = {
        "recipient": PAYEE,
        "creatorWalletAddress": creator,
        "network": "sepolia",
        "currency": "fUSDC-sepolia",
        "amount": "5",
        **changes,
    }
    reply = shop.send("POST", "/v2/secure-payments/payouts", body)
    assert reply.status == 201, reply.json
    token: str = reply.json["token"]
    return token


def groups(data: str) -> list[tuple[int, list[tuple[Any, ...]]]]:
    """[(group, [(payee, amount, path, reference, fee, 0, 0)])] and the fee address, of batchPayments."""
    assert data[:10] == "0x92cddb91"
    found, _, _ = decode([f"(uint256,{DETAIL}[])[]", "address[][]", "address"], bytes.fromhex(data[10:]))
    return [(number, list(details)) for number, details in found]


# --- batches ---


def test_a_batch_is_an_approval_for_each_token_and_one_payment(shop: Shop, node: Node) -> None:
    token = shop.link(item(), FUSDT, item(amount="1"), NATIVE, **FEE)
    body = pay(shop, token, wallet=WALLET)
    assert body["paymentType"] == "batch"
    batch = address_of(BATCH, "sepolia")
    grants = [
        (grant["to"], decode(["address", "uint256"], bytes.fromhex(grant["data"][10:])))
        for grant in body["ERC20ApprovalTransactions"]
    ]
    assert [(to, spender, amount) for to, (spender, amount) in grants] == [
        (FUSDC, batch.lower(), 13_635_000),
        (grants[1][0], batch.lower(), 3_030_000),
    ]
    payment = body["batchPaymentTransaction"]
    assert (payment["to"], int(payment["value"], 16)) == (batch, 505 * 10**15)
    stored_link = link_reading.load(running(), token)
    assert stored_link is not None
    paid = [detail for _, details in groups(payment["data"]) for detail in details]
    assert [detail[3] for detail in paid] == [bytes.fromhex(r.payment_reference[2:]) for r in stored_link.requests]
    assert [detail[1] for detail in paid] == [12_500_000, 3_000_000, 1_000_000, 5 * 10**17]
    assert body["transactions"] == [*body["ERC20ApprovalTransactions"], payment]


def test_the_metadata_of_a_batch_says_which_tokens_are_short(shop: Shop, node: Node) -> None:
    node.balance, node.native = 13_000_000, 10**17
    metadata = pay(shop, shop.link(item(), FUSDT, item(amount="1"), NATIVE), wallet=WALLET)["metadata"]
    assert (metadata["hasEnoughBalance"], metadata["hasEnoughGas"], metadata["canMakePayment"]) == (False, False, False)
    assert [(t["paymentCurrencyId"], t["required"], t["available"]) for t in metadata["insufficientTokens"]] == [
        ("fUSDC-sepolia", "13.5", "13"),
        ("ETH-sepolia-sepolia", "0.5", "0.1"),
    ]
    assert metadata["batchPaymentTransactionIndex"] == 2
    assert metadata["approvalTransactionIndices"] == [0, 1]


def test_a_batch_without_a_wallet_says_nothing_about_one(shop: Shop) -> None:
    body = pay(shop, shop.link(item(), FUSDT))
    assert {"ERC20ApprovalTransactions", "batchPaymentTransaction", "metadata"} <= body.keys()
    of_a_wallet = {"hasEnoughBalance", "hasEnoughGas", "hasEnoughAllowance", "canMakePayment", "insufficientTokens"}
    assert not body["metadata"].keys() & of_a_wallet
    metadata = pay(shop, shop.link(item(), FUSDT), wallet=WALLET)["metadata"]
    assert all(isinstance(metadata[name], bool) for name in ("hasEnoughBalance", "hasEnoughGas", "canMakePayment"))


def test_the_payment_of_a_multicall_has_its_index_under_both_names(shop: Shop) -> None:
    children = {"childTokens": [payout(shop), payout(shop)]}
    token = shop.send("POST", "/v2/secure-payments/multicall-payouts", children).json["token"]
    metadata = pay(shop, token)["metadata"]
    assert (metadata["paymentTransactionIndex"], metadata["batchPaymentTransactionIndex"]) == (1, 1)


def test_a_batch_fee_of_the_contract_is_approved_and_sent_too(shop: Shop, node: Node) -> None:
    node.batch_fee = 30
    body = pay(shop, shop.link(item(), item(), NATIVE), wallet=WALLET)
    (grant,) = body["ERC20ApprovalTransactions"]
    assert decode(["address", "uint256"], bytes.fromhex(grant["data"][10:]))[1] == 25_000_000 + 75_000
    assert int(body["batchPaymentTransaction"]["value"], 16) == 5 * 10**17 + 15 * 10**14


def test_a_batch_without_a_fee_names_the_dead_address(shop: Shop) -> None:
    data = pay(shop, shop.link(item(), item()))["batchPaymentTransaction"]["data"]
    assert data[:10] == "0x9af8a581"
    _, _, fee_address = decode([f"{DETAIL}[]", "address[][]", "address"], bytes.fromhex(data[10:]))
    assert fee_address == "0x000000000000000000000000000000000000dead"


def test_what_is_paid_of_a_batch_is_not_asked_again(shop: Shop) -> None:
    token = shop.link(item(), item(amount="4"))
    pay_part(token, 12_500_000)
    payment = pay(shop, token)["batchPaymentTransaction"]
    details, _, _ = decode([f"{DETAIL}[]", "address[][]", "address"], bytes.fromhex(payment["data"][10:]))
    assert [detail[1] for detail in details] == [4_000_000]


def test_a_batch_is_shown_in_lists_with_what_the_wallet_holds(shop: Shop, node: Node) -> None:
    node.balance = 13_000_000
    token = shop.link(item(), FUSDT, NATIVE, reference="order 7")
    body = shop.get(f"/v2/secure-payments/{token}?wallet={WALLET}").json
    assert (body["paymentType"], body["network"], body["status"], body["reference"]) == (
        "batch",
        "sepolia",
        "pending",
        "order 7",
    )
    assert body["payees"] == [PAYEE] * 3
    assert body["amounts"] == ["12.5", "3", "0.5"]
    assert body["isNativeCurrency"] == [False, False, True]
    assert [d["walletAddress"] for d in body["destinations"]] == [PAYEE] * 3
    options = body["paymentOptions"]["SEPOLIA"]
    assert options["fUSDC"] == {"balance": "13", "hasEnoughBalance": True, "neededAmount": "12.5"}
    assert set(options) == {"fUSDC", "fUSDT", "ETH-sepolia"}


def test_none_of_the_payees_of_a_batch_pays_it(shop: Shop) -> None:
    other = evm_wallet("other").address
    token = shop.link(item(payee=other), item(), NATIVE, feePercentage="1", feeAddress=FEE_ADDRESS)
    for payee in (PAYEE, other):
        for name in (payee, payee.lower()):
            text = f"wallet is the payee {payee}: give the wallet that pays, or leave it out"
            assert refusal(shop, token, wallet=name) == (400, text)
        assert refusal(shop, token, wallet=WALLET, eoaWallet=payee)[0] == 400
    assert ask(shop, token, wallet=FEE_ADDRESS).status == 200, "who receives the fee may pay"


def test_a_payee_who_has_been_paid_may_pay_what_is_left_of_a_batch(shop: Shop) -> None:
    other = evm_wallet("other").address
    token = shop.link(item(payee=other), item())
    pay_part(token, 12_500_000)
    assert ask(shop, token, wallet=other).status == 200
    assert refusal(shop, token, wallet=PAYEE)[0] == 400


def test_none_of_the_payees_of_a_multicall_pays_it(shop: Shop) -> None:
    other = evm_wallet("other").address
    children = [payout(shop), payout(shop, recipient=other)]
    token = shop.send("POST", "/v2/secure-payments/multicall-payouts", {"childTokens": children}).json["token"]
    text = f"wallet is the payee {other}: give the wallet that pays, or leave it out"
    assert refusal(shop, token, wallet=other) == (400, text)
    assert ask(shop, token, wallet=WALLET).status == 200


# --- payouts ---


def test_a_payout_is_paid_by_the_wallet_that_created_it_alone(shop: Shop) -> None:
    token = payout(shop)
    assert pay(shop, token, wallet=WALLET)["paymentType"] == "single"
    status, message = refusal(shop, token, wallet=EOA)
    assert (status, message) == (403, "Only the wallet that created this payout may pay it")


def test_the_creator_of_a_payout_may_fund_a_smart_account_that_pays_it(shop: Shop) -> None:
    assert ask(shop, payout(shop), wallet=EOA, eoaWallet=WALLET).status == 200


# --- Safes ---


def test_a_safe_is_given_its_transactions_also_as_one(shop: Shop, node: Node) -> None:
    node.contracts = {WALLET.lower()}
    token = shop.link()
    body = pay(shop, token, wallet=WALLET, isSafe="true")
    bundle = body.pop("safeTransaction")
    assert (bundle["to"], bundle["value"], bundle["operation"]) == (address_of(MULTI_SEND, "sepolia"), "0", 1)
    (packed,) = decode(["bytes"], bytes.fromhex(bundle["data"][10:]))
    assert [(each.to, each.data) for each in unpack_transactions(packed)] == [
        (each["to"], each["data"]) for each in body["transactions"]
    ]
    explained = body["metadata"].pop("safeExplanation")
    assert [call["summary"] for call in explained["calls"]] == [
        each["summary"] for each in body["metadata"]["explanation"]
    ]
    assert body == pay(shop, token, wallet=WALLET, isSafe="false")


def test_the_gas_of_a_safe_is_its_executing_owners(shop: Shop, node: Node) -> None:
    node.contracts, node.native = {WALLET.lower()}, 0
    token = shop.link()
    assert pay(shop, token, wallet=WALLET, isSafe="true")["metadata"]["hasEnoughGas"] is True
    assert pay(shop, token, wallet=WALLET)["metadata"]["hasEnoughGas"] is False


def test_a_safe_without_code_is_refused(shop: Shop) -> None:
    status, message = refusal(shop, shop.link(), wallet=WALLET, isSafe="true")
    assert status == 400
    assert "not a Safe on sepolia" in message


# --- smart accounts ---


def test_a_smart_account_draws_from_the_wallet_that_funds_it_and_then_pays(shop: Shop) -> None:
    body = pay(shop, shop.link(item(), **FEE), wallet=WALLET, eoaWallet=EOA)
    (grant,) = body["eoaApprovalTransactions"]
    assert decode(["address", "uint256"], bytes.fromhex(grant["data"][10:])) == (WALLET.lower(), 12_625_000)
    draw, approval, _ = body["transactions"]
    assert draw["data"][:10] == "0x23b872dd"
    assert decode(["address", "address", "uint256"], bytes.fromhex(draw["data"][10:])) == (
        EOA.lower(),
        WALLET.lower(),
        12_625_000,
    )
    assert decode(["address", "uint256"], bytes.fromhex(approval["data"][10:]))[0] == address_of(
        ERC20_FEE_PROXY, "sepolia"
    ).lower()
    metadata = body["metadata"]
    assert (metadata["approvalTransactionIndex"], metadata["paymentTransactionIndex"]) == (1, 2)
    assert metadata["eoaApprovalRequired"] is True
    (explained,) = metadata["eoaExplanation"]
    assert explained["summary"] == f"Allow {WALLET}, which is not a payment contract, to take up to 12.625 fUSDC"


def test_a_funding_wallet_that_has_approved_need_not_again(shop: Shop, node: Node) -> None:
    node.allowance = 12_500_000
    body = pay(shop, shop.link(), wallet=WALLET, eoaWallet=EOA)
    assert body["eoaApprovalTransactions"] == []
    assert body["metadata"]["eoaApprovalRequired"] is False
    assert len(body["transactions"]) == 2


def test_the_native_coin_is_not_drawn_from_another_wallet(shop: Shop) -> None:
    status, message = refusal(shop, shop.link(NATIVE), wallet=WALLET, eoaWallet=EOA)
    assert status == 400
    assert "send the native coin to the smart account" in message


@pytest.mark.parametrize("value", ["0x1", "T" + "x" * 33, ""])
def test_a_funding_wallet_is_an_evm_address(shop: Shop, value: str) -> None:
    assert refusal(shop, shop.link(), wallet=WALLET, eoaWallet=value) == (400, "eoaWallet: Invalid Ethereum address")


def test_a_wallet_does_not_fund_itself(shop: Shop) -> None:
    status, message = refusal(shop, shop.link(), wallet=WALLET, eoaWallet=WALLET)
    assert (status, "eoaWallet is the wallet itself" in message) == (400, True)


def test_a_funding_wallet_needs_the_smart_account(shop: Shop) -> None:
    status, message = refusal(shop, shop.link(), eoaWallet=EOA)
    assert (status, "wallet is needed with eoaWallet" in message) == (400, True)


# --- families ---


def test_a_wallet_of_another_family_is_refused(shop: Shop) -> None:
    status, message = refusal(shop, shop.link(), wallet=TRON_WALLET)
    assert (status, message) == (400, "wallet is not an address of sepolia, on which this is paid")
    assert shop.get(f"/v2/secure-payments/{shop.link()}?wallet={TRON_WALLET}").status == 400


# --- what the transactions do ---


def test_every_transaction_is_explained_from_its_bytes(shop: Shop) -> None:
    token = shop.link(item(), **FEE)
    grant, payment = pay(shop, token, wallet=WALLET)["metadata"]["explanation"]
    assert (grant["contract"], grant["function"]) == ("fUSDC", "approve")
    assert "12.625 fUSDC" in grant["summary"]
    assert payment["function"] == "transferFromWithReferenceAndFee"
    event = payment["expectedEvent"]
    assert (event["payee"], event["amount"], event["feeAmount"], event["feeAddress"]) == (
        PAYEE,
        "12500000",
        "125000",
        FEE_ADDRESS,
    )
    stored_link = link_reading.load(running(), token)
    assert stored_link is not None
    assert event["paymentReference"] == stored_link.requests[0].payment_reference


def test_a_batch_is_explained_payment_by_payment(shop: Shop) -> None:
    *_, payment = pay(shop, shop.link(item(), FUSDT, NATIVE))["metadata"]["explanation"]
    assert [call["expectedEvent"]["amount"] for call in payment["calls"]] == ["12500000", "3000000", "500000000000000000"]


def test_a_simulation_is_run_when_it_is_asked_for(shop: Shop, node: Node) -> None:
    token = shop.link()
    assert "simulation" not in pay(shop, token, wallet=WALLET)["metadata"]
    simulation = pay(shop, token, wallet=WALLET, simulate="true")["metadata"]["simulation"]
    assert (simulation["method"], simulation["success"]) == ("eth_simulateV1", True)
    assert [step["index"] for step in simulation["steps"]] == [0, 1]
    assert "eth_simulateV1" in node.asked


def test_a_batch_that_one_payee_makes_fail_says_which_one(shop: Shop, node: Node) -> None:
    blocked = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    node.blocked.add(blocked[2:].lower())
    token = shop.link(item(), item(amount="3", payee=blocked), FUSDT)
    simulation = pay(shop, token, wallet=WALLET, simulate="true")["metadata"]["simulation"]
    assert simulation["success"] is False
    assert simulation["steps"][-1]["revertReason"] == f"blocked; fUSDC cannot be sent to {blocked}"
    assert [step["success"] for step in simulation["steps"]] == [True, True, False]


def test_a_batch_from_a_smart_account_says_which_one_by_the_wallet_that_funds_it(shop: Shop, node: Node) -> None:
    node.blocked.add(PAYEE[2:].lower())
    node.holder = EOA.lower()
    token = shop.link(item(), item(amount="3", payee=FEE_ADDRESS))
    simulation = pay(shop, token, wallet=WALLET, eoaWallet=EOA, simulate="true")["metadata"]["simulation"]
    assert simulation["steps"][-1]["revertReason"] == f"blocked; fUSDC cannot be sent to {PAYEE}"


@pytest.mark.parametrize("count", [2, 100])
def test_a_batch_says_which_one_where_the_node_runs_one_transaction_at_a_time(
    shop: Shop, node: Node, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(running().chains.evm("sepolia")._simulator, "_has_simulate", False)
    blocked = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    node.blocked.add(blocked[2:].lower())
    node.allowance = 10**18
    others = [item(amount="1", payee=evm_wallet(f"payee {number}").address) for number in range(1, count)]
    simulation = pay(shop, shop.link(item(payee=blocked), *others), wallet=WALLET, simulate="true")["metadata"]["simulation"]
    named = f"; fUSDC cannot be sent to {blocked}" if count == 2 else ""
    assert (simulation["method"], simulation["steps"][0]["revertReason"]) == ("eth_call", f"blocked{named}")


def test_a_batch_names_no_payee_where_the_wallet_can_send_nothing(shop: Shop, node: Node) -> None:
    token = shop.link(item(), item(amount="3", payee=EOA))
    node.blocked |= {PAYEE[2:].lower(), EOA[2:].lower()}
    simulation = pay(shop, token, wallet=WALLET, simulate="true")["metadata"]["simulation"]
    names = f"fUSDC cannot be sent to {PAYEE}; fUSDC cannot be sent to {EOA}"
    assert simulation["steps"][-1]["revertReason"] == f"blocked; {names}"
    node.blocked.add(WALLET[2:].lower())
    simulation = pay(shop, token, wallet=WALLET, simulate="true")["metadata"]["simulation"]
    assert simulation["steps"][-1]["revertReason"] == "blocked"


def test_a_batch_that_waits_for_its_approval_says_which_payee_the_token_refuses_in_place_of_why_it_failed(
    shop: Shop, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running().chains.evm("sepolia")._simulator, "_has_simulate", False)
    blocked = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    node.blocked.add(blocked[2:].lower())
    token = shop.link(item(), item(amount="3", payee=blocked))
    last = pay(shop, token, wallet=WALLET, simulate="true")["metadata"]["simulation"]["steps"][-1]
    assert (last["success"], last["revertReason"]) == (False, f"fUSDC cannot be sent to {blocked}")


def test_a_batch_that_succeeds_is_not_run_again_for_each_payee(
    shop: Shop, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = running().chains.evm("sepolia")
    monkeypatch.setattr(chain._simulator, "_has_simulate", False)
    node.allowance = 10**18
    token = shop.link(item(), item(amount="3", payee=EOA))
    asked = list[str]()
    monkeypatch.setattr(chain, "which_revert", lambda sender, calls: asked.append(sender) or [False] * len(calls))
    simulation = pay(shop, token, wallet=WALLET, simulate="true")["metadata"]["simulation"]
    assert (simulation["method"], simulation["success"], asked) == ("eth_call", True, [])


def test_a_payment_to_one_payee_is_simulated_once(shop: Shop, node: Node) -> None:
    node.blocked.add(PAYEE[2:].lower())
    simulation = pay(shop, shop.link(), wallet=WALLET, simulate="true")["metadata"]["simulation"]
    assert simulation["steps"][-1]["revertReason"] == "blocked"
    assert node.asked.count("eth_simulateV1") == 1


def test_a_simulation_begins_with_the_approvals_of_the_funding_wallet(shop: Shop) -> None:
    simulation = pay(shop, shop.link(), wallet=WALLET, eoaWallet=EOA, simulate="true")["metadata"]["simulation"]
    assert len(simulation["steps"]) == 4


def test_a_simulation_needs_a_wallet(shop: Shop) -> None:
    status, message = refusal(shop, shop.link(), simulate="true")
    assert (status, "wallet is needed with simulate" in message) == (400, True)


# --- fees ---


def test_the_fee_plan_agrees_with_what_the_payer_is_debited(shop: Shop) -> None:
    token = shop.link(item(), **FEE)
    plan = shop.get(f"/v2/secure-payments/{token}").json["feePlan"]
    assert (plan["grossAmountUsd"], plan["payerTotalAmountUsd"]) == ("12.5", "12.625")
    assert pay(shop, token, wallet=WALLET)["metadata"]["requiredAmount"] == plan["payerTotalAmountUsd"]
    stored_link = link_reading.load(running(), token)
    assert stored_link is not None and plan_of(stored_link) is not None


def test_reading_and_quoting_write_nothing(shop: Shop) -> None:
    token = shop.link(item(), FUSDT)
    before = stored()
    pay(shop, token, wallet=WALLET, eoaWallet=EOA, simulate="true")
    assert stored() == before
