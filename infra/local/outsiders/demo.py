"""Common parts of the demonstrations: a merchant, a webhook receiver, numbered steps, checks of balances.

Each kind has its own file, `pay_<kind>.py`, with a function `run(demo)`.
"""

import csv
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import requests
from eth_account import Account
from payer import Payer
from receiver import Received, Receiver

HOOK_PATH = "/demo-webhook"
FEE_PERCENT = "1"
EVENTS = frozenset({"payment.confirmed", "payment.confirmed.client_id"})
EVENTS_OF_LINKS = EVENTS | {"payment.confirmed.checkout"}
DETECTION_SECONDS = 120


class Failed(Exception):
    """A step failed; the message says why."""


@dataclass(frozen=True)
class Currency:
    id: str
    symbol: str
    network: str
    decimals: int
    token: str | None
    """The token contract's address, None for the native coin."""


@dataclass(frozen=True)
class Expected:
    """An amount that an address has to receive."""

    who: str
    holder: str
    currency: Currency
    amount: Decimal


class Steps:
    """Numbers and times the steps and prints a line for each."""

    def __init__(self) -> None:
        self._count = 0

    @contextmanager
    def step(self, what: str) -> Iterator[list[str]]:
        """Runs the block as a step; it appends its results to the list. Raises Failed on any error."""
        self._count += 1
        result: list[str] = []
        started = time.monotonic()
        try:
            yield result
        except Exception as error:  # any error is reported as a failed step
            raise Failed(f"step {self._count}, {what}: {error or type(error).__name__}") from error
        self.line(what, ", ".join(result), time.monotonic() - started)

    def line(self, what: str, result: str, seconds: float) -> None:
        print(f"{self._count:3}  {what:<34} {result}  ({seconds:.2f} s)", flush=True)


class Shop:
    """A merchant with an API key and a client id."""

    def __init__(self, stack: dict[str, Any]) -> None:
        self._base, self._http = stack["base_url"], requests.Session()
        self._http.trust_env = False
        self._client = {"x-client-id": stack["client_id"], "Origin": stack["origin"]}
        self._all = {**self._client, "x-api-key": stack["api_key"]}

    def register_webhook(self, url: str) -> str:
        """Registers a webhook by the client id, after deleting those of earlier runs, and confirms it by the API key,
        so that it gets personal data; returns its signing secret."""
        for webhook in self.call("GET", "/v1/webhook", 200, self._all):
            if webhook["url"].endswith(HOOK_PATH):
                self.call("DELETE", f"/v1/webhook/{webhook['id']}", 200, self._all)
        made = self._object("POST", "/v1/webhook", 201, self._client, {"url": url})
        self._object("PUT", f"/v1/webhook/{made['id']}", 200, self._all, {"confirmed": True})
        return str(made["secret"])

    def currency(self, id: str, network: str) -> Currency:
        listed = self.call("GET", f"/v2/currencies?network={network}", 200, {})
        currency = next(each for each in listed if each["id"] == id)
        token = None if currency["type"] == "ETH" else currency["address"]
        return Currency(id, currency["symbol"], network, currency["decimals"], token)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Sends POST to `/v2/secure-payments<path>`."""
        return self._object("POST", f"/v2/secure-payments{path}", 201, self._all, body)

    def post_refused(self, path: str, body: dict[str, Any]) -> str:
        """Sends POST to `/v2/secure-payments<path>`, which is refused as wrong; returns why."""
        return str(self._object("POST", f"/v2/secure-payments{path}", 400, self._all, body)["message"])

    def link(self, token: str, wallet: str, status: int = 200) -> dict[str, Any]:
        return self._object("GET", f"/v2/secure-payments/{token}?wallet={wallet}", status, self._client)

    def calldata(self, token: str, wallet: str, more: str = "", status: int = 200) -> dict[str, Any]:
        return self._object("GET", f"/v2/secure-payments/{token}/pay?wallet={wallet}{more}", status, self._client)

    def new(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._object("POST", path, 201, self._all, body)

    def post_done(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Sends POST for what changes nothing but the state of a record."""
        return self._object("POST", path, 200, self._all, body)

    def change(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._object("PATCH", path, 200, self._all, body)

    def put_payer(self, body: dict[str, Any]) -> dict[str, Any]:
        """Sends POST to `/v2/payer`."""
        return self._object("POST", "/v2/payer", 200, self._all, body)

    def get(self, path: str) -> Any:
        return self.call("GET", path, 200, self._all)

    def table(self, path: str) -> list[dict[str, str]]:
        """Returns the rows of a CSV response."""
        response = self._request("GET", path, 200, {**self._all, "accept": "text/csv"})
        return list(csv.DictReader(response.text.splitlines()))

    def announce(self, token: str, announced: dict[str, Any]) -> dict[str, Any]:
        return self._object("POST", f"/v2/secure-payments/{token}/intent", 200, self._client, announced)

    def sign(self, token: str, payment_id: str, signature: str) -> dict[str, Any]:
        """Sends the signature of a payment of a link without gas, as the shop's page does."""
        path = f"/v2/secure-payments/{token}/gasless/{payment_id}"
        return self._object("POST", path, 200, self._client, {"signature": signature})

    def call(self, method: str, path: str, status: int, headers: dict[str, str], body: Any = None) -> Any:
        response = self._request(method, path, status, headers, body)
        return response.json() if response.content else None

    def _object(self, method: str, path: str, status: int, headers: dict[str, str], body: Any = None) -> dict[str, Any]:
        """`call` for a response that is an object of JSON."""
        response: dict[str, Any] = self.call(method, path, status, headers, body)
        return response

    def _request(
        self, method: str, path: str, status: int, headers: dict[str, str], body: Any = None
    ) -> requests.Response:
        response = self._http.request(method, self._base + path, headers=headers, json=body, timeout=30)
        if response.status_code != status:
            got = f"{response.status_code}, not {status}: {response.text[:300]}"
            raise Failed(f"{method} {path.split('?')[0]} gave {got}")
        return response


class Demo:
    """The merchant, its webhook receiver, and the steps that all kinds of links share."""

    def __init__(self, stack: dict[str, Any]) -> None:
        self.stack, self.shop, self.steps = stack, Shop(stack), Steps()
        self._receiver, self._secret = Receiver(HOOK_PATH), ""
        self._passed: list[Received] = []
        self.receiver_url = self._receiver.url

    def register_webhook(self) -> None:
        with self.steps.step("register a webhook") as result:
            self._secret = self.shop.register_webhook(self.receiver_url)
            result.append(f"201, {self.receiver_url}")

    def payer(self, network: str) -> Payer:
        return Payer(self.stack["rpc"][network], self.stack["payer"]["private_key"])

    def currency(self, id: str, network: str) -> Currency:
        with self.steps.step(f"look up {id}") as result:
            currency = self.shop.currency(id, network)
            result.append(f"{currency.symbol}, {currency.decimals} decimals, on {currency.network}")
        return currency

    def create(self, what: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Creates a link as a step; returns the response with token and requestIds."""
        with self.steps.step(what) as result:
            link = self.shop.create(path, body)
            result.append(f"201, {link['securePaymentUrl']}")
        return link

    def read(self, token: str, wallet: str) -> dict[str, Any]:
        """Reads the link as the payer. Raises Failed if its balance is too small on every chain."""
        with self.steps.step("read it as the payer's wallet") as result:
            link = self.shop.link(token, wallet)
            result.append(f"200, {link['status']}")
            by_chain = (link.get("paymentOptions") or {}).items()
            options = [(chain, symbol, each) for chain, listed in by_chain for symbol, each in listed.items()]
            enough = [option for option in options if option[2]["hasEnoughBalance"]]
            if options and not enough:
                raise Failed(f"the payer has too little on every chain and needs {options[0][2]['neededAmount']}")
            for chain, symbol, option in enough:
                result.append(f"on {chain} has {option['balance']} {symbol}, needs {option['neededAmount']}")
        return link

    def take_calldata(self, token: str, wallet: str, more: str = "") -> dict[str, Any]:
        """Returns the body of /pay. Raises Failed if the payer's balance is too small."""
        with self.steps.step("take the calldata") as result:
            body = self.shop.calldata(token, wallet, more)
            result.append(f"200, {describe_body(body)}")
        return body

    def send(self, payer: Payer, body: dict[str, Any]) -> list[str]:
        """Signs and broadcasts the transactions of a body of /pay, in order and unchanged.

        Returns the hashes of those that pay.
        """
        transactions, payments, hashes = body["transactions"], _payments(body), list[str]()
        for index, transaction in enumerate(transactions):
            name = "payment" if index >= len(transactions) - payments else "approval"
            with self.steps.step(f"sign and broadcast: {name}") as result:
                receipt = payer.pay(transaction)
                gas, block = int(receipt["gasUsed"], 16), int(receipt["blockNumber"], 16)
                result.append(f"{receipt['transactionHash'][:18]}... in block {block}, {gas} gas")
                hashes.append(receipt["transactionHash"])
        return hashes[len(transactions) - payments :]

    def await_deliveries(self, request_ids: Sequence[str], events: frozenset[str] = EVENTS_OF_LINKS) -> None:
        """Waits until every event of every request has arrived, signed with the webhook's secret."""
        missing = {(request_id, event) for request_id in request_ids for event in events}
        deadline = time.monotonic() + DETECTION_SECONDS
        while missing:
            with self.steps.step("a webhook arrives") as result:
                delivery = self._receiver.next(deadline)
                if delivery is None:
                    names = " and no ".join(sorted({event for _, event in missing}))
                    raise Failed(f"no {names} within {DETECTION_SECONDS} s")
                payload = delivery.payload
                result.append(delivery.line(self._secret))
                if not delivery.signature_is_right(self._secret):
                    raise Failed(f"{payload.get('event')} is not signed with our secret")
                event = (str(payload.get("requestId")), str(payload["event"]))
                if event in missing:
                    missing.remove(event)
                else:
                    self._passed.append(delivery)

    def await_event(self, event: str, **fields: Any) -> dict[str, Any]:
        """Waits until an event with these fields has arrived, signed with the webhook's secret; returns its body.

        Events of one moment arrive in any order, so those that arrived while another was awaited are looked at first.
        """
        deadline = time.monotonic() + DETECTION_SECONDS
        passed, self._passed = self._passed, []
        with self.steps.step(f"{event} arrives") as result:
            while (delivery := passed.pop(0) if passed else self._receiver.next(deadline)) is not None:
                payload: dict[str, Any] = delivery.payload
                if not delivery.signature_is_right(self._secret):
                    raise Failed(f"{payload.get('event')} is not signed with our secret")
                if payload["event"] == event and fields.items() <= payload.items():
                    self._passed += passed
                    result += [f"{name} {value}" for name, value in fields.items() if name != "requestId"]
                    result.append("signature OK")
                    return payload
                self._passed.append(delivery)
            raise Failed(f"no {event} with {fields} within {DETECTION_SECONDS} s")

    def read_completed(self, token: str, wallet: str) -> None:
        with self.steps.step("read the link again") as result:
            message = self.shop.link(token, wallet, status=409)["message"]
            if "completed" not in str(message).lower():
                raise Failed(f"the link says {message!r}")
            result.append(f"409, {message}")

    def read_settled(self, parent: str, wallet: str) -> None:
        """Reads the parent of links that were paid together; it has to be completed."""
        with self.steps.step("read the parent again") as result:
            status = self.shop.link(parent, wallet, status=409)["status"]
            if status != "completed":
                raise Failed(f"the parent is {status}")
            refused = self.shop.calldata(parent, wallet, status=409)["message"]
            result.append(f"409, {status}; its calldata: 409, {refused}")

    @contextmanager
    def must_receive(self, read: Callable[[str | None, str], int], expected: Sequence[Expected]) -> Iterator[None]:
        """Raises Failed unless balances, by `read(token, holder)`, grow by the expected amounts within the block."""
        before = [read(each.currency.token, each.holder) for each in expected]
        yield
        with self.steps.step("compare balances on the chain") as result:
            wrong = []
            for each, had in zip(expected, before, strict=True):
                unit = Decimal(10) ** each.currency.decimals
                got = Decimal(read(each.currency.token, each.holder) - had) / unit
                result.append(f"{each.who} +{got.normalize():f}")
                wrong += [each.who] if got != each.amount else []
            if wrong:
                raise Failed(f"not what the link promised to {' and '.join(wrong)}: {', '.join(result)}")

    def stay(self) -> None:
        """Prints further deliveries until interrupted."""
        while True:
            delivery = self._receiver.next(time.monotonic() + 3600)
            if delivery is not None:
                print(f"     delivered: {delivery.line(self._secret)}", flush=True)


def fresh_address() -> str:
    """Returns a new address without balances."""
    return str(Account.from_key(secrets.token_bytes(32)).address)


def fee(*amounts: str) -> Decimal:
    """Returns the fee on top of these amounts."""
    return sum((Decimal(amount) for amount in amounts), Decimal(0)) * Decimal(FEE_PERCENT) / 100


def describe_body(body: dict[str, Any]) -> str:
    """Returns the transactions of a body in words. Raises Failed if the payer's balance is too small."""
    transactions, payments = body["transactions"], _payments(body)
    if body["metadata"]["hasEnoughBalance"] is not True:
        raise Failed("the metadata says that the balance is too small")
    names = ["approval"] * (len(transactions) - payments) + ["payment"] * payments
    return f"{' + '.join(names)}, {sum(len(each['data']) // 2 - 1 for each in transactions)} bytes"


def _payments(body: dict[str, Any]) -> int:
    """Returns how many transactions of /pay are payments; they come after the approvals."""
    approvals = body.get("ERC20ApprovalTransactions")
    return 1 if approvals is None else len(body["transactions"]) - len(approvals)
