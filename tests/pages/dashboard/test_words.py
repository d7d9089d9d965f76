"""What the API leaves open is said in words. Only the browser runs: the API answers as scenes of the dashboard do."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.browser import PATIENT
from infra.local.scenes_account import Answers
from infra.local.scenes_dashboard import CAPTURABLE, POPULATED
from infra.local.screens_dashboard import answering, open_view
from tests.pages.visitor import axe_findings
from tests.support.patience import milliseconds

pytestmark = pytest.mark.xdist_group("scenes")
Opened = Callable[[str, Answers], Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opened]:
    context = browser.new_context(reduced_motion="reduce", locale="en")
    context.set_default_timeout(milliseconds())
    context.add_init_script(PATIENT)

    def open_path(path: str, answers: Answers) -> Page:
        page = context.new_page()
        page.route("**/*", answering(answers))
        open_view(page, path, "")
        return page

    yield open_path
    context.close()


def test_transfers_that_are_not_listed_are_said_to_be_missing(opened: Opened) -> None:
    known = POPULATED["list_transfers_of_request"]
    for is_truncated in (False, True):
        page = opened("request/01ab", {**POPULATED, "list_transfers_of_request": {**known, "truncated": is_truncated}})
        expect(page.get_by_text("Not every transfer is listed")).to_have_count(int(is_truncated))


def test_what_is_held_in_a_token_that_is_not_listed_is_shown_in_its_smallest_unit(opened: Opened) -> None:
    page = opened("request/01ab", {**CAPTURABLE, "list_currencies": []})
    card = page.locator("[aria-labelledby=held]")
    expect(card).to_contain_text("amounts are in its smallest unit")
    expect(card).to_contain_text("60,000,000")
    assert axe_findings(page) == []


def fill(page: Page, **chosen: str) -> Page:
    for label, value in chosen.items():
        page.get_by_label(label, exact=True).select_option(value)
    page.get_by_label("Amount", exact=True).fill("12.5")
    return page


def test_the_preview_says_why_it_has_no_fees(opened: Opened) -> None:
    refused = {"statusCode": 400, "message": "Fees are known for US dollar stablecoins", "error": "Bad Request"}
    aside = fill(opened("create", {**POPULATED, "preview_fees": refused})).locator("aside")
    expect(aside).to_contain_text("What the fees are cannot be said: Fees are known for US dollar stablecoins")
    in_euros = fill(opened("create", POPULATED), **{"Amount in": "EUR"}).locator("aside")
    expect(in_euros).to_contain_text("They depend on the rate when the payer pays")
    capturable = fill(opened("create?kind=held", POPULATED)).locator("aside")
    expect(capturable).to_contain_text("A fee is taken only if the client ID has one.")


def test_the_preview_warns_of_a_payee_that_sends_no_tokens_on(opened: Opened) -> None:
    payee = "0xf17f52151EbEF6C7334FAD080c5704D77216b732"
    plan = {"totalFeesUsd": "0", "payerTotalAmountUsd": "12.5", "warnings": [{"payee": payee, "message": "It is one."}]}
    page = opened("create", {**POPULATED, "preview_fees": plan})
    page.get_by_label("Payee", exact=True).fill(payee)
    with page.expect_request("**/fees/preview") as asked:
        fill(page)
    assert asked.value.post_data_json["payees"] == [payee]
    note = page.locator("aside .note.bad")
    expect(note).to_contain_text("is a contract whose code sends no tokens on: what is paid to it may be lost.")
    assert axe_findings(page) == []


def test_home_shows_as_many_days_as_are_chosen(opened: Opened) -> None:
    asked: list[str] = []
    page = opened("", POPULATED)
    page.on("request", lambda each: asked.append(each.url) if "/v2/payments?" in each.url else None)
    bars = page.locator("svg.bars rect")
    expect(bars).to_have_count(30)
    page.get_by_label("Days", exact=True).select_option("90")
    expect(bars).to_have_count(90)
    expect(page.locator("svg.bars")).to_have_attribute("aria-label", re.compile("90"))
    assert len(asked) == 1
