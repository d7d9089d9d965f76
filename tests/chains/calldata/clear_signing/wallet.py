"""A wallet that shows what a descriptor says of a call or of typed data, as ERC-7730 describes it.

It knows the decimals and symbols of the tokens of the catalogue, and nothing else of this project.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from eth_abi import decode
from eth_utils import keccak, to_checksum_address

from chalicelib.chains.catalogue.networks import network_of_chain
from chalicelib.chains.catalogue.tokens import token_at, token_with_id

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """A parameter or member; `members` are those of a struct, whose `type` is `()` or `()[]`."""

    name: str
    type: str
    members: tuple["Parameter", ...] = ()

    @property
    def abi(self) -> str:
        inner = ",".join(each.abi for each in self.members)
        return f"({inner}){self.type.removeprefix('()')}" if self.members else self.type


@dataclass(frozen=True)
class Shown:
    """One field with its value as text; fields of arrays have one for each element, in order."""

    label: str
    path: str
    format: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Container:
    """What is signed around the data: the chain, the contract, the sender, the native coins in base units."""

    chain_id: int
    to: str
    value: int = 0


def parameters(signature: str) -> tuple[str, tuple[Parameter, ...]]:
    """The name of a function and its parameters, of a signature with names."""
    name, _, rest = signature.partition("(")
    return name, tuple(_parameter(each) for each in _split(rest[:-1]))


def typed_parameters(encoded: str) -> tuple[str, tuple[Parameter, ...]]:
    """The primary type and its members, of a struct with those that it names, as EIP-712 encodes types."""
    structs = {name: body.split(",") for name, body in re.findall(r"(\w+)\(([^)]*)\)", encoded)}

    def member(text: str) -> Parameter:
        kind, name = text.split(" ")
        base, bracket, _ = kind.partition("[")
        if base not in structs:
            return Parameter(name, kind)
        return Parameter(name, "()" + ("[]" if bracket else ""), tuple(map(member, structs[base])))

    primary = encoded.partition("(")[0]
    return primary, tuple(map(member, structs[primary]))


def paths(listed: tuple[Parameter, ...], before: str = "") -> Iterator[str]:
    """The path of every value that has no members: `a`, `struct.member`, `list.[].member`; a list of values is one."""
    for each in listed:
        if each.members:
            yield from paths(each.members, f"{before}{each.name}.{'[].' if each.type.endswith('[]') else ''}")
        else:
            yield before + each.name


def selector(signature: str) -> bytes:
    name, listed = parameters(signature)
    return bytes(keccak(text=f"{name}({','.join(each.abi for each in listed)})")[:4])


def decoded(signature: str, data: bytes) -> dict[str, Any]:
    """The arguments of a call by name, structs as mappings."""
    _, listed = parameters(signature)
    values = decode([each.abi for each in listed], data[4:])
    return {each.name: _named(each, value) for each, value in zip(listed, values, strict=True)}


def show(descriptor: Json, key: str, data: Json, container: Container) -> list[Shown]:
    """The visible fields, in their order."""
    fields = descriptor["display"]["formats"][key]["fields"]
    shown = [_show(descriptor, field, data, container) for field in fields if field["visible"] != "never"]
    return [each for each in shown if each.values]


def sentence(descriptor: Json, key: str, shown: list[Shown]) -> str:
    """The intent with the values of fields; raises KeyError if it names a field that is not shown."""
    by_path, template = {each.path: each.values[0] for each in shown}, descriptor["display"]["formats"][key]
    return re.sub(r"\{([^}]+)\}", lambda found: by_path[found[1]], template["interpolatedIntent"])


def _show(descriptor: Json, field: Json, data: Json, container: Container) -> Shown:
    values, params = _at(field["path"], data, container), field.get("params", {})
    tokens = _at(params["tokenPath"], data, container) if "tokenPath" in params else []
    if len(tokens) == 1:
        tokens *= len(values)
    pairs = zip(values, tokens or [None] * len(values), strict=True)
    left_out = field["visible"].get("ifNotIn", ()) if isinstance(field["visible"], dict) else ()
    texts = [_text(descriptor, field, value, token, container) for value, token in pairs if value not in left_out]
    return Shown(field["label"], field["path"], field["format"], tuple(texts))


def _text(descriptor: Json, field: Json, value: Any, token: Any, container: Container) -> str:
    params = field.get("params", {})
    match field["format"]:
        case "tokenAmount":
            if "threshold" in params and int(value) >= int(params["threshold"], 16):
                return str(params["message"])
            natives = params.get("nativeCurrencyAddress", ())
            return _amount(int(value), _text_address(token), natives, container.chain_id)
        case "amount":
            return _coins(int(value), container.chain_id)
        case "addressName":
            return _text_address(value)
        case "enum":
            name = params["$ref"].rpartition(".")[2]
            known = descriptor["metadata"]["enums"][name]
            return str(known.get(_text_address(value).lower(), _text_address(value)))
        case "date":
            return datetime.fromtimestamp(int(value), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        case "duration":
            return str(value)
        case "unit":
            return f"{_scaled(int(value), params['decimals'])}{params['base']}"
        case "chainId":
            network = network_of_chain(int(value))
            return network.name if network else str(value)
        case "raw":
            return "0x" + value.hex() if isinstance(value, bytes) else str(value)
    raise AssertionError(f"{field['format']} is no format of ERC-7730")


def _amount(units: int, token: str, natives: tuple[str, ...], chain_id: int) -> str:
    if token.lower() in natives:
        return _coins(units, chain_id)
    network = network_of_chain(chain_id)
    known = token_at(network.name, token) if network else None
    return f"{units} of {token}" if known is None else f"{_scaled(units, known.decimals)} {known.symbol}"


def _coins(units: int, chain_id: int) -> str:
    network = network_of_chain(chain_id)
    assert network is not None and network.native_currency_id is not None
    coin = token_with_id(network.native_currency_id)
    assert coin is not None
    return f"{_scaled(units, coin.decimals)} {coin.symbol}"


def _scaled(units: int, decimals: int) -> str:
    whole, part = divmod(units, 10**decimals)
    return f"{whole}.{part:0{decimals}}".rstrip("0").rstrip(".")


def _text_address(value: Any) -> str:
    return str(to_checksum_address(value)) if value is not None else ""


def _at(path: str, data: Json, container: Container) -> list[Any]:
    """The values at a path; `[]` is every element of a list. Raises KeyError if it names nothing."""
    if path.startswith("@."):
        return [{"to": container.to, "value": container.value}[path[2:]]]
    found: list[Any] = [data]
    for step in path.split("."):
        if step == "[]":
            found = [each for listed in found for each in listed]
        elif step.startswith("["):
            found = [listed[int(step[1:-1])] for listed in found]
        else:
            found = [each[step] for each in found]
    return found


def _named(parameter: Parameter, value: Any) -> Any:
    if not parameter.members:
        return value
    if parameter.type.endswith("[]"):
        return [_named(Parameter(parameter.name, "()", parameter.members), each) for each in value]
    return {each.name: _named(each, part) for each, part in zip(parameter.members, value, strict=True)}


def _split(text: str) -> Iterator[str]:
    """The parts between the commas outside of parentheses."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text:
        yield text[start:]


def _parameter(text: str) -> Parameter:
    kind, _, name = text.rpartition(" ")
    if not kind.startswith("("):
        return Parameter(name, kind)
    inner, _, brackets = kind[1:].rpartition(")")
    return Parameter(name, "()" + brackets, tuple(_parameter(each) for each in _split(inner)))
