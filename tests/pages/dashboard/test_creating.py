"""What the form creates besides links that are paid at once, what it gives to pass on, and forms that begin with terms."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from playwright.sync_api import expect

from chalicelib.platform.access.people.records import Role
from tests.fakes.world import PAYEE, WALLET
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import EVIL, PASSWORD, NewPerson, Person
from tests.pages.dashboard.test_roles import give_role
from tests.pages.dashboard.test_sign_in import fill_payment
from tests.pages.dashboard.test_views import pay_out
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item

pytestmark = pytest.mark.xdist_group("browser")
WRONG_CHECKSUM = PAYEE.swapcase().replace("0X", "0x")
TRON = "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"


def fill_commerce(person: Person) -> Person:
    person.choose("Kind", "held").choose("Token", "fUSDC-sepolia").fill("Payee", PAYEE).fill("Amount", "12.50")
    return person.fill("Name of the merchant", "Shop <i>1</i>")


def fill_recurring(person: Person) -> Person:
    return fill_payment(person.choose("Kind", "recurring")).choose("How often", "YEARLY")


def values(person: Person) -> dict[str, str]:
    """What the fields of the form have, by their labels."""
    found: dict[str, str] = person.page.evaluate(
        """Object.fromEntries([...document.querySelectorAll("main .field")].map((each) => [each.querySelector("label").innerText, each.querySelector("input, select, textarea").value]))"""
    )
    return found


def problem_of(person: Person, label: str) -> str:
    described = str(person.page.get_by_label(label, exact=True).first.get_attribute("aria-describedby"))
    return person.page.locator(f"#{described.split()[-1]}").inner_text() if "-problem" in described else ""


def created(person: Person) -> tuple[int, int]:
    """How many links and requests the account has."""
    links = person.call("GET", "/v2/secure-payments")["securePayments"]
    return len(links), person.call("GET", "/v2/request")["pagination"]["total"]


def sign_in_again(person: Person) -> None:
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_role("button", name="Sign in", exact=True).click()


def test_a_held_payment_is_created_with_terms_that_the_payer_is_shown(new_person: NewPerson) -> None:
    person = fill_commerce(new_person().register().at("/create"))
    offered = person.page.get_by_label("Network").locator("option").evaluate_all("each => each.map(({ value }) => value)")
    assert offered and set(offered) <= {"base", "sepolia"}, "those with the escrow"
    person.sees("reach you when you capture them").fill("Can be captured until", "2099-01-02T10:00")
    person.fill("Can be paid until", "2099-01-01T10:00").click("Create link").sees("The link is ready")
    person.click("Follow it", "link").heading("12.5 fUSDC-sepolia")
    request_id = person.page.url.rpartition("/")[2]
    state = person.call("GET", f"/v2/commerce-payments/{request_id}/status", expected=200)
    until = datetime.fromtimestamp(int(state["authorizationExpiry"]), UTC)
    assert (state["amount"], state["merchantId"], state["merchant"], until.year) == ("12500000", "Shop <i>1</i>", PAYEE, 2099)
    token = person.call("GET", f"/v2/secure-payments?requestId={request_id}")["token"]
    key = {"x-client-id": person.call("POST", "/v1/client-ids", {"label": "Page", "allowedDomains": []}, 201)["clientId"]}
    page = person.context.request.get(f"{person.stack.api_url}/v2/secure-payments/{token}", headers=key).json()
    assert page["commerce"]["maxFeeBps"] == 0
    person.click("Duplicate", "link").heading("Create a link")
    expect(person.page.get_by_label("Name of the merchant")).to_have_value("Shop <i>1</i>")
    again = values(person)
    assert (again["Kind"], again["Amount"], again["Payee"], again["Can be paid until"]) == ("held", "12.5", PAYEE, "")


def test_a_request_that_recurs_is_created_and_said_to_have_no_link(new_person: NewPerson) -> None:
    person = fill_recurring(new_person().register().at("/create"))
    person.sees("Nobody is charged by itself").sees("Every year").fill("First date", "2020-01-01").click("Create request")
    person.sees("is in the past")
    assert "is in the past" in problem_of(person, "First date") and created(person) == (0, 0)
    person.fill("First date", "2099-01-31").fill("Note", "Ask Ann <b>").click("Create request").sees("The request is created")
    assert person.page.get_by_text("Link to pay").count() == 0
    (made,) = person.call("GET", "/v2/request")["requests"]
    stored = person.call("GET", f"/v2/request/{made['requestId']}")
    assert (stored["recurrence"], stored["note"]) == ({"startDate": "2099-01-31", "frequency": "YEARLY"}, "Ask Ann <b>")
    person.click("Follow it", "link").click("Duplicate", "link").heading("Create a link")
    expect(person.page.get_by_label("How often")).to_have_value("YEARLY")
    again = values(person)
    assert (again["Kind"], again["Reference"], again["Amount"]) == ("recurring", "INV-7", "12.5")


def test_the_result_has_an_expiry_a_note_and_a_mail_that_is_written(new_person: NewPerson) -> None:
    person = fill_payment(new_person().register().at("/create")).fill("Reference", "INV & <7>\u202e")
    person.fill("Expires", "2099-03-04T10:00").fill("Note", "Second reminder").click("Create link").sees("The link is ready")
    person.fill("E-mail address of the payer", "eve+shop@example.com")
    href = str(person.page.get_by_role("link", name="Write the mail").get_attribute("href"))
    url = person.page.locator(".copy.whole code").inner_text()
    mail = urlsplit(href)
    said = parse_qs(mail.query, strict_parsing=True)
    assert (mail.scheme, unquote(mail.path)) == ("mailto", "eve+shop@example.com")
    assert said["subject"] == ["Payment of 12.5 fUSDC (INV & <7>\ufffd)"]
    assert said["body"][0].split("\r\n\r\n")[:3] == ["Please pay 12.5 fUSDC here:", url, "Reference: INV & <7>\ufffd"] and "2099" in said["body"][0]
    assert axe_findings(person.page) == []
    (link,) = person.call("GET", "/v2/secure-payments")["securePayments"]
    (request,) = person.call("GET", "/v2/request")["requests"]
    assert link["expiresAt"].startswith("2099-03-04")
    assert person.call("GET", f"/v2/request/{request['requestId']}")["note"] == "Second reminder"
    person.click("Follow it", "link").heading("12.5 fUSDC-sepolia")
    again = str(person.page.get_by_role("link", name="Mail it to the payer").get_attribute("href"))
    said = parse_qs(urlsplit(again).query, strict_parsing=True)
    assert said["subject"] == ["Payment of 12.5 fUSDC-sepolia (INV & <7>\ufffd)"] and said["body"][0].split("\r\n\r\n")[1] == url
    person.click("Cancel the link").page.get_by_role("dialog").get_by_role("button", name="Cancel the link").click()
    expect(person.page.get_by_role("link", name="Mail it to the payer")).to_have_count(0)


def test_what_could_not_be_set_beside_a_link_is_said_with_the_link(new_person: NewPerson) -> None:
    person = fill_payment(new_person().register().at("/create")).fill("Expires", "2099-03-04T10:00")
    refusal = {"statusCode": 400, "message": "It is <b>so</b>", "error": "x"}
    person.page.route("**/v2/secure-payments/*", lambda route: route.fulfill(status=400, json=refusal))
    person.click("Create link").sees("The link is ready").sees("Expires was not set: It is <b>so</b>")
    assert created(person) == (1, 1)


def test_a_link_is_created_again_with_its_terms(new_person: NewPerson) -> None:
    person = new_person().register()
    usd = {**item(), "invoiceCurrency": "USD", "amount": "3.25"}
    person.call("POST", "/v2/secure-payments", {"requests": [usd, {**usd, "amount": "4"}], "reference": EVIL[:60], "redirectUrl": "https://shop.example/thanks"}, 201)
    person.at("/links").click("Duplicate", "link").heading("Create a link")
    expect(person.page.get_by_label("Kind")).to_have_value("batch")
    again = values(person)
    assert (again["Amount in"], again["Reference"], again["Where the payer goes on afterwards (URL)"]) == ("USD", EVIL[:60], "https://shop.example/thanks")
    assert [each.input_value() for each in person.page.get_by_label("Amount", exact=True).all()] == ["3.25", "4"]
    person.click("Create link").sees("The link is ready")
    assert created(person) == (2, 4)
    person.at(f"/create?link={pay_out(person)}")
    expect(person.page.get_by_label("Wallet that pays it")).to_have_value(WALLET)
    assert (values(person)["Kind"], values(person)["Recipient"]) == ("payout", PAYEE)
    person.at("/create?link=no-such-link").sees("belongs to another account")
    person.at(f"/create?request={'0' * 66}").sees("not found")


def test_a_link_is_created_for_a_client_id_with_its_branding_and_fee_and_again(
    stack: Stack, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    person = new_person().register().at("/create?kind=payout").heading("Create a payout")
    person.choose("Kind", "recurring").heading("Create a request that recurs").choose("Kind", "single").heading("Create a link")
    expect(person.page.get_by_label("Token", exact=True)).to_be_visible()
    assert person.page.get_by_label("Client ID").count() == 0, "there is none to choose"
    settings = {"allowedDomains": ["https://shop.example"], "allowedPayees": [WALLET], "feePercentage": "2", "feeAddress": WALLET}
    shop = person.call("POST", "/v1/client-ids", {"label": "Shop <b>", **settings}, 201)
    old = person.call("POST", "/v1/client-ids", {"label": "Old", "allowedDomains": []}, 201)
    person.call("PUT", f"/v1/client-ids/{old['id']}", {"status": "inactive"}, 200)
    colours = {"pageBackgroundColor": "#ffffff", "cardBackgroundColor": "#f4f4f4", "primaryActionColor": "#aa0044"}
    person.call("PUT", f"/v1/client-ids/{shop['id']}/branding", {**colours, "primaryTextColor": "#111111", "secondaryTextColor": "#333333"}, 200)
    fill_payment(person.at("/create")).choose("Client ID", shop["clientId"])
    assert person.page.get_by_label("Client ID").locator("option").all_inner_texts() == ["None", "Shop <b>"]
    person.sees("0.25 USD").sees("12.75 USD")  # with the fee of the client id
    assert axe_findings(person.page) == []
    person.click("Create link").sees("The link is ready")
    (link,) = person.call("GET", "/v2/secure-payments")["securePayments"]
    assert link["clientId"] == shop["clientId"]
    visitor = new_visitor().open(link["token"])
    assert visitor.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--action').trim()") == "#aa0044"
    for path in ("/create", f"/create?link={link['token']}"):
        person.at(path)
        expect(person.page.get_by_label("Client ID")).to_have_value(shop["clientId"])
    person.call("PUT", f"/v1/client-ids/{shop['id']}", {"status": "inactive"}, 200)
    person.click("Create link").sees("must be an active client ID of the account")
    assert "must be an active client ID" in problem_of(person, "Client ID") and created(person) == (1, 1)


def test_a_link_of_several_currencies_is_not_filled_in_wrongly(new_person: NewPerson) -> None:
    person = new_person().register()
    coin = {**item(), "invoiceCurrency": "ETH-sepolia-sepolia", "paymentCurrency": "ETH-sepolia-sepolia", "amount": "1"}
    token = person.call("POST", "/v2/secure-payments", {"requests": [item(), coin]}, 201)["token"]
    person.at(f"/create?link={token}").sees("which this form cannot hold")
    assert person.page.get_by_label("Amount").count() == 0


def test_who_may_not_hold_payments_is_not_given_the_form_for_another_kind(stack: Stack, new_person: NewPerson) -> None:
    person = fill_commerce(new_person().register().at("/create")).click("Create link").sees("The link is ready")
    (link,) = person.call("GET", "/v2/secure-payments")["securePayments"]
    give_role(stack, person, Role.SUPPORT)
    for path in (f"/create?link={link['token']}", "/create?kind=payout", "/create?kind=recurring"):
        person.at(path).sees("Your role in this account is Support")
        assert person.page.get_by_label("Amount").count() == 0
    person.at("/create?kind=no-such-kind").sees("What the payer sees")
    kinds = person.page.get_by_label("Kind").locator("option").evaluate_all("each => each.map(({ value }) => value)")
    assert kinds == ["single", "batch"]


def test_a_row_of_links_opens_the_requests_of_that_link(new_person: NewPerson) -> None:
    person = new_person().register()
    person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    made = person.call("POST", "/v2/secure-payments", {"requests": [item(amount=str(n)) for n in range(1, 28)], "reference": "INV-27"}, 201)
    person.at("/links?reference=INV-27").page.locator("tbody a").first.click()
    person.heading("Requests")
    assert f"securePaymentToken={made['token']}" in person.page.url
    rows = person.page.locator("tbody tr")
    expect(rows).to_have_count(25)
    person.click("Show more")
    expect(rows).to_have_count(27)
    assert [each.split("\n")[0] for each in person.page.locator(".money").all_inner_texts()[:2]] == ["1 fUSDC-sepolia", "2 fUSDC-sepolia"]
    other = new_person().register()
    other.at(f"/requests?securePaymentToken={made['token']}").sees("Nothing matches")


@pytest.mark.parametrize(
    ("kind", "label", "text", "said"),
    [
        ("held", "Amount", "1.234,56", "Write an amount such as"),
        ("held", "Amount", "١٢٫٥", "Write an amount such as"),
        ("held", "Amount", "1.2345678", "6 decimals at most"),
        ("held", "Payee", TRON, "the network is not Tron"),
        ("held", "Payee", WRONG_CHECKSUM, "checksum"),
        ("held", "Wallet that pays it", "vitalik.eth", "This is no address"),
        ("held", "Wallet that pays it", PAYEE, "is the merchant"),
        ("held", "Name of the merchant", " ", "Enter a name"),
        ("held", "Name of the merchant", "م" * 256, "255"),
        ("held", "Can be paid until", "2020-01-01T10:00", "in the future"),
        ("recurring", "Amount", "1,000", "Write an amount such as"),
        ("recurring", "Payee", WRONG_CHECKSUM, "checksum"),
        ("recurring", "Reference", "名" * 256, "255"),
        ("recurring", "First date", "", "Choose the first date"),
    ],
)  # fmt: skip
def test_bad_input_is_said_beside_its_field_with_nothing_lost_and_nothing_created(
    new_person: NewPerson, kind: str, label: str, text: str, said: str
) -> None:
    person = new_person().register().at("/create")
    (fill_commerce if kind == "held" else fill_recurring)(person).fill(label, text)
    before = values(person)
    person.click("Create link" if kind == "held" else "Create request")
    expect(person.page.locator(".problem", has_text=said)).to_have_count(1)
    assert said in problem_of(person, label)
    assert values(person) == before and before[label] == text
    assert created(person) == (0, 0)


@pytest.mark.parametrize("kind", ["held", "recurring"])
def test_a_session_that_ends_in_a_form_loses_nothing(new_person: NewPerson, kind: str) -> None:
    """Whether the call finds out or the tab that is shown again."""
    person = new_person().register().at("/create")
    (fill_commerce if kind == "held" else fill_recurring)(person)
    before = values(person)
    person.context.clear_cookies()
    person.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    person.sees("Your session has ended")
    sign_in_again(person)
    expect(person.page.get_by_role("dialog")).to_have_count(0)
    assert values(person) == before
    person.context.clear_cookies()
    person.click("Create link" if kind == "held" else "Create request").sees("Your session has ended")
    assert values(person) == before
    sign_in_again(person)
    person.sees("The link is ready" if kind == "held" else "The request is created.")
    assert created(person) == ((1, 1) if kind == "held" else (0, 1))


def test_names_of_every_script_and_direction_are_kept_and_shown_as_text(new_person: NewPerson) -> None:
    names = ["مرحبا بالعالم", "שלום \u202eevil", "名前😀", "नमस्ते", EVIL, "x" * 255]
    person = new_person().register().at("/create")
    for name in names:
        fill_payment(person).fill("Reference", name).fill("Note", name).click("Create link").sees("The link is ready")
        assert person.page.evaluate("window.ran") is None
        person.click("Create another").sees("What the payer sees")
    stored: list[Any] = person.call("GET", "/v2/secure-payments")["securePayments"]
    assert [each["reference"] for each in stored] == names[::-1]
    person.at("/links").sees("名前😀").sees("שלום \ufffdevil")
    assert person.page.evaluate("window.ran") is None


def test_a_form_with_wrong_fields_leads_to_the_first_and_the_next_one_begins_with_the_same_token(new_person: NewPerson) -> None:
    person = new_person().register().at("/create").choose("Network", "sepolia").choose("Token", "fUSDC-sepolia")
    person.fill("Payee", "0x123").fill("Amount", "12.50").click("Create link").sees("This is no address")
    expect(person.page.get_by_label("Payee", exact=True)).to_be_focused()
    person.fill("Payee", PAYEE).click("Create link").sees("The link is ready")
    person.at("/create")
    expect(person.page.get_by_label("Network", exact=True)).to_have_value("sepolia")
    expect(person.page.get_by_label("Token", exact=True)).to_have_value("fUSDC-sepolia")
