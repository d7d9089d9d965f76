"""A commerce payment on the page: what a wallet authorizes is held, and the page tells where the money is ever after."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.commerce.core.ledger import MOST_PRE_APPROVALS
from tests.fakes.world import PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.pages.batch_purse import CALLS, BatchPurse, SafeBatchPurse, refuses
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, REJECTS, Purse, SafePurse
from tests.pages.stack import Stack
from tests.pages.test_answers import forge
from tests.pages.test_troubles import SENT
from tests.support.client import ORIGIN
from tests.support.rehearsed import rehearsed

pytestmark = pytest.mark.xdist_group("second browser")
STRANGER = "0x" + "c3" * 20
ROOT = "/v2/commerce-payments"
_SOON = 15
"""Seconds in which a payment is made and authorized."""


class Operator:
    """A merchant whose own wallet operates its payments."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.purse, shop = stack, Purse(stack.chain, "Operator"), stack.shop
        body = {"label": "escrow", "allowedDomains": [ORIGIN], "operatorWalletAddress": self.purse.address}
        made = shop.api.request("POST", "/v2/client-ids", body, shop.by_key)
        assert made.status == 201, made.json
        self.headers = {"x-client-id": made.json["clientId"], "origin": ORIGIN}

    def created(self, **fields: Any) -> tuple[str, str]:
        """The request id and the link's token of a payment of 100 fUSDC."""
        body = {"merchantId": "shop", "merchantAddress": PAYEE, "amount": "100000000", "maxFeeBps": 250}
        reply = self._asked(f"{ROOT}/authorize/calldata", {**body, "paymentCurrency": "fUSDC-sepolia", **fields})
        return reply["requestId"], reply["token"]

    def does(self, request_id: str, operation: str, **body: Any) -> None:
        """Sends the transactions of an operation, and the service sees them."""
        for each in self._asked(f"{ROOT}/{request_id}/{operation}/calldata", body)["transactions"]:
            self.purse.send({"from": self.purse.address, "to": each["to"], "data": each["data"], "value": "0x0"})
        self.stack.settle()

    def reclaimable(self, payer: Purse) -> str:
        """The token of a payment of 100 fUSDC by `payer` that are held after the end of the authorization."""
        chain = self.stack.chain
        ends = max(int(time.time()), int(chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)) + _SOON
        request_id, token = self.created(preApprovalExpiry=ends, authorizationExpiry=ends)
        for each in self.shows(token, payer)["transactions"]:
            payer.send({"from": payer.address, "to": each["to"], "data": each["data"], "value": "0x0"})
        self.stack.settle()
        self.does(request_id, "authorize", payer=payer.address)
        while time.time() <= ends:
            time.sleep(0.1)
        self.stack.settle()
        return token

    def shows(self, token: str, payer: Purse) -> Any:
        """What the API gives the payer to sign."""
        path = f"/v2/secure-payments/{token}/pay?wallet={payer.address}"
        return self.stack.shop.api.request("GET", path, None, self.headers).json

    def _asked(self, path: str, body: Any) -> Any:
        reply = self.stack.shop.api.request("POST", path, body, self.headers)
        assert reply.status in (200, 201), reply.json
        return reply.json


@pytest.fixture
def operator(stack: Stack) -> Operator:
    return Operator(stack)


def test_an_authorization_is_paid_closed_and_reopened_and_each_state_after_it_is_shown(
    stack: Stack, purse: Purse, operator: Operator, new_visitor: NewVisitor
) -> None:
    request_id, token = operator.created()
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE])
    visitor = new_visitor(purse).open(token)
    visitor.shows("To be held", "100 fUSDC", "held in an escrow contract", "at most 2.5% may be a fee", operator.purse.address)
    visitor.connect(purse).shows("Allow the payment contract to take 100 fUSDC", "Authorize 100 fUSDC to be held in escrow")
    visitor.pay("confirming")
    visitor.page.close()
    visitor = visitor.another_tab().open(token, "confirming")
    stack.settle()
    visitor.reach("authorizing").shows("Do not pay again")
    elsewhere = new_visitor(purse).open(token).connect(purse, "authorizing")
    assert not visitor.can_pay() and not elsewhere.can_pay()
    assert purse.asked.count("eth_sendTransaction") == 2
    operator.does(request_id, "authorize", payer=purse.address)
    visitor.reach("authorized").shows("Your payment is held", "100 fUSDC")
    assert visitor.note(token) is None and ledger.moved() == {FUSDC: [-100_000_000, 0]}
    operator.does(request_id, "capture", captureAmount="60000000", feeBps=0)
    visitor.reach("partly").shows("40 fUSDC", "60 fUSDC")
    operator.does(request_id, "void")
    visitor.reload("taken").shows("Taken for the payee", "60 fUSDC", "Returned to you", "40 fUSDC")
    operator.does(request_id, "refund", refundAmount="10000000")
    visitor.reload("refunded").shows("50 fUSDC")
    assert ledger.moved() == {FUSDC: [-50_000_000, 60_000_000]}


@pytest.mark.parametrize("make", [BatchPurse, SafeBatchPurse])
def test_the_allowance_and_the_pre_approval_are_one_prompt(
    stack: Stack, operator: Operator, new_visitor: NewVisitor, make: Callable[..., BatchPurse]
) -> None:
    request_id, token = operator.created()
    purse = make(stack.chain)
    calls = operator.shows(token, purse)["metadata"]["calls"]
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.frame.get_by_text("Your wallet will ask you once.").wait_for()
    visitor.pay("confirming").until(lambda: (visitor.note(token) or {})["claim"] is None)
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 0)
    assert {name: each for name, each in purse.batches[0].items() if name != "id"} == {**calls, "from": purse.address.lower()}
    visitor.page.close()
    visitor = visitor.another_tab().open(token, "confirming")
    stack.settle()
    visitor.reach("authorizing").shows("Do not pay again")
    operator.does(request_id, "authorize", payer=purse.address)
    visitor.reach("authorized").shows("Your payment is held", "100 fUSDC")
    assert visitor.note(token) is None and purse.asked.count(CALLS) == 1


@pytest.mark.parametrize("denied", [HANGS, REJECTS, {"result": {"id": "0x01"}}])
def test_a_pre_approval_in_a_batch_that_its_wallet_denies_is_found_on_the_chain(
    stack: Stack, operator: Operator, new_visitor: NewVisitor, denied: dict[str, Any]
) -> None:
    _, token = operator.created()
    purse = SafeBatchPurse(stack.chain)
    purse.says[CALLS] = lambda asked: purse.make(asked) and denied
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.frame.get_by_text("Your wallet will ask you once.").wait_for()
    visitor.frame.locator("#pay").click()
    visitor.until(lambda: len(purse.sent) == 1).reach("signing" if denied == HANGS else "unclear", "asked")
    visitor.page.reload()
    stack.settle()
    visitor.reach("authorizing")
    assert not visitor.can_pay() and (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 0)


def test_a_wallet_that_declines_both_at_once_is_offered_them_again(
    stack: Stack, operator: Operator, new_visitor: NewVisitor
) -> None:
    _, token = operator.created()
    purse = BatchPurse(stack.chain, "ready")
    purse.says[CALLS] = REJECTS
    visitor = new_visitor(purse).open(token).connect(purse)
    visitor.page.get_by_role("checkbox").check()
    visitor.pay("wallet-rejected").press("Try again").reach("review")
    assert visitor.page.get_by_role("checkbox").is_checked()
    purse.says[CALLS] = refuses(5750)
    visitor.pay("confirming")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (2, 2)


@rehearsed
def test_what_is_voided_is_back_and_what_another_wallet_has_allowed_stops_nobody(
    stack: Stack, purse: Purse, operator: Operator, new_visitor: NewVisitor
) -> None:
    request_id, token = operator.created()
    stranger = Purse(stack.chain, "Stranger")
    new_visitor(stranger).open(token).connect(stranger).pay("confirming")
    stack.settle()
    visitor = new_visitor(purse).open(token).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("authorizing")
    operator.does(request_id, "authorize", payer=purse.address)
    operator.does(request_id, "void")
    visitor.reach("voided").shows("The amount is back in your wallet")
    assert stack.chain.token_balance(FUSDC, purse.address) == 10**12


def changed(at: int, to: str) -> Callable[[dict[str, Any]], None]:
    """The transaction of an answer with another text from a position of its calldata on."""

    def change(body: dict[str, Any]) -> None:
        (made,) = body["transactions"]
        made["data"] = made["data"][:at] + to + made["data"][at + len(to) :]

    return change


def elsewhere(body: dict[str, Any]) -> None:
    body["transactions"][0]["to"] = STRANGER


@rehearsed
def test_what_is_held_after_its_time_is_taken_back_by_the_wallet_that_has_paid_closed_and_reopened(
    stack: Stack, purse: Purse, operator: Operator, new_visitor: NewVisitor
) -> None:
    ledger, token = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE]), operator.reclaimable(purse)
    deceived = new_visitor(purse)
    payer = 10 + 64 + 24
    for change in (changed(payer, STRANGER[2:]), changed(2, "fa1cad17"), elsewhere):
        forge(deceived, "/reclaim", change)
        if deceived.page.url == "about:blank":
            deceived.open(token).connect(purse, "unsafe")
        else:
            deceived.reload("unsafe")
        deceived.shows("Stopped for your safety")
        deceived.page.unroute_all(behavior="wait")
    assert "eth_sendTransaction" not in purse.asked
    stranger = Purse(stack.chain, "Stranger")
    visitor = new_visitor(stranger, purse).open(token)
    visitor.shows("To take back", "100 fUSDC", "What is held is yours again", "the wallet that has paid")
    visitor.connect(stranger, "foreign").shows("Only the wallet that has paid can take back what is held", purse.address)
    visitor.press("Use another wallet").connect(purse).shows("Take back 100 fUSDC")
    purse.says["eth_sendTransaction"] = REJECTS
    visitor.pay("wallet-rejected").press("Try again").reach("review")
    del purse.says["eth_sendTransaction"]
    visitor.pay("confirming")
    visitor.page.close()
    visitor = visitor.another_tab().open(token, "confirming")
    stack.settle()
    visitor.reach("reclaimed").shows("You have taken it back", "100 fUSDC")
    visitor.reload("reclaimed")
    assert visitor.note(token) is None and purse.asked.count("eth_sendTransaction") == 2 and len(purse.sent) == 3
    assert ledger.moved() == {FUSDC: [0, 0]} and "eth_sendTransaction" not in stranger.asked


@pytest.mark.parametrize(
    ("reason", "state", "says"),
    [
        ("balance", "unfunded", "Top it up"),
        pytest.param("allowance", "unallowed", "Permission for", marks=rehearsed),
        pytest.param("constructor", "untaken", "could not be moved into escrow yet", marks=rehearsed),
    ],
)
def test_a_payer_whose_money_could_not_be_taken_is_told_why_and_what_to_do(
    stack: Stack, purse: Purse, operator: Operator, new_visitor: NewVisitor, reason: str, state: str, says: str
) -> None:
    """Another wallet's failure is none of theirs."""
    _, token = operator.created()
    visitor, wallets = new_visitor(purse), [STRANGER]

    def failed(body: dict[str, Any]) -> None:
        body["commerce"]["failure"] = {"wallet": wallets[-1], "reason": reason}

    forge(visitor, "", failed)
    visitor.open(token).connect(purse).pay("confirming")
    stack.settle()
    visitor.reach("authorizing")
    wallets.append(purse.address)
    visitor.reach(state).shows(says, "100 fUSDC")
    assert not visitor.can_pay()
    wallets.append(STRANGER)
    visitor.reach("authorizing")


@rehearsed
def test_a_safe_proposes_an_authorization_and_the_page_waits_for_its_owners(
    stack: Stack, operator: Operator, new_visitor: NewVisitor
) -> None:
    request_id, token = operator.created()
    safe = SafePurse(stack.chain)
    visitor = new_visitor(safe).open_in_safe(token, "review").pay("safe")
    visitor.shows("Waiting for the owners of the Safe", "Do not propose it a second time")
    assert visitor.frame.locator("#safe-hash").input_value() == safe.safe.hash(safe.proposed[0])
    safe.safe.execute(safe.proposed[0])
    stack.settle()
    visitor.reach("authorizing")
    operator.does(request_id, "authorize", payer=safe.address)
    visitor.reach("authorized")
    assert len(safe.proposed) == 1 and stack.chain.token_balance(FUSDC, safe.address) == 10**12 - 100_000_000


@rehearsed
def test_as_many_strangers_as_are_remembered_do_not_close_the_page(
    purse: Purse, operator: Operator, new_visitor: NewVisitor
) -> None:
    _, token = operator.created()
    strangers = [f"0x{number:040x}" for number in range(1, MOST_PRE_APPROVALS + 1)]
    visitor = new_visitor(purse)
    forge(visitor, "", lambda body: {**body, "commerce": {**body["commerce"], "preApprovedBy": strangers}})
    visitor.open(token).connect(purse).shows("Authorize 100 fUSDC to be held in escrow")


def test_only_the_wallet_that_is_named_may_pay(
    stack: Stack, purse: Purse, operator: Operator, new_visitor: NewVisitor
) -> None:
    _, token = operator.created(buyerAddress=purse.address)
    stranger = Purse(stack.chain, "Stranger")
    visitor = new_visitor(stranger, purse).open(token).connect(stranger, "foreign")
    visitor.shows("Only the wallet that the payee has named can pay this", purse.address)
    visitor.press("Use another wallet").connect(purse)


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        pytest.param({"operator": STRANGER}, "names another operator", marks=rehearsed),
        ({"maxAmount": "99"}, "takes another amount"),
        pytest.param({"refundExpiry": "4102444800"}, "other times", marks=rehearsed),
        pytest.param({"escrow": STRANGER}, "a contract that is not known", marks=rehearsed),
    ],
)
def test_terms_that_are_not_those_of_the_transactions_are_not_signed(
    purse: Purse, operator: Operator, new_visitor: NewVisitor, terms: dict[str, Any], says: str
) -> None:
    _, token = operator.created()
    visitor = new_visitor(purse)
    forge(visitor, "", lambda body: {**body, "commerce": {**body["commerce"], **terms}})
    visitor.open(token).connect(purse, "unsafe").shows("Stopped for your safety", says)
    assert "eth_sendTransaction" not in purse.asked
