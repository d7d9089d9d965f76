"""What the transactions of a payment on Tron take, what that burns, and whether the wallet can pay it.

A call may use the energy of a stake and what its sender's TRX buy, and never more than its fee limit buys; a call that
reaches the end of either burns all of it and changes nothing. Bandwidth comes whole from the stake, or whole from the
free bandwidth of the day, or is burned whole.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from chalicelib.base.addresses import tron_address_of
from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen
from chalicelib.base.keccak import keccak256
from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.calldata.checkout import Checkout
from chalicelib.chains.calldata.explanations.parts import ExpectedEvent, Explanation
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.calldata.tron import APPROVAL_FEE_LIMIT, bandwidth_of
from chalicelib.chains.nodes.readings import CallEnergy, ResourcePrices, ResourceReading

MARGIN_PERCENT = 10
"""What a quote has on top of the energy that the node measures: usage changes until then, and with it the penalty."""
_PROXY_ENERGY, _ALLOWANCE_ENERGY = 30_000, 10_000
"""What a payment takes besides its transfers, and each transferFrom besides what a transfer takes. Estimates, while
the payment itself cannot be run because its approval is not on the chain."""
_MOST_RECIPIENTS = 4
"""Of how many recipients the transfers are measured; any other one counts as if it had none of the token yet."""
_TRX_DECIMALS = 6


class Problem(StrEnum):
    """Why a payment cannot be made, or is not known to be possible."""

    NOT_ACTIVATED = "not_activated"
    TOO_LITTLE_TRX = "too_little_trx"
    FEE_LIMIT = "fee_limit"
    UNKNOWN = "unknown"


@frozen
class Step:
    """A transaction to be signed. Its energy is that of `calls`, each so many times, and `extra`; its bandwidth is in
    bytes, its fee limit in sun. `is_measured`: the only call is the transaction itself. One that the service builds has
    no memo, and is signed by one key."""

    calls: Mapping[Transaction, int]
    extra: int
    bandwidth: int
    fee_limit: int
    is_measured: bool
    has_memo: bool = False
    signatures: int = 1


@frozen
class StepQuote:
    """What a transaction takes, and what of it is burned, in sun; `fees` are those for a memo and several signatures.
    `energy`, which `penalty` is a part of, is None if it is not known."""

    energy: int | None
    penalty: int
    is_measured: bool
    bandwidth: int
    energy_burned: BaseUnits = BaseUnits(0)
    bandwidth_burned: BaseUnits = BaseUnits(0)
    fees: BaseUnits = BaseUnits(0)
    exceeds_limit: bool = False

    @property
    def burned(self) -> int:
        return self.energy_burned + self.bandwidth_burned + self.fees


@frozen
class ResourceQuote:
    """What a payment takes and burns, in sun. `reading` is what the node said, None if it said nothing of use;
    `missing` is what the wallet lacks, as far as it is known, and `problem` None if the payment can be made."""

    problem: Problem | None
    reading: ResourceReading | None = None
    balance: BaseUnits = BaseUnits(0)
    steps: tuple[StepQuote, ...] = ()
    burned: BaseUnits = BaseUnits(0)
    missing: BaseUnits = BaseUnits(0)

    @property
    def is_complete(self) -> bool:
        """Whether `burned` is all that is burned."""
        return self.reading is not None and all(each.energy is not None for each in self.steps)


class OutOfEnergy(BadRequest):
    """The transaction would burn TRX and fail, or the network would refuse it; it was not sent."""

    shown_by = "chalicelib.checkout.resources.schemas"

    def __init__(self, quote: ResourceQuote) -> None:
        super().__init__(advice(quote) or "")
        self.quote = quote


def plan(owner: str, checkout: Checkout, explanations: Sequence[Explanation]) -> tuple[Step, ...]:
    """The transactions of a checkout with the calls by which a node can measure them now, before the first is sent.

    A payment that waits for its approval is measured by its transfers, sent by the wallet itself; an approval that
    waits for one of zero by an approval of an address that has none.
    """
    steps, reset = list[Step](), set[str]()
    approvals = len(checkout.approvals)
    for index, (each, explained) in enumerate(zip(checkout.transactions, explanations, strict=True)):
        limit = APPROVAL_FEE_LIMIT if index < approvals else checkout.fee_limit
        calls, extra, is_measured = {each: 1}, 0, True
        if index < approvals and each.to in reset:
            calls, is_measured = {erc20.approve(each.to, _stranger(owner, each), 1): 1}, False
        elif index >= approvals and approvals:
            calls, extra, is_measured = *_transfers(owner, each, explained), False
        reset.add(each.to)
        steps.append(Step(calls, extra, bandwidth_of(owner, each, limit), limit, is_measured))
    return tuple(steps)


def calls_of(steps: Sequence[Step]) -> tuple[Transaction, ...]:
    """The calls to be measured, each once."""
    return tuple(dict.fromkeys(call for step in steps for call in step.calls))


def quote_steps(
    reading: ResourceReading, balance: BaseUnits, steps: Sequence[Step], margin_percent: int = MARGIN_PERCENT
) -> ResourceQuote:
    """What the transactions take and burn, one after the other. The calls of `reading` are those of `calls_of`;
    `balance` is what the wallet has of TRX, in sun."""
    found, account, prices = dict(zip(calls_of(steps), reading.calls, strict=True)), reading.account, reading.prices
    energy_left, staked, free = account.energy, account.bandwidth, account.free_bandwidth
    quoted = list[StepQuote]()
    for step in steps:
        energy, penalty = _energy(step, found, margin_percent)
        needed = energy or 0
        burned_energy, energy_left = max(needed - energy_left, 0), max(energy_left - needed, 0)
        burned_bandwidth = 0
        if step.bandwidth <= staked:
            staked -= step.bandwidth
        elif step.bandwidth <= free:
            free -= step.bandwidth
        else:
            burned_bandwidth = step.bandwidth
        quoted.append(
            StepQuote(
                energy,
                penalty,
                step.is_measured,
                step.bandwidth,
                BaseUnits(burned_energy * prices.energy),
                BaseUnits(burned_bandwidth * prices.bandwidth),
                _fees(step, prices),
                needed > step.fee_limit // prices.energy,
            )
        )
    burned = sum(each.burned for each in quoted)
    missing = max(burned - balance, 0)
    problem = _problem(reading, quoted, missing)
    return ResourceQuote(problem, reading, balance, tuple(quoted), BaseUnits(burned), BaseUnits(missing))


def worst(quotes: Sequence[ResourceQuote]) -> ResourceQuote:
    """The quote to be believed of those by several nodes: none of them alone makes a payment possible or cheap."""
    order = {None: 0, Problem.UNKNOWN: 1}
    return max(quotes, key=lambda each: (order.get(each.problem, 2), each.burned))


def contradicts(reading: ResourceReading, balance: BaseUnits, energy_price: BaseUnits) -> bool:
    """Whether what a node says of prices and accounts is not what it says of the gas price and the balance."""
    return reading.prices.energy != energy_price or (balance > 0 and not reading.account.is_active)


def advice(quote: ResourceQuote) -> str | None:
    """What to do about the problem of a quote."""
    burned, balance, missing = (_trx(each) for each in (quote.burned, quote.balance, quote.missing))
    match quote.problem:
        case Problem.NOT_ACTIVATED if quote.reading is not None:
            return (
                f"This Tron account does not exist yet: send at least {burned} TRX to its address, which creates it "
                f"and costs the sender {_trx(quote.reading.prices.activation)} TRX, then ask anew"
            )
        case Problem.TOO_LITTLE_TRX:
            return (
                f"The network takes about {burned} TRX and the wallet has {balance}: send it {missing} TRX more, or "
                "delegate energy and bandwidth to it, then ask anew"
            )
        case Problem.FEE_LIMIT:
            return (
                "At the present price of energy a transaction takes more than its fee limit allows: pay less at once, "
                "or wait until energy is cheaper"
            )
        case Problem.UNKNOWN:
            return (
                "It is not known what the network takes, so do not sign yet: check that the wallet has the tokens, "
                "then ask anew"
            )
    return None


def _problem(reading: ResourceReading, steps: Sequence[StepQuote], missing: int) -> Problem | None:
    if not reading.account.is_active:
        return Problem.NOT_ACTIVATED
    if any(each.exceeds_limit for each in steps):
        return Problem.FEE_LIMIT
    if missing:
        return Problem.TOO_LITTLE_TRX
    return Problem.UNKNOWN if any(each.energy is None for each in steps) else None


def _fees(step: Step, prices: ResourcePrices) -> BaseUnits:
    return BaseUnits((prices.memo if step.has_memo else 0) + (prices.signatures if step.signatures > 1 else 0))


def _energy(step: Step, found: Mapping[Transaction, CallEnergy | None], margin_percent: int) -> tuple[int | None, int]:
    """The energy of a step, and the penalty in it, with the margin."""
    energy, penalty = step.extra, 0
    for call, times in step.calls.items():
        measured = found[call]
        if measured is None:
            return None, 0
        energy, penalty = energy + times * measured.energy, penalty + times * measured.penalty
    return _with_margin(energy, margin_percent), _with_margin(penalty, margin_percent)


def _with_margin(energy: int, percent: int) -> int:
    return energy + -(-energy * percent // 100)


def _transfers(owner: str, payment: Transaction, explained: Explanation) -> tuple[dict[Transaction, int], int]:
    """The transfers of a payment as calls of the wallet, and the energy that it takes besides them."""
    recipients, calls, transfers = dict[tuple[str, str], Transaction](), dict[Transaction, int](), 0
    events = _events(explained)
    for event in events:
        token, fee = str(event.token), [(event.fee_address, event.fee_amount)] if event.fee_amount else []
        for recipient, amount in [(event.payee, event.amount), *fee]:
            key = token, recipient
            if key not in recipients and len(recipients) < _MOST_RECIPIENTS:
                recipients[key] = erc20.transfer(token, recipient, amount)
            call = recipients.get(key) or erc20.transfer(token, _stranger(owner, payment), 1)
            calls[call] = calls.get(call, 0) + 1
            transfers += 1
    return calls, len(events) * _PROXY_ENERGY + transfers * _ALLOWANCE_ENERGY


def _events(explained: Explanation) -> list[ExpectedEvent]:
    """The payments of a transaction. Raises ValueError if it makes none that is known."""
    found = [each.expected_event for each in (explained, *explained.calls) if each.expected_event is not None]
    if not found:
        raise ValueError("the transaction makes no payment")
    return found


def _stranger(owner: str, transaction: Transaction) -> str:
    """An address that has no tokens and no allowance, as nobody has used it."""
    return tron_address_of(keccak256(f"{owner} {transaction.data}".encode())[-20:])


def _trx(sun: int) -> str:
    return format_amount(BaseUnits(sun), _TRX_DECIMALS)
