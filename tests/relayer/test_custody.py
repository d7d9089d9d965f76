"""What follows once tokens of others were taken, and how their spender is approved."""

from dataclasses import replace

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.relayer import custody
from chalicelib.relayer.custody import Custody, Next
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import CallStatus, RelayedCall
from chalicelib.relayer.rules import Submission, SubmissionStatus
from tests.fakes.escrows import CONTRACTS, OPERATOR, Commerce
from tests.relayer.transactions import NOW, transaction

SPENDER, OWNER = CONTRACTS.operator_refund, "refund/7"
TOKEN, OTHER = "0x" + "AB" * 20, "0x" + "cd" * 20


class Vault:
    """Ten base units in the service's account among 25 that it has, and the calls that are submitted for them."""

    def __init__(self) -> None:
        self.commerce = Commerce()
        self.commerce.balances[OPERATOR.lower()] = 25
        self.custody = Custody(OWNER, "sepolia", OPERATOR, self.commerce.token, BaseUnits(10), approvals=3, spends=2)
        self.submitted: list[tuple[str, Transaction]] = []
        self.status = SubmissionStatus.ACCEPTED

    def approve(self) -> Next:
        return custody.approve(self.commerce.services, self.custody, SPENDER, self._submit)

    def find_next(self) -> Next:
        following, _ = custody.find_next(self.commerce.services, self.custody, "refund/7/take")
        return following

    def call(self, step: str, status: CallStatus, to: str = OTHER) -> None:
        """Has the relayer know what became of a call."""
        key, nonce = f"{OWNER}/{step}", 10 + len(step)
        made = transaction(nonce, call_key=key, sender=OPERATOR, to=to)
        call = RelayedCall(key, "sepolia", OPERATOR, nonce, NOW, status, reason="why")
        self.commerce.services.store.write(call, made)

    def _submit(self, step: str, made: Transaction) -> Submission:
        self.submitted.append((step, made))
        return Submission(f"{OWNER}/{step}", self.status)


@pytest.fixture
def vault() -> Vault:
    return Vault()


@pytest.mark.parametrize(
    ("take", "spend", "to", "expected"),
    [
        (None, None, "", Next.UNDONE),
        (CallStatus.UNKNOWN, None, "", Next.UNDONE),
        (CallStatus.SUCCEEDED, None, "", Next.SUBMIT),
        (CallStatus.REVERTED, None, "", Next.FAIL),
        (CallStatus.SUPERSEDED, None, "", Next.FAIL),
        (None, CallStatus.UNKNOWN, OTHER, Next.WAIT),
        (None, CallStatus.REVERTED, OTHER, Next.SPEND_AGAIN),
        (None, CallStatus.SUPERSEDED, TOKEN, Next.SPEND_AGAIN),
        (None, CallStatus.SUCCEEDED, TOKEN.lower(), Next.RETURNED),
        (None, CallStatus.SUCCEEDED, OTHER, Next.SPENT),
    ],
)
def test_the_next_spend_comes_only_after_the_last_one_never_can_be_executed(
    take: CallStatus | None, spend: CallStatus | None, to: str, expected: Next
) -> None:
    assert custody.after_spend(TOKEN, take, spend, to) is expected


def test_the_last_spend_decides_and_without_one_the_take(vault: Vault) -> None:
    assert vault.find_next() is Next.UNDONE
    vault.call("take", CallStatus.SUCCEEDED)
    assert vault.find_next() is Next.SUBMIT
    vault.call("spend/2", CallStatus.SUCCEEDED, vault.commerce.token)
    assert vault.find_next() is Next.RETURNED
    vault.custody = replace(vault.custody, spends=3)
    assert vault.find_next() is Next.SUBMIT


def test_what_became_of_the_call_that_decides_is_told(vault: Vault) -> None:
    vault.call("take", CallStatus.REVERTED)
    following, known = custody.find_next(vault.commerce.services, vault.custody, "refund/7/take")
    assert (following, known and known.status, known and known.reason) == (Next.FAIL, CallStatus.REVERTED, "why")


def test_all_that_is_in_the_account_is_approved_under_the_key_of_the_last_number(vault: Vault) -> None:
    vault.commerce.allow(OPERATOR, SPENDER, 9)
    assert vault.approve() is Next.WAIT
    assert vault.submitted == [("approve/3", erc20.approve(vault.commerce.token, SPENDER, 25))]


def test_the_tokens_are_approved_also_before_they_are_there(vault: Vault) -> None:
    vault.commerce.balances[OPERATOR.lower()] = 0
    assert vault.approve() is Next.WAIT
    assert vault.submitted == [("approve/3", erc20.approve(vault.commerce.token, SPENDER, 10))]


def test_nothing_is_approved_that_already_is(vault: Vault) -> None:
    vault.commerce.allow(OPERATOR, SPENDER, 10)
    assert (vault.approve(), vault.submitted) == (Next.SUBMIT, [])


def test_a_token_that_refuses_to_change_an_approval_has_it_set_to_zero_before(vault: Vault) -> None:
    vault.status = SubmissionStatus.REFUSED
    assert vault.approve() is Next.WAIT
    token = vault.commerce.token
    assert vault.submitted == [
        ("approve/3", erc20.approve(token, SPENDER, 25)),
        ("approve/3", erc20.approve(token, SPENDER, 0)),
    ]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (CallStatus.UNKNOWN, Next.WAIT),
        (CallStatus.SUCCEEDED, Next.APPROVE_AGAIN),
        (CallStatus.REVERTED, Next.APPROVE_AGAIN),
        (CallStatus.SUPERSEDED, Next.APPROVE_AGAIN),
    ],
)
def test_an_approval_that_does_not_suffice_is_followed_by_another_number_once_it_is_over(
    vault: Vault, status: CallStatus, expected: Next
) -> None:
    vault.call("approve/3", status)
    assert (vault.approve(), vault.submitted) == (expected, [])


def test_the_ledger_has_the_tokens_of_one_owner_in_and_all_of_them_out(vault: Vault) -> None:
    token = vault.commerce.token
    assert vault.custody.move(inward=True) == Move(OWNER, token, BaseUnits(10), True)
    assert vault.custody.move(inward=False) == Move(OWNER, token, BaseUnits(10), False)
