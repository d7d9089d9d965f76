"""How much of a stake gives what a wallet lacks, what is signed for it, and what an operator may set."""

from datetime import UTC, datetime, timedelta

import pytest

from chalicelib.base.errors import BadRequest, ChainUnavailable, Conflict
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.tron import Resource
from chalicelib.chains.nodes.readings import Delegated, ReferenceBlock, ResourceTotals, Stake
from chalicelib.gasless.energy import rules
from chalicelib.gasless.energy.records import EnergyUse
from chalicelib.gasless.energy.rules import EnergySetting, Wish

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SUN = 10**6
OWNER, WALLET = "TPL66VK2gCXNCD7EJg9pgJRfqcRazjhUZY", "TLa2f6VPqDgRE67v1736s7bJ8Ray5wYjU7"
BLOCK = ReferenceBlock(b"\1\2", bytes(8), 1_800_000_000_000)


def stake(energy: int = 10**12, bandwidth: int = 10**12, weight: int = 19_000_000_000) -> Stake:
    totals = ResourceTotals(180_000_000_000, weight), ResourceTotals(43_200_000_000, 27_000_000_000)
    return Stake(BaseUnits(energy), BaseUnits(bandwidth), *totals)


def wish(energy: int, bandwidth: int) -> Wish:
    return Wish(WALLET, "account", "link", energy, bandwidth)


@pytest.mark.parametrize(
    ("lacking", "whole"),
    [((200_000, 886), (21_112, 554)), ((1, 1), (1, 1)), ((9, 0), (1, 0)), ((10, 0), (2, 0)), ((0, 886), (0, 554)), ((18, 16), (2, 10))],
)
def test_a_stake_is_counted_in_whole_trx_and_gives_at_least_what_is_lacking(lacking: tuple[int, int], whole: tuple[int, int]) -> None:
    found = rules.choose_stakes("tron", [stake()], wish(*lacking))
    assert found == tuple(each * SUN for each in whole)
    for units, sun, limit, weight in zip(lacking, found, (180, 43.2), (19, 27), strict=True):
        assert units <= sun / SUN * limit / weight


def test_of_stakes_that_nodes_name_the_least_is_taken_if_none_is_much_more() -> None:
    near, far = stake(weight=19_000_000_000 * 109 // 100), stake(weight=19_000_000_000 * 112 // 100)
    assert rules.choose_stakes("tron", [near, stake()], wish(200_000, 0)) == (21_112 * SUN, 0)
    with pytest.raises(ChainUnavailable):
        rules.choose_stakes("tron", [stake(), far], wish(200_000, 0))


@pytest.mark.parametrize("left", [stake(energy=21_112 * SUN - 1), stake(bandwidth=554 * SUN - 1)])
def test_what_a_node_says_is_not_left_of_the_stake_is_not_given(left: Stake) -> None:
    assert rules.choose_stakes("tron", [stake(21_112 * SUN, 554 * SUN)], wish(200_000, 886))
    with pytest.raises(Conflict):
        rules.choose_stakes("tron", [stake(), left], wish(200_000, 886))


def test_a_day_is_counted_to_its_end_exactly() -> None:
    assert rules.count_use(EnergyUse("account", "2026-12-01", 70), 30, 100).energy == 100
    with pytest.raises(Conflict):
        rules.count_use(EnergyUse("account", "2026-12-01", 71), 30, 100)


def test_what_is_nothing_is_not_signed() -> None:
    amounts = Delegated(0, BaseUnits(5 * SUN), BaseUnits(0))
    (made,) = rules.to_sign(OWNER, 2, WALLET, amounts, BLOCK, takes_back=True)
    assert (made.resource, made.balance, made.takes_back, made.permission_id) == (Resource.ENERGY, 5 * SUN, True, 2)
    assert made.expiration - made.timestamp == rules.SIGNED_FOR
    both = rules.to_sign(OWNER, 0, WALLET, Delegated(0, BaseUnits(1), BaseUnits(2)), BLOCK, takes_back=False)
    assert [(each.resource, each.balance) for each in both] == [(Resource.ENERGY, 1), (Resource.BANDWIDTH, 2)]


def test_a_wallet_waits_for_a_day_to_the_moment() -> None:
    given = rules.begin(wish(1, 1), OWNER, Delegated(0), (), None, NOW)
    taking = rules.take_back(given, (), 0, NOW)
    unpaid, paid = (rules.end(taking, is_paid, NOW) for is_paid in (False, True))
    with pytest.raises(Conflict):
        rules.check_free(unpaid, wish(1, 1), NOW + timedelta(days=1) - timedelta(microseconds=1))
    rules.check_free(unpaid, wish(1, 1), NOW + timedelta(days=1))
    rules.check_free(paid, wish(1, 1), NOW)
    rules.check_free(rules.end(given, False, NOW), wish(1, 1), NOW)


def test_what_an_operator_sets_is_read_with_and_without_spaces() -> None:
    assert rules.parse_setting(f"account={OWNER},daily=5") == EnergySetting(OWNER, 5)
    assert rules.parse_setting(f" daily=0, key=secret, account={OWNER}") == EnergySetting(OWNER, 0, "secret")


@pytest.mark.parametrize("text", ["", "daily=1", f"account={OWNER}", f"account={OWNER},daily=x", f"account={OWNER},daily=1,more=1", f"account={OWNER},daily=1,key=hsm", f"account={OWNER},daily=-1", f"account={OWNER}=1,daily=1"])
def test_what_is_set_wrongly_is_refused(text: str) -> None:
    with pytest.raises((ValueError, LookupError, BadRequest)):
        rules.parse_setting(text)
