"""Settings at the dashboard: where a wallet is paid, which mails are sent, and what is said of what was kept."""

from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_sign_in import signing
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings

pytestmark = pytest.mark.xdist_group("browser")
UNAVAILABLE: Any = {"status": 503, "json": {"statusCode": 503, "message": "x", "error": "x"}}


@pytest.fixture
def shop(stack: Stack) -> Purse:
    return Purse(stack.chain, "Shop wallet")


@pytest.fixture
def owner(shop: Purse, new_person: NewPerson) -> Person:
    """The owner of an account, who signs in with the shop's wallet."""
    return new_person(signing(shop)).at().click("Use Shop wallet").heading("Home")


def token_of(person: Person, name: str) -> str:
    (address,) = [each["address"] for each in person.call("GET", "/v2/currencies") if each["id"] == name]
    return str(address)


def in_dialog(person: Person, button: str) -> Person:
    person.page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    return person


def test_a_destination_is_changed_after_a_question_that_names_the_old_and_the_new_one(owner: Person, shop: Purse) -> None:
    """Of the links that exist the question says what is so: they are still paid in the token they were made in."""
    old, new = token_of(owner, "fUSDT-sepolia"), token_of(owner, "fUSDC-sepolia")
    owner.at("/payees").choose("Token", "fUSDT-sepolia").click("Save").sees("Choose another token to change it.")
    destination = owner.call("GET", "/v1/payee-destination")
    client = owner.call("POST", "/v1/client-ids", {"label": "Shop", "allowedDomains": ["https://shop.example"], "payeeDestinationId": destination["id"]}, 201)

    def link() -> Any:
        headers = {"x-client-id": client["clientId"], "origin": "https://shop.example"}
        reply = owner.context.request.post(f"{owner.stack.api_url}/v2/secure-payments", data={"requests": [{"amount": "1"}]}, headers=headers)
        assert reply.status == 201, reply.text()
        return owner.call("GET", f"/v2/request/{reply.json()['requestIds'][0]}")

    before = link()
    owner.choose("Token", "fUSDC-sepolia").click("Change the destination")
    dialog = owner.page.get_by_role("dialog")
    for text in (f"{shop.address[:8]}…", "fUSDT-sepolia, Sepolia", old[:8], "fUSDC-sepolia, Sepolia", new[:8], "Created", "are still paid as they were made"):
        expect(dialog).to_contain_text(text)
    assert axe_findings(owner.page) == []
    assert owner.call("GET", "/v1/payee-destination")["tokenAddress"] == old
    in_dialog(owner, "Change the destination").sees("Choose another token to change it.")
    assert owner.call("GET", "/v1/payee-destination")["tokenAddress"] == new
    assert link()["paymentCurrency"] == "fUSDC-sepolia"
    assert owner.call("GET", f"/v2/request/{before['requestId']}")["paymentCurrency"] == before["paymentCurrency"] == "fUSDT-sepolia"


def test_a_destination_is_deactivated_after_a_question_that_names_it(owner: Person, shop: Purse) -> None:
    owner.at("/payees").choose("Token", "USDC-base").click("Save").click("Deactivate")
    dialog = owner.page.get_by_role("dialog")
    for text in (f"{shop.address[:8]}…", token_of(owner, "USDC-base")[:8], "Base", "Created", "are still paid as they were made"):
        expect(dialog).to_contain_text(text)
    assert axe_findings(owner.page) == []
    in_dialog(owner, "Deactivate").sees("No payee destination")
    assert owner.call("GET", "/v1/payee-destination") is None


def test_the_choice_of_mails_is_kept(new_person: NewPerson) -> None:
    person = new_person().register().at("/account")
    card = person.page.locator("section", has=person.page.get_by_role("heading", name="E-mail to owners, admins and finance"))
    boxes = card.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    before = [each.is_checked() for each in boxes.all()]
    boxes.first.click()
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    person.page.reload()
    expect(boxes.first).to_be_checked(checked=not before[0])
    assert [each.is_checked() for each in boxes.all()] == [not before[0], before[1]]
    assert person.call("GET", "/v1/notifications")["payments"] is not before[0]


def test_a_merchant_says_as_whom_receipts_name_it_and_takes_it_back(new_person: NewPerson) -> None:
    person = new_person().register().at("/account")
    card = person.page.locator("section", has=person.page.get_by_role("heading", name="On receipts"))
    card.get_by_label("Name of the business").fill("Müller & Söhne")
    card.get_by_label("Address").fill("Weg 1\n10115 Berlin")
    card.get_by_label("Tax id").fill("x" * 501)
    card.get_by_role("button", name="Save").click()
    expect(card.locator(".problem")).to_have_count(1)
    card.get_by_label("Tax id").fill("DE123")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    person.page.reload()
    expect(card.get_by_label("Address")).to_have_value("Weg 1\n10115 Berlin")
    card.get_by_label("Tax id").fill(" ")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")
    account = person.call("GET", "/v1/account")
    assert [account[name] for name in ("businessName", "taxId")] == ["Müller & Söhne", None]


def test_what_waits_for_approval_is_not_said_to_be_saved(new_person: NewPerson) -> None:
    person = new_person().register().at("/account")
    card = person.page.locator("section", has=person.page.get_by_role("heading", name="On receipts"))
    waits = {"result": person.call("GET", "/v1/account"), "pendingChange": {"id": "x", "expiresAt": "2101-01-01T00:00:00.000Z"}}
    person.page.route("**/v1/account", lambda route: route.fulfill(status=202, json=waits) if route.request.method == "PUT" else route.fallback())
    card.get_by_role("button", name="Save").click()
    person.sees("This waits for approval").sees("It waits for another person")
    expect(card.locator("p[role=status]")).to_contain_text("It waits for another person, until Jan 1, 2101")


@pytest.mark.parametrize(("number", "path"), [(0, "account"), (1, "notifications"), (2, "account")])
def test_nothing_is_said_to_be_saved_beside_a_later_error(new_person: NewPerson, number: int, path: str) -> None:
    person = new_person().register().unwatched().at("/account")
    card = person.page.locator("main section").nth(number)
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_have_text("Saved.")

    def answer(route: Route) -> None:
        route.fulfill(**UNAVAILABLE) if route.request.method == "PUT" else route.continue_()

    person.page.route(f"**/v1/{path}", answer)
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("alert")).to_be_visible()
    expect(card).not_to_contain_text("Saved.")
