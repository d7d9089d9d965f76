"""A plain `chalice deploy` in a checkout: it goes on only with a record that says what the account has."""

import json

import pytest

from infra.local.cloud import Cloud
from tests.deploy.checkout import Checkout

pytestmark = pytest.mark.xdist_group("deployment")

STAGE = "dev"
"""No other test deploys it."""
DEPLOY = f".venv/bin/chalice deploy --stage {STAGE}"
SECOND = f", so Chalice would make a second API: run `make record STAGE={STAGE}` first.\n"


@pytest.fixture(scope="module")
def checkout(cloud: Cloud, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("checkout"), cloud)


def test_without_a_record_one_sentence_says_what_to_run(checkout: Checkout) -> None:
    file = f".chalice/deployed/{STAGE}.json"
    assert checkout.run(DEPLOY, status=1) == f"There is no {file}{SECOND}"
    (checkout.folder / ".chalice" / "deployed").mkdir()
    api = {"name": "rest_api", "resource_type": "rest_api", "rest_api_id": "gone", "rest_api_url": ""}
    (checkout.folder / file).write_text(json.dumps({"resources": [api], "schema_version": "2.0", "backend": "api"}))
    assert checkout.run(DEPLOY, status=1) == f"{file} differs from what the account has{SECOND}"


def test_a_stage_without_its_stacks_is_deployed_first(checkout: Checkout) -> None:
    said = checkout.make(f"record STAGE={STAGE}", status=1)
    assert said.startswith(f"The stacks of {STAGE} have no ")
    assert said.endswith(f"run `make deploy STAGE={STAGE}` first.\n")
