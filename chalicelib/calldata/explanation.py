"""What an explanation holds, and how a call that was read becomes one."""

from dataclasses import dataclass
from typing import Any

from chalicelib.calldata.abi import WORD
from chalicelib.calldata.decode import Kind, type_text
from chalicelib.calldata.functions import Function
from chalicelib.calldata.wording import Wording


@dataclass(frozen=True)
class Argument:
    """One argument: its Solidity type, its value as text, and what that means where it is not plain."""

    name: str
    type: str
    value: str
    human: str | None


@dataclass(frozen=True)
class ExpectedEvent:
    """The event that a payment emits: amounts in base units, `token` None for the native coin.

    `address` is the fee proxy's, None when the network is not known.
    """

    name: str
    contract: str
    address: str | None
    token: str | None
    payee: str
    amount: int
    fee_amount: int
    fee_address: str
    payment_reference: str


@dataclass(frozen=True)
class Explanation:
    """What one call does. `value` is base units of the native coin; `function` is None when the call is unknown.

    `calls` are those that it makes in turn: the payments of a batch, the transactions of a bundle.
    """

    to: str | None
    contract: str
    function: str | None
    arguments: tuple[Argument, ...]
    value: int
    value_human: str | None
    summary: str
    expected_event: ExpectedEvent | None = None
    calls: tuple["Explanation", ...] = ()


@dataclass(frozen=True)
class ReadCall:
    """A call whose arguments have been read, by name."""

    words: Wording
    to: str | None
    function: Function
    values: dict[str, Any]
    value: int = 0

    def address(self, name: str) -> str:
        raw: bytes = self.values[name]
        return self.words.address(raw)


def explained(
    call: ReadCall,
    summary: str,
    human: dict[str, str | None],
    event: ExpectedEvent | None = None,
    calls: tuple[Explanation, ...] = (),
) -> Explanation:
    """The explanation of a call; `human` says by name what arguments mean."""
    arguments = tuple(
        Argument(name, type_text(kind), _text(call.words, kind, call.values[name]), human.get(name))
        for name, kind in call.function.parameters
    )
    contract = call.function.contract or contract_name(call.words, call.to)
    value = call.value, call.words.human(call.value, call.words.coin)
    return Explanation(call.to, contract, call.function.name, arguments, *value, summary, event, calls)


def _text(words: Wording, kind: Kind, value: Any) -> str:
    """Numbers in decimal, short bytes in hex; of what holds many only how many, as each is a call of its own."""
    if kind == "address":
        return words.address(value)
    if kind == "uint256":
        return str(value)
    if kind == "bytes":
        return f"0x{value.hex()}" if len(value) <= WORD else f"{len(value)} bytes"
    return f"a list of {len(value)}"


def contract_name(words: Wording, to: str | None) -> str:
    """The contract or the token at an address."""
    if to is None:
        return "unknown contract"
    token = words.token_at(to)
    return words.contract_at(to) or (token.symbol if token else "unknown contract")
