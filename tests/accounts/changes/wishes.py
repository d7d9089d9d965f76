"""What people and thieves try in histories of an account: operations with their paths and bodies, by families."""

from dataclasses import dataclass
from random import Random
from typing import Any

from chalicelib.accounts.members.records import Invitation
from chalicelib.accounts.passkeys.records import Passkey
from chalicelib.platform.access.credentials.records import ApiKey, ClientId, CredentialStatus, OrchestratorKey
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people.records import Identity, Person, Role
from chalicelib.platform.access.sessions.records import Session
from chalicelib.webhooks.endpoints.records import Endpoint
from tests.accounts.changes.moves import EVIL_NAME
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA, SEPOLIA
from tests.fakes.memory_store import MemoryStore
from tests.fakes.wallets import EvmWallet
from tests.support.teams import Team, operation

Wish = tuple[str, dict[str, str], Any]
NONE = "0" * 26


@dataclass(frozen=True)
class Wisher:
    """Who wishes. A thief has read `invited`, the secrets of invitations, and `confirming`, the tokens of links; honest
    people have a `suspect`."""

    person_id: str | None
    mode: Mode
    wallet: EvmWallet
    suspect: str | None = None
    invited: tuple[str, ...] = ()
    confirming: tuple[str, ...] = ()


class Wishes:
    """What somebody may try now. A body that needs a signature is None: a move of that name (moves.py) makes it."""

    def __init__(self, team: Team, store: MemoryStore, random: Random, wisher: Wisher, escrowed: str) -> None:
        """`escrowed` is the request id of a commerce payment whose money can be captured."""
        self.team, self.store, self.random, self.choose = team, store, random, random.choice
        self.wisher, self.address, self.escrowed = wisher, wisher.wallet.address, escrowed

    def one(self) -> Wish:
        """A family is chosen first: each is as likely, however many wishes it has."""
        plan = self.of_thief() if self.address == EVIL_NAME else []
        if plan and self.random.random() < 0.4:
            return self.choose(plan)
        families = self.families()
        if self.random.random() < 0.9:  # seldom what this credential cannot do
            families = [[wish for wish in each if self._takes(wish)] for each in families]
        return self.choose(self.choose([each for each in families if each]))

    def _takes(self, wish: Wish) -> bool:
        modes = operation(wish[0]).modes
        return self.wisher.mode in modes or not {Mode.SESSION, Mode.API_KEY} & {*modes}

    def families(self) -> list[list[Wish]]:
        return [self.of_money(), self.of_credentials(), self.of_people(), self.of_invitations(), self.of_sign_in()]

    def of_money(self) -> list[Wish]:
        choose, client = self.choose, {"id": self.team.client_record_id}
        settings = choose((
            {"feePercentage": choose(("1", "2", "9")), "feeAddress": self.address},
            {"operatorWalletAddress": self.address},
            {"allowedPayees": [self.address]},
            {"allowedPayees": None},
            {"allowedCurrencies": choose((["USDC-base"], None))},
            {"label": "shop"},
            {"mayExecute": choose((True, False))},
            {"status": choose(("active", "inactive"))},
            {"status": "inactive", "feePercentage": "3", "feeAddress": self.address},
        ))  # fmt: skip
        new = {"label": "x", "allowedDomains": ["https://a.example"], "operatorWalletAddress": self.address}
        route = {"tokenAddress": choose((FUSDC_SEPOLIA, FUSDT_SEPOLIA)), "chainId": SEPOLIA}
        fee = {"captureAmount": "1", "feeBps": 10_000, "feeReceiver": self.address}
        return [
            ("update_client_id_by_session", client, settings),
            ("update_client_id", client, settings),
            ("create_client_id", {}, new),
            ("create_client_id_by_session", {}, {"label": "x"}),
            ("create_payee_destination", {}, None),
            ("keep_own_payee_destination", {}, route),
            ("change_own_payee_destination", {}, route),
            ("capture_commerce_payment", {"request_id": self.escrowed}, choose(({"captureAmount": "1"}, fee))),
        ]

    def of_credentials(self) -> list[Wish]:
        choose, keys = self.choose, self.store.all(ApiKey)
        off = [each for each in keys if each.status is CredentialStatus.INACTIVE]  # which are changed and switched on
        key = {"key_id": choose(choose((keys, off or keys))).key_id}
        webhook = {"webhook_id": choose([each.webhook_id for each in self.store.all(Endpoint)] or ["none"])}
        platforms = [each.orchestrator_id for each in self.store.all(OrchestratorKey)]
        scopes = {"scopes": choose((None, ["requests:read"], ["requests:write"]))}
        changed = choose((scopes, {"isActive": True}, {"isActive": False}, {"isActive": False, **scopes}))
        clients = [each.client_id for each in self.store.all(ClientId)]
        return [
            ("create_api_key", {}, {"label": "x", "scopes": choose((None, ["requests:read"], ["requests:write"]))}),
            *[("update_api_key", key, changed)] * 3,
            ("create_webhook", {}, {"url": f"https://hook{self.random.randint(1, 9)}.example/"}),
            ("toggle_webhook", webhook, {choose(("isActive", "confirmed")): choose((True, False))}),
            ("rotate_webhook_secret", webhook, {"overlapHours": choose((0, 24))}),
            ("create_orchestrator", {}, {"orchestratorName": "Plat", "orchestratorContactEmail": "a@shop.example"}),
            ("link_client_id", {}, {"clientId": choose(clients)}),
            ("revoke_orchestrator", {"orchestrator_id": choose(platforms)}, None),
        ]

    def of_people(self) -> list[Wish]:
        choose, people = self.choose, [each.person_id for each in self.store.all(Person)]
        somebody = {"person_id": choose((self.wisher.suspect or choose(people), choose(people)))}
        leaving = [("leave_account", dict[str, str](), None)] if self.random.random() < 0.2 else []
        settings = choose(({"approvals": False}, {"approvalDelayHours": 1}, {"name": "Shop"}))
        return [
            ("change_role", somebody, {"role": choose(tuple(Role)).value}),
            ("remove_member", somebody, None),
            ("end_sessions_of_member", somebody, None),
            ("change_account", {}, settings),
            *leaving,
        ]

    def of_invitations(self) -> list[Wish]:
        choose, role = self.choose, self.choose((Role.VIEWER, *self.random.choices(tuple(Role), k=2))).value
        names = [f"evil{self.random.randint(1, 9)}@shop.example", *(f"{each}@shop.example" for each in self.team.people)]
        own = [each for each in self.store.all(Invitation) if each.account_id == self.team.account_id]
        known = [each.invitation_id for each in own]
        withdrawing: list[Wish] = [("withdraw_invitation", {"invitation_id": choose(known)}, None)] if known else []
        return [
            ("invite", {}, {"role": role, "email": choose((names[0], choose(names)))}),
            ("invite", {}, {"role": role, "address": EVIL_NAME}),
            *withdrawing * 4,
        ]

    def of_thief(self) -> list[Wish]:
        """Uses what was read, the newest mostly, makes sure of a way back in, and locks the owner out."""
        wishes = list[Wish]()
        if invited := self.wisher.invited:
            secret = self.choose((self.choose(invited), invited[-1]))
            wishes.append(("register_invited", {}, {"secret": secret, "password": "correct horse"}))
            wishes.append(("accept_invitation", {}, {"secret": secret}))
        if tokens := self.wisher.confirming:
            wishes.append(("confirm_address", {}, {"token": self.choose((self.choose(tokens), tokens[-1]))}))
        if self.wisher.mode is Mode.SESSION:
            passkeys, names = self._own(Passkey, "passkey_id"), self._own(Identity, "name_hash")
            wishes += [] if passkeys else [("register_passkey", {}, None)]
            wishes += [("remove_identity", {"identity_id": self.choose(names)}, None)] if len(names) > 1 else []
        return wishes

    def of_sign_in(self) -> list[Wish]:
        choose, is_honest = self.choose, self.address != EVIL_NAME
        session = {"session_id": choose(self._own_first(Session, "session_id"))}
        passkey = {"passkey_id": choose(self._own_first(Passkey, "passkey_id"))}
        email = {"email": f"{'good' if is_honest else 'evil'}{self.random.randint(1, 9)}@shop.example"}
        wishes: list[Wish] = [
            ("register_passkey", {}, None),
            ("sign_in_by_passkey", {}, None),
            ("remove_passkey", passkey, None),
            ("add_wallet", {}, None),
            ("ask_confirmation", {}, email),
            ("revoke_session", session, None),
        ]
        if is_honest:  # they keep the name by which the histories know them
            return wishes
        identity = {"identity_id": choose(self._own_first(Identity, "name_hash"))}
        return [*wishes, ("ask_confirmation", {}, email), ("remove_identity", identity, None)]

    def _own(self, kind: type[Any], name: str) -> list[str]:
        return [getattr(each, name) for each in self.store.all(kind) if each.person_id == self.wisher.person_id]

    def _own_first(self, kind: type[Any], name: str) -> list[str]:
        """Ids of this kind, mostly those of whoever wishes."""
        own, known = self._own(kind, name), [getattr(each, name) for each in self.store.all(kind)]
        return (own if own and self.random.random() < 0.8 else known) or [NONE]
