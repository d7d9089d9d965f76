"""What each state says: what is true, within twenty seconds, with what to do; the button to pay in view, and a receipt."""

import json
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from infra.local.scenes import HANGS, HASH, PAY, Scene, ended_body, error_of, note_of
from infra.local.screens import SCENES, Stage
from tests.pages.conftest import NewVisitor
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.items import native
from tests.support.rehearsed import few, rehearsed

SECOND = 1_000
BATCH = {"id": HASH, "answered": HASH, "calls": HASH, "until": 10**13}
_STATUS = {"version": "2.0.0", "id": HASH, "chainId": "0xaa36a7", "status": 100, "atomic": True, "receipts": []}
UNDER_WAY = {"wallet_getCallsStatus": {"result": _STATUS}}
"""A payment as one batch of calls that the wallet makes, and has no hash of yet."""
AFTER_THE_PAYMENT = {"completed", "confirming", "waiting", "route-source", "route-bridge", "authorizing", "authorized"}
"""The states of which some scene says that the page can be closed."""


def scenes(name: str) -> list[str]:
    """The names of the scenes of a state, but for those of a whole browser without scripts."""
    return [each for each, scene in SCENES.items() if scene.state == name]


def can_pay(name: str) -> bool:
    """Whether the wallet of a scene to review has enough to pay, so that the page offers it."""
    _, quote = SCENES[name].pay or (0, {"metadata": {}})
    return all(quote["metadata"].get(key) for key in ("hasEnoughBalance", "hasEnoughGas"))


def seconds_until(page: Page, text: str, most: int = 20) -> int:
    """The seconds of the page's clock until it shows the text. Fails if it takes more than `most`."""
    for second in range(most + 1):
        page.evaluate("answered()")
        if text in page.locator("main").inner_text().replace("\u00a0", " "):
            return second
        page.clock.run_for(SECOND)
        page.wait_for_timeout(10)
    raise AssertionError(f"not within {most} s, but {page.locator('main').inner_text()}")


# --- true ---


CLOSING = ["waiting-first", *scenes("waiting")[:1], "confirming", "signing", "switching", "slow", "review"]


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize("name", few(["waiting-first", "confirming", "review"], CLOSING))
def test_the_page_can_be_closed_after_the_payment_itself_alone(stage: Stage, name: str) -> None:
    with stage.show_scene(SCENES[name]) as page:
        text = page.locator("main").inner_text()
        note = page.evaluate("Object.entries(localStorage).find(([key]) => key.startsWith('pay:'))?.[1] ?? '{}'")
        is_paid = '"step":"pay"' in note.replace(" ", "") and SCENES[name].state in AFTER_THE_PAYMENT
        assert ("You can close this page" in text) == is_paid
        if name == "waiting-first":
            assert "after this step your wallet asks for the next one" in text


@pytest.mark.xdist_group("scenes")
def test_a_payment_from_another_chain_that_is_on_its_way_is_almost_done_and_not_paid_already(stage: Stage) -> None:
    with stage.show_scene(SCENES["route-coming"]) as page:
        text = page.locator("main").inner_text()
        assert "Almost done" in text and "Already paid" not in text
        assert page.locator("#panel.busy").count() == 1 and page.locator("#print").count() == 0


@pytest.mark.xdist_group("browser")
def test_that_a_wallet_asks_is_said_once_it_was_asked(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native())).connect(purse)
    purse.says["eth_getTransactionCount"] = HANGS
    visitor.pay("reading").shows("Preparing the payment")
    assert "eth_sendTransaction" not in purse.asked


@pytest.mark.xdist_group("browser")
def test_who_has_paid_is_told_so_on_every_later_visit_and_others_that_it_is_paid_already(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(native())
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed").shows("Payment complete")
    for _ in range(2):
        visitor.reload("completed").shows("Payment complete", "The payment has arrived.")
    new_visitor().open(token, "completed").shows("Already paid")


# --- within twenty seconds, in words ---


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (Scene("loading", link=None), "The payment service does not answer"),
        (Scene("reading", pay=None), "The payment service does not answer"),
        (replace(SCENES["waiting"], then=(503, {}), note=note_of(), press=()), "The payment service does not answer at the moment."),
        (Scene("batch", then=(503, {}), says=UNDER_WAY, note=note_of(txHash=None, batch=BATCH)), "The payment service does not answer at the moment."),
        (replace(SCENES["unfound"], state="waiting"), "The network does not know your transaction yet"),
        (Scene("silent", says={"eth_chainId": error_of(4100)}, note=note_of()), "Your wallet does not answer"),
        (Scene("waiting", says={"eth_chainId": HANGS}, note=note_of()), "Your wallet does not answer"),
        (Scene("signing", says={"eth_sendTransaction": HANGS}, press=PAY), "Your wallet has not answered yet"),
        (Scene("review", says={"eth_sendTransaction": error_of(-32603)}), "Your wallet reported an error"),
        (replace(SCENES["poor"], state="review", press=()), "Your wallet has too little for the network fee"),
    ],
    ids=["the service hangs", "its offer hangs", "it is down", "it is down for a batch", "nobody knows the hash", "locked", "hanging", "slow", "failing", "poor"],
)
def test_what_is_wrong_is_said_within_twenty_seconds(stage: Stage, scene: Scene, text: str) -> None:
    with stage.show_scene(replace(scene, waits=True)) as page:
        for pay in page.locator("#pay").all():
            pay.click()
        assert seconds_until(page, text) <= 20
        assert axe_findings(page) == []


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize("host", ["xn--bcher-kva.example", "[2001:db8::1]:8443", "shop.example"])
def test_the_way_back_shows_the_host_that_it_leads_to_as_it_is_kept(stage: Stage, host: str) -> None:
    """Letters of other scripts, which can look like those of another host, stand in their ASCII form."""
    url = f"https://{host}/stra%C3%9Fe"
    with stage.show_scene(Scene("completed", link=ended_body(409, redirectUrl=url, requestStatuses=[{"txHash": HASH}]))) as page:
        assert page.locator("#back").get_attribute("href") == url
        expect(page.locator("#back-host")).to_have_text(host)


@pytest.mark.xdist_group("scenes")
def test_what_is_missing_for_the_network_fee_is_said_before_anything_is_signed(stage: Stage) -> None:
    with stage.show_scene(SCENES["review-short"]) as page:
        expect(page.locator("main")).to_contain_text("Your wallet has too little ETH for the network fee.")


# --- seen ---


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize(("width", "height"), [(390, 844), pytest.param(1280, 720, marks=rehearsed)])
@pytest.mark.parametrize(
    "name", few(["review", "commerce-review"], [each for each in scenes("review") if can_pay(each)])
)
def test_the_button_to_pay_is_in_view(stage: Stage, name: str, width: int, height: int) -> None:
    with stage.show_scene(SCENES[name]) as page:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0)")
        seen = """() => {
          const { left, right, top, bottom } = document.getElementById("pay").getBoundingClientRect();
          const shown = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)?.closest("#pay");
          return Boolean(shown) && top >= 0 && bottom <= innerHeight;
        }"""
        assert page.evaluate(seen)
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        assert page.evaluate(seen)


@pytest.mark.xdist_group("scenes")
def test_what_has_the_focus_is_not_behind_that_button(stage: Stage) -> None:
    with stage.show_scene(SCENES["route-chosen"]) as page:
        page.set_viewport_size({"width": 390, "height": 600})
        page.evaluate("scrollTo(0, 0)")
        for _ in range(40):
            page.keyboard.press("Tab")
            hidden = page.evaluate("""() => {
              const [own, pay] = [document.activeElement, document.getElementById("pay")].map((each) => each.getBoundingClientRect());
              return document.activeElement !== document.body && document.activeElement.id !== "pay" && own.top >= pay.top && own.bottom <= pay.bottom;
            }""")
            assert not hidden, page.evaluate("document.activeElement.outerHTML")


@pytest.mark.xdist_group("scenes")
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("choose", "Choose a wallet · 12.625 fUSDC"),
        ("review", "Check and pay · 12.625 fUSDC"),
        ("confirming", "Confirmation 1 of 2 · 12.625 fUSDC"),
        ("completed", "Payment complete · 12.625 fUSDC"),
        ("expired", "This link has expired"),
        ("missing", "This payment does not exist"),
    ],
)
def test_the_title_of_the_tab_follows(stage: Stage, name: str, title: str) -> None:
    with stage.show_scene(SCENES[name]) as page:
        expect(page).to_have_title(title)


# --- kept ---


@pytest.mark.xdist_group("browser")
def test_a_receipt_of_many_payments_has_each_of_them_and_when_they_were_paid(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    token = stack.shop.link(*[native()] * 4)
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    assert not visitor.page.locator(".list li").first.is_visible()
    visitor.page.pdf()
    assert [each.is_visible() for each in visitor.page.locator(".list li").all()] == [True] * 4
    read = """token => { const time = Number(localStorage.getItem(`paid:${token}`));
        const options = { dateStyle: "medium", timeStyle: "short" };
        return [Math.abs(Date.now() - time), new Intl.DateTimeFormat("en", options).format(time)]; }"""
    age, text = visitor.page.evaluate(read, token)
    assert age < 600_000
    visitor.shows(text)
    visitor.reload("completed").shows(text)


@pytest.mark.xdist_group("browser")
def test_the_signed_receipts_of_all_payments_are_saved_as_a_file(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse).open(stack.shop.link(native(), native())).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("completed")
    with visitor.page.expect_download() as download:
        visitor.page.get_by_text("Save the signed receipt").click()
    receipts = json.loads(download.value.path().read_text())["receipts"]
    paid = [(each["receipt"]["status"], each["receipt"]["payments"][0]["payerAddress"]) for each in receipts]
    assert paid == [("paid", purse.address)] * 2
    assert all(each["jws"].count(".") == 2 for each in receipts)


@pytest.mark.xdist_group("scenes")
def test_a_receipt_has_what_was_paid_to_whom_and_the_whole_transaction_and_no_buttons(stage: Stage) -> None:
    with stage.show_scene(SCENES["completed"]) as page:
        page.evaluate("window.print = () => (window.isPrinted = true)")
        page.locator("#print").click()
        assert page.evaluate("window.isPrinted") is True
        page.emulate_media(media="print")
        assert HASH in page.evaluate("getComputedStyle(document.querySelector('.transaction'), '::after').content")
        expect(page.locator("main")).to_contain_text("12.625 fUSDC")
        for each in ("0xf17f52151EbEF6C7334FAD080c5704D77216b732", "Sepolia", "INV-2026-0042", "Payment complete"):
            expect(page.get_by_text(each).first).to_be_visible()
        for selector in ("button", "select", "#back", "#signed", "#manual", "#footer"):
            assert not any(each.is_visible() for each in page.locator(selector).all()), selector
        page.emulate_media(media="screen")
