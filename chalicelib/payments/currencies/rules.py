"""Decides which currencies a filter selects, and in which way an invoice currency can be paid in which tokens."""

from collections.abc import Sequence
from enum import StrEnum

from chalicelib.base.frozen import frozen
from chalicelib.chains.catalogue.conversions import conversion_path
from chalicelib.chains.catalogue.networks import canonical_name
from chalicelib.chains.catalogue.prices import feed_path, has_prices
from chalicelib.chains.catalogue.tokens import Token, find_tokens, token_with_id


class Way(StrEnum):
    """How an amount in one currency is paid in another."""

    DIRECT = "direct"
    """Invoice and payment are in the same currency."""
    ON_CHAIN = "on_chain"
    """The conversion contracts of the network convert, by its price feeds, when the payment is made."""
    QUOTED = "quoted"
    """The service holds a rate for a stated time, and the payment is an ordinary one in the token."""


@frozen
class ConversionFacts:
    """What a deployment has for conversions: the networks that it serves, and whether a price source is set."""

    networks: frozenset[str]
    has_price_source: bool


def way_of(invoice: Token, payment: Token, facts: ConversionFacts) -> Way | None:
    """How an invoice in `invoice` is paid in `payment` with this deployment; None if it cannot be."""
    if payment.network not in facts.networks:
        return None
    if invoice.id == payment.id:
        return Way.DIRECT
    if conversion_path(invoice, payment) is not None:
        return Way.ON_CHAIN
    return Way.QUOTED if is_priced(invoice, payment, facts) else None


def is_priced(invoice: Token, payment: Token, facts: ConversionFacts) -> bool:
    """Whether feeds and price source both price `invoice` in `payment`, which an exchange rate needs."""
    has_feeds = feed_path(invoice, payment, facts.networks) is not None
    return has_feeds and facts.has_price_source and has_prices(invoice, payment)


def filter_tokens(network: str | None, symbol: str | None, id: str | None) -> tuple[Token, ...]:
    """The currencies that match every filter that is given; without one the tokens of all networks, and no fiat."""
    selected = find_tokens(network, symbol)
    if id is None:
        return selected if network or symbol else tuple(token for token in selected if not token.is_fiat)
    token = token_with_id(id)
    return (token,) if token is not None and token in selected else ()


def conversion_routes(
    invoice: Token, networks: Sequence[str] | None, facts: ConversionFacts
) -> tuple[tuple[Token, Way], ...]:
    """The tokens in which an invoice can be paid, each with its way, on the given networks (None means all).

    `networks` are names or aliases.
    """
    names = None if networks is None else {canonical_name(name) for name in networks}
    tokens = (token for token in find_tokens() if names is None or token.network in names)
    return tuple((token, way) for token in tokens if (way := way_of(invoice, token, facts)) is not None)
