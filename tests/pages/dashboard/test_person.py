"""Somebody who has only a URL, from the first visit to the last thing a merchant does: everything in the dashboard."""

import csv
import io
from collections.abc import Callable

import pytest
from beancount import loader
from beancount.core import data
from playwright.sync_api import expect

from chalicelib.webhooks import publisher
from chalicelib.webhooks.deliveries import store as delivery_store
from chalicelib.webhooks.deliveries.flows import deliver, fail
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import PASSWORD, NewPerson, Person
from tests.pages.dashboard.test_commerce import deliveries_of
from tests.pages.dashboard.test_sign_in import signing
from tests.pages.dashboard.test_use import receiver, sending_mail
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")
ANN, BOB = "ann@person.example", "bob@person.example"


def test_a_person_with_a_url_does_everything_without_curl(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    shop = signing(Purse(stack.chain, "Shop wallet"))
    ann, bob = new_person(shop), new_person()
    ann.email = ANN
    with receiver(500, 200) as url, sending_mail(stack) as sent:
        registers_and_verifies(ann, sent)
        ann.click("Webhooks", "link").click("New webhook").fill("URL", url).click("Create webhook").sees("It is shown only this once").click("Close")
        link = creates_a_link(ann, shop)
        visitor = new_visitor(purse).open(link.partition("token=")[2]).connect(purse)
        visitor.pay("approve" if visitor.state == "approve" else "confirming")
        stack.settle()
        visitor.reach("completed")
        ann.sees("Paid in full").sees("Transfer of 12.5 fUSDC-sepolia")  # without reloading
        replays_a_failed_webhook(stack, ann, url)
        refunds_half(stack, ann)
        exports(ann, shop)
        ann.click("Team", "link").click("Invite").fill("E-mail address or wallet", BOB).choose("Role", "finance")
        ann.page.get_by_role("dialog").get_by_role("button", name="Invite", exact=True).click()
        ann.sees("Only that e-mail has the link")
        bob.page.goto(sent())
        bob.heading("Invitation").click("I am new here").fill("Password", PASSWORD).click("Create an account").sees(f"Open the link that was sent to {BOB}")
        bob.page.goto(sent())
        bob.click("Confirm address").fill("E-mail address", BOB).fill("Password", PASSWORD).click("Sign in").heading("Home")
    ann.click("Close").click("Sign-in and sessions", "link").click("Add a wallet").click("Add with Shop wallet").sees(shop.address)
    ann.click("Payee destination", "link").sees("sign in with that wallet").page.locator(".person summary").click()
    ann.click("Sign out").heading("Sign in").click("Use Shop wallet").heading("Home")
    ann.click("Payee destination", "link").choose("Token", "USDC-base").click("Save").sees("Nothing has been changed yet.")
    bob.at("/changes").sees("A payee destination").sees("Base").click("Approve")
    bob.page.get_by_role("dialog").get_by_role("button", name="Approve").click()
    bob.sees("In effect")
    ann.at("/payees").sees("Active").sees("Base")


def registers_and_verifies(ann: Person, sent: Callable[[], str]) -> None:
    ann.at().heading("Sign in").click("Create an account", "link").fill("E-mail address", ANN).fill("Password", PASSWORD)
    ann.click("Create an account").heading("Look into your e-mail")
    ann.page.goto(sent())
    ann.heading("Confirm your address").click("Confirm address").fill("Password", PASSWORD).click("Sign in").heading("Home")


def creates_a_link(ann: Person, shop: Purse) -> str:
    """Creates a link that pays the shop's wallet, and follows it; its URL."""
    ann.click("Home", "link").click("Create a link", "link").choose("Token", "fUSDC-sepolia").fill("Payee", shop.address)
    ann.fill("Amount", "12.50").fill("Reference", "INV-7").click("Create link").sees("The link is ready")
    url = str(ann.page.get_by_role("link", name="Open as the payer sees it").get_attribute("href"))
    ann.click("Follow it", "link").heading("12.5 fUSDC-sepolia")
    return url


def replays_a_failed_webhook(stack: Stack, ann: Person, url: str) -> None:
    request_id = ann.page.url.rpartition("/")[2]
    (event,) = ann.call("GET", f"/v1/webhook/events?requestId={request_id}")["events"]
    with stack.lock:  # what the queues do, up to the last attempt
        publisher.publish_events(running(), [event["id"]])
        ids = deliveries_of(event["id"])
        for each in ids:
            deliver(running(), each, 0, in_slow_lane=True)
        failed = next(each for each in ids if not (found := delivery_store.find_delivery(running().store, each)) or found.is_open)
        attempted = delivery_store.find_delivery(running().store, failed)
        assert attempted is not None and fail(running(), attempted)
    ann.page.reload()
    row = ann.page.locator(".timeline .delivery", has_text="Failed")
    expect(row).to_contain_text(url)
    row.get_by_role("button", name="Send it again").click()
    expect(row).to_have_count(0)
    with stack.lock:
        deliver(running(), failed, 0, in_slow_lane=True)
    expect(ann.page.locator(".timeline .delivery", has_text="Delivered")).to_have_count(len(ids))


def refunds_half(stack: Stack, ann: Person) -> None:
    ann.click("Refund").fill("Amount", "6.25").click("Go on").click("Use Shop wallet").sees("It was sent.").click("Close")
    stack.settle()
    ann.sees("Refunded").sees("6.25 fUSDC-sepolia")


def exports(ann: Person, shop: Purse) -> None:
    ann.click("Payments", "link").heading("Payments").sees("Sum of the 2 shown: 6.25 fUSDC-sepolia")
    with ann.page.expect_download() as download:
        ann.click("Download CSV")
    lines = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert sorted(each["amount"].lstrip("'") for each in lines) == ["-6.25", "12.5"]
    assert shop.address in {each["payee"] for each in lines}
    with ann.page.expect_download() as download:
        ann.click("Download for Beancount")
    transactions, errors, _ = loader.load_string(download.value.path().read_text())
    tags = [tag for each in transactions if isinstance(each, data.Transaction) for tag in each.tags]
    assert (errors, sorted(tags)) == ([], ["payment", "refund"])
    ann.at("/payments?reference=INV-7").sees("Sum of the 2 shown")
    expect(ann.page.get_by_role("button", name="Download for Beancount")).to_have_count(0)


def test_the_language_of_mails_is_chosen_and_why_an_address_gets_none_is_said(new_person: NewPerson) -> None:
    person = new_person().register().at("/security").sees("E-mails to you").choose("Language of e-mails", "ja")
    person.page.locator("section", has=person.page.get_by_role("heading", name="E-mails to you")).get_by_role("button", name="Save").click()
    person.sees("Saved.")
    assert [each["language"] for each in person.call("GET", "/v1/auth/email")["addresses"]] == ["ja"]
    person.page.reload()
    expect(person.page.get_by_label("Language of e-mails")).to_have_value("ja")
    address = {"email": "a@b.example", "confirmedAt": None, "language": "de", "stopped": {"since": "2026-03-15T08:00:00Z", "reason": "complaint"}}
    person.page.route("**/v1/auth/email", lambda route: route.fulfill(json={"addresses": [address], "sendsEmail": True}))
    person.page.reload()
    person.sees("one was reported as spam")
