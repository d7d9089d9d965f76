"""The page's bridge.js: what the service verified is accepted, and a deposit that does anything else is refused."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import (
    Deposit,
    HandlerMessage,
    decode_deposit,
    decode_message,
    encode_deposit,
    encode_message,
)
from chalicelib.chains.calldata.checkout import Due, pay_one
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.bridges import SOURCE_SYMBOLS, source_networks, source_token
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    LIFI_DIAMOND,
    LIFI_RECEIVER,
    address_of,
)
from chalicelib.chains.catalogue.tokens import Token
from chalicelib.platform.outbound.lifi import QuoteCall
from chalicelib.platform.settings import Settings
from tests.fakes.router import deposit_of
from tests.oracles.node import served

DRIVER = str(Path(__file__).parent / "bridge_driver.js")
WALLET, PAYEE, FEES, STRANGER = ("0x" + pair * 20 for pair in ("a1", "b2", "c3", "d4"))
NOW = 1_790_000_000
AMOUNT, FEE = 12_500_000, 125_000

Json = dict[str, Any]
Change = Callable[[Deposit], Deposit]


def named(label: str, symbol: str) -> Token:
    found = source_token(label, symbol)
    assert found is not None
    return found


def question(
    source: tuple[str, str] = ("BASE", "USDC"),
    destination: tuple[str, str] = ("ARBITRUM", "USDC"),
    flips: bool = False,
    amount: int = AMOUNT,
    fee: int = FEE,
    taken: int | None = None,
) -> Json:
    """What the service gives to sign for 12.50 of the destination's token, and what the page would expect."""
    paid, due_in = named(*source), named(*destination)
    unit = 10 ** (due_in.decimals - 6)
    due = Due(due_in, PAYEE, BaseUnits(amount * unit), BaseUnits(fee * unit), FEES, bytes.fromhex("0011223344556677"))
    (call,) = pay_one(due).payments
    wanted = QuoteCall(
        from_chain=paid.chain_id,
        from_token=paid.address,
        from_address=WALLET,
        to_chain=due_in.chain_id,
        to_token=due_in.address,
        to_amount=due.debit,
        target=call.to,
        calldata=call.data,
        gas_limit=200_000,
        fallback=WALLET,
    )
    deposit = deposit_of(wanted, NOW)
    deposit = deposit if taken is None else replace(deposit, input_amount=taken)
    return question_of(deposit, paid, due, list(source), flips)


def question_of(deposit: Deposit, paid: Token, due: Due, source: list[str], flips: bool = False) -> Json:
    spender = address_of(ACROSS_SPOKE_POOL, paid.network)
    approval = approve(paid.address, spender, BaseUnits(deposit.input_amount))
    payment = {"payee": due.payee, "token": due.token.address, "amount": str(due.amount), "fee": str(due.fee)}
    return {
        "expected": {
            "source": source,
            "network": due.token.network,
            "wallet": WALLET,
            "payment": payment | {"feeAddress": due.fee_address, "reference": "0x" + due.reference.hex()},
            "decimals": due.token.decimals,
            "amount": str(deposit.input_amount),
            "deadline": NOW + 3_600,
            "now": NOW + 1,
        },
        "transactions": [
            {"to": approval.to, "data": approval.data, "value": "0x0"},
            {"to": spender, "data": encode_deposit(deposit), "value": "0x0"},
        ],
        "flips": flips,
    }


def changed(change: Change, is_shown: bool = False) -> Json:
    """The question with another deposit; `is_shown`: approval and expected amount are those of the changed one."""
    asked = question()
    deposit = decode_deposit(asked["transactions"][1]["data"])
    assert deposit is not None
    other = change(deposit)
    asked["transactions"][1]["data"] = encode_deposit(other)
    if is_shown:
        asked["expected"]["amount"] = str(other.input_amount)
        spender = asked["transactions"][1]["to"]
        token = named("BASE", "USDC").address
        asked["transactions"][0]["data"] = approve(token, spender, BaseUnits(other.input_amount)).data
    return asked


def put(**fields: Any) -> Change:
    return lambda deposit: replace(deposit, **fields)


def with_message(change: Callable[[HandlerMessage], HandlerMessage]) -> Change:
    """Changes the message for the other chain."""

    def apply(deposit: Deposit) -> Deposit:
        message = decode_message(deposit.message)
        assert message is not None
        return replace(deposit, message=encode_message(change(message)))

    return apply


def calls(change: Callable[[list[Any]], Any]) -> Change:
    def apply(message: HandlerMessage) -> HandlerMessage:
        found = list(message.calls)
        change(found)
        return replace(message, calls=tuple(found))

    return with_message(apply)


def ask(*questions: Json) -> list[Json]:
    return list(served(DRIVER, questions)["answers"])


def receivers(name: str) -> list[str]:
    try:
        return [address_of(LIFI_RECEIVER, name)]
    except LookupError:
        return []


def test_the_contracts_and_tokens_are_those_of_the_service() -> None:
    with_message = served(DRIVER)
    assert with_message["bridges"] == {
        each.name: [
            *(each.label, address_of(ACROSS_SPOKE_POOL, each.name), address_of(ACROSS_HANDLER, each.name)),
            *receivers(each.name),
        ]
        for each in source_networks()
    }
    assert {with_message["diamond"]} == {address_of(LIFI_DIAMOND, each.name) for each in source_networks()}
    tokens = {
        each.name: [found.address if (found := source_token(each.label, symbol)) else None for symbol in SOURCE_SYMBOLS]
        for each in source_networks()
    }
    assert dict(with_message["sources"]) == {name: [*addresses, None] for name, addresses in tokens.items()}


def test_only_a_single_payment_in_a_token_of_the_bridge_can_come_from_another_chain() -> None:
    assert served(DRIVER)["bridgeable"] == [True, False, False, False, False]


def test_a_route_between_any_two_chains_in_any_token_is_accepted() -> None:
    ends = [(each.label, symbol) for each in source_networks() for symbol in SOURCE_SYMBOLS]
    ends = [each for each in ends if source_token(*each)]
    answers = ask(*(question(one, other) for one in ends for other in ends if one[0] != other[0]))
    assert len(answers) > 90 and {answer["ok"] for answer in answers} == {True}


def test_the_steps_are_told_with_what_the_bridge_takes() -> None:
    asked = question()
    (answer,) = ask(asked)
    approval, deposit = answer["steps"]
    amount, token = asked["expected"]["amount"], named("BASE", "USDC").address
    assert (approval["kind"], approval["amount"], approval["token"]) == ("approve", amount, token)
    assert approval["spender"] == asked["transactions"][1]["to"]
    assert (deposit["kind"], deposit["amount"], deposit["token"], deposit["payments"]) == ("pay", amount, token, [0])
    assert [step["transaction"] for step in answer["steps"]] == asked["transactions"]
    assert answer["fillBy"] == NOW + 2 * 3600


def test_an_earlier_allowance_may_be_withdrawn_first() -> None:
    asked = question()
    asked["transactions"].insert(0, deepcopy(asked["transactions"][0]))
    asked["transactions"][0]["data"] = asked["transactions"][0]["data"][:74] + "0" * 64
    (answer,) = ask(asked)
    assert [step["kind"] for step in answer["steps"]] == ["reset", "approve", "pay"]


def test_a_byte_turned_over_is_refused_unless_it_is_one_of_the_time_to_fill() -> None:
    """The deadline of the fill is not shown, and only its limits are checked."""
    (answer,) = ask(question(flips=True))
    start = 4 + 9 * 32
    assert answer["ok"] and {tuple(each) for each in answer["accepted"]} <= {(1, start + 30), (1, start + 31)}


TRUE = decode_deposit(question()["transactions"][1]["data"])
assert TRUE is not None
TAKEN = TRUE.input_amount


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put(depositor=STRANGER), "payee"),
        (put(recipient=STRANGER), "contract"),
        (put(input_token=named("BASE", "USDT").address), "token"),
        (put(output_token=named("ARBITRUM", "USDT").address), "token"),
        (put(input_amount=TAKEN - 1), "amount"),
        (put(output_amount=TRUE.output_amount - 1), "amount"),
        (put(output_amount=TRUE.output_amount + 1), "amount"),
        (put(destination_chain_id=10), "bridge"),
        (put(quote_timestamp=NOW + 1), "bridge"),
        (put(fill_deadline=NOW + 60), "bridge"),
        (put(fill_deadline=NOW + 100_000), "bridge"),
        (put(exclusivity=30), "bridge"),
        (put(exclusive_relayer=STRANGER), "bridge"),
        (put(exclusive_relayer=STRANGER, exclusivity=600), "bridge"),
        (put(exclusive_relayer=STRANGER, exclusivity=NOW + 600), "bridge"),
        (with_message(lambda message: replace(message, fallback=STRANGER)), "payee"),
        (calls(lambda found: found.pop(0)), "shape"),
        (calls(lambda found: found.pop()), "shape"),
        (calls(lambda found: found.append(found[1])), "reference"),
        (calls(lambda found: found.reverse()), "shape"),
        (calls(lambda found: found.__setitem__(1, (found[1][0], found[1][1], 1))), "value"),
        (calls(lambda found: found.__setitem__(1, (STRANGER, *found[1][1:]))), "contract"),
        (calls(lambda found: found.__setitem__(0, (found[0][0], found[0][1][:-1] + "f", 0))), "amount"),
        (
            calls(lambda found: found.__setitem__(1, (found[1][0], found[1][1].replace("b2" * 20, "d4" * 20), 0))),
            "payee",
        ),
        (put(message=b""), "shape"),
    ],
)
def test_a_deposit_that_does_something_else_is_refused(change: Change, reason: str) -> None:
    (answer,) = ask(changed(change))
    assert (answer["ok"], answer.get("reason")) == (False, reason)


def test_a_relayer_of_its_own_for_some_seconds_is_accepted() -> None:
    spans = [30, NOW + 30]
    answers = ask(*(changed(put(exclusive_relayer=STRANGER, exclusivity=each)) for each in spans))
    assert [answer["ok"] for answer in answers] == [True, True]


def test_a_route_that_costs_too_much_or_too_little_is_refused_although_it_is_shown() -> None:
    """The most is what the service allows by default."""
    due, defaults = AMOUNT + FEE, {each.name: each.default for each in fields(Settings)}
    bps, dollars = defaults["route_cost_bps"], defaults["route_cost_dollars"]
    most, least = due * (10_000 + bps) // 10_000 + dollars * 10**6, -(-due * 99 // 100)
    amounts = (least, most, least - 1, most + 1, 2**256 - 1)
    answers = ask(*(changed(put(input_amount=each), is_shown=True) for each in amounts))
    assert [answer["ok"] for answer in answers] == [True, True, False, False, False]


def test_a_route_for_a_small_amount_costs_at_most_that_amount_and_two_percent() -> None:
    asked = [question(amount=990_000, fee=10_000, taken=each) for each in (2_020_000, 2_020_001)]
    assert [answer["ok"] for answer in ask(*asked)] == [True, False]


def test_tether_on_ethereum_has_an_allowance_withdrawn_first_which_other_tokens_may_have() -> None:
    """Its contract changes an allowance through zero only, and anybody can leave one at the contract that pays."""

    def kinds(symbol: str, *amounts: int) -> Json:
        asked = question(destination=("ETHEREUM", symbol))
        deposit = decode_deposit(asked["transactions"][1]["data"])
        assert deposit is not None

        def approve_first(found: list[Any]) -> None:
            target = found[-1][0]
            approvals = [approve(deposit.output_token, target, BaseUnits(each)) for each in amounts]
            found[:-1] = [(each.to, each.data, 0) for each in approvals]

        asked["transactions"][1]["data"] = encode_deposit(calls(approve_first)(deposit))
        return asked

    due = AMOUNT + FEE
    answers = ask(kinds("USDT", 0, due), kinds("USDT", due), kinds("USDC", 0, due), kinds("USDC", due))
    assert [answer["ok"] for answer in answers] == [True, False, True, True]
    wrong = ask(kinds("USDT", due, 0), kinds("USDT", 0, 0, due), kinds("USDT", 1, due), kinds("USDT", 0, due, due))
    assert [answer["ok"] for answer in wrong] == [False] * 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda asked: asked["transactions"].pop(0), "amount"),
        (lambda asked: asked["transactions"].pop(), "contract"),
        (lambda asked: asked["transactions"].append(asked["transactions"][0]), "contract"),
        (lambda asked: asked["transactions"].insert(0, asked["transactions"][0]), "amount"),
        (lambda asked: asked["transactions"].clear(), "shape"),
        (lambda asked: asked["transactions"][1].update(value="0x1"), "value"),
        (lambda asked: asked["transactions"][0].update(value="0x1"), "value"),
        (lambda asked: asked["transactions"][1].update(to=STRANGER), "contract"),
        (lambda asked: asked["transactions"][0].update(to=named("BASE", "USDT").address), "token"),
        (lambda asked: asked["transactions"][1].update(data=asked["transactions"][1]["data"] + "00"), "shape"),
        (lambda asked: asked["transactions"][1].update(data=asked["transactions"][0]["data"]), "function"),
        (lambda asked: asked["transactions"][0].update(data=asked["transactions"][1]["data"]), "function"),
        (lambda asked: asked["expected"].update(wallet=STRANGER), "payee"),
        (lambda asked: asked["expected"].update(source=["OPTIMISM", "USDC"]), "contract"),
        (lambda asked: asked["expected"].update(network="base"), "bridge"),
        (lambda asked: asked["expected"].update(deadline=NOW + 3_599), "bridge"),
        (lambda asked: asked["expected"].update(now=NOW + 3_600), "bridge"),
        (lambda asked: asked["expected"].update(now=NOW - 200), "bridge"),
        (lambda asked: asked["expected"]["payment"].update(payee=STRANGER), "payee"),
        (lambda asked: asked["expected"]["payment"].update(reference="0x" + "ab" * 8), "reference"),
        (lambda asked: asked["expected"]["payment"].update(feeAddress=STRANGER), "fee"),
        (lambda asked: asked["expected"]["payment"].update(conversion={"from": STRANGER}), "rate"),
    ],
)
def test_what_is_not_shown_is_refused(change: Callable[[Json], Any], reason: str) -> None:
    asked = question()
    change(asked)
    (answer,) = ask(asked)
    assert (answer["ok"], answer.get("reason")) == (False, reason)


def test_the_approval_goes_to_the_bridge_alone() -> None:
    asked = question()
    asked["transactions"][0]["data"] = approve(named("BASE", "USDC").address, STRANGER, BaseUnits(TAKEN)).data
    assert ask(asked)[0]["reason"] == "contract"
