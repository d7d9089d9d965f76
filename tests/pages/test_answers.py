"""What the page makes of answers that cannot be trusted: no button that could pay wrongly, no markup, no silence."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Route

from tests.fakes.world import PAYEE
from tests.pages.conftest import NewVisitor
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.pages.visitor import Visitor
from tests.support.items import native
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")
MARKUP = '<img src=x onerror="document.title=1"><script>document.title=1</script>'
THIEF = "0x" + "66" * 20
Change = Callable[[dict[str, Any]], Any]


def forge(visitor: Visitor, path: str, change: Change, **headers: str) -> None:
    """What the service answers at paths that end like this is changed on its way; `headers` replace its own."""

    def answer(route: Route) -> None:
        if route.request.method == "OPTIONS":
            return route.continue_()
        reply = route.fetch()
        body = reply.json()
        changed = change(body)
        return route.fulfill(
            response=reply, headers={**reply.headers, **headers}, json=body if changed is None else changed
        )

    visitor.page.route(re.compile(re.escape(visitor.stack.api_url) + r"/v2/secure-payments/\w+" + path + r"(\?|$)"), answer)


def another_payee(body: dict[str, Any]) -> None:
    last = body["transactions"][-1]
    assert PAYEE[2:].lower() in last["data"]
    last["data"] = last["data"].replace(PAYEE[2:].lower(), THIEF[2:])


def another_contract(body: dict[str, Any]) -> None:
    body["transactions"][-1]["to"] = THIEF


def another_spender(body: dict[str, Any]) -> None:
    approval = body["transactions"][0]
    approval["data"] = approval["data"][:34] + THIEF[2:] + approval["data"][74:]


def more_than_shown(body: dict[str, Any]) -> None:
    approval = body["transactions"][0]
    approval["data"] = approval["data"][:74] + "f" * 64


def coins_besides(body: dict[str, Any]) -> None:
    body["transactions"][-1]["value"] = "0xde0b6b3a7640000"


def a_second_payment(body: dict[str, Any]) -> None:
    body["transactions"].append(body["transactions"][-1])


UNSAFE: list[tuple[Change, str]] = [
    (another_payee, "The transaction pays somebody else."),
    (another_contract, "The transaction goes to a contract that is not known."),
    (another_spender, "The transaction goes to a contract that is not known."),
    (more_than_shown, "The transaction takes another amount."),
    (coins_besides, "The transaction sends another amount of the network’s coin."),
    (a_second_payment, "The transaction pays for something else."),
]
ODD_CALLDATA: list[Change] = [
    lambda body: [],
    lambda body: {"transactions": "all"},
    lambda body: body | {"transactions": []},
    lambda body: body | {"transactions": [None]},
    lambda body: body | {"transactions": [{"to": 1, "data": [], "value": {}}]},
]
ODD_LINKS: list[Change] = [
    lambda body: [body],
    lambda body: body | {"amount": 12.5},
    lambda body: body | {"amount": "12.5e9"},
    lambda body: body | {"decimals": "6"},
    lambda body: body | {"payee": None},
    lambda body: body | {"chain": None},
    lambda body: body | {"expiresAt": "soon"},
    lambda body: body | {"paymentType": "gift"},
    lambda body: body | {"paymentReference": MARKUP},
]


class Forger:
    """Changes what the service answers by `change`, which may be replaced; `times` counts the changed answers."""

    def __init__(self, visitor: Visitor, path: str, change: Change) -> None:
        self.change, self.times = change, 0
        forge(visitor, path, self)

    def __call__(self, body: dict[str, Any]) -> Any:
        self.times += 1
        return self.change(body)


def test_calldata_that_is_not_what_is_shown_is_never_offered(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(purse).open(stack.shop.link())
    forger = Forger(visitor, "/pay", another_payee)
    visitor.connect(purse, "unsafe")
    for number, (forger.change, text) in enumerate(UNSAFE, start=1):
        visitor.reload("unsafe").shows("Stopped for your safety", text)
        assert forger.times > number
        assert not visitor.can_pay() and purse.sent == []


@rehearsed
def test_calldata_of_other_types_is_never_offered(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link())
    forger = Forger(visitor, "/pay", ODD_CALLDATA[0])
    visitor.connect(purse, "trouble-odd")
    for forger.change in ODD_CALLDATA:
        before = forger.times
        visitor.press("Try again").until(lambda before=before: forger.times > before).reach("trouble-odd")
        assert not visitor.can_pay()


def test_a_link_of_other_types_shows_nothing_of_it(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    forger = Forger(visitor, "", ODD_LINKS[0])
    visitor.open(stack.shop.link(), "trouble-odd")
    for forger.change in ODD_LINKS:
        before = forger.times
        visitor.press("Try again").until(lambda before=before: forger.times > before).reach("trouble-odd")
        visitor.shows("does not understand")


def test_a_link_that_changes_after_it_was_shown_is_not_signed(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """Also when the calldata changes with it."""
    visitor = new_visitor(purse).unwatched().open(stack.shop.link()).connect(purse)
    forge(visitor, "", lambda body: body | {"payee": THIEF})
    forge(visitor, "/pay", another_payee)
    visitor.page.locator("#pay").click()
    visitor.reach("unsafe").shows("now says something different from when you opened it", PAYEE)
    assert THIEF not in visitor.text and purse.sent == []


def test_a_service_that_never_answers_is_given_up(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    visitor.page.add_init_script(
        "{ const real = AbortSignal.timeout.bind(AbortSignal); AbortSignal.timeout = (ms) => real(ms / 400); }"
    )
    visitor.page.route(re.compile(re.escape(stack.api_url)), lambda route: None)
    visitor.open(stack.shop.link(), "trouble-away")


@rehearsed
def test_text_that_is_no_json_is_no_answer(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    visitor.page.route(re.compile(re.escape(stack.api_url)), lambda route: route.fulfill(body=MARKUP))
    visitor.open(stack.shop.link(), "trouble-odd")


def test_a_stop_of_payments_is_said_and_the_payer_goes_on_after_it(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """The link is read; what pays it is refused as the API refuses it."""
    visitor = new_visitor(purse).open(stack.shop.link())
    refused = {
        "status": 503,
        "json": {"statusCode": 503, "message": "stopped", "error": "Service Unavailable", "code": "payments_stopped"},
        "headers": {"retry-after": "60", "access-control-allow-origin": "*"},
    }
    paying = re.compile(r"/v2/secure-payments/\w+/pay")
    visitor.page.route(paying, lambda route: route.fulfill(**refused))
    visitor.connect(purse, "trouble-stopped").shows("Payments are stopped for now")
    visitor.page.unroute(paying)
    visitor.press("Try again").reach("review")


def test_what_the_page_itself_lacks_is_said_and_asked_for_again(
    stack: Stack, purse: Purse, new_visitor: NewVisitor
) -> None:
    """Without words nothing is offered to be signed."""
    visitor = new_visitor(purse)
    visitor.page.route("**/pages/locales/*", lambda route: route.abort())
    visitor.open(stack.shop.link(native()), "trouble-away").shows("The payment service does not answer")
    visitor.page.unroute("**/pages/locales/*")
    visitor.press("Try again").reach("choose").connect(purse)


def test_too_many_questions_are_asked_again_later(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    visitor = new_visitor(purse).open(stack.shop.link())
    busy = {"status": 429, "json": {}, "headers": {"retry-after": "1", "access-control-allow-origin": "*"}}
    pattern = re.compile(r"/pay\?")
    visitor.page.route(pattern, lambda route: route.fulfill(**busy))
    visitor.connect(purse, "trouble-away")
    visitor.page.unroute(pattern)
    visitor.press("Try again").reach("review")


# --- markup ---


def test_markup_in_what_a_merchant_wrote_is_text(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    """Of redirects the service takes none."""
    visitor = new_visitor(purse).open(stack.shop.link(native(), reference=MARKUP[:100] + "\u202e\u061c\u00ad"))
    visitor.shows(MARKUP[:100] + 3 * "\ufffd")
    visitor.connect(purse)
    assert visitor.page.locator("main img, main script").count() == 0


def test_markup_in_what_the_service_answers_is_text(stack: Stack, purse: Purse, new_visitor: NewVisitor) -> None:
    def link(body: dict[str, Any]) -> None:
        if "chain" not in body:
            return
        body |= dict.fromkeys(("paymentCurrency", "invoiceCurrency"), MARKUP)
        body |= {"redirectUrl": "javascript:document.title=1", "redirectLabel": MARKUP}
        body["chain"] |= {"name": MARKUP, "explorerUrl": "javascript:document.title=1//"}

    purse.name = "<i>Wallet</i>"
    visitor = new_visitor(purse)
    forge(visitor, "", link)
    visitor.open(stack.shop.link())
    visitor.shows(MARKUP, "<i>Wallet</i>")
    visitor.connect(purse, "unsafe")
    assert visitor.page.locator("main img:not(.icon), main script, main i, a[href^=javascript]").count() == 0


def test_a_token_that_was_altered_is_not_found(new_visitor: NewVisitor) -> None:
    visitor = new_visitor()
    for token in ("", "x", "0" * 26, "%3Cscript%3E", "..%2F..%2Fv2%2Fhealth", "01M7VR2YNJE8VY59CWNJJJKZPH%00"):
        visitor.open(token, "missing").shows("This payment does not exist")


@rehearsed
def test_a_language_that_is_none_is_left_alone(stack: Stack, new_visitor: NewVisitor) -> None:
    """Konkani is not Korean, though its code begins so."""
    visitor, token = new_visitor(locale="kok-IN"), stack.shop.link()
    for lang, spoken in (("..%2F..%2F<script>", "en"), ("kok-IN", "en"), ("pt_BR", "pt")):
        visitor.open(token, lang=lang)
        assert visitor.page.locator("html").get_attribute("lang") == spoken
