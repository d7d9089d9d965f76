"""Deploys a stage: the CloudFormation stack, then functions and API with Chalice, then the gateway responses.

    python -m infra.deploy --stage local|dev|prod

A step that fails ends it with the name of the step and the cause. Every step can be repeated: run it again after a
failure. Stage local is deployed to the local cloud that `make local` runs (or that AWS_ENDPOINT_URL names), without
reading the AWS credentials of this machine. The URL is printed at the end and written to `.local/deployed-<stage>.json`
as {"api_url": ...}.
"""

import argparse
import json
import os
import platform
import sys
import sysconfig
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import botocore.loaders
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from infra.account import deployed_record, rest_api_id
from infra.bundle import need_lambda_python
from infra.gateway import set_gateway_responses
from infra.package import ROOT, chalice, project_copy, stages
from infra.stack import DeploymentStopped, apply_stack

STACK_FILE = ROOT / ".local" / "stack.json"
LOCAL_AWS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
}
HOST_PACKAGES = sys.platform != "linux"
"""The local cloud runs functions on this machine. If it is not Linux, they use the packages of this venv."""
HEALTHY_WITHIN_SECONDS = 60


@dataclass(frozen=True)
class Target:
    """Where a stage is deployed: the environment for AWS tools, and settings that override .chalice/config.json."""

    stage: str
    environment: dict[str, str]
    settings: dict[str, Any]

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

    def api_url(self, api: str) -> str:
        if self.stage == "local":
            return f"{self.environment['AWS_ENDPOINT_URL']}/restapis/{api}/local/_user_request_"
        region = self.client("apigateway").meta.region_name
        return f"https://{api}.execute-api.{region}.amazonaws.com/{self.stage}"


def deploy(target: Target) -> str:
    """Deploys a stage; returns the URL of its API. Raises DeploymentStopped, with the name of the step that failed."""
    with _step("The stack"):
        apply_stack(target.client("cloudformation"), target.stage)
    layer = target.stage != "local" or not HOST_PACKAGES
    with ExitStack() as ending:
        with _step("The package"):
            copy = ending.enter_context(project_copy(target.stage, target.settings, layer))
        with _step("The account"):
            record = copy / ".chalice" / "deployed" / f"{target.stage}.json"
            record.parent.mkdir()
            record.write_text(json.dumps(deployed_record(target.client, target.stage)))
        with _step("Functions and API"):
            environment = {**target.environment, **(_quick_waiters(copy) if target.stage == "local" else {})}
            chalice(copy, ["deploy", "--stage", target.stage], environment)
    return finish(target)


def finish(target: Target) -> str:
    """What Chalice does not do after its deployment; returns the URL of the API. Raises DeploymentStopped."""
    with _step("The error responses of the API"):
        api = rest_api_id(target.client, target.stage)
        if api is None:
            raise DeploymentStopped("Chalice reported success, but there is no REST API.")
        set_gateway_responses(target.client("apigateway"), api, target.stage)
    url = target.api_url(api)
    with _step("The health of the API"):
        _wait_until_healthy(url)
    return url


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Ends the deployment, whatever fails here, with a message that begins with the name of the step."""
    try:
        yield
    except DeploymentStopped as stopped:
        raise DeploymentStopped(f"{name}: {stopped}", stopped.status) from stopped
    except Exception as error:
        raise DeploymentStopped(f"{name}: {type(error).__name__}: {error}") from error


def target_of(stage: str) -> Target:
    """The AWS account of this environment, or the local cloud. Raises DeploymentStopped (status 2) without access."""
    target = _local_target() if stage == "local" else Target(stage, dict(os.environ), {})
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
    names = {
        "API_URL": "base_url",
        "AUTH_URL": "auth_url",
        "PAY_URL": "pay_url",
        "EXPLORER_URL": "explorer_url",
    }
    variables = {variable: stack.get(key, endpoint) for variable, key in names.items()}
    if "price_url" in stack:
        variables["PRICE_API_URL"] = stack["price_url"]
    settings: dict[str, Any] = {"environment_variables": variables}
    if platform.machine() in ("arm64", "aarch64"):
        settings["lambda_architecture"] = "arm64"
    if HOST_PACKAGES:
        variables["PYTHONPATH"] = sysconfig.get_path("purelib")
    return Target("local", {**environment, **LOCAL_AWS, "AWS_ENDPOINT_URL": endpoint}, settings)


def _quick_waiters(copy: Path) -> dict[str, str]:
    """Makes botocore check every 0.5 s, not every 5 s, whether a function is ready, as the local cloud is quick."""
    waiters = botocore.loaders.Loader().load_service_model("lambda", "waiters-2")
    for waiter in waiters["waiters"].values():
        waiter["delay"] = 0.5
    folder = copy / "models" / "lambda" / "2015-03-31"
    folder.mkdir(parents=True)
    (folder / "waiters-2.json").write_text(json.dumps(waiters))
    return {"AWS_DATA_PATH": str(copy / "models")}


def _wait_until_healthy(url: str) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/v2/health", timeout=30):
                return
        except (urllib.error.URLError, TimeoutError) as error:
            if time.monotonic() > deadline:
                message = f"Everything is in place, but {url}/v2/health does not answer: {error}"
                raise DeploymentStopped(message) from error
        time.sleep(1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.deploy", description="Put a stage into an account.")
    parser.add_argument("--stage", choices=stages(), required=True)
    stage = parser.parse_args().stage
    try:
        if stage != "local":
            need_lambda_python()
        url = deploy(target_of(stage))
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    (ROOT / ".local" / f"deployed-{stage}.json").write_text(json.dumps({"api_url": url}) + "\n")
    print(f"API: {url}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
