"""The list of mispayments: a part is asked for or accepted, and what comes afterwards is refunded, all from the list. And
what home says of them and of the rest that needs attention, until it is over."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Route, expect

from chalicelib.payments.scanning import store as scan_store
from chalicelib.platform.access.people.records import Role
from chalicelib.platform.own_accounts.records import Sender
from chalicelib.platform.own_accounts.store import senders
from chalicelib.platform.storage.store import Delete
from chalicelib.relayer.records import RelayerProgress
from tests.fakes.world import PAYEE
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import NewPerson, Person, StoredEvents
from tests.pages.dashboard.test_roles import give_role
from tests.pages.dashboard.test_views import shown
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.failing_webhooks import store_failing
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")


def pay_part(stack: Stack, purse: Purse, person: Person, request_id: str, amount: str) -> None:
    """Pays a part of a request, which a program of the shop asks for with a key."""
    made = person.call("POST", "/v1/api-keys", {"label": "Server", "scopes": ["requests:read"]}, 201)
    url = f"{stack.pay_url}/v2/request/{request_id}/pay?wallet={purse.address}&amount={amount}"
    reply = person.context.request.get(url, headers={"x-api-key": made["key"]})
    assert reply.status == 200, reply.text()
    for each in reply.json()["transactions"]:
        purse.send({"from": purse.address, "to": each["to"], "data": each["data"], "value": each["value"]["hex"]})
    stack.settle()


def confirm(person: Person, label: str) -> Person:
    person.page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()
    return person


def test_a_part_is_asked_for_then_accepted_and_what_comes_later_is_refunded(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    payee = Purse(stack.chain, "Shop wallet")
    person = new_person(payee).register()
    person.at("/mispayments").sees("Nothing is paid in part.").sees("Nothing was paid twice")
    body = {"requests": [item(payee=payee.address)], "reference": "INV-<b>4"}
    made = person.call("POST", "/v2/secure-payments", body, 201)
    (request_id,) = made["requestIds"]
    pay_part(stack, purse, person, request_id, "4")
    person.at("/mispayments").click("Ask for the rest").sees("4 of 12.5 fUSDC-sepolia are paid").sees("asks for the rest by itself")
    assert person.page.get_by_role("dialog").get_by_role("link", name="Mail it to the payer").get_attribute("href").startswith("mailto:")  # type: ignore[union-attr]
    assert axe_findings(person.page) == []
    person.click("Close")
    person.page.get_by_text("Other ways").click()
    assert axe_findings(person.page) == []
    person.click("Accept as paid").sees("4 fUSDC-sepolia of 12.5 fUSDC-sepolia were paid of INV-<b>4.")
    confirm(person, "Accept as paid").sees("Nothing is paid in part.")
    person.at(f"/request/{request_id}").sees("Paid in full").sees("4 fUSDC-sepolia was accepted as full payment")
    new_visitor(purse).open(made["token"], "completed")
    for found in [purse.chain.rpc("eth_getTransactionByHash", each) for each in list(purse.sent)]:
        purse.send({"from": purse.address, "to": found["to"], "data": found["input"], "value": found["value"]})
    stack.settle()
    person.at("/mispayments").sees("Paid twice").click("Refund").sees("Signed by the payee's wallet")
    expect(person.page.get_by_role("dialog").get_by_role("heading")).to_have_text("Refund 4 fUSDC, INV-<b>4")
    person.click("Use Shop wallet").sees("It was sent.").click("Close")
    stack.settle()
    person.at("/mispayments")
    expect(person.page.locator("tbody .badge.good")).to_have_text("Refunded")
    expect(person.page.get_by_role("button", name="Refund")).to_have_count(0)


def test_a_part_of_a_request_without_a_link_is_accepted_or_refunded(
    stack: Stack, purse: Purse, new_person: NewPerson
) -> None:
    person = new_person().register()
    request_id = person.call("POST", "/v2/request", item(), 201)["requestId"]
    pay_part(stack, purse, person, request_id, "4")
    person.at("/mispayments").sees("Accept as paid")
    expect(person.page.get_by_role("button", name="Ask for the rest")).to_have_count(0)
    person.page.get_by_text("Other ways").click()
    expect(person.page.get_by_role("button", name="Refund")).to_be_visible()


def fail_webhook(stack: Stack, person: Person, url: str) -> None:
    """Registers a webhook whose receiver has not answered for two hours."""
    webhook = person.call("POST", "/v1/webhook", {"url": url}, 201)["id"]
    account_id = person.call("GET", "/v1/auth/me")["id"]
    with stack.lock:
        store_failing(webhook, account_id, datetime.now(UTC) - timedelta(hours=2))


UNSETTLED = re.compile(r"^\s*Not read yet: Ethereum, Tron\. |: payments after .* are not seen yet$")
"""The networks of the stack that these tests never read, and one that is not read while the machine is busy."""


def attention(person: Person) -> list[str]:
    """What home lists besides those networks."""
    return shown(person, "").page.locator("[aria-labelledby=attention] li a", has_not_text=UNSETTLED).all_inner_texts()


def test_home_shows_what_came_late_or_was_too_much_until_it_is_refunded(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    events = StoredEvents(stack, person)
    for reference, labels in (("INV-1", ["over"]), ("INV-2", ["late"]), ("INV-3", ["under"]), ("INV-4", [])):
        events.of("payment.confirmed", requestId=f"01{reference}", reference=reference, labels=labels, amount="14", excessAmount="2")
    events.of("payment.unexpected", requestId="01INV-5", reference="INV-5", labels=["duplicate"], receivedAmount="5")
    events.of("payment.unexpected", requestId="01INV-6", reference="INV-6", status="reversed")
    late = "14 USDC came after the link had expired, and counts as paid (INV-2)"
    assert attention(person) == ["5 USDC came when nothing was owed any more (INV-5)", late, "14 USDC came, of which 2 USDC was too much (INV-1)"]
    events.of("payment.refunded", requestId="01INV-5", refundAmount="5")
    events.of("payment.refunded", requestId="01INV-1", refundAmount="2")
    assert attention(person) == [late]


def test_home_says_how_many_more_of_a_kind_there_are_and_leads_to_them(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    events = StoredEvents(stack, person)
    for number in range(7):
        events.of("payment.unexpected", requestId=f"01INV-{number}", reference=f"INV-{number}", labels=["duplicate"], receivedAmount="5")
    found = attention(person)
    assert len(found) == 6 and found[-1] == "Mispayments: 2 more"
    events.of("payment.refunded", requestId="01INV-6", refundAmount="5")
    assert attention(person)[-1] == "Mispayments: 1 more"
    person.click("Mispayments: 1 more", "link").heading("Mispayments")


def test_home_gives_a_number_only_of_what_it_has_read(stack: Stack, new_person: NewPerson) -> None:
    """It reads 100 of a kind, and 1,000 refunds."""
    person = new_person().register()
    events = StoredEvents(stack, person)
    events.at -= timedelta(hours=3)
    for number in range(101):
        events.of("payment.unexpected", requestId=f"01INV-{number}", labels=["duplicate"], receivedAmount="5")
    for number in range(101):
        events.of("payment.failed", requestId=f"01INV-{number}", failureReason="expired")
    events.of("payment.refunded", requestId="01INV-100", refundAmount="5")
    shown(person, "").sees("Payments that failed: at least 95 more")
    found = attention(person)
    assert "Mispayments: at least 94 more" in found and len(found) == 11
    page = {"events": [], "nextCursor": "more"}
    person.page.route("**/v1/webhook/events?kind=payment.refunded*", lambda route: route.fulfill(json=page))
    assert "Mispayments: maybe more" in attention(person)


def test_home_leads_to_all_requests_that_are_paid_in_part(new_person: NewPerson) -> None:
    person = new_person().register()
    row = {"amount": "12.5", "invoiceCurrency": "fUSDC-sepolia", "paidAmount": "5", "status": "partially_paid", "createdAt": "2026-03-01T00:00:00Z"}
    rows = [{**row, "requestId": f"01{number}", "reference": f"INV-{number}"} for number in range(5)]
    body = {"requests": rows, "pagination": {"total": 1_234, "limit": 5, "offset": 0, "hasMore": True, "nextCursor": "c"}}
    person.page.route("**/v2/request?status=partially_paid&limit=5", lambda route: route.fulfill(json=body))
    assert attention(person)[4:] == ["Too little was paid: 5 of 12.5 fUSDC-sepolia (INV-4)", "Requests: 1,229 more"]
    person.click("Requests: 1,229 more", "link").heading("Requests")
    assert person.page.url.endswith("/dashboard/requests?status=partially_paid")


def test_what_was_only_late_counts_as_paid_and_leaves_home_after_a_week(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    events = StoredEvents(stack, person)
    events.of("payment.confirmed", requestId="01INV-1", reference="INV-1", labels=["late"], amount="14")
    events.at -= timedelta(days=8)
    for reference, labels in (("INV-2", ["late"]), ("INV-3", ["over", "late"])):
        events.of("payment.confirmed", requestId=f"01{reference}", reference=reference, labels=labels, amount="14", excessAmount="2")
    rows = shown(person, "/mispayments").page.locator("[aria-labelledby=transfers] tbody tr")
    expect(rows).to_have_count(3)
    for late in ("INV-1", "INV-2"):
        expect(rows.filter(has_text=late)).to_contain_text("Counts as paid")
    expect(rows.filter(has_text="INV-3").get_by_role("button", name="Refund")).to_be_visible()
    assert attention(person) == [
        "14 USDC came after the link had expired, and counts as paid (INV-1)", "14 USDC came, of which 2 USDC was too much (INV-3); also: After expiry",
    ]  # fmt: skip


def test_what_was_refunded_is_found_behind_a_hundred_newer_refunds(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    events = StoredEvents(stack, person)
    events.at -= timedelta(hours=3)
    for number in (1, 2):
        events.of("payment.unexpected", requestId=f"01INV-{number}", reference=f"INV-{number}", labels=["duplicate"], receivedAmount="5")
    events.of("payment.refunded", requestId="01INV-1", refundAmount="5")
    for number in range(100):
        events.of("payment.refunded", requestId=f"01OTHER-{number}", refundAmount="5")
    rows = shown(person, "/mispayments").page.locator("[aria-labelledby=transfers] tbody tr")
    expect(rows.filter(has_text="INV-1")).to_contain_text("Refunded")
    expect(rows.filter(has_text="INV-2").get_by_role("button", name="Refund")).to_be_visible()
    assert attention(person) == ["5 USDC came when nothing was owed any more (INV-2)"]


def test_home_asks_no_more_often_however_much_needs_attention(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    events, asked = StoredEvents(stack, person), list[str]()
    events.at -= timedelta(hours=3)
    for number in range(25):
        events.of("payment.unexpected", requestId=f"01INV-{number}", reference=f"INV-{number}", labels=["duplicate"])
        if number < 9:
            fail_webhook(stack, person, f"http://127.0.0.1:9999/{number}")
    for number in range(120):
        events.of("payment.refunded", requestId=f"01OTHER-{number}", refundAmount="5")
    person.page.on("request", lambda request: asked.append(request.url) if "/v1/webhook" in request.url else None)
    found = attention(person)
    assert [each for each in found if each.endswith(" more")] == ["Webhooks: 4 more", "Mispayments: 20 more"]
    assert sum("payment.refunded" in url for url in asked) == 2, "120 refunds are two pages"
    assert len(asked) == 5, "and one call each for mispayments, failed payments and webhooks"


def test_home_shows_each_kind_once_it_is_there_and_says_which_one_could_not_be_read(stack: Stack, new_person: NewPerson) -> None:
    person, waiting = new_person().register(), list[Route]()
    fail_webhook(stack, person, "http://127.0.0.1:9999/hook")
    StoredEvents(stack, person).of("payment.unexpected", requestId="01INV-1", reference="INV-1", labels=["duplicate"])
    person.page.route("**/v1/webhook/events?mispaid=*", lambda route: waiting.append(route))
    person.page.route("**/v1/webhook", lambda route: route.fulfill(status=503, json={"message": "x"}))
    card = person.at().page.locator("[aria-labelledby=attention]")
    expect(card.locator(".note.bad")).to_contain_text("Webhooks that fail: The service has a problem")
    expect(card).to_contain_text("Loading…")
    person.page.unroute("**/v1/webhook")
    card.get_by_role("button", name="Try again").click()
    failing, twice = "A webhook has failed for an hour or more: http://127.0.0.1:9999/hook", "100 USDC came when nothing was owed any more (INV-1)"
    expect(card.locator("li a", has_not_text=UNSETTLED)).to_have_text([failing])
    expect(card).to_contain_text("Loading…")
    waiting.pop().continue_()
    expect(card.locator("li a", has_not_text=UNSETTLED)).to_have_text([failing, twice])
    expect(card.locator(".note, .loading")).to_have_count(0)


def test_home_shows_a_webhook_that_fails_until_it_is_turned_off(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    fail_webhook(stack, person, "http://127.0.0.1:9999/hook")
    person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/well"}, 201)
    shown(person, "/webhooks").sees("Does not answer")
    assert attention(person) == ["A webhook has failed for an hour or more: http://127.0.0.1:9999/hook"]
    person.click("A webhook has failed for an hour or more: http://127.0.0.1:9999/hook", "link").click("Turn off").sees("Turn on")
    assert attention(person) == []


def test_home_and_status_say_where_the_service_has_too_little_for_gas_to_who_may_know(stack: Stack, new_person: NewPerson) -> None:
    owner, viewer = new_person().register(), new_person().register()
    give_role(stack, viewer, Role.VIEWER)
    with stack.lock:
        services = running()
        known = senders(services.store)
        services.store.write(replace(known, accounts=(*known.accounts, Sender("base", PAYEE))))
        low = services.store.write(RelayerProgress("base", PAYEE, 0, services.clock(), has_low_balance=True))
    try:
        assert attention(owner) == ["Base: the service has too little for gas"]
        owner.click("Base: the service has too little for gas", "link").sees("On Base the service's own account has too little for gas")
        assert axe_findings(owner.page) == []
        assert attention(viewer) == []
        viewer.at("/status").sees("For payers")
        expect(viewer.page.locator(".note.bad")).to_have_count(0)
    finally:
        with stack.lock:
            services.store.write(Delete(low), replace(senders(services.store), accounts=known.accounts))


def test_home_says_which_network_is_not_read_and_since_when_until_it_is(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    stack.settle()
    with stack.lock:
        services = running()
        known = scan_store.cursor(services.store, "sepolia")
        assert known is not None
        since = services.clock() - timedelta(hours=3)
        late = services.store.write(replace(known, read_until=since, read_at=since))
    try:
        said = shown(person, "").page.get_by_role("link", name=re.compile("^Sepolia has not been read since .*: payments after "))
        said.click()
        person.sees("Payments are accepted, but show later than usual. Nothing expires meanwhile.")
    finally:
        with stack.lock:
            services.store.write(replace(known, version=late.version))
    expect(shown(person, "").page.get_by_role("link", name="Sepolia has not been read since")).to_have_count(0)


def test_home_finds_a_change_that_waits_behind_many_that_are_decided(new_person: NewPerson) -> None:
    person, asked_at = new_person().register(), (datetime.now(UTC) - timedelta(days=3)).isoformat()
    decided = [{"id": f"c{number}", "state": "applied", "operation": "invite", "askedAt": asked_at} for number in range(100)]
    pages = {"": {"changes": decided, "nextCursor": "c99"}, "c99": {"changes": [{**decided[0], "id": "c100", "state": "pending"}], "nextCursor": "c100"},
             "c100": {"changes": [{**decided[0], "askedAt": "2020-01-01T00:00:00Z"}], "nextCursor": "c101"}}  # fmt: skip
    person.page.route("**/v1/changes?*", lambda route: route.fulfill(json=pages[parse_qs(urlsplit(route.request.url).query).get("cursor", [""])[0]]))
    assert attention(person) == ["A change waits for approval: An invitation"]
