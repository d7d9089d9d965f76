"""What the payers of a sequence have to pay, by kind: how it is settled, and that nothing was paid twice or wrongly."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from random import Random
from typing import Any

from chalicelib.commerce.core.records import CommercePayment
from chalicelib.payments.links.records import SigningClaim
from infra.local.chain import Chain
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import NATIVE, Ledger, allowance
from tests.onchain.payer import FUSDC
from tests.pages.batch_purse import CAPABILITIES, STATUS, BatchPurse, SafeBatchPurse, refuses
from tests.pages.bridge_transfers import USDC, USDC_ON_BASE, BatchTwoChains, BridgeTransfers, TwoChains
from tests.pages.purse import HANGS, Purse
from tests.pages.stack import Stack
from tests.pages.test_commerce import Operator
from tests.pages.test_gasless import Service
from tests.pages.test_payments import OTHER, payout
from tests.support.client import item
from tests.support.items import native
from tests.support.running import running

STATUSES = (None, None, 100, 200, 400, 500, 600, "CONFIRMED", "PENDING", refuses(5730), refuses(-32603), HANGS)
"""What a wallet says of a batch; None is the truth."""
CAPTURABLE = 100_000_000
"""What a commerce payment has held, in base units."""
BRIDGED = {"least": 12_625_000, "most": 12_751_250}
"""What leaves an account for 12.5 USDC and a fee of 1 % on another chain, at a cost of 1 % at most, in base units."""


@dataclass
class Case:
    """What is to be paid, and by whom: `tokens` are its links, of which each device opens one. The payee gets one of
    `amounts`, and who pays in tokens loses one of the amounts under it."""

    stack: Stack
    kind: str
    tokens: list[str]
    purses: list[Purse]
    amounts: dict[int, int]
    opened: tuple[str, str]
    end: str = "completed"
    """The state of the page once all is paid."""
    ledgers: list[Ledger] = field(init=False)

    def __post_init__(self) -> None:
        self.ledgers = self.begin_ledgers()

    @property
    def payers(self) -> list[str]:
        return [*dict.fromkeys(each.address for each in self.purses)]

    @property
    def chain(self) -> Chain:
        """Where the payers sign."""
        return self.stack.chain

    def begin_ledgers(self) -> list[Ledger]:
        return [Ledger(self.chain, [NATIVE if self.kind == "native" else FUSDC], [*self.payers, PAYEE])]

    def settle(self) -> None:
        """Has what was sent confirmed, and the service see it."""
        self.stack.settle()

    def assert_paid_once(self, shown: Any) -> int:
        """What the payee got, which nobody lost more for, in base units."""
        ((coin, moved),) = self.ledgers[0].moved().items()
        shown = (*shown, moved)
        assert moved[-1] in (0, *self.amounts), shown
        assert coin is NATIVE or -sum(moved[:-1]) == self.amounts.get(moved[-1], 0), shown  # who pays in coin pays gas as well
        return moved[-1]

    def assert_completed(self) -> None:
        if len(self.tokens) == 1:  # a multicall has no requests of its own
            self.stack.assert_completed(self.tokens[0])

    def stranger(self) -> Purse:
        """Somebody else who can pay it."""
        return Purse(self.chain)

    def claims(self) -> list[SigningClaim]:
        """Those that hold a link of it."""
        with self.stack.lock:
            now, store = running().clock(), running().store
            found = [store.get(SigningClaim, SigningClaim.KEY.of(link_token=each)) for each in self.tokens]
        return [each for each in found if each is not None and each.is_valid(now)]


@dataclass
class BridgedCase(Case):
    """A payment that its payers, who have nothing on arbitrum-one, make from base. What was deposited arrives whenever
    payments settle: a fill takes seconds, and a claim lasts minutes."""

    bridged: BridgeTransfers = field(kw_only=True)
    since: int = field(init=False)
    """The first block on base that may have a deposit of it."""
    filled: set[int] = field(default_factory=set, init=False)

    @property
    def chain(self) -> Chain:
        return self.bridged.base

    def begin_ledgers(self) -> list[Ledger]:
        self.since = int(self.chain.rpc("eth_blockNumber"), 16) + 1
        there = Ledger(self.bridged.arbitrum, [USDC], [PAYEE, FEE_ADDRESS, *self.payers])
        return [Ledger(self.chain, [USDC_ON_BASE], self.payers), there]

    def settle(self) -> None:
        self.stack.confirm("base")
        for each in self.bridged.bridge.deposits("base", self.since):
            if each.id not in self.filled:
                assert self.bridged.bridge.fill(each)["status"] == "0x1"
                self.filled.add(each.id)
        self.bridged.track(seconds=120)
        self.stack.settle("arbitrum-one")
        self.bridged.track(seconds=120)

    def assert_paid_once(self, shown: Any) -> int:
        deposits = self.bridged.bridge.deposits("base", self.since)
        lost, got = (each.moved() for each in self.ledgers)
        shown = (*shown, lost, got, deposits)
        assert len(deposits) <= 1, shown
        assert all(BRIDGED["least"] <= each.input_amount <= BRIDGED["most"] for each in deposits), shown
        assert -sum(lost[USDC_ON_BASE]) == sum(each.input_amount for each in deposits), shown
        [paid, fee, *left] = got[USDC]
        assert (paid, fee) == (12_500_000 * len(deposits), 125_000 * len(deposits)) and not any(left), shown
        return paid

    def stranger(self) -> Purse:
        return TwoChains(self.bridged.bridge)


@dataclass
class CapturableCase(Case):
    """A commerce payment: whoever has allowed the escrow to take it, the operator has it taken from one of them."""

    operator: Operator = field(kw_only=True)
    request_id: str = field(kw_only=True)
    spender: str = field(kw_only=True)
    """Who is allowed to take it."""
    draw: Random = field(kw_only=True)

    def settle(self) -> None:
        self.stack.settle()
        if self.draw.random() < 0.5:
            self.authorize()

    @property
    def payment(self) -> CommercePayment:
        with self.stack.lock:
            found = running().store.get(CommercePayment, CommercePayment.KEY.of(payable_id=self.tokens[0]))
        assert found is not None
        return found

    def authorize(self) -> None:
        """The operator has it taken from somebody who has allowed that, unless it was taken already."""
        payment = self.payment
        if payment.pre_approved_by and not payment.is_collected:
            self.operator.does(self.request_id, "authorize", payer=self.draw.choice(payment.pre_approved_by))

    def assert_paid_once(self, shown: Any) -> int:
        """What is held, which one of the payers has lost."""
        self.authorize()
        allowed = [allowance(self.chain, FUSDC, each, self.spender) for each in self.payers]
        assert all(each in (0, CAPTURABLE) for each in allowed), (shown, allowed)
        payment, moved = self.payment, self.ledgers[0].moved()[FUSDC]
        shown = (*shown, payment, moved)
        assert payment.capturable == (CAPTURABLE if payment.pre_approved_by else 0), shown
        assert sorted(moved) == sorted([-payment.capturable, *[0] * (len(moved) - 1)]) and moved[-1] == 0, shown
        return payment.capturable

    def assert_completed(self) -> None:
        self.authorize()
        assert self.payment.capturable == CAPTURABLE


@dataclass
class GaslessCase(Case):
    """A payment that its payers sign, who have no coin, or pay by transactions. It is made while the service looks."""

    service: Service = field(kw_only=True)

    def settle(self) -> None:
        self.stack.settle()
        self.service.look()

    def assert_paid_once(self, shown: Any) -> int:
        while any(each.is_executed for each in self.stack.payment(self.tokens[0]).requests):
            self.settle()
        *lost, paid = self.ledgers[0].moved()[FUSDC]
        assert paid in (0, *self.amounts), (*shown, lost, paid)
        assert sum(each != 0 for each in lost) == (paid > 0), (*shown, lost, paid)
        assert paid <= -sum(lost) <= 11 * paid // 10, (*shown, lost, paid)
        return paid


def draw_case(draw: Random, other: Random, stack: Stack, bridged: BridgeTransfers, *, is_mined: bool) -> Case:
    """`other` draws what `draw` did not draw at first: whether it is paid from another chain, held in an escrow, or
    signed."""
    kind = other.choice(["bridged", "capturable", "gasless", *[None] * 3])
    if kind == "gasless":
        service, token = Service(stack), stack.shop.link(item())
        payers = _one_or_two(other, [service.purse(other.choice([0, 10**18])) for _ in range(2)])
        return GaslessCase(stack, "gasless", [token], payers, {12_500_000: 12_500_000}, (token, token), service=service)
    if kind == "bridged":
        token, payers = bridged.link(), _one_or_two(other, [_traveller(other, bridged) for _ in range(2)])
        return BridgedCase(stack, "bridged", [token], payers, {12_500_000: BRIDGED["most"]}, (token, token), bridged=bridged)
    if kind == "capturable":
        return _capturable(other, stack, is_mined=is_mined)
    return _draw_own(draw, stack, is_mined=is_mined)


def _capturable(other: Random, stack: Stack, *, is_mined: bool) -> Case:
    operator = Operator(stack)
    request_id, token = operator.created()
    payers = _one_or_two(other, [_draw_wallet(other, stack.chain, "capturable", is_mined=is_mined) for _ in range(2)])
    approval, _ = operator.shows(token, payers[0])["transactions"]
    return CapturableCase(
        stack, "capturable", [token], payers, {CAPTURABLE: CAPTURABLE}, (token, token), "authorized",
        operator=operator, request_id=request_id, spender="0x" + approval["data"][34:74], draw=other,
    )  # fmt: skip


def _one_or_two(other: Random, payers: Sequence[Purse]) -> list[Purse]:
    """Two payers, or one on two devices."""
    return [payers[0], _twin(payers[0]) if other.random() < 0.4 else payers[1]]


def _draw_own(draw: Random, stack: Stack, *, is_mined: bool) -> Case:
    """A payment on the link's own network."""
    kind = draw.choice(["single", "single", "batch", "native", "multicall", "child"])
    purses = [_draw_wallet(draw, stack.chain, kind, is_mined=is_mined) for _ in range(2)]
    if kind in ("multicall", "child"):  # a payout is paid by its creator alone, on two devices
        purses[1] = _twin(purses[0])
    if kind == "single":
        token, amounts = stack.shop.link(item()), {12_500_000: 12_500_000}
    elif kind == "native":
        token, amounts = stack.shop.link(native()), {5 * 10**17: 5 * 10**17}
    elif kind == "batch":
        token = stack.shop.link(item(), item(amount="0.5"), feePercentage="1", feeAddress=FEE_ADDRESS)
        amounts = {13_000_000: 13_130_000}
    else:  # of two transactions, as each child has its own address for fees
        fees = [{"feePercentage": "1", "feeAddress": FEE_ADDRESS}, {"feePercentage": "2", "feeAddress": OTHER}]
        children = [payout(stack, purses[0], amount=amount, **fee) for amount, fee in zip(("10", "7"), fees, strict=True)]
        token = stack.made("/multicall-payouts", {"childTokens": children})
        amounts = {10_000_000: 10_100_000, 7_000_000: 7_140_000, 17_000_000: 17_240_000}
        opened = (token, draw.choice(children) if kind == "child" else token)
        return Case(stack, kind, [token, *children], purses, amounts, opened if draw.random() < 0.5 else opened[::-1])
    return Case(stack, kind, [token], purses, amounts, (token, token))


def _draw_wallet(draw: Random, chain: Chain, kind: str, *, is_mined: bool) -> Purse:
    name = draw.choice(["ready", "supported", "supported", "plain", "plain", "safe", "old safe"])
    # The contracts of these wallets take no coins back, and a Safe waits for its block.
    if name == "plain" or (kind == "native" and name != "ready") or (name.endswith("safe") and not is_mined):
        return Purse(chain)
    made = SafeBatchPurse(chain, is_old=name.startswith("old")) if name.endswith("safe") else BatchPurse(chain, name)
    return _give_mind(draw, made)


def _traveller(draw: Random, bridged: BridgeTransfers) -> Purse:
    name = draw.choice(["ready", "supported", "supported", "plain", "plain"])
    return TwoChains(bridged.bridge) if name == "plain" else _give_mind(draw, BatchTwoChains(bridged.bridge, name))


def _give_mind(draw: Random, made: BatchPurse) -> BatchPurse:
    """It honours an id or not, and says of batches and of itself what it likes."""
    made.honours = draw.random() < 0.3
    answer = draw.choice(STATUSES)
    if answer is not None:
        made.says[STATUS] = answer if isinstance(answer, dict) else {"result": {"version": "2.0.0", "status": answer, "atomic": True}}
    if draw.random() < 0.1:
        made.says[CAPABILITIES] = draw.choice([HANGS, refuses(-32603), {"result": []}])
    return made


def _twin(purse: Purse) -> Purse:
    """The same account on another device."""
    other = copy(purse)
    other.says, other.asked, other.sent, other.raw = dict(purse.says), [], [], []
    return other
