"""What is done about a request and its link: cancelled, noted, another expiry; and what is refused."""

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import NewPerson, Person, StoredEvents
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")


def opened(person: Person, **changes: object) -> str:
    """The token of a link, whose first request is shown."""
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()], **changes}, 201)
    person.at(f"/request/{made['requestIds'][0]}").sees("Link to pay")
    return str(made["token"])


def confirm(person: Person, label: str) -> Person:
    person.page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()
    return person


def test_a_link_is_cancelled_after_a_question_that_names_it(new_person: NewPerson, new_visitor: NewVisitor) -> None:
    person = new_person().register()
    token = opened(person, reference="INV-<b>9")
    person.click("Cancel the link").sees("fUSDC-sepolia, INV-<b>9 can be paid no more.")
    assert axe_findings(person.page) == []
    confirm(person, "Cancel the link")
    expect(person.page.locator(".badge", has_text="Cancelled").first).to_be_visible()
    expect(person.page.get_by_role("button", name="Cancel the link")).to_have_count(0)
    assert person.page.get_by_text("Link to pay").count() == 0
    new_visitor().open(token, "cancelled")
    person.at("/links?status=cancelled").sees("INV-<b>9")
    person.at("/requests?status=cancelled").sees("INV-<b>9")


@rehearsed
def test_of_several_payments_the_question_says_that_all_end(new_person: NewPerson) -> None:
    person = new_person().register()
    opened(person, requests=[item(), item()])
    confirm(person.click("Cancel the link").sees("and the other payments in it can be paid no more"), "Cancel the link")
    expect(person.page.locator(".badge", has_text="Cancelled").first).to_be_visible()
    person.at("/requests?status=cancelled")
    expect(person.page.locator("tbody tr")).to_have_count(2)


@rehearsed
def test_what_is_being_paid_is_not_cancelled_and_the_reason_is_said(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    person = new_person().register()
    token = opened(person)
    person.click("Cancel the link")
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.pay("approve" if visitor.state == "approve" else "confirming")
    visitor.reach("confirming")
    confirm(person, "Cancel the link").sees("A transaction that pays this was announced and has not ended")
    person.click("Close")
    person.page.reload()
    person.sees("Timeline").sees("Open as the payer sees it")
    expect(person.page.get_by_role("button", name="Try again")).to_have_count(0)
    stack.settle()
    person.sees("Paid in full")
    expect(person.page.get_by_role("button", name="Cancel the link")).to_have_count(0)


@rehearsed
def test_a_note_and_an_expiry_are_kept(new_person: NewPerson) -> None:
    person = new_person().register()
    opened(person)
    person.click("Change the note").fill("Note", "Called on Monday <i>").click("Save").sees("Called on Monday <i>")
    person.click("Change the note")
    expect(person.page.get_by_label("Note", exact=True)).to_have_value("Called on Monday <i>")
    person.fill("Note", "First line\nSecond line").click("Save").sees("Second line")
    assert "\ufffd" not in person.page.locator("main").inner_text()
    person.click("Change the note").fill("Note", " ").click("Save")
    expect(person.page.get_by_text("Called on Monday")).to_have_count(0)
    person.click("Change the expiry").fill("Expires", "2020-01-01T10:00").click("Save")
    expect(person.page.get_by_role("dialog").locator("[role=alert], .problem").first).to_be_visible()
    person.fill("Expires", "2099-01-02T10:00").click("Save").sees("Jan 2, 2099")


def test_a_request_without_a_link_is_cancelled_itself(new_person: NewPerson) -> None:
    person = new_person().register()
    made = person.call("POST", "/v2/request", item(), 201)
    timeline = person.at(f"/request/{made['requestId']}").page.locator("ol.timeline li")
    expect(timeline.first).to_contain_text("Created")
    person.click("Cancel the request")
    confirm(person, "Cancel the request")
    expect(person.page.locator(".badge", has_text="Cancelled").first).to_be_visible()


def test_the_body_of_an_event_is_shown_as_webhooks_receive_it(stack: Stack, new_person: NewPerson) -> None:
    person = new_person().register()
    made = person.call("POST", "/v2/secure-payments", {"requests": [item()]}, 201)
    StoredEvents(stack, person).of("payment.partial", requestId=made["requestIds"][0], amount="4.25", reference="<b>\u202eINV")
    body = person.at(f"/request/{made['requestIds'][0]}").sees("payment.partial").page.locator("details", has_text="Body")
    expect(body.locator("pre")).to_be_hidden()
    body.locator("summary").click()
    expect(body.locator("pre")).to_contain_text('"amount": "4.25"')
    expect(body.locator("pre")).to_contain_text('"reference": "<b>\ufffdINV"')
    assert axe_findings(person.page) == []


def test_the_secret_of_a_webhook_is_replaced_and_shown_once(new_person: NewPerson) -> None:
    person = new_person().register()
    webhook = person.call("POST", "/v1/webhook", {"url": "http://127.0.0.1:9999/hook"}, 201)
    person.at(f"/webhook/{webhook['id']}").click("Replace the secret").sees("http://127.0.0.1:9999/hook are signed by the new secret")
    assert axe_findings(person.page) == []
    confirm(person, "Replace the secret").sees("It is shown only this once").sees("The secret before holds until ")
    first = person.page.locator("dialog code").inner_text()
    assert first != webhook["secret"] and len(first) > 20
    person.click("Close").click("Replace the secret")
    assert person.page.locator("dialog code").count() == 0
    confirm(person, "Replace the secret").sees("Two secrets hold already, until ").choose("The secret before holds for", "0")
    confirm(person, "Replace the secret").sees("The secret before has ended.")
    assert person.page.locator("dialog code").inner_text() not in (first, webhook["secret"])
