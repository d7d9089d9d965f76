"""Routes: what a payer wants from another chain, what is shown to them, and what a transaction of a source chain does.

A route deposits the payer's tokens into Across on the source chain, itself or through LI.FI's diamond. Whoever fills
the deposit sends tokens to a contract on the destination chain, which approves them for the fee proxy and makes the
call that pays; if that fails they go to the fallback. All of this is in the bytes that the payer signs.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import QUOTE_SECONDS, Deposit, decode_deposit, decode_message
from chalicelib.chains.calldata.bridges.lifi import DiamondDeposit, decode_diamond, decode_receiver_message
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    LIFI_DIAMOND,
    LIFI_RECEIVER,
    contracts_on,
)
from chalicelib.chains.catalogue.networks import Network, network_of_chain
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


@frozen
class BridgedCall:
    """What a transaction of a source chain does: a deposit, and the one call it leads to on the destination chain.

    `taken` is what leaves the payer, in base units of the deposit's input token. `target` is allowed to take `amount`
    of its output token, and `data` is sent to it. What is left, all of it if the call fails, goes to `fallback`.
    `resets`: an allowance that the recipient has given before is withdrawn first.
    """

    deposit: Deposit
    taken: BaseUnits
    destination: Network
    target: str
    data: str
    amount: BaseUnits
    fallback: str
    resets: bool

    @property
    def execution_deadline(self) -> datetime:
        """The last second at which the source chain accepts it."""
        return datetime.fromtimestamp(self.deposit.quote_timestamp + QUOTE_SECONDS, UTC)

    @property
    def fill_deadline(self) -> datetime:
        """The last second at which the destination chain lets it be filled."""
        return datetime.fromtimestamp(self.deposit.fill_deadline, UTC)


def read_source(chain: Network, to: str, data: str) -> BridgedCall | None:
    """What a transaction of a chain does if it is one that a route of ours may have; None for any other."""
    signed = _deposit_of(chain, to, data)
    destination = None if signed is None else network_of_chain(signed.deposit.destination_chain_id)
    if signed is None or destination is None:
        return None
    if same_address(signed.deposit.recipient, contracts_on(destination.name).get(ACROSS_HANDLER, "")):
        made = _decode_handler_message(signed.deposit)
    elif same_address(signed.deposit.recipient, contracts_on(destination.name).get(LIFI_RECEIVER, "")):
        made = _decode_receiver_message(signed.deposit)
    else:
        return None
    return None if made is None else BridgedCall(signed.deposit, BaseUnits(signed.taken), destination, *made)


def _deposit_of(chain: Network, to: str, data: str) -> DiamondDeposit | None:
    """The deposit of a transaction: its own call of the bridge, or one that the router's contract makes."""
    if same_address(to, contracts_on(chain.name).get(ACROSS_SPOKE_POOL, "")):
        deposit = decode_deposit(data)
        return None if deposit is None else DiamondDeposit(deposit, deposit.input_amount)
    return decode_diamond(data) if same_address(to, contracts_on(chain.name).get(LIFI_DIAMOND, "")) else None


def _decode_handler_message(deposit: Deposit) -> tuple[str, str, BaseUnits, str, bool] | None:
    """Target, data, amount, fallback and whether an allowance is withdrawn first, of a message that approves all that
    arrives, maybe after an approval of 0, and makes one call with it."""
    message = decode_message(deposit.message)
    if message is None or len(message.calls) not in (2, 3):
        return None
    *approvals, (target, call, value) = message.calls
    resets = len(approvals) == 2
    amounts = [0, deposit.output_amount] if resets else [deposit.output_amount]
    expected = [approve(deposit.output_token, target, amount) for amount in amounts]
    if value or approvals != [(each.to, each.data, 0) for each in expected]:
        return None
    return target, call, BaseUnits(deposit.output_amount), message.fallback, resets


def _decode_receiver_message(deposit: Deposit) -> tuple[str, str, BaseUnits, str, bool] | None:
    """The same of LI.FI's receiver, whose contracts withdraw an earlier allowance themselves where that is needed."""
    message = decode_receiver_message(deposit.message)
    if message is None or not same_address(message.token, deposit.output_token):
        return None
    return message.target, message.data, BaseUnits(message.amount), message.receiver, True


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
