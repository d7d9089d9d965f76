"""Sends events to queues, topics and event buses of merchants (base/destinations.py)."""

import time
from collections.abc import Callable
from dataclasses import field
from secrets import token_hex
from typing import Any

from chalicelib.base.destinations import Destination, EventMessage
from chalicelib.base.frozen import frozen
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.platform.storage.clients import Keys, aws_client

SOURCE = "payment-requests"
"""The source of events on a bus."""
_SESSION_SECONDS = 3_600
"""How long a role is taken on: the most for a role that takes on another one."""
_RENEW_SECONDS = 300
_MOST_KEPT = 200
"""Clients that a process keeps."""
_THROTTLED = frozenset(
    {
        "Throttling", "ThrottlingException", "Throttled", "RequestThrottled", "ThrottledException", "KmsThrottled",
        "KMSThrottling", "KMSThrottlingException", "RequestLimitExceeded", "LimitExceededException",
    }
)
_TOO_MANY, _BROKEN, _REFUSED = 429, 503, 403
_REFUSED_BY_SQS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
_OPEN_ROLE = "The role can be taken on without its external id: its trust policy must demand sts:ExternalId"

Clients = Callable[[str, str | None, Keys | None], Any]
"""Makes a client of a service, in a region, with keys; each of the two is that of the process if it is None."""


def _make_client(service: str, region: str | None, keys: Keys | None) -> Any:
    return aws_client(service, attempts=1, read_seconds=3, region=region, keys=keys)


@frozen
class _Kept:
    client: Any
    until: float


@frozen
class DestinationSender:
    """Sends to destinations; keeps a client for each until its role has to be taken on anew. May be shared by threads.

    `demands_external_id` is false where no policies of roles hold, as in the local cloud.
    """

    demands_external_id: bool
    make_client: Clients = _make_client
    _kept: dict[Any, _Kept] = field(default_factory=dict, compare=False)

    def own_account(self) -> str:
        """The AWS account of the service, which roles have to trust. One call to STS."""
        account: str = self._sts().get_caller_identity()["Account"]
        return account

    def send(self, destination: Destination, message: EventMessage) -> PostResult:
        """Sends a message once. Never raises: a refusal of AWS is an HTTP status with the name of the error as answer,
        429 if there are too many calls; without an answer there is an error."""
        from botocore.exceptions import BotoCoreError, ClientError

        began = time.monotonic()
        try:
            status, answer = self._send(destination, message)
            error = None
        except ClientError as refusal:
            status, answer, error = _status_of(refusal.response), _text_of(refusal.response), None
        except BotoCoreError as failure:
            status, answer, error = None, "", type(failure).__name__
        return PostResult(status, error, answer, int((time.monotonic() - began) * 1000))

    def _send(self, destination: Destination, message: EventMessage) -> tuple[int, str]:
        client = self._client_of(destination)
        if client is None:
            return _REFUSED, _OPEN_ROLE
        if destination.service == "events":
            return _put_event(client, destination, message)
        body, parameters = _text_for_sqs(message), _parameters(destination, message)
        if destination.service == "sns":
            client.publish(TopicArn=destination.arn, Message=body, **parameters)
        else:
            url = f"{client.meta.endpoint_url.rstrip('/')}/{destination.account}/{destination.name}"
            client.send_message(QueueUrl=url, MessageBody=body, **parameters)
        return 200, ""

    def _client_of(self, destination: Destination) -> Any | None:
        """A client with the credentials of the role; None if the role does not demand its external id."""
        key = (destination.service, destination.region, destination.role_arn, destination.external_id)
        now = time.monotonic()
        kept = self._kept.get(key)
        if kept is not None and now < kept.until:
            return kept.client
        keys = self._take_role(destination)
        if keys is None:
            return None
        client = self.make_client(destination.service, destination.region, keys)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[key] = _Kept(client, now + _SESSION_SECONDS - _RENEW_SECONDS)
        return client

    def _take_role(self, destination: Destination) -> Keys | None:
        from botocore.exceptions import ClientError

        sts = self._sts()
        asked = {"RoleArn": destination.role_arn, "RoleSessionName": SOURCE, "DurationSeconds": _SESSION_SECONDS}
        found = sts.assume_role(**asked, ExternalId=destination.external_id)["Credentials"]
        if self.demands_external_id:
            try:
                sts.assume_role(**asked, ExternalId=token_hex(16))
            except ClientError as refusal:
                if refusal.response["Error"]["Code"] not in ("AccessDenied", "AccessDeniedException"):
                    raise
            else:
                return None
        return Keys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])

    def _sts(self) -> Any:
        kept = self._kept.get("sts") or _Kept(self.make_client("sts", None, None), 0)
        self._kept["sts"] = kept
        return kept.client


def _text_for_sqs(message: EventMessage) -> str:
    """The body with two characters escaped that JSON permits in texts, and SQS refuses."""
    return message.body.translate(_REFUSED_BY_SQS)


def _parameters(destination: Destination, message: EventMessage) -> dict[str, Any]:
    """The attributes of a message of SQS and SNS; in FIFO order, those about one request are one after the other."""
    attributes = {"event": message.kind, "id": message.message_id, "eventId": message.event_id}
    if message.is_test:
        attributes["test"] = "true"
    named = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    if not destination.name.endswith(".fifo"):
        return {"MessageAttributes": named}
    group = message.request_id or message.message_id
    return {"MessageAttributes": named, "MessageGroupId": group, "MessageDeduplicationId": message.message_id}


def _put_event(client: Any, destination: Destination, message: EventMessage) -> tuple[int, str]:
    entry = {
        "EventBusName": destination.arn,
        "Source": SOURCE,
        "DetailType": message.kind,
        "Detail": f'{{"eventId":"{message.event_id}",{message.body[1:]}',
        "Resources": [message.request_id] if message.request_id else [],
        "Time": message.created_at,
    }
    answered = client.put_events(Entries=[entry])["Entries"][0]
    if "ErrorCode" not in answered:
        return 200, ""
    code, text = answered["ErrorCode"], f"{answered['ErrorCode']}: {answered.get('ErrorMessage', '')}"
    if code in _THROTTLED:
        return _TOO_MANY, text
    return _BROKEN if code.startswith("Internal") else 400, text


def _status_of(response: Any) -> int:
    if response["Error"]["Code"] in _THROTTLED:
        return _TOO_MANY
    status: int = response["ResponseMetadata"].get("HTTPStatusCode", _BROKEN)
    return status


def _text_of(response: Any) -> str:
    return f"{response['Error']['Code']}: {response['Error'].get('Message', '')}"[:500]
