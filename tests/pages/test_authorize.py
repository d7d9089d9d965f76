"""What the page's authorize.js accepts of what a payer of a commerce payment signs, and a table of what it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from chalicelib.base.addresses import ZERO_ADDRESS
from chalicelib.calldata.erc20 import approve
from chalicelib.calldata.escrow.calls import pre_approve
from chalicelib.calldata.escrow.payment_info import PaymentInfo
from chalicelib.calldata.explanations.functions import FUNCTIONS
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.data import load
from chalicelib.catalogue.escrows import EscrowContracts, escrow_contracts, escrow_networks
from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "authorize_driver.js")
CONTRACTS = cast(EscrowContracts, escrow_contracts("base", {}))
OPERATOR, PAYER, PAYEE, TOKEN, STRANGER = ("0x" + digit * 40 for digit in "12345")
NOW, SALT = 1_800_000_000, 2**256 - 1
INFO = PaymentInfo(
    OPERATOR, PAYER, PAYEE, TOKEN, 100_000_000, NOW + 60, NOW + 120, NOW + 180, 0, 250, ZERO_ADDRESS, SALT
)
TERMS = {
    "network": "base", "escrow": CONTRACTS.escrow, "payer": PAYER, "payee": PAYEE, "token": TOKEN, "most": "100000000",
    "operator": OPERATOR, "expiries": [str(NOW + 60), str(NOW + 120), str(NOW + 180)], "fees": ["0", "250"],
    "feeReceiver": None, "salt": str(SALT), "now": str(NOW),
}  # fmt: skip
ALLOWANCE, PRE_APPROVAL = pre_approve(INFO, CONTRACTS)
RESET = approve(TOKEN, CONTRACTS.pre_approval, 0)
Json = dict[str, Any]


def question(*transactions: Transaction, **terms: Any) -> Json:
    sent = [{"to": each.to, "data": each.data, "value": hex(each.value)} for each in transactions]
    return {"terms": TERMS | terms, "transactions": sent}


def ask(*questions: Json) -> list[Json]:
    answers: list[Json] = run(DRIVER, questions)["answers"]
    return answers


def changed(**members: Any) -> Transaction:
    return pre_approve(replace(INFO, **members), CONTRACTS)[1]


def test_the_escrows_of_the_page_are_those_of_the_catalogue() -> None:
    catalogued = {name: cast(EscrowContracts, escrow_contracts(name, {})) for name in escrow_networks({})}
    assert run(DRIVER, [])["escrows"] == {name: [each.escrow, each.pre_approval] for name, each in catalogued.items()}


def test_what_the_service_builds_of_the_terms_shown_is_accepted() -> None:
    for transactions in ((ALLOWANCE, PRE_APPROVAL), (RESET, ALLOWANCE, PRE_APPROVAL), (PRE_APPROVAL,)):
        [answer] = ask(question(*transactions))
        assert answer["ok"]
        assert [each["transaction"]["data"] for each in answer["steps"]] == [each.data for each in transactions]
        for step, sent in zip(answer["steps"], transactions, strict=True):
            function = FUNCTIONS[bytes.fromhex(sent.data[2:10])]
            assert step["call"] == ".".join(filter(None, (function.contract, function.name)))


def test_a_network_whose_escrow_a_deployment_sets_is_accepted_with_that_one() -> None:
    own = load("contracts")["AuthCaptureEscrow"]["sepolia"]
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
def told() -> dict[str, Json]:
    return dict(zip(HOSTILE, ask(*(question(*transactions) for transactions, _ in HOSTILE.values())), strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_anything_else_is_refused(name: str, told: dict[str, Json]) -> None:
    assert (told[name]["ok"], told[name].get("reason")) == (False, HOSTILE[name][1])


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
