"""A random history of an account with one stolen session, API key or mailbox among honest people.

What says where money goes is read from the store by rules of the tests' own (grants.py). Whatever is new in it after a step,
or takes an approver away, has to be explained by what the history has seen: two people who said so themselves, of whom one
at least is no thief, or the whole delay since a mail about it to each owner; and it has to be what approvers were shown.
"""

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

from chalicelib.accounts.changes import applying
from chalicelib.accounts.changes.records import PendingChange
from chalicelib.accounts.changes.rules import LIFETIME
from chalicelib.accounts.orchestrators import flows as orchestrators
from chalicelib.accounts.passkeys.records import Passkey
from chalicelib.commerce.core.records import CommercePayment
from chalicelib.commerce.service import flows as commerce
from chalicelib.commerce.service.creation import Draft
from chalicelib.commerce.service.transactions import info_of
from chalicelib.mail.records import Mail, MailKind
from chalicelib.platform.access.audit.records import Actor
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.people.records import (
    Identity,
    Membership,
    MembershipPointer,
    Person,
    Role,
    is_email,
)
from chalicelib.platform.access.sessions.records import Session
from chalicelib.platform.access.sessions.rules import pointer_of
from chalicelib.platform.storage.store import Delete
from chalicelib.webhooks.endpoints import flows as endpoints
from tests.accounts.changes.grants import Grant, grants, is_shown, redirections
from tests.accounts.changes.links import Links
from tests.accounts.changes.moves import EVIL, Moves, bearer
from tests.accounts.changes.wishes import Wisher, Wishes
from tests.fakes.destinations import FUSDC_SEPOLIA, FUSDT_SEPOLIA
from tests.fakes.escrows import AMOUNT, CONTRACTS, CURRENCY, PAYER, Authorized, Escrow
from tests.fakes.memory_store import MemoryStore
from tests.fakes.world import PAYEE, World
from tests.support.teams import HOUR, Answer, Team, operation

NAMES = ("ann", "bob", "carol", "dan", "wallet")
STOLEN = (*NAMES, "key", "mailbox of ann", "mailbox of bob", "mailbox of carol")


@dataclass(frozen=True)
class Shape:
    """Who is in the account, how long its changes wait (0: for another person alone), and whether it sends e-mail."""

    names: tuple[str, ...] = NAMES
    hours: int = 24
    sends: bool = True

    @property
    def stolen(self) -> tuple[str, ...]:
        known = [each for each in STOLEN if each == "key" or each.rpartition(" ")[2] in self.names]
        return tuple(each for each in known if self.sends or not each.startswith("mailbox"))


SHAPES = (
    Shape(),
    Shape(hours=0),
    Shape(hours=100),
    Shape(sends=False),
    Shape(("ann", "bob")),
    Shape(("ann", "bob"), hours=0),
    Shape(("ann", "wallet", "dan")),
    Shape(("ann", "carol", "dan"), sends=False),
    Shape(("ann",)),
)
PUBLIC = {"register_invited", "confirm_address"}


class History:
    def __init__(self, seed: int) -> None:
        self.random, self.shape = Random(seed), SHAPES[seed // len(STOLEN) % len(SHAPES)]
        settings: dict[str, Any] = {"escrow_contracts": {"sepolia": CONTRACTS}, "relayer_keys": {"sepolia": "secret"}}
        settings |= {"mail_sender": "pay@shop.example"} if self.shape.sends else {}
        world = World(client=object(), seed=seed, rate_limit_scale=1000, **settings)
        self.store = MemoryStore()
        world.services = replace(world.services, store=self.store)
        self.team, self.world = Team(world), world
        self.moves = Moves(self.team)
        self.seen = self.moves.seen
        for each in self.store.all(Identity):
            if is_email(each.name):
                self.store.write(replace(each, verified_at=world.now))
        self.asked_at: dict[str, tuple[datetime, str | None, int]] = {}
        self.approved: dict[str, set[str]] = {}
        self.owners: dict[str, set[str]] = {}
        self.platform_keys = [self._merchants_own()]
        self.escrowed = self._escrow()
        self.stolen = self.shape.stolen[seed % len(self.shape.stolen)]
        self.wallet_person = next(
            each.person_id for each in self.store.all(Membership) if each.person_id not in self.team.people.values()
        )
        self.team.set_account(approval_delay_hours=self.shape.hours)
        for each in (*self.store.all(Membership), *self.store.all(MembershipPointer)):
            if each.person_id not in map(self.person, self.shape.names):
                self.store.write(Delete(each))
        is_mailbox = self.stolen.startswith("mailbox")
        self.links = Links(self.team, self.store, self.address_of(self.stolen) if is_mailbox else None)
        self.thief = self._steal()
        self.thieves = {self.person(self.stolen)}
        self.tokens: dict[str, set[str]] = {}
        """Those of members' sessions in the account, by person."""
        self.ended = set[str]()

    def _merchants_own(self) -> str:
        """An orchestrator, whose key is returned, a webhook that the account has had for long, and one of a stranger."""
        services, actor = self.world.services, Actor(self.team.account_id, "test", "203.0.113.7", "-")
        endpoints.register(services, actor, None, Mode.API_KEY, "https://shop.example/hook")
        endpoints.register(services, actor, self.team.client_id, Mode.CLIENT_ID, "https://stranger.example/hook")
        return orchestrators.register(services, actor, "Plat", "plat@shop.example")[2]

    def _escrow(self) -> str:
        """The id of a request whose payment is held in the escrow, and which fixes no receiver of a fee."""
        owner, services = Owner(self.team.account_id, None, None, mode=Mode.API_KEY), self.world.services
        draft = Draft("shop", PAYEE, PAYER, AMOUNT, CURRENCY, AMOUNT, None, None, None, 0, 10_000, None)
        escrow = Escrow(self.world.chain, self.world.clock)
        commerce.create(services, owner, draft)
        (payment,) = self.store.all(CommercePayment)
        self.store.write(replace(payment, authorized=AMOUNT))
        escrow.payments[payment.payment_hash] = Authorized(info_of(payment, PAYER), AMOUNT)
        escrow.balances[CONTRACTS.escrow.lower()] = AMOUNT
        return str(payment.request_id)

    # --- who acts ---

    def _steal(self) -> dict[str, str]:
        if self.stolen == "key":
            return self.team.by_key()
        if self.links.mailbox is None:
            return self.headers(self.stolen)
        assert self.team.call("forgot_password", {}, {"email": self.links.mailbox}).status == 202
        (mail,) = [each for each in self.store.all(Mail) if each.kind is MailKind.RESET]
        body = {"token": self.links.token_in(mail), "password": "correct horse"}
        assert self.team.call("reset_password", {}, body).status == 200
        return self.headers(self.links.mailbox.partition("@")[0])  # what signing in with the new password opens

    def address_of(self, name: str) -> str:
        return f"{name.rpartition(' ')[2]}@shop.example"

    def headers(self, name: str) -> dict[str, str]:
        return self.team.by_wallet() if name == "wallet" else self.team.by(name)

    def person(self, name: str) -> str | None:
        if name == "key":
            return None
        name = name.rpartition(" ")[2]
        return self.wallet_person if name == "wallet" else self.team.people[name]

    def is_member(self, person_id: str | None) -> bool:
        key = Membership.KEY.of(account_id=self.team.account_id, person_id=person_id)
        return self.store.get(Membership, key) is not None

    def members(self) -> list[Membership]:
        return [each for each in self.store.all(Membership) if each.account_id == self.team.account_id]

    def changes(self) -> list[PendingChange]:
        """Those of the account: who was removed has one of their own."""
        return [each for each in self.store.all(PendingChange) if each.account_id == self.team.account_id]

    def _owners(self) -> set[str]:
        """Those who are written to at the address that this file knows: the wallet has none, and a thief may add others."""
        found = {each.person_id for each in self.members() if each.role is Role.OWNER}
        first = {each.person_id: next(filter(is_email, each.identities), None) for each in self.store.all(Person)}
        people = self.team.people.items()
        return {name for name, each in people if each in found and first[each] == self.address_of(name)}

    def has_proved(self) -> None:
        """The stolen session is kept in use, and its thief may prove presence: the mailbox and the password are theirs."""
        for each in self.store.all(Session):
            later = self.world.now + timedelta(days=9)
            kept = replace(each, proved_at=self.world.now, expires_at=later)
            self.store.write(kept, pointer_of(kept))

    # --- steps ---

    def run(self) -> None:
        for _ in range(self.random.randint(10, 24)):
            before = grants(self.store, self.team.account_id, self.world.now)
            owned, people = self._owned(), {each.person_id for each in self.store.all(Person)}
            ended = {each.change_id for each in self.changes() if each.decided_at is not None}
            acted, left = self._step()
            self.links.read_mails()
            identities = self.store.all(Identity)
            after = grants(self.store, self.team.account_id, self.world.now)
            found = redirections(before, after, left, identities)
            if found:
                self._explain(found, ended)
            strange = {each for _, each in self._owned() - owned if each != acted and each in people}
            assert not strange, f"a way to sign in was added to {strange} by {acted}"
            self.thieves |= {each.person_id for each in identities if self.links.is_thiefs(each.name)}
            self.links.check()
            self._check_ended()
            if not self.team.account().has_approvals or self._has_let_in():
                return  # as two people or the delay have decided

    def _owned(self) -> set[tuple[Any, str]]:
        return {(each.key, each.person_id) for kind in (Identity, Passkey) for each in self.store.all(kind)}

    def _has_let_in(self) -> bool:
        """Whether a thief has joined, beside who was stolen from, and not to read alone."""
        evil = self.thieves - {self.person(self.stolen)}
        return any(each.person_id in evil and each.role is not Role.VIEWER for each in self.members())

    def _check_ended(self) -> None:
        """Nothing that opened the account to somebody who is no member any more opens it still, or ever again."""
        for person_id in [each for each in self.tokens if not self.is_member(each)]:
            self.ended |= self.tokens.pop(person_id)
            self.seen["removed"] += 1
            answer = self.moves.sign_in_by_passkey(person_id)
            if answer.status == 200:
                self.seen["removed, with a passkey"] += 1
                account_id = self.team.call("me", bearer(answer.token)).body.get("id")
                assert account_id != self.team.account_id, "a passkey opens what its person was removed from"
                self.thief = bearer(answer.token) if person_id == self.person(self.stolen) else self.thief
        for token in self.ended:
            status = self.team.call("list_members", bearer(token)).status
            assert status == 401, f"a session outlasts its membership: {status}"

    def _step(self) -> tuple[str | None, str | None]:
        """One step of the thief, of somebody honest, or of time. Returns who has acted, and who has left by themselves."""
        kind = self.random.choices(("thief", "honest", "time"), (5, 4, 3))[0]
        if kind == "time":
            hours = self.random.choice((0.1, 1, 5, 23, 25))
            if self.random.random() < 0.3:  # mails are late
                self.world.advance(hours * HOUR)
                applying.run_due(self.world.services)
            else:
                self.team.wait(hours)
            return None, None
        if kind == "thief":
            self.has_proved()
            person_id = self.person(self.stolen)
            return person_id, self._act(self.thief, person_id, is_thief=True)
        if self.random.random() < 0.2:
            return None, self._act(self.team.by_key(), None, is_thief=False)  # the merchant's server
        name = self.random.choice([each for each in NAMES if self.is_member(self.person(each))] or ["ann"])
        if not self.is_member(self.person(name)) or name == self.stolen.rpartition(" ")[2]:
            return None, None  # who was stolen from sleeps
        return self.person(name), self._act(self.headers(name), self.person(name), is_thief=False)

    def _act(self, headers: dict[str, str], person_id: str | None, *, is_thief: bool) -> str | None:
        self._keep(headers)
        open_changes = [each for each in self.changes() if each.decided_at is None]
        if open_changes and self.random.random() < 0.5:
            self._decide(self.random.choice(open_changes), headers, person_id, is_thief)
            return None
        mode = Mode.SESSION if "authorization" in headers else Mode.API_KEY
        wisher = Wisher(person_id, mode, self.team.wallet, self.person(self.stolen))
        if is_thief:
            wisher = Wisher(person_id, mode, EVIL, None, tuple(self.links.invited), tuple(self.links.confirming))
        name, path, body = Wishes(self.team, self.store, self.random, wisher, self.escrowed).one()
        if operation(name).changes_sign_in and person_id in self.moves.keys:  # a password does not count any more
            headers = self._sign_in_again(headers, person_id, is_thief)
        hours = self.team.account().approval_delay_hours
        if not hours and [each.role for each in self.members()].count(Role.OWNER) < 2:
            hours = LIFETIME // timedelta(hours=1)  # where nobody else may approve it
        answer = self._make(name, headers, wisher, path, body)
        if answer.status == 202 and "pendingChange" in answer.body:
            asker = None if name == "create_payee_destination" else person_id
            self.asked_at[answer.change_id] = self.world.now, asker, hours
            self.owners[answer.change_id] = self._owners()
        self._use(name, path, body, answer)
        if name == "sign_in_by_passkey" and is_thief and answer.status == 200:
            self.thief = bearer(answer.token)
        return person_id if name in ("leave_account", "remove_member") and answer.status == 200 else None

    def _keep(self, headers: dict[str, str]) -> None:
        account_id, _, rest = headers.get("authorization", "").removeprefix("Bearer ").partition(".")
        if account_id == self.team.account_id:
            self.tokens.setdefault(rest.partition(".")[0], set()).add(f"{account_id}.{rest}")

    def _sign_in_again(self, headers: dict[str, str], person_id: str | None, is_thief: bool) -> dict[str, str]:
        answer = self.moves.sign_in_by_passkey(person_id)
        if answer.status != 200:
            return headers
        self._keep(bearer(answer.token))
        self.thief = bearer(answer.token) if is_thief else self.thief
        return bearer(answer.token)

    def _decide(self, change: PendingChange, headers: dict[str, str], person_id: str | None, is_thief: bool) -> None:
        verb = self.random.choice(("approve", "approve", "refuse", "withdraw") if is_thief else ("approve", "refuse"))
        if not is_thief and self.random.random() < 0.7:  # honest people know what they asked for, mostly
            verb = "refuse" if change.asker.person_id in (None, self.person(self.stolen)) else "approve"
        done = self.team.decide(verb, headers, change.change_id)
        self.seen[f"{verb} {done.status}"] += 1
        if verb == "approve" and done.status == 200 and person_id:
            self.approved.setdefault(change.change_id, set()).add(person_id)

    def _make(self, name: str, headers: dict[str, str], wisher: Wisher, path: dict[str, str], body: Any) -> Answer:
        match name:
            case "create_payee_destination":
                key = self.team.by_key() if "x-api-key" in headers else {}
                headers = {**key, "x-client-id": self.team.client_id}  # which anybody can send
                token = self.random.choice((FUSDC_SEPOLIA, FUSDT_SEPOLIA))
                return self.moves.create_payee_destination(self.store, wisher.wallet, token, headers)
            case "register_passkey":
                return self.moves.register_passkey(headers, wisher.person_id)
            case "sign_in_by_passkey":
                return self.moves.sign_in_by_passkey(wisher.person_id)
            case "add_wallet":
                return self.moves.add_wallet(headers, wisher.wallet)
            case "link_client_id":
                headers = {"x-orchestrator-key": self.random.choice(self.platform_keys)}
            case "accept_invitation" if body["secret"] in self.links.of_wallets:
                headers = bearer(self.moves.sign_in_by_wallet(EVIL).token)
        return self.moves.call(name, {} if name in PUBLIC else headers, body, **path)

    def _use(self, name: str, path: dict[str, str], body: Any, answer: Answer) -> None:
        """A key that was shown early is tried at once, and what was used once is tried again."""
        shown = answer.body.get("result", {}) if isinstance(answer.body, dict) else {}
        if isinstance(shown.get("key"), str):
            assert self.team.call("list_client_ids", {"x-api-key": shown["key"]}).status == 401
        if "rawKey" in shown:
            self.platform_keys.append(shown["rawKey"])
            assert self.team.call("list_client_links", {"x-orchestrator-key": shown["rawKey"]}).status == 401
        if answer.status not in (200, 201, 202):
            return
        if name == "invite":
            self.links.read_answer(answer)
        if name == "withdraw_invitation":
            self.links.end(path["invitation_id"])
        if name in ("register_invited", "accept_invitation"):
            self.links.end(body["secret"].split(".")[1])
        if name == "confirm_address":
            assert self.team.call(name, {}, body).status == 400

    # --- what explains it ---

    def _explain(self, found: set[Grant], ended: set[str]) -> None:
        applied = [each for each in self.changes() if each.state == "applied" and each.change_id not in ended]
        assert applied, f"nothing was approved, and yet: {found}"
        effects = [effect for change in applied for effect in json.loads(change.effects)]
        hidden = [each for each in found if not is_shown(each, effects)]
        assert not hidden, f"not shown: {hidden}"
        for change in applied:
            asked_at, person_id, hours = self.asked_at[change.change_id]
            people = self.approved.get(change.change_id, set()) | ({person_id} if person_id else set())
            by_people = len(people) >= 2 and bool(people - self.thieves)
            by_delay = hours > 0 and self.world.now - asked_at >= timedelta(hours=hours) and self._is_notified(change, hours)
            assert by_people or by_delay, (change.operation, people, found)
            self.seen["by people" if by_people else "by delay"] += 1

    def _is_notified(self, change: PendingChange, hours: int) -> bool:
        """Whether a mail to each owner who has an address names it, and was sent the whole delay ago; always where no
        mail is sent."""
        if not self.shape.sends:
            return True
        before = self.world.now - timedelta(hours=hours)
        mails = [each for each in self.store.all(Mail) if each.kind is MailKind.CHANGES and change.change_id in each.facts]
        notices = {each.recipient for each in mails if each.sent_at and each.sent_at <= before}
        owners = self.owners[change.change_id] & self._owners()
        self.seen["with mails"] += bool(notices)
        return {self.address_of(each) for each in owners} <= notices
