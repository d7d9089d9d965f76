"""Quotes: rates that are held for the payers of a request."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from chalicelib.rates import flows as rates
from chalicelib.rates.records import Rate
from chalicelib.requests.quotes import store as quote_store
from chalicelib.requests.quotes.records import Quote
from chalicelib.requests.records import Request
from chalicelib.requests.rules import currency_of, invoice_of
from chalicelib.services import Services
from chalicelib.storage.store import LARGEST_TRANSACTION, Store, WriteConflict

_LONGEST = timedelta(hours=1)
"""The longest time for which a quote holds (settings.quote_seconds)."""
_BLOCK_CLOCK_ERROR = timedelta(seconds=15)
"""A block may name a time that is this much earlier than ours: nodes accept blocks whose clocks differ by seconds."""
_PAGE, _MOST_PAGES = 100, 20


def hold(services: Services, requests: Sequence[Request]) -> dict[str, Quote]:
    """By request id, the quotes of stored requests that hold for at least half of their time from now on.

    Where there is none, a new one is written, with one rate for all requests of the same currencies. However often it
    is asked for, and by how many processes: one new quote in half of `quote_seconds`. One query for each request, and
    one transaction for 99 new quotes. Raises RateUnavailable.
    """
    while True:
        held, new = renewed(services, requests)
        try:
            for start in range(0, len(new), LARGEST_TRANSACTION):
                services.store.write(*new[start : start + LARGEST_TRANSACTION])
            return held
        except WriteConflict:  # another process wrote the same number, which may be an old one by now
            continue


def renewed(services: Services, requests: Sequence[Request]) -> tuple[dict[str, Quote], list[Quote]]:
    """What `hold` returns, and those of the quotes that are new: the caller writes them."""
    held = quote_store.newest(services.store, [each.request_id for each in requests])
    until = services.clock() + timedelta(seconds=services.settings.quote_seconds) / 2
    new = _next(services, [each for each in requests if not _holds(held.get(each.request_id), until)], held, {})
    return held | {quote.request_id: quote for quote in new}, new


def first(services: Services, requests: Sequence[Request]) -> dict[str, Quote]:
    """By request id, the first quotes of requests that are not stored yet; flows.save_many writes them.

    Whoever resumes the same call finds those that were written, and takes the rates of the others from those that still
    hold. Raises RateUnavailable.
    """
    known = quote_store.first(services.store, [each.request_id for each in requests])
    holding = [quote for quote in known.values() if _holds(quote, services.clock())]
    rates_known = {(quote.rate.base, quote.rate.quote): quote.rate for quote in holding}
    lacking = [each for each in requests if each.request_id not in known]
    return known | {quote.request_id: quote for quote in _next(services, lacking, {}, rates_known)}


def prolonged(services: Services, request_id: str, rate: Rate, lifetime: timedelta) -> Quote:
    """The next quote of a request, by which a rate holds that was quoted before; it is not written. One query."""
    held, now = quote_store.newest(services.store, [request_id]).get(request_id), services.clock()
    return Quote(request_id, held.number + 1 if held is not None else 0, rate, now, now + lifetime)


def valid_at(store: Store, request_id: str, instant: datetime) -> Quote | None:
    """The quote that held at the time of a block, of several the one by which the payer owes the least; else None.

    Two quotes overlap for up to half of their time, and a payer may have been given either. At most 2,000 newer quotes
    are looked through.
    """
    return min(all_valid_at(store, request_id, instant), key=lambda quote: quote.rate.fraction, default=None)


def all_valid_at(store: Store, request_id: str, instant: datetime) -> list[Quote]:
    """The quotes that held at the time of a block, newest first: any of them may be what a payer was given.

    A quote holds from 15 seconds before it was given, because the time of a block may be as much behind our clock.
    """
    found = _since(store, request_id, instant - _LONGEST)
    return [quote for quote in found if quote.at - _BLOCK_CLOCK_ERROR <= instant <= quote.ends_at]


def _holds(quote: Quote | None, until: datetime) -> bool:
    return quote is not None and quote.ends_at >= until


def _next(
    services: Services,
    requests: Sequence[Request],
    held: Mapping[str, Quote],
    rates_known: Mapping[tuple[str, str], Rate],
) -> list[Quote]:
    """The quotes that follow `held`, which are not written. A rate that is not known is read once."""
    lifetime, current = timedelta(seconds=services.settings.quote_seconds), dict(rates_known)
    for each in requests:
        invoice, payment = invoice_of(each), currency_of(each)
        if (invoice.id, payment.id) not in current:
            current[invoice.id, payment.id] = rates.current(services, invoice, payment)
    now = services.clock()
    return [
        Quote(
            each.request_id,
            held[each.request_id].number + 1 if each.request_id in held else 0,
            current[invoice_of(each).id, currency_of(each).id],
            now,
            now + lifetime,
        )
        for each in requests
    ]


def _since(store: Store, request_id: str, start: datetime) -> Iterator[Quote]:
    """The quotes of a request from the newest back to those of `start`."""
    before = None
    for _ in range(_MOST_PAGES):
        page, before = quote_store.page(store, request_id, before, _PAGE)
        for quote in page:
            if quote.at < start:
                return
            yield quote
        if before is None:
            return
