"""Quotes: rates that are locked for the payers of a request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain, takewhile

from chalicelib.base.frozen import frozen
from chalicelib.payments.rates import flows as rates
from chalicelib.payments.requests.quotes import store as quote_store
from chalicelib.payments.requests.quotes.records import Quote
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of, invoice_of
from chalicelib.platform.services import Services
from chalicelib.platform.storage.retrying import retry_conflicts
from chalicelib.platform.storage.store import LARGEST_TRANSACTION, Store

_LONGEST = timedelta(hours=1)
"""The longest time for which a quote holds (settings.quote_seconds)."""
_BLOCK_CLOCK_ERROR = timedelta(seconds=15)
"""A block may name a time that is this much earlier than ours: nodes accept blocks whose clocks differ by seconds."""
_PAGE, _MOST_PAGES = 100, 20
Pair = tuple[str, str]
"""The ids of an invoice currency and of the token that is paid."""


@frozen
class Given:
    """What payers of a request had been given at the time of a block.

    `valid` is the quote that held then, of several the one by which the payer owes the least: two quotes overlap for up
    to half of their time, and a payer may have been given either. `last` is the newest one, whether it held or not.
    """

    valid: Quote | None
    last: Quote | None


@retry_conflicts(10)
def hold(services: Services, requests: Sequence[Request]) -> dict[str, Quote]:
    """By request id, the quotes of stored requests that hold for at least half of their time from now on.

    Where there is none, a new one is written, with one rate for all requests of the same currencies. However often it
    is asked for, and by how many processes: one new quote in half of `quote_seconds`. One query for each request, and
    one transaction for 99 new quotes. Raises RateUnavailable, and WriteConflict after ten conflicts.
    """
    locked, new = renew_quotes(services, requests)
    for start in range(0, len(new), LARGEST_TRANSACTION):
        services.store.write(*new[start : start + LARGEST_TRANSACTION])
    return locked


def renew_quotes(services: Services, requests: Sequence[Request]) -> tuple[dict[str, Quote], list[Quote]]:
    """What `hold` returns, and those of the quotes that are new: the caller writes them."""
    locked = quote_store.newest(services.store, [each.request_id for each in requests])
    until = services.clock() + timedelta(seconds=services.settings.quote_seconds) / 2
    new = _next(services, [each for each in requests if not _holds(locked.get(each.request_id), until)], locked, {})
    return locked | {quote.request_id: quote for quote in new}, new


def first(services: Services, requests: Sequence[Request]) -> dict[str, Quote]:
    """By request id, the first quotes of requests that are not stored yet; flows.save_many writes them.

    Whoever resumes the same call finds those that were written, and takes the rates of the others from those that still
    hold, until these end: a rate does not hold longer because a call was repeated. Raises RateUnavailable.
    """
    known = quote_store.first(services.store, [each.request_id for each in requests])
    holding = {
        (quote.rate.base, quote.rate.quote): quote for quote in known.values() if _holds(quote, services.clock())
    }
    lacking = [each for each in requests if each.request_id not in known]
    return known | {quote.request_id: quote for quote in _next(services, lacking, {}, holding)}


def find_given(store: Store, request_id: str, instant: datetime) -> Given:
    """The quotes that payers had been given at the time of a block. One query, or more of a request with many quotes.

    At most 2,000 newer quotes are looked through.
    """
    found = _iterate_given(store, request_id, instant)
    last = next(found, None)
    if last is None:
        return Given(None, None)
    valid = _valid(chain([last], found), instant)
    return Given(min(valid, key=lambda quote: quote.rate.fraction, default=None), last)


def all_valid_at(store: Store, request_id: str, instant: datetime) -> list[Quote]:
    """The quotes that held at the time of a block, newest first: any of them may be what a payer was given."""
    return _valid(_iterate_given(store, request_id, instant), instant)


def _holds(quote: Quote | None, until: datetime) -> bool:
    return quote is not None and quote.ends_at >= until


def _next(
    services: Services, requests: Sequence[Request], locked: Mapping[str, Quote], holding: Mapping[Pair, Quote]
) -> list[Quote]:
    """The quotes that follow `locked`, which are not written, with the rate and the end of a quote that is `holding`
    for their currencies. Other rates are read once."""
    current = {pair: quote.rate for pair, quote in holding.items()}
    for each in requests:
        invoice, payment = invoice_of(each), currency_of(each)
        if (invoice.id, payment.id) not in current:
            current[invoice.id, payment.id] = rates.current(services, invoice, payment)
    now, made = services.clock(), list[Quote]()
    for each in requests:
        pair = invoice_of(each).id, currency_of(each).id
        number = locked[each.request_id].number + 1 if each.request_id in locked else 0
        end = holding[pair].ends_at if pair in holding else now + timedelta(seconds=services.settings.quote_seconds)
        made.append(Quote(each.request_id, number, current[pair], now, end))
    return made


def _valid(given: Iterable[Quote], instant: datetime) -> list[Quote]:
    """The quotes, newest first, that held at an instant."""
    return [quote for quote in takewhile(lambda each: instant - each.at <= _LONGEST, given) if instant <= quote.ends_at]


def _iterate_given(store: Store, request_id: str, instant: datetime) -> Iterator[Quote]:
    """The quotes of a request that were given before the time of a block, newest first.

    Those of the 15 seconds after it are among them, because the time of a block may be as much behind our clock.
    """
    before = None
    for _ in range(_MOST_PAGES):
        page, before = quote_store.page(store, request_id, before, _PAGE)
        yield from (quote for quote in page if quote.at - _BLOCK_CLOCK_ERROR <= instant)
        if before is None:
            return
