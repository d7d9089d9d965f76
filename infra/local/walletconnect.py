"""The local relay: carries messages between a page and a wallet, by the protocol of WalletConnect's relay.

What a client sends is JSON-RPC over a web socket (https://specs.walletconnect.com/2.0/specs/servers/relay). The relay
keeps messages by topic until their end for who subscribes later, and sends each to every other subscriber until that
has it. It cannot read them. As the real one, it refuses clients whose token is not signed by the key that it names, or
is for another relay, and projects that it does not know.
"""

import json
import secrets
import threading
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from Crypto.Signature import eddsa
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

from infra.local.process import Stoppable

PROJECT = "0123456789abcdef0123456789abcdef"
_MOST_SECONDS = 6 * 3600
_DIGITS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ED25519 = b"\xed\x01"
_PROPOSAL, _RESPONSE, _SETTLEMENT = 1100, 1101, 1102
"""Tags of the messages by which a session is proposed, answered and settled."""


class Refused(Exception):
    """A request that the relay does not fulfil; the message says why."""


@dataclass
class _Message:
    text: str
    tag: int
    published: int  # milliseconds
    until: float
    sender: "_Client"
    read: set[str] = field(default_factory=set)  # clients that have it


@dataclass
class _Client:
    id: str
    socket: ServerConnection
    topics: dict[str, str] = field(default_factory=dict)  # id of the subscription by topic

    def send(self, **body: Any) -> None:
        with suppress(ConnectionClosed):  # it gets what it has missed when it subscribes again
            self.socket.send(json.dumps({"jsonrpc": "2.0", **body}))


class Relay(Stoppable):
    """A running relay. `methods` are those that it was asked, `published` the params of each publication."""

    def __init__(self, port: int = 0) -> None:
        self._lock = threading.RLock()
        self._messages: dict[str, list[_Message]] = {}
        self._clients: list[_Client] = []
        self._admitted: dict[ServerConnection, str] = {}  # ids of clients by connection
        self._asked: dict[int, tuple[_Client, _Message]] = {}
        self.methods: list[str] = []
        self.published: list[dict[str, Any]] = []
        self.unacknowledged = frozenset[int]()
        """Tags of the messages that it carries, without saying so to their sender."""
        self._server = serve(self._serve, "127.0.0.1", port, process_request=self._admit)
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        with self._lock:
            sockets = [each.socket for each in self._clients]
        for each in sockets:
            each.close()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        query = parse_qs(urlsplit(request.path).query)
        try:
            if query.get("projectId") != [PROJECT]:
                raise Refused("project not found")
            self._admitted[connection] = client_of(query.get("auth", [""])[0], self.url)
        except Refused as refusal:
            return connection.respond(401, f"{refusal}\n")
        return None

    def _serve(self, socket: ServerConnection) -> None:
        client = _Client(self._admitted.pop(socket), socket)
        with self._lock:
            self._clients.append(client)
        try:
            for text in socket:
                self._receive(client, json.loads(text))
        finally:
            with self._lock:
                self._clients.remove(client)

    def _receive(self, client: _Client, body: dict[str, Any]) -> None:
        with self._lock:
            if "method" not in body:
                return self._acknowledge(body)
            self.methods.append(body["method"])
            handle = _METHODS.get(body["method"])
            try:
                if handle is None:
                    raise Refused(f"no method {body['method']}")
                result = handle(self, client, body["params"])
                if body["params"].get("tag") not in self.unacknowledged:
                    client.send(id=body["id"], result=result)
            except (Refused, KeyError) as problem:
                client.send(id=body["id"], error={"code": -32602, "message": str(problem)})

    def _acknowledge(self, body: dict[str, Any]) -> None:
        client, message = self._asked.pop(body["id"], (None, None))
        if client is not None and message is not None and body.get("result") is True:
            message.read.add(client.id)

    def publish(self, client: _Client, params: dict[str, Any]) -> bool:
        topic, text, now = _topic(params["topic"]), str(params["message"]), time.time()
        ttl = int(params["ttl"])
        if not 0 < ttl <= 30 * 86_400:
            raise Refused("ttl")
        self.published.append(params)
        message = _Message(text, int(params.get("tag", 0)), int(now * 1000), now + min(ttl, _MOST_SECONDS), client)
        self._messages.setdefault(topic, []).append(message)
        for each in self._clients:
            if topic in each.topics and each.id != client.id:
                self._deliver(each, topic, message)
        return True

    def subscribe(self, client: _Client, params: dict[str, Any]) -> str:
        topic = _topic(params["topic"])
        subscription = client.topics.setdefault(topic, secrets.token_hex(32))
        for message in self._waiting(client, topic):
            self._deliver(client, topic, message)
        return subscription

    def subscribe_all(self, client: _Client, params: dict[str, Any]) -> list[str]:
        return [self.subscribe(client, {"topic": each}) for each in params["topics"]]

    def unsubscribe(self, client: _Client, params: dict[str, Any]) -> bool:
        return client.topics.pop(_topic(params["topic"]), None) is not None

    def fetch(self, client: _Client, params: dict[str, Any]) -> dict[str, Any]:
        topics = params.get("topics") or [params["topic"]]
        found = [_message_of(topic, each) for topic in topics for each in self._waiting(client, _topic(topic))]
        return {"messages": found, "hasMore": False}

    def propose(self, client: _Client, params: dict[str, Any]) -> bool:
        """Publishes a proposal on the pairing's topic, and subscribes its sender to that, for the response."""
        topic = _topic(params["pairingTopic"])
        self.subscribe(client, {"topic": topic})
        message = params["sessionProposal"]
        return self.publish(client, {**_rest(params), "topic": topic, "message": message, "tag": _PROPOSAL})

    def approve(self, client: _Client, params: dict[str, Any]) -> bool:
        """Publishes the response to a proposal and the settlement; subscribes their sender to the session's topic."""
        pairing, session, rest = params["pairingTopic"], params["sessionTopic"], _rest(params)
        self.subscribe(client, {"topic": session})
        response, settlement = params["sessionProposalResponse"], params["sessionSettlementRequest"]
        self.publish(client, {**rest, "topic": pairing, "message": response, "tag": _RESPONSE})
        return self.publish(client, {**rest, "topic": session, "message": settlement, "tag": _SETTLEMENT})

    def _waiting(self, client: _Client, topic: str) -> list[_Message]:
        kept = [each for each in self._messages.get(topic, ()) if each.until > time.time()]
        self._messages[topic] = kept
        return [each for each in kept if each.sender.id != client.id and client.id not in each.read]

    def _deliver(self, client: _Client, topic: str, message: _Message) -> None:
        number = int(time.time() * 1000) * 1000 + secrets.randbelow(1000)
        self._asked[number] = (client, message)
        params = {"id": client.topics[topic], "data": _message_of(topic, message)}
        client.send(id=number, method="irn_subscription", params=params)


def client_of(token: str, relay_url: str) -> str:
    """The id of a client by its token: a JWT signed by the Ed25519 key in its issuer, a did:key. Raises Refused."""
    try:
        head, claims, signature = (_decode_base64(each) for each in token.split("."))
        header, payload = json.loads(head), json.loads(claims)
        method, _, key = payload["iss"].rpartition(":z")
        raw = _base58(key)
        if (header["alg"], method, raw[:2]) != ("EdDSA", "did:key", _ED25519):
            raise Refused("not a token of this protocol")
        public = eddsa.import_public_key(raw[2:])
        eddsa.new(public, "rfc8032").verify(token.rpartition(".")[0].encode(), signature)
    except (ValueError, KeyError, TypeError) as problem:
        raise Refused(f"invalid token: {problem}") from problem
    if payload["aud"] != relay_url or not payload["iat"] - 60 <= time.time() < payload["exp"]:
        raise Refused("a token for another relay or time")
    return str(payload["iss"])


def _decode_base64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _base58(text: str) -> bytes:
    number = 0
    for each in text:
        number = number * 58 + _DIGITS.index(each)
    return number.to_bytes(34, "big")


def _topic(text: str) -> str:
    if len(text) != 64 or not all(each in "0123456789abcdef" for each in text):
        raise Refused("a topic has 64 hexadecimal digits")
    return text


def _message_of(topic: str, message: _Message) -> dict[str, Any]:
    return {"topic": topic, "message": message.text, "publishedAt": message.published, "tag": message.tag}


def _rest(params: dict[str, Any]) -> dict[str, Any]:
    kept = ("attestation", "correlationId", "ttl")
    return {"ttl": 300, **{name: value for name, value in params.items() if name in kept}}


_METHODS: dict[str, Callable[[Relay, _Client, dict[str, Any]], Any]] = {
    "irn_publish": Relay.publish,
    "irn_subscribe": Relay.subscribe,
    "irn_batchSubscribe": Relay.subscribe_all,
    "irn_unsubscribe": Relay.unsubscribe,
    "irn_fetchMessages": Relay.fetch,
    "irn_batchFetchMessages": Relay.fetch,
    "wc_proposeSession": Relay.propose,
    "wc_approveSession": Relay.approve,
}
