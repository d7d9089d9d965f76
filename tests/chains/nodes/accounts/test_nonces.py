"""Another transaction with a nonce of the account: found in whole blocks, and verified by its own signature."""

from typing import Any

import pytest
from eth_account import Account
from hexbytes import HexBytes

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.accounts.nonces import read_used_nonces
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.readings import UsedNonce
from tests.chains.nodes.accounts.test_relaying import METHOD_UNKNOWN, node_of

KEY, OTHER_KEY, SEPOLIA = "0x" + "4c" * 32, "0x" + "4d" * 32, 11155111
ACCOUNT = Account.from_key(KEY).address
TO, DATA, PLACE = "0x" + "22" * 20, "0x" + "ab" * 90, "0x" + "33" * 20
FEES = {"maxFeePerGas": 3 * 10**9, "maxPriorityFeePerGas": 10**9}
FORMS: dict[str, dict[str, Any]] = {
    "legacy": {"gasPrice": 10**9},
    "access list": {
        "type": 1,
        "gasPrice": 10**9,
        "accessList": [{"address": PLACE, "storageKeys": ["0x" + "07" * 32]}],
    },
    "fee market": {"type": 2, **FEES},
}


def signed(key: str = KEY, block: int = 7, **changes: Any) -> dict[str, Any]:
    """A transaction in a block, as eth_account signs it and nodes show it."""
    fields: dict[str, Any] = {"nonce": 5, "gas": 90_000, "to": TO, "value": 10, "data": DATA, "chainId": SEPOLIA}
    fields |= FEES if "gasPrice" not in changes else {}
    fields |= changes
    made = Account.sign_transaction({name: each for name, each in fields.items() if each is not None}, key)
    shown = {name: hex(fields[name]) for name in ("nonce", "gas", "value")}
    shown |= {name: hex(fields[name]) for name in (*FEES, "gasPrice") if name in fields}
    return {
        **shown,
        "type": hex(HexBytes(made.raw_transaction)[0] if HexBytes(made.raw_transaction)[0] < 3 else 0),
        "from": Account.from_key(key).address.lower(),
        "to": fields["to"],
        "input": fields["data"],
        "accessList": fields.get("accessList", []),
        "hash": "0x" + bytes(made.hash).hex(),
        "blockNumber": hex(block),
        **{name: hex(getattr(made, name)) for name in ("v", "r", "s")},
    }


def found(
    *transactions: dict[str, Any], by_nonce: Any = METHOD_UNKNOWN, sender: str = ACCOUNT
) -> tuple[UsedNonce, ...]:
    """What is found in block 7, which has the transactions."""

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        if call["method"] != "eth_getBlockByNumber":
            return dict(by_nonce)
        number = int(call["params"][0], 16)
        assert call["params"][1] is True
        return {"result": {"number": hex(number), "transactions": list(transactions) if number == 7 else []}}

    node, http = node_of(answer)
    used = read_used_nonces(node, sender, [5], BlockRange(6, 8))
    assert http.requests == 1
    return used


@pytest.mark.parametrize("form", FORMS)
def test_a_transaction_of_each_form_is_verified_by_its_signature(form: str) -> None:
    made = signed(**FORMS[form])
    assert found(signed(OTHER_KEY), made) == (UsedNonce(5, made["hash"], 7),)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["nonce", "gas", "value", "to", "input", "hash", "r", "s"])
def test_one_that_is_changed_in_any_field_is_none(form: str, field: str) -> None:
    made = signed(**FORMS[form])
    changed = {"to": PLACE, "input": "0x", "hash": "0x" + "12" * 32}.get(field) or hex(int(made[field], 16) + 1)
    assert found(made | {field: changed}) == ()


@pytest.mark.parametrize("form", FORMS)
def test_what_the_account_has_signed_for_another_chain_is_none(form: str) -> None:
    assert found(signed(**FORMS[form], chainId=8453)) == ()


def test_what_somebody_else_has_signed_and_a_node_calls_the_accounts_is_none() -> None:
    assert found(signed(OTHER_KEY) | {"from": ACCOUNT}) == ()


def test_a_form_that_is_not_known_proves_nothing() -> None:
    assert found(signed() | {"type": "0x4"}) == ()


def test_a_contract_that_the_account_creates_uses_its_nonce_too() -> None:
    for form in FORMS.values():
        made = signed(**form, to="") | {"to": None}
        assert found(made) == (UsedNonce(5, made["hash"], 7),)


def test_a_node_that_finds_it_by_its_nonce_needs_no_block() -> None:
    made = signed(block=3)
    assert found(by_nonce={"result": made}) == (UsedNonce(5, made["hash"], 3),)
    assert found(by_nonce={"result": made | {"blockNumber": None}}) == (), "it is in no block"
    assert found(by_nonce={"result": None}) == ()


def test_a_block_that_the_node_does_not_return_is_no_answer() -> None:
    node, _ = node_of(lambda call: {"result": None})
    with pytest.raises(ChainUnavailable):
        read_used_nonces(node, ACCOUNT, [], BlockRange(6, 6))
