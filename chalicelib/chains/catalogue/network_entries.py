"""Checks the entries of networks.json: what each network has to have, and of which form.

A process that starts reads this module only if it cannot use an entry, as a package does not change any more; the tests
check all of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from chalicelib.chains.catalogue.data import InvalidData, path_of

_COINS = re.compile(r"(?=.*[1-9])(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,18})?")
_DOLLARS = re.compile(r"0|(?:0|[1-9][0-9]{0,3})\.[0-9]{1,6}|[1-9][0-9]{0,3}")
Check = Callable[[Any], bool]


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _matches(pattern: str | re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


_TEXT, _URL = _matches(r".*\S.*"), _matches(r"https://\S+[^/\s]")
_KEYS: Mapping[str, Check] = {
    "chainId": _whole(1, 2**53),
    "label": _matches("[A-Z]+"),
    "family": _matches("evm|tron"),
    "title": _TEXT,
    "coin.name": _TEXT,
    "coin.symbol": _TEXT,
    "coin.decimals": _whole(0, 18),
    "explorer": _matches(r"https://\S+/"),
    "rpcUrls": _texts,
    "confirmations": _whole(1, 64),
    "confirmationsBecause": _matches(r".{11,}"),
    "blockMilliseconds": _whole(100, 60_000),
    "logRange": _whole(65, 10_000),
    "absence.headersEvery": _whole(0, 10_000),
    "absence.movesOn": _matches("unproved|corroborated"),
    "contracts.ERC20FeeProxy": _TEXT,
}
"""What every network has."""
_OF_EVM: Mapping[str, Check] = {
    "currency.symbol": _TEXT,
    "currency.name": _TEXT,
    "relayer.dailyLimit": _matches(_COINS),
    "relayer.lowBalance": _matches(_COINS),
    "relayer.maxFeeGwei": _whole(1, 100_000),
    "relayer.recurringFee": _matches(_DOLLARS),
    "contracts.EthereumFeeProxy": _TEXT,
    "contracts.BatchConversionPayments": _TEXT,
    "contracts.Multicall3": _TEXT,
    "contracts.MultiSendCallOnly": _TEXT,
    "contracts.Permit2": _TEXT,
}
"""What every EVM network has besides."""
_OF_BRIDGED = ("contracts.AcrossSpokePool", "contracts.AcrossMulticallHandler", "contracts.LiFiDiamond")
"""What a network has that is paid from and to by the bridge."""
_OPTIONAL: Mapping[str, Check] = {
    "aliases": _texts,
    "currency.priceId": _TEXT,
    "currency.feed": _TEXT,
    "safeServiceUrl": _URL,
    "scanSeconds": _whole(1, 60),
    "absence.receiptsRecordedBelow": _whole(0, 2**53),
    "bridgePlace": _whole(1, 100),
    "hasP256": lambda value: isinstance(value, bool),
    "isTest": lambda value: isinstance(value, bool),
}


def check(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises InvalidData with a sentence for each key that is missing, unknown or of a wrong form."""
    problems = [problem for name, entry in entries.items() for problem in _problems(name, entry)]
    if problems := [*problems, *_find_repeated(entries)]:
        raise InvalidData("\n".join(f"{path_of('networks')}: {problem}" for problem in problems))


def _problems(name: str, entry: Mapping[str, Any]) -> Iterator[str]:
    found = dict(_flat(entry))
    wanted = dict(_KEYS) | (dict(_OF_EVM) if entry.get("family") == "evm" else {})
    if "bridgePlace" in entry:
        wanted |= dict.fromkeys(_OF_BRIDGED, _TEXT)
    for key in sorted(wanted.keys() - found.keys()):
        yield f"{name} has no `{key}`, which a network has to have"
    known = {**wanted, **_OPTIONAL}
    for key, value in found.items():
        if key in known and not known[key](value):
            yield f"{name} has a `{key}` that cannot be used: {value!r}"
        elif key not in known and not key.startswith("contracts."):
            yield f"{name} has a `{key}`, which is not a key that the code reads"


def _find_repeated(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for key in ("chainId", "label", "bridgePlace"):
        names: dict[Any, str] = {}
        for name, entry in entries.items():
            if (value := entry.get(key)) is not None and (other := names.setdefault(value, name)) != name:
                yield f"{name} has the same `{key}` as {other}"


def _flat(entry: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
