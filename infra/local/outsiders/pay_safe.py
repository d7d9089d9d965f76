"""A link paid by a Safe: its owners propose and sign the transaction, announce it, and another account executes it."""

from decimal import Decimal
from typing import Any

import requests
from demo import FEE_PERCENT, Demo, Expected, fee, fresh_address
from eth_abi import encode
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak

NETWORK, CURRENCY, AMOUNT = "base", "USDC-base", "30"
ZERO_ADDRESS = "0x" + "00" * 20
EXEC_TRANSACTION = "6a761202"
TYPES = {
    "to": "address",
    "value": "uint256",
    "data": "bytes",
    "operation": "uint8",
    "safeTxGas": "uint256",
    "baseGas": "uint256",
    "gasPrice": "uint256",
    "gasToken": "address",
    "refundReceiver": "address",
    "nonce": "uint256",
}


def run(demo: Demo) -> None:
    """Raises Failed at the first step that fails."""
    safe, executor, payee, fee_address = demo.stack["safe"], demo.payer(NETWORK), fresh_address(), fresh_address()
    service = f"{demo.stack['safe_service_urls'][NETWORK]}/api/v1"
    currency = demo.currency(CURRENCY, NETWORK)
    expected = [
        Expected("payee", payee, currency, Decimal(AMOUNT)),
        Expected("fee address", fee_address, currency, fee(AMOUNT)),
    ]
    with demo.must_receive(executor.balance, expected):
        item = {"amount": AMOUNT, "payee": payee, "invoiceCurrency": CURRENCY, "paymentCurrency": CURRENCY}
        body = {"requests": [item], "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "reference": "demo"}
        link = demo.create(f"create a link for {AMOUNT} {currency.symbol}", "", body)
        demo.read(link["token"], safe["address"])
        checkout = demo.take_calldata(link["token"], safe["address"], "&isSafe=true")
        with demo.steps.step("owners sign and propose") as result:
            nonce = _get(f"{service}/safes/{safe['address']}/")["nonce"]
            transaction = _transaction(checkout["safeTransaction"], nonce)
            hash_, signatures = _sign_transaction(executor.chain_id(), safe, transaction)
            proposal = {**transaction, "contractTransactionHash": hash_, "sender": safe["owners"][0]["address"]}
            _post(f"{service}/safes/{safe['address']}/multisig-transactions/", proposal)
            result.append(f"{hash_[:18]}... with nonce {nonce}, by {len(signatures)} of {len(safe['owners'])}")
        with demo.steps.step("announce it") as result:
            announced = {
                "safeTxHash": hash_,
                "chain": "BASE",
                "token": currency.symbol,
                "payerAddress": safe["address"],
            }
            result.append(f"200, listening: {demo.shop.announce(link['token'], announced)['isListening']}")
        with demo.steps.step("read the link meanwhile") as result:
            result.append(f"423, {demo.shop.link(link['token'], safe['address'], status=423)['message']}")
        with demo.steps.step("execute it") as result:
            receipt = executor.pay({"to": safe["address"], "data": _execution(transaction, signatures), "value": 0})
            result.append(f"{receipt['transactionHash'][:18]}..., {int(receipt['gasUsed'], 16)} gas")
        demo.await_deliveries(link["requestIds"])
        demo.read_completed(link["token"], safe["address"])


def _transaction(call: dict[str, Any], nonce: int) -> dict[str, Any]:
    """Returns the ten fields that owners sign."""
    gas = {"safeTxGas": 0, "baseGas": 0, "gasPrice": 0, "gasToken": ZERO_ADDRESS, "refundReceiver": ZERO_ADDRESS}
    value = int(call["value"], 0) if isinstance(call["value"], str) else call["value"]
    fields = {"to": call["to"], "value": value, "data": call["data"], "operation": call["operation"]}
    return {**fields, **gas, "nonce": nonce}


def _sign_transaction(chain_id: int, safe: dict[str, Any], transaction: dict[str, Any]) -> tuple[str, list[bytes]]:
    """Returns (safeTxHash, signatures of the first `threshold` owners in the order of their addresses)."""
    domain = {
        "EIP712Domain": [{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}]
    }
    typed = {
        "types": {**domain, "SafeTx": [{"name": name, "type": type_} for name, type_ in TYPES.items()]},
        "primaryType": "SafeTx",
        "domain": {"chainId": chain_id, "verifyingContract": safe["address"]},
        "message": transaction,
    }
    message = encode_typed_data(full_message=typed)
    owners = [Account.from_key(owner["private_key"]) for owner in safe["owners"][: safe["threshold"]]]
    owners.sort(key=lambda owner: int(owner.address, 16))
    signatures = [bytes(owner.sign_message(message).signature) for owner in owners]
    return "0x" + keccak(b"\x19" + message.version + message.header + message.body).hex(), signatures


def _execution(transaction: dict[str, Any], signatures: list[bytes]) -> str:
    """Returns the calldata of execTransaction."""
    *values, _ = transaction.values()
    values[2] = bytes.fromhex(transaction["data"][2:])
    *types, _ = TYPES.values()
    return "0x" + EXEC_TRANSACTION + encode([*types, "bytes"], [*values, b"".join(signatures)]).hex()


def _get(url: str) -> Any:
    response = requests.get(url, timeout=30)
    response.raise_for_status()
    return response.json()


def _post(url: str, body: dict[str, Any]) -> None:
    requests.post(url, json=body, timeout=30).raise_for_status()
