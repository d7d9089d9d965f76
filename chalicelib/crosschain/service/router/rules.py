"""Routes: what a payer wants from another chain, and what is shown to them (crosschain/core/bridged_calls.py)."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.tokens import Token

DESTINATION_GAS = 200_000
"""What a payment through the fee proxy may use on the destination chain; measured are 96,000 to 188,000."""


_PROBLEMS = {
    "AMOUNT_TOO_LOW": "the amount is too small for the bridge",
    "FEES_HIGHER_THAN_AMOUNT": "the amount is too small for the bridge",
    "AMOUNT_TOO_HIGH": "the amount is too large for the bridge",
    "INSUFFICIENT_LIQUIDITY": "the bridge does not have so much there now",
}
"""What codes of bridges mean, the first that is found."""


class NoRoute(BadRequest):
    """The payment cannot be made in this way; the message says why."""


class BridgeClosed(BadRequest):
    """No route is quoted now; the message says when to try again."""


@frozen
class Wanted:
    """A payment on the destination chain that a payer makes from another one.

    `payer` sends the transaction on the source chain, and gets the tokens back there if nobody fills the deposit.
    `fallback` gets them on the destination chain if the call fails. `call` is that of the fee proxy, which takes
    `amount` base units of the destination token: the amount due and the fee.
    """

    source: Token
    destination: Token
    payer: str
    fallback: str
    call: Transaction
    amount: BaseUnits


@frozen
class Purpose:
    """What routes are quoted for: the account that is paid, and the name of its link or request. Nobody may use up the
    questions of all others with one of them."""

    account_id: str
    name: str


@frozen
class GasCost:
    """What gas costs in the native coin of the source, as the router says, and its worth in dollars with 8 decimals."""

    amount: BaseUnits
    dollars: BaseUnits


@frozen
class Route:
    """A way to pay from another chain: the payer allows `spender` to take `source_amount`, and sends `transaction`.

    It is shown until `expires_at`. The source chain accepts it until `execution_deadline`; what was deposited can be
    filled until `fill_deadline`. `seconds` is how long it takes, as the router says. `step_id` names it there.
    """

    wanted: Wanted
    spender: str
    transaction: Transaction
    gas: int
    source_amount: BaseUnits
    tool: str
    step_id: str
    fetched_at: datetime
    expires_at: datetime
    execution_deadline: datetime
    fill_deadline: datetime
    seconds: int
    gas_costs: tuple[GasCost, ...]


def keep_route(route: Route, fetched_at: datetime, lifetime: timedelta) -> Route:
    """The route with the time at which it was fetched, which is shown for `lifetime` from then on."""
    return replace(route, fetched_at=fetched_at, expires_at=min(fetched_at + lifetime, route.execution_deadline))


def no_way(wanted: Wanted, problems: Collection[str]) -> str:
    """What a payer is told if the router offers nothing, by its codes: its own words are never shown to payers."""
    reason = next((text for problem, text in _PROBLEMS.items() if problem in problems), "the bridge offers no way now")
    return (
        f"This cannot be paid in {wanted.source.symbol} on {wanted.source.network}: {reason}. Choose another chain or "
        f"token, or pay on {wanted.destination.network}"
    )


def try_again(wanted: Wanted, retry_after: int) -> str:
    """What a payer is told while the router cannot be asked, or does not answer."""
    seconds = f"{retry_after} second{'' if retry_after == 1 else 's'}"
    wait = seconds if retry_after < 120 else f"{-(-retry_after // 60)} minutes"
    return (
        f"Payments in {wanted.source.symbol} on {wanted.source.network} are not available at the moment: try again in "
        f"{wait}, or pay on {wanted.destination.network}"
    )
