"""New links: what is written when a draft holds, and which drafts do not hold."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Forbidden, ValidationFailed
from chalicelib.base.money import MAX_UINT256, BaseUnits
from chalicelib.chains.catalogue.interop import Destination, destination_id
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.creation import (
    LARGEST_TOTAL,
    Terms,
    build_link,
    check_totals,
    create_link,
    redirect_label_of,
)
from chalicelib.payments.links.records import Flow, LinkStatus, PayableLink, PaymentType
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.payments.requests.targets import Item, Target
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, WALLET, draft

OWNER = Owner("acct", "cli_a", "https://shop.example")
FUSDC = token_with_id("fUSDC-sepolia")
assert FUSDC is not None
BOUND = Destination(PAYEE, 11155111, FUSDC.address)


def made(owner: Owner = OWNER, bound: Destination | None = None, terms: Terms = TERMS, **changes: Any) -> PayableLink:
    counter = itertools.count(1)
    return create_link(draft(**changes), owner, terms, START, lambda n: next(counter).to_bytes(n, "big"), bound)


def item(**changes: Any) -> Item:
    return replace(Item("1", None, PAYEE, "fUSDC-sepolia", "fUSDC-sepolia"), **changes)


def by_id(destination: Destination = BOUND) -> Item:
    return Item("1", destination_id(destination), None, None, None)


def refused(match: str, **changes: Any) -> None:
    with pytest.raises(BadRequest, match=match):
        made(**changes)


def test_a_link_has_what_was_asked_for_and_is_pending_for_its_lifetime() -> None:
    payment = made(payer_identifier="payer-7", redirect_url="https://shop.example/thanks", recipient_identifier="r-1")
    link, (request,) = payment.link, payment.requests
    assert (link.account_id, link.client_id, link.origin) == ("acct", "cli_a", "https://shop.example")
    assert (link.payment_type, link.status, link.flow) == (PaymentType.SINGLE, LinkStatus.PENDING, Flow.GET_PAID)
    assert (link.created_at, link.expires_at) == (START, START + timedelta(days=7))
    assert (link.fee_percentage, link.fee_address, link.reference) == ("1", FEE_ADDRESS, "INV-1")
    assert (link.payer_identifier, link.recipient_identifier, link.creator_wallet) == ("payer-7", "r-1", None)
    assert (link.redirect_url, link.redirect_label) == ("https://shop.example/thanks", "Go Back and Close")
    assert (request.payable_id, request.position, request.status) == (link.token, 0, RequestStatus.CREATED)
    assert (request.payee, request.network, request.currency) == (PAYEE, "sepolia", "fUSDC-sepolia")
    assert (request.amount, request.paid, request.tx_hash) == (12_500_000, 0, None)
    assert len(bytes.fromhex(request.payment_reference.removeprefix("0x"))) == 8


@pytest.mark.parametrize("mode", [Mode.API_KEY, Mode.CLIENT_ID])
def test_a_link_ends_at_the_time_that_was_asked_for(mode: Mode) -> None:
    moment = timedelta(microseconds=1)
    for expires_at in (START + moment, START + timedelta(days=7)):
        assert made(replace(OWNER, mode=mode), expires_at=expires_at).link.expires_at == expires_at
    refused("expiresAt must be in the future", expires_at=START)


def test_a_client_id_alone_makes_no_link_that_lasts_longer_than_those_of_the_deployment() -> None:
    later = START + timedelta(days=7, microseconds=1)
    assert made(replace(OWNER, mode=Mode.API_KEY), expires_at=later).link.expires_at == later
    with pytest.raises(BadRequest, match="no later than 2026-.* with a client ID alone"):
        made(replace(OWNER, mode=Mode.CLIENT_ID), expires_at=later)


def test_several_items_are_a_batch_in_their_order() -> None:
    payment = made(items=(item(amount="1"), item(amount="2")))
    assert payment.link.payment_type is PaymentType.BATCH
    assert [(each.position, each.amount) for each in payment.requests] == [(0, 1_000_000), (1, 2_000_000)]
    assert len({each.payment_reference for each in payment.requests}) == 2


def test_a_payout_names_its_creator_and_is_paid_out() -> None:
    assert FUSDC is not None
    targets = [Target(PAYEE, FUSDC, BaseUnits(5))]
    payment = build_link(draft(items=()), targets, OWNER, TERMS, START, lambda n: b"\1" * n, WALLET)
    assert (payment.link.flow, payment.link.creator_wallet) == (Flow.PAY, WALLET)


@pytest.mark.parametrize(
    ("url", "label", "shown"),
    [("https://a.example", "Back", "Back"), ("https://a.example", None, "Go Back and Close"), (None, "Back", None)],
)
def test_a_label_belongs_to_a_url(url: str | None, label: str | None, shown: str | None) -> None:
    assert redirect_label_of(url, label) == shown


# --- where it goes ---


def test_an_item_without_payee_goes_to_the_bound_destination() -> None:
    alone = Item("1", None, None, None, None)
    (request,) = made(items=(alone,), bound=BOUND).requests
    assert (request.payee, request.currency) == (PAYEE, "fUSDC-sepolia")
    refused("needs destinationId, or payee", items=(alone,))


@pytest.mark.parametrize("missing", ["payee", "invoice_currency", "payment_currency"])
def test_an_item_with_a_part_of_the_fields_is_incomplete_also_with_a_bound_destination(missing: str) -> None:
    refused("needs destinationId, or payee", items=(item(**{missing: None}),))
    refused("needs destinationId, or payee", items=(item(**{missing: None}),), bound=BOUND)
    others = dict.fromkeys({"payee", "invoice_currency", "payment_currency"} - {missing})
    refused("needs destinationId, or payee", items=(item(**others),), bound=BOUND)


def test_an_empty_text_is_not_the_same_as_none_also_with_a_bound_destination() -> None:
    empty = item(payee="", invoice_currency=None, payment_currency=None)
    refused("needs destinationId, or payee", items=(empty,), bound=BOUND)
    refused("Give either destinationId", items=(replace(by_id(), payee=""),))


def test_a_client_id_is_paid_at_its_bound_destination_alone() -> None:
    assert made(bound=BOUND).requests[0].payee == PAYEE
    for other in (item(payee=WALLET), item(invoice_currency="FAU-sepolia", payment_currency="FAU-sepolia")):
        with pytest.raises(Forbidden, match="does not match the configured payment destination"):
            made(items=(other,), bound=BOUND)


def test_a_destination_id_stands_alone() -> None:
    assert made(items=(by_id(),)).requests[0].payee == PAYEE
    for field, value in (("payee", PAYEE), ("invoice_currency", "fUSDC-sepolia"), ("payment_currency", "fUSDC-sepolia")):
        refused("Give either destinationId", items=(replace(by_id(), **{field: value}),))


def test_a_destination_needs_a_chain_and_a_token_of_the_catalogue() -> None:
    for other in (replace(BOUND, chain_id=56_000), replace(BOUND, token_address=PAYEE)):
        refused("destinationId names a chain or token that is not supported", items=(by_id(other),))


def test_a_wrong_checksum_is_refused_where_terms_are_strict() -> None:
    right = destination_id(BOUND)
    head, _, tail = right.partition("#")
    wrong = f"{head}#00000000{tail[8:]}"
    assert made(items=(replace(by_id(), destination_id=wrong),)).requests[0].payee == PAYEE
    strict = replace(TERMS, requests=replace(TERMS.requests, strict_checksum=True))
    assert made(items=(by_id(),), terms=strict).requests[0].payee == PAYEE
    refused("Invalid destination ID format", items=(replace(by_id(), destination_id=wrong),), terms=strict)


def test_funds_do_not_go_to_the_zero_address() -> None:
    refused("requests.0.payee is the zero address", items=(item(payee="0x" + "00" * 20),))


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"payee": "0x12"}, "payee", "Invalid EVM address"),
        ({"amount": "0.0000001"}, "amount", "has too many decimals"),
        ({"invoice_currency": "GONE-base"}, "invoiceCurrency", "Currency GONE-base is not supported"),
        ({"payment_currency": "LOST-base"}, "paymentCurrency", "Currency LOST-base is not supported"),
        ({"invoice_currency": "x" * 200}, "invoiceCurrency", f"Currency {'x' * 80} is not supported"),
        ({"invoice_currency": "USD", "payment_currency": "USD"}, "paymentCurrency", "USD cannot be paid on a chain"),
        ({"invoice_currency": "FAU-sepolia"}, "invoiceCurrency", "FAU-sepolia cannot be paid in fUSDC-sepolia"),
        ({"destination_id": "x"}, "", "Give either destinationId, or payee"),
    ],
)
def test_every_item_that_is_wrong_is_named_by_its_whole_path(changes: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(ValidationFailed) as error:
        made(items=(item(), item(**changes), item(payee="0x34")))
    first, second = error.value.problems
    assert first.field == ".".join(filter(None, ("requests.1", field)))
    assert second.field == "requests.2.payee"
    assert first.message.startswith(text)


def test_a_batch_is_on_one_network_and_not_on_tron() -> None:
    on_tron = item(payee="TJRabPrwbZy45sbavfcjinPJC18kjpRTv8", invoice_currency="USDT-tron", payment_currency="USDT-tron")
    no_fee: dict[str, Any] = {"fee_percentage": None, "fee_address": None}
    assert made(items=(on_tron,), **no_fee).requests[0].network == "tron"
    refused("not supported for TRON", items=(on_tron, on_tron), **no_fee)
    refused("not supported for TRON", items=(item(), on_tron), **no_fee)
    on_base = item(invoice_currency="USDC-base", payment_currency="USDC-base")
    refused("these items are on sepolia, base", items=(item(), on_base, item()))


# --- how much ---


def with_amounts(*amounts: int, flow: Flow = Flow.GET_PAID, fee: str | None = None) -> PayableLink:
    payment = made(items=(item(),) * len(amounts), fee_percentage=fee or "0")
    requests = tuple(replace(each, amount=BaseUnits(amount)) for each, amount in zip(payment.requests, amounts, strict=True))
    return PayableLink(requests, replace(payment.link, flow=flow))


def test_an_amount_with_its_fee_is_at_most_a_uint256() -> None:
    whole = with_amounts(MAX_UINT256)
    check_totals(whole.link, whole.requests)
    half = with_amounts(5, MAX_UINT256 // 2 + 1, fee="100")
    with pytest.raises(BadRequest, match="requests.1.amount with its fee is larger"):
        check_totals(half.link, half.requests)
    payout = with_amounts(MAX_UINT256, flow=Flow.PAY, fee="1")
    with pytest.raises(BadRequest, match="^amount with its fee is larger"):
        check_totals(payout.link, payout.requests)


def test_amounts_of_a_batch_come_to_at_most_half_of_a_uint256() -> None:
    assert LARGEST_TOTAL == 2**255
    most = with_amounts(LARGEST_TOTAL - 1, 1)
    check_totals(most.link, most.requests)
    single = with_amounts(LARGEST_TOTAL + 1)
    check_totals(single.link, single.requests)
    over = with_amounts(LARGEST_TOTAL, 1)
    with pytest.raises(BadRequest, match="more than one batch can pay"):
        check_totals(over.link, over.requests)
