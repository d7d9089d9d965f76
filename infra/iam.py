"""The permissions of each Lambda function as one table, and the policies made from it.

A deployment writes the policies of its stage to `.chalice/policies`, where Chalice finds them. A function that is not
in the table has no policy, and `chalice deploy` stops. tests/support/permissions.py compares the table with the calls
that all tests make, and tests/deploy/permissions.txt holds what they permit in stage prod, as a change is reviewed:

    python -m infra.readable_policies > tests/deploy/permissions.txt

A transaction has no IAM action: DynamoDB requires the action of each item in it. Secrets Manager adds six random
characters to every ARN. The local cloud requires some permissions that AWS does not, which stage local adds: the name
of a secret without those characters, a key by its alias, and an action for a batch of messages. It does not support
conditions on the encryption context or on keys of items, which stage local leaves out.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chalicelib.base.destinations import ROLE_PREFIX
from chalicelib.base.lists import LISTS
from infra import APP

_PLACEHOLDERS = ("<region>", "<account>")
HERE = ":".join(_PLACEHOLDERS)


@dataclass(frozen=True)
class Place:
    """Where a policy holds. Without a place it holds in every region, and in the account that it is stored in."""

    region: str = "*"
    account: str = "*"

    def fill(self, policy: dict[str, Any]) -> dict[str, Any]:
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
    audits: bool = False
    """Whether it writes entries of the audit log, and nothing else, to the table of identities."""
    archive: tuple[str, ...] = ()
    """Its actions on the bucket of the archive."""
    mails: bool = False
    """Whether it sends e-mail."""
    destinations: bool = False
    """Whether it takes on the roles of merchants that send to their queues, topics and event buses."""
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
            "mails": ("BatchGetItem", "GetItem", "PutItem", "UpdateItem"),
            "ops": ("BatchGetItem", "GetItem", "PutItem", "DeleteItem", "UpdateItem", "BatchWriteItem"),
            "keys": ("BatchGetItem", "GetItem", "PutItem", "DeleteItem"),
        },
        due=("payments", "webhooks"),  # of sandboxes, whose sweeps are operations of the API
        lists=("payments", "webhooks"),
        sends=("webhooks", "webhook-retries", "announcements", "relayed", "payment-intents", "mails"),
        encrypts_for=("*",),
        # what it has shown, personal data, and the key of receipts; no webhook secrets
        decrypts_for=("answer#*", "change#*", "person#*", "signature-key#*"),
        rpc_urls=True,
        archive=("GetObject", "ListBucket"),
        signs=True,  # executed commerce payments answer with their transaction
    ),
    "announce_events": Access(
        tables={
            "webhooks": ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem"),
            "identity": ("BatchGetItem", "GetItem", "Query"),  # members, for e-mails about events
            "mails": ("GetItem", "PutItem"),
            "ops": ("UpdateItem",),
        },
        consumes=("announcements",),
        sends=("webhooks", "mails"),
    ),
    "deliver_webhook": Access(
        tables={"webhooks": ("BatchGetItem", "GetItem", "PutItem", "UpdateItem", "DeleteItem"), "keys": ("GetItem",)},
        consumes=("webhooks",),
        sends=("webhook-retries",),
        decrypts_for=("*",),
        destinations=True,
    ),
    "retry_webhook": Access(
        tables={"webhooks": ("BatchGetItem", *_RECORDS), "keys": ("GetItem",)},
        consumes=("webhook-retries",),
        sends=("announcements", "webhooks", "webhook-retries"),
        decrypts_for=("*",),
        destinations=True,
    ),
    "scan_chain": Access(
        tables={
            "payments": ("BatchGetItem", "GetItem", "Query", "BatchWriteItem", "UpdateItem", "DeleteItem"),
            "ops": ("GetItem", "PutItem", "UpdateItem"),
        },
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
        tables={
            "payments": ("Query", "UpdateItem", "DeleteItem"),
            "ops": ("BatchGetItem",),
            "webhooks": ("PutItem",),  # it finishes what is being cancelled
        },
        due=("payments",),
        sends=("announcements",),
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
    "check_domains": Access(tables={"payments": ("GetItem", "UpdateItem")}, due=("payments",), audits=True),
    "check_offramps": Access(
        tables={"payments": ("GetItem", "Query", "UpdateItem"), "webhooks": ("PutItem",)},
        due=("payments",),
        sends=("announcements",),
        rpc_urls=True,
    ),
    "track_announced": Access(
        tables={
            "payments": ("BatchGetItem", "Query", "UpdateItem"),
            "ops": ("GetItem", "UpdateItem"),
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
    "run_gasless": Access(
        tables={
            "payments": ("BatchGetItem", "GetItem", "PutItem", "Query", "UpdateItem"),
            "ops": ("GetItem",),
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
    "archive_paid": Access(
        tables={
            "payments": ("Scan", "Query", "BatchGetItem", "DeleteItem", "UpdateItem"),
            "ops": ("GetItem", "PutItem", "UpdateItem"),
        },
        archive=("PutObject", "GetObject"),
    ),
    "send_mail": Access(
        tables={"mails": ("GetItem", "UpdateItem")},
        consumes=("mails",),
        sends=("mails",),
        decrypts_for=("mail#*",),
        mails=True,
    ),
    "note_mail": Access(tables={"mails": ("GetItem", "PutItem", "UpdateItem")}, consumes=("mail-news",)),
    "tell_changes": Access(
        tables={
            "identity": ("BatchGetItem", "GetItem", "Query", "UpdateItem"),  # the audit log, and members
            "mails": ("GetItem", "PutItem"),
            "ops": ("UpdateItem",),
        },
        due=("identity",),
        sends=("mails",),
    ),
    "apply_changes": Access(  # what the operations may write whose changes wait (accounts/changes)
        tables={
            "identity": ("BatchGetItem", *_RECORDS, "ConditionCheckItem"),
            "sessions": ("GetItem", "DeleteItem"),
            "webhooks": ("BatchGetItem", "GetItem", "Query", "PutItem", "UpdateItem", "ConditionCheckItem"),
            "mails": ("BatchGetItem", "GetItem", "PutItem"),
            "ops": ("UpdateItem",),
            "payments": ("GetItem",),  # the service's own accounts, which are no recipients
        },
        due=("identity",),
        sends=("announcements", "mails"),
        encrypts_for=("*",),
        decrypts_for=("change#*",),
    ),
    "sweep_mails": Access(tables={"mails": ("GetItem",)}, due=("mails",), sends=("mails",)),
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


def archive_bucket(prefix: str, account: str, region: str) -> str:
    """The name of the bucket to which a stage moves what was paid; infra/template.yaml makes it."""
    return f"{prefix}-archive-{account}-{region}"


def policy_document(stage: str, function: str) -> dict[str, Any]:
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
    if access.audits:
        allowed = _allow("AuditLog", ["dynamodb:PutItem"], [f"arn:aws:dynamodb:{HERE}:table/{prefix}-identity"])
        keys = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["AUDIT#*"]}}
        yield allowed if stage == "local" else {**allowed, "Condition": keys}
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
    for action in access.archive:
        arn = f"arn:aws:s3:::{archive_bucket(prefix, *reversed(_PLACEHOLDERS))}"
        yield _allow(f"Archive{action}", [f"s3:{action}"], [arn if action == "ListBucket" else f"{arn}/*"])
    if access.rpc_urls:
        yield _secret(stage, "RpcUrls", "rpc-urls")
    if access.mails:
        yield _allow("Mail", ["ses:SendEmail"], _mail_resources(prefix))
    if access.destinations:
        yield _allow("Destinations", ["sts:AssumeRole"], [f"arn:aws:iam::*:role/{ROLE_PREFIX}*"])
    if access.signs:
        yield from _signing_key(stage)
        yield _secret(stage, "RelayerTestKey", "relayer-key")


def _mail_resources(prefix: str) -> list[str]:
    """What the sender of a message is allowed by: the stage's configuration set, and the verified domain or address,
    which is that of MAIL_SENDER and belongs to the account."""
    return [f"arn:aws:ses:{HERE}:configuration-set/{prefix}-mails", f"arn:aws:ses:{HERE}:identity/*"]


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
        (folder / f"{function}.json").write_text(text_of(place.fill(policy_document(stage, function))))


def text_of(policy: dict[str, Any]) -> str:
    return json.dumps(policy, indent=2) + "\n"
