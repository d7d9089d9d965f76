"""The local explorer, to which events link: from a request's id to its link's payment page."""

from collections.abc import Iterator

import pytest
import requests

from infra.local.explorer import Explorer
from tests.fakes.requests import store_request
from tests.fakes.world import World
from tests.payments.links.payouts.test_flows import combine, payout
from tests.support.patience import patience

PAY_URL = "https://pay.example"


@pytest.fixture
def explorer(world: World) -> Iterator[Explorer]:
    explorer = Explorer(lambda: world.services, PAY_URL)
    yield explorer
    explorer.stop()


def open_request(explorer: Explorer, request_id: str) -> requests.Response:
    return requests.get(f"{explorer.url}/request/{request_id}", allow_redirects=False, timeout=patience())


def test_a_request_leads_to_the_page_of_its_link(world: World, explorer: Explorer) -> None:
    payment = world.create_link()
    for request in payment.requests:
        found = open_request(explorer, request.request_id)
        assert (found.status_code, found.headers["location"]) == (302, f"{PAY_URL}/?token={payment.link.token}")


def test_a_request_that_was_merged_leads_to_the_page_of_its_batch(world: World, explorer: Explorer) -> None:
    children = [payout(world), payout(world)]
    batch = combine(world, children)
    found = open_request(explorer, children[0].requests[0].request_id)
    assert found.headers["location"] == f"{PAY_URL}/?token={batch.link.token}"


def test_a_request_without_a_link_shows_how_far_it_is_paid(world: World, explorer: Explorer) -> None:
    request = store_request(world.services, invoice_currency="USD", amount=1_050_000_000, paid=100_000_000)
    found = open_request(explorer, request.request_id)
    assert (found.status_code, found.json()) == (
        200,
        {
            "requestId": request.request_id,
            "status": "created",
            "currency": "USD",
            "expectedAmount": "10.5",
            "totalAmountPaid": "1",
            "txHash": None,
        },
    )


@pytest.mark.parametrize("path", ["/request/req_test123456789abcdef", "/request/", "/", "/other/x", "/request/" + "0" * 500])
def test_what_is_not_known_is_404(explorer: Explorer, path: str) -> None:
    found = requests.get(explorer.url + path, timeout=patience())
    assert (found.status_code, "No such request" in found.json()["message"]) == (404, True)
