"""What payments are looked for by, and what is found."""

from dataclasses import field, fields
from datetime import datetime

from chalicelib.base.frozen import frozen
from chalicelib.base.lists import MOST_QUERIES
from chalicelib.payments.requests.payments.records import Payment
from chalicelib.payments.requests.records import Request


@frozen
class Filters:
    """The filters of a search, each None if it is not given; a payment matches all of them.

    Wallets, currencies and networks are as lists name them (payments/requests/list_names.py). A currency is given by
    its id or, as a symbol, with all currencies of that symbol. `first` and `last` are both included. `queries` is as in
    Listing, and no filter.
    """

    account_id: str
    request_id: str | None = None
    tx_hash: str | None = None
    reference: str | None = None
    payer: str | None = None
    payee: str | None = None
    wallet: str | None = None
    client_id: str | None = None
    type: str | None = None
    invoice_currency: str | None = None
    invoice_symbol: str | None = None
    currency: str | None = None
    symbol: str | None = None
    network: str | None = None
    first: datetime | None = None
    last: datetime | None = None
    queries: int = field(default=MOST_QUERIES, compare=False)

    @property
    def scope(self) -> tuple[str, ...]:
        """What a cursor of this search is tied to."""
        given = ((each.name, getattr(self, each.name)) for each in fields(self) if each.compare)
        return tuple(f"{name}={value}" for name, value in given if value is not None)

    @property
    def request_alone(self) -> str | None:
        """The request if it alone is searched for, in an account or a client id; None with any other filter."""
        return self.request_id if self == Filters(self.account_id, self.request_id, client_id=self.client_id) else None


@frozen
class Page:
    """Some payments of a search, the newest first, with the requests they belong to; `cursor` is None on the last."""

    payments: tuple[Payment, ...]
    requests: dict[str, Request]
    total: int | None
    offset: int
    cursor: str | None
