"""AWS accounts of merchants: their roles, queues, topics and event buses. Clients of it answer as those of botocore."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from chalicelib.platform.storage.clients import Keys

SERVICE_ACCOUNT = "210987654321"


@dataclass
class MerchantAws:
    """`roles` demand an external id, or none; what was `sent` is kept by ARN; with a `fault` everything but STS refuses,
    by code and HTTP status, and STS with an `sts_fault`. A lossy one keeps what it is sent, and does not answer."""

    roles: dict[str, str | None] = field(default_factory=dict)
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    fault: tuple[str, int] | None = None
    sts_fault: tuple[str, int] | None = None
    is_lossy: bool = False
    taken: list[tuple[str, str]] = field(default_factory=list)
    """Roles that were asked for, with the external id."""

    def client(self, service: str, region: str | None, keys: Keys | None) -> Any:
        return _Client(self, service, region, keys)


@dataclass
class _Client:
    aws: MerchantAws
    service: str
    region: str | None
    keys: Keys | None

    @property
    def meta(self) -> Any:
        return SimpleNamespace(endpoint_url=f"https://{self.service}.{self.region}.amazonaws.com")

    def get_caller_identity(self) -> dict[str, Any]:
        if self.aws.sts_fault is not None:
            raise refusal(*self.aws.sts_fault)
        return {"Account": SERVICE_ACCOUNT}

    def assume_role(self, RoleArn: str, RoleSessionName: str, DurationSeconds: int, ExternalId: str) -> dict[str, Any]:
        self.aws.taken.append((RoleArn, ExternalId))
        if self.aws.sts_fault is not None:
            raise refusal(*self.aws.sts_fault)
        if RoleArn not in self.aws.roles or self.aws.roles[RoleArn] not in (None, ExternalId):
            raise refusal("AccessDenied", 403)
        return {"Credentials": {"AccessKeyId": RoleArn, "SecretAccessKey": RoleSessionName, "SessionToken": ExternalId}}

    def send_message(self, QueueUrl: str, **message: Any) -> dict[str, Any]:
        _, _, host, account, name = QueueUrl.split("/")
        region = host.split(".")[1]
        return self._keep(f"arn:aws:sqs:{region}:{account}:{name}", message)

    def publish(self, TopicArn: str, **message: Any) -> dict[str, Any]:
        return self._keep(TopicArn, message)

    def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:
        (entry,) = Entries
        if self.aws.fault is not None:
            return {"Entries": [{"ErrorCode": self.aws.fault[0]}]}
        self._keep(entry["EventBusName"], entry)
        return {"Entries": [{"EventId": "assigned"}]}

    def _keep(self, arn: str, message: dict[str, Any]) -> dict[str, Any]:
        assert self.keys is not None and self.keys.access_key in self.aws.roles, "only the role may send"
        assert self.region == arn.split(":")[3]
        if self.aws.fault is not None:
            raise refusal(*self.aws.fault)
        self.aws.sent.setdefault(arn, []).append(message)
        if self.aws.is_lossy:
            raise ReadTimeoutError(endpoint_url=arn)
        return {}


def refusal(code: str, status: int) -> ClientError:
    metadata: Any = {"HTTPStatusCode": status}
    return ClientError({"Error": {"Code": code, "Message": "refused"}, "ResponseMetadata": metadata}, "Send")
