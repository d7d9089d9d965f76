"""The page's calldata.js against what the service's own encoders write, and against all that is not that."""

from typing import Any

import pytest

from chalicelib.base.addresses import tron_address_of
from chalicelib.chains.calldata import checkout as checkout_calldata
from chalicelib.chains.calldata.batch import native_hash
from chalicelib.chains.calldata.explanations.functions import FUNCTIONS
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import contracts_on
from chalicelib.chains.catalogue.conversions import conversion_networks, conversion_path, payment_currencies
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import find_tokens
from tests.oracles.node import run
from tests.pages.calldata_questions import (
    BATCH,
    CASES,
    DAI,
    DRIVER,
    ETHER,
    EVM_NETWORKS,
    MOST,
    PROXY,
    STRANGER,
    UNLIMITED,
    USDC,
    USDC_MAINNET,
    Json,
    approve_of,
    approve_on_tron,
    ask,
    cases,
    changed,
    coins,
    coins_and_tokens,
    conversions,
    debit_of,
    encoded_again,
    funded,
    in_a_group,
    limit,
    on_tron,
    one_token,
    pay_another_token,
    pay_nothing_besides,
    put,
    put_argument,
    put_in,
    raise_amount,
    sent,
    set_a_bit_above_the_payee,
    spell_with_0,
    swap_payees,
    with_reset,
)


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
    called = {transaction["data"][2:10] for question, _ in asked for transaction in question["transactions"]}
    assert {"3af2c012", "ac473c8a", "92cddb91"} <= called


def test_the_approval_and_the_payment_of_a_token_are_told_with_their_amounts() -> None:
    question = one_token("single")
    (first, second), expected = ask([question])[0]["steps"], question["expected"]["payments"][0]
    debit = str(int(expected["amount"]) + int(expected["fee"]))
    assert (first["kind"], first["token"], first["amount"]) == ("approve", expected["token"], debit)
    assert (second["kind"], second["token"], second["amount"]) == ("pay", expected["token"], debit)


def test_the_steps_of_a_batch_show_its_fee_and_the_debit_of_a_single_currency() -> None:
    tokens, native, mixed = ask([one_token("batch", 30), coins("batch", 100), coins_and_tokens(30)])
    assert [answer["batchFee"] for answer in (tokens, native, mixed)] == [30, 100, 30]
    debits = [[(step["kind"], step.get("token"), step.get("amount")) for step in each["steps"]] for each in (tokens, native, mixed)]
    debit = debit_of(one_token("batch"), USDC.address, 30)
    assert debits[0] == [("approve", USDC.address, debit), ("pay", USDC.address, debit)]
    assert debits[1] == [("pay", None, str(2 * 10**18 * 101 // 100))]
    assert debits[2] == [("approve", USDC.address, debit_of(coins_and_tokens(30), USDC.address, 30)), ("pay", None, None)]
    assert "token" in native["steps"][0] and "token" not in mixed["steps"][1]


def test_the_batch_fee_is_the_lowest_that_gives_the_debit() -> None:
    """A fee is rounded down: of 98 units, each fee up to 1 % is 0."""
    question = coins("batch")
    for each in question["expected"]["payments"]:
        each["amount"] = "49"
    encoded_again(0, lambda arguments: [detail.__setitem__(1, 49) for detail in arguments[0][0][1]])(question)
    question["transactions"][0]["value"] = hex(98)
    assert [(answer["ok"], answer["batchFee"]) for answer in ask([question])] == [(True, 0)]


def test_the_fee_limit_is_sent_as_it_was_read() -> None:
    question = on_tron()
    assert [step["transaction"] for step in ask([question])[0]["steps"]] == question["transactions"]


def test_every_path_of_the_catalogue_is_accepted() -> None:
    """Asked of one for each sequence of currencies between the first and the last."""
    between, questions = set[tuple[str, ...]](), list[Json]()
    invoices = [*find_tokens("fiat"), *(each for network in conversion_networks() for each in find_tokens(network))]
    for invoice in invoices:
        for token in payment_currencies(invoice):
            path = conversion_path(invoice, token) or ()
            if path[1:-1] not in between:
                between.add(path[1:-1])
                questions.append(conversions("single", token, invoice=invoice))
    assert [answer["ok"] for answer in ask(questions)] == [True] * len(between)
    assert max(map(len, between)) == 2


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

CONVERSION = checkout_calldata.spender_of(USDC_MAINNET, False, converted=True)

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
    "a reference of 32 bytes": (one_token("single"), encoded_again(1, lambda arguments: arguments.__setitem__(3, bytes(32))), "reference", 1),
    "a reference of 33 bytes": (one_token("single"), encoded_again(1, lambda arguments: arguments.__setitem__(3, bytes(33))), "reference", 1),
    "another fee": (one_token("single"), put("fee", "1"), "fee", 1),
    "a fee for somebody else": (one_token("single"), put("feeAddress", STRANGER), "fee", 1),
    "another token": (one_token("single"), put("token", STRANGER), "token", 0),
    "coins instead of tokens": (one_token("single"), put("token", None), "token", 0),
    "an unlimited approval": (one_token("single"), approve_of(PROXY, UNLIMITED), "amount", 0),
    "an approval of a little more": (one_token("single"), approve_of(PROXY, 10**40), "amount", 0),
    "an approval as if there were a batch fee": (
        one_token("single"),
        approve_of(PROXY, int(debit_of(one_token("single"), USDC.address, 100))),
        "amount",
        0,
    ),
    "tron: an approval as if there were a batch fee": (on_tron(), approve_on_tron(100), "amount", 0),
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
    "data that is not hexadecimal": (one_token("single"), put_in(1, data="0xzz"), "shape", 1),
    "data of half a byte": (one_token("single"), put_in(1, data="0x1"), "shape", 1),
    "another function": (one_token("single"), put_in(1, data="0x12345678"), "function", 1),
    "coins: a single payment as a batch": (coins("single"), lambda q: q["expected"].update(kind="batch"), "function", 0),
    "coins: a value below zero": (coins("single"), put_in(0, value=-1), "value", 0),
    "coins: half a unit": (coins("single"), put_in(0, value=0.5), "value", 0),
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
    "batch: one token in a group": (one_token("batch"), encoded_again(1, in_a_group, "92cddb91"), "function", 1),
    "batch: one payment in a group": (
        one_token("batch", count=1),
        encoded_again(1, in_a_group, "92cddb91"),
        "function",
        1,
    ),
    "batch: two tokens as if they were one": (one_token("batch"), pay_another_token, "token", 1),
    "batch: a call that pays nothing": (one_token("batch"), pay_nothing_besides, "shape", 2),
    "coins: a group that pays nothing": (
        coins("batch"),
        encoded_again(0, lambda arguments: arguments[0].insert(0, (2, []))),
        "shape",
        0,
    ),
    "coins: the coin of another network": (
        coins("batch"),
        encoded_again(0, lambda arguments: arguments[0][0][1][0].__setitem__(2, [STRANGER])),
        "token",
        0,
    ),
    "an address of 161 bits": (one_token("single"), set_a_bit_above_the_payee, "shape", 1),
    "tron: an address in another spelling": (on_tron(), spell_with_0, "shape", -1),
    "tron: an address with another checksum": (on_tron(), put("payee", "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU8"), "shape", -1),
    "tron: one payee too many": (on_tron(), encoded_again(1, lambda arguments: arguments[1].append(STRANGER)), "shape", 1),
    "tron: one amount too many": (on_tron(), encoded_again(1, lambda arguments: arguments[2].append(1)), "shape", 1),
    "tron: one reference too many": (on_tron(), encoded_again(1, lambda arguments: arguments[3].append(b"12345678")), "shape", 1),
    "tron: one fee too many": (on_tron(), encoded_again(1, lambda arguments: arguments[4].append(0)), "shape", 1),
    "batch: coins besides tokens from another wallet": (coins_and_tokens(0, is_funded=True), lambda q: None, "shape", -1),
    "tron: from another wallet": (on_tron(is_funded=True), lambda q: None, "shape", -1),
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
    "funding of one token missing": (funded(USDC, DAI), lambda q: q["transactions"].pop(0), "shape", -1),
    "an approval between a reset and its own": (
        with_reset(),
        lambda q: q["transactions"].insert(1, q["transactions"].pop(2)),
        "shape",
        0,
    ),
    "an unlimited approval after a reset": (with_reset(), put_in(1, data=approve(USDC.address, BATCH, UNLIMITED).data), "amount", 1),
    "a reset without its approval": (with_reset(), lambda q: q["transactions"].pop(1), "shape", 0),
    "funding twice": (funded(), lambda q: q["transactions"].insert(0, q["transactions"][0]), "shape", 1),
    "funding after the approval": (funded(), lambda q: q["transactions"].insert(1, q["transactions"].pop(0)), "shape", 1),
    "funding of another token": (funded(), put_in(0, to=STRANGER), "token", 0),
    "batch: an unlimited approval": (one_token("batch"), approve_of(BATCH, UNLIMITED), "amount", 0),
    "batch: the proxy as spender": (one_token("batch"), approve_of(PROXY, 10**12), "contract", 0),
    "batch: a batch fee above 1 %": (one_token("batch", 101), lambda q: None, "amount", 0),
    "batch of coins: a batch fee above 1 %": (coins("batch", 101), lambda q: None, "value", 0),
    "batch of coins: one more": (coins("batch"), put_in(0, value=hex(2 * 10**18 + 1)), "value", 0),
    "conversion: one more at most": (conversions("single"), put_argument(6, MOST + 1), "rate", 1),
    "conversion: a rate of any age": (conversions("single"), put_argument(7, 0), "rate", 1),
    "conversion: an older rate": (conversions("single"), put_argument(7, 3_601), "rate", 1),
    "conversion: from another currency": (conversions("single"), put_argument(2, [STRANGER, USDC_MAINNET.address]), "rate", 1),
    "conversion: through another currency": (
        conversions("single"),
        lambda q: encoded_again(-1, lambda arguments: arguments[2].insert(1, STRANGER))(q),
        "rate",
        1,
    ),
    "conversion: into another token": (conversions("single"), put_argument(2, [STRANGER, STRANGER]), "token", 1),
    "conversion: without a path": (conversions("single"), put_argument(2, []), "token", 1),
    "conversion: another amount": (conversions("single"), put_argument(1, 25_50 * 10**6 + 1), "amount", 1),
    "conversion: another fee": (conversions("single"), put_argument(4, 1), "fee", 1),
    "conversion: an approval of more": (
        conversions("single"),
        lambda q: put_in(0, data=approve(USDC_MAINNET.address, CONVERSION, MOST + 1).data)(q),
        "amount",
        0,
    ),
    "conversion: the proxy without conversion as spender": (
        conversions("single"),
        lambda q: put_in(0, data=approve(USDC_MAINNET.address, checkout_calldata.spender_of(USDC_MAINNET, False), MOST).data)(q),
        "contract",
        0,
    ),
    "conversion: where none is expected": (conversions("single"), put("conversion", None), "contract", 0),
    "conversion: of coins where none is expected": (conversions("single", ETHER), put("conversion", None), "rate", 0),
    "conversion: none where one is expected": (
        one_token("single"),
        lambda q: put("conversion", {"from": STRANGER, "most": "1", "age": "1"})(q),
        "contract",
        0,
    ),
    "conversion: a rate of any age is expected": (conversions("single"), limit("age", "0"), "shape", -1),
    "conversion: a rate of two days and a second is expected": (conversions("single"), limit("age", "172801"), "shape", -1),
    "conversion: any amount is expected": (conversions("single"), limit("most", "0"), "shape", -1),
    "conversion of coins: one more at most": (conversions("single", ETHER), put_in(0, value=hex(MOST + 1)), "rate", 0),
    "conversion of coins: into another coin": (conversions("single", ETHER), put_argument(2, [STRANGER, STRANGER]), "token", 0),
    "batch of conversions: one more at most": (
        conversions("batch"),
        encoded_again(-1, lambda arguments: arguments[0][0][1][0].__setitem__(5, MOST + 1)),
        "rate",
        1,
    ),
    "batch of conversions: in the wrong order": (
        conversions("batch", USDC_MAINNET, ETHER),
        encoded_again(-1, lambda arguments: arguments[0].reverse()),
        "shape",
        1,
    ),
    "batch of conversions: a path of one currency": (
        conversions("batch"),
        encoded_again(-1, lambda arguments: arguments[0][0][1][0].__setitem__(2, [USDC_MAINNET.address])),
        "shape",
        1,
    ),
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
        funded(USDC, DAI),
        with_reset(),
        conversions("single"),
        conversions("single", ETHER),
        conversions("batch"),
        conversions("batch", USDC_MAINNET, ETHER),
        changed(conversions("single", ETHER), put_argument(6, 3_600)),
        on_tron(),
        changed(on_tron(), put_in(1, feeLimit=15_000 * 10**6)),
        changed(on_tron(), put_in(1, feeLimit=1)),
        changed(on_tron(), approve_on_tron(0)),
        changed(changed(coins("single"), put("amount", "1")), put_in(0, value=1)),
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
    found = run(DRIVER)["contracts"]
    names = {
        "ERC20FeeProxy": "erc20",
        "EthereumFeeProxy": "native",
        "BatchConversionPayments": "batch",
        "ERC20BatchPayments": "batch",
        "Erc20ConversionProxy": "conversion",
        "EthConversionProxy": "coinConversion",
    }
    wanted: dict[str, Json] = {chain.name: {"chainId": chain.chain_id} for chain in ALL_NETWORKS}
    for network, contracts in wanted.items():
        there = contracts_on(network)
        contracts |= {name: there[contract] for contract, name in names.items() if contract in there}
    for network in EVM_NETWORKS:
        wanted[network]["coin"] = native_hash(network)
    assert found == wanted
