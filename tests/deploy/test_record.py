"""A plain `chalice deploy` in a checkout: it goes on only with a record that says what the account has."""

import pytest

from infra.local.cloud import Cloud
from tests.deploy.checkout import Checkout

pytestmark = pytest.mark.xdist_group("deployment")

STAGE = "dev"
"""No other test deploys it."""
DEPLOY = f".venv/bin/chalice deploy --stage {STAGE}"


@pytest.fixture(scope="module")
def checkout(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"), cloud)


def test_a_stage_that_was_never_deployed_is_deployed_by_one_command_that_both_name(checkout: Checkout) -> None:
    said = checkout.run(DEPLOY, status=1)
    assert said.startswith(f"The stacks of {STAGE} have no ")
    assert said.endswith(f": run `make deploy STAGE={STAGE}` first.\n")
    assert checkout.make(f"record STAGE={STAGE}", status=1) == said
