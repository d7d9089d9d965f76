"""Puts the previous version of a stage back: code, packages, settings, hosts, policies, schedules and routes it had.

    python -m infra.recovery.rollback --stage prod     # what `make rollback` runs, whatever Python this machine has

Tables, queues and other resources of the stacks stay as they are, because each version works with those of the next.
"""

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace

from infra.configuration import config, stages
from infra.deploy import put
from infra.hosts import hosts_of
from infra.stack import DeploymentStopped
from infra.tables import check_tables
from infra.target import Target, step, target_of
from infra.versions import Deployment, previous


def rollback(target: Target) -> Deployment:
    """Deploys the build that ran before the present one; returns its deployment. Raises DeploymentStopped."""
    versions = target.versions()
    with ExitStack() as ending:
        with step("The previous version"):
            previous(versions.history())  # without one there may be no bucket for a lock
            ending.enter_context(versions.lock.hold("make rollback"))
            history = versions.history()
            back = previous(history)
            replaced = history[-1].rolled_back_from or history[-1].build
            check_tables(target.client, target.stage)
            project = ending.enter_context(versions.project(back.build))
        if target.stage != "local":  # which is called at the API's own URL
            target = replace(target, hosts=hosts_of(config(project), target.stage))
        put(target, project, back.commit, rolled_back_from=replaced)
    return back


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.recovery.rollback", description="Put the last version back.")
    parser.add_argument("--stage", choices=stages(), required=True)
    stage = parser.parse_args().stage
    try:
        back = rollback(target_of(stage))
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    print(f"{stage} runs {back} again. `make verify STAGE={stage}` says what differs from this checkout.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
