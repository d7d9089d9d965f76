"""Puts the previous version of a stage back: code, packages, settings, hosts, policies, schedules and routes it had.

    python -m infra.recovery.rollback --stage prod     # what `make rollback` runs, on any machine with Python 3.11

Tables, queues and other resources of the stacks stay as they are, because each version works with those of the next.
"""

import argparse
import sys
from dataclasses import replace

from infra.configuration import config, stages
from infra.deploy import Target, put, step, target_of
from infra.hosts import hosts_of
from infra.packaging.bundle import need_lambda_python
from infra.stack import DeploymentStopped
from infra.tables import check_tables
from infra.versions import Deployment, previous


def rollback(target: Target) -> Deployment:
    """Deploys the build that ran before the present one; returns its deployment. Raises DeploymentStopped."""
    versions = target.versions()
    with step("The previous version"):
        history = versions.history()
        back = previous(history)
        replaced = history[-1].rolled_back_from or history[-1].build
        check_tables(target.client, target.stage)
    with versions.project(back.build) as project:
        if target.stage != "local":  # which is called at the API's own URL
            target = replace(target, hosts=hosts_of(config(project), target.stage))
        put(target, project, back.commit, rolled_back_from=replaced)
    return back


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.recovery.rollback", description="Put the last version back.")
    parser.add_argument("--stage", choices=stages(), required=True)
    stage = parser.parse_args().stage
    try:
        if stage != "local":
            need_lambda_python()  # Chalice takes the Python of the functions from the one that it runs on
        back = rollback(target_of(stage))
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    print(f"{stage} runs {back} again. `make verify STAGE={stage}` says what differs from this checkout.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
