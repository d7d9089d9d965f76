"""The journal of one wallet, saved at the dashboard for programs that take one account in one currency."""

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.fakes.world import PAYEE, WALLET
from tests.pages.dashboard.conftest import NewPerson, Person
from tests.pages.dashboard.test_views import shown
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.stored_transfers import store_payment

pytestmark = pytest.mark.xdist_group("browser")
OPEN = "Download for Xero, QuickBooks, OFX"
LABELS = {
    "network": "Network", "walletAddress": "Wallet", "format": "Program or format", "currency": "Currency", "fromDate": "From (day in UTC)", "toDate": "To (day in UTC)",
}  # fmt: skip


def enter(person: Person, **values: str) -> Locator:
    """Opens the dialog unless it is open, and enters values by the names that the API has for them."""
    dialog = person.page.get_by_role("dialog")
    if not dialog.count():
        person.click(OPEN).sees("These programs take one account in one currency")
    for name, value in values.items():
        field = dialog.get_by_label(LABELS[name], exact=True)
        field.fill(value) if name in ("walletAddress", "fromDate", "toDate") else field.select_option(value)
    return dialog


def download(person: Person, name: str) -> str:
    with person.page.expect_download() as file:
        person.page.get_by_role("dialog").get_by_role("button", name="Download", exact=True).click()
    assert file.value.suggested_filename == name
    return file.value.path().read_bytes().decode()


def test_the_journal_of_a_wallet_is_saved_as_the_api_writes_it_for_each_program(new_person: NewPerson) -> None:
    person = new_person().register()
    made = person.call("POST", "/v2/secure-payments", {"requests": [item(invoiceCurrency="USD")], "reference": "INV-7"}, 201)
    paid = store_payment(made["token"], 1_250_000_000)
    day = paid.at.date().isoformat()
    enter(shown(person, "/payments"), network="sepolia", walletAddress=f" {PAYEE} ", fromDate=day, toDate=day)
    assert axe_findings(person.page) == []
    for program, ending in (("xero", "csv"), ("quickbooks", "csv"), ("ofx", "ofx")):
        enter(person, format=program)
        text = download(person, f"wallet-{program}-1.{ending}")
        assert "12.50" in text and paid.tx_hash in text
        query = f"network=sepolia&walletAddress={PAYEE}&currency=USD&format={program}&fromDate={day}T00:00:00Z&toDate={day}T23:59:59.999Z"
        whole = person.context.request.get(f"{person.stack.pay_url}/v2/journal/wallet?{query}").text()
        assert ending == "ofx" or text == whole, "of OFX the time of the statement differs"
    person.sees("Files that were saved: 1.")
    enter(person, currency="EUR")
    download(person, "wallet-ofx-1.ofx")
    person.sees("They leave out payments without a value in this currency: 1.")


def test_what_is_wrong_with_the_journal_that_is_asked_for_is_said_beside_its_field_and_nothing_is_saved(new_person: NewPerson) -> None:
    person = shown(new_person().register(), f"/payments?walletAddress={WALLET}").unwatched()
    wallet = enter(person, network="sepolia").get_by_label("Wallet", exact=True)
    expect(wallet).to_have_value(WALLET)
    asked: list[str] = []
    person.page.on("request", lambda each: asked.append(each.url) if "/v2/journal/wallet" in each.url else None)
    for typed in ("", "0x12", "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8"):
        wallet.fill(typed)
        person.page.get_by_role("dialog").get_by_role("button", name="Download", exact=True).click()
        expect(wallet).to_have_attribute("aria-invalid", "true")
        expect(wallet).to_be_focused()
    assert asked == []
    wallet.fill(PAYEE.swapcase().replace("0X", "0x"))
    person.page.get_by_role("dialog").get_by_role("button", name="Download", exact=True).click()
    expect(wallet).to_have_attribute("aria-invalid", "true")
    assert len(asked) == 1, "the API checks checksums"
    wallet.fill(PAYEE)
    enter(person, fromDate="2026-03-02", toDate="2026-03-01")
    person.page.get_by_role("dialog").get_by_role("button", name="Download", exact=True).click()
    expect(person.page.get_by_role("dialog").locator(".field .problem")).to_have_count(1)
    assert axe_findings(person.page) == []


def test_a_journal_of_several_files_is_saved_as_these_with_all_that_they_leave_out(new_person: NewPerson) -> None:
    person = shown(new_person().register(), "/payments")
    enter(person, network="sepolia", walletAddress=PAYEE)

    def answer(route: Route) -> None:
        link = {} if "cursor=" in route.request.url else {"link": f'<{route.request.url}&cursor=x>; rel="next"'}
        route.fulfill(body="Date,Amount\n", headers={"content-type": "text/csv", "x-unvalued": "2", **link})

    person.page.route("**/v2/journal/wallet?*", answer)
    saved: list[str] = []
    person.page.on("download", lambda file: saved.append(file.suggested_filename))
    person.page.get_by_role("dialog").get_by_role("button", name="Download", exact=True).click()
    person.sees("Files that were saved: 2. They leave out payments without a value in this currency: 4.")
    assert saved == ["wallet-xero-1.csv", "wallet-xero-2.csv"]
