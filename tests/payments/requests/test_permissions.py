"""Who may create requests for a client id, within which limits, and who sees what."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.base.errors import BadRequest, Forbidden
from chalicelib.chains.catalogue.interop import Destination
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.payments.requests.creation import new_request
from chalicelib.payments.requests.permissions import check_creator, check_limits, check_platform, is_limited
from chalicelib.payments.requests.records import Request
from chalicelib.payments.requests.targets import Item, resolve
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.platform.access.ownership import sees
from tests.fakes.world import FEE_ADDRESS, PAYEE, START, TERMS, WALLET

OWNER = Owner("acct", "cli_a", "https://shop.example", mode=Mode.CLIENT_ID)
FUSDC = token_with_id("fUSDC-sepolia")
assert FUSDC is not None
BOUND = Destination(PAYEE, 11155111, FUSDC.address)


def test_only_the_linked_orchestrator_creates_for_its_client_id_and_at_its_destination() -> None:
    linked = ClientSettings(orchestrator_id="orc_1")
    check_platform(OWNER)
    check_creator(OWNER, None)
    for owner in (replace(OWNER, settings=linked), replace(OWNER, orchestrator_id="orc_1")):
        with pytest.raises(Forbidden, match="linked to an orchestrator"):
            check_creator(owner, BOUND)
    pair = replace(OWNER, settings=linked, orchestrator_id="orc_1")
    check_creator(pair, BOUND)
    with pytest.raises(BadRequest, match="No active payee destination"):
        check_creator(pair, None)


CURRENCIES = ("fUSDC-sepolia", "fUSDT-sepolia", "ETH-sepolia-sepolia")
WALLETS = (PAYEE, WALLET)


def request(payee: str = PAYEE, currency: str = "fUSDC-sepolia") -> Request:
    target = resolve(Item("1", None, payee, currency, currency), (), TERMS.requests, None)
    return new_request(None, 0, target, OWNER, START, bytes)


def limited(**settings: Any) -> Owner:
    return replace(OWNER, settings=ClientSettings(**settings))


def is_refused(owner: Owner, *made: Request, fee_address: str | None = None, bound: Destination | None = None) -> str | None:
    try:
        check_limits(owner, made, fee_address, bound)
    except Forbidden as error:
        return error.message
    return None


@given(
    payees=st.none() | st.sets(st.sampled_from((*WALLETS, FEE_ADDRESS))).map(tuple),
    currencies=st.none() | st.sets(st.sampled_from(CURRENCIES)).map(tuple),
    items=st.lists(st.tuples(st.sampled_from(WALLETS), st.sampled_from(CURRENCIES)), min_size=1, max_size=4),
    fee_address=st.sampled_from((None, FEE_ADDRESS, WALLET)),
    own_fee_address=st.sampled_from((None, FEE_ADDRESS)),
    is_bound=st.booleans(),
)
def test_what_a_limited_client_id_creates_is_what_its_owner_allows(
    payees: tuple[str, ...] | None,
    currencies: tuple[str, ...] | None,
    items: list[tuple[str, str]],
    fee_address: str | None,
    own_fee_address: str | None,
    is_bound: bool,
) -> None:
    owner = limited(allowed_payees=payees, allowed_currencies=currencies, fee_address=own_fee_address)
    pays_the_allowed = all(
        (is_bound and item == (PAYEE, "fUSDC-sepolia"))
        or ((payees is None or item[0] in payees) and (currencies is None or item[1] in currencies))
        for item in items
    )
    fee_is_allowed = fee_address in (None, own_fee_address) or payees is None or fee_address in payees
    made = [request(*item) for item in items]
    refusal = is_refused(owner, *made, fee_address=fee_address, bound=BOUND if is_bound else None)
    assert (refusal is None) == (not is_limited(owner) or (pays_the_allowed and fee_is_allowed))


def test_a_refusal_says_what_is_not_allowed_and_who_can_change_it() -> None:
    owner = limited(allowed_payees=(WALLET,), allowed_currencies=("fUSDC-sepolia",))
    begin = "The owner of this client ID limits what it creates without an API key: "
    end = " The owner can change that with PUT /v2/client-ids/{id}, or create this with an API key"
    assert is_refused(owner, request()) == f"{begin}payee {PAYEE} is not in its allowedPayees.{end}"
    other = request(WALLET, "fUSDT-sepolia")
    assert is_refused(owner, other) == f"{begin}currency fUSDT-sepolia is not in its allowedCurrencies.{end}"
    why = f"feeAddress {FEE_ADDRESS} is neither its own nor in its allowedPayees."
    assert is_refused(owner, request(WALLET), fee_address=FEE_ADDRESS) == f"{begin}{why}{end}"


@pytest.mark.parametrize("mode", [Mode.API_KEY, Mode.SESSION, Mode.ORCHESTRATOR])
def test_who_holds_a_secret_is_not_limited(mode: Mode) -> None:
    owner = replace(limited(allowed_payees=(), allowed_currencies=()), mode=mode)
    assert not is_limited(owner)
    assert is_refused(owner, request(), fee_address=FEE_ADDRESS) is None


@pytest.mark.parametrize(
    ("account_id", "client_id", "seen"),
    [
        ("acct", None, ("cli_a", "cli_b", None)),
        ("acct", "cli_a", ("cli_a", None)),
        ("acct", "cli_c", (None,)),
        ("other", None, ()),
        ("other", "cli_a", ()),
        ("", None, ()),
    ],
)
def test_a_caller_sees_what_its_account_and_its_client_id_have(
    account_id: str, client_id: str | None, seen: tuple[str | None, ...]
) -> None:
    owned = [replace(request(), client_id=each) for each in ("cli_a", "cli_b", None)]
    assert tuple(each.client_id for each in owned if sees(Owner(account_id, client_id, None), each)) == seen
