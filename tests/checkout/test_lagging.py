"""The reads of a payment page that asks whether a link is paid: a second late, for half the units, and never NotFound."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.checkout import flows
from chalicelib.checkout.rules import PayOptions
from chalicelib.payments.links.reading import Viewer
from tests.bench.units import metered
from tests.fakes.world import WALLET, World

PAGE, OWNER = Viewer("", None, reads_any_link=True), Viewer("acct", None)


class Lagging:
    """A client whose queries that need not be consistent know nothing yet."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def query(self, **parameters: Any) -> Any:
        return self._client.query(**parameters) if parameters["ConsistentRead"] else {"Items": []}


@contextmanager
def consistent(world: World) -> Iterator[list[bool]]:
    """Whether each query of a link was consistent."""
    asked: list[bool] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        asked.append(params["ConsistentRead"])

    world.client.meta.events.register("provide-client-params.dynamodb.Query", note)
    try:
        yield asked
    finally:
        world.client.meta.events.unregister("provide-client-params.dynamodb.Query", note)


def test_a_page_that_asks_whether_a_link_is_paid_takes_half_a_unit_less(world: World) -> None:
    token = world.create_link().link.token
    with metered(world.client) as units:
        flows.describe(world.services, token, PAGE, None)
    with metered(world.client) as of_owner:
        flows.describe(world.services, token, OWNER, None)
    assert (units.reads, of_owner.reads) == (2.5, 3.0), "half a unit or one for the link, one each for branding and domain"


def test_a_link_that_was_made_this_second_is_found_by_its_page(world: World) -> None:
    token = world.create_link().link.token
    lagging = world.start(client=Lagging(world.client))
    assert flows.describe(lagging, token, PAGE, None).payable.link.token == token
    with pytest.raises(NotFound):
        flows.describe(lagging, "01M7VQFVRZV5BJJSN4QTFB4MP3", PAGE, None)


def test_a_merchant_and_whatever_is_signed_get_what_is_stored_now(world: World) -> None:
    token = world.create_link().link.token
    with consistent(world) as asked:
        flows.describe(world.services, token, OWNER, None)
        flows.describe(world.services, token, PAGE, WALLET)
        flows.pay(world.services, token, PAGE, PayOptions(WALLET))
    assert asked and all(asked)
