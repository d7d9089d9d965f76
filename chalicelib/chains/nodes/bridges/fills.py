"""Which payments of a transaction the fills of a bridge made: each belongs to its own fill, by position and amount.

A fill logs its event, moves what it brings to the recipient, and makes the calls of its message, before anything else
of the transaction is run. So a payment is of the newest fill before its event, if what that fill brought paid it:

    FilledRelay                     of the deposit, which names the depositor, the recipient and what is brought
    Transfer(.. -> recipient)       what is brought: the first transfer of the token, of the amount of the event
    Transfer(recipient -> payee)    the payment, and its fee
    TransferWithReferenceAndFee     the event of the payment
    Transfer(recipient -> ..)       what is left, or everything if the calls failed

What is not covered by the tokens that the fill brought, such as a payment that others make through the same contract
after the calls have failed, is of no fill. The same holds for what a message does after another fill inside of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.contracts import ACROSS_HANDLER, LIFI_RECEIVER, address_of
from chalicelib.chains.nodes.bridges.deposits import LoggedFill, fills_in, token_transfer
from chalicelib.chains.nodes.history.logs import InconsistentNode, ProxyTransfer
from chalicelib.chains.nodes.history.transfers import transfers_of
from chalicelib.chains.nodes.rpc.hex_values import quantity


@frozen
class BroughtPayment:
    """A payment that a fill made, with its event key among those of its transaction."""

    fill: LoggedFill
    payment: ProxyTransfer


def payments_of_fills(name: str, logs: Iterable[Mapping[str, Any]]) -> tuple[BroughtPayment, ...]:
    """The payments that the fills of one transaction made, in their order; `logs` are all of its logs, in any order.

    Raises InconsistentNode if two logs contradict each other, ChainUnavailable if one is not of the documented form.
    """
    known = tuple(logs)
    if not fills_in(name, known):
        return ()
    ordered = _sort_logs(known)
    payments = {each.log_index: each for each in transfers_of(name, ordered)}
    found = list[BroughtPayment]()
    for fill, own in _segments(name, ordered):
        money = _Money(name, fill)
        for log in own:
            money.move(log)
            payment = payments.get(quantity(log["logIndex"]))
            if payment is not None and money.has_paid(payment):
                found.append(BroughtPayment(fill, payment))
    return tuple(found)


def logs_of_fill(name: str, logs: Iterable[Mapping[str, Any]], fill: LoggedFill) -> Sequence[Mapping[str, Any]]:
    """The logs of what a fill did: those after its event, up to the event of the next fill in the transaction.

    Raises InconsistentNode if the fill's event is not among the logs: then others may be missing, too.
    """
    own = next((own for each, own in _segments(name, _sort_logs(logs)) if each.key == fill.key), None)
    if own is None:
        raise InconsistentNode(name, "the receipt of a fill does not have the event of the fill")
    return own


class _Money:
    """What is left of the tokens that a fill brought, as the logs after it are read one after the other.

    `holders` are the contracts that have it: the recipient or, of LI.FI's, the contract that makes the calls.
    """

    def __init__(self, name: str, fill: LoggedFill) -> None:
        self._token = address_bytes(fill.token) if fill.token is not None else None
        self._recipient = address_bytes(fill.recipient) if fill.recipient is not None else None
        self._passes_on = _address_of_contract(LIFI_RECEIVER, name)
        calls = {_address_of_contract(ACROSS_HANDLER, name), self._passes_on} - {None}
        self._holders = {self._recipient} & calls
        self._amount, self._left = fill.amount, -1
        self._has_begun = False
        self._paid = set[tuple[bytes, int]]()

    def move(self, log: Mapping[str, Any]) -> None:
        moved = token_transfer(log, self._token) if self._token is not None else None
        if moved is None:
            return
        sender, receiver, amount = moved
        if not self._has_begun:
            self._has_begun = True
            if (receiver, amount) == (self._recipient, self._amount):
                self._left = amount
        elif sender in self._holders:
            if sender == self._passes_on:
                self._holders.add(receiver)
            if receiver not in self._holders:
                self._left -= amount
                self._paid.add((receiver, amount))

    def has_paid(self, payment: ProxyTransfer) -> bool:
        """Whether the fill's tokens covered the payment whose event is read now. It is counted once."""
        token = address_bytes(payment.token_address) if payment.token_address is not None else None
        moved = address_bytes(payment.payee), payment.amount
        if self._left < 0 or token is None or token != self._token or moved not in self._paid:
            return False
        self._paid.remove(moved)
        return True


def _sort_logs(logs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The logs by their positions. One that the node repeats counts once."""
    by_index = {quantity(log["logIndex"]): log for log in logs}
    return [by_index[index] for index in sorted(by_index)]


def _segments(name: str, ordered: Sequence[Mapping[str, Any]]) -> Iterator[tuple[LoggedFill, list[Mapping[str, Any]]]]:
    """Each fill with the logs after its event, up to that of the next one."""
    fill: LoggedFill | None = None
    own = list[Mapping[str, Any]]()
    for log in ordered:
        filled = fills_in(name, [log])
        if not filled:
            own.append(log)
            continue
        if fill is not None:
            yield fill, own
        fill, own = filled[0], []
    if fill is not None:
        yield fill, own


def _address_of_contract(contract: str, name: str) -> bytes | None:
    try:
        return address_bytes(address_of(contract, name))
    except LookupError:
        return None
