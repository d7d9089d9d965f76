"""Links with their requests, and the multisig intents that they wait for."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from chalicelib.base.records import Key, Record
from chalicelib.links.records import Link, LinkStatus, SafeIntent, SecurePayment
from chalicelib.requests.records import Request
from chalicelib.storage.store import Store

_LONGEST_TOKEN = 64


def link(store: Store, token: str) -> Link | None:
    """A link alone, in any status. One read."""
    return store.get(Link, Link.KEY.of(token=token))


def links(store: Store, tokens: Iterable[str]) -> dict[str, Link]:
    """Those of the links that exist, by token, in any status; in batches of 100."""
    found = store.get_many({Link.KEY.of(token=token): Link for token in tokens})
    return {each.token: each for each in found.values()}


def link_with_requests(store: Store, token: str) -> SecurePayment | None:
    """A link with its requests and its last intent. One query.

    None while the link is not complete: its LINK record is written last, or is `assembling`.
    """
    if len(token) > _LONGEST_TOKEN:
        return None
    records = store.query_mixed((Link, Request, SafeIntent), Link.KEY.partition(token=token))
    found = next((record for record in records if isinstance(record, Link)), None)
    if found is None or found.status is LinkStatus.ASSEMBLING:
        return None
    intent = next((record for record in records if isinstance(record, SafeIntent)), None)
    return SecurePayment(found, tuple(record for record in records if isinstance(record, Request)), intent)


def current_link(store: Store, token: str) -> SecurePayment | None:
    """As `link_with_requests`; for a link that was merged into a batch, that batch, which has its requests. One or two
    queries."""
    payment = link_with_requests(store, token)
    if payment is not None and payment.link.successor_token is not None:
        return successor(store, payment)
    return payment


def successor(store: Store, payment: SecurePayment) -> SecurePayment | None:
    """The batch that a link was merged into. One query; none for a link that was not merged."""
    token = payment.link.successor_token
    return link_with_requests(store, token) if token is not None else None


def links_with_first_request(store: Store, tokens: Sequence[str]) -> dict[str, SecurePayment]:
    """Those of the links that are complete, each with its first request and its intent; three keys a link, in batches
    of 100. The other requests of a batch link are not read."""
    keys = {token: _keys_of(token) for token in tokens if len(token) <= _LONGEST_TOKEN}
    records = store.get_many({key: kind for of_link in keys.values() for key, kind in of_link})
    found = {}
    for token, of_link in keys.items():
        whole, request, intent = (records.get(key) for key, _ in of_link)
        if whole is not None and whole.status is not LinkStatus.ASSEMBLING:
            found[token] = SecurePayment(whole, (request,) if request else (), intent)
    return found


def intents(store: Store, tokens: Iterable[str]) -> list[SafeIntent]:
    """The last intents of links, of those that have one; in batches of 100."""
    return list(store.get_many({SafeIntent.KEY.of(link_token=token): SafeIntent for token in tokens}).values())


def due_tokens(store: Store, now: datetime, limit: int) -> Iterator[str]:
    """Tokens of links whose time has come (`Link.next_due`); at most `limit` a shard. A query a shard."""
    return (_token_of(key) for key in store.due(Link, now, limit))


def intent(store: Store, token: str) -> SafeIntent | None:
    """The last intent of a link. One read."""
    return store.get(SafeIntent, SafeIntent.KEY.of(link_token=token))


def tokens_of_due_intents(store: Store, now: datetime, limit: int) -> Iterator[str]:
    """Tokens of the links whose intent is to be looked at; at most `limit` a shard. A query a shard."""
    return (_token_of(key) for key in store.due(SafeIntent, now, limit))


def _keys_of(token: str) -> tuple[tuple[Key, type[Record]], ...]:
    return (
        (Link.KEY.of(token=token), Link),
        (Request.KEY.of(link_token=token, position=0), Request),
        (SafeIntent.KEY.of(link_token=token), SafeIntent),
    )


def _token_of(key: Key) -> str:
    return key.pk.partition("#")[2]
