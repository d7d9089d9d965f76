"""What a function says that a deployment asks what it can use: nothing is changed, and each thing is named."""

import json
import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from app import build
from chalicelib.platform.checking import check, check_networks
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from infra.functions import uses_of
from infra.iam import ACCESS
from tests.fakes.world import PREFIX, dynamodb_of_moto
from tests.support.api import create_cloud
from tests.support.node import Node

QUEUES = ("relayed", "payment-intents", "recurring", "mails", "mail-news")
"""Those that create_cloud leaves out."""


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required")  # moto keeps a trailing one as content
    node = Node()
    with dynamodb_of_moto():
        create_cloud({"sepolia": node.url})
        for name in QUEUES:
            boto3.client("sqs").create_queue(QueueName=f"{PREFIX}-{name}")
        boto3.client("s3").create_bucket(Bucket=os.environ["ARCHIVE_BUCKET"])
        yield assemble(Settings.read({**os.environ, "RELAYER_KEYS": '{"sepolia": "secret"}'}))
    node.close()


def everything(services: Services) -> dict[str, list[str]]:
    """The problems of each function, with what its policy permits."""
    return {name: check(services, uses_of(name, access))["problems"] for name, access in ACCESS.items()}


def items() -> list[Any]:
    client = boto3.client("dynamodb")
    return [item for name in client.list_tables()["TableNames"] for item in client.scan(TableName=name)["Items"]]


def test_a_whole_deployment_has_no_problems_and_nothing_is_written(services: Services) -> None:
    assert {name: found for name, found in everything(services).items() if found} == {}
    assert items() == []
    assert check(services, {})["settings"] == {"STAGE": "local", "RESOURCE_PREFIX": PREFIX}


def test_what_is_missing_is_named_for_each_function_that_uses_it(services: Services) -> None:
    boto3.client("dynamodb").delete_table(TableName=f"{PREFIX}-webhooks")
    url = boto3.client("sqs").get_queue_url(QueueName=f"{PREFIX}-scans")["QueueUrl"]
    boto3.client("sqs").delete_queue(QueueUrl=url)
    boto3.client("kms").delete_alias(AliasName=f"alias/{PREFIX}-secrets")
    found = everything(services)
    assert [line.partition(":")[0] for line in found["start_scans"]] == ["the queue scans"]
    assert [line.partition(": ")[0] for line in found["announce_events"]] == [
        f"{action} of the table webhooks" for action in ACCESS["announce_events"].tables["webhooks"]
    ]
    assert "the key of secrets, to decrypt" in {line.partition(":")[0] for line in found["deliver_webhook"]}
    assert "the key of secrets, to encrypt" in {line.partition(":")[0] for line in found["api_handler"]}
    assert found["track_relayed"] == []


def test_a_missing_secret_and_a_private_key_that_is_none_are_named(services: Services) -> None:
    client = boto3.client("secretsmanager")
    client.put_secret_value(SecretId=f"{PREFIX}-relayer-key", SecretString="11")
    client.delete_secret(SecretId=f"{PREFIX}-rpc-urls", ForceDeleteWithoutRecovery=True)
    said = [line.partition(":")[0] for line in check(services, {"rpc_urls": True, "signs": True})["problems"]]
    assert said == ["the secret with the URLs of nodes", "the private key of the service's account"]


def test_a_network_whose_nodes_do_not_answer_is_named_apart(services: Services) -> None:
    assert check_networks(services) == []
    text = json.dumps({"sepolia": "http://127.0.0.1:9"})
    boto3.client("secretsmanager").put_secret_value(SecretId=f"{PREFIX}-rpc-urls", SecretString=text)
    other = assemble(services.settings)
    (line,) = check_networks(other)
    assert line.startswith("sepolia: ")


def test_every_function_answers_the_question_and_does_nothing_else(services: Services) -> None:
    app = build(services.settings, lambda: services)
    empty: dict[str, Any] = {"Records": [], "detail": {}, "resources": []}
    texts = dict.fromkeys(("version", "account", "region", "source", "time", "id", "detail-type"), "")
    for function, access in ACCESS.items():
        event = {**empty, **texts, "check": {**uses_of(function, access)}}
        handler = app if function == "api_handler" else app.handler_map[function]
        answer = handler(event, None)
        assert (function, answer["problems"]) == (function, [])
        assert ("networks" in answer) == (function == "api_handler")
    assert items() == []


def test_an_action_that_this_version_does_not_know_is_a_problem(services: Services) -> None:
    (line,) = check(services, {"tables": {"ops": ["DescribeTable"]}})["problems"]
    assert line == "DescribeTable of the table ops: ValueError: DescribeTable is not known to this version"
    (line,) = check(services, {"archive": ["DeleteObject"]})["problems"]
    assert line == "DeleteObject of the archive: ValueError: DeleteObject is not known to this version"
