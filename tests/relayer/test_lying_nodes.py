"""Whatever a node says of the service's transactions, the tokens of others in its account never move.

One node that lies about one of its answers all the time, forgets, or lags; and two nodes, one of which lies at will.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from chalicelib.base.money import BaseUnits
from chalicelib.base.records import Counts
from chalicelib.chains.nodes.nodes import NodesDisagree
from chalicelib.crosschain.service.payment_intents.records import Stage
from chalicelib.relayer import flows, store
from chalicelib.relayer.holdings.records import TOTAL, Holding, HoldingsTotal
from chalicelib.relayer.records import CallStatus, RelayerAccount
from chalicelib.relayer.rules import Call
from tests.fakes.bridge import SOURCE, SOURCE_USDC
from tests.fakes.escrows import OPERATOR, Commerce
from tests.fakes.lying_node import ACCOUNT, ANSWERS, BALANCE, BLOCKS, LOGS, RECEIPT, Lies, LyingNode, served
from tests.fakes.mempool import Raw
from tests.fakes.payment_intents import EXECUTOR, HAD, PAYER, POOL, PaymentIntents
from tests.fakes.world import PAYEE, World
from tests.support.rehearsed import few, parts

OTHERS, REFUNDED, MINUTES = 10**8, 10_000_000, 26
Verdict = Callable[[Raw], bool | None]
TOKEN_OUT = ("0xa9059cbb", "0x7b939232")
"""What moves tokens out of the account: a transfer, and a deposit of Across."""


def succeeded(raw: Raw) -> bool:
    return True


def reverted(raw: Raw) -> bool:
    return False


def forgotten(raw: Raw) -> None:
    return None


def spending_reverted(raw: Raw) -> bool:
    """That is what has the service pay again: everything that was taken is there, and nothing of it was spent."""
    return raw.data[:10] in ("0x095ea7b3",) or not _moves_out(raw)


def _moves_out(raw: Raw) -> bool:
    return raw.data[:10] in TOKEN_OUT or (len(raw.data) > 2 + 2 * 400 and raw.to.lower() != SOURCE_USDC.lower())


VERDICTS = (succeeded, reverted, forgotten, spending_reverted)


def hold_for_others(services: Any, network: str, account: str, token: str) -> None:
    """The account has sent transactions before: the first nonce that it ever has is what its nodes say, or its one node."""
    entry = Holding(network, account, token.lower(), "somebody", services.clock(), BaseUnits(OTHERS))
    services.store.write(entry, HoldingsTotal(network, account, token.lower(), Counts({TOTAL: OTHERS})))
    if store.account(services.store, network, account) is None:
        services.store.write(RelayerAccount(network, account, 0, "", BaseUnits(0)))


class Payment:
    """A payment intent that is being made, while the service's account holds tokens of others."""

    def __init__(self, fails: set[str]) -> None:
        self.payment_intents = payment_intents = PaymentIntents()
        payment_intents.balances[EXECUTOR.lower()] += OTHERS
        hold_for_others(payment_intents.services, SOURCE, EXECUTOR, SOURCE_USDC)
        payment_intents.fails |= fails
        self.intent = payment_intents.begun()
        self.amount, move = self.intent.taking, payment_intents.move

        def watched(sender: str, receiver: str, amount: int) -> None:
            move(sender, receiver, amount)
            assert payment_intents.balance(EXECUTOR) >= OTHERS, "tokens of others were moved"

        payment_intents.move = watched  # type: ignore[method-assign]

    def serve(self, lies: Lies, truthful: int, first: bool = True) -> None:
        nodes: list[Any] = [LyingNode(self.payment_intents.chain, lies), *[self.payment_intents.chain] * truthful]
        world = self.payment_intents.world
        world.services = served(world.services, SOURCE, *(nodes if first else reversed(nodes)))

    def run(self, minutes: int) -> None:
        self.payment_intents.settle(minutes)

    def check(self) -> None:
        """After the nodes tell the truth again everything ends, and what left is what was put in."""
        for _ in range(80):
            if self.payment_intents.load(self.intent).stage in (Stage.BRIDGED, Stage.ENDED):
                break
            self.payment_intents.settle(1)
        assert self.payment_intents.load(self.intent).stage in (Stage.BRIDGED, Stage.ENDED)
        assert self.payment_intents.balance(EXECUTOR) == OTHERS
        assert self.payment_intents.balance(PAYER) + self.payment_intents.balance(POOL) == HAD


class Refund:
    """A refund of a commerce payment that is being made, while the service's account holds tokens of others."""

    def __init__(self, fails: set[str]) -> None:
        self.commerce = commerce = Commerce()
        self.created = commerce.captured(fee_bps=0)
        commerce.allow(PAYEE, OPERATOR, 10**9)
        commerce.balances[OPERATOR.lower()] += OTHERS
        hold_for_others(commerce.services, "sepolia", OPERATOR, commerce.token)
        commerce.fails |= {"transferFrom" if each == "take" else each for each in fails} | (
            {"refund"} if "deposit" in fails else set()
        )
        self.amount, move = REFUNDED, commerce._move
        self.before = commerce.balance(PAYEE)

        def watched(sender: str, receiver: str, amount: int) -> None:
            move(sender, receiver, amount)
            assert commerce.balance(OPERATOR) >= OTHERS, "tokens of others were moved"

        commerce._move = watched  # type: ignore[method-assign]
        commerce.refund(self.created, REFUNDED)

    def serve(self, lies: Lies, truthful: int, first: bool = True) -> None:
        nodes: list[Any] = [LyingNode(self.commerce.chain, lies), *[self.commerce.chain] * truthful]
        world = self.commerce.world
        world.services = served(world.services, "sepolia", *(nodes if first else reversed(nodes)))

    def run(self, minutes: int) -> None:
        self.commerce.settle(minutes)

    def check(self) -> None:
        for _ in range(80):
            if self.commerce.load(self.created).pending is None:
                break
            self.commerce.settle(1)
        found = self.commerce.load(self.created)
        assert found.pending is None and self.commerce.balance(OPERATOR) == OTHERS
        assert self.commerce.balance(PAYEE) == self.before - found.refunded


CASES: dict[str, Callable[[set[str]], Payment | Refund]] = {"payment": Payment, "refund": Refund}
FAILS: tuple[set[str], ...] = (set(), {"take"}, {"deposit"})


@pytest.fixture(params=[(case, fails) for case in CASES for fails in FAILS], ids=str)
def case(request: pytest.FixtureRequest) -> Payment | Refund:
    name, fails = request.param
    return CASES[name](set(fails))


def lied_to(case: Payment | Refund, lies: Lies, truthful: int, first: bool = True) -> None:
    case.serve(lies, truthful, first)
    case.run(MINUTES)
    lies.is_active = False
    for world in (getattr(case, "payment_intents", None), getattr(case, "commerce", None)):
        if world is not None:
            world.fails.clear()
    case.check()


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        *((answer, verdict) for answer in (RECEIPT, LOGS) for verdict in VERDICTS),
        *((answer, forgotten) for answer in ANSWERS if answer not in (RECEIPT, LOGS)),
    ],
)
def test_one_node_that_lies_about_one_answer_all_the_time(case: Payment | Refund, answer: str, verdict: Verdict) -> None:
    lies = Lies(frozenset({answer}), verdict, case.amount, nonces=3)
    lied_to(case, lies, truthful=0)


@pytest.mark.parametrize("minutes", [16, 60])
def test_one_node_that_has_lost_its_receipts(case: Payment | Refund, minutes: int) -> None:
    lies = Lies(frozenset({RECEIPT}), forgotten, case.amount)
    case.serve(lies, truthful=0)
    case.run(minutes)
    assert lies.number
    lied_to(case, lies, truthful=0)


@pytest.mark.parametrize("lag", [1, 5])
def test_one_node_that_lags_or_says_another_nonce(case: Payment | Refund, lag: int) -> None:
    lied_to(case, Lies(frozenset({ACCOUNT}), forgotten, case.amount, nonces=-lag, lag=lag), truthful=0)


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("first", few([True], [True, False]), ids=["asked first", "asked last"])
def test_two_nodes_one_of_which_lies_about_everything_in_one_way(
    case: Payment | Refund, verdict: Verdict, first: bool
) -> None:
    everything = frozenset(ANSWERS) - {"header"}
    lied_to(case, Lies(everything, verdict, case.amount, nonces=2), truthful=1, first=first)


@pytest.mark.parametrize("seed", parts(4))
def test_two_nodes_one_of_which_lies_at_random(case: Payment | Refund, seed: int) -> None:
    random = Random(seed)

    def at_random(raw: Raw) -> bool | None:
        return random.choice([True, False, None])

    answers = frozenset(each for each in ANSWERS if random.random() < 0.7)
    lies = Lies(answers, at_random, case.amount, nonces=random.choice([-1, 0, 2]), lag=random.choice([0, 1]))
    lied_to(case, lies, truthful=1, first=random.random() < 0.5)


def test_one_node_that_has_paid_already_is_not_believed_that_it_has_not(case: Payment | Refund) -> None:
    """It lies about receipts and balances together, so that only the logs of the block contradict it."""
    lied_to(case, Lies(frozenset({RECEIPT, BALANCE, BLOCKS}), spending_reverted, case.amount), truthful=0)


@pytest.mark.parametrize("first", [True, False], ids=["asked first", "asked last"])
def test_one_node_of_two_takes_no_outcome_back(first: bool) -> None:
    """It says that a fork has taken the call out of the chain."""
    world = World(relayer_keys={"sepolia": "secret"})
    flows.submit(world.services, [Call(account_id="acct", key="payout/1", network="sepolia", to=PAYEE, data="0x1234")])
    world.relay()
    nodes: list[Any] = [
        LyingNode(world.chain, Lies(frozenset({ACCOUNT, RECEIPT}), forgotten, 0, nonces=-1)),
        world.chain,
    ]
    world.relay(served(world.services, "sepolia", *(nodes if first else reversed(nodes))))
    found = flows.outcome(world.services, "payout/1")
    assert found is not None and found.status is CallStatus.SUCCEEDED


@pytest.mark.parametrize("first", [True, False], ids=["asked first", "asked last"])
def test_one_node_of_two_does_not_say_the_first_nonce_that_the_account_ever_has(first: bool) -> None:
    """A later one would wait for ever for transactions that nobody sends."""
    world = World(relayer_keys={"sepolia": "secret"})
    lies = Lies(frozenset({ACCOUNT}), forgotten, 0, nonces=7)
    nodes: list[Any] = [LyingNode(world.chain, lies), world.chain]
    services = served(world.services, "sepolia", *(nodes if first else reversed(nodes)))
    call = Call(account_id="acct", key="payout/1", network="sepolia", to=PAYEE, data="0x1234")
    with pytest.raises(NodesDisagree):
        flows.submit(services, [call])
    assert (store.account(services.store, "sepolia", EXECUTOR), world.chain.mempool.sent) == (None, [])
    lies.is_active = False
    flows.submit(services, [call])
    assert [raw.nonce for raw in world.chain.mempool.sent] == [0]
