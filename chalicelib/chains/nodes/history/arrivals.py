"""What reached payees and receivers of fees, by the Transfer logs of the tokens themselves.

An event of a proxy says what the proxy asked the token to move. A token that keeps a fee moves less, and one may move
nothing without failing. The proxies move tokens before they log their events:

    Transfer to the payee, Transfer of the fee, TransferWithReferenceAndFee

So the Transfers of a transaction are divided among its events in the order of the logs: each takes what has reached its
payee until then and no event before it took, at most what it says; its fee takes from what is left after that.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.abi import address_word
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.tokens import token_of_log
from chalicelib.chains.nodes.history.full_blocks import ADDRESSES_PER_QUERY, LogFilter
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress, ends_of
from chalicelib.chains.nodes.rpc.hex_values import hash_of, quantity

_Place = tuple[str, str, str]
"""The transaction without 0x, the token and the receiver of a Transfer, as logs write them."""
LogId = tuple[int, str, str, str]
"""The number and hash of a block, a transaction, and an event key (transfers.py)."""


@frozen
class Arrived:
    """What reached the payee of an event and the receiver of its fee, in base units, at most what the event says."""

    amount: BaseUnits
    fee_amount: BaseUnits


def transfers_to(tokens: Iterable[str], receivers: Iterable[str]) -> tuple[LogFilter, ...]:
    """The Transfer logs of some tokens to some addresses: a filter for each 500 of these."""
    words = sorted({"0x" + address_word(each).hex() for each in receivers})
    emitters = tuple(sorted({hex_address(each) for each in tokens}))
    parts = (words[start : start + ADDRESSES_PER_QUERY] for start in range(0, len(words), ADDRESSES_PER_QUERY))
    return tuple(LogFilter(emitters, ((TRANSFER_TOPIC,), (), tuple(part))) for part in parts)


def is_transfer(network: str, log: Mapping[str, Any]) -> bool:
    """Whether a log is a Transfer of a token of the catalogue: those of others say nothing of what has arrived."""
    is_one = bool(log["topics"]) and log["topics"][0].lower() == TRANSFER_TOPIC
    return is_one and token_of_log(network, log["address"].lower()) is not None


def find_arrivals(
    network: str,
    logs: Iterable[Mapping[str, Any]],
    escrow: EscrowContracts | None = None,
    addresses: Collection[PlainAddress] = (),
) -> dict[LogId, Arrived]:
    """What arrived of each payment in a token.

    `logs` are all events of payments of some transactions, and the Transfers to the payees and receivers of fees that
    are asked about: of others it says that nothing arrived. Raises as `transfers_of`, whose `addresses` these are.
    """
    found = tuple(logs)
    payments = transfers_of(network, found, escrow, addresses)
    try:
        moved = _transfers_by_transaction(found)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ChainUnavailable(f"The {network} node does not answer as it should") from error
    left, shares = Counter[_Place](), dict[LogId, Arrived]()
    for each in payments:
        if each.token_address is None:
            continue
        tx_hash = each.tx_hash.removeprefix("0x")
        waiting = moved.get(tx_hash, [])
        while waiting and waiting[-1][0] <= each.log_index:
            _, token, receiver, amount = waiting.pop()
            left[tx_hash, token, receiver] += amount
        taken = (
            _take(left, (tx_hash, each.token_address, receiver), most)
            for receiver, most in ((each.payee, each.amount), (each.fee_address, each.fee_amount))
        )
        shares[each.block_number, each.block_hash, each.tx_hash, each.event_key] = Arrived(*taken)
    return shares


def _transfers_by_transaction(logs: Iterable[Mapping[str, Any]]) -> dict[str, list[tuple[int, str, str, int]]]:
    """The place, token, receiver and amount of Transfers by their transactions, the last first; one that the node
    repeats is there once."""
    decoded = ((log, ends_of(log)) for log in logs)
    distinct = {
        (hash_of(log["transactionHash"]).removeprefix("0x"), quantity(log["logIndex"]), ends[0], ends[2], ends[3])
        for log, ends in decoded
        if ends is not None
    }
    moved = dict[str, list[tuple[int, str, str, int]]]()
    for tx_hash, place, token, receiver, amount in sorted(distinct, reverse=True):
        moved.setdefault(tx_hash, []).append((place, token, receiver, amount))
    return moved


def _take(left: Counter[_Place], place: _Place, most: int) -> BaseUnits:
    amount = min(most, left[place])
    left[place] -= amount
    return BaseUnits(amount)
