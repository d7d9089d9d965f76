"""Payouts: chosen, combined and paid by the wallet; and those of a table, which become one link or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from infra.local.screens_dashboard import SCENES
from tests.fakes.world import PAYEE
from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import EVIL, NewPerson, Person
from tests.pages.dashboard.test_creating import TRON, WRONG_CHECKSUM, created, sign_in_again
from tests.pages.dashboard.test_views import pay_out
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings

pytestmark = pytest.mark.xdist_group("browser")
OTHER = "0x627306090abaB3A6e1400e9345bC60c78a8BEf57"
HEAD = "recipient,amount,currency\n"


def choose(person: Person, *amounts: str) -> Person:
    for amount in amounts:
        person.page.get_by_label(f"Choose {amount} ").check()
    return person


def fill_table(person: Person, *lines: str) -> Person:
    return person.fill("Table", HEAD + "\n".join(lines))


def test_payouts_are_combined_into_one_and_paid_by_the_connected_wallet(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    person = new_person(purse).register()
    for amount in ("1.25", "2.5", "4"):
        pay_out(person, purse.address, amount, reference=f"<b>{amount}")
    person.at("/payouts").sees("Whose payouts?").click("Use Test Wallet").sees("Choose payouts to pay them")
    assert person.page.url.lower().endswith(f"walletaddress={purse.address.lower()}")
    choose(person, "1.25", "4").sees("Payouts chosen: 2, together 5.25 fUSDC-sepolia").click("Combine into one").sees("Ready to be paid")
    assert axe_findings(person.page) == []
    url = str(person.page.get_by_role("link", name="Pay now").get_attribute("href"))
    person.click("Close")
    expect(person.page.locator("tbody tr")).to_have_count(3)
    visitor = new_visitor(purse).open(url.partition("token=")[2]).connect(purse)
    visitor.pay("approve" if visitor.state == "approve" else "confirming")
    stack.settle()
    visitor.reach("completed")
    person.page.reload()
    expect(person.page.locator("tbody tr")).to_have_count(1)
    paid = person.call("GET", "/v2/request?status=paid")["requests"]
    assert sorted(each["amount"] for each in paid) == ["1.25", "4"]
    choose(person, "2.5").click("Go to the payment page").sees("Ready to be paid")
    assert person.call("GET", "/v2/secure-payments?status=pending")["securePayments"][0]["securePaymentUrl"] == person.page.get_by_role("link", name="Pay now").get_attribute("href")


def test_payouts_that_cannot_be_combined_say_why_and_stay_as_they_are(new_person: NewPerson, purse: Purse) -> None:
    person = new_person().register()
    tokens = [pay_out(person, purse.address, amount) for amount in ("1", "2", "3")]
    pay_out(person, purse.address, "9", network="mainnet", currency="USDC-mainnet")
    person.at(f"/payouts?walletAddress={purse.address}").sees("Choose payouts to pay them")
    choose(person, "1", "9").click("Combine into one").sees("Choose payouts on one network: these are on")
    person.page.get_by_label("Choose 9 ").uncheck()
    person.call("POST", f"/v2/secure-payments/{tokens[1]}/cancel")
    choose(person, "2").click("Combine into one")
    expect(person.page.locator("td .problem")).to_have_count(1)
    links = person.call("GET", "/v2/secure-payments")["securePayments"]
    assert {each["token"]: each["status"] for each in links}[tokens[0]] == "pending" and len(links) == 4


def test_an_address_of_no_form_is_said_and_other_peoples_payouts_are_not_shown(new_person: NewPerson, purse: Purse) -> None:
    pay_out(new_person().register(), purse.address, "1")
    person = new_person().register().at("/payouts")
    for text in ("", "0x12", EVIL, "vitalik.eth"):
        person.fill("Wallet that pays it", text).click("Show")
        expect(person.page.locator(".problem")).to_have_count(1)
        assert person.page.get_by_label("Wallet that pays it").input_value() == text
    person.fill("Wallet that pays it", purse.address).click("Show").sees("No open payouts")
    person.at(f"/payouts?walletAddress={EVIL}").page.wait_for_load_state("networkidle")
    assert person.page.evaluate("window.ran") is None and person.page.locator("main [role=alert]").count() == 1


def test_a_recurring_payout_is_signed_once_by_its_payer_and_stopped(new_person: NewPerson, purse: Purse) -> None:
    """The allowance is sent on the chain, and the permit is the one that the service gave; stopping offers to lower what is allowed."""
    purse.signs_typed_data()
    person = new_person(purse).register().at("/recurring").sees("No recurring payouts").click("New recurring payout")
    person.click("Go on to sign it").sees("Enter the address that is paid")
    expect(person.page.locator("dialog .problem")).to_have_count(3)
    person.choose("Token", "fUSDC-sepolia").fill("Recipient", PAYEE).fill("Amount", "1,5").fill("Wallet that pays it", purse.address)
    for count in ("1", "256", "2.5", "x"):
        person.fill("Number of payments", count).click("Go on to sign it").sees("Write a whole number from 2 to 255")
    assert person.call("GET", "/v2/payouts/recurring")["recurringPayouts"] == []
    person.fill("Number of payments", "2").fill("First date", "2050-01-31").click("Go on to sign it").sees("Nothing is paid before the payer has signed")
    assert axe_findings(person.page) == []
    person.click("Close").sees("Not signed").click("Sign").sees("Sign 1.5 fUSDC-sepolia to")
    person.click("Use Test Wallet").sees("It was sent.")
    purse.says["eth_requestAccounts"] = {"result": [OTHER]}
    person.click("Sign by Test Wallet").sees("no other one can sign this")
    del purse.says["eth_requestAccounts"]
    person.click("Sign by Test Wallet").sees("It is active").page.get_by_role("dialog").get_by_role("button", name="Close", exact=True).last.click()
    person.sees("0 of 2").sees("Active").click("Stop").sees("No more payments of 1.5 fUSDC-sepolia are made")
    assert axe_findings(person.page) == []
    person.page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
    person.sees("Lower what is allowed").click("Use Test Wallet").sees("It was sent.").click("Close").sees("Stopped")
    (stopped,) = person.call("GET", "/v2/payouts/recurring")["recurringPayouts"]
    assert (stopped["status"], stopped["amount"], stopped["payer"]) == ("cancelled", "1.5", purse.address)
    expect(person.page.get_by_role("button", name="Stop")).to_have_count(0)


def test_a_paused_recurring_payout_says_why_and_is_resumed(new_person: NewPerson) -> None:
    person = new_person().register()
    row = {**SCENES["dashboard-recurring"][2]["list_recurring"]["recurringPayouts"][3]}
    person.page.route("**/v2/payouts/recurring?*", lambda route: route.fulfill(json={"recurringPayouts": [row], "nextCursor": None}))
    person.page.route("**/v2/payouts/recurring/R2", lambda route: (row.update(status="active", failureCode=None), route.fulfill(json={}))[1])
    person.at("/recurring").sees("The payer allows too little of the token.").click("Resume").sees("Active")
    expect(person.page.get_by_text("allows too little")).to_have_count(0)


@pytest.mark.parametrize("width", [320, 1280])
def test_a_table_becomes_one_link_that_pays_all_its_rows(new_person: NewPerson, tmp_path: Path, width: int) -> None:
    """From a file with a BOM, semicolons and line ends of Windows; twice the same click is one link."""
    person = new_person(viewport={"width": width, "height": 900}).register().at("/import")
    template = str(person.page.get_by_role("link", name="Download a template").get_attribute("href"))
    assert template.startswith("data:text/csv;charset=utf-8,recipient%2Camount%2Ccurrency%0D%0A")
    file = tmp_path / "<img src=x>.csv"
    lines = ["\ufeffCurrency;Recipient;Amount;Memo", f'fusdc-sepolia;{PAYEE};"12,50";"{EVIL.replace(chr(34), chr(34) * 2)}"', f"fUSDC-sepolia;{OTHER};3;"]
    file.write_bytes("\r\n".join(lines).encode())
    person.page.get_by_label("File").set_input_files(file)
    person.sees("Rows: 2, with problems: 0. Sum of the others: 15.5 fUSDC-sepolia").sees("Columns that are not used: memo")
    assert axe_findings(person.page) == [] and person.page.evaluate("document.documentElement.scrollWidth") <= width
    keys: list[str] = []

    def lose_the_first(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        route.fetch() if len(keys) == 1 else None
        route.abort() if len(keys) == 1 else route.continue_()

    person.page.route("**/v2/secure-payments", lose_the_first)
    person.fill("Reference", "March").click("Create one link for all rows").sees("could not be reached")
    person.click("Create one link for all rows").sees("One link pays all rows (2)")
    assert len(keys) == 2 and len(set(keys)) == 1
    person.page.unroute_all(behavior="ignoreErrors")
    (link,) = person.call("GET", "/v2/secure-payments")["securePayments"]
    assert (link["paymentType"], link["reference"]) == ("batch", "March")
    assert axe_findings(person.page) == []
    person.click("Requests of the link", "link").heading("Requests")
    expect(person.page.locator("tbody tr")).to_have_count(2)
    rows = person.call("GET", f"/v2/request?securePaymentToken={link['token']}")["requests"]
    assert [(each["payee"], each["amount"]) for each in rows] == [(PAYEE, "12.5"), (OTHER, "3")]


def test_a_table_becomes_payouts_that_the_wallet_pays_together(stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor) -> None:
    person = new_person(purse).register().at(f"/payouts?walletAddress={purse.address}").click("Import payouts", "link")
    fill_table(person, f'{PAYEE},"1,25",fUSDC-sepolia', f"{OTHER},4,fUSDC-sepolia").fill("Wallet that pays it", "0x12")
    person.click("Create one link for all rows").sees("This is no address")
    for wrong in (TRON, OTHER.lower()):
        person.fill("Wallet that pays it", wrong).click("Create one link for all rows")
        expect(person.page.locator(".problem")).to_have_count(1)
    assert created(person) == (0, 0)
    person.fill("Wallet that pays it", purse.address).click("Create one link for all rows").sees("Payouts were created: 2")
    assert axe_findings(person.page) == []
    url = str(person.page.get_by_role("link", name="Pay now").get_attribute("href"))
    person.click("Payouts of this wallet", "link").sees("Choose payouts to pay them")
    choose(person, "1.25").sees("Payouts chosen: 2, together 5.25 fUSDC-sepolia").sees("Payouts of one link are paid together")
    visitor = new_visitor(purse).open(url.partition("token=")[2]).connect(purse)
    visitor.pay("approve" if visitor.state == "approve" else "confirming")
    stack.settle()
    visitor.reach("completed")
    paid = person.call("GET", "/v2/request?status=paid")["requests"]
    assert sorted((each["payee"], each["amount"], each["payer"]) for each in paid) == [(OTHER, "4", purse.address), (PAYEE, "1.25", purse.address)]


def test_amounts_and_addresses_of_other_forms_are_said_by_row_and_column(new_person: NewPerson, purse: Purse) -> None:
    person = new_person(purse).register().at("/import").fill("Wallet that pays it", purse.address)
    amounts = {"12,5": True, "1 234,56": True, "1'234.56": True, "1.234,56": False, "1,234.56": False, "1,000": False, "١٢": False, "-1": False, "1e3": False, "0": False, "$5": False}
    fill_table(person, *(f'{PAYEE},"{each}",fUSDC-sepolia' for each in amounts), f"{TRON},1,fUSDC-sepolia", f"{PAYEE[2:]},1,fUSDC-sepolia")
    cells = [[bool(cell.locator(".problem").count()) for cell in row.locator("td").all()] for row in person.page.locator("tbody tr").all()]
    assert cells == [*([False, False, not is_read, False] for is_read in amounts.values()), *[[False, True, False, False]] * 2]
    person.click("Create one link for all rows").sees("Nothing was created")
    fill_table(person, f"{PAYEE},1,USDT-tron").sees("with problems: 1")
    fill_table(person, f"{PAYEE},1,fUSDC-sepolia", f"{purse.address},1,fUSDC-sepolia", f"{WRONG_CHECKSUM},1,fUSDC-sepolia").click("Create one link for all rows")
    expect(person.page.locator("tbody .problem")).to_have_count(2)
    assert created(person) == (0, 0)


def test_wrong_cells_are_said_by_row_and_column_and_nothing_is_created(new_person: NewPerson) -> None:
    person = new_person().register().at("/import")
    fill_table(
        person, f"{PAYEE},1,fUSDC-sepolia", f"{TRON},1,fUSDC-sepolia", f'{PAYEE},"1,000",fUSDC-sepolia', f"{EVIL.replace(',', '')},1,{EVIL[:20]}",
        f"{PAYEE},1,USDC-mainnet", f"{PAYEE},1.23456789,fUSDC-sepolia",
    )  # fmt: skip
    person.sees("Rows: 6, with problems: 5.").click("Create one link for all rows").sees("Rows with problems: 5. Nothing was created")
    said = [[bool(cell.locator(".problem").count()) for cell in row.locator("td").all()] for row in person.page.locator("tbody tr").all()]
    assert said == [
        [False, False, False, False], [False, True, False, False], [False, False, True, False], [False, False, False, True],
        [False, False, False, True], [False, False, True, False],
    ]  # fmt: skip
    assert axe_findings(person.page) == [] and person.page.evaluate("window.ran") is None
    text = HEAD + "\n".join([f"{PAYEE},1,fUSDC-sepolia", f"{WRONG_CHECKSUM},2,fUSDC-sepolia", f"{'0x' + '0' * 40},3,fUSDC-sepolia"])
    person.fill("Table", text).sees("with problems: 0").click("Create one link for all rows")
    expect(person.page.locator("tbody tr").nth(1).locator("td").nth(1).locator(".problem")).to_contain_text("checksum")
    expect(person.page.locator("tbody tr").nth(2).locator("td").nth(1).locator(".problem")).to_have_count(1)
    assert person.page.get_by_label("Table", exact=True).input_value() == text
    person.fill("Table", HEAD + f"{PAYEE},1,fUSDC-sepolia").fill("Reference", "م" * 256).click("Create one link for all rows")
    expect(person.page.locator(".problem", has_text="255")).to_have_count(1)
    assert person.page.get_by_label("Reference").input_value() == "م" * 256
    assert created(person) == (0, 0)


def test_a_table_that_is_too_long_or_no_table_is_refused_in_words(new_person: NewPerson, tmp_path: Path) -> None:
    person = fill_table(new_person().register().at("/import"), f"{PAYEE},1,fUSDC-sepolia")
    kept = person.page.get_by_label("Table", exact=True).input_value()
    for text, said in (
        (HEAD + f"{PAYEE},1,fUSDC-sepolia\n" * 10_000, "The table has 10,000 rows. Import at most 200 at a time; nothing was created."),
        ("x" * 1_000_001, "larger than 1 MB"), ("", "has no rows"), ("a;b\n1;2", "has to name the columns"),
        (HEAD + "\udcff", "no text in UTF-8"),
    ):  # fmt: skip
        file = tmp_path / "payouts.csv"
        file.write_bytes(text.encode(errors="surrogateescape"))
        person.page.get_by_label("File").set_input_files(file)
        person.sees(said)
        assert person.page.get_by_label("Table", exact=True).input_value() == kept
    person.fill("Table", HEAD + f"{PAYEE},1,fUSDC-sepolia\n" * 201).sees("The table has 201 rows").click("Create one link for all rows")
    expect(person.page.get_by_role("alert")).to_contain_text("The table has 201 rows")
    assert created(person) == (0, 0)


def test_the_largest_table_becomes_one_link(new_person: NewPerson) -> None:
    person = fill_table(new_person().register().at("/import"), *(f"{PAYEE},0.{number:06},fUSDC-sepolia" for number in range(1, 201)))
    person.sees("Rows: 200, with problems: 0. Sum of the others: 0.0201 fUSDC-sepolia")
    person.click("Create one link for all rows").sees("One link pays all rows (200)")
    assert created(person) == (1, 200)


def test_a_session_that_ends_with_a_table_loses_nothing(new_person: NewPerson) -> None:
    person = fill_table(new_person().register().at("/import"), f"{PAYEE},1,fUSDC-sepolia").fill("Reference", "March")
    person.context.clear_cookies()
    person.click("Create one link for all rows").sees("Your session has ended")
    assert PAYEE in person.page.get_by_label("Table", exact=True).input_value()
    sign_in_again(person)
    person.sees("One link pays all rows (1)")
    assert created(person) == (1, 1)


def test_what_the_api_refuses_of_a_table_leaves_it_as_it_was(new_person: NewPerson) -> None:
    person = fill_table(new_person().register().at("/import"), f"{PAYEE},1,fUSDC-sepolia")
    answers = iter([(429, "Too many calls"), (503, "The service has a problem")])
    refusal = {"statusCode": 0, "message": "It is so", "error": "x"}
    now: list[Any] = []
    person.page.route("**/v2/secure-payments", lambda route: route.fulfill(status=now[0], body=json.dumps(refusal), content_type="application/json"))
    for status, said in answers:
        now[:] = [status]
        person.click("Create one link for all rows").sees(said)
        assert PAYEE in person.page.get_by_label("Table", exact=True).input_value()
    assert created(person) == (0, 0)
