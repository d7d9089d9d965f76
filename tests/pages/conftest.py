"""Visitors of the payment page in the machine's own browser, with wallets that really pay on a local chain."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from infra.local.screens import Stage
from tests.pages.bridge_transfers import BridgeTransfers, TwoChains, running_bridge_transfers
from tests.pages.purse import Purse, TronPurse
from tests.pages.stack import Stack, running_stack
from tests.pages.visitor import Visitor
from tests.support.running_browser import running_browser

NewVisitor = Callable[..., Visitor]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture(scope="package")
def stage(browser: Browser) -> Stage:
    return Stage(browser)


@pytest.fixture(scope="package")
def stack(browser: Browser) -> Iterator[Stack]:
    with running_stack() as running:
        yield running


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
