"""The secret with the node URLs: read anew by warm containers, and kept while it cannot be read."""

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from aws_lambda_powertools import Logger
from botocore.stub import Stubber
from moto import mock_aws

from chalicelib.platform.storage.secrets import Secrets, SecretValue, value_of
from infra.template import whole_template
from tests.fakes.world import START

NAME = "payment-requests-test-rpc-urls"


class Container:
    """A warm container's secrets, with a clock and a log that a test reads."""

    def __init__(self, aws: Any) -> None:
        self.aws, self.now, self.stream = aws, START, io.StringIO()
        log = Logger(service="node-urls", level="INFO")
        log.registered_handler.setStream(self.stream)  # type: ignore[attr-defined]
        self.secrets = Secrets("alias/none", NAME, lambda: self.now, log)

    def put(self, text: str) -> None:
        self.aws.put_secret_value(SecretId=NAME, SecretString=text)

    def urls_after(self, seconds: int) -> dict[str, tuple[str, ...]]:
        self.now += timedelta(seconds=seconds)
        return self.secrets.rpc_urls

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def container() -> Iterator[Container]:
    with mock_aws():
        client = boto3.client("secretsmanager", region_name="us-east-1")
        client.create_secret(Name=NAME, SecretString='{"base": "http://one"}')
        yield Container(client)


def test_a_network_has_one_url_or_several_and_other_entries_are_no_networks(container: Container) -> None:
    container.put('{"base": ["http://one", "http://two"], "tron": "http://tron", "bsc": [], "tron_api_key": "key"}')
    assert container.secrets.rpc_urls == {"base": ("http://one", "http://two"), "tron": ("http://tron",)}
    assert (container.secrets.tron_api_key, container.secrets.lifi_api_key) == ("key", None)


def test_keys_of_safe_services_are_by_network_and_no_networks(container: Container) -> None:
    container.put('{"base": "http://one", "safe_api_keys": "base = eyJ.a=b, mainnet=eyJ.c ,matic="}')
    assert [container.secrets.safe_api_key(each) for each in ("base", "mainnet", "matic", "bsc")] == ["eyJ.a=b", "eyJ.c", None, None]
    assert container.secrets.rpc_urls == {"base": ("http://one",)}
    container.put('{"base": "http://one"}')


def test_a_changed_an_added_and_a_removed_url_are_in_force_within_a_minute(container: Container) -> None:
    assert container.secrets.rpc_urls == {"base": ("http://one",)}
    container.put('{"base": "http://other", "matic": "http://added"}')
    assert container.urls_after(59) == {"base": ("http://other",), "matic": ("http://added",)}
    container.put('{"matic": "http://added"}')
    assert container.urls_after(59) == {"matic": ("http://added",)}


def test_the_secret_is_read_once_by_many_uses(container: Container) -> None:
    assert container.secrets.rpc_urls == {"base": ("http://one",)}
    container.put("{}")
    assert container.urls_after(49) == {"base": ("http://one",)}
    assert container.urls_after(1) == {}


@pytest.mark.parametrize("text", ["[]", "null", "{", '{"base": 1}', '{"base": {"url": "x"}}', '{"base": [1]}'])
def test_a_text_of_another_form_is_logged_and_the_last_urls_hold(container: Container, text: str) -> None:
    assert container.secrets.rpc_urls == {"base": ("http://one",)}
    container.put(text)
    assert container.urls_after(60) == {"base": ("http://one",)}
    assert [line["level"] for line in container.logged()] == ["ERROR"]
    container.put('{"base": "http://two"}')
    assert container.urls_after(60) == {"base": ("http://two",)}


def test_an_entry_of_another_form_takes_no_other_network_with_it(container: Container) -> None:
    container.put('{"base": "http://one", "bsc": 5, "matic": ["", "http://two"]}')
    assert container.secrets.rpc_urls == {"base": ("http://one",), "matic": ("http://two",)}
    assert [line["entries"] for line in container.logged()] == [["bsc"]]


def test_a_failed_read_is_tried_once_in_a_while_and_the_last_urls_hold(container: Container) -> None:
    assert container.secrets.rpc_urls == {"base": ("http://one",)}
    container.aws.delete_secret(SecretId=NAME, ForceDeleteWithoutRecovery=True)
    for _ in range(10):
        assert container.urls_after(10) == {"base": ("http://one",)}
    assert len(container.logged()) == 2
    assert "http" not in container.stream.getvalue()


def test_cloudformation_gives_the_secret_no_value_so_no_update_of_a_stack_overwrites_what_the_operator_has_set() -> None:
    resources = whole_template()["Resources"]
    assert not {"SecretString", "GenerateSecretString"} & resources["RpcUrls"]["Properties"].keys()


@pytest.mark.parametrize(
    ("said", "is_missing"),
    [
        ("Secrets Manager can't find the specified secret value for staging label: AWSCURRENT", False),
        ("Secrets Manager can't find the specified secret.", True),
    ],
)
def test_a_secret_without_a_value_yet_has_no_networks_and_one_that_is_missing_is_an_error(
    said: str, is_missing: bool
) -> None:
    client = boto3.client("secretsmanager", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x")
    with Stubber(client) as aws:
        aws.add_client_error("get_secret_value", "ResourceNotFoundException", said)
        if is_missing:
            with pytest.raises(client.exceptions.ResourceNotFoundException):
                value_of(client, NAME)
        else:
            assert value_of(client, NAME) == SecretValue("{}", None)
