"""Texts and numbers of a known form, as types of fields: the form stands in the OpenAPI document.

A form here describes and does not check: the rules that parse a text refuse it with a sentence of their own. Generated
requests hold both together (tests/platform/http/test_contract.py). A `format` names what a pattern cannot say, such as
a checksum.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError, PydanticKnownError


def parse_instant(text: str | None) -> datetime | None:
    """The instant of a checked text."""
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def _check_instant(text: str) -> str:
    if re.fullmatch(_INSTANT, text) is None:
        raise PydanticCustomError("rule", "must be an instant in UTC such as 2030-01-31T12:00:00Z")
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise PydanticCustomError("rule", "is not a day or time of the calendar") from None
    return text


_HEX_ADDRESS = "0x[0-9a-fA-F]{40}"
_TRON_ADDRESS = "T[1-9A-HJ-NP-Za-km-z]{33}"
_NOT_ZERO = "(?!0x0{40}$)"


def form(pattern: str | None = None, format: str | None = None, **keywords: Any) -> Any:
    """The keywords of JSON Schema that describe a field; nothing is validated."""
    named = {"pattern": pattern, "format": format}
    return Field(json_schema_extra={**{name: text for name, text in named.items() if text}, **keywords})


EvmAddress = Annotated[str, form(f"^{_HEX_ADDRESS}$", "evm-address")]
"""In one case, or with the upper and lower case of EIP-55."""
EvmRecipient = Annotated[str, form(f"^{_NOT_ZERO}{_HEX_ADDRESS}$", "evm-address")]
TronAddress = Annotated[str, form(f"^{_TRON_ADDRESS}$", "wallet-address")]
"""In base58 with its checksum."""
Address = Annotated[str, form(f"^({_HEX_ADDRESS}|{_TRON_ADDRESS})$", "wallet-address")]
"""An EVM address, or one of Tron in base58 with its checksum."""
Recipient = Annotated[str, form(f"^{_NOT_ZERO}({_HEX_ADDRESS}|{_TRON_ADDRESS})$", "wallet-address")]
"""Funds sent to the zero address are lost."""
Payee = Annotated[
    str, form(rf"^{_NOT_ZERO}({_HEX_ADDRESS}|{_TRON_ADDRESS}|[^\s.]+(\.[^\s.]+)+)$", "wallet-address-or-name")
]
"""A recipient, or a name of ENS in normalized form (ENSIP-15). One pattern, as generators make a class of `anyOf`."""
Amount = Annotated[str, form(r"^(?![0.]+$)(0|[1-9][0-9]{0,77})(\.[0-9]+)?$", "amount")]
"""A decimal above 0 without sign, exponent or leading zeros, with at most the currency's decimals."""
Percentage = Annotated[str, form(r"^(100(\.0{1,18})?|[1-9]?[0-9](\.[0-9]{1,18})?)$")]
"""0 to 100."""
CurrencyId = Annotated[str, form("^[0-9A-Za-z]+(-[0-9A-Za-z]+)*$", "currency-id")]
"""An `id` of GET /v2/currencies, in any case."""
NetworkName = Annotated[str, form("^[0-9a-z]+(-[0-9a-z]+)*$", "network-name")]
"""A `network` of GET /v2/currencies, or a common other name of it."""
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=255)]
"""A name or number of the caller's own, kept as it is."""
OwnName = Annotated[
    Annotated[str, StringConstraints(max_length=255)] | None, AfterValidator(lambda text: text or None)
]
"""The merchant's own name for what is paid, or for who pays or is paid. An empty text is none, as forms send it."""
_INSTANT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?Z$"
Instant = Annotated[str, form(_INSTANT), AfterValidator(_check_instant)]
"""An instant in UTC by ISO 8601, with at most milliseconds."""
DestinationId = Annotated[
    str, form("^[0-9A-Za-z]+@eip155:[1-9][0-9]{0,31}(#[0-9A-Fa-f]{8})?:[0-9A-Za-z]+$", "destination-id")
]
"""`<wallet>@eip155:<chain id>#<checksum>:<token address>` (ERC-7828)."""


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


WHOLE = BeforeValidator(_whole)
"""For strict integers: 1.0 is one too, as in JSON Schema. It stands after the bounds, which are else left out there."""


def _digits(value: Any) -> Any:
    if isinstance(value, str) and _DIGITS.fullmatch(value) is None:
        raise PydanticKnownError("int_parsing")
    return value


_DIGITS = re.compile("-?[0-9]+")
DIGITS = BeforeValidator(_digits)
"""For the integers of queries: plain digits, where Python takes 5_0, +5 and 5.0, too. It stands after the bounds."""
Limit = Annotated[int, Field(ge=1, le=100), DIGITS]
"""How many entries a page has."""
Flag = Literal["true", "false"]
"""A switch of a query."""
ExcelFlag = Annotated[
    Flag | None, Field(description="Of CSV: begin it with the byte order mark by which Excel knows UTF-8")
]
Offset = Annotated[int, Field(ge=0, le=2**53), DIGITS]
"""How many entries of a list are passed over."""


def together(needs: Mapping[str, Sequence[str]], excludes: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """For `json_schema_extra` of a model: a field of `needs`, unless it is null, needs the others beside it, and one of
    `excludes` none of the others."""
    rules = {name: {"required": list(others), **_each(others, {"not": NULL})} for name, others in needs.items()}
    rules |= {name: _each(others, NULL) for name, others in (excludes or {}).items()}
    return {
        "dependentSchemas": {name: {"if": _each([name], {"not": NULL}), "then": rule} for name, rule in rules.items()}
    }


NULL: Any = {"enum": [None]}
"""Not a type of its own, which generators of clients do not know."""


def _each(names: Sequence[str], schema: dict[str, Any]) -> dict[str, Any]:
    return {"properties": dict.fromkeys(names, schema)}
