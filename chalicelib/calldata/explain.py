"""Explains transactions from the bytes that are signed: contract, function, arguments, amounts and expected event.

Only calls that this package builds are explained: the bytes must be exactly those it would write, and the address that
of the contract. Every other call is reported as unknown as a whole. On the command line:

    python -m chalicelib.calldata.explain 0x... [--network base] [--to 0x...] [--value 0]
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from chalicelib.calldata.decode import SELECTOR, read
from chalicelib.calldata.explain_conversions import single_converted_payment
from chalicelib.calldata.explain_payments import batch_groups, batch_one_token, batch_tron, single_payment
from chalicelib.calldata.explain_recurring import recurring_payment
from chalicelib.calldata.explanation import DecodedCall, Explanation, contract_name, explanation_of
from chalicelib.calldata.functions import (
    APPROVE,
    BATCH_GROUPS,
    BATCH_ONE_TOKEN,
    BATCH_TRON,
    FUNCTIONS,
    MULTI_SEND_CALLS,
    PAY_ERC20,
    PAY_ERC20_CONVERTED,
    PAY_NATIVE,
    PAY_NATIVE_CONVERTED,
    TRANSFER,
    TRANSFER_FROM,
    TRIGGER_PAYMENT,
    Function,
)
from chalicelib.calldata.safe import unpack_transactions
from chalicelib.calldata.transaction import Transaction
from chalicelib.calldata.wording import Wording
from chalicelib.catalogue.networks import network as network_named

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["Explanation", "explain", "explain_data", "main"]

_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def explain(network: str, transactions: Sequence[Transaction]) -> tuple[Explanation, ...]:
    """Returns one explanation for each transaction, whatever its bytes are.

    Raises LookupError for a network that is not in the catalogue.
    """
    words = _wording(network)
    return tuple(_explain_call(words, each.to, each.data, each.value) for each in transactions)


def explain_data(data: str, network: str | None = None, to: str | None = None, value: int = 0) -> Explanation:
    """Explains one call. If network or contract is None, the summary says that the address was not checked.

    Raises LookupError for a network that is not in the catalogue.
    """
    explanation = _explain_call(_wording(network), to, data, value)
    if explanation.function is None or (network is not None and to is not None):
        return explanation
    return replace(explanation, summary=f"{explanation.summary}; the address of the contract was not checked")


def _wording(network: str | None) -> Wording:
    chain = None if network is None else network_named(network)
    if network is not None and chain is None:
        raise LookupError(f"{network} is no network of ours")
    return Wording(chain)


def _explain_call(words: Wording, to: str | None, data: str, value: int, bundled: bool = False) -> Explanation:
    try:
        return _explain_known_call(words, to, data, value, bundled)
    except ValueError as reason:
        return _unknown_call(words, to, data, value, str(reason))


def _explain_known_call(words: Wording, to: str | None, data: str, value: int, bundled: bool) -> Explanation:
    """Raises ValueError with the reason if this package does not build such a call."""
    if _HEX.fullmatch(data) is None:
        raise ValueError("the data is not hexadecimal")
    raw = bytes.fromhex(data[2:])
    function = FUNCTIONS.get(raw[:SELECTOR])
    if function is None or (bundled and raw[:SELECTOR] == MULTI_SEND_CALLS):
        raise ValueError("no such function is used here")
    contract = None if to is None else words.canonical(to)
    if contract is not None and words.network is not None:
        _check_contract(words, function, contract)
    kinds = tuple(kind for _, kind in function.parameters)
    names = (name for name, _ in function.parameters)
    values = dict(zip(names, read(kinds, raw[SELECTOR:]), strict=True))
    if value and raw[:SELECTOR] not in (PAY_NATIVE, PAY_NATIVE_CONVERTED, BATCH_GROUPS):
        raise ValueError("the function takes no native coin")
    return _EXPLAINERS[raw[:SELECTOR]](DecodedCall(words, contract, function, values, value))


def _check_contract(words: Wording, function: Function, to: str) -> None:
    if function.contract is None:
        if words.contract_at(to) is not None or (words.coin is not None and words.is_coin(to)):
            raise ValueError("this is no token")
    elif words.contract_at(to) != function.contract:
        raise ValueError(f"this is not the {function.contract} of the network")


def _unknown_call(words: Wording, to: str | None, data: str, value: int, reason: str) -> Explanation:
    selector = data[: 2 + 2 * SELECTOR] if _HEX.fullmatch(data) else ""
    function = f"4 bytes {selector.lower()}" if len(selector) == 2 + 2 * SELECTOR else "no function"
    try:
        contract = None if to is None else words.canonical(to)
    except ValueError:
        contract = None
    paying = f" with {words.coin_amount(value)}" if value else ""
    return Explanation(
        to=contract,
        contract=contract_name(words, contract),
        function=None,
        arguments=(),
        value=value,
        value_human=words.human(value, words.coin),
        summary=f"Unknown call: {function}{f' to {contract}' if contract else ''}{paying}; {reason}; "
        "do not sign unless you know it",
    )


def _approve(call: DecodedCall) -> Explanation:
    words, amount, spender = call.words, call.values["amount"], call.address("spender")
    if amount == 0:
        summary = f"Withdraw what {words.spender(spender)} may still take of {words.symbol(call.to)}"
    else:
        summary = f"Allow {words.spender(spender)} to take {words.allowance(amount, call.to)}"
    return explanation_of(call, summary, {"spender": words.contract_at(spender), "amount": _amount(call)})


def _transfer(call: DecodedCall) -> Explanation:
    summary = f"Send {call.words.token_amount(call.values['amount'], call.to)} to {call.address('to')}"
    return explanation_of(call, summary + ", without a payment reference", {"amount": _amount(call)})


def _transfer_from(call: DecodedCall) -> Explanation:
    amount = call.words.token_amount(call.values["amount"], call.to)
    summary = f"Move {amount} from {call.address('from')} to {call.address('to')}, without a payment reference"
    return explanation_of(call, summary, {"amount": _amount(call)})


def _amount(call: DecodedCall) -> str | None:
    return call.words.human(call.values["amount"], call.words.token_at(call.to))


def _multi_send(call: DecodedCall) -> Explanation:
    inner = unpack_transactions(call.values["transactions"])
    calls = tuple(_explain_call(call.words, each.to, each.data, each.value, bundled=True) for each in inner)
    unknown = sum(each.function is None for each in calls)
    summary = f"As a Safe, make {len(calls)} call{'s' if len(calls) > 1 else ''} in one transaction"
    if unknown:
        summary += f", {unknown} of them unknown; do not sign unless you know them"
    return explanation_of(call, summary, {}, calls=calls)


_EXPLAINERS: dict[bytes, Callable[[DecodedCall], Explanation]] = {
    APPROVE: _approve,
    TRANSFER: _transfer,
    TRANSFER_FROM: _transfer_from,
    PAY_ERC20: single_payment,
    PAY_NATIVE: single_payment,
    PAY_ERC20_CONVERTED: single_converted_payment,
    PAY_NATIVE_CONVERTED: single_converted_payment,
    BATCH_ONE_TOKEN: batch_one_token,
    BATCH_GROUPS: batch_groups,
    BATCH_TRON: batch_tron,
    TRIGGER_PAYMENT: recurring_payment,
    MULTI_SEND_CALLS: _multi_send,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: prints what a call does, or one sentence on stderr with exit code 2."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if _HEX.fullmatch(options.data) is None:
        parser.error("the data must be 0x and an even number of hexadecimal digits")
    if options.value < 0:
        parser.error("the value must not be negative")
    try:
        words = _wording(options.network)
        if options.to is not None:
            words.canonical(options.to)
    except (LookupError, ValueError) as error:
        parser.error(str(error))
    explanation = explain_data(options.data, options.network, options.to, options.value)
    sys.stdout.write("".join(f"{line}\n" for line in _lines(explanation)))


def _parser() -> "ArgumentParser":
    from argparse import ArgumentParser  # imported here because the service, which loads this module, does not use it

    class Parser(ArgumentParser):
        def error(self, message: str) -> NoReturn:
            self.exit(2, f"{message[:1].upper()}{message[1:]}.\n")

    parser = Parser(prog="python -m chalicelib.calldata.explain", description="Says what calldata does.")
    parser.add_argument("data", help="the calldata: 0x and hexadecimal digits")
    parser.add_argument("--network", help="where it is sent, such as base; tokens and contracts are those of it")
    parser.add_argument("--to", metavar="ADDRESS", help="the contract it is sent to, checked where --network is given")
    parser.add_argument("--value", type=int, default=0, help="base units of the native coin sent with it")
    return parser


def _lines(explanation: Explanation, indent: str = "") -> Iterator[str]:
    yield f"{indent}{explanation.summary}"
    inner = indent + "  "
    yield f"{inner}contract: {' '.join(filter(None, (explanation.contract, explanation.to)))}"
    if explanation.function:
        yield f"{inner}function: {explanation.function}"
    for each in explanation.arguments:
        yield f"{inner}{each.type} {each.name}: {each.value}{f' ({each.human})' if each.human else ''}"
    if explanation.value:
        human = f" ({explanation.value_human})" if explanation.value_human else ""
        yield f"{inner}value: {explanation.value}{human}"
    if explanation.expected_event:
        event = explanation.expected_event
        yield f"{inner}event: {event.name} of {' '.join(filter(None, (event.contract, event.address)))}"
    for number, call in enumerate(explanation.calls, 1):
        yield f"{inner}call {number}:"
        yield from _lines(call, inner + "  ")


if __name__ == "__main__":
    main()
