"""What a deployment asks of each function: whether it can use all that its policy permits and its settings name.

    {"tables": {"payments": ["GetItem", "PutItem"]}, "indexes": {"payments": ["by_due"]}, "queues": ["scans"],
     "archive": ["PutObject"], "encrypts_for": ["*"], "decrypts_for": ["person#*"], "rpc_urls": true, "signs": true}

It changes nothing: writes have a condition that no item fulfils, and of a queue only the URL is asked. A batch write
has no condition, so it is not tried. Nothing asks it but a deployment: events of API Gateway, SQS and EventBridge have
no field `check`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from chalicelib.base.errors import ServiceError
from chalicelib.platform.services import Services

_KEY = {"pk": {"S": "CHECK"}, "sk": {"S": "CHECK"}}
_NEVER = {"ConditionExpression": "attribute_exists(pk)"}
_EXPECTED = ("ConditionalCheckFailedException", "InvalidCiphertextException")
"""How AWS refuses what is permitted: there is no such item, and the ciphertext is none."""
_CIPHERTEXT = "AAAA"

Use = Callable[[], object]


def check(services: Services, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """`problems` has a line for each thing of `wanted` that cannot be used, and `settings` what names the stage."""
    problems = [f"{what}: {reason}" for what, use in _uses(services, wanted) if (reason := _failure(use))]
    named = {"STAGE": services.settings.stage, "RESOURCE_PREFIX": services.settings.resource_prefix}
    return {"problems": problems, "settings": named}


def check_networks(services: Services) -> list[str]:
    """A line for each network whose nodes do not tell its newest block."""
    asked = [(name, _failure(partial(_head, services, name))) for name in services.chains.networks]
    return [f"{name}: {reason}" for name, reason in asked if reason]


def _head(services: Services, network: str) -> int:
    return services.chains.of(network).head()


def _failure(use: Use) -> str | None:
    """Why a use fails; None if it does not."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        use()
    except ClientError as error:
        return None if error.response["Error"]["Code"] in _EXPECTED else str(error)
    except (BotoCoreError, ServiceError, ValueError) as error:
        return f"{type(error).__name__}: {getattr(error, 'reason', None) or error}"
    return None


def _uses(services: Services, wanted: Mapping[str, Any]) -> Iterator[tuple[str, Use]]:
    """Each use with its name."""
    for table, actions in wanted.get("tables", {}).items():
        for action in actions:
            yield f"{action} of the table {table}", partial(_use_table, services, table, action)
    for table, indexes in wanted.get("indexes", {}).items():
        for index in indexes:
            yield f"the index {index} of the table {table}", partial(_use_index, services, table, index)
    for queue in wanted.get("queues", ()):
        name = f"{services.settings.resource_prefix}-{queue}"
        yield f"the queue {queue}", partial(services.queue.client.get_queue_url, QueueName=name)
    for owner in wanted.get("encrypts_for", ()):
        yield "the key of secrets, to encrypt", partial(services.secrets.encrypt, "check", _owner(owner))
    for owner in wanted.get("decrypts_for", ()):
        yield "the key of secrets, to decrypt", partial(services.secrets.decrypt, _CIPHERTEXT, _owner(owner))
    for action in wanted.get("archive", ()):
        yield f"{action} of the archive", partial(_use_archive, services, action)
    if wanted.get("rpc_urls"):
        yield "the secret with the URLs of nodes", lambda: services.secrets.rpc_urls
    kinds = set(services.settings.relayer_keys.values()) if wanted.get("signs") else set()
    if "kms" in kinds:
        yield "the key of the service's account", lambda: services.signing_keys.public_key
    if "secret" in kinds:
        yield "the private key of the service's account", lambda: services.signing_keys.private_key


def _use_table(services: Services, table: str, action: str) -> None:
    client, name = services.store.client, f"{services.settings.resource_prefix}-{table}"
    match action:
        case "GetItem":
            client.get_item(TableName=name, Key=_KEY)
        case "BatchGetItem":
            client.batch_get_item(RequestItems={name: {"Keys": [_KEY]}})
        case "Query":
            values = {":pk": _KEY["pk"]}
            client.query(TableName=name, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values, Limit=1)
        case "Scan":
            client.scan(TableName=name, Limit=1)
        case "PutItem":
            client.put_item(TableName=name, Item=_KEY, **_NEVER)
        case "UpdateItem":
            client.update_item(TableName=name, Key=_KEY, **_NEVER)
        case "DeleteItem":
            client.delete_item(TableName=name, Key=_KEY, **_NEVER)
        case "ConditionCheckItem":
            condition = {"TableName": name, "Key": _KEY, "ConditionExpression": "attribute_not_exists(pk)"}
            client.transact_write_items(TransactItems=[{"ConditionCheck": condition}])
        case "BatchWriteItem":
            pass
        case _:
            raise ValueError(f"{action} is not known to this version")


def _use_archive(services: Services, action: str) -> None:
    """Writing leaves an object of the name `check`, which reading asks for.

    S3 says that an object does not exist only to who may list them: whoever may not writes before it reads.
    """
    match action:
        case "PutObject":
            services.archive.put("check", b"check")
        case "ListBucket":
            services.archive.names("check", "", 1)
        case "GetObject":
            with suppress(KeyError):
                services.archive.get("check")
        case _:
            raise ValueError(f"{action} is not known to this version")


def _use_index(services: Services, table: str, index: str) -> None:
    attribute = "due_shard" if index == "by_due" else index
    services.store.client.query(
        TableName=f"{services.settings.resource_prefix}-{table}",
        IndexName=index,
        KeyConditionExpression="#list = :list",
        ExpressionAttributeNames={"#list": attribute},
        ExpressionAttributeValues={":list": {"S": "CHECK"}},
        Limit=1,
    )


def _owner(pattern: str) -> str:
    """An owner that fulfils a pattern of those of a policy."""
    return pattern.replace("*", "check")
