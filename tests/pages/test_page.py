"""The page for everybody: by keyboard, without scripts, on a small phone, right to left, and how much of it there is."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import takewhile

import pytest
from playwright.sync_api import Response, expect

from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import forge
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.items import native
from tests.support.stored_links import expire, pass_expiry

pytestmark = pytest.mark.xdist_group("browser")
MOST_BYTES, MOST_REQUESTS = 63_500, 6


def test_a_payment_by_keyboard_alone(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native()))
    keyboard = visitor.page.keyboard

    def tab_to(selector: str) -> None:
        for _ in range(20):
            keyboard.press("Tab")
            if visitor.page.locator(f"{selector}:focus-visible").count():
                return
        raise AssertionError(f"{selector} is out of reach")

    tab_to(".wallet")
    keyboard.press("Enter")
    visitor.reach("review")
    expect(visitor.page.locator("#panel-title")).to_be_focused()
    tab_to("summary")
    keyboard.press("Space")
    visitor.shows("EthereumFeeProxy")
    tab_to("#pay")
    keyboard.press("Space")
    visitor.reach("confirming")
    expect(visitor.page.locator("#polite")).to_contain_text("Confirmation 1 of 2")
    stack.settle()
    visitor.reach("completed")
    expect(visitor.page.locator("#polite")).to_contain_text("Payment complete")


def test_the_time_that_is_left_counts_down_and_at_its_end_the_link_is_read_again(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    """Beside it stands what the amount is worth, where that is known."""
    token, now = stack.shop.link(), datetime.now(UTC).replace(microsecond=0)
    told = {"expiresAt": (now + timedelta(seconds=100)).isoformat(), "feePlan": {"payerTotalAmountUsd": "12.345"}}
    visitor = new_visitor()
    visitor.page.clock.install(time=now)
    visitor.page.clock.pause_at(now + timedelta(seconds=30))  # or the seconds that the page takes to come would count
    visitor.page.route("**/pages/poll.js", lambda route: None)  # which would read it again now and then
    forge(visitor, "", lambda body: body | told, date=format_datetime(now + timedelta(seconds=30), usegmt=True))
    visitor.open(token).shows("About $12.35")
    countdown = visitor.page.locator("#countdown")
    expect(countdown).to_have_text("in 1 minute 10 seconds")
    visitor.page.clock.fast_forward(50_000)
    expect(countdown).to_have_text("in 20 seconds")
    with stack.lock:
        expire(token)
    visitor.page.clock.fast_forward(50_000)
    visitor.reach("expired")


def test_a_link_past_its_expiry_says_that_payments_are_looked_for_until_it_is_known(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link()
    with stack.lock:
        pass_expiry(token)
    visitor = new_visitor().open(token, "awaiting")
    visitor.shows("Payments sent before its expiry are still being looked for")
    with stack.lock:
        expire(token)
    visitor.reach("expired")


def test_the_way_back_is_offered_after_the_payment_and_taken_by_nobody_else(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    shop = "https://shop.example/thanks?order=7"
    visitor = new_visitor(purse).open(stack.shop.link(native(), redirectUrl=shop, redirectLabel="Back to the shop"))
    back = visitor.page.get_by_role("link", name="Back to the shop")
    visitor.connect(purse)
    assert back.count() == 0
    visitor.pay("confirming")
    assert back.count() == 0
    stack.settle()
    visitor.reach("completed")
    assert back.get_attribute("href") == shop
    visitor.page.wait_for_timeout(300)
    assert visitor.page.url.startswith(stack.pay_url)


def test_what_is_tried_again_asks_for_no_more_than_before(stack: Stack, new_visitor: NewVisitor) -> None:
    """A token that is none is not asked for, and a brand is shown once."""
    visitor, asked = new_visitor(), list[str]()
    visitor.page.on("request", lambda each: asked.append(each.url) if each.url.startswith(stack.api_url) else None)
    forge(visitor, "", lambda body: body | {"status": "expired", "branding": {"termsPath": "https://shop.example/terms"}})
    for token, state in (("..%2F..%2Fcurrencies%3Fx=", "missing"), (stack.shop.link(), "expired")):
        assert asked == []
        visitor.page.route("**/pages/ends.js", lambda route: route.abort())
        visitor.open(token, "trouble-away")
        visitor.page.unroute("**/pages/ends.js")
        visitor.press("Try again").reach(state)
    assert visitor.page.locator("#footer a").all_inner_texts() == ["Terms"]


def test_without_scripts_it_says_what_is_to_pay_and_how(stack: Stack, new_visitor: NewVisitor) -> None:
    token = stack.shop.link(reference="<b>INV-7</b>")
    visitor = new_visitor(java_script_enabled=False)
    images: list[int] = []
    visitor.page.on("response", lambda reply: images.append(reply.status) if "qr.svg" in reply.url else None)
    visitor.page.goto(f"{stack.pay_url}/?token={token}")
    for each in ("12.5 fUSDC", "<b>INV-7</b>", "JavaScript"):
        assert each in visitor.text
    visitor.until(lambda: len(images) == 3)
    assert images == [200, 200, 200]


def test_without_a_wallet_there_are_codes_to_scan_and_fields_to_copy(stack: Stack, new_visitor: NewVisitor) -> None:
    token = stack.shop.link()
    visitor = new_visitor(permissions=["clipboard-read", "clipboard-write"]).open(token)
    visitor.shows("No wallet was found in this browser")
    visitor.page.locator("#manual summary").click()
    expect(visitor.page.locator(".qr")).to_have_count(3)
    visitor.page.locator(".qr").evaluate_all("images => Promise.all(images.map((each) => each.decode()))")  # each is there
    sources = [str(each.get_attribute("src")).partition("step=")[2] for each in visitor.page.locator(".qr").all()]
    assert sources == ["page", "0", "1"]
    approval, payment = stack.shop.get(f"/v2/secure-payments/{token}/pay").json["transactions"]
    fields = {name: visitor.page.locator(f"#manual-{name}").input_value() for name in ("to-0", "data-0", "to-1", "data-1")}
    assert [*fields.values()] == [approval["to"], approval["data"], payment["to"], payment["data"]]
    visitor.button("Copy: To contract").last.click()
    expect(visitor.page.locator("#polite")).to_have_text("Copied")
    assert visitor.page.evaluate("navigator.clipboard.readText()") == payment["to"]


def test_it_stays_small(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    """Of the page itself, compressed, from the first byte to the last state; and how often it asks before the wallet
    answers, preflights aside."""
    visitor = new_visitor(purse)
    replies: list[Response] = []
    asked: list[str] = []
    visitor.page.on("response", lambda reply: replies.append(reply))
    visitor.page.on("request", lambda each: asked.append(each.url) if each.url.startswith("http") else None)
    visitor.open(stack.shop.link(redirectUrl="https://shop.example/"))
    purse.says["eth_requestAccounts"] = HANGS
    visitor.connect(purse, "connecting").until(lambda: any(url.endswith("/poll.js") for url in asked))
    before = [*takewhile(lambda url: not url.endswith("/poll.js"), asked)]  # which is for what is asked after ten seconds
    assert 4 <= len(before) <= MOST_REQUESTS, before
    del purse.says["eth_requestAccounts"]
    visitor.press("Use another wallet").reach("choose")
    visitor.page.locator("#manual summary").click()
    visitor.page.locator(".qr").first.wait_for()
    visitor.connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    visitor.page.locator("#theme").click()
    own = {reply.url: reply for reply in replies if reply.url.startswith(stack.pay_url) and "qr.svg" not in reply.url}
    weight = {url: reply.request.sizes()["responseBodySize"] for url, reply in own.items()}
    assert len(weight) >= 10
    assert sum(weight.values()) <= MOST_BYTES, weight
    assert not any(url.endswith(f"/{name}") for url in weight for name in ("sources.js", "bridge.js", "deposits.js", "crossing.js"))


@pytest.mark.parametrize(("width", "language"), [(320, "de"), (320, "ar"), (320, "ja"), (390, "ru")])
def test_on_a_phone_nothing_has_to_be_scrolled_sideways(
    stack: Stack, purse: Purse, new_visitor: NewVisitor, width: int, language: str
) -> None:
    token = stack.shop.link(item(amount="123456.789012"), native(), reference="R" * 80)
    visitor = new_visitor(purse, viewport={"width": width, "height": 640}, locale=language)

    def holds(state: str) -> None:
        visitor.reach(state)
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width, state

    visitor.open(token)
    root = visitor.page.locator("html")
    assert root.get_attribute("lang") == language
    assert root.get_attribute("dir") == ("rtl" if language == "ar" else "ltr")
    visitor.page.locator("#manual summary").click()
    visitor.page.locator(".qr").first.wait_for()
    holds("choose")
    visitor.connect(purse)
    visitor.page.locator(".exact summary").first.click()
    holds("review")
    visitor.pay("confirming")
    holds("confirming")


def test_a_language_is_chosen_by_hand_and_kept(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor().open(stack.shop.link())
    visitor.page.locator("#language").select_option("ar")
    expect(visitor.page.locator("html")).to_have_attribute("dir", "rtl")
    visitor.reload("choose")
    assert visitor.page.locator("html").get_attribute("lang") == "ar"


def test_pages_of_others_cannot_frame_it(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    frame = f'<iframe src="{stack.pay_url}/?token=x"></iframe>'
    visitor.page.route("http://evil.example/", lambda route: route.fulfill(body=frame, content_type="text/html"))
    with visitor.page.expect_console_message(lambda message: "frame-ancestors" in message.text):
        visitor.page.goto("http://evil.example/")
    assert visitor.page.frame_locator("iframe").locator("#main").count() == 0
    visitor.complaints.clear()


def test_what_holds_the_page_open_to_everybody_sees_what_is_wrong(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor().open(stack.shop.link())
    visitor.page.evaluate("document.querySelector('select').labels[0].remove()")
    visitor.page.evaluate("document.getElementById('title').style.color = '#bbb'")
    assert {each.split(": ")[1] for each in axe_findings(visitor.page)} == {"select-name", "color-contrast"}
