"""Says on the command line what calldata does:

    python -m infra.explain 0x... [--network base] [--to 0x...] [--value 0]
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import NoReturn

from chalicelib.chains.calldata.explanations.calls import bytes_of, explain_data, wording_of
from chalicelib.chains.calldata.explanations.parts import Explanation


class Parser(ArgumentParser):
    """Refuses bad arguments in one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{message[:1].upper()}{message[1:]}.\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: prints what a call does, or one sentence on stderr with exit code 2."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        bytes_of(options.data)
    except ValueError:
        parser.error("the data must be 0x and an even number of hexadecimal digits")
    if options.value < 0:
        parser.error("the value must not be negative")
    try:
        words = wording_of(options.network)
        if options.to is not None:
            words.canonical(options.to)
    except (LookupError, ValueError) as error:
        parser.error(str(error))
    explanation = explain_data(options.data, options.network, options.to, options.value)
    sys.stdout.write("".join(f"{line}\n" for line in _lines(explanation)))


def _parser() -> ArgumentParser:
    parser = Parser(prog="python -m infra.explain", description="Says what calldata does.")
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
