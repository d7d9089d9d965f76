"""Transactions as URIs, which wallets on another device read from a QR code.

    ethereum:<contract>@<chain id>/<function>?value=<base units>&<type>=<argument>&...        EIP-681
    tron:<contract>?data=0x...&feeLimit=<sun>                                                 no standard

EIP-681 has neither arrays nor structs, so it cannot express the calls of batch contracts.
"""

from chalicelib.chains.calldata.explanations.parts import Argument, Explanation
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.networks import find_network

MAX_LENGTH = 2_900
"""Characters; a QR code holds at most 2,953 bytes (ISO/IEC 18004, version 40 at level L)."""


def uri_of(name: str, transaction: Transaction, explanation: Explanation, fee_limit: int) -> str | None:
    """The URI of a transaction on a network; None if no URI can express it, or the URI is longer than MAX_LENGTH.

    `fee_limit` is in sun and only used on tron.
    """
    uri = _uri(name, transaction, explanation, fee_limit)
    return uri if uri is not None and len(uri) <= MAX_LENGTH else None


def _uri(name: str, transaction: Transaction, explanation: Explanation, fee_limit: int) -> str | None:
    chain = find_network(name)
    if chain is None or explanation.function is None:
        return None
    if chain.family == "tron":
        return f"tron:{transaction.to}?data={transaction.data}&feeLimit={fee_limit}"
    if not all(_is_complete(each) for each in explanation.arguments):
        return None
    value = [f"value={transaction.value}"] if transaction.value else []
    query = "&".join([*value, *(f"{each.type}={each.value}" for each in explanation.arguments)])
    return f"ethereum:{transaction.to}@{chain.chain_id}/{explanation.function}?{query}"


def _is_complete(argument: Argument) -> bool:
    """Whether the explanation has the whole value: of long bytes and arrays it has only the length."""
    return argument.type in ("address", "uint256") or (argument.type == "bytes" and argument.value.startswith("0x"))
