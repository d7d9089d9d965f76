"""What each flow costs in calls to DynamoDB, counted at the client. More than is written here is a regression."""

import pytest

from tests.bench.flows import calls_of_flows

Calls = dict[str, dict[str, int]]


@pytest.fixture(scope="module")
def calls() -> Calls:
    """Calls by operation of each flow."""
    return {name: dict(found.by_operation) for name, found in calls_of_flows().items()}


def test_creating_a_link_is_one_transaction_beside_the_read_of_the_credential_and_two_counters(calls: Calls) -> None:
    """The one read is of the credential and of the record that shuts its caller out. The counters are those of the
    credential and of its account, which are written at the same time."""
    assert calls["create"] == {"BatchGetItem": 1, "UpdateItem": 2, "TransactWriteItems": 1}


def test_creating_a_batch_of_200_takes_99_records_a_transaction_and_the_link_last(calls: Calls) -> None:
    """601 records. The third counter is that of the 199 items beyond the first."""
    assert calls["create of 200 items"] == {"BatchGetItem": 1, "UpdateItem": 3, "TransactWriteItems": 7}


@pytest.mark.parametrize("flow", ["metadata", "metadata with wallet"])
def test_reading_a_link_is_the_read_of_the_credential_its_two_counters_and_the_read_of_the_link(
    calls: Calls, flow: str
) -> None:
    assert calls[flow] == {"BatchGetItem": 1, "UpdateItem": 2, "Query": 1}


def test_paying_a_link_reads_in_addition_whether_payments_are_stopped(calls: Calls) -> None:
    """Once in five seconds in each container."""
    assert calls["pay"] == {"BatchGetItem": 1, "UpdateItem": 2, "Query": 1, "GetItem": 1}


def test_a_tick_without_a_new_block_reads_the_cursor_and_takes_and_ends_its_lease(calls: Calls) -> None:
    assert calls["scan tick without a new block"] == {"GetItem": 2, "UpdateItem": 2}


def test_a_tick_without_a_payment_reads_the_watched_addresses_and_moves_the_cursor(calls: Calls) -> None:
    assert calls["scan tick without a payment"] == {"GetItem": 2, "Query": 1, "UpdateItem": 3}


def test_a_tick_with_a_payment_reads_references_and_the_log_and_writes_an_entry_and_its_work(calls: Calls) -> None:
    assert calls["scan tick with one payment"] == {
        "GetItem": 2,
        "Query": 1,
        "BatchGetItem": 2,
        "BatchWriteItem": 2,
        "UpdateItem": 4,
    }


def test_a_payment_is_recorded_in_one_transaction(calls: Calls) -> None:
    """Read: the work, the link, the entry, its payment."""
    assert calls["record one payment"] == {"Query": 3, "BatchGetItem": 2, "TransactWriteItems": 1}


def test_an_event_with_its_variants_is_announced_in_one_transaction(calls: Calls) -> None:
    """The webhooks of the account, and those of the client id."""
    assert calls["announce one event with three variants"] == {"BatchGetItem": 1, "Query": 2, "TransactWriteItems": 1}


def test_a_payment_that_is_read_again_is_looked_up_and_nothing_is_written_but_the_cursor(calls: Calls) -> None:
    assert calls["scan tick that reads the payment again"] == {
        "GetItem": 2,
        "Query": 1,
        "BatchGetItem": 2,
        "UpdateItem": 3,
    }


def test_an_attempt_of_a_delivery_is_two_reads_its_claim_and_its_outcome(calls: Calls) -> None:
    assert calls["deliver one webhook"] == {"GetItem": 1, "BatchGetItem": 1, "UpdateItem": 2}


@pytest.mark.parametrize("sweep", ["outbox sweep, nothing due", "expiry sweep, nothing due"])
def test_a_sweep_that_finds_nothing_asks_each_shard_of_the_index_once(calls: Calls, sweep: str) -> None:
    assert calls[sweep] == {"Query": 8}
