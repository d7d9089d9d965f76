"""Reads of a search: its payments by lists, and their numbers."""

from collections.abc import Sequence
from dataclasses import replace

from chalicelib.base.lists import MOST_QUERIES, Found, Span
from chalicelib.base.parallel import each_done
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.platform.storage.store import Store


def find_newest(store: Store, spans: Sequence[Span], limit: int, queries: int) -> Found[Payment]:
    """Up to `limit` payments that are in any of the spans, the newest first, by at most `queries` or one of each span.

    A span takes more than one only if most of it is left out by other filters, or if the payments have more than 1 MB.
    """
    each_has = max(queries // len(spans), 1)
    found = each_done(lambda span: store.newest(Payment, span, limit, each_has), spans, MOST_QUERIES)
    if len(found) == 1:
        return found[0]
    read_to = max((each.end for each in found if each.end is not None), default="")
    merged = {each.listed_at: each for one in found for each in one.records if each.listed_at >= read_to}
    newest = [merged[place] for place in sorted(merged, reverse=True)]
    end = newest[limit - 1].listed_at if len(newest) > limit else read_to or None
    return Found(tuple(newest[:limit]), end)


def count_payments(store: Store, spans: Sequence[Span], queries: int) -> int | None:
    """The number of payments that are in any of some spans; None if that takes more queries."""
    others = [each.list for each in spans[1:] if each.list.index != spans[0].list.index]  # else a payment is in one
    pairs = [replace(spans[0], within=(*spans[0].within, (other,))) for other in others]
    each_has = max(queries // (len(spans) + len(pairs)), 1)
    counted = [store.count_listed(Payment, span, each_has) for span in (*spans, *pairs)]
    if not all(is_exact for _, is_exact in counted):
        return None
    numbers = [number for number, _ in counted]
    return sum(numbers) - 2 * sum(numbers[len(spans) :])
