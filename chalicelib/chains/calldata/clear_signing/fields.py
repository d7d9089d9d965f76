"""The fields that a wallet shows of a call or of typed data, in the form of ERC-7730, version 2.

A path names a parameter: `_amount`, `paymentInfo.token`, `requestDetails.[].recipient`; `@.to` and `@.value` are those
of the transaction. What moves, who gets it, until when and under which reference is shown; `hidden_fields` names the
rest.
"""

from typing import Any

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.chains.catalogue.tokens import find_tokens

Field = dict[str, Any]
UNLIMITED = f"0x8{'0' * 63}"
"""The amount (2**255) from which on an allowance is one without end."""
_SOURCES = ["local", "ens"]


@frozen
class Display:
    """What is shown of one function or type. `title` says in a word or two what is signed, `sentence` in one line with
    the values of fields in braces."""

    title: str
    sentence: str
    fields: tuple[Field, ...]


def amount(path: str, label: str, token_path: str) -> Field:
    """An amount in base units of the token at another path, or of the native coin if a batch names it there."""
    params = {"tokenPath": token_path, "nativeCurrencyAddress": _native_coins()}
    return _show_field(path, label, "tokenAmount", params)


def allowance(path: str, label: str, token_path: str) -> Field:
    """An amount that somebody may take."""
    return _show_field(
        path, label, "tokenAmount", {"tokenPath": token_path, "threshold": UNLIMITED, "message": "Unlimited"}
    )


def coins(path: str, label: str) -> Field:
    """An amount in base units of the native coin."""
    return _show_field(path, label, "amount")


def address(path: str, label: str) -> Field:
    return _show_field(path, label, "addressName", {"types": ["wallet", "eoa", "contract"], "sources": _SOURCES})


def token(path: str, label: str = "Token") -> Field:
    return _show_field(path, label, "addressName", {"types": ["token"], "sources": _SOURCES})


def currency(path: str, label: str) -> Field:
    """The currency of an invoice, if it is fiat or a native coin (descriptors.currencies)."""
    return _show_field(path, label, "enum", {"$ref": "$.metadata.enums.currencies"})


def moment(path: str, label: str) -> Field:
    """A number of seconds of Unix time."""
    return _show_field(path, label, "date", {"encoding": "timestamp"})


def seconds(path: str, label: str) -> Field:
    return _show_field(path, label, "duration")


def share(path: str, label: str) -> Field:
    """A number of basis points (1/10,000)."""
    return _show_field(path, label, "unit", {"base": "%", "decimals": 2})


def chain(path: str, label: str) -> Field:
    return _show_field(path, label, "chainId")


def raw(path: str, label: str) -> Field:
    return _show_field(path, label, "raw")


def unless_zero(field: Field) -> Field:
    """A field that is shown only if it is not 0."""
    return {**field, "visible": {"ifNotIn": [0]}}


def hidden_fields(*paths: str) -> tuple[Field, ...]:
    """What tells a payer nothing: nonces, salts, what the contract ignores, and what another field shows already."""
    names = ((path, path.rpartition(".")[2]) for path in paths)
    return tuple({"path": path, "label": name, "format": "raw", "visible": "never"} for path, name in names)


def _show_field(path: str, label: str, format: str, params: dict[str, Any] | None = None) -> Field:
    field = {"path": path, "label": label, "format": format, "visible": "always"}
    return field if params is None else {**field, "params": params}


def _native_coins() -> list[str]:
    """The addresses by which batches name the native coins."""
    found = (known for each in ALL_NETWORKS if each.family == "evm" for known in find_tokens(each.name))
    return sorted({known.hash for known in found if known.is_native})
