"""What the functions may do: the committed policy files, and how narrow they are."""

import json
from pathlib import Path

import pytest
import yaml

from infra import people
from infra.iam import ACCESS, CHALICE_DIR, FOLDER, STAGES, Place, policy_files, write_policies
from infra.stack import TEMPLATE

EVERYTHING = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
"""The only actions allowed on `*`: X-Ray has no resources that a policy could name."""

OWNER = "kms:EncryptionContext:owner"
"""The condition that tells secrets apart; the local cloud does not know it."""

HERE = "<region>:<account>"
"""What stands for region and account in the committed policies."""

FILES = sorted(FOLDER / name for name in policy_files())


def statements(file: Path) -> list[dict]:
    return json.loads(file.read_text())["Statement"]


def test_the_committed_policies_are_what_the_table_says() -> None:
    committed = {file.name: file.read_text() for file in FOLDER.iterdir()}
    assert committed == {**policy_files(), **people.files()}, "run `python -m infra.iam`"


def test_every_resource_is_of_the_region_and_the_account_that_is_deployed_to(tmp_path: Path) -> None:
    for function in ACCESS:
        resources = [name for each in statements(FOLDER / f"prod-{function}.json") for name in each["Resource"]]
        assert {":".join(name.split(":")[3:5]) for name in resources if name != "*"} == {HERE}
    write_policies(tmp_path, "prod", Place("eu-central-1", "123456789012"))
    for function in ACCESS:
        resources = [name for each in statements(tmp_path / f"prod-{function}.json") for name in each["Resource"]]
        assert {tuple(name.split(":")[3:5]) for name in resources if name != "*"} == {("eu-central-1", "123456789012")}


def test_every_function_of_the_app_has_a_policy_and_no_other_has() -> None:
    config = json.loads((CHALICE_DIR / "config.json").read_text())
    for stage in STAGES:
        functions = config["stages"][stage]["lambda_functions"]
        assert {name: entry["iam_policy_file"] for name, entry in functions.items()} == {
            name: f"policies/{stage}-{name}.json" for name in ACCESS
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
    stage = file.stem.split("-")[0]
    for statement in statements(file):
        for resource in statement["Resource"]:
            if resource == f"arn:aws:kms:{HERE}:key/*":
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
        for statement in statements(FOLDER / f"{stage}-{function}.json")
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
        ("follow_payment_intent", "kms:Sign", "kms:GetPublicKey"),
        ("run_commerce", "kms:Sign", "kms:GetPublicKey"),
    }


@pytest.mark.parametrize("stage", STAGES)
def test_only_the_api_reaches_credentials_and_sessions(stage: str) -> None:
    prefix = f"payment-requests-{stage}"
    reaching = {
        function
        for function in ACCESS
        for statement in statements(FOLDER / f"{stage}-{function}.json")
        for resource in statement["Resource"]
        if resource.endswith((f"table/{prefix}-identity", f"table/{prefix}-sessions"))
    }
    assert reaching == {"api_handler"}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_nothing_but_the_habits_of_the_local_cloud_differs_between_stages(stage: str) -> None:
    for function in ACCESS:
        here = (FOLDER / f"{stage}-{function}.json").read_text().replace(f"requests-{stage}", "requests-local")
        local = statements(FOLDER / f"local-{function}.json")
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


OF_NO_STAGE = {
    "*": "what AWS limits to no resource: lists, and what is made under a name that AWS chooses",
    "arn:aws:apigateway:<region>::/restapis*": "REST APIs: their ids are not known before",
    "arn:aws:apigateway:<region>::/domainnames*": "hosts: their names are settings",
    "arn:aws:route53:::hostedzone/*": "likewise",
    people._DOMAINS_ROLE: "the role of API Gateway, which the first domain of an account needs",
    "arn:aws:wafv2:<region>:<account>:regional/managedruleset/*": "rules that AWS keeps",
}
UNLIMITED = ("List", "Describe", "Get")
"""The beginnings of the actions that people may use on `*` without a condition that names the stage."""


@pytest.mark.parametrize("person", people.PEOPLE)
def test_what_a_person_may_do_is_limited_to_the_stage(person: str) -> None:
    for statement in statements(FOLDER / f"prod-{person}.json"):
        condition = json.dumps(statement.get("Condition", {}))
        assert not [action for action in statement["Action"] if "*" in action]
        for resource in statement["Resource"]:
            if "payment-requests-prod" not in resource and "payment-requests-prod" not in condition:
                assert resource in OF_NO_STAGE
        if "*" in statement["Resource"] and "payment-requests-prod" not in condition:
            assert all(action.split(":")[1].startswith(UNLIMITED) for action in statement["Action"])


def test_roles_are_handed_to_lambda_alone_and_are_those_of_the_stage() -> None:
    (passing,) = [each for each in statements(FOLDER / "prod-deployer.json") if "iam:PassRole" in each["Action"]]
    assert passing["Resource"] == ["arn:aws:iam::<account>:role/payment-requests-prod-*"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}


def test_whoever_deploys_may_make_every_kind_of_resource_of_the_template() -> None:
    types = {each["Type"] for each in yaml.safe_load(TEMPLATE.read_text())["Resources"].values()}
    assert types <= set(people.RESOURCES), "say in infra/people.py what CloudFormation does to make it"


@pytest.mark.parametrize("name", [name for name in people.files() if not name.startswith("local")])
def test_the_policies_of_people_are_short_enough_for_iam(name: str) -> None:
    assert len("".join((FOLDER / name).read_text().split())) <= people.MOST_CHARACTERS
