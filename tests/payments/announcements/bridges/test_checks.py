"""A link that is paid from another chain waits for what both chains say, and for nothing else."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import permutations
from typing import Any

import pytest

from chalicelib.base.errors import ChainUnavailable, Locked
from chalicelib.chains.calldata.bridges.across import decode_message
from chalicelib.chains.calldata.wallets.safe import SafeTerms, SafeTransaction, safe_tx_hash
from chalicelib.chains.catalogue.contracts import LIFI_RECEIVER, address_of
from chalicelib.chains.nodes.bridges.deposits import FILLED_TOPIC, LoggedReturn
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.rpc.receipts import RawReceipts, logs_in
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.crosschain.core.records import Stage
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.bridges import sources
from chalicelib.payments.links.bridge_transfers import answer_bridge_transfers
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, LinkStatus, PayableLink, Proof
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import PaymentKind
from chalicelib.payments.scanning import store as scan_store
from chalicelib.payments.scanning.jobs import scan_chain
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.outbound.lifi import RouterStatus, RouterUnavailable
from chalicelib.platform.storage.writes import Delete
from tests.crosschain.service.router import diamond
from tests.fakes.announcements import PAGE, SAFE
from tests.fakes.bridge import CONFIRMATIONS, MINUTE, Bridge, Sent
from tests.fakes.chain import SENDER, by_transaction
from tests.fakes.lying_node import Liar, served_beside

NOWHERE = "0x" + "ee" * 32
OTHER = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
THIRD = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


def is_free(bridge: Bridge, payable: PayableLink) -> bool:
    try:
        check_payable(bridge.world.load(payable), bridge.world.now)
    except Locked:
        return False
    return True


def test_a_payment_from_another_chain_completes_the_link_and_is_known_by_both_transactions(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    announced = bridge.announce(payment, sent)
    assert (announced.network, announced.wallet, announced.proof) == ("base", SENDER, Proof.SENT)
    assert not is_free(bridge, payment)
    bridge.include(sent)
    bridge.track()
    announced = bridge.announced(payment)
    assert announced.bridge_transfer is not None
    assert (announced.status, announced.bridge_transfer.stage) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    filled = bridge.fill(sent, payment.requests[0])
    bridge.track()
    assert bridge.world.load(payment).link.status is LinkStatus.COMPLETED
    announced = bridge.announced(payment)
    assert announced.bridge_transfer is not None
    assert (announced.status, announced.bridge_transfer.destination_hash) == (AnnouncedStatus.SETTLED, filled)
    (paid,) = payment_store.payments(bridge.world.services.store, payment.requests[0].request_id)
    assert (paid.type, paid.payer, paid.tx_hash) == (PaymentKind.CROSSCHAIN, SENDER, filled)
    assert (paid.source_network, paid.source_hash) == ("base", sent.tx_hash)


def state_of(bridge: Bridge, payable: PayableLink) -> tuple[AnnouncedStatus, Stage]:
    announced = bridge.announced(payable)
    assert announced.bridge_transfer is not None
    return announced.status, announced.bridge_transfer.stage


def deposited(bridge: Bridge, payable: PayableLink) -> Sent:
    sent = bridge.send(payable)
    bridge.announce(payable, sent)
    bridge.include(sent)
    bridge.track()
    return sent


def failures(bridge: Bridge) -> list[dict[str, Any]]:
    """The bodies of payment.failed that the merchant received."""
    bridge.world.drain()
    bodies = [json.loads(posted.body) for posted in bridge.world.receiver.posted]
    return [body for body in bodies if body["event"] == "payment.failed"]


def test_what_lifis_receiver_gives_back_is_known_as_held_too(bridge: Bridge) -> None:
    payment = bridge.link()
    true = bridge.deposit_for(payment.requests[0])
    made = decode_message(true.message)
    assert made is not None
    (proxy, call, _), amount = made.calls[-1], true.output_amount
    message = diamond.message(true.output_token, proxy, call, amount, made.fallback)
    receiver = address_of(LIFI_RECEIVER, "arbitrum-one")
    sent = bridge.send_deposit(replace(true, recipient=receiver, message=message))
    bridge.announce(payment, sent)
    bridge.include(sent)
    bridge.fill(sent, payment.requests[0], fails=True)
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PARTIAL, Stage.DESTINATION)
    bridge_transfer = bridge.announced(payment).bridge_transfer
    assert bridge_transfer is not None and bridge_transfer.returned is not None
    assert (bridge_transfer.returned.amount, bridge_transfer.returned.wallet) == (12_625_000, SENDER)


def test_a_failed_call_leaves_the_tokens_with_the_payer_and_the_merchant_is_notified_once(bridge: Bridge) -> None:
    bridge.world.register_webhook()
    payment = bridge.link()
    sent = deposited(bridge, payment)
    filled = bridge.fill(sent, payment.requests[0], fails=True)
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PARTIAL, Stage.DESTINATION)
    assert is_free(bridge, payment)
    bridge_transfer = bridge.announced(payment).bridge_transfer
    assert bridge_transfer is not None and bridge_transfer.returned is not None
    assert (bridge_transfer.destination_hash, bridge_transfer.returned.amount, bridge_transfer.returned.wallet) == (
        filled,
        12_625_000,
        SENDER,
    )
    bridge.track()
    (body,) = failures(bridge)
    assert (body["subStatus"], body["txHash"], body["network"]) == ("bounced", sent.tx_hash, "base")
    assert body["failureReason"].endswith(f"12.625 USDC on arbitrum-one in {SENDER}")
    assert body["sequence"] == bridge.world.load(payment).requests[0].event_count == 1


@pytest.mark.parametrize(
    "changes",
    [{"message": b""}, {"message": b"nothing"}, {"output_amount": 1}, {"recipient": OTHER}, {"input_amount": 1}],
    ids=["no message", "message", "output", "recipient", "input"],
)
@pytest.mark.parametrize("pays", [False, True], ids=["without a payment", "with one cent"])
def test_a_fill_of_a_deposit_that_was_never_made_decides_nothing(
    bridge: Bridge, changes: dict[str, Any], pays: bool
) -> None:
    """The destination chain takes the word of whoever fills: the true deposit can still be filled afterwards."""
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.forge(sent, payment.requests[0] if pays else None, **changes)
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    assert not is_free(bridge, payment)
    filled = bridge.fill(sent, payment.requests[0])
    bridge.track()
    bridge_transfer = bridge.announced(payment).bridge_transfer
    assert bridge_transfer is not None and bridge_transfer.destination_hash == filled
    assert state_of(bridge, payment) == (AnnouncedStatus.SETTLED, Stage.DESTINATION)


def test_what_nobody_fills_is_refunding_until_the_source_chain_has_the_refund(bridge: Bridge) -> None:
    bridge.world.register_webhook()
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.track(100)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    bridge.track(30)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.REFUNDING)
    assert not is_free(bridge, payment)
    refund = bridge.refund(sent)
    bridge.track(5)
    assert state_of(bridge, payment) == (AnnouncedStatus.REFUNDED, Stage.RETURNED)
    bridge_transfer = bridge.announced(payment).bridge_transfer
    assert bridge_transfer is not None and bridge_transfer.refund_hash == refund
    assert is_free(bridge, payment)
    (body,) = failures(bridge)
    assert body["subStatus"] == "bounced"
    assert body["failureReason"].endswith(f"USDC on base in {SENDER}")


def check_frees_nothing(bridge: Bridge, is_first: bool, lie: Callable[[Any], Any], **lies: Any) -> None:
    """One of two nodes says other things of an announced transaction that is in a block: `lie` makes them of the true
    ones, `lies` are its further answers. The link stays locked, and goes on once that node is gone."""
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    honest: Any = bridge.world.services.chains.evm("base")
    liar = Liar(honest, sent_transaction=lambda tx_hash: lie(honest.sent_transaction(tx_hash)), **lies)
    true_services = bridge.world.services
    bridge.world.services = served_beside(true_services, "base", liar, is_first)
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.SOURCE)
    assert not is_free(bridge, payment)
    bridge.world.services = true_services
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_saying_that_the_deposit_reverted(bridge: Bridge, is_first: bool) -> None:
    check_frees_nothing(bridge, is_first, lambda true: true and replace(true, success=False, deposits=()))


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_a_deposit_of_its_own_in_a_block_that_it_says_is_new(
    bridge: Bridge, is_first: bool
) -> None:
    """It says that there are no blocks yet, so that none is deep enough to be agreed on."""
    check_frees_nothing(bridge, is_first, lambda true: replace(true, deposits=()), head=lambda: 0)


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_saying_that_its_newest_block_is_one_that_is_not_there_yet(
    bridge: Bridge, is_first: bool
) -> None:
    """The events of the Safe would be looked for after that block alone, and its nonce is used."""
    payment = bridge.link()
    sent = bridge.send(payment, payer=SAFE)
    honest: Any = bridge.world.services.chains.evm("base")
    paying = honest.transactions[sent.tx_hash]
    proposed = Proposal(SAFE, SafeTransaction(paying.to, 0, paying.data, 0), SafeTerms(0))
    hash = safe_tx_hash(8453, SAFE, proposed.transaction, proposed.terms)
    bridge.world.safes.known["base", hash] = proposed
    liar, true_services = Liar(honest, head=lambda: honest.head() + 10**6), bridge.world.services
    bridge.world.services = served_beside(true_services, "base", liar, is_first)
    deadline = bridge.world.now + timedelta(hours=1)
    bridge.announce(payment, sent, tx_hash=None, safe_tx_hash=hash, deadline=deadline)
    bridge.world.services = true_services
    event = honest.execute_safe(SAFE, hash)
    bridge.include(sent)
    honest.transactions[event.transaction_hash] = honest.transactions[sent.tx_hash]
    for _ in range(4):
        bridge.track(5)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    assert not is_free(bridge, payment)


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_leaving_out_the_event_of_a_safe(bridge: Bridge, is_first: bool) -> None:
    """The deadline has passed, and its events are read no further while the nodes say different things of them."""
    payment = bridge.link()
    sent = bridge.send(payment, payer=SAFE)
    honest: Any = bridge.world.services.chains.evm("base")
    paying = honest.transactions[sent.tx_hash]
    proposed = Proposal(SAFE, SafeTransaction(paying.to, 0, paying.data, 0), SafeTerms(0))
    hash = safe_tx_hash(8453, SAFE, proposed.transaction, proposed.terms)
    bridge.world.safes.known["base", hash] = proposed
    deadline = bridge.world.now + timedelta(hours=1)
    bridge.announce(payment, sent, tx_hash=None, safe_tx_hash=hash, deadline=deadline)
    event = honest.execute_safe(SAFE, hash)
    bridge.include(sent)
    honest.transactions[event.transaction_hash] = honest.transactions[sent.tx_hash]
    liar, true_services = Liar(honest, safe_event=lambda *args: None), bridge.world.services
    bridge.world.services = served_beside(true_services, "base", liar, is_first)
    bridge.track(130)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    assert not is_free(bridge, payment)
    bridge.world.services = true_services
    for _ in range(4):
        bridge.track(5)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.REFUNDING), "the bridge had two hours"


def test_a_transaction_that_reverts_frees_the_link_once_its_block_is_deep_enough(bridge: Bridge) -> None:
    bridge.world.register_webhook()
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent, success=False)
    bridge.world.advance(MINUTE)
    tracking.track_due(bridge.world.services)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.SOURCE), "a fork may still undo it"
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.FAILED, Stage.SOURCE)
    assert is_free(bridge, payment)
    (body,) = failures(bridge)
    assert body["subStatus"] == "failed"


@pytest.mark.parametrize("is_first", [True, False])
def test_one_node_of_two_does_not_free_a_link_by_blocks_that_confirm_a_fill_before_they_are_there(
    bridge: Bridge, is_first: bool
) -> None:
    """The calls of the fill have failed, so that the payer has the tokens."""
    payment, chain = bridge.link(), bridge.destination
    sent = deposited(bridge, payment)
    bridge.fill(sent, payment.requests[0], fails=True)
    missing = bridge.world.services.settings.confirmations[chain.network] - 1
    liar = Liar(chain, head=lambda: chain.head() + missing)
    bridge.world.services = served_beside(bridge.world.services, chain.network, liar, is_first)
    for is_deep in (False, True):
        bridge.world.advance(MINUTE)
        bridge.world.tick(network=chain.network)
        tracking.track_due(bridge.world.services)
        assert is_free(bridge, payment) is is_deep
        chain.mine(missing)


def test_a_receipt_of_a_block_that_a_fork_removed_is_none(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent, success=False)
    bridge.source.fork(1)
    bridge.track()
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING


def test_a_fill_or_a_refund_in_a_block_that_a_fork_removed_is_none(bridge: Bridge) -> None:
    filled, returned = bridge.link(), bridge.link()
    one, other = deposited(bridge, filled), deposited(bridge, returned)
    bridge.fill(one, filled.requests[0])
    (event,) = (each for each in bridge.destination.blocks[-1].logs if each["topics"][0] == FILLED_TOPIC)
    true, event["blockHash"] = event["blockHash"], "0x" + "99" * 32
    bridge.track()
    assert state_of(bridge, filled) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    event["blockHash"] = true
    bridge.track()
    assert state_of(bridge, filled)[0] is AnnouncedStatus.SETTLED
    bridge.track(130)
    bridge.refund(other)
    (event,) = bridge.source.blocks[-1].logs
    true, event["blockHash"] = event["blockHash"], "0x" + "99" * 32
    bridge.track(31)
    assert state_of(bridge, returned) == (AnnouncedStatus.PENDING, Stage.REFUNDING)
    event["blockHash"] = true
    bridge.track(31)
    assert state_of(bridge, returned)[0] is AnnouncedStatus.REFUNDED


@pytest.mark.parametrize("is_reversed", [False, True])
def test_of_two_fills_in_one_transaction_each_is_judged_by_its_own_events(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, is_reversed: bool
) -> None:
    """Whatever the order in which a node lists them."""
    payment = bridge.link()
    mine, theirs = bridge.send(payment), bridge.send(payment, OTHER)
    for sent in (mine, theirs):
        bridge.announce(payment, sent)
        bridge.include(sent)
    bridge.track()
    bridge.fill(mine, payment.requests[0], fails=True)
    bridge.fill(theirs, payment.requests[0], together=True)
    if is_reversed:
        read = bridge.destination.find_receipts
        last_first = partial(sorted, key=lambda log: -int(log["logIndex"], 16))  # a transfer has the number of its event

        def reverse(hashes: Sequence[str]) -> RawReceipts:
            return by_transaction(hashes, last_first(logs_in(read(hashes))))

        monkeypatch.setattr(bridge.destination, "find_receipts", reverse)
    bridge.track()
    bridge.track()
    statuses = {announced.wallet: announced.status for announced in bridge.announcements(payment)}
    assert statuses == {SENDER: AnnouncedStatus.PARTIAL, OTHER: AnnouncedStatus.SETTLED}


def test_a_cent_that_the_filler_pays_with_the_same_reference_is_not_the_payment(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    bridge.track()
    bridge.fill(sent, payment.requests[0], fails=True)
    bridge.destination.pay_too(payment.requests[0], 10_000, 0)
    bridge.track()
    bridge.track()
    announced = bridge.announced(payment)
    assert announced.status is AnnouncedStatus.PARTIAL
    assert announced.bridge_transfer.returned.amount == sent.deposit.output_amount


def test_a_transaction_that_no_node_has_locks_the_link_until_the_source_chain_would_refuse_it(bridge: Bridge) -> None:
    payment = bridge.link()
    bridge.announce(payment, NOWHERE)
    for _ in range(7):
        bridge.track(10)
        assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    bridge.track(10)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.LAPSED
    assert is_free(bridge, payment)


def test_a_replaced_transaction_frees_the_link_after_some_time(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    del bridge.source.transactions[sent.tx_hash]
    bridge.source.counts[SENDER] = 1
    bridge.track()
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    bridge.track(11)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.REPLACED
    assert failures(bridge) == []


def test_a_deposit_that_the_node_has_in_no_block_ends_when_the_chain_refuses_it(bridge: Bridge) -> None:
    payment = bridge.link()
    bridge.announce(payment, bridge.send(payment))
    bridge.track(65)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    bridge.track(10)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.LAPSED


def test_what_the_router_says_ends_nothing(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    for status in (
        ("DONE", "COMPLETED"),
        ("DONE", "PARTIAL"),
        ("DONE", "REFUNDED"),
        ("FAILED", None),
        ("INVALID", None),
    ):
        bridge.world.router.statuses[sent.tx_hash] = RouterStatus(  # type: ignore[call-arg]
            *status, sent.tx_hash, "0x" + "77" * 32, 42161, "across"
        )
        bridge.track(3)
        assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    bridge.fill(sent, payment.requests[0])
    bridge.track(5)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.SETTLED


def test_a_fill_that_was_not_among_the_logs_is_found_by_the_transaction_that_the_router_names(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    filled = bridge.fill(sent, payment.requests[0], fails=True)
    bridge.destination.hides_logs = True
    bridge.track(130)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE), "it is filled, and how is not known"
    bridge.world.router.statuses[sent.tx_hash] = RouterStatus("DONE", "PARTIAL", sent.tx_hash, filled, 42161, "across")
    bridge.track(10)
    assert state_of(bridge, payment) == (AnnouncedStatus.PARTIAL, Stage.DESTINATION)


def test_a_fill_that_the_router_names_counts_only_if_it_is_of_the_very_deposit(bridge: Bridge) -> None:
    """A hostile router could name one that somebody made of another deposit, with its number."""
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.forge(sent, input_amount=1)
    forged = str(bridge.destination.blocks[-1].logs[0]["transactionHash"])
    filled = bridge.fill(sent, payment.requests[0], fails=True)
    bridge.destination.hides_logs = True
    for named, state in (
        (forged, (AnnouncedStatus.PENDING, Stage.BRIDGE)),
        (filled, (AnnouncedStatus.PARTIAL, Stage.DESTINATION)),
    ):
        bridge.world.router.statuses[sent.tx_hash] = RouterStatus(
            "DONE", "PARTIAL", sent.tx_hash, named, 42161, "across"
        )
        bridge.track(130)
        assert state_of(bridge, payment) == state


def test_without_a_router_a_fill_that_was_not_among_the_logs_stays_unknown(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.fill(sent, payment.requests[0], fails=True)
    bridge.destination.hides_logs = True
    bridge.world.router.is_configured = False
    bridge.world.router.trouble = AssertionError("it is not asked")
    bridge.track(130)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)


def test_one_chain_or_the_router_that_does_not_answer_delays_no_other(bridge: Bridge) -> None:
    first, second = bridge.link(), bridge.link()
    one = deposited(bridge, first)
    other = bridge.send(second, nonce=1)
    bridge.announce(second, other)
    bridge.source.is_down = True
    bridge.world.router.trouble = RouterUnavailable("down")
    bridge.fill(one, first.requests[0])
    bridge.track()
    assert state_of(bridge, first)[0] is AnnouncedStatus.SETTLED
    assert state_of(bridge, second) == (AnnouncedStatus.PENDING, Stage.SOURCE)
    bridge.source.is_down = False
    bridge.include(other)
    bridge.destination.is_down = True
    bridge.world.advance(5 * MINUTE)
    bridge.source.mine(CONFIRMATIONS)
    tracking.track_due(bridge.world.services)
    assert state_of(bridge, second) == (AnnouncedStatus.PENDING, Stage.BRIDGE)


def test_of_two_payers_one_is_counted_and_the_other_is_offered_the_way_back(bridge: Bridge) -> None:
    payment = bridge.link()
    mine, theirs = bridge.send(payment), bridge.send(payment, OTHER)
    bridge.announce(payment, mine, PAGE)
    bridge.announce(payment, theirs, PAGE)
    for sent in (mine, theirs):
        bridge.include(sent)
        bridge.fill(sent, payment.requests[0])
    bridge.track()
    bridge.track()
    ended = {announced.wallet: announced.bridge_transfer for announced in bridge.announcements(payment)}
    assert all(announced.status is AnnouncedStatus.SETTLED for announced in bridge.announcements(payment))
    assert [bridge_transfer.is_surplus for bridge_transfer in (ended[SENDER], ended[OTHER]) if bridge_transfer] == [
        False,
        True,
    ]
    request = bridge.world.load(payment).requests[0]
    assert (request.paid, request.confirmed_count) == (2 * request.amount, 2)
    listing = transfers.list_of_link(bridge.world.services, payment.link.token, Viewer(bridge.world.account_id, None))
    offers = [each.refund for each in listing.transfers if each.refund is not None]
    assert [(offer.payer, offer.amount, offer.token.id) for offer in offers] == [
        (OTHER, request.amount, "USDC-arbitrum-one")
    ]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_each_payment_of_one_transaction_is_offered_back_to_the_depositor_of_its_own_fill(
    bridge: Bridge, order: tuple[int, ...]
) -> None:
    """Whoever fills a deposit can fill their own ones for the same link with it, of the same amount, in any order."""
    payment = bridge.link()
    request = payment.requests[0]
    sent = [bridge.send(payment, payer) for payer in (SENDER, OTHER, THIRD)]
    for each in sent:
        bridge.announce(payment, each, PAGE)
        bridge.include(each)
    bridge.track()
    for place, each in enumerate(sent[index] for index in order):
        bridge.fill(each, request, together=place > 0)
    bridge.track()
    bridge.track()
    assert all(announced.status is AnnouncedStatus.SETTLED for announced in bridge.announcements(payment))
    made = payment_store.payments(bridge.world.services.store, request.request_id)
    by_place = [each.payer for each in sorted(made, key=lambda each: each.log_index)]
    assert by_place == [sent[index].deposit.depositor for index in order]
    assert {each.payer: each.origin and each.origin.refund_to for each in made} == {
        each.deposit.depositor: each.deposit.depositor for each in sent
    }
    surplus = {
        each.wallet
        for each in bridge.announcements(payment)
        if each.bridge_transfer and each.bridge_transfer.is_surplus
    }
    listing = transfers.list_of_link(bridge.world.services, payment.link.token, Viewer(bridge.world.account_id, None))
    offers = {each.refund.payer for each in listing.transfers if each.refund is not None}
    assert offers == surplus == {sent[index].deposit.depositor for index in order[1:]}


def test_what_somebody_pays_beside_a_fill_that_failed_is_not_its_payment(bridge: Bridge) -> None:
    """Also through the contract that makes the calls of all fills."""
    payment = bridge.link()
    request = payment.requests[0]
    sent = bridge.send(payment)
    bridge.announce(payment, sent, PAGE)
    bridge.include(sent)
    bridge.track()
    bridge.fill(sent, request, fails=True)
    bridge.pay_beside(sent.deposit, request)
    bridge.track()
    bridge.track()
    assert bridge.announced(payment).status is AnnouncedStatus.PARTIAL
    (made,) = payment_store.payments(bridge.world.services.store, request.request_id)
    assert made.origin is None and made.type is PaymentKind.DIRECT


def test_two_payers_of_a_link_from_two_chains_are_both_followed_and_one_is_counted() -> None:
    bridge = Bridge(others=("optimism",))
    payment = bridge.link()
    mine, theirs = bridge.send(payment), bridge.send(payment, OTHER, source="optimism")
    for sent in (mine, theirs):
        bridge.announce(payment, sent, PAGE)
        bridge.include(sent)
    bridge.track()
    assert {each.network: each.status for each in bridge.announcements(payment)} == {
        "base": AnnouncedStatus.PENDING,
        "optimism": AnnouncedStatus.PENDING,
    }
    for sent in (theirs, mine):
        bridge.fill(sent, payment.requests[0])
    bridge.track()
    bridge.track()
    ended = {
        each.network: each.bridge_transfer
        for each in bridge.announcements(payment)
        if each.status is AnnouncedStatus.SETTLED
    }
    assert {name: bridge_transfer.is_surplus for name, bridge_transfer in ended.items() if bridge_transfer} == {
        "optimism": False,
        "base": True,
    }
    notified = answer_bridge_transfers(bridge.world.load(payment).announcements)
    assert {(each["sourceNetwork"], each["isSurplus"]) for each in notified} == {("base", True), ("optimism", False)}
    listing = transfers.list_of_link(bridge.world.services, payment.link.token, Viewer(bridge.world.account_id, None))
    offers = [(each.refund.payer, each.refund.amount) for each in listing.transfers if each.refund is not None]
    assert offers == [(SENDER, payment.requests[0].amount)], "the payee can send it back, to who came second"


def test_a_second_payment_that_bounces_from_a_paid_link_is_no_failure_of_the_request(bridge: Bridge) -> None:
    bridge.world.register_webhook()
    payment = bridge.link()
    mine, theirs = bridge.send(payment), bridge.send(payment, OTHER)
    bridge.announce(payment, mine)
    bridge.announce(payment, theirs)
    for sent, fails in ((mine, False), (theirs, True)):
        bridge.include(sent)
        bridge.fill(sent, payment.requests[0], fails)
    bridge.track()
    bridge.track()
    statuses = {announced.wallet: announced.status for announced in bridge.announcements(payment)}
    assert statuses == {SENDER: AnnouncedStatus.SETTLED, OTHER: AnnouncedStatus.PARTIAL}
    assert failures(bridge) == []


class Errors:
    """A log that keeps its errors."""

    def __init__(self) -> None:
        self.errors: list[tuple[str, dict[str, Any]]] = []

    def error(self, message: str, extra: dict[str, Any]) -> None:
        self.errors.append((message, extra))

    def info(self, *_: Any, **__: Any) -> None:
        return

    warning = info


def test_an_outcome_that_stays_unknown_is_logged_for_the_operator_who_can_withdraw_it(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    log = Errors()
    bridge.world.services = replace(bridge.world.services, log=log)  # type: ignore[arg-type]
    bridge.destination.is_down = True
    bridge.world.advance(5 * 3600)
    tracking.track_due(bridge.world.services)
    bridge.destination.is_down = False
    (facts,) = [extra for message, extra in log.errors if message == "crosschain outcome unknown"]
    assert (facts["tx_hash"], facts["stage"]) == (sent.tx_hash, "bridge")
    (shown,) = answer_bridge_transfers(bridge.world.load(payment).announcements)
    assert shown["status"] == "unknown"
    assert not is_free(bridge, payment)
    announcements.withdraw(bridge.world.services, payment.link.token, Viewer(bridge.world.account_id, None))
    assert is_free(bridge, payment)


def test_the_end_waits_for_what_the_recorder_still_has_to_record(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.fill(sent, payment.requests[0])
    bridge.destination.mine(CONFIRMATIONS)
    scan_chain(bridge.world.services, json.dumps({"network": "arbitrum-one"}))
    bridge.world.advance(MINUTE)
    tracking.track_due(bridge.world.services)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    assert not is_free(bridge, payment)
    bridge.world.record()
    bridge.track()
    assert state_of(bridge, payment)[0] is AnnouncedStatus.SETTLED


def test_a_payment_whose_receipt_was_not_read_when_it_was_found_gets_its_type_payer_and_origin(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.fill(sent, payment.requests[0])
    read = bridge.destination.payers_of
    bridge.destination.payers_of = lambda payments, read: tuple(None for _ in payments)  # type: ignore[method-assign]
    bridge.tick()
    (paid,) = payment_store.payments(bridge.world.services.store, payment.requests[0].request_id)
    assert (paid.type, paid.payer) == (PaymentKind.DIRECT, None)
    bridge.destination.payers_of = read  # type: ignore[method-assign]
    bridge.track()
    (paid,) = payment_store.payments(bridge.world.services.store, payment.requests[0].request_id)
    assert (paid.type, paid.payer, paid.source_hash) == (PaymentKind.CROSSCHAIN, SENDER, sent.tx_hash)
    first, last = bridge.world.now - timedelta(days=1), bridge.world.now
    (count,) = request_store.daily_counts(bridge.world.services.store, bridge.world.account_id, "ACCOUNT", first, last)
    assert {name: number for name, number in count.counts.items() if number} == {
        "USDC-arbitrum-one|USDC-arbitrum-one|crosschain|": 1
    }


def test_a_deposit_too_small_to_be_filled_does_not_lock_the_link_by_being_announced_before_it_is_sent(
    bridge: Bridge,
) -> None:
    """It costs its sender nothing, and would stop everybody else until its deadline."""
    payment = bridge.link()
    sent = bridge.send(payment, input_amount=1)
    known = bridge.source.transactions.pop(sent.tx_hash)
    bridge.announce(payment, sent, PAGE)
    bridge.source.transactions[sent.tx_hash] = known
    bridge.track()
    assert is_free(bridge, payment)
    bridge.include(sent)
    bridge.track()
    assert is_free(bridge, payment)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE), "it is followed all the same"
    bridge.fill(sent, payment.requests[0])
    bridge.track()
    assert bridge.world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_transaction_that_no_node_has_locks_the_link_for_ten_minutes_and_again_once_it_is_there(
    bridge: Bridge,
) -> None:
    """Anybody who has the link can announce any number; whoever did send it is followed until its deadline."""
    payment = bridge.link()
    sent = bridge.send(payment)
    known = bridge.source.transactions.pop(sent.tx_hash)
    bridge.announce(payment, sent, PAGE)
    bridge.track(9)
    assert not is_free(bridge, payment)
    bridge.track(2)
    bridge.track(2)
    assert is_free(bridge, payment)
    assert bridge.announced(payment).status is AnnouncedStatus.PENDING
    bridge.source.transactions[sent.tx_hash] = known
    bridge.track(6)
    assert not is_free(bridge, payment)
    assert bridge.announced(payment).proof is Proof.SENT


def test_a_transaction_that_the_account_itself_announces_locks_the_link_until_its_deadline(bridge: Bridge) -> None:
    payment = bridge.link()
    bridge.announce(payment, NOWHERE)
    bridge.track(30)
    bridge.track(30)
    assert not is_free(bridge, payment)
    bridge.track(30)
    assert is_free(bridge, payment)


def test_a_link_whose_chain_was_never_read_is_not_paid_from_another_one(bridge: Bridge) -> None:
    payment = bridge.link()
    store = bridge.world.services.store
    cursor = scan_store.cursor(store, "arbitrum-one")
    assert cursor is not None
    store.write(Delete(cursor))
    with pytest.raises(ChainUnavailable, match="Detection has not begun on arbitrum-one yet: try again in a minute"):
        bridge.announce(payment, bridge.send(payment))
    assert bridge.announcements(payment) == ()


@pytest.mark.parametrize("to", [THIRD, None])
def test_a_transaction_in_no_block_that_does_not_deposit_stays_open_and_one_that_pays_something_else_is_refused(
    bridge: Bridge, to: str | None
) -> None:
    payment, other = bridge.link(), bridge.link()
    of_other = bridge.send(other)
    known = bridge.source.transactions.pop(of_other.tx_hash)
    bridge.announce(payment, of_other)
    bridge.source.transactions[of_other.tx_hash] = replace(known, to=to)
    bridge.track()
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    bridge.source.transactions[of_other.tx_hash] = known
    bridge.track(5)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.FAILED


def test_a_router_that_does_not_answer_is_asked_once_in_a_check_of_several_links(bridge: Bridge) -> None:
    links = [bridge.link(), bridge.link()]
    sent = [bridge.send(each, nonce=number) for number, each in enumerate(links)]
    for made, each in zip(sent, links, strict=True):
        bridge.announce(each, made)
        bridge.include(made)
    bridge.track()
    bridge.destination.hides_logs = True
    for made, each in zip(sent, links, strict=True):
        bridge.fill(made, each.requests[0], fails=True)
    bridge.tick(130)
    asked = list[str]()

    def refuse(tx_hash: str, *_: Any) -> RouterStatus:
        asked.append(tx_hash)
        raise RouterUnavailable("down")

    bridge.world.router.status = refuse  # type: ignore[method-assign]
    tracking.track_due(bridge.world.services)
    assert len(asked) == 1
    assert {state_of(bridge, each) for each in links} == {(AnnouncedStatus.PENDING, Stage.BRIDGE)}


def test_a_deposit_is_not_given_up_before_every_block_was_searched_for_its_fill(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = bridge.link()
    deposited(bridge, payment)
    with monkeypatch.context() as patched:
        patched.setattr(sources, "RANGES_PER_CHECK", 0)
        bridge.track(130)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    bridge.track(5)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.REFUNDING)


def test_a_fill_that_the_router_names_counts_from_the_last_block_on_that_detection_has_read(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    bridge.destination.hides_logs = True
    bridge.tick(130)
    filled = bridge.fill(sent, payment.requests[0], fails=True)
    bridge.world.router.statuses[sent.tx_hash] = RouterStatus("DONE", "PARTIAL", sent.tx_hash, filled, 42161, "across")
    block = len(bridge.destination.blocks) - 1
    bridge.destination.mine(CONFIRMATIONS - 1)
    bridge.world.tick()
    cursor = scan_store.cursor(bridge.world.services.store, "arbitrum-one")
    assert cursor is not None and cursor.scanned_to == block
    bridge.world.advance(MINUTE)
    tracking.track_due(bridge.world.services)
    assert state_of(bridge, payment) == (AnnouncedStatus.PARTIAL, Stage.DESTINATION)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_fill_is_known_where_two_nodes_number_the_logs_of_a_block_differently(bridge: Bridge, is_first: bool) -> None:
    payment, chain = bridge.link(), bridge.destination

    def number(hashes: Sequence[str]) -> RawReceipts:
        """As some clients do: from 100 on."""
        logs = logs_in(chain.find_receipts(hashes))
        return by_transaction(hashes, [{**log, "logIndex": hex(int(log["logIndex"], 16) + 100)} for log in logs])

    sent = deposited(bridge, payment)
    bridge.fill(sent, payment.requests[0], fails=True)
    other = Liar(chain, find_receipts=number)
    bridge.world.services = served_beside(bridge.world.services, chain.network, other, is_first)
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PARTIAL, Stage.DESTINATION)


def proposal_of_safe(bridge: Bridge, payable: PayableLink) -> tuple[Sent, str]:
    """A deposit that a Safe has proposed, which is in no block, and the hash of its transaction."""
    sent = bridge.send(payable, payer=SAFE)
    paying = bridge.source.transactions.pop(sent.tx_hash)
    proposed = Proposal(SAFE, SafeTransaction(paying.to or "", 0, paying.data, 0), SafeTerms(0))
    hash = safe_tx_hash(8453, SAFE, proposed.transaction, proposed.terms)
    bridge.world.safes.known["base", hash] = proposed
    return sent, hash


def test_a_safe_that_executes_another_transaction_in_its_place_frees_the_link(bridge: Bridge) -> None:
    payment = bridge.link()
    sent, hash = proposal_of_safe(bridge, payment)
    bridge.announce(payment, sent, tx_hash=None, safe_tx_hash=hash, deadline=bridge.world.now + timedelta(hours=1))
    bridge.track()
    assert not is_free(bridge, payment)
    bridge.source.execute_safe(SAFE, NOWHERE)
    bridge.track()
    bridge.track(11)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.REPLACED
    assert is_free(bridge, payment)


def test_a_safe_that_is_not_there_yet_has_replaced_nothing_and_no_transaction_without_a_hash_is_asked_for(
    bridge: Bridge,
) -> None:
    payment = bridge.link()
    sent, hash = proposal_of_safe(bridge, payment)
    bridge.announce(payment, sent, tx_hash=None, safe_tx_hash=hash, deadline=bridge.world.now + timedelta(hours=1))
    node, asked = bridge.source, list[str | None]()
    node.safe_nonce = lambda safe, block: None  # type: ignore[assignment, method-assign, return-value]
    read = node.sent_transaction
    node.sent_transaction = lambda tx_hash: asked.append(tx_hash) or read(tx_hash)  # type: ignore[func-returns-value, method-assign]
    bridge.track(11)
    assert state_of(bridge, payment)[0] is AnnouncedStatus.PENDING
    assert asked == []


def test_the_proposal_of_a_safe_is_not_asked_for_once_its_transaction_is_known(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.world.safes.is_down = True
    bridge.include(sent)
    bridge.track()
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)


def test_a_refund_is_looked_for_from_the_deadline_of_the_fill_on(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = deposited(bridge, payment)
    first, node, read = list[int](), bridge.source, bridge.source.returns

    def look(token: str, depositor: str, least: int, blocks: BlockRange) -> tuple[LoggedReturn, ...]:
        first.append(blocks.first)
        return read(token, depositor, least, blocks)

    node.returns = look  # type: ignore[method-assign]
    for _ in range(10):
        bridge.track(15)
    assert state_of(bridge, payment) == (AnnouncedStatus.PENDING, Stage.REFUNDING)
    before, after = (node.blocks[number].time for number in (first[0] - 1, first[0]))
    assert before is not None and after is not None
    assert before.timestamp() <= sent.deposit.fill_deadline < after.timestamp()
