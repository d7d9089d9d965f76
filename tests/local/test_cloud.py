"""The local cloud: what it keeps when it is killed, and the API Gateway calls that the launcher adds to it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.cloud import Cloud
from infra.local.process import LOCAL, ROOT
from tests.support.patience import wait_for
from tests.support.rehearsed import rehearsed

PREFIX = "payment-requests-local"
SWAGGER = {
    "swagger": "2.0",
    "info": {"title": "imported", "version": "1.0"},
    "x-amazon-apigateway-binary-media-types": ["image/png"],
    "paths": {"/things/{id}": {"get": {}, "post": {}}},
}


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with Cloud.start() as cloud:
        yield cloud


def resources(client: Any, api: str) -> dict[str, set[str]]:
    found = client.get_resources(restApiId=api, limit=500)["items"]
    return {each["path"]: set(each.get("resourceMethods", {})) for each in found}


def test_an_openapi_document_can_be_imported_and_replaced(cloud: Cloud) -> None:
    gateway = cloud.client("apigateway")
    made = gateway.import_rest_api(body=json.dumps(SWAGGER))
    assert (made["name"], made["binaryMediaTypes"]) == ("imported", ["image/png"])
    assert resources(gateway, made["id"]) == {"/": set(), "/things": set(), "/things/{id}": {"GET", "POST"}}
    other = {**SWAGGER, "paths": {"/": {"get": {}}, "/others": {"put": {}}}}
    gateway.put_rest_api(restApiId=made["id"], mode="overwrite", body=json.dumps(other))
    assert resources(gateway, made["id"]) == {"/": {"GET"}, "/others": {"PUT"}}


def test_an_unset_compression_size_is_ignored(cloud: Cloud) -> None:
    gateway = cloud.client("apigateway")
    api = gateway.create_rest_api(name="plain")["id"]
    unset = {"op": "replace", "path": "/minimumCompressionSize", "value": ""}
    answer = gateway.update_rest_api(restApiId=api, patchOperations=[unset])
    assert "minimumCompressionSize" not in answer


def test_replacing_an_api_that_is_not_there_is_a_404(cloud: Cloud) -> None:
    gateway = cloud.client("apigateway")
    with pytest.raises(gateway.exceptions.NotFoundException):
        gateway.put_rest_api(restApiId="nosuchapi", body=json.dumps(SWAGGER))


def test_everything_survives_a_hard_kill_and_the_template_can_be_applied_again(tmp_path: Path) -> None:
    with Cloud.start(tmp_path) as first:
        first.apply_template(PREFIX)
        first.put_rpc_urls(PREFIX, {"sepolia": "http://127.0.0.1:1"})
        row = {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "7"}, "raw": {"B": b"\x00\xff"}}
        first.client("dynamodb").put_item(TableName=f"{PREFIX}-ops", Item=row)
        sealed = first.client("kms").encrypt(KeyId=f"alias/{PREFIX}-secrets", Plaintext=b"x")["CiphertextBlob"]
        sqs = first.client("sqs")
        queue = sqs.get_queue_url(QueueName=f"{PREFIX}-scans")["QueueUrl"]
        sqs.send_message(QueueUrl=queue, MessageBody="later", DelaySeconds=5)
        _wait_for_snapshot(tmp_path)
        first.child.kill()
    with Cloud.start(tmp_path) as second:
        second.apply_template(PREFIX)
        key = {"pk": row["pk"], "sk": row["sk"]}
        assert second.client("dynamodb").get_item(TableName=f"{PREFIX}-ops", Key=key)["Item"] == row
        assert second.client("kms").decrypt(CiphertextBlob=sealed)["Plaintext"] == b"x"
        secret = second.client("secretsmanager").get_secret_value(SecretId=f"{PREFIX}-rpc-urls")
        assert json.loads(secret["SecretString"]) == {"sepolia": "http://127.0.0.1:1"}
        sqs = second.client("sqs")
        queue = sqs.get_queue_url(QueueName=f"{PREFIX}-scans")["QueueUrl"]
        (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=20)["Messages"]
        assert message["Body"] == "later"


def _wait_for_snapshot(state: Path) -> None:
    """Until what was written last (the message) is on disk."""
    wait_for(lambda: (state / "sqs.json").exists() and "later" in (state / "sqs.json").read_text())


LEAVER = """
import time
from infra.local.chain import Chain
from infra.local.cloud import Cloud
cloud, chain = Cloud.start(), Chain.start("sepolia")
print(cloud.url.rpartition(":")[2], chain.url.rpartition(":")[2], flush=True)
time.sleep(600)
"""


def test_what_is_not_to_be_kept_is_removed_even_when_the_starter_is_killed() -> None:
    starter = subprocess.Popen([sys.executable, "-c", LEAVER], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert starter.stdout
    cloud_port, chain_port = starter.stdout.readline().split()
    kept = [LOCAL / "tmp" / f"cloud-{cloud_port}", LOCAL / "tmp" / f"chain-{chain_port}.log"]
    assert all(path.exists() for path in kept)
    starter.kill()
    starter.communicate()
    wait_for(lambda: not any(path.exists() for path in kept), 2)


@rehearsed
def test_what_lambda_workers_unpacked_does_not_stay(tmp_path: Path) -> None:
    left = tmp_path / "tmp" / "ministack-lambda-of-a-killed-run"
    left.mkdir(parents=True)
    with Cloud.start(tmp_path) as cloud:
        assert not left.exists()
        (tmp_path / "tmp" / "worker").mkdir()
        assert cloud.child.running()
    assert not (tmp_path / "tmp").exists()
