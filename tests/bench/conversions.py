"""Calldata of conversions, single and in a batch: compared with the npm package, which must return the same bytes.

Both start with what an invoice says: they look up the path of feeds and compute the payment reference.
"""

import statistics
from collections.abc import Callable
from typing import Any

from chalicelib.chains.calldata.batch import BatchItem, pay_batch
from chalicelib.chains.calldata.conversions.proxy import pay_erc20_converted, pay_native_converted
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import token_with_id
from tests.bench.figures import ROUNDS, Figure, cpu
from tests.chains.calldata.payment_builder import FEE_ADDRESS, Item
from tests.oracles.node import ask_builder

BATCHED = 20
_CALLS = 200
BUILDER = "npm @requestnetwork/payment-processor"


def measure() -> list[Figure]:
    """Returns CPU microseconds for the calldata of one transaction, after imports and a warm-up."""
    token, coin = _item("USDC-mainnet", 0), _item("ETH-mainnet", 0)
    many = [_item("USDC-mainnet", number) for number in range(BATCHED)]
    return [
        _figure("conversion to a token", {"ask": "erc20", "item": token.asked()}, lambda: _single(token)),
        _figure("conversion to the native coin", {"ask": "native", "item": coin.asked()}, lambda: _single(coin)),
        _figure(
            f"batch of {BATCHED} conversions",
            {"ask": "batch", "items": [item.asked() for item in many]},
            lambda: pay_batch("mainnet", [_batched(item) for item in many], FEE_ADDRESS),
        ),
    ]


def _figure(name: str, question: dict[str, Any], build: Callable[[], Transaction]) -> Figure:
    (made,) = ask_builder([question])
    built = build()
    if (made["to"], made["data"]) != (built.to, built.data):
        raise AssertionError(f"{name}: the two do not build the same bytes, so their times cannot be compared")
    return beside_package(name, question, build, _CALLS, 0.1)


def beside_package(
    name: str, question: dict[str, Any], build: Callable[[], object], calls: int, goal: float
) -> Figure:
    """Returns CPU microseconds of building, and of the package's answer to a question, after a warm-up; in turns."""

    def by_package(times: int) -> float:
        (seconds,) = ask_builder([{"ask": "seconds", "question": question, "times": times}])
        return float(seconds) / times

    by_package(calls // 2)
    turns = [(cpu(build, calls) / calls, by_package(calls // 5)) for _ in range(ROUNDS)]
    value, reference = (statistics.median(taken) * 1e6 for taken in zip(*turns, strict=True))
    return Figure(name, value, "us", BUILDER, reference, goal)


def _item(payment: str, number: int) -> Item:
    invoice, paid = token_with_id("EUR"), token_with_id(payment)
    assert invoice is not None and paid is not None
    payee = f"0x{0xA11CE0000 + number:040x}"
    return Item(invoice, paid, payee, 1250 + number, 13, 10**16, 3600, f"01{number:064x}", f"{number:016x}")


def _single(item: Item) -> Transaction:
    pay = pay_native_converted if item.payment.is_native else pay_erc20_converted
    return pay("mainnet", item.converted())


def _batched(item: Item) -> BatchItem:
    payment = item.converted()
    amounts = payment.amount, payment.reference, payment.fee_amount
    return BatchItem(item.payment.address, payment.payee, *amounts, payment.conversion)
