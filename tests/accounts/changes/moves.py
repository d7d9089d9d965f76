"""Calls in histories of an account that take two steps: a challenge or a nonce, and what a key signs of it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from chalicelib.accounts.payees import flows as payees
from chalicelib.accounts.payees.records import Action
from chalicelib.accounts.payees.rules import parse_route, signing_data
from chalicelib.platform.access.credentials.records import ClientId
from tests.fakes import passkeys as authenticator
from tests.fakes.destinations import SEPOLIA, sign
from tests.fakes.memory_store import MemoryStore
from tests.fakes.passkeys import SoftKey
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.support.teams import Answer, Team

EVIL = evm_wallet("evil")
EVIL_NAME = EVIL.address
Headers = Mapping[str, str]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


class Moves:
    """`seen` counts what was called by its outcome, `keys` are the passkeys of people."""

    def __init__(self, team: Team) -> None:
        self.team, self.seen, self.keys = team, Counter[str](), dict[str, SoftKey]()
        self.origin = team.world.services.settings.auth_url

    def call(self, name: str, headers: Headers, body: Any = None, **path: str) -> Answer:
        answer = self.team.call(name, headers, body, **path)
        self.seen[f"{name} {answer.status}"] += 1
        assert answer.status < 500, name
        return answer

    def create_payee_destination(self, store: MemoryStore, wallet: EvmWallet, token: str, headers: Headers) -> Answer:
        (client,) = [each for each in store.all(ClientId) if each.client_id == self.team.client_id]
        services = self.team.world.services
        nonce = payees.issue_nonce(services, client, parse_route(wallet.address, token, SEPOLIA, {}), Action.ADD)
        body = {"nonce": nonce.nonce, "signature": sign(wallet, signing_data(nonce, services.settings.brand))}
        return self.call("create_payee_destination", headers, body)

    def register_passkey(self, headers: Headers, person_id: str | None) -> Answer:
        asked = self.call("ask_to_register_passkey", headers)
        if asked.status != 200 or person_id is None:
            return asked
        key, credential = authenticator.create(asked.body["publicKey"], self.origin)
        answer = self.call("register_passkey", headers, {"name": "key", "credential": credential})
        if answer.status == 201:
            self.keys[person_id] = key
        return answer

    def sign_in_by_passkey(self, person_id: str | None) -> Answer:
        """With the newest passkey of the person, whether it is registered still or not; 404 if they have had none."""
        if person_id not in self.keys:
            return Answer(404, None)
        asked = self.call("ask_to_sign_in_by_passkey", {})
        credential = authenticator.get(self.keys[person_id], asked.body["publicKey"], self.origin)
        return self.call("sign_in_by_passkey", {}, {"credential": credential})

    def add_wallet(self, headers: Headers, wallet: EvmWallet) -> Answer:
        asked = self.call("ask_to_add_wallet", headers, {"address": wallet.address})
        return self.call("add_wallet", headers, _signed(asked, wallet)) if asked.status == 201 else asked

    def sign_in_by_wallet(self, wallet: EvmWallet) -> Answer:
        asked = self.team.call("ask_challenge", {}, {"address": wallet.address})
        return self.team.call("verify_wallet", {}, _signed(asked, wallet))


def _signed(asked: Answer, wallet: EvmWallet) -> dict[str, str]:
    known = {name: asked.body[name] for name in ("challengeId", "nonce", "message")}
    return {**known, "signature": wallet.sign(known["message"])}
