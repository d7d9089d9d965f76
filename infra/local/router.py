"""A local router: the HTTP API of LI.FI over the local bridge, which npm @lifi/sdk and the service both speak to.

It offers USDC and USDT of the chains of infra/local/across.py, always by one deposit whose message has the approval,
after one of 0 where the token needs that, and the call that was asked for. What it says of a transfer it reads from
the chains. Commands, at the same port:

    curl <lifi_url>/control/cases -d '{"quote": {"case": "slow", "seconds": 5}}'    how it answers from now on, by kind
                                                     of request (quote, status, tokens); null: as it should. A case is
                                                     slow, never, html, empty, no_route, or a status: 429, 500, 503;
                                                     with "times": 2 the third request is answered as it should be
    curl <lifi_url>/control/says -d '{"<hash>": {"status": "DONE", "substatus": "COMPLETED"}}'    whatever the chains
                                                     have; null: what they have
    curl <lifi_url>/control/relayer -d '{"isPaused": true}'             deposits stay unfilled and not refunded
    curl <lifi_url>/control/fill -d '{"txHash": "<hash>"}'            now; with "fails": true the payment reverts
    curl <lifi_url>/control/refund -d '{"txHash": "<hash>"}'          now, though it could still be filled
    curl <lifi_url>/control/state                                     cases, what is said, whether the relayer is paused
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.chains.catalogue.tokens import Token, find_tokens
from infra.local.across import Bridge, Deposited
from infra.local.across_relayer import Relayer
from infra.local.chain import Chain, RpcError
from infra.local.process import Stoppable
from infra.local.router_quotes import Asked, quote, token_json
from infra.local.router_statuses import status_of
from infra.local.serving import JsonRequest, JsonResponse, JsonServer

LIMIT, WINDOW_SECONDS = 75, 7200
"""Quotes without a key, and in how many seconds: those of LI.FI."""
KEY = "local-router-key"
"""The key of the limit of `KEY_LIMIT` quotes in the same time."""
SECRETS = {"lifi_api_key": KEY}
"""As it stands beside the URLs of nodes."""
KEY_LIMIT = 12_000
_SYMBOLS = ("USDC", "USDT")
_NO_ROUTE, _NOT_FOUND, _RATE_LIMIT, _SERVER, _UNAUTHORIZED, _INVALID = 1002, 1003, 1005, 1006, 1010, 1011


class Refused(Exception):
    """Why a request gets no answer: an error of the API."""

    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.response = JsonResponse({"message": message, "code": code, **more}, status)


@contextmanager
def running_router(chains: Mapping[str, Chain], port: int | None = None) -> Iterator["Router"]:
    """Runs a router for these chains, and a relayer that acts by itself every second."""
    with Relayer(Bridge(chains), seconds=1) as relayer, Router(relayer, port) as router:
        yield router


class Router(Stoppable):
    """A running router over a relayer's bridge."""

    def __init__(self, relayer: Relayer, port: int | None = None, limit: int = LIMIT) -> None:
        self.relayer, self.limit = relayer, limit
        self.cases: dict[str, dict[str, Any]] = {}
        """How requests are answered, by kind; see above."""
        self.says: dict[str, dict[str, Any]] = {}
        """What is said of transactions, by hash."""
        self.change: Callable[[dict[str, Any]], Any] = lambda step: step
        """What is done to the body of a quote before it is sent."""
        self.asked = deque[JsonRequest](maxlen=1000)
        """The last requests, without commands."""
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._quoted: dict[str | None, deque[float]] = {None: deque(), KEY: deque()}
        self._server = JsonServer("the router", self._respond, port)
        self.url = self._server.url

    def stop(self) -> None:
        self._ended.set()
        self._server.close()

    def _respond(self, request: JsonRequest) -> JsonResponse:
        try:
            if request.path.startswith("/control/"):
                return self._command(request.path.removeprefix("/control/"), request.body or {})
            with self._lock:
                self.asked.append(request)
            return self._answer(request)
        except Refused as refused:
            return refused.response
        except (BadRequest, KeyError, TypeError, ValueError, AttributeError, RpcError) as error:
            return Refused(400, _INVALID, f"Invalid request: {error}").response

    def _answer(self, request: JsonRequest) -> JsonResponse:
        match request.method, request.path:
            case "POST", "/v1/quote/contractCalls":
                headers = self._count(request.headers.get("x-lifi-api-key"))
                forced = self._find_forced("quote")
                return forced or JsonResponse(self.change(self._quote(request.body)), headers=headers)
            case "GET", "/v1/status":
                return self._find_forced("status") or JsonResponse(self._status(request.query))
            case "GET", "/v1/tokens":
                return self._find_forced("tokens") or JsonResponse(self._tokens(request.query.get("chains")))
        raise Refused(404, _NOT_FOUND, "Not found")

    # --- quotes ---

    def _quote(self, body: Mapping[str, Any]) -> dict[str, Any]:
        calls = body["contractCalls"]
        if len(calls) != 1 or "fromAmount" in body:
            raise Refused(400, _INVALID, "One contract call and toAmount are supported here")
        (call,) = calls
        asked = Asked(
            source=self._token(body["fromChain"], body["fromToken"]),
            destination=self._token(body["toChain"], body["toToken"]),
            sender=evm_address(body["fromAddress"]),
            fallback=evm_address(call.get("toFallbackAddress") or body.get("toFallbackAddress") or body["fromAddress"]),
            amount=int(body["toAmount"]),
            target=evm_address(call["toContractAddress"]),
            spender=evm_address(call.get("toApprovalAddress") or call["toContractAddress"]),
            spent=int(call["fromAmount"]),
            calldata=bytes.fromhex(call["toContractCallData"].removeprefix("0x")),
            gas=int(call["toContractGasLimit"]),
            integrator=body.get("integrator"),
        )
        if asked.amount < 10**asked.destination.decimals // 10:  # a tenth of a dollar
            raise _no_route("AMOUNT_TOO_LOW", "The amount is too low to be bridged.")
        if asked.source.network == asked.destination.network:
            raise _no_route("NO_POSSIBLE_ROUTE", "No routes found for the input you provided.")
        return quote(self.relayer.bridge.chains[asked.source.network], asked, str(uuid4()))

    def _token(self, chain_id: Any, token: str) -> Token:
        for each in self._list_offered():
            if str(each.chain_id) == str(chain_id) and token.lower() in (each.address.lower(), each.symbol.lower()):
                return each
        raise Refused(404, _NOT_FOUND, f"Token {token} on chain {chain_id} is not supported")

    def _list_offered(self) -> list[Token]:
        networks = self.relayer.bridge.chains
        return [token for network in networks for token in find_tokens(network=network) if token.symbol in _SYMBOLS]

    def _count(self, key: str | None) -> dict[str, str]:
        """Counts a quote, and returns the headers that tell the limit. Raises Refused at the limit."""
        if key not in self._quoted:
            raise Refused(401, _UNAUTHORIZED, "The API key is invalid")
        limit, now = KEY_LIMIT if key else self.limit, time.monotonic()
        with self._lock:
            quoted = self._quoted[key]
            while quoted and quoted[0] <= now - WINDOW_SECONDS:
                quoted.popleft()
            reset = str(int(quoted[0] + WINDOW_SECONDS - now) + 1 if quoted else WINDOW_SECONDS)
            if len(quoted) >= limit:
                raise _refuse_limited(limit, reset)
            quoted.append(now)
            return _limit_headers(limit, limit - len(quoted), reset)

    # --- what became of transfers, and tokens ---

    def _status(self, query: Mapping[str, str]) -> dict[str, Any]:
        hash_ = query.get("txHash", "")
        if not re.fullmatch("0x[0-9a-fA-F]{64}", hash_):
            raise Refused(400, _INVALID, "txHash must be a transaction hash")
        return status_of(self.relayer.bridge, hash_) | self.says.get(hash_.lower(), {})

    def _tokens(self, chains: str | None) -> dict[str, Any]:
        wanted = set(chains.split(",")) if chains else None
        tokens: dict[str, list[Any]] = {}
        for token in self._list_offered():
            if wanted is None or str(token.chain_id) in wanted:
                tokens.setdefault(str(token.chain_id), []).append(token_json(token))
        return {"tokens": tokens}

    # --- commands ---

    def _find_forced(self, kind: str) -> JsonResponse | None:
        """The answer that a case asks for, None for the usual one."""
        with self._lock:
            case = self.cases.get(kind)
            if case is None:
                return None
            if "times" in case:
                case["times"] -= 1
                if case["times"] <= 0:
                    del self.cases[kind]
        name = str(case["case"])
        if name == "slow":
            self._ended.wait(case.get("seconds", 5))
            return None
        if name == "never":
            self._ended.wait(600)
        if name == "html":
            return JsonResponse(b"<!doctype html><title>Attention required</title>")
        if name == "no_route":
            raise _no_route("NO_POSSIBLE_ROUTE", "No routes found for the input you provided.")
        if name == "429":
            raise _refuse_limited(self.limit, str(case.get("seconds", 60)))
        if name.isdecimal():
            raise Refused(int(name), _SERVER, "Something went wrong")
        return JsonResponse({})

    def _command(self, name: str, body: dict[str, Any]) -> JsonResponse:
        if name == "cases":
            self.cases = _merge(self.cases, body)
        elif name == "says":
            self.says = _merge(self.says, {hash_.lower(): said for hash_, said in body.items()})
        elif name == "relayer":
            self.relayer.is_paused = bool(body["isPaused"])
        elif name == "fill":
            self.relayer.fill(self._find_deposit(body["txHash"]), bool(body.get("fails")))
        elif name == "refund":
            self.relayer.refund(self._find_deposit(body["txHash"]))
        elif name != "state":
            raise Refused(404, _NOT_FOUND, "unknown command")
        return JsonResponse({"cases": self.cases, "says": self.says, "isPaused": self.relayer.is_paused})

    def _find_deposit(self, hash_: str) -> Deposited:
        bridge = self.relayer.bridge
        for network in bridge.chains:
            for deposited in bridge.deposits_of(network, hash_):
                return deposited
        raise Refused(404, _NOT_FOUND, f"no deposit of {hash_}")


def _merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**old, **new}.items() if value is not None}


def _no_route(code: str, message: str) -> Refused:
    error = {"errorType": "NO_QUOTE", "code": code, "tool": "across", "message": message}
    return Refused(404, _NO_ROUTE, "No available quotes for the requested transfer", errors=[error])


def _limit_headers(limit: int, remaining: int, reset: str) -> dict[str, str]:
    return {"ratelimit-limit": str(limit), "ratelimit-remaining": str(remaining), "ratelimit-reset": reset}


def _refuse_limited(limit: int, reset: str) -> Refused:
    refused = Refused(429, _RATE_LIMIT, f"Rate limit exceeded, retry in {reset} seconds")
    refused.response = JsonResponse(
        refused.response.body, 429, {**_limit_headers(limit, 0, reset), "retry-after": reset}
    )
    return refused
