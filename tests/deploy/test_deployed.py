"""The deployed service: `chalice deploy` into a local cloud that enforces IAM, then used from outside.

Every function runs as a Lambda worker under its own role, so what passes here its policy allows. So do the policies of
the people: `deployer` deploys, `operator` verifies and runs the commands of the runbook.
"""

import hashlib
import hmac
import io
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from chalicelib.chains.nodes.chains import Chains
from chalicelib.payments.links.records import AnnouncedStatus, Link, LinkAnnouncements, LinkStatus
from chalicelib.payments.scanning.records import Cursor
from chalicelib.platform.services import Services, assemble
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import Queue
from chalicelib.platform.storage.store import Store, WriteConflict
from infra import admin
from infra import deploy as deployment
from infra.account import read_deployed_record, rest_api_id
from infra.configuration import ROOT, variables_of
from infra.deploy import deploy, finish
from infra.iam import ACCESS, function_name
from infra.local.chain import Chain
from infra.local.cloud import Cloud
from infra.local.process import free_port
from infra.local.relayer import relayer_address
from infra.local.safe import Safe
from infra.stack import DeploymentStopped
from infra.target import target_of
from infra.template import whole_template
from infra.verify import differences
from tests.deploy.faults import CAUSE, door
from tests.deploy.nodes import nodes_from_the_start
from tests.deploy.outsider import Api
from tests.deploy.people import key_of, target_as
from tests.onchain.conftest import SAFE_OWNERS
from tests.support.patience import wait_for
from tests.support.signing import keys_in

pytestmark = pytest.mark.xdist_group("deployment")

PREFIX = "payment-requests-local"
PAYER_KEY = "0x" + "17" * 32
FUSDC = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"
ORCHESTRATOR = {"orchestratorName": "Platform", "orchestratorContactEmail": "ops@platform.example"}
CONSUMERS = sum(len(access.consumes) for access in ACCESS.values())
SCHEDULED = 5
"""Times the patience: a schedule fires a minute after the deployment, and the next one does the rest."""
FAILURES = ("AccessDenied", "Traceback", "Error: ", "Exception: ", '"ERROR"')
EXPECTED = ("relayer balance is low",)
"""Errors that say what is so: the service's own account has nothing until a test gives it something."""
IDLE = {"execute_recurring", "follow_payment_intent"}
"""What has nothing to do here: no schedule is due, and nothing is signed."""
AT_ONCE = 5
"""Times the patience, for what several functions do one after the other."""


@dataclass
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        return json.loads(self.body)["event"]


class Receiver:
    """A merchant's webhook endpoint."""

    def __init__(self) -> None:
        self.secret = ""
        self.received: list[Received] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.append(Received({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def of(self, event: str) -> list[Received]:
        return [each for each in self.received if each.event == event]


@dataclass(frozen=True)
class Redeployment:
    """A link and the record of the account from before it."""

    token: str
    before: dict[str, Any]


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain.start("sepolia") as running:
        yield running


@pytest.fixture(scope="module")
def deployed(cloud: Cloud, chain: Chain) -> Iterator[str]:
    """The URL of the API. What a deployment that failed would have left behind is there before it begins."""
    cloud.client("apigateway").create_rest_api(name="payment-requests")
    make_role(cloud, f"{PREFIX}-start_scans")
    with nodes_from_the_start(cloud, PREFIX, {"sepolia": chain.url}):
        url = deploy_to(cloud)
    yield url
    cloud.client("sqs").purge_queue(QueueUrl=cloud.client("sqs").get_queue_url(QueueName=f"{PREFIX}-scans")["QueueUrl"])


@pytest.fixture(scope="module")
def services(cloud: Cloud, deployed: str) -> Services:
    rules = Settings(
        stage="local",
        resource_prefix=PREFIX,
        api_url=deployed,
        auth_url=deployed,
        pay_url=deployed,
        explorer_url=deployed,
        safe_service_urls={},
        webhook_allow_loopback=True,
        relayer_keys={"sepolia": "kms"},
    )
    keeper = assemble(rules).secrets
    return replace(
        assemble(rules),
        store=Store(PREFIX, cloud.client("dynamodb")),
        queue=Queue(cloud.client("sqs")),
        secrets=keeper,
        signing_keys=keys_in(cloud),
        chains=Chains(keeper),
    )


@pytest.fixture(scope="module")
def api(services: Services, deployed: str) -> Api:
    account = admin.create_account(services, "Merchant")
    return Api(deployed, admin.create_api_key(services, account, "test"))


@pytest.fixture(scope="module")
def receiver(api: Api) -> Iterator[Receiver]:
    """A receiver whose webhook is registered over the deployed API."""
    merchant = Receiver()
    status, _, created = api.call("POST", "/v1/webhook", {"url": merchant.url})
    assert status == 201, created
    merchant.secret = created["secret"]
    yield merchant
    merchant.server.shutdown()
    merchant.server.server_close()


def deploy_to(cloud: Cloud) -> str:
    return deploy(target_as(cloud, "deployer"))


def logs_of(cloud: Cloud, function: str) -> list[str]:
    group = f"/aws/lambda/{function_name('local', function)}"
    return [event["message"] for event in cloud.client("logs").filter_log_events(logGroupName=group)["events"]]


def last_words(cloud: Cloud) -> dict[str, list[str]]:
    return {function: logs_of(cloud, function)[-20:] for function in ACCESS}


def test_a_queued_delivery_reaches_the_merchant_signed(api: Api, receiver: Receiver) -> None:
    status, _, answer = api.call("POST", "/v1/webhook/test", {"eventType": "payment.refunded"})
    assert (status, answer["queued"]) == (201, 1)
    delivery, *_ = wait_for(partial(receiver.of, "payment.refunded"), AT_ONCE)
    signature = hmac.new(receiver.secret.encode(), delivery.body, hashlib.sha256).hexdigest()
    assert delivery.headers["x-service-signature"] == signature
    assert delivery.headers["x-service-test"] == "true"
    assert delivery.headers["x-service-retry-count"] == "0"


def test_the_gateway_itself_answers_in_the_shape_of_the_service(deployed: str) -> None:
    status, headers, body = Api(deployed).call("GET", "/no/such/path")
    assert (status, body["statusCode"], body["error"]) == (404, 404, "Not Found")
    assert headers["x-request-id"]


def test_a_known_path_with_another_method_is_answered_by_the_service(deployed: str) -> None:
    status, headers, body = Api(deployed).call("DELETE", "/v2/health")
    assert (status, body["statusCode"]) == (405, 405)
    assert headers["x-request-id"]


def test_an_e_mail_user_manages_credentials(deployed: str, api: Api) -> None:
    anybody, user = Api(deployed), {"email": "merchant@example.com", "password": "correct horse"}
    anybody.done("POST", "/v1/auth/register", user)
    mine = anybody.signed_in("/v1/auth/login", user)
    assert mine.done("GET", "/v1/auth/me")["email"] == user["email"]

    wanted = {"label": "shop"}
    (first, again) = [mine.call("POST", "/v1/api-keys", wanted, idempotency_key="once") for _ in range(2)]
    assert first[0] == 201
    assert again[2] == first[2], "the answer holds a secret, so it was sealed and opened"
    assert again[1]["idempotent-replayed"] == "true"
    key = Api(deployed, first[2]["key"])
    client = key.done("POST", "/v2/client-ids", {"label": "shop", "allowedDomains": ["https://shop.example"]})
    assert mine.done("GET", f"/v1/client-ids/{client['id']}")["clientId"] == client["clientId"]
    assert key.call("GET", "/v2/client-ids")[1]["ratelimit-limit"] == str(5 * 50)

    platform = mine.done("POST", "/v2/orchestrators", ORCHESTRATOR)["rawKey"]
    linked = {"clientId": client["clientId"]}
    anybody.done("POST", "/v2/orchestrators/client-ids", linked, x_orchestrator_key=platform)
    assert anybody.done("GET", "/v2/orchestrators/client-ids", x_orchestrator_key=platform)["total"] == 1
    anybody.done("DELETE", f"/v2/orchestrators/client-ids/{client['clientId']}", x_orchestrator_key=platform)

    mine.done("DELETE", f"/v1/api-keys/{first[2]['id']}")
    assert key.call("GET", "/v2/client-ids")[0] == 401
    actions = {line["action"] for line in mine.done("GET", "/v1/audit")["entries"]}
    assert actions >= {"session.created", "api_key.created", "api_key.revoked", "client_id.created"}
    mine.done("POST", "/v1/auth/logout")
    assert mine.call("GET", "/v1/auth/me")[0] == 401


def test_a_wallet_signs_in_and_says_where_it_is_paid(deployed: str) -> None:
    from eth_account import Account
    from eth_account.messages import encode_defunct

    wallet, anybody = Account.from_key("0x" + "19" * 32), Api(deployed)
    asked = anybody.done("POST", "/v1/auth/wallet/challenge", {"address": wallet.address})
    signature = "0x" + bytes(wallet.sign_message(encode_defunct(text=asked["message"])).signature).hex()
    del asked["expiresAt"]
    mine = anybody.signed_in("/v1/auth/wallet/verify", {**asked, "signature": signature})
    assert anybody.call("POST", "/v1/auth/wallet/verify", {**asked, "signature": signature})[0] == 401

    route = {"tokenAddress": FUSDC, "chainId": 11155111}
    destination = mine.done("POST", "/v1/payee-destination", route)
    assert mine.done("GET", "/v1/payee-destination")["destinationId"] == destination["destinationId"]
    mine.done("PATCH", "/v1/payee-destination/deactivate", {"destinationId": destination["destinationId"]})
    (session,) = mine.done("GET", "/v1/auth/sessions")
    mine.done("DELETE", f"/v1/auth/sessions/{session['id']}")
    assert mine.call("GET", "/v1/auth/me")[0] == 401


def test_what_runs_is_compared_with_this_checkout(cloud: Cloud, deployed: str) -> None:
    """One changed byte, one more action, one changed setting: a line for each, and the next deployment undoes them."""
    assert found_by_verify(cloud) == []
    lambda_, byte, setting = cloud.client("lambda"), "expire_links", "track_announced"
    location = lambda_.get_function(FunctionName=function_name("local", byte))["Code"]["Location"]
    with urllib.request.urlopen(location) as answer:
        changed = with_a_changed_byte(answer.read(), "chalicelib/base/errors.py")
    lambda_.update_function_code(FunctionName=function_name("local", byte), ZipFile=changed)
    iam, role = cloud.client("iam"), f"{PREFIX}-run_payment_intents"
    (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    allowed = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    allowed["Statement"][0]["Action"].append("logs:DeleteLogStream")
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(allowed))
    variables = lambda_.get_function_configuration(FunctionName=function_name("local", setting))["Environment"]
    variables["Variables"]["LINK_LIFETIME_SECONDS"] = "1"
    lambda_.update_function_configuration(FunctionName=function_name("local", setting), Environment=variables)
    first, second, third = found_by_verify(cloud)
    assert first == f"{byte}: deployment.zip differs in chalicelib/base/errors.py"
    assert second.startswith("run_payment_intents: its policy differs; more than here: ['logs:DeleteLogStream on ")
    assert third == f"{setting}: LINK_LIFETIME_SECONDS is '1', and '604800' here"


def test_what_a_person_has_changed_by_hand_is_named(cloud: Cloud, deployed: str) -> None:
    """The next deployment undoes all but the last two, which are of the stack: test_a_second_deployment looks again."""
    lambda_, before = cloud.client("lambda"), set(found_by_verify(cloud))
    function = partial(function_name, "local")
    (mapping,) = lambda_.list_event_source_mappings(FunctionName=function("deliver_webhook"))["EventSourceMappings"]
    lambda_.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    (rule,) = rules_of(cloud, "expire_links")
    cloud.client("events").disable_rule(Name=rule)
    lambda_.put_function_recursion_config(FunctionName=function("retry_webhook"), RecursiveLoop="Terminate")
    lambda_.put_function_concurrency(FunctionName=function("api_handler"), ReservedConcurrentExecutions=0)
    lambda_.add_permission(
        FunctionName=function("scan_chain"),
        StatementId="by-hand",
        Action="lambda:InvokeFunction",
        Principal="apigateway.amazonaws.com",
        SourceArn="arn:aws:execute-api:us-east-1:000000000000:of-another/*",
    )
    queue = cloud.client("sqs").get_queue_url(QueueName=f"{PREFIX}-webhooks")["QueueUrl"]
    visibility = cloud.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["VisibilityTimeout"])
    cloud.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "1"})
    cloud.client("logs").put_retention_policy(logGroupName=f"/aws/lambda/{PREFIX}", retentionInDays=1)
    gateway, api = cloud.client("apigateway"), rest_api_id(cloud.client, "local")
    assert api is not None
    gateway.put_gateway_response(restApiId=api, responseType="THROTTLED", statusCode="200")
    nodes = {each["path"]: each["id"] for each in gateway.get_resources(restApiId=api, limit=500)["items"]}
    gateway.delete_method(restApiId=api, resourceId=nodes["/v2/health"], httpMethod="HEAD")
    elsewhere = [{"op": "replace", "path": "/uri", "value": "https://elsewhere.example"}]
    gateway.update_integration(
        restApiId=api, resourceId=nodes["/v2/status"], httpMethod="GET", patchOperations=elsewhere
    )
    added = gateway.create_resource(restApiId=api, parentId=nodes["/v2"], pathPart="by-hand")["id"]
    gateway.put_method(restApiId=api, resourceId=added, httpMethod="GET", authorizationType="NONE")
    gateway.create_deployment(restApiId=api, stageName="local")
    keys = cloud.client("kms")
    keys.disable_key(KeyId=keys.describe_key(KeyId=f"alias/{PREFIX}-secrets")["KeyMetadata"]["KeyId"])
    found = sorted(set(found_by_verify(cloud)) - before)
    keys.enable_key(KeyId=keys.describe_key(KeyId=f"alias/{PREFIX}-secrets")["KeyMetadata"]["KeyId"])
    expected = [
        "API: GET /v2/by-hand is served, by nothing, and not here",
        "API: GET /v2/status is led to https://elsewhere.example, with no credentials of API Gateway",
        "API: HEAD /v2/health is not served",
        "API: its response THROTTLED is ('200', ",
        f"alias/{PREFIX}-secrets: its key is Disabled, so that nothing can be read or signed with it",
        f"/aws/lambda/{PREFIX}: changed by hand, /RetentionInDays is ",
        "api_handler: 0 executions are reserved, and none here",
        "deliver_webhook: its queue has (batch, concurrency, state) [(1, 20, 'Disabled')], and ",
        "payment page: ",  # which the API does not serve while it may run no function
        "expire_links: its schedules are [('rate(1 minute)', 'DISABLED')], and [('rate(1 minute)', 'ENABLED')] here",
        f"{queue.replace('127.0.0.1', 'localhost')}: changed by hand, /VisibilityTimeout is ",  # so the stack names it
        "retry_webhook: RecursiveLoop is Terminate, and Allow here",
        'scan_chain: {"Service": "apigateway.amazonaws.com"} may invoke it, for arn:aws:execute-api:',
    ]
    assert [said for said in expected if not any(line.startswith(said) for line in found)] == [], found
    assert len(found) == len(expected), found
    cloud.client("sqs").set_queue_attributes(QueueUrl=queue, Attributes=visibility["Attributes"])
    days = whole_template()["Resources"]["ApiHandlerLogs"]["Properties"]["RetentionInDays"]
    cloud.client("logs").put_retention_policy(logGroupName=f"/aws/lambda/{PREFIX}", retentionInDays=days)


def rules_of(cloud: Cloud, function: str) -> list[str]:
    arn = cloud.client("lambda").get_function_configuration(FunctionName=function_name("local", function))["FunctionArn"]
    return cloud.client("events").list_rule_names_by_target(TargetArn=arn)["RuleNames"]


def test_a_function_that_lacks_anything_keeps_a_deployment_from_being_finished(cloud: Cloud, deployed: str) -> None:
    """A permission, a queue and a setting; the deployment names each with its function."""
    iam, role = cloud.client("iam"), f"{PREFIX}-run_commerce"
    (name,) = iam.list_role_policies(RoleName=role)["PolicyNames"]
    whole = iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"]
    without = [each for each in whole["Statement"] if each["Sid"] != "TableWebhooks"]
    iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps({**whole, "Statement": without}))
    lambda_, other = cloud.client("lambda"), function_name("local", "sweep_outbox")
    variables = lambda_.get_function_configuration(FunctionName=other)["Environment"]["Variables"]
    mistyped = {**variables, "RESOURCE_PREFIX": "payment-request-local"}
    lambda_.update_function_configuration(FunctionName=other, Environment={"Variables": mistyped})
    try:
        with pytest.raises(DeploymentStopped, match="^The functions: ") as stopped:
            finish(target_as(cloud, "deployer"))
    finally:
        iam.put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=json.dumps(whole))
        lambda_.update_function_configuration(FunctionName=other, Environment={"Variables": variables})
    lines = [line.strip() for line in str(stopped.value).splitlines()[1:]]
    assert any(line.startswith("run_commerce: PutItem of the table webhooks: ") and "AccessDenied" in line for line in lines)
    assert any(line.startswith("sweep_outbox: GetItem of the table webhooks: ") for line in lines)
    assert any(line.startswith("sweep_outbox: the queue announcements: ") for line in lines)
    assert any(line.startswith("sweep_outbox: its settings are of another stage: ") for line in lines)
    assert {line.partition(":")[0] for line in lines} == {"run_commerce", "sweep_outbox"}
    finish(target_as(cloud, "deployer"))


@pytest.mark.usefixtures("deployed")
@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("Access logs and throttling of the API", "/stages/"),
        ("The firewall", "payment-requests-local-waf"),
        ("The health of the API", "/v2/health"),
    ],
)
def test_a_step_after_chalice_that_fails_is_named(
    cloud: Cloud, step: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "HEALTHY_WITHIN_SECONDS", 0)
    with door(cloud.url, lambda _method, path, body: part in path + body.decode()) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with pytest.raises(DeploymentStopped, match=f"^{step}: ") as stopped:
            finish(target_of("local"))
    assert CAUSE in str(stopped.value) or "403" in str(stopped.value)


def found_by_verify(cloud: Cloud) -> list[str]:
    return list(differences(target_as(cloud, "operator")))


def with_a_changed_byte(archive: bytes, name: str) -> bytes:
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as before, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            content = before.read(entry)
            after.writestr(entry, content[:-1] + b" " if entry.filename == name else content)
    return changed.getvalue()


def test_the_operator_may_run_every_command_of_the_runbook(
    cloud: Cloud, deployed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it keeps the credentials that it has found first
    for name, value in {
        **variables_of("local"),
        **cloud.environment(),
        **key_of(cloud, "operator"),
        "RELAYER_KEYS": '{"sepolia": "kms"}',
    }.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, status: int = 0) -> str:
        assert admin.main([*arguments]) == status, capsys.readouterr()
        said = capsys.readouterr()
        return (said.err if status else said.out).strip()

    account = run("create-account", "Shop Ltd")
    run("create-api-key", "--account", account)
    run("create-client-id", "--account", account, "--domain", "https://shop.example")
    run("create-orchestrator", "--account", account, "--email", "ops@platform.example", "Platform")
    key = next(line.split()[2] for line in run("list", "--account", account).splitlines() if line.startswith("API key"))
    run("set-tier", key, "premium", "--account", account)
    run("revoke", key, "--account", account)
    run("end-sessions", "--account", account)
    run("reindex")
    run("relayer")
    assert run("settle-offramp", "01ab", "refunded", status=1) == "There is no off-ramp order of the request 01ab."

    clients = {name: boto3.client(name) for name in ("dynamodb", "secretsmanager", "sqs", "logs", "cloudwatch", "sns")}
    secret = {"SecretId": f"{PREFIX}-rpc-urls"}
    urls = clients["secretsmanager"].get_secret_value(**secret)["SecretString"]
    clients["secretsmanager"].put_secret_value(**secret, SecretString=urls)
    ban = {"pk": {"S": "RATE#block#ab"}, "sk": {"S": "RATE"}}
    clients["dynamodb"].delete_item(TableName=f"{PREFIX}-ops", Key=ban)
    dead = clients["sqs"].get_queue_url(QueueName=f"{PREFIX}-webhooks-dead")["QueueUrl"]
    clients["sqs"].receive_message(QueueUrl=dead)
    clients["sqs"].get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])
    clients["logs"].filter_log_events(logGroupName=f"/aws/lambda/{PREFIX}")
    clients["cloudwatch"].describe_alarms(AlarmNamePrefix=PREFIX)
    with pytest.raises(ClientError, match="AccessDenied|not authorized"):
        boto3.client("iam").list_users()


@pytest.fixture(scope="module")
def redeployed(cloud: Cloud, api: Api) -> Redeployment:
    """A second deployment, with a link made before it and functions in the account that the app does not have."""
    token, before = api.create_link(), read_deployed_record(cloud.client, "local")
    make_function(cloud, name=f"{PREFIX}-retired", role=f"{PREFIX}-retired")
    make_function(cloud, name=f"{PREFIX}-stranger", role="stranger")
    deploy_to(cloud)
    return Redeployment(token, before)


def test_a_second_deployment_makes_nothing_twice_and_loses_nothing(
    cloud: Cloud, api: Api, redeployed: Redeployment
) -> None:
    assert unversioned(read_deployed_record(cloud.client, "local")) == unversioned(redeployed.before)
    apis = cloud.client("apigateway").get_rest_apis()["items"]
    assert len([each for each in apis if each["name"] == "payment-requests"]) == 1
    assert len(cloud.client("lambda").list_event_source_mappings()["EventSourceMappings"]) == CONSUMERS
    assert api.call("GET", f"/v2/secure-payments/{redeployed.token}")[0] == 200
    assert found_by_verify(cloud) == []


@pytest.mark.usefixtures("redeployed")
def test_a_deployment_removes_what_the_app_no_longer_has_and_nothing_of_others(cloud: Cloud) -> None:
    left = {function["FunctionName"] for function in cloud.client("lambda").list_functions()["Functions"]}
    assert left == {function_name("local", function) for function in ACCESS} | {f"{PREFIX}-stranger"}
    roles = {role["RoleName"] for role in cloud.client("iam").list_roles()["Roles"]}
    assert roles == {f"{PREFIX}-{function}" for function in ACCESS} | {"stranger"}


def make_function(cloud: Cloud, name: str, role: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("code.py", "")
    arn = make_role(cloud, role)
    cloud.client("lambda").create_function(
        FunctionName=name, Role=arn, Runtime="python3.11", Handler="code.run", Code={"ZipFile": packed.getvalue()}
    )


def make_role(cloud: Cloud, name: str) -> str:
    trusted = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [trusted]})
    return cloud.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=trust)["Role"]["Arn"]


def unversioned(record: dict[str, Any]) -> list[dict[str, str]]:
    return [entry for entry in record["resources"] if entry["resource_type"] != "lambda_layer"]


@pytest.mark.usefixtures("deployed")
def test_two_apis_that_could_be_the_one_stop_the_deployment(cloud: Cloud) -> None:
    apigateway = cloud.client("apigateway")
    made = [apigateway.create_rest_api(name="payment-requests")["id"] for _ in range(2)]
    try:
        with pytest.raises(DeploymentStopped, match="several REST APIs"):
            rest_api_id(cloud.client, "dev")
        assert rest_api_id(cloud.client, "local") not in made
    finally:
        for api in made:
            apigateway.delete_rest_api(restApiId=api)


def test_the_schedules_fire_a_payment_reaches_the_merchant_and_no_function_is_refused_anything(
    cloud: Cloud, api: Api, receiver: Receiver, services: Services, chain: Chain
) -> None:
    from eth_account import Account

    payer = Account.from_key(PAYER_KEY).address
    paid, expiring = api.create_link(), api.create_link()
    link = services.store.get(Link, Link.KEY.of(token=expiring))
    services.store.write(replace(link, expires_at=datetime.now(UTC) - timedelta(seconds=1)))
    announced = announce(api, services, Safe.deploy(chain, SAFE_OWNERS).address)

    chain.fund_native(payer, 10**18)
    chain.fund_native(relayer_address(services), 10**20)
    status, _, answer = api.call("GET", f"/v2/secure-payments/{paid}/pay?wallet={payer}")
    assert status == 200, answer
    for transaction in answer["transactions"]:
        assert chain.send(transaction, PAYER_KEY)["status"] == "0x1"
    chain.mine(5)

    confirmed, *_ = wait_for(partial(receiver.of, "payment.confirmed"), SCHEDULED, partial(last_words, cloud))
    assert json.loads(confirmed.body)["totalAmountPaid"] == "0.5"
    wait_for(lambda: services.store.get(Link, Link.KEY.of(token=paid)).status is LinkStatus.COMPLETED, AT_ONCE)
    wait_for(lambda: services.store.get(Link, Link.KEY.of(token=expiring)).status is LinkStatus.EXPIRED, AT_ONCE)
    wait_for(lambda: services.store.get(LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=announced)).version > 2, SCHEDULED)
    assert services.store.get(LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=announced)).first.status is AnnouncedStatus.PENDING
    failures = {}
    for function in ACCESS.keys() - IDLE:
        lines = wait_for(partial(logs_of, cloud, function), AT_ONCE)
        others = [line for line in lines if not any(word in line for word in EXPECTED)]
        failures[function] = [line for line in others if any(word in line for word in FAILURES)]
    assert {function: lines for function, lines in failures.items() if lines} == {}


def announce(api: Api, services: Services, safe: str) -> str:
    """A link with a multisig transaction that is to be looked at by the next schedule."""
    with suppress(WriteConflict):  # the network is being read already
        services.store.write(Cursor("sepolia", 0, (), 2000, agreed_until=services.clock()))
    token = api.create_link()
    body = {"safeTxHash": "0x" + "ab" * 32, "chain": "SEPOLIA", "token": "ETH-sepolia", "payerAddress": safe}
    assert api.done("POST", f"/v2/secure-payments/{token}/intent", body)["isListening"] is True
    announced = services.store.get(LinkAnnouncements, LinkAnnouncements.KEY.of(link_token=token))
    services.store.write(replace(announced, first=replace(announced.first, check_at=announced.first.created_at)))
    return token


@pytest.mark.parametrize("command", ["infra.deploy", "infra.verify"])
def test_without_a_local_cloud_one_sentence_says_so(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", command, "--stage", "local"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("No local cloud answers at http://127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1


def test_a_deployment_that_cannot_be_recorded_says_so(
    cloud: Cloud, deployed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert deployed
    with door(cloud.url, lambda method, path, _body: method == "PUT" and "/deployments/" in path) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with pytest.raises(DeploymentStopped, match=f"^The record of the deployment: .*{CAUSE}"):
            finish(target_of("local"))
