"""Deploys a stage: the CloudFormation stack, then functions and API with Chalice, then error responses and domains.

    python -m infra.deploy --stage local|dev|prod                  # `make deploy`
    python -m infra.deploy --stage local|dev|prod --only-finish    # `make finish`, after a plain `chalice deploy`

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
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

import boto3
import botocore.loaders
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from infra import APP
from infra.account import deployed_record, rest_api_id
from infra.configuration import ROOT, config, stages, variables_of
from infra.gateway import set_gateway_responses, set_stage
from infra.hosts import Hosts, apply_hosts, check_hosts, hosts_of, wait_for_hosts, without_dns
from infra.iam import Place
from infra.packaging.bundle import need_lambda_python
from infra.packaging.package import chalice, project_copy
from infra.stack import DeploymentStopped, apply_stack
from infra.tables import check_tables
from infra.versions import Deployment, Versions, commit_of_checkout
from infra.waf import apply_waf, has_waf

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


def deploy(target: Target) -> str:
    """Deploys a stage; returns the URL of its API. Raises DeploymentStopped, with the name of the step that failed."""
    with step("The hosts"):
        if target.stage != "local":
            region = target.client("apigateway").meta.region_name
            check_hosts(target.hosts, target.stage, variables_of(target.stage), region)
    with step("The tables"):
        check_tables(target.client, target.stage)
    with step("The stack"):
        apply_stack(target.client("cloudformation"), target.stage)
    with step("The address"):
        target = addressed(target, rest_api_id(target.client, target.stage) or _new_api(target))
    with ExitStack() as ending:
        with step("The package"):
            layer = has_layer(target.stage)
            copy = ending.enter_context(project_copy(target.stage, target.settings, layer, target.place))
        return put(target, copy, commit_of_checkout())


def put(target: Target, project: Path, commit: str, rolled_back_from: str | None = None) -> str:
    """Deploys what is in `project`, a copy or a build that was kept, with the hosts of `target`, which are those of the
    project; returns the URL of the API."""
    versions = target.versions()
    with ExitStack() as ending:
        with step("The kept version"):
            ending.enter_context(versions.held())
            begun = versions.begin(project, commit, rolled_back_from)
        with step("The account"):
            record = project / ".chalice" / "deployed" / f"{target.stage}.json"
            record.parent.mkdir(exist_ok=True)
            record.write_text(json.dumps(deployed_record(target.client, target.stage)))
        with step("Functions and API"):
            environment = {**target.environment, **(quick_waiters(project) if target.cloud else {})}
            chalice(project, ["deploy", "--stage", target.stage], environment)
        return finish(target, config(project), begun)


def addressed(target: Target, api: str) -> Target:
    """The target with the URLs of its hosts among its settings; without DNS they are the URL of the REST API `api`."""
    urls = target.hosts.urls if target.hosts else without_dns(target.api_url(api))
    variables = {**target.settings.get("environment_variables", {}), **urls}
    return replace(target, settings={**target.settings, "environment_variables": variables})


def _new_api(target: Target) -> str:
    """An empty REST API, which Chalice fills: its id is a part of the URL, which the functions have to know."""
    made = target.client("apigateway").create_rest_api(name=APP, endpointConfiguration={"types": ["REGIONAL"]})
    return str(made["id"])


def finish(target: Target, settings: Mapping[str, Any] | None = None, begun: Deployment | None = None) -> str:
    """What Chalice does not do after its deployment; returns the URL of the API. Raises DeploymentStopped.

    `settings` are what the .chalice/config.json of the deployed version says, by default that of this checkout; `begun`
    is the deployment, by default the latest one.
    """
    settings = config() if settings is None else settings
    with step("The error responses of the API"):
        api = rest_api_id(target.client, target.stage)
        if api is None:
            raise DeploymentStopped("Chalice reported success, but there is no REST API.")
        set_gateway_responses(target.client("apigateway"), api, target.stage)
    with step("Access logs and throttling of the API"):
        limits = settings["stages"][target.stage].get("throttling", {})
        set_stage(target.client("apigateway"), api, target.stage, access_log_group(target), limits)
    with step("The firewall"):
        apply_waf(target.client, has_waf(settings, target.stage), api, target.stage)
    url = target.api_url(api)
    with step("The health of the API"):
        _wait_until_healthy(url, target.stage)
    with step("The domains"):
        records = apply_hosts(target.client("cloudformation"), target.hosts, api, target.stage)
    if target.hosts is not None:
        url = target.hosts.urls["API_URL"]
        with step("The health of the hosts"):
            wait_for_hosts(target.hosts, records, target.stage, target.cloud)
    with step("The record of the deployment"):
        target.versions().finish(begun)
    return url


def has_layer(stage: str) -> bool:
    """Whether the functions of the stage get their packages in a layer, and not from this machine."""
    return stage != "local" or not HOST_PACKAGES


def access_log_group(target: Target) -> str:
    """The ARN of the log group for the calls of the API."""
    sts = target.client("sts")
    caller = sts.get_caller_identity()
    place = f"{caller['Arn'].split(':')[1]}:logs:{sts.meta.region_name}:{caller['Account']}"
    return f"arn:{place}:log-group:/aws/apigateway/{APP}-{target.stage}"


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


def quick_waiters(copy: Path) -> dict[str, str]:
    """Makes botocore check every 0.1 s, not every 5 s, whether a function is ready, as the local cloud is quick."""
    waiters = botocore.loaders.Loader().load_service_model("lambda", "waiters-2")
    for waiter in waiters["waiters"].values():
        waiter["delay"] = 0.1
    folder = copy / "models" / "lambda" / "2015-03-31"
    folder.mkdir(parents=True)
    (folder / "waiters-2.json").write_text(json.dumps(waiters))
    return {"AWS_DATA_PATH": str(copy / "models")}


def _wait_until_healthy(url: str, stage: str) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/v2/health", timeout=30):
                return
        except (OSError, HTTPException) as error:  # also a connection that was closed before it answered
            if time.monotonic() > deadline:
                raise DeploymentStopped(
                    f"Everything is in place, but {url}/v2/health does not answer: {error}. Its log group is"
                    f" /aws/lambda/{APP}-{stage}. When it answers, run `make finish STAGE={stage}`."
                ) from error
        time.sleep(1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.deploy", description="Put a stage into an account.")
    parser.add_argument("--stage", choices=stages(), required=True)
    parser.add_argument("--only-finish", action="store_true", help="the steps that follow a plain `chalice deploy`")
    arguments = parser.parse_args()
    stage = arguments.stage
    try:
        if stage != "local":
            need_lambda_python()
        target = target_of(stage)
        url = finish(target) if arguments.only_finish else deploy(target)
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    (ROOT / ".local" / f"deployed-{stage}.json").write_text(json.dumps({"api_url": url}) + "\n")
    print(f"API: {url}")
    print(f"Payment page: {target.hosts.urls['PAY_URL'] if target.hosts else url}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
