"""Nonces under concurrency: on tables in memory with any interleaving, and on a real DynamoDB with real threads."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.base.money import BaseUnits, format_amount
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.platform.services import Services
from chalicelib.platform.storage.store import Store, Write
from chalicelib.relayer import flows, store
from chalicelib.relayer.records import CallStatus, TakenFunds, Taking
from chalicelib.relayer.rules import COIN_DECIMALS, Call
from infra.local.cloud import Cloud
from tests.fakes.chain import FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.mempool import GAS, Raw
from tests.fakes.world import PREFIX, PlainSigningKeys, World

SENDER = PlainSigningKeys.address
SETTINGS: dict[str, Any] = {"relayer_keys": {"sepolia": "secret"}, "relayer_daily_limits": {"sepolia": "1000000"}}
TO = "0x" + "22" * 20
WORKERS = 8


def call(name: str) -> Call:
    return Call(name, "sepolia", TO, "0x" + name.encode().hex(), account_id="acct")


class Overtaken(MemoryStore):
    """Runs other work before some of its writes: every way in which two workers can be interleaved at a write."""

    def __init__(self) -> None:
        super().__init__()
        self.before_write: list[Callable[[], object]] = []

    def write(self, *writes: Write) -> Any:
        if self.before_write:
            self.before_write.pop()()
        return super().write(*writes)


batches = st.lists(
    st.lists(st.integers(0, 9).map(lambda n: f"call/{n}"), min_size=1, max_size=5, unique=True), min_size=1, max_size=6
)


@settings(max_examples=150)
@given(batches=batches, gaps=st.lists(st.integers(0, 2), max_size=6))
def test_however_workers_overtake_each_other_each_key_has_one_nonce_and_none_is_left_out(
    batches: list[list[str]], gaps: list[int]
) -> None:
    world = World(client=object(), **SETTINGS)
    memory = Overtaken()
    services = replace(world.services, store=memory)
    rest = iter(batches)

    def work() -> None:
        names = next(rest, None)
        if names is not None:
            assert {each.status for each in flows.submit(services, [call(name) for name in names])} == {"accepted"}

    for gap in gaps:
        memory.before_write += [work] + [lambda: None] * gap
    for _ in batches:
        work()
    memory.before_write.clear()
    keys = {name for names in batches for name in names}
    found = store.transactions_from(memory, "sepolia", SENDER, 0, 1_000)
    assert [each.nonce for each in found] == list(range(len(keys)))
    assert {each.call_key for each in found} == keys
    for _ in range(4):
        world.advance(61)
        world.relay(services)
    executed = Counter(raw.data for _, raw, _ in world.chain.mempool.executed.values())
    assert executed == {call(name).data: 1 for name in keys}
    for name in keys:
        outcome = flows.outcome(services, name)
        assert outcome is not None and outcome.status is CallStatus.SUCCEEDED


wallets = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 6)), min_size=1, max_size=4), min_size=1, max_size=6
)


@settings(max_examples=150)
@given(batches=wallets, gaps=st.lists(st.integers(0, 2), max_size=6), ends=st.integers(0, 5), has=st.integers(0, 12))
def test_however_workers_overtake_each_other_open_calls_take_no_more_than_a_wallet_has(
    batches: list[list[tuple[str, int]]], gaps: list[int], ends: int, has: int
) -> None:
    """Each wallet has `has`, and after `ends` batches all that was accepted is executed and ends."""
    world = World(client=object(), **SETTINGS)
    memory, mempool = Overtaken(), world.chain.mempool
    services = replace(world.services, store=memory)
    holdings = dict.fromkeys("ab", has)
    names = {f"0x{ord(name):040x}": name for name in "ab"}
    numbers = itertools.count()

    def read_wallet(owner: str, tokens: list[str], spender: str | None = None) -> WalletReading:
        assert (tokens, spender) == ([TO], TO)
        left = BaseUnits(holdings[names[owner]])
        return WalletReading(BaseUnits(0), {TO: TokenReading(left, BaseUnits(left + 1))}, BaseUnits(0))

    def executes(raw: Raw) -> None:
        wallet, amount = bytes.fromhex(raw.data[2:4]).decode(), int(raw.data[4:])
        holdings[wallet] -= amount

    world.chain.read_wallet = read_wallet  # type: ignore[assignment]
    mempool.executes, mempool.holds = executes, True
    mempool.dry_run = lambda to, data: "short" if int(data[4:]) > holdings[bytes.fromhex(data[2:4]).decode()] else None
    rest = iter(batches)

    def work() -> None:
        batch = next(rest, None)
        if batch is None:
            return
        found = flows.submit(services, [taking(f"call/{next(numbers)}", *each) for each in batch])
        assert {each.status for each in found} <= {"accepted", "waiting", "refused"}

    for gap in gaps:
        memory.before_write += [work] + [lambda: None] * gap
    for number in range(len(batches)):
        if number == ends:
            mempool.holds = False
            world.advance(61)
            world.relay(services)
            mempool.holds = True
        work()
        under_way = {names[each.wallet]: each.under_way for each in memory.all(TakenFunds)}
        assert all(0 <= under_way.get(name, 0) <= holdings[name] for name in "ab")
    memory.before_write.clear()
    mempool.holds = False
    for _ in range(3):
        world.advance(61)
        world.relay(services)
    assert min(holdings.values()) >= 0
    assert not any(each.under_way for each in memory.all(TakenFunds))


def taking(key: str, wallet: str, amount: int) -> Call:
    """A call that takes an amount from a wallet; its data say both."""
    takes = Taking(f"0x{ord(wallet):040x}", TO, TO, BaseUnits(amount))
    return Call(key, "sepolia", TO, f"0x{wallet.encode().hex()}{amount:04d}", takes=takes, account_id="acct")


def test_real_threads_on_a_real_table_take_every_nonce_once(cloud: Cloud) -> None:
    """Each worker submits its own calls, and some that all of them submit."""
    world = World(client=cloud.client("dynamodb"), **SETTINGS)
    mempool = world.chain.mempool
    lock = threading.Lock()
    send = mempool.send_raw

    def one_at_a_time(signed: Any) -> Any:
        with lock:
            return send(signed)

    mempool.send_raw = one_at_a_time  # type: ignore[method-assign]
    shared = [call(f"shared/{n}") for n in range(5)]

    def work(worker: int) -> list[str]:
        services = services_of(world, cloud)
        statuses = []
        for turn in range(3):
            own = [call(f"own/{worker}/{turn}/{n}") for n in range(2)]
            for each in flows.submit(services, [*own, *shared]):
                while each.status == "postponed" and each.reason == flows.BUSY:
                    (each,) = flows.submit(services, [call(each.key)])
                statuses.append(each.status.value)
        return statuses

    with ThreadPoolExecutor(WORKERS) as pool:
        statuses = Counter(status for found in pool.map(work, range(WORKERS)) for status in found)
    assert statuses == {"accepted": WORKERS * 3 * 7}
    expected = {each.key for each in shared} | {f"own/{w}/{t}/{n}" for w in range(WORKERS) for t in range(3) for n in range(2)}
    found = store.transactions_from(services_of(world, cloud).store, "sepolia", SENDER, 0, 1_000)
    assert [each.nonce for each in found] == list(range(len(expected)))
    assert {each.call_key for each in found} == expected
    assert len({raw.tx_hash for raw in mempool.sent}) == len(expected)


def test_real_threads_never_spend_more_than_the_limit_of_a_day(cloud: Cloud) -> None:
    world = World(client=cloud.client("dynamodb"), **{**SETTINGS, "relayer_keys": {"base": "secret"}}, chains=FakeChains(FakeChain("base")))
    mempool = world._chains.of("base").mempool
    cost = GAS * 5 // 4 * (2 * mempool.base_fee + mempool.tip)
    limited = replace(world.services.settings, relayer_daily_limits={"base": format_amount(11 * cost + cost // 2, COIN_DECIMALS)}, relayer_reserve_percent=0, relayer_account_percent=100)

    def work(worker: int) -> int:
        services = replace(services_of(world, cloud), settings=limited)
        calls = [replace(call(f"limited/{worker}/{n}"), network="base") for n in range(5)]
        return sum(each.status == "accepted" for each in flows.submit(services, calls))

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(work, range(6))) == 11
    account = store.account(services_of(world, cloud).store, "base", SENDER)
    assert account is not None and (account.next_nonce, account.spent) == (11, 11 * cost)


def services_of(world: World, cloud: Cloud) -> Services:
    """The services of a process of its own."""
    return replace(world.services, store=Store(PREFIX, cloud.client("dynamodb")))
