"""What a hostile or broken router may answer in place of a true quote: each function changes one thing that matters.

A mutation gets the true deposit, the question and a source of randomness, and returns the whole answer. Where a field
beside the calldata says the same as the calldata, both are changed, so that no mutation is caught by a contradiction
alone that names the contradiction: `CONTRADICTIONS` hold those.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.chains.calldata.bridges.across import (
    Deposit,
    HandlerMessage,
    decode_message,
    encode_deposit,
    encode_message,
)
from chalicelib.chains.calldata.fee_proxy import pay_erc20
from chalicelib.chains.calldata.tokens.erc20 import approve, transfer_from
from chalicelib.chains.catalogue.bridges import source_networks, source_token
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    ERC20_FEE_PROXY,
    LIFI_DIAMOND,
    address_of,
)
from chalicelib.chains.catalogue.networks import network_of_chain
from chalicelib.platform.outbound.lifi import QuoteCall
from tests.fakes.router import answer_of

from .routes import FEE_ADDRESS, PAYEE, REFERENCE

Answer = dict[str, Any]
Mutation = Callable[[Deposit, QuoteCall, Random], Answer]


def anybody(random: Random) -> str:
    return evm_address("0x" + random.randbytes(20).hex())


def with_transaction(answer: Answer, **fields: Any) -> Answer:
    return {**answer, "transactionRequest": {**answer["transactionRequest"], **fields}}


def with_estimate(answer: Answer, **fields: Any) -> Answer:
    return {**answer, "estimate": {**answer["estimate"], **fields}}


def with_data(deposit: Deposit, question: QuoteCall, data: str) -> Answer:
    return with_transaction(answer_of(deposit, question), data=data)


def with_message(deposit: Deposit, question: QuoteCall, change: Callable[[HandlerMessage], HandlerMessage]) -> Answer:
    message = decode_message(deposit.message)
    assert message is not None
    return answer_of(replace(deposit, message=encode_message(change(message))), question)


def with_call(deposit: Deposit, question: QuoteCall, place: int, call: tuple[str, str, int]) -> Answer:
    """The call at a place of the message, the approval or the payment, replaced."""

    def change(message: HandlerMessage) -> HandlerMessage:
        calls = list(message.calls)
        calls[place] = call
        return replace(message, calls=tuple(calls))

    return with_message(deposit, question, change)


def network_name(chain_id: int) -> str:
    found = network_of_chain(chain_id)
    assert found is not None
    return found.name


def other_chain(chain_id: int, random: Random) -> int:
    return random.choice([each.chain_id for each in source_networks() if each.chain_id != chain_id])


def stablecoins(chain_id: int, random: Random) -> list[str]:
    """The token addresses of a chain, and one of nobody."""
    label = next(each.label for each in source_networks() if each.chain_id == chain_id)
    found = [source_token(label, symbol) for symbol in ("USDC", "USDT")]
    return [*(each.address for each in found if each is not None), anybody(random)]


# the fields that a wallet signs beside the calldata


def spender(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_estimate(answer_of(deposit, question), approvalAddress=anybody(random))


def target(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """Another contract, which the tokens are approved for as well."""
    chain = network_name(question.from_chain)
    others = [
        anybody(random),
        address_of(ACROSS_HANDLER, chain),
        question.from_token,
        address_of(ERC20_FEE_PROXY, chain),
    ]
    spoke_elsewhere = address_of(ACROSS_SPOKE_POOL, network_name(other_chain(question.from_chain, random)))
    to = random.choice([*others, spoke_elsewhere, address_of(LIFI_DIAMOND, chain)])
    return with_estimate(with_transaction(answer_of(deposit, question), to=to), approvalAddress=to)


def target_alone(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_transaction(answer_of(deposit, question), to=anybody(random))


def native_value(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_transaction(answer_of(deposit, question), value=hex(random.choice([1, 10**15, 2**255])))


def sender(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_transaction(answer_of(deposit, question), **{"from": anybody(random)})


def chain(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_transaction(answer_of(deposit, question), chainId=other_chain(question.from_chain, random))


def gas(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    limit = random.choice([0, 21_000, 1_500_001, 30_000_000, 2**64])
    return with_transaction(answer_of(deposit, question), gasLimit=hex(limit))


def another_function(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """A call of the token instead of the bridge: an approval or a transfer that a payer might sign unread."""
    token, amount = question.from_token, random.choice([deposit.input_amount, 2**256 - 1])
    call = random.choice(
        [approve(token, anybody(random), amount), transfer_from(token, question.from_address, anybody(random), amount)]
    )
    to = random.choice([token, address_of(ACROSS_SPOKE_POOL, network_name(question.from_chain))])
    return with_estimate(with_transaction(answer_of(deposit, question), to=to, data=call.data), approvalAddress=to)


# the deposit


def depositor(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return answer_of(
        replace(deposit, depositor=random.choice([anybody(random), ZERO_ADDRESS, deposit.recipient])), question
    )


def recipient(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    proxy = address_of(ERC20_FEE_PROXY, network_name(question.to_chain))
    return answer_of(
        replace(deposit, recipient=random.choice([anybody(random), question.from_address, PAYEE, proxy])), question
    )


def input_token(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    others = [each for each in stablecoins(question.from_chain, random) if each != question.from_token]
    return answer_of(replace(deposit, input_token=random.choice(others)), question)


def output_token(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    others = [each for each in stablecoins(question.to_chain, random) if each != question.to_token]
    return answer_of(replace(deposit, output_token=random.choice(others)), question)


def another_token_all_the_way(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """Another token arrives, and is what the fee proxy may take."""
    others = [each for each in stablecoins(question.to_chain, random) if each != question.to_token]
    token = random.choice(others)
    approval = approve(token, question.target, question.to_amount)
    message = HandlerMessage(
        ((approval.to, approval.data, 0), (question.target, question.calldata, 0)), question.fallback
    )
    return answer_of(replace(deposit, output_token=token, message=encode_message(message)), question)


def takes_too_much(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return answer_of(replace(deposit, input_amount=deposit.input_amount * random.choice([2, 10, 10**6])), question)


def takes_too_little(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return answer_of(replace(deposit, input_amount=random.choice([0, 1, deposit.input_amount * 95 // 100])), question)


def brings_another_amount(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    other = deposit.output_amount + random.choice(
        [-1, 1, -deposit.output_amount, deposit.output_amount, -(deposit.output_amount // 2)]
    )
    return answer_of(replace(deposit, output_amount=other), question)


def another_destination(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    other = random.choice([other_chain(question.to_chain, random), 11155111, 100, 2**200])
    return answer_of(replace(deposit, destination_chain_id=other), question)


def another_destination_in_all(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """The whole payment on another chain, whose own contracts it names."""
    other = other_chain(question.to_chain, random)
    token = stablecoins(other, random)[0]
    proxy = address_of(ERC20_FEE_PROXY, network_name(other))
    approval = approve(token, proxy, question.to_amount)
    message = HandlerMessage(((approval.to, approval.data, 0), (proxy, question.calldata, 0)), question.fallback)
    handler = address_of(ACROSS_HANDLER, network_name(other))
    moved = replace(
        deposit, destination_chain_id=other, recipient=handler, output_token=token, message=encode_message(message)
    )
    return answer_of(moved, question)


def exclusive_relayer(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    seconds = random.choice([61, 3600, 365 * 24 * 3600, deposit.quote_timestamp + 3600, 2**32 - 1])
    return answer_of(replace(deposit, exclusive_relayer=anybody(random), exclusivity=seconds), question)


def half_an_exclusivity(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    change = random.choice([{"exclusive_relayer": anybody(random)}, {"exclusivity": random.randint(1, 60)}])
    return answer_of(replace(deposit, **change), question)


def quote_time(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """So old that the source chain would not accept it when it is signed, or in the future, when it does not yet."""
    other = deposit.quote_timestamp + random.choice([-3600, -3400, -86_400, 120, 86_400])
    return answer_of(replace(deposit, quote_timestamp=other), question)


def fill_deadline(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    other = deposit.quote_timestamp + random.choice([-1, 0, 60, 600, 24 * 3600 + 1, 30 * 86_400])
    return answer_of(replace(deposit, fill_deadline=other), question)


# the message


def fallback(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    other = random.choice([anybody(random), ZERO_ADDRESS, deposit.recipient])
    return with_message(deposit, question, lambda message: replace(message, fallback=other))


def extra_call(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    theft = approve(question.to_token, anybody(random), 2**256 - 1)
    place = random.randint(0, 2)
    extra = random.choice(
        [(theft.to, theft.data, 0), (anybody(random), "0x", 0), (question.target, question.calldata, 0)]
    )
    return with_message(
        deposit,
        question,
        lambda message: replace(message, calls=(*message.calls[:place], extra, *message.calls[place:])),
    )


def missing_call(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    kept = random.choice([slice(0, 0), slice(0, 1), slice(1, 2)])
    return with_message(deposit, question, lambda message: replace(message, calls=message.calls[kept]))


def calls_in_another_order(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_message(deposit, question, lambda message: replace(message, calls=message.calls[::-1]))


def no_message(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return answer_of(replace(deposit, message=random.choice([b"", bytes(32), random.randbytes(64)])), question)


def another_approval(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    amount, token, proxy = question.to_amount, question.to_token, question.target
    call = random.choice(
        [
            approve(token, anybody(random), amount),
            approve(token, proxy, amount - 1),
            approve(token, proxy, 2**256 - 1),
            approve(anybody(random), proxy, amount),
            transfer_from(token, deposit.recipient, anybody(random), amount),
        ]
    )
    return with_call(deposit, question, 0, (call.to, call.data, 0))


def wrong_reset(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """An approval of 0 of something else, twice or too late; or none where the payment could be made to fail so."""
    token, proxy = question.to_token, question.target
    zero, granted, other = (
        (each.to, each.data, 0)
        for each in (
            approve(token, proxy, 0),
            approve(token, proxy, question.to_amount),
            random.choice([approve(token, anybody(random), 0), approve(anybody(random), proxy, 0)]),
        )
    )
    paid = (proxy, question.calldata, 0)
    wrong = [(other, granted, paid), (granted, zero, paid), (zero, zero, granted, paid), (granted, paid, zero)]
    if len(deposit_calls(deposit)) == 3:
        wrong.append((granted, paid))
    calls = random.choice(wrong)
    return with_message(deposit, question, lambda message: replace(message, calls=calls))


def deposit_calls(deposit: Deposit) -> tuple[tuple[str, str, int], ...]:
    message = decode_message(deposit.message)
    assert message is not None
    return message.calls


def another_payment(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """The call of the fee proxy with one argument changed: our reference with another payee above all."""
    fee = question.to_amount // 101
    true = {
        "token": question.to_token,
        "payee": PAYEE,
        "amount": question.to_amount - fee,
        "reference": REFERENCE,
        "fee_amount": fee,
        "fee_address": FEE_ADDRESS,
    }
    wrong = {
        "token": anybody(random),
        "payee": random.choice([anybody(random), question.from_address, FEE_ADDRESS]),
        "amount": random.choice([1, question.to_amount - fee - 1, question.to_amount - fee + 1]),
        "reference": random.randbytes(8),
        "fee_amount": random.choice([fee - 1, fee + 1, 2 * fee]),
        "fee_address": random.choice([anybody(random), PAYEE]),
    }
    name = random.choice(["payee", "payee", *wrong])
    call = pay_erc20(network_name(question.to_chain), **{**true, name: wrong[name]})  # type: ignore[arg-type]
    return with_call(deposit, question, -1, (question.target, call.data, 0))


def another_contract_called(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """A contract of its own, which gets the approval as well."""
    other = anybody(random)
    approval = approve(question.to_token, other, question.to_amount)
    message = HandlerMessage(((approval.to, approval.data, 0), (other, question.calldata, 0)), question.fallback)
    return answer_of(replace(deposit, message=encode_message(message)), question)


def value_of_a_call(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    approval = approve(question.to_token, question.target, question.to_amount)
    calls = [(approval.to, approval.data, 0), (question.target, question.calldata, 0)]
    place = random.randint(0, 1)
    return with_call(deposit, question, place, (*calls[place][:2], random.choice([1, 10**18])))


def bytes_behind_the_payment(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    data = question.calldata + random.randbytes(random.randint(1, 64)).hex()
    return with_call(deposit, question, -1, (question.target, data, 0))


# the encoding


def trailing_bytes(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_data(deposit, question, encode_deposit(deposit) + random.randbytes(random.choice([1, 4, 32, 64])).hex())


def cut_off(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return with_data(deposit, question, encode_deposit(deposit)[: -2 * random.choice([1, 4, 31, 32, 64])])


def behind_the_message(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    return answer_of(replace(deposit, message=deposit.message + bytes(random.choice([1, 32]))), question)


def offset_of_the_message(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """The message a word later: a decoder of the contract reads the same, this service another call or none."""
    data = encode_deposit(deposit)
    head, tail = data[: 10 + 12 * 64], data[10 + 12 * 64 :]
    shifted = head[:-64] + f"{0x1A0:064x}" + random.choice(["0" * 64, "f" * 64, random.randbytes(32).hex()]) + tail
    return with_data(deposit, question, shifted)


def offset_in_the_message(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """A gap in front of the calls or of the whole struct."""
    words = [deposit.message[start : start + 32] for start in range(0, len(deposit.message), 32)]
    place = random.choice([1, 3])
    place_of_offset = place - 1 if place == 1 else 1
    words[place_of_offset] = (int.from_bytes(words[place_of_offset], "big") + 32).to_bytes(32, "big")
    words.insert(place, random.randbytes(32))
    return answer_of(replace(deposit, message=b"".join(words)), question)


def dirty_address(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """Bits above an address, which contracts refuse or ignore."""
    return with_data(
        deposit,
        question,
        changed(encode_deposit(deposit), random.choice([0, 1, 2, 3, 7]) * 32 + random.randrange(12), random),
    )


def any_byte(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    """Any byte of the calldata but those of the two times, of which a second more or less is nobody's loss."""
    data = encode_deposit(deposit)
    times = range(8 * 32, 10 * 32)
    place = random.choice([each for each in range(-4, len(data) // 2 - 5) if each not in times])
    return with_data(deposit, question, changed(data, place, random))


def changed(data: str, place: int, random: Random) -> str:
    """The calldata with another byte at a place, counted from the first argument."""
    raw = bytearray.fromhex(data[2:])
    raw[place + 4] ^= random.randint(1, 255)
    return "0x" + raw.hex()


# what contradicts itself


def takes_more_than_it_says(deposit: Deposit, question: QuoteCall, random: Random) -> Answer:
    more = replace(deposit, input_amount=deposit.input_amount + random.randint(1, 100))
    return with_estimate(answer_of(more, question), fromAmount=str(deposit.input_amount))


MUTATIONS: tuple[Mutation, ...] = (
    spender,
    target,
    target_alone,
    native_value,
    sender,
    chain,
    gas,
    another_function,
    depositor,
    recipient,
    input_token,
    output_token,
    another_token_all_the_way,
    takes_too_much,
    takes_too_little,
    brings_another_amount,
    another_destination,
    another_destination_in_all,
    exclusive_relayer,
    half_an_exclusivity,
    quote_time,
    fill_deadline,
    fallback,
    extra_call,
    missing_call,
    calls_in_another_order,
    no_message,
    another_approval,
    wrong_reset,
    another_payment,
    another_contract_called,
    value_of_a_call,
    bytes_behind_the_payment,
    trailing_bytes,
    cut_off,
    behind_the_message,
    offset_of_the_message,
    offset_in_the_message,
    dirty_address,
    any_byte,
    takes_more_than_it_says,
)
