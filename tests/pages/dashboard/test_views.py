"""Every view: for everybody to use, and with texts that would be scripts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.records import Attempt
from tests.fakes.world import PAYEE, WALLET
from tests.pages.dashboard.conftest import NewPerson, Person, StoredEvents
from tests.pages.dashboard.test_sign_in import with_authenticator
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.patience import milliseconds
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")
OPEN = ("/sign-in", "/register", "/forgot", "/confirm#x", "/password#x", "/invitation#x")
VIEWS = (
    "", "/requests", "/links", "/create", "/create?kind=held", "/create?kind=recurring", f"/payouts?walletAddress={WALLET}", "/payouts", "/recurring",
    "/import", "/payments", "/mispayments", "/keys", "/clients", "/platforms", "/snippets", "/webhooks", "/payees", "/team", "/changes", "/account", "/security", "/audit", "/status", "/no-such-view",
)  # fmt: skip
EVIL = """<img src=x onerror="window.ran=1">"><script>window.ran=1</script>'};window.ran=1;//"""


SETTLED = """limit => new Promise((settle, fail) => {
  const end = performance.now() + limit;
  const look = (frames) => {
    if (performance.now() > end) return fail(`still loading: ${document.body.innerText}`);
    const isLoading = !document.querySelector("main h1") || document.querySelector(".loading, .hint[role=status]");
    frames === 0 ? settle(true) : requestAnimationFrame(() => look(isLoading ? 5 : frames - 1));
  };
  look(5);
})"""
"""Waits until a view has loaded what it shows, and begins nothing more in the next five frames."""


def shown(person: Person, path: str) -> Person:
    person.at(path).page.evaluate(SETTLED, milliseconds(10))
    return person


def opened(person: Person) -> None:
    """Opens what a view holds back until somebody asks for it."""
    person.page.evaluate("document.querySelectorAll('main details').forEach((each) => (each.open = true))")


def paying(stack: Stack, person: Person, purse: Purse) -> str:
    """A paid link; the id of its request."""
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": "INV-1"}, 201)
    visitor = person.another_tab()
    visitor.open(made["token"]).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    visitor.page.close()
    return str(made["requestIds"][0])


def pay_out(person: Person, wallet: str = WALLET, amount: str = "1", **changes: str) -> str:
    """The token of a payout that the wallet has to pay."""
    body = {"recipient": PAYEE, "creatorWalletAddress": wallet, "network": "sepolia", "currency": "fUSDC-sepolia", "amount": amount}
    return str(person.call("POST", "/v2/secure-payments/payouts", {**body, **changes}, 201)["token"])


@pytest.mark.parametrize("width", [320, 1280])
def test_no_view_keeps_anybody_out(stack: Stack, purse: Purse, new_person: NewPerson, width: int) -> None:
    """By axe, in light and dark; and nothing is wider than a small phone."""
    visitor = new_person(viewport={"width": width, "height": 900})
    found = {path: axe_findings(shown(visitor, path).page) for path in OPEN}
    person = new_person(purse, viewport={"width": width, "height": 900}).register()
    request_id = paying(stack, person, purse)
    person.call("POST", "/v1/api-keys", {"label": "Server", "scopes": ["requests:read"]}, 201)
    client = person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": ["https://shop.example"]}, 201)["id"]
    webhook = person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, 201)["id"]
    person.call("POST", "/v1/invitations", {"role": "viewer", "email": "eve@dashboard.example"}, 201)
    pay_out(person, reference="INV-2")
    person.call("PUT", "/v1/account", {"approvals": True}, 200)
    person.call("POST", "/v1/api-keys", {"label": "Second server"}, 202)
    for path in (*VIEWS, f"/request/{request_id}", f"/webhook/{webhook}", f"/branding/{client}"):
        found[path] = axe_findings(shown(person, path).page)
        assert person.page.evaluate("document.documentElement.scrollWidth") <= width, path
    dialogs = (
        ("/keys", "New API key"), ("/team", "Invite"), ("/webhooks", "New webhook"), ("/clients", "New client ID"), ("/clients", "Settings"), ("/platforms", "New platform"),
        ("/changes", "Withdraw"), (f"/request/{request_id}", "Refund"), (f"/request/{request_id}", "Change the note"),
    )  # fmt: skip
    for path, button in dialogs:
        shown(person, path).click(button)
        found[f"{path} {button}"] = axe_findings(person.page)
    assert {path: each for path, each in found.items() if each} == {}


def answering(answer: Any) -> Callable[[Route], None]:
    return lambda route: route.fulfill(json=answer)


def with_evil_texts(stack: Stack, person: Person) -> list[str]:
    """Puts EVIL into every field of an account that takes it; the paths of the views of single records."""
    evil = EVIL[:60]
    person.call("PUT", "/v1/account", dict.fromkeys(("name", "businessName", "businessAddress", "taxId"), evil), 200)
    secret = person.call("POST", "/v1/invitations", {"role": "viewer", "email": "eve@dashboard.example"}, 201)["secret"]
    terms = {"merchantId": evil, "merchantAddress": PAYEE, "amount": "12500000", "paymentCurrency": "fUSDC-sepolia", "maxFeeBps": 0}
    capturable = person.call("POST", "/v2/commerce-payments/authorize/calldata", terms, 201)
    token = person.call("GET", f"/v2/secure-payments?requestId={capturable['requestId']}", expected=200)["token"]
    customer = {"firstName": evil, "lastName": evil, "address": {"street": evil, "city": evil}}
    made = person.call("POST", "/v2/secure-payments", {"requests": [item(customerInfo=customer)], "reference": evil}, 201)
    request_id = str(made["requestIds"][0])
    person.call("PATCH", f"/v2/request/{request_id}", {"note": evil}, 200)
    pay_out(person, reference=evil)
    person.call("POST", "/v1/api-keys", {"label": evil}, 201)
    person.call("POST", "/v2/orchestrators", {"orchestratorName": evil, "orchestratorContactEmail": "help@shop.example"}, 201)
    plan = {"startDate": "2050-01-31", "frequency": "MONTHLY", "totalPayments": 2, "payer": WALLET}
    person.call("POST", "/v2/payouts", item(reference=evil, recurrence=plan), 201)
    client = person.call("POST", "/v1/client-ids", {"label": evil, "allowedDomains": []}, 201)["id"]
    branding = f"/v1/client-ids/{client}/branding"
    person.call("PUT", branding, {}, 200)
    kept = {**person.call("GET", branding, expected=200), "termsUrl": f"javascript:{EVIL}", "privacyUrl": EVIL}
    person.page.route(f"**{branding}", lambda route: route.fulfill(json=kept))  # the API refuses such URLs
    domain = {"domain": evil, "status": "verified", "problem": evil, "verifiedUntil": "2026-01-01T00:00:00Z", "record": {"name": evil, "value": evil}, "file": {"url": f"javascript:{evil}"}}
    named = {"id": "01AB", "name": evil, "role": "viewer", "joinedAt": "2026-01-01T00:00:00Z", "expiresAt": "2026-01-01T00:00:00Z", "current": False}
    for path, answer in ((f"/v1/client-ids/{client}/domain", domain), ("/v1/members", [named]), ("/v1/invitations", [named])):
        person.page.route(f"**{path}", answering(answer))  # and such domains and names
    person.call("POST", "/v1/webhook", {"url": "https://shop.example/?<script>window.ran=1</script>"})
    webhook = person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, 201)["id"]
    person.call("POST", "/v1/webhook/test", {"eventType": "payment.confirmed"}, 201)
    (sent,) = person.call("GET", f"/v1/webhook/{webhook}/deliveries")["deliveries"]
    with stack.lock:
        delivery = delivery_store.find_delivery(running().store, sent["id"])
        assert delivery is not None
        running().store.write(replace(delivery, attempts=(Attempt(delivery.created_at, 500, None, EVIL, 5),)))
    StoredEvents(stack, person).of("payment.unexpected", requestId=request_id, reference=evil, labels=[evil])
    with_authenticator(person).at("/security").fill("Name of the device", evil).click("Add a passkey")
    expect(person.page.get_by_role("row", name=evil)).to_be_visible()
    person.call("PUT", "/v1/account", {"name": evil, "approvals": True}, 200)
    person.call("POST", "/v1/api-keys", {"label": evil}, 202)
    return [f"/request/{request_id}", f"/webhook/{webhook}", f"/branding/{client}", f"/create?link={token}", f"/invitation#{secret}"]


def test_texts_that_would_be_scripts_are_shown_as_texts(stack: Stack, new_person: NewPerson) -> None:
    """In every field that takes them; violations of the page's policy would fail it, too."""
    person = new_person().register()
    request, webhook, branding, again, invitation = with_evil_texts(stack, person)
    for path in (*VIEWS, request, webhook, branding, again, invitation, f"/requests?reference={EVIL}", "/links?reference=<b>", "/confirm#<img src=x onerror=window.ran=1>"):
        shown(person, path)
        opened(person)
        assert person.page.evaluate("window.ran") is None, path
        assert person.page.locator("#app img[src=x], #app script").count() == 0, path
    texts = {"/keys": 1, "/clients": 1, "/links": 2, f"/payouts?walletAddress={WALLET}": 1, "/changes": 1, "/account": 0,
             "/": 1, "/platforms": 1, "/recurring": 1, "/mispayments": 2, "/security": 1, "/team": 2, request: 3, webhook: 1, branding: 3}  # fmt: skip
    for path, count in texts.items():
        shown(person, path)
        opened(person)
        assert person.page.locator("main").inner_text().count("onerror") >= count, path
    assert "onerror" in shown(person, invitation).page.locator("body").inner_text()
    expect(shown(person, again).page.get_by_label("Name of the merchant")).to_have_value(EVIL[:60])


def test_the_first_visit_is_small_and_reads_the_same_however_much_there_is(new_person: NewPerson) -> None:
    person, asked = new_person().register(), list[str]()
    sizes: list[int] = []
    person.page.on("request", lambda each: asked.append(each.url) if not each.url.startswith("data:") else None)
    person.page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]))
    shown(person, "")
    assert len(asked) <= 14 and sum(sizes) <= 120_000
    before = len(asked)
    for number in range(12):
        person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": f"INV-{number}"}, 201)
    asked.clear()
    shown(person, "")
    assert len(asked) <= before


def test_it_speaks_the_language_of_the_browser_until_another_one_is_chosen(new_person: NewPerson) -> None:
    """As the payment page does; amounts are shown as forms read them."""
    german = new_person(locale="de-AT").at("/sign-in").heading("Anmelden")
    assert german.page.evaluate("document.documentElement.lang") == "de"
    german.register().at("/create").heading("Link erstellen").fill("Betrag", "1234,5").sees("1\u202f234,5")
    assert axe_findings(german.page) == []
    german.page.locator(".person summary").click()
    german.page.evaluate("window.isTheSame = true")
    german.choose("Sprache", "en").heading("Create a link").sees("1,234.5")
    expect(german.page.get_by_label("Amount", exact=True)).to_have_value("1234,5")
    assert german.page.evaluate("window.isTheSame") is True, "the page was not loaded again"
    assert german.page.evaluate("document.title").startswith("Create a link")
    german.page.reload()
    german.heading("Create a link").fill("Amount", "1234,5").sees("1,234.5")
    assert german.page.evaluate("document.documentElement.lang") == "en"
    new_person(locale="fr").at("/sign-in").heading("Sign in")


def test_a_language_whose_messages_do_not_come_is_said_and_changes_nothing(new_person: NewPerson) -> None:
    person = new_person().at("/register").fill("E-mail address", "ann@shop.example")
    person.page.route("**/de.*.json", lambda route: route.abort())
    person.choose("Language", "de").sees("could not be reached").heading("Create an account")
    expect(person.page.get_by_label("Language")).to_have_value("en")
    person.page.unroute("**/de.*.json")
    person.choose("Language", "de").heading("Konto erstellen")
    expect(person.page.get_by_label("E-Mail-Adresse")).to_have_value("ann@shop.example")
    person.complaints.clear()


def test_no_view_asks_for_what_is_not_there_or_not_for_its_session(new_person: NewPerson) -> None:
    """Browsers write each such call into the console, where it looks like an error of the page."""
    person, refused = new_person().register(), list[str]()
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": "INV-1"}, 201)
    person.page.on("response", lambda each: refused.append(f"{each.status} {each.url}") if each.status >= 400 else None)
    for path in (*VIEWS, f"/request/{made['requestIds'][0]}"):
        shown(person, path)
    assert refused == []


def test_it_is_used_by_keyboard_alone(new_person: NewPerson) -> None:
    person = shown(new_person().register(), "")
    keyboard = person.page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(40):
            keyboard.press("Tab")
            if person.page.locator(f"{selector}:focus-visible").count():
                return
        raise AssertionError(f"{selector} is out of reach")

    tab_to(".skip")
    tab_to("nav a[href$='/keys']")
    keyboard.press("Enter")
    person.heading("API keys")
    expect(person.page.get_by_role("heading", level=1)).to_be_focused()
    tab_to("main .action")
    keyboard.press("Enter")
    expect(person.page.get_by_role("dialog")).to_be_visible()
    keyboard.press("Escape")
    expect(person.page.get_by_role("dialog")).to_have_count(0)


def test_what_is_of_another_account_says_so_and_where_to_go_and_is_not_asked_for_again(new_person: NewPerson) -> None:
    made = new_person().register().call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    person = new_person().register().unwatched()
    for path in (f"/request/{made['requestIds'][0]}", "/webhook/01NONE", "/no-such-view"):
        person.at(path).sees("It does not exist, or belongs to another account.")
        expect(person.page.get_by_role("button", name="Try again")).to_have_count(0)
        expect(person.page.locator("main").get_by_role("link").first).to_be_visible()
