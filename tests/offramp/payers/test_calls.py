"""What each flow costs in calls to DynamoDB, counted at the client. More than is written here is a regression."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.offramp.payers import bank_accounts, flows, reading, reports
from chalicelib.offramp.payers.checking import check_due
from chalicelib.offramp.payers.flows import erase
from tests.bench.calls import counted
from tests.fakes.world import World
from tests.offramp.payers.people import NAME, account, add_account, payer, register, said, said_of

Calls = dict[str, int]
Flow = Callable[[World], Any]


def calls_of(world: World, flow: Flow) -> Calls:
    with counted(world.client) as calls:
        flow(world)
    return dict(calls.by_operation)


def bank(world: World) -> Any:
    """The bank account that the world has."""
    return bank_accounts.read(world.services, world.account_id, NAME, None)[0][0]


def test_a_person_is_registered_by_two_reads_one_transaction_and_the_write_of_the_answer(world: World) -> None:
    """Read: the name, which is not taken, and the payer once the provider has answered."""
    assert calls_of(world, register) == {"GetItem": 2, "TransactWriteItems": 1, "UpdateItem": 1}


def test_a_bank_account_is_added_by_its_reads_one_transaction_and_the_write_of_the_answer(world: World) -> None:
    """Read: name, payer and key, the accounts that there are; account and payer once the provider has answered."""
    register(world)
    assert calls_of(world, add_account) == {"GetItem": 5, "Query": 1, "TransactWriteItems": 1, "UpdateItem": 1}
    assert calls_of(world, add_account) == {"GetItem": 3, "Query": 1}, "the same one again"


@pytest.mark.parametrize(
    ("flow", "calls"),
    [
        (payer, {"GetItem": 2}),
        (register, {"GetItem": 4}),
        (lambda world: register(world, city="Boston"), {"GetItem": 5, "UpdateItem": 2}),
        (bank, {"GetItem": 3, "Query": 1}),
        (lambda world: flows.export(world.services, world.actor, NAME), {"GetItem": 3, "Query": 1, "PutItem": 1}),
        (
            lambda world: erase(world.services, world.actor, NAME),
            {"GetItem": 5, "Query": 1, "TransactWriteItems": 1, "UpdateItem": 1},
        ),
        (lambda world: check_due(world.services), {"Query": 8}),
    ],
    ids=["read", "the same again", "update", "list", "export", "erase", "a sweep that finds nothing"],
)
def test_what_is_there_is_read_in_a_few_calls(world: World, flow: Flow, calls: Calls) -> None:
    register(world)
    add_account(world)
    assert calls_of(world, flow) == calls


def test_news_are_one_transaction_and_none_are_one_read(world: World) -> None:
    made = register(world)
    news = said(made, 2, "approved", "completed")
    report: Flow = lambda world: reports.take_user(world.services, news)  # noqa: E731
    assert calls_of(world, report) == {"GetItem": 2, "TransactWriteItems": 1}, "the payer and the key"
    assert calls_of(world, report) == {"GetItem": 1}
    found = account(world, add_account(world))
    approved: Flow = lambda world: reports.take_account(world.services, said_of(found, 2, "approved"))  # noqa: E731
    assert calls_of(world, approved) == {"GetItem": 3, "TransactWriteItems": 1}
    can: Flow = lambda world: reading.payable(world.services, world.account_id, NAME, found.details_id)  # noqa: E731
    assert calls_of(world, can) == {"GetItem": 3}
