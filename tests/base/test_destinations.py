"""Which ARNs may be destinations of events, through which roles."""

import pytest

from chalicelib.base.destinations import Destination, check_destination
from chalicelib.base.errors import BadRequest

QUEUE = "arn:aws:sqs:eu-west-1:123456789012:orders"
ROLE = "arn:aws:iam::123456789012:role/payment-events-orders"


@pytest.mark.parametrize(
    ("arn", "service", "name"),
    [
        (QUEUE, "sqs", "orders"),
        ("arn:aws:sns:us-gov-west-1:123456789012:orders.fifo", "sns", "orders.fifo"),
        ("arn:aws:events:ap-southeast-2:123456789012:event-bus/shop/orders", "events", "event-bus/shop/orders"),
    ],
)
def test_queues_topics_and_event_buses_are_destinations_through_a_role_of_their_account(
    arn: str, service: str, name: str
) -> None:
    check_destination(arn, ROLE)
    destination = Destination(arn, ROLE, "id")
    assert (destination.service, destination.name, destination.account) == (service, name, "123456789012")


@pytest.mark.parametrize(
    ("arn", "role", "why"),
    [
        (QUEUE, None, "roleArn: name the role"),
        (QUEUE, ROLE.replace("123456789012", "123456789013"), "in the AWS account of the destination"),
        (QUEUE, "arn:aws:iam::123456789012:role/orders", "begins with payment-events-"),
        (QUEUE, "arn:aws:iam::123456789012:role/team/payment-events-orders", "without a path"),
        (QUEUE, "arn:aws:iam::123456789012:role/payment-events-", "begins with payment-events-"),
        (QUEUE, "arn:aws:iam::123456789012:user/payment-events-orders", "name a role"),
        (QUEUE, f"{ROLE}\n", "name a role"),
        (f"{QUEUE}\n", ROLE, "url: name https, or the ARN"),
        ("arn:aws:lambda:eu-west-1:123456789012:function:orders", ROLE, "url: name https, or the ARN"),
        (f"{QUEUE}/../other", ROLE, "url: name https, or the ARN"),
        ("arn:aws:sqs:evil:123456789012:orders", ROLE, "no region"),
        ("arn:aws:sqs:eu-west-1-evil:123456789012:orders", ROLE, "no region"),
    ],
)
def test_others_are_refused_with_what_to_change(arn: str, role: str | None, why: str) -> None:
    with pytest.raises(BadRequest, match=why):
        check_destination(arn, role)
