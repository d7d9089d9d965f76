"""The permissions of each Lambda function as one table, and the policies made from it.

A deployment writes the policies of its stage to `.chalice/policies`, where Chalice finds them. A function that is not
in the table has no policy, and `chalice deploy` stops. tests/support/permissions.py compares the table with the calls
that all tests make, and tests/deploy/permissions.txt holds what they permit in stage prod, as a change is reviewed:

    python -m infra.permissions > tests/deploy/permissions.txt

A transaction has no IAM action: DynamoDB requires the action of each item in it. Secrets Manager adds six random
characters to every ARN. The local cloud requires some permissions that AWS does not, which stage local adds: the name
of a secret without those characters, a key by its alias, and an action for a batch of messages. It does not support
conditions on the encryption context, which stage local leaves out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chalicelib.base.lists import LISTS
from infra import APP

_PLACEHOLDERS = ("<region>", "<account>")
HERE = ":".join(_PLACEHOLDERS)


@dataclass(frozen=True)
class Place:
    """Where a policy holds. Without a place it holds in every region, and in the account that it is stored in."""

    region: str = "*"
    account: str = "*"

    def filled(self, policy: dict[str, Any]) -> dict[str, Any]:
        """The policy for this place."""
        text = json.dumps(policy)
        for placeholder, value in zip(_PLACEHOLDERS, (self.region, self.account), strict=True):
            text = text.replace(placeholder, value)
        filled: dict[str, Any] = json.loads(text)
        return filled


ANYWHERE = Place()


@dataclass(frozen=True)
class Access:
    """What one function may use: actions by table, tables whose index `by_due` or whose lists of accounts it reads,
    queues, key, node URLs.

    `encrypts_for` and `decrypts_for` are patterns of the `owner` that a secret is encrypted for
    (platform/storage/secrets.py); `rpc_urls` are read with the keys of other services beside them.
    """

    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    due: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    consumes: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    encrypts_for: tuple[str, ...] = ()
    decrypts_for: tuple[str, ...] = ()
    rpc_urls: bool = False
    signs: bool = False
    """Whether it signs transactions of the service's own account: with the key in KMS, or that for test networks."""


_RECORDS = ("GetItem", "Query", "PutItem", "UpdateItem", "DeleteItem")
"""A record that exists is updated, which keeps the attributes that newer code has added (platform/storage/items.py)."""

ACCESS = {
    "api_handler": Access(
        tables={
            "identity": ("BatchGetItem", *_RECORDS, "ConditionCheckItem"),
            "sessions": ("BatchGetItem", *_RECORDS),
            "payments": ("BatchGetItem", *_RECORDS, "BatchWriteItem"),
            "webhooks": ("BatchGetItem", *_RECORDS, "ConditionCheckItem"),
            "ops": ("BatchGetItem", "GetItem", "PutItem", "DeleteItem", "UpdateItem", "BatchWriteItem"),
            "keys": ("BatchGetItem", "GetItem", "PutItem", "DeleteItem"),
        },
        lists=("payments", "webhooks"),
        sends=("webhooks", "webhook-retries", "announcements", "relayed", "payment-intents"),
        encrypts_for=("*",),
        decrypts_for=("answer#*", "person#*"),  # idempotency keys and personal data, but no webhook secrets
        rpc_urls=True,
        signs=True,  # executed commerce payments answer with their transaction
    ),
    "announce_events": Access(
        tables={"webhooks": ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem")},
        consumes=("announcements",),
        sends=("webhooks",),
    ),
    "deliver_webhook": Access(
        tables={"webhooks": ("BatchGetItem", "GetItem", "PutItem", "UpdateItem", "DeleteItem"), "keys": ("GetItem",)},
        consumes=("webhooks",),
        sends=("webhook-retries",),
        decrypts_for=("*",),
    ),
    "retry_webhook": Access(
        tables={"webhooks": ("BatchGetItem", *_RECORDS), "keys": ("GetItem",)},
        consumes=("webhook-retries",),
        sends=("webhooks", "webhook-retries"),
        decrypts_for=("*",),
    ),
    "scan_chain": Access(
        tables={"payments": ("BatchGetItem", "Query", "BatchWriteItem"), "ops": ("GetItem", "PutItem", "UpdateItem")},
        consumes=("scans",),
        sends=("recordings",),
        rpc_urls=True,
    ),
    "record_transfers": Access(
        tables={
            "payments": ("BatchGetItem", *_RECORDS),
            "webhooks": ("PutItem",),
        },
        consumes=("recordings",),
        sends=("recordings", "announcements"),
        rpc_urls=True,
    ),
    "start_scans": Access(tables={"ops": ("BatchGetItem",)}, sends=("scans",), rpc_urls=True),
    "sweep_transfers": Access(due=("payments",), sends=("recordings",)),
    "sweep_outbox": Access(
        tables={"webhooks": ("GetItem", "UpdateItem")},
        due=("webhooks",),
        sends=("announcements", "webhooks", "webhook-retries"),
    ),
    "expire_links": Access(
        tables={"payments": ("Query", "UpdateItem", "DeleteItem"), "ops": ("BatchGetItem",)},
        due=("payments",),
    ),
    "check_payers": Access(
        tables={
            "payments": ("GetItem", "Query", "UpdateItem", "DeleteItem"),
            "keys": ("GetItem", "DeleteItem"),
            "webhooks": ("PutItem",),
        },
        due=("payments",),
        sends=("announcements",),
        decrypts_for=("person#*",),
        rpc_urls=True,
    ),
    "check_offramps": Access(
        tables={"payments": ("GetItem", "Query", "UpdateItem"), "webhooks": ("PutItem",)},
        due=("payments",),
        sends=("announcements",),
        rpc_urls=True,
    ),
    "track_announced": Access(
        tables={
            "payments": ("BatchGetItem", "GetItem", "Query", "UpdateItem"),
            "ops": ("GetItem",),
            "webhooks": ("PutItem",),
        },
        due=("payments",),
        sends=("announcements",),
        rpc_urls=True,
    ),
    "run_payment_intents": Access(
        tables={
            "payments": ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem"),
            "ops": ("BatchGetItem", "GetItem", "PutItem", "UpdateItem", "BatchWriteItem"),
            "webhooks": ("PutItem",),
        },
        due=("payments",),
        sends=("announcements", "relayed"),
        rpc_urls=True,
        signs=True,
    ),
    "follow_payment_intent": Access(
        tables={
            "payments": ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem"),
            "ops": ("BatchGetItem", "GetItem", "PutItem", "UpdateItem", "BatchWriteItem"),
            "webhooks": ("PutItem",),
        },
        consumes=("payment-intents",),
        sends=("announcements", "relayed", "payment-intents"),
        rpc_urls=True,
        signs=True,
    ),
    "run_commerce": Access(
        tables={
            "payments": ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem"),
            "ops": ("BatchGetItem", "GetItem"),
            "webhooks": ("PutItem",),
        },
        due=("payments",),
        sends=("announcements", "relayed"),
        rpc_urls=True,
        signs=True,
    ),
    "run_recurring": Access(due=("payments",), sends=("recurring",)),
    "execute_recurring": Access(
        tables={
            "payments": ("BatchGetItem", "Query", "PutItem", "UpdateItem"),
            "webhooks": ("PutItem",),
            "ops": ("GetItem",),
        },
        consumes=("recurring",),
        sends=("announcements", "relayed"),
        rpc_urls=True,
        signs=True,
    ),
    "track_relayed": Access(tables={"payments": ("GetItem",)}, sends=("relayed",), rpc_urls=True),
    "follow_relayed": Access(
        tables={
            "payments": ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem"),
            "ops": ("GetItem",),  # the stop of payments
        },
        consumes=("relayed",),
        sends=("relayed",),
        rpc_urls=True,
        signs=True,
    ),
}


def function_name(stage: str, function: str) -> str:
    """The name that Chalice gives a function. Only the API handler has no suffix."""
    prefix = f"{APP}-{stage}"
    return prefix if function == "api_handler" else f"{prefix}-{function}"


def policy(stage: str, function: str) -> dict[str, Any]:
    """The IAM policy document of one function."""
    return {"Version": "2012-10-17", "Statement": list(_statements(stage, function, ACCESS[function]))}


def _statements(stage: str, function: str, access: Access) -> Iterator[dict[str, Any]]:
    prefix = f"{APP}-{stage}"
    logs = f"arn:aws:logs:{HERE}:log-group:/aws/lambda/{function_name(stage, function)}:*"
    yield _allow("OwnLogs", ["logs:CreateLogStream", "logs:PutLogEvents"], [logs])
    if stage != "local" and function == "api_handler":  # the one that is traced; X-Ray actions have no resources
        yield _allow("Traces", ["xray:PutTraceSegments", "xray:PutTelemetryRecords"], ["*"])
    for table, actions in access.tables.items():
        arn = f"arn:aws:dynamodb:{HERE}:table/{prefix}-{table}"
        yield _allow(f"Table{table.title()}", [f"dynamodb:{action}" for action in actions], [arn])
    for table in access.due:
        arn = f"arn:aws:dynamodb:{HERE}:table/{prefix}-{table}/index/by_due"
        yield _allow(f"Due{table.title()}", ["dynamodb:Query"], [arn])
    for table in access.lists:
        arns = [f"arn:aws:dynamodb:{HERE}:table/{prefix}-{table}/index/{index}" for index in LISTS[table]]
        yield _allow(f"Lists{table.title()}", ["dynamodb:Query"], arns)
    for queue in access.consumes:
        consuming = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        yield _allow(f"Consume{queue.title().replace('-', '')}", consuming, [f"arn:aws:sqs:{HERE}:{prefix}-{queue}"])
    if access.sends:
        queues = [f"arn:aws:sqs:{HERE}:{prefix}-{queue}" for queue in access.sends]
        batch = ["sqs:SendMessageBatch"] if stage == "local" else []
        yield _allow("Send", ["sqs:GetQueueUrl", "sqs:SendMessage", *batch], queues)
    for action, owners in (("Encrypt", access.encrypts_for), ("Decrypt", access.decrypts_for)):
        if owners:
            yield from _key(stage, action, owners)
    if access.rpc_urls:
        yield _secret(stage, "RpcUrls", "rpc-urls")
    if access.signs:
        yield from _signing_key(stage)
        yield _secret(stage, "RelayerTestKey", "relayer-key")


def _secret(stage: str, sid: str, name: str) -> dict[str, Any]:
    suffixes = ["-??????", ""] if stage == "local" else ["-??????"]
    secrets = [f"arn:aws:secretsmanager:{HERE}:secret:{APP}-{stage}-{name}{suffix}" for suffix in suffixes]
    return _allow(sid, ["secretsmanager:GetSecretValue"], secrets)


def _signing_key(stage: str) -> Iterator[dict[str, Any]]:
    """Permission to use the key that signs, by the tag of the stage's keys: the other one cannot sign, and this one
    cannot encrypt."""
    actions = ["kms:Sign", "kms:GetPublicKey"]
    condition = {"StringEquals": {"aws:ResourceTag/owner": f"{APP}-{stage}"}}
    yield {**_allow("SigningKey", actions, [f"arn:aws:kms:{HERE}:key/*"]), "Condition": condition}
    if stage == "local":
        yield _allow("KeyAliasSign", actions, [f"arn:aws:kms:{HERE}:alias/{APP}-{stage}-relayer"])


def _key(stage: str, action: str, owners: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Permission to use the key, by its tag (infra/template.yaml), as its ARN has no name."""
    condition: dict[str, Any] = {"StringEquals": {"aws:ResourceTag/owner": f"{APP}-{stage}"}}
    if "*" not in owners and stage != "local":
        condition["StringLike"] = {"kms:EncryptionContext:owner": list(owners)}
    allowed = _allow(f"Key{action}", [f"kms:{action}"], [f"arn:aws:kms:{HERE}:key/*"])
    yield {**allowed, "Condition": condition}
    if stage == "local":
        yield _allow(f"KeyAlias{action}", [f"kms:{action}"], [f"arn:aws:kms:{HERE}:alias/{APP}-{stage}-secrets"])


def _allow(sid: str, actions: list[str], resources: list[str]) -> dict[str, Any]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources}


def write_policies(folder: Path, stage: str, place: Place) -> None:
    """Writes the policies of a stage as its functions get them, each to `<function>.json`."""
    folder.mkdir(exist_ok=True)
    for function in ACCESS:
        (folder / f"{function}.json").write_text(text_of(place.filled(policy(stage, function))))


def text_of(policy: dict[str, Any]) -> str:
    return json.dumps(policy, indent=2) + "\n"
