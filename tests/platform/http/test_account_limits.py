"""What all credentials of an account may do together: calls and items a minute, whoever else uses its client ids."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.payments.links.multicalls.schemas import CreateMulticall
from chalicelib.payments.links.payouts.api import BatchPayouts, CreatePayout
from chalicelib.payments.links.schemas import CreateSecurePayment
from chalicelib.platform.access.callers import Caller
from chalicelib.platform.access.flows import identify
from chalicelib.platform.access.modes import CREDENTIALS, Mode, Tier
from chalicelib.platform.access.rate_limits import store as limit_store
from chalicelib.platform.access.rate_limits.rules import UNITS_PER_MINUTE, account_quota, client_quota, units_window
from chalicelib.platform.http.credentials import read_credential
from chalicelib.platform.http.operation import OPERATIONS
from chalicelib.platform.http.schemas import Input
from chalicelib.platform.settings import MOST_CHILDREN
from chalicelib.webhooks.deliveries.reading import MOST_REPEATED
from chalicelib.webhooks.deliveries.schemas import RedeliverFailed
from tests.fakes.world import PAYEE
from tests.platform.http.test_handling import sent
from tests.platform.http.test_rate_limits import key_of, limits
from tests.support.api import Clock, Configured, stop_time
from tests.support.client import Api, Reply, Shop, item, stored
from tests.support.items import payout
from tests.support.operations import models
from tests.support.running import running
from tests.support.tenants import Tenant

From = Callable[..., Reply]
CREATE, LISTING, TEST = "/v2/secure-payments", "/v2/currencies", "/v1/webhook/test"


def leave(quota: str, units: int) -> None:
    """Counts all units of this minute but so many."""
    services = running()
    window = units_window(quota, 1, services.clock())
    assert limit_store.count(services.store, window, UNITS_PER_MINUTE - units) is not None


def counted(quota: str) -> int:
    """The units of this minute that are counted."""
    services = running()
    window = units_window(quota, 1, services.clock())
    return limit_store.count(services.store, replace(window, limit=10**6), 1) - 1  # type: ignore[operator]


@pytest.fixture
def shifted(configured: Configured, clock: Clock) -> Iterator[From]:
    """Calls a function as if from another address, which a trusted proxy names."""
    with configured(RATE_LIMIT_SCALE="1", TRUSTED_PROXY_HEADER="x-caller"):
        stop_time()
        yield lambda address, ask, shop, headers, items: ask(shop, {**headers, "x-caller": address}, items)


def create(shop: Shop, headers: dict[str, str], items: int, **more: str) -> Reply:
    return shop.api.request("POST", CREATE, {"requests": [item()] * items}, {**headers, **more})


# --- an account ---


def test_all_keys_of_an_account_share_its_calls_in_a_minute(clock: Clock, new_shop: Shop) -> None:
    keys = [key_of(new_shop, tier) for tier in (Tier.DEFAULT, Tier.HIGH_VOLUME, Tier.BASIC)]
    leave(account_quota(new_shop.account_id), 3)
    replies = [new_shop.api.get("/v2/client-ids", headers) for headers in (*keys, *keys)]
    assert [reply.status for reply in replies] == [200] * 3 + [429] * 3
    assert [limits(reply) for reply in replies[:3]] == [(1200, left, 60) for left in (2, 1, 0)]
    assert (limits(replies[3]), replies[3].headers["retry-after"]) == ((1200, 0, 60), "60")
    clock.advance(60)
    assert new_shop.api.get("/v2/client-ids", keys[0]).status == 200


def test_the_headers_show_the_window_with_the_least_left(clock: Clock, new_shop: Shop) -> None:
    key = key_of(new_shop)
    leave(account_quota(new_shop.account_id), 6)
    assert [limits(new_shop.api.get(LISTING, key)) for _ in range(2)] == [(5, 4, 1), (5, 3, 1)]
    clock.advance(1)
    assert limits(create(new_shop, key, 2)) == (1200, 2, 59)


def test_sessions_and_orchestrators_count_for_the_account_of_their_secret(clock: Clock) -> None:
    """A platform that acts for a merchant's client id uses the platform's units, and never the merchant's."""
    tenant, merchant = Tenant(), Tenant()
    own = account_quota(tenant.account_id)
    platform = tenant.by_orchestrator_key()
    for headers in (tenant.by_key(), tenant.by_wallet(), tenant.by_email(), platform):
        assert caller_of(headers).quota == own
    orchestrator_id = tenant.orchestrator.orchestrator_id
    running().store.write(replace(merchant.client, orchestrator_id=orchestrator_id))
    caller = caller_of({**merchant.by_client(), **platform})
    assert (caller.account_id, caller.quota) == (merchant.account_id, own)
    assert caller_of(merchant.by_client()).quota == client_quota(merchant.client_record_id())


def caller_of(headers: dict[str, str]) -> Caller:
    alone = "x-orchestrator-key" in headers and "x-client-id" not in headers
    request = sent(headers)
    credential = read_credential(request, (Mode.ORCHESTRATOR_KEY,) if alone else CREDENTIALS)
    assert credential is not None
    return identify(running(), credential, request.origin, request.ip_address)


def test_a_key_that_insists_uses_up_nothing_of_its_account(clock: Clock, new_shop: Shop) -> None:
    insisting, other = key_of(new_shop, Tier.BASIC), key_of(new_shop)
    leave(account_quota(new_shop.account_id), 3)
    assert [new_shop.api.get(LISTING, insisting).status for _ in range(20)] == [200] * 2 + [429] * 18
    assert [new_shop.api.get(LISTING, other).status for _ in range(2)] == [200, 429]


def test_a_full_account_bans_none_of_its_keys(clock: Clock, new_shop: Shop) -> None:
    key = key_of(new_shop, Tier.BASIC)
    leave(account_quota(new_shop.account_id), 0)
    for _ in range(58):
        assert [new_shop.api.get(LISTING, key).status for _ in range(2)] == [429] * 2
        clock.advance(1)
    clock.advance(2)
    assert new_shop.api.get(LISTING, key).status == 200


# --- items ---


def test_a_call_that_writes_many_items_is_as_many_units(clock: Clock, new_shop: Shop) -> None:
    key = key_of(new_shop, Tier.HIGH_VOLUME)
    leave(account_quota(new_shop.account_id), 16)
    before = stored()
    assert limits(create(new_shop, key, 5)) == (1200, 11, 60)
    assert limits(create(new_shop, key, 1)) == (1200, 10, 60)
    links = stored()
    refused = create(new_shop, key, 11)
    assert (refused.status, limits(refused), refused.headers["retry-after"]) == (429, (1200, 0, 60), "60")
    assert stored() == links != before
    assert limits(create(new_shop, key, 9)) == (1200, 0, 60), "of the refused items none was counted, and the call was"


def test_a_body_that_is_refused_or_repeated_uses_no_units_for_items(clock: Clock, new_shop: Shop) -> None:
    key, once = key_of(new_shop, Tier.HIGH_VOLUME), {"idempotency-key": "batch"}
    leave(account_quota(new_shop.account_id), 13)
    assert new_shop.api.request("POST", CREATE, {"requests": [{}] * 5}, key).status == 400
    assert limits(create(new_shop, key, 5, **once)) == (1200, 7, 60)
    assert limits(create(new_shop, key, 5, **once)) == (1200, 6, 60), "an answer that was kept"


def test_items_that_do_not_fit_are_not_kept_under_an_idempotency_key(clock: Clock, new_shop: Shop) -> None:
    key, once = key_of(new_shop), {"idempotency-key": "later"}
    leave(account_quota(new_shop.account_id), 4)
    assert create(new_shop, key, 5, **once).status == 429
    clock.advance(60)
    assert create(new_shop, key, 5, **once).status == 201


ITEMS: list[tuple[type[Input], dict[str, Any], int]] = [
    (CreateSecurePayment, {"requests": [item()]}, 1),
    (CreateSecurePayment, {"requests": [item()] * 200}, 200),
    (CreatePayout, payout(creatorWalletAddress="0x"), 1),
    (BatchPayouts, {"tokens": ["a"] * 30}, 30),
    (CreateMulticall, {"childTokens": ["a"] * 150}, 150),
    (CreateMulticall, {"childTokens": ["a"] * 5_000}, MOST_CHILDREN),
    (RedeliverFailed, {"since": "2026-03-15T10:00:00Z"}, MOST_REPEATED),
]


@pytest.mark.parametrize(("model", "body", "items"), ITEMS)
def test_a_body_says_how_many_items_it_writes(model: type[Input], body: dict[str, Any], items: int) -> None:
    assert model.model_validate(body).items_written == items


def test_every_body_that_takes_a_list_of_what_it_writes_is_weighed() -> None:
    """A new operation with such a list fails here until its model says how much it writes, or it is named."""
    unweighed = {"allowedDomains", "allowedPayees", "allowedCurrencies", "allowedIps", "contract", "events", "scopes"}
    unweighed |= {"transactionIndices"}  # only returned
    unweighed |= {"transactions"}  # one proposal, of which nothing is written
    for known in OPERATIONS:
        model = models(known).body
        if model is not None and model.items_written.fget is Input.items_written.fget:  # type: ignore[attr-defined]
            lists = {name for name, each in model.model_fields.items() if "list[" in str(each.annotation).lower()}
            assert lists <= unweighed, known


def test_each_payee_that_a_node_is_asked_for_is_a_unit(clock: Clock, new_shop: Shop) -> None:
    leave(account_quota(new_shop.account_id), 80)
    asked = {"amount": "1", "currency": "fUSDC-sepolia", "flow": "pay", "payees": [PAYEE] * 50}
    preview = "/v2/secure-payments/fees/preview"
    assert [new_shop.api.request("POST", preview, asked, new_shop.by_key).status for _ in range(2)] == [200, 429]
    assert new_shop.api.request("POST", preview, {**asked, "payees": []}, new_shop.by_key).status == 200


# --- client ids ---


def test_a_stranger_with_a_client_id_uses_up_no_unit_of_the_account(clock: Clock, new_shop: Shop) -> None:
    leave(account_quota(new_shop.account_id), 2)
    for _ in range(5):
        assert create(new_shop, new_shop.by_client, 4).status == 201
        clock.advance(1)
    assert [new_shop.api.get(LISTING, new_shop.by_key).status for _ in range(3)] == [200, 200, 429]


def record_id(shop: Shop) -> str:
    caller = caller_of(shop.by_client)
    assert caller.client is not None
    return caller.client.record_id


def test_a_stranger_can_stop_creation_by_a_client_id_and_nothing_else(clock: Clock, new_shop: Shop) -> None:
    token = create(new_shop, new_shop.by_client, 1).json["token"]
    leave(client_quota(record_id(new_shop)), 5)
    clock.advance(1)
    assert create(new_shop, new_shop.by_client, 5).status == 429
    assert limits(create(new_shop, new_shop.by_client, 4)) == (1200, 0, 59)
    refused = create(new_shop, new_shop.by_client, 1)
    assert (refused.status, limits(refused)) == (429, (1200, 0, 59))
    clock.advance(1)
    assert new_shop.get(f"{CREATE}/{token}").status == 200
    assert new_shop.get(f"{CREATE}/{token}/pay?wallet=0x627306090abaB3A6e1400e9345bC60c78a8BEf57").status == 200
    assert create(new_shop, new_shop.by_key, 5).status == 201
    assert create(new_shop, {**new_shop.by_key, **new_shop.by_client}, 5).status == 201


def test_an_address_has_a_quarter_of_what_a_client_id_may_write(clock: Clock, new_shop: Shop, shifted: From) -> None:
    """Six calls of 200 items would use up all of it. Of an IPv6 line, which has many addresses, it is one share."""
    made, second, _ = (shifted("203.0.113.7", create, new_shop, new_shop.by_client, 200) for _ in range(3))
    assert (made.status, second.status, limits(second)) == (201, 429, (300, 0, 60))
    assert limits(shifted("203.0.113.7", create, new_shop, new_shop.by_client, 100)) == (300, 0, 60), "none was counted"
    lines = [f"2001:db8:{line}::{number}" for line in (1, 2, 3) for number in (1, 2)]
    statuses = [shifted(address, create, new_shop, new_shop.by_client, 200).status for address in lines]
    assert statuses == [201, 429] * 3
    assert counted(client_quota(record_id(new_shop))) == 300 + 3 * 200
    assert shifted("203.0.113.8", create, new_shop, new_shop.by_client, 200).status == 201, "others are not stopped"


def test_what_the_whole_refuses_is_given_back_to_the_share(clock: Clock, new_shop: Shop) -> None:
    leave(client_quota(record_id(new_shop)), 5)
    assert [create(new_shop, new_shop.by_client, 6).status for _ in range(3)] == [429] * 3
    whole = units_window(client_quota(record_id(new_shop)), 1, running().clock())
    limit_store.uncount(running().store, whole, 400)
    assert [create(new_shop, new_shop.by_client, items).status for items in (200, 100)] == [201] * 2


def test_more_than_an_address_may_ever_write_is_told_so_and_not_to_come_back(clock: Clock, new_shop: Shop) -> None:
    tokens = {"childTokens": [f"{number:026}" for number in range(301)]}
    reply = new_shop.send("POST", "/v2/secure-payments/multicall-payouts", tokens)
    assert (reply.status, reply.message) == (
        400,
        "A client ID alone writes at most 300 items a minute from one address, and these are 301: "
        "send fewer at a time, or an API key",
    )
    key = {**new_shop.by_key, **new_shop.by_client}
    by_key = new_shop.api.request("POST", "/v2/secure-payments/multicall-payouts", tokens, key)
    assert "API key" not in by_key.message, "a key writes as much as its account may"


def test_calls_of_a_client_id_that_write_no_items_are_counted_for_the_address_alone(clock: Clock, new_shop: Shop) -> None:
    leave(client_quota(record_id(new_shop)), 0)
    assert new_shop.get(LISTING).status == 200
    assert new_shop.send("POST", "/v1/webhook", {"url": "https://93.184.215.14/hook"}).status == 201


# --- tests of webhooks ---


def test_webhooks_are_tested_ten_times_a_minute_by_all_keys_together(clock: Clock, new_shop: Shop) -> None:
    keys, body = [key_of(new_shop, Tier.HIGH_VOLUME) for _ in range(2)], {"eventType": "payment.confirmed"}
    new_shop.api.request("POST", "/v1/webhook", {"url": "https://93.184.215.14/hook"}, new_shop.by_key)
    leave(account_quota(new_shop.account_id), 3)  # one is of this webhook
    replies = [new_shop.api.request("POST", TEST, body, keys[number % 2]) for number in range(11)]
    assert [reply.status for reply in replies] == [201] * 10 + [429]
    assert [limits(reply) for reply in replies] == [(10, max(0, 9 - number), 60) for number in range(11)]
    assert [new_shop.api.get(LISTING, keys[0]).status for _ in range(3)] == [200, 200, 429], "the account's are untouched"


def test_a_stranger_with_a_client_id_uses_up_no_test_of_the_account(clock: Clock, new_shop: Shop) -> None:
    """Nor, from one address, those of the client id: 3 of its 10."""
    body, hook = {"eventType": "payment.confirmed"}, {"url": "https://93.184.215.14/hook"}
    new_shop.send("POST", "/v1/webhook", hook)
    new_shop.api.request("POST", "/v1/webhook", hook, new_shop.by_key)
    replies = [new_shop.send("POST", TEST, body) for _ in range(4)]
    assert [reply.status for reply in replies] == [201] * 3 + [429]
    assert [limits(reply) for reply in replies] == [(3, left, 60) for left in (2, 1, 0, 0)]
    assert new_shop.api.request("POST", TEST, body, new_shop.by_key).status == 201
    assert new_shop.get(LISTING).status == 200


def test_a_banned_caller_tests_no_webhook(clock: Clock, new_shop: Shop) -> None:
    key = key_of(new_shop, Tier.BASIC)
    for _ in range(123):
        new_shop.api.get(LISTING, key)
    assert new_shop.api.request("POST", TEST, {"eventType": "payment.confirmed"}, key).status == 429


def test_the_payment_page_and_anonymous_callers_have_no_units(clock: Clock, api: Api) -> None:
    settings = running().settings
    page = {"x-client-id": settings.page_client_id, "origin": settings.page_origin}
    assert caller_of(page).quota is None
    assert limits(api.get(LISTING, page)) == (20, 19, 1)
    assert limits(api.get(LISTING)) == (5, 4, 1)
