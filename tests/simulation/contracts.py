"""The contracts that the service's own account calls, on simulated chains: escrow, Permit2, bridge, recurring payouts."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chalicelib.chains.calldata.reverts import ALREADY_MADE, NOT_DUE_YET
from chalicelib.chains.catalogue.contracts import RECURRING_PROXY, address_of
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from tests.fakes.bridge import DESTINATION, SOURCE, Bridge, Sent, transferred
from tests.fakes.escrows import CURRENCY, OPERATOR, Escrow
from tests.fakes.mempool import Raw
from tests.fakes.payment_intents import POOL, Permit2
from tests.fakes.recurring import TRIGGER, trigger_of
from tests.simulation.chain import Transfer

if TYPE_CHECKING:
    from tests.simulation.deployment import Deployment

PROXY = address_of(RECURRING_PROXY, "sepolia").lower()
RICH = 10**15
"""Base units of a token that a customer has who pays directly."""


class SimulatedBridge(Bridge):
    """The bridge between two simulated chains."""

    def __init__(self, deployment: "Deployment") -> None:
        self.world = deployment.world
        self.source: Any = deployment.chains[SOURCE]
        self.destination: Any = deployment.chains[DESTINATION]
        self.sources = {SOURCE: self.source}

    def give_back(self, sent: Sent, permit2: "SimulatedPermit2") -> None:
        """Returns a deposit that nobody filled in time, in the newest block."""
        deposit = sent.deposit
        permit2.move(POOL.lower(), deposit.depositor.lower(), deposit.input_amount)
        self._log(self.source, deposit.input_token, transferred(POOL, deposit.depositor, deposit.input_amount))


class RecurringPayments:
    """The contract of recurring payouts, with the token and the wallets of the escrow, on the same chain."""

    def __init__(self, escrow: Escrow) -> None:
        self.escrow, self.chain = escrow, escrow.chain
        self.made: Counter[tuple[int, int]] = Counter()
        """How often each payment was made, by the nonce of the permit and the index."""
        self.chain.mempool.executes = self._execute
        self.chain.mempool.dry_run = self._refusal

    def _refusal(self, to: str, data: str) -> str | None:
        if not data.startswith(TRIGGER):
            return self.escrow.refusal(to, data)
        call = trigger_of(data)
        if call.time_of_index > self.escrow.clock().timestamp():
            return NOT_DUE_YET
        if self.made[call.nonce, call.index]:
            return ALREADY_MADE
        if self.escrow.allowances[call.subscriber, PROXY] < call.total:
            return "ERC20: insufficient allowance"
        return "ERC20: transfer amount exceeds balance" if self.escrow.balances[call.subscriber] < call.total else None

    def _execute(self, raw: Raw) -> str | None:
        if not raw.data.startswith(TRIGGER):
            return self.escrow._execute(raw)
        return self._refusal(raw.to, raw.data) or self.pay(raw.data, raw.tx_hash)

    def pay(self, data: str, tx_hash: str) -> None:
        """Makes a payment, by whoever's transaction."""
        call = trigger_of(data)
        self.made[call.nonce, call.index] += 1
        self.escrow.balances[call.subscriber] -= call.total
        self.escrow.balances[call.payee] += call.amount
        self.escrow.allowances[call.subscriber, PROXY] -= call.total
        transfer = Transfer("sepolia", CURRENCY, call.payee, call.amount, call.reference, call.fee, call.fee_address)
        transfer.log(self.chain, tx_hash, 0)
        self.chain.payers[tx_hash] = call.subscriber


class SimulatedPermit2(Permit2):
    """Says to `on_deposit` what goes into the bridge."""

    on_deposit: Callable[[Sent], None]

    def _deposit(self, raw: Raw) -> None:
        super()._deposit(raw)
        self.on_deposit(self.sent[-1])


@dataclass
class Contracts:
    """All of them. Customers who pay directly are rich; others have what `escrow.balances` and `permit2.balances` say."""

    escrow: Escrow
    permit2: "SimulatedPermit2"
    bridge: SimulatedBridge
    recurring: RecurringPayments

    @classmethod
    def on(cls, deployment: "Deployment") -> "Contracts":
        clock = deployment.world.clock
        permit2 = SimulatedPermit2(deployment.chains[SOURCE], clock)
        escrow = Escrow(deployment.chains["sepolia"], clock)
        made = cls(escrow, permit2, SimulatedBridge(deployment), RecurringPayments(escrow))
        for contracts in (made.escrow, made.permit2):
            contracts.chain.read_wallet = _rich_unless_known(contracts, contracts.chain.read_wallet)
        return made

    @property
    def escrow_operator(self) -> str:
        """The service's own account, which takes refunds from merchants."""
        return OPERATOR


def _rich_unless_known(contracts: Any, read: Callable[..., WalletReading]) -> Callable[..., WalletReading]:
    def reading(wallet: str, tokens: Any, spender: str, **others: Any) -> WalletReading:
        found = read(wallet, tokens, spender, **others)
        if wallet.lower() in contracts.balances:
            return found
        rich: Any = RICH
        return WalletReading(rich, {token: TokenReading(rich, rich) for token in tokens}, found.gas_price, 0, False)

    return reading
