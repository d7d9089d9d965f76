"""Quotes: rates that are held for the payers of a request."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from chalicelib.catalogue.tokens import Token
from chalicelib.rates import flows as rates
from chalicelib.requests.records import Quote, Request
from chalicelib.services import Services
from chalicelib.storage.store import Store, WriteConflict

_LONGEST = timedelta(hours=1)
"""The longest time for which a quote holds (settings.quote_seconds)."""
_PAGE, _MOST_PAGES = 100, 20


def hold(services: Services, request: Request, invoice: Token, payment: Token) -> Quote:
    """The quote of a request that holds for at least half of its time from now on; a new one if there is none.

    However often it is asked for, and by how many processes: one new quote in half of `quote_seconds`. Raises
    RateUnavailable.
    """
    lifetime = timedelta(seconds=services.settings.quote_seconds)
    held = newest(services.store, request.request_id)
    while held is None or held.ends_at - services.clock() < lifetime / 2:
        rate = rates.current(services, invoice, payment)
        now = services.clock()
        quote = Quote(request.request_id, held.number + 1 if held else 0, rate, now, now + lifetime)
        try:
            services.store.write(quote)
            return quote
        except WriteConflict:  # another process wrote the same number, which may be an old one by now
            held = newest(services.store, request.request_id)
    return held


def newest(store: Store, request_id: str) -> Quote | None:
    """The newest quote of a request; None if it never had one. One query."""
    found, _ = store.page(Quote, Quote.KEY.partition(request_id=request_id), None, 1, consistent=True)
    return found[0] if found else None


def valid_at(store: Store, request_id: str, instant: datetime) -> Quote | None:
    """The quote that held at an instant; of several the one by which the payer owes the least. None if there was none.

    Two quotes overlap for up to half of their time, and a payer may have been given either. At most 2,000 newer quotes
    are looked through.
    """
    holding = [quote for quote in _since(store, request_id, instant - _LONGEST) if quote.at <= instant <= quote.ends_at]
    return min(holding, key=lambda quote: quote.rate.fraction, default=None)


def _since(store: Store, request_id: str, start: datetime) -> Iterator[Quote]:
    """The quotes of a request from the newest back to those of `start`."""
    partition, before = Quote.KEY.partition(request_id=request_id), None
    for _ in range(_MOST_PAGES):
        page, before = store.page(Quote, partition, before, _PAGE, consistent=True)
        for quote in page:
            if quote.at < start:
                return
            yield quote
        if before is None:
            return
