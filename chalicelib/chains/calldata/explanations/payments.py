"""Explains payments: single payments through a fee proxy, and batches of them.

Each function takes a decoded call and raises ValueError with the reason if this package would not write its arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any

from chalicelib.base.addresses import DEAD_ADDRESS, address_bytes
from chalicelib.chains.calldata.batch import ERC20_CONVERTED_GROUP, ERC20_GROUP, NATIVE_CONVERTED_GROUP, NATIVE_GROUP
from chalicelib.chains.calldata.explanations.conversions import explain_conversion, format_spent
from chalicelib.chains.calldata.explanations.functions import (
    FUNCTIONS,
    PAY_ERC20,
    PAY_ERC20_CONVERTED,
    PAY_NATIVE,
    PAY_NATIVE_CONVERTED,
    Function,
)
from chalicelib.chains.calldata.explanations.parts import (
    DecodedCall,
    ExpectedEvent,
    Explanation,
    expect_event,
    explanation_of,
)
from chalicelib.chains.calldata.explanations.wording import Wording, join_words
from chalicelib.chains.catalogue.contracts import BATCH

PAYMENT_EVENT = "TransferWithReferenceAndFee"


def single_payment(call: DecodedCall) -> Explanation:
    """One payment through a fee proxy or a conversion proxy, not part of a batch."""
    if not call.values["_feeAmount"] and any(call.values["_feeAddress"]):
        raise ValueError("it names a fee address and no fee")
    return _any_payment(call)


def _any_payment(call: DecodedCall) -> Explanation:
    return explain_conversion(call) if "_path" in call.values else _payment(call)


def _payment(call: DecodedCall) -> Explanation:
    """A payment through either fee proxy, single or in a batch."""
    words, event = call.words, _event(call)
    token = words.coin if event.token is None else words.token_at(event.token)

    amount, fee_amount = words.human(event.amount, token), words.human(event.fee_amount, token)
    paid, fee = amount or format_spent(words, event.token, event.amount), "without a fee"
    if event.fee_amount:
        fee = f"with {fee_amount or format_spent(words, event.token, event.fee_amount)} fee to {event.fee_address}"
    human = {"_tokenAddress": token.symbol if token else None, "_amount": amount, "_feeAmount": fee_amount}
    summary = f"Pay {paid} to {event.payee} {fee}, reference {event.payment_reference}"
    return explanation_of(call, summary, human, event)


def _event(call: DecodedCall) -> ExpectedEvent:
    """The event that the fee proxy will emit."""
    words, values, fee = call.words, call.values, call.values["_feeAmount"]
    token = words.address(values["_tokenAddress"]) if "_tokenAddress" in values else None
    amount = call.value - fee if token is None else values["_amount"]
    if amount < 0:
        raise ValueError("its value does not cover the fee")
    if token is not None and words.coin is not None and words.is_coin(token):
        raise ValueError("the native coin is not a token")
    return expect_event(call, PAYMENT_EVENT, token, amount)


def batch_one_token(call: DecodedCall) -> Explanation:
    """batchERC20Payments of BatchConversionPayments: payments in one ERC-20 token."""
    details = call.values["requestDetails"]
    _check_batch(call, ERC20_GROUP, details)
    if len({detail[2] for detail in details}) != 1:
        raise ValueError("it pays several tokens as if they were one")
    return _batch(call, [_erc20_detail(call, detail) for detail in details])


def batch_groups(call: DecodedCall) -> Explanation:
    """batchPayments of BatchConversionPayments: up to one group of each kind, in the order of their numbers."""
    groups = call.values["metaDetails"]
    numbers = [number for number, _ in groups]
    if not numbers or not _DETAILS.keys() >= set(numbers) or numbers != sorted(set(numbers)):
        raise ValueError("its groups are not ERC-20 and native payments in their order")
    payments = []
    for number, details in groups:
        _check_batch(call, number, details)
        payments += [_DETAILS[number](call, each) for each in details]
    return _batch(call, payments)


def _check_batch(call: DecodedCall, number: int, details: tuple[Any, ...]) -> None:
    if not details or not any(call.values["feeAddress"]) or call.values["pathsToUSD"]:
        raise ValueError("it is not a batch as it is built here")
    if number in (ERC20_CONVERTED_GROUP, NATIVE_CONVERTED_GROUP):
        return
    for _, _, path, _, _, to_spend, rate_age in details:
        if len(path) != 1 or to_spend or rate_age:
            raise ValueError("it converts between currencies in a group that does not")


def _erc20_detail(call: DecodedCall, detail: tuple[Any, ...]) -> DecodedCall:
    payee, amount, (token,), reference, fee, _, _ = detail
    function = FUNCTIONS[PAY_ERC20]
    values = token, payee, amount, reference, fee, call.values["feeAddress"]
    return _decode_call_of_proxy(call.words, function, values)


def _native_detail(call: DecodedCall, detail: tuple[Any, ...]) -> DecodedCall:
    payee, amount, (coin,), reference, fee, _, _ = detail
    if not call.words.is_coin(call.words.address(coin)):
        raise ValueError("it pays in a coin of another network")
    return _decode_call_of_proxy(
        call.words, FUNCTIONS[PAY_NATIVE], (payee, reference, fee, call.values["feeAddress"]), amount + fee
    )


def _erc20_converted_detail(call: DecodedCall, detail: tuple[Any, ...]) -> DecodedCall:
    payee, amount, path, reference, fee, most, age = detail
    values = payee, amount, path, reference, fee, call.values["feeAddress"], most, age
    return _decode_call_of_proxy(call.words, FUNCTIONS[PAY_ERC20_CONVERTED], values)


def _native_converted_detail(call: DecodedCall, detail: tuple[Any, ...]) -> DecodedCall:
    payee, amount, path, reference, fee, most, age = detail
    values = payee, amount, path, reference, fee, call.values["feeAddress"], age
    return _decode_call_of_proxy(call.words, FUNCTIONS[PAY_NATIVE_CONVERTED], values, most)


_DETAILS = {
    ERC20_CONVERTED_GROUP: _erc20_converted_detail,
    ERC20_GROUP: _erc20_detail,
    NATIVE_GROUP: _native_detail,
    NATIVE_CONVERTED_GROUP: _native_converted_detail,
}


def batch_tron(call: DecodedCall) -> Explanation:
    """batchERC20PaymentsWithReference of ERC20BatchPayments: payments in one TRC-20 token."""
    values = call.values
    columns = [values[name] for name in ("_recipients", "_amounts", "_paymentReferences", "_feeAmounts")]
    if len({len(column) for column in columns}) != 1 or not all(columns) or not any(values["_feeAddress"]):
        raise ValueError("it is not a batch as it is built here")
    token, receiver, function = values["_tokenAddress"], values["_feeAddress"], FUNCTIONS[PAY_ERC20]
    rows = zip(*columns, strict=True)
    return _batch(call, [_decode_call_of_proxy(call.words, function, (token, *row, receiver)) for row in rows])


def _decode_call_of_proxy(words: Wording, function: Function, values: tuple[Any, ...], value: int = 0) -> DecodedCall:
    """The call of a proxy that the batch contract makes."""
    proxy = words.address_of_contract(function.contract or "")
    return DecodedCall(words, proxy, function, dict(zip(function.names, values, strict=True)), value)


def _batch(call: DecodedCall, payments: list[DecodedCall]) -> Explanation:
    words = call.words
    calls = tuple(_any_payment(each) for each in payments)
    events = [each.expected_event for each in calls if each.expected_event]
    surplus = call.value - sum(each.value for each in payments)
    if surplus < 0 or (surplus and all(event.token is not None for event in events)):
        raise ValueError("its value is not what it pays in the native coin")
    count = f"{len(calls)} payment{'s' if len(calls) > 1 else ''}"
    summary = f"Make {count} in one transaction: {_sums(words, events, lambda event: event.amount)}"
    receiver_name = call.function.parameters[-1][0]
    fees = _sums(words, [event for event in events if event.fee_amount], lambda event: event.fee_amount)
    summary += f", with {fees} fees to {call.address(receiver_name)}" if fees else _without_fees(call, surplus)
    summary += _sum_conversions(words, events)
    if surplus:
        summary += f"; up to {words.coin_amount(surplus)} are the batch contract's own fee, the rest comes back"
    is_dead = call.values[receiver_name] == address_bytes(DEAD_ADDRESS)
    human = {receiver_name: "an address without an owner, as the link has no fees" if is_dead and not fees else None}
    return explanation_of(call, summary, human, calls=calls)


def _without_fees(call: DecodedCall, surplus: int) -> str:
    """The end of a summary without fees. The call does not contain the own fee of an EVM network's batch contract."""
    if call.function.contract != BATCH:
        return ", without fees"
    return ", without fees of the link" + ("" if surplus else "; the batch contract may take its own")


def _sum_conversions(words: Wording, events: Sequence[ExpectedEvent]) -> str:
    """What the conversions of a batch spend, for its summary; empty if there are none."""
    most: dict[str | None, int] = {}
    for event in events:
        if event.conversion is not None:
            most[event.token] = most.get(event.token, 0) + event.conversion.max_to_spend
    if not most:
        return ""
    return (
        f"; conversions take at most {join_words(format_spent(words, token, units) for token, units in most.items())}"
    )


def _sums(words: Wording, events: Sequence[ExpectedEvent], units_of: Callable[[ExpectedEvent], int]) -> str:
    """The sum in each currency: what is converted in that of the invoice, the rest in what is paid. Empty for none."""
    sums: dict[tuple[bool, str | None], int] = {}
    for event in events:
        key = (True, event.conversion.path[0]) if event.conversion else (False, event.token)
        sums[key] = sums.get(key, 0) + units_of(event)
    return join_words(
        words.invoice_amount(units, currency or "") if converted else format_spent(words, currency, units)
        for (converted, currency), units in sums.items()
    )
