"""What arrives in queues, topics and event buses, on moto, and what becomes of refusals of AWS."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber
from moto import mock_aws

from chalicelib.base.destinations import Destination, EventMessage
from chalicelib.platform.outbound.destination_sender import AccountUnknown, DestinationSender
from chalicelib.platform.outbound.sender import PostResult
from tests.fakes.merchant_aws import MerchantAws

REGION, ACCOUNT = "eu-west-1", "123456789012"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/payment-events-orders"
QUEUE = Destination(f"arn:aws:sqs:{REGION}:{ACCOUNT}:orders", ROLE, "external-id")
BUS = Destination(f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/orders", ROLE, "external-id")
MESSAGE = EventMessage(
    "01DELIVERY", "01DELIVERY-1", "01EVENT", "payment.confirmed", '{"event":"payment.confirmed","requestId":"01REQUEST"}', "01REQUEST",
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
    send(QUEUE.arn, replace(MESSAGE, body=body))
    found = received(aws, url)["Body"]
    assert json.loads(found) == json.loads(body) and not {"\ufffe", "\uffff"} & set(found)


def test_a_sample_event_is_marked(aws: Any) -> None:
    url = make_queue(aws, "orders")
    send(QUEUE.arn, replace(MESSAGE, is_test=True))
    assert attributes_of(received(aws, url))["test"] == "true"


def test_in_a_fifo_queue_the_events_of_a_request_are_in_one_group_and_each_is_there_once(aws: Any) -> None:
    url = make_queue(aws, "orders.fifo")
    for _ in range(2):
        send(f"{QUEUE.arn}.fifo")
    attributes = received(aws, url)["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("01REQUEST", "01DELIVERY-1")


def test_in_a_fifo_queue_what_the_merchant_asks_for_again_is_there_again(aws: Any) -> None:
    url = make_queue(aws, "orders.fifo")
    for each in ("01DELIVERY-1", "01DELIVERY-1", "01DELIVERY-2"):
        send(f"{QUEUE.arn}.fifo", replace(MESSAGE, sending_id=each))
    found = aws.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])["Messages"]
    assert [attributes_of(each)["id"] for each in found] == ["01DELIVERY", "01DELIVERY"]


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


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The one entry is what the clock of the sender shows."""
    shown = [0.0]
    monkeypatch.setattr("chalicelib.platform.outbound.destination_sender.time.monotonic", lambda: shown[0])
    return shown


def test_a_role_is_taken_on_once_for_an_hour_under_the_external_id_of_its_webhook(
    merchants: MerchantAws, seconds: list[float]
) -> None:
    sender = DestinationSender(True, merchants.client)
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


def send_at(sender: DestinationSender, seconds: list[float], count: int) -> set[int | None]:
    """The statuses of so many attempts within the time for which a refusal is kept."""
    began, found = seconds[0], set[int | None]()
    for number in range(count):
        seconds[0] = began + 299 * number / count
        found.add(sender.send(QUEUE, MESSAGE).status)
    return found


@pytest.mark.parametrize(("demanded", "calls"), [("another id", 1), (None, 2)])
def test_a_hundred_attempts_by_a_broken_role_ask_sts_once_or_if_it_is_open_twice(
    merchants: MerchantAws, seconds: list[float], demanded: str | None, calls: int
) -> None:
    merchants.roles[ROLE] = demanded
    sender = DestinationSender(True, merchants.client)
    assert send_at(sender, seconds, 100) == {403} and len(merchants.taken) == calls
    seconds[0] += 10
    assert sender.send(QUEUE, MESSAGE).status == 403 and len(merchants.taken) == 2 * calls, "minutes later"


def test_a_role_that_its_owner_mends_is_served_five_minutes_later(merchants: MerchantAws, seconds: list[float]) -> None:
    merchants.roles[ROLE] = "another id"
    sender = DestinationSender(True, merchants.client)
    first = sender.send(QUEUE, MESSAGE)
    merchants.roles[ROLE] = QUEUE.external_id
    seconds[0] = 299.0
    assert sender.send(QUEUE, MESSAGE).answer == first.answer == "AccessDenied: refused"
    seconds[0] = 300.0
    assert sender.send(QUEUE, MESSAGE).delivered


def test_too_many_calls_to_sts_are_no_refusal_of_a_role(merchants: MerchantAws, seconds: list[float]) -> None:
    merchants.sts_fault = ("Throttling", 400)
    sender = DestinationSender(True, merchants.client)
    assert sender.send(QUEUE, MESSAGE).status == 429
    merchants.sts_fault = None
    assert sender.send(QUEUE, MESSAGE).delivered


def test_broken_roles_end_no_sessions_of_others_and_take_bounded_memory(
    merchants: MerchantAws, seconds: list[float]
) -> None:
    sender = DestinationSender(True, merchants.client)
    assert sender.send(QUEUE, MESSAGE).delivered
    for number in range(2_500):
        sender.send(Destination(QUEUE.arn, f"{ROLE}-{number}", "id"), MESSAGE)
    assert sender.send(QUEUE, MESSAGE).delivered
    assert [role for role, _ in merchants.taken].count(ROLE) == 2 and len(sender._refusals) == 2_000


def test_of_more_sessions_than_are_kept_the_oldest_one_ends(merchants: MerchantAws, seconds: list[float]) -> None:
    sender = DestinationSender(True, merchants.client)
    others = [Destination(QUEUE.arn, f"{ROLE}-{number}", "id") for number in range(200)]
    for each in others:
        merchants.roles[each.role_arn] = each.external_id
        assert sender.send(each, MESSAGE).delivered
    asked = len(merchants.taken)
    assert sender.send(others[-1], MESSAGE).delivered and len(merchants.taken) == asked
    assert sender.send(others[0], MESSAGE).delivered and len(merchants.taken) == asked + 2


def test_sts_that_does_not_say_the_account_of_the_service_is_an_error_in_words(merchants: MerchantAws) -> None:
    merchants.sts_fault = ("InternalFailure", 500)
    with pytest.raises(AccountUnknown, match="nothing was registered: try again"):
        DestinationSender(True, merchants.client).own_account()


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
