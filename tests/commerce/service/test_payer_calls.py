"""What a wallet is handed that opens the link of a commerce payment, and which wallets are refused."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from chalicelib.base.errors import BadRequest, Conflict, ServiceError
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow import signatures as escrow_signatures
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.commerce.service.payer_calls import pre_approval_of
from chalicelib.commerce.service.transactions import hash_for, info_of
from chalicelib.payments.links.errors import LinkClosed, WrongWallet
from chalicelib.payments.requests import store as request_store
from tests.fakes.escrows import CONTRACTS, PAYER, Commerce
from tests.fakes.world import PAYEE

OTHER = "0x" + "0d" * 20


@pytest.fixture
def commerce() -> Commerce:
    return Commerce()


def link_of(commerce: Commerce, created: Any) -> Any:
    return replace(created.link, commerce=commerce.load(created))


@pytest.mark.parametrize("wallet", [None, PAYER, PAYER.lower()])
def test_the_buyer_pre_approves_the_terms_with_itself_as_payer(commerce: Commerce, wallet: str | None) -> None:
    created = commerce.create()
    made = pre_approval_of(commerce.services, link_of(commerce, created), wallet)
    assert made.payer.lower() == PAYER.lower()
    assert made.transaction == escrow_calls.pre_approve(info_of(created.payment, PAYER), CONTRACTS)[1]


def test_any_other_wallet_of_an_open_payment_is_remembered_until_after_the_time_to_pay(commerce: Commerce) -> None:
    created = commerce.create(buyer_address=None)
    for _ in range(2):
        made = pre_approval_of(commerce.services, link_of(commerce, created), OTHER)
    assert made.transaction == escrow_calls.pre_approve(info_of(created.payment, OTHER), CONTRACTS)[1]
    named = hash_for(created.payment, OTHER, CONTRACTS)
    (known,) = request_store.references(commerce.services.store, [named])
    assert (known.payable_id, known.payer) == (created.payment.payable_id, OTHER)
    assert known.expires_at is not None and known.expires_at > created.payment.pre_approval_expiry


@pytest.mark.parametrize(
    ("buyer", "wallet", "error", "says"),
    [
        (None, None, BadRequest, "wallet is needed"),
        (None, "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", BadRequest, "is not an address of sepolia"),
        (None, PAYEE, BadRequest, "is the merchant"),
        (PAYER, OTHER, WrongWallet, "named as the buyer"),
    ],
)
def test_a_wallet_that_cannot_pay_is_handed_nothing(
    commerce: Commerce, buyer: str | None, wallet: str | None, error: type[ServiceError], says: str
) -> None:
    created = commerce.create(buyer_address=buyer)
    with pytest.raises(error, match=says):
        pre_approval_of(commerce.services, link_of(commerce, created), wallet)


def test_nothing_is_handed_out_from_the_second_of_the_expiry_on(commerce: Commerce) -> None:
    created = commerce.create()
    commerce.world.now = created.payment.pre_approval_expiry - timedelta(seconds=1)
    assert pre_approval_of(commerce.services, link_of(commerce, created), PAYER).payer == PAYER
    commerce.world.now = created.payment.pre_approval_expiry
    with pytest.raises(LinkClosed):
        pre_approval_of(commerce.services, link_of(commerce, created), PAYER)


def test_nothing_is_handed_out_once_the_escrow_has_the_money_also_after_the_expiry(commerce: Commerce) -> None:
    created = commerce.authorized()
    for now in (commerce.world.now, created.payment.pre_approval_expiry):
        commerce.world.now = now
        with pytest.raises(Conflict, match="is authorized already"):
            pre_approval_of(commerce.services, link_of(commerce, created), PAYER)


def test_a_payment_of_an_escrow_that_the_service_left_is_not_operated_and_not_paid(commerce: Commerce) -> None:
    created = commerce.authorized()
    commerce.services.store.write(replace(commerce.load(created), escrow=OTHER))
    with pytest.raises(Conflict, match=f"does not operate the escrow {OTHER}"):
        commerce.capture(created, 1)
    assert commerce.load(created).pending is None
    unpaid = commerce.create()
    commerce.services.store.write(replace(commerce.load(unpaid), escrow=OTHER))
    with pytest.raises(Conflict, match=f"does not operate the escrow {OTHER}"):
        pre_approval_of(commerce.services, link_of(commerce, unpaid), PAYER)


def test_a_payer_whose_token_has_signed_transfers_may_sign_one_of_them_or_permit2(commerce: Commerce) -> None:
    plain = commerce.create().options
    assert plain is not None and plain.erc3009 is None, "the token has none"
    domain = TokenDomain(commerce.token, "USDC", "2", 11155111)
    commerce.chain.read_erc3009_domain = lambda info: domain
    created = commerce.create()
    options, info = created.options, info_of(created.payment, PAYER)
    assert options is not None and options.erc3009 == escrow_signatures.erc3009_typed_data(info, CONTRACTS, domain)
    assert options.permit2 == escrow_signatures.permit2_typed_data(info, CONTRACTS)
    assert options.approval == erc20.approve(commerce.token, address_of(PERMIT2, "sepolia"), created.payment.max_amount)
    assert options.transactions == escrow_calls.pre_approve(info, CONTRACTS)
    assert options.payment_hash == hash_for(created.payment, PAYER, CONTRACTS)
