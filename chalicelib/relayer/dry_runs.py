"""What calls lead to before they are sent, as the nodes of their network agree.

One node alone could have the service pay for a call that reverts, or withhold one that does not. So each configured
node runs all calls, those into foreign code each with the price that a block will have.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.chains.nodes.readings import AccountReading, Agreed, StepResult
from chalicelib.relayer import rules
from chalicelib.relayer.rules import Budget, Call

if TYPE_CHECKING:
    from chalicelib.chains.nodes.evm import EvmChain

NOT_AGREED = "the nodes do not say the same of what it leads to"
REASONS_DIFFER = "it fails, and the nodes do not say the same of why"


def dry_run(
    chain: "EvmChain", sender: str, calls: Sequence[Call], reading: AccountReading | None, budget: Budget
) -> Agreed[tuple[StepResult, ...]]:
    """The result of each call on the newest state; `success` is None where nodes differ, as for a moment if one is
    behind. A request to each node, and one more for each call into foreign code, which needs the `reading`.

    Raises ChainUnavailable, also if only one of several nodes answers.
    """
    return combine_answers(
        chain,
        lambda node: _run(node, sender, calls, reading, budget),
        lambda said: tuple(map(agree_on_step, zip(*said, strict=True))),
    )


def agree_on_step(said: Sequence[StepResult]) -> StepResult:
    """What at least two nodes say of a call, of several, and none denies, with the most gas that one of them says. Why
    it fails is said only if they say it alike: what follows can depend on that."""
    known = [each for each in said if each.success is not None]
    if len(said) > 1 and (len(known) < 2 or len({each.success for each in known}) > 1):
        return StepResult(None, NOT_AGREED)
    if not known:
        return said[0]
    reason = known[0].reason if len({each.reason for each in known}) == 1 else REASONS_DIFFER
    return StepResult(known[0].success, reason, max((each.gas for each in known if each.gas), default=None))


def _run(
    node: "EvmChain", sender: str, calls: Sequence[Call], reading: AccountReading | None, budget: Budget
) -> tuple[StepResult, ...]:
    plain = [call for call in calls if not call.runs_foreign_code]
    steps: dict[Call, StepResult] = {}
    if plain:
        found = node.run_each(sender, [(Transaction(c.to, c.data, c.value), c.most_gas) for c in plain])
        steps = dict(zip(plain, found, strict=True))
    for call in calls:
        if call.runs_foreign_code:
            assert reading is not None, "its price is that of the next block"
            fees = rules.market_fees(reading, budget)
            most, tip = (fees.max_fee, fees.tip) if fees else (reading.base_fee + reading.tip, reading.tip)
            made = Transaction(call.to, call.data, call.value)
            steps[call] = node.run_as_sent(sender, made, call.most_gas, most, tip)
    return tuple(steps[call] for call in calls)
