"""How many transfers that do not count are kept: worthless ones never take the places of those that the payee has."""

import pytest

from chalicelib.payments.recording.unmatched import (
    MAX_PER_KIND,
    UnmatchedKind,
    has_room,
    kind_of,
    may_be_truncated,
    token_of,
    unmatched_transfer,
    with_one_more,
)
from chalicelib.payments.scanning.records import LoggedTransfer
from tests.fakes.world import START
from tests.payments.recording.test_matching import new_link, transfer

(REQUEST,) = new_link().requests
FUSDT = "0xf046b3ca5ae2879c6bacc4d42faf363ee8379f78"
STRANGER = "0x" + "22" * 20


@pytest.mark.parametrize(
    ("came", "kind"),
    [
        (transfer(1, token_address=FUSDT), UnmatchedKind.RIGHT_PAYEE),
        (transfer(1, token_address=None), UnmatchedKind.RIGHT_PAYEE),
        (transfer(1, network="base", token_address=None), UnmatchedKind.RIGHT_PAYEE),
        (transfer(1, payee=STRANGER), UnmatchedKind.OTHER_PAYEE),
        (transfer(1, token_address="0x" + "77" * 20), UnmatchedKind.UNKNOWN_TOKEN),
        (transfer(1, token_address="0x" + "77" * 20, payee=STRANGER), UnmatchedKind.UNKNOWN_TOKEN),
        (transfer(1, network="base"), UnmatchedKind.UNKNOWN_TOKEN),
    ],
)
def test_what_a_transfer_is_worth_to_the_payee(came: LoggedTransfer, kind: UnmatchedKind) -> None:
    assert kind_of(REQUEST, came.token_address, came.payee, came.network) is kind


@pytest.mark.parametrize("kind", UnmatchedKind)
def test_each_kind_has_a_limit_of_its_own(kind: UnmatchedKind) -> None:
    request = REQUEST
    for _ in range(MAX_PER_KIND[kind]):
        assert has_room(request, kind)
        assert not may_be_truncated(request)
        request = with_one_more(request, kind)
    assert not has_room(request, kind)
    assert may_be_truncated(request)
    assert all(has_room(request, other) for other in UnmatchedKind if other is not kind)


def test_20_of_unknown_tokens_30_that_went_elsewhere_and_50_that_were_received_are_kept() -> None:
    assert MAX_PER_KIND == {UnmatchedKind.UNKNOWN_TOKEN: 20, UnmatchedKind.OTHER_PAYEE: 30, UnmatchedKind.RIGHT_PAYEE: 50}


@pytest.mark.parametrize(
    ("came", "token"),
    [
        (transfer(1), "fUSDC-sepolia"),
        (transfer(1, token_address=None), "ETH-sepolia-sepolia"),
        (transfer(1, network="base", token_address=None), "ETH-base-base"),
        (transfer(1, network="tron", token_address="0xa614f803b6fd780986a42c78ec9c7f77e6ded13c"), "USDT-tron"),
        (transfer(1, network="tron", token_address=None), None),
        (transfer(1, network="gnosis"), None),
        (transfer(1, token_address="0x" + "77" * 20), None),
    ],
)
def test_a_token_is_that_of_the_catalogue_on_the_network_of_the_log(came: LoggedTransfer, token: str | None) -> None:
    found = token_of(unmatched_transfer(REQUEST, came, "any", START))
    assert (found.id if found else None) == token
