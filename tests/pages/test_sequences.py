"""Two devices, their tabs, reloads and wallets of every kind in an order that a seed draws: nothing is paid twice.

A failure prints the steps; the same seed draws them again. `make chaos` runs a thousand, and so does this file alone by

    SEQUENCES=1000 REHEARSAL=1 .venv/bin/python -m pytest tests/pages/test_sequences.py
"""

import os
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.pages.batch_purse import refuses
from tests.pages.bridge_transfers import BridgeTransfers
from tests.pages.devices import Device, Shelf, rest, shelf
from tests.pages.sequence_cases import Case, draw_case
from tests.pages.stack import Stack
from tests.pages.test_two_devices import lapse

pytestmark = pytest.mark.xdist_group("second browser")
STEPS = {
    "press": 6, "press twice": 3, "confirm": 4, "decline": 2, "reload": 3, "another tab": 2, "close the tab": 1,
    "hide": 1, "show": 1, "the service is away": 1, "the service is back": 2, "the node is silent": 1, "the node answers": 2,
    "sleep past the claim": 2, "wake": 2, "some seconds": 2, "a minute": 1, "a block": 2, "three blocks": 1, "the service looks": 1,
}  # fmt: skip
"""With their weights."""
READS = ("eth_chainId", "eth_getTransactionReceipt", "eth_getTransactionCount", "eth_getTransactionByHash", "eth_blockNumber")


@pytest.fixture(scope="module")
def browsers(browser: Browser, stack: Stack) -> Iterator[Shelf]:
    with shelf(browser, stack) as kept:
        yield kept


def sleep(case: Case, device: Device) -> None:
    """The device stops until its claims, if it has any, are over: an awake page would have prolonged them. The service has
    seen by then what is in a block."""
    device.hide(True)
    device.is_asleep = True
    case.settle()
    for each in case.claims():
        if device.holds(each.claimant):
            with case.stack.lock:
                lapse(each.link_token)


def take(step: str, case: Case, device: Device) -> None:
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
        "sleep past the claim": lambda: sleep(case, device),
        "some seconds": lambda: rest(device, times=5), "a minute": lambda: rest(device, times=12, milliseconds=5_000),
        "a block": lambda: case.chain.mine(1), "three blocks": lambda: case.chain.mine(3), "the service looks": case.settle,
    }  # fmt: skip
    acts[step]()


@pytest.mark.parametrize("seed", range(int(os.environ.get("SEQUENCES", "40"))))
def test_whatever_happens_in_whatever_order_the_payee_is_paid_once_at_most(
    stack: Stack, bridge_transfers: BridgeTransfers, browsers: Shelf, seed: int
) -> None:
    """Each person confirms what the wallet shows, though the page may have been closed or says otherwise now; only after the
    claim may have ended while the device slept, he does what the page says. A wallet answers what it likes, and says of a
    batch what it likes."""
    draw = Random(seed)
    is_mined = draw.random() < 0.7
    case = draw_case(draw, Random(f"kind of {seed}"), stack, bridge_transfers, is_mined=is_mined)
    devices = [
        Device(draw, purse, browsers.take(number, purse), token)
        for number, (purse, token) in enumerate(zip(case.purses, case.opened, strict=True))
    ]
    taken = list[str]()
    case.chain.rpc("evm_setAutomine", is_mined)
    try:
        play(draw, case, devices, taken)
        case.chain.rpc("evm_setAutomine", True)
        case.settle()
        shown = (seed, case.kind, [type(each).__name__ for each in case.purses], taken)
        paid = case.assert_paid_once(shown)
        for each in devices:
            each.hide(False)
            assert each.speaks(), (shown, each.states)
        ends(case, devices, browsers, draw, paid, shown)
        assert [each.visitor.complaints for each in devices] == [[], []], shown
    finally:
        case.chain.rpc("evm_setAutomine", True)
        browsers.clear()


def play(draw: Random, case: Case, devices: list[Device], taken: list[str]) -> None:
    """Draws the steps and takes them; at the end everybody confirms what is still open."""
    for each in devices:
        each.visitor.page.goto(each.url())
        assert each.speaks(), each.states
    for step in draw.choices([*STEPS], weights=[*STEPS.values()], k=12):
        number = draw.randrange(2)
        taken.append(f"{number} {step}")
        take(step, case, devices[number])
        rest(*devices, times=1, milliseconds=2_000)
        for each in devices:
            assert each.is_hidden or each.is_asleep or each.speaks(), (case.kind, taken, each.states)
    for each in devices:
        each.wake()
        each.confirm()
        each.lose_the_service(False)
        for name in READS:
            each.purse.says.pop(name, None)
        each.until(lambda now=each: "gasless-sends" not in now.states)


def ends(case: Case, devices: list[Device], browsers: Shelf, draw: Random, paid: int, shown: Any) -> None:
    """What was paid is told on both devices; what was not can be paid by somebody else once the claims are over."""
    if paid == max(case.amounts):
        case.assert_completed()
        for device in devices:
            device.visitor.page.goto(device.url())
            assert device.until(lambda now=device: now.states[0] == case.end), (shown, device.states)
    elif paid == 0 and len(case.tokens) == 1 and draw.random() < 0.3:
        browsers.clear()
        for each in case.claims():
            with case.stack.lock:
                lapse(each.link_token)
        purse = case.stranger()
        stranger = Device(draw, purse, browsers.take(2, purse), case.tokens[0])
        stranger.visitor.page.goto(stranger.url())
        assert stranger.until(lambda: stranger.states == ["review"]), (shown, stranger.states)
        stranger.press(1)
        assert stranger.until(lambda: len(stranger.open) == 1), (shown, stranger.states)
        stranger.confirm()
        case.settle()
        case.assert_completed()
