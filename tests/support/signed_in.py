"""Sessions opened over HTTP, as a dashboard does."""

import itertools
from dataclasses import dataclass
from typing import Any

from tests.fakes.wallets import EvmWallet, TronWallet
from tests.support.client import Api, Reply

_users = itertools.count()


@dataclass
class Dashboard:
    """A signed-in user, whose session is sent as a bearer token."""

    api: Api
    token: str

    def send(self, method: str, path: str, body: Any = None) -> Reply:
        return self.api.request(method, path, body, {"authorization": f"Bearer {self.token}"})

    def get(self, path: str) -> Reply:
        return self.send("GET", path)


def by_wallet(api: Api, wallet: EvmWallet | TronWallet) -> Dashboard:
    challenge = api.request("POST", "/v1/auth/wallet/challenge", {"address": wallet.address}).json
    fields = {name: challenge[name] for name in ("challengeId", "nonce", "message")}
    signed = {**fields, "signature": wallet.sign(challenge["message"])}
    return _dashboard(api, api.request("POST", "/v1/auth/wallet/verify", signed))


def by_email(api: Api) -> Dashboard:
    body = {"email": f"dashboard{next(_users)}@shop.example", "password": "correct horse"}
    assert api.request("POST", "/v1/auth/register", body).status == 201
    return _dashboard(api, api.request("POST", "/v1/auth/login", body))


def _dashboard(api: Api, reply: Reply) -> Dashboard:
    assert reply.status == 200, reply.json
    return Dashboard(api, reply.headers["set-cookie"].split(";")[0].partition("=")[2])
