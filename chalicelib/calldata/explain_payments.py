"""Explains payments: one through a fee proxy, and the batches that are many of them.

Every explainer takes a call whose arguments have been read and raises ValueError, with the reason, when they are not
what this package writes.
"""

from typing import Any

from chalicelib.base.addresses import DEAD_ADDRESS, address_bytes
from chalicelib.calldata.batch import ERC20_GROUP, NATIVE_GROUP
from chalicelib.calldata.explanation import ExpectedEvent, Explanation, ReadCall, explained
from chalicelib.calldata.fee_proxy import REFERENCE_LENGTH
from chalicelib.calldata.functions import FUNCTIONS, PAY_ERC20, PAY_NATIVE, Function
from chalicelib.calldata.wording import Wording, listed
from chalicelib.catalogue.contracts import BATCH

PAYMENT_EVENT = "TransferWithReferenceAndFee"


def pay_alone(call: ReadCall) -> Explanation:
    """One payment through a fee proxy."""
    if not call.values["_feeAmount"] and any(call.values["_feeAddress"]):
        raise ValueError("it names a fee address and no fee")
    return _pay(call)


def _pay(call: ReadCall) -> Explanation:
    """A payment through either fee proxy, alone or as one of a batch."""
    words, event = call.words, _event(call)
    token = words.coin if event.token is None else words.token_at(event.token)

    def say(units: int) -> str:
        return words.coins(units) if event.token is None else words.tokens(units, event.token)

    with_fee = f"with {say(event.fee_amount)} fee to {event.fee_address}" if event.fee_amount else "without a fee"
    human: dict[str, str | None] = {
        "_tokenAddress": token.symbol if token else None,
        "_amount": words.human(event.amount, token),
        "_feeAmount": words.human(event.fee_amount, token),
    }
    summary = f"Pay {say(event.amount)} to {event.payee} {with_fee}, reference {event.payment_reference}"
    return explained(call, summary, human, event)


def _event(call: ReadCall) -> ExpectedEvent:
    """What the fee proxy will emit."""
    words, values, contract = call.words, call.values, call.function.contract or ""
    fee, reference = values["_feeAmount"], values["_paymentReference"]
    if len(reference) != REFERENCE_LENGTH:
        raise ValueError("its payment reference has another length")
    if fee and not any(values["_feeAddress"]):
        raise ValueError("its fee goes to nobody")
    token = call.address("_tokenAddress") if "_tokenAddress" in values else None
    amount = call.value - fee if token is None else values["_amount"]
    if amount < 0:
        raise ValueError("its value does not cover the fee")
    if token is not None and words.coin is not None and words.is_coin(token):
        raise ValueError("the native coin is no token")
    return ExpectedEvent(
        name=PAYMENT_EVENT,
        contract=contract,
        address=words.deployed(contract),
        token=token,
        payee=call.address("_to"),
        amount=amount,
        fee_amount=fee,
        fee_address=call.address("_feeAddress"),
        payment_reference="0x" + reference.hex(),
    )


def batch_one_token(call: ReadCall) -> Explanation:
    """batchERC20Payments."""
    details = call.values["requestDetails"]
    _check_batch(call, details)
    if len({detail[2] for detail in details}) != 1:
        raise ValueError("it pays several tokens as if they were one")
    return _batch(call, [_erc20_detail(call, detail) for detail in details])


def batch_groups(call: ReadCall) -> Explanation:
    """batchPayments: ERC-20, native, or one group of each."""
    groups = call.values["metaDetails"]
    numbers = [number for number, _ in groups]
    if numbers not in ([ERC20_GROUP], [NATIVE_GROUP], [ERC20_GROUP, NATIVE_GROUP]):
        raise ValueError("its groups are not ERC-20 and native payments")
    payments = []
    for number, details in groups:
        _check_batch(call, details)
        payments += [(_erc20_detail if number == ERC20_GROUP else _native_detail)(call, each) for each in details]
    return _batch(call, payments)


def _check_batch(call: ReadCall, details: tuple[Any, ...]) -> None:
    if not details or not any(call.values["feeAddress"]) or call.values["pathsToUSD"]:
        raise ValueError("it is not a batch as it is built here")
    for _, _, path, _, _, to_spend, rate_age in details:
        if len(path) != 1 or to_spend or rate_age:
            raise ValueError("it converts between currencies")


def _erc20_detail(call: ReadCall, detail: tuple[Any, ...]) -> ReadCall:
    payee, amount, (token,), reference, fee, _, _ = detail
    function = FUNCTIONS[PAY_ERC20]
    values = token, payee, amount, reference, fee, call.values["feeAddress"]
    return _nested(call.words, function, values)


def _native_detail(call: ReadCall, detail: tuple[Any, ...]) -> ReadCall:
    payee, amount, (coin,), reference, fee, _, _ = detail
    if not call.words.is_coin(call.words.address(coin)):
        raise ValueError("it pays in a coin of another network")
    return _nested(call.words, FUNCTIONS[PAY_NATIVE], (payee, reference, fee, call.values["feeAddress"]), amount + fee)


def batch_tron(call: ReadCall) -> Explanation:
    """batchERC20PaymentsWithReference of ERC20BatchPayments."""
    values = call.values
    columns = [values[name] for name in ("_recipients", "_amounts", "_paymentReferences", "_feeAmounts")]
    if len({len(column) for column in columns}) != 1 or not columns[0] or not any(values["_feeAddress"]):
        raise ValueError("it is not a batch as it is built here")
    token, receiver, function = values["_tokenAddress"], values["_feeAddress"], FUNCTIONS[PAY_ERC20]
    rows = zip(*columns, strict=True)
    return _batch(call, [_nested(call.words, function, (token, *row, receiver)) for row in rows])


def _nested(words: Wording, function: Function, values: tuple[Any, ...], value: int = 0) -> ReadCall:
    """The call that the batch contract makes of a fee proxy."""
    names = (name for name, _ in function.parameters)
    proxy = words.deployed(function.contract or "")
    return ReadCall(words, proxy, function, dict(zip(names, values, strict=True)), value)


def _batch(call: ReadCall, payments: list[ReadCall]) -> Explanation:
    words = call.words
    calls = tuple(_pay(each) for each in payments)
    amounts: dict[str | None, int] = {}
    fees: dict[str | None, int] = {}
    for event in (each.expected_event for each in calls if each.expected_event):
        amounts[event.token] = amounts.get(event.token, 0) + event.amount
        if event.fee_amount:
            fees[event.token] = fees.get(event.token, 0) + event.fee_amount
    spare = call.value - sum(each.value for each in payments)
    if spare < 0 or (spare and None not in amounts):
        raise ValueError("its value is not what it pays in the native coin")
    count = f"{len(calls)} payment{'s' if len(calls) > 1 else ''}"
    summary = f"Make {count} in one transaction: {_sums(words, amounts)}"
    receiver_name = call.function.parameters[-1][0]
    receiver = call.address(receiver_name)
    summary += f", with {_sums(words, fees)} fees to {receiver}" if fees else _without_fees(call, spare)
    if spare:
        summary += f"; up to {words.coins(spare)} are the batch contract's own fee, the rest comes back"
    nobody = call.values[receiver_name] == address_bytes(DEAD_ADDRESS)
    human = {receiver_name: "an address without an owner, as the link has no fees" if nobody and not fees else None}
    return explained(call, summary, human, calls=calls)


def _without_fees(call: ReadCall, spare: int) -> str:
    """What the batch contract of EVM networks takes for itself is not in the call, but for the coins sent along."""
    if call.function.contract != BATCH:
        return ", without fees"
    return ", without fees of the link" + ("" if spare else "; the batch contract may take its own")


def _sums(words: Wording, sums: dict[str | None, int]) -> str:
    return listed(words.coins(units) if token is None else words.tokens(units, token) for token, units in sums.items())
