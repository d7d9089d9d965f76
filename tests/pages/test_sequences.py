"""Two devices, their tabs, reloads and wallets of every kind in an order that a seed draws: nothing is paid twice.

A failure prints the steps; the same seed draws them again. `make chaos` runs a thousand, and so does this file alone by

    SEQUENCES=1000 REHEARSAL=1 .venv/bin/python -m pytest tests/pages/test_sequences.py
"""

import os
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Browser

from chalicelib.payments.links.records import SigningClaim
from infra.local.chain import Chain
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import NATIVE, Ledger
from tests.onchain.payer import FUSDC
from tests.pages.batch_purse import CAPABILITIES, STATUS, BatchPurse, SafeBatchPurse, refuses
from tests.pages.devices import Device, Shelf, rest, shelf
from tests.pages.purse import HANGS, Purse
from tests.pages.stack import Stack
from tests.pages.test_payments import OTHER, payout
from tests.pages.test_two_devices import lapse
from tests.support.client import item
from tests.support.items import native
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("second browser")
STEPS = {
    "press": 6, "press twice": 3, "confirm": 4, "decline": 2, "reload": 3, "another tab": 2, "close the tab": 1,
    "hide": 1, "show": 1, "the service is away": 1, "the service is back": 2, "the node is silent": 1, "the node answers": 2,
    "sleep past the claim": 2, "wake": 2, "some seconds": 2, "a minute": 1, "a block": 2, "three blocks": 1, "the service looks": 1,
}  # fmt: skip
"""With their weights."""
READS = ("eth_chainId", "eth_getTransactionReceipt", "eth_getTransactionCount", "eth_getTransactionByHash", "eth_blockNumber")
STATUSES = (None, None, 100, 200, 400, 500, 600, "CONFIRMED", "PENDING", refuses(5730), refuses(-32603), HANGS)
"""What a wallet says of a batch; None is the truth."""


@pytest.fixture(scope="module")
def browsers(browser: Browser, stack: Stack) -> Iterator[Shelf]:
    with shelf(browser, stack) as kept:
        yield kept


def wallet(draw: Random, chain: Chain, kind: str, *, is_mined: bool) -> Purse:
    name = draw.choice(["ready", "supported", "supported", "plain", "plain", "safe", "old safe"])
    # The contracts of these wallets take no coins back, and a Safe waits for its block.
    if name == "plain" or (kind == "native" and name != "ready") or (name.endswith("safe") and not is_mined):
        return Purse(chain)
    made = SafeBatchPurse(chain, is_old=name.startswith("old")) if name.endswith("safe") else BatchPurse(chain, name)
    made.honours = draw.random() < 0.3
    answer = draw.choice(STATUSES)
    if answer is not None:
        made.says[STATUS] = answer if isinstance(answer, dict) else {"result": {"version": "2.0.0", "status": answer, "atomic": True}}
    if draw.random() < 0.1:
        made.says[CAPABILITIES] = draw.choice([HANGS, refuses(-32603), {"result": []}])
    return made


def twin(purse: Purse) -> Purse:
    """The same account on another device."""
    other = copy(purse)
    other.says, other.asked, other.sent, other.raw = dict(purse.says), [], [], []
    return other


@dataclass
class Case:
    """What is to be paid, and by whom: `tokens` are its links, of which each device opens one. The payee gets one of
    `amounts`, and who pays in tokens loses one of `debits`."""

    kind: str
    tokens: list[str]
    purses: list[Purse]
    amounts: dict[int, int]
    opened: tuple[str, str]


def case_of(draw: Random, stack: Stack, *, is_mined: bool) -> Case:
    kind = draw.choice(["single", "single", "batch", "native", "multicall", "child"])
    purses = [wallet(draw, stack.chain, kind, is_mined=is_mined) for _ in range(2)]
    if kind in ("multicall", "child"):  # a payout is paid by its creator alone, on two devices
        purses[1] = twin(purses[0])
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
        return Case(kind, [token, *children], purses, amounts, opened if draw.random() < 0.5 else opened[::-1])
    return Case(kind, [token], purses, amounts, (token, token))


def claims_of(stack: Stack, tokens: list[str]) -> list[SigningClaim]:
    with stack.lock:
        now, store = running().clock(), running().store
        found = [store.get(SigningClaim, SigningClaim.KEY.of(link_token=each)) for each in tokens]
    return [each for each in found if each is not None and each.is_valid(now)]


def sleep(stack: Stack, case: Case, device: Device) -> None:
    """The device stops until its claims, if it has any, are over: an awake page would have prolonged them. The service has
    seen by then what is in a block."""
    device.hide(True)
    device.is_asleep = True
    stack.settle()
    for each in claims_of(stack, case.tokens):
        if device.holds(each.claimant):
            with stack.lock:
                lapse(each.link_token)


def take(step: str, stack: Stack, case: Case, device: Device) -> None:
    if step not in ("wake", "sleep past the claim", "a block", "three blocks", "the service looks"):
        device.wake()
    acts: dict[str, Callable[[], Any]] = {
        "press": lambda: device.press(1), "press twice": lambda: device.press(2), "confirm": device.confirm,
        "decline": device.decline, "reload": device.reload, "another tab": device.open_tab, "close the tab": device.close_tab,
        "hide": lambda: device.hide(True), "show": lambda: device.hide(False), "wake": device.wake,
        "the service is away": lambda: device.lose_the_service(True),
        "the service is back": lambda: device.lose_the_service(False),
        "the node is silent": lambda: device.purse.says.update({name: refuses(-32603) for name in READS}),
        "the node answers": lambda: [device.purse.says.pop(name, None) for name in READS],
        "sleep past the claim": lambda: sleep(stack, case, device),
        "some seconds": lambda: rest(device, times=5), "a minute": lambda: rest(device, times=12, milliseconds=5_000),
        "a block": lambda: stack.mine(1), "three blocks": lambda: stack.mine(3), "the service looks": stack.settle,
    }  # fmt: skip
    acts[step]()


@pytest.mark.parametrize("seed", range(int(os.environ.get("SEQUENCES", "40"))))
def test_whatever_happens_in_whatever_order_the_payee_is_paid_once_at_most(stack: Stack, browsers: Shelf, seed: int) -> None:
    """Each person confirms what the wallet shows, though the page may have been closed or says otherwise now; only after the
    claim may have ended while the device slept, he does what the page says. A wallet answers what it likes, and says of a
    batch what it likes."""
    draw = Random(seed)
    is_mined = draw.random() < 0.7
    case = case_of(draw, stack, is_mined=is_mined)
    coin = NATIVE if case.kind == "native" else FUSDC
    ledger = Ledger(stack.chain, [coin], [*dict.fromkeys(each.address for each in case.purses), PAYEE])
    devices = [
        Device(draw, purse, browsers.take(number, purse), token)
        for number, (purse, token) in enumerate(zip(case.purses, case.opened, strict=True))
    ]
    taken = list[str]()
    stack.chain.rpc("evm_setAutomine", is_mined)
    try:
        play(draw, stack, case, devices, taken)
        stack.chain.rpc("evm_setAutomine", True)
        stack.settle()
        moved = ledger.moved()[coin]
        shown = (seed, case.kind, [type(each).__name__ for each in case.purses], taken, moved)
        assert moved[-1] in (0, *case.amounts), shown
        assert coin is NATIVE or -sum(moved[:-1]) == case.amounts.get(moved[-1], 0), shown  # who pays in coin pays gas as well
        for each in devices:
            each.hide(False)
            assert each.speaks(), (shown, each.states)
        ends(stack, case, devices, browsers, draw, moved[-1], shown)
        assert [each.visitor.complaints for each in devices] == [[], []], shown
    finally:
        stack.chain.rpc("evm_setAutomine", True)
        browsers.clear()


def play(draw: Random, stack: Stack, case: Case, devices: list[Device], taken: list[str]) -> None:
    """Draws the steps and takes them; at the end everybody confirms what is still open."""
    for each in devices:
        each.visitor.page.goto(each.url())
        assert each.speaks(), each.states
    for step in draw.choices([*STEPS], weights=[*STEPS.values()], k=12):
        number = draw.randrange(2)
        taken.append(f"{number} {step}")
        take(step, stack, case, devices[number])
        rest(*devices, times=1, milliseconds=2_000)
        for each in devices:
            assert each.is_hidden or each.is_asleep or each.speaks(), (case.kind, taken, each.states)
    for each in devices:
        each.wake()
        each.confirm()
        each.lose_the_service(False)
        for name in READS:
            each.purse.says.pop(name, None)


def ends(stack: Stack, case: Case, devices: list[Device], browsers: Shelf, draw: Random, paid: int, shown: Any) -> None:
    """What was paid is told on both devices; what was not can be paid by somebody else once the claims are over."""
    if paid == max(case.amounts):
        if len(case.tokens) == 1:  # a multicall has no requests of its own
            stack.assert_completed(case.tokens[0])
        for device in devices:
            device.visitor.page.goto(device.url())
            assert device.until(lambda now=device: now.states[0] == "completed"), (shown, device.states)
    elif paid == 0 and len(case.tokens) == 1 and draw.random() < 0.3:
        browsers.clear()
        for each in claims_of(stack, case.tokens):
            with stack.lock:
                lapse(each.link_token)
        purse = Purse(stack.chain)
        stranger = Device(draw, purse, browsers.take(2, purse), case.tokens[0])
        stranger.visitor.page.goto(stranger.url())
        assert stranger.until(lambda: stranger.states == ["review"]), (shown, stranger.states)
        stranger.press(1)
        assert stranger.until(lambda: len(stranger.open) == 1), (shown, stranger.states)
        stranger.confirm()
        stack.settle()
        stack.assert_completed(case.tokens[0])
