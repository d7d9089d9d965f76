"""The account of gasless payments: it delegates by one transaction, and has one transaction in flight."""

from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from hexbytes import HexBytes

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import DELEGATE, address_of
from chalicelib.chains.nodes.readings import AccountReading, StepResult
from chalicelib.relayer.keys.secret import SecretSigner
from chalicelib.relayer.records import RelayedTransaction, RelayerAccount, Role
from chalicelib.relayer.reservations import IN_FLIGHT, Limits, Reservation, reserve
from chalicelib.relayer.rules import Budget, Call, SubmissionStatus
from chalicelib.relayer.transactions import authorization_digest, sign

KEY = bytes.fromhex("22" * 32)
SENDER = SecretSigner(KEY).address
SIMPLE = address_of(DELEGATE, "base")
NOW = datetime(2026, 3, 15, 10, tzinfo=UTC)
OK = StepResult(True, None, 100_000)


def account(next_nonce: int) -> RelayerAccount:
    return RelayerAccount("base", SENDER, next_nonce, "2026-03-15", BaseUnits(0))


def call(key: str, **changes: Any) -> Call:
    return Call(key, "base", SENDER, "0x", account_id="acct", role=Role.GASLESS, **changes)


def reserved(next_nonce: int, mined: int, *calls: Call) -> Reservation:
    reading = AccountReading(head=100, nonce=mined, balance=BaseUnits(10**20), base_fee=BaseUnits(10), tip=BaseUnits(1))
    budget = Budget(10**12, 10**20)
    return reserve(account(next_nonce), [(each, OK) for each in calls], reading, Limits(budget), NOW)


def test_an_authorization_is_hashed_as_eth_account_does() -> None:
    for chain_id in (1, 10, 137, 8453, 42161, 11155111):
        for nonce in (0, 1, 127, 128, 70_000):
            theirs = Account.sign_authorization({"chainId": chain_id, "address": SIMPLE, "nonce": nonce}, KEY)
            assert authorization_digest(chain_id, SIMPLE, nonce) == bytes(theirs.authorization_hash)


def test_an_authorization_for_all_chains_is_refused() -> None:
    with pytest.raises(ValueError, match="one chain"):
        authorization_digest(0, SIMPLE, 1)


def test_a_transaction_that_delegates_has_the_next_nonce_in_its_authorization() -> None:
    (made,) = reserved(5, 5, call("delegate", delegate=SIMPLE)).transactions
    signed = sign(made, SecretSigner(KEY))
    assert Account.recover_transaction(signed.raw) == SENDER
    fields = TypedTransaction.from_bytes(HexBytes(signed.raw)).as_dict()
    (authorization,) = fields["authorizationList"]
    assert (fields["type"], fields["nonce"], int(authorization["nonce"])) == (4, 5, 6)
    assert int(authorization["chainId"]) == 8453
    theirs = Account.sign_authorization({"chainId": 8453, "address": SIMPLE, "nonce": 6}, KEY)
    ours = tuple(int(authorization[name]) for name in ("yParity", "r", "s"))
    assert ours == (theirs.y_parity, theirs.r, theirs.s)


def test_delegating_takes_two_nonces_and_another_call_one() -> None:
    assert reserved(5, 5, call("delegate", delegate=SIMPLE)).account.next_nonce == 7
    assert reserved(7, 7, call("batch")).account.next_nonce == 8


def test_the_second_call_waits_until_the_first_is_in_a_block() -> None:
    made = reserved(5, 5, call("one"), call("two"))
    assert [each.status for each in made.submissions] == [SubmissionStatus.ACCEPTED, SubmissionStatus.WAITING]
    (waiting,) = reserved(6, 5, call("two")).submissions
    assert (waiting.status, waiting.reason) == (SubmissionStatus.WAITING, IN_FLIGHT)
    (accepted,) = reserved(6, 6, call("two")).submissions
    assert accepted.status is SubmissionStatus.ACCEPTED


def test_a_transaction_without_a_delegate_is_signed_as_before() -> None:
    made = RelayedTransaction(
        "base", SENDER, 1, "k", SENDER, "0x", BaseUnits(0), 21_000, BaseUnits(10), BaseUnits(1), NOW
    )
    assert sign(made, SecretSigner(KEY)).raw.startswith("0x02")
