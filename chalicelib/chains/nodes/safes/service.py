"""The client of the Safe Transaction Service, which stores Safe transactions while their owners sign them."""

import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address
from chalicelib.base.errors import BadRequest, ServiceError
from chalicelib.base.money import MAX_UINT256
from chalicelib.chains.nodes.rpc.http_client import HttpClient, HttpError, HttpResponse

if TYPE_CHECKING:
    from chalicelib.chains.nodes.safes.records import Proposal, SafeState

_Read = TypeVar("_Read")
MOST_QUEUED = 50
_LONGEST_DATA = 128 * 1024
"""Bytes; the longest transaction that Ethereum nodes accept."""
_MAX_RESPONSE_BYTES = 2 * 1024 * 1024
"""A response holds the data as hexadecimal text and up to two more times in decoded form."""
_DATA = re.compile(f"0x(?:[0-9a-fA-F]{{2}}){{0,{_LONGEST_DATA}}}")
_REFUSALS = {
    401: "wants a key, or refuses the one in the secret with the node URLs",
    403: "does not allow this to the key in the secret with the node URLs",
    429: "allows no more requests for now",
}
_OPERATIONS, _NONCES, _LONGEST_NUMBER = 2, 2**63, 80


class SafeServiceUnavailable(ServiceError):
    """The service did not respond, or not in the documented form. Nothing is known about the transaction."""

    status = 503


class SafeService:
    """The clients of the networks' services.

    `urls` are their base URLs by network, without the path /api/v1. `key_of` is asked for the key of a network, if any,
    before each request there.
    """

    def __init__(self, urls: Mapping[str, str], key_of: Callable[[str], str | None] = lambda network: None) -> None:
        self._urls, self._key_of = urls, key_of
        self._clients = dict[str, tuple[str | None, HttpClient]]()

    def serves(self, network: str) -> bool:
        """Whether the network has a service."""
        return network in self._urls

    def transaction(self, network: str, safe_tx_hash: str) -> "Proposal | None":
        """The transaction with a hash (0x and 64 lower-case digits); None if the service does not have it.

        Raises SafeServiceUnavailable, and KeyError for a network without a service.
        """
        return self._read(network, f"/api/v1/multisig-transactions/{safe_tx_hash}/", _proposal)

    def safe(self, network: str, address: str) -> "SafeState | None":
        """What is known of a Safe; None if there is none at the address. Two requests. Raises as `transaction`."""
        from chalicelib.chains.nodes.safes.records import SafeState

        found = self._read(network, f"/api/v1/safes/{address}/", _owners_and_nonce)
        if found is None:
            return None
        owners, nonce = found
        query = f"executed=false&nonce__gte={nonce}&ordering=-nonce&limit={MOST_QUEUED}"
        queued = self._read(network, f"/api/v1/safes/{address}/multisig-transactions/?{query}", _proposals) or ()
        return SafeState(owners, nonce, tuple(each for each in queued if each.terms.nonce >= nonce))

    def propose(self, network: str, proposal: "Proposal", safe_tx_hash: str, owner: str, signature: bytes) -> None:
        """Stores a transaction with the signature of an owner, for the others to confirm; once more changes nothing.

        Raises as `transaction`, also if the service refuses it.
        """
        transaction, terms = proposal.transaction, proposal.terms
        body = {
            "to": transaction.to,
            "value": str(transaction.value),
            "data": transaction.data,
            "operation": transaction.operation,
            "safeTxGas": str(terms.safe_tx_gas),
            "baseGas": str(terms.base_gas),
            "gasPrice": str(terms.gas_price),
            "gasToken": terms.gas_token,
            "refundReceiver": terms.refund_receiver,
            "nonce": terms.nonce,
            "contractTransactionHash": safe_tx_hash,
            "sender": owner,
            "signature": "0x" + signature.hex(),
        }
        path = f"/api/v1/safes/{proposal.safe}/multisig-transactions/"
        response = self._send(lambda: self._client(network).post_json(path, body, _MAX_RESPONSE_BYTES))
        if not response.is_success:
            raise SafeServiceUnavailable(f"The Safe Transaction Service {_refusal(response)}")

    def _read(self, network: str, path: str, parse: Callable[[Any], _Read]) -> _Read | None:
        """What is at a path; None if the service does not have it."""
        response = self._send(lambda: self._client(network).get(path))
        if response.status == 404:
            return None
        if response.status != 200:
            raise SafeServiceUnavailable(f"The Safe Transaction Service {_refusal(response)}")
        try:
            return parse(json.loads(response.body))
        except (ValueError, TypeError, LookupError, RecursionError, BadRequest) as error:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer as it should") from error

    def _send(self, send: Callable[[], HttpResponse]) -> HttpResponse:
        try:
            return send()
        except HttpError as error:
            raise SafeServiceUnavailable("The Safe Transaction Service does not answer") from error

    def _client(self, network: str) -> HttpClient:
        key, known = self._key_of(network), self._clients.get(network)
        if known is None or known[0] != key:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            known = self._clients[network] = key, HttpClient(self._urls[network], _MAX_RESPONSE_BYTES, headers)
        return known[1]


def _refusal(response: HttpResponse) -> str:
    """Why there is no usable response, for the operator."""
    if response.status in (301, 308):
        return f"has moved to {response.headers.get('location')}"
    return _REFUSALS.get(response.status, f"does not answer as it should: status {response.status}")


def _proposal(fields: Any) -> "Proposal":
    """Raises ValueError, TypeError, LookupError or BadRequest unless the fields have the documented form."""
    from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction
    from chalicelib.chains.nodes.safes.records import Proposal

    data = "0x" if fields["data"] is None else fields["data"]
    if not _DATA.fullmatch(data):
        raise ValueError("data is not hexadecimal text, or longer than a transaction can be")
    operation = _integer(fields["operation"], _OPERATIONS)
    return Proposal(
        evm_address(fields["safe"]),
        SafeTransaction(_address(fields["to"]), _integer(fields["value"]), data, operation),
        SafeTerms(
            nonce=_integer(fields["nonce"], _NONCES),
            safe_tx_gas=_integer(fields["safeTxGas"]),
            base_gas=_integer(fields["baseGas"]),
            gas_price=_integer(fields["gasPrice"]),
            gas_token=_address(fields["gasToken"]),
            refund_receiver=_address(fields["refundReceiver"]),
        ),
    )


def _proposals(fields: Any) -> "tuple[Proposal, ...]":
    return tuple(_proposal(each) for each in fields["results"])


def _owners_and_nonce(fields: Any) -> tuple[tuple[str, ...], int]:
    return tuple(evm_address(each) for each in fields["owners"]), _integer(fields["nonce"], _NONCES)


def _integer(value: Any, end: int = MAX_UINT256 + 1) -> int:
    """A number from 0 to below `end`. The service sends large numbers as text, newer versions all numbers."""
    if isinstance(value, str) and value.isdecimal() and len(value) < _LONGEST_NUMBER:
        value = int(value)
    if type(value) is not int or not 0 <= value < end:
        raise TypeError("a number is not one, or out of its range")
    return value


def _address(value: Any) -> str:
    """An address in EIP-55. The service sends the zero address as null."""
    return ZERO_ADDRESS if value is None else evm_address(value)
