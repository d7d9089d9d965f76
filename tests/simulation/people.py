"""Merchants and their customers, who act through the public API and keep to the rules."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from chalicelib.accounts.api_keys.flows import create_api_key
from chalicelib.base.addresses import evm_address
from chalicelib.base.money import parse_amount
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.announcers import HEADER
from chalicelib.platform.access.audit.records import Actor
from infra import admin
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.world import START
from tests.simulation.chain import OTHER_TOKEN, Transfer, transfers_in
from tests.simulation.deployment import Answer

if TYPE_CHECKING:
    from tests.simulation.scene import Scene

TOKENS = {
    "sepolia": "fUSDC-sepolia",
    "base": "USDC-base",
    "arbitrum-one": "USDC-arbitrum-one",
    "mainnet": "USDC-mainnet",
}
RETRY_SECONDS = 75
DAY = 86_400


def wallet(name: str) -> str:
    """The address of somebody."""
    return evm_address("0x" + sha256(name.encode()).hexdigest()[:40])


@dataclass
class Merchant:
    """An account with a secret key, a public client id, and a webhook of each."""

    name: str
    account_id: str
    key: str
    client_id: str
    payee: str
    urls: tuple[str, str]
    signing_key: str = ""
    """A key by which customers sign payments from another chain."""
    webhooks: list[str] = field(default_factory=list)

    @classmethod
    def join(cls, run: "Scene", name: str) -> "Merchant":
        services = run.deployment.container("admin")
        account = admin.create_account(services, name)
        key = admin.create_api_key(services, account, "server")
        client = admin.create_client_id(services, account, "web", [f"https://{name}.example"])
        made = cls(name, account, key, client, wallet(name), (f"https://{name}.example/own", f"https://{name}.example/any"))
        signing: Any = {"label": "signing", "uses_payment_intents": True}
        made.signing_key = create_api_key(services, Actor(account, "test", "203.0.113.7", name), signing)[1]
        for url, headers in zip(made.urls, (made.by_key, made.by_client), strict=True):
            answer = run.deployment.call("POST", "/v1/webhook", {"url": url}, headers)
            assert answer.status == 201, answer
            made.webhooks.append(answer.body["id"])
        return made

    def redeliver(self, run: "Scene") -> None:
        """Asks for what failed while its receivers were closed."""
        for webhook_id, headers in zip(self.webhooks, (self.by_key, self.by_client), strict=True):
            cursor: Any = None
            while True:
                body = {"since": START.isoformat(), **({"cursor": cursor} if cursor else {})}
                answer = run.deployment.call("POST", f"/v1/webhook/{webhook_id}/redeliver", body, headers)
                assert answer.status == 202, (answer, run.deployment.log.trace)
                if not (cursor := answer.body["nextCursor"]):
                    break

    @property
    def by_key(self) -> dict[str, str]:
        return {"x-api-key": self.key}

    @property
    def by_client(self) -> dict[str, str]:
        return {"x-client-id": self.client_id, "origin": f"https://{self.name}.example"}


@dataclass
class Order:
    """One purchase. `plan` draws all it does from a stream of its own: (seconds after its beginning, action)."""

    run: "Scene"
    name: str
    merchant: Merchant
    draw: Random
    network: str = "sepolia"
    style: str = "exact"
    amounts: list[str] = field(default_factory=list)
    token: str = ""
    requests: list[str] = field(default_factory=list)
    owed: list[Transfer] = field(default_factory=list)
    """What its calldata paid when it was asked for first."""
    paid: list[str] = field(default_factory=list)
    """The hashes of what the customer sent."""
    is_cancelled: bool = False
    """Whether the merchant has cancelled it, and was told so."""

    STYLES: ClassVar[dict[str, int]] = {
        "exact": 45, "none": 8, "part": 6, "parts": 7, "twice": 7, "over": 5, "dust": 4, "to another": 3,
        "another token": 3, "late": 5, "together": 4, "by two": 3, "cancelled": 2, "paid and cancelled": 4,
        "cancelled and paid": 4, "part, cancelled": 2,
    }  # fmt: skip
    CLAIMS: ClassVar[float] = 0.2
    """How many customers have a wallet that takes all calls at once, so that their page claims to sign."""

    def __post_init__(self) -> None:
        self.network = self.draw.choice(list(TOKENS))
        self.style = self.draw.choices(list(self.STYLES), list(self.STYLES.values()))[0]
        self.amounts = [f"{self.draw.randrange(1, 50_000) / 100:.2f}" for _ in range(self.draw.choice([1, 1, 1, 2, 3]))]

    @property
    def currency(self) -> str:
        return TOKENS[self.network]

    @property
    def payer(self) -> str:
        return wallet(f"payer of {self.name}")

    def plan(self) -> list[tuple[float, Callable[[], None]]]:
        pays = self.draw.uniform(20, 1800)
        claims = self.draw.random() < self.CLAIMS
        steps: list[tuple[float, Callable[[], None]]] = [(0, self.create), (pays - 5, self.claim if claims else self.ask)]
        again = pays + self.draw.uniform(30, 3600)
        pay: dict[str, list[tuple[float, Callable[[], None]]]] = {
            "exact": [(pays, self.pay)],
            "none": [],
            "part": [(pays, lambda: self.pay(share=0.4))],
            "parts": [(pays, lambda: self.pay(share=0.4)), (again, lambda: self.pay(share=0.6, rounds_up=True))],
            "twice": [(pays, self.pay), (again, self.pay)],
            "over": [(pays, lambda: self.pay(share=1.3))],
            "dust": [(pays, lambda: self.pay(units=3)), (again, self.pay)],
            "to another": [(pays, lambda: self.pay(payee=wallet(f"friend of {self.name}")))],
            "another token": [(pays, lambda: self.pay(token=OTHER_TOKEN)), (again, self.pay)],
            "late": [(7 * DAY + pays, self.pay)],
            "together": [(pays, lambda: self.pay(times=2))],
            "by two": [(pays, lambda: self.pay(share=0.5)), (again, lambda: self.pay(share=0.5, rounds_up=True, payer="second"))],
            "cancelled": [(pays, self.cancel), (again, self.ask)],
            "paid and cancelled": [(pays, self.pay), (pays + self.draw.uniform(0, 240), self.cancel)],
            "cancelled and paid": [(pays, self.cancel), (again, self.pay)],
            "part, cancelled": [(pays, lambda: self.pay(share=0.4)), (again, self.cancel)],
        }
        steps += pay[self.style]
        if claims and self.draw.random() < 0.5:
            steps.append((pays + 60, self.unclaim))
        if self.style in ("twice", "over", "together", "by two", "cancelled and paid", "paid and cancelled"):
            steps.append((again + 1200 + self.draw.uniform(0, 3600), self.refund))
        if self.style == "part":
            steps.append((again + 1200, self.accept))
        if self.draw.random() < 0.2:
            steps.append((again + 600, self.look))
        return steps

    # --- the merchant ---

    def create(self) -> None:
        body: dict[str, Any] = {
            "requests": [
                {"amount": each, "payee": self.merchant.payee, "invoiceCurrency": self.currency, "paymentCurrency": self.currency}
                for each in self.amounts
            ]
        }
        if self.draw.random() < 0.3:
            body |= {"feePercentage": "1.5", "feeAddress": FEE_ADDRESS}
        self.post("/v2/secure-payments", body, self.created)

    def created(self, answer: Answer) -> None:
        self.token, self.requests = answer.body["token"], answer.body["requestIds"]
        self.run.reach("link created")

    def post(self, path: str, body: Any, then: Callable[[Answer], None]) -> None:
        """A request of the merchant's server, which repeats it under its idempotency key until it is answered."""
        key = f"{self.name}{path}"

        def attempt(left: int) -> None:
            answer = self.run.deployment.call("POST", path, body, {**self.merchant.by_key, "idempotency-key": key})
            if answer.ok:
                then(answer)
            elif left and (answer.status in (0, 409, 423, 429) or answer.status >= 500):
                self.run.later(RETRY_SECONDS, f"{self.run.chance.work}r", lambda: attempt(left - 1))
            elif answer.status not in (0, 409, 423, 429) and answer.status < 500:
                self.run.deployment.unexpected.append(f"{self.name}: POST {path}: {answer}")

        attempt(6)

    def refund(self) -> None:
        """The merchant returns what is too much of the first request to who paid it, and sends what the answer says."""
        if not self.requests:
            return
        answer = self.run.deployment.call("POST", f"/v2/request/{self.requests[0]}/refund", {}, self.merchant.by_key)
        if answer.ok:
            self.run.reach("refund offered")
            self.send(self.merchant.payee, transfers_in(self.network, answer.body.get("transactions", [])))

    def accept(self) -> None:
        """The merchant takes the part that was paid as full payment of each request."""
        for request_id in self.requests:
            answer = self.run.deployment.call("POST", f"/v2/request/{request_id}/accept", None, self.merchant.by_key)
            if answer.ok:
                self.run.reach("accepted")

    @property
    def path(self) -> str:
        return f"/v2/secure-payments/{self.token}"

    def cancel(self) -> None:
        """The merchant wants it no more. It may be refused, as money may be under way."""
        if self.requests:
            answer = self.run.deployment.call("POST", f"{self.path}/cancel", None, self.merchant.by_key)
            self.is_cancelled |= answer.ok
            self.run.reach("cancelled" if answer.ok else f"cancelling {answer.status}")
            if answer.status not in (0, 200, 409, 429) and answer.status < 500:
                self.run.deployment.unexpected.append(f"{self.name}: {self.path}/cancel: {answer}")

    def look(self) -> None:
        """The merchant looks at lists."""
        for path in (f"/v2/payments?walletAddress={self.merchant.payee}&limit=5", "/v2/request?limit=5"):
            answer = self.run.deployment.call("GET", path, None, self.merchant.by_key)
            if answer.status not in (0, 200, 500, 429):
                self.run.deployment.unexpected.append(f"{path}: {answer}")

    # --- the customer ---

    @property
    def pay_path(self) -> str:
        return f"{self.path}/pay?wallet={self.payer}"

    @property
    def secret(self) -> str:
        """By which the customer's page is known."""
        return sha256(self.name.encode()).hexdigest()

    def claim(self) -> None:
        """The customer's page claims to sign all calls at once: nobody else is offered them meanwhile."""
        self.ask()
        if self.requests and self.token:
            body = {"calls": "0x" + self.secret, "announcerSecret": self.secret}
            answer = self.run.deployment.call("POST", f"{self.path}/signing", body, self.merchant.by_client)
            if answer.ok:
                self.run.reach("claimed")
                other = self.run.deployment.call("GET", self.pay_path, None, self.merchant.by_client)
                own = self.run.deployment.call("GET", self.pay_path, None, {**self.merchant.by_client, HEADER: self.secret})
                if other.ok or own.status == 423:
                    self.run.deployment.unexpected.append(f"{self.name} has claimed: {other.status} to others, {own}")
            elif answer.status not in (0, 403, 409, 423, 429) and answer.status < 500:
                self.run.deployment.unexpected.append(f"{self.name}: {self.path}/signing: {answer}")

    def unclaim(self) -> None:
        if self.requests and self.token:
            headers = {**self.merchant.by_client, HEADER: self.secret}
            answer = self.run.deployment.call("DELETE", f"{self.path}/signing", None, headers)
            self.run.reach(f"claim ended: {answer.ok and answer.body['isEnded']}")

    def ask(self) -> None:
        """What to sign."""
        if not self.requests:
            return
        headers = {**self.merchant.by_client, HEADER: self.secret}
        answer = self.run.deployment.call("GET", self.pay_path, None, headers)
        if answer.ok and self.is_cancelled:
            self.run.deployment.unexpected.append(f"{self.name} is cancelled, and offers {answer}")
        elif answer.ok:
            self.owed = self.owed or transfers_in(self.network, answer.body["transactions"])
            self.check_price()
        elif answer.status not in (0, 403, 409, 423, 429) and answer.status < 500:
            self.run.deployment.unexpected.append(f"{self.name}: {self.pay_path}: {answer}")

    def check_price(self) -> None:
        """A customer is asked for what the merchant asks for, and the fee."""
        token = token_with_id(self.currency)
        assert token is not None
        wanted = [parse_amount(each, token.decimals) for each in self.amounts]
        asked = [each.amount for each in self.owed if same(each.payee, self.merchant.payee)]
        if sorted(asked) != sorted(wanted) or any(each.fee > each.amount * 2 // 100 for each in self.owed):
            self.run.deployment.unexpected.append(f"{self.name} is asked for {self.owed}, the order is {wanted}")

    def pay(
        self, share: float = 1, units: int = 0, payee: str = "", token: str = "", times: int = 1, rounds_up: bool = False,
        payer: str = "",
    ) -> None:  # fmt: skip
        if not self.owed:
            self.ask()
        transfers = []
        for each in self.owed:
            amount = units or int(each.amount * share) + (1 if rounds_up else 0)
            transfers.append(replace(each, amount=amount, payee=payee or each.payee, token=token))
        self.send(wallet(f"{payer} of {self.name}") if payer else self.payer, transfers * times)

    def send(self, payer: str, transfers: list[Transfer]) -> None:
        if transfers:
            number = len(self.paid)
            self.paid.append(self.run.deployment.chains[self.network].submit(payer, transfers, f"{self.name}/{number}"))
            self.run.payments += 1


class Invoice(Order):
    """A request without a link, for somebody with a name and an address."""

    SECRET: ClassVar[str] = "@private.example"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.amounts = self.amounts[:1]

    def create(self) -> None:
        info = {"firstName": "Ann", "lastName": "Anders", "email": f"{self.name}{self.SECRET}"}
        body = {"amount": self.amounts[0], "payee": self.merchant.payee, "reference": self.name, "customerInfo": info}
        self.post("/v2/request", {**body, **self.currencies}, self.created)

    @property
    def currencies(self) -> dict[str, str]:
        return {"invoiceCurrency": self.currency, "paymentCurrency": self.currency}

    def created(self, answer: Answer) -> None:
        self.requests = [answer.body["requestId"]]
        self.run.reach("request created")

    @property
    def path(self) -> str:
        return f"/v2/request/{self.requests[0]}"


class DollarInvoice(Invoice):
    """One in dollars, paid in a token at the rate of a quote."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.network = self.draw.choice(["base", "arbitrum-one"])  # on mainnet a contract converts

    @property
    def currencies(self) -> dict[str, str]:
        return {"invoiceCurrency": "USD", "paymentCurrency": self.currency}

    def check_price(self) -> None:
        self.run.reach("quoted")


def same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


KINDS: dict[type[Order], int] = {Order: 50, Invoice: 30, DollarInvoice: 20}
"""What is ordered and paid directly, and how often."""
