"""What a client id may create: for an orchestrator, and within the limits of its owner when it is sent alone."""

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import Forbidden
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.links.creation import create_link
from chalicelib.payments.links.permissions import check_link_limits
from chalicelib.payments.links.records import PayableLink
from chalicelib.payments.requests.permissions import is_limited
from chalicelib.payments.requests.targets import Item
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.access.modes import Mode
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, WALLET, draft

OWNER = Owner("acct", "cli_a", "https://shop.example", mode=Mode.CLIENT_ID)
FUSDC = token_with_id("fUSDC-sepolia")
assert FUSDC is not None
BOUND = Destination(PAYEE, 11155111, FUSDC.address)
CURRENCIES = ("fUSDC-sepolia", "fUSDT-sepolia", "ETH-sepolia-sepolia")
NOT_ALLOWED = "The owner of this client ID limits what it creates without an API key: "
PUT = "The owner can change that with PUT /v2/client-ids/{id}, or create this with an API key"


def payment(*items: tuple[str, str], fee: tuple[str, str] | None = None, owner: Owner = OWNER) -> PayableLink:
    """A link that pays each payee 1 unit of a currency."""
    entropy, made = itertools.count(1), [Item("1", None, payee, currency, currency) for payee, currency in items]
    percentage, address = fee or (None, None)
    wanted = draft(items=tuple(made), fee_percentage=percentage, fee_address=address)
    return create_link(wanted, owner, TERMS, START, lambda n: next(entropy).to_bytes(n, "big"))


def limited(**settings: Any) -> Owner:
    return replace(OWNER, settings=ClientSettings(**settings))


def refuses(owner: Owner, made: PayableLink, why: str, bound: Destination | None = None) -> None:
    with pytest.raises(Forbidden) as refused:
        check_link_limits(owner, [made], bound)
    assert str(refused.value) == f"{NOT_ALLOWED}{why}. {PUT}"


TO_PAYEE = payment((PAYEE, "fUSDC-sepolia"))


def test_without_limits_a_client_id_pays_anybody_in_anything() -> None:
    check_link_limits(OWNER, [TO_PAYEE, payment((WALLET, "ETH-sepolia-sepolia"), fee=("100", WALLET))], None)
    assert not is_limited(OWNER)


def test_a_payee_has_to_be_allowed() -> None:
    owner = limited(allowed_payees=(WALLET,))
    refuses(owner, TO_PAYEE, f"payee {PAYEE} is not in its allowedPayees")
    refuses(owner, payment((WALLET, "fUSDC-sepolia"), (PAYEE, "fUSDC-sepolia")), f"payee {PAYEE} is not in its allowedPayees")
    check_link_limits(owner, [payment((WALLET, "fUSDC-sepolia"), (WALLET, "fUSDT-sepolia"))], None)


def test_a_currency_has_to_be_allowed() -> None:
    owner = limited(allowed_currencies=("fUSDT-sepolia",))
    refuses(owner, TO_PAYEE, "currency fUSDC-sepolia is not in its allowedCurrencies")
    check_link_limits(owner, [payment((PAYEE, "fUSDT-sepolia"))], None)


def test_every_payment_that_is_combined_has_to_be_allowed() -> None:
    owner = limited(allowed_payees=(PAYEE,))
    with pytest.raises(Forbidden, match=WALLET):
        check_link_limits(owner, [TO_PAYEE, payment((WALLET, "fUSDC-sepolia"))], None)


def test_the_bound_destination_is_always_allowed_and_nothing_else_of_its_wallet() -> None:
    owner = limited(allowed_payees=(), allowed_currencies=())
    check_link_limits(owner, [TO_PAYEE], BOUND)
    refuses(owner, TO_PAYEE, f"payee {PAYEE} is not in its allowedPayees")
    refuses(owner, payment((PAYEE, "fUSDT-sepolia")), f"payee {PAYEE} is not in its allowedPayees", BOUND)


def test_a_fee_goes_to_the_client_ids_own_address_or_an_allowed_payee() -> None:
    """Else a stranger's link would charge payers of the shop a fee of their own."""
    charged = payment((PAYEE, "fUSDC-sepolia"), fee=("50", FEE_ADDRESS))
    why = f"feeAddress {FEE_ADDRESS} is neither its own nor in its allowedPayees"
    refuses(limited(allowed_payees=(PAYEE,)), charged, why)
    refuses(limited(allowed_payees=()), charged, why, BOUND)
    check_link_limits(limited(allowed_payees=(PAYEE, FEE_ADDRESS)), [charged], None)
    check_link_limits(limited(allowed_payees=(PAYEE,), fee_address=FEE_ADDRESS), [charged], None)
    check_link_limits(limited(allowed_payees=(PAYEE,)), [payment((PAYEE, "fUSDC-sepolia"), fee=("0", FEE_ADDRESS))], None)
    check_link_limits(limited(allowed_currencies=("fUSDC-sepolia",)), [charged], None)


@pytest.mark.parametrize("mode", [Mode.API_KEY, Mode.SESSION, Mode.ORCHESTRATOR])
def test_who_holds_a_secret_of_the_account_or_its_orchestrator_is_not_limited(mode: Mode) -> None:
    owner = replace(limited(allowed_payees=(), allowed_currencies=()), mode=mode)
    assert not is_limited(owner)
    check_link_limits(owner, [TO_PAYEE], None)


@given(
    allowed_payees=st.none() | st.sets(st.sampled_from((PAYEE, WALLET, FEE_ADDRESS))).map(tuple),
    allowed_currencies=st.none() | st.sets(st.sampled_from(CURRENCIES)).map(tuple),
    items=st.lists(st.tuples(st.sampled_from((PAYEE, WALLET)), st.sampled_from(CURRENCIES)), min_size=1, max_size=4),
    is_bound=st.booleans(),
)
def test_what_is_created_is_what_is_allowed(
    allowed_payees: tuple[str, ...] | None,
    allowed_currencies: tuple[str, ...] | None,
    items: list[tuple[str, str]],
    is_bound: bool,
) -> None:
    owner = limited(allowed_payees=allowed_payees, allowed_currencies=allowed_currencies)
    expected = all(
        (is_bound and item == (PAYEE, "fUSDC-sepolia"))
        or (
            (allowed_payees is None or item[0] in allowed_payees)
            and (allowed_currencies is None or item[1] in allowed_currencies)
        )
        for item in items
    )
    try:
        check_link_limits(owner, [payment(*items)], BOUND if is_bound else None)
    except Forbidden:
        assert not expected
    else:
        assert expected


def test_the_owner_knows_the_payees_of_what_a_secret_credential_creates_or_the_limits_admit() -> None:
    assert not payment((PAYEE, "fUSDC-sepolia")).link.has_known_payees
    assert payment((PAYEE, "fUSDC-sepolia"), owner=limited(allowed_payees=(PAYEE,))).link.has_known_payees
    assert not payment((PAYEE, "fUSDC-sepolia"), owner=limited(allowed_currencies=CURRENCIES)).link.has_known_payees
    for mode in (Mode.API_KEY, Mode.SESSION, Mode.ORCHESTRATOR):
        assert payment((PAYEE, "fUSDC-sepolia"), owner=replace(OWNER, mode=mode)).link.has_known_payees
