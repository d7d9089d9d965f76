"""The search for payments against a model: a comprehension over all payments."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.base.errors import ValidationFailed
from chalicelib.base.lists import MOST_QUERIES, PUBLIC_QUERIES
from chalicelib.chains.catalogue.tokens import find_tokens, token_with_id
from chalicelib.payments.recording import payment_counts
from chalicelib.payments.requests.list_names import transaction, wallet
from chalicelib.payments.requests.payments.records import Payment, PaymentStatus
from chalicelib.payments.requests.records import DailyCount
from chalicelib.payments.search.payments import flows
from chalicelib.payments.search.payments.records import Filters
from tests.fakes.memory_store import MemoryStore
from tests.fakes.requests import standalone
from tests.payments.search.payments import histories
from tests.payments.search.payments.histories import (
    ACCOUNTS,
    CLIENTS,
    CURRENCIES,
    FIRST,
    INVOICES,
    NETWORKS,
    REFERENCES,
    WALLETS,
)
from tests.support.rehearsed import parts

PAYMENTS, QUERIES, SLICES = 250, 2_000, 4


def matches(filters: Filters, payment: Payment) -> bool:
    token, invoice = token_with_id(payment.currency), token_with_id(payment.invoice_currency)
    assert token is not None and invoice is not None
    payer, payee = payment.payer and wallet(payment.payer), wallet(payment.payee)
    at = payment.paid_at or payment.detected_at
    conditions = [
        payment.status is PaymentStatus.CONFIRMED,
        filters.account_id == payment.account_id,
        filters.request_id in (None, payment.request_id),
        filters.tx_hash in (None, transaction(payment.tx_hash)),
        filters.reference in (None, payment.reference),
        filters.payer in (None, payer),
        filters.payee in (None, payee),
        filters.wallet is None or filters.wallet in (payer, payee),
        filters.client_id in (None, payment.client_id),
        filters.type in (None, payment.type),
        filters.invoice_currency in (None, invoice.id),
        filters.invoice_symbol in (None, invoice.symbol.upper()),
        filters.currency in (None, token.id),
        filters.symbol in (None, token.symbol.upper()),
        filters.network in (None, token.network),
        filters.first is None or at >= filters.first,
        filters.last is None or at <= filters.last,
    ]
    return all(conditions)


def random_filters(random: Random) -> Filters:
    """Mostly one or two filters, sometimes many, and often dates: whole days, parts of days, and the wrong way round."""
    values: dict[str, Any] = {
        "request_id": f"01{random.randrange(42):064x}",
        "tx_hash": f"{random.randrange(62):064x}",
        "reference": random.choice([each for each in REFERENCES if each]),
        "payer": wallet(random.choice(WALLETS)),
        "payee": wallet(random.choice(WALLETS)),
        "wallet": wallet(random.choice(WALLETS)),
        "client_id": random.choice([*CLIENTS[1:], "cli_nobody"]),
        "type": random.choice(("direct", "conversion", "recurring")),
        "invoice_currency": random.choice([*INVOICES[2:], *CURRENCIES]),
        "invoice_symbol": random.choice(("USD", "USDC", "FUSDC")),
        "currency": random.choice(CURRENCIES),
        "symbol": random.choice(("USDC", "USDT", "ETH-SEPOLIA", "DAI")),
        "network": random.choice([*NETWORKS.values(), "matic"]),
    }
    chosen = random.sample(sorted(values), random.choice((0, 1, 1, 1, 2, 2, 3, 5)))
    given: dict[str, Any] = {name: values[name] for name in chosen}
    for name in ("first", "last"):
        if random.random() < 0.4:
            at = FIRST + timedelta(days=random.randrange(-1, 11))
            odd = timedelta(milliseconds=random.choice((1, 1_000, 43_200_000, 86_398_999, random.randrange(86_400_000))))
            whole = timedelta(0) if name == "first" else timedelta(days=1, milliseconds=-1)
            given[name] = at + random.choice((whole, whole, odd))
    return Filters(account_id=random.choice(ACCOUNTS), **given)


@pytest.fixture(scope="module")
def history() -> tuple[Any, list[Payment]]:
    """Payments, of which some were reversed, some came back, and some moved to another day and payer."""
    random, store = Random(7), MemoryStore()
    stored = histories.record(store, (histories.payment(random, number) for number in range(PAYMENTS)))
    for index in random.sample(range(PAYMENTS), 120):
        fate = random.choice(("reversed", "back", "moved"))
        if fate != "moved":
            (stored[index],) = histories.record(store, [replace(stored[index], status=PaymentStatus.REVERSED)])
        if fate == "back":
            (stored[index],) = histories.record(store, [replace(stored[index], status=PaymentStatus.CONFIRMED)])
        if fate == "moved":
            moved = replace(stored[index], paid_at=FIRST + timedelta(days=random.randrange(9)), payer=WALLETS[0])
            (stored[index],) = histories.record(store, [moved])
    return SimpleNamespace(store=store), stored


@pytest.mark.parametrize("part", parts(SLICES))
def test_a_search_finds_what_a_comprehension_over_all_payments_finds_in_its_order_and_number(
    history: tuple[Any, list[Payment]], part: int
) -> None:
    services, stored = history
    random = Random(part)
    for _ in range(QUERIES // SLICES):
        filters = random_filters(random)
        expected = sorted((each for each in stored if matches(filters, each)), key=lambda each: each.listed_at, reverse=True)
        ids = [each.payment_id for each in expected]
        offset, limit = random.choice((0, 0, random.randrange(60), random.randrange(len(ids) + 3))), random.choice((1, 7, 20, 100))
        page = flows.page_at(services, filters, offset, limit)
        assert page.total == len(ids), filters
        assert [each.payment_id for each in page.payments] == ids[offset : offset + limit], filters
        assert (page.cursor is not None) == (offset + limit < len(ids)), filters
        if page.cursor is not None:
            following = flows.page_after(services, filters, page.cursor, limit)
            assert [each.payment_id for each in following.payments] == ids[offset + limit : offset + 2 * limit], filters
            assert (following.total, following.offset) == (len(ids), offset + limit)


def test_a_list_is_read_to_its_end_by_cursor_from_an_empty_one(history: tuple[Any, list[Payment]]) -> None:
    services, stored = history
    filters = Filters(account_id="acct", wallet=wallet(WALLETS[0]))
    seen, cursor = list[str](), ""
    while True:
        page = flows.page_after(services, filters, cursor, 17)
        seen += [each.payment_id for each in page.payments]
        assert page.total is None
        if page.cursor is None:
            break
        cursor = page.cursor
    expected = sorted((each for each in stored if matches(filters, each)), key=lambda each: each.listed_at, reverse=True)
    assert seen == [each.payment_id for each in expected]


def test_a_cursor_continues_its_own_list_and_is_refused_by_any_other(history: tuple[Any, list[Payment]]) -> None:
    services, _ = history
    filters = Filters(account_id="acct", type="direct")
    cursor = flows.page_at(services, filters, 0, 3).cursor
    assert cursor is not None
    others = [
        replace(filters, account_id="other"), replace(filters, type="conversion"), replace(filters, client_id="cli_a"),
        replace(filters, last=datetime(2026, 3, 5, tzinfo=UTC)),
    ]  # fmt: skip
    for other in others:
        with pytest.raises(ValidationFailed, match="cursor is not one of this list"):
            flows.page_after(services, other, cursor, 3)
    assert len(flows.page_after(services, filters, cursor, 3).payments) == 3


@pytest.mark.parametrize("change", ["first", "middle", "last", "cut", "longer", "none", "letters", "padded"])
def test_an_altered_cursor_is_refused(history: tuple[Any, list[Payment]], change: str) -> None:
    services, _ = history
    filters = Filters(account_id="acct", type="direct")
    cursor = flows.page_at(services, filters, 0, 3).cursor
    assert cursor is not None
    swapped = {letter: "B" if letter == "A" else "A" for letter in cursor}
    altered = {
        "first": swapped[cursor[0]] + cursor[1:],
        "middle": cursor[:30] + swapped[cursor[30]] + cursor[31:],
        "last": cursor[:-2] + swapped[cursor[-2]] + cursor[-1],
        "cut": cursor[:-3],
        "longer": cursor + "AAAA",
        "none": "AA",
        "letters": "é" * 8,
        "padded": cursor + "==",
    }[change]
    with pytest.raises(ValidationFailed):
        flows.page_after(services, filters, altered, 3)


def test_a_filter_takes_two_queries_on_the_first_page_and_one_on_every_other_a_symbol_one_for_each_of_its_currencies(
    history: tuple[Any, list[Payment]],
) -> None:
    services, stored = history
    one = stored[0]
    single: dict[str, Any] = {
        "request_id": one.request_id, "reference": "INV-1", "payer": wallet(WALLETS[0]),
        "payee": wallet(WALLETS[1]), "client_id": "cli_a", "type": "direct", "invoice_currency": "USD",
        "invoice_symbol": "USD", "currency": "USDC-base", "symbol": "USDC", "network": "base",
    }  # fmt: skip
    in_usdc = len(find_tokens(symbol="USDC"))
    assert max(Counter(token.symbol.upper() for token in find_tokens()).values()) == in_usdc == 7
    for name, value in single.items():
        lists = in_usdc if name == "symbol" else 1
        filters = Filters(account_id="acct", **{name: value})
        services.store.calls.clear()
        page = flows.page_at(services, filters, 0, 2)
        assert services.store.calls["Query"] == 1 + lists, name
        for _ in range(3):
            assert page.cursor is not None
            services.store.calls.clear()
            page = flows.page_after(services, filters, page.cursor, 1)
            assert services.store.calls["Query"] == lists, name
            if page.cursor is None:
                break
    services.store.calls.clear()
    page = flows.page_at(services, Filters(account_id="acct", wallet=wallet(WALLETS[0])), 0, 2)
    assert services.store.calls["Query"] == 3, "the lists of what the wallet has paid and received, and the counts"
    services.store.calls.clear()
    flows.page_at(services, Filters(account_id="acct", tx_hash=transaction(one.tx_hash)), 0, 2)
    assert services.store.calls["Query"] <= 5, "the lists of the payment's and of the payer's network, and their lengths"


def test_the_payments_of_a_request_are_counted_by_the_request_in_one_query_for_a_page() -> None:
    store, random = MemoryStore(), Random(5)
    services: Any = SimpleNamespace(store=store, entropy=random.randbytes, clock=lambda: FIRST)
    request = standalone(services, client_id="cli_a", created_at=FIRST, confirmed_count=30, payment_count=31)
    store.write(request)
    own = {"request_id": request.request_id, "account_id": "acct", "client_id": "cli_a"}
    stored = histories.record(store, (replace(histories.payment(random, number), **own) for number in range(31)))
    histories.record(store, [replace(stored[3], status=PaymentStatus.REVERSED)])
    for filters, total in (
        (Filters("acct", request.request_id), 30),
        (Filters("acct", request.request_id, client_id="cli_a"), 30),
        (Filters("acct", request.request_id, client_id="cli_b"), 0),
        (Filters("other", request.request_id), 0),
        (Filters("acct", "01" + "0" * 64), 0),
    ):
        store.calls.clear()
        page = flows.page_at(services, filters, 0, 20)
        assert (page.total, len(page.payments)) == (total, min(total, 20)), filters
        assert store.calls.get("Query", 0) == (1 if total else int(filters.request_id != request.request_id)), filters
    both = flows.page_at(services, Filters("acct", request.request_id, type="direct"), 0, 100)
    assert both.total == len(both.payments)


def test_a_payment_that_a_fork_removes_between_two_pages_moves_no_other() -> None:
    random, store = Random(3), MemoryStore()
    services: Any = SimpleNamespace(store=store)
    stored = histories.record(store, (replace(histories.payment(random, number), account_id="acct") for number in range(9)))
    newest = sorted(stored, key=lambda each: each.listed_at, reverse=True)
    first = flows.page_at(services, Filters(account_id="acct"), 0, 3)
    histories.record(store, [replace(each, status=PaymentStatus.REVERSED) for each in newest[2:4]])
    second = flows.page_after(services, Filters(account_id="acct"), first.cursor or "", 3)
    assert [each.payment_id for each in second.payments] == [each.payment_id for each in newest[4:7]]


def test_of_the_counts_of_a_wallet_few_are_read_for_a_client_id_alone_however_many_others_the_account_has() -> None:
    """A wallet has counts for each client id and day; the payments of the one are then counted on the index."""
    random, store = Random(5), MemoryStore()
    services: Any = SimpleNamespace(store=store)
    own = [replace(histories.payment(random, number), account_id="acct", client_id="cli_a", payee=WALLETS[1]) for number in range(9)]
    histories.record(store, own)
    store.put_many(
        DailyCount("acct", payment_counts.of_wallet(WALLETS[1]), f"20{year:02}-01-01", f"cli_{number}", 0)
        for year in range(26) for number in range(400)
    )  # fmt: skip
    read = list[int]()

    def query(*args: Any) -> Any:
        found = MemoryStore.query(store, *args)
        read.append(len(found))
        return found

    store.query = query  # type: ignore[method-assign]
    by_payee = Filters("acct", payee=wallet(WALLETS[1]), client_id="cli_a")
    for queries, most in ((PUBLIC_QUERIES, 5_000), (MOST_QUERIES, 20_000)):
        read.clear()
        page = flows.page_at(services, replace(by_payee, queries=queries), 0, 20)
        assert (page.total, len(page.payments)) == (9, 9)
        assert most // 2 < sum(read) <= most
