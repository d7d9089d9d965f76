"""Every vector of the folder VECTORS, rebuilt from its inputs and compared to the byte."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eth_account.messages import encode_typed_data

from chalicelib.base.addresses import same_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata.batch import BatchItem, pay_batch
from chalicelib.chains.calldata.conversions.proxy import (
    Conversion,
    ConvertedPayment,
    pay_erc20_converted,
    pay_native_converted,
)
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import MEMBERS, PaymentInfo
from chalicelib.chains.calldata.escrow.signatures import permit2_typed_data
from chalicelib.chains.calldata.fee_proxy import pay_erc20, pay_native
from chalicelib.chains.calldata.recurring import PERMIT_MEMBERS, SchedulePermit, typed_data
from chalicelib.chains.calldata.recurring import digest as permit_digest
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, bundle, safe_tx_hash
from chalicelib.chains.catalogue.conversions import conversion_path, currency_with_hash, on_chain_units
from chalicelib.chains.catalogue.networks import find_network, network_of_chain
from chalicelib.chains.catalogue.tokens import currency_hash, token_with_id
from chalicelib.payments.requests.references import payment_reference, reference_topic

from .calls import INFO, escrow_of, unbundled
from .vector_files import OWN, Vector, find, folder

FOUND = find(folder())
AN_OWN_PAYMENT = next(vector for vector in find(OWN).covered if vector.kind == "calldata")


def whole(value: Any) -> int:
    text = str(value)
    return int(text, 16) if text.startswith("0x") else int(text)


def build(inputs: dict[str, Any], selector: str) -> Transaction:
    if selector == "0x095ea7b3":
        return approve(inputs["token"], inputs["spender"], whole(inputs["amount"]))
    chain = find_network(inputs["network"])
    assert chain is not None
    if "args" in inputs:
        return escrow_call(chain.name, selector, *inputs["args"])
    if "requests" in inputs:
        return pay_batch(chain.name, [item(chain.name, each) for each in inputs["requests"]], inputs.get("feeAddress"))
    if "path" in inputs:
        pay = pay_erc20_converted if selector == "0x3af2c012" else pay_native_converted
        return pay(chain.name, converted(chain.name, inputs))
    common: dict[str, Any] = {
        "payee": inputs["payee"],
        "amount": whole(inputs["amount"]),
        "reference": reference_of(inputs),
        "fee_amount": whole(inputs.get("feeAmount") or 0),
        "fee_address": inputs.get("feeAddress"),
    }
    if selector == "0xc219a14d":
        return pay_erc20(chain.name, token=inputs["token"], **common)
    return pay_native(chain.name, **common)


def escrow_call(network: str, selector: str, terms: dict[str, Any], *rest: Any) -> Transaction:
    """A call of the commerce escrow; `rest` are its arguments after the terms of the payment."""
    contracts = escrow_of(network)
    info = PaymentInfo(*(terms[name] if kind == "address" else whole(terms[name]) for name, kind in MEMBERS))
    if not rest:
        calls = {
            "0xc6184c2f": lambda *each: escrow_calls.pre_approve(*each)[1],
            "0xfa1cad17": escrow_calls.void,
            "0xe1a2a66d": escrow_calls.reclaim,
        }
        return calls[selector](info, contracts)
    amount = whole(rest[0])
    if selector == "0x644cd79a":
        return escrow_calls.capture(info, contracts, amount, CaptureFee(whole(rest[1]), rest[2]))
    if selector == "0xd458db5a":
        return escrow_calls.refund(info, contracts, amount)
    taken_by = Collection(rest[1], bytes.fromhex(rest[2][2:]))
    if selector == "0x9e65819f":
        return escrow_calls.charge(info, contracts, amount, taken_by, CaptureFee(whole(rest[3]), rest[4]))
    return escrow_calls.authorize(info, contracts, amount, taken_by)


def converted(network: str, inputs: dict[str, Any]) -> ConvertedPayment:
    """Amounts are in minor units of the invoice currency; the path is the one that the catalogue knows."""
    invoice = token_with_id(inputs["invoiceCurrency"])
    payment = currency_with_hash(network, inputs["path"][-1])
    assert invoice is not None and payment is not None
    assert list(conversion_path(invoice, payment) or ()) == [hash.lower() for hash in inputs["path"]]
    return ConvertedPayment(
        payee=inputs["payee"],
        amount=on_chain_units(invoice, whole(inputs["amount"])),
        reference=reference_of(inputs),
        conversion=Conversion(tuple(inputs["path"]), whole(inputs["maxToSpend"]), whole(inputs["maxRateTimespan"])),
        fee_amount=on_chain_units(invoice, whole(inputs.get("feeAmount") or 0)),
        fee_address=inputs.get("feeAddress"),
    )


def item(network: str, request: dict[str, Any]) -> BatchItem:
    if "path" in request:
        payment = converted(network, request)
        amounts = payment.amount, payment.reference, payment.fee_amount
        return BatchItem(request.get("token"), payment.payee, *amounts, conversion=payment.conversion)
    return BatchItem(
        token=request.get("token"),
        payee=request["payee"],
        amount=whole(request["amount"]),
        reference=reference_of(request),
        fee_amount=whole(request.get("feeAmount") or 0),
    )


def build_bundle(entry: dict[str, Any]) -> Transaction:
    """Bundled again from what it holds: the entries it names, where they are at hand."""
    inner = unbundled(entry["data"])
    calls = {vector.name: vector.entry for vector in (*find(OWN).covered, *FOUND.covered) if vector.kind == "calldata"}
    for name, each in zip(entry["inputs"].get("innerIds", ()), inner, strict=True):
        named = calls.get(name, {"to": each.to, "data": each.data, "value": each.value})
        assert (each.to, each.data, each.value) == (named["to"], named["data"].lower(), whole(named["value"]))
    built = bundle("base", inner)  # MultiSendCallOnly is at one address on all networks
    assert built.operation == 1
    return Transaction(built.to, built.data, built.value)


def reference_of(inputs: dict[str, Any]) -> bytes:
    """The reference the entry states; where it says what it comes from, derived and compared."""
    stated = inputs.get("paymentReference")
    if "requestId" in inputs and "salt" in inputs:
        derived = payment_reference(inputs["requestId"], inputs["salt"], inputs["payee"])
        assert stated is None or stated.removeprefix("0x") == derived.hex()
        return derived
    return bytes.fromhex(stated.removeprefix("0x"))


def check_calldata(entry: dict[str, Any]) -> None:
    selector = entry["data"][:10]
    built = build_bundle(entry) if selector == "0x8d80ff0a" else build(entry["inputs"], selector)
    assert built.data == entry["data"].lower()
    assert same_address(built.to, entry["to"])
    assert built.value == whole(entry["value"])


def check_reference(entry: dict[str, Any]) -> None:
    reference = payment_reference(entry["requestId"], entry["salt"], entry["address"])
    assert reference.hex() == entry["paymentReference"].removeprefix("0x")
    if "topic" in entry:
        assert reference_topic(reference) == entry["topic"]


def check_native_hash(entry: dict[str, Any]) -> None:
    assert currency_hash("ETH", entry["symbol"]) == entry["hash"]
    listed = token_with_id(entry["id"])
    assert listed is None or listed.hash == entry["hash"]


def check_safe_hash(entry: dict[str, Any]) -> None:
    domain, message = entry["domain"], entry["message"]
    transaction = SafeTransaction(message["to"], whole(message["value"]), message["data"], whole(message["operation"]))
    terms = SafeTerms(
        nonce=whole(message["nonce"]),
        safe_tx_gas=whole(message["safeTxGas"]),
        base_gas=whole(message["baseGas"]),
        gas_price=whole(message["gasPrice"]),
        gas_token=message["gasToken"],
        refund_receiver=message["refundReceiver"],
    )
    assert safe_tx_hash(whole(domain["chainId"]), domain["verifyingContract"], transaction, terms) == entry["hash"]


def check_permit_hash(entry: dict[str, Any]) -> None:
    chain = network_of_chain(whole(entry["domain"]["chainId"]))
    assert chain
    permit = SchedulePermit(
        *(
            entry["message"][name] if kind in ("address", "bool") else whole(entry["message"][name])
            for name, kind in PERMIT_MEMBERS
        )
    )
    typed = typed_data(permit, chain.name)
    assert (typed["domain"], typed["types"], typed["values"]) == (entry["domain"], entry["types"], entry["message"])
    assert "0x" + permit_digest(permit, chain.name).hex() == entry["hash"]


def check_permit2_hash(entry: dict[str, Any]) -> None:
    """The domain and types are those that we write; eth_account hashes them with the message of the entry."""
    chain = network_of_chain(whole(entry["domain"]["chainId"]))
    assert chain
    ours = permit2_typed_data(INFO, escrow_of(chain.name))
    assert (ours["domain"], ours["types"]) == (entry["domain"], entry["types"])
    assert ours["values"].keys() == entry["message"].keys()
    assert ours["values"]["spender"] == entry["message"]["spender"]
    permitted = {**entry["message"]["permitted"], "amount": whole(entry["message"]["permitted"]["amount"])}
    numbers = {name: whole(entry["message"][name]) for name in ("nonce", "deadline")}
    signable = encode_typed_data(ours["domain"], ours["types"], {**entry["message"], "permitted": permitted, **numbers})
    assert "0x" + keccak256(b"\x19\x01" + signable.header + signable.body).hex() == entry["hash"]


def check_typed_hash(entry: dict[str, Any]) -> None:
    TYPED_CHECKS[entry["primaryType"]](entry)


TYPED_CHECKS = {
    "SafeTx": check_safe_hash,
    "SchedulePermit": check_permit_hash,
    "PermitTransferFrom": check_permit2_hash,
}
CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "calldata": check_calldata,
    "paymentReferences": check_reference,
    "nativeHashes": check_native_hash,
    "typed": check_typed_hash,
}


@pytest.mark.parametrize("vector", FOUND.covered, ids=str)
def test_a_vector_is_rebuilt_to_the_byte(vector: Vector) -> None:
    CHECKS[vector.kind](vector.entry)


def test_the_folder_holds_vectors_that_are_checked() -> None:
    assert FOUND.covered, f"{folder()} holds no vector that this code covers"


def test_entries_are_told_by_what_they_are_and_not_by_their_id(tmp_path: Path) -> None:
    content = json.loads((OWN / "single_payments.json").read_text())
    for position, entry in enumerate(content["calldata"]):
        entry["id"] = f"renamed_{position}"
    (tmp_path / "renamed.json").write_text(json.dumps(content))
    found = find(tmp_path)
    assert len(found.covered) == len(content["calldata"])
    for vector in found.covered:
        CHECKS[vector.kind](vector.entry)


@pytest.mark.parametrize("field", ["data", "to", "value"])
def test_a_vector_that_differs_in_one_place_fails(field: str) -> None:
    entry = dict(AN_OWN_PAYMENT.entry)
    entry[field] = entry[field][:-1] + ("1" if entry[field][-1] != "1" else "2")
    with pytest.raises(AssertionError):
        check_calldata(entry)


def test_families_that_are_not_built_are_listed_and_never_checked(tmp_path: Path) -> None:
    for source in OWN.glob("*.json"):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    (tmp_path / "tokens.json").write_text("[]")
    other = {"calldata": [{"id": "other", "inputs": {"network": "base"}, "data": "0x12345678"}]}
    (tmp_path / "others.json").write_text(json.dumps(other))
    (tmp_path / "broken.json").write_text("{")
    found = find(tmp_path)
    kinds = {vector.entry["data"][:10] for vector in found.covered if vector.kind == "calldata"}
    assert kinds == {
        "0xc219a14d",
        "0xb868980b",
        "0x3af2c012",
        "0xac473c8a",
        "0x095ea7b3",
        "0x9af8a581",
        "0x92cddb91",
        "0x8d80ff0a",
        "0xc6184c2f",
        "0x41d66202",
        "0x644cd79a",
        "0xfa1cad17",
    }
    assert "other" in {vector.name for vector in found.not_covered}
    assert found.other_files == ("broken.json", "tokens.json")
