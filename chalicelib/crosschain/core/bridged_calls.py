"""What a transaction of a source chain does: the deposit that it makes, and the call that this leads to. Pure.

A deposit goes into Across, from the payer or through LI.FI's diamond. Whoever fills it sends tokens to a contract on
the destination chain, which approves them for the fee proxy and makes the call that pays; if that fails they go to the
fallback. All of this is in the bytes that the payer signs.
"""

from datetime import UTC, datetime, timedelta

from chalicelib.base.addresses import same_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import QUOTE_SECONDS, Deposit, decode_deposit, decode_message
from chalicelib.chains.calldata.bridges.lifi import DiamondDeposit, decode_diamond, decode_receiver_message
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.contracts import (
    ACROSS_HANDLER,
    ACROSS_SPOKE_POOL,
    LIFI_DIAMOND,
    LIFI_RECEIVER,
    contracts_on,
)
from chalicelib.chains.catalogue.networks import Network, network_of_chain

CLOCK_SKEW = timedelta(minutes=1)
"""How far the router's clock may be ahead of ours."""
LEAST_TIME_TO_FILL, MOST_TIME_TO_FILL = timedelta(minutes=15), timedelta(hours=24)
MOST_EXCLUSIVITY = timedelta(minutes=1)
"""How long one relayer alone may fill a deposit: a payer waits at least so long if it does not."""
LONGEST_EXCLUSIVITY_SPAN = 365 * 24 * 3600
"""Up to this number the contract reads the exclusivity as seconds, above it as an instant."""


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


def has_route_times(deposit: Deposit) -> bool:
    """Whether the deadlines of a deposit that anybody sent are within those that a route may have, whenever that was
    shown and sent: at most QUOTE_SECONDS after its quote.

    Of a deposit that was made, the exclusivity is known as an instant.
    """
    quoted, sent = deposit.quote_timestamp, deposit.quote_timestamp + QUOTE_SECONDS
    first = quoted + (LEAST_TIME_TO_FILL - CLOCK_SKEW).total_seconds()
    last, span = sent + MOST_TIME_TO_FILL.total_seconds(), MOST_EXCLUSIVITY.total_seconds()
    alone = deposit.exclusivity
    is_shared = alone <= (sent + span if alone > LONGEST_EXCLUSIVITY_SPAN else span)
    return first <= deposit.fill_deadline <= last and is_shared
