"""Those who do not keep to the rules: they may do all that a public credential, a wallet or a contract can."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from tests.simulation.escrowed import Escrowed
from tests.simulation.people import Order, wallet

if TYPE_CHECKING:
    from tests.simulation.scene import Scene

Plan = list[tuple[float, Callable[[], None]]]


@dataclass
class Stranger:
    """Somebody with a wallet, and what everybody can see of the orders of others."""

    run: "Scene"
    name: str
    draw: Random

    @property
    def wallet(self) -> str:
        return wallet(self.name)

    def plan(self) -> Plan:
        raise NotImplementedError

    def found(self) -> Iterable[str]:
        """What must not be, once everything has settled."""
        return ()

    def victim(self) -> Order | None:
        """An order that has begun: one that its own stream chooses, however many others there are."""
        begun = [each for each in self.run.orders if each.owed]
        return min(begun, key=lambda each: self.run.chance.share(self.name, each.name)) if begun else None


class Flooder(Stranger):
    """Pays next to nothing with the reference of somebody else, many times in one transaction."""

    def plan(self) -> Plan:
        return [(0, self.flood)]

    def flood(self) -> None:
        if (order := self.victim()) is not None:
            each = replace(order.owed[0], amount=1 + self.draw.randrange(50), fee=0)
            self.run.deployment.chains[order.network].submit(self.wallet, [each] * self.draw.randrange(5, 60), self.run.chance.work)
            self.run.reach("flooded")


class Pretender(Stranger):
    """Pays himself with the reference of somebody else."""

    def plan(self) -> Plan:
        return [(0, self.pretend), (900, self.pretend)]

    def pretend(self) -> None:
        if (order := self.victim()) is not None:
            each = replace(order.owed[0], payee=wallet(f"{self.name}'s other"))
            self.run.deployment.chains[order.network].submit(self.wallet, [each], self.run.chance.work)
            self.run.reach("pretended")


class Snoop(Stranger):
    """Asks for everything with a public client id, also that of others."""

    def plan(self) -> Plan:
        return [(delay, self.look) for delay in (0, 300, 900)]

    def look(self) -> None:
        order = self.victim()
        if order is None or not order.requests:
            return
        for path in (f"/v2/request/{order.requests[0]}", f"/v2/request/{order.requests[0]}/status", "/v2/request", "/v1/webhook"):
            answer = self.run.deployment.call("GET", path, None, order.merchant.by_client)
            if "@private.example" in str(answer.body):
                self.run.deployment.unexpected.append(f"{path} shows {answer.body} to a public client id")
        self.run.reach("snooped")


@dataclass
class Burner(Stranger):
    """Has the service's own account send transactions, for whose gas nobody pays: with public client ids, for what he
    has created himself and for what others have. An auditor sees what is sent."""

    requests: list[str] = field(default_factory=list)

    def plan(self) -> Plan:
        return [(0, self.create), (2400, self.operate), (5400, self.operate)]

    def create(self) -> None:
        """A commerce payment of next to nothing, which he pre-approves."""
        merchant, escrow = self.draw.choice(self.run.merchants), self.run.contracts.escrow
        escrow.balances[self.wallet.lower()] += 100
        body = {"merchantId": self.name, "merchantAddress": wallet(f"{self.name}'s other"), "buyerAddress": self.wallet}
        body |= {"amount": "100", "paymentCurrency": "fUSDC-sepolia"}
        path = "/v2/commerce-payments/authorize/calldata"
        answer = self.run.deployment.call("POST", path, body, merchant.by_client)
        if answer.ok:
            self.requests.append(answer.body["requestId"])
            for each in answer.body["transactions"]:
                act = partial(escrow._run, self.wallet, each["to"], each["data"])
                self.run.deployment.chains["sepolia"].next_block(act)
            self.run.reach("pre-approved with a public credential")

    def operate(self) -> None:
        for order in [each for each in self.run.orders if isinstance(each, Escrowed) and each.requests][:5]:
            for kind in ("authorize", "capture", "void", "refund"):
                path = f"/v2/commerce-payments/{order.requests[0]}/{kind}"
                answer = self.run.deployment.call("POST", path, {}, order.merchant.by_client)
                self.run.reach(f"burning {answer.status}")


STRANGERS: dict[type[Stranger], float] = {Flooder: 0.02, Pretender: 0.02, Snoop: 0.02, Burner: 0.02}
"""Who is there, for each order."""
