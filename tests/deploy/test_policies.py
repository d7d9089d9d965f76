"""What the functions may do: the committed policy files, and how narrow they are."""

import json
from pathlib import Path

import pytest

from infra.iam import ACCESS, CHALICE_DIR, STAGES, policy_files

EVERYTHING = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
"""The only actions allowed on `*`: X-Ray has no resources that a policy could name."""

OWNER = "kms:EncryptionContext:owner"
"""The condition that tells secrets apart; the local cloud does not know it."""

FILES = sorted(CHALICE_DIR.glob("policy-*.json"))


def statements(file: Path) -> list[dict]:
    return json.loads(file.read_text())["Statement"]


def test_the_committed_policies_are_what_the_table_says() -> None:
    committed = {file.name: file.read_text() for file in FILES}
    assert committed == policy_files(), "run `python -m infra.iam`"


def test_every_function_of_the_app_has_a_policy_and_no_other_has() -> None:
    config = json.loads((CHALICE_DIR / "config.json").read_text())
    for stage in STAGES:
        functions = config["stages"][stage]["lambda_functions"]
        assert {name: entry["iam_policy_file"] for name, entry in functions.items()} == {
            name: f"policy-{stage}-{name}.json" for name in ACCESS
        }
    assert "iam_policy_file" not in config, "a function that is forgotten must find no policy, not a wide one"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_policy_allows_every_action_or_every_resource(file: Path) -> None:
    for statement in statements(file):
        assert statement["Effect"] == "Allow"
        assert not [action for action in statement["Action"] if "*" in action or "?" in action]
        if "*" in statement["Resource"]:
            assert set(statement["Action"]) <= EVERYTHING


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_resource_belongs_to_the_stage(file: Path) -> None:
    stage = file.stem.split("-")[1]
    for statement in statements(file):
        for resource in statement["Resource"]:
            if resource == "arn:aws:kms:*:*:key/*":
                owner = {"aws:ResourceTag/owner": f"payment-requests-{stage}"}
                assert statement["Condition"]["StringEquals"] == owner
            elif resource != "*":
                name = resource.split(":", 5)[5]
                assert f"payment-requests-{stage}" in name
                assert not name.split(f"payment-requests-{stage}")[1].startswith("*")


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_each_key_is_used_by_those_alone_whose_work_it_is(stage: str) -> None:
    uses = {
        (function, *statement["Action"], *statement["Condition"].get("StringLike", {}).get(OWNER, ()))
        for function in ACCESS
        for statement in statements(CHALICE_DIR / f"policy-{stage}-{function}.json")
        if statement["Action"][0].startswith("kms:")
    }
    assert uses == {
        ("api_handler", "kms:Encrypt"),
        ("api_handler", "kms:Decrypt", "answer#*", "person#*"),  # its own answers, and the data keys of persons
        ("api_handler", "kms:Sign", "kms:GetPublicKey"),  # executed commerce payments answer with their transaction
        ("check_payers", "kms:Decrypt", "person#*"),
        ("deliver_webhook", "kms:Decrypt"),
        ("retry_webhook", "kms:Decrypt"),
        ("execute_recurring", "kms:Sign", "kms:GetPublicKey"),
        ("follow_relayed", "kms:Sign", "kms:GetPublicKey"),
        ("run_permits", "kms:Sign", "kms:GetPublicKey"),
        ("run_commerce", "kms:Sign", "kms:GetPublicKey"),
    }


@pytest.mark.parametrize("stage", STAGES)
def test_only_the_api_reaches_credentials_and_sessions(stage: str) -> None:
    prefix = f"payment-requests-{stage}"
    reaching = {
        function
        for function in ACCESS
        for statement in statements(CHALICE_DIR / f"policy-{stage}-{function}.json")
        for resource in statement["Resource"]
        if resource.endswith((f"table/{prefix}-identity", f"table/{prefix}-sessions"))
    }
    assert reaching == {"api_handler"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_nothing_but_the_habits_of_the_local_cloud_differs_between_stages(stage: str) -> None:
    for function in ACCESS:
        here = (
            (CHALICE_DIR / f"policy-{stage}-{function}.json").read_text().replace(f"requests-{stage}", "requests-local")
        )
        local = statements(CHALICE_DIR / f"policy-local-{function}.json")
        expected = [narrowed(statement) for statement in local if not statement["Sid"].startswith("KeyAlias")]
        found = [statement for statement in json.loads(here)["Statement"] if statement["Sid"] != "Traces"]
        for statement in found:
            statement.get("Condition", {}).pop("StringLike", None)
        assert found == expected


def narrowed(statement: dict) -> dict:
    """Without the name of a secret that lacks the six characters of Secrets Manager, and the action of a batch."""
    actions = [name for name in statement["Action"] if name != "sqs:SendMessageBatch"]
    resources = [name for name in statement["Resource"] if not name.endswith(("-rpc-urls", "-relayer-key"))]
    return {**statement, "Action": actions, "Resource": resources}
