"""Which drafts name a payment of their link: by the bytes of a transaction that was sent, or by the events of its block."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest
from chalicelib.chains.calldata.checkout import pay_one
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.crosschain.core.records import LONGEST_QUOTE, BridgeTransfer
from chalicelib.payments.announcements.admission import (
    AnnouncedStart,
    Announcement,
    check_draft,
    check_sent,
    create_announced_transaction,
    names_payment,
    pending_for,
    requests_paid_by,
)
from chalicelib.payments.links.errors import LinkClosed
from chalicelib.payments.links.records import (
    AnnouncedStatus,
    AnnouncedTransaction,
    LinkAnnouncements,
    LinkStatus,
    PayableLink,
    Proof,
)
from chalicelib.payments.payable.rules import amounts_owed, direct
from tests.fakes.announcements import paid_event
from tests.fakes.world import PAYEE, START, WALLET
from tests.payments.announcements.test_rules import ANNOUNCEMENT, new_link

LINK = new_link()
OTHER = "0x" + "66" * 20


def payment_of(payable: PayableLink) -> SentTransaction:
    (owed,) = amounts_owed([payable])
    (transaction,) = pay_one(direct(owed).due).transactions
    return SentTransaction(WALLET, transaction.to, transaction.data, 7)


def announce(draft: Announcement, **start: Any) -> AnnouncedTransaction:
    known = AnnouncedStart(WALLET, 7, 100, timedelta(hours=1), **start)
    return create_announced_transaction(LINK, draft, known, START, lambda n: b"\1" * n)


def approval() -> SentTransaction:
    approved = erc20.approve(PAYEE, WALLET, 1)
    return SentTransaction(WALLET, approved.to, approved.data, 7)


def test_a_link_whose_requests_were_all_merged_into_others_is_not_announced() -> None:
    with pytest.raises(LinkClosed):
        check_draft(replace(LINK, requests=()), ANNOUNCEMENT, START)


def test_only_a_payment_of_the_link_is_announced_once_it_was_sent() -> None:
    check_sent(LINK, payment_of(LINK), 100)
    with pytest.raises(BadRequest, match="does not pay this link"):
        check_sent(LINK, approval(), 100)


def test_a_payment_is_named_by_a_reference_and_a_payment_contract_wherever_they_are() -> None:
    sent = payment_of(LINK)
    proxy, reference = str(sent.to), LINK.requests[0].payment_reference[2:]
    assert names_payment(LINK, proxy, f"0x{reference}")
    assert names_payment(LINK, OTHER, f"0x{reference}{proxy[2:]}") and names_payment(LINK, None, f"{reference}{proxy[2:]}")
    assert not names_payment(LINK, OTHER, f"0x{reference}")
    assert not names_payment(LINK, proxy, "0x12") and not names_payment(LINK, None, "0x")


def test_a_transaction_that_has_paid_is_known_by_its_events_alone() -> None:
    (request,) = LINK.requests
    event = paid_event(request)
    assert requests_paid_by(LINK, replace(approval(), paid=(event,))) == [request]
    check_sent(LINK, replace(approval(), paid=(event,)), 100)
    for wrong in (
        replace(event, topic="0x" + "12" * 32),
        replace(event, token_address=OTHER),
        replace(event, payee=OTHER),
    ):
        assert requests_paid_by(LINK, replace(approval(), paid=(wrong,))) == []
        assert requests_paid_by(LINK, replace(approval(), paid=(wrong, event))) == [request]


def test_a_payment_that_failed_or_is_in_a_block_that_was_scanned_is_not_announced() -> None:
    sent = replace(payment_of(LINK), block=101, success=True)
    check_sent(LINK, sent, 100)
    with pytest.raises(BadRequest, match="failed"):
        check_sent(LINK, replace(sent, success=False), 100)
    with pytest.raises(BadRequest, match="is confirmed"):
        check_sent(LINK, sent, 101)


def test_a_payment_from_another_chain_of_which_no_deposit_is_known_may_take_as_long_as_the_longest_quote() -> None:
    draft = replace(ANNOUNCEMENT, deadline=START + timedelta(minutes=1))
    bridged = announce(draft, network="base", bridge_transfer=BridgeTransfer("sepolia", START, 100))
    assert (bridged.network, bridged.ends_at) == ("base", START + LONGEST_QUOTE)
    here = announce(draft)
    assert (here.network, here.ends_at) == ("sepolia", draft.deadline)
    for each in (replace(draft, deadline=START + timedelta(hours=2)), ANNOUNCEMENT):
        assert announce(each).ends_at == START + timedelta(hours=1)


def test_a_transaction_that_no_node_has_when_it_is_announced_is_missing_from_then_on() -> None:
    def missing_since(tx_hash: str | None, proof: Proof | None) -> object:
        return announce(replace(ANNOUNCEMENT, tx_hash=tx_hash), proof=proof).missing_since

    assert [missing_since("0x12", None), missing_since("0x12", Proof.SENT), missing_since(None, None)] == [START, None, None]


def test_only_who_sends_the_hash_of_a_secret_is_known_to_have_announced_it() -> None:
    assert announce(ANNOUNCEMENT).announcers == ()
    assert announce(replace(ANNOUNCEMENT, announcer="a")).announcers == ("a",)


@pytest.mark.parametrize(
    ("known", "payer_address", "repeats"),
    [
        ({}, None, True),
        ({"payer_address": WALLET}, None, False),
        ({"payer_address": WALLET, "proof": Proof.COMPUTED}, None, True),
        ({"wallet": WALLET}, WALLET.lower(), True),
        ({"wallet": None}, WALLET, False),
        ({"wallet": OTHER}, WALLET, False),
        ({"status": AnnouncedStatus.LAPSED}, None, False),
        ({"safe_tx_hash": "0x12"}, None, False),
        ({"network": "base"}, None, False),
    ],
)
def test_a_draft_repeats_what_is_pending_for_the_same_transaction_of_the_same_safe(
    known: dict[str, object], payer_address: str | None, repeats: bool
) -> None:
    announced = replace(announce(ANNOUNCEMENT), **known)  # type: ignore[arg-type]
    payable = replace(LINK, announcements=LinkAnnouncements(announced))
    draft = replace(ANNOUNCEMENT, payer_address=payer_address)
    assert pending_for(payable, draft) == (announced if repeats else None)
    paid = replace(payable, link=replace(payable.link, status=LinkStatus.COMPLETED))
    assert pending_for(paid, draft) is pending_for(LINK, draft) is None


def test_a_draft_repeats_what_was_sent_by_its_hash() -> None:
    sent = replace(ANNOUNCEMENT, safe_tx_hash=None, tx_hash="0x12")
    announced = announce(sent)
    payable = replace(LINK, announcements=LinkAnnouncements(announced))
    assert pending_for(payable, sent) == announced
    assert pending_for(payable, replace(sent, tx_hash="0x34")) is None
