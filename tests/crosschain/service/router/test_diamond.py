"""Routes through LI.FI's diamond: what it takes, deposits and leads to is read from the bytes, and nothing else passes."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.chains.calldata.bridges.across import decode_message, encode_message
from chalicelib.chains.calldata.bridges.lifi import decode_diamond, decode_receiver_message
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, LIFI_DIAMOND, address_of
from chalicelib.chains.catalogue.networks import find_network
from chalicelib.crosschain.core.bridged_calls import read_source
from chalicelib.crosschain.service.router.verification import Limits, RouteRefused, verify
from chalicelib.platform.outbound.lifi import step_of
from tests.fakes.router import deposit_of
from tests.fakes.world import START

from .diamond import FORWARDER, ONE, TREASURY, Call, answer, data, message, true_call
from .hostile import anybody
from .routes import PAYER, STRANGER, question, wanted

NOW, LIMITS = int(START.timestamp()), Limits(200, 5)
FEES = ((TREASURY, 30_000), (STRANGER, 1_500))
PAYMENT = wanted()
ASKED = question(PAYMENT)


def passes(call: Call) -> bool:
    try:
        verify(step_of(answer(call, ASKED)), PAYMENT, START, LIMITS)
    except RouteRefused:
        return False
    return True


@pytest.mark.parametrize(
    ("fees", "destination"),
    [((), "ARBITRUM"), (FEES[:1], "ARBITRUM"), (FEES, "ARBITRUM"), ((), "BNB")],  # its multiplier has no room for 12 decimals more
)
def test_a_true_quote_passes_and_takes_what_it_deposits_and_its_fees(fees: Any, destination: str) -> None:
    payment = wanted("OPTIMISM", destination)
    call = true_call(question(payment), NOW, fees)
    route = verify(step_of(answer(call, question(payment))), payment, START, LIMITS)
    assert route.spender == route.transaction.to == address_of(LIFI_DIAMOND, "optimism")
    assert route.source_amount == call.deposit.input_amount + sum(amount for _, amount in fees)


def test_what_it_leads_to_is_read_from_the_bytes_alone() -> None:
    base = find_network("base")
    assert base is not None
    found = read_source(base, address_of(LIFI_DIAMOND, "base"), data(true_call(ASKED, NOW, FEES)))
    assert found is not None
    assert (found.target, found.data, found.amount, found.fallback) == (PAYMENT.call.to, PAYMENT.call.data, PAYMENT.amount, PAYER)
    assert (found.taken, found.destination.name) == (12_655_100 + 31_500, "arbitrum-one")
    assert (found.deposit.input_amount, found.deposit.depositor) == (12_655_100, PAYER)
    assert found.resets, "LI.FI's own contracts withdraw an earlier allowance where that is needed"
    assert read_source(base, address_of(LIFI_DIAMOND, "base"), "0x7b939232") is None


def test_the_same_bytes_for_any_other_contract_are_nothing_that_passes() -> None:
    true = answer(true_call(ASKED, NOW, FEES), ASKED)
    for other in (STRANGER, address_of(ACROSS_SPOKE_POOL, "base"), ASKED.from_token):
        estimate = {**true["estimate"], "approvalAddress": other}
        changed = {**true, "estimate": estimate, "transactionRequest": {**true["transactionRequest"], "to": other}}
        with pytest.raises(RouteRefused, match="is not one that this service can read"):
            verify(step_of(changed), PAYMENT, START, LIMITS)


def test_something_left_over_for_the_fallback_passes_and_less_than_is_due_does_not() -> None:
    call = true_call(ASKED, NOW)
    assert passes(replace(call, deposit=replace(call.deposit, output_amount=call.deposit.output_amount + 1000)))
    assert not passes(replace(call, deposit=replace(call.deposit, output_amount=call.deposit.output_amount - 1)))
    assert not passes(replace(call, deposit=replace(call.deposit, output_amount=2 * call.deposit.output_amount)))
    assert not passes(replace(true_call(ASKED, NOW, FEES), multiplier=ONE * 99 // 100))


def with_message(call: Call, **changes: Any) -> Call:
    """The call with another message for the other chain."""
    true = (ASKED.to_token, ASKED.target, ASKED.calldata, ASKED.to_amount, ASKED.fallback)
    fields = dict(zip(("token", "target", "calldata", "amount", "receiver"), true, strict=True))
    return replace(call, deposit=replace(call.deposit, message=message(**{**fields, **changes})))


MUTATIONS: dict[str, Any] = {
    "depositor": lambda call, r: replace(call, deposit=replace(call.deposit, depositor=anybody(r))),
    "recipient": lambda call, r: replace(call, deposit=replace(call.deposit, recipient=anybody(r))),
    "handler of the bridge": lambda call, r: replace(
        call, deposit=replace(call.deposit, recipient="0x0F7Ae28dE1C8532170AD4ee566B5801485c13a0E")
    ),
    "message of the handler": lambda call, r: replace(
        call, deposit=replace(call.deposit, message=encode_message(_handler_message()))
    ),
    "input token": lambda call, r: replace(call, deposit=replace(call.deposit, input_token=anybody(r))),
    "output token": lambda call, r: replace(call, deposit=replace(call.deposit, output_token=anybody(r))),
    "chain": lambda call, r: replace(call, deposit=replace(call.deposit, destination_chain_id=r.choice([10, 137, 56, 5]))),
    "takes too much": lambda call, r: replace(call, deposit=replace(call.deposit, input_amount=2 * call.deposit.input_amount)),
    "fees too high": lambda call, r: replace(call, fees=((anybody(r), 10**8),)),
    "relayer": lambda call, r: replace(call, deposit=replace(call.deposit, exclusive_relayer=anybody(r), exclusivity=NOW + 3600)),
    "fill deadline": lambda call, r: replace(call, deposit=replace(call.deposit, fill_deadline=NOW + r.choice([60, 10**6]))),
    "quote": lambda call, r: replace(call, deposit=replace(call.deposit, quote_timestamp=NOW + r.choice([-4000, 4000]))),
    "call of another": lambda call, r: with_message(call, target=anybody(r)),
    "other calldata": lambda call, r: with_message(call, calldata=ASKED.calldata[:-2] + "01"),
    "more bytes": lambda call, r: with_message(call, calldata=ASKED.calldata + "00"),
    "another payee": lambda call, r: with_message(call, calldata=ASKED.calldata.replace("f17f52151ebef6c7334fad080c5704d77216b732", r.randbytes(20).hex())),
    "other amount": lambda call, r: with_message(call, amount=ASKED.to_amount + r.choice([-1, 1, 10**9])),
    "other token there": lambda call, r: with_message(call, token=anybody(r)),
    "receiver": lambda call, r: with_message(call, receiver=anybody(r)),
    "two calls": lambda call, r: with_message(call, times=2),
    "no call": lambda call, r: with_message(call, times=0),
    "other spender": lambda call, r: with_message(call, spender=anybody(r)),
    "no destination call": lambda call, r: replace(call, has_call=False),
    "flag of swaps": lambda call, r: replace(call, has_swaps=not call.fees),
    "bytes behind the message": lambda call, r: replace(call, deposit=replace(call.deposit, message=call.deposit.message + bytes(32))),
}
OF_FEES: dict[str, Any] = {
    "another swap": lambda call, r: replace(call, more_swaps=1),
    "keeps less than it may": lambda call, r: replace(call, least=call.deposit.input_amount - r.randint(1, 10**6)),
    "swaps tokens": lambda call, r: replace(call, swap={"receivingAssetId": anybody(r)}),
    "of another token": lambda call, r: replace(call, swap={"sendingAssetId": anybody(r)}),
    "another spender": lambda call, r: replace(call, swap={"approveTo": anybody(r)}),
    "takes more": lambda call, r: replace(call, swap={"fromAmount": call.taken + r.randint(1, 10**6)}),
    "is not taken": lambda call, r: replace(call, swap={"requiresDeposit": False}),
    "another function": lambda call, r: replace(call, swap={"callData": bytes.fromhex("a9059cbb") + r.randbytes(64)}),
    "no function": lambda call, r: replace(call, swap={"callData": b""}),
}


def _handler_message() -> Any:
    found = decode_message(deposit_of(ASKED, NOW).message)
    assert found is not None
    return found


@pytest.mark.parametrize("name", [*MUTATIONS, *OF_FEES])
def test_no_mutation_of_a_true_quote_passes(name: str) -> None:
    random = Random(name)
    change = MUTATIONS.get(name) or OF_FEES[name]
    for _ in range(10):
        for call in (true_call(ASKED, NOW, FEES), *([true_call(ASKED, NOW)] if name in MUTATIONS else [])):
            assert passes(call)
            mutated = change(call, random)
            assert data(mutated) != data(call)
            assert not passes(mutated)


def test_any_byte_that_changes_what_happens_is_noticed() -> None:
    """Every byte of both forms but those of texts, ids, referrer and receiver of the event, and of the two times."""
    for call in (true_call(ASKED, NOW), true_call(ASKED, NOW, FEES)):
        base = find_network("base")
        assert base is not None
        true = read_source(base, address_of(LIFI_DIAMOND, "base"), data(call))
        raw = bytes.fromhex(data(call)[2:])
        random, refused, other = Random(1), 0, 0
        for place in range(4, len(raw)):
            changed = bytearray(raw)
            changed[place] ^= random.randint(1, 255)
            found = read_source(base, address_of(LIFI_DIAMOND, "base"), "0x" + changed.hex())
            refused += found is None
            other += found is not None and found != true
        assert refused + other > 0.8 * len(raw), "the rest says nothing about where tokens go"


@given(st.binary(max_size=400), st.sampled_from(["df87ec62", "a629fcbf", ""]))
def test_other_bytes_are_no_deposit_and_no_message(raw: bytes, selector: str) -> None:
    assert decode_diamond("0x" + selector + raw.hex()) is None
    assert decode_receiver_message(raw) is None


def test_data_that_is_no_hex_is_no_deposit() -> None:
    assert decode_diamond("0xzz") is None and decode_diamond("") is None


def test_the_contract_that_forwards_fees_may_change_as_the_bound_is_the_diamonds_own() -> None:
    """The diamond reverts unless what has to be deposited is left, whatever it calls before."""
    assert FORWARDER != STRANGER
    assert passes(replace(true_call(ASKED, NOW, FEES), swap={"callTo": STRANGER, "approveTo": STRANGER}))
