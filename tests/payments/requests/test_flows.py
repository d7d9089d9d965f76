"""Creating requests that stand by themselves: what is written, in how many transactions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Forbidden, ValidationFailed
from chalicelib.payments.requests import flows, store
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.search.requests import listing
from chalicelib.payments.search.requests.listing import Wanted
from chalicelib.platform.access.callers import ClientSettings
from tests.bench.calls import counted
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.world import PAYEE, WALLET, World, in_process_aws


@pytest.fixture
def world() -> Iterator[World]:
    with in_process_aws() as client:
        yield World(client)


def draft(currency: str = "fUSDC-sepolia", payee: str | None = PAYEE, **changes: Any) -> Draft:
    return Draft(Item("12.50", None, payee, currency, currency), **changes)


def stored(world: World, request: Request) -> Request | None:
    return world.services.store.get(Request, request.key)


def test_a_request_is_written_and_found_by_its_id_and_by_its_reference(world: World) -> None:
    request = flows.create(world.services, world.owner, draft())
    assert stored(world, request) == replace(request, counted_as=RequestStatus.CREATED, version=1)
    assert (request.payable_id, request.position, request.link_token) == (request.request_id, 0, None)
    assert (request.account_id, request.client_id, request.origin) == ("acct", "cli_shop", "https://shop.example")
    assert (request.amount, request.currency, request.created_at) == (12_500_000, "fUSDC-sepolia", world.now)
    for name in (request.request_id, request.payment_reference, request.request_id.upper()):
        assert store.payable_id(world.services.store, name) == request.request_id


def test_what_is_no_request_has_no_payable(world: World) -> None:
    for name in ("", "01", "0x", "f" * 66, "0x" + "f" * 16, "é" * 66, "0x" + "g" * 16, "f" * 5000):
        assert store.payable_id(world.services.store, name) is None


def test_a_request_costs_one_transaction(world: World) -> None:
    with counted(world.client) as calls:
        flows.create(world.services, world.owner, draft())
        assert calls.by_operation.pop("GetItem") == 1, "once a minute what the account has chosen"
        flows.create(world.services, world.owner, draft())
    assert dict(calls.by_operation) == {"TransactWriteItems": 2}


def test_200_payouts_take_five_transactions(world: World) -> None:
    requests = flows.payouts(world.services, world.owner, [draft()] * 200)
    with counted(world.client) as calls:
        flows.save_many(world.services, requests)
    assert dict(calls.by_operation) == {"TransactWriteItems": 5}
    assert all(store.payable_id(world.services.store, each.request_id) == each.request_id for each in requests)


@pytest.mark.parametrize("fatal", [1, 2, 3])
def test_a_process_that_dies_writes_no_request_in_part(world: World, fatal: int) -> None:
    requests = flows.payouts(world.services, world.owner, [draft()] * 100)
    with pytest.raises(Crash):
        flows.save_many(world.start(FragileClient(world.client, Tripwire(fatal))), requests)
    written = [each for each in requests if stored(world, each)]
    assert len(written) == 48 * (fatal - 1)
    listed = listing.page(world.services, Wanted("acct"), None, 0, 1).page
    assert listed.total == len(written), "what was written is counted"
    found = {store.payable_id(world.services.store, each.payment_reference) for each in requests}
    assert found - {None} == {each.request_id for each in written}


def test_every_wrong_payout_is_named_and_nothing_is_written(world: World) -> None:
    wrong = replace(draft(), item=Item("-1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia"))
    with counted(world.client) as calls, pytest.raises(ValidationFailed) as refused:
        flows.payouts(world.services, world.owner, [draft(), wrong, draft(payee=None), draft("NONE-sepolia")])
    assert [each.field for each in refused.value.problems] == [
        "requests.1.amount",
        "requests.2.payee",
        "requests.3.invoiceCurrency",
    ]
    assert calls.total == 0


def test_a_network_that_is_not_read_is_refused(world: World) -> None:
    for make in (
        lambda: flows.create(world.services, world.owner, draft("USDC-base")),
        lambda: flows.payouts(world.services, world.owner, [draft(), draft("USDC-base")]),
    ):
        with pytest.raises(BadRequest, match="does not serve base: payments there would not be seen"):
            make()


def test_a_client_id_of_an_orchestrator_creates_nothing_alone(world: World) -> None:
    owner = replace(world.owner, settings=ClientSettings(orchestrator_id="orc_1"))
    for make in (
        lambda: flows.create(world.services, owner, draft()),
        lambda: flows.payouts(world.services, owner, [draft()]),
    ):
        with pytest.raises(Forbidden, match="linked to an orchestrator"):
            make()


def test_the_payer_is_kept_and_is_not_the_payee(world: World) -> None:
    assert flows.create(world.services, world.owner, draft(payer=WALLET.lower())).payer == WALLET
    with pytest.raises(ValidationFailed, match="payer is the payee: give the wallet that pays, or leave it out"):
        flows.create(world.services, world.owner, draft(payer=PAYEE.lower()))
