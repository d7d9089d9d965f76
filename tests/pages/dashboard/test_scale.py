"""A list of 100,000 payments opens with the calls of one of 10; and what the dashboard says while the API does not answer."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Route, expect

from chalicelib.base.lists import place_of
from tests.fakes.memory_tables import Item
from tests.fakes.world import PREFIX, in_process_tables
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_sign_in import signing
from tests.pages.dashboard.test_views import VIEWS, shown
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.support.client import item
from tests.support.rehearsed import rehearsed
from tests.support.stored_transfers import store_payment

pytestmark = pytest.mark.xdist_group("browser")
FEW, MANY = 10, 100_000
SILENT = ("/payouts", "/no-such-view")
"""Views that read nothing: a field for the wallet, and a sentence."""


def details(person: Person) -> list[str]:
    """Views of single things: a request, a webhook, and the branding of a client id."""
    request_id = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)["requestIds"][0]
    webhook = person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, 201)["id"]
    client = person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": []}, 201)["id"]
    return [f"/request/{request_id}", f"/webhook/{webhook}", f"/branding/{client}"]


def store_copies(person: Person, count: int) -> None:
    """Puts that many payments of the person's account into the table: one as it is stored, and copies of it with keys and
    places of their own."""
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    payment = store_payment(made["token"], 12_500_000)
    table = in_process_tables()[f"{PREFIX}-payments"]
    stored = table.items[payment.key.pk][payment.key.sk]
    for number in range(1, count):
        listed_at = place_of(payment.at - timedelta(seconds=number), f"{number:026}")
        table.put(Item({**stored, "sk": {"S": f"{payment.key.sk}#{number}"}, "event_key": {"S": str(number)}, "listed_at": {"S": listed_at}}))


def calls_of(stack: Stack, person: Person, path: str, rows: int) -> tuple[list[str], int]:
    """What the API is asked for by a view that shows that many rows, and how many bytes the browser gets."""
    sizes: list[int] = []
    person.page.on("requestfinished", lambda each: sizes.append(each.sizes()["responseBodySize"]) if "/v2/" in each.url else None)
    asked = len(stack.asked)
    shown(person, path)
    expect(person.page.locator("table:not(details table) tbody tr")).to_have_count(rows)
    return [each for each in stack.asked[asked:] if " /v" in each], sum(sizes)


def test_it_opens_with_the_calls_of_a_short_list(stack: Stack, new_person: NewPerson) -> None:
    few, many = new_person().register(), new_person().register()
    store_copies(few, FEW)
    store_copies(many, MANY)
    expected, small = calls_of(stack, few, "/payments", FEW)
    found, large = calls_of(stack, many, "/payments", 25)
    assert sorted(found) == sorted(expected) and large < 3 * small
    asked = len(stack.asked)
    many.click("Show more")
    expect(many.page.locator("tbody tr")).to_have_count(50)
    assert [each for each in stack.asked[asked:] if " /v" in each] == ["GET /v2/payments"]
    assert sorted(calls_of(stack, many, "", 8)[0]) == sorted(calls_of(stack, few, "", 8)[0])


def test_all_that_a_filter_finds_is_added_up_when_somebody_asks_for_it(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    store_copies(person, 6_000)
    shown(person, "/payments?network=sepolia").sees("Sum of the 25 shown: 312.5 fUSDC-sepolia")
    asked = len(stack.asked)
    person.click("Add up all").sees("Sum of all 6,000 that were found: 75,000 fUSDC-sepolia")
    assert [each for each in stack.asked[asked:] if " /v" in each] == ["GET /v2/payments"] * 2
    shown(person, "").sees("newest 1,000 payments").click("Read all")
    expect(person.page.locator("main")).not_to_contain_text("newest 1,000 payments")
    person.page.locator("summary", has_text="The same as a table").click()
    sums = person.page.locator("[aria-labelledby=volume] tbody td:nth-child(2)").all_inner_texts()
    assert sum(Decimal(each.replace(",", "")) for each in sums) == 75_000


def test_the_sums_are_those_of_the_payments_that_somebody_chooses(new_person: NewPerson) -> None:
    """By the keyboard as well; those that are chosen stay so when more are shown, and go with other filters."""
    person = new_person().register()
    store_copies(person, 30)
    shown(person, "/payments").sees("Sum of the 25 shown: 312.5 fUSDC-sepolia")
    rows, whole = person.page.locator("tbody").get_by_role("checkbox"), person.page.get_by_label("Choose all that are shown")
    whole.focus()
    for _ in range(2):
        person.page.keyboard.press("Tab")  # over the button that adds up all
    expect(rows.first).to_be_focused()
    expect(rows.first).to_have_accessible_name(re.compile(r"Choose 12\.5 fUSDC-sepolia of \w+ \d+, \d{4}"))
    person.page.keyboard.press("Space")
    person.sees("Sum of the 1 chosen: 12.5 fUSDC-sepolia")
    expect(person.page.get_by_role("button", name="Add up all")).to_have_count(0)
    assert whole.evaluate("(each) => [each.checked, each.indeterminate]") == [False, True]
    whole.check()
    person.sees("Sum of the 25 chosen: 312.5 fUSDC-sepolia").click("Show more")
    expect(rows).to_have_count(30)
    person.sees("Sum of the 25 chosen: 312.5 fUSDC-sepolia")
    rows.last.check()
    rows.first.uncheck()
    person.sees("Sum of the 25 chosen")
    whole.check()
    person.sees("Sum of the 30 chosen: 375 fUSDC-sepolia")
    whole.uncheck()
    person.sees("Sum of the 30 shown: 375 fUSDC-sepolia")
    rows.first.check()
    person.page.locator("summary", has_text=re.compile("^Filter")).click()
    person.fill("Reference", "elsewhere").click("Show").sees("No payments")
    shown(person, "/payments").sees("Sum of the 25 shown")


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (0, {}, "The service could not be reached"),
        (429, {"retry-after": "17"}, "Too many calls. Try again in 17 seconds."),
        (409, {}, "It is so"),
        (503, {"x-request-id": "req-9"}, "tell the operator this number: req-9"),
    ],
)  # fmt: skip
def test_every_view_says_that_the_api_does_not_answer_and_goes_on_when_it_does(
    stack: Stack, new_person: NewPerson, status: int, headers: dict[str, str], said: str
) -> None:
    """In the session of a wallet: without one the payee destination is not read."""
    person, is_down = new_person(signing(Purse(stack.chain, "Ann's wallet"))), [True]
    person.at().click("Use Ann's wallet").heading("Home")
    refusal = {"statusCode": status, "message": "It is so", "error": "x"}

    def answer(route: Route) -> None:
        if not is_down[0] or route.request.url.endswith("/v1/auth/me"):
            return route.continue_()
        return route.fulfill(status=status, headers=headers, json=refusal) if status else route.abort()

    person.page.route("**/v1/**", answer)
    person.page.route("**/v2/**", answer)
    for path in (*(each for each in VIEWS if each not in SILENT), *details(person)):
        is_down[0] = True
        person.at(path).sees(said)
        is_down[0] = False
        person.page.evaluate("[...document.querySelectorAll('.note.bad button')].forEach((each) => each.click())")
        expect(person.page.locator(".note.bad, .loading")).to_have_count(0)
        assert said not in person.page.inner_text("main"), path


@rehearsed
def test_every_view_has_its_frame_and_title_while_the_api_is_slow(stack: Stack, new_person: NewPerson) -> None:
    """It says that it loads, until what it waits for has come. In the session of a wallet, as above."""
    person, waiting, is_slow = new_person(signing(Purse(stack.chain, "Ann's wallet"))), list[Route](), [False]
    person.at().click("Use Ann's wallet").heading("Home")
    person.page.route(re.compile("/v[12]/(?!auth/me$)"), lambda route: waiting.append(route) if is_slow[0] else route.continue_())
    for path in (*(each for each in VIEWS if each not in SILENT), *details(person)):
        is_slow[0] = True
        person.at(path).sees("Loading…")
        heading = person.page.get_by_role("heading", level=1)
        expect(heading, path).to_have_text(re.compile(r"\S"))
        expect(person.page, path).to_have_title(re.compile(f"^{re.escape(heading.inner_text())} · "))
        expect(person.page.get_by_role("navigation"), path).to_be_visible()
        is_slow[0] = False
        while waiting:
            waiting.pop().continue_()
        expect(person.page.locator(".note.bad, .loading"), path).to_have_count(0)


def test_a_slow_api_blocks_nothing(new_person: NewPerson) -> None:
    """What has not come says that it loads; another view is opened meanwhile, and shows nothing of the first one."""
    person, waiting = new_person().register(), list[Route]()
    person.page.route("**/v2/payments*", lambda route: waiting.append(route))
    person.at("/payments").sees("Loading…").click("API keys", "link").heading("API keys").sees("No API keys yet")
    with person.page.expect_request("**/v2/payments*"):
        person.click("Payments", "link")
    person.sees("Loading…")
    for each in waiting:
        each.continue_()
    person.heading("Payments").sees("No payments")


def test_a_timeline_says_that_its_events_are_read_until_they_are(new_person: NewPerson) -> None:
    person, waiting = new_person().register(), list[Route]()
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()], "reference": "INV-1"}, 201)
    person.page.route("**/v1/webhook/events*", lambda route: waiting.append(route))
    person.at(f"/request/{made['requestIds'][0]}").sees("Its events are being read…").sees("Created")
    person.until(lambda: bool(waiting))
    waiting.pop().continue_()
    expect(person.page.locator("main")).not_to_contain_text("Its events are being read")
