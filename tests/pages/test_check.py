"""The page's check.js against what the service's own encoders write, and against all that is not that."""

import gzip
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eth_abi import decode, encode

from chalicelib.base.addresses import evm_address, tron_address_of
from chalicelib.base.money import BaseUnits
from chalicelib.calldata import checkout as calldata
from chalicelib.calldata.batch import native_hash
from chalicelib.calldata.checkout import Checkout, Due
from chalicelib.calldata.erc20 import approve
from chalicelib.calldata.functions import FUNCTIONS
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.data import load
from chalicelib.catalogue.networks import ALL_NETWORKS
from chalicelib.catalogue.tokens import Token, find_tokens
from tests.oracles.node import run

PAGES = Path(__file__).parents[2] / "chalicelib/pages/payment"
DRIVER = str(Path(__file__).parent / "check_driver.js")
UNLIMITED = 2**256 - 1
EVM_NETWORKS = [chain.name for chain in ALL_NETWORKS if chain.family == "evm"]
CASES = 64

Json = dict[str, Any]
Change = Callable[[Json], object]


def address(draw: random.Random, network: str) -> str:
    raw = draw.randbytes(20)
    return tron_address_of(raw) if network == "tron" else evm_address("0x" + raw.hex())


def due(draw: random.Random, token: Token, fee_address: str | None) -> Due:
    """Large enough that no wrong byte makes an amount that a batch fee would explain."""
    amount = draw.randrange(10**12, 10**30)
    fee = draw.randrange(1, amount) if fee_address and draw.random() < 0.7 else 0
    return Due(token, address(draw, token.network), BaseUnits(amount), BaseUnits(fee), fee_address, draw.randbytes(8))


def tokens(draw: random.Random, network: str, count: int, native: bool) -> list[Token]:
    found = [token for token in find_tokens(network) if not token.is_native]
    chosen = draw.sample(found, min(count, len(found)))
    return [*chosen, next(token for token in find_tokens(network) if token.is_native)] if native else chosen


def built(draw: random.Random, kind: str, network: str, with_eoa: bool = False) -> Json:
    """A question for the driver: what the service builds for random dues, and what a page would expect of them."""
    dues, checkout = (single if kind == "single" else batch)(draw, network, with_eoa)
    wallet, eoa = address(draw, network), address(draw, network)
    addresses = [token.address for token in checkout.debits if not token.is_native]
    resets = frozenset(each for each in addresses if draw.random() < 0.3)
    allowances = {each: UNLIMITED for each in addresses if draw.random() < 0.3}
    if with_eoa:
        checkout = calldata.with_funding(checkout, eoa, wallet)
    checkout = calldata.with_approvals(checkout, allowances, resets)
    expected = {
        "network": network,
        "kind": kind,
        "wallet": wallet,
        "eoaWallet": eoa if with_eoa else None,
        "payments": [payment(each) for each in dues],
    }
    return {"expected": expected, "transactions": [sent(each) for each in checkout.transactions], "flips": True}


def single(draw: random.Random, network: str, with_eoa: bool) -> tuple[list[Due], Checkout]:
    native = network != "tron" and not with_eoa and draw.random() < 0.4
    token = tokens(draw, network, 0 if native else 1, native)[0]
    one = due(draw, token, address(draw, network) if draw.random() < 0.6 else None)
    return [one], calldata.pay_one(one)


def batch(draw: random.Random, network: str, with_eoa: bool) -> tuple[list[Due], Checkout]:
    on_tron = network == "tron"
    native = not on_tron and not with_eoa and draw.random() < 0.5
    paid = tokens(draw, network, 1 if on_tron else draw.randint(0 if native else 1, 3), native)
    fee_addresses = [address(draw, network), address(draw, network)] if draw.random() < 0.7 else [None]
    dues = [due(draw, draw.choice(paid), draw.choice(fee_addresses)) for _ in range(draw.randint(1, 5))]
    return dues, calldata.pay_together(dues, 0 if on_tron else draw.choice((0, 0, 1, 30, 100)))


def payment(one: Due) -> Json:
    return {
        "payee": one.payee,
        "token": None if one.token.is_native else one.token.address,
        "amount": str(one.amount),
        "fee": str(one.fee),
        "feeAddress": one.fee_address,
        "reference": "0x" + one.reference.hex(),
    }


def sent(transaction: Transaction) -> Json:
    return {"to": transaction.to, "data": transaction.data, "value": hex(transaction.value)}


def cases() -> Iterator[Json]:
    draw = random.Random(5)
    for number in range(CASES):
        kind = ("single", "batch", "multicall")[number % 3]
        if number % 4 == 3:
            yield built(draw, "single" if kind == "batch" else kind, "tron")
        else:
            yield built(draw, kind, draw.choice(EVM_NETWORKS), with_eoa=number % 8 == 6)


def ask(questions: list[Json]) -> list[Json]:
    return list(run(DRIVER, questions)["answers"])


@pytest.fixture(scope="module")
def asked() -> list[tuple[Json, Json]]:
    questions = list(cases())
    return list(zip(questions, ask(questions), strict=True))


def test_what_the_service_builds_is_accepted(asked: list[tuple[Json, Json]]) -> None:
    refused = [(question, answer) for question, answer in asked if not answer["ok"]]
    assert not refused
    kinds = {step["kind"] for _, answer in asked for step in answer["steps"]}
    assert kinds == {"fund", "reset", "approve", "pay"}


def test_every_payment_is_in_one_step_and_what_is_sent_is_what_was_read(asked: list[tuple[Json, Json]]) -> None:
    for question, answer in asked:
        paid = [position for step in answer["steps"] for position in step["payments"]]
        assert sorted(paid) == list(range(len(question["expected"]["payments"])))
        assert [step["transaction"] for step in answer["steps"]] == question["transactions"]


def test_a_byte_turned_over_anywhere_is_refused(asked: list[tuple[Json, Json]]) -> None:
    assert [answer["accepted"] for _, answer in asked] == [[]] * CASES
    assert sum(answer["tried"] for _, answer in asked) > 20_000


def test_the_approval_and_the_payment_of_a_token_are_told_with_their_amounts() -> None:
    question = one_token("single")
    (first, second), expected = ask([question])[0]["steps"], question["expected"]["payments"][0]
    debit = str(int(expected["amount"]) + int(expected["fee"]))
    assert (first["kind"], first["token"], first["amount"]) == ("approve", expected["token"], debit)
    assert (second["kind"], second["token"], second["amount"]) == ("pay", expected["token"], debit)


def test_contract_and_function_are_named_as_the_service_names_them(asked: list[tuple[Json, Json]]) -> None:
    for question, answer in asked:
        for step, transaction in zip(answer["steps"], question["transactions"], strict=True):
            function = FUNCTIONS[bytes.fromhex(transaction["data"][2:10])]
            assert step["call"] == ".".join(filter(None, (function.contract, function.name)))


def test_who_may_take_what_is_approved_is_told(asked: list[tuple[Json, Json]]) -> None:
    for _, answer in asked:
        *others, last = answer["steps"]
        spenders = {step.get("spender") for step in others if step["kind"] in ("reset", "approve")}
        assert spenders <= {last["transaction"]["to"]}


# --- what else is refused ---

USDC = next(token for token in find_tokens("base", "USDC"))
USDC_TRON = next(token for token in find_tokens("tron") if token.symbol == "USDT")
NATIVE = next(token for token in find_tokens("base") if token.is_native)


def one_token(kind: str, batch_fee: int = 0) -> Json:
    draw = random.Random(6)
    dues = [due(draw, USDC, address(draw, "base")) for _ in range(1 if kind == "single" else 3)]
    dues = [replace(each, fee=BaseUnits(each.amount // 100), fee_address=dues[0].fee_address) for each in dues]
    checkout = calldata.pay_one(dues[0]) if kind == "single" else calldata.pay_together(dues, batch_fee)
    return question_of(kind, "base", dues, calldata.with_approvals(checkout, {}))


def coins(kind: str, batch_fee: int = 0) -> Json:
    draw = random.Random(7)
    dues = [replace(due(draw, NATIVE, None), amount=BaseUnits(10**18)) for _ in range(1 if kind == "single" else 2)]
    checkout = calldata.pay_one(dues[0]) if kind == "single" else calldata.pay_together(dues, batch_fee)
    return question_of(kind, "base", dues, checkout)


def funded() -> Json:
    """Transactions: funding from another wallet, approval, batch."""
    draw = random.Random(10)
    dues = [due(draw, USDC, None) for _ in range(2)]
    checkout = calldata.with_approvals(calldata.pay_together(dues), {})
    question = question_of("batch", "base", dues, checkout)
    owner, wallet = address(draw, "base"), question["expected"]["wallet"]
    funding = calldata.with_funding(checkout, owner, wallet).funding
    question["expected"]["eoaWallet"] = owner
    question["transactions"][:0] = [sent(each) for each in funding]
    return question


def on_tron() -> Json:
    draw = random.Random(8)
    dues = [due(draw, USDC_TRON, None) for _ in range(2)]
    question = question_of("multicall", "tron", dues, calldata.with_approvals(calldata.pay_together(dues), {}))
    for each in question["transactions"]:
        each["feeLimit"] = 100_000_000
    return question


def question_of(kind: str, network: str, dues: list[Due], checkout: Checkout) -> Json:
    draw = random.Random(9)
    return {
        "expected": {
            "network": network,
            "kind": kind,
            "wallet": address(draw, network),
            "eoaWallet": None,
            "payments": [payment(each) for each in dues],
        },
        "transactions": [sent(each) for each in checkout.transactions],
    }


def changed(question: Json, change: Change) -> Json:
    change(question)
    return question


def raise_amount(question: Json) -> None:
    question["expected"]["payments"][0]["amount"] = str(int(question["expected"]["payments"][0]["amount"]) - 1)


def swap_payees(question: Json) -> None:
    first, second = question["expected"]["payments"][:2]
    first["payee"], second["payee"] = second["payee"], first["payee"]


def put(name: str, value: Any) -> Change:
    return lambda question: question["expected"]["payments"][0].update({name: value})


def put_in(index: int, **parts: Any) -> Change:
    return lambda question: question["transactions"][index].update(parts)


def approve_of(spender: str, amount: int) -> Change:
    return put_in(0, data=approve(USDC.address, spender, amount).data)


def pay_in_groups(question: Json) -> None:
    """Turns batchERC20Payments into batchPayments with one group, which costs more."""
    details = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"
    payments, paths, receiver = decode([details, "address[][]", "address"], bytes.fromhex(question["transactions"][1]["data"][10:]))
    arguments = encode([f"(uint256,{details})[]", "address[][]", "address"], [[(2, payments)], paths, receiver])
    put_in(1, data="0x92cddb91" + arguments.hex())(question)


def fund_tokens_and_coins(question: Json) -> None:
    question["expected"]["eoaWallet"] = STRANGER
    question["expected"]["payments"][0]["token"] = None


STRANGER = evm_address("0x" + "5a" * 20)
PROXY, BATCH = (calldata.spender_of(USDC, batched) for batched in (False, True))
APPEND = [
    pytest.param(approve(USDC.address, STRANGER, 1), id="another approval"),
    pytest.param(Transaction(STRANGER, "0x", 1), id="a plain transfer of coins"),
    pytest.param(Transaction(USDC.address, "0xa9059cbb" + "00" * 64, 0), id="a plain transfer of tokens"),
    pytest.param(Transaction(USDC.address, "0x", 0), id="nothing to do"),
]

REFUSED = {
    "another amount": (one_token("single"), raise_amount, "amount", 1),
    "another payee": (one_token("single"), put("payee", STRANGER), "payee", 1),
    "another reference": (one_token("single"), put("reference", "0x" + "00" * 8), "reference", 1),
    "another fee": (one_token("single"), put("fee", "1"), "fee", 1),
    "a fee for somebody else": (one_token("single"), put("feeAddress", STRANGER), "fee", 1),
    "another token": (one_token("single"), put("token", STRANGER), "token", 0),
    "coins instead of tokens": (one_token("single"), put("token", None), "token", 0),
    "an unlimited approval": (one_token("single"), approve_of(PROXY, UNLIMITED), "amount", 0),
    "an approval of a little more": (one_token("single"), approve_of(PROXY, 10**40), "amount", 0),
    "another spender": (one_token("single"), approve_of(STRANGER, 10**12), "contract", 0),
    "the batch contract as spender": (one_token("single"), approve_of(BATCH, 10**12), "contract", 0),
    "an allowance withdrawn for nothing": (one_token("single"), approve_of(PROXY, 0), "shape", 0),
    "coins with a token payment": (one_token("single"), put_in(1, value="0x1"), "value", 1),
    "coins with an approval": (one_token("single"), put_in(0, value="0x1"), "value", 0),
    "another contract": (one_token("single"), put_in(1, to=STRANGER), "contract", 1),
    "longer data": (one_token("single"), lambda q: put_in(1, data=q["transactions"][1]["data"] + "00")(q), "shape", 1),
    "no list": (one_token("single"), lambda q: q.update(transactions=None), "shape", -1),
    "an empty list": (one_token("single"), lambda q: q["transactions"].clear(), "shape", -1),
    "no payment": (one_token("single"), lambda q: q["transactions"].pop(), "shape", -1),
    "the payment twice": (
        one_token("single"),
        lambda q: q["transactions"].append(q["transactions"][1]),
        "reference",
        2,
    ),
    "the approval twice": (
        one_token("single"),
        lambda q: q["transactions"].insert(0, q["transactions"][0]),
        "shape",
        1,
    ),
    "the approval last": (one_token("single"), lambda q: q["transactions"].reverse(), "shape", 1),
    "another network": (one_token("single"), lambda q: q["expected"].update(network="matic"), "contract", 0),
    "an unknown network": (one_token("single"), lambda q: q["expected"].update(network="constructor"), "shape", -1),
    "an unknown kind": (one_token("single"), lambda q: q["expected"].update(kind="any"), "shape", -1),
    "a single payment as a batch": (one_token("single"), lambda q: q["expected"].update(kind="batch"), "contract", 0),
    "an amount of nothing": (one_token("single"), put("amount", "0"), "shape", -1),
    "a value below zero": (one_token("single"), put_in(1, value=-1), "value", 1),
    "a value of words": (one_token("single"), put_in(1, value="much"), "value", 1),
    "a value without digits": (one_token("single"), put_in(1, value="0x"), "value", 1),
    "a value of 65 digits": (one_token("single"), put_in(1, value="0x" + "0" * 65), "value", 1),
    "tron: a fee limit of nothing": (on_tron(), put_in(1, feeLimit=0), "shape", 1),
    "a fee limit on another chain": (one_token("single"), put_in(1, feeLimit=1), "shape", 1),
    "coins: another value": (coins("single"), put_in(0, value=hex(10**18 + 1)), "amount", 0),
    "coins: another payee": (coins("single"), put("payee", STRANGER), "payee", 0),
    "batch: swapped payees": (one_token("batch"), swap_payees, "payee", 1),
    "batch: another amount": (one_token("batch"), raise_amount, "amount", 1),
    "batch: a payment missing": (one_token("batch"), lambda q: q["expected"]["payments"].pop(), "reference", 1),
    "batch: a payment expected twice": (
        one_token("batch"),
        lambda q: q["expected"]["payments"].append(q["expected"]["payments"][0]),
        "shape",
        -1,
    ),
    "batch: its call twice": (
        one_token("batch"),
        lambda q: q["transactions"].append(q["transactions"][1]),
        "reference",
        2,
    ),
    "batch: one token in a group": (one_token("batch"), pay_in_groups, "function", 1),
    "batch: coins from another wallet": (one_token("batch"), fund_tokens_and_coins, "shape", -1),
    "tron: from another wallet": (on_tron(), lambda q: q["expected"].update(eoaWallet=q["expected"]["wallet"]), "shape", -1),
    "batch: nothing to pay": (one_token("batch"), lambda q: (q["expected"]["payments"].clear(), q["transactions"].clear()), "shape", -1),
    "single: two payments": (
        one_token("single"),
        lambda q: q["expected"]["payments"].append(q["expected"]["payments"][0]),
        "shape",
        -1,
    ),
    "funding though nobody else pays": (funded(), lambda q: q["expected"].update(eoaWallet=None), "function", 0),
    "funding from a stranger": (funded(), lambda q: q["expected"].update(eoaWallet=STRANGER), "payee", 0),
    "funding for a stranger": (funded(), lambda q: q["expected"].update(wallet=STRANGER), "payee", 0),
    "funding missing": (funded(), lambda q: q["transactions"].pop(0), "shape", -1),
    "funding twice": (funded(), lambda q: q["transactions"].insert(0, q["transactions"][0]), "shape", 1),
    "funding after the approval": (funded(), lambda q: q["transactions"].insert(1, q["transactions"].pop(0)), "shape", 1),
    "funding of another token": (funded(), put_in(0, to=STRANGER), "token", 0),
    "batch: an unlimited approval": (one_token("batch"), approve_of(BATCH, UNLIMITED), "amount", 0),
    "batch: the proxy as spender": (one_token("batch"), approve_of(PROXY, 10**12), "contract", 0),
    "batch: a batch fee above 1 %": (one_token("batch", 101), lambda q: None, "amount", 0),
    "batch of coins: a batch fee above 1 %": (coins("batch", 101), lambda q: None, "value", 0),
    "batch of coins: one more": (coins("batch"), put_in(0, value=hex(2 * 10**18 + 1)), "value", 0),
    "tron: another payee": (on_tron(), put("payee", tron_address_of(b"\x5a" * 20)), "payee", 1),
    "tron: an address of another family": (on_tron(), put("payee", STRANGER), "shape", -1),
    "tron: a fee limit above the highest": (on_tron(), put_in(1, feeLimit=15_000 * 10**6 + 1), "shape", 1),
    "tron: a fee limit in words": (on_tron(), put_in(1, feeLimit="1"), "shape", 1),
    "tron: coins": (on_tron(), put_in(1, value=1), "value", 1),
}


def test_the_pages_to_be_changed_are_accepted_as_they_were() -> None:
    questions = [
        one_token("single"),
        one_token("batch"),
        one_token("batch", 100),
        coins("single"),
        coins("batch", 30),
        funded(),
        on_tron(),
        changed(on_tron(), put_in(1, feeLimit=15_000 * 10**6)),
        changed(on_tron(), put_in(1, feeLimit=1)),
        changed(one_token("single"), put_in(1, value="0x" + "0" * 64)),
    ]
    assert [answer["ok"] for answer in ask(questions)] == [True] * len(questions)


def test_what_differs_from_what_is_shown_is_refused_with_the_reason() -> None:
    questions = [changed(question, change) for question, change, _, _ in REFUSED.values()]
    found = {
        name: (answer["ok"], answer.get("reason"), answer.get("index"))
        for name, answer in zip(REFUSED, ask(questions), strict=True)
    }
    assert found == {name: (False, reason, index) for name, (_, _, reason, index) in REFUSED.items()}


@pytest.mark.parametrize("transaction", APPEND)
def test_a_transaction_too_many_is_refused_wherever_it_stands(transaction: Transaction) -> None:
    questions = []
    for place in range(3):
        question = one_token("single")
        question["transactions"].insert(place, sent(transaction))
        questions.append(question)
    assert [answer["ok"] for answer in ask(questions)] == [False] * 3


def test_the_forms_of_a_value_that_deployments_choose_are_read() -> None:
    questions = []
    for value in (0, "0x0", "0x00", {"type": "BigNumber", "hex": "0x00"}):
        questions.append(changed(one_token("single"), put_in(1, value=value)))
    questions.append(changed(coins("single"), put_in(0, value={"type": "BigNumber", "hex": hex(10**18)})))
    assert [answer["ok"] for answer in ask(questions)] == [True] * 5


def test_whatever_is_handed_in_is_refused_and_raises_nothing() -> None:
    odd: list[Any] = [
        None,
        5,
        "text",
        [],
        {},
        {"to": None, "data": None, "value": None},
        {"to": {}, "data": [], "value": {}},
    ]
    questions = [changed(one_token("single"), lambda q, each=each: q.update(transactions=[each])) for each in odd]
    answers = ask(questions)
    assert [answer["ok"] for answer in answers] == [False] * len(odd)


def test_the_table_of_contracts_is_that_of_the_service() -> None:
    deployed, found = load("contracts"), run(DRIVER)["contracts"]
    names = {
        "ERC20FeeProxy": "erc20",
        "EthereumFeeProxy": "native",
        "BatchConversionPayments": "batch",
        "ERC20BatchPayments": "batch",
    }
    wanted: dict[str, Json] = {chain.name: {"chainId": chain.chain_id} for chain in ALL_NETWORKS}
    for contract, name in names.items():
        for network, at in deployed[contract].items():
            wanted[network][name] = at
    for network in EVM_NETWORKS:
        wanted[network]["coin"] = native_hash(network)
    assert found == wanted


def test_it_stays_small() -> None:
    assert len(gzip.compress((PAGES / "check.js").read_bytes())) <= 6_500
