"""Which conversions are payments of which amount, compared with npm @requestnetwork/payment-detection.

It accepts a conversion with any age of rates (0) and one that moved nothing, and it does not compare what was moved with
the path; these are not counted here (tests/payments/recording/test_valuation.py). Of several conversions in a transaction it takes
the tokens of the first for each, so the transactions here have one conversion each.
"""

import random
from dataclasses import replace
from typing import Any

from eth_abi import encode

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.conversions import conversion_proxy, on_chain_units
from chalicelib.chains.catalogue.tokens import Token, token_with_id
from chalicelib.chains.nodes.conversions.logs import CONVERSION_TOPIC
from chalicelib.chains.nodes.history.logs import ERC20_TRANSFER_TOPIC, NATIVE_TRANSFER_TOPIC
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.payments.recording.valuation import Accepted, needs_valuation_rate, value_transfer
from chalicelib.payments.requests.references import reference_topic
from chalicelib.payments.scanning.transfer_log import PayableId, entries_of
from tests.fakes.world import START
from tests.oracles.node import ask_detection
from tests.payments.recording.test_valuation import request_of

PAYEE, OTHER = "0xf17f52151EbEF6C7334FAD080c5704D77216b732", "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
REFERENCE = bytes.fromhex("86dfbccad783599a")
ACCEPTED = Accepted(tolerance_bps=0, max_rate_age=3600)


def token(id: str) -> Token:
    found = token_with_id(id)
    assert found is not None
    return found


USDC, DAI, ETH = token("USDC-mainnet"), token("DAI-mainnet"), token("ETH-mainnet")
INVOICES = [token(id) for id in ("USD", "EUR", "JPY", "DAI-mainnet")]


def conversion(chance: random.Random, payment: Token, number: int) -> list[dict[str, Any]]:
    """The two logs of a conversion; some of it is not what a request of an amount in USD asked for."""
    payee, reference = chance.choice([PAYEE, PAYEE, OTHER]), chance.choice([REFERENCE, REFERENCE, b"\7" * 8])
    address = [] if payment.is_native else [chance.choice([payment.address, payment.address, DAI.address])]
    types = [*["address" for _ in address], "address", "uint256", "uint256", "address"]
    amount, fee = chance.randrange(1, 10**12), chance.randrange(10**6)
    hash = chance.choice(INVOICES).hash
    second = [chance.randrange(1, 10**12), hash, chance.randrange(10**8), chance.choice([1, 3599, 3600, 3601])]
    topic = NATIVE_TRANSFER_TOPIC if payment.is_native else ERC20_TRANSFER_TOPIC
    place = {
        "address": conversion_proxy(payment),
        "transactionHash": f"0x{number:064x}",
        "blockHash": f"0x{number:064x}",
        "blockNumber": hex(number),
    }
    return [
        {"topics": [topic, reference_topic(reference)], "data": "0x" + encode(types, [*address, payee, amount, fee, OTHER]).hex(),
         "logIndex": "0x3", **place},
        {"topics": [CONVERSION_TOPIC, reference_topic(reference)],
         "data": "0x" + encode(["uint256", "address", "uint256", "uint256"], second).hex(), "logIndex": "0x4", **place},
    ]  # fmt: skip


def ours(invoice: Token, payment: Token, logs: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The conversions that count for what they say, as the oracle shows them."""
    request = replace(request_of(invoice, payment), payee=PAYEE)
    topic, address = reference_topic(REFERENCE), None if payment.is_native else payment.address.lower()
    dated = (replace(each, paid_at=START) for each in transfers_of("mainnet", logs) if each.reference_topic == topic)
    found = []
    for each in entries_of(dated, {topic: PayableId(request.payable_id, request.account_id)}, START):
        entry = replace(each, path_amount=BaseUnits(each.amount))
        if entry.payee != PAYEE.lower() or entry.token_address != address or needs_valuation_rate(request, entry, ACCEPTED):
            continue
        amount = BaseUnits(value_transfer(request, entry, None, ACCEPTED).value // on_chain_units(invoice, 1))
        found.append({"amount": str(amount), "moved": str(entry.amount), "txHash": entry.tx_hash})
    return found


def test_the_same_conversions_are_payments_of_the_same_amounts() -> None:
    chance, questions, expected = random.Random(7), [], []
    for _ in range(120):
        payment = chance.choice([USDC, ETH])
        invoice = chance.choice([each for each in INVOICES if each != payment])
        logs = [log for number in range(1, 13) for log in conversion(chance, payment, number)]
        expected.append(ours(invoice, payment, logs))
        questions.append(
            {
                "currency": {"hash": invoice.hash, "type": invoice.type, "decimals": invoice.decimals},
                "reference": REFERENCE.hex(),
                "proxy": conversion_proxy(payment),
                "payee": PAYEE,
                "token": None if payment.is_native else payment.address,
                "maxRateAge": ACCEPTED.max_rate_age,
                "logs": [{**each, "blockNumber": int(each["blockNumber"], 16)} for each in logs],
            }
        )
    assert ask_detection(questions) == expected
    assert sum(map(len, expected)) > 60
