"""What the service measures of itself, and the lines in which CloudWatch reads it."""

import io
import json
from typing import Any

import pytest
from aws_lambda_powertools import Logger
from chalice.test import Client

from app import build
from chalicelib.chains.nodes.rpc.http_client import HttpError, HttpResponse
from chalicelib.chains.nodes.rpc.jsonrpc import JsonRpcClient, RpcError
from chalicelib.platform.metrics import (
    DELIVERIES,
    FIRST_ATTEMPTS_FAILED,
    LAG,
    OUTBOX_AGE,
    PAYMENTS,
    LineCounter,
    Metric,
    Metrics,
)
from chalicelib.webhooks.deliveries.flows import send_test
from chalicelib.webhooks.jobs import sweep_outbox
from tests.fakes.world import World


def lines(metrics: Metrics, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    metrics.flush()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_values_are_written_once_in_the_namespace_of_the_stage_a_line_for_each_part(
    capsys: pytest.CaptureFixture[str],
) -> None:
    metrics = Metrics("payment-requests-dev")
    metrics.add(LAG, "base", 12)
    metrics.add(PAYMENTS, "base")
    metrics.add(PAYMENTS, "base")
    metrics.add(OUTBOX_AGE, value=40)
    base, outbox = lines(metrics, capsys)
    assert base["Network"] == "base" and base["Lag"] == [12] and base["PaymentsConfirmed"] == [1, 1]
    assert base["_aws"]["CloudWatchMetrics"] == [
        {
            "Namespace": "payment-requests-dev",
            "Dimensions": [["Network"]],
            "Metrics": [{"Name": "Lag", "Unit": "Seconds"}, {"Name": "PaymentsConfirmed", "Unit": "Count"}],
        }
    ]
    assert outbox["OutboxAge"] == [40] and outbox["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[]]
    assert lines(metrics, capsys) == []


@pytest.mark.parametrize("number", [99, 100, 101, 250])
def test_any_number_of_values_is_written_in_lines_that_cloudwatch_takes(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = Metrics("test")
    for _ in range(number):
        metrics.add(PAYMENTS, "base")
    written = [line["PaymentsConfirmed"] for line in lines(metrics, capsys)]
    assert sum(map(len, written)) == number and max(map(len, written)) <= 100


def test_a_line_of_the_log_that_an_alarm_waits_for_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    metrics, log = Metrics("test"), Logger(service="counted", stream=io.StringIO())
    log.addHandler(LineCounter(metrics))
    log.error("totals differ", extra={"payable": "x"})
    log.error("another line")
    log.info("totals differ")
    (line,) = lines(metrics, capsys)
    assert line["TotalsDiffer"] == [1] and line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [[]]


def test_every_kind_of_invocation_ends_with_writing_its_metrics_also_one_that_fails(world: World) -> None:
    flushed = []
    world.metrics.flush = lambda: flushed.append(True)  # type: ignore[method-assign]
    with Client(build(world.services.settings, lambda: world.services)) as client:
        client.http.get("/v2/health")
        client.lambda_.invoke("sweep_outbox", client.events.generate_cw_event("aws.events", "Scheduled Event", {}, []))
        with pytest.raises(json.JSONDecodeError):
            client.lambda_.invoke("scan_chain", client.events.generate_sqs_event(["no json"]))
    assert len(flushed) == 3


def test_a_payment_is_counted_once_by_its_network(world: World) -> None:
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.tick()
    assert world.metrics.taken(PAYMENTS) == {"sepolia": [1]}


@pytest.mark.parametrize(("status", "outcomes"), [(200, {"delivered"}), (500, {"pending", "failed"})])
def test_a_delivery_is_counted_by_what_became_of_its_attempts(world: World, status: int, outcomes: set[str]) -> None:
    world.register_webhook()
    world.receiver.status = status
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.drain()
    assert world.metrics.taken(DELIVERIES).keys() == outcomes


@pytest.mark.parametrize(("status", "failed"), [(200, 0), (401, 1), (500, 1)])
def test_a_first_attempt_is_counted_as_failed_or_answered_and_neither_retries_nor_tests_are(
    world: World, status: int, failed: int
) -> None:
    world.register_webhook()
    world.receiver.status = status
    send_test(world.services, world.actor.account_id, world.client_id, "payment.confirmed", only_public=False)
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.drain()
    assert world.metrics.taken(FIRST_ATTEMPTS_FAILED) == {"": [failed] * 3}


def test_the_age_of_the_outbox_is_that_of_its_oldest_event(world: World) -> None:
    world.register_webhook()
    world.chain.pay(world.create_link().requests[0])
    world.scan()
    world.queue.messages.clear()  # their messages are lost
    for seconds, age in ((20, 0), (100, 120)):
        world.advance(seconds)
        world.metrics.taken(OUTBOX_AGE)
        sweep_outbox(world.services)
        assert world.metrics.taken(OUTBOX_AGE) == {"": [age]}


class Node:
    """An HttpClient whose every response is the same, or a failure."""

    def __init__(self, status: int, body: Any) -> None:
        self._response = HttpResponse(status, json.dumps(body).encode())

    def post_json(self, *_: Any) -> HttpResponse:
        if not self._response.status:
            raise HttpError("no route")
        return self._response


@pytest.mark.parametrize(
    ("status", "error", "failures"),
    [
        (200, None, 0),
        (0, None, 1),
        (429, None, 1),
        (200, {"code": -32005, "message": "limit exceeded"}, 1),
        (200, {"code": 3, "message": "execution reverted"}, 0),
    ],
)
def test_a_request_that_a_node_fails_or_refuses_is_counted_but_not_a_contract_that_reverts(
    status: int, error: Any, failures: int
) -> None:
    counted: list[Metric] = []
    body = {"jsonrpc": "2.0", "id": 0, **({"error": error} if error else {"result": "0x1"})}
    http: Any = Node(status, body)
    client = JsonRpcClient("base", http, batches=False, on_error=lambda: counted.append(PAYMENTS))
    try:
        client.call("eth_call")
    except Exception as raised:
        assert isinstance(raised, RpcError) or failures
    assert len(counted) == failures
