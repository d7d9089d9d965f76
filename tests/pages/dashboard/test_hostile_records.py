"""A payment whose texts would be scripts: asked for, paid twice and refunded on the real stack, and shown wherever it is."""

import json

import pytest
from playwright.sync_api import expect

from tests.pages.conftest import NewVisitor
from tests.pages.dashboard.conftest import EVIL, NewPerson
from tests.pages.dashboard.test_hostile_texts import FOUND
from tests.pages.dashboard.test_views import shown
from tests.pages.purse import Purse
from tests.pages.stack import Stack
from tests.support.client import item
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("browser")

TEXT = f"{EVIL}\u202e\u2066javascript:window.ran=1"
SHORT = TEXT[:60]
READ = TEXT.replace("\u202e", "\ufffd").replace("\u2066", "\ufffd")


@rehearsed
def test_a_payment_with_texts_that_would_be_scripts_is_shown_as_texts_wherever_it_is(
    stack: Stack, purse: Purse, new_person: NewPerson, new_visitor: NewVisitor
) -> None:
    """Nothing runs and nothing offends the page's policy, which would fail it, too; the receipt has the texts as they are."""
    payee = Purse(stack.chain, "Shop <img src=x onerror=window.ran=1>")
    person = new_person(payee).register()
    person.call("PUT", "/v1/account", dict.fromkeys(("name", "businessName", "businessAddress", "taxId"), SHORT), 200)
    customer = {"firstName": SHORT, "lastName": SHORT, "address": {"street": SHORT, "city": SHORT}}
    made = person.call("POST", "/v2/secure-payments", {"requests": [item(payee=payee.address, customerInfo=customer)], "reference": TEXT}, 201)
    (request_id,) = made["requestIds"]
    person.call("PATCH", f"/v2/request/{request_id}", {"note": TEXT}, 200)
    visitor = new_visitor(purse).open(made["token"]).connect(purse)
    assert visitor.page.evaluate("window.ran") is None
    visitor.pay("approve" if visitor.state == "approve" else "confirming")
    stack.settle()
    visitor.reach("completed")
    assert visitor.page.evaluate("window.ran") is None
    for sent in [purse.chain.rpc("eth_getTransactionByHash", each) for each in list(purse.sent)]:
        purse.send({"from": purse.address, "to": sent["to"], "data": sent["input"], "value": sent["value"]})
    stack.settle()
    for path, count in (("", 3), ("/requests", 1), ("/links", 1), ("/payments", 2), ("/mispayments", 1), (f"/request/{request_id}", 2)):
        shown(person, path)
        assert person.page.evaluate(FOUND) == [], path
        assert person.page.locator("main").inner_text().count(READ) >= count, path
    receipt = person.call("GET", f"/v2/request/{request_id}/receipt", expected=200)
    assert json.dumps(TEXT)[1:-1] in json.dumps(receipt) and SHORT in json.dumps(receipt, ensure_ascii=False).replace('\\"', '"')
    person.at("/mispayments").click("Refund").sees("Signed by the payee's wallet")
    expect(person.page.get_by_role("dialog").get_by_role("heading")).to_contain_text(READ)
    assert person.page.evaluate(FOUND) == []
    person.click(f"Use {payee.name}").sees("It was sent.")
