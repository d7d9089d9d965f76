"""A day's gas is shared: what one account uses, others have left, and what was promised to a payer is always sent."""

import itertools
import random
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits
from chalicelib.chains.catalogue.contracts import PERMIT2, RECURRING_PROXY, address_of
from chalicelib.chains.nodes.accounts.balances import TokenReading
from chalicelib.chains.nodes.nodes import Nodes
from chalicelib.chains.nodes.readings import AccountReading, StepResult
from chalicelib.platform.services import Services
from chalicelib.relayer import flows, reservations, rules, store
from chalicelib.relayer.delays import find_delays
from chalicelib.relayer.holdings.records import Move
from chalicelib.relayer.records import (
    AccountUse,
    CallStatus,
    RelayedTransaction,
    RelayerAccount,
    Reverts,
    Role,
    Taking,
)
from chalicelib.relayer.reservations import Limits
from chalicelib.relayer.reverts import FREE_REVERTS, after_outcome, payer_name
from chalicelib.relayer.rules import Budget, Call, SubmissionStatus, Use
from chalicelib.relayer.tracking import track
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.escrows import CONTRACTS
from tests.fakes.lying_node import Liar, served
from tests.fakes.memory_store import MemoryStore
from tests.fakes.mempool import Raw
from tests.fakes.world import PAYEE, START, WALLET, World

TOKEN = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

READING = AccountReading(100, 0, BaseUnits(10**24), BaseUnits(10), BaseUnits(1))
GAS = 100_000
PRICE = 21
LIMIT = 100 * GAS * PRICE
BUDGET = Budget(10**9, LIMIT, 25, 20)
DRY = StepResult(True, None, GAS)


class Day:
    """The relayer's account and the uses of accounts, as submissions change them one after the other."""

    def __init__(self) -> None:
        self.account = RelayerAccount("base", PAYEE, 0, "", BaseUnits(0))
        self.uses: dict[str, AccountUse] = {}
        self.count = 0

    def submit(self, account_id: str, use: Use, now_days: int = 0, **changes: object) -> rules.Submission:
        self.count += 1
        call = replace(
            Call(f"call/{self.count}", "base", PAYEE, "0x", 0, GAS, account_id=account_id, use=use), **changes  # type: ignore[arg-type]
        )
        made = reservations.reserve(
            self.account, [(call, DRY)], READING, Limits(BUDGET, {}, self.uses), START + timedelta(days=now_days)
        )
        self.account = made.account
        self.uses |= {each.account_id: each for each in made.uses}
        (submission,) = made.submissions
        return submission


CALLS = st.lists(
    st.tuples(st.sampled_from([f"stranger{n}" for n in range(12)]), st.sampled_from([Use.ORDINARY, Use.PROTECTED])),
    max_size=200,
)


@settings(max_examples=60, deadline=None)
@given(CALLS)
def test_whatever_strangers_do_a_capture_of_what_was_authorized_is_sent(calls: list[tuple[str, Use]]) -> None:
    day = Day()
    assert day.submit("shop", Use.ORDINARY, prepays=2 * GAS).status is SubmissionStatus.ACCEPTED
    for account_id, use in calls:
        day.submit(account_id, use)
    assert day.submit("shop", Use.PREPAID).status is SubmissionStatus.ACCEPTED, "the capture"
    assert day.submit("shop", Use.PREPAID, now_days=3).status is SubmissionStatus.ACCEPTED, "the void, later"


@settings(max_examples=60, deadline=None)
@given(CALLS)
def test_no_limit_is_passed_and_the_reserve_is_for_protected_calls_alone(calls: list[tuple[str, Use]]) -> None:
    day = Day()
    for account_id, use in calls:
        before = day.account.spent
        submission = day.submit(account_id, use)
        if submission.status is SubmissionStatus.ACCEPTED and use is Use.ORDINARY:
            assert day.account.spent <= LIMIT * 75 // 100
        assert day.account.spent <= LIMIT
        assert submission.status is SubmissionStatus.ACCEPTED or day.account.spent == before
        assert all(each.spent <= LIMIT * 20 // 100 for each in day.uses.values())
    assert sum(each.spent for each in day.uses.values()) == day.account.spent


def test_what_was_counted_while_gas_was_cheap_costs_an_account_no_more_than_a_days_limit_later() -> None:
    """Somebody authorizes next to nothing again and again, and has all of it captured when gas costs ten times as much."""
    day, dear = Day(), replace(READING, base_fee=BaseUnits(100), tip=BaseUnits(10))

    def capture(account_id: str, number: int, now_days: int = 0) -> rules.Submission:
        call = Call(f"capture/{number}", "base", PAYEE, "0x", 0, GAS, account_id=account_id, use=Use.PREPAID)
        now = START + timedelta(days=now_days)
        made = reservations.reserve(day.account, [(call, DRY)], dear, Limits(BUDGET, {}, day.uses), now)
        day.account = made.account
        day.uses |= {each.account_id: each for each in made.uses}
        day.count += made.submissions[0].status is SubmissionStatus.ACCEPTED
        return made.submissions[0]

    for number in range(100):
        capture("stranger", number)
    cost = GAS * 210
    assert day.count == 10
    assert day.account.spent == 0 and day.uses["stranger"].prepaid == day.count * cost
    assert capture("stranger", 100).status is SubmissionStatus.POSTPONED
    assert capture("shop", 101).status is SubmissionStatus.ACCEPTED, "others are not stopped"
    assert capture("stranger", 102, now_days=1).status is SubmissionStatus.ACCEPTED, "the next day"


def test_a_call_counts_with_those_that_have_to_follow_it_up_to_the_exact_limit_of_a_day() -> None:
    day = Day()
    assert day.submit("shop", Use.PROTECTED, prepays=2 * GAS).status is SubmissionStatus.ACCEPTED
    assert day.account.spent == day.uses["shop"].spent == 3 * GAS * PRICE
    others = [day.submit(f"stranger{number % 6}", Use.PROTECTED).status for number in range(120)]
    assert others.count(SubmissionStatus.ACCEPTED) == 97 and day.account.spent == LIMIT
    assert day.submit("shop", Use.PREPAID).status is SubmissionStatus.ACCEPTED
    assert day.account.spent == LIMIT, "it was counted before"
    assert day.uses["shop"].prepaid == GAS * PRICE and day.uses["stranger1"].prepaid == 0


def test_a_worker_whose_clock_is_a_day_behind_gives_nobody_the_gas_of_the_day_again() -> None:
    day = Day()
    used = [day.submit(f"shop{number}", Use.PROTECTED, now_days=1).status for number in range(100)]
    assert used.count(SubmissionStatus.ACCEPTED) == 100 and day.account.spent == LIMIT
    assert day.submit("late", Use.PROTECTED).status is SubmissionStatus.POSTPONED
    assert day.submit("shop", Use.PROTECTED, now_days=1).status is SubmissionStatus.POSTPONED
    assert day.account.spent == LIMIT
    assert day.submit("shop", Use.PROTECTED, now_days=2).status is SubmissionStatus.ACCEPTED


def test_a_worker_whose_clock_is_a_day_behind_gives_no_account_its_share_of_the_day_again() -> None:
    day = Day()
    used = [day.submit("shop", Use.ORDINARY, now_days=1).status for _ in range(30)]
    assert used.count(SubmissionStatus.ACCEPTED) == 15
    late = day.submit("shop", Use.ORDINARY)
    assert (late.status, late.is_limited) == (SubmissionStatus.POSTPONED, True)
    assert day.submit("other", Use.ORDINARY).status is SubmissionStatus.ACCEPTED
    assert {each.day for each in day.uses.values()} == {"2026-03-16"}, "it counts for the day of the relayer's account"
    assert day.submit("shop", Use.ORDINARY, now_days=2).status is SubmissionStatus.ACCEPTED


def test_what_an_account_has_used_is_read_for_the_day_of_the_relayers_account_whatever_clock_a_worker_has() -> None:
    world = World(object(), relayer_keys={"sepolia": "secret"}, relayer_daily_limits={"sepolia": "0.01"})
    world.services = replace(world.services, store=MemoryStore())

    def submit(number: int) -> SubmissionStatus:
        call = Call(f"call/{number}", "sepolia", PAYEE, "0x", gas_limit=GAS, account_id="shop")
        return flows.submit(world.services, [call])[0].status

    world.advance(86_400)
    accepted = 0
    while submit(accepted) is SubmissionStatus.ACCEPTED:
        accepted += 1
    assert accepted
    world.advance(-86_400)
    assert submit(accepted + 1) is SubmissionStatus.POSTPONED


def test_without_shares_one_account_may_use_the_whole_limit_of_a_day() -> None:
    assert [Budget(1, 1000).room(use) for use in Use] == [Budget(1, 1000).share(use) for use in Use] == [1000, 1000, None]


@pytest.mark.parametrize(("inward", "is_counted"), [(True, False), (False, True), (None, False)])
def test_what_a_call_moves_out_of_the_account_is_counted_from_its_acceptance_on(
    inward: bool | None, is_counted: bool
) -> None:
    moves = None if inward is None else Move("permit/1", PAYEE, BaseUnits(10), inward)
    call = Call("call/1", "base", PAYEE, "0x", 0, GAS, moves=moves, account_id="shop")
    made = reservations.reserve(Day().account, [(call, DRY)], READING, Limits(BUDGET), START)
    assert (made.transactions[0].moves, made.transactions[0].is_counted) == (moves, is_counted)


def test_an_account_that_has_used_its_share_waits_alone() -> None:
    day = Day()
    led = [day.submit("stranger", Use.ORDINARY) for _ in range(16)]
    assert [each.status for each in led].count(SubmissionStatus.ACCEPTED) == 15, "a fifth of three quarters of 100 calls"
    assert led[-1].is_limited and "share" in (led[-1].reason or "")
    other = day.submit("shop", Use.ORDINARY)
    assert other.status is SubmissionStatus.ACCEPTED
    assert day.submit("stranger", Use.ORDINARY, now_days=1).status is SubmissionStatus.ACCEPTED, "the next day"


def test_what_runs_foreign_code_is_sent_with_its_limit_which_counts() -> None:
    day = Day()
    call = Call("k", "base", PAYEE, "0x", 0, 400_000, account_id="shop", runs_foreign_code=True)
    made = reservations.reserve(day.account, [(call, StepResult(True, None, 26_050))], READING, Limits(BUDGET), START)
    assert made.transactions[0].gas_limit == 400_000 and made.account.spent == 400_000 * PRICE
    poor = replace(READING, balance=BaseUnits(399_999 * PRICE))
    refused = reservations.reserve(day.account, [(call, StepResult(False, "no funds"))], poor, Limits(BUDGET), START)
    assert refused.submissions[0].status is SubmissionStatus.POSTPONED


def test_the_limit_of_a_signature_is_what_an_honest_wallet_needs() -> None:
    assert [rules.signature_gas(each) for each in ("base", "mainnet", "unknown")] == [100_000, 100_000, 400_000]
    assert rules.signature_gas("base", deploys=True) == 600_000


@pytest.mark.parametrize(("count", "minutes"), [(0, 0), (2, 0), (3, 1), (4, 2), (6, 8), (12, 360), (10_000, 360)])
def test_each_further_revert_doubles_the_delay_of_the_account_alone(count: int, minutes: int) -> None:
    reverts = {"stranger": Reverts("base", "stranger", count, START)}

    def submitted(account_id: str, use: Use, seconds: int) -> SubmissionStatus:
        call = Call("k", "base", PAYEE, "0x", 0, GAS, account_id=account_id, use=use)
        now = START + timedelta(seconds=seconds)
        made = reservations.reserve(Day().account, [(call, DRY)], READING, Limits(BUDGET, {}, {}, reverts), now)
        (submission,) = made.submissions
        assert submission.is_limited is (submission.status is SubmissionStatus.POSTPONED), "this account waits alone"
        return submission.status

    assert submitted("stranger", Use.ORDINARY, minutes * 60) is SubmissionStatus.ACCEPTED
    waits = SubmissionStatus.POSTPONED if minutes else SubmissionStatus.ACCEPTED
    assert submitted("stranger", Use.ORDINARY, minutes * 60 - 1) is waits
    assert submitted("shop", Use.ORDINARY, 0) is SubmissionStatus.ACCEPTED
    for use in (Use.PROTECTED, Use.PREPAID):
        assert submitted("stranger", use, 0) is SubmissionStatus.ACCEPTED, "what protects tokens is not delayed"


def delayed(services: Services, *payers: str) -> set[str]:
    return {payer for payer, each in find_delays(services, "sepolia", payers).items() if each.reason is not None}


def test_what_a_payer_has_reverted_delays_that_payer_alone() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())
    world.chain.mempool.executes = lambda raw: "no" if raw.data == "0xbad0" else None

    def submit(key: str, data: str, payer: str | None) -> SubmissionStatus:
        payers = (payer,) if payer is not None else ()
        (sent,) = flows.submit(services, [Call(key, "sepolia", PAYEE, data, account_id="shop", payers=payers)])
        return sent.status

    assert submit("bad", "0xbad0", WALLET) is SubmissionStatus.ACCEPTED
    assert submit("good", "0x12", WALLET) is SubmissionStatus.WAITING, "it may be reverted, too"
    assert submit("first", "0x12", PAYEE) is SubmissionStatus.ACCEPTED
    world.advance(61)
    world.relay(services)
    assert submit("same", "0x12", WALLET.lower()) is SubmissionStatus.POSTPONED, "one reverted call in a day"
    assert delayed(services, WALLET, PAYEE) == {WALLET}
    assert submit("other", "0x12", PAYEE) is SubmissionStatus.ACCEPTED
    assert submit("none", "0x12", None) is SubmissionStatus.ACCEPTED
    world.advance(60 * 60 * 24)
    assert submit("same", "0x12", WALLET) is SubmissionStatus.ACCEPTED


def test_the_next_call_of_a_payer_is_made_as_soon_as_the_one_before_has_succeeded() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())

    def submit(key: str, account_id: str) -> SubmissionStatus:
        call = Call(key, "sepolia", PAYEE, "0x12", account_id=account_id, payers=(WALLET,))
        (sent,) = flows.submit(services, [call])
        return sent.status

    both = [Call(key, "sepolia", PAYEE, "0x12", account_id="shop", payers=(WALLET,)) for key in ("first", "second")]
    assert [each.status for each in flows.submit(services, both)] == [SubmissionStatus.ACCEPTED, SubmissionStatus.WAITING]
    assert submit("first", "shop") is SubmissionStatus.ACCEPTED, "it was accepted before"
    assert submit("third", "another shop") is SubmissionStatus.WAITING
    world.advance(61)
    world.relay(services)
    assert submit("second", "shop") is SubmissionStatus.ACCEPTED
    open_call = store.reverts(services.store, "sepolia", payer_name(WALLET))
    assert open_call is not None and (open_call.open_calls, open_call.vanishes_at) == (("second",), None)


def test_a_call_is_made_beside_the_open_one_that_it_follows_and_though_that_one_is_reverted() -> None:
    """Anybody can send a permit before the service does: its own is reverted, and the tokens are taken by the other."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())
    world.chain.mempool.executes = lambda raw: "the nonce was used" if raw.data == "0xbad0" else None

    def submit(key: str, data: str = "0x12", follows: str | None = None) -> SubmissionStatus:
        call = Call(key, "sepolia", PAYEE, data, account_id="shop", payers=(WALLET,), follows=follows)
        (sent,) = flows.submit(services, [call])
        return sent.status

    assert submit("permit", "0xbad0") is SubmissionStatus.ACCEPTED
    assert submit("another permit", "0xbad0") is SubmissionStatus.WAITING
    assert submit("another take", follows="another permit") is SubmissionStatus.WAITING
    world.advance(61)
    world.relay(services)
    assert submit("another take", follows="another permit") is SubmissionStatus.POSTPONED
    assert submit("take", follows="permit") is SubmissionStatus.ACCEPTED
    assert submit("permit/2", "0xbad0") is SubmissionStatus.WAITING


def test_of_a_batch_a_permit_and_the_taking_after_it_two_are_reverted_in_two_days() -> None:
    """A permit that was reverted alone does not delay the taking, which is reverted too if the payer moves the tokens."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services, made = replace(world.services, store=MemoryStore()), list[datetime]()
    world.chain.mempool.executes = lambda raw: made.append(world.now) or "no"
    begun = world.now
    for day in range(7):
        for name, others, follows in (("batch", 1, None), ("permit", 0, None), ("take", 0, f"permit {day}")):
            payers = (WALLET, *(f"0x{day:040x}" for _ in range(others)))
            call = Call(f"{name} {day}", "sepolia", PAYEE, "0x12", account_id="shop", payers=payers, follows=follows)
            flows.submit(services, [call])
            world.advance(61)
            world.relay(services)
        world.advance(60 * 60 * 24)
    assert [(at - begun).days for at in made] == [0, 0, 2, 2, 4, 4, 6, 6]


@pytest.mark.parametrize("refusal", [None, "no"])
def test_a_call_that_a_deep_fork_reopens_is_its_payers_open_one_again_and_its_outcome_counts_once(
    refusal: str | None,
) -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services, mempool = replace(world.services, store=MemoryStore()), world.chain.mempool
    mempool.executes = lambda raw: refusal if raw.data == "0x12" else None

    def submit(key: str, data: str, *payers: str) -> SubmissionStatus:
        call = Call(key, "sepolia", PAYEE, data, account_id="shop", payers=payers, many_open=True)
        (sent,) = flows.submit(services, [call])
        return sent.status

    def counted() -> Reverts:
        found = store.reverts(services.store, "sepolia", payer_name(WALLET))
        assert found is not None
        return found

    submit("first", "0x12", WALLET)
    world.advance(61)
    world.relay(services)
    ended = counted()
    assert (ended.open_calls, ended.count, ended.successes) == ((), int(refusal is not None), int(refusal is None))
    mempool.executed.clear()
    mempool.holds = True
    submit("of nobody", "0x13")
    world.advance(61)
    world.relay(services)
    assert (counted().open_calls, counted().count, counted().successes) == (("first",), 0, 0)
    assert submit("second", "0x14", WALLET) is SubmissionStatus.WAITING, "the first one has no outcome again"
    mempool.holds = False
    for _ in range(3):
        world.advance(61)
        world.relay(services)
    again = counted()
    assert (again.open_calls, again.count, again.successes) == ((), ended.count, ended.successes)
    assert again.until is None or again.until <= again.last_at + timedelta(days=1), "one day for one revert"


def test_an_open_call_that_an_earlier_version_has_closed_holds_nothing_up() -> None:
    """It writes the call's outcome, and knows no open calls of payers."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())
    call = Call("first", "sepolia", PAYEE, "0x12", account_id="shop", payers=(WALLET,))
    flows.submit(services, [call])
    stuck = store.reverts(services.store, "sepolia", payer_name(WALLET))
    assert stuck is not None and stuck.open_calls == ("first",)
    assert delayed(services, WALLET, PAYEE) == {WALLET}
    world.advance(61)
    world.relay(services)
    closed = store.reverts(services.store, "sepolia", payer_name(WALLET))
    assert closed is not None
    services.store.write(replace(closed, open_call="first"))
    assert delayed(services, WALLET) == set()
    (sent,) = flows.submit(services, [replace(call, key="second")])
    assert sent.status is SubmissionStatus.ACCEPTED


MOVES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["shop", "other"]), st.sampled_from(["pay", "turn", "blocks", "hours"])),
    min_size=60, max_size=120,
)


@settings(max_examples=40, deadline=None)
@given(MOVES)
def test_whatever_payers_do_each_wallet_costs_the_gas_of_one_reverted_call_in_a_day(
    moves: list[tuple[int, str, str]],
) -> None:
    """Wallets 0 and 1 have their calls reverted or not, as they like at the moment of the block: they are emptied, or
    their code says no. Wallet 2 is honest."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"}, relayer_daily_limits={"sepolia": "1000"})
    services, refusing, reverted = replace(world.services, store=MemoryStore()), set[str](), list[tuple[str, datetime]]()

    def execute(raw: Raw) -> str | None:
        wallet = raw.data[:42]
        if wallet not in refusing:
            return None
        reverted.append((wallet, world.now))
        return "no"

    world.chain.mempool.executes = execute
    is_open = False
    for number, (payer, shop, kind) in enumerate(moves):
        wallet = f"0x{payer:040x}"
        if kind == "pay":
            call = Call(f"k{number}", "sepolia", PAYEE, wallet, account_id=shop, payers=(wallet,), gas_limit=60_000)
            (sent,) = flows.submit(services, [call])
            if payer == 2:
                expected = SubmissionStatus.WAITING if is_open else SubmissionStatus.ACCEPTED
                assert sent.status is expected, "others delay nobody"
                is_open = True
        elif kind == "turn" and payer != 2:
            refusing ^= {wallet}
        elif kind == "blocks":
            world.relay(services)
            is_open = False
        elif kind == "hours":
            world.advance(60 * 60 * 5)
    for wallet in {each for each, _ in reverted}:
        times = [at for each, at in reverted if each == wallet]
        assert all(after - before >= timedelta(days=1) for before, after in itertools.pairwise(times))


def test_a_call_of_several_payers_that_is_reverted_delays_none_of_them_and_has_each_pay_alone_for_a_day() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())
    world.chain.mempool.executes = lambda raw: "no" if raw.data == "0xbad0" else None
    cheat, honest, third = (f"0x{number:040x}" for number in (1, 2, 3))

    def submit(key: str, *payers: str, data: str = "0x12") -> SubmissionStatus:
        (sent,) = flows.submit(services, [Call(key, "sepolia", PAYEE, data, account_id="shop", payers=payers)])
        world.advance(61)
        world.relay(services)
        return sent.status

    assert submit("both", cheat, honest, data="0xbad0") is SubmissionStatus.ACCEPTED
    assert delayed(services, cheat, honest) == set(), "nobody knows who it was"
    assert {payer for payer, each in find_delays(services, "sepolia", [cheat, honest, third]).items() if each.is_alone} == {
        cheat, honest,
    }  # fmt: skip
    assert submit("both again", cheat, third) is SubmissionStatus.POSTPONED
    assert [submit("honest", honest), submit("honest/2", honest)] == [SubmissionStatus.ACCEPTED] * 2
    assert submit("cheat", cheat, data="0xbad0") is SubmissionStatus.ACCEPTED
    assert submit("cheat/2", cheat) is SubmissionStatus.POSTPONED
    assert store.reverts(services.store, "sepolia", "shop") is None, "nor does the shop wait"
    world.advance(60 * 60 * 24)
    assert submit("together", honest, third) is SubmissionStatus.ACCEPTED
    assert submit("cheat/3", cheat) is SubmissionStatus.POSTPONED, "a day for each of the two calls"
    world.advance(60 * 60 * 24)
    assert submit("cheat/4", cheat, honest) is SubmissionStatus.ACCEPTED


def test_payers_of_one_call_have_one_open_call_each_whatever_calls_they_are() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())

    def submit(key: str, *payers: str, **changes: Any) -> SubmissionStatus:
        call = Call(key, "sepolia", PAYEE, "0x12", account_id="shop", payers=payers, **changes)
        (sent,) = flows.submit(services, [call])
        return sent.status

    assert submit("both", WALLET, PAYEE) is SubmissionStatus.ACCEPTED
    assert [submit("first", WALLET), submit("second", PAYEE)] == [SubmissionStatus.WAITING] * 2
    assert submit("third", PAYEE, many_open=True) is SubmissionStatus.WAITING


def test_an_unproven_call_that_is_no_recurring_payouts_holds_the_payers_recurring_payouts_and_others_for_good() -> None:
    """Otherwise a wallet had a second call reverted within a day, while a dead node keeps the first from being proven."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())

    def submit(key: str, **changes: Any) -> SubmissionStatus:
        call = Call(key, "sepolia", PAYEE, "0x12", account_id="shop", payers=(WALLET,), **changes)
        (sent,) = flows.submit(services, [call])
        return sent.status

    assert submit("payout", many_open=True) is SubmissionStatus.ACCEPTED
    assert submit("authorization") is SubmissionStatus.WAITING
    world.advance(60 * 60)
    assert submit("authorization") is SubmissionStatus.ACCEPTED, "a recurring payout's call holds nobody longer"
    world.advance(60 * 60 * 24 * 10)
    assert submit("payout/2", many_open=True) is SubmissionStatus.WAITING
    assert submit("authorization/2") is SubmissionStatus.WAITING
    known = store.reverts(services.store, "sepolia", payer_name(WALLET))
    assert known is not None and known.open_calls == ("authorization",)


def test_a_payer_may_have_an_open_call_more_for_each_four_that_have_succeeded_until_one_is_reverted() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"}, relayer_daily_limits={"sepolia": "1000"})
    services = replace(world.services, store=MemoryStore())
    world.chain.mempool.executes = lambda raw: "no" if raw.data == "0xbad0" else None
    numbers = itertools.count()

    def accepted(count: int, data: str = "0x12", **changes: Any) -> int:
        """How many of so many calls that are submitted at once are accepted; they are in blocks then."""
        keys = [f"call/{next(numbers)}" for _ in range(count)]
        arguments: Any = {"account_id": "shop", "payers": (WALLET,), "many_open": True, "gas_limit": 60_000, **changes}
        calls = [Call(key, "sepolia", PAYEE, data, **arguments) for key in keys]
        statuses = [each.status for start in range(0, count, 10) for each in flows.submit(services, calls[start : start + 10])]
        assert set(statuses) <= {SubmissionStatus.ACCEPTED, SubmissionStatus.WAITING, SubmissionStatus.POSTPONED}
        world.advance(61)
        world.relay(services)
        return statuses.count(SubmissionStatus.ACCEPTED)

    assert [accepted(3) for _ in range(7)] == [1, 1, 1, 1, 2, 2, 3]
    assert accepted(3, many_open=False) == 1, "others are made one after the other all the same"
    counted = store.reverts(services.store, "sepolia", payer_name(WALLET))
    assert counted is not None and counted.successes == 12
    services.store.write(replace(counted, successes=1_000))
    assert accepted(120) == 100, "and no more than a hundred"
    world.advance(60 * 60 * 24 * 90)
    assert accepted(20) == 20, "in the next months, too"
    assert accepted(20, "0xbad0") == 20
    world.advance(60 * 60 * 48)
    assert [accepted(9) for _ in range(5)] == [1, 1, 1, 1, 2], "it begins anew"
    world.advance(60 * 60 * 24 * 101)
    assert accepted(9) == 2, "DynamoDB deletes what has vanished, at some time"


def test_a_payers_revert_delays_it_though_a_call_with_others_that_was_open_beside_it_is_reverted_later() -> None:
    now, call = START, Call("both", "base", PAYEE, "0x12", account_id="shop", payers=(WALLET, PAYEE))
    alone = replace(call, key="alone", payers=(WALLET,), many_open=True)
    known = {payer_name(WALLET): Reverts("base", payer_name(WALLET), 0, now, successes=4)}

    def reserve(number: int, call: Call) -> reservations.Reservation:
        account, limits = RelayerAccount("base", PAYEE, number, "", BaseUnits(0)), Limits(Budget(10**9, 10**30), {}, {}, known)
        return reservations.reserve(account, [(call, DRY)], READING, limits, now)

    both = reserve(1, call)
    known = {each.account_id: each for each in both.payers}
    beside = reserve(2, alone)
    reverts = known[payer_name(WALLET)]
    for (transaction,) in (beside.transactions, both.transactions):
        reverts = after_outcome(reverts, payer_name(WALLET), transaction, CallStatus.REVERTED, now) or reverts
    known = {payer_name(WALLET): reverts}
    assert [each.status for each in reserve(3, alone).submissions] == [SubmissionStatus.POSTPONED]
    assert [each.status for each in reserve(3, call).submissions] == [SubmissionStatus.POSTPONED]
    now += timedelta(days=2)
    assert [each.status for each in reserve(3, alone).submissions] == [SubmissionStatus.ACCEPTED]


def test_a_call_that_is_accepted_while_others_of_its_payer_end_holds_up_no_outcome() -> None:
    """Both write what is open of the payer; other accounts' outcomes are found by the same check."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    memory, name = MemoryStore(), payer_name(WALLET)
    services = replace(world.services, store=memory)
    arguments: Any = {"account_id": "shop", "payers": (WALLET,), "many_open": True}
    memory.write(Reverts("sepolia", name, 0, world.now, successes=100))
    flows.submit(services, [Call(key, "sepolia", PAYEE, "0x12", **arguments) for key in ("first", "second")])
    flows.submit(services, [Call("other", "sepolia", PAYEE, "0x12", account_id="another shop")])
    write, meanwhile = memory.write, [Call("third", "sepolia", PAYEE, "0x12", **arguments)]

    def write_later(*writes: Any) -> Any:
        if meanwhile and any(isinstance(each, Reverts) for each in writes):
            flows.submit(services, [meanwhile.pop()])
        return write(*writes)

    world.advance(61)
    closing = replace(services, store=copy(memory))
    closing.store.write = write_later  # type: ignore[method-assign]
    world.relay(closing)
    outcomes = {key: flows.outcome(services, key) for key in ("first", "second", "other")}
    assert {key: each and each.status for key, each in outcomes.items()} == dict.fromkeys(outcomes, CallStatus.SUCCEEDED)
    counted = store.reverts(memory, "sepolia", name)
    assert counted is not None and (counted.open_calls, counted.successes) == (("third",), 102)


def test_a_thousand_wallets_with_schedules_cost_one_reverted_call_each_in_a_day_and_one_for_each_four_that_succeed() -> None:
    """Each has six calls due at any time and has them reverted, as it likes, for four days."""
    budget, chance = Budget(10**9, 10**30), random.Random(1)
    account, known = RelayerAccount("base", PAYEE, 0, "", BaseUnits(0)), dict[str, Reverts]()
    reverted, succeeded = dict[str, list[datetime]](), dict[str, list[datetime]]()
    wallets = [f"0x{number:040x}" for number in range(1_000)]
    for turn in range(12):
        now, transactions = START + timedelta(hours=8 * turn), list[RelayedTransaction]()
        for wallet in wallets:
            key, changes = f"{wallet}/{turn}", {"account_id": "shop", "payers": (wallet,), "many_open": True}
            calls = [(Call(f"{key}/{n}", "base", PAYEE, wallet, 0, GAS, **changes), DRY) for n in range(6)]  # type: ignore[arg-type]
            made = reservations.reserve(account, calls, READING, Limits(budget, {}, {}, known), now)
            account, transactions = made.account, [*transactions, *made.transactions]
            known |= {each.account_id: each for each in made.payers}
        cheats = {wallet for number, wallet in enumerate(wallets) if turn == 11 or chance.random() < (0.7, 0.1, 0.0)[number % 3]}
        for each in transactions:
            (reverted if each.data in cheats else succeeded).setdefault(each.data, []).append(now)
            status = CallStatus.REVERTED if each.data in cheats else CallStatus.SUCCEEDED
            (name,) = each.payers
            known[name] = after_outcome(known[name], name, each, status, now) or known[name]
    assert len(reverted) == 1_000 and {len(succeeded[wallet]) > 20 for wallet in wallets[2::3]} == {True}
    for wallet, times in reverted.items():
        before = sum(each < times[-1] for each in succeeded.get(wallet, ()))
        assert len(times) <= 1 + (times[-1] - times[0]).days + before // 4
    assert any(len(set(each)) < len(each) for each in reverted.values()), "what has succeeded allows several at once"


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), follows=st.sampled_from([0.2, 0.5, 0.9]), hours=st.sampled_from([1, 6, 11]))
def test_wallets_that_mix_calls_of_all_kinds_cost_one_reverted_call_each_in_a_day_beside_what_they_pay_for(
    seed: int, follows: float, hours: int
) -> None:
    """Calls of payrolls and others, each after any earlier one that the wallet likes, reverted as it likes.

    A call that was reverted and that the next one follows, which succeeds, is part of that payment: it costs less than
    if both had succeeded. Beside those a wallet costs one in a day, one at first, and one for each four that succeed.
    """
    chance, numbers = random.Random(seed), itertools.count()
    account, known = RelayerAccount("base", PAYEE, 0, "", BaseUnits(0)), dict[str, Reverts]()
    made = dict[str, list[tuple[datetime, RelayedTransaction, CallStatus]]]()
    wallets = {f"0x{number:040x}": chance.choice([0.1, 0.5, 0.9, None]) for number in range(12)}

    def call_of(wallet: str) -> Call:
        earlier = [each.call_key for _, each, _ in made.get(wallet, ())[-3:]]
        named = known.get(payer_name(wallet))
        earlier += [*named.open_calls, named.reverted_call or "-"] if named is not None else []
        key = chance.choice(earlier) if earlier and chance.random() < follows else None
        arguments: Any = {"account_id": "shop", "payers": (wallet,), "many_open": chance.random() < 0.5, "follows": key}
        return Call(f"call/{next(numbers)}", "base", PAYEE, wallet, 0, GAS, **arguments)

    for turn in range(24):
        now, transactions = START + timedelta(hours=hours * turn), list[RelayedTransaction]()
        for wallet in wallets:
            for _ in range(chance.randint(1, 4)):
                limits = Limits(Budget(10**9, 10**30), {}, {}, known)
                reserved = reservations.reserve(account, [(call_of(wallet), DRY)], READING, limits, now)
                account, transactions = reserved.account, [*transactions, *reserved.transactions]
                known |= {each.account_id: each for each in reserved.payers}
        chance.shuffle(transactions)
        for each in transactions:
            (name,), share = each.payers, wallets[each.data]
            is_reverted = chance.random() < share if share is not None else each.follows is None
            status = CallStatus.REVERTED if is_reverted else CallStatus.SUCCEEDED
            made.setdefault(each.data, []).append((now, each, status))
            known[name] = after_outcome(known[name], name, each, status, now) or known[name]
    for ended in made.values():
        reverted = {each.call_key: at for at, each, status in ended if status is CallStatus.REVERTED}
        succeeded = [(at, each) for at, each, status in ended if status is CallStatus.SUCCEEDED]
        alone = sorted(at for key, at in reverted.items() if key not in {each.follows for _, each in succeeded})
        if alone:
            paid = sum(at < alone[-1] for at, _ in succeeded)
            assert len(alone) <= 2 + (alone[-1] - alone[0]).days + paid // 4


def test_a_thousand_wallets_cost_one_reverted_call_each_in_a_day_and_one_more_at_first() -> None:
    """They pay alone and together, as they like, and have their calls reverted, as they like, for six days."""
    world = World(client=object(), relayer_keys={"sepolia": "secret"}, relayer_daily_limits={"sepolia": "100000"})
    services, chance = replace(world.services, store=MemoryStore()), random.Random(1)
    payers_of, reverted = dict[str, list[str]](), dict[str, list[datetime]]()

    def execute(raw: Raw) -> str | None:
        payers = payers_of[raw.data]
        if chance.random() < 0.3:
            return None
        for each in payers:
            reverted.setdefault(each, []).append(world.now)
        return "no"

    world.chain.mempool.executes = execute
    wallets = [f"0x{number:040x}" for number in range(1_000)]
    for turn in range(12):
        left = chance.sample(wallets, len(wallets))
        while left:
            size = chance.choice([1, 1, 2, 20])
            payers, left = left[:size], left[size:]
            data = f"0x{turn:04x}{len(left):08x}"
            payers_of[data] = payers
            call = Call(data, "sepolia", PAYEE, data, account_id="shop", payers=tuple(payers), gas_limit=60_000)
            flows.submit(services, [call])
        world.advance(61)
        world.relay(services)
        world.advance(60 * 60 * 12)
    assert len(reverted) > 900
    for times in reverted.values():
        pairs = [(a, b) for a in range(len(times)) for b in range(a + 1, len(times))]
        assert all(times[b] - times[a] >= timedelta(days=b - a - 1) - timedelta(hours=1) for a, b in pairs)


def test_reverts_are_counted_until_a_call_succeeds() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    services = replace(world.services, store=MemoryStore())
    world.chain.mempool.executes = lambda raw: "no" if raw.data == "0xbad0" else None

    def submit(key: str, data: str = "0x12", account_id: str = "stranger") -> SubmissionStatus:
        (sent,) = flows.submit(services, [Call(key, "sepolia", PAYEE, data, account_id=account_id)])
        return sent.status

    for number in range(FREE_REVERTS):
        assert submit(f"bad/{number}", "0xbad0") is SubmissionStatus.ACCEPTED
        world.advance(61)
        world.relay(services)
    counted = store.reverts(services.store, "sepolia", "stranger")
    assert counted is not None and counted.count == FREE_REVERTS
    assert submit("next") is SubmissionStatus.POSTPONED
    assert submit("other", account_id="shop") is SubmissionStatus.ACCEPTED
    world.advance(61)
    assert submit("next") is SubmissionStatus.ACCEPTED
    world.advance(61)
    world.relay(services)
    counted = store.reverts(services.store, "sepolia", "stranger")
    assert counted is not None and counted.count == 0


def test_what_a_wallet_has_promised_altogether_is_held_against_its_balance_and_allowances() -> None:
    """Fourteen payments of all that a wallet has, taken by three contracts: one is sent, and no other costs gas."""
    world = World(client=object(), chains=FakeChains(FakeChain("base")), relayer_keys={"base": "secret"})
    services = replace(world.services, store=MemoryStore())
    chain = services.chains.of("base")
    chain.mempool.holds = True  # type: ignore[attr-defined]
    chain.holding = TokenReading(BaseUnits(100), BaseUnits(10**30))  # type: ignore[attr-defined]
    spenders = [address_of(PERMIT2, "base"), address_of(RECURRING_PROXY, "base"), PAYEE]

    def submit(number: int, amount: int) -> SubmissionStatus:
        takes = Taking(WALLET, TOKEN, spenders[number % 3], BaseUnits(amount))
        key, shop = f"payment/{amount}/{number}", f"shop{number}"
        call = Call(key, "base", PAYEE, "0x12", takes=takes, account_id=shop)
        (submission,) = flows.submit(services, [call])
        return submission.status

    statuses = [submit(number, 100) for number in range(14)]
    assert statuses.count(SubmissionStatus.ACCEPTED) == 1
    assert set(statuses[1:]) == {SubmissionStatus.WAITING}
    chain.holding = TokenReading(BaseUnits(150), BaseUnits(10**30))  # type: ignore[attr-defined]
    assert [submit(number, 20) for number in range(3)] == [SubmissionStatus.ACCEPTED] * 2 + [SubmissionStatus.WAITING]


def test_no_recurring_payout_is_sent_beside_a_gasless_payment_of_its_payer_which_does_not_say_what_it_takes() -> None:
    """Both would take all that the wallet has, and the later one would be reverted."""
    world = World(client=object(), chains=FakeChains(FakeChain("base")), relayer_keys={"base": "secret"})
    services = replace(world.services, store=MemoryStore())
    services.secrets.gasless_networks = "base"  # type: ignore[misc]
    chain = services.chains.of("base")
    chain.mempool.holds = True  # type: ignore[attr-defined]
    chain.holding = TokenReading(BaseUnits(100), BaseUnits(10**30))  # type: ignore[attr-defined]
    services.store.write(Reverts("base", payer_name(WALLET), 0, services.clock(), successes=8))
    takes = Taking(WALLET, TOKEN, address_of(RECURRING_PROXY, "base"), BaseUnits(60))

    def submit(key: str, **changes: Any) -> SubmissionStatus:
        (sent,) = flows.submit(services, [Call(key, "base", PAYEE, "0x12", account_id="shop", payers=(WALLET,), **changes)])
        return sent.status

    assert submit("gasless", role=Role.GASLESS) is SubmissionStatus.ACCEPTED
    assert submit("period", takes=takes, many_open=True) is SubmissionStatus.WAITING
    chain.mempool.holds = False  # type: ignore[attr-defined]
    chain.mine(100)  # type: ignore[attr-defined]
    world.advance(10)
    track(services, "base")
    assert submit("period", takes=takes, many_open=True) is SubmissionStatus.ACCEPTED
    assert submit("next period", takes=replace(takes, amount=BaseUnits(40)), many_open=True) is SubmissionStatus.ACCEPTED


@pytest.mark.parametrize("liar", [0, 1])
def test_one_of_two_nodes_does_not_have_the_service_send_what_a_wallet_cannot_pay(liar: int) -> None:
    honest, lying = FakeChain("base"), FakeChain("base")
    lying.blocks, lying.mempool = honest.blocks, honest.mempool
    lying.holding = TokenReading(BaseUnits(10**30), BaseUnits(10**30))
    world = World(client=object(), chains=FakeChains(honest), relayer_keys={"base": "secret"})
    each: Any = [("honest", honest), ("lying", lying)]
    world._chains._chains["base"] = Nodes(each if liar else each[::-1], world.clock)
    services = replace(world.services, store=MemoryStore())
    spender = address_of(PERMIT2, "base")
    for balance, allowance, status in (
        (99, 100, SubmissionStatus.WAITING),
        (100, 99, SubmissionStatus.WAITING),
        (100, 100, SubmissionStatus.ACCEPTED),
    ):
        honest.holding = TokenReading(BaseUnits(balance), BaseUnits(allowance))
        takes = Taking(WALLET, TOKEN, spender, BaseUnits(100))
        call = Call("lone", "base", PAYEE, "0x12", takes=takes, account_id="shop", payers=(WALLET,))
        (submission,) = flows.submit(services, [call])
        assert submission.status is status
    assert len(honest.mempool.sent) == 1


def test_a_transfer_that_is_signed_needs_no_allowance_and_counts_all_the_same() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"}, escrow_contracts={"sepolia": CONTRACTS})
    chain, services = world.chain, replace(world.services, store=MemoryStore())
    chain.mempool.holds = True
    chain.holding = TokenReading(BaseUnits(150), BaseUnits(0))

    def submit(key: str, amount: int) -> SubmissionStatus:
        takes = Taking(WALLET, TOKEN, CONTRACTS.erc3009, BaseUnits(amount))
        (sent,) = flows.submit(services, [Call(key, "sepolia", PAYEE, "0x12", takes=takes, account_id="shop")])
        return sent.status

    assert [submit("first", 100), submit("second", 100), submit("third", 50)] == [
        SubmissionStatus.ACCEPTED, SubmissionStatus.WAITING, SubmissionStatus.ACCEPTED,
    ]  # fmt: skip


def test_what_the_wallets_of_all_calls_have_is_one_request_to_each_node() -> None:
    world = World(client=object(), relayer_keys={"sepolia": "secret"})
    asked = list[int]()

    def of_node(number: int) -> Liar:
        def read_funds(wanted: list[tuple[str, str, str]]) -> tuple[TokenReading, ...]:
            asked.append(number)
            return tuple(TokenReading(BaseUnits(100), BaseUnits(100 - number)) for _ in wanted)

        return Liar(world.chain, read_funds=read_funds)

    services = replace(served(world.services, "sepolia", of_node(0), of_node(1)), store=MemoryStore())
    wallets = ["0x" + f"{number:040x}" for number in range(1, 11)]
    takings = [Taking(each, TOKEN, PAYEE, BaseUnits(99 + (each == wallets[-1]))) for each in wallets]
    calls = [Call(takes.wallet, "sepolia", PAYEE, "0x12", takes=takes, account_id="shop") for takes in takings]
    found = [each.status for each in flows.submit(services, calls)]
    assert found == [SubmissionStatus.ACCEPTED] * 9 + [SubmissionStatus.WAITING], "the least of what the nodes say"
    assert asked == [0, 1]
