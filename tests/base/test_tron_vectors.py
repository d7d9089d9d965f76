"""Every Tron vector of the folder TRON_VECTORS: addresses, messages, typed data, references, calls."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.addresses import address_bytes, evm_address, tron_address, tron_address_of, tron_to_evm
from chalicelib.base.errors import BadRequest
from chalicelib.base.signatures import (
    digest_of_typed_data,
    personal_digest,
    recover_digest,
    recover_tron,
    signature_bytes,
    tron_digest,
)
from chalicelib.chains.calldata.batch import BatchItem, pay_tron_batch
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.payments.requests.references import payment_reference
from tests.oracles.node import run

from .tron_vector_files import OWN, Vector, find, folder

COVERED, _ = find(folder())
OWN_VECTORS, _ = find(OWN)


def check_address(vector: Vector) -> None:
    entry = vector.entry
    if not entry.get("valid", True):
        with pytest.raises(BadRequest):
            tron_address(entry["base58"])
        return
    assert tron_to_evm(entry["base58"]) == entry["evm"]
    assert "41" + tron_to_evm(entry["base58"])[2:] == entry["hex41"].removeprefix("0x").lower()
    assert tron_address_of(address_bytes(entry["evm"])) == entry["base58"]
    assert evm_address(entry["evm"]) == entry.get("evmChecksum", evm_address(entry["evm"]))


def check_message(vector: Vector) -> None:
    entry = vector.entry
    assert "0x" + tron_digest(entry["message"]).hex() == entry["hash"]
    assert recover_tron(entry["message"], signature_bytes(entry["signature"])) == entry["owner"]
    if "ethPersonalHash" in entry:
        assert "0x" + personal_digest(entry["message"]).hex() == entry["ethPersonalHash"]


def check_typed_data(vector: Vector) -> None:
    entry = vector.entry
    typed = {**entry, "message": entry.get("message", entry.get("value"))}
    typed.setdefault("primaryType", primary_type(entry["types"]))
    digest = digest_of_typed_data(typed)
    assert "0x" + digest.hex() == entry["hash"]
    signer = recover_digest(digest, signature_bytes(entry["signature"]))
    assert signer is not None
    owners = {entry["owner"]} if "owner" in entry else vector.owners
    assert not owners or tron_address_of(address_bytes(signer)) in owners


def primary_type(types: dict[str, Any]) -> str:
    """The type that no other type has as a member."""
    members = {field["type"].split("[")[0] for fields in types.values() for field in fields}
    (primary,) = set(types) - members
    return str(primary)


def check_legacy(vector: Vector) -> None:
    """A v1 signature is well formed, and belongs to a stranger."""
    stranger = recover_tron(vector.entry["messageHex"], signature_bytes(vector.entry["signature"]))
    assert stranger is not None
    assert stranger not in vector.owners | {vector.entry.get("owner")}


def check_request(vector: Vector) -> None:
    entry = vector.entry
    references = [payment_reference(entry["requestId"], entry["salt"], payee) for payee in entry["payees"]]
    assert ["0x" + reference.hex() for reference in references] == entry["paymentReferences"]


def check_networks(vector: Vector) -> None:
    mainnet, ours = vector.entry["mainnet"], find_network("tron")
    assert ours
    assert (ours.chain_id, hex(ours.chain_id)) == (mainnet["chainId"], mainnet["hex"])


def check_trigger(vector: Vector) -> None:
    entry = vector.entry
    function, values = entry["functionSelector"].partition("(")[0], [each["value"] for each in entry["parameters"]]
    built = TRIGGERS[function](entry["contract"], *values)
    assert (built.to, built.data, built.value) == (entry["contract"], entry["data"], 0)


def trigger_approve(token: str, spender: str, amount: str) -> Transaction:
    return approve(token, spender, int(amount))


def trigger_payment(
    _proxy: str, token: str, payee: str, amount: str, reference: str, fee: str, collector: str
) -> Transaction:
    return pay_erc20(
        "tron",
        token=token,
        payee=payee,
        amount=int(amount),
        reference=bytes.fromhex(reference[2:]),
        fee_amount=int(fee),
        fee_address=collector,
    )


def trigger_batch(_batch: str, token: str, *columns_and_collector: Any) -> Transaction:
    *columns, collector = columns_and_collector
    items = [
        BatchItem(token, payee, int(amount), bytes.fromhex(reference[2:]), int(fee))
        for payee, amount, reference, fee in zip(*columns, strict=True)
    ]
    return pay_tron_batch("tron", items, collector)


TRIGGERS: dict[str, Callable[..., Transaction]] = {
    "approve": trigger_approve,
    "transferFromWithReferenceAndFee": trigger_payment,
    "batchERC20PaymentsWithReference": trigger_batch,
}

CHECKS: dict[str, Callable[[Vector], None]] = {
    "addresses": check_address,
    "messages": check_message,
    "typedData": check_typed_data,
    "legacyV1": check_legacy,
    "request": check_request,
    "networks": check_networks,
    "triggers": check_trigger,
}


@pytest.mark.parametrize("vector", COVERED, ids=str)
def test_a_vector_holds(vector: Vector) -> None:
    CHECKS[vector.family](vector)


def test_the_folder_holds_vectors_that_are_checked() -> None:
    assert COVERED, f"{folder()} holds no vector that this code covers"


def test_our_own_vectors_are_what_tronweb_makes() -> None:
    assert run("tron_vectors.js") == json.loads((OWN / "signatures.json").read_text())


def test_a_vector_that_differs_in_one_place_fails() -> None:
    message = next(vector for vector in OWN_VECTORS if vector.family == "messages")
    typed = next(vector for vector in OWN_VECTORS if vector.family == "typedData")
    trigger = next(vector for vector in OWN_VECTORS if vector.family == "triggers" and vector.name == "pay a batch")
    changes = [
        (message, {"message": "hullo"}),
        (message, {"signature": typed.entry["signature"]}),
        (message, {"owner": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"}),
        (typed, {"domain": {**typed.entry["domain"], "chainId": 1}}),
        (typed, {"value": {**typed.entry["value"], "action": "remove"}}),
        (typed, {"signature": message.entry["signature"]}),
        (trigger, {"data": trigger.entry["data"][:-1] + "f"}),
        (trigger, {"contract": "TCUDPYnS9dH3WvFEaE7wN7vnDa51J4R4fd"}),
    ]
    for vector, change in changes:
        with pytest.raises(AssertionError):
            CHECKS[vector.family](replace(vector, entry={**vector.entry, **change}))


def test_other_families_are_named_and_never_checked(tmp_path: Path) -> None:
    content = json.loads((OWN / "signatures.json").read_text())
    content["triggers"] += [{"id": "mint", "data": "0x"}, {"data": "0x"}]
    (tmp_path / "some.json").write_text(json.dumps(content))
    (tmp_path / "other.json").write_text("[]")
    covered, left = find(tmp_path)
    assert len(covered) == len([vector for vector in OWN_VECTORS if vector.file == "signatures.json"])
    assert left == ["other.json (another format)", "some.json:triggers:mint", "some.json:triggers:5"]
