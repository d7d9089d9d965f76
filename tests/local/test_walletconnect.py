"""The local relay of WalletConnect: whom it admits, and which messages it carries to whom."""

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from Crypto.PublicKey import ECC
from Crypto.Signature import eddsa
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from infra.local.walletconnect import PROJECT, Relay

DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
TOPIC, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def relay() -> Iterator[Relay]:
    with Relay() as running:
        yield running


def encoded(part: Any) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(raw).decode().rstrip("=")


def token_for(url: str, **changes: Any) -> str:
    key = ECC.generate(curve="Ed25519")
    number, text = int.from_bytes(b"\xed\x01" + key.public_key().export_key(format="raw"), "big"), ""
    while number:
        number, place = divmod(number, 58)
        text = DIGITS[place] + text
    now = int(time.time())
    claims = {"iss": f"did:key:z{text}", "sub": "x", "aud": url, "iat": now, "exp": now + 86_400}
    signed = f"{encoded({'alg': 'EdDSA', 'typ': 'JWT'})}.{encoded(claims | changes)}"
    return f"{signed}.{encoded(eddsa.new(key, 'rfc8032').sign(signed.encode()))}"


def opened(relay: Relay, token: str = "", project: str = PROJECT) -> ClientConnection:
    return connect(f"{relay.url}/?auth={token or token_for(relay.url)}&projectId={project}")


def ask(client: ClientConnection, method: str, **params: Any) -> Any:
    client.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
    while (reply := json.loads(client.recv(10)))["id"] != 7:
        pass
    return reply.get("result", reply.get("error"))


def test_a_client_without_a_right_token_or_project_is_not_admitted(relay: Relay) -> None:
    right = token_for(relay.url)
    other = token_for(relay.url)
    forged = ".".join([*right.split(".")[:2], other.split(".")[2]])
    late = token_for(relay.url, exp=int(time.time()) - 1)
    for token, project in (
        *((each, PROJECT) for each in ("x", forged, late, token_for("wss://relay.example"), token_for(relay.url, iss="did:key:zx"))),
        (right, "f" * 32),
    ):
        with pytest.raises(InvalidStatus) as refused, opened(relay, token, project):
            pass
        assert refused.value.response.status_code == 401
    with opened(relay, right):
        pass


def test_a_message_reaches_who_subscribes_before_or_after_and_not_its_sender(relay: Relay) -> None:
    token = token_for(relay.url)
    with opened(relay) as page, opened(relay, token) as wallet:
        assert ask(page, "irn_subscribe", topic=TOPIC)
        assert ask(wallet, "irn_subscribe", topic=OTHER)
        assert ask(page, "irn_publish", topic=TOPIC, message="sealed", ttl=300, tag=1108) is True
        wallet.send(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "irn_subscribe", "params": {"topic": TOPIC}}))
        replies = [json.loads(wallet.recv(10)) for _ in range(2)]
        (delivered,) = (each for each in replies if each.get("method") == "irn_subscription")
        data = delivered["params"]["data"]
        assert (data["topic"], data["message"], data["tag"]) == (TOPIC, "sealed", 1108)
        wallet.send(json.dumps({"jsonrpc": "2.0", "id": delivered["id"], "result": True}))
        assert ask(wallet, "irn_batchFetchMessages", topics=[TOPIC]) == {"messages": [], "hasMore": False}
        assert ask(page, "irn_batchFetchMessages", topics=[TOPIC]) == {"messages": [], "hasMore": False}
    with opened(relay, token) as again:
        assert ask(again, "irn_fetchMessages", topic=TOPIC) == {"messages": [], "hasMore": False}, "it has it already"


def test_what_it_does_not_understand_is_an_error(relay: Relay) -> None:
    with opened(relay) as client:
        for method, params in (("irn_x", {}), ("irn_subscribe", {"topic": "a"}), ("irn_publish", {"topic": TOPIC})):
            assert ask(client, method, **params)["code"] == -32602
        assert ask(client, "irn_publish", topic=TOPIC, message="x", ttl=0)["message"] == "ttl"
