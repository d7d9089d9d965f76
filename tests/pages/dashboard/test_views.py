"""Every view: for everybody to use, by keyboard alone, with little to load."""


import pytest
from playwright.sync_api import expect

from tests.fakes.world import PAYEE, WALLET
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.patience import milliseconds

pytestmark = pytest.mark.xdist_group("browser")
OPEN = ("/sign-in", "/register", "/forgot", "/confirm#x", "/password#x", "/invitation#x")
VIEWS = (
    "", "/requests", "/links", "/create", "/create?kind=held", "/create?kind=recurring", f"/payouts?walletAddress={WALLET}", "/payouts", "/recurring",
    "/import", "/payments", "/mispayments", "/keys", "/clients", "/platforms", "/snippets", "/webhooks", "/payees", "/team", "/changes", "/account", "/security", "/audit", "/status", "/no-such-view",
)  # fmt: skip

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
