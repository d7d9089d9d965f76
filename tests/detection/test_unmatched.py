"""How many transfers that do not count are kept: worthless ones never take the places of those that the payee has."""

from dataclasses import replace

import pytest

from chalicelib.chain.logs import ProxyTransfer
from chalicelib.detection.unmatched import PLACES, Kind, are_cut_off, has_place, kind_of, kinds_of, stray_of
from tests.detection.test_payments import new_link, transfer
from tests.fakes.world import START

(REQUEST,) = new_link().requests
FUSDT = "0xf046b3ca5ae2879c6bacc4d42faf363ee8379f78"
STRANGER = "0x" + "22" * 20


@pytest.mark.parametrize(
    ("came", "kind"),
    [
        (transfer(1, token_address=FUSDT), Kind.RECEIVED),
        (transfer(1, token_address=None), Kind.RECEIVED),
        (transfer(1, network="base", token_address=None), Kind.RECEIVED),
        (transfer(1, payee=STRANGER), Kind.ELSEWHERE),
        (transfer(1, token_address="0x" + "77" * 20), Kind.UNKNOWN),
        (transfer(1, token_address="0x" + "77" * 20, payee=STRANGER), Kind.UNKNOWN),
        (transfer(1, network="base"), Kind.UNKNOWN),
    ],
)
def test_what_a_transfer_is_worth_to_the_payee(came: ProxyTransfer, kind: Kind) -> None:
    assert kind_of(REQUEST, stray_of(REQUEST, came, "any", START)) is kind


def test_each_kind_has_places_of_its_own() -> None:
    fake = stray_of(REQUEST, transfer(1, token_address="0x" + "77" * 20), "wrong_token", START)
    real = stray_of(REQUEST, transfer(1, token_address=FUSDT), "wrong_token", START)
    kept = [replace(fake, log_index=number) for number in range(PLACES[Kind.UNKNOWN])]
    assert has_place(kinds_of(REQUEST, kept[1:]), REQUEST, fake)
    assert not are_cut_off(REQUEST, kept[1:])
    assert not has_place(kinds_of(REQUEST, kept), REQUEST, fake)
    assert are_cut_off(REQUEST, kept)
    assert has_place(kinds_of(REQUEST, kept), REQUEST, real)
