"""What the payer is told before anything is signed: what they have, what it takes in all, and where it goes."""

import re
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, address_of
from infra.local.scenes import LINK, SCENES
from infra.local.screens import Stage, look
from tests.fakes.world import PAYEE
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import THIEF, forge
from tests.pages.visitor import without_policy
from tests.support.client import item
from tests.support.items import native

pytestmark = pytest.mark.xdist_group("browser")


def test_of_several_tokens_each_balance_is_told(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    fau = item(invoiceCurrency="FAU-sepolia", paymentCurrency="FAU-sepolia", amount="3")
    visitor = new_visitor(purse).open(stack.shop.link(item(amount="1.5"), fau)).connect(purse)
    visitor.shows("1,000,000 fUSDC", "1,000,000 FAU")


def test_what_the_batch_contract_takes_is_in_the_total(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(item(amount="100"), item(amount="50"), native())
    stack.chain.set_batch_fee(30)
    try:
        visitor = new_visitor(purse).open(token)
        visitor.page.locator("#manual summary").click()
        visitor.shows("Fee of the batch contract", "0.45 fUSDC and 0.0015 ETH", "150.45 fUSDC and 0.5015 ETH")
        visitor.connect(purse)
        visitor.shows("Fee of the batch contract", "0.45 fUSDC")
        visitor.button(re.compile("^Approve and pay 150.45 fUSDC and 0.5015 ETH")).click()
        visitor.reach("confirming")
    finally:
        stack.chain.set_batch_fee(0)


def test_what_is_signed_is_told_from_its_bytes_before_what_the_service_says_of_it(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    def lie(body: dict[str, Any]) -> None:
        call = {"contract": "Nothing", "function": "harmless", "to": THIEF, "summary": f"Send 12.5 fUSDC to {THIEF}"}
        body["metadata"]["explanation"] = [call, call]

    visitor = new_visitor(purse).open(stack.shop.link())
    forge(visitor, "/pay", lie)
    visitor.connect(purse)
    spender = address_of(ERC20_FEE_PROXY, "sepolia")
    words = "In the payment service\N{RIGHT SINGLE QUOTATION MARK}s words, which this page does not check"
    wanted = [
        ["To contract", FUSDC, "fUSDC.approve", "Permission for", spender, "Amount", "12.5 fUSDC", words],
        ["To contract", spender, "ERC20FeeProxy.transferFromWithReferenceAndFee", "To", PAYEE, "Amount", "12.5 fUSDC"]
        + ["Token contract", FUSDC, "Reference", words],
    ]
    for step, facts in zip(visitor.page.locator(".exact").all(), wanted, strict=True):
        step.locator("summary").click()
        before, _, said = step.inner_text().replace("\u00a0", " ").partition(words)
        lines = [line for line in before.splitlines()[1:] if line]
        assert [line for line in lines if not line.startswith("0x") or len(line) > 18] == facts[:-1]
        assert said.strip().strip("\u201c\u201d") == f"Send 12.5 fUSDC to {THIEF}"


def test_who_asks_is_named_by_a_verified_domain_and_by_words_that_are_marked_as_their_own(stage: Stage) -> None:
    with stage.show_scene(SCENES["merchant"]) as page:
        assert page.locator(".row .domain").inner_text() == "\u2713 pay.shop.example (verified domain)"
        assert page.locator(".row .label").inner_text() == "\u201cAnn's Shop\u201d (own statement, not verified)"
    with stage.show_scene(SCENES["merchant-unverified"]) as page:
        assert page.locator(".row .domain").count() == 0
        assert page.locator(".row .label").inner_text().endswith("\u201d (own statement, not verified)")


def test_a_payee_with_a_name_is_shown_with_both(stage: Stage) -> None:
    with stage.show_scene(SCENES["named"]) as page:
        payee = page.locator("dd", has=page.locator("bdi", has_text="pay.shop.eth")).first
        assert payee.inner_text().split() == ["pay.shop.eth", LINK["payee"]]
    with stage.show_scene(SCENES["review"]) as page:
        assert page.locator("dd div bdi").count() == 0


def test_a_name_is_text_and_stays_in_its_card(stage: Stage) -> None:
    hostile = {**LINK, "payeeName": "<b>\u202eknab\u2069</b>" + "w" * 240}
    with stage.show_scene(replace(SCENES["named"], link=(200, hostile))) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        shown = page.locator("dd div bdi")
        assert shown.inner_text().startswith("<b>\ufffdknab\ufffd</b>w") and shown.locator("b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_label_is_text_and_stays_in_its_card(stage: Stage) -> None:
    label = "<b>\u202eknab\u2069</b>" + "w" * 27
    hostile = replace(SCENES["merchant"], link=(200, {**LINK, "merchant": {"domain": None, "label": label}}))
    with stage.show_scene(hostile) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        shown = page.locator(".row .label")
        assert shown.inner_text().startswith("\u201c<b>\ufffdknab\ufffd</b>w") and shown.locator("b").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize(
    "merchant",
    [{"domain": "sh\u043ep.example"}, {"domain": "shop.example\u202e"}, {"domain": "Bank"}, {"label": "w" * 255}, {"label": 1}],
)
def test_a_merchant_in_another_form_stops_the_page(stage: Stage, merchant: dict[str, object]) -> None:
    scene = replace(SCENES["merchant"], state="trouble-odd", link=(200, {**LINK, "merchant": merchant}), is_connected=False)
    with stage.show_scene(scene) as page:
        assert page.locator(".domain, .label").count() == 0


def test_who_has_too_little_reads_so_and_nothing_of_signatures(stage: Stage) -> None:
    with stage.show_scene(SCENES["review-short"]) as page:
        expect(page.locator("#panel-body > .note").first).to_have_text("Your wallet does not have enough to pay.")
        expect(page.locator("main")).not_to_contain_text("Your wallet will ask you")


def test_a_wallet_that_is_of_no_use_here_can_be_changed(stage: Stage) -> None:
    with stage.show_scene(SCENES["lied"]) as page:
        page.get_by_role("button", name="Use another wallet").click()
        page.locator('#main[data-state="choose"]').wait_for()


def test_a_time_is_told_as_the_language_that_was_chosen_tells_it(stage: Stage) -> None:
    with stage.show_scene(SCENES["asked-early"]) as page:
        expect(page.locator(".note")).to_contain_text(re.compile("[AP]M"))
        look(page, "phone")
        expect(page.locator(".note")).not_to_contain_text(re.compile("[AP]M"))


def test_on_a_small_phone_fields_stay_in_the_card_and_codes_are_as_large_as_it_is(stage: Stage) -> None:
    with stage.show_scene(SCENES["manual"]) as page:
        look(page, "small-phone")
        page.locator("#manual-data-1").wait_for()
        room = page.locator("#manual-body").evaluate("each => each.getBoundingClientRect().width")
        widths = "all => all.map((each) => each.getBoundingClientRect().width)"
        assert page.locator("#manual-body .pair").evaluate_all(widths) == [room] * 5
        page.locator("#manual-body .qr").first.wait_for()
        assert set(page.locator("#manual-body .qr").evaluate_all(widths)) == {room}


def test_a_token_is_called_as_its_holders_call_it(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    forge(visitor, "", lambda body: body | dict.fromkeys(("paymentCurrency", "invoiceCurrency"), "USDCn-sepolia"))
    visitor.open(stack.shop.link()).shows("12.5 USDC")
    assert "USDCn" not in visitor.text


def test_a_network_fee_is_told_in_four_digits(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link()).connect(purse)
    [digits] = re.findall(r"about 0\.(\d+) ETH", visitor.text)
    assert len(digits.lstrip("0")) <= 4


BRAND = {
    "logoPath": "/pages/logos/cli_none?v=1",
    "pageBackgroundColor": "#2b0040",
    "cardBackgroundColor": "#3a0058",
    "primaryActionColor": "#ffd400",
    "primaryTextColor": "#ffffff",
    "secondaryTextColor": "#e0c8ff",
    "termsPath": "https://shop.example/terms",
    "privacyPath": "javascript:alert(1)",
    "displayRequestBranding": False,
}


def test_a_brand_costs_one_request_more_which_is_its_logo(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    forge(visitor, "", lambda body: body | {"branding": BRAND})
    with visitor.page.expect_request("**/pages/logos/**"):
        visitor.open(stack.shop.link())
    asked = [each for each in asked if each.startswith("GET http")]
    assert "/pages/logos/" in asked[4], asked
    assert visitor.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(43, 0, 64)"
    assert visitor.page.locator("#footer a").all_inner_texts() == ["Terms"]


@pytest.mark.parametrize("less", [r' integrity="[^"]*"', r'"integrity": ?\{[^}]*\}'])
def test_a_script_that_was_altered_on_its_way_does_not_run(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, less: str
) -> None:
    """Either of the places in the page that have its hash is enough: browsers read one of them or both."""
    visitor = new_visitor(purse)

    def without_hashes(route: Route) -> None:
        reply = route.fetch()
        text, count = re.subn(less, '"integrity":{}' if "{" in less else "", reply.text())
        assert count > 0
        route.fulfill(response=reply, body=text, headers=without_policy(reply))

    visitor.page.route("**/?token=*", without_hashes)
    visitor.open(stack.shop.link())

    def altered(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.text() + "\n// and more")

    visitor.page.route("**/pages/payment.*.js", altered)
    visitor.press(purse.name)
    visitor.reach("choose").shows("The wallet could not be connected")
    visitor.until(lambda: visitor.complaints != [])
    assert all("integrity" in each for each in visitor.complaints)
    visitor.complaints.clear()
