"""Which request a name finds, with which link, and who sees it."""

import pytest

from chalicelib.base.errors import NotFound
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.reading import Viewer, load_request
from chalicelib.payments.links.records import Payable
from tests.fakes.payouts import on_its_way
from tests.fakes.requests import store_request
from tests.fakes.world import PAYEE, WALLET, World, draft

OWNER = Viewer("acct", None)
PAYOUT = PayoutDraft(PAYEE, WALLET, "sepolia", "fUSDC-sepolia", "12.50", draft(items=(), fee_percentage=None, fee_address=None))


def test_a_request_without_a_link_is_found_by_its_id_and_its_reference_in_any_case(world: World) -> None:
    request = store_request(world.services)
    for name in (request.request_id, request.payment_reference):
        assert load_request(world.services, name, OWNER) == (request, Payable((request,)))
        assert load_request(world.services, name.upper().replace("0X", "0x"), OWNER) == (request, Payable((request,)))


def test_a_request_of_a_link_is_found_with_its_link(world: World) -> None:
    payment = world.load(world.create_link())
    (request,) = payment.requests
    assert load_request(world.services, request.request_id, OWNER) == (request, payment)
    assert load_request(world.services, request.payment_reference, OWNER) == (request, payment)


def test_the_announced_transaction_of_a_link_is_known_with_its_request(world: World) -> None:
    payment = world.create_link()
    announced = on_its_way(payment).announcements
    assert announced is not None
    world.services.store.write(announced)
    _, found = load_request(world.services, payment.requests[0].request_id, OWNER)
    assert found is not None and found.is_locked


def test_a_request_of_a_merged_payout_is_found_in_the_batch(world: World) -> None:
    first, second = (payouts.create(world.services, world.owner, None, PAYOUT) for _ in range(2))
    draft_of_both = MergeDraft((first.link.token, second.link.token), None, None)
    batch = world.load(payouts.combine(world.services, world.owner, draft_of_both))
    for request in batch.requests:
        assert load_request(world.services, request.request_id, OWNER) == (request, batch)
        assert load_request(world.services, request.payment_reference, OWNER) == (request, batch)


@pytest.mark.parametrize(
    ("viewer", "sees"),
    [
        (Viewer("acct", None), True),
        (Viewer("acct", "cli_shop"), True),
        (Viewer("acct", "cli_other"), False),
        (Viewer("other", None), False),
        (Viewer("other", "cli_shop"), False),
        (Viewer("", None, reads_any_link=True), False),
    ],
)
@pytest.mark.parametrize("in_link", [True, False], ids=["in a link", "alone"])
def test_a_request_is_seen_by_its_account_and_its_client_id(
    world: World, viewer: Viewer, sees: bool, in_link: bool
) -> None:
    request = world.create_link().requests[0] if in_link else store_request(world.services, client_id="cli_shop")
    if sees:
        assert load_request(world.services, request.request_id, viewer)[0].request_id == request.request_id
        return
    with pytest.raises(NotFound, match="Request not found"):
        load_request(world.services, request.request_id, viewer)


def test_what_was_created_without_a_client_id_is_seen_by_each_client_id_of_the_account(world: World) -> None:
    request = store_request(world.services)
    assert load_request(world.services, request.request_id, Viewer("acct", "cli_shop"))[0] == request


@pytest.mark.parametrize("name", ["", "0x", "01", "01" + "ab" * 32, "0x" + "ab" * 8, "0" * 10_000])
def test_what_names_no_request_is_not_found(world: World, name: str) -> None:
    with pytest.raises(NotFound):
        load_request(world.services, name, OWNER)
