"""Bases: by which quotes and rates the transfers of a run of the recorder are valued."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from chalicelib.rates.records import Rate
from chalicelib.recording.valuing import Basis
from chalicelib.requests.records import Request
from chalicelib.requests.rules import currency_of, invoice_of
from chalicelib.scanning.records import LoggedTransfer, TransferId
from chalicelib.services import Services

if TYPE_CHECKING:
    from chalicelib.requests.quotes.records import Quote

AGREE_WITHIN = timedelta(hours=24)
"""How long after it was read a transfer waits for sources of rates that agree. They may never agree on a past time. So
it is then valued by the lowest that any of them says."""


class Bases:
    """What one run has found, rates that cannot be had among it: nothing is asked for twice.

    One query per request and block; sources of rates are asked once per pair of currencies and minute.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._quotes: dict[tuple[str, datetime], Quote | None] = {}
        self._rates = dict[tuple[str, str, datetime, bool], Rate | None]()

    def of(self, transfers: Iterable[tuple[LoggedTransfer, Request]]) -> dict[TransferId, Basis]:
        """What these transfers are valued by: the quote that was valid in the block, else the rate of its time.

        Those are left out for which no rate can be had now.
        """
        found = ((entry.transfer_id, self._basis(entry, request)) for entry, request in transfers)
        return {transfer_id: basis for transfer_id, basis in found if basis is not None}

    def dollars(self, transfers: Iterable[tuple[LoggedTransfer, Request]]) -> dict[TransferId, Rate]:
        """What one US dollar was in the tokens of these transfers; without those of which that cannot be had."""
        from chalicelib.rates.dollars import dollar_rate

        found = (
            (entry.transfer_id, dollar_rate(self._services, currency_of(request), entry.paid_at))
            for entry, request in transfers
        )
        return {transfer_id: rate for transfer_id, rate in found if rate is not None}

    def _basis(self, entry: LoggedTransfer, request: Request) -> Basis | None:
        quote = self._quote(request.request_id, entry.paid_at)
        if quote is not None:
            return Basis(quote.rate, is_quoted=True)
        rate = self._rate(entry, request)
        return None if rate is None else Basis(rate, is_quoted=False)

    def _quote(self, request_id: str, instant: datetime) -> "Quote | None":
        from chalicelib.requests.quotes import flows as quotes

        asked = request_id, instant
        if asked not in self._quotes:
            self._quotes[asked] = quotes.valid_at(self._services.store, request_id, instant)
        return self._quotes[asked]

    def _rate(self, entry: LoggedTransfer, request: Request) -> Rate | None:
        from chalicelib.rates import flows as rates
        from chalicelib.rates.rules import RateUnavailable

        invoice, payment = invoice_of(request), currency_of(request)
        has_waited = self._services.clock() - entry.detected_at >= AGREE_WITHIN
        asked = invoice.id, payment.id, entry.paid_at.replace(second=0, microsecond=0), has_waited
        if asked not in self._rates:
            self._rates[asked] = None
            read = rates.at_or_lowest if has_waited else rates.at
            with suppress(RateUnavailable):  # which has been logged
                self._rates[asked] = read(self._services, invoice, payment, entry.paid_at)
        return self._rates[asked]
