"""Sends events to queues, topics and event buses of merchants (base/destinations.py)."""

import time
from collections.abc import Callable
from dataclasses import field
from secrets import token_hex
from typing import Any

from chalicelib.base.destinations import Destination, EventMessage
from chalicelib.base.errors import ServiceError
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
_REFUSED_SECONDS = 300
"""How long a role is not asked for again that was refused, or that demands no external id."""
_MOST_REFUSED = 2_000
"""Refusals that a process keeps; apart from the clients, so that broken roles end the sessions of no other ones."""
_THROTTLED = frozenset(
    {
        "Throttling", "ThrottlingException", "Throttled", "RequestThrottled", "ThrottledException", "KmsThrottled",
        "KMSThrottling", "KMSThrottlingException", "RequestLimitExceeded", "LimitExceededException",
    }
)
_DENIED = ("AccessDenied", "AccessDeniedException")
_TOO_MANY, _BROKEN, _REFUSED = 429, 503, 403
_REFUSED_BY_SQS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
_OPEN_ROLE = "The role can be taken on without its external id: its trust policy must demand sts:ExternalId"

Clients = Callable[[str, str | None, Keys | None], Any]
"""Makes a client of a service, in a region, with keys; each of the two is that of the process if it is None."""


def _make_client(service: str, region: str | None, keys: Keys | None) -> Any:
    return aws_client(service, attempts=1, read_seconds=3, region=region, keys=keys)


class AccountUnknown(ServiceError):
    """STS did not answer which AWS account the service has; the log has the `reason`."""

    status = 503

    def __init__(self, reason: str) -> None:
        super().__init__("AWS did not answer which account roles have to trust; nothing was registered: try again")
        self.logged = f"STS did not answer: {reason}"


@frozen
class _Kept:
    client: Any
    until: float


@frozen
class _Refusal:
    """What AWS answered for a role, as the result of a message, until it is asked again."""

    status: int
    answer: str
    until: float


@frozen
class DestinationSender:
    """Sends to destinations; keeps a client for each until its role has to be taken on anew. May be shared by threads.

    The calls to STS are a quota that all merchants share, so a refusal is kept as well: each role costs a process two
    calls in _SESSION_SECONDS while it permits sending, and at most two in _REFUSED_SECONDS while it does not.
    `demands_external_id` is false where no policies of roles hold, as in the local cloud.
    """

    demands_external_id: bool
    make_client: Clients = _make_client
    _kept: dict[Any, _Kept] = field(default_factory=dict, compare=False)
    _refusals: dict[Any, _Refusal] = field(default_factory=dict, compare=False)

    def own_account(self) -> str:
        """The AWS account of the service, which roles have to trust. One call to STS. Raises AccountUnknown."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            account: str = self._sts().get_caller_identity()["Account"]
        except (BotoCoreError, ClientError) as failure:
            raise AccountUnknown(type(failure).__name__) from failure
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
        if isinstance(client, _Refusal):
            return client.status, client.answer
        if destination.service == "events":
            return _put_event(client, destination, message)
        body, parameters = _text_for_sqs(message), _parameters(destination, message)
        if destination.service == "sns":
            client.publish(TopicArn=destination.arn, Message=body, **parameters)
        else:
            url = f"{client.meta.endpoint_url.rstrip('/')}/{destination.account}/{destination.name}"
            client.send_message(QueueUrl=url, MessageBody=body, **parameters)
        return 200, ""

    def _client_of(self, destination: Destination) -> Any | _Refusal:
        """A client with the credentials of the role, or why it may not be taken on."""
        role = (destination.role_arn, destination.external_id)
        key = (destination.service, destination.region, *role)
        now = time.monotonic()
        kept, refusal = self._kept.get(key), self._refusals.get(role)
        if kept is not None and now < kept.until:
            return kept.client
        if refusal is not None and now < refusal.until:
            return refusal
        keys = self._take_role(destination)
        if isinstance(keys, _Refusal):
            _keep(self._refusals, role, keys, _MOST_REFUSED)
            return keys
        client = self.make_client(destination.service, destination.region, keys)
        _keep(self._kept, key, _Kept(client, now + _SESSION_SECONDS - _RENEW_SECONDS), _MOST_KEPT)
        return client

    def _take_role(self, destination: Destination) -> Keys | _Refusal:
        """The keys of a session of the role, or why it permits none. Raises what AWS answers for other reasons."""
        from botocore.exceptions import ClientError

        until = time.monotonic() + _REFUSED_SECONDS
        sts = self._sts()
        asked = {"RoleArn": destination.role_arn, "RoleSessionName": SOURCE, "DurationSeconds": _SESSION_SECONDS}
        try:
            found = sts.assume_role(**asked, ExternalId=destination.external_id)["Credentials"]
        except ClientError as refused:
            if refused.response["Error"]["Code"] not in _DENIED:
                raise
            return _Refusal(_REFUSED, _text_of(refused.response), until)
        if self.demands_external_id:
            try:
                sts.assume_role(**asked, ExternalId=token_hex(16))
            except ClientError as refused:
                if refused.response["Error"]["Code"] not in _DENIED:
                    raise
            else:
                return _Refusal(_REFUSED, _OPEN_ROLE, until)
        return Keys(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])

    def _sts(self) -> Any:
        kept = self._kept.get("sts") or _Kept(self.make_client("sts", None, None), 0)
        _keep(self._kept, "sts", kept, _MOST_KEPT)
        return kept.client


def _keep(kept: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Keeps a value as the newest one, and drops the oldest ones beyond `most`."""
    kept.pop(key, None)
    for oldest in list(kept)[: max(0, len(kept) - most + 1)]:
        kept.pop(oldest, None)
    kept[key] = value


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
    return {"MessageAttributes": named, "MessageGroupId": group, "MessageDeduplicationId": message.sending_id}


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
