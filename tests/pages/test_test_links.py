"""Links of test mode on the page: marked, paid by a button, and in the sandbox of their account alone."""

import re
from typing import Any

from playwright.sync_api import expect

from chalicelib.accounts.api_keys import flows as api_keys
from chalicelib.platform.access.callers import Actor
from tests.pages.conftest import NewVisitor
from tests.pages.stack import Stack
from tests.pages.visitor import axe_findings
from tests.support.client import item
from tests.support.running import running


def test_a_test_link_is_marked_and_paid_by_a_button(stack: Stack, new_visitor: NewVisitor) -> None:
    token, key = new_test_link(stack)
    visitor = new_visitor().open(token, "test")
    mark = visitor.page.locator("#test")
    expect(mark).to_be_visible()
    visitor.shows("Test payment", "no money moves")
    assert axe_findings(visitor.page) == []
    visitor.press(re.compile("^Pay .* with test money$")).reach("completed")
    visitor.shows("Payment complete", "Transaction")
    assert visitor.page.locator(".transaction").count() == 1
    assert visitor.page.locator(".transaction a").count() == 0, "no explorer has a virtual chain"
    expect(mark).to_be_visible()
    assert axe_findings(visitor.page) == []
    request = request_of(stack, key)
    assert (request["status"], request["excessAmount"], len(request["payments"])) == ("paid", None, 1)
    visitor.reload("completed")


def test_a_test_link_that_is_paid_elsewhere_shows_so_when_its_button_is_pressed(
    stack: Stack, new_visitor: NewVisitor
) -> None:
    token, key = new_test_link(stack)
    visitor = new_visitor().open(token, "test")
    paid = stack.shop.api.request("POST", "/v2/test/pay", {"token": token}, key)
    assert paid.status == 201
    visitor.press(re.compile("^Pay ")).reach("completed")
    assert len(request_of(stack, key)["payments"]) == 1, "not paid twice"


def test_a_part_that_is_paid_leaves_the_rest_to_pay(stack: Stack, new_visitor: NewVisitor) -> None:
    token, key = new_test_link(stack)
    assert stack.shop.api.request("POST", "/v2/test/pay", {"token": token, "amount": "half"}, key).status == 201
    new_visitor().open(token, "test").press(re.compile("^Pay .* with test money$")).reach("completed")
    request = request_of(stack, key)
    assert (request["status"], request["excessAmount"], len(request["payments"])) == ("paid", None, 2)


def test_a_live_link_has_no_mark(stack: Stack, new_visitor: NewVisitor) -> None:
    visitor = new_visitor().open(stack.shop.link())
    expect(visitor.page.locator("#test")).to_be_hidden()


def new_test_link(stack: Stack) -> tuple[str, dict[str, str]]:
    """The token of a link in the sandbox of the shop's account, of which there is no other request, and the key."""
    shop = type(stack.shop)(stack.shop.api)
    actor = Actor(shop.account_id, "test", "127.0.0.1", "-")
    key = {"x-api-key": api_keys.create_api_key(running(), actor, {"label": "tests", "is_test": True})[1]}
    made = shop.api.request("POST", "/v2/secure-payments", {"requests": [item()]}, key)
    assert made.status == 201, made.json
    return str(made.json["token"]), key


def request_of(stack: Stack, key: dict[str, str]) -> Any:
    """The only request that the key sees."""
    (listed,) = stack.shop.api.get("/v2/request", key).json["requests"]
    return stack.shop.api.get(f"/v2/request/{listed['requestId']}", key).json
