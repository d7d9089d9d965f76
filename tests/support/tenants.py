"""A tenant: credentials of every kind and one of everything that an account can own, created on demand."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.branding import flows as branding
from chalicelib.accounts.branding.rules import BrandingDraft
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.client_ids.rules import ClientIdSettings
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.payees import flows as destinations
from chalicelib.accounts.payees.records import Action
from chalicelib.accounts.payees.rules import checked_route, signing_data
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.offramp.payers import bank_accounts
from chalicelib.offramp.payers import flows as payers
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Frequency, Recurrence
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.sessions.records import Session, SessionKind, SessionPointer, Wallet
from chalicelib.platform.access.sessions.rules import open_session
from chalicelib.platform.storage.store import Delete
from chalicelib.webhooks.deliveries import store as deliveries
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.deliveries.rules import abandon, deliveries_of
from chalicelib.webhooks.endpoints import flows as webhooks
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.samples import sample_event
from infra import admin
from tests.fakes.compliance import BANK, PERSON
from tests.fakes.destinations import FUSDC_SEPOLIA, SEPOLIA, USDT_TRON, sign
from tests.fakes.recurring import store_recurring
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.fakes.world import PAYEE, draft
from tests.support.client import ORIGIN
from tests.support.running import running

Headers = dict[str, str]
_numbers = itertools.count()


@dataclass
class Tenant:
    """One account. The client id and the orchestrator, which several credentials share, are created once."""

    name: str = field(default_factory=lambda: f"tenant{next(_numbers)}")

    def __post_init__(self) -> None:
        services = running()
        self.failed: Delivery | None = None
        self.offered: PaymentIntent
        self.account_id = admin.create_account(services, self.name)
        self.actor = Actor(self.account_id, "test", "127.0.0.1", "-")
        self.wallet: EvmWallet = evm_wallet(self.name)
        settings: ClientIdSettings = {
            "label": "web",
            "allowed_domains": [ORIGIN],
            "operator_wallet_address": self.wallet.address,
            "may_execute": True,
        }
        self.client_id = client_ids.create_client_id(services, self.actor, settings).client_id
        self.is_bound, self.spoiled = False, list[tuple[type, Any]]()

    @property
    def client(self) -> ClientId:
        found = running().store.get(ClientId, ClientId.KEY.of(credential_hash=credential_hash(self.client_id)))
        assert found is not None
        return found

    @property
    def route(self) -> Destination:
        return checked_route(self.wallet.address, FUSDC_SEPOLIA, SEPOLIA)

    # --- credentials ---

    def by_key(self) -> Headers:
        return {"x-api-key": admin.create_api_key(running(), self.account_id, "server")}

    def by_client(self) -> Headers:
        return {"x-client-id": self.client_id, "origin": ORIGIN}

    def by_wallet(self) -> Headers:
        return {"cookie": f"session_token={self._signed_in(SessionKind.WALLET, self.wallet.address)[1]}"}

    def by_email(self) -> Headers:
        return {"authorization": f"Bearer {self._signed_in(SessionKind.EMAIL, 'ann@shop.example')[1]}"}

    def by_orchestrator_key(self) -> Headers:
        if not hasattr(self, "orchestrator"):
            made = orchestrators.register(running(), self.actor, self.name, "ops@platform.example")
            self.orchestrator, _, self.orchestrator_key = made
        return {"x-orchestrator-key": self.orchestrator_key}

    def by_pair(self) -> Headers:
        """Returns the headers of an orchestrator's key with a linked client id that is bound to a destination."""
        key = self.by_orchestrator_key()
        if not self.is_bound:
            self.bound()
        if self.client.orchestrator_id is None:
            self.linked()
        return {**key, **self.by_client()}

    # --- what an account owns ---

    def link_token(self) -> str:
        return self._link().link.token

    def request_id(self) -> str:
        return self._link().requests[0].request_id

    def recurring_id(self) -> str:
        """The id of a request that stands by itself and recurs."""
        item = Item("12.50", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia")
        wanted = Draft(item, recurrence=Recurrence("2101-01-31", Frequency.MONTHLY))
        owner = Owner(self.account_id, self.client_id, None, mode=Mode.CLIENT_ID)
        return requests.create(running(), owner, wanted).request_id

    def payout(self, *, is_active: bool) -> str:
        """The id of a new recurring payout, whose payer is `tests.fakes.recurring.SUBSCRIBER`."""
        owner = Owner(self.account_id, self.client_id, None, mode=Mode.CLIENT_ID)
        self.recurring = store_recurring(running(), owner, is_active=is_active)
        return self.recurring.recurring_id

    def bridged_token(self) -> str:
        """Returns the token of the tenant's only link in USDC on base, which can be paid from other chains."""
        if not hasattr(self, "bridged_link"):
            fields = {"currency": "USDC-base", "fee_percentage": None, "fee_address": None}
            self.bridged_link = links.create(running(), Owner(self.account_id, None, None), draft(**fields)).link.token
        return self.bridged_link

    def tron_token(self) -> str:
        """Returns the token of the tenant's only link on tron."""
        if not hasattr(self, "tron_link"):
            fields = {"payee": USDT_TRON, "currency": "USDT-tron", "fee_percentage": None, "fee_address": None}
            self.tron_link = links.create(running(), Owner(self.account_id, None, None), draft(**fields)).link.token
        return self.tron_link

    def webhook_of_client(self) -> str:
        return webhooks.register(running(), self.actor, self.client_id, Mode.CLIENT_ID, "https://93.184.215.14/")[0].webhook_id

    def webhook_of_account(self) -> str:
        return webhooks.register(running(), self.actor, None, Mode.API_KEY, "https://93.184.215.14/")[0].webhook_id

    def failed_delivery(self, webhook_id: str, client_id: str | None) -> Delivery:
        """Returns a delivery of one of the tenant's webhooks that has failed."""
        endpoint = webhooks.own_endpoint(running(), self.account_id, client_id, webhook_id, only_public=False)
        event = sample_event("payment.confirmed", self.account_id, client_id, event_context(running()))
        (delivery,) = deliveries_of(event, [endpoint], running().clock())
        return deliveries.change(running().store, None, abandon(delivery))

    def key_id(self) -> str:
        return api_keys.create_api_key(running(), self.actor, {"label": "another"})[0].key_id

    def client_record_id(self) -> str:
        return self.client.record_id

    def branded(self) -> None:
        branding.put(running(), self.actor, self.client_record_id(), BrandingDraft())

    def session_id(self) -> str:
        return self._signed_in(SessionKind.WALLET, self.wallet.address)[0].session_id

    def linked(self) -> str:
        self.by_orchestrator_key()
        orchestrator_id = self.orchestrator.orchestrator_id
        orchestrators.link_client(running(), self.actor, orchestrator_id, self.client_id)
        return self.client_id

    def bound(self) -> str:
        """Binds the client id to a destination; returns the destination's id."""
        made = destinations.add(running(), self.actor, self.client, *self.signed(Action.ADD))
        self.is_bound = True
        return made.destination_id

    def kept(self) -> str:
        """Saves a destination with the wallet's session; returns its id."""
        wallet = Wallet(self.wallet.address)
        return destinations.activate(
            running(), self.actor, wallet, FUSDC_SEPOLIA, SEPOLIA, None
        ).destination_id

    def signed(self, action: Action) -> tuple[str, str]:
        """Returns a nonce for the tenant's client id and wallet, and the wallet's signature."""
        nonce = destinations.issue_nonce(running(), self.client, self.route, action)
        return nonce.nonce, sign(self.wallet, signing_data(nonce, running().settings.brand))

    def payer(self) -> str:
        """Registers a person; returns the tenant's id of the person."""
        name = f"{self.name}@shop.example"
        payers.put(running(), self.actor, None, name, PERSON)
        return name

    def payer_with_account(self) -> str:
        name = self.payer()
        bank_accounts.add(running(), self.account_id, name, BANK)
        return name

    # --- invalid credentials ---

    def spoil(self, headers: Headers, header: str, kind: type, **changes: Any) -> Headers:
        """Changes fields of the record of a credential in `headers`, until `mend`."""
        store = running().store
        record = store.get(kind, kind.KEY.of(credential_hash=credential_hash(headers[header])))
        assert record is not None
        store.write(replace(record, **changes))
        self.spoiled.append((kind, record))
        return headers

    def mend(self) -> None:
        """Writes the facts back: the client id and the orchestrator key serve on."""
        store = running().store
        for kind, record in self.spoiled:
            store.write(replace(record, version=store.get(kind, record.key).version))
        self.spoiled.clear()

    def end(self, headers: Headers) -> Headers:
        running().store.write(Delete(self._session(_token(headers))))
        return headers

    def outlive(self, headers: Headers) -> Headers:
        session = self._session(_token(headers))
        running().store.write(replace(session, expires_at=session.created_at - timedelta(seconds=1)))
        return headers

    def _link(self) -> PayableLink:
        owner = Owner(self.account_id, None, None)
        return links.create(running(), owner, draft(fee_percentage=None, fee_address=None))

    def _signed_in(self, kind: SessionKind, subject: str) -> tuple[Session, str]:
        services = running()
        opened = open_session(self.account_id, kind, subject, services.clock(), services.entropy)
        session = opened[0]
        pointer = SessionPointer(self.account_id, session.session_id, session.token_hash, session.expires_at)
        services.store.write(session, pointer)
        return opened

    def _session(self, token: str) -> Session:
        found = running().store.get(Session, Session.KEY.of(token_hash=credential_hash(token)))
        assert found is not None
        return found


def _token(headers: Headers) -> str:
    return headers["cookie"].split("=")[1] if "cookie" in headers else headers["authorization"].split()[1]


@dataclass(frozen=True)
class Way:
    """A way to authenticate: the modes it satisfies, in order, and the function that returns a tenant's headers."""

    name: str
    serves: tuple[Mode, ...]
    headers: Callable[[Tenant], Headers]


WAYS = (
    Way("nothing", (Mode.PUBLIC,), lambda tenant: {}),
    Way("API key", (Mode.API_KEY,), Tenant.by_key),
    Way("client id", (Mode.CLIENT_ID,), Tenant.by_client),
    Way("orchestrator pair", (Mode.ORCHESTRATOR, Mode.ORCHESTRATOR_KEY, Mode.CLIENT_ID), Tenant.by_pair),
    Way("orchestrator key", (Mode.ORCHESTRATOR_KEY,), Tenant.by_orchestrator_key),
    Way("wallet session", (Mode.SESSION,), Tenant.by_wallet),
    Way("e-mail session", (Mode.SESSION,), Tenant.by_email),
)

Flaw = tuple[str, str, Callable[[Tenant, Headers], Headers], int, str]
"""The way, what is wrong, the function that causes it, and status and message of the response."""

_UNAUTHORIZED = (401, "Unauthorized")
_ENDED = (401, "Session is missing or has ended: sign in again")
_REVOKED, _INACTIVE = CredentialStatus.REVOKED, CredentialStatus.INACTIVE


def _without(name: str) -> Callable[[Tenant, Headers], Headers]:
    return lambda tenant, headers: {key: value for key, value in headers.items() if key != name}


def _with(**changed: str) -> Callable[[Tenant, Headers], Headers]:
    return lambda tenant, headers: {**headers, **{name.replace("_", "-"): value for name, value in changed.items()}}


def _status(header: str, kind: type, status: CredentialStatus) -> Callable[[Tenant, Headers], Headers]:
    return lambda tenant, headers: tenant.spoil(headers, header, kind, status=status)


def _beyond_end(tenant: Tenant, headers: Headers) -> Headers:
    return tenant.spoil(headers, "x-api-key", ApiKey, expires_at=running().clock())


def _elsewhere(tenant: Tenant, headers: Headers) -> Headers:
    return tenant.spoil(headers, "x-api-key", ApiKey, allowed_ips=("203.0.113.0/24",))


def _another_platforms(tenant: Tenant, headers: Headers) -> Headers:
    return {**headers, **Tenant().by_orchestrator_key()}


FLAWS: tuple[Flaw, ...] = (
    ("API key", "unknown", _with(x_api_key="key_unknown"), *_UNAUTHORIZED),
    ("API key", "empty", _with(x_api_key=""), *_UNAUTHORIZED),
    ("API key", "revoked", _status("x-api-key", ApiKey, _REVOKED), *_UNAUTHORIZED),
    ("API key", "inactive", _status("x-api-key", ApiKey, _INACTIVE), *_UNAUTHORIZED),
    ("API key", "expired", _beyond_end, *_UNAUTHORIZED),
    ("API key", "from elsewhere", _elsewhere, 403, "This API key may not be used from this address"),
    ("client id", "unknown", _with(x_client_id="cli_unknown"), *_UNAUTHORIZED),
    ("client id", "empty", _with(x_client_id=""), *_UNAUTHORIZED),
    ("client id", "revoked", _status("x-client-id", ClientId, _REVOKED), 403, "Client ID has been revoked"),
    ("client id", "inactive", _status("x-client-id", ClientId, _INACTIVE), 403, "Client ID is inactive"),
    ("client id", "without Origin", _without("origin"), 401, "Origin header is required"),
    (
        "client id",
        "from another origin",
        _with(origin="https://evil.example"),
        403,
        "Origin is not among the allowed domains of this client ID",
    ),
    ("orchestrator pair", "of an unknown key", _with(x_orchestrator_key="orc_live_unknown"), *_UNAUTHORIZED),
    ("orchestrator pair", "of an empty key", _with(x_orchestrator_key=""), *_UNAUTHORIZED),
    (
        "orchestrator pair",
        "of a revoked key",
        _status("x-orchestrator-key", OrchestratorKey, _REVOKED),
        *_UNAUTHORIZED,
    ),
    (
        "orchestrator pair",
        "of a revoked client id",
        _status("x-client-id", ClientId, _REVOKED),
        403,
        "Client ID has been revoked",
    ),
    ("orchestrator pair", "without Origin", _without("origin"), 401, "Origin header is required"),
    (
        "orchestrator pair",
        "without a client id",
        _without("x-client-id"),
        401,
        "x-client-id is required with x-orchestrator-key",
    ),
    (
        "orchestrator pair",
        "that is not linked",
        _another_platforms,
        403,
        "The client ID is not linked to this orchestrator",
    ),
    ("orchestrator key", "unknown", _with(x_orchestrator_key="orc_live_unknown"), *_UNAUTHORIZED),
    (
        "orchestrator key",
        "revoked",
        _status("x-orchestrator-key", OrchestratorKey, _REVOKED),
        *_UNAUTHORIZED,
    ),
    ("wallet session", "unknown", _with(cookie="session_token=unknown"), *_ENDED),
    ("wallet session", "empty", _with(cookie="session_token="), *_UNAUTHORIZED),
    ("wallet session", "ended", Tenant.end, *_ENDED),
    ("wallet session", "expired", Tenant.outlive, *_ENDED),
    ("e-mail session", "ended", Tenant.end, *_ENDED),
    ("e-mail session", "expired", Tenant.outlive, *_ENDED),
)
