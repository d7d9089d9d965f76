"""The parts of an explanation, and how one is made of a decoded call."""

from typing import Any, NamedTuple

from chalicelib.base.signatures import SIGNATURE_BYTES
from chalicelib.chains.calldata.conversions.proxy import Conversion
from chalicelib.chains.calldata.explanations.functions import Function
from chalicelib.chains.calldata.explanations.wording import Wording
from chalicelib.chains.calldata.fee_proxy import REFERENCE_LENGTH


class Argument(NamedTuple):
    """One argument: its Solidity type, its value as text, and for some values a readable form such as `12.5 USDC`."""

    name: str
    type: str
    value: str
    human: str | None


class ExpectedEvent(NamedTuple):
    """The event that a payment emits: amounts in base units, `token` None for the native coin.

    With a conversion the amounts are in the currency that begins its path, as the contracts count it, and `token` is
    what is paid. `address` is that of the proxy, None if the network is not known.
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
    conversion: Conversion | None = None


class Explanation(NamedTuple):
    """What one call does. `value` is in base units of the native coin; `function` is None for an unknown call.

    `calls` are the calls inside it: the payments of a batch, the transactions of a bundle.
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


class DecodedCall(NamedTuple):
    """A call with its decoded arguments by name."""

    words: Wording
    to: str | None
    function: Function
    values: dict[str, Any]
    value: int

    def address(self, name: str) -> str:
        raw: bytes = self.values[name]
        return self.words.address(raw)


def expect_event(
    call: DecodedCall, name: str, token: str | None, amount: int, conversion: Conversion | None = None
) -> ExpectedEvent:
    """The event that a proxy will emit. Raises ValueError for a reference or fee that this package would not write."""
    words, values, contract = call.words, call.values, call.function.contract or ""
    fee, receiver, reference = values["_feeAmount"], values["_feeAddress"], values["_paymentReference"]
    if len(reference) != REFERENCE_LENGTH:
        raise ValueError("its payment reference has another length")
    if fee and not any(receiver):
        raise ValueError("its fee goes to nobody")
    payee, fee_address, reference = words.address(values["_to"]), words.address(receiver), f"0x{reference.hex()}"
    proxy = words.address_of_contract(contract)
    return ExpectedEvent(name, contract, proxy, token, payee, amount, fee, fee_address, reference, conversion)


def explanation_of(
    call: DecodedCall,
    summary: str,
    human: dict[str, str | None],
    event: ExpectedEvent | None = None,
    calls: tuple[Explanation, ...] = (),
) -> Explanation:
    """The explanation of a call; `human` has the readable forms of arguments by their names."""
    words, values = call.words, call.values
    arguments = [
        Argument(name, kind, _text(words, kind, values[name]), human.get(name))
        for name, kind in call.function.type_texts
    ]
    contract = call.function.contract or contract_name(words, call.to)
    value = call.value, words.human(call.value, words.coin)
    return Explanation(call.to, contract, call.function.name, tuple(arguments), *value, summary, event, calls)


def _text(words: Wording, kind: str, value: Any) -> str:
    """A value as text: decimal numbers, hex for up to 65 bytes, only the length of longer ones and lists."""
    if kind == "address":
        return words.address(value)
    if type(value) is int:
        return str(value)
    if kind == "bytes":
        return f"0x{value.hex()}" if len(value) <= SIGNATURE_BYTES else f"{len(value)} bytes"
    return f"a list of {len(value)}" if kind.endswith("]") else f"{len(value)} members"


def contract_name(words: Wording, to: str | None) -> str:
    """The name of the contract or the symbol of the token at an address."""
    if to is None:
        return "unknown contract"
    token = words.token_at(to)
    return words.contract_at(to) or (token.symbol if token else "unknown contract")
