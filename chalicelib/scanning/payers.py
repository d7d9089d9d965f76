"""Payers: who paid the transfers that a tick finds, from the receipts of their transactions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from chalicelib.base.errors import ChainUnavailable
from chalicelib.catalogue.networks import Network
from chalicelib.catalogue.tokens import token_of_log
from chalicelib.chain.jsonrpc import NodeTimeout
from chalicelib.chain.receipts import PaidTransfer
from chalicelib.scanning.records import LoggedTransfer, TransferId
from chalicelib.services import Services

if TYPE_CHECKING:
    from chalicelib.chain.protocol import Chain

RECEIPTS_PER_TICK = {"evm": 500, "tron": 20}
RECEIPTS_PER_REQUEST = {"evm": 50, "tron": 1}
"""On Tron each receipt is a request of its own. A receipt that is too long, which anybody can cause, costs the payers
of one request."""


class Payers:
    """Finds payers as far as one tick's limits of receipts and time allow; the others stay None.

    A payer is shown and searched for, but decides nothing. So no failure of the node is raised, and the transfers are
    logged all the same.
    """

    def __init__(self, services: Services, chain: "Chain", facts: Network, deadline: datetime) -> None:
        self._services, self._chain, self._deadline = services, chain, deadline
        self._left = RECEIPTS_PER_TICK[facts.family]
        self._per_request = RECEIPTS_PER_REQUEST[facts.family]

    def found(self, entries: Sequence[LoggedTransfer]) -> tuple[LoggedTransfer, ...]:
        """The entries with their payers. Only transfers of tokens in the catalogue cost a call: no others are
        payments."""
        wanted = [each for each in entries if token_of_log(each.network, each.token_address) is not None]
        hashes = list(dict.fromkeys(each.tx_hash for each in wanted))
        payers = dict[TransferId, str | None]()
        for start in range(0, len(hashes), self._per_request):
            part = set(hashes[start : start + min(self._per_request, self._left)])
            if not part or self._services.clock() >= self._deadline:
                break
            self._left -= len(part)
            payers |= self._read([each for each in wanted if each.tx_hash in part])
        return tuple(replace(each, payer=payers.get(each.transfer_id)) for each in entries)

    def _read(self, entries: Sequence[LoggedTransfer]) -> dict[TransferId, str | None]:
        """The payers by the ids of the entries; none if the node does not say."""
        try:
            senders = self._chain.payers_of([_paid(each) for each in entries])
        except ChainUnavailable as error:
            facts = {"network": self._chain.network, "reason": error.message}
            self._services.log.warning("payers not read", extra=facts)
            if isinstance(error, NodeTimeout):
                self._left = 0
            return {}
        pairs = zip(entries, senders, strict=True)
        return {entry.transfer_id: None if sender is None else sender.address for entry, sender in pairs}


def _paid(entry: LoggedTransfer) -> PaidTransfer:
    """The transfer as the node needs it: transaction hashes with 0x, on Tron, too."""
    return PaidTransfer("0x" + entry.tx_hash.removeprefix("0x"), entry.token_address, entry.payee, entry.amount)
