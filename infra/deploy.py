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
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

import botocore.loaders

from infra import APP
from infra.account import list_deployed_functions, read_deployed_record, rest_api_id
from infra.concurrency import remove_maximum
from infra.configuration import ROOT, config, python_of, stages, variables_of
from infra.functions import check_functions
from infra.gateway import set_gateway_responses, set_stage
from infra.hosts import apply_hosts, check_hosts, wait_for_hosts, without_dns
from infra.iam import ACCESS, archive_bucket
from infra.invokers import remove_other_invokers
from infra.packaging.bundle import need_python
from infra.packaging.imports import check_imports
from infra.packaging.package import chalice, project_copy
from infra.recovery.pausing import is_off, resume
from infra.recursion import allow_recursion
from infra.stack import DeploymentStopped, apply_stack
from infra.tables import check_tables
from infra.target import HOST_PACKAGES, Target, step, target_of
from infra.variables import check_settings
from infra.versions import Deployment, commit_of_checkout
from infra.waf import apply_waf, has_waf
from infra.warming import warm

HEALTHY_WITHIN_SECONDS = 60


def deploy(target: Target) -> str:
    """Deploys a stage; returns the URL of its API. Raises DeploymentStopped, with the name of the step that failed."""
    with step("The settings"):
        check_settings(target.stage, variables_of_functions(target))
    with step("The hosts"):
        if target.stage != "local":
            region = target.client("apigateway").meta.region_name
            check_hosts(target.hosts, target.stage, variables_of(target.stage), region)
    versions = target.versions()
    with ExitStack() as ending:
        is_first = not versions.has_bucket()  # then CloudFormation keeps a second deployment out
        if not is_first:
            with step("The lock"):
                ending.enter_context(versions.lock.hold("make deploy"))
        with step("The tables"):
            check_tables(target.client, target.stage)
        with step("The stack"):
            apply_stack(target.client("cloudformation"), target.stage)
        if is_first:
            with step("The lock"):
                ending.enter_context(versions.lock.hold("make deploy"))
        with step("The address"):
            target = add_addresses(target, rest_api_id(target.client, target.stage) or _new_api(target))
        with step("The package"):
            layer = has_layer(target.stage)
            copy = ending.enter_context(project_copy(target.stage, target.settings, layer, target.place))
            check_imports(copy, target.stage)
        return put(target, copy, commit_of_checkout())


def put(target: Target, project: Path, commit: str, rolled_back_from: str | None = None) -> str:
    """Deploys what is in `project`, a copy or a build that was kept, with the hosts of `target`, which are those of the
    project; returns the URL of the API. The caller holds the lock of the stage."""
    with step("The kept version"):
        begun = target.versions().begin(project, commit, rolled_back_from)
    with step("The account"):
        record = project / ".chalice" / "deployed" / f"{target.stage}.json"
        record.parent.mkdir(exist_ok=True)
        record.write_text(json.dumps(read_deployed_record(target.client, target.stage)))
    with step("Functions and API"):
        environment = {**target.environment, **(quick_waiters(project) if target.cloud else {})}
        python = python_of(config(project), target.stage)
        chalice(project, ["deploy", "--stage", target.stage], python, environment)
    return finish(target, config(project), begun)


def finish_by_hand(target: Target) -> str:
    """`finish` after a plain `chalice deploy`, with the lock of the stage."""
    with ExitStack() as ending:
        with step("The lock"):
            ending.enter_context(target.versions().lock.hold("make finish"))
        with step("The tables"):
            check_tables(target.client, target.stage)
        return finish(target)


def add_addresses(target: Target, api: str) -> Target:
    """The target with the URLs of its hosts and the bucket of its archive among its settings.

    Without DNS the URLs are that of the REST API `api`.
    """
    urls = target.hosts.urls if target.hosts else without_dns(target.api_url(api))
    place = target.place
    bucket = archive_bucket(f"{APP}-{target.stage}", place.account, place.region)
    variables = {**target.settings.get("environment_variables", {}), **urls, "ARCHIVE_BUCKET": bucket}
    return replace(target, settings={**target.settings, "environment_variables": variables})


def variables_of_functions(target: Target) -> dict[str, str]:
    """The environment variables of the functions, before there is an API: any id is as long as its own."""
    return {**variables_of(target.stage), **add_addresses(target, "a" * 10).settings["environment_variables"]}


def _new_api(target: Target) -> str:
    """An empty REST API, which Chalice fills: its id is a part of the URL, which the functions have to know."""
    made = target.client("apigateway").create_rest_api(name=APP, endpointConfiguration={"types": ["REGIONAL"]})
    return str(made["id"])


def finish(target: Target, settings: Mapping[str, Any] | None = None, begun: Deployment | None = None) -> str:
    """What Chalice does not do after its deployment; returns the URL of the API. Raises DeploymentStopped.

    `settings` are what the .chalice/config.json of the deployed version says, by default that of this checkout; `begun`
    is the deployment, by default the latest one. The version that a rollback has put back may have other functions and
    policies than this checkout.
    """
    settings = config() if settings is None else settings
    running = list_deployed_functions(target.client("lambda"), target.stage)
    begun = begun or next(reversed(target.versions().history()), None)
    expected = ACCESS if begun is None or begun.rolled_back_from is None else dict.fromkeys(running)
    with step("The error responses of the API"):
        api = rest_api_id(target.client, target.stage)
        if api is None:
            raise DeploymentStopped("Chalice reported success, but there is no REST API.")
        set_gateway_responses(target.client("apigateway"), api, target.stage)
    with step("Who may invoke the functions"):
        remove_other_invokers(target.client("lambda"), target.stage, running, api)
    with step("The functions that feed their own queues"):
        allow_recursion(target.client("lambda"), target.stage, running)
    with step("The start of the stage"):
        if is_off(target):  # by a restore that was killed, or by a person
            resume(target)
    with step("The consumers of queues"):
        own = settings["stages"][target.stage].get("environment_variables", {})
        remove_maximum(target.client("lambda"), target.stage, {**settings.get("environment_variables", {}), **own})
    with step("Access logs and throttling of the API"):
        limits = settings["stages"][target.stage].get("throttling", {})
        set_stage(target.client("apigateway"), api, target.stage, access_log_group(target), limits)
    with step("The warm throughput of the tables"):
        warm(target.client("dynamodb"), target.stage, settings["stages"][target.stage].get("warm_write_units", {}))
    with step("The functions"):
        for line in check_functions(target.client("lambda"), target.stage, expected):
            print(f"Not reached, and not read until it is: {line}", file=sys.stderr)
    with step("The firewall"):
        apply_waf(target.client, has_waf(settings, target.stage), api, target.stage, target.caller_header)
    url = target.api_url(api)
    with step("The health of the API"):
        wait_until_healthy(url, target.stage)
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


def quick_waiters(copy: Path) -> dict[str, str]:
    """Makes botocore check every 0.1 s, not every 5 s, whether a function is ready, as the local cloud is quick."""
    waiters = botocore.loaders.Loader().load_service_model("lambda", "waiters-2")
    for waiter in waiters["waiters"].values():
        waiter["delay"] = 0.1
    folder = copy / "models" / "lambda" / "2015-03-31"
    folder.mkdir(parents=True)
    (folder / "waiters-2.json").write_text(json.dumps(waiters))
    return {"AWS_DATA_PATH": str(copy / "models")}


def wait_until_healthy(url: str, stage: str) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/v2/health", timeout=30) as response:
                if json.load(response).get("payments") != "unknown":
                    return
            raise OSError("it cannot read whether payments are stopped")
        except (OSError, HTTPException, ValueError) as error:  # also a connection that was closed before it answered
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
        need_python(python_of(config(), stage))
        target = target_of(stage)
        url = finish_by_hand(target) if arguments.only_finish else deploy(target)
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    (ROOT / ".local" / f"deployed-{stage}.json").write_text(json.dumps({"api_url": url}) + "\n")
    print(f"API: {url}")
    print(f"Payment page: {target.hosts.urls['PAY_URL'] if target.hosts else url}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
