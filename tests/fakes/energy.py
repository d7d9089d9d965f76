"""A stake on Tron in memory, which delegates by signed bytes, and a link that a wallet there pays with what it is given."""

from collections import Counter
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from chalicelib.base.addresses import address_bytes
from chalicelib.base.money import BaseUnits
from chalicelib.chains.nodes.readings import Delegated, ReferenceBlock, ResourceTotals, Stake
from chalicelib.chains.nodes.tron import BroadcastResult
from chalicelib.gasless import store as gasless_store
from chalicelib.gasless.energy import flows as energy
from chalicelib.gasless.energy import running as energy_running
from chalicelib.gasless.energy import store as energy_store
from chalicelib.gasless.energy.records import EnergyDelegation
from chalicelib.gasless.energy.rules import Wish
from chalicelib.payments.links.records import LinkStatus, PayableLink
from chalicelib.payments.requests.records import RequestStatus
from infra.local.tron_resources import SUN, TOTALS
from infra.local.tron_transactions import DELEGATE, Transaction
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.wallets import tron_wallet
from tests.fakes.world import World

PAYER, OTHER = tron_wallet("payer").address, tron_wallet("other").address
ENERGY, BANDWIDTH = 200_000, 900
_SOLID_AFTER = 60_000
_PAYEE = "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"


@dataclass
class StakeChain:
    """A `TronChain` that has one stake. Times are milliseconds, amounts sun; a block is made whenever time passes."""

    owner: str
    stake: dict[int, int] = field(default_factory=lambda: {0: 10**6 * SUN, 1: 10**6 * SUN})
    """What of it is not delegated: of bandwidth, and of energy."""
    time: int = 1_800_000_000_000
    pending: list[Transaction] = field(default_factory=list)
    made: list[tuple[int, Transaction]] = field(default_factory=list)
    """The transactions in blocks, with the time of each."""
    takes: bool = True
    """Whether nodes accept what is sent."""
    permits: bool = False
    """Whether a permission of the owner has the key of the deployment."""
    network: str = "tron"

    def pass_time(self, seconds: int) -> None:
        for each in self.pending:
            call = each.call
            sun = call.call_value if call.type == DELEGATE else -call.call_value
            key = call.contract, call.resource
            is_valid = self.time < call.expiration and each.id not in {known.id for _, known in self.made}
            if is_valid and (self.stake[call.resource] >= sun if sun > 0 else self.of(self.time)[key] >= -sun):
                self.stake[call.resource] -= sun
                self.made.append((self.time, each))
        self.pending.clear()
        self.time += seconds * 1000

    def of(self, time: int) -> Counter[tuple[bytes, int]]:
        """What is delegated after the last block until a time, by receiver and resource."""
        found = Counter[tuple[bytes, int]]()
        for at, each in self.made:
            if at <= time:
                sun = each.call.call_value if each.call.type == DELEGATE else -each.call.call_value
                found[each.call.contract, each.call.resource] += sun
        return found

    def read_stake(self, owner: str) -> Stake:
        totals = [ResourceTotals(*each) for each in TOTALS]
        return Stake(BaseUnits(self.stake[1]), BaseUnits(self.stake[0]), totals[1], totals[0])

    def read_delegated(self, owner: str, receiver: str) -> Delegated:
        solid = self.time - _SOLID_AFTER
        found, key = self.of(solid), b"\x41" + address_bytes(receiver)
        return Delegated(solid, BaseUnits(found[key, 1]), BaseUnits(found[key, 0]))

    def read_reference_block(self) -> ReferenceBlock:
        return ReferenceBlock(b"\1\2", bytes(8), self.time)

    def broadcast(self, signed: bytes) -> BroadcastResult:
        made = Transaction.of_hex(signed.hex())
        assert made.signature_problem() is None or self.permits
        if not self.takes:
            return BroadcastResult(False, made.id, "CONTRACT_VALIDATE_ERROR", "")
        if made.id not in {each.id for each in self.pending}:
            self.pending.append(made)
        return BroadcastResult(True, made.id, "SUCCESS", "")


class Energy:
    """A deployment with a stake, and links of 12.50 USDT on Tron."""

    def __init__(self, daily: int = 10**7, **settings: Any) -> None:
        self.world = World(object(), FakeChains(FakeChain("tron")), **settings)
        self.world.services = replace(self.world.services, store=MemoryStore())
        self.set(PAYER, daily)
        self.chain = StakeChain(energy.key_address(self.services))
        self.set(self.chain.owner, daily)
        self.serve(self.chain)

    def set(self, account: str, daily: int = 10**7) -> None:
        """Has the operator set another stake or budget."""
        self.services.secrets.tron_energy = f"account={account}, daily={daily}, key=secret"

    def serve(self, chain: Any) -> None:
        """Has the services read the stake by a chain."""
        self.world.services = with_chain(self.world.services, chain)

    @property
    def services(self) -> Any:
        return self.world.services

    def link(self) -> PayableLink:
        return self.world.create_link(
            currency="USDT-tron", amount="12.5", payee=_PAYEE, fee_percentage=None, fee_address=None
        )

    def wish(self, link: PayableLink, wallet: str = PAYER, **changes: Any) -> Wish:
        asked = {"energy": ENERGY, "bandwidth": BANDWIDTH, "account_id": self.world.account_id, **changes}
        return Wish(wallet, link_token=link.link.token, **asked)

    def delegate(self, link: PayableLink, wallet: str = PAYER, **changes: Any) -> EnergyDelegation:
        return energy.delegate(self.services, self.wish(link, wallet, **changes))

    def complete(self, link: PayableLink) -> None:
        stored = self.world.load(link)
        (request,) = stored.requests
        paid = replace(request, paid=request.amount, status=RequestStatus.PAID)
        self.services.store.write(replace(stored.link, status=LinkStatus.COMPLETED), paid)

    def load(self, wallet: str = PAYER) -> EnergyDelegation:
        found = energy_store.delegation(self.services.store, wallet)
        assert found is not None
        return found

    def run(self, minutes: int = 1, services: Any = None) -> None:
        """What the schedule does in so many minutes."""
        for _ in range(minutes):
            self.world.advance(60)
            self.chain.pass_time(60)
            self.look(services or self.services)
        self.chain.pass_time(3)

    def look(self, services: Any) -> None:
        """What the schedule does about what is due."""
        wallets = gasless_store.due(services.store, self.world.now, 25, 0)[2]
        energy_running.look_at_each(services, wallets, self.world.now.replace(year=2100))

    def delegated(self, wallet: str = PAYER) -> tuple[int, int]:
        """The sun of energy and of bandwidth that a wallet has now."""
        found, key = self.chain.of(self.chain.time), b"\x41" + address_bytes(wallet)
        return found[key, 1], found[key, 0]


def with_chain(services: Any, chain: Any) -> Any:
    """The services with a chain for Tron."""
    return replace(services, chains=SimpleNamespace(tron=lambda: chain, of=lambda _: chain, networks=("tron",)))
