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
    assert modules_of_first_client("boto3", "boto3.s3.transfer") == (["False", "False"], ["True", "False"])


def test_the_first_client_loads_no_pyopenssl_which_is_shipped_for_passkeys() -> None:
    """botocore would import it for a class that urllib3 has as well: a tenth of a cold start."""
    before, after = modules_of_first_client("botocore.httpsession", "urllib3.contrib.pyopenssl", "OpenSSL", "cryptography")
    assert (before, after) == (["False"] * 4, ["True", "False", "False", "False"])


def modules_of_first_client(*names: str) -> tuple[list[str], list[str]]:
    """Whether a fresh process has loaded each module before and after it opens a client."""
    loaded = f"print(*(each in sys.modules for each in {names}))"
    script = f"import sys; from chalicelib.platform.storage import clients; {loaded}; clients.aws_client('dynamodb'); {loaded}"
    answer = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    before, after = answer.stdout.splitlines()
    return before.split(), after.split()
