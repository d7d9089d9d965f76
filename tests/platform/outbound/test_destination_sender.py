"""What arrives in queues, topics and event buses, on moto, and what becomes of refusals of AWS."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from chalicelib.base.destinations import Destination, EventMessage
from chalicelib.platform.outbound.destination_sender import DestinationSender
from chalicelib.platform.outbound.sender import PostResult
from tests.fakes.merchant_aws import MerchantAws

REGION, ACCOUNT = "eu-west-1", "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/payment-events-orders"
QUEUE = Destination(f"arn:aws:sqs:{REGION}:{ACCOUNT}:orders", ROLE, "external-id")
BUS = Destination(f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/orders", ROLE, "external-id")
MESSAGE = EventMessage(
    "01DELIVERY", "01EVENT", "payment.confirmed", '{"event":"payment.confirmed","requestId":"01REQUEST"}', "01REQUEST",
    is_test=False, created_at=datetime(2026, 1, 2, tzinfo=UTC),
)  # fmt: skip


@pytest.fixture
def aws() -> Iterator[Any]:
    """A client of SQS in the merchant's region; the others are made beside it."""
    with mock_aws():
        yield boto3.client("sqs", region_name=REGION)


def make_queue(sqs: Any, name: str) -> str:
    attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
    url: str = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def received(sqs: Any, url: str) -> dict[str, Any]:
    (message,) = sqs.receive_message(QueueUrl=url, AttributeNames=["All"], MessageAttributeNames=["All"])["Messages"]
    return dict(message)


def send(arn: str, message: EventMessage = MESSAGE) -> None:
    result = DestinationSender(demands_external_id=False).send(Destination(arn, ROLE, "external-id"), message)
    assert result == PostResult(200, None)


def attributes_of(message: dict[str, Any]) -> dict[str, str]:
    return {name: each["StringValue"] for name, each in message["MessageAttributes"].items()}


def test_a_queue_receives_the_body_with_the_kind_and_the_ids_as_attributes(aws: Any) -> None:
    url = make_queue(aws, "orders")
    send(QUEUE.arn)
    message = received(aws, url)
    assert message["Body"] == MESSAGE.body
    assert attributes_of(message) == {"event": MESSAGE.kind, "id": MESSAGE.message_id, "eventId": MESSAGE.event_id}


def test_characters_that_a_queue_refuses_are_escaped_in_its_body(aws: Any) -> None:
    url = make_queue(aws, "orders")
    body = json.dumps({"reference": "\ufffe\uffff\x01 é"}, ensure_ascii=False)
    send(QUEUE.arn, EventMessage("01D", "01E", "payment.confirmed", body, None, is_test=False, created_at=MESSAGE.created_at))
    found = received(aws, url)["Body"]
    assert json.loads(found) == json.loads(body) and not {"\ufffe", "\uffff"} & set(found)


def test_a_sample_event_is_marked(aws: Any) -> None:
    url = make_queue(aws, "orders")
    send(QUEUE.arn, EventMessage("01D", "01E", "payment.confirmed", "{}", None, is_test=True, created_at=MESSAGE.created_at))
    assert attributes_of(received(aws, url))["test"] == "true"


def test_in_a_fifo_queue_the_events_of_a_request_are_in_one_group_and_each_is_there_once(aws: Any) -> None:
    url = make_queue(aws, "orders.fifo")
    for _ in range(2):
        send(f"{QUEUE.arn}.fifo")
    attributes = received(aws, url)["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("01REQUEST", "01DELIVERY")


def test_a_topic_passes_the_body_and_the_attributes_on(aws: Any) -> None:
    url, sns = make_queue(aws, "behind"), boto3.client("sns", region_name=REGION)
    topic = sns.create_topic(Name="orders")["TopicArn"]
    raw = {"RawMessageDelivery": "true"}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:{REGION}:{ACCOUNT}:behind", Attributes=raw)
    send(topic)
    message = received(aws, url)
    assert message["Body"] == MESSAGE.body and attributes_of(message)["eventId"] == MESSAGE.event_id


def test_an_event_bus_receives_the_body_with_the_id_of_the_event_as_detail() -> None:
    events = boto3.client("events", region_name=REGION)
    entry = {
        "EventBusName": BUS.arn,
        "Source": "payment-requests",
        "DetailType": MESSAGE.kind,
        "Detail": '{"eventId":"01EVENT","event":"payment.confirmed","requestId":"01REQUEST"}',
        "Resources": [MESSAGE.request_id],
        "Time": MESSAGE.created_at,
    }
    taken = {"Credentials": {"AccessKeyId": "key", "SecretAccessKey": "secret", "SessionToken": "token"}}
    sts = SimpleNamespace(assume_role=lambda **_: taken)
    with Stubber(events) as stubbed:
        stubbed.add_response("put_events", {"Entries": [{"EventId": "assigned"}]}, {"Entries": [entry]})
        sender = DestinationSender(False, lambda service, *_: sts if service == "sts" else events)
        assert sender.send(BUS, MESSAGE) == PostResult(200, None)


@pytest.fixture
def merchants() -> MerchantAws:
    return MerchantAws({ROLE: QUEUE.external_id})


def test_a_role_is_taken_on_once_for_an_hour_under_the_external_id_of_its_webhook(
    merchants: MerchantAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, seconds = DestinationSender(True, merchants.client), [0.0]
    monkeypatch.setattr("chalicelib.platform.outbound.destination_sender.time.monotonic", lambda: seconds[0])
    for seconds[0] in (0.0, 1_000.0, 3_299.0):
        assert sender.send(QUEUE, MESSAGE).delivered
    assert [external_id == QUEUE.external_id for _, external_id in merchants.taken] == [True, False]
    seconds[0] = 3_300.0
    assert sender.send(QUEUE, MESSAGE).delivered and len(merchants.taken) == 4


def test_a_role_that_demands_no_external_id_is_refused_as_any_account_could_name_it(merchants: MerchantAws) -> None:
    merchants.roles[ROLE] = None
    result = DestinationSender(True, merchants.client).send(QUEUE, MESSAGE)
    assert result.status == 403 and "sts:ExternalId" in result.answer and merchants.sent == {}


def test_another_account_that_names_the_same_role_is_refused_by_it(merchants: MerchantAws) -> None:
    sender = DestinationSender(True, merchants.client)
    assert sender.send(QUEUE, MESSAGE).delivered
    stranger = Destination(QUEUE.arn, ROLE, "another-external-id")
    assert sender.send(stranger, MESSAGE) == PostResult(403, None, "AccessDenied: refused")
    assert len(merchants.sent[QUEUE.arn]) == 1


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("RequestThrottled", 403, 429),
        ("KMSThrottling", 400, 429),
        ("AWS.SimpleQueueService.NonExistentQueue", 400, 400),
        ("InternalError", 500, 500),
    ],
)
def test_refusals_of_a_queue_are_answers_and_too_many_calls_are_429(
    merchants: MerchantAws, code: str, status: int, expected: int
) -> None:
    merchants.fault = (code, status)
    result = DestinationSender(True, merchants.client).send(QUEUE, MESSAGE)
    assert result == PostResult(expected, None, f"{code}: refused")


@pytest.mark.parametrize(
    ("code", "expected"), [("ThrottlingException", 429), ("InternalFailure", 503), ("NotAuthorizedForSourceException", 400)]
)
def test_an_entry_that_a_bus_did_not_take_is_not_delivered(merchants: MerchantAws, code: str, expected: int) -> None:
    merchants.fault = (code, 200)
    result = DestinationSender(True, merchants.client).send(BUS, MESSAGE)
    assert (result.status, result.answer) == (expected, f"{code}: ")


def test_without_an_answer_there_is_an_error_and_no_status() -> None:
    def make_client(*_: object) -> Any:
        raise EndpointConnectionError(endpoint_url="https://sts.eu-west-1.amazonaws.com")

    result = DestinationSender(True, make_client).send(QUEUE, MESSAGE)
    assert (result.status, result.error) == (None, "EndpointConnectionError")
