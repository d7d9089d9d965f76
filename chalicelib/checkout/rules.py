"""Where a payer pays from: the `chain` and `token` of a pay query, against what a link can be paid with."""

from dataclasses import dataclass

from chalicelib.base.errors import BadRequest
from chalicelib.calldata.checkout import Due
from chalicelib.catalogue.networks import network
from chalicelib.catalogue.tokens import Token
from chalicelib.links.records import Link
from chalicelib.links.rules import fee_on
from chalicelib.requests.records import Request
from chalicelib.requests.rules import remaining


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

def due_of(request: Request, link: Link, token: Token) -> Due:
    """What remains of a request, with the fee on that part."""
    amount = remaining(request)
    return Due(
        token=token,
        payee=request.payee,
        amount=amount,
        fee=fee_on(amount, link),
        fee_address=link.fee_address,
        reference=bytes.fromhex(request.payment_reference[2:]),
    )
