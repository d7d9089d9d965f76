"""What transactions do, read from the very bytes that are signed: contract, function, amounts, the event to expect.

Only what this package writes is explained, to the byte and at the contract's own address; all else is said to be
unknown, never half explained. On the command line:

    python -m chalicelib.calldata.explain 0x... [--network base] [--to 0x...] [--value 0]
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from chalicelib.calldata.decode import SELECTOR, read
from chalicelib.calldata.explain_payments import batch_groups, batch_one_token, batch_tron, pay_alone
from chalicelib.calldata.explanation import Explanation, ReadCall, contract_name, explained
from chalicelib.calldata.functions import (
    APPROVE,
    BATCH_GROUPS,
    BATCH_ONE_TOKEN,
    BATCH_TRON,
    FUNCTIONS,
    MULTI_SEND_CALLS,
    PAY_ERC20,
    PAY_NATIVE,
    TRANSFER,
    TRANSFER_FROM,
    Function,
)
from chalicelib.calldata.safe import unpack_packed
from chalicelib.calldata.transaction import Transaction
from chalicelib.calldata.wording import Wording
from chalicelib.catalogue.networks import network as network_named

if TYPE_CHECKING:
    from argparse import ArgumentParser

__all__ = ["Explanation", "explain", "explain_data", "main"]

_HEX = re.compile(r"0x(?:[0-9a-fA-F]{2})*")


def explain(network: str, transactions: Sequence[Transaction]) -> tuple[Explanation, ...]:
    """One explanation for each transaction. Whatever the bytes are, they raise nothing.

    Raises LookupError for a network that is not ours.
    """
    words = _wording(network)
    return tuple(_explained(words, each.to, each.data, each.value) for each in transactions)


def explain_data(data: str, network: str | None = None, to: str | None = None, value: int = 0) -> Explanation:
    """One call of which not all is known: without network and contract it is told by its bytes alone, and says so."""
    explanation = _explained(_wording(network), to, data, value)
    if explanation.function is None or (network is not None and to is not None):
        return explanation
    return replace(explanation, summary=f"{explanation.summary}; the address of the contract was not checked")


def _wording(network: str | None) -> Wording:
    chain = None if network is None else network_named(network)
    if network is not None and chain is None:
        raise LookupError(f"{network} is no network of ours")
    return Wording(chain)


def _explained(words: Wording, to: str | None, data: str, value: int, bundled: bool = False) -> Explanation:
    try:
        return _known(words, to, data, value, bundled)
    except ValueError as reason:
        return _unknown(words, to, data, value, str(reason))


def _known(words: Wording, to: str | None, data: str, value: int, bundled: bool) -> Explanation:
    """Raises ValueError, with the reason, for all that we do not write."""
    if _HEX.fullmatch(data) is None:
        raise ValueError("the data is not hexadecimal")
    raw = bytes.fromhex(data[2:])
    function = FUNCTIONS.get(raw[:SELECTOR])
    if function is None or (bundled and raw[:SELECTOR] == MULTI_SEND_CALLS):
        raise ValueError("no such function is used here")
    spelled = None if to is None else words.spelled(to)
    if spelled is not None and words.network is not None:
        _check_contract(words, function, spelled)
    kinds = tuple(kind for _, kind in function.parameters)
    names = (name for name, _ in function.parameters)
    values = dict(zip(names, read(kinds, raw[SELECTOR:]), strict=True))
    if value and raw[:SELECTOR] not in (PAY_NATIVE, BATCH_GROUPS):
        raise ValueError("the function takes no native coin")
    return _EXPLAINERS[raw[:SELECTOR]](ReadCall(words, spelled, function, values, value))


def _check_contract(words: Wording, function: Function, to: str) -> None:
    if function.contract is None:
        if words.contract_at(to) is not None or (words.coin is not None and words.is_coin(to)):
            raise ValueError("this is no token")
    elif words.contract_at(to) != function.contract:
        raise ValueError(f"this is not the {function.contract} of the network")


def _unknown(words: Wording, to: str | None, data: str, value: int, reason: str) -> Explanation:
    selector = data[: 2 + 2 * SELECTOR] if _HEX.fullmatch(data) else ""
    what = f"4 bytes {selector.lower()}" if len(selector) == 2 + 2 * SELECTOR else "no function"
    try:
        place = None if to is None else words.spelled(to)
    except ValueError:
        place = None
    paying = f" with {words.coins(value)}" if value else ""
    return Explanation(
        to=place,
        contract=contract_name(words, place),
        function=None,
        arguments=(),
        value=value,
        value_human=words.human(value, words.coin),
        summary=f"Unknown call: {what}{f' to {place}' if place else ''}{paying}; {reason}; "
        "do not sign unless you know it",
    )


def _approve(call: ReadCall) -> Explanation:
    words, amount, spender = call.words, call.values["amount"], call.address("spender")
    if amount == 0:
        summary = f"Withdraw what {words.spender(spender)} may still take of {words.symbol(call.to)}"
    else:
        summary = f"Allow {words.spender(spender)} to take {words.allowance(amount, call.to)}"
    return explained(call, summary, {"spender": words.contract_at(spender), "amount": _amount(call)})


def _transfer(call: ReadCall) -> Explanation:
    summary = f"Send {call.words.tokens(call.values['amount'], call.to)} to {call.address('to')}"
    return explained(call, summary + ", without a payment reference", {"amount": _amount(call)})


def _transfer_from(call: ReadCall) -> Explanation:
    amount = call.words.tokens(call.values["amount"], call.to)
    summary = f"Move {amount} from {call.address('from')} to {call.address('to')}, without a payment reference"
    return explained(call, summary, {"amount": _amount(call)})


def _amount(call: ReadCall) -> str | None:
    return call.words.human(call.values["amount"], call.words.token_at(call.to))


def _multi_send(call: ReadCall) -> Explanation:
    inner = unpack_packed(call.values["transactions"])
    calls = tuple(_explained(call.words, each.to, each.data, each.value, bundled=True) for each in inner)
    unknown = sum(each.function is None for each in calls)
    summary = f"As a Safe, make {len(calls)} call{'s' if len(calls) > 1 else ''} in one transaction"
    if unknown:
        summary += f", {unknown} of them unknown; do not sign unless you know them"
    return explained(call, summary, {}, calls=calls)


_EXPLAINERS: dict[bytes, Callable[[ReadCall], Explanation]] = {
    APPROVE: _approve,
    TRANSFER: _transfer,
    TRANSFER_FROM: _transfer_from,
    PAY_ERC20: pay_alone,
    PAY_NATIVE: pay_alone,
    BATCH_ONE_TOKEN: batch_one_token,
    BATCH_GROUPS: batch_groups,
    BATCH_TRON: batch_tron,
    MULTI_SEND_CALLS: _multi_send,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: what a call does on stdout, or one sentence on stderr and exit code 2."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if _HEX.fullmatch(given.data) is None:
        parser.error("the data must be 0x and an even number of hexadecimal digits")
    if given.value < 0:
        parser.error("the value must not be negative")
    try:
        words = _wording(given.network)
        if given.to is not None:
            words.spelled(given.to)
    except (LookupError, ValueError) as error:
        parser.error(str(error))
    explanation = explain_data(given.data, given.network, given.to, given.value)
    sys.stdout.write("".join(f"{line}\n" for line in _lines(explanation)))


def _parser() -> "ArgumentParser":
    from argparse import ArgumentParser  # of no use to the service, which would load it at every cold start

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
