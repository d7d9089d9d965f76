"""What every demonstration needs: a merchant, a webhook receiver, numbered steps, and balances that must come out.

Each kind of link has a file of its own, `pay_<kind>.py`, with a function `run(demo)`.
"""

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
from receiver import Receiver

HOOK_PATH = "/demo-webhook"
FEE_PERCENT = "1"
EVENTS = frozenset({"payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"})
DETECTION_SECONDS = 120


class Failed(Exception):
    """A step did not hold; the text says how."""


@dataclass(frozen=True)
class Currency:
    id: str
    symbol: str
    network: str
    decimals: int
    token: str | None
    """The contract's address, None for native coin."""


@dataclass(frozen=True)
class Expected:
    """Somebody who is to get an amount."""

    who: str
    holder: str
    currency: Currency
    amount: Decimal


class Steps:
    """Numbers the steps, times them, prints one line for each."""

    def __init__(self) -> None:
        self._count = 0

    @contextmanager
    def step(self, what: str) -> Iterator[list[str]]:
        """The block appends what came back. Whatever goes wrong in it ends the scenario with this step's name."""
        self._count += 1
        result: list[str] = []
        started = time.monotonic()
        try:
            yield result
        except Exception as error:  # whatever breaks, the line says what
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
        """The signing secret. Webhooks that earlier runs left behind are deleted."""
        for webhook in self.call("GET", "/v1/webhook", 200, self._client):
            if webhook["url"].endswith(HOOK_PATH):
                self.call("DELETE", f"/v1/webhook/{webhook['id']}", 200, self._client)
        return str(self.call("POST", "/v1/webhook", 201, self._client, {"url": url})["secret"])

    def currency(self, id: str, network: str) -> Currency:
        listed = self.call("GET", f"/v2/currencies?network={network}", 200, {})
        found = next(each for each in listed if each["id"] == id)
        token = None if found["type"] == "ETH" else found["address"]
        return Currency(id, found["symbol"], network, found["decimals"], token)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST to `/v2/secure-payments<path>`."""
        return self.call("POST", f"/v2/secure-payments{path}", 201, self._all, body)

    def link(self, token: str, wallet: str, status: int = 200) -> dict[str, Any]:
        return self.call("GET", f"/v2/secure-payments/{token}?wallet={wallet}", status, self._client)

    def calldata(self, token: str, wallet: str, more: str = "", status: int = 200) -> dict[str, Any]:
        return self.call("GET", f"/v2/secure-payments/{token}/pay?wallet={wallet}{more}", status, self._client)

    def announce(self, token: str, intent: dict[str, Any]) -> dict[str, Any]:
        return self.call("POST", f"/v2/secure-payments/{token}/intent", 200, self._client, intent)

    def call(self, method: str, path: str, status: int, headers: dict[str, str], body: Any = None) -> Any:
        answer = self._http.request(method, self._base + path, headers=headers, json=body, timeout=30)
        if answer.status_code != status:
            raise Failed(f"{method} {path.split('?')[0]} gave {answer.status_code}, not {status}: {answer.text[:300]}")
        return answer.json() if answer.content else None


class Demo:
    """The merchant's side, and the steps that the kinds have in common."""

    def __init__(self, stack: dict[str, Any]) -> None:
        self.stack, self.shop, self.steps = stack, Shop(stack), Steps()
        self._receiver, self._secret = Receiver(HOOK_PATH), ""
        self.receiver_url = self._receiver.url

    def register_webhook(self) -> None:
        with self.steps.step("register a webhook") as result:
            self._secret = self.shop.register_webhook(self.receiver_url)
            result.append(f"201, {self.receiver_url}")

    def payer(self, network: str) -> Payer:
        return Payer(self.stack["rpc"][network], self.stack["payer"]["private_key"])

    def currency(self, id: str, network: str) -> Currency:
        with self.steps.step(f"look up {id}") as result:
            found = self.shop.currency(id, network)
            result.append(f"{found.symbol}, {found.decimals} decimals, on {found.network}")
        return found

    def create(self, what: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The link that was made: token, requestIds."""
        with self.steps.step(what) as result:
            link = self.shop.create(path, body)
            result.append(f"201, {link['securePaymentUrl']}")
        return link

    def read(self, token: str, wallet: str) -> dict[str, Any]:
        """What the payer sees, who must have enough of everything."""
        with self.steps.step("read it as the payer's wallet") as result:
            link = self.shop.link(token, wallet)
            result.append(f"200, {link['status']}")
            for chain, by_symbol in (link.get("paymentOptions") or {}).items():
                for symbol, option in by_symbol.items():
                    if not option["hasEnoughBalance"]:
                        raise Failed(f"the payer has {option['balance']} and needs {option['neededAmount']}")
                    result.append(f"on {chain} has {option['balance']} {symbol}, needs {option['neededAmount']}")
        return link

    def take_calldata(self, token: str, wallet: str, more: str = "") -> dict[str, Any]:
        """The body of /pay; the payer must have enough."""
        with self.steps.step("take the calldata") as result:
            answer = self.shop.calldata(token, wallet, more)
            transactions, payments = answer["transactions"], _payments(answer)
            names = ["approval"] * (len(transactions) - payments) + ["payment"] * payments
            result.append(f"200, {' + '.join(names)}, {sum(len(each['data']) // 2 - 1 for each in transactions)} bytes")
            if answer["metadata"]["hasEnoughBalance"] is not True:
                raise Failed("the metadata says that the balance is too small")
        return answer

    def send(self, payer: Payer, answer: dict[str, Any]) -> None:
        """Sign and broadcast the transactions of /pay, in order, as they are."""
        transactions, payments = answer["transactions"], _payments(answer)
        for index, transaction in enumerate(transactions):
            name = "payment" if index >= len(transactions) - payments else "approval"
            with self.steps.step(f"sign and broadcast: {name}") as result:
                receipt = payer.pay(transaction)
                gas, block = int(receipt["gasUsed"], 16), int(receipt["blockNumber"], 16)
                result.append(f"{receipt['transactionHash'][:18]}... in block {block}, {gas} gas")

    def await_deliveries(self, request_ids: Sequence[str]) -> None:
        """Every event of every request, signed with our secret."""
        missing = {(request_id, event) for request_id in request_ids for event in EVENTS}
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
                missing.discard((payload.get("requestId"), payload["event"]))

    def read_completed(self, token: str, wallet: str) -> None:
        with self.steps.step("read the link again") as result:
            message = self.shop.link(token, wallet, status=409)["message"]
            if "completed" not in str(message).lower():
                raise Failed(f"the link says {message!r}")
            result.append(f"409, {message}")

    def read_settled(self, parent: str, wallet: str) -> None:
        """As read_completed, of links that were paid together."""
        with self.steps.step("read the parent again") as result:
            status = self.shop.link(parent, wallet)["status"]
            if status != "completed":
                raise Failed(f"the parent is {status}")
            result.append(
                f"200, {status}; its calldata: 409, {self.shop.calldata(parent, wallet, status=409)['message']}"
            )

    @contextmanager
    def must_receive(self, read: Callable[[str | None, str], int], expected: Sequence[Expected]) -> Iterator[None]:
        """What each has more after the block must be what is expected; `read` gives (token, holder)'s balance."""
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
        """Print every further delivery, until interrupted."""
        while True:
            delivery = self._receiver.next(time.monotonic() + 3600)
            if delivery is not None:
                print(f"     delivered: {delivery.line(self._secret)}", flush=True)


def fresh_address() -> str:
    """Of somebody who has nothing yet."""
    return str(Account.from_key(secrets.token_bytes(32)).address)


def fee(*amounts: str) -> Decimal:
    """What the fee address gets on top of these amounts."""
    return sum((Decimal(amount) for amount in amounts), Decimal(0)) * Decimal(FEE_PERCENT) / 100


def _payments(answer: dict[str, Any]) -> int:
    """How many of the last transactions of /pay are payments: all but the approvals."""
    approvals = answer.get("ERC20ApprovalTransactions")
    return 1 if approvals is None else len(answer["transactions"]) - len(approvals)
