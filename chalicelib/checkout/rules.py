"""Checks on the token that a payer pays with, and the amounts due on a request."""


from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.calldata.checkout import Due
from chalicelib.catalogue.networks import network
from chalicelib.catalogue.tokens import Token
from chalicelib.links.records import Link
from chalicelib.links.rules import fee_on
from chalicelib.requests.records import Request
from chalicelib.requests.rules import remaining


@frozen
class SourceToken:
    """The token that a payer wants to pay with: a chain label and a symbol, such as BASE and USDC."""

    chain: str
    token: str


def check_source(request: Request, currency: Token, source: SourceToken) -> None:
    """Raises BadRequest unless the source is the request's own network and token; bridging is not supported."""
    chain = network(request.network)
    if chain is None or (chain.label, currency.symbol) != (source.chain, source.token):
        raise BadRequest(
            f"Paying from {source.token} on {source.chain} is not supported for this link: omit chain and token to pay "
            f"in {currency.id}"
        )


def due_of(request: Request, link: Link, token: Token) -> Due:
    """The remaining amount of a request, with the fee on it."""
    amount = remaining(request)
    return Due(
        token=token,
        payee=request.payee,
        amount=amount,
        fee=fee_on(amount, link),
        fee_address=link.fee_address,
        reference=bytes.fromhex(request.payment_reference[2:]),
    )
