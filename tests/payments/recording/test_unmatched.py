"""How many transfers that do not count are kept: worthless ones never take the places of those that the payee has."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.payments.recording.unmatched import (
    LARGEST_PER_TOKEN,
    MAX_PER_KIND,
    Place,
    UnmatchedKind,
    find_place,
    has_room,
    kind_of,
    may_be_truncated,
    token_of,
    unmatched_transfer,
    with_one_more,
)
from chalicelib.payments.requests.payments.records import PaymentStatus, UnmatchedTransfer
from chalicelib.payments.scanning.records import LoggedTransfer
from tests.fakes.world import PAYEE, START
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


TOKENS = (FUSDT, None)
CAME = st.builds(
    lambda number, amount, token, payee: transfer(amount, number, token_address=token, payee=payee),
    st.integers(1, 10**6), st.integers(0, 10**12), st.sampled_from([*TOKENS, "0x" + "77" * 20]),
    st.sampled_from([PAYEE.lower()] * 3 + [STRANGER]),
)  # fmt: skip


@given(came=st.lists(CAME, max_size=200, unique_by=lambda each: each.tx_hash))
@settings(max_examples=60, deadline=None)
def test_of_each_token_that_the_payee_received_the_largest_transfers_are_stored(came: list[LoggedTransfer]) -> None:
    request, stored = REQUEST, dict[str, UnmatchedTransfer]()
    for each in came:
        place = find_place(request, each, stored.values())
        if place is not None:
            request = place.request
            if place.displaced is not None:
                del stored[place.displaced.tx_hash]
            stored[each.tx_hash] = unmatched_transfer(request, each, "wrong_token", START)
    of_kind = {kind: [each for each in stored.values() if kind_of(request, each.token_address, each.payee, each.network) is kind] for kind in UnmatchedKind}
    counts = (request.unknown_token_count, request.other_payee_count, request.right_payee_count)
    assert counts == tuple(len(of_kind[kind]) for kind in UnmatchedKind), "each has its count"
    assert len(of_kind[UnmatchedKind.UNKNOWN_TOKEN]) <= 20 and len(of_kind[UnmatchedKind.OTHER_PAYEE]) <= 30
    assert len(of_kind[UnmatchedKind.RIGHT_PAYEE]) <= 50 + len(TOKENS) * LARGEST_PER_TOKEN
    for token in TOKENS:
        sent = sorted((each.amount for each in came if (each.token_address, each.payee) == (token, PAYEE.lower())), reverse=True)
        kept = sorted((each.amount for each in stored.values() if (each.token_address, each.payee) == (token, PAYEE.lower())), reverse=True)
        assert kept[:LARGEST_PER_TOKEN] == sent[:LARGEST_PER_TOKEN]


def test_what_a_fork_removed_gives_its_place_first() -> None:
    request = replace(REQUEST, right_payee_count=50)
    gone, *others = (unmatched_transfer(request, transfer(amount, amount, token_address=FUSDT), "wrong_token", START) for amount in range(10, 0, -1))
    stored = [replace(gone, status=PaymentStatus.REVERSED), *others]
    for amount, displaced in ((1, stored[0]), (100, stored[0])):
        assert find_place(request, transfer(amount, 11, token_address=FUSDT), stored) == Place(request, displaced)
    assert find_place(request, transfer(1, 11, token_address=FUSDT), [gone, *others]) is None
    assert find_place(request, transfer(2, 11, token_address=FUSDT), [gone, *others]) == Place(request, others[-1])


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
