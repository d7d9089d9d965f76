"""What the service's own account does for customers: the escrow, payments from another chain, recurring payouts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from chalicelib.payments.requests.records import Request
from tests.fakes.bridge import Sent
from tests.fakes.payment_intents import CONTRACT, ENOUGH, RIGHT
from tests.fakes.wallets import EvmWallet, evm_wallet
from tests.simulation.contracts import PROXY
from tests.simulation.deployment import Answer
from tests.simulation.people import Invoice, Order, same

AMOUNT = 100_000_000
HAD = 10**9
"""Base units of the token that such a customer has."""


@dataclass
class Escrowed(Order):
    """A commerce payment of 100 fUSDC: pre-approved by the customer, then what the merchant does with it."""

    transactions: list[dict[str, Any]] = field(default_factory=list)

    STYLES: ClassVar[dict[str, int]] = {
        "captured": 5, "captured in parts": 4, "captured twice": 3, "void": 3, "refunded": 4, "reclaimed": 2, "never": 1,
        "poor": 3,
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self.network = "sepolia"

    @property
    def path(self) -> str:
        return f"/v2/commerce-payments/{self.requests[0]}"

    def plan(self) -> list[tuple[float, Callable[[], None]]]:
        wait = self.draw.uniform(30, 1800)
        capture, later = wait + 900, wait + 1800 + self.draw.uniform(0, 7200)
        steps: dict[str, list[tuple[float, Callable[[], None]]]] = {
            "captured": [(capture, lambda: self.operate("capture", captureAmount=AMOUNT))],
            "captured in parts": [
                (capture, lambda: self.operate("capture", captureAmount=30_000_000)),
                (later, lambda: self.operate("capture", captureAmount=50_000_000)),
                (later + 1800, lambda: self.operate("void")),
            ],
            "captured twice": [
                (capture, lambda: self.operate("capture", captureAmount=60_000_000)),
                (capture + 1, lambda: self.operate("capture", captureAmount=60_000_000)),
                (capture + 2, lambda: self.operate("void")),
            ],
            "void": [(capture, lambda: self.operate("void"))],
            "refunded": [
                (capture, lambda: self.operate("capture", captureAmount=AMOUNT)),
                (later, lambda: self.operate("refund", refundAmount=40_000_000)),
                (later + 1, lambda: self.operate("refund", refundAmount=80_000_000)),
                (later + 1800, lambda: self.operate("refund", refundAmount=60_000_000)),
            ],
            "reclaimed": [(10 * 86_400, self.reclaim)],
            "never": [],
            "poor": [(wait + 1, self.spend_elsewhere), (capture, lambda: self.operate("authorize"))],
        }
        begun: list[tuple[float, Callable[[], None]]] = [(0, self.create)]
        return begun + ([(wait, self.pre_approve)] if self.style != "never" else []) + steps[self.style]

    def create(self) -> None:
        self.run.contracts.escrow.balances[self.payer.lower()] += HAD
        self.run.contracts.escrow.allowances[self.merchant.payee.lower(), self.run.contracts.escrow_operator.lower()] = 10**30
        body = {
            "merchantId": self.name,
            "merchantAddress": self.merchant.payee,
            "buyerAddress": self.payer,
            "amount": str(AMOUNT),
            "paymentCurrency": self.currency,
        }
        self.post("/v2/commerce-payments/authorize/calldata", body, self.created)

    def created(self, answer: Answer) -> None:
        self.requests, self.transactions = [answer.body["requestId"]], answer.body["transactions"]
        self.run.reach("commerce payment created")

    def pre_approve(self) -> None:
        escrow = self.run.contracts.escrow
        for each in self.transactions:
            self.run.deployment.chains["sepolia"].next_block(lambda each=each: escrow._run(self.payer, each["to"], each["data"]))  # type: ignore[misc]
        self.run.payments += bool(self.transactions)

    def spend_elsewhere(self) -> None:
        """The tokens go before they can be taken."""
        balances = self.run.contracts.escrow.balances
        balances[f"{self.name}'s other"] += balances[self.payer.lower()]
        balances[self.payer.lower()] = 0

    def operate(self, kind: str, **amounts: int) -> None:
        if self.requests:
            body = {name: str(amount) for name, amount in amounts.items()} or {}
            answer = self.run.deployment.call("POST", f"{self.path}/{kind}", body, self.merchant.by_key)
            if answer.ok:
                self.run.reach(kind)
            elif answer.status not in (0, 400, 409, 423, 429) and answer.status < 500:
                self.run.deployment.unexpected.append(f"{self.name}: {kind}: {answer}")

    def reclaim(self) -> None:
        """The customer takes back what nobody captured in time."""
        if not self.requests:
            return
        answer = self.run.deployment.call("POST", f"{self.path}/reclaim/calldata", {}, self.merchant.by_client)
        if answer.ok:
            to, data = answer.body["to"], answer.body["calldata"]
            self.run.deployment.chains["sepolia"].next_block(lambda: self.run.contracts.escrow._run(self.payer, to, data))
            self.run.reach("reclaimed")


@dataclass
class Bridged(Invoice):
    """An invoice on arbitrum-one, paid with USDC of base by a signature: the service takes the tokens and bridges them."""

    accepted: int = 0

    STYLES: ClassVar[dict[str, int]] = {"signed": 6, "signed twice": 3, "moved away": 3, "not filled": 2}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.network = "arbitrum-one"

    def plan(self) -> list[tuple[float, Callable[[], None]]]:
        wait = self.draw.uniform(30, 900)
        steps: list[tuple[float, Callable[[], None]]] = [(0, self.create), (wait, self.sign)]
        if self.style == "signed twice":
            steps += [(wait + 60, self.sign), (wait + 3000, self.sign)]
        if self.style == "moved away":
            steps += [(wait + 1, self.move_away), (wait + 1200, self.sign), (wait + 4000, self.bring_back), (wait + 4100, self.sign)]
        return steps

    @property
    def by_signer(self) -> dict[str, str]:
        return {"x-api-key": self.merchant.signing_key}

    def create(self) -> None:
        permit2 = self.run.contracts.permit2
        permit2.balances[self.payer.lower()] = HAD
        permit2.allowances[self.payer.lower(), CONTRACT.lower()] = ENOUGH
        super().create()

    def sign(self) -> None:
        """The customer asks what to sign, and signs it."""
        if not self.requests:
            return
        deployment = self.run.deployment
        asked = f"/v2/request/{self.requests[0]}/pay?chain=BASE&token=USDC&wallet={self.payer}"
        offer = deployment.call("GET", asked, None, self.by_signer)
        if not offer.ok or "paymentIntentId" not in offer.body:
            return
        values = self.values(offer)
        signed = {"signature": "0x" + RIGHT.hex(), "nonce": values["nonce"], "deadline": values["deadline"]}
        path = f"/v2/request/payment-intents/{offer.body['paymentIntentId']}"
        answer = deployment.call("POST", path, {"signedPaymentIntent": signed}, self.by_signer)
        if answer.ok or answer.status == 0:  # the response may be lost, and the payment accepted
            self.accepted += 1
            self.run.payments += answer.ok
            self.run.reach("signed")

    @staticmethod
    def values(offer: Answer) -> dict[str, Any]:
        from json import loads

        found: dict[str, Any] = loads(offer.body["paymentIntent"])["values"]
        return found

    def move_away(self) -> None:
        self.run.contracts.permit2.balances[self.payer.lower()] = 0
        self.run.reach("moved away")

    def bring_back(self) -> None:
        self.run.contracts.permit2.balances[self.payer.lower()] = HAD

    def fill(self, sent: Sent, fails: bool) -> None:
        """A relayer of the bridge fills the deposit in the next block of the destination."""
        request = next((each for each in self.run.deployment.store.all(Request) if each.request_id == self.requests[0]), None)
        assert request is not None
        chain = self.run.deployment.chains["arbitrum-one"]
        chain.next_block(lambda: self.run.contracts.bridge.fill(sent, request, fails, fee=0, together=True))
        self.run.reach("fill fails" if fails else "filled")

    def get_back(self, sent: Sent) -> None:
        """The bridge gives the deposit back."""
        contracts = self.run.contracts
        self.run.deployment.chains["base"].next_block(lambda: contracts.bridge.give_back(sent, contracts.permit2))
        self.run.reach("given back")

    def has_deposited(self, sent: Sent) -> bool:
        return same(sent.deposit.depositor, self.payer)


@dataclass
class Payout(Order):
    """Three daily payments of 10 fUSDC by one signature of whoever pays them."""

    recurring_id: str = ""
    permit: dict[str, Any] = field(default_factory=dict)

    STYLES: ClassVar[dict[str, int]] = {"paid": 5, "cancelled": 2, "poor, then rich": 4, "without allowance": 2}
    TOTAL: ClassVar[int] = 10_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        self.network = "sepolia"

    @property
    def signer(self) -> EvmWallet:
        return evm_wallet(self.name)

    @property
    def payer(self) -> str:
        return self.signer.address

    def plan(self) -> list[tuple[float, Callable[[], None]]]:
        steps: list[tuple[float, Callable[[], None]]] = [(0, self.create), (60, self.activate)]
        if self.style == "cancelled":
            steps.append((86_400 * self.draw.uniform(0.1, 2.5), lambda: self.change("cancel")))
        if self.style in ("poor, then rich", "without allowance"):
            steps += [(86_400 * 2.5, self.get_rich), (86_400 * 2.5 + 60, lambda: self.change("unpause"))]
        return steps

    def create(self) -> None:
        escrow = self.run.contracts.escrow
        escrow.balances[self.payer.lower()] = self.TOTAL * (1 if self.style == "poor, then rich" else 10)
        escrow.allowances[self.payer.lower(), PROXY] = 0 if self.style == "without allowance" else 10**15
        body = {
            "amount": "10",
            "payee": self.merchant.payee,
            "invoiceCurrency": self.currency,
            "paymentCurrency": self.currency,
            "recurrence": {
                "startDate": self.run.now.date().isoformat(),
                "frequency": "DAILY",
                "totalPayments": 3,
                "payer": self.payer,
            },
        }
        self.post("/v2/payouts", body, self.created)

    def created(self, answer: Answer) -> None:
        self.recurring_id, self.permit = answer.body["id"], answer.body["recurringPaymentPermit"]
        self.run.reach("payout created")

    def activate(self) -> None:
        if self.recurring_id:
            body = {"permitSignature": self.signer.sign_typed(self.permit)}
            self.post(f"/v2/payouts/recurring/{self.recurring_id}", body, lambda _: self.run.reach("payout activated"))

    def change(self, action: str) -> None:
        if self.recurring_id:
            path = f"/v2/payouts/recurring/{self.recurring_id}"
            if self.run.deployment.call("PATCH", path, {"action": action}, self.merchant.by_key).ok:
                self.run.reach(f"payout {action}")

    def get_rich(self) -> None:
        self.run.contracts.escrow.balances[self.payer.lower()] += 10 * self.TOTAL
        self.run.contracts.escrow.allowances[self.payer.lower(), PROXY] = 10**15
