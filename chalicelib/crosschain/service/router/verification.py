"""Whether a payer may sign what the router proposes. Pure.

Every byte that is signed is read, and compared with what was asked for. The router's own numbers are used for nothing
that is not in those bytes, except what a route costs and how long it takes.
"""

from datetime import datetime, timedelta

from chalicelib.base.addresses import ZERO_ADDRESS, evm_address, same_address
from chalicelib.base.frozen import frozen
from chalicelib.chains.calldata.bridges.across import QUOTE_SECONDS
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.bridges import needs_reset
from chalicelib.chains.catalogue.networks import Network, require_network
from chalicelib.crosschain.core import bridged_calls
from chalicelib.crosschain.service.router.rules import GasCost, Route, Wanted
from chalicelib.platform.outbound.lifi import RouterStep

LEAST_GAS, MOST_GAS = 50_000, 1_500_000
"""The gas limit of a deposit; one uses about 150,000."""
LEAST_TIME_TO_SIGN = timedelta(minutes=5)
"""How long the source chain has to accept a route at least when it is shown."""
_LEAST_BPS = 9_900
"""A deposit of less than this part of what arrives is filled by nobody, and would be locked until its deadline."""


class RouteRefused(Exception):
    """What the router proposes is not what was asked for. Nobody may sign it; the text says why, for the log."""


@frozen
class Limits:
    """What a route may take in addition to the amount: basis points of it, and whole dollars, not more than the amount:
    bridging one dollar must not cost five."""

    cost_bps: int
    cost_dollars: int


def verify(step: RouterStep, wanted: Wanted, now: datetime, limits: Limits) -> Route:
    """The route of a step that does what was asked for, and nothing else. Raises RouteRefused.

    The time when it is fetched is `now`; it expires when the source chain does not accept it any more.
    """
    source = require_network(wanted.source.network)
    _check_transaction(step, wanted, source)
    bridged = bridged_calls.read_source(source, step.to, step.data)
    if bridged is None:
        raise RouteRefused("its transaction is not one that this service can read")
    _check_call(bridged, wanted)
    _check_deposit(bridged, step, wanted, limits)
    _check_times(bridged, now)
    return Route(
        wanted=wanted,
        spender=evm_address(step.to.lower()),
        transaction=Transaction(evm_address(step.to.lower()), step.data.lower(), 0),
        gas=step.gas_limit,
        source_amount=bridged.taken,
        tool=step.tool,
        step_id=step.id,
        fetched_at=now,
        expires_at=bridged.execution_deadline,
        execution_deadline=bridged.execution_deadline,
        fill_deadline=bridged.fill_deadline,
        seconds=step.seconds,
        gas_costs=_gas_costs(step, source),
    )


def _check_transaction(step: RouterStep, wanted: Wanted, source: Network) -> None:
    """The fields beside the calldata, which a wallet signs too."""
    if step.chain_id != source.chain_id:
        raise RouteRefused(f"its transaction is for chain {step.chain_id}")
    if not same_address(step.sender, wanted.payer):
        raise RouteRefused("its transaction is for another sender")
    if not same_address(step.to, step.approval_address):
        raise RouteRefused(f"it has the tokens approved for {step.approval_address}")
    if step.value:
        raise RouteRefused(f"it takes {step.value} of the native coin")
    if not LEAST_GAS <= step.gas_limit <= MOST_GAS:
        raise RouteRefused(f"its gas limit is {step.gas_limit}")


def _check_call(bridged: bridged_calls.BridgedCall, wanted: Wanted) -> None:
    if bridged.destination.name != wanted.destination.network:
        raise RouteRefused(f"it leads to {bridged.destination.name}")
    if not same_address(bridged.target, wanted.call.to) or bridged.data != wanted.call.data.lower():
        raise RouteRefused("it makes another call")
    if bridged.amount != wanted.amount:
        raise RouteRefused(f"it lets the call take {bridged.amount}")
    if not same_address(bridged.fallback, wanted.fallback):
        raise RouteRefused(f"its fallback is {bridged.fallback}")
    if needs_reset(wanted.destination) and not bridged.resets:
        raise RouteRefused("anybody could make its call fail by an allowance of the contract that makes it")


def _check_deposit(bridged: bridged_calls.BridgedCall, step: RouterStep, wanted: Wanted, limits: Limits) -> None:
    deposit = bridged.deposit
    if not same_address(deposit.depositor, wanted.payer):
        raise RouteRefused(f"it refunds to {deposit.depositor}")
    if not same_address(deposit.input_token, wanted.source.address):
        raise RouteRefused(f"it takes the token {deposit.input_token}")
    if not same_address(deposit.output_token, wanted.destination.address):
        raise RouteRefused(f"it brings the token {deposit.output_token}")
    if deposit.output_amount < wanted.amount:
        raise RouteRefused(f"it brings {deposit.output_amount}")
    if bridged.taken != step.source_amount:
        raise RouteRefused(f"it takes {bridged.taken} and says {step.source_amount}")
    if bridged.taken > _most(wanted, limits):
        raise RouteRefused(f"it takes {bridged.taken}")
    if deposit.input_amount * 10_000 < _in_source_units(wanted, deposit.output_amount) * _LEAST_BPS:
        raise RouteRefused(f"it deposits {deposit.input_amount} for {deposit.output_amount}")


def _check_times(bridged: bridged_calls.BridgedCall, now: datetime) -> None:
    deposit = bridged.deposit
    quoted_at = bridged.execution_deadline - timedelta(seconds=QUOTE_SECONDS)
    if not now + LEAST_TIME_TO_SIGN <= bridged.execution_deadline or quoted_at > now + bridged_calls.CLOCK_SKEW:
        raise RouteRefused(f"it was quoted at {quoted_at.isoformat()}")
    if not now + bridged_calls.LEAST_TIME_TO_FILL <= bridged.fill_deadline <= now + bridged_calls.MOST_TIME_TO_FILL:
        raise RouteRefused(f"it can be filled until {bridged.fill_deadline.isoformat()}")
    seconds = deposit.exclusivity
    if seconds > bridged_calls.LONGEST_EXCLUSIVITY_SPAN:
        seconds -= int(now.timestamp())
    if seconds > bridged_calls.MOST_EXCLUSIVITY.total_seconds():
        raise RouteRefused(f"{deposit.exclusive_relayer} alone may fill it for {seconds} seconds")
    if (deposit.exclusivity == 0) != (deposit.exclusive_relayer == ZERO_ADDRESS):
        raise RouteRefused("its exclusivity contradicts itself")


def _most(wanted: Wanted, limits: Limits) -> int:
    amount = _in_source_units(wanted, wanted.amount)
    dollars: int = limits.cost_dollars * 10**wanted.source.decimals
    return amount * (10_000 + limits.cost_bps) // 10_000 + min(dollars, amount)


def _in_source_units(wanted: Wanted, amount: int) -> int:
    """An amount of the destination token as so many units of the source token, rounded up: both are worth a dollar."""
    source: int = 10**wanted.source.decimals
    destination: int = 10**wanted.destination.decimals
    return -(-amount * source // destination)


def _gas_costs(step: RouterStep, source: Network) -> tuple[GasCost, ...]:
    """What gas costs in the native coin of the source chain, where the router says what that is worth."""
    coins = (each for each in step.gas_costs if each.chain_id == source.chain_id and each.token == ZERO_ADDRESS)
    return tuple(GasCost(each.amount, each.dollars) for each in coins if each.amount and each.dollars)
