"""A merchant and a payer at a running stack, from outside: over HTTP and JSON-RPC, importing nothing of the service.

    python infra/local/outsiders/scenario.py .local/stack.json [--stay]

For an ERC-20 token and for native coin: a link is made, read, paid on the chain, and the merchant is told. One line a
step: what was done, what came back, how long it took. Status 0 if every step held, else 1. --stay goes on listening.
"""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import requests
from eth_account import Account
from payer import Payer
from receiver import Receiver

HOOK_PATH = "/demo-webhook"
FEE_PERCENT = "1"
EVENTS = {"payment.confirmed", "payment.confirmed.client_id", "payment.confirmed.checkout"}
DETECTION_SECONDS = 60
NETWORK = "sepolia"


class Failed(Exception):
    """A step did not hold; the text says how."""


@dataclass(frozen=True)
class Currency:
    id: str
    amount: str
    decimals: int
    token: str | None
    """The contract's address, None for native coin."""


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
        """The signing secret. Webhooks that earlier runs of this scenario left behind are deleted."""
        for webhook in self.call("GET", "/v1/webhook", 200, self._client):
            if webhook["url"].endswith(HOOK_PATH):
                self.call("DELETE", f"/v1/webhook/{webhook['id']}", 200, self._client)
        return str(self.call("POST", "/v1/webhook", 201, self._client, {"url": url})["secret"])

    def currency(self, id: str) -> dict[str, Any]:
        query = f"?network={NETWORK}"
        return next(each for each in self.call("GET", f"/v2/currencies{query}", 200, {}) if each["id"] == id)

    def create_link(self, body: dict[str, Any]) -> dict[str, Any]:
        return self.call("POST", "/v2/secure-payments", 201, self._all, body)

    def link(self, token: str, wallet: str, status: int = 200) -> dict[str, Any]:
        return self.call("GET", f"/v2/secure-payments/{token}?wallet={wallet}", status, self._client)

    def calldata(self, token: str, wallet: str) -> dict[str, Any]:
        return self.call("GET", f"/v2/secure-payments/{token}/pay?wallet={wallet}", 200, self._client)

    def call(self, method: str, path: str, status: int, headers: dict[str, str], body: Any = None) -> Any:
        answer = self._http.request(method, self._base + path, headers=headers, json=body, timeout=15)
        if answer.status_code != status:
            raise Failed(f"{method} {path.split('?')[0]} gave {answer.status_code}, not {status}: {answer.text[:300]}")
        return answer.json() if answer.content else None


class Scenario:
    def __init__(self, stack: dict[str, Any]) -> None:
        self._payee: str = stack["payee"]
        self._shop, self._payer = Shop(stack), Payer(stack["rpc"][NETWORK], stack["payer"]["private_key"])
        self._receiver, self._steps, self._secret = Receiver(HOOK_PATH), Steps(), ""
        self.receiver_url = self._receiver.url

    def run(self) -> None:
        """Raises Failed at the first step that does not hold."""
        with self._steps.step("register a webhook") as result:
            self._secret = self._shop.register_webhook(self._receiver.url)
            result.append(f"201, {self._receiver.url}")
        for id, amount in (("fUSDC-sepolia", "12.50"), ("ETH-sepolia-sepolia", "0.02")):
            with self._steps.step(f"look up {id}") as result:
                found = self._shop.currency(id)
                native = found["type"] == "ETH"
                result.append(f"{found['symbol']}, {found['decimals']} decimals, on {found['network']}")
            self._pay(Currency(id, amount, found["decimals"], None if native else found["address"]))

    def stay(self) -> None:
        """Print every further delivery, until interrupted."""
        while True:
            delivery = self._receiver.next(time.monotonic() + 3600)
            if delivery is not None:
                print(f"     delivered: {delivery.line(self._secret)}", flush=True)

    def _pay(self, currency: Currency) -> None:
        fee_address = Account.from_key(secrets.token_bytes(32)).address
        before = self._balance(currency, self._payee)
        token, request_id = self._create(currency, fee_address)
        self._read(token)
        for name, transaction in self._take_calldata(token):
            with self._steps.step(f"sign and broadcast: {name}") as result:
                receipt = self._payer.pay(transaction)
                gas, block = int(receipt["gasUsed"], 16), int(receipt["blockNumber"], 16)
                result.append(f"{receipt['transactionHash'][:18]}... in block {block}, {gas} gas")
        self._await_deliveries(request_id)
        with self._steps.step("read the link again") as result:
            message = self._shop.link(token, self._payer.address, status=409)["message"]
            if "completed" not in str(message).lower():
                raise Failed(f"the link says {message!r}")
            result.append(f"409, {message}")
        self._check_balances(currency, before, fee_address)

    def _create(self, currency: Currency, fee_address: str) -> tuple[str, str]:
        """(token, request id)"""
        what = f"create a link for {currency.amount} {currency.id.split('-')[0]}"
        with self._steps.step(what) as result:
            item = {"amount": currency.amount, "payee": self._payee}
            item |= {"invoiceCurrency": currency.id, "paymentCurrency": currency.id}
            body = {"requests": [item], "feePercentage": FEE_PERCENT, "feeAddress": fee_address, "reference": "demo"}
            link = self._shop.create_link(body)
            result.append(f"201, {link['securePaymentUrl']}")
        return link["token"], link["requestIds"][0]

    def _read(self, token: str) -> None:
        with self._steps.step("read it as the payer's wallet") as result:
            link = self._shop.link(token, self._payer.address)
            [(chain, by_symbol)] = link["paymentOptions"].items()
            [(symbol, option)] = by_symbol.items()
            if not option["hasEnoughBalance"]:
                raise Failed(f"the payer has {option['balance']} and needs {option['neededAmount']}")
            result.append(f"200, {link['status']}, on {chain} has {option['balance']} {symbol}")
            result.append(f"needs {option['neededAmount']}")

    def _take_calldata(self, token: str) -> list[tuple[str, dict[str, Any]]]:
        """(what it is, transaction), in the order to send them."""
        with self._steps.step("take the calldata") as result:
            answer = self._shop.calldata(token, self._payer.address)
            transactions, metadata = answer["transactions"], answer["metadata"]
            names = ["approval"] * (len(transactions) - 1) + ["payment"]
            result.append(f"200, {' + '.join(names)}, {sum(len(each['data']) // 2 for each in transactions)} bytes")
            if metadata["hasEnoughBalance"] is not True:
                raise Failed("the metadata says that the balance is too small")
        return list(zip(names, transactions, strict=True))

    def _await_deliveries(self, request_id: str) -> None:
        missing, deadline = set(EVENTS), time.monotonic() + DETECTION_SECONDS
        while missing:
            with self._steps.step("a webhook arrives") as result:
                delivery = self._receiver.next(deadline)
                if delivery is None:
                    raise Failed(f"no {' and no '.join(sorted(missing))} within {DETECTION_SECONDS} s")
                payload = delivery.payload
                result.append(delivery.line(self._secret))
                if not delivery.signature_is_right(self._secret):
                    raise Failed(f"{payload.get('event')} is not signed with our secret")
                if payload.get("requestId") == request_id:
                    missing.discard(payload["event"])

    def _check_balances(self, currency: Currency, before: int, fee_address: str) -> None:
        with self._steps.step("compare balances on the chain") as result:
            unit = Decimal(10) ** currency.decimals
            paid = Decimal(self._balance(currency, self._payee) - before) / unit
            fee = Decimal(self._balance(currency, fee_address)) / unit
            result.append(f"payee +{paid.normalize():f}, fee address +{fee.normalize():f}")
            amount = Decimal(currency.amount)
            if (paid, fee) != (amount, amount * Decimal(FEE_PERCENT) / 100):
                raise Failed(f"not what the link promised: {result[0]}")

    def _balance(self, currency: Currency, holder: str) -> int:
        if currency.token is None:
            return self._payer.native_balance(holder)
        return self._payer.token_balance(currency.token, holder)


def main() -> int:
    parser = argparse.ArgumentParser(description="Pay two links at a running stack.")
    parser.add_argument("stack", type=Path, help="the description of the stack: .local/stack.json")
    parser.add_argument("--stay", action="store_true", help="go on printing deliveries until interrupted")
    arguments = parser.parse_args()
    stack, started = json.loads(arguments.stack.read_text()), time.monotonic()
    scenario = Scenario(stack)
    try:
        scenario.run()
    except Failed as failure:
        print(f"FAILED at {failure}", flush=True)
        return 1
    print(f"Every step held ({time.monotonic() - started:.1f} s).", flush=True)
    urls = {"service": stack["base_url"], "cloud": stack["aws_url"], **stack["rpc"], "webhooks": scenario.receiver_url}
    for name, url in urls.items():
        print(f"     {name:<10} {url}", flush=True)
    if arguments.stay:
        print("     Running until Ctrl-C.", flush=True)
        scenario.stay()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
