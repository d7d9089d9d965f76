"""The Safe Transaction Service: it knows the transactions that a Safe's owners sign before they are on a chain."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.errors import BadRequest, ServiceError
from chalicelib.base.money import MAX_UINT256
from chalicelib.chain.http_client import HttpClient, HttpError

if TYPE_CHECKING:
    from chalicelib.calldata.safe import SafeTerms, SafeTransaction

_LONGEST_DATA = 128 * 1024
"""Bytes: what Ethereum's nodes accept as one transaction."""
_MAX_RESPONSE_BYTES = 2 * 1024 * 1024
"""The data is in a response as hexadecimal text, and a second and third time decoded."""
_DATA = re.compile(f"0x(?:[0-9a-fA-F]{{2}}){{0,{_LONGEST_DATA}}}")
_OPERATIONS, _NONCES, _LONGEST_NUMBER = 2, 2**63, 80


class SafeServiceUnavailable(ServiceError):
    """The service did not respond, or not in its documented form: nothing is known of the transaction."""

    status = 503


@dataclass(frozen=True)
class Proposal:
    """A Safe's transaction as the service describes it. The caller checks that it has the hash that was looked up."""

    safe: str
    transaction: "SafeTransaction"
    terms: "SafeTerms"


class SafeService:
    """A client of one service for each network: `urls` are their base URLs, without the path /api/v1."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self._clients = {network: HttpClient(url, _MAX_RESPONSE_BYTES) for network, url in urls.items()}

    def serves(self, network: str) -> bool:
        """Whether the network has a service."""
        return network in self._clients

    def transaction(self, network: str, safe_tx_hash: str) -> Proposal | None:
        """The transaction with that hash (0x and 64 lower-case digits), from the service of a network that has one;
        None when the service does not know it. Raises SafeServiceUnavailable."""
        try:
            response = self._clients[network].get(f"/api/v1/multisig-transactions/{safe_tx_hash}/")
        except HttpError as error:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer") from error
        if response.status == 404:
            return None
        if response.status != 200:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer as it should")
        try:
            return _proposal(json.loads(response.body))
        except (ValueError, TypeError, LookupError, RecursionError, BadRequest) as error:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer as it should") from error


def _proposal(fields: Any) -> Proposal:
    """Raises ValueError, TypeError, LookupError or BadRequest for anything but the documented form."""
    from chalicelib.calldata.safe import SafeTerms, SafeTransaction

    data = "0x" if fields["data"] is None else fields["data"]
    if not _DATA.fullmatch(data):
        raise ValueError("data is not hexadecimal text, or longer than a transaction can be")
    operation = _whole(fields["operation"], _OPERATIONS)
    return Proposal(
        evm_address(fields["safe"]),
        SafeTransaction(_address(fields["to"]), _whole(fields["value"]), data, operation),
        SafeTerms(
            nonce=_whole(fields["nonce"], _NONCES),
            safe_tx_gas=_whole(fields["safeTxGas"]),
            base_gas=_whole(fields["baseGas"]),
            gas_price=_whole(fields["gasPrice"]),
            gas_token=_address(fields["gasToken"]),
            refund_receiver=_address(fields["refundReceiver"]),
        ),
    )


def _whole(value: Any, end: int = MAX_UINT256 + 1) -> int:
    """A number from 0 to below `end`. The service writes large ones as text, newer versions of it all of them."""
    if isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_NUMBER:
        value = int(value)
    if type(value) is not int or not 0 <= value < end:
        raise TypeError("a number is not one, or out of its range")
    return value


def _address(value: Any) -> str:
    """The service writes the zero address as null."""
    return ZERO_ADDRESS if value is None else evm_address(value)
