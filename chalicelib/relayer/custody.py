"""Spends tokens of others that are in the service's account for what they were taken for, or gives them back.

    take ── proven ── approve ── spend ── SPENT, or RETURNED by a transfer to whom they are from
                                   └── failed for good ── SPEND_AGAIN, by a call with the next number

The account has tokens of many. So nothing is spent before exactly as much was taken for it, as deep in the chain as
confirmations demand, by the relayer's ledger, and only by a call whose key is a `spend`. A key accepts one call for
ever, and the next number is used only after the call of the last one is proven to have failed.
"""

from collections.abc import Callable
from enum import Enum

from chalicelib.base.addresses import same_address
from chalicelib.base.frozen import frozen
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.nodes.agreement import combine_answers
from chalicelib.platform.services import Services
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.flows import Outcome
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.rules import Submission, SubmissionStatus

MOST_SPENDS = 5
"""After so many calls that failed the tokens are given back."""
_NOT_MADE = (CallStatus.REVERTED, CallStatus.SUPERSEDED)


class Next(Enum):
    """What follows from what became of the calls that take and spend the tokens."""

    WAIT = "wait"
    SUBMIT = "submit"
    """The call that is next, which nothing has been accepted of."""
    FAIL = "fail"
    """Nothing was taken, and nothing will be."""
    TAKEN = "taken"
    UNDONE = "undone"
    """A fork has undone the taking: nothing is spent before that is seen to be made again."""
    APPROVE_AGAIN = "approve again"
    SPEND_AGAIN = "spend again"
    """The last call that was to spend the tokens never will: the next one is another call."""
    RETURNED = "returned"
    SPENT = "spent"


@frozen
class Custody:
    """Tokens that were taken into the service's `account` for an `owner` in its ledger, in base units. The keys of its
    calls begin with the owner; `approvals` and `spends` are the numbers of the last ones."""

    owner: str
    network: str
    account: str
    token: str
    amount: BaseUnits
    approvals: int
    spends: int

    def move(self, inward: bool) -> Move:
        """The tokens on their way into the service's account, or all of them out of it."""
        return Move(self.owner, self.token, self.amount, inward)


def after_spend(token: str, take: CallStatus | None, spend: CallStatus | None, to: str = "") -> Next:
    """What follows once tokens were taken. `spend` is what became of the last call that spends them, and `to` the
    contract that it calls; None if none was accepted."""
    if spend is None:
        if take in _NOT_MADE:
            return Next.FAIL
        return Next.SUBMIT if take is CallStatus.SUCCEEDED else Next.UNDONE
    if spend is CallStatus.UNKNOWN:
        return Next.WAIT
    if spend in _NOT_MADE:
        return Next.SPEND_AGAIN
    return Next.RETURNED if same_address(to, token) else Next.SPENT


def find_next(services: Services, custody: Custody, take: str) -> tuple[Next, Outcome | None]:
    """What follows, and what became of the last call that spends; of the one with the key `take` if there is none."""
    accepted = relayer_flows.find_accepted(services, f"{custody.owner}/spend/{custody.spends}")
    if accepted is not None:
        return after_spend(custody.token, None, accepted[0].status, accepted[1].to), accepted[0]
    taken = relayer_flows.outcome(services, take)
    return after_spend(custody.token, taken.status if taken is not None else None, None), taken


def approve(
    services: Services, custody: Custody, spender: str, submit: Callable[[str, Transaction], Submission]
) -> Next:
    """SUBMIT if the spender may take the tokens; WAIT while a call is made that approves them; APPROVE_AGAIN if the
    last one did not suffice, as it was made before they were there, or others have replaced it or used it up.

    All that is in the service's account is approved: were it the tokens alone, approvals of others, of next to nothing,
    would replace it again and again. The spender takes only what a call of the account tells it to. `submit` gets the
    key of a call without its owner. Of several nodes the one counts that says the most is allowed: by another one
    alone it would be approved again and again, and whether it suffices is seen when the spending is run. A request to
    each node. Raises as `combine_answers`.
    """
    chain = services.chains.evm(custody.network)
    holding = combine_answers(
        chain,
        lambda node: node.read_wallet(custody.account, [custody.token], spender).tokens[custody.token],
        lambda said: max(said, key=lambda each: each.allowance),
    ).value
    if holding.allowance >= custody.amount:
        return Next.SUBMIT
    step, amount = f"approve/{custody.approvals}", max(holding.balance, custody.amount)
    known = relayer_flows.outcome(services, f"{custody.owner}/{step}")
    if known is not None and known.status is not CallStatus.UNKNOWN:
        return Next.APPROVE_AGAIN
    if known is None:
        submission = submit(step, erc20.approve(custody.token, spender, amount))
        if submission.status is SubmissionStatus.REFUSED:  # as USDT on mainnet refuses to change what is not zero
            submit(step, erc20.approve(custody.token, spender, 0))
    return Next.WAIT
