"""What a plain `chalice deploy` in the checkout needs, and what stops it where that is missing.

    python -m infra.record --stage prod     # what `make record` runs: reads the account, changes nothing in it

Chalice takes what is deployed from `.chalice/deployed/<stage>.json`. Without it, or with one that is out of date, it
would create a second REST API and stop at roles that exist. So app.py calls `before_chalice` when the chalice command
imports it from a checkout.
"""

import argparse
import atexit
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import click
from botocore.exceptions import BotoCoreError, ClientError
from chalice.config import Config

from infra import APP
from infra.account import read_deployed_record, rest_api_id
from infra.configuration import CHALICE_DIR, ROOT, architecture_of, config, python_of, stages, variables_of
from infra.hosts import check_hosts, hosts_of, without_dns
from infra.iam import ANYWHERE, Place, archive_bucket, write_policies
from infra.packaging.bundle import need_python
from infra.packaging.imports import check_imports
from infra.packaging.package import project_copy, zip_names
from infra.stack import DeploymentStopped, missing_resources
from infra.tables import check_tables
from infra.target import Target, target_of
from infra.variables import check_settings
from infra.versions import Versions, commit_of_checkout


def record(target: Target) -> Path:
    """Writes Chalice's record of the stage; returns its path. Raises DeploymentStopped if its stacks lack anything."""
    _need_stacks(target.client("cloudformation"), target.stage)
    file = record_file(target.stage)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(read_deployed_record(target.client, target.stage), indent=2) + "\n")
    return file


def _need_stacks(cloudformation: Any, stage: str) -> None:
    """Raises DeploymentStopped, which names the one command that is needed, unless the stage was deployed before."""
    missing = missing_resources(cloudformation, stage)
    if missing:
        raise DeploymentStopped(
            f"The stacks of {stage} have no {', '.join(missing[:3])}{' ...' * (len(missing) > 3)}:"
            f" run `make deploy STAGE={stage}` first."
        )


def before_chalice() -> None:
    """Lets `chalice deploy` go on only with a record that says what the account has, and builds its packages.

    Raises SystemExit with a sentence that says what to run first. For `chalice package` it writes the policies of the
    stage. Other commands of Chalice go on.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.info_name not in ("deploy", "package"):
        return
    stage = context.params["stage"]
    if stage not in stages():
        raise SystemExit(f"There is no stage {stage}: name one of {', '.join(stages())} by --stage.")
    if context.info_name == "package":
        write_policies(CHALICE_DIR / "policies", stage, ANYWHERE)
        return
    session = boto3.Session(profile_name=context.params["profile"])
    try:
        need_python(python_of(config(), stage))
        type.__setattr__(Config, "lambda_python_version", f"python{python_of(config(), stage)}")  # not this process's
        check_settings(stage, variables_of(stage))
        _need_stacks(session.client("cloudformation"), stage)
        problem = _problem(record_file(stage), read_deployed_record(session.client, stage))
        if problem:
            raise SystemExit(f"{problem}, so Chalice would make a second API: run `make record STAGE={stage}` first.")
        sts = session.client("sts")
        place = Place(sts.meta.region_name, sts.get_caller_identity()["Account"])
        _need_variables(stage, place)
        check_tables(session.client, stage)
        versions = Versions(session.client("s3"), sts, stage)
        ending = ExitStack()
        ending.enter_context(versions.lock.hold("chalice deploy"))
        atexit.register(ending.close)
        _put_build(versions, stage, place)
    except DeploymentStopped as stopped:
        raise SystemExit(str(stopped)) from stopped
    except (BotoCoreError, ClientError) as error:
        raise SystemExit(f"AWS does not say what is deployed in {stage}: {error}") from error


def _need_variables(stage: str, place: Place) -> None:
    """Raises SystemExit if Chalice would give the functions another archive or other URLs than `make deploy` does."""
    target = Target(stage, dict(os.environ), {}, hosts_of(config(), stage))
    variables = variables_of(stage)
    wanted = {"ARCHIVE_BUCKET": archive_bucket(f"{APP}-{stage}", place.account, place.region)}
    if target.hosts is not None:
        check_hosts(target.hosts, stage, variables, place.region)
    elif api := rest_api_id(target.client, stage):
        wanted |= without_dns(target.api_url(api))
    if any(variables.get(name, "") != value for name, value in wanted.items()):
        written = ", ".join(f"{name}={value!r}" for name, value in wanted.items())
        raise SystemExit(
            f"Chalice does not know these settings of {stage}: write {written} into .chalice/config.json, or run"
            f" `make deploy STAGE={stage}`."
        )


def _put_build(versions: Versions, stage: str, place: Place) -> None:
    """Keeps this version of the stage, and puts its packages where Chalice looks for them in the checkout."""
    sys.dont_write_bytecode = True  # Chalice names the packages after all files of chalicelib
    architecture, python = architecture_of(config()["stages"][stage]), python_of(config(), stage)
    write_policies(CHALICE_DIR / "policies", stage, place)
    with project_copy(stage, place=place) as copy:
        check_imports(copy, stage)
        versions.begin(copy, commit_of_checkout())
        names = (zip_names(folder, architecture, python) for folder in (copy, ROOT))
        for built, wanted in zip(*names, strict=True):
            wanted.parent.mkdir(exist_ok=True)
            built.replace(wanted)


def _problem(file: Path, account: dict[str, Any]) -> str | None:
    if not file.exists():
        return f"There is no {file.relative_to(ROOT)}"
    if _resources(json.loads(file.read_text())) != _resources(account):
        return f"{file.relative_to(ROOT)} differs from what the account has"
    return None


def _resources(recorded: dict[str, Any]) -> dict[tuple[str, str], dict[str, str]]:
    """The resources by kind and name, without the URL, which only Chalice writes."""
    return {
        (each["resource_type"], each["name"]): {name: value for name, value in each.items() if name != "rest_api_url"}
        for each in recorded["resources"]
    }


def record_file(stage: str) -> Path:
    """Where Chalice looks for the record of a stage."""
    return CHALICE_DIR / "deployed" / f"{stage}.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.record", description="Prepare a plain `chalice deploy`.")
    parser.add_argument("--stage", choices=stages(), required=True)
    stage = parser.parse_args().stage
    try:
        written = record(target_of(stage))
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    except (BotoCoreError, ClientError) as error:
        print(f"{stage} cannot be read: {error}", file=sys.stderr)
        return 2
    print(f"{written.relative_to(ROOT)} says what {stage} has.")
    print(f"Next: `chalice deploy --stage {stage}`, then `make finish STAGE={stage}`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
