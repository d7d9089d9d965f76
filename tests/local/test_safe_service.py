"""The local Safe Transaction Service: proposed and confirmed by owners, executed, failed or replaced on the chain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account

from chalicelib.chains.calldata.wallets.safe import safe_tx_hash
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.chains.nodes.safes.service import SafeService
from infra.local.chain import Chain
from infra.local.process import StackProblem
from infra.local.safe import EXECUTION_FAILURE, EXECUTION_SUCCESS, Safe, SafeTransaction
from infra.local.safe_service import SafeTransactionService
from tests.support.patience import patience

KEYS = tuple("0x" + byte * 32 for byte in ("a1", "b2", "c3"))
PAYEE = "0x" + "22" * 20
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
TOO_MUCH = {"to": USDC, "data": "0xa9059cbb" + PAYEE[2:].rjust(64, "0") + f"{10**30:064x}"}


@pytest.fixture(scope="module")
def base() -> Iterator[Chain]:
    with Chain.start("base") as chain:
        yield chain


@pytest.fixture
def safe(base: Chain) -> Iterator[Safe]:
    before = base.snapshot()
    safe = Safe.deploy(base, KEYS)
    base.fund(safe.address, 100)
    yield safe
    base.revert(before)


@pytest.fixture
def service(base: Chain) -> Iterator[SafeTransactionService]:
    with SafeTransactionService({"base": base}) as service:
        yield service


def pay(safe: Safe, **more: Any) -> SafeTransaction:
    return safe.transaction({"to": PAYEE, "value": hex(10**18), "data": "0x"}, **more)


def propose(service: SafeTransactionService, safe: Safe, transaction: SafeTransaction, **altered: Any) -> Any:
    url = f"{service.urls['base']}/api/v1/safes/{safe.address}/multisig-transactions/"
    return requests.post(url, json={**safe.proposal(transaction), **altered}, timeout=patience())


def read(service: SafeTransactionService, hash_: str, version: int = 1) -> dict[str, Any]:
    url = f"{service.urls['base']}/api/v{version}/multisig-transactions/{hash_}/"
    answer = requests.get(url, timeout=patience())
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def asked(service: SafeTransactionService, hash_: str) -> Proposal | None:
    """As the product reads it, and holds it against the hash."""
    found = SafeService(service.urls).transaction("base", hash_)
    assert found is None or safe_tx_hash(8453, found.safe, found.transaction, found.terms) == hash_
    return found


def test_the_hash_that_owners_sign_is_the_contracts_own(safe: Safe) -> None:
    transaction = pay(safe, safe_tx_gas=5)
    arguments = transaction.call(b"")[4:]
    # getTransactionHash takes the same as execTransaction, with the nonce in place of the signatures
    call = "0xd8d11f78" + arguments[: 9 * 32].hex() + f"{0:064x}" + arguments[10 * 32 :].hex()
    assert safe.chain.rpc("eth_call", {"to": safe.address, "data": call}, "latest") == safe.hash(transaction)


def test_a_proposed_transaction_is_pending_until_it_is_executed(service: SafeTransactionService, safe: Safe) -> None:
    transaction = pay(safe)
    hash_ = safe.hash(transaction)
    assert asked(service, hash_) is None
    assert propose(service, safe, transaction).status_code == 201
    found = asked(service, hash_)
    assert found and (found.safe, found.terms.nonce) == (safe.address, 0)
    assert read(service, hash_)["isExecuted"] is False
    receipt = safe.execute(transaction)
    assert EXECUTION_SUCCESS in {log["topics"][0] for log in receipt["logs"]}
    after = read(service, hash_)
    assert (after["isExecuted"], after["isSuccessful"]) == (True, True)
    assert after["transactionHash"] == receipt["transactionHash"]
    assert asked(service, hash_) == found
    assert safe.chain.native_balance(PAYEE) == 10**18


def test_owners_confirm_what_another_proposed(service: SafeTransactionService, safe: Safe) -> None:
    transaction = pay(safe)
    propose(service, safe, transaction)
    hash_, second = safe.hash(transaction), Account.from_key(KEYS[1])
    signature = "0x" + bytes(second.unsafe_sign_hash(bytes.fromhex(hash_[2:])).signature).hex()
    url = f"{service.urls['base']}/api/v1/multisig-transactions/{hash_}/confirmations/"
    assert requests.post(url, json={"signature": signature}, timeout=patience()).status_code == 201
    after = read(service, hash_)
    assert [each["owner"] for each in after["confirmations"]] == [Account.from_key(key).address for key in KEYS[:2]]
    assert after["confirmationsRequired"] == 2
    stranger = "0x" + bytes(Account.create().unsafe_sign_hash(bytes.fromhex(hash_[2:])).signature).hex()
    assert requests.post(url, json={"signature": stranger}, timeout=patience()).status_code == 422


def test_a_failing_call_is_an_executed_transaction_without_success(service: SafeTransactionService, safe: Safe) -> None:
    with pytest.raises(StackProblem, match="reverted"):
        safe.execute(safe.transaction(TOO_MUCH))
    failing = safe.transaction(TOO_MUCH, safe_tx_gas=100_000)
    receipt = safe.execute(failing)
    assert (receipt["status"], receipt["logs"][-1]["topics"][0]) == ("0x1", EXECUTION_FAILURE)
    after = read(service, safe.hash(failing))
    assert (after["isExecuted"], after["isSuccessful"]) == (True, False)
    found = asked(service, safe.hash(failing))
    assert found and found.terms.safe_tx_gas == 100_000


def test_a_replaced_transaction_stays_unexecuted_under_a_used_nonce(
    service: SafeTransactionService, safe: Safe
) -> None:
    transaction = pay(safe)
    propose(service, safe, transaction)
    rejection = safe.rejection(transaction.nonce)
    safe.execute(rejection)
    after = read(service, safe.hash(transaction))
    assert (after["nonce"], after["isExecuted"]) == (0, False)
    assert safe.nonce() == 1
    url = f"{service.urls['base']}/api/v1/safes/{safe.address}/"
    assert requests.get(url, timeout=patience()).json()["nonce"] == 1
    listed = requests.get(f"{url}multisig-transactions/?nonce=0", timeout=patience()).json()
    assert {each["safeTxHash"]: each["isExecuted"] for each in listed["results"]} == {
        safe.hash(transaction): False,
        safe.hash(rejection): True,
    }
    assert requests.get(f"{url}multisig-transactions/?nonce=1", timeout=patience()).json()["count"] == 0


def test_what_nobody_proposed_is_found_on_the_chain(service: SafeTransactionService, safe: Safe) -> None:
    safe.execute(pay(safe))
    transaction = pay(safe)
    safe.execute(transaction)
    after = read(service, safe.hash(transaction), version=2)
    assert asked(service, safe.hash(transaction)) is not None
    assert (after["to"], after["value"], after["nonce"]) == (PAYEE, str(10**18), "1")


def test_a_wrong_proposal_is_refused(service: SafeTransactionService, safe: Safe) -> None:
    transaction, stranger = pay(safe), Account.create()
    wrong: list[dict[str, Any]] = [
        {"contractTransactionHash": "0x" + "00" * 32},
        {"value": 2},
        {"sender": stranger.address},
        {"signature": "0x" + "00" * 65},
        {"nonce": "no"},
    ]
    for altered in wrong:
        assert propose(service, safe, transaction, **altered).status_code == 422
    safe.execute(transaction)
    assert propose(service, safe, transaction).status_code == 422
    for no_safe in (PAYEE, USDC):
        assert requests.get(f"{service.urls['base']}/api/v1/safes/{no_safe}/", timeout=patience()).status_code == 404
    assert requests.get(f"{service.urls['base']}/api/v1/about/", timeout=patience()).status_code == 404


def test_proposals_survive_a_restart(base: Chain, safe: Safe, tmp_path: Path) -> None:
    transaction = pay(safe)
    with SafeTransactionService({"base": base}, file=tmp_path / "proposed.jsonl") as first:
        propose(first, safe, transaction)
        before = read(first, safe.hash(transaction))
    with SafeTransactionService({"base": base}, file=tmp_path / "proposed.jsonl") as second:
        assert read(second, safe.hash(transaction)) == before
