"""Where a payer pays from: the `chain` and `token` of a pay query, against what a link can be paid with."""

from dataclasses import dataclass

from chalicelib.core.errors import BadRequest
from chalicelib.core.links import Request
from chalicelib.core.networks import network
from chalicelib.core.tokens import Token


@dataclass(frozen=True)
class Source:
    """A chain label and a token symbol, such as BASE and USDC."""

    chain: str
    token: str


def check_source(request: Request, currency: Token, source: Source) -> None:
    """Raises BadRequest unless the source is the link's own network and token, which needs no bridge."""
    own = network(request.network)
    if own is None or (own.label, currency.symbol) != (source.chain, source.token):
        raise BadRequest(
            f"Paying from {source.token} on {source.chain} is not supported for this link: omit chain and token to pay "
            f"in {currency.id}"
        )
