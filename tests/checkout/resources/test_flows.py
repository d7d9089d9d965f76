"""Several Tron nodes: none of them alone says that a payment can be made, or that it was not sent."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from chalicelib.base.errors import BadGateway, ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.checkout import Checkout, pay_one, with_approvals
from chalicelib.chains.calldata.explanations.calls import explain
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.nodes.accounts.balances import WalletReading
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.tron import TronChain
from chalicelib.checkout.resources.flows import check_energy, quote_resources
from chalicelib.checkout.resources.rules import OutOfEnergy, Problem, ResourceQuote, Step
from infra.local.scenes import ON_TRON, due_of
from tests.fakes.destinations import USDT_TRON
from tests.fakes.wallets import tron_wallet
from tests.support.node import ENERGY_PRICE, Node

OWNER = tron_wallet("payer").address
APPROVE = erc20.approve(USDT_TRON, OWNER, 1)
STEP = Step({APPROVE: 1}, 0, 345, 100_000_000, True)
ID = "5f" * 32
PENDING = "/wallet/gettransactionfrompending"


@pytest.fixture
def pair() -> Iterator[tuple[Node, Node]]:
    nodes = Node(), Node()
    yield nodes
    for each in nodes:
        each.close()


def chain_of(*nodes: Node) -> Any:
    chains = [(f"node-{number}", TronChain("tron", each.url)) for number, each in enumerate(nodes)]
    return Nodes(chains, lambda: datetime(2030, 1, 1, tzinfo=UTC))


def check(*nodes: Node) -> None:
    check_energy(chain_of(*nodes), OWNER, STEP, ID)


def quote_by(*nodes: Node) -> ResourceQuote:
    """By the nodes, of a wallet that the first of them says to have all that it needs."""
    checkout: Checkout = with_approvals(pay_one(due_of(ON_TRON)), {})
    explanations = explain("tron", checkout.transactions)
    holdings = WalletReading(BaseUnits(10**18), {}, BaseUnits(ENERGY_PRICE))
    return quote_resources(chain_of(*nodes), OWNER, holdings, checkout, explanations)


def test_the_node_that_says_less_energy_than_the_other_is_not_believed(pair: tuple[Node, Node]) -> None:
    one, other = pair
    one.energy, other.energy = 5_000, 50_000
    assert quote_by(one, other).steps[0].energy == quote_by(other, one).steps[0].energy == 55_000


@pytest.mark.parametrize("lie", [{"native": 10**18}, {"resources": {"EnergyLimit": 10**9}}, {"energy": 5_000}], ids=repr)
def test_what_one_node_promises_alone_is_neither_offered_nor_sent(pair: tuple[Node, Node], lie: dict[str, Any]) -> None:
    liar, honest = pair
    for each in pair:
        each.native = 1_000_000
    for name, value in lie.items():
        setattr(liar, name, value)
    for nodes in (pair, (honest, liar)):
        assert quote_by(*nodes).problem is Problem.TOO_LITTLE_TRX
        with pytest.raises(OutOfEnergy):
            check(*nodes)


def test_a_payment_that_fails_by_one_node_is_not_offered(pair: tuple[Node, Node]) -> None:
    pair[1].reverts = {"a9059cbb"}
    assert quote_by(*pair).problem is Problem.UNKNOWN


def test_a_node_that_does_not_answer_or_contradicts_itself_holds_nobody_up(pair: tuple[Node, Node]) -> None:
    silent, honest = pair
    silent.status = 500
    assert quote_by(silent, honest).problem is None
    check(honest, silent)
    silent.status, silent.parameters = 200, {"getEnergyFee": ENERGY_PRICE + 1}
    assert quote_by(silent, honest).problem is None
    check(silent, honest)


def test_while_no_node_answers_nothing_is_known_and_nothing_is_sent(pair: tuple[Node, Node]) -> None:
    for each in pair:
        each.parameters = {"getEnergyFee": 1}
    assert quote_by(*pair).problem is Problem.UNKNOWN
    with pytest.raises(ChainUnavailable, match="this call sent nothing"):
        check(*pair)


def test_what_one_node_has_was_sent_whatever_the_other_one_says(pair: tuple[Node, Node]) -> None:
    for each in pair:
        each.native = 0
    pair[1].found = {PENDING: {"txID": ID}}
    for nodes in (pair, pair[::-1]):
        check(*nodes)


def test_while_one_node_does_not_say_whether_it_was_sent_that_is_not_known(pair: tuple[Node, Node]) -> None:
    for each in pair:
        each.native = 0
    pair[1].found = {PENDING: {"Error": "busy"}}
    for nodes in (pair, pair[::-1]):
        with pytest.raises(BadGateway, match="may have been sent before"):
            check(*nodes)
    pair[0].found = {PENDING: {"txID": ID}}
    check(*pair)


def test_one_node_that_said_what_the_wallet_has_is_not_asked_for_it_again(pair: tuple[Node, Node]) -> None:
    alone, _ = pair
    quote_by(alone)
    assert "eth_getBalance" not in alone.asked
