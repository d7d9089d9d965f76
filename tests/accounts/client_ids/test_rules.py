"""Which settings a client id may have, in which form they are stored, and that revoking is for ever."""

import hashlib
import itertools
from collections.abc import Callable
from datetime import timedelta

import pytest

from chalicelib.accounts.client_ids.rules import ClientIdSettings, apply_settings, new_client_id
from chalicelib.base.addresses import ZERO_ADDRESS, address_bytes
from chalicelib.base.errors import BadRequest
from chalicelib.platform.access.credentials.records import ClientId, CredentialStatus
from chalicelib.platform.access.credentials.rules import credential_hash
from tests.fakes.escrows import CONTRACTS
from tests.fakes.world import FEE_ADDRESS, START, WALLET

LATER = START + timedelta(minutes=1)
FEE: ClientIdSettings = {"fee_percentage": "1.5", "fee_address": FEE_ADDRESS}


def entropy() -> Callable[[int], bytes]:
    counter = itertools.count()
    return lambda n: hashlib.shake_256(str(next(counter)).encode()).digest(n)


def made(settings: ClientIdSettings) -> ClientId:
    return new_client_id("acct", settings, {}, START, entropy())


def test_a_new_client_id_is_active_without_label_and_domains_unless_they_are_given() -> None:
    one = made({})
    expected = ClientId(
        credential_hash(one.client_id), one.client_id, one.record_id, "acct", "", (), CredentialStatus.ACTIVE, START
    )
    assert one == expected
    assert made({"label": "web"}).label == "web"


@pytest.mark.parametrize("name", CONTRACTS.names)
def test_a_contract_that_only_a_setting_of_the_deployment_names_is_no_payee_nor_fee_address(name: str) -> None:
    address = CONTRACTS.names[name]
    own = {address_bytes(address): f"the contract of {name}"}
    wanted: tuple[tuple[str, ClientIdSettings], ...] = (
        ("allowedPayees", {"allowed_payees": [address.lower()]}),
        ("feeAddress", {"fee_percentage": "1", "fee_address": address}),
        ("operatorWalletAddress", {"operator_wallet_address": address}),
    )
    for field, settings in wanted:
        assert made(settings), "without that setting it is an address like others"
        with pytest.raises(BadRequest, match=rf"^{field}.*is the contract of {name}, "):
            new_client_id("acct", settings, own, START, entropy())
        with pytest.raises(BadRequest, match=rf"^{field}.*is the contract of {name}, "):
            apply_settings(made({}), settings, own, LATER)


def test_domains_are_stored_as_browsers_send_them_and_once() -> None:
    domains = ["https://Shop.Example/", "https://shop.example:443", "https://other.example"]
    assert made({"allowed_domains": domains}).allowed_domains == ("https://shop.example", "https://other.example")
    with pytest.raises(BadRequest, match="^allowedDomains: 'here' is not an origin"):
        made({"allowed_domains": ["here"]})


@pytest.mark.parametrize("percentage", ["0", "1.5", "99.99", "100"])
def test_a_fee_is_0_to_100_percent_with_two_decimals_at_most(percentage: str) -> None:
    one = made({"fee_percentage": percentage, "fee_address": FEE_ADDRESS})
    assert (one.fee_percentage, one.fee_address) == (percentage, FEE_ADDRESS)


@pytest.mark.parametrize("percentage", ["", "x", "-1", "100.01", "1.555", "1.500"])
def test_what_is_no_fee_is_refused(percentage: str) -> None:
    with pytest.raises(BadRequest, match="^feePercentage must be a plain decimal number from 0 to 100 with at most 2 decimals"):
        made({"fee_percentage": percentage, "fee_address": FEE_ADDRESS})


def test_a_fee_needs_an_address_and_an_address_no_fee() -> None:
    with pytest.raises(BadRequest, match="feeAddress is required when feePercentage is set"):
        made({"fee_percentage": "1"})
    assert made({"fee_address": FEE_ADDRESS}).fee_percentage is None
    with pytest.raises(BadRequest, match="feeAddress is required when feePercentage is set"):
        apply_settings(made(FEE), {"fee_address": None}, {}, LATER)


@pytest.mark.parametrize(("field", "name"), [("fee_address", "feeAddress"), ("operator_wallet_address", "operatorWalletAddress")])
def test_an_address_is_stored_with_its_checksum_and_is_not_zero(field: str, name: str) -> None:
    def settings(text: str) -> ClientIdSettings:
        return {field: text}  # type: ignore[misc]

    assert getattr(made(settings(WALLET.lower())), field) == made(settings(WALLET)).__dict__[field]
    assert getattr(made(settings(WALLET.lower())), field).lower() == WALLET.lower()
    with pytest.raises(BadRequest, match=f"^{name}: is the zero address: funds sent there are lost"):
        made(settings(ZERO_ADDRESS))
    with pytest.raises(BadRequest, match=f"^{name}: "):
        made(settings("0x12"))


def test_a_change_is_dated_and_leaves_the_rest_and_none_unsets() -> None:
    one = made({**FEE, "label": "one", "allowed_domains": ["https://shop.example"]})
    changed = apply_settings(one, {"label": "two"}, {}, LATER)
    assert (changed.label, changed.updated_at, changed.created_at) == ("two", LATER, START)
    assert (changed.allowed_domains, changed.fee_percentage) == (("https://shop.example",), "1.5")
    unset = apply_settings(one, {"fee_percentage": None, "fee_address": None}, {}, LATER)
    assert (unset.fee_percentage, unset.fee_address) == (None, None)


def test_a_revoked_client_id_stays_revoked_and_an_inactive_one_may_come_back() -> None:
    revoked = apply_settings(made({}), {"status": CredentialStatus.REVOKED}, {}, LATER)
    for status in (CredentialStatus.ACTIVE, CredentialStatus.INACTIVE):
        with pytest.raises(BadRequest, match="cannot reactivate revoked ID"):
            apply_settings(revoked, {"status": status}, {}, LATER)
    assert apply_settings(revoked, {"label": "old"}, {}, LATER).status is CredentialStatus.REVOKED
    inactive = apply_settings(made({}), {"status": CredentialStatus.INACTIVE}, {}, LATER)
    assert apply_settings(inactive, {"status": CredentialStatus.ACTIVE}, {}, LATER).status is CredentialStatus.ACTIVE
