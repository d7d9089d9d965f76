"""The page's deposits.js: calls of LI.FI's diamond are accepted as the service accepts them, and as nothing else."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.bridges import source_networks
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, LIFI_DIAMOND, address_of
from chalicelib.crosschain.service.router.rules import Wanted
from chalicelib.crosschain.service.router.verification import RouteRefused, verify
from chalicelib.platform.outbound.lifi import step_of
from tests.crosschain.service.router.diamond import ONE, Call, answer, data, true_call
from tests.crosschain.service.router.routes import FEE_ADDRESS, PAYEE, PAYER, REFERENCE, STRANGER, question, wanted
from tests.crosschain.service.router.test_diamond import ASKED, FEES, LIMITS, MUTATIONS, NOW, OF_FEES, PAYMENT
from tests.fakes.world import START
from tests.pages.test_bridge import ask

Json = dict[str, Any]
DIAMOND = address_of(LIFI_DIAMOND, "base")
FORMS = {"plain": (), "fees": FEES}


def shown(call: Call, payment: Wanted = PAYMENT, raw: str = "") -> Json:
    """What the page is given to check: the approval and the total are those of this very call."""
    token = payment.destination
    fee = payment.amount // 101  # of 1 %
    source = next(each.label for each in source_networks() if each.name == payment.source.network)
    approval = approve(payment.source.address, DIAMOND, BaseUnits(call.taken))
    due = {"payee": PAYEE, "token": token.address, "amount": str(payment.amount - fee), "fee": str(fee)}
    return {
        "expected": {
            "source": [source, payment.source.symbol],
            "network": token.network,
            "wallet": PAYER,
            "payment": due | {"feeAddress": FEE_ADDRESS, "reference": "0x" + REFERENCE.hex()},
            "decimals": token.decimals,
            "amount": str(call.taken),
            "deadline": call.deposit.quote_timestamp + 3_600,
            "now": NOW,
        },
        "transactions": [
            {"to": approval.to, "data": approval.data, "value": "0x0"},
            {"to": DIAMOND, "data": raw or data(call), "value": "0x0"},
        ],
    }


@pytest.mark.parametrize("fees", FORMS.values(), ids=FORMS)
def test_a_true_quote_from_any_chain_is_accepted_and_told(fees: Any) -> None:
    labels = [each.label for each in source_networks()]
    pairs = [(one, other) for one in labels for other in ("ARBITRUM", "BASE") if one not in (other, "BNB")]
    if not fees:  # the multiplier of a swap has no room for 12 decimals more
        pairs += [(one, "BNB") for one in labels if one != "BNB"]
    payments = [wanted(*pair) for pair in pairs]
    calls = [true_call(question(each), NOW, fees) for each in payments]
    answers = ask(*(shown(call, payment) for call, payment in zip(calls, payments, strict=True)))
    assert {found["ok"] for found in answers} == {True}
    for found, call in zip(answers, calls, strict=True):
        approval, deposit = found["steps"]
        assert (approval["spender"], approval["amount"], deposit["amount"]) == (DIAMOND, str(call.taken), str(call.taken))
        name = "swapAndStartBridgeTokensViaAcrossV4" if fees else "startBridgeTokensViaAcrossV4"
        assert deposit["call"] == f"LiFiDiamond.{name}"


@pytest.mark.parametrize("name", [*MUTATIONS, *OF_FEES])
def test_no_mutation_of_a_true_quote_is_accepted(name: str) -> None:
    """Even where approval and total that are shown are those of the mutation."""
    random, change = Random(name), MUTATIONS.get(name) or OF_FEES[name]
    forms = [FEES, ()] if name in MUTATIONS else [FEES]
    questions = [shown(change(true_call(ASKED, NOW, fees), random)) for fees in forms for _ in range(10)]
    assert [found["ok"] for found in ask(*questions)] == [False] * len(questions)


def put(asked: Json, index: int, **fields: str) -> None:
    asked["transactions"][index].update(fields)


def allow(asked: Json, spender: str, amount: int) -> None:
    put(asked, 0, data=approve(ASKED.from_token, spender, BaseUnits(amount)).data)


SPOKE, TAKEN = address_of(ACROSS_SPOKE_POOL, "base"), 12_686_600
OTHERS: dict[str, tuple[Callable[[Json], None], str]] = {
    "the approval is for another": (lambda asked: allow(asked, SPOKE, TAKEN), "contract"),
    "the approval is of more": (lambda asked: allow(asked, DIAMOND, 2**256 - 1), "amount"),
    "the approval is of what is deposited alone": (lambda asked: allow(asked, DIAMOND, 12_655_100), "amount"),
    "it is sent to the bridge": (lambda asked: put(asked, 1, to=SPOKE), "function"),
    "it is sent to somebody": (lambda asked: put(asked, 1, to=STRANGER), "contract"),
    "it sends coins": (lambda asked: put(asked, 1, value="0x1"), "value"),
    "it is the function of the bridge": (lambda asked: put(asked, 1, data="0x7b939232"), "function"),
    "bytes follow": (lambda asked: put(asked, 1, data=asked["transactions"][1]["data"] + "00" * 32), "shape"),
    "another total is shown": (lambda asked: asked["expected"].update(amount="12655100"), "amount"),
    "another payee is shown": (lambda asked: asked["expected"]["payment"].update(payee=STRANGER), "payee"),
    "another reference is shown": (lambda asked: asked["expected"]["payment"].update(reference="0x" + "ab" * 8), "reference"),
    "another wallet is connected": (lambda asked: asked["expected"].update(wallet=STRANGER), "payee"),
    "its contract is not known there": (lambda asked: asked["expected"].update(network="optimism"), "contract"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_shown_is_refused(name: str) -> None:
    change, reason = OTHERS[name]
    asked = shown(true_call(ASKED, NOW, FEES))
    change(asked)
    (found,) = ask(asked)
    assert (found["ok"], found.get("reason")) == (False, reason)


def test_what_is_left_over_has_to_be_deposited_for_a_profit_and_less_than_is_due_is_refused() -> None:
    call = true_call(ASKED, NOW)
    arriving = [call.deposit.output_amount + more for more in (1_000, -1, call.deposit.output_amount)]
    questions = [shown(replace(call, deposit=replace(call.deposit, output_amount=each))) for each in arriving]
    questions.append(shown(replace(true_call(ASKED, NOW, FEES), multiplier=ONE * 99 // 100)))
    assert [found["ok"] for found in ask(*questions)] == [True, False, False, False]


def accepted_by_the_service(call: Call, raw: bytes) -> bool:
    answered = answer(call, ASKED)
    answered["transactionRequest"]["data"] = "0x" + raw.hex()
    try:
        verify(step_of(answered), PAYMENT, START, LIMITS)
    except RouteRefused:
        return False
    return True


@pytest.mark.parametrize("fees", FORMS.values(), ids=FORMS)
def test_of_every_byte_that_is_turned_over_the_page_says_what_the_service_says(fees: Any) -> None:
    """But for the time of the quote, which the page holds to the deadline that it shows, and the time to fill, of which
    each checks limits of its own."""
    call = true_call(ASKED, NOW, fees)
    raw = bytes.fromhex(data(call)[2:])
    times = {NOW.to_bytes(32, "big"), call.deposit.fill_deadline.to_bytes(32, "big")}
    of_time = {at for time in times for at in range(raw.index(time), raw.index(time) + 32)}
    here, there = set[int](), set[int]()
    (found,) = ask(shown(call) | {"flips": True})
    here.update(at for index, at in found["accepted"] if index == 1)
    for at in range(len(raw)):
        turned = bytearray(raw)
        turned[at] ^= 1 + (2 + 2 * at) % 255  # as the driver does
        if accepted_by_the_service(call, bytes(turned)):
            there.add(at)
    assert here - of_time == there - of_time
    assert [index for index, _ in found["accepted"]] == [1] * len(found["accepted"])
