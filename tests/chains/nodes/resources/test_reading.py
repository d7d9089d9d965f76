"""What a Tron node says of prices, accounts and calls, and what cannot be true of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable
from chalicelib.chains.nodes.readings import AccountResources, CallEnergy, ResourcePrices, ResourceReading
from tests.chains.nodes.test_tron import CALL, OWNER, OWNER_HEX, Node

PRICES, ACCOUNT, CALLED = "/wallet/getchainparameters", "/wallet/getaccountresource", "/wallet/triggerconstantcontract"
PARAMETERS = {
    "getEnergyFee": 210,
    "getTransactionFee": 1000,
    "getCreateAccountFee": 100_000,
    "getCreateNewAccountFeeInSystemContract": 1_000_000,
    "getMemoFee": 1_000_000,
    "getMultiSignFee": 1_500_000,
}
RESOURCES = {"freeNetLimit": 600, "freeNetUsed": 200, "NetLimit": 50, "NetUsed": 80, "EnergyLimit": 70_000, "EnergyUsed": 1}
RESOURCES |= {"TotalEnergyLimit": 180_000_000_000}
RAN = {"result": {"result": True}, "constant_result": [""], "transaction": {"ret": [{}]}}
ABSURD: tuple[Any, ...] = (-1, 10**30, "210", 2.5, None, True, [], {})


def listed(**changes: Any) -> dict[str, Any]:
    return {"chainParameter": [{"key": key, "value": value} for key, value in {**PARAMETERS, **changes}.items()]}


@pytest.fixture
def node() -> Iterator[Node]:
    running = Node()
    running.answers |= {PRICES: listed(), ACCOUNT: RESOURCES, CALLED: {**RAN, "energy_used": 64_285, "energy_penalty": 49_635}}
    yield running
    running.shutdown()
    running.server_close()


def read(node: Node) -> ResourceReading:
    return node.chain.read_resources(OWNER, (CALL,))


def test_prices_an_account_and_calls_are_read_with_what_is_used_taken_off(node: Node) -> None:
    assert read(node) == ResourceReading(
        ResourcePrices(210, 1000, 1_100_000, 1_000_000, 1_500_000),  # type: ignore[arg-type]
        AccountResources(is_active=True, energy=69_999, bandwidth=0, free_bandwidth=400),
        (CallEnergy(64_285, 49_635),),
    )
    assert (ACCOUNT, {"address": "41" + OWNER_HEX}) in node.asked


def test_nothing_is_known_of_an_address_that_is_no_account(node: Node) -> None:
    node.answers[ACCOUNT] = {}
    assert read(node).account == AccountResources(is_active=False)


def test_a_call_that_fails_has_no_energy(node: Node) -> None:
    node.answers[CALLED] = {**RAN, "energy_used": 9_000, "transaction": {"ret": [{"ret": "FAILED"}]}}
    assert read(node).calls == (None,)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.parametrize("value", ABSURD, ids=repr)
def test_an_absurd_parameter_is_no_answer(node: Node, name: str, value: Any) -> None:
    node.answers[PRICES] = listed(**{name: value})
    with pytest.raises(ChainUnavailable):
        read(node)


@pytest.mark.parametrize("name", ["getEnergyFee", "getTransactionFee"])
def test_energy_and_bandwidth_are_never_free(node: Node, name: str) -> None:
    node.answers[PRICES] = {"chainParameter": [each for each in listed()["chainParameter"] if each["key"] != name]}
    with pytest.raises(ChainUnavailable):
        read(node)
    node.answers[PRICES] = listed(**{name: 0})
    with pytest.raises(ChainUnavailable):
        read(node)


def test_a_parameter_that_is_there_twice_is_no_answer(node: Node) -> None:
    node.answers[PRICES] = {"chainParameter": [*listed()["chainParameter"], {"key": "getEnergyFee", "value": 1}]}
    with pytest.raises(ChainUnavailable):
        read(node)


@pytest.mark.parametrize("name", RESOURCES)
@pytest.mark.parametrize("value", ABSURD, ids=repr)
def test_absurd_resources_are_no_answer(node: Node, name: str, value: Any) -> None:
    node.answers[ACCOUNT] = {**RESOURCES, name: value}
    with pytest.raises(ChainUnavailable):
        read(node)


def test_nobody_has_more_energy_than_there_is(node: Node) -> None:
    node.answers[ACCOUNT] = {**RESOURCES, "EnergyLimit": RESOURCES["TotalEnergyLimit"] + 1}
    with pytest.raises(ChainUnavailable):
        read(node)


@pytest.mark.parametrize("energy", [*ABSURD, 0, 4_999])
def test_a_call_that_takes_an_absurd_amount_is_no_answer(node: Node, energy: Any) -> None:
    node.answers[CALLED] = {**RAN, "energy_used": energy}
    with pytest.raises(ChainUnavailable):
        read(node)


@pytest.mark.parametrize("answer", [{}, [], None, {"chainParameter": None}, {"Error": "busy"}, {"chainParameter": [{}]}], ids=repr)
def test_a_node_that_lists_no_parameters_is_no_answer(node: Node, answer: Any) -> None:
    node.answers[PRICES] = answer
    with pytest.raises(ChainUnavailable):
        read(node)


@pytest.mark.parametrize("answer", [[], None, {"Error": "busy"}, {"freeNetLimit": 600}], ids=repr)
def test_a_node_that_says_nothing_of_an_account_is_no_answer(node: Node, answer: Any) -> None:
    node.answers[ACCOUNT] = answer
    with pytest.raises(ChainUnavailable):
        read(node)


# --- whether the node has a transaction ---

PENDING, MINED = "/wallet/gettransactionfrompending", "/wallet/gettransactionbyid"
ID = "5f" * 32


@pytest.mark.parametrize(("pending", "mined", "result"), [
    ({}, {}, False), ({"txID": ID.upper(), "raw_data": {}}, {}, True), ({}, {"txID": ID, "ret": [{}]}, True),
])
def test_a_node_has_a_transaction_that_waits_or_is_in_a_block(node: Node, pending: Any, mined: Any, result: bool) -> None:
    node.answers |= {PENDING: pending, MINED: mined}
    assert node.chain.has_transaction(ID) is result
    assert (PENDING, {"value": ID}) in node.asked


@pytest.mark.parametrize("answer", [{"txID": "11" * 32}, {"Error": "busy"}, [], None, {"raw_data": {}}], ids=repr)
def test_what_is_not_that_transaction_is_no_answer(node: Node, answer: Any) -> None:
    node.answers |= {PENDING: answer, MINED: {}}
    with pytest.raises(ChainUnavailable):
        node.chain.has_transaction(ID)
