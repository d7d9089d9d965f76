"""Visitors of the payment page in the machine's own browser, with wallets that really pay on a local chain."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser

from infra.local.screens import Stage
from tests.pages.bridge_transfers import BridgeTransfers, TwoChains, running_bridge_transfers
from tests.pages.purse import Purse, TronPurse
from tests.pages.stack import Stack, running_stack
from tests.pages.visitor import Visitor
from tests.support.client import Api
from tests.support.left_behind import expect_changes_beyond_file
from tests.support.node import Node
from tests.support.running_browser import running_browser

NewVisitor = Callable[..., Visitor]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def stage(browser: Browser) -> Stage:
    return Stage(browser)


class Stacks:
    """One stack at a time, which starts with the first test that needs it. It changes what holds for the whole process."""

    def __init__(self) -> None:
        self._running, self._stack = ExitStack(), list[Stack]()

    def start(self) -> Stack:
        if not self._stack:
            expect_changes_beyond_file()
            self._stack.append(self._running.enter_context(running_stack()))
        return self._stack[0]

    def stop(self) -> None:
        if self._stack:
            expect_changes_beyond_file()
            self._stack.clear()
            self._running.close()


@pytest.fixture(scope="package")
def stacks() -> Iterator[Stacks]:
    stacks = Stacks()
    yield stacks
    stacks.stop()


@pytest.fixture(scope="module")
def stack(browser: Browser, stacks: Stacks) -> Stack:
    return stacks.start()


@pytest.fixture(scope="module")
def without_stack(stacks: Stacks) -> None:
    stacks.stop()


@pytest.fixture(scope="module")
def deployment(without_stack: None, deployment: tuple[Api, Node]) -> tuple[Api, Node]:
    """That of tests of the API alone, which is in this process as well."""
    return deployment


@pytest.fixture
def new_visitor(browser: Browser, stack: Stack) -> Iterator[NewVisitor]:
    """Each has a browser profile of their own; whatever the browser complains of fails the test."""
    visitors: list[Visitor] = []

    def make(*purses: Purse, **profile: object) -> Visitor:
        context = browser.new_context(**{"reduced_motion": "reduce", "locale": "en", **profile})  # type: ignore[arg-type]
        visitors.append(Visitor(context, stack).has(*purses))
        return visitors[-1]

    yield make
    for visitor in visitors:
        for page in visitor.context.pages:
            page.unroute_all(behavior="ignoreErrors")  # what is still on its way is nobody's any more
        visitor.context.close()
    assert [each for visitor in visitors for each in visitor.complaints] == []


@pytest.fixture
def purse(stack: Stack) -> Purse:
    return Purse(stack.chain)


@pytest.fixture
def tron_purse(stack: Stack) -> TronPurse:
    return TronPurse(stack.tron)


@pytest.fixture(scope="module")
def bridge_transfers(stack: Stack) -> Iterator[BridgeTransfers]:
    with running_bridge_transfers(stack) as running:
        yield running


@pytest.fixture
def traveller(bridge_transfers: BridgeTransfers) -> TwoChains:
    return TwoChains(bridge_transfers.bridge)
