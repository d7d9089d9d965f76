"""What the chain says of new transfers beside their logs: who paid them, and what a conversion should have moved."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.frozen import make_from
from chalicelib.base.money import BaseUnits
from chalicelib.payments.scanning import watched_addresses
from chalicelib.payments.scanning.records import LoggedTransfer, TransferId
from chalicelib.platform.services import Services

if TYPE_CHECKING:
    from chalicelib.chains.catalogue.networks import Network
    from chalicelib.chains.nodes.history.receipts import PaymentSender
    from chalicelib.chains.nodes.plain_transfers.logs import PlainAddress
    from chalicelib.chains.nodes.protocol import Chain
    from chalicelib.chains.nodes.rpc.receipts import RawReceipts

RECEIPTS_PER_TICK = {"evm": 500, "tron": 20}
RECEIPTS_PER_REQUEST = {"evm": 50, "tron": 1}
"""On Tron each receipt is a request of its own."""
TIMEOUTS_PER_TICK = 2
"""After the first request that took too long each receipt is read by itself, those of that request last; after so many
none is, as one that takes too long takes half of the time of a tick."""
BLOCKS_PER_TICK = 20
"""In so many blocks conversions are looked at, with one request per block."""
PATHS_PER_BLOCK = 40


class Details:
    """Reads the details of the transfers that one tick finds, as far as its limits and time allow; others stay None.

    A payer is shown and decides nothing: where a rate may be locked for a payment, the recorder asks all nodes who has
    sent it. What a conversion should have moved is what the nodes agree on; one of which
    nothing is known is valued as the tokens that were moved. So no failure of the nodes is raised, the transfers are
    logged all the same, and nothing is read again.
    """

    def __init__(self, services: Services, network: "Network", deadline: datetime) -> None:
        self._services, self._network, self.deadline = services, network, deadline
        self.family = network.family
        self._receipts, self._blocks = RECEIPTS_PER_TICK[network.family], BLOCKS_PER_TICK
        self._timeouts = 0

    @cached_property
    def watched(self) -> "tuple[PlainAddress, ...]":
        """The addresses that are watched, read once in a tick (watched_addresses.py)."""
        return watched_addresses.addresses(self._services, self._network.name)

    def of(self, entries: Sequence[LoggedTransfer], receipts: "RawReceipts") -> tuple[LoggedTransfer, ...]:
        """The entries with their details. `receipts` are those that were read. Without entries it costs nothing."""
        if not entries:
            return ()
        payers, amounts = self._payers(entries, receipts), self._path_amounts(entries)
        return tuple(
            replace(
                each,
                payer=payer.address if (payer := payers.get(each.transfer_id)) is not None else None,
                bridged_from=payer.bridged_from if payer is not None else None,
                fill_key=payer.fill_key if payer is not None else None,
                path_amount=amounts.get(each.transfer_id),
            )
            for each in entries
        )

    def _payers(
        self, entries: Sequence[LoggedTransfer], receipts: "RawReceipts"
    ) -> "dict[TransferId, PaymentSender | None]":
        """Only for tokens of the catalogue, because no others are payments. The escrow names its payers itself, and an
        address for plain transfers has none."""
        from chalicelib.chains.catalogue.tokens import token_of_log
        from chalicelib.chains.nodes.history.receipts import PaidTransfer

        transfers = (each for each in entries if each.escrow is None and each.emptied_address is None)
        wanted = [each for each in transfers if token_of_log(each.network, each.token_address) is not None]
        chain = self._services.chains.of(self._network.name)
        unread = dict.fromkeys(each.tx_hash for each in wanted if each.tx_hash not in receipts)
        receipts = {**receipts, **self.read_receipts(chain, list(unread))}
        known = [each for each in wanted if each.tx_hash in receipts]
        if not known:
            return {}
        try:
            senders = chain.payers_of([make_from(PaidTransfer, each) for each in known], receipts)
        except ChainUnavailable as error:
            self._is_slow("payers not read", error)
            return {}
        return {entry.transfer_id: sender for entry, sender in zip(known, senders, strict=True)}

    def read_receipts(self, chain: "Chain", hashes: list[str], timeouts: int = TIMEOUTS_PER_TICK) -> "RawReceipts":
        """The receipts of transactions, as far as the limits, the time and the memory of the tick allow."""
        from chalicelib.chains.nodes.rpc.receipts import keep_receipts  # most ticks find no transfer

        found: dict[str, Any] = {}
        while hashes and self._receipts and self._has_time() and self._timeouts < timeouts:
            size = min(1 if self._timeouts else RECEIPTS_PER_REQUEST[self.family], self._receipts)
            part, hashes = hashes[:size], hashes[size:]
            self._receipts -= len(part)
            try:
                keep_receipts(found, chain.find_receipts(part))
            except ChainUnavailable as error:
                if self._is_slow("receipts not read", error):
                    self._timeouts += 1
                    hashes = [*hashes, *part] if len(part) > 1 else hashes
        return found

    def _path_amounts(self, entries: Sequence[LoggedTransfer]) -> dict[TransferId, BaseUnits]:
        """What each conversion would have moved by the path of the catalogue, by the rates after its block.

        A payer chooses the path. One that goes round through feeds that differ by half a percent converts an amount to
        half of what it is worth, and the events do not show it.
        """
        by_block = dict[int, list[LoggedTransfer]]()
        for entry in entries:
            if entry.conversion is not None:
                by_block.setdefault(entry.block_number, []).append(entry)
        found = dict[TransferId, BaseUnits]()
        for block, converted in by_block.items():
            if not self._blocks or not self._has_time():
                break
            self._blocks -= 1
            try:
                found |= self._path_amounts_in(block, converted)
            except ChainUnavailable as error:
                self._blocks = 0 if self._is_slow("rates of conversions not read", error) else self._blocks
        return found

    def _path_amounts_in(self, block: int, entries: Sequence[LoggedTransfer]) -> dict[TransferId, BaseUnits]:
        paths = {each: path for each in entries if (path := _path(each)) is not None}
        distinct = list(dict.fromkeys(paths.values()))[:PATHS_PER_BLOCK]
        if not distinct:
            return {}
        from chalicelib.chains.nodes.agreement import agree  # most ticks find no conversion

        chain = self._services.chains.evm(self._network.name)
        read = agree(chain, lambda node: node.read_conversion_rates(distinct, block))
        rates = dict(zip(distinct, read.value, strict=True))
        return {
            entry.transfer_id: BaseUnits(entry.conversion.amount * rate.rate // rate.divisor)
            for entry, path in paths.items()
            if entry.conversion is not None and (rate := rates.get(path)) is not None
        }

    def _has_time(self) -> bool:
        return self._services.clock() < self.deadline

    def _is_slow(self, message: str, error: ChainUnavailable) -> bool:
        """Logs a failure of the node. Whether the node took too long, so that this tick asks it for less of this."""
        from chalicelib.chains.nodes.rpc.jsonrpc import NodeTimeout

        facts = {"network": self._network.name, "reason": error.message}
        self._services.log.warning(message, extra=facts)
        return isinstance(error, NodeTimeout)


def _path(entry: LoggedTransfer) -> tuple[str, ...] | None:
    """The catalogue's path from the currency that a conversion names to the token that was paid; None if none."""
    from chalicelib.chains.catalogue.conversions import conversion_path, currency_with_hash
    from chalicelib.chains.catalogue.tokens import token_of_log

    assert entry.conversion is not None
    invoice = currency_with_hash(entry.network, entry.conversion.currency)
    payment = token_of_log(entry.network, entry.token_address)
    return conversion_path(invoice, payment) if invoice is not None and payment is not None else None
