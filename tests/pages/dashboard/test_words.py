"""What the API leaves open is said in words. Only the browser runs: the API answers as scenes of the dashboard do."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.browser import PATIENT
from infra.local.scenes_account import PAYEE, Answers
from infra.local.scenes_dashboard import CAPTURABLE, EMPTY, POPULATED
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
    expect(in_euros).to_contain_text("the payment page states them when the payer pays")
    expect(in_euros).to_contain_text("How much USDC that is depends on the rate when the payer pays.")
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


PLAN = {"totalFeesUsd": "0.25", "payerTotalAmountUsd": "12.75", "warnings": []}
LIRA = {"id": "TRYB-base", "name": "BiLira", "symbol": "TRYB", "decimals": 6, "address": "0x627306090abaB3A6e1400e9345bC60c78a8BEf57", "network": "base", "type": "ERC20", "chainId": 8453}


def asked(page: Page, **chosen: str) -> dict[str, object]:
    """What the API is asked once the form has an amount and a payee."""
    with page.expect_request(lambda each: "/fees/preview" in each.url and PAYEE in (each.post_data or "") and '"12.5"' in (each.post_data or "")) as found:
        fill(page, **chosen).get_by_label("Payee", exact=True).fill(PAYEE)
    body: dict[str, object] = found.value.post_data_json
    return body


@pytest.mark.parametrize("token", ["USDC-base", "TRYB-base"])
def test_the_fees_of_dollars_are_previewed_whatever_token_pays_them(opened: Opened, token: str) -> None:
    answers = {**POPULATED, "preview_fees": PLAN, "list_currencies": [LIRA, *POPULATED["list_currencies"]]}
    page = opened("create", answers)
    body = asked(page, Network="base", Token=token, **{"Amount in": "USD"})
    assert body == {"amount": "12.5", "currency": "USDC-base", "flow": "get_paid", "payees": [PAYEE]}
    aside = page.locator("aside")
    expect(aside).to_contain_text("0.25 USD")
    expect(aside).to_contain_text("12.75 USD")
    expect(aside).to_contain_text(f"How much {token.partition('-')[0]} that is depends on the rate when the payer pays.")
    expect(aside).not_to_contain_text("Fees come on top")


@pytest.mark.parametrize(("path", "token", "fiat"), [("create", "USDC-base", "EUR"), ("create", "TRYB-base", ""), ("create?kind=held", "USDC-base", "")])
def test_a_payee_is_warned_of_also_where_no_fees_can_be_said(opened: Opened, path: str, token: str, fiat: str) -> None:
    """And nothing of the plan is shown, which is that of another amount."""
    plan = {**PLAN, "warnings": [{"payee": PAYEE, "message": "It is one."}]}
    page = opened(path, {**POPULATED, "preview_fees": plan, "list_currencies": [LIRA, *POPULATED["list_currencies"]]})
    fill(page, Network="base", Token=token, **({"Amount in": fiat} if fiat else {}))
    with page.expect_request("**/fees/preview") as found:
        page.get_by_label("Payee", exact=True).fill(PAYEE)
    assert found.value.post_data_json == {"amount": "1", "currency": "USDC-base", "flow": "get_paid", "payees": [PAYEE]}
    expect(page.locator("aside .note.bad")).to_contain_text("is a contract whose code sends no tokens on")
    expect(page.locator("aside")).not_to_contain_text(re.compile(r"12\.75|0\.25"))
    expect(page.locator("aside iframe")).to_have_count(int("held" not in path))
    expect(page.locator("aside .note", has_text="Fees come on top")).to_have_count(0)
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


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


def needing(page: Page) -> list[str]:
    return page.locator("[aria-labelledby=attention] li a").all_inner_texts()


def event(kind: str, **body: object) -> dict[str, object]:
    about = {"requestId": "01ab", "reference": "INV-1", "amount": "14", "currency": "USDC", "paymentCurrency": "USDC", **body}
    return {"id": f"{kind}{body}", "kind": kind, "createdAt": ago(3_600), "body": {"event": kind, **about}}


def test_home_says_of_each_network_that_is_not_read_since_when_and_why(opened: Opened) -> None:
    """One that lags though it is read, one that stopped, one whose nodes disagree; those that were never read as one."""
    known = {"nodes": None, "isSeeingPayments": False}
    networks = [
        {**known, "network": "base", "readUntil": ago(9), "lastRead": ago(5), "isSeeingPayments": True},
        {**known, "network": "matic", "readUntil": ago(4_200), "lastRead": ago(5)},
        {**known, "network": "tron", "readUntil": ago(10_800), "lastRead": ago(10_790)},
        {**known, "network": "bsc", "readUntil": ago(60), "lastRead": ago(50), "nodes": {"total": 3, "usable": 3, "agree": False}},
        *({**known, "network": name, "readUntil": None, "lastRead": None} for name in ("mainnet", "sepolia")),
    ]
    late = needing(opened("", {**EMPTY, "read_account": {}, "show_status": {"networks": networks}}))
    patterns = (
        r"Polygon is behind: payments after .+ are not seen yet", r"Tron has not been read since .+: payments after .+ are not seen yet",
        r"The nodes of BNB Smart Chain disagree: payments after .+ are not seen until they agree", r"Not read yet: Ethereum, Sepolia\. Payments there are not seen",
    )  # fmt: skip
    assert [bool(re.fullmatch(each, said)) for each, said in zip(patterns, late, strict=True)] == [True] * 4, late


def test_home_says_each_kind_of_mispayment_in_words_and_both_currencies_of_one(opened: Opened) -> None:
    strange = {"receivedAmount": "13", "paymentCurrency": "DAI", "amount": "0"}
    events = [
        event("payment.unexpected", labels=["wrong_token"], **strange), event("payment.unexpected", labels=["wrong_network", "wrong_payee", "late"], **strange),
        event("payment.unexpected", labels=["wrong_payee"], **strange),
        event("payment.confirmed", labels=["over"], excessAmount="2", currency="EUR", convertedAmountSource="15.5"),
        event("payment.unexpected", labels=["duplicate"], receivedAmount="15.5", currency="EUR"),
    ]  # fmt: skip
    assert needing(opened("", {**EMPTY, "read_account": {}, "list_events": {"events": events, "nextCursor": None}})) == [
        "13 DAI came in another token than was asked for (INV-1)",
        "13 DAI came on another network than was asked for (INV-1); also: Wrong receiver, After expiry",
        "13 DAI went to another receiver than was asked for (INV-1)",
        "15.5 USDC (counts as 14 EUR) came, of which 2 EUR was too much (INV-1)",
        "15.5 USDC (counts as 14 EUR) came when nothing was owed any more (INV-1)",
    ]


def test_home_says_which_payments_failed_and_why_but_not_what_was_voided(opened: Opened) -> None:
    old = {**event("payment.failed", failureReason="expired"), "createdAt": ago(8 * 86_400)}
    events = [
        event("payment.failed", failureReason="chain_reorganization"), event("payment.failed", failureReason="Bridge of <b> is down"),
        event("payment.failed", failureReason="Insufficient token balance", recurringPayment={"id": "R1"}),
        event("payment.failed", failureReason="voided"), event("payment.failed", failureReason=None, x=1), old,
        event("payment.failed", failureReason="bounced", offrampId="o1"), {**old, "body": event("", offrampId="o1")["body"]},
    ]  # fmt: skip
    found = needing(opened("", {**EMPTY, "read_account": {}, "list_events": {"events": events, "nextCursor": None}}))
    assert found == [
        "A payment of 14 USDC failed: the chain has removed it (01ab)", "A payment of 14 USDC failed: Bridge of <b> is down (01ab)",
        "A recurring payout is paused, as its payment of 14 USDC failed: the payer has too little (01ab)",
        "A payment of 14 USDC failed: no reason was given (01ab)", "14 USDC did not reach the bank account: the bank has sent it back (01ab)",
    ]  # fmt: skip


def test_home_counts_the_failed_payments_that_it_does_not_show_as_no_view_lists_them(opened: Opened) -> None:
    """Those that were to reach a bank account are of 30 days, others of a week."""
    events = [event("payment.failed", failureReason="expired", x=number) for number in range(6)]
    aged = [{**event("payment.failed", offrampId=f"o{days}"), "createdAt": ago(days * 86_400)} for days in (29, 31)]
    page = opened("", {**EMPTY, "read_account": {}, "list_events": {"events": [*events, *aged], "nextCursor": None}})
    assert len(needing(page)) == 5
    expect(page.locator("[aria-labelledby=attention] li").last).to_have_text("Payments that failed: 2 more")
    assert axe_findings(page) == []


def test_the_first_load_is_at_most_fifteen_requests_when_everything_needs_attention(opened: Opened) -> None:
    """A payment that was not as asked for asks for the refunds as well."""
    events = [event("payment.unexpected", labels=["duplicate"]), event("payment.failed", offrampId="o1")]
    asked = list[str]()
    page = opened("", {**POPULATED, "list_events": {"events": events, "nextCursor": None}})
    page.on("request", lambda each: None if each.url.startswith("data:") else asked.append(each.url))
    page.reload()
    page.locator(".loading").first.wait_for(state="detached")
    expect(page.get_by_text("did not reach the bank account")).to_have_count(1)
    expect(page.get_by_text("when nothing was owed any more")).to_have_count(1)
    expect(page.get_by_role("heading", name="Newest payments")).to_be_visible()
    assert any("payment.refunded" in each for each in asked)
    assert len(asked) <= 15, asked


def test_mispayments_shows_both_currencies_of_a_payment_that_was_converted(opened: Opened) -> None:
    paid = event("payment.unexpected", labels=["duplicate"], receivedAmount="15.5", currency="EUR")
    rows = opened("mispayments", {**EMPTY, "list_events": {"events": [paid], "nextCursor": None}}).locator("[aria-labelledby=transfers] tbody tr")
    expect(rows.locator("td").nth(2)).to_have_text("15.5 USDC (counts as 14 EUR)")


@pytest.mark.parametrize("width", [320, 1280])
def test_home_names_each_kind_that_could_not_be_read_in_notes_of_one_width(opened: Opened, width: int) -> None:
    broken = {"statusCode": 503, "message": "x", "error": "Service Unavailable"}
    names = ("show_status", "read_account", "list_changes", "list_webhooks", "list_events", "list_requests", "find_payments")
    page = opened("", {**POPULATED, **dict.fromkeys(names, broken)})
    page.set_viewport_size({"width": width, "height": 900})
    notes = page.locator("main .note.bad")
    expect(notes).to_have_count(8)
    said = [text.split(":")[0] for text in notes.locator("p").all_inner_texts()]
    assert said == [
        "Whether the networks are read", "Whether there is enough for gas", "Changes that wait", "Webhooks that fail",
        "Payments that were not as asked for", "Payments that failed", "Requests that are paid in part", "What was paid",
    ]  # fmt: skip
    boxes = [each.bounding_box() for each in notes.all()]
    assert len({round(box["width"]) for box in boxes[:7] if box}) == 1
    assert axe_findings(page) == []


def test_status_says_of_each_network_how_far_it_is_behind_and_what_that_means_for_payers(opened: Opened) -> None:
    known = {"nodes": None, "lastRead": ago(5), "isSeeingPayments": True}
    networks = [
        {**known, "network": "base", "readUntil": ago(9), "lagSeconds": 9},
        {**known, "network": "matic", "readUntil": ago(4_200), "lagSeconds": 4_200, "isSeeingPayments": False},
        {**known, "network": "sepolia", "readUntil": None, "lagSeconds": None, "lastRead": None, "isSeeingPayments": False},
    ]
    rows = opened("status", {**EMPTY, "show_status": {"networks": networks}}).locator("main tbody tr")
    assert [(row.locator(".badge").inner_text(), row.locator("td").last.inner_text()) for row in rows.all()] == [
        ("Reading", "Payments show as soon as they are confirmed; 9 s behind the chain."),
        ("Behind", "Payments are accepted, but show later than usual. Nothing expires meanwhile."),
        ("Not read yet", "Nothing was read of this network yet. Payments are found once it is."),
    ]
