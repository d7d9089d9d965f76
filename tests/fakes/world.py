"""A whole deployment in one process: real flows and jobs on in-process tables, with a clock that only tests advance."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import boto3
from aws_lambda_powertools import Logger
from moto import mock_aws
from moto.core.config import default_user_config

from chalicelib.chains.catalogue.networks import ALL_NETWORKS
from chalicelib.crosschain.service.payment_intents.running import follow_payment_intent
from chalicelib.mail.flows import note, send_mail
from chalicelib.payments.currencies.rules import ConversionFacts
from chalicelib.payments.links import expiry
from chalicelib.payments.links import flows as links
from chalicelib.payments.links import reading as link_reading
from chalicelib.payments.links.creation import Draft, Terms
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.recording import flows as recording
from chalicelib.payments.recording.jobs import record_transfers
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.requests.targets import Terms as RequestTerms
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.outbound.destination_sender import DestinationSender
from chalicelib.platform.outbound.sender import PostResult
from chalicelib.platform.services import Services
from chalicelib.platform.settings import Settings
from chalicelib.platform.storage.queue import Message, continue_chain
from chalicelib.platform.storage.store import Store
from chalicelib.recurring.running import execute_recurring
from chalicelib.relayer.jobs import follow_relayed
from chalicelib.relayer.tracking import track
from chalicelib.sandbox.opening import services_for
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.endpoints.records import Endpoint
from chalicelib.webhooks.jobs import deliver_webhook, publish_events, retry_webhook
from chalicelib.webhooks.signatures import sign
from infra.local import calls as aws_calls
from infra.local.provider import ACCOUNT, SECRET
from infra.recursion import RECURSIVE
from infra.template import whole_template
from tests.fakes.chain import FEE_ADDRESS, FakeChain, FakeChains
from tests.fakes.compliance import FakeCompliance
from tests.fakes.event_bodies import assert_is_described
from tests.fakes.mails import FakeSes
from tests.fakes.memory_dynamodb import MemoryDynamoDB
from tests.fakes.memory_tables import Table
from tests.fakes.merchant_aws import MerchantAws
from tests.fakes.metrics import FakeMetrics
from tests.fakes.objects import FakeObjects
from tests.fakes.prices import FakePrices
from tests.fakes.router import FakeRouter
from tests.fakes.safes import FakeSafes
from tests.fakes.txt_records import FakeTxtRecords

PREFIX = "payment-requests-local"
PAYEE = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
WALLET = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
JOBS: dict[str, Callable[[Services, str], None]] = {
    "announcements": publish_events,
    "webhooks": deliver_webhook,
    "webhook-retries": retry_webhook,
    "scans": scan_chain,
    "recordings": record_transfers,
    "relayed": follow_relayed,
    "recurring": execute_recurring,
    "payment-intents": follow_payment_intent,
    "mails": send_mail,
    "mail-news": note,
}
"""The consumer of each queue, as in app.py."""
MOST_INVOCATIONS = 16
"""Of one function in a chain of messages, if no more are allowed (Lambda Developer Guide, recursive loop detection)."""
START = datetime(2026, 3, 15, 10, 0, tzinfo=UTC)
TERMS = Terms(timedelta(days=7), RequestTerms(False, ConversionFacts(frozenset(), has_price_source=False), {}))
"""Of new links, without conversions."""


def create_tables(client: Any, prefix: str = PREFIX) -> None:
    """Creates the tables of the template as CloudFormation does."""
    for wanted in _tables():
        known = ("BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes")
        client.create_table(
            TableName=wanted["TableName"]["Fn::Sub"].replace("${Prefix}", prefix),
            **{name: wanted[name] for name in known if name in wanted},
        )


@cache
def _tables() -> list[dict[str, Any]]:
    resources = whole_template()["Resources"].values()
    return [resource["Properties"] for resource in resources if resource["Type"] == "AWS::DynamoDB::Table"]


@dataclass
class Waiting:
    due: datetime
    queue: str
    body: str
    group: str = ""
    lineage: tuple[str, ...] = ()
    """The functions of the messages before it in its chain, as AWS counts them by the trace header of the SDK."""


@dataclass
class VirtualQueue:
    """SQS with virtual time: delays, and delivery at least once."""

    clock: Callable[[], datetime]
    messages: list[Waiting] = field(default_factory=list)
    lineage: tuple[str, ...] = ()
    """That of the message that is handled."""

    def send(self, queue: str, messages: Sequence[Message]) -> None:
        if messages:
            for action in ("sqs:GetQueueUrl", "sqs:SendMessage"):
                aws_calls.record_call(action, queue.removeprefix(f"{PREFIX}-"))
        for message in messages:
            due = self.clock() + timedelta(seconds=message.delay)
            self.messages.append(Waiting(due, queue, message.text, message.group, self.lineage))


@dataclass
class Posted:
    at: datetime
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> str:
        return json.loads(self.body)["event"]

    @property
    def delivery(self) -> str:
        return self.headers["x-service-delivery"]


@dataclass
class Receiver:
    """A merchant's endpoint: records requests and responds with `status`; None is a timeout."""

    clock: Callable[[], datetime]
    posted: list[Posted] = field(default_factory=list)
    status: int | None = 200
    files: dict[str, PostResult] = field(default_factory=dict)
    got: list[str] = field(default_factory=list)

    def check(self, url: str) -> None:
        return

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> PostResult:
        assert_is_described(json.loads(body))
        self.posted.append(Posted(self.clock(), url, dict(headers), body))
        return PostResult(self.status, None if self.status else "no answer in time")

    def get(self, url: str) -> PostResult:
        """The file at `url` that a test has put into `files`; 404 without."""
        self.got.append(url)
        return self.files.get(url, PostResult(404, None))

    @property
    def events(self) -> list[str]:
        return [posted.event for posted in self.posted]


class PlainSecrets:
    """Encryption that a test can read."""

    compliance_webhook_secret = SECRET
    gasless_networks: str | None = None
    tron_energy: str | None = None

    def encrypt(self, text: str, owner: str) -> str:
        aws_calls.record_call("kms:Encrypt", f"secrets {owner}")
        return f"{owner}:{text}"

    def decrypt(self, ciphertext: str, owner: str) -> str:
        aws_calls.record_call("kms:Decrypt", f"secrets {owner}")
        assert ciphertext.startswith(owner)
        return ciphertext.removeprefix(f"{owner}:")

    decrypt_once = decrypt


class PlainSigningKeys:
    """A private key in place of one in Secrets Manager: with World(relayer_keys={"sepolia": "secret"})."""

    address = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"

    def __init__(self, name: str = "") -> None:
        self._name = name

    def with_name(self, name: str) -> "PlainSigningKeys":
        return PlainSigningKeys(name)

    @property
    def private_key(self) -> bytes:
        aws_calls.record_call("secretsmanager:GetSecretValue", "relayer-key")
        return hashlib.sha256(self._name.encode()).digest() if self._name else bytes.fromhex("11" * 32)


class World:
    """One merchant (account `acct`, client id `cli_shop`), one sepolia chain, one receiver.

    Once a test sets a rate (`prices.set("USD", "USDC", "1.0003")`), mainnet is served too, for its price feeds.
    """

    account_id, client_id, origin = "acct", "cli_shop", "https://shop.example"

    def __init__(self, client: Any = None, chains: Any = None, seed: int = 0, **settings: Any) -> None:
        self.now = START
        self.chain = FakeChain(seed=seed)
        self._chains = chains or FakeChains(self.chain)
        self.prices = FakePrices(self.clock, self._serve_feeds)
        self.safes = FakeSafes()
        self.compliance = FakeCompliance()
        self.router = FakeRouter(self.clock)
        self.receiver = Receiver(self.clock)
        self.merchants = MerchantAws()
        self._destinations = DestinationSender(True, self.merchants.client)
        self.txt_records = FakeTxtRecords()
        self.ses = FakeSes(self.clock)
        self.queue = VirtualQueue(self.clock)
        self.archive = FakeObjects()
        self.client = client or dynamodb_in_memory()
        counter = itertools.count()
        self._entropy = lambda n: hashlib.shake_256(f"{seed}/{next(counter)}".encode()).digest(n)
        self._settings = {
            "stage": "local",
            "resource_prefix": PREFIX,
            "api_url": "https://api.example",
            "auth_url": "https://auth.example",
            "pay_url": "https://pay.example",
            "explorer_url": "https://explorer.example",
            "compliance_account": ACCOUNT,
            "archive_bucket": "archive",
            **settings,
        }
        self.metrics = FakeMetrics()
        self.services = self.start()

    def clock(self) -> datetime:
        return self.now

    def _serve_feeds(self) -> None:
        """Serves mainnet from the first rate on that a test sets: there are feeds on it. All chains answer its rates."""
        self._chains.add(FakeChain("mainnet"))
        for network in self._chains.networks:
            self._chains.of(network).prices = self.prices

    def start(self, client: Any = None, queue: Any = None) -> Services:
        """Returns the services of a new process on the same tables, queue, chain and clock.

        It does not look whether its networks had requests before; tests/payments/scanning/test_first_block.py does.
        """
        return Services(
            settings=Settings(**self._settings),
            store=Store(PREFIX, client or self.client, at_once=1),  # in one order, so that a test can stop at its k-th call
            queue=queue or self.queue,
            secrets=PlainSecrets(),
            signing_keys=PlainSigningKeys(),
            archive=self.archive,
            chains=self._chains,
            safes=self.safes,
            prices=self.prices,
            compliance=self.compliance,
            router=self.router,
            sender=self.receiver,
            destinations=lambda: self._destinations,
            txt_records=self.txt_records,
            ses=self.ses,
            log=Logger(service="test", level="CRITICAL"),
            metrics=self.metrics,
            clock=self.clock,
            entropy=self._entropy,
            read_networks={each.name for each in ALL_NETWORKS},
        )

    @property
    def owner(self) -> Owner:
        return Owner(self.account_id, self.client_id, self.origin)

    @property
    def actor(self) -> Actor:
        return Actor(self.account_id, "test", "203.0.113.7", "request-1")

    def register_webhook(self) -> tuple[Endpoint, str]:
        return endpoints.register(self.services, self.actor, self.client_id, Mode.API_KEY, "https://shop.example/hook")

    def create_link(self, **changes: Any) -> PayableLink:
        return links.create(self.services, self.owner, draft(**changes))

    def load(self, payable: PayableLink) -> PayableLink:
        found = link_reading.load(self.services, payable.link.token)
        assert found is not None
        return found

    def scan(self, services: Services | None = None) -> None:
        """Mines the confirmations, runs a scan tick, and records what it found; webhooks stay in the queue."""
        self.chain.mine(2)
        self.tick(services)

    def tick(self, services: Services | None = None, network: str | None = None) -> int:
        """Runs a scan tick, and records what it found; returns as `record`. Mines nothing."""
        scan_chain(services or self.services, json.dumps({"network": network or self.chain.network}))
        return self.record(services)

    def record(self, services: Services | None = None) -> int:
        """Consumes the messages for the recorder that are in the queue.

        Returns how many transfers were recorded as payments or removed.
        """
        recorded = 0
        while waiting := [each for each in self.queue.messages if each.queue.endswith("recordings")]:
            self.queue.messages.remove(waiting[0])
            try:
                body = json.loads(waiting[0].body)
                recorded += recording.record_each(services or self.services, body["account"], body["bills"])
            except BaseException:
                self._return(waiting[0])
                raise
        return recorded

    def relay(self, services: Services | None = None, network: str | None = None) -> bool:
        """Mines the confirmations and checks the service's own transactions; returns whether some are open."""
        self.advance(6)
        name = network or self.chain.network
        self._chains.of(name).mine(2)
        return track(services or self.services, name)

    def read_past(self, moment: datetime) -> None:
        """Advances the clock past `moment` unless it is, and scans blocks that are mined from then on."""
        self.now = max(self.now, moment + timedelta(seconds=1))
        self.chain.clock = self.clock
        self.scan()

    def expire(self, *payments: PayableLink) -> int:
        """Lets the expiry of links pass, the chain be read that far, and the sweep run; returns how many expired."""
        self.read_past(max(payment.link.expires_at for payment in payments))
        return expiry.expire_due(self.services)

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def drain(self, services: Services | None = None) -> None:
        """Consumes messages when they are due, advancing the clock, until the queue is empty."""
        while self.queue.messages:
            message = min(self.queue.messages, key=lambda m: m.due)
            self.now = max(self.now, message.due)
            self.queue.messages.remove(message)
            self.consume(message, services or self.services)

    def consume(self, message: Waiting, services: Services) -> None:
        """Runs the job of a message; on an error the message returns after the visibility timeout, as in SQS.

        Fails if AWS Lambda would refuse the message because its function came too often in its chain.

        The chain has two blocks more whenever the service's own transactions are checked.
        """
        if message.queue.endswith("relayed"):
            self._chains.of(json.loads(message.body)["network"]).mine(2)
        job = JOBS[message.queue.removeprefix(f"{PREFIX}-")]
        lineage = (*message.lineage, job.__name__)
        if job.__name__ not in RECURSIVE:
            assert lineage.count(job.__name__) <= MOST_INVOCATIONS, f"AWS Lambda would end this chain: {lineage}"
        self.queue.lineage = lineage
        try:
            with continue_chain(message.body):
                job(services_for(services, message.body), message.body)
        except BaseException:
            self._return(message)
            raise
        finally:
            self.queue.lineage = ()

    def _return(self, message: Waiting) -> None:
        again = self.now + timedelta(seconds=90)
        self.queue.messages.append(replace(message, due=again))


def draft(**changes: Any) -> Draft:
    """Returns a draft of 12.50 fUSDC on sepolia with a fee of 1 %; `changes` are fields of the draft or of its item."""
    item = {
        "amount": "12.50",
        "destination_id": None,
        "payee": PAYEE,
        "invoice_currency": "fUSDC-sepolia",
        "payment_currency": "fUSDC-sepolia",
    }
    if "currency" in changes:
        changes["invoice_currency"] = changes["payment_currency"] = changes.pop("currency")
    item |= {name: changes.pop(name) for name in list(changes) if name in item}
    rest = {
        "items": (Item(**item),),
        "fee_percentage": "1",
        "fee_address": FEE_ADDRESS,
        "reference": "INV-1",
        "payer_identifier": None,
        "redirect_url": None,
        "redirect_label": None,
        **changes,
    }
    return Draft(**rest)


def signature_holds(posted: Posted, secret: str) -> bool:
    return posted.headers["x-service-signature"] == sign(secret, posted.body)


@contextmanager
def in_process_aws() -> Iterator[MemoryDynamoDB]:
    """Yields a client of DynamoDB in memory with our tables, empty. The services of the app in this process use it, too."""
    _in_process.append(dynamodb_in_memory())
    try:
        yield _in_process[-1]
    finally:
        _in_process.pop()


_in_process: list[MemoryDynamoDB] = []


def in_process_client() -> MemoryDynamoDB | None:
    """The client of the innermost `in_process_aws()`; None outside of it."""
    return _in_process[-1] if _in_process else None


def dynamodb_in_memory() -> MemoryDynamoDB:
    return MemoryDynamoDB({each["TableName"]["Fn::Sub"].replace("${Prefix}", PREFIX): each for each in _tables()})


default_user_config["core"]["reset_boto3_session"] = False  # one reads the descriptions of AWS's services once


@contextmanager
def dynamodb_of_moto() -> Iterator[Any]:
    """Yields a client of moto's DynamoDB with our tables, empty: what runs through botocore as on AWS, but slowly."""
    with mock_aws():
        client = boto3.client("dynamodb", region_name="us-east-1")
        create_tables(client)
        yield client


def in_process_tables() -> dict[str, Table]:
    """The tables of the innermost `in_process_aws()` by name."""
    return _in_process[-1].tables


def clear_tables() -> None:
    """Empties the tables: hundreds of tenants make what scans or sorts a table slower and slower."""
    for table in in_process_tables().values():
        table.clear()
