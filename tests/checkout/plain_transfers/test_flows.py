"""What is at an address for plain transfers, which transaction empties it, and why there is none."""

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, NotFound, ValidationFailed
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata import plain_transfers as plain_transfer_calldata
from chalicelib.chains.catalogue.contracts import MULTICALL3, address_of
from chalicelib.chains.nodes.readings import PlainAddressState
from chalicelib.checkout.plain_transfers import flows, rules
from chalicelib.checkout.plain_transfers.api import PlainTransferState
from chalicelib.checkout.plain_transfers.rules import Purpose
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.requests.flows import save_many
from chalicelib.payments.requests.plain_transfers.rules import terms_of, with_address
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.rules import currency_of
from tests.fakes.chain import FakeChain
from tests.fakes.requests import standalone, store_request
from tests.fakes.world import FEE_ADDRESS, World

VIEWER = Viewer("acct", None)
OTHER = "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"


@pytest.fixture
def request_of(world: World) -> Request:
    made = with_address(standalone(world.services), Fee("1", FEE_ADDRESS), (), {})
    save_many(world.services, [made])
    return made


def put(world: World, request: Request, units: int, token: str | None = "", **how: Any) -> None:
    """Has units of a token be at the address, of the request's own unless another is given."""
    assert request.plain_transfer is not None
    wanted = currency_of(request).address if token == "" else token
    state = PlainAddressState(BaseUnits(units), how.get("is_deployed", False), how.get("has_deployer", True))
    world.chain.plain_addresses[request.plain_transfer.address, wanted] = state


def read(world: World, request: Request, network: str | None = None, token: str | None = None) -> flows.Found:
    return flows.read(world.services, request.request_id, VIEWER, network, token)


def test_what_arrived_is_deployed_and_paid_out_in_one_call(world: World, request_of: Request) -> None:
    put(world, request_of, 12_625_000)
    found = read(world, request_of)
    assert found.emptying.purpose is Purpose.PAY_OUT
    assert found.emptying.transaction == plain_transfer_calldata.deploy_and_pay_out(terms_of(request_of))
    body = PlainTransferState.of(found, "plain").model_dump()
    assert (body["balance"], body["amount"], body["isDeployed"], body["unavailable"]) == ("12625000", "12.625", False, None)
    assert [each["to"] for each in body["transactions"]] == [address_of(MULTICALL3, "sepolia")]
    assert body["plainTransfer"]["amount"] == "12.625"


def test_nothing_is_deployed_where_there_is_code(world: World, request_of: Request) -> None:
    put(world, request_of, 12_625_000, is_deployed=True)
    own = request_of.plain_transfer
    assert own is not None
    assert read(world, request_of).emptying.transaction == plain_transfer_calldata.pay_out(own.address)


def test_no_more_than_the_fee_waits_for_more(world: World, request_of: Request) -> None:
    put(world, request_of, 125_000, is_deployed=True)
    found = read(world, request_of).emptying
    assert (found.transaction, found.unavailable) == (None, rules.NO_MORE_THAN_THE_FEE)
    put(world, request_of, 125_001, is_deployed=True)
    assert read(world, request_of).emptying.transaction is not None


def test_an_address_that_is_not_that_of_the_terms_is_refused(world: World) -> None:
    made = with_address(standalone(world.services), Fee("1", FEE_ADDRESS), (), {})
    assert made.plain_transfer is not None
    other = replace(made, plain_transfer=replace(made.plain_transfer, address=OTHER))
    save_many(world.services, [other])
    with pytest.raises(Conflict, match="another address"):
        read(world, other)


@pytest.mark.parametrize("token", [OTHER, "native"])
def test_another_token_or_the_coin_is_rescued(world: World, request_of: Request, token: str) -> None:
    own = request_of.plain_transfer
    assert own is not None
    wanted = None if token == "native" else token
    put(world, request_of, 5, wanted, is_deployed=True)
    found = read(world, request_of, token=token)
    assert found.emptying.purpose is Purpose.RESCUE
    assert found.emptying.transaction == plain_transfer_calldata.rescue(own.address, wanted)


def test_another_network_has_the_same_address_deployed_there(world: World, request_of: Request) -> None:
    base = FakeChain(network="base")
    world.services.chains.add(base)  # type: ignore[attr-defined]
    own = request_of.plain_transfer
    assert own is not None
    base.plain_addresses[own.address, OTHER] = PlainAddressState(BaseUnits(5), False, True)
    found = read(world, request_of, "base", OTHER)
    sent = found.emptying.transaction
    assert found.emptying.purpose is Purpose.RESCUE
    assert sent is not None
    assert sent.to == address_of(MULTICALL3, "base")
    assert plain_transfer_calldata.creation_code(terms_of(request_of)).hex() in sent.data
    assert plain_transfer_calldata.rescue(own.address, OTHER).data[2:] in sent.data


def test_without_a_transaction_it_says_why(world: World, request_of: Request) -> None:
    assert read(world, request_of).emptying.unavailable == rules.NOTHING_THERE
    put(world, request_of, 12_625_000, has_deployer=False)
    assert read(world, request_of).emptying.unavailable == rules.NO_DEPLOYER
    put(world, request_of, 12_625_000)
    world.chain.refuses_reapproval = True
    found = read(world, request_of)
    assert (found.emptying.transaction, found.emptying.unavailable) == (None, rules.REFUSED)
    assert PlainTransferState.of(found, "plain").model_dump()["transactions"] == []


def test_tron_an_unknown_network_and_one_without_a_node_are_refused(world: World, request_of: Request) -> None:
    for network, said in (("tron", "cannot be had"), ("nowhere", "not supported"), ("bsc", "no node of bsc")):
        with pytest.raises(BadRequest, match=said):
            read(world, request_of, network)


def test_a_mistyped_token_is_refused_and_a_request_without_an_address_too(world: World, request_of: Request) -> None:
    with pytest.raises(ValidationFailed):
        read(world, request_of, token="0x370De27fdb7D1Ff1e1BaA7D11c5820a324Cf623C")
    with pytest.raises(BadRequest, match="no address"):
        read(world, store_request(world.services))


def test_the_request_of_another_account_is_unknown(world: World, request_of: Request) -> None:
    with pytest.raises(NotFound):
        flows.read(world.services, request_of.request_id, Viewer("other", None), None, None)
