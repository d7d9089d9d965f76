"""What README.md does with curl under Use, done at the dashboard of a running stack with clicks alone."""

import csv
import io
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from infra.local.outsiders.payer import Payer
from tests.local.running import SHARED, SharedStack
from tests.local.test_stack import pay_in_a_browser
from tests.support.event_receiver import EventReceiver, receiving_events
from tests.support.patience import milliseconds, wait_for
from tests.support.rehearsed import rehearsed
from tests.support.running_browser import running_browser

pytestmark = pytest.mark.xdist_group(SHARED)


def click(page: Page, name: str, role: Any = "button") -> None:
    page.get_by_role(role, name=name, exact=True).last.click()


def fill(page: Page, label: str, text: str) -> None:
    page.get_by_label(label, exact=True).last.fill(text)


@rehearsed
def test_what_readme_does_with_curl_is_done_at_the_dashboard(shared_stack: SharedStack) -> None:
    found = shared_stack.description()
    with receiving_events() as receiver, running_browser() as browser:
        page = browser.new_page(locale="en")
        page.set_default_timeout(milliseconds())
        page.goto(found["dashboard_url"])
        fill(page, "E-mail address", found["email"])
        fill(page, "Password", found["password"])
        click(page, "Sign in")
        expect(page.get_by_role("heading", level=1)).to_have_text("Home")
        registers_a_webhook(page, receiver)
        link, request_id = asks_for_a_payment(page, found["payee"])
        pay_in_a_browser(browser, link, Payer(found["rpc"]["sepolia"], found["payer"]["private_key"]))
        expect(page.locator("main")).to_contain_text("Paid in full", timeout=milliseconds(3))  # without reloading
        wait_for(lambda: any(each["event"] == "payment.confirmed" for each in receiver.events))
        event = next(each for each in receiver.events if each["event"] == "payment.confirmed")
        assert (event["requestId"], event["payee"], Decimal(event["expectedAmount"])) == (request_id, found["payee"], Decimal("12.50"))
        finds_and_exports_the_payment(page, found["payee"])


def registers_a_webhook(page: Page, receiver: EventReceiver) -> None:
    click(page, "Webhooks", "link")
    click(page, "New webhook")
    fill(page, "URL", receiver.url)
    click(page, "Create webhook")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("It is shown only this once")
    receiver.secret = dialog.locator(".copy code").last.get_attribute("title") or ""
    click(page, "Close")


def asks_for_a_payment(page: Page, payee: str) -> tuple[str, str]:
    """The link for the payer, and the id of its request, whose view is open then."""
    click(page, "Home", "link")
    click(page, "Create a link", "link")
    page.get_by_label("Network", exact=True).select_option("sepolia")
    page.get_by_label("Token", exact=True).select_option("fUSDC-sepolia")
    for label, text in (("Payee", payee), ("Amount", "12.50"), ("Reference", "INV-1")):
        fill(page, label, text)
    click(page, "Create link")
    link = page.get_by_role("link", name="Open as the payer sees it").get_attribute("href")
    click(page, "Follow it", "link")
    expect(page.get_by_role("heading", level=1)).to_have_text("12.5 fUSDC-sepolia")
    return str(link), page.url.rpartition("/")[2]


def finds_and_exports_the_payment(page: Page, payee: str) -> None:
    click(page, "Payments", "link")
    page.locator("summary", has_text="Filter").click()
    fill(page, "Reference", "INV-1")
    click(page, "Show")
    expect(page.locator("main tbody tr").first).to_contain_text("INV-1")
    with page.expect_download() as download:
        click(page, "Download CSV")
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {(each["reference"], each["payee"]) for each in rows} == {("INV-1", payee)}
    assert "12.5" in {each["amount"] for each in rows}
