"""An account of several people with approvals, on a virtual clock, and calls to its operations through the pipeline."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.changes import applying
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.mail import changes as mail_changes
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.credentials.records import Account
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.sessions.rules import COOKIE
from chalicelib.platform.http import pipeline
from chalicelib.platform.http.operation import OPERATIONS, Operation
from chalicelib.platform.http.request import HttpRequest
from infra import admin
from tests.fakes.destinations import FUSDC_SEPOLIA, SEPOLIA
from tests.fakes.wallets import evm_wallet
from tests.fakes.world import World
from tests.support.members import member_of, opened
from tests.support.running import app

assert app.routes, "which registers the operations"
HOUR = 3600


@dataclass(frozen=True)
class Answer:
    """`token` is that of the session that it opens."""

    status: int
    body: Any
    token: str = ""

    @property
    def change_id(self) -> str:
        assert self.status == 202, self.body
        found: str = self.body["pendingChange"]["id"]
        return found


@cache
def operation(name: str) -> Operation:
    return next(each for each in OPERATIONS if each.name == name)


def called(
    world: World, name: str, headers: Mapping[str, str], body: Any = None, *, query: Any = None, **path: str
) -> Answer:
    """What the operation answers; `path` has its parameters."""
    known = operation(name)
    raw = json.dumps(body).encode() if body is not None else b""
    request = HttpRequest(
        request_id="request-1",
        method=known.method,
        path=known.path.format_map(path),
        route=known.path,
        parameters=path,
        query=query or {},
        headers={"content-type": "application/json", **headers},
        repeated=frozenset(),
        raw_body=raw,
        ip_address="203.0.113.7",
    )
    view = getattr(import_module(OPERATIONS[known]), known.name)
    response = pipeline.handle(known, view, world.services, request)
    token = str(response.headers.get("Set-Cookie", "")).removeprefix(f"{COOKIE}=").partition(";")[0]
    return Answer(response.status_code, json.loads(response.body) if response.body else None, token)


class Team:
    """Ann and Bob are owners, Carol looks after finance, Dan is a developer. Each has an e-mail address, and Ann a wallet
    with a payee destination, too. There are a client id, a webhook, an API key that may do everything, and approvals."""

    def __init__(self, world: World, **settings: Any) -> None:
        self.world, services = world, world.services
        self.account_id = admin.create_account(services, "team")
        self.wallet = evm_wallet("team")
        roles = {"ann": Role.OWNER, "bob": Role.OWNER, "carol": Role.FINANCE, "dan": Role.DEVELOPER}
        self.people = {
            name: member_of(services, self.account_id, f"{name}@shop.example", role).person_id
            for name, role in roles.items()
        }
        member_of(services, self.account_id, self.wallet.address, Role.OWNER)
        actor = Actor(self.account_id, "test", "203.0.113.7", "-")
        self.key_record, self.key = api_keys.create_api_key(services, actor, {"label": "server"})
        made = client_ids.create_client_id(services, actor, {"label": "web", "fee_percentage": None})
        self.client_record_id, self.client_id = made.record_id, made.client_id
        self.own_destination()
        self.set_account(**{"has_approvals": True, **settings})

    # --- who calls ---

    def by(self, name: str) -> dict[str, str]:
        """The headers of a new session, whose person has just proved their presence."""
        return self._session(f"{name}@shop.example")

    def by_wallet(self) -> dict[str, str]:
        return self._session(self.wallet.address)

    def by_key(self) -> dict[str, str]:
        return {"x-api-key": self.key}

    def _session(self, name: str) -> dict[str, str]:
        token = opened(self.world.services, self.account_id, name)[1]
        return {"authorization": f"Bearer {token}"}

    def confirm(self, name: str) -> None:
        """The e-mail address of the person is confirmed, as the link in a mail does it."""
        identity = person_store.identity(self.world.services.store, f"{name}@shop.example")
        assert identity is not None
        self.world.services.store.write(replace(identity, verified_at=self.world.now))

    # --- what they do ---

    def call(self, name: str, headers: Mapping[str, str], body: Any = None, **path: str) -> Answer:
        return called(self.world, name, headers, body, **path)

    def own_destination(self) -> None:
        body = {"tokenAddress": FUSDC_SEPOLIA, "chainId": SEPOLIA}
        assert self.call("keep_own_payee_destination", self.by_wallet(), body).status == 201

    def ask(self, headers: Mapping[str, str], **settings: Any) -> Answer:
        """Asks for another fee of the client id."""
        body = settings or {"feePercentage": "5", "feeAddress": self.wallet.address}
        name = "update_client_id" if "x-api-key" in headers else "update_client_id_by_session"
        return self.call(name, headers, body, id=self.client_record_id)

    def fee(self) -> str | None:
        found: str | None = self.call("read_client_id", self.by_key(), id=self.client_record_id).body["feePercentage"]
        return found

    def decide(self, verb: str, headers: Mapping[str, str], change_id: str) -> Answer:
        return self.call(f"{verb}_change", headers, change_id=change_id)

    def state(self, change_id: str) -> str:
        return str(self.call("read_change", self.by("bob"), change_id=change_id).body["state"])

    def wait(self, hours: float) -> int:
        """The schedules after so many hours: owners are notified, then changes are decided."""
        mail_changes.tell(self.world.services)
        self.world.drain()
        self.world.advance(hours * HOUR)
        return applying.run_due(self.world.services)

    def account(self) -> Account:
        found = self.world.services.store.get(Account, Account.KEY.of(account_id=self.account_id))
        assert found is not None
        return found

    def set_account(self, **settings: Any) -> None:
        self.world.services.store.write(replace(self.account(), **settings))
