"""Deploys a stage, and puts the version before back unless it is healthy then: for an upgrade of the functions' Python.

    python -m infra.recovery.upgrade --stage prod     # what `make upgrade` runs

The functions get the Python that `lambda_python` in .chalice/config.json names. Each of them is invoked and the API is
asked for its health, as after every deployment; if one of these steps fails, the stage gets back code, packages and
Python of the version before, and the command ends with status 1.
"""

import argparse
import sys

from infra.configuration import config, python_of, stages
from infra.deploy import deploy
from infra.iam import function_name
from infra.packaging.bundle import need_python
from infra.recovery.rollback import rollback
from infra.stack import DeploymentStopped
from infra.target import Target, step, target_of
from infra.versions import Deployment


def upgrade(target: Target) -> str:
    """Returns the Python that the functions run on afterwards. Raises DeploymentStopped; its message says what runs."""
    with step("The present version"):
        before = _latest(target)
        if before is None or not before.finished:
            raise DeploymentStopped(f"No finished deployment to go back to: run `make deploy STAGE={target.stage}`.")
    try:
        deploy(target)
    except DeploymentStopped as stopped:
        latest = _latest(target)
        if latest is None or latest.build == before.build:
            raise DeploymentStopped(f"{stopped} {target.stage} has the version it had.", stopped.status) from stopped
        print(f"{stopped}\nThe version before is put back.", file=sys.stderr)
        back = rollback(target)
        said = f"The upgrade failed. {target.stage} runs {back} again, on {running(target)}."
        raise DeploymentStopped(said) from stopped
    return running(target)


def running(target: Target) -> str:
    """The runtime of the API's function."""
    name = function_name(target.stage, "api_handler")
    return str(target.client("lambda").get_function_configuration(FunctionName=name)["Runtime"])


def _latest(target: Target) -> Deployment | None:
    return next(reversed(target.versions().history()), None)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.recovery.upgrade", description="Deploy, or stay as it was.")
    parser.add_argument("--stage", choices=stages(), required=True)
    stage = parser.parse_args().stage
    try:
        need_python(python_of(config(), stage))
        python = upgrade(target_of(stage))
    except DeploymentStopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.status
    print(f"{stage} runs this checkout on {python}. `make rollback STAGE={stage}` puts the version before back.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
