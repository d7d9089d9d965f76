"""Signatures for something else than the gasless payment, of somebody else, or broken ones: none is accepted."""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.errors import BadRequest, Conflict
from chalicelib.gasless.records import GaslessPayment, Stage
from infra.local.chain import Chain
from tests.fakes.world import in_process_aws
from tests.onchain.gasless import HAD, Shop
from tests.support.rehearsed import few

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
STRANGER = "0x" + "ef" * 20
NUMBER = int(os.environ.get("HOSTILE_SIGNATURES", "500"))
"""`make chaos` has 10,000."""


@pytest.fixture
def shop(chain_of: Callable[[str], Chain]) -> Iterator[Shop]:
    with in_process_aws() as client:
        yield Shop(client, chain_of("base"))


def value_of(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def apply(typed: dict[str, Any]) -> None:
        typed["values"][name] = change(typed["values"][name])

    return apply


def domain_of(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(typed: dict[str, Any]) -> None:
        typed["domain"] = {**typed["domain"], name: value}

    return apply


def renamed(typed: dict[str, Any]) -> None:
    """As TransferWithAuthorization, which anybody may send."""
    typed["types"] = {"TransferWithAuthorization": typed["types"]["ReceiveWithAuthorization"]}


CHANGES: tuple[Callable[[dict[str, Any]], None], ...] = (
    value_of("value", lambda value: value + 1),
    value_of("value", lambda value: value - 1),
    value_of("value", lambda value: 2**255),
    value_of("to", lambda to: STRANGER),
    value_of("from", lambda payer: STRANGER),
    value_of("validAfter", lambda after: 1),
    value_of("validBefore", lambda before: before + 1),
    value_of("validBefore", lambda before: 2**40),
    value_of("nonce", lambda nonce: "0x" + "00" * 32),
    value_of("nonce", lambda nonce: nonce[:-1] + ("0" if nonce[-1] != "0" else "1")),
    domain_of("chainId", 1),
    domain_of("chainId", 0),
    domain_of("verifyingContract", STRANGER),
    domain_of("name", "USDC"),
    domain_of("version", "1"),
    renamed,
)


def broken(signature: str, chance: random.Random) -> str:
    """A right signature with one flaw."""
    raw = bytearray.fromhex(signature[2:])
    r, s, v = raw[:32], int.from_bytes(raw[32:64], "big"), raw[64]
    flaw = chance.randrange(8)
    if flaw == 0:
        raw[chance.randrange(64)] ^= 1 << chance.randrange(8)
    elif flaw == 1:  # the other form of the same signature, with a high s
        raw = r + (ORDER - s).to_bytes(32, "big") + bytes([27 + (28 - v)])
    elif flaw == 2:
        raw[64] = chance.choice([each for each in range(256) if each not in (v, v - 27)])
    elif flaw == 3:
        raw = raw[:64]  # the compact form, or half of one
    elif flaw == 4:
        raw += bytes(chance.randrange(1, 200))
    elif flaw == 5:
        raw = bytearray(65)
    elif flaw == 6:
        raw = bytearray(chance.randbytes(chance.choice([65, 65, 66, 130, 1_024])))
    else:
        raw = raw[32:64] + raw[:32] + raw[64:]
    return "0x" + raw.hex()


def hostile(shop: Shop, made: GaslessPayment, other: GaslessPayment, payer: Any, chance: random.Random) -> str:
    kind = chance.randrange(5)
    if kind == 0:
        return shop.sign(made, payer, chance.choice(CHANGES))
    if kind == 1:
        return broken(shop.sign(made, payer), chance)
    if kind == 2:  # another wallet signs
        return shop.sign(made, Account.from_key(chance.randbytes(32)))
    if kind == 3:  # for another payment of the same payer
        return shop.sign(other, payer)
    terms = {
        "value": made.authorization.value + chance.randrange(1, 10**9),
        "valid_before": made.authorization.valid_before + chance.randrange(1, 10**9),
        "nonce": "0x" + chance.randbytes(32).hex(),
    }
    changed = replace(made.authorization, **dict([chance.choice(list(terms.items()))]))  # type: ignore[arg-type]
    return shop.sign(replace(made, authorization=changed), payer)


@pytest.mark.parametrize("number", few([60], [60, NUMBER]))
def test_no_hostile_signature_is_accepted_and_nothing_is_taken(shop: Shop, number: int) -> None:
    chance, payer = random.Random(32), shop.payer()
    offers = [shop.offer(shop.request(), payer.address), shop.offer_link(shop.link(), payer.address)]
    accepted = []
    for _ in range(number):
        made, other = chance.sample(offers, 2)
        text = hostile(shop, made, other, payer, chance)
        try:
            shop.accept(made, text)
        except BadRequest:
            continue
        accepted.append(text)
    assert accepted == []
    assert all(shop.load(each).stage is Stage.OFFERED and not shop.loaded(each).is_executed for each in offers)
    assert shop.balance(payer.address) == HAD
    for each in offers:
        shop.accept(each, shop.sign(each, payer))  # the right one is
        assert shop.run_to(each, Stage.PAID).authorization == each.authorization
    assert shop.balance(payer.address) == HAD - sum(each.authorization.value for each in offers)


def test_a_signature_is_good_for_one_payment_once(shop: Shop) -> None:
    payer = shop.payer()
    made = shop.offer(shop.request(), payer.address)
    signature = shop.sign(made, payer)
    shop.accept(made, signature)
    with pytest.raises(Conflict, match="Another signature"):
        shop.accept(made, "0x" + "11" * 65)
    shop.run_to(made, Stage.PAID)
    assert shop.accept(made, signature).stage is Stage.PAID
    for _ in range(3):
        shop.run()
    assert shop.balance(payer.address) == HAD - made.authorization.value


def test_a_signature_that_comes_too_late_is_refused(shop: Shop) -> None:
    payer = shop.payer()
    made = shop.offer(shop.request(), payer.address)
    signature = shop.sign(made, payer)
    shop.world.advance(14 * 60)
    with pytest.raises(BadRequest, match="expired"):
        shop.accept(made, signature)
    assert shop.balance(payer.address) == HAD
