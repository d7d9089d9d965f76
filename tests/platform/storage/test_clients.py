"""The clients of AWS: where they call, what they sign, and what opening one does not load."""

import subprocess
import sys
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse

from chalicelib.platform.storage.clients import SERVICES, Keys, aws_client
from tests.docs.documents import ROOT


@pytest.mark.parametrize("service", SERVICES)
def test_a_client_calls_its_service_in_the_region_of_the_environment(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    host = {"sesv2": "email"}.get(service, service)
    assert aws_client(service).meta.endpoint_url == f"https://{host}.eu-west-3.amazonaws.com"


REGIONS = ("us-east-1", "eu-west-3", "ap-southeast-1", "cn-north-1", "us-gov-west-1", "eusc-de-east-1")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "dynamodb": ("describe_table", {"TableName": "payments"}),
    "events": ("list_rules", {}),
    "kms": ("list_keys", {}),
    "s3": ("get_bucket_location", {"Bucket": "archive"}),
    "secretsmanager": ("list_secrets", {}),
    "sesv2": ("get_account", {}),
    "sns": ("list_topics", {}),
    "sqs": ("list_queues", {}),
    "sts": ("get_caller_identity", {}),
}


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("service", SERVICES)
def test_a_call_goes_and_is_signed_as_that_of_a_client_that_has_read_all_endpoints(
    service: str, region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    assert where_it_calls(aws_client(service), service) == where_it_calls(boto3.Session().client(service), service)


def where_it_calls(client: Any, service: str) -> str:
    """The URL of a call, and the scope of its signature after the day."""

    def stop(request: Any, **_: Any) -> None:
        raise Sent(f"{request.url} {request.headers['Authorization'].decode().split('/', 2)[2].partition(',')[0]}")

    client.meta.events.register_first("before-send", stop)
    operation, parameters = CALLS[service]
    with pytest.raises(Sent) as sent:
        getattr(client, operation)(**parameters)
    return str(sent.value)


class Sent(Exception):
    """A call is sent there."""


def test_a_client_can_be_of_another_region_and_of_the_keys_of_a_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    client = aws_client("events", region="us-east-2", keys=Keys("AKROLE", "secret", "token"))
    assert where_it_calls(client, "events").startswith("https://events.us-east-2.amazonaws.com/ ")
    keys = client._request_signer._credentials.get_frozen_credentials()
    assert (keys.access_key, keys.secret_key, keys.token) == ("AKROLE", "secret", "token")


def test_the_first_client_does_not_read_the_endpoints_of_all_services() -> None:
    """They are a file of 1.2 MB, whose reading is a tenth of a cold start."""
    watch = "sys.addaudithook(lambda event, about: event == 'open' and print(about[0]))"
    script = f"import sys; from chalicelib.platform.storage import clients; {watch}; clients.aws_client('dynamodb')"
    opened = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "botocore/data/partitions.json" in opened
    assert "botocore/data/endpoints.json" not in opened


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
