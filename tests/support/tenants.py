"""A tenant: credentials of every kind and one of everything that an account can own, created on demand."""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.accounts.branding import flows as branding
from chalicelib.accounts.branding.rules import BrandingDraft
from chalicelib.accounts.changes.effects import effects_of
from chalicelib.accounts.changes.records import Asker, AskingSession, PendingChange
from chalicelib.accounts.client_ids import flows as client_ids
from chalicelib.accounts.client_ids.rules import ClientIdSettings
from chalicelib.accounts.domains import flows as domains
from chalicelib.accounts.members import invitations
from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.passkeys import flows as passkeys
from chalicelib.accounts.payees import flows as payees
from chalicelib.accounts.payees.records import Action
from chalicelib.accounts.payees.rules import parse_route, signing_data
from chalicelib.accounts.sign_in import identities, wallets
from chalicelib.accounts.sign_in.passwords import SALT_BYTES, password_hash
from chalicelib.accounts.sign_in.records import Purpose
from chalicelib.accounts.sign_in.rules import Wanted
from chalicelib.base import ids
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.gasless.records import GaslessPayment
from chalicelib.offramp.payers import bank_accounts
from chalicelib.offramp.payers import flows as payers
from chalicelib.payments.links import flows as links
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests import flows as requests
from chalicelib.payments.requests.creation import Draft
from chalicelib.payments.requests.records import Frequency, Recurrence
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Member, Owner
from chalicelib.platform.access.credentials import store as credential_store
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.credentials.rules import credential_hash
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people import store as person_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.access.sessions.records import Session, SessionKind, Wallet
from chalicelib.platform.access.sessions.rules import pointer_of
from chalicelib.platform.settings import origin_of
from chalicelib.platform.storage.store import Delete
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.records import Delivery
from chalicelib.webhooks.deliveries.rules import abandon, deliveries_of
from chalicelib.webhooks.endpoints import flows as endpoints
from chalicelib.webhooks.flows import event_context
from chalicelib.webhooks.samples import sample_event
from infra import admin
from tests.fakes import passkeys as authenticator
from tests.fakes.compliance import BANK, PERSON
from tests.fakes.destinations import FUSDC_SEPOLIA, SEPOLIA, sign
from tests.fakes.recurring import store_recurring
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.fakes.world import PAYEE, draft
from tests.support.client import ORIGIN
from tests.support.items import TRON_PAYEE
from tests.support.members import member_of, opened, person_named
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
        self.gasless: GaslessPayment
        self.account_id = admin.create_account(services, self.name)
        self.actor = Actor(self.account_id, "test", "127.0.0.1", "-")
        self.wallet: EvmWallet = evm_wallet(self.name)
        self._test_client_id = ""
        settings: ClientIdSettings = {
            "label": "web",
            "allowed_domains": [ORIGIN],
            "operator_wallet_address": self.wallet.address,
            "may_execute": True,
            "may_read_payers": True,
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
        return parse_route(self.wallet.address, FUSDC_SEPOLIA, SEPOLIA, {})

    # --- credentials ---

    def by_key(self) -> Headers:
        return {"x-api-key": admin.create_api_key(running(), self.account_id, "server")}

    def by_test_key(self) -> Headers:
        made = api_keys.create_api_key(running(), self.actor, {"label": "tests", "is_test": True})
        return {"x-api-key": made[1]}

    def by_test_client(self) -> Headers:
        if not self._test_client_id:
            settings: ClientIdSettings = {"label": "tests", "allowed_domains": [ORIGIN], "is_test": True}
            self._test_client_id = client_ids.create_client_id(running(), self.actor, settings).client_id
        return {"x-client-id": self._test_client_id, "origin": ORIGIN}

    def by_client(self) -> Headers:
        return {"x-client-id": self.client_id, "origin": ORIGIN}

    def by_wallet(self) -> Headers:
        return {"cookie": f"session_token={self._signed_in(self.wallet.address)[1]}"}

    def by_email(self) -> Headers:
        return {"authorization": f"Bearer {self._signed_in(f'ann@{self.name}.example')[1]}"}

    def by_role(self, role: Role) -> Headers:
        return {"cookie": f"session_token={self._signed_in(self.wallet.address, role)[1]}"}

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
            fields = {"payee": TRON_PAYEE, "currency": "USDT-tron", "fee_percentage": None, "fee_address": None}
            self.tron_link = links.create(running(), Owner(self.account_id, None, None), draft(**fields)).link.token
        return self.tron_link

    def webhook_of_client(self) -> str:
        return endpoints.register(running(), self.actor, self.client_id, Mode.CLIENT_ID, "https://93.184.215.14/")[0].webhook_id

    def webhook_of_account(self) -> str:
        return endpoints.register(running(), self.actor, None, Mode.API_KEY, "https://93.184.215.14/")[0].webhook_id

    def failed_delivery(self, webhook_id: str, client_id: str | None) -> Delivery:
        """Returns a delivery of one of the tenant's webhooks that has failed."""
        endpoint = endpoints.own_endpoint(running(), self.account_id, client_id, webhook_id, only_public=False)
        event = sample_event("payment.confirmed", self.account_id, client_id, event_context(running()))
        (delivery,) = deliveries_of(event, [endpoint], running().clock())
        return delivery_store.write_change(running().store, None, abandon(delivery))

    def key_id(self) -> str:
        return api_keys.create_api_key(running(), self.actor, {"label": "another"})[0].key_id

    def client_record_id(self) -> str:
        return self.client.record_id

    def branded(self) -> None:
        branding.put(running(), self.actor, self.client_record_id(), BrandingDraft())

    def named(self) -> None:
        domains.put(running(), self.actor, self.client_record_id(), "shop.example")

    def name_of(self, way: "Way") -> str:
        """The name of the person who signs in by this way."""
        return f"ann@{self.name}.example" if way.name == "e-mail session" else self.wallet.address

    def session_id(self, way: "Way") -> str:
        return self._signed_in(self.name_of(way))[0].session_id

    def other_account(self, way: "Way") -> str:
        """Another account of the person who signs in by this way."""
        other = admin.create_account(running(), "another")
        member_of(running(), other, self.name_of(way))
        return other

    def colleague(self, role: Role = Role.VIEWER) -> str:
        """The id of a new member."""
        return member_of(running(), self.account_id, f"bob{next(_numbers)}@shop.example", role).person_id

    def invitation(self, name: str) -> tuple[Invitation, str]:
        """An open invitation of the account for whoever signs in with this name, and its secret."""
        return invitations.invite(running(), self.actor, None, name, Role.FINANCE)

    def secret_for_new(self) -> str:
        """The secret of an invitation for an e-mail address that is not registered."""
        return self.invitation(f"new{next(_numbers)}@shop.example")[1]

    def wallet_to_add(self) -> dict[str, str]:
        """A challenge of the session that was opened last, as a new wallet has signed it."""
        wallet = evm_wallet(f"added{next(_numbers)}")
        asked = wallets.create_challenge(running(), wallet.address, 1, Wanted(Purpose.ADD, self.opened.session_id))
        signature = wallet.sign(asked.message)
        return {"challengeId": asked.challenge_id, "nonce": asked.nonce, "message": asked.message, "signature": signature}

    def spare_identity(self, way: "Way") -> str:
        """The id of a second way to sign in of the person who signs in by this way."""
        person = person_named(running(), self.name_of(way), self.account_id)
        return identities.add(running(), person, f"spare{next(_numbers)}@shop.example", self.actor).name_hash

    @property
    def opened(self) -> Session:
        """The session that was opened last."""
        if not hasattr(self, "last"):
            self._signed_in(self.wallet.address)
        return self.last

    def _party(self) -> str:
        return origin_of(running().settings.auth_url)

    def _acting(self) -> Member:
        """The person of the session that was opened last, as the pipeline has them."""
        store, session = running().store, self.opened
        account, person = credential_store.account(store, session.account_id), person_store.find_person(store, session.person_id)
        membership = person_store.find_membership(store, session.account_id, session.person_id)
        assert account is not None and person is not None and membership is not None
        return Member(session, account, membership, person)

    def new_passkey(self) -> dict[str, Any]:
        """A new credential for the session that was opened last."""
        self.passkey, credential = authenticator.create(
            passkeys.ask_to_register(running(), self._acting()), self._party()
        )
        return credential

    def passkey_id(self, way: "Way | None" = None) -> str:
        """The id of a passkey that is registered for the person who signs in by this way."""
        if way is not None:
            self._signed_in(self.name_of(way))
        return passkeys.register(running(), self._acting(), self.new_passkey(), "phone", self.actor).passkey_id

    def passkey_proof(self) -> dict[str, Any]:
        """An assertion that proves presence in the session that was opened last, whose person gets a passkey."""
        session = self.opened
        self.passkey_id()
        self.last = session
        return authenticator.get(self.passkey, passkeys.ask_to_prove(running(), self._acting()), self._party())

    def passkey_sign_in(self) -> dict[str, Any]:
        """An assertion that signs in the wallet's person, who gets a passkey."""
        self._signed_in(self.wallet.address)
        self.passkey_id()
        return authenticator.get(self.passkey, passkeys.ask_to_sign_in(running()), self._party())

    def wallet_proof(self, way: "Way") -> dict[str, str]:
        """A challenge that proves presence in the session that was opened last, as a wallet of the person signed it."""
        wallet = self.wallet
        if self.opened.subject != wallet.address:
            wallet = evm_wallet(f"proving{next(_numbers)}")
            identities.add(running(), self._acting().person, wallet.address, self.actor)
        asked = wallets.create_challenge(running(), wallet.address, 1, Wanted(Purpose.PROVE, self.opened.session_id))
        signature = wallet.sign(asked.message)
        return {"challengeId": asked.challenge_id, "nonce": asked.nonce, "message": asked.message, "signature": signature}

    def with_password(self) -> None:
        """Gives a password to the person of the session that was opened last."""
        person = person_store.find_person(running().store, self.opened.person_id)
        assert person is not None
        hashed = password_hash("correct horse", bytes(SALT_BYTES))
        running().store.write(replace(person, password_hash=hashed))

    def registered(self) -> str:
        """Registers an orchestrator; returns its id."""
        return orchestrators.register(running(), self.actor, self.name, "ops@platform.example")[0].orchestrator_id

    def linked(self) -> str:
        self.by_orchestrator_key()
        orchestrator_id = self.orchestrator.orchestrator_id
        orchestrators.link_client(running(), self.actor, orchestrator_id, self.client_id)
        return self.client_id

    def bound(self) -> str:
        """Binds the client id to a destination; returns the destination's id."""
        made = payees.add(running(), self.actor, self.client, *self.signed(Action.ADD))
        self.is_bound = True
        return made.destination_id

    def kept(self) -> str:
        """Saves a destination with the wallet's session; returns its id."""
        wallet = Wallet(self.wallet.address)
        return payees.activate(
            running(), self.actor, wallet, FUSDC_SEPOLIA, SEPOLIA, None
        ).destination_id

    def signed(self, action: Action) -> tuple[str, str]:
        """Returns a nonce for the tenant's client id and wallet, and the wallet's signature."""
        nonce = payees.issue_nonce(running(), self.client, self.route, action)
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

    def waiting_change(self, person_id: str | None = None) -> str:
        """The id of a change of the client id's fee that waits: a colleague has asked for it, or this person."""
        services, asked_by = running(), person_id or self.colleague(Role.OWNER)
        joined = person_store.find_membership(services.store, self.account_id, asked_by)
        assert joined is not None
        session = AskingSession("-", joined.joined_at, SessionKind.EMAIL, "bob@shop.example", has_second_factor=False)
        asker = Asker(Mode.SESSION, f"person:{asked_by}", "203.0.113.7", "-", asked_by, session)
        charged = replace(self.client, fee_percentage="1.5", fee_address=self.wallet.address)
        now = services.clock()
        change = PendingChange(
            account_id=self.account_id,
            change_id=ids.ulid(now, services.entropy),
            operation="update_client_id_by_session",
            path=json.dumps({"id": self.client_record_id()}),
            query="{}",
            body=json.dumps({"feePercentage": "1.5", "feeAddress": self.wallet.address}),
            effects=effects_of(services.store, self.account_id, [(self.client, charged)]),
            scope=None,
            asker=asker,
            asked_at=now,
            expires_at=now + timedelta(days=8),
            notice_id="-",
            takes_effect_at=now + timedelta(days=1),
        )
        return services.store.write(change).change_id

    # --- invalid credentials ---

    def spoil(self, headers: Headers, header: str, kind: type, **changes: Any) -> Headers:
        """Changes fields of the record of a credential in `headers`, until `mend`."""
        store = running().store
        record = store.get(kind, kind.KEY.of(credential_hash=credential_hash(headers[header])))  # type: ignore[attr-defined]
        assert record is not None
        store.write(replace(record, **changes))
        self.spoiled.append((kind, record))
        return headers

    def mend(self) -> None:
        """Writes the facts back: the client id and the orchestrator key serve on."""
        store = running().store
        for kind, record in self.spoiled:
            store.write(replace(record, version=store.get(kind, record.key).version))  # type: ignore[attr-defined]
        self.spoiled.clear()

    def end(self, headers: Headers) -> Headers:
        running().store.write(Delete(self._session(_token(headers))))
        return headers

    def unproved(self, headers: Headers) -> Headers:
        """The presence of the person was last proved six minutes ago."""
        session = self._session(_token(headers))
        running().store.write(replace(session, proved_at=session.proved_at - timedelta(minutes=6)), pointer_of(session))
        return headers

    def demand_second_factor(self) -> None:
        account = credential_store.account(running().store, self.account_id)
        assert account is not None
        running().store.write(replace(account, requires_second_factor=True))

    def switch_approvals_on(self) -> None:
        account = credential_store.account(running().store, self.account_id)
        assert account is not None
        running().store.write(replace(account, has_approvals=True))

    def outlive(self, headers: Headers) -> Headers:
        session = self._session(_token(headers))
        running().store.write(replace(session, expires_at=session.created_at - timedelta(seconds=1)))
        return headers

    def _link(self) -> PayableLink:
        owner = Owner(self.account_id, None, None)
        return links.create(running(), owner, draft(fee_percentage=None, fee_address=None))

    def _signed_in(self, name: str, role: Role = Role.OWNER) -> tuple[Session, str]:
        session, token = opened(running(), self.account_id, name, role)
        self.last = session
        return session, token

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

UNKNOWN_CREDENTIAL = "is not known, or not valid any more: send a valid one"
_UNKNOWN_KEY, _UNKNOWN_CLIENT = (401, f"x-api-key {UNKNOWN_CREDENTIAL}"), (401, f"x-client-id {UNKNOWN_CREDENTIAL}")
_UNKNOWN_ORCHESTRATOR = (401, f"x-orchestrator-key {UNKNOWN_CREDENTIAL}")
_UNKNOWN_OF_TWO = (401, f"x-orchestrator-key {UNKNOWN_CREDENTIAL}, or leave it out")
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
    ("API key", "unknown", _with(x_api_key="key_unknown"), *_UNKNOWN_KEY),
    ("API key", "revoked", _status("x-api-key", ApiKey, _REVOKED), *_UNKNOWN_KEY),
    ("API key", "inactive", _status("x-api-key", ApiKey, _INACTIVE), *_UNKNOWN_KEY),
    ("API key", "expired", _beyond_end, *_UNKNOWN_KEY),
    ("API key", "from elsewhere", _elsewhere, 403, "This API key may not be used from this address"),
    ("client id", "unknown", _with(x_client_id="cli_unknown"), *_UNKNOWN_CLIENT),
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
    ("orchestrator pair", "of an unknown key", _with(x_orchestrator_key="orc_live_unknown"), *_UNKNOWN_OF_TWO),
    (
        "orchestrator pair",
        "of a revoked key",
        _status("x-orchestrator-key", OrchestratorKey, _REVOKED),
        *_UNKNOWN_OF_TWO,
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
    ("orchestrator key", "unknown", _with(x_orchestrator_key="orc_live_unknown"), *_UNKNOWN_ORCHESTRATOR),
    (
        "orchestrator key",
        "revoked",
        _status("x-orchestrator-key", OrchestratorKey, _REVOKED),
        *_UNKNOWN_ORCHESTRATOR,
    ),
    ("wallet session", "unknown", _with(cookie="session_token=unknown"), *_ENDED),
    ("wallet session", "empty", _with(cookie="session_token="), 401, "Unauthorized"),
    ("wallet session", "ended", Tenant.end, *_ENDED),
    ("wallet session", "expired", Tenant.outlive, *_ENDED),
    ("e-mail session", "ended", Tenant.end, *_ENDED),
    ("e-mail session", "expired", Tenant.outlive, *_ENDED),
)
