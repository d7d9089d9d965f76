"""Payouts: who pays whom where, and which of them become one batch."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.addresses import tron_address_of
from chalicelib.base.errors import BadRequest, Forbidden
from chalicelib.base.money import BaseUnits
from chalicelib.payments.links.multicalls.children import MulticallRefused
from chalicelib.payments.links.payouts.rules import Merge, MergeDraft, PayoutDraft, create_payout, merge
from chalicelib.payments.links.records import Flow, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.sessions.records import Wallet
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, WALLET, draft
from tests.support.errors import body_of

OWNER = Owner("acct", None, None)
TRON_PAYEE, TRON_WALLET = tron_address_of(b"\x22" * 20), tron_address_of(b"\x11" * 20)
_seeds = itertools.count(1)


def payout(wallet: Wallet | None = None, owner: Owner = OWNER, **changes: Any) -> PayableLink:
    fields = {
        "recipient": PAYEE,
        "creator_wallet": WALLET,
        "network": "sepolia",
        "currency": "fUSDC-sepolia",
        "amount": "12.50",
        **{name: changes.pop(name) for name in list(changes) if name not in ("fee_percentage", "fee_address")},
    }
    about = draft(items=(), **{"fee_percentage": None, "fee_address": None, **changes})
    return create_payout(PayoutDraft(**fields, link=about), owner, TERMS, START, _entropy, wallet)


def _entropy(n: int) -> bytes:
    return next(_seeds).to_bytes(n, "big")


def merged(*payments: PayableLink, owner: Owner = OWNER, taken: frozenset[str] = frozenset(), **changes: Any) -> Merge:
    found = {payment.link.token: payment for payment in payments}
    wanted = MergeDraft(changes.pop("tokens", tuple(found)), None, None)
    return merge(wanted, owner, found, taken, TERMS, START, _entropy)


def test_a_payout_is_a_single_link_that_its_creator_pays() -> None:
    payment = payout(recipient=PAYEE.lower(), creator_wallet=WALLET.lower())
    link, (request,) = payment.link, payment.requests
    assert (link.flow, link.payment_type, link.creator_wallet) == (Flow.PAY, PaymentType.SINGLE, WALLET)
    assert (request.payee, request.amount, request.currency) == (PAYEE, 12_500_000, "fUSDC-sepolia")


def test_networks_and_currencies_go_by_their_aliases() -> None:
    assert payout(network="polygon", currency="USDT-polygon").requests[0].currency == "USDT-matic"
    assert payout(currency="USDC-sepolia").requests[0].currency == "fUSDC-sepolia"


def test_a_payout_on_tron_is_between_tron_addresses() -> None:
    on_tron = {"network": "tron", "currency": "USDT-tron", "recipient": TRON_PAYEE, "creator_wallet": TRON_WALLET}
    assert payout(**on_tron).link.creator_wallet == TRON_WALLET
    for field, name in (("recipient", "recipient"), ("creator_wallet", "creatorWalletAddress")):
        with pytest.raises(BadRequest, match=f"^{name}: Invalid Tron address"):
            payout(**{**on_tron, field: PAYEE})
        with pytest.raises(BadRequest, match=f"^{name}: Invalid EVM address"):
            payout(**{field: TRON_PAYEE})
        with pytest.raises(BadRequest, match=f"^{name} is the zero address"):
            payout(**{field: "0x" + "0" * 40})


@pytest.mark.parametrize(
    ("changes", "hint"),
    [
        ({"network": "avalanche"}, "Network avalanche is not supported"),
        ({"currency": "NOPE-sepolia"}, "Currency NOPE-sepolia is not supported"),
        ({"network": "x" * 200}, f"Network {'x' * 80} is not supported"),
        ({"currency": "x" * 200}, f"Currency {'x' * 80} is not supported"),
        ({"network": "base"}, "fUSDC-sepolia is not on base"),
        ({"currency": "USD"}, "USD is not on sepolia"),
        ({"amount": "0"}, "^amount must be greater than 0"),
        ({"amount": str(2**256 // 10**6), "fee_percentage": "1", "fee_address": FEE_ADDRESS}, "^amount with its fee"),
    ],
    ids=str,
)
def test_what_cannot_be_paid_out_is_refused_naming_the_field(changes: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadRequest, match=hint):
        payout(**changes)


def test_a_wallet_that_signed_in_makes_payouts_that_it_pays_itself() -> None:
    assert payout(Wallet(WALLET)).link.creator_wallet == WALLET
    assert payout(Wallet(WALLET, 11155111)).link.creator_wallet == WALLET
    for other in (Wallet(PAYEE), Wallet(WALLET, 8453)):
        with pytest.raises(Forbidden, match="not the wallet that signed in"):
            payout(other)


def test_a_batch_keeps_what_is_known_of_its_requests_and_takes_the_place_of_its_payouts() -> None:
    first, second = payout(), payout(amount="7", currency="ETH-sepolia-sepolia")
    part = replace(second.requests[0], paid=BaseUnits(5), status=RequestStatus.PARTIALLY_PAID, version=3)
    second = replace(second, requests=(part,))
    decided = merged(first, second)
    link, requests = decided.batch.link, decided.batch.requests
    assert (link.payment_type, link.flow, link.creator_wallet, link.status) == (
        PaymentType.BATCH, Flow.PAY, WALLET, LinkStatus.PENDING,
    )  # fmt: skip
    assert link.child_tokens == () and link.version == 0
    for position, (old, new) in enumerate(zip((first, second), requests, strict=True)):
        moved = {"payable_id": link.token, "position": position, "reference": old.link.reference, "version": 0}
        assert new == replace(old.requests[0], **moved)
    for old, child in zip((first, second), decided.children, strict=True):
        assert child.link == replace(old.link, status=LinkStatus.INVALIDATED, successor_token=link.token)
        assert child.requests == tuple(replace(each, is_moved=True) for each in old.requests)


def test_a_batch_has_the_fee_that_its_payouts_have_in_common_however_it_is_written() -> None:
    fee = {"fee_percentage": "1", "fee_address": FEE_ADDRESS}
    same = [payout(**fee), payout(**{**fee, "fee_percentage": "1.0"})]
    link = merged(*same).batch.link
    assert (link.fee_percentage, link.fee_address) == ("1", FEE_ADDRESS)
    for other in ({}, {**fee, "fee_percentage": "2"}, {**fee, "fee_address": PAYEE}, {**fee, "fee_percentage": "0"}):
        odd = payout(**other)
        with pytest.raises(BadRequest, match=f"fee.*{odd.link.token} have another"):
            merged(same[0], odd)
    assert merged(payout(), payout(**{**fee, "fee_percentage": "0"})).batch.link.fee_percentage is None


def test_a_batch_is_paid_by_one_wallet_on_one_evm_network() -> None:
    first, other = payout(), payout(creator_wallet=FEE_ADDRESS)
    with pytest.raises(BadRequest, match=f"one creatorWalletAddress, and {other.link.token}"):
        merged(first, other)
    elsewhere = payout(network="base", currency="USDC-base")
    with pytest.raises(BadRequest, match=f"one network, and {elsewhere.link.token}"):
        merged(first, elsewhere)
    on_tron = {"network": "tron", "currency": "USDT-tron", "recipient": TRON_PAYEE, "creator_wallet": TRON_WALLET}
    with pytest.raises(BadRequest, match="not supported for TRON"):
        merged(payout(**on_tron), payout(**on_tron))


def test_amounts_that_no_contract_could_add_up_are_not_merged() -> None:
    large = str(2**255 // 10**6)
    with pytest.raises(BadRequest, match="add up"):
        merged(payout(amount=large), payout(amount=large))


def test_a_batch_is_the_client_ids_that_its_payouts_are_of() -> None:
    shop = Owner("acct", "cli_shop", "https://shop.example")
    of_shop = [payout(owner=shop), payout(owner=shop)]
    assert merged(*of_shop).batch.link.client_id == "cli_shop"
    assert merged(payout(), payout()).batch.link.client_id is None
    with pytest.raises(BadRequest, match="A batch has one client ID"):
        merged(of_shop[0], payout())


def test_every_payout_that_cannot_be_merged_is_named_at_once() -> None:
    fine, late, claimed = payout(), payout(), payout()
    over = replace(late, link=replace(late.link, expires_at=START))
    other = replace(payout(), link=replace(payout().link, account_id="another"))
    incoming = replace(payout(), link=replace(payout().link, flow=Flow.GET_PAID))
    payments = (fine, over, claimed, other, incoming)
    tokens = (*(payment.link.token for payment in payments), "01UNKNOWN", fine.link.token)
    with pytest.raises(MulticallRefused) as caught:
        merged(*payments, taken=frozenset({claimed.link.token}), tokens=tokens)
    failures = body_of(caught.value)["failures"]
    assert [(failure["securePaymentToken"], failure["reason"]) for failure in failures] == [
        (over.link.token, "not_payable_child"),
        (claimed.link.token, "invalid_child_linkage"),
        (other.link.token, "not_owned"),
        (incoming.link.token, "not_outgoing"),
        ("01UNKNOWN", "not_found"),
        (fine.link.token, "duplicate_child"),
    ]


def test_a_batch_lives_as_long_as_a_new_link_and_leads_where_its_draft_says() -> None:
    first, second = payout(), payout()
    early = replace(first, link=replace(first.link, expires_at=START + timedelta(hours=1)))
    found = {each.link.token: each for each in (early, second)}
    wanted = MergeDraft(tuple(found), "https://shop.example/paid", "Done")
    link = merge(wanted, OWNER, found, (), TERMS, START, _entropy).batch.link
    assert link.expires_at == START + timedelta(days=7)
    assert (link.redirect_url, link.redirect_label) == ("https://shop.example/paid", "Done")


def test_a_batch_has_the_origin_that_its_payouts_have_in_common() -> None:
    here, there = (Owner("acct", "cli_shop", f"https://{name}.example") for name in ("here", "there"))
    assert merged(payout(owner=here), payout(owner=here), owner=there).batch.link.origin == "https://here.example"
    assert merged(payout(owner=here), payout(owner=there), owner=here).batch.link.origin is None


def test_a_batch_that_a_client_id_makes_of_payouts_without_one_has_none() -> None:
    shop = Owner("acct", "cli_shop", "https://shop.example")
    assert merged(payout(), payout(), owner=shop).batch.link.client_id is None


def test_each_request_of_a_batch_says_what_its_payout_was_created_with() -> None:
    """The batch changes none of its terms, whoever makes it."""
    modes = (Mode.CLIENT_ID, Mode.API_KEY, None)
    payouts = [payout(owner=replace(OWNER, mode=mode)) for mode in modes]
    batch = merged(*payouts, owner=replace(OWNER, mode=Mode.SESSION)).batch
    assert tuple(request.created_with for request in batch.requests) == modes


@pytest.mark.parametrize("field", ["network", "currency"])
def test_of_a_name_that_is_not_known_80_characters_are_told(field: str) -> None:
    with pytest.raises(BadRequest) as error:
        payout(**{field: "x" * 81})
    assert f" {'x' * 80} " in error.value.message
