"""The list of what came for a link, what it costs to read, and the refunds that can be made of it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable, NotFound
from chalicelib.chains.nodes.nodes import in_order
from chalicelib.payments.announcements import tracking
from chalicelib.payments.links.payouts import flows as payouts
from chalicelib.payments.links.payouts.rules import MergeDraft, PayoutDraft
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import LinkStatus, PayableLink, PaymentType
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.references import payment_reference
from chalicelib.payments.requests.targets import Item
from chalicelib.payments.transfers import flows
from chalicelib.payments.transfers.flows import ListedTransfer
from chalicelib.payments.transfers.rules import Classification, RecoveryAction
from tests.bench.calls import counted
from tests.fakes import announcements as fake_announcements
from tests.fakes.announcements import SAFE, with_safe
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.lying_node import Liar, served
from tests.fakes.requests import store_request
from tests.fakes.world import PAYEE, WALLET, World, draft
from tests.support.errors import body_of

FUSDT = "0xF046b3CA5ae2879c6bAcC4D42fAF363eE8379F78"
TRON_PAYEE = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"
TRON_PAYER = "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8"


def listed(world: World, payable: PayableLink) -> tuple[ListedTransfer, ...]:
    listing = flows.list_of_link(world.services, payable.link.token, Viewer(world.account_id, world.client_id))
    assert not listing.truncated
    return listing.transfers


def test_what_exceeds_can_be_sent_back_to_the_payer_through_the_proxy(world: World) -> None:
    payment = world.create_link()
    (request,) = payment.requests
    log = world.chain.pay(request, amount=20_000_000)
    world.chain.payers[log["transactionHash"]] = WALLET
    world.scan()
    (found,) = listed(world, payment)
    assert found.classified.classification is Classification.OVER
    refund = found.refund
    assert refund is not None
    assert (refund.payer, refund.amount, refund.token.id) == (WALLET, 7_500_000, "fUSDC-sepolia")
    approve, pay = refund.transactions
    assert approve.data.endswith(f"{7_500_000:064x}")
    assert payment_reference(request.request_id, request.salt, WALLET).hex() in pay.data
    assert [each.function is not None for each in refund.explanations] == [True, True]


def test_native_coins_and_tokens_of_the_wrong_kind_are_returned_whole(world: World) -> None:
    coin, token = world.create_link(currency="ETH-sepolia-sepolia", amount="1"), world.create_link()
    logs = [world.chain.pay(coin.requests[0]), world.chain.pay(coin.requests[0])]
    logs.append(world.chain.pay(token.requests[0], token=FUSDT))
    world.chain.payers |= dict.fromkeys((log["transactionHash"] for log in logs), WALLET)
    world.scan()
    exact, duplicate = listed(world, coin)
    assert (exact.refund, duplicate.classified.action) == (None, RecoveryAction.REFUND)
    assert duplicate.refund is not None
    assert [t.value for t in duplicate.refund.transactions] == [10**18]
    (stray,) = listed(world, token)
    assert stray.refund is not None
    assert (stray.refund.token.id, stray.refund.amount) == ("fUSDT-sepolia", 12_500_000)
    assert stray.refund.transactions[0].to == FUSDT


def test_without_a_payer_or_a_node_the_list_says_why_there_is_no_refund(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0], amount=20_000_000)
    world.scan()
    (found,) = listed(world, payment)
    assert (found.refund, found.unavailable) == (None, "The chain does not tell who paid")
    assert found.classified.action is RecoveryAction.FIND_PAYER
    world.chain.is_down = True
    (found,) = listed(world, payment)
    assert (found.refund, found.unavailable) == (None, "The sepolia node does not answer")
    assert found.classified.action is RecoveryAction.REFUND_EXCESS


def test_a_contract_is_paid_back_only_where_it_is_known_to_be_the_payers_wallet(world: World) -> None:
    """A router that paid for somebody would keep the refund."""
    with_safe(world)
    made = [world.create_link(), a_payout(world, SAFE), world.create_link()]
    fake_announcements.record(world, made[2])
    fake_announcements.record(world, made[0], viewer=fake_announcements.PAGE)  # anybody can name the router
    for payment in made:
        log = world.chain.pay(payment.requests[0], amount=20_000_000)
        world.chain.payers[log["transactionHash"]] = SAFE
    world.scan()
    world.advance(60)
    tracking.track_due(world.services)
    by_router, by_creator, by_safe = (each for payment in made for each in listed(world, payment))
    assert (by_router.payer, by_router.refund) == (SAFE, None)
    assert by_router.classified.action is RecoveryAction.FIND_PAYER
    assert "A contract paid" in str(by_router.unavailable)
    for found in (by_creator, by_safe):
        assert found.refund is not None
        assert (found.payer, found.refund.payer, found.refund.amount) == (SAFE, SAFE, 7_500_000)


@pytest.mark.parametrize("count", [1, 2])
def test_a_receipt_that_never_arrives_costs_the_refund_of_its_own_transfers_alone(world: World, count: int) -> None:
    payment = world.create_link()
    logs = [world.chain.pay(payment.requests[0], amount=20_000_000) for _ in range(3)]
    world.chain.payers |= dict.fromkeys((log["transactionHash"] for log in logs), WALLET)
    world.scan()
    heavy = logs[1]["transactionHash"]
    nodes = [refusing(world.chain, heavy) for _ in range(count)]
    services = served(world.services, "sepolia", *nodes)
    listing = flows.list_of_link(services, payment.link.token, Viewer(world.account_id, world.client_id))
    refused = [each for each in listing.transfers if each.classified.transfer.tx_hash == heavy]
    others = [each for each in listing.transfers if each not in refused]
    assert [(each.refund, each.unavailable) for each in refused] == [(None, "The receipt is too large")]
    assert [each.refund is not None and each.refund.payer == WALLET for each in others] == [True, True]
    assert not any(has_failed for _, has_failed in in_order(services.chains.of("sepolia"))), "the nodes are not to blame"


def refusing(honest: Any, heavy: str) -> Any:
    """A node that does not return the receipt of a transaction."""

    def payers_of(paid: Any) -> Any:
        if any(each.tx_hash == heavy for each in paid):
            raise ChainUnavailable("The receipt is too large")
        return honest.payers_of(paid)

    return Liar(honest, payers_of=payers_of)


def a_payout(world: World, creator: str) -> PayableLink:
    about = replace(draft(), items=())
    facts = PayoutDraft(PAYEE, creator, "sepolia", "fUSDC-sepolia", "12.50", about)
    return payouts.create(world.services, world.owner, None, facts)


def test_of_a_payout_that_was_merged_the_batch_says_what_is_late(world: World) -> None:
    children = [a_payout(world, WALLET) for _ in range(2)]
    world.advance(6 * 24 * 3600)
    tokens = tuple(child.link.token for child in children)
    batch = payouts.combine(world.services, world.owner, MergeDraft(tokens, None, None))
    assert batch.link.expires_at > children[0].link.expires_at
    world.chain.genesis = children[0].link.expires_at
    world.chain.pay(children[0].requests[0])
    world.scan()
    for payment in (children[0], batch):
        (found,) = listed(world, payment)
        assert (found.classified.late, found.classified.classification.value) == (False, "exact")


def test_one_answer_prepares_a_limited_number_of_refunds(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MAX_REFUNDS", 1)
    payment = world.create_link()
    for _ in range(3):
        log = world.chain.pay(payment.requests[0])
        world.chain.payers[log["transactionHash"]] = WALLET
    world.scan()
    refunds = [(each.refund is not None, each.unavailable) for each in listed(world, payment)]
    assert refunds == [(False, None), (True, None), (False, "One answer has 1 refunds at most")]


def test_one_answer_lists_a_limited_number_of_transfers_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "MAX_LISTED", 1)
    payment = world.create_link()
    for _ in range(2):
        world.chain.pay(payment.requests[0], amount=1)
    world.scan()
    listing = flows.list_of_link(world.services, payment.link.token, Viewer(world.account_id, None))
    assert (len(listing.transfers), listing.truncated) == (1, True)


def test_the_node_is_not_asked_when_nothing_is_to_be_refunded(world: World) -> None:
    payment = world.create_link()
    world.chain.pay(payment.requests[0])
    world.scan()
    world.chain.is_down = True
    (found,) = listed(world, payment)
    assert (found.classified.classification, found.unavailable) == (Classification.EXACT, None)


def test_the_list_reads_the_link_and_each_request_twice(world: World) -> None:
    items = tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(3))
    payment = world.create_link(items=items)
    for request in reversed(payment.requests):
        world.chain.pay(request)
    world.scan()
    with counted(world.client) as calls:
        found = listed(world, payment)
    assert dict(calls.by_operation) == {"Query": 1 + 2 * 3}
    assert [each.classified.request.position for each in found] == [0, 1, 2]


def of_request(world: World, request: Request, viewer: Viewer | None = None) -> tuple[ListedTransfer, ...]:
    viewer = viewer or Viewer(world.account_id, world.client_id)
    found, listing = flows.list_of_request(world.services, request.payment_reference, viewer)
    assert found.request_id == request.request_id
    return listing.transfers


def test_a_request_of_a_link_has_its_own_transfers_only(world: World) -> None:
    items = tuple(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia") for _ in range(2))
    payment = world.create_link(items=items)
    for request in payment.requests:
        world.chain.pay(request)
    world.scan()
    assert [of_request(world, request) for request in payment.requests] == [(each,) for each in listed(world, payment)]


def test_a_request_without_a_link_has_refunds_and_nothing_late(world: World) -> None:
    request = store_request(world.services)
    world.chain.genesis = world.now + timedelta(days=999)
    for amount in (20_000_000, 1_000_000):
        log = world.chain.pay(request, amount=amount)
        world.chain.payers[log["transactionHash"]] = WALLET
    world.scan()
    over, duplicate = of_request(world, request)
    assert [each.classified.classification.value for each in (over, duplicate)] == ["over", "duplicate"]
    assert not over.classified.late
    assert over.refund is not None and duplicate.refund is not None
    assert (over.refund.payer, over.refund.amount, duplicate.refund.amount) == (WALLET, 7_500_000, 1_000_000)


def test_a_sent_refund_of_a_request_without_a_link_is_seen_and_told(world: World) -> None:
    world.register_webhook()
    request = store_request(world.services, client_id=world.client_id)
    log = world.chain.pay(request, amount=20_000_000)
    world.chain.payers[log["transactionHash"]] = WALLET
    world.scan()
    of_request(world, request)
    topic = payment_reference(request.request_id, request.salt, WALLET).hex()
    refund = replace(request, payment_reference="0x" + topic, payee=WALLET)
    world.chain.pay(refund, amount=7_500_000)
    world.scan()
    (over,) = of_request(world, request)
    assert over.refund is not None and over.refund.is_sent
    world.drain()
    assert world.receiver.events[-1] == "payment.refunded"


def test_a_contract_that_a_request_names_as_its_payer_is_paid_back(world: World) -> None:
    with_safe(world)
    for payer in (SAFE, None):
        request = store_request(world.services, payer=payer)
        log = world.chain.pay(request, amount=20_000_000)
        world.chain.payers[log["transactionHash"]] = SAFE
        world.scan()
        (found,) = of_request(world, request)
        assert (found.refund is not None) is (payer is not None)


def test_the_transfers_of_another_accounts_request_are_not_found(world: World) -> None:
    request = store_request(world.services, client_id="cli_shop")
    for viewer in (Viewer("another", None), Viewer("acct", "cli_other")):
        with pytest.raises(NotFound, match="Request not found"):
            of_request(world, request, viewer)


def test_the_transfers_of_a_link_are_listed_while_an_announced_transaction_is_pending(world: World) -> None:
    with_safe(world)
    payment = world.create_link()
    request = payment.requests[0]
    world.chain.pay(request, amount=request.amount // 2)
    world.scan()
    fake_announcements.record(world, payment)
    (found,) = listed(world, payment)
    assert of_request(world, request) == (found,)
    assert found.classified.action is RecoveryAction.PAY_REMAINING


def test_the_list_of_a_request_costs_four_reads(world: World) -> None:
    request = store_request(world.services)
    world.chain.pay(request)
    world.scan()
    with counted(world.client) as calls:
        of_request(world, request)
    assert dict(calls.by_operation) == {"BatchGetItem": 1, "Query": 1 + 2}


def test_it_is_there_whatever_became_of_the_link(world: World) -> None:
    payment = world.create_link()
    world.chain.genesis = payment.link.expires_at
    world.chain.pay(payment.requests[0], amount=5)
    world.scan()
    world.advance(8 * 24 * 3600)
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert [each.classified.late for each in listed(world, payment)] == [True]


def test_a_refund_on_tron_goes_to_the_base58_address_of_the_payer(world: World) -> None:
    chain = FakeChain("tron")
    tron = World(world.client, chains=FakeChains(chain), confirmations={"tron": 1})
    payment = tron.create_link(currency="USDT-tron", payee=TRON_PAYEE, fee_percentage=None, fee_address=None)
    log = chain.pay(payment.requests[0], amount=20_000_000)
    chain.payers[log["transactionHash"]] = TRON_PAYER
    tron.tick(network="tron")
    (found,) = listed(tron, payment)
    assert found.refund is not None
    assert (found.refund.payer, found.refund.amount) == (TRON_PAYER, 7_500_000)
    assert all(transaction.to.startswith("T") for transaction in found.refund.transactions)


def test_a_multicall_sends_its_caller_to_the_children_and_strangers_learn_nothing(world: World) -> None:
    payment = world.create_link()
    with pytest.raises(NotFound):
        flows.list_of_link(world.services, payment.link.token, Viewer("another", None))
    parent = replace(
        payment.link, token="PARENT", payment_type=PaymentType.MULTICALL, child_tokens=(payment.link.token,), version=0
    )
    world.services.store.write(parent)
    with pytest.raises(BadRequest) as refused:
        flows.list_of_link(world.services, "PARENT", Viewer(world.account_id, None))
    assert body_of(refused.value)["children"] == [payment.link.token]
