"""Queues, topics and event buses of merchants, in their AWS accounts, to which events are sent by a role there.

    webhook ── role of the merchant's account, by the webhook's external id ── SQS queue, SNS topic or EventBridge bus

The role is what permits it: the service's own role may take on roles whose name begins with ROLE_PREFIX, and nothing
else in foreign accounts. The external id is drawn for each webhook, so that no other account of this service reaches a
queue by naming the same role.
"""

import re
from datetime import datetime
from typing import Any

from chalicelib.base.errors import BadRequest
from chalicelib.base.frozen import frozen

ROLE_PREFIX = "payment-events-"
PATTERN = (
    r"arn:aws:(sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}(\.fifo)?|sns:[a-z0-9-]+:[0-9]{12}:"
    r"[A-Za-z0-9_-]{1,251}(\.fifo)?|events:[a-z0-9-]+:[0-9]{12}:event-bus/[A-Za-z0-9._/-]{1,256})"
)
"""The ARN of a queue, topic or event bus."""
ROLE_PATTERN = rf"arn:aws:iam::[0-9]{{12}}:role/{ROLE_PREFIX}[A-Za-z0-9+=,.@_-]{{1,49}}"
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")


@frozen
class Destination:
    """An ARN of PATTERN, and the role of the same account that may send to it, under an external id."""

    arn: str
    role_arn: str
    external_id: str

    @property
    def service(self) -> str:
        """`sqs`, `sns` or `events`."""
        return self.arn.split(":")[2]

    @property
    def region(self) -> str:
        return self.arn.split(":")[3]

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    @property
    def name(self) -> str:
        return self.arn.split(":")[5]


@frozen
class EventMessage:
    """An event as it is delivered: `body` is the JSON text of every webhook, `message_id` the id of its delivery.

    `sending_id` is the same for all attempts that the service makes by itself, and another one once the merchant has
    asked for the delivery again, which has to arrive although it was there before.
    """

    message_id: str
    sending_id: str
    event_id: str
    kind: str
    body: str
    request_id: str | None
    is_test: bool
    created_at: datetime


def check_destination(arn: str, role_arn: str | None) -> None:
    """Raises BadRequest unless an event may be sent to this ARN through this role."""
    if not re.fullmatch(PATTERN, arn):
        raise BadRequest("url: name https, or the ARN of an SQS queue, an SNS topic or an EventBridge event bus")
    if role_arn is None:
        raise BadRequest("roleArn: name the role of your AWS account that may send to the destination")
    if not re.fullmatch(ROLE_PATTERN, role_arn):
        raise BadRequest(f"roleArn: name a role without a path whose name begins with {ROLE_PREFIX}")
    destination = Destination(arn, role_arn, "")
    if not _REGION.fullmatch(destination.region):
        raise BadRequest("url: the ARN names no region of AWS")
    if destination.account != role_arn.split(":")[4]:
        raise BadRequest("roleArn: the role must be in the AWS account of the destination")


def trust_policy(account: str, external_id: str) -> dict[str, Any]:
    """The policy by which a role lets the AWS `account` of the service take it on under this external id alone."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{account}:root"},
                "Action": "sts:AssumeRole",
                "Condition": {"StringEquals": {"sts:ExternalId": external_id}},
            }
        ],
    }
