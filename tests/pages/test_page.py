"""The page for everybody: by keyboard, without scripts, on a small phone, right to left, and how much of it there is."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Response, Route, expect

from chalicelib.pages.assets import assets
from tests.bench.steps import PAGE_FILES
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import forge
from tests.pages.visitor import Visitor, axe_findings, without_policy
from tests.support.client import item
from tests.support.items import native
from tests.support.rehearsed import rehearsed
from tests.support.stored_links import expire, pass_expiry

pytestmark = pytest.mark.xdist_group("browser")
MOST_BYTES, MOST_REQUESTS, MOST_FILES = 60_000, 5, 5


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
    facts = {"expiresAt": (now + timedelta(seconds=100)).isoformat(), "feePlan": {"payerTotalAmountUsd": "12.345"}}
    visitor = new_visitor().unwatched()
    visitor.page.clock.install(time=now)
    visitor.page.clock.pause_at(now + timedelta(seconds=30))  # or the seconds that the page takes to come would count
    forge(visitor, "", lambda body: body | facts, date=format_datetime(now + timedelta(seconds=30), usegmt=True))
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
    visitor.shows("Payments sent before it expired are still being looked for")
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
        visitor.page.route("**/pages/payment.*.js", lambda route: route.abort())
        visitor.open(token, "trouble-away")
        visitor.page.unroute("**/pages/payment.*.js")
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
    visitor.shows("No wallet was found in this browser", "Wallets that add a script of their own to the page are blocked here")
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
    pressed = visitor.page.locator(".small").filter(has_text="Copied")
    expect(pressed).to_have_count(1)
    expect(pressed).to_have_count(0)  # some seconds later it says what it does again
    assert visitor.page.evaluate("navigator.clipboard.readText()") == payment["to"]


def test_it_stays_small(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    """Of the page itself, compressed, from the first byte to the last state; and how often it asks before the wallet
    answers, preflights aside."""
    visitor = new_visitor(purse).unwatched()
    replies: list[Response] = []
    asked: list[str] = []
    visitor.page.on("response", lambda reply: replies.append(reply))
    visitor.page.on("request", lambda each: asked.append(each.url) if each.url.startswith("http") else None)
    purse.says["eth_requestAccounts"] = HANGS
    visitor.open(stack.shop.link(redirectUrl="https://shop.example/")).connect(purse, "connecting")
    assert 4 <= len(asked) <= MOST_REQUESTS, asked
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
    names = {urlsplit(url).path.removeprefix("/pages/").partition(".")[0] for url in weight}
    assert names == {"/", "page", "payment", "manual", "locales/en"}
    assert len(weight) <= MOST_FILES and sum(weight.values()) <= MOST_BYTES, weight


def files(asked: list[str]) -> set[str]:
    """What the page and its files are asked for by, without their hashes; the QR codes aside."""
    paths = [each.removeprefix("GET ") for each in asked if each == "GET /" or each.startswith("GET /pages/")]
    named = [path.removeprefix("/pages/").partition(".")[0] for path in paths if path != "/pages/qr.svg"]
    assert len(named) == len({*named}), "each is asked for once"
    return {*named}


def test_a_first_visit_asks_for_few_files_and_a_second_one_for_the_page_alone(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse)
    stack.asked.clear()
    visitor.open(stack.shop.link(native())).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert files(stack.asked) == {"/", "page", "payment", "locales/en"}
    assert len(files(stack.asked)) == PAGE_FILES, "which is what the model of costs counts"
    stack.asked.clear()
    visitor.open(stack.shop.link(native()), "review").pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert files(stack.asked) == {"/"}


def test_a_page_that_was_loaded_before_a_deployment_is_loaded_again_when_it_lacks_a_file(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse)
    token = stack.shop.link(native())
    open_of_before(visitor, token, "payment.js")
    with visitor.page.expect_event("load"):
        visitor.press(purse.name)
    visitor.reach("choose").connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    stack.assert_completed(token)


def test_a_language_that_is_chosen_after_a_deployment_is_that_of_the_page_that_is_loaded(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    visitor = open_of_before(new_visitor(), stack.shop.link(), "locales/de.json")
    visitor.page.locator("#language").select_option("de")
    expect(visitor.page.locator("html")).to_have_attribute("lang", "de")
    visitor.reach("choose")


def open_of_before(visitor: Visitor, token: str, name: str) -> Visitor:
    """Opens a page from before a deployment that has replaced a file, which the service does not have any more."""
    now = assets()[name].path
    former = now.replace(now.split(".")[-2], "0" * 16)

    def of_before(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.text().replace(now, former), headers=without_policy(reply))

    visitor.page.route("**/?token=*", of_before)
    visitor.open(token).page.unroute("**/?token=*")
    return visitor



@pytest.mark.parametrize(("width", "language"), [(320, "de"), *(pytest.param(*each, marks=rehearsed) for each in ((320, "ar"), (320, "ja"), (390, "ru")))])
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
