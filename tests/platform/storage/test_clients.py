"""The clients of AWS: where they call, what they sign, and what opening one does not load."""

import subprocess
import sys
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib.platform.storage.clients import SERVICES, aws_client
from tests.docs.documents import ROOT


@pytest.mark.parametrize("service", SERVICES)
def test_a_client_calls_its_service_in_the_region_of_the_environment(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    host = {"sesv2": "email"}.get(service, service)
    assert aws_client(service).meta.endpoint_url == f"https://{host}.eu-west-3.amazonaws.com"


def test_a_call_of_dynamodb_is_signed_for_it_and_goes_to_the_endpoint_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
    client, sent = aws_client("dynamodb"), list[Any]()

    def respond(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        return AWSResponse(request.url, 200, {}, Body())

    client.meta.events.register_first("before-send.dynamodb", respond)
    assert client.get_item(TableName="payments", Key={"pk": {"S": "a"}, "sk": {"S": "b"}})["Item"] == {}
    (request,) = sent
    assert request.url == "http://127.0.0.1:4566/"
    assert f"/{client.meta.region_name}/dynamodb/aws4_request" in request.headers["Authorization"].decode()
    assert request.headers["User-Agent"].startswith(b"payment-requests dynamodb")


class Body:
    def stream(self) -> list[bytes]:
        return [b'{"Item": {}}']


def test_dynamodb_is_called_without_endpoint_rules_which_botocore_would_run_in_every_call() -> None:
    """Its private attribute, so that an upgrade of botocore that loads them in another way is noticed."""
    assert aws_client("dynamodb")._ruleset_resolver is None
    assert aws_client("sqs")._ruleset_resolver is not None


def test_boto3_is_loaded_by_the_first_client_and_what_it_has_for_files_is_not() -> None:
    script = "from chalicelib.platform.storage import clients; import sys; print('boto3' in sys.modules); "
    script += "clients.aws_client('dynamodb'); print('boto3' in sys.modules, 'boto3.s3.transfer' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["False", "True", "False"]
