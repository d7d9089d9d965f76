"""The Safe Transaction Service, which knows the transactions that a Safe's owners sign before any chain does."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.errors import BadRequest, ServiceError
from chalicelib.base.money import MAX_UINT256
from chalicelib.calldata.safe import SafeTerms, SafeTransaction
from chalicelib.chain.jsonrpc import CONNECT_SECONDS

READ_SECONDS = 5
_LONGEST_DATA = 128 * 1024
"""Bytes: what Ethereum's nodes take as one transaction."""
_LONGEST_ANSWER = 2 * 1024 * 1024
"""The data comes as hexadecimal text, and a second and third time decoded."""
_DATA = re.compile(f"0x(?:[0-9a-fA-F]{{2}}){{0,{_LONGEST_DATA}}}")
_OPERATIONS, _NONCES, _LONGEST_NUMBER = 2, 2**63, 80


class SafeServiceUnavailable(ServiceError):
    """The service did not answer, or not in its documented form: nothing is known of the transaction."""

    status = 503


@dataclass(frozen=True)
class Proposal:
    """A Safe's transaction as the service tells it. That it has the hash it was asked by is for the caller to check."""

    safe: str
    transaction: SafeTransaction
    terms: SafeTerms


class SafeService:
    """A client of one service a network: `urls` are their base URLs, without the path /api/v1."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self._urls = urls

    def serves(self, network: str) -> bool:
        """Whether the network has a service."""
        return network in self._urls

    def transaction(self, network: str, safe_tx_hash: str) -> Proposal | None:
        """The transaction with that hash (0x and 64 lower-case digits) by the service of a network that has one; None
        when the service does not know it. Raises SafeServiceUnavailable."""
        body = self._get(f"{self._urls[network]}/api/v1/multisig-transactions/{safe_tx_hash}/")
        if body is None:
            return None
        try:
            return _proposal(json.loads(body))
        except (ValueError, TypeError, LookupError, RecursionError, BadRequest) as error:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer as it should") from error

    @cached_property
    def _session(self) -> Any:
        from requests import Session

        return Session()

    def _get(self, url: str) -> bytes | None:
        """The body of a 200, None for a 404."""
        from requests import RequestException

        try:
            with self._session.get(
                url, timeout=(CONNECT_SECONDS, READ_SECONDS), stream=True, allow_redirects=False
            ) as answer:
                if answer.status_code == 404:
                    return None
                body = b""
                for chunk in answer.iter_content(16 * 1024) if answer.status_code == 200 else ():
                    body += chunk
                    if len(body) > _LONGEST_ANSWER:
                        break
                if 0 < len(body) <= _LONGEST_ANSWER:
                    return body
        except (RequestException, OSError) as error:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer") from error
        raise SafeServiceUnavailable("The Safe Transaction Service does not answer as it should")


def _proposal(told: Any) -> Proposal:
    """Raises ValueError, TypeError, LookupError or BadRequest for anything but the documented form."""
    data = "0x" if told["data"] is None else told["data"]
    if not _DATA.fullmatch(data):
        raise ValueError("data is no hexadecimal text, or longer than a transaction can be")
    return Proposal(
        evm_address(told["safe"]),
        SafeTransaction(_address(told["to"]), _whole(told["value"]), data, _whole(told["operation"], _OPERATIONS)),
        SafeTerms(
            nonce=_whole(told["nonce"], _NONCES),
            safe_tx_gas=_whole(told["safeTxGas"]),
            base_gas=_whole(told["baseGas"]),
            gas_price=_whole(told["gasPrice"]),
            gas_token=_address(told["gasToken"]),
            refund_receiver=_address(told["refundReceiver"]),
        ),
    )


def _whole(told: Any, end: int = MAX_UINT256 + 1) -> int:
    """A number below `end`, written as one or, as larger ones and newer versions are, as text."""
    if isinstance(told, str) and told.isdecimal() and len(told) < _LONGEST_NUMBER:
        told = int(told)
    if type(told) is not int or not 0 <= told < end:
        raise TypeError("a number is none, or out of its range")
    return told


def _address(told: Any) -> str:
    """The service keeps no zero address: null."""
    return ZERO_ADDRESS if told is None else evm_address(told)
