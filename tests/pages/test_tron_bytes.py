"""The page's tron.js takes a transaction as npm tronweb writes it, and no bytes that are more or other than that call."""

import random
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from chalicelib.base.addresses import tron_address_of
from chalicelib.chains.calldata.tron import TronTransaction, decode_raw, encode_raw
from tests.base.tron_vector_files import find, folder
from tests.chains.calldata.test_tron import CALL, altered, as_json
from tests.oracles.node import run

DRIVER = str(Path(__file__).parent / "tron_driver.js")
Json = dict[str, Any]


def asked(call: TronTransaction, raw: bytes, shown: TronTransaction | None = None) -> Json:
    """What the page asks for, and as what it comes back from the wallet: these bytes, and what it shows of them."""
    facts = {"owner": call.owner, "to": call.contract, "input": call.data[2:], "callValue": call.call_value}
    transaction = {"raw_data": as_json(shown or call)["raw_data"], "raw_data_hex": raw.hex()}
    return facts | {"feeLimit": call.fee_limit, "until": call.expiration, "transaction": transaction}


def refusals(*questions: Json) -> list[str | None]:
    return list(run(DRIVER, questions))


def test_what_tronweb_writes_is_what_was_asked_for() -> None:
    chance = random.Random(5)
    calls = [
        replace(
            CALL,
            contract=tron_address_of(chance.randbytes(20)),
            data="0x" + chance.randbytes(chance.choice((4, 68, 300, 40_000))).hex(),
            call_value=chance.choice((0, 1, 127, 128, chance.randrange(2**53))),
            fee_limit=chance.choice((1, chance.randrange(15 * 10**9))),
            permission_id=chance.choice((0, 2)),
        )
        for _ in range(20)
    ]
    written = [bytes.fromhex(each["raw_data_hex"]) for each in run("tron_transactions.js", [as_json(each) for each in calls])]
    vectors = [bytes.fromhex(each.entry["raw_data_hex"]) for each in find(folder())[0] if "raw_data_hex" in each.entry]
    known = [*zip(calls, written, strict=True), *((decode_raw(raw), raw) for raw in vectors)]
    assert vectors and refusals(*(asked(call, raw) for call, raw in known)) == [None] * len(known)


def test_bytes_of_anything_else_are_refused_whatever_is_shown() -> None:
    others = {
        "another owner": replace(CALL, owner=tron_address_of(b"\x66" * 20)),
        "another contract": replace(CALL, contract=tron_address_of(b"\x66" * 20)),
        "other data": replace(CALL, data=CALL.data[:-2] + "01"),
        "coins": replace(CALL, call_value=1),
        "a higher fee limit": replace(CALL, fee_limit=CALL.fee_limit + 1),
        "valid for longer": replace(CALL, expiration=CALL.expiration + 1),
        "a note": replace(CALL, memo=b"which costs a coin"),
    }
    changed = altered() | {name: encode_raw(each) for name, each in others.items()}
    found = dict(zip(changed, refusals(*(asked(CALL, raw) for raw in changed.values())), strict=True))
    assert found == dict.fromkeys(changed, "other bytes")


def test_what_is_shown_is_refused_when_it_is_not_what_was_asked_for_whatever_the_bytes() -> None:
    shown = {
        "another transaction": replace(CALL, call_value=1),
        "a higher fee limit": replace(CALL, fee_limit=CALL.fee_limit + 1),
        "valid for too long": replace(CALL, expiration=CALL.expiration + 1),
    }
    questions = [asked(CALL, encode_raw(each), each) for each in shown.values()]
    assert refusals(*questions) == [*shown]
    odd = asked(CALL, encode_raw(CALL))
    odds: list[Json] = [deepcopy(odd) for _ in range(3)]
    for each, value in zip(odds, (1.5, -1, "5"), strict=True):
        each["transaction"]["raw_data"]["timestamp"] = value
    assert refusals(*odds) == ["not a number"] * 3


def test_a_byte_turned_over_anywhere_is_refused() -> None:
    raw = encode_raw(CALL)
    flipped = [raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :] for place in range(len(raw))]
    assert refusals(*(asked(CALL, each) for each in flipped)) == ["other bytes"] * len(raw)
