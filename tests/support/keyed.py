"""Requests with an idempotency key to the edge of a world, whose process may end at any call to DynamoDB."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any
from urllib.parse import quote

import app  # noqa: F401 - it registers the operations
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.idempotency.records import IdempotentRequest
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import add_proof, pointer_of
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.http.pipeline import handle
from chalicelib.platform.http.request import HttpRequest
from chalicelib.platform.services import Services
from infra import admin
from tests.fakes.announcements import with_safe
from tests.fakes.crash import Crash, FragileQueue, FragileWrites, Tripwire
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import PREFIX, PlainSecrets, World, in_process_tables
from tests.support.members import opened

ADDRESS, ORIGIN = "203.0.113.7", "https://shop.example"
WALLET = evm_wallet("keyed")
_ciphertexts = itertools.count()
_IS_NO_EFFECT = ("RATE", "USED", "REPEAT", "BAN", "COUNTS")
"""Into how many items counts are divided depends on the ids that a process has drawn."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Sent:
    """A request to an operation, by name; `path` has the parameters."""

    name: str
    body: Any
    headers: dict[str, str]
    path: dict[str, str] = field(default_factory=dict)
    address: str = ADDRESS
    key: str | None = "once"

    def to(self, services: Services) -> Reply:
        operation, view = found(self.name)
        path = operation.path.format(**{name: quote(text, safe="") for name, text in self.path.items()})
        body = json.dumps(self.body).encode() if self.body is not None else b""
        keyed = {"idempotency-key": self.key} if self.key else {}
        headers = {"content-type": "application/json", **keyed, **self.headers}
        request_id = f"request-{next(_ciphertexts)}"  # another one each time, as in API Gateway
        request = HttpRequest(
            request_id, operation.method, path, operation.path, self.path, {}, headers, frozenset(), body, self.address
        )
        response = handle(operation, view, services, request)
        return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.body)


def found(name: str) -> tuple[Operation, Callable[..., Any]]:
    operation, api = next((each, api) for each, api in OPERATIONS.items() if each.name == name)
    return operation, getattr(import_module(api), name)


class RandomSecrets(PlainSecrets):
    """As KMS, it never encrypts one text to the same ciphertext twice."""

    def encrypt(self, text: str, owner: str) -> str:
        return f"{owner}:{next(_ciphertexts):09}{text}"

    def decrypt(self, ciphertext: str, owner: str) -> str:
        return super().decrypt(ciphertext, owner)[9:]

    decrypt_once = decrypt


class Account:
    """An account with every kind of credential, in a world whose chain was read and knows a Safe."""

    def __init__(self, world: World) -> None:
        services, self.world = world.services, with_safe(world)
        self.account_id = world.account_id = admin.create_account(services, "shop")
        self.key = admin.create_api_key(services, self.account_id, "server")
        self.client_id = admin.create_client_id(services, self.account_id, "web", [ORIGIN])
        world.client_id = self.client_id
        self.session = opened(services, self.account_id, "shop@shop.example")[1]
        self.wallet_session = opened(services, self.account_id, WALLET.address)[1]

    @property
    def by_key(self) -> dict[str, str]:
        return {"x-api-key": self.key}

    @property
    def by_client(self) -> dict[str, str]:
        return {"x-client-id": self.client_id, "origin": ORIGIN}

    @property
    def by_session(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.session}"}

    def prove_presence(self) -> None:
        """Both people prove their presence again, as a proof counts for five minutes."""
        store = self.world.services.store
        for token in (self.session, self.wallet_session):
            session = store.get(Session, Session.KEY.of(token_hash=credential_hash(token)))
            assert session is not None
            again = add_proof(session, session.proved_by, self.world.now)
            store.write(again, pointer_of(again))


class Deployment:
    """Tables that can be put back to a state, and processes on them that all begin in the same way."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._tables, self._now = {name: list(each.all()) for name, each in in_process_tables().items()}, world.now

    def put_back(self) -> None:
        for name, items in self._tables.items():
            in_process_tables()[name].put_back(items)
        self.world.now = self._now

    def process(self, seed: int = 1, client: Any = None, queue: Any = None) -> Services:
        """A new process; those of one seed draw the same random bytes."""
        entropy = World(self.world.client, seed=seed).services.entropy
        return replace(self.world.start(client, queue), secrets=RandomSecrets(), entropy=entropy)

    def dies(self, sent: Sent, fatal: int) -> bool:
        """Whether a process died after its change number `fatal` when it ran the request.

        To die before the next change, or at a read between them, leaves the same.
        """
        wire = Tripwire(fatal, before=False)
        client, queue = FragileWrites(self.world.client, wire), FragileQueue(self.world.queue, wire)
        try:
            sent.to(self.process(client=client, queue=queue))
        except Crash:
            return True
        return False

    def effects(self) -> Counter[tuple[str, str, str]]:
        """How many items there are of each kind, without counters, notes of use and idempotency keys."""
        kinds = Counter[tuple[str, str, str]]()
        for name, table in in_process_tables().items():
            for pk, rows in table.items.items():
                kind = pk.split("#")[0]
                for sk in rows if kind not in _IS_NO_EFFECT else ():
                    word = sk.split("#")[0]
                    kinds[name.removeprefix(f"{PREFIX}-"), kind, word if word.isalpha() else ""] += 1
        return kinds

    def steps(self) -> tuple[str, ...] | None:
        """The transactions that the one idempotency key of these tables lists; None without a key."""
        for pk, rows in in_process_tables()[f"{PREFIX}-ops"].items.items():
            if pk.startswith("REPEAT#"):
                (scope_hash,) = (pk.removeprefix("REPEAT#") for _ in rows)
                record = self.world.services.store.get(IdempotentRequest, IdempotentRequest.KEY.of(scope_hash=scope_hash))
                assert record is not None
                return record.steps
        return None
