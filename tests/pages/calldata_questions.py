"""Questions for the page's calldata.js: what the service builds for random payments, and ways to change it."""

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from eth_abi import decode, encode

from chalicelib.base.addresses import evm_address, tron_address_of
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata import checkout as checkout_calldata
from chalicelib.chains.calldata.checkout import Checkout, Due
from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.conversions import conversion_networks, conversion_path
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id
from tests.oracles.node import run

PAGES = Path(__file__).parents[2] / "chalicelib/pages/payment"
DRIVER = str(Path(__file__).parent / "calldata_driver.js")
UNLIMITED = 2**256 - 1
EVM_NETWORKS = [chain.name for chain in ALL_NETWORKS if chain.family == "evm"]
_WITH_TOKENS = [name for name in EVM_NETWORKS if len(find_tokens(name)) > 1]
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
        checkout = checkout_calldata.with_funding(checkout, eoa, wallet)
    checkout = checkout_calldata.with_approvals(checkout, allowances, resets)
    expected = {
        "network": network,
        "kind": kind,
        "wallet": wallet,
        "eoaWallet": eoa if with_eoa else None,
        "payments": [payment(each) for each in dues],
    }
    return {"expected": expected, "transactions": [sent(each) for each in checkout.transactions], "flips": True}


def converted(draw: random.Random, one: Due) -> Due:
    """The same amount in US dollars, if the contracts convert those to its token."""
    path = conversion_path(USD, one.token)
    if path is None:
        return one
    conversion = Conversion(path, draw.randrange(10**12, 10**30), draw.randrange(256, 86_400))
    return replace(one, conversion=conversion)


def single(draw: random.Random, network: str, with_eoa: bool) -> tuple[list[Due], Checkout]:
    native = network != "tron" and not with_eoa and draw.random() < 0.4
    token = tokens(draw, network, 0 if native else 1, native)[0]
    one = due(draw, token, address(draw, network) if draw.random() < 0.6 else None)
    if draw.random() < 0.5:
        one = converted(draw, one)
    return [one], checkout_calldata.pay_one(one)


def batch(draw: random.Random, network: str, with_eoa: bool) -> tuple[list[Due], Checkout]:
    on_tron = network == "tron"
    native = not on_tron and not with_eoa and draw.random() < 0.5
    paid = tokens(draw, network, 1 if on_tron else draw.randint(0 if native else 1, 3), native)
    fee_addresses = [address(draw, network), address(draw, network)] if draw.random() < 0.7 else [None]
    dues = [due(draw, draw.choice(paid), draw.choice(fee_addresses)) for _ in range(draw.randint(1, 5))]
    dues = [converted(draw, each) if draw.random() < 0.4 else each for each in dues]
    return dues, checkout_calldata.pay_together(dues, 0 if on_tron else draw.choice((0, 0, 1, 30, 100)))


def payment(one: Due) -> Json:
    return {
        "payee": one.payee,
        "token": None if one.token.is_native else one.token.address,
        "amount": str(one.amount),
        "fee": str(one.fee),
        "feeAddress": one.fee_address,
        "reference": "0x" + one.reference.hex(),
        "conversion": limits(one.conversion),
    }


def limits(conversion: Conversion | None) -> Json | None:
    if conversion is None:
        return None
    return {"from": conversion.path[0], "most": str(conversion.max_to_spend), "age": str(conversion.max_rate_age)}


def sent(transaction: Transaction) -> Json:
    return {"to": transaction.to, "data": transaction.data, "value": hex(transaction.value)}


def cases() -> Iterator[Json]:
    draw = random.Random(5)
    for number in range(CASES):
        kind = ("single", "batch", "multicall")[number % 3]
        if number % 4 == 3:
            yield built(draw, "single" if kind == "batch" else kind, "tron")
        else:
            networks = conversion_networks() if number % 2 else _WITH_TOKENS
            yield built(draw, kind, draw.choice(networks), with_eoa=number % 8 == 6)


def ask(questions: list[Json]) -> list[Json]:
    return list(run(DRIVER, questions)["answers"])


USDC = next(token for token in find_tokens("base", "USDC"))
USDC_TRON = next(token for token in find_tokens("tron") if token.symbol == "USDT")
DAI = next(token for token in find_tokens("base", "DAI"))
NATIVE = next(token for token in find_tokens("base") if token.is_native)
(USD,) = (token for token in find_tokens("fiat") if token.id == "USD")


def one_token(kind: str, batch_fee: int = 0, count: int = 3) -> Json:
    draw = random.Random(6)
    dues = [due(draw, USDC, address(draw, "base")) for _ in range(1 if kind == "single" else count)]
    dues = [replace(each, fee=BaseUnits(each.amount // 100), fee_address=dues[0].fee_address) for each in dues]
    checkout = checkout_calldata.pay_one(dues[0]) if kind == "single" else checkout_calldata.pay_together(dues, batch_fee)
    return question_of(kind, "base", dues, checkout_calldata.with_approvals(checkout, {}))


def coins(kind: str, batch_fee: int = 0) -> Json:
    draw = random.Random(7)
    dues = [replace(due(draw, NATIVE, None), amount=BaseUnits(10**18)) for _ in range(1 if kind == "single" else 2)]
    checkout = checkout_calldata.pay_one(dues[0]) if kind == "single" else checkout_calldata.pay_together(dues, batch_fee)
    return question_of(kind, "base", dues, checkout)


def coins_and_tokens(batch_fee: int, is_funded: bool = False) -> Json:
    draw = random.Random(11)
    dues = [due(draw, token, None) for token in (USDC, NATIVE, USDC)]
    checkout = checkout_calldata.with_approvals(checkout_calldata.pay_together(dues, batch_fee), {})
    question = question_of("batch", "base", dues, checkout)
    if is_funded:
        fund(question, checkout)
    return question


USDC_MAINNET, ETHER = (token_with_id(f"{symbol}-mainnet") for symbol in ("USDC", "ETH"))
MOST, RATE_AGE = 26 * 10**6, 3_600


def conversions(kind: str, *tokens: Token | None, invoice: Token = USD) -> Json:
    """25.50 US dollars, and a fee of 1 %, in each of the tokens: at most 26 units of one with 6 decimals."""
    draw, dues = random.Random(15), []
    for token in tokens or (USDC_MAINNET,):
        assert token is not None
        path = conversion_path(invoice, token)
        assert path is not None
        one = due(draw, token, address(random.Random(16), "mainnet"))
        facts = {"amount": BaseUnits(25_50 * 10**6), "fee": BaseUnits(25_50 * 10**4)}
        dues.append(replace(one, conversion=Conversion(path, MOST, RATE_AGE), **facts))
    checkout = checkout_calldata.pay_one(dues[0]) if kind == "single" else checkout_calldata.pay_together(dues)
    return question_of(kind, dues[0].token.network, dues, checkout_calldata.with_approvals(checkout, {}))


def limit(name: str, value: str) -> Change:
    """Changes what is expected of the conversion."""
    return lambda question: question["expected"]["payments"][0]["conversion"].update({name: value})


def debit_of(question: Json, token: str | None, batch_fee: int) -> str:
    paid = [each for each in question["expected"]["payments"] if each["token"] == token]
    amounts = sum(int(each["amount"]) for each in paid)
    return str(amounts + sum(int(each["fee"]) for each in paid) + amounts * batch_fee // 10_000)


def with_reset() -> Json:
    """Transactions: reset and approval of USDC, approval of DAI, batch."""
    draw = random.Random(12)
    dues = [due(draw, token, None) for token in (USDC, DAI)]
    checkout = checkout_calldata.with_approvals(checkout_calldata.pay_together(dues), {}, frozenset({USDC.address}))
    return question_of("batch", "base", dues, checkout)


def funded(*tokens: Token) -> Json:
    """Transactions: funding of each token from another wallet, its approval, batch."""
    draw = random.Random(10)
    dues = [due(draw, token, None) for token in tokens or (USDC, USDC)]
    checkout = checkout_calldata.with_approvals(checkout_calldata.pay_together(dues), {})
    question = question_of("batch", "base", dues, checkout)
    fund(question, checkout)
    return question


def fund(question: Json, checkout: Checkout) -> None:
    """Puts the transfers of all tokens from another wallet first."""
    expected, paid = question["expected"], {each: debit for each, debit in checkout.debits.items() if not each.is_native}
    expected["eoaWallet"] = address(random.Random(14), expected["network"])
    funding = checkout_calldata.with_funding(replace(checkout, debits=paid), expected["eoaWallet"], expected["wallet"]).funding
    question["transactions"][:0] = [sent(each) for each in funding]


def on_tron(is_funded: bool = False) -> Json:
    draw = random.Random(8)
    dues = [due(draw, USDC_TRON, None) for _ in range(2)]
    checkout = checkout_calldata.with_approvals(checkout_calldata.pay_together(dues), {})
    question = question_of("multicall", "tron", dues, checkout)
    if is_funded:
        fund(question, checkout)
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


def approve_on_tron(batch_fee: int) -> Change:
    debit = int(debit_of(on_tron(), USDC_TRON.address, batch_fee))
    return put_in(0, data=approve(USDC_TRON.address, checkout_calldata.spender_of(USDC_TRON, batched=True), debit).data)


def spell_with_0(question: Json) -> None:
    """Base58 has no 0. Read as the digit -1, it would allow other spellings of addresses that contain z, the digit 57."""
    letters = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    draw = random.Random(13)
    text = next(found for _ in range(1_000) if re.search("[^Tz]z", found := address(draw, "tron")))
    at = text.index("z", 2)
    put("payee", text[: at - 1] + letters[letters.index(text[at - 1]) + 1] + "0" + text[at + 1 :])(question)


DETAILS = "(address,uint256,address[],bytes,uint256,uint256,uint256)[]"
ARGUMENTS = {
    "c219a14d": ["address", "address", "uint256", "bytes", "uint256", "address"],
    "3af2c012": ["address", "uint256", "address[]", "bytes", "uint256", "address", "uint256", "uint256"],
    "ac473c8a": ["address", "uint256", "address[]", "bytes", "uint256", "address", "uint256"],
    "9af8a581": [DETAILS, "address[][]", "address"],
    "92cddb91": [f"(uint256,{DETAILS})[]", "address[][]", "address"],
    "c6e6d98b": ["address", "address[]", "uint256[]", "bytes[]", "uint256[]", "address"],
}


def encoded_again(index: int, change: Callable[[list[Any]], object], selector: str | None = None) -> Change:
    """Changes the arguments of a payment, whose call may become that of another function."""

    def apply(question: Json) -> None:
        data = question["transactions"][index]["data"][2:]
        arguments = as_lists(decode(ARGUMENTS[data[:8]], bytes.fromhex(data[8:])))
        change(arguments)
        called = selector or data[:8]
        question["transactions"][index]["data"] = "0x" + called + encode(ARGUMENTS[called], arguments).hex()

    return apply


def as_lists(value: Any) -> Any:
    return [as_lists(each) for each in value] if isinstance(value, tuple) else value


def in_a_group(arguments: list[Any]) -> None:
    """Puts the payments of batchERC20Payments into one group, as batchPayments takes them, which costs more gas."""
    arguments[0] = [(2, arguments[0])]


def put_argument(place: int, value: Any) -> Change:
    """Changes an argument of the last transaction."""
    return encoded_again(-1, lambda arguments: arguments.__setitem__(place, value))


def pay_another_token(question: Json) -> None:
    question["expected"]["payments"][1]["token"] = DAI.address
    encoded_again(1, lambda arguments: arguments[0][1].__setitem__(2, [DAI.address]))(question)


def pay_nothing_besides(question: Json) -> None:
    question["transactions"].append(dict(question["transactions"][-1]))
    encoded_again(-1, lambda arguments: arguments[0].clear())(question)


def set_a_bit_above_the_payee(question: Json) -> None:
    data, at = question["transactions"][1]["data"], 10 + 64 + 23
    question["transactions"][1]["data"] = data[:at] + "1" + data[at + 1 :]


STRANGER = evm_address("0x" + "5a" * 20)
PROXY, BATCH = (checkout_calldata.spender_of(USDC, batched) for batched in (False, True))
