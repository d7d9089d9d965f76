"""Transactions as URIs, for wallets on another device that read them from a QR code.

    ethereum:<contract>@<chain id>/<function>?value=<base units>&<type>=<argument>&...        EIP-681
    tron:<contract>?data=0x...&feeLimit=<sun>                                                 after no standard

EIP-681 has neither arrays nor structs: what a batch contract is called with cannot be said in it.
"""

from chalicelib.calldata.explanation import Argument, Explanation
from chalicelib.calldata.transaction import Transaction
from chalicelib.catalogue.networks import network

LONGEST = 2_900
"""Letters: a QR code holds 2,953 bytes at the most (ISO/IEC 18004, version 40 at level L)."""


def uri_of(name: str, transaction: Transaction, explanation: Explanation, fee_limit: int) -> str | None:
    """The URI of a transaction on the network of that name; None when it cannot be written as one, or is longer than
    LONGEST.

    `fee_limit`, in sun, is for tron alone.
    """
    uri = _written(name, transaction, explanation, fee_limit)
    return uri if uri is not None and len(uri) <= LONGEST else None


def _written(name: str, transaction: Transaction, explanation: Explanation, fee_limit: int) -> str | None:
    chain = network(name)
    if chain is None or explanation.function is None:
        return None
    if chain.family == "tron":
        return f"tron:{transaction.to}?data={transaction.data}&feeLimit={fee_limit}"
    if not all(_is_spelled(each) for each in explanation.arguments):
        return None
    value = [f"value={transaction.value}"] if transaction.value else []
    query = "&".join([*value, *(f"{each.type}={each.value}" for each in explanation.arguments)])
    return f"ethereum:{transaction.to}@{chain.chain_id}/{explanation.function}?{query}"


def _is_spelled(argument: Argument) -> bool:
    """Whether its value is all of it: of long bytes, and of lists, an explanation says only how many they are."""
    return argument.type in ("address", "uint256") or (argument.type == "bytes" and argument.value.startswith("0x"))
