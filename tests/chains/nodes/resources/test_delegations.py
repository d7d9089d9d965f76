"""What a Tron node says of a stake and of delegations, and what cannot be true of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.readings import Delegated, ReferenceBlock, ResourceTotals, Stake
from tests.chains.nodes.resources.test_reading import ABSURD
from tests.chains.nodes.test_tron import OWNER, OWNER_HEX, PAYEE, PAYEE_HEX, Node

ACCOUNT, MOST = "/wallet/getaccountresource", "/wallet/getcandelegatedmaxsize"
DELEGATED, SOLID, NEWEST = "/walletsolidity/getdelegatedresourcev2", "/walletsolidity/getnowblock", "/wallet/getnowblock"
TOTALS = {
    "TotalEnergyLimit": 180_000_000_000,
    "TotalEnergyWeight": 19_000_000_000,
    "TotalNetLimit": 43_200_000_000,
    "TotalNetWeight": 27_000_000_000,
}
TIME = 1_800_000_000_000
BLOCK = {"blockID": "0000000003a1b2c3" + "ab" * 24, "block_header": {"raw_data": {"number": 60928707, "timestamp": TIME}}}
ENDS = {"from": "41" + OWNER_HEX, "to": "41" + PAYEE_HEX}


@pytest.fixture
def node() -> Iterator[Node]:
    running = Node()
    running.answers |= {ACCOUNT: TOTALS, MOST: {"max_size": 5_000_000}, DELEGATED: {}, SOLID: BLOCK, NEWEST: BLOCK}
    yield running
    running.shutdown()
    running.server_close()


def stake(node: Node) -> Stake:
    return node.chain.read_stake(OWNER)


def delegated(node: Node) -> Delegated:
    return node.chain.read_delegated(OWNER, PAYEE)


def block(node: Node) -> ReferenceBlock:
    return node.chain.read_reference_block()


def test_what_can_be_delegated_and_what_stakes_give_are_read(node: Node) -> None:
    energy, bandwidth = ResourceTotals(180_000_000_000, 19_000_000_000), ResourceTotals(43_200_000_000, 27_000_000_000)
    assert stake(node) == Stake(5_000_000, 5_000_000, energy, bandwidth)  # type: ignore[arg-type]
    assert [asked for path, asked in node.asked if path == MOST] == [
        {"owner_address": "41" + OWNER_HEX, "type": kind} for kind in (1, 0)
    ]
    node.answers[MOST] = {}
    assert (stake(node).energy, stake(node).bandwidth) == (0, 0), "zeros are left out"


def test_what_is_delegated_is_summed_and_as_old_as_a_solid_block(node: Node) -> None:
    assert delegated(node) == Delegated(TIME)
    locked = {**ENDS, "frozen_balance_for_energy": 7, "expire_time_for_energy": TIME}
    node.answers[DELEGATED] = {"delegatedResource": [locked, {**ENDS, "frozen_balance_for_energy": 5, "frozen_balance_for_bandwidth": 3}]}
    assert delegated(node) == Delegated(TIME, 12, 3)  # type: ignore[arg-type]
    paths = [path for path, _ in node.asked]
    assert paths[:2] == [SOLID, DELEGATED], "what is delegated is not older than the block"


def test_the_newest_block_is_read_as_transactions_name_it(node: Node) -> None:
    assert block(node) == ReferenceBlock(bytes.fromhex("b2c3"), b"\xab" * 8, TIME)


@pytest.mark.parametrize("value", ABSURD, ids=repr)
@pytest.mark.parametrize("name", TOTALS)
def test_absurd_totals_are_no_answer(node: Node, name: str, value: Any) -> None:
    node.answers[ACCOUNT] = {**TOTALS, name: value}
    with pytest.raises(ChainUnavailable):
        stake(node)


@pytest.mark.parametrize("value", ABSURD, ids=repr)
def test_absurd_amounts_and_times_are_no_answer(node: Node, value: Any) -> None:
    changes: list[tuple[str, Any, Callable[[Node], Any]]] = [
        (MOST, {"max_size": value}, stake),
        (DELEGATED, {"delegatedResource": [{**ENDS, "frozen_balance_for_energy": value}]}, delegated),
        (DELEGATED, {"delegatedResource": [{**ENDS, "frozen_balance_for_bandwidth": value}]}, delegated),
        (SOLID, {"block_header": {"raw_data": {"timestamp": value}}}, delegated),
        (NEWEST, {**BLOCK, "block_header": {"raw_data": {"timestamp": value}}}, block),
    ]
    for path, answer, read in changes:
        before, node.answers[path] = node.answers[path], answer
        with pytest.raises(ChainUnavailable):
            read(node)
        node.answers[path] = before


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (ACCOUNT, {}),
        (MOST, {"Error": "busy"}),
        (DELEGATED, {"Error": "busy"}),
        (DELEGATED, []),
        (DELEGATED, {"delegatedResource": [{"from": ENDS["to"], "to": ENDS["from"], "frozen_balance_for_energy": 1}]}),
        (DELEGATED, {"delegatedResource": [{"frozen_balance_for_energy": 1}]}),
        (DELEGATED, {"delegatedResource": 1}),
        (SOLID, {}),
        (NEWEST, {**BLOCK, "blockID": "ab" * 31}),
        (NEWEST, {**BLOCK, "blockID": 7}),
    ],
)
def test_what_has_another_form_is_no_answer(node: Node, path: str, answer: Any) -> None:
    node.answers[path] = answer
    with pytest.raises(ChainUnavailable):
        {ACCOUNT: stake, MOST: stake, DELEGATED: delegated, SOLID: delegated, NEWEST: block}[path](node)
