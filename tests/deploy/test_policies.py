"""What the functions and people of a stage may do, and how narrow it is."""

import json
from pathlib import Path

import pytest

from chalicelib.platform.access.audit.records import AuditEntry
from infra import people as infra_people
from infra.configuration import config, functions_of, stages
from infra.iam import ACCESS, Place, policy_document, text_of, write_policies
from infra.readable_policies import list_permissions
from infra.template import whole_template

EVERYTHING = {"xray:PutTraceSegments", "xray:PutTelemetryRecords"}
"""The only actions allowed on `*`: X-Ray has no resources that a policy could name."""

OWNER = "kms:EncryptionContext:owner"
"""The condition that tells secrets apart; the local cloud does not know it."""

HERE = "<region>:<account>"
"""What stands for region and account in a policy that is not filled in."""

EXPECTED = Path(__file__).with_name("permissions.txt")
STAGES = stages()
POLICIES = [(stage, function) for stage in STAGES for function in ACCESS]


def statements(stage: str, name: str) -> list[dict]:
    """Those of a function or of a person."""
    made = infra_people.PEOPLE[name](stage) if name in infra_people.PEOPLE else policy_document(stage, name)
    return made["Statement"]


def test_the_policies_permit_what_was_reviewed() -> None:
    assert list_permissions("prod") == EXPECTED.read_text(), "review it, and run the command at the head of infra/readable_policies.py"


S3 = ":"
"""ARNs of S3 have neither: the name of the bucket has."""
MERCHANTS = "arn:aws:iam::*:role/payment-events-*"
"""Roles of merchants that send to their destinations of events, in whatever account."""


def test_every_resource_is_of_the_region_and_the_account_that_is_deployed_to(tmp_path: Path) -> None:
    for function in ACCESS:
        resources = [name for each in statements("prod", function) for name in each["Resource"] if name != MERCHANTS]
        assert {":".join(name.split(":")[3:5]) for name in resources if name != "*"} - {S3} == {HERE}
    write_policies(tmp_path, "prod", Place("eu-central-1", "123456789012"))
    for function in ACCESS:
        written = json.loads((tmp_path / f"{function}.json").read_text())["Statement"]
        resources = [name for each in written for name in each["Resource"] if name != MERCHANTS]
        places = {tuple(name.split(":")[3:5]) for name in resources if name != "*" and not name.startswith("arn:aws:s3:")}
        assert places == {("eu-central-1", "123456789012")}
        buckets = {name.rpartition(":")[2].removesuffix("/*") for name in resources if name.startswith("arn:aws:s3:")}
        assert buckets <= {"payment-requests-prod-archive-123456789012-eu-central-1"}


def test_every_function_of_the_app_has_a_policy_and_no_other_has() -> None:
    for stage in STAGES:
        files = {name: entry["iam_policy_file"] for name, entry in functions_of(stage).items()}
        assert files == {name: f"policies/{name}.json" for name in ACCESS}
        assert set(config()["stages"][stage].get("lambda_functions", {})) <= set(ACCESS)
        assert "iam_policy_file" not in config()["stages"][stage]
    assert "iam_policy_file" not in config(), "a function that is forgotten must find no policy, not a wide one"


def test_no_policy_allows_every_action_or_every_resource() -> None:
    for stage, function in POLICIES:
        for statement in statements(stage, function):
            assert statement["Effect"] == "Allow"
            assert not [action for action in statement["Action"] if "*" in action or "?" in action]
            if "*" in statement["Resource"]:
                assert set(statement["Action"]) <= EVERYTHING


def test_every_resource_belongs_to_the_stage() -> None:
    for stage, function in POLICIES:
        for statement in statements(stage, function):
            for resource in statement["Resource"]:
                if resource == f"arn:aws:kms:{HERE}:key/*":
                    owner = {"aws:ResourceTag/owner": f"payment-requests-{stage}"}
                    assert statement["Condition"]["StringEquals"] == owner
                elif ":identity/" in resource:  # the sender's, which no stage owns; a message needs the stage's own set too
                    assert statement["Action"] == ["ses:SendEmail"]
                    assert f"configuration-set/payment-requests-{stage}-mails" in statement["Resource"][0]
                elif resource == MERCHANTS:
                    assert statement["Action"] == ["sts:AssumeRole"]
                    assert function in ("deliver_webhook", "retry_webhook")
                elif resource != "*":
                    name = resource.split(":", 5)[5]
                    assert f"payment-requests-{stage}" in name
                    assert not name.split(f"payment-requests-{stage}")[1].startswith("*")


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_each_key_is_used_by_those_alone_whose_work_it_is(stage: str) -> None:
    uses = {
        (function, *statement["Action"], *statement["Condition"].get("StringLike", {}).get(OWNER, ()))
        for function in ACCESS
        for statement in statements(stage, function)
        if statement["Action"][0].startswith("kms:")
    }
    assert uses == {
        ("api_handler", "kms:Encrypt"),
        # its own answers, the secrets of changes that wait, and the data keys of persons
        ("api_handler", "kms:Decrypt", "answer#*", "change#*", "person#*", "signature-key#*"),
        ("apply_changes", "kms:Encrypt"),
        ("apply_changes", "kms:Decrypt", "change#*"),
        ("api_handler", "kms:Sign", "kms:GetPublicKey"),  # executed commerce payments answer with their transaction
        ("check_payers", "kms:Decrypt", "person#*"),
        ("send_mail", "kms:Decrypt", "mail#*"),  # the links of mails
        ("deliver_webhook", "kms:Decrypt"),
        ("retry_webhook", "kms:Decrypt"),
        ("execute_recurring", "kms:Sign", "kms:GetPublicKey"),
        ("follow_relayed", "kms:Sign", "kms:GetPublicKey"),
        ("run_payment_intents", "kms:Sign", "kms:GetPublicKey"),
        ("run_gasless", "kms:Sign", "kms:GetPublicKey"),
        ("follow_payment_intent", "kms:Sign", "kms:GetPublicKey"),
        ("run_commerce", "kms:Sign", "kms:GetPublicKey"),
    }


@pytest.mark.parametrize("stage", STAGES)
def test_only_the_api_and_what_makes_its_changes_later_reach_sessions_and_write_credentials(stage: str) -> None:
    """Those who write e-mails to members read who they are, and mark entries of the audit log as told; what checks domains
    writes such entries."""
    prefix = f"payment-requests-{stage}"
    reaching = {
        (function, resource.removeprefix(f"arn:aws:dynamodb:<region>:<account>:table/{prefix}-"), *written)
        for function in ACCESS
        for statement in statements(stage, function)
        for resource in statement["Resource"]
        if resource.endswith((f"table/{prefix}-identity", f"table/{prefix}-sessions")) and function not in ("api_handler", "apply_changes")
        for written in [sorted(each for each in statement["Action"] if not each.endswith(("GetItem", "Query")))]
    }
    writing = {("check_domains", "identity", "dynamodb:PutItem"), ("tell_changes", "identity", "dynamodb:UpdateItem")}
    assert reaching == {("announce_events", "identity"), *writing}
    [audited] = [each for each in statements("prod", "check_domains") if each["Sid"] == "AuditLog"]
    assert audited["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [AuditEntry.KEY.of(account_id="*", entry_id="").pk]}}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_nothing_but_the_habits_of_the_local_cloud_differs_between_stages(stage: str) -> None:
    for function in ACCESS:
        here = text_of(policy_document(stage, function)).replace(f"requests-{stage}", "requests-local")
        local = statements("local", function)
        expected = [narrowed(statement) for statement in local if not statement["Sid"].startswith("KeyAlias")]
        found = [statement for statement in json.loads(here)["Statement"] if statement["Sid"] != "Traces"]
        for statement in found:
            statement.get("Condition", {}).pop("StringLike", None)
            if statement["Sid"] == "AuditLog":
                del statement["Condition"]
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
    infra_people._DOMAINS_ROLE: "the role of API Gateway, which the first domain of an account needs",
    "arn:aws:wafv2:<region>:<account>:regional/managedruleset/*": "rules that AWS keeps",
    "arn:aws:cloudfront::<account>:distribution/*": "CloudFront, whose ids are not known before",
    "arn:aws:cloudfront::<account>:cache-policy/*": "likewise",
}
UNLIMITED = ("List", "Describe", "Get")
"""The beginnings of the actions that people may use on `*` without a condition that names the stage."""


@pytest.mark.parametrize("person", infra_people.PEOPLE)
def test_what_a_person_may_do_is_limited_to_the_stage(person: str) -> None:
    for statement in statements("prod", person):
        condition = json.dumps(statement.get("Condition", {}))
        assert not [action for action in statement["Action"] if "*" in action]
        for resource in statement["Resource"]:
            if "payment-requests-prod" not in resource and "payment-requests-prod" not in condition:
                assert resource in OF_NO_STAGE
        if "*" in statement["Resource"] and "payment-requests-prod" not in condition:
            assert all(action.split(":")[1].startswith(UNLIMITED) for action in statement["Action"])


def test_roles_are_handed_to_lambda_alone_and_are_those_of_the_stage() -> None:
    (passing,) = [each for each in statements("prod", "deployer") if "iam:PassRole" in each["Action"]]
    assert passing["Resource"] == ["arn:aws:iam::<account>:role/payment-requests-prod-*"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}


def test_whoever_deploys_may_make_every_kind_of_resource_of_the_template() -> None:
    types = {each["Type"] for each in whole_template()["Resources"].values()}
    assert types <= set(infra_people.RESOURCES), "say in infra/people.py what CloudFormation does to make it"


@pytest.mark.parametrize("stage", ["dev", "prod"])
@pytest.mark.parametrize("person", infra_people.PEOPLE)
def test_the_policies_of_people_are_short_enough_for_iam(person: str, stage: str) -> None:
    assert len("".join(text_of(infra_people.PEOPLE[person](stage)).split())) <= infra_people.MOST_CHARACTERS
