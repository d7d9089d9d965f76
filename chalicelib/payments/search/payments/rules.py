"""Which lists a search reads, and how many payments it has by the daily counts."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import Named, Span, last_place_at, list_of, place_at
from chalicelib.base.records import FIRST_SORT_KEY, LAST_SORT_KEY
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.recording.payment_counts import Facets, Role
from chalicelib.payments.requests.list_names import PAYMENT, currencies, symbol_of
from chalicelib.payments.requests.records import DailyCount, Request
from chalicelib.payments.search.payments.records import Filters

INDEXES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("request_id", ("by_request",)),
    ("tx_hash", ("by_tx", "by_source_tx")),
    ("reference", ("by_reference",)),
    ("payer", ("by_payer",)),
    ("wallet", ("by_payer", "by_payee")),
    ("payee", ("by_payee",)),
    ("client_id", ("by_client",)),
    ("invoice_currency", ("by_invoice",)),
    ("currency", ("by_currency",)),
    ("invoice_symbol", ("by_invoice",)),
    ("symbol", ("by_currency",)),
    ("type", ("by_type",)),
    ("network", ("by_network",)),
)
"""The indexes of each filter, those first that leave least usually. A symbol has those of its currencies."""
_SERIES = ("reference", "payer", "wallet", "payee")
"""The filters that choose a series of counts. The counts cannot tell what two of them have in common."""
_FACETS = ("invoice_currency", "currency", "invoice_symbol", "symbol", "type", "network")


def lists_of(filters: Filters) -> dict[str, tuple[Named, ...]]:
    """The lists of each filter that is given: a payment is in one of them if it matches the filter."""
    return {
        name: tuple(
            Named(index, list_of(filters.account_id, PAYMENT, each))
            for index in indexes
            for each in _values(name, value)
        )
        for name, indexes in INDEXES
        if (value := getattr(filters, name)) is not None
    }


def _values(name: str, value: str) -> tuple[str, ...]:
    """What the lists of a filter are named by."""
    return currencies(value) if name in ("symbol", "invoice_symbol") else (value,)


def spans_of(filters: Filters, chosen: str, last: str = LAST_SORT_KEY) -> tuple[Span, ...]:
    """The parts of lists that have the payments of a search up to the place `last`: one, two for a wallet, and one for
    each currency of a symbol.

    `chosen` is the filter by whose lists they are read; what does not match the others is left out. The empty text
    reads all payments of the account.
    """
    lists = lists_of(filters)
    by = lists.pop(chosen) if chosen else (Named("by_account", list_of(filters.account_id, PAYMENT)),)
    first = place_at(filters.first) if filters.first is not None else FIRST_SORT_KEY
    if filters.last is not None:
        last = min(last, last_place_at(filters.last))
    return tuple(Span(each, first, last, tuple(lists.values())) for each in by)


def is_counted(filters: Filters) -> bool:
    """Whether the daily counts tell how many payments a search has."""
    if filters.request_id is not None or filters.tx_hash is not None:
        return False
    return sum(getattr(filters, name) is not None for name in _SERIES) < 2


def series_of(filters: Filters) -> str:
    """The series of counts that has the payments of a search."""
    if filters.reference is not None:
        return payment_counts.of_reference(filters.reference)
    if wallet := filters.payer or filters.wallet or filters.payee:
        return payment_counts.of_wallet(wallet)
    return payment_counts.ACCOUNT if filters.client_id is None else payment_counts.of_client(filters.client_id)


def number_of(filters: Filters, request: Request) -> int:
    """How many payments and refunds a search for those of one request has."""
    is_found = filters.account_id == request.account_id and filters.client_id in (None, request.client_id)
    if not is_found:
        return 0
    return request.confirmed_count + request.refund_count


@frozen
class Counted:
    """The payments of a search by day, in descending order of days, and by each of its filters alone."""

    days: Mapping[str, int]
    by_filter: Mapping[str, int]
    roles: frozenset[Role]

    @property
    def total(self) -> int:
        return sum(self.days.values())


def sum_up_counts(filters: Filters, records: Iterable[DailyCount]) -> Counted:
    """Sums up the counts of a search, for whole days."""
    days: dict[str, int] = {}
    alone = {name: replace(_NONE, **{name: getattr(filters, name)}) for name in _FACETS if getattr(filters, name)}
    by_filter: dict[str, int] = dict.fromkeys(alone, 0)
    roles = set[Role]()
    for record in records:
        is_of_client = record.series.startswith(payment_counts.of_client(""))
        if filters.client_id is not None and record.client_id != filters.client_id and not is_of_client:
            continue
        for name, number in record.counts.items():
            facets = _facets(name)
            for filter_name, only in alone.items():
                by_filter[filter_name] += number if _has(only, facets) else 0
            if number and _has(filters, facets):
                days[record.day] = days.get(record.day, 0) + number
                roles |= {facets.role} if facets.role else set()
    return Counted(dict(sorted(days.items(), reverse=True)), by_filter, frozenset(roles))


def choose_filter(filters: Filters, found: Counted | None) -> str:
    """The filter by whose lists a search is read: the first that names something, else the one with fewest payments."""
    given = lists_of(filters)
    named = [name for name in given if name not in _FACETS]
    if named or found is None:
        return next(iter(given), "")
    return min(found.by_filter, key=lambda name: found.by_filter[name], default="")


def indexes_of(chosen: str, roles: frozenset[Role] | None) -> tuple[str, ...]:
    """The indexes that a search is read by; for a wallet only one, if it is known that the other adds nothing."""
    if not chosen:
        return ("by_account",)
    if chosen == "wallet" and roles is not None:
        if Role.PAYER not in roles:
            return ("by_payee",)
        if Role.PAYEE not in roles:
            return ("by_payer",)
    return dict(INDEXES)[chosen]


def ways_of(filters: Filters) -> set[tuple[str, ...]]:
    """Every filter that a search can be read by, each with the indexes of its lists."""
    roles = (None, frozenset({Role.PAYER}), frozenset({Role.PAYEE}))
    return {(name, *indexes_of(name, each)) for name in lists_of(filters) or ("",) for each in roles}


@cache
def _facets(name: str) -> Facets:
    currency, invoice_currency, type, role = name.split("|")
    return Facets(currency, invoice_currency, type, Role(role) if role else None)


def _has(filters: Filters, facets: Facets) -> bool:
    """Whether the payments of one count of its series match the other filters of a search."""
    wanted = (
        (filters.type, facets.type),
        (filters.currency, facets.currency),
        (filters.invoice_currency, facets.invoice_currency),
        (filters.symbol, symbol_of(facets.currency)),
        (filters.invoice_symbol, symbol_of(facets.invoice_currency)),
        (filters.network, _network(facets.currency)),
    )
    if filters.payer is not None and facets.role is Role.PAYEE:
        return False
    if filters.payee is not None and facets.role is Role.PAYER:
        return False
    return all(value is None or value == has for value, has in wanted)


def _network(currency: str) -> str | None:
    token = token_with_id(currency)
    return token.network if token is not None else None


_NONE = Filters("")
