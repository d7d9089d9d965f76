"""The preview of a link is the payment page itself: it shows what the page of the created link shows."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.fakes.world import PAYEE, WALLET
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.visitor import axe_findings

pytestmark = pytest.mark.xdist_group("browser")
SHOWN = """(page) => {
  const shown = page.querySelector("main").cloneNode(true);
  for (const each of shown.querySelectorAll("#countdown, noscript")) each.remove();
  const parts = [...shown.querySelectorAll("p, h1, h2, dt, dd, li, button")].filter((each) => !each.closest("[hidden]"));
  const { color, backgroundColor } = page.defaultView.getComputedStyle(page.getElementById("title"));
  return [shown.dataset.state, color, backgroundColor, ...parts.map((each) => `${each.localName} ${each.textContent}`)];
}"""
"""The state of a payment page, its colours and its words in their order, without the time that is left."""
LINKS: dict[str, tuple[dict[str, str], list[str], str]] = {
    "single": ({}, ["12.5"], "12.5 fUSDC"),
    "dollars with fee": ({"Amount in": "USD", "Client ID": "Shop"}, ["100"], "102.00 USD"),
    "euros with fee": ({"Amount in": "EUR", "Client ID": "Shop"}, ["50"], "51.00 EUR"),
    "batch": ({"Kind": "batch"}, ["1000,5", "2"], "1,002.5 fUSDC"),
}  # fmt: skip


def shown(page: Locator) -> Any:
    return page.evaluate(f"(root) => ({SHOWN})(root.ownerDocument)")


def fill(person: Person, chosen: dict[str, str], amounts: list[str]) -> Locator:
    """Fills the form; the page in its preview."""
    page = person.at("/create").heading("Create a link").page
    person.choose("Network", "sepolia").choose("Token", "fUSDC-sepolia").fill("Reference", "INV-7 <b>")
    for label, value in chosen.items():
        page.get_by_label(label, exact=True).select_option(label=value if label == "Client ID" else None, value=None if label == "Client ID" else value)
    for _ in amounts[1:]:
        person.click("Add a payment")
    for at, each in enumerate(amounts):
        page.get_by_label("Payee", exact=True).nth(at).fill(PAYEE)
        page.get_by_label("Amount", exact=True).nth(at).fill(each)
    return page.frame_locator("aside iframe").locator("html")


@pytest.mark.parametrize("name", LINKS)
def test_the_preview_shows_what_the_page_of_the_link_shows(new_person: NewPerson, new_visitor: NewVisitor, name: str) -> None:
    chosen, amounts, total = LINKS[name]
    person = new_person().register()
    shop = person.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": [], "feePercentage": "2", "feeAddress": WALLET}, 201)
    colours = {"pageBackgroundColor": "#ffffff", "cardBackgroundColor": "#f4f4f4", "primaryActionColor": "#aa0044"}
    person.call("PUT", f"/v1/client-ids/{shop['id']}/branding", {**colours, "primaryTextColor": "#112211", "secondaryTextColor": "#333333"}, 200)
    frame = fill(person, chosen, amounts)
    expect(frame.locator("#title")).to_have_text(total.replace(" ", "\u00a0"))
    expect(frame.locator("#main")).not_to_have_attribute("data-state", "loading")
    before = shown(frame)
    assert axe_findings(person.page) == []
    person.click("Create link").sees("The link is ready")
    token = person.call("GET", "/v2/secure-payments")["securePayments"][0]["token"]
    real = new_visitor().open(token).page.locator("html")
    expect(real.locator("#main")).to_have_attribute("data-state", before[0])
    assert shown(real) == before


def test_nothing_is_asked_or_pressed_in_the_preview_and_what_the_api_refuses_is_said(new_person: NewPerson) -> None:
    person, asked = new_person().register(), list[str]()
    person.page.on("request", lambda request: asked.append(request.url))
    frame = fill(person, {}, ["12.5"])
    expect(frame.locator("#title")).to_have_text("12.5\u00a0fUSDC")
    assert person.page.locator("aside iframe").get_attribute("inert") is not None
    height = int(person.page.locator("aside iframe").get_attribute("height") or 0)
    assert height >= frame.evaluate("(root) => root.querySelector('footer').getBoundingClientRect().bottom") - 1, "all of it is seen"
    assert not [each for each in asked if "/secure-payments/00000" in each]
    person.page.get_by_label("Payee", exact=True).fill(PAYEE[:-1] + ("A" if PAYEE[-1] != "A" else "B"))
    expect(person.page.locator("aside iframe")).to_have_count(0)
    person.sees("checksum")


def test_the_page_of_an_amount_before_is_not_shown(new_person: NewPerson) -> None:
    person, waiting = new_person().register(), list[Route]()
    frame = fill(person, {}, ["12.5"])
    expect(frame.locator("#title")).to_have_text("12.5\u00a0fUSDC")
    person.page.route("**/secure-payments/preview", lambda route: waiting.append(route))
    person.fill("Amount", "13").sees("13 fUSDC")
    expect(person.page.locator("aside iframe")).to_have_count(0)
    with person.page.expect_request("**/secure-payments/preview"):
        person.fill("Amount", "14").sees("14 fUSDC")
    expect(person.page.locator("aside iframe")).to_have_count(0)
    waiting[-1].continue_()
    expect(frame.locator("#title")).to_have_text("14\u00a0fUSDC")
