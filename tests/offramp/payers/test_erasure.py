"""After a person is erased, nothing that the service can read holds their data: a scan of a whole real local cloud."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote

import pytest

from chalicelib.base.errors import Conflict
from chalicelib.offramp.payers import bank_accounts, reading, reports, rules, store
from chalicelib.offramp.payers.flows import erase
from chalicelib.offramp.payers.rules import PayerNotFound, name_hash
from chalicelib.webhooks.jobs import deliver_webhook, publish_events
from infra import admin
from infra.local.cloud import Cloud
from infra.local.provider import ACCOUNT, SECRETS, ProviderServer
from tests.fakes.compliance import BANK, PERSON
from tests.fakes.crash import Crash, FragileClient, FragileQueue, Tripwire
from tests.fakes.world import PREFIX, World, in_process_aws
from tests.offramp.payers.people import NAME, add_account, notified, payer, register, said, said_of
from tests.support.client import Api, Reply
from tests.support.running import restart, running, serving

ADA = "ada.lovelace+approved@example.org"
DETAILS = {
    **PERSON,
    "email": ADA,
    "firstName": "Augusta-Ada",
    "lastName": "Lovelace-Byron",
    "addressLine1": "12 St James's Square",
    "city": "Piccadilly-London",
    "postcode": "SW1Y4LB-77",
    "phone": "+441632960961",
    "ssn": "218-09-9999",
    "dateOfBirth": "1915-12-10",
    "sourceOfFunds": "Analytical-Engines",
}
ACCOUNT_DETAILS = {
    **BANK,
    "accountName": "A Lovelace-Byron",
    "accountNumber": "770025309233",
    "bankName": "Drummonds-Bank",
    "postalCode": "SW1Y4LB-78",  # five digits alone occur by chance in what is searched
}
SAID = [
    value
    for details in (DETAILS, ACCOUNT_DETAILS)
    for name, value in details.items()
    if name not in ("beneficiaryType", "currency", "rails", "accountType", "state", "country", "nationality")
]


class Echo(ThreadingHTTPServer):
    """A receiver that fails, and repeats what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    server: Echo

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(body)
        self.send_response(500)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def provider() -> Iterator[ProviderServer]:
    with ProviderServer(None, step_seconds=3600) as running_provider:
        yield running_provider


@pytest.fixture
def api(cloud: Cloud, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    wanted = {
        **cloud.environment(),
        "RATE_LIMIT_SCALE": "1000",
        "COMPLIANCE_API_URL": provider.url,
        "COMPLIANCE_ACCOUNT": ACCOUNT,
        "WEBHOOK_ALLOW_LOOPBACK": "true",
        "LOG_LEVEL": "DEBUG",
    }
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    cloud.put_rpc_urls(PREFIX, SECRETS)
    restart()
    with serving() as server:
        api = Api(server.server_port)
        api.listen()
        yield api


def everything(cloud: Cloud) -> str:
    """Every item of every table and index of the cloud, and every message of every queue, as text."""
    dynamodb, sqs, found = cloud.client("dynamodb"), cloud.client("sqs"), list[Any]()
    for table in dynamodb.list_tables()["TableNames"]:
        indexes = dynamodb.describe_table(TableName=table)["Table"].get("GlobalSecondaryIndexes", [])
        for index in ({}, *({"IndexName": each["IndexName"]} for each in indexes)):
            for page in dynamodb.get_paginator("scan").paginate(TableName=table, **index):
                found += page["Items"]
    for url in sqs.list_queues().get("QueueUrls", []):
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages"):
            found += messages
            for each in messages:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    return json.dumps(found, default=lambda raw: raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw))


def spellings(value: str) -> set[str]:
    """A value as it may stand in a text: plain, escaped, in a URL, in base64."""
    plain = {value, value.upper(), value.lower(), quote(value, safe=""), json.dumps(value)[1:-1]}
    return plain | {base64.b64encode(value.encode()).decode().rstrip("=")}


def holds(text: str) -> set[str]:
    """The values of the person that stand in a text."""
    return {value for value in SAID if any(each in text for each in spellings(value))}


def sent(cloud: Cloud) -> list[dict[str, Any]]:
    """Takes the messages of the queues of webhooks, and runs their jobs; returns them."""
    sqs, taken = cloud.client("sqs"), list[dict[str, Any]]()
    for name, job in (("announcements", publish_events), ("webhooks", deliver_webhook)):
        url = sqs.get_queue_url(QueueName=f"{PREFIX}-{name}")["QueueUrl"]
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages"):
            for each in messages:
                job(running(), each["Body"])
                sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
                taken.append(json.loads(each["Body"]))
    return taken


def test_nothing_that_the_service_can_read_holds_the_data_of_a_person_who_was_erased(
    cloud: Cloud, api: Api, provider: ProviderServer
) -> None:
    services = running()
    account_id = admin.create_account(services, "shop")
    key = admin.create_api_key(services, account_id, "server")
    path, echo = f"/v2/payer/{quote(ADA, safe='')}", Echo()
    calls = iter(range(100))

    def ask(method: str, path: str, body: Any = None) -> Reply:
        headers = {"x-api-key": key, "idempotency-key": f"order-{next(calls)}"}
        return api.request(method, path, body, headers)

    hook = f"http://127.0.0.1:{echo.server_address[1]}/hook"
    assert ask("POST", "/v1/webhook", {"url": hook}).status == 201
    # everything that the person's data can pass through
    assert ask("GET", path).status == 404
    assert ask("POST", "/v2/payer", {**DETAILS, "clientUserId": ADA, "ssn": "no"}).status == 400
    assert ask("POST", "/v2/payer", {**DETAILS, "clientUserId": ADA, "city": f"refused {DETAILS['city']}"}).status == 400
    user_id = ask("POST", "/v2/payer", {**DETAILS, "clientUserId": ADA}).json["userId"]
    assert ask("POST", f"{path}/payment-details", {**ACCOUNT_DETAILS, "bankCode": "refused"}).status == 400
    details_id = ask("POST", f"{path}/payment-details", ACCOUNT_DETAILS).json["payment_detail"]["id"]
    assert ask("PATCH", path, {"agreementCompleted": True}).status == 200
    provider.provider.step()
    for user in [provider.provider.resources["users"][user_id]]:
        reports.take_user(services, reports.ProviderUser(user_id, user["sequence"], user["kycStatus"], "completed"))
    reports.take_account(services, reports.ProviderAccount(details_id, user_id, 9, "failed", f"{ADA} is unknown"))
    sent(cloud)
    assert any(ADA.encode() in body for body in echo.bodies), "the merchant is told who it is about"
    assert ADA in ask("GET", "/v1/webhook/events").body.decode()
    assert holds(ask("GET", f"{path}?export=true").body.decode()) == set(SAID), "and may read all of it"
    # no plain text even before
    stored = everything(cloud)
    assert holds(stored) == set()
    assert name_hash(account_id, ADA) in stored and f"PERSON#{user_id}" in stored
    # a delivery that is not sent yet
    reports.take_user(services, reports.ProviderUser(user_id, 50, "rejected", "completed"))
    sent_before = len(echo.bodies)

    erased = ask("DELETE", path)
    assert erased.status == 200 and erased.json["isErasedAtProvider"]

    assert provider.provider.resources["users"] == {} and not holds(json.dumps(provider.provider.details))
    assert sent(cloud), "the event is announced"
    assert len(echo.bodies) == sent_before, "and sent to nobody"
    left = everything(cloud)
    assert holds(left) == set()
    assert name_hash(account_id, ADA) not in left and f"PERSON#{user_id}" not in left, "nor the key, nor a hash of the id"
    assert user_id in left, "payouts refer to it"
    assert holds(api.log.getvalue()) == set(), "nor has the log"
    events = ask("GET", "/v1/webhook/events").json["events"]
    assert {json.dumps(each["body"]) for each in events if "payment" not in each["kind"]} == {"{}"}
    assert holds(ask("GET", "/v1/audit").body.decode()) == set()
    for method, end in (("GET", ""), ("GET", "?export=true"), ("GET", "/payment-details"), ("DELETE", "")):
        assert ask(method, path + end).status == 404
    assert ask("PATCH", path, {"agreementCompleted": True}).status == 404
    assert ask("POST", f"{path}/payment-details", ACCOUNT_DETAILS).status == 404
    assert holds(everything(cloud)) == set(), "nor does it come back with the ids of later calls"
    again = ask("POST", "/v2/payer", {**DETAILS, "clientUserId": ADA}).json
    assert again["userId"] != user_id, "who comes back is somebody new"
    echo.shutdown()
    echo.server_close()


# --- what stays, and what can go wrong ---


def test_ids_dates_and_statuses_stay(world: World) -> None:
    made = register(world)
    bank = add_account(world)
    reports.take_account(world.services, said_of(bank, 2, "approved"))
    left, accounts = erase(world.services, world.actor, NAME)
    assert (left.user_id, left.created_at, left.erased_at) == (made.user_id, made.created_at, world.now)
    ((account),) = accounts
    assert (account.details_id, account.status, account.sealed, account.fingerprint) == (
        bank.details_id, "approved", None, None,
    )  # fmt: skip


def test_the_provider_tells_no_more_of_a_person_who_was_erased(world: World) -> None:
    world.register_webhook()
    made, bank = register(world), add_account(world)
    erase(world.services, world.actor, NAME)
    reports.take_user(world.services, said(made, 7, "approved", "completed"))
    reports.take_account(world.services, said_of(bank, 7, "approved"))
    assert notified(world) == []
    found = store.payer(world.services.store, made.user_id)
    assert found is not None and not found.is_compliant


def test_nobody_is_erased_while_a_payout_is_under_way(world: World) -> None:
    world.services.store.write(rules.with_orders(register(world), 1))
    with pytest.raises(Conflict) as refused:
        erase(world.services, world.actor, NAME)
    assert refused.value.message == "A payout to this payer is under way: erase the payer when it has ended"
    assert bank_accounts.read(world.services, world.account_id, NAME, None) == []


@pytest.mark.parametrize("before", [True, False])
def test_a_process_that_dies_anywhere_erases_all_or_nothing(before: bool) -> None:
    for fatal in range(1, 20):
        with in_process_aws() as client:
            world = World(client)
            made = register(world)
            add_account(world)
            wire = Tripwire(fatal, before)
            try:
                erase(world.start(FragileClient(client, wire), FragileQueue(world.queue, wire)), world.actor, NAME)
                is_through = True
            except Crash:
                is_through = False
            found = store.payer(world.services.store, made.user_id)
            assert found is not None
            if found.erased_at is None:
                assert payer(world).sealed and bank_accounts.read(world.services, world.account_id, NAME, None)
            else:
                assert (not found.sealed and found.next_due) or found.is_forgotten
                with pytest.raises(PayerNotFound):
                    reading.read(world.services, world.account_id, NAME)
            if is_through:
                return
    raise AssertionError("more calls than expected")
