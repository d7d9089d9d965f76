"""What may be announced for a link that is paid from another chain."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import decode_message, encode_message
from chalicelib.crosschain.core.records import Stage
from chalicelib.payments.announcements.admission import MAX_CLAIMS
from chalicelib.payments.links.multicalls import flows as multicalls
from chalicelib.payments.links.records import AnnouncedStatus, PayableLink, Proof
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.requests.quotes import flows as quotes
from chalicelib.payments.scanning.jobs import scan_chain
from tests.fakes.announcements import PAGE
from tests.fakes.bridge import Bridge
from tests.fakes.chain import SENDER
from tests.fakes.payouts import store_payouts
from tests.fakes.world import START, draft

NOWHERE = "0x" + "ee" * 32


def test_the_same_transaction_is_the_same_announced_transaction_however_often_it_is_announced(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    first = bridge.announce(payment, sent)
    assert bridge.announce(payment, sent).announced_id == first.announced_id
    bridge.include(sent)
    bridge.track()
    again = bridge.announce(payment, sent)
    assert again.announced_id == first.announced_id
    assert bridge.announced(payment).bridge_transfer == again.bridge_transfer


def test_a_transaction_is_accepted_for_the_link_alone_that_its_bytes_pay(bridge: Bridge) -> None:
    payment, other = bridge.link(), bridge.link()
    sent = bridge.send(payment)
    with pytest.raises(BadRequest, match="does not pay this link"):
        bridge.announce(other, sent)
    bridge.include(sent)
    with pytest.raises(BadRequest, match="does not pay this link"):
        bridge.announce(other, sent)
    bridge.announce(payment, sent)
    assert bridge.announcements(other) == ()


def test_one_hash_that_is_announced_for_two_links_before_any_node_has_it_pays_one(bridge: Bridge) -> None:
    payment, other = bridge.link(), bridge.link()
    sent = bridge.send(payment)
    known = bridge.source.transactions.pop(sent.tx_hash)
    for each in (payment, other):
        bridge.announce(each, sent)
    bridge.source.transactions[sent.tx_hash] = known
    bridge.include(sent)
    bridge.track()
    assert bridge.announced(other).status is AnnouncedStatus.FAILED
    bridge.fill(sent, payment.requests[0])
    bridge.track()
    assert bridge.announced(payment).status is AnnouncedStatus.SETTLED


NOW, HOUR = int(START.timestamp()), 3600
LONG_LOCKS: tuple[dict[str, Any], ...] = (
    {"fill_deadline": NOW + 26 * HOUR},
    {"fill_deadline": NOW + HOUR // 10},
    {"exclusive_relayer": SENDER, "exclusivity": HOUR},
    {"exclusive_relayer": SENDER, "exclusivity": NOW + 2 * HOUR},
)
"""Times of deposits by which a payer who is a relayer could lock a link for long without the money for it."""


def test_a_payment_to_another_payee_or_of_another_amount_or_in_another_call_is_refused(bridge: Bridge) -> None:
    payment = bridge.link()
    request = payment.requests[0]
    true = bridge.deposit_for(request)
    message = decode_message(true.message)
    assert message is not None
    (approval, (target, data, _)) = message.calls
    wrong = [
        bridge.deposit_for(replace(request, payee=SENDER)),
        bridge.deposit_for(replace(request, payment_reference="0x" + "22" * 8)),
        bridge.deposit_for(request, amount=request.amount - 1),
        replace(true, output_amount=true.output_amount - 1),
        replace(true, input_amount=1),
        *(replace(true, **changes) for changes in LONG_LOCKS),
        replace(true, recipient=SENDER),
        replace(true, output_token=SENDER),
        replace(true, destination_chain_id=10),
        replace(true, message=encode_message(replace(message, calls=(approval, (SENDER, data, 0))))),
        replace(true, message=encode_message(replace(message, calls=(approval, (target, data, 0), approval)))),
    ]
    for number, deposit in enumerate(wrong):
        sent = bridge.send_deposit(deposit, nonce=number)
        bridge.include(sent)
        with pytest.raises(BadRequest, match="does not pay"):
            bridge.announce(payment, sent)
    assert bridge.announce(payment, bridge.send_deposit(true, nonce=99)).proof is Proof.SENT

@pytest.mark.parametrize("changes", LONG_LOCKS)
def test_a_deposit_that_its_sender_alone_may_fill_for_long_does_not_lock_the_link(
    bridge: Bridge, changes: dict[str, Any]
) -> None:
    payment = bridge.link()
    sent = bridge.send(payment, **changes)
    known = bridge.source.transactions.pop(sent.tx_hash)
    bridge.announce(payment, sent, PAGE)
    bridge.source.transactions[sent.tx_hash] = known
    bridge.include(sent)
    bridge.track()
    assert bridge.announced(payment).proof is Proof.SENT
    check_payable(bridge.world.load(payment), bridge.world.now)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("quoted", ["never", "long ago"])
def test_a_deposit_of_little_locks_no_link_in_another_currency_while_no_quote_is_held(
    bridge: Bridge, quoted: str, is_known: bool
) -> None:
    """What is converted is due by a quote: without one nothing would be too little."""
    bridge.world.prices.set("USD", "USDC", "1")
    payment = bridge.world.create_link(invoice_currency="USD", payment_currency="USDC-arbitrum-one")
    (request,) = payment.requests
    if quoted == "long ago":
        quotes.hold(bridge.world.services, [request])
        bridge.world.advance(3600)
    little = bridge.send_deposit(bridge.deposit_for(request, amount=10_000, fee=0))
    known = bridge.source.transactions[little.tx_hash]
    if is_known:
        with pytest.raises(BadRequest, match="does not pay what is due"):
            bridge.announce(payment, little, PAGE)
    else:
        del bridge.source.transactions[little.tx_hash]
        bridge.announce(payment, little, PAGE)
        bridge.source.transactions[little.tx_hash] = known
        bridge.include(little)
        bridge.track()
    check_payable(bridge.world.load(payment), bridge.world.now)
    if quoted == "long ago":
        whole = bridge.send_deposit(bridge.deposit_for(request, amount=12_500_000, fee=0), nonce=1)
        assert bridge.announce(payment, whole, PAGE).is_locking


def test_a_failed_transaction_is_refused(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.include(sent, success=False)
    with pytest.raises(BadRequest, match="This transaction failed"):
        bridge.announce(payment, sent)


def test_a_smart_wallets_deposit_is_known_by_its_event(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    inside = replace(bridge.source.transactions[sent.tx_hash], to=SENDER, data="0x6a761202")
    bridge.source.transactions[sent.tx_hash] = inside
    assert bridge.announce(payment, sent).proof is None
    bridge.include(sent)
    bridge.track()
    assert bridge.announced(payment).proof is Proof.SENT


@pytest.mark.parametrize(
    ("currency", "changes", "reason"),
    [
        ("USDC-arbitrum-one", {"chain": "SEPOLIA"}, "USDC or USDT on BASE, OPTIMISM, ARBITRUM, ETHEREUM, POLYGON, BNB"),
        ("USDC-arbitrum-one", {"chain": "TRON"}, "USDC or USDT on"),
        ("USDC-arbitrum-one", {"token": "DAI"}, "USDC or USDT on"),
        ("AETH-arbitrum-one", {}, "ETH is not supported in crosschain payment"),
        ("DAI-arbitrum-one", {}, "DAI is not supported in crosschain payment"),
    ],
)
def test_what_cannot_be_paid_from_another_chain_is_refused_with_what_can(
    bridge: Bridge, currency: str, changes: dict[str, str], reason: str
) -> None:
    payment = bridge.world.create_link(currency=currency)
    with pytest.raises(BadRequest, match=reason):
        bridge.announce(payment, NOWHERE, **changes)


def test_a_link_of_several_payments_is_refused(bridge: Bridge) -> None:
    one = draft(currency="USDC-arbitrum-one").items[0]
    payment = bridge.link(items=(one, one))
    with pytest.raises(BadRequest, match="a link of several payments is paid on its own network"):
        bridge.announce(payment, NOWHERE)


def test_a_source_chain_without_a_node_that_answers_is_503(bridge: Bridge) -> None:
    payment = bridge.link()
    bridge.source.is_down = True
    with pytest.raises(ChainUnavailable):
        bridge.announce(payment, NOWHERE)
    with pytest.raises(ChainUnavailable):
        bridge.announce(payment, NOWHERE, chain="OPTIMISM")


def test_strangers_lock_a_link_with_few_hashes_that_nobody_knows(bridge: Bridge) -> None:
    payment = bridge.link()
    for number in range(MAX_CLAIMS + 3):
        bridge.announce(payment, f"0x{number:064x}", PAGE)
    assert sum(announced.is_locking for announced in bridge.announcements(payment)) == MAX_CLAIMS
    bridge.track(1)
    bridge.track(80)
    assert not any(announced.is_locking for announced in bridge.announcements(payment))


def test_a_hash_with_a_wrong_chain_does_not_keep_the_true_one_from_being_followed(bridge: Bridge) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.world._chains.add(type(bridge.source)("optimism"))
    bridge.announce(payment, sent, PAGE, chain="OPTIMISM")
    assert bridge.announce(payment, sent).proof is Proof.SENT
    assert {announced.network for announced in bridge.announcements(payment)} == {"optimism", "base"}


def test_a_deposit_of_what_is_left_of_a_partly_paid_link_is_accepted(bridge: Bridge) -> None:
    payment = bridge.link()
    request = payment.requests[0]
    bridge.destination.pay(request, 10_000_000, 100_000)
    bridge.tick()
    left = bridge.send_deposit(bridge.deposit_for(request, amount=request.amount - 10_000_000, fee=25_000))
    announced = bridge.announce(payment, left)
    assert announced.bridge_transfer is not None and announced.bridge_transfer.deposit is not None
    assert announced.bridge_transfer.deposit.amount == BaseUnits(2_500_000)


def test_a_payers_deadline_must_be_in_the_future_and_ends_nothing(bridge: Bridge) -> None:
    payment = bridge.link()
    soon = bridge.world.now + timedelta(minutes=2)
    safe = {"tx_hash": None, "safe_tx_hash": NOWHERE, "deadline": soon}
    announced = bridge.announce(payment, NOWHERE, **safe)
    assert (announced.safe_tx_hash, announced.deadline) == (NOWHERE, soon)
    bridge.track(30)
    assert bridge.announced(payment).status is AnnouncedStatus.PENDING, "the source chain would still accept it"
    bridge.track(50)
    bridge.track(20)
    assert bridge.announced(payment).status is AnnouncedStatus.LAPSED
    with pytest.raises(BadRequest, match="must be in the future"):
        bridge.announce(payment, NOWHERE, **safe)


def test_a_multicalls_transaction_is_recorded_for_the_child_that_it_pays(bridge: Bridge) -> None:
    children = store_payouts(bridge.world.services, bridge.world.account_id, 2, creator_wallet=SENDER, currency="USDC-arbitrum-one")
    parent = multicalls.create(
        bridge.world.services, bridge.world.owner, [each.link.token for each in children], None
    ).payable
    sent = bridge.send(children[1])
    bridge.announce(parent, sent, token=None)
    assert bridge.announcements(parent) == bridge.announcements(children[0]) == ()
    assert bridge.announced(children[1]).proof is Proof.SENT
    with pytest.raises(BadRequest, match="does not pay this link"):
        bridge.announce(parent, bridge.send(bridge.link(), nonce=5), token=None)


@pytest.mark.parametrize("ends_as", [AnnouncedStatus.PARTIAL, AnnouncedStatus.REFUNDED])
def test_what_the_payer_has_back_is_not_announced_again(bridge: Bridge, ends_as: AnnouncedStatus) -> None:
    payment = bridge.link()
    sent = bridge.send(payment)
    bridge.announce(payment, sent)
    bridge.include(sent)
    if ends_as is AnnouncedStatus.PARTIAL:
        bridge.fill(sent, payment.requests[0], fails=True)
    else:
        bridge.track()
        bridge.track(130)
        bridge.refund(sent)
    bridge.track(31)
    assert bridge.announced(payment).status is ends_as
    with pytest.raises(BadRequest, match="has this payment back"):
        bridge.announce(payment, sent)
    assert len(bridge.announcements(payment)) == 1


def mixed(bridge: Bridge) -> tuple[PayableLink, PayableLink, PayableLink]:
    """A multicall, and its children on the source chain and on the other one."""
    services, account = bridge.world.services, bridge.world.account_id
    (here,) = store_payouts(services, account, 1, creator_wallet=SENDER, currency="USDC-base")
    (there,) = store_payouts(services, account, 1, creator_wallet=SENDER, currency="USDC-arbitrum-one")
    tokens = [here.link.token, there.link.token]
    scan_chain(services, json.dumps({"network": "base"}))  # detection begins there
    return multicalls.create(services, bridge.world.owner, tokens, None).payable, here, there


def test_a_route_from_a_chain_on_which_other_children_are_paid_is_recorded_for_its_child(bridge: Bridge) -> None:
    parent, here, there = mixed(bridge)
    sent = bridge.send(there)
    bridge.announce(parent, sent, token=None)
    assert bridge.announced(there).proof is Proof.SENT
    assert bridge.announcements(parent) == bridge.announcements(here) == ()


def test_a_route_that_no_node_has_yet_is_followed_to_the_chain_that_it_turns_out_to_lead_to(bridge: Bridge) -> None:
    parent, _, there = mixed(bridge)
    sent = bridge.send(there)
    known = bridge.source.transactions.pop(sent.tx_hash)
    bridge.announce(parent, sent, token=None)
    bridge.source.transactions[sent.tx_hash] = known
    bridge.include(sent)
    bridge.track()
    bridge_transfer = bridge.announced(parent).bridge_transfer
    assert bridge_transfer is not None and (bridge_transfer.destination, bridge_transfer.stage) == ("arbitrum-one", Stage.BRIDGE)
    bridge.fill(sent, there.requests[0], fails=True)
    bridge.track()
    assert bridge.announced(parent).status is AnnouncedStatus.PARTIAL


def test_the_direct_payment_of_children_on_the_source_chain_is_recorded_for_them(bridge: Bridge) -> None:
    parent, here, there = mixed(bridge)
    tx_hash = bridge.source.send(here.requests[0])
    bridge.announce(parent, tx_hash, token=None)
    assert bridge.announced(here).proof is Proof.SENT
    assert bridge.announcements(parent) == bridge.announcements(there) == ()
