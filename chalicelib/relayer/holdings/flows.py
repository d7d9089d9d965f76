"""Says which calls may spend tokens that the service's account has, by its ledger and what each node says it has."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.nodes import every_node
from chalicelib.chains.nodes.readings import TokenBalances
from chalicelib.platform.services import Services
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.following import WINDOW
from chalicelib.relayer.holdings import rules, store
from chalicelib.relayer.holdings.records import Holding, Move
from chalicelib.relayer.holdings.rules import Ledger, Place
from chalicelib.relayer.rules import Call

_MOST_UNDER_WAY = 2 * WINDOW


@frozen
class Permission:
    """Why calls may not spend what they move out, by their keys; and the entries of those that may."""

    refused: Mapping[str, str]
    entries: Mapping[Place, Holding]


def read_balances(services: Services, account: str, calls: Sequence[Call]) -> tuple[TokenBalances, ...]:
    """What each node says that the account has of the tokens that calls move out; nothing without such a call. Two
    requests to each node. Raises ChainUnavailable if one of them does not answer: then nothing is spent."""
    tokens = sorted({move.place[0] for _, move in _spending(calls)})
    if not tokens:
        return ()
    nodes = every_node(services.chains.evm(calls[0].network))
    return tuple(node.token_balances(account, tokens) for node in nodes)


def permission(
    services: Services, account: str, calls: Sequence[Call], balances: Sequence[TokenBalances]
) -> Permission:
    """What the ledger says of calls of one network. A read and a query if one of them moves tokens out.

    Logs each that it does not allow; an alarm is made of it (metrics.py).
    """
    spending = _spending(calls)
    if not spending:
        return Permission({}, {})
    network, places = calls[0].network, [move.place for _, move in spending]
    first = min(each.nonce for each in balances)
    under_way = relayer_store.transactions_from(services.store, network, account, first, _MOST_UNDER_WAY)
    if len(under_way) == _MOST_UNDER_WAY:
        raise ChainUnavailable(f"A {network} node has not executed what is under way")
    entries, sums = store.entries_and_sums(services.store, network, account, places, dict(places))
    ledger, refused = Ledger(entries, sums, under_way), dict[str, str]()
    for call, move in spending:
        reason = rules.refusal(move, ledger, balances)
        if reason is None:  # what it leaves of its entry is what the next call of the same owner may spend
            entry = ledger.entries[move.place]
            after = replace(entry, spent=BaseUnits(entry.spent + move.amount))
            ledger = replace(ledger, entries={**ledger.entries, move.place: after})
        else:
            refused[call.key] = reason
            _log(services, account, call, move, reason, ledger, balances)
    return Permission(refused, entries)


def _spending(calls: Sequence[Call]) -> list[tuple[Call, Move]]:
    return [(call, call.moves) for call in calls if call.moves is not None and not call.moves.inward]


def _log(
    services: Services,
    account: str,
    call: Call,
    move: Move,
    reason: str,
    ledger: Ledger,
    balances: Sequence[TokenBalances],
) -> None:
    token, owner = move.place
    entry = ledger.entries.get(move.place)
    facts = {
        "network": call.network,
        "account": account,
        "token": token,
        "call": call.key,
        "owner": owner,
        "reason": reason,
        "amount": str(move.amount),
        "left": str(entry.left if entry is not None else 0),
        "held": str(ledger.sums.get(token, 0)),
        "balance": str(min(each.balances[token] for each in balances)),
    }
    services.log.error("holdings do not cover a call", extra=facts)
