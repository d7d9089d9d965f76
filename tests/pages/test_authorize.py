"""What the page's authorize.js accepts of what a payer of a commerce payment signs, to pay it and to take back what is held,
and a table of what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.chains.calldata.escrow.calls import pre_approve, reclaim, void
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo
from chalicelib.chains.calldata.explanations.functions import FUNCTIONS
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import address_of
from chalicelib.chains.catalogue.escrows import EscrowContracts, escrow_contracts, escrow_networks
from tests.oracles.node import served

DRIVER = str(Path(__file__).parent / "authorize_driver.js")
CONTRACTS = cast(EscrowContracts, escrow_contracts("base", {}))
OPERATOR, PAYER, PAYEE, TOKEN, STRANGER = ("0x" + digit * 40 for digit in "12345")
NOW, SALT = 1_800_000_000, 2**256 - 1
INFO = PaymentInfo(
    OPERATOR, PAYER, PAYEE, TOKEN, 100_000_000, NOW + 60, NOW + 120, NOW + 180, 0, 250, ZERO_ADDRESS, SALT
)
TERMS = {
    "network": "base", "escrow": CONTRACTS.escrow, "payer": PAYER, "payee": PAYEE, "token": TOKEN, "most": "100000000",
    "capturable": "40000000",
    "operator": OPERATOR, "expiries": [str(NOW + 60), str(NOW + 120), str(NOW + 180)], "fees": ["0", "250"],
    "feeReceiver": None, "salt": str(SALT), "now": str(NOW),
}  # fmt: skip
ALLOWANCE, PRE_APPROVAL = pre_approve(INFO, CONTRACTS)
RECLAIM, LATE = reclaim(INFO, CONTRACTS), {"now": str(NOW + 120)}
RESET = approve(TOKEN, CONTRACTS.pre_approval, 0)
Json = dict[str, Any]


def question(*transactions: Transaction, **terms: Any) -> Json:
    sent = [{"to": each.to, "data": each.data, "value": hex(each.value)} for each in transactions]
    return {"terms": TERMS | terms, "transactions": sent}


def ask(*questions: Json) -> list[Json]:
    answers: list[Json] = served(DRIVER, questions)["answers"]
    return answers


def question_of_reclaim(*transactions: Transaction, **terms: Any) -> Json:
    return question(*transactions, **LATE | terms) | {"isReclaim": True}


def changed(**members: Any) -> Transaction:
    return pre_approve(replace(INFO, **members), CONTRACTS)[1]


def other_reclaim(**members: Any) -> Transaction:
    return reclaim(replace(INFO, **members), CONTRACTS)


def test_the_escrows_of_the_page_are_those_of_the_catalogue() -> None:
    catalogued = {name: cast(EscrowContracts, escrow_contracts(name, {})) for name in escrow_networks({})}
    assert served(DRIVER)["escrows"] == {name: [each.escrow, each.pre_approval] for name, each in catalogued.items()}


def test_what_the_service_builds_of_the_terms_shown_is_accepted() -> None:
    for transactions in ((ALLOWANCE, PRE_APPROVAL), (RESET, ALLOWANCE, PRE_APPROVAL), (PRE_APPROVAL,)):
        [answer] = ask(question(*transactions))
        assert answer["ok"]
        assert [each["transaction"]["data"] for each in answer["steps"]] == [each.data for each in transactions]
        for step, sent in zip(answer["steps"], transactions, strict=True):
            function = FUNCTIONS[bytes.fromhex(sent.data[2:10])]
            assert step["call"] == ".".join(filter(None, (function.contract, function.name)))


def test_a_network_whose_escrow_a_deployment_sets_is_accepted_with_that_one() -> None:
    own = address_of("AuthCaptureEscrow", "sepolia")
    set_there = {"network": "sepolia", "escrow": own, "escrows": {"sepolia": [own, CONTRACTS.pre_approval]}}
    accepted, unknown, other = ask(
        question(ALLOWANCE, PRE_APPROVAL, **set_there),
        question(ALLOWANCE, PRE_APPROVAL, network="sepolia", escrow=own),
        question(ALLOWANCE, PRE_APPROVAL, **set_there | {"escrows": {"sepolia": [own, STRANGER]}}),
    )
    assert [accepted["ok"], unknown["reason"], other["reason"]] == [True, "contract", "contract"]


HOSTILE = {
    "another merchant": ((ALLOWANCE, changed(receiver=STRANGER)), "payee"),
    "another payer": ((ALLOWANCE, changed(payer=STRANGER)), "terms"),
    "another operator": ((ALLOWANCE, changed(operator=STRANGER)), "terms"),
    "another token": ((ALLOWANCE, changed(token=STRANGER)), "token"),
    "a larger amount": ((ALLOWANCE, changed(max_amount=INFO.max_amount + 1)), "amount"),
    "a later end of paying": ((ALLOWANCE, changed(pre_approval_expiry=NOW + 61)), "terms"),
    "a later capture": ((ALLOWANCE, changed(authorization_expiry=NOW + 121)), "terms"),
    "a later refund": ((ALLOWANCE, changed(refund_expiry=NOW + 181)), "terms"),
    "a larger least fee": ((ALLOWANCE, changed(min_fee_bps=1)), "fee"),
    "a larger most fee": ((ALLOWANCE, changed(max_fee_bps=251)), "fee"),
    "another fee receiver": ((ALLOWANCE, changed(fee_receiver=STRANGER)), "fee"),
    "another salt": ((ALLOWANCE, changed(salt=SALT - 1)), "terms"),
    "another collector": ((ALLOWANCE, replace(PRE_APPROVAL, to=STRANGER)), "contract"),
    "an allowance for a stranger": ((approve(TOKEN, STRANGER, INFO.max_amount), PRE_APPROVAL), "contract"),
    "an allowance for the escrow": ((approve(TOKEN, CONTRACTS.escrow, INFO.max_amount), PRE_APPROVAL), "contract"),
    "an endless allowance": ((approve(TOKEN, CONTRACTS.pre_approval, 2**256 - 1), PRE_APPROVAL), "amount"),
    "an allowance of another token": ((replace(ALLOWANCE, to=STRANGER), PRE_APPROVAL), "token"),
    "a transfer": ((replace(ALLOWANCE, data="0xa9059cbb" + ALLOWANCE.data[10:]), PRE_APPROVAL), "function"),
    "coins": ((ALLOWANCE, replace(PRE_APPROVAL, value=1)), "value"),
    "bytes behind it": ((ALLOWANCE, replace(PRE_APPROVAL, data=PRE_APPROVAL.data + "00")), "shape"),
    "a byte less": ((ALLOWANCE, replace(PRE_APPROVAL, data=PRE_APPROVAL.data[:-2])), "shape"),
    "only the allowance": ((ALLOWANCE,), "shape"),
    "the pre-approval twice": ((PRE_APPROVAL, PRE_APPROVAL), "shape"),
    "the other order": ((PRE_APPROVAL, ALLOWANCE), "shape"),
    "nothing": ((), "shape"),
}


@pytest.fixture(scope="module")
def shown() -> dict[str, Json]:
    return dict(zip(HOSTILE, ask(*(question(*transactions) for transactions, _ in HOSTILE.values())), strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_anything_else_is_refused(name: str, shown: dict[str, Json]) -> None:
    assert (shown[name]["ok"], shown[name].get("reason")) == (False, HOSTILE[name][1])


def test_a_byte_turned_over_anywhere_is_refused() -> None:
    questions = []
    for position, sent in enumerate((ALLOWANCE, PRE_APPROVAL)):
        for at in range(2, len(sent.data), 2):
            byte = int(sent.data[at : at + 2], 16) ^ (1 + at % 255)
            other = replace(sent, data=f"{sent.data[:at]}{byte:02x}{sent.data[at + 2:]}")
            pair = (other, PRE_APPROVAL) if position == 0 else (ALLOWANCE, other)
            questions.append(question(*pair))
    assert {each["ok"] for each in ask(*questions)} == {False} and len(questions) == 68 + 388


def test_terms_that_nobody_should_accept_are_refused() -> None:
    """They are over, on a chain without an escrow, of another escrow than the page's, or the fee is more than all."""
    strange: tuple[Json, ...] = ({"now": str(NOW + 60)}, {"network": "sepolia"}, {"escrow": STRANGER}, {"fees": ["0", "10001"]})
    answers = ask(*(question(ALLOWANCE, PRE_APPROVAL, **terms) for terms in strange))
    assert [each["reason"] for each in answers] == ["terms", "contract", "contract", "fee"]


def test_what_takes_back_exactly_this_payment_is_accepted_from_the_second_on_at_which_the_contract_does() -> None:
    early, answer = ask(question_of_reclaim(RECLAIM, now=str(NOW + 119)), question_of_reclaim(RECLAIM))
    assert (early["ok"], early["reason"], answer["ok"]) == (False, "terms", True)
    [step] = answer["steps"]
    function = FUNCTIONS[bytes.fromhex(RECLAIM.data[2:10])]
    assert step["call"] == f"{function.contract}.{function.name}" and step["amount"] == TERMS["capturable"]
    assert (step["transaction"]["to"], step["transaction"]["data"]) == (RECLAIM.to, RECLAIM.data)


NOT_RECLAIMED = {
    "another merchant": ((other_reclaim(receiver=STRANGER),), "payee"),
    "another payer": ((other_reclaim(payer=STRANGER),), "terms"),
    "another operator": ((other_reclaim(operator=STRANGER),), "terms"),
    "another token": ((other_reclaim(token=STRANGER),), "token"),
    "another amount": ((other_reclaim(max_amount=INFO.max_amount - 1),), "amount"),
    "another end of paying": ((other_reclaim(pre_approval_expiry=NOW + 61),), "terms"),
    "another end of captures": ((other_reclaim(authorization_expiry=NOW + 119),), "terms"),
    "another end of refunds": ((other_reclaim(refund_expiry=NOW + 181),), "terms"),
    "another least fee": ((other_reclaim(min_fee_bps=1),), "fee"),
    "another most fee": ((other_reclaim(max_fee_bps=251),), "fee"),
    "another fee receiver": ((other_reclaim(fee_receiver=STRANGER),), "fee"),
    "another salt": ((other_reclaim(salt=SALT - 1),), "terms"),
    "another contract": ((replace(RECLAIM, to=STRANGER),), "contract"),
    "the collector": ((replace(RECLAIM, to=CONTRACTS.pre_approval),), "contract"),
    "a void": ((void(INFO, CONTRACTS),), "function"),
    "a pre-approval": ((PRE_APPROVAL,), "function"),
    "an allowance": ((ALLOWANCE,), "function"),
    "an allowance before it": ((ALLOWANCE, RECLAIM), "function"),
    "coins": ((replace(RECLAIM, value=1),), "value"),
    "bytes behind it": ((replace(RECLAIM, data=RECLAIM.data + "00"),), "shape"),
    "a byte less": ((replace(RECLAIM, data=RECLAIM.data[:-2]),), "shape"),
    "it twice": ((RECLAIM, RECLAIM), "shape"),
    "nothing": ((), "shape"),
}


def test_nothing_else_than_what_takes_it_back_is_accepted() -> None:
    answers = ask(*(question_of_reclaim(*transactions) for transactions, _ in NOT_RECLAIMED.values()))
    refused = {name: (each["ok"], each.get("reason")) for name, each in zip(NOT_RECLAIMED, answers, strict=True)}
    assert refused == {name: (False, reason) for name, (_, reason) in NOT_RECLAIMED.items()}
    assert not any(each["ok"] for each in ask(question(RECLAIM), question(RECLAIM, **LATE)))


def test_what_takes_it_back_is_refused_with_a_byte_turned_over_anywhere() -> None:
    questions = []
    for at in range(2, len(RECLAIM.data), 2):
        byte = int(RECLAIM.data[at : at + 2], 16) ^ (1 + at % 255)
        questions.append(question_of_reclaim(replace(RECLAIM, data=f"{RECLAIM.data[:at]}{byte:02x}{RECLAIM.data[at + 2:]}")))
    assert {each["ok"] for each in ask(*questions)} == {False} and len(questions) == 388


def test_terms_of_a_reclaim_that_are_not_those_of_the_page_are_refused() -> None:
    strange: tuple[Json, ...] = ({"network": "sepolia"}, {"escrow": STRANGER}, {"payer": STRANGER}, {"payee": STRANGER})
    answers = ask(*(question_of_reclaim(RECLAIM, **terms) for terms in strange))
    assert [each["reason"] for each in answers] == ["contract", "contract", "terms", "payee"]
