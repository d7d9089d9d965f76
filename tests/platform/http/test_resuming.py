"""A request with an idempotency key has one effect wherever its process dies, and its response is made again if possible."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from secrets import token_bytes
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chalicelib.base.ids import webhook_secret
from chalicelib.payments.links import expiry
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.multicalls import reading as multicall_reading
from chalicelib.payments.links.records import ASSEMBLY_TIME
from chalicelib.platform.access.callers import SentCredential
from chalicelib.platform.access.flows import identify
from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.idempotency.rules import LEASE, RESPONSE_LOST, STILL_RUNNING, entropy_of, scope_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.rate_limits.flows import count
from chalicelib.platform.access.rate_limits.rules import account_quota, units_window
from chalicelib.platform.services import Services
from infra.local.cloud import Cloud
from tests.bench.calls import counted
from tests.fakes.announcements import HASH, SAFE
from tests.fakes.crash import Crash, FragileClient, Tripwire
from tests.fakes.payouts import store_payouts
from tests.fakes.world import PAYEE, PREFIX, World, in_process_aws
from tests.support.client import item
from tests.support.keyed import ADDRESS, ORIGIN, WALLET, Account, Deployment, RandomSecrets, Reply, Sent
from tests.support.light_passwords import light_passwords
from tests.support.rehearsed import few, rehearsed

PARALLEL = 20
LINK = {"requests": [item()], "reference": "INV-1"}
MONTHLY = {"startDate": "2101-01-31", "frequency": "MONTHLY"}
PAYOUT = {
    "recipient": PAYEE,
    "creatorWalletAddress": WALLET.address,
    "network": "sepolia",
    "currency": "fUSDC-sepolia",
    "amount": "12.50",
}
ROUTE = {"tokenAddress": "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238", "chainId": 11155111}
CLIENT = {"label": "web", "allowedDomains": ["https://shop.example"]}
PLATFORM = {"orchestratorName": "platform", "orchestratorContactEmail": "platform@shop.example"}
USER = {"email": "new@shop.example", "password": "correct horse"}


def tokens(account: Account, count: int) -> list[str]:
    return [each.link.token for each in store_payouts(account.world.services, account.account_id, count)]


def multicall(account: Account, count: int) -> Sent:
    return Sent("create_multicall_payout", {"childTokens": tokens(account, count)}, account.by_key)


def made(account: Account, name: str, body: Any, headers: dict[str, str]) -> Any:
    """What an operation made before, without a key."""
    reply = Sent(name, body, headers, key=None).to(account.world.services)
    assert reply.status in (200, 201), reply.text
    return reply.json


def requests(account: Account, body: Any, count: int) -> list[str]:
    return [made(account, "create_request", body, account.by_key)["requestId"] for _ in range(count)]


def quoted(account: Account) -> None:
    """From now on amounts in dollars can be paid in fUSDC."""
    account.world.prices.set("USD", "USDC", "1.0003")


IN_DOLLARS = item(invoiceCurrency="USD")
Case = Callable[[Account], Sent]
ANSWERED_AGAIN: dict[str, Case] = {
    "a link": lambda a: Sent("create_secure_payment", LINK, a.by_key),
    "a link of a client id": lambda a: Sent("create_secure_payment", LINK, a.by_client),
    "a batch of 70": lambda a: Sent("create_secure_payment", {"requests": [item()] * 70}, a.by_key),
    "a request": lambda a: Sent("create_request", item(), a.by_key),
    "a stopped recurrence": lambda a: Sent(
        "update_request",
        {"isRecurrenceStopped": True},
        a.by_key,
        {"request_id": made(a, "create_request", item(recurrence=MONTHLY), a.by_key)["requestId"]},
    ),
    "a payout of one call": lambda a: Sent("pay_out", item(), a.by_key),
    "a quoted payout": lambda a: (quoted(a), Sent("pay_out", IN_DOLLARS, a.by_key))[1],
    "70 payouts": lambda a: Sent("pay_batch", {"requests": [item()] * 70}, a.by_client),
    "70 quoted payouts": lambda a: (quoted(a), Sent("pay_batch", {"requests": [IN_DOLLARS] * 70}, a.by_key))[1],
    "stored payouts": lambda a: Sent("pay_batch", {"requestIds": requests(a, item(), 60)}, a.by_key),
    "quoted stored payouts": lambda a: (
        quoted(a),
        Sent("pay_batch", {"requestIds": requests(a, IN_DOLLARS, 3)}, a.by_key),
    )[1],
    "a payout": lambda a: Sent("create_payout", PAYOUT, a.by_key),
    "a multicall of 2": lambda a: multicall(a, 2),
    "a multicall of 110": lambda a: multicall(a, 110),
    "an intent": lambda a: Sent(
        "record_intent",
        {"safeTxHash": HASH, "chain": "SEPOLIA", "token": "fUSDC", "payerAddress": SAFE},
        a.by_key,
        {"token": made(a, "create_secure_payment", LINK, a.by_key)["token"]},
    ),
    "a webhook": lambda a: Sent("create_webhook", {"url": "https://shop.example/hook"}, a.by_key),
    "an API key": lambda a: Sent("create_api_key", {"label": "server"}, a.by_session),
    "an orchestrator": lambda a: Sent("create_orchestrator", PLATFORM, a.by_session),
    "a client id": lambda a: Sent("create_client_id", CLIENT, a.by_key),
    "a change of a client id": lambda a: Sent(
        "update_client_id", {"label": "shop"}, a.by_key, {"id": made(a, "create_client_id", CLIENT, a.by_key)["id"]}
    ),
    "a revoked client id": lambda a: Sent(
        "revoke_client_id", None, a.by_key, {"id": made(a, "create_client_id", CLIENT, a.by_key)["id"]}
    ),
    "a challenge": lambda a: Sent("ask_challenge", {"address": WALLET.address}, {}),
    "a user": lambda a: Sent("register", USER, {}),
    "a session": lambda a: (made(a, "register", USER, {}), Sent("log_in", USER, {}))[1],
}
SAYS_IT_TOOK_EFFECT: dict[str, Case] = {
    "a merge": lambda a: Sent("batch_payouts", {"tokens": tokens(a, 3)}, a.by_key),
    "a destination": lambda a: Sent(
        "keep_own_payee_destination", ROUTE, {"authorization": f"Bearer {a.wallet_session}"}
    ),
    "a switched webhook": lambda a: Sent(
        "toggle_webhook",
        None,
        a.by_key,
        {"webhook_id": made(a, "create_webhook", {"url": "https://shop.example/1"}, a.by_key)["id"]},
    ),
    "a revoked API key": lambda a: Sent(
        "revoke_api_key", None, a.by_session, {"key_id": made(a, "create_api_key", {"label": "x"}, a.by_session)["id"]}
    ),
    "a revoked orchestrator": lambda a: Sent(
        "revoke_orchestrator",
        None,
        a.by_session,
        {"orchestrator_id": made(a, "create_orchestrator", PLATFORM, a.by_session)["orchestrator"]["id"]},
    ),
}
CASES = {**ANSWERED_AGAIN, **SAYS_IT_TOOK_EFFECT}
LARGE = {"70 payouts", "70 quoted payouts", "stored payouts", "a multicall of 110"}
"""Of several transactions, as the batch of 70."""


@pytest.fixture(autouse=True, scope="module")
def cheap_passwords() -> Iterator[None]:
    with light_passwords():
        yield


@pytest.fixture
def account() -> Iterator[Account]:
    with in_process_aws() as client:
        yield Account(World(client, seed=99, multicall_max_children=1000, rate_limit_scale=100))


@pytest.mark.parametrize("case", few(CASES.keys() - LARGE, CASES))
def test_wherever_its_process_dies_a_request_has_one_effect(account: Account, case: str) -> None:
    sent = CASES[case](account)
    deployment = Deployment(account.world)
    undisturbed = sent.to(deployment.process())
    assert undisturbed.status < 300, undisturbed.text
    effects, fatal, resumed = deployment.effects(), 0, 0
    while deployment.put_back() or deployment.dies(sent, fatal := fatal + 1):
        has_begun = bool(deployment.steps())
        deployment.world.advance(LEASE.total_seconds())
        reply = sent.to(deployment.process(seed=2))
        again = sent.to(deployment.process(seed=3))
        if has_begun and case in SAYS_IT_TOOK_EFFECT and "idempotent-replayed" not in reply.headers:
            assert (reply.status, reply.json["message"]) == (409, RESPONSE_LOST), f"died at call {fatal}"
        else:
            assert reply.status == undisturbed.status, f"died at call {fatal}: {reply.text}"
            assert not has_begun or reply.text == undisturbed.text, f"died at call {fatal}"
        assert (again.status, again.text, again.headers["idempotent-replayed"]) == (reply.status, reply.text, "true")
        assert deployment.effects() == effects, f"died at call {fatal}"
        resumed += has_begun
    assert fatal > 2
    assert resumed >= 1


@pytest.mark.parametrize(
    ("case", "more"),
    [
        ("a link", {"PutItem": 1, "UpdateItem": 1}),
        ("a batch of 70", {"PutItem": 1, "UpdateItem": 1}),
        ("a multicall of 110", {"PutItem": 1, "UpdateItem": 1}),
        ("a challenge", {"UpdateItem": 1, "TransactWriteItems": 1}),
    ],
)
def test_a_key_costs_two_writes_and_no_read(account: Account, case: str, more: dict[str, int]) -> None:
    """One before the first transaction, one for the response. A single put becomes a transaction with the key's record."""
    sent = CASES[case](account)
    deployment = Deployment(account.world)
    with counted(account.world.client) as without:
        replace(sent, key=None).to(deployment.process())
    deployment.put_back()
    with counted(account.world.client) as keyed:
        sent.to(deployment.process())
    keyed.by_operation.subtract(without.by_operation)
    assert {name: count for name, count in keyed.by_operation.items() if count} == more


@pytest.mark.parametrize("case", few(CASES.keys() - LARGE, CASES))
def test_a_process_that_wakes_after_its_lease_makes_nothing(account: Account, case: str) -> None:
    """It sleeps before one of its transactions; another process takes the key and answers, then the first one goes on."""
    sent = CASES[case](account)
    deployment = Deployment(account.world)
    undisturbed = sent.to(deployment.process())
    effects, transactions = deployment.effects(), len(deployment.steps() or ())
    assert transactions > 0
    for number in range(transactions):
        deployment.put_back()
        late, reply = overtaken(deployment, sent, number)
        assert deployment.effects() == effects
        assert late.status == 409
        is_made_again = number == 0 or case in ANSWERED_AGAIN
        assert reply.status == (undisturbed.status if is_made_again else 409), reply.text
        assert sent.to(deployment.process()).text == reply.text


def overtaken(deployment: Deployment, sent: Sent, number: int) -> tuple[Reply, Reply]:
    """What a process answers that sleeps before its transaction `number`, and the one that takes its key meanwhile."""
    replies = list[Reply]()

    def sleep() -> None:
        deployment.world.advance(LEASE.total_seconds())
        replies.append(sent.to(deployment.process(seed=2)))

    late = sent.to(deployment.process(client=Sleepy(deployment.world.client, number, sleep)))
    return late, replies[0]


class Sleepy:
    """A DynamoDB client that does something before a transaction, by its number."""

    def __init__(self, client: Any, number: int, sleep: Callable[[], None]) -> None:
        self._client, self._left, self._sleep = client, number, sleep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, **parameters: Any) -> Any:
        self._left -= 1
        if self._left == -1:
            self._sleep()
        return self._client.transact_write_items(**parameters)


@settings(max_examples=10)
@given(
    case=st.sampled_from(sorted(CASES)),
    deaths=st.lists(st.tuples(st.integers(1, 10), st.sampled_from((0, 61, 300))), max_size=4),
)
def test_however_often_its_process_dies_a_request_has_one_effect(
    case: str, deaths: list[tuple[int, int]]
) -> None:
    assume(sum(seconds for _, seconds in deaths) < 14 * 60)  # a wallet's session lasts a quarter of an hour
    with in_process_aws() as client:
        account = Account(World(client, seed=99, multicall_max_children=1000, rate_limit_scale=100))
        sent = CASES[case](account)
        deployment = Deployment(account.world)
        undisturbed = sent.to(deployment.process())
        effects = deployment.effects()
        deployment.put_back()
        for fatal, seconds in deaths:
            deployment.dies(sent, fatal)
            deployment.world.advance(seconds)
            expiry.expire_due(account.world.services)
            account.prove_presence()
        deployment.world.advance(LEASE.total_seconds())
        reply = sent.to(deployment.process(seed=2))
        assert deployment.effects() == effects
        assert reply.status == undisturbed.status or reply.json["message"] == RESPONSE_LOST
        assert reply.status == undisturbed.status or case in SAYS_IT_TOOK_EFFECT


def die_after(deployment: Deployment, sent: Sent, transactions: int) -> None:
    """A process makes so many transactions of the request, and dies."""
    for fatal in itertools.count(1):
        deployment.put_back()
        assert deployment.dies(sent, fatal)
        if len(deployment.steps() or ()) == transactions:
            return


def test_a_request_whose_grounds_changed_is_told_that_it_took_effect(account: Account) -> None:
    """The client id has another fee now. Made again, the response would show a fee that the link does not have."""
    client = made(account, "create_client_id", CLIENT, account.by_key)
    sent = Sent("create_secure_payment", LINK, {"x-client-id": client["clientId"], "origin": CLIENT["allowedDomains"][0]})
    deployment = Deployment(account.world)
    die_after(deployment, sent, 1)
    effects = deployment.effects()
    fee = {"feePercentage": "2", "feeAddress": PAYEE}
    changed = Sent("update_client_id", fee, account.by_key, {"id": client["id"]}, key=None).to(deployment.process(seed=5))
    assert changed.status == 200, changed.text
    deployment.world.advance(LEASE.total_seconds())
    reply = sent.to(deployment.process(seed=2))
    assert (reply.status, reply.json["message"]) == (409, RESPONSE_LOST)
    assert deployment.effects()["payments", "LINK", "LINK"] == effects["payments", "LINK", "LINK"] == 1


def test_a_multicall_that_was_abandoned_meanwhile_is_made_anew(account: Account) -> None:
    sent = multicall(account, 150)
    deployment = Deployment(account.world)
    sent.to(deployment.process())
    effects = deployment.effects()
    die_after(deployment, sent, 1)
    deployment.world.advance(ASSEMBLY_TIME.total_seconds())
    expiry.expire_due(account.world.services)
    reply = sent.to(deployment.process(seed=2))
    assert (reply.status, deployment.effects()) == (201, effects)
    token = reply.json["token"]
    assert multicall_reading.read(account.world.services, token, account.account_id).can_execute
    assert sent.to(deployment.process(seed=3)).text == reply.text


def test_a_resumed_request_is_counted_when_it_is_resumed(account: Account) -> None:
    """The minute in which it began, which it sees as the present one, may be used up."""
    sent = Sent("create_secure_payment", {"requests": [item()] * 200}, account.by_key)
    deployment, services = Deployment(account.world), account.world.services
    die_after(deployment, sent, 1)
    minute = units_window(account_quota(account.account_id), services.settings.rate_limit_scale, services.clock())
    while count(services, minute, 100):
        pass
    deployment.world.advance(LEASE.total_seconds())
    reply = sent.to(deployment.process(seed=2))
    assert reply.status == 201, reply.text


def test_many_retries_at_once_after_a_death_have_one_effect(cloud: Cloud) -> None:
    """A batch of 200 of which one transaction was made; 20 processes finish it."""
    world = World(cloud.client("dynamodb"), seed=81_007, rate_limit_scale=1000)
    account = Account(world)
    sent = Sent("create_secure_payment", {"requests": [item()] * 200}, account.by_key)

    def process(client: Any) -> Services:
        return replace(world.start(client), secrets=RandomSecrets(), entropy=token_bytes)

    with pytest.raises(Crash):
        sent.to(process(FragileClient(world.client, Tripwire(6, before=False))))
    world.advance(LEASE.total_seconds())
    barrier = threading.Barrier(PARALLEL)

    def retry(_: int) -> Reply:
        services = process(cloud.client("dynamodb"))
        barrier.wait()
        return sent.to(services)

    with ThreadPoolExecutor(PARALLEL) as pool:
        replies = list(pool.map(retry, range(PARALLEL)))
    assert {reply.status for reply in replies} <= {201, 409}
    (text,) = {reply.text for reply in replies if reply.status == 201}
    assert {reply.json["message"] for reply in replies if reply.status == 409} <= {STILL_RUNNING}
    found = link_reading.load(world.services, json.loads(text)["token"])
    assert found is not None and len(found.requests) == 200
    keys = [item["pk"]["S"] for item in items_of(world.client, account.account_id)]
    assert keys == [f"LINK#{found.link.token}"]


@pytest.mark.parametrize(
    "body",
    [pytest.param({"requests": [item()] * 200}, marks=rehearsed), {"requests": [IN_DOLLARS] * 60}],
    ids=["direct", "quoted"],
)
def test_identical_batches_of_payouts_at_once_are_one(cloud: Cloud, body: dict[str, Any]) -> None:
    """20 processes send them under one key; nobody gets the calldata of a request that is not stored."""
    world = World(cloud.client("dynamodb"), seed=81_010 + len(body["requests"]), rate_limit_scale=1000)
    account = Account(world)
    quoted(account)
    sent = Sent("pay_batch", body, account.by_key)
    barrier = threading.Barrier(PARALLEL)

    def send(_: int) -> Reply:
        services = replace(
            world.start(cloud.client("dynamodb")), secrets=RandomSecrets(), entropy=token_bytes
        )
        barrier.wait()
        return sent.to(services)

    with ThreadPoolExecutor(PARALLEL) as pool:
        replies = list(pool.map(send, range(PARALLEL)))
    assert {reply.status for reply in replies} <= {201, 409}
    (text,) = {reply.text for reply in replies if reply.status == 201}
    assert {reply.json["message"] for reply in replies if reply.status == 409} <= {STILL_RUNNING}
    answered = [each["requestId"] for each in json.loads(text)["requests"]]
    assert requests_of(world.client, account.account_id) == sorted(answered)
    assert len(answered) == len(body["requests"])


def requests_of(client: Any, account_id: str) -> list[str]:
    """The ids of all requests of an account, sorted."""
    pages = client.get_paginator("scan").paginate(
        TableName=f"{PREFIX}-payments",
        FilterExpression="begins_with(sk, :request) AND account_id = :account",
        ExpressionAttributeValues={":request": {"S": "REQUEST#"}, ":account": {"S": account_id}},
    )
    return sorted(found["request_id"]["S"] for page in pages for found in page["Items"])


def items_of(client: Any, account_id: str) -> list[Any]:
    """The items of links of an account."""
    pages = client.get_paginator("scan").paginate(
        TableName=f"{PREFIX}-payments",
        FilterExpression="sk = :link AND account_id = :account",
        ExpressionAttributeValues={":link": {"S": "LINK"}, ":account": {"S": account_id}},
    )
    return [found for page in pages for found in page["Items"]]


def test_a_secret_cannot_be_computed_from_what_is_stored(account: Account) -> None:
    """Even with an idempotency key that is easy to guess, from a client id, which is public."""
    sent = Sent("create_webhook", {"url": "https://shop.example/hook"}, account.by_client)
    services = replace(account.world.services, secrets=RandomSecrets())
    reply = sent.to(services)
    assert reply.status == 201, reply.text
    caller = identify(services, SentCredential(Mode.CLIENT_ID, account.client_id), ORIGIN, ADDRESS)
    scope = "\n".join((caller.key_scope, "POST", "/v1/webhook", "once"))
    record = services.store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash(scope)))
    assert record is not None
    entropy = entropy_of(scope, b"\n" + json.dumps(sent.body).encode(), record.nonce)
    assert reply.json["secret"] not in {webhook_secret(entropy) for _ in range(10)}
