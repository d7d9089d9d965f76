"""Where a stage is: the AWS account of this environment, or the local cloud; and how a step of a command fails."""

import json
import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from infra.configuration import ROOT, config
from infra.hosts import Hosts, hosts_of
from infra.iam import Place
from infra.stack import DeploymentStopped
from infra.versions import Versions

STACK_FILE = ROOT / ".local" / "stack.json"
LOCAL_AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}
HOST_PACKAGES = sys.platform != "linux"
"""The local cloud runs functions on this machine. If it is not Linux, they use the packages of this venv."""


@dataclass(frozen=True)
class Target:
    """Where a stage is deployed: the environment for AWS tools, hosts, and what overrides .chalice/config.json."""

    stage: str
    environment: dict[str, str]
    settings: dict[str, Any]
    hosts: Hosts | None = None
    """None: the stage has no DNS, and is called at the API's own URL."""

    def client(self, service: str, attempts: int = 10) -> Any:
        """A client that retries often by default, as API Gateway allows one deployment in five seconds."""
        own = self.environment if self.stage == "local" else {}
        session = boto3.Session(
            aws_access_key_id=own.get("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=own.get("AWS_SECRET_ACCESS_KEY"),
            region_name=own.get("AWS_DEFAULT_REGION"),
        )
        retries = Config(retries={"mode": "standard", "max_attempts": attempts})
        return session.client(service, endpoint_url=own.get("AWS_ENDPOINT_URL"), config=retries)

    @property
    def caller_header(self) -> str:
        """The header in which CloudFront states the address of its caller; empty without CloudFront."""
        return self.hosts.caller_header if self.hosts else ""

    @property
    def place(self) -> Place:
        """The region and the account of whoever is asking."""
        sts = self.client("sts")
        return Place(sts.meta.region_name, sts.get_caller_identity()["Account"])

    @property
    def cloud(self) -> str | None:
        """The URL of the local cloud, or None for AWS."""
        return self.environment.get("AWS_ENDPOINT_URL")

    def versions(self) -> Versions:
        return Versions(self.client("s3"), self.client("sts"), self.stage)

    def api_url(self, api: str) -> str:
        if self.cloud:
            return f"{self.cloud}/restapis/{api}/{self.stage}/_user_request_"
        region = self.client("apigateway").meta.region_name
        return f"https://{api}.execute-api.{region}.amazonaws.com/{self.stage}"


@contextmanager
def step(name: str) -> Iterator[None]:
    """Ends the deployment, whatever fails here, with a message that begins with the name of the step."""
    try:
        yield
    except DeploymentStopped as stopped:
        raise DeploymentStopped(f"{name}: {stopped}", stopped.status) from stopped
    except Exception as error:
        raise DeploymentStopped(f"{name}: {type(error).__name__}: {error}") from error


def target_of(stage: str) -> Target:
    """The AWS account of this environment, or the local cloud. Raises DeploymentStopped (status 2) without access."""
    target = _local_target() if stage == "local" else Target(stage, dict(os.environ), {}, hosts_of(config(), stage))
    try:
        target.client("sts", attempts=1).get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        if stage == "local":
            where = target.environment["AWS_ENDPOINT_URL"]
            raise DeploymentStopped(f"No local cloud answers at {where}: start one with `make local`.", 2) from error
        raise DeploymentStopped(f"AWS does not know who is deploying: {error}", 2) from error
    return target


def _local_target() -> Target:
    stack = json.loads(STACK_FILE.read_text()) if STACK_FILE.exists() else {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL") or stack.get("aws_url")
    if not endpoint:
        raise DeploymentStopped("No local cloud is running: start one with `make local`.", 2)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    variables = {"EXPLORER_URL": stack.get("explorer_url", endpoint)}
    if "price_url" in stack:
        variables["PRICE_API_URL"] = stack["price_url"]
    settings: dict[str, Any] = {"environment_variables": variables}
    if platform.machine() in ("arm64", "aarch64"):
        settings["lambda_architecture"] = "arm64"
    if HOST_PACKAGES:
        variables["PYTHONPATH"] = sysconfig.get_path("purelib")
    return Target("local", {**environment, **LOCAL_AWS, "AWS_ENDPOINT_URL": endpoint}, settings)
