"""Readers of the texts of environment variables.

Each takes a text and returns its value, or raises ValueError, which says what is wrong. Functions that return a reader
are named for what it accepts.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

MOST_MAXIMUM, MOST_AT_ONCE = 1_000, 1_250
"""The highest maximum that Lambda takes for the consumer of a queue, and how many it runs of one without a maximum
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html)."""
_BASE_URL = re.compile(r"https?://[^\s?#]*[^/\s?#]")
_OPTIONAL_URL = re.compile(f"(?:{_BASE_URL.pattern})?")
ORIGIN = re.compile(r"https?://[a-z0-9.*:\[\]-]+")
_HEADER = re.compile(r"[A-Za-z0-9-]{0,64}")
_CLIENT_ID = re.compile(r"[\w-]{1,64}")
_COINS = re.compile(r"(?=.*[1-9])(?:0|[1-9][0-9]{0,8})(?:\.[0-9]{1,18})?")


def plain_text(text: str) -> str:
    return text


def one_of(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return read


def matching(pattern: re.Pattern[str], sentence: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(sentence)
        return text

    return read


header = matching(_HEADER, "must be the name of a header, or empty")
client_id = matching(_CLIENT_ID, "must be 1 to 64 letters, digits, - or _")
project_id = matching(re.compile(r"(?:[0-9a-f]{32})?"), "must be empty, or 32 hexadecimal digits")
relay_url = matching(re.compile(r"wss?://[a-z0-9.:\[\]-]+"), "must be a wss URL without a path, such as wss://relay.example")
coins = matching(_COINS, 'must be an amount of the native coin above 0, as text such as "0.5"')
base_url = matching(_BASE_URL, "must be an http or https URL without a slash at its end")
optional_url = matching(_OPTIONAL_URL, "must be empty, or a URL without a slash at its end")


def optional_email(text: str) -> str:
    if not text:
        return ""
    from chalicelib.base.email_addresses import email_address
    from chalicelib.base.errors import BadRequest

    try:
        return email_address(text).written
    except BadRequest:
        raise ValueError("must be empty, or an e-mail address") from None


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ValueError("must be a whole number") from None
        if number < least or (most is not None and number > most):
            raise ValueError(f"must be at least {least}" + (f" and at most {most}" if most is not None else ""))
        return number

    return read


def concurrency(text: str) -> int:
    """The maximum of a queue's consumer, or MOST_AT_ONCE for one without a maximum."""
    return MOST_AT_ONCE if text == str(MOST_AT_ONCE) else whole(2, MOST_MAXIMUM)(text)


def flag(text: str) -> bool:
    if text.lower() in ("true", "t", "yes", "y", "on", "1"):
        return True
    if text.lower() in ("false", "f", "no", "n", "off", "0"):
        return False
    raise ValueError("must be true or false")


def texts(read: Callable[[str], str] = plain_text) -> Callable[[str], tuple[str, ...]]:
    def read_all(text: str) -> tuple[str, ...]:
        values = _json(text)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ValueError('must be a JSON list of texts, such as ["a", "b"]')
        return tuple(read(value) for value in values)

    return read_all


def network_name(text: str) -> str:
    from chalicelib.chains.catalogue.networks import find_network

    known = find_network(text)
    if known is None:
        raise ValueError(f"{text} is not a network")
    return known.name


def by_network(read: Callable[[str], Any], kind: type) -> Callable[[str], dict[str, Any]]:
    def read_all(text: str) -> dict[str, Any]:
        values = _json(text)
        if not isinstance(values, dict):
            raise ValueError("must be a JSON object by network")
        if not values:
            return {}
        found: dict[str, Any] = {}
        for name, value in values.items():
            known = network_name(name)
            if type(value) not in (kind, str):
                raise ValueError(f"{name}: must be a {'number' if kind is int else 'text'}")
            found[known] = read(str(value))
        return found

    return read_all


def all_safe_services() -> dict[str, str]:
    """The Safe Transaction Service of each network that has one, as the catalogue has them."""
    from chalicelib.chains.catalogue.networks import ALL_NETWORKS

    return {each.name: each.safe_service_url for each in ALL_NETWORKS if each.safe_service_url is not None}


def safe_services(text: str) -> dict[str, str]:
    overrides: dict[str, str] = by_network(optional_url, str)(text)
    if not overrides:
        return {}
    return {name: url for name, url in {**all_safe_services(), **overrides}.items() if url}


def by_currency(text: str) -> dict[str, str]:
    values = _json(text)
    if not isinstance(values, dict):
        raise ValueError("must be a JSON object by currency id")
    if not values:
        return {}
    from chalicelib.base.errors import BadRequest
    from chalicelib.base.money import parse_amount
    from chalicelib.chains.catalogue.tokens import token_with_id

    for name, value in values.items():
        token = token_with_id(name)
        if token is None:
            raise ValueError(f"{name} is not a currency id")
        try:
            if value != "0":
                parse_amount(str(value), token.decimals)
        except BadRequest as error:
            raise ValueError(f"{name}: {error.message}") from None
    return {name: str(value) for name, value in values.items()}


def escrows(text: str) -> Mapping[str, Any]:
    if (values := _json(text)) == {}:
        return {}
    from chalicelib.chains.catalogue.escrows import read_escrows

    return read_escrows(values)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError("is not valid JSON") from None
