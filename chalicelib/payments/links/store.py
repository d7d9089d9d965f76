"""Reads of payables: links with their requests and announced transactions, and requests without a link."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from chalicelib.base.records import Key, Record
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.offramp.core.records import Order
from chalicelib.payments.links.records import (
    Link,
    LinkAnnouncements,
    LinkStatus,
    Payable,
    PayableLink,
    SigningClaim,
)
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request, RequestPointer
from chalicelib.platform.storage.store import Store

_LONGEST_ID = 66

R = TypeVar("R", bound=Record)


def find_link(store: Store, token: str) -> Link | None:
    """A link without its requests, in any status. One read."""
    return store.get(Link, Link.KEY.of(token=token))


def find_links(store: Store, tokens: Iterable[str]) -> dict[str, Link]:
    """The links that exist, by token, without their requests, in any status; in batches of 100."""
    found = store.get_many({Link.KEY.of(token=token): Link for token in tokens})
    return {each.token: each for each in found.values()}


def find_payable(store: Store, payable_id: str, *, may_lag: bool = False) -> Payable | None:
    """A payable as it is stored, also a link that was merged into a batch. One query (`Store.query_mixed`).

    None while a link is not complete: its Link record is written last, or has the status `assembling`.
    """
    if len(payable_id) > _LONGEST_ID:
        return None
    kinds = (Link, Request, LinkAnnouncements, Order, CommercePayment, SigningClaim)
    records = store.query_mixed(kinds, Link.KEY.partition(token=payable_id), may_lag=may_lag)
    link, announcements = _first(Link, records), _first(LinkAnnouncements, records)
    if link is None:
        alone = tuple(each for each in records if isinstance(each, Request) and each.link_token is None)
        return Payable(alone, order=_first(Order, records)) if alone else None
    if link.status is LinkStatus.ASSEMBLING:
        return None
    requests = _as_cancelled(link, _requests_of(records))
    commerce, signing = _first(CommercePayment, records), _first(SigningClaim, records)
    return PayableLink(requests, link, announcements, commerce=commerce, signing=signing)


def load_payable(store: Store, payable_id: str) -> Payable | None:
    """A payable as it is stored; of a link that was merged into a batch the batch. One query, two for a merged link."""
    found = find_payable(store, payable_id)
    return current(store, found) if isinstance(found, PayableLink) else found


def payable_of(store: Store, name: str) -> Payable | None:
    """The payable of the request with this id or payment reference; of a merged link the batch. Two or three reads."""
    payable_id = request_store.payable_id(store, name)
    return load_payable(store, payable_id) if payable_id is not None else None


def payable_link(store: Store, token: str, *, may_lag: bool = False) -> PayableLink | None:
    """A link as it is stored, also one that was merged into a batch; None for a request without a link. One query."""
    found = find_payable(store, token, may_lag=may_lag)
    return found if isinstance(found, PayableLink) else None


def current(store: Store, payable: PayableLink) -> PayableLink | None:
    """The batch that a link was merged into; the link itself if it was not merged. One query, none if it was not."""
    successor = payable.link.successor_token
    return payable_link(store, successor) if successor is not None else payable


def find_requests(store: Store, request_ids: Iterable[str]) -> dict[str, Request]:
    """The requests that exist, by id, as they are in their payables of now.

    One batch read; a second one if some are part of links, and two more if such links were merged into batches.
    """
    found = request_store.pointers(store, request_ids)
    pointers = [each for each in found.values() if isinstance(each, RequestPointer)]
    places = {each.request_id: (each.payable_id, each.position) for each in pointers}
    wanted: dict[Key, type[Record]] = {_request_key(*place): Request for place in places.values()}
    wanted |= {Link.KEY.of(token=token): Link for token, _ in places.values()}
    records = store.get_many(wanted) if wanted else {}
    merged = {each.token: each for each in records.values() if isinstance(each, Link) and each.successor_token}
    batches = find_links(store, {each.successor_token or "" for each in merged.values()}) if merged else {}
    for request_id, (token, _) in places.items():
        if token in merged and (batch := batches.get(merged[token].successor_token or "")) is not None:
            places[request_id] = (batch.token, batch.merged_tokens.index(token))
    moved = {_request_key(*place): Request for place in places.values() if place[0] in batches}
    records |= store.get_many(moved) if moved else {}
    of_links = {request_id: records.get(_request_key(*place)) for request_id, place in places.items()}
    alone = {each.request_id: each for each in found.values() if isinstance(each, Request)}
    return alone | {request_id: each for request_id, each in of_links.items() if isinstance(each, Request)}


def requests_of(store: Store, token: str) -> tuple[Request, ...]:
    """The requests of a link in its order: of a multicall those of its payouts, and of a payout that was merged into a
    batch its own, as it is there. One query; for these two up to four batch reads more."""
    found = payable_link(store, token)
    if found is None:
        return ()
    if found.link.child_tokens:
        children = links_with_first_request(store, found.link.child_tokens)
        return tuple(each for child in children.values() for each in child.requests)
    if found.link.successor_token is None:
        return found.requests
    return tuple(find_requests(store, (each.request_id for each in found.requests)).values())


def links_with_first_request(store: Store, tokens: Sequence[str]) -> dict[str, PayableLink]:
    """The complete links, by token, each with its first request, its announced transaction and its claim to sign; other
    requests are not read.

    Four keys per link, in batches of 100.
    """
    keys = {token: _keys_of(token) for token in tokens if len(token) <= _LONGEST_ID}
    records = store.get_many({key: kind for of_link in keys.values() for key, kind in of_link})
    found = {}
    for token, of_link in keys.items():
        found_link, request, announcements, signing = (records.get(key) for key, _ in of_link)
        if found_link is not None and found_link.status is not LinkStatus.ASSEMBLING:
            requests = _as_cancelled(found_link, _requests_of((request,) if request else ()))
            found[token] = PayableLink(requests, found_link, announcements, signing=signing)
    return found


def holding(store: Store, tokens: Collection[str]) -> tuple[dict[str, LinkAnnouncements], dict[str, SigningClaim]]:
    """What holds links: the announced transactions of each, and the claim to sign it, by token. Two keys per link, in
    batches of 100."""
    announcements = {LinkAnnouncements.KEY.of(link_token=token): LinkAnnouncements for token in tokens}
    claims = {SigningClaim.KEY.of(link_token=token): SigningClaim for token in tokens}
    found = list(store.get_many({**announcements, **claims}).values())
    return (
        {each.link_token: each for each in found if isinstance(each, LinkAnnouncements)},
        {each.link_token: each for each in found if isinstance(each, SigningClaim)},
    )


def link_with_requests(store: Store, token: str) -> tuple[Link | None, tuple[Request, ...]]:
    """A link in any status, and its requests. One query."""
    records = store.query_mixed((Link, Request, LinkAnnouncements), Link.KEY.partition(token=token))
    return _first(Link, records), _requests_of(records)


def due_tokens(store: Store, now: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """Tokens of links that are due (`Link.next_due`), at most `limit` per shard. One query per shard."""
    return (_token_of(key) for key in store.due(Link, now, limit, first_shard))


def find_announcements(store: Store, tokens: Iterable[str]) -> tuple[LinkAnnouncements, ...]:
    """The announced transactions of links that have some, in the order of the links. One read of up to 100."""
    keys = [LinkAnnouncements.KEY.of(link_token=each) for each in tokens]
    found = store.get_many(dict.fromkeys(keys, LinkAnnouncements))
    return tuple(found[key] for key in keys if key in found)


def tokens_of_due_announcements(store: Store, now: datetime, limit: int, first_shard: int) -> Iterator[str]:
    """Tokens of links of which an announced transaction is due for a check, at most `limit` per shard. One query per
    shard."""
    return (_token_of(key) for key in store.due(LinkAnnouncements, now, limit, first_shard))


def _first(kind: type[R], records: Iterable[Record]) -> R | None:
    return next((each for each in records if isinstance(each, kind)), None)


def _requests_of(records: Iterable[Record]) -> tuple[Request, ...]:
    return tuple(record for record in records if isinstance(record, Request))


def _as_cancelled(link: Link, requests: tuple[Request, ...]) -> tuple[Request, ...]:
    """The requests of a link as they are: those of a cancelled one that say nothing of it yet are cancelled, too."""
    if not link.is_being_cancelled:
        return requests
    return tuple(each if each.is_closed else each.as_cancelled() for each in requests)


def _request_key(payable_id: str, position: int) -> Key:
    return Request.KEY.of(payable_id=payable_id, position=position)


def _keys_of(token: str) -> tuple[tuple[Key, type[Record]], ...]:
    return (
        (Link.KEY.of(token=token), Link),
        (Request.KEY.of(payable_id=token, position=0), Request),
        (LinkAnnouncements.KEY.of(link_token=token), LinkAnnouncements),
        (SigningClaim.KEY.of(link_token=token), SigningClaim),
    )


def _token_of(key: Key) -> str:
    return key.pk.partition("#")[2]
