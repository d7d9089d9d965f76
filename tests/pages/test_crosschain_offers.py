"""What is offered to pay from another chain: counted down, renewed, checked byte for byte, and signed only while it holds."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.bridges.across import decode_deposit, decode_message, encode_deposit
from chalicelib.chains.calldata.bridges.lifi import decode_receiver_message
from chalicelib.chains.calldata.tokens.erc20 import approve
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, LIFI_DIAMOND, address_of
from tests.crosschain.service.router.diamond import ONE, TREASURY, Call, data, message, receiver
from tests.fakes.world import PAYEE
from tests.pages.batch_purse import CALLS
from tests.pages.bridge_transfers import USDC_ON_BASE, BatchTwoChains, BridgeTransfers, TwoChains, chosen
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS
from tests.pages.test_answers import THIEF, forge
from tests.pages.test_payments import payout
from tests.pages.visitor import Visitor, axe_findings
from tests.support.running import restart, running

pytestmark = pytest.mark.xdist_group("browser")
SENT = "eth_sendTransaction"
DIAMOND, POOL = address_of(LIFI_DIAMOND, "base"), address_of(ACROSS_SPOKE_POOL, "base")
FEES = ((TREASURY, 31_500),)
Json = dict[str, Any]


# --- which chain is offered ---

SHORT = "Your wallet does not have enough to pay."
REMEMBERS = """new MutationObserver(() => (window.seen = (window.seen ?? "") + (document.body?.innerText ?? "")))
  .observe(document, { childList: true, subtree: true, characterData: true });"""


def test_another_chain_that_has_enough_is_chosen_at_once_and_without_a_refusal(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    visitor = new_visitor(traveller)
    visitor.page.add_init_script(REMEMBERS)
    visitor.open(bridge_transfers.link()).connect(traveller)
    visitor.shows("too little on Arbitrum One", "12.6551 USDC on Base", "Offer ends")
    assert visitor.page.locator('#from-base-USDC[aria-pressed="true"]').count() == 1
    assert SHORT not in visitor.page.evaluate("window.seen")
    visitor.page.locator("#from-arbitrum-one-USDC").click()
    visitor.shows(SHORT)
    assert not visitor.can_pay()
    visitor.page.locator("#from-base-USDC").click()
    visitor.page.locator("#pay").wait_for()
    visitor.pay("route-source")


@pytest.mark.parametrize("status", [400, 503])
def test_where_the_bridge_has_no_offer_the_own_chain_says_what_is_missing(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor, status: int
) -> None:
    visitor = new_visitor(traveller)
    refused = {"status": status, "json": {"message": "No route"}, "headers": {"access-control-allow-origin": "*"}}
    visitor.page.route("**/pay?*chain=*", lambda route: route.fulfill(**refused))
    visitor.open(bridge_transfers.link()).connect(traveller).shows(SHORT)
    assert not visitor.can_pay()


def test_what_asks_for_one_confirmation_and_comes_late_is_for_no_other_chain(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    able = {"atomic": {"status": "supported"}}
    traveller.says["wallet_getCapabilities"] = {"result": {hex(bridge_transfers.arbitrum.chain_id): able}}
    visitor, paused = new_visitor(traveller), list[Route]()
    visitor.page.route("**/calls.*.js", lambda route: paused.append(route))
    visitor.open(bridge_transfers.link()).connect(traveller)
    visitor.page.locator("#from-arbitrum-one-USDC").click()
    visitor.shows(SHORT)
    visitor.until(lambda: len(paused) == 1)
    visitor.page.locator("#from-base-USDC").click()
    visitor.page.locator("#pay").wait_for()
    with visitor.page.expect_response("**/calls.*.js"):
        paused[0].continue_()
    visitor.page.wait_for_timeout(300)
    assert "ask you once" not in visitor.text
    visitor.pay("route-source")
    assert "wallet_sendCalls" not in traveller.asked


# --- the time of an offer ---


@pytest.fixture
def short_routes(bridge_transfers: BridgeTransfers) -> Iterator[None]:
    """Routes are offered for ten seconds, and the page begins no payment in the last of them."""
    with bridge_transfers.stack.lock:
        os.environ["ROUTE_SECONDS"] = "10"
        restart()
    yield
    with bridge_transfers.stack.lock:
        del os.environ["ROUTE_SECONDS"]
        restart()


def dearer(answer: Json) -> Json:
    """A route that costs a tenth of a dollar more."""
    deposit = decode_deposit(answer["transactionRequest"]["data"])
    assert deposit is not None
    deposit = replace(deposit, input_amount=deposit.input_amount + 100_000)
    estimate = answer["estimate"] | {"fromAmount": str(deposit.input_amount)}
    return answer | {"estimate": estimate, "transactionRequest": answer["transactionRequest"] | {"data": encode_deposit(deposit)}}


@pytest.mark.usefixtures("short_routes")
def test_an_offer_is_counted_down_and_at_its_end_renewed_with_what_it_costs_then(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    visitor = chosen(new_visitor(traveller).open(token), traveller)
    countdown = visitor.page.locator("#panel [data-until]")
    expect(countdown).to_have_text(re.compile("in [1-9] seconds?"))
    visitor.shows("12.6551 USDC on Base")
    with bridge_transfers.stack.lock:
        running().router.change = dearer  # type: ignore[attr-defined]
    visitor.page.locator("#pay").focus()
    expect(visitor.page.locator("#polite")).to_contain_text("There is a new offer. You pay 12.7551 USDC now.")
    visitor.shows("12.7551 USDC on Base", "0.1301 USDC")
    expect(visitor.page.locator("#pay")).to_be_focused()
    expect(countdown).to_have_text(re.compile("in [1-9] seconds?"))
    visitor.pay("route-source")
    assert bridge_transfers.deposited(traveller).input_amount == 12_755_100


@pytest.mark.usefixtures("short_routes")
def test_an_offer_that_ends_while_the_approval_is_asked_for_is_not_signed_but_renewed(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    token = bridge_transfers.link()
    visitor = chosen(new_visitor(traveller).open(token), traveller)

    def slowly(asked: Json) -> Json:
        visitor.page.wait_for_timeout(11_000)
        return {"result": traveller.send(asked)}

    traveller.says[SENT] = slowly
    visitor.page.locator("#pay").click()
    visitor.until(lambda: len(traveller.sent) == 1)
    visitor.reach("review").shows("Offer ends")
    assert traveller.asked.count(SENT) == 1
    assert visitor.note(token) is None
    del traveller.says[SENT]
    visitor.pay("route-source")
    assert traveller.asked.count(SENT) == 3


@pytest.mark.usefixtures("short_routes")
def test_an_account_is_upgraded_for_it_only_if_its_owner_says_so_which_the_next_offer_keeps(
    bridge_transfers: BridgeTransfers, new_visitor: NewVisitor
) -> None:
    purse = BatchTwoChains(bridge_transfers.bridge, "ready")
    visitor = chosen(new_visitor(purse).open(bridge_transfers.link()), purse)
    box = visitor.page.get_by_label("Confirm only once: my wallet may turn this account into a smart account")
    assert not box.is_checked()
    box.check()
    visitor.shows("Your wallet will ask you once.")
    expect(visitor.page.locator("#polite")).to_contain_text("There is a new offer.")
    expect(box).to_be_checked()
    visitor.pay("route-source")
    assert (purse.asked.count(CALLS), purse.asked.count(SENT)) == (1, 0)


@pytest.mark.parametrize("promised", [0, 86_400], ids=["as it is", "as if it held for a day"])
def test_an_offer_that_the_chain_accepts_no_more_is_not_signed_but_renewed(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor, promised: int
) -> None:
    """An hour goes by unseen, as in a closed notebook, and the button is pressed at once."""
    token, visitor = bridge_transfers.link(), new_visitor(traveller)

    def promise(body: Json) -> None:
        if "quoteExpiresAt" in body["metadata"]:
            body["metadata"]["quoteExpiresAt"] += promised

    forge(visitor, "/pay", promise)
    chosen(visitor.open(token), traveller)
    quoted: list[str] = []
    visitor.page.on("request", lambda each: quoted.append(each.url) if "/pay?" in each.url else None)
    later = datetime.now(UTC) + timedelta(hours=1)
    forge(visitor, "", lambda body: None, date=format_datetime(later, usegmt=True))
    visitor.page.locator("#pay").click()
    visitor.until(lambda: quoted != []).reach("review").shows("12.6551 USDC on Base")
    assert SENT not in traveller.asked and visitor.note(token) is None
    visitor.page.unroute_all(behavior="wait")
    visitor.pay("route-source")
    bridge_transfers.deposited(traveller)


# --- what is offered is what it says ---


@pytest.mark.parametrize("part", ["to", "data"])
def test_a_route_that_was_changed_on_its_way_is_not_signed(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor, part: str
) -> None:
    visitor = new_visitor(traveller).open(bridge_transfers.link())

    def change(body: Json) -> None:
        if body["metadata"]["routeType"] != "crosschain":
            return
        last = body["transactions"][-1]
        last[part] = last[part].replace(PAYEE[2:].lower(), THIEF[2:]) if part == "data" else THIEF

    forge(visitor, "/pay", change)
    visitor.connect(traveller, "unsafe")
    assert SENT not in traveller.asked
    visitor.press("Pay on Arbitrum One instead").reach("review")


@pytest.mark.parametrize("name", ["bridge", "bridge_transfer", "sources"])
def test_a_script_for_it_that_was_altered_on_its_way_does_not_run(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor, name: str
) -> None:
    """Without the list of balances the link is paid on its own chain."""
    visitor = new_visitor(traveller).open(bridge_transfers.link())

    def altered(route: Route) -> None:
        reply = route.fetch()
        route.fulfill(response=reply, body=reply.text() + "\n// and more")

    visitor.page.route(f"**/pages/{name}.*.js", altered)
    visitor.connect(traveller, "review" if name == "sources" else "trouble-away")
    visitor.until(lambda: visitor.complaints != [])
    assert all("integrity" in each for each in visitor.complaints)
    assert SENT not in traveller.asked and visitor.frame.locator("#from-base-USDC").count() == 0
    visitor.complaints.clear()


# --- through LI.FI's diamond ---


def through_diamond(body: Json, fees: tuple[tuple[str, int], ...] = FEES) -> Call:
    """The call of the diamond for what a response of /pay deposits itself."""
    plain = decode_deposit(body["transactions"][-1]["data"])
    assert plain is not None
    decoded = decode_message(plain.message)
    assert decoded is not None
    _, (target, calldata, _) = decoded.calls
    there = message(plain.output_token, target, calldata, plain.output_amount, decoded.fallback)
    deposit = replace(plain, recipient=receiver(42161), message=there)
    return Call(deposit, fees, multiplier=-(-plain.output_amount * ONE // plain.input_amount))


def changed_call(call: Call, **changes: Any) -> Call:
    """The call with another message for the other chain."""
    true = decode_receiver_message(call.deposit.message)
    assert true is not None
    fields = {"token": true.token, "target": true.target, "calldata": true.data, "amount": true.amount}
    return replace(call, deposit=replace(call.deposit, message=message(**fields | {"receiver": true.receiver} | changes)))


def with_calldata(call: Call, old: str, new: str) -> Call:
    raw = call.deposit.message.hex()
    assert old in raw
    return replace(call, deposit=replace(call.deposit, message=bytes.fromhex(raw.replace(old, new))))


def with_another_reference(call: Call) -> str:
    """The calldata of the fee proxy, whose last word is the reference."""
    true = decode_receiver_message(call.deposit.message)
    assert true is not None
    return true.data[:-64] + "ab" * 8 + "00" * 24


def put(call: Call, **fields: Any) -> Call:
    return replace(call, deposit=replace(call.deposit, **fields))


HOSTILE: dict[str, Callable[[Call], Call]] = {
    "depositor": lambda call: put(call, depositor=THIEF),
    "recipient": lambda call: put(call, recipient=THIEF),
    "receiver, which is the fallback": lambda call: changed_call(call, receiver=THIEF),
    "payee": lambda call: with_calldata(call, PAYEE[2:].lower(), THIEF[2:]),
    "reference": lambda call: changed_call(call, calldata=with_another_reference(call)),
    "contract there": lambda call: changed_call(call, target=THIEF),
    "spender there": lambda call: changed_call(call, spender=THIEF),
    "amount for the call": lambda call: changed_call(call, amount=12_625_001),
    "extra call": lambda call: changed_call(call, times=2),
    "no call": lambda call: changed_call(call, times=0),
    "token there": lambda call: put(call, output_token=THIEF),
    "what arrives": lambda call: replace(call, multiplier=call.multiplier // 2),
    "least that is left": lambda call: replace(call, least=call.deposit.input_amount - 1),
    "takes more for the swap": lambda call: replace(call, swap={"fromAmount": call.taken + 1}),
    "swap of tokens": lambda call: replace(call, swap={"receivingAssetId": THIEF}),
    "spender of the swap": lambda call: replace(call, swap={"approveTo": THIEF}),
    "another swap": lambda call: replace(call, more_swaps=1),
    "fees beyond the limit": lambda call: replace(call, fees=((THIEF, 10**7),)),
    "relayer": lambda call: put(call, exclusive_relayer=THIEF, exclusivity=3_600),
    "time to fill": lambda call: put(call, fill_deadline=call.deposit.fill_deadline + 10**6),
}
ANSWERS: dict[str, Callable[[Json, Call], None]] = {
    **{name: (lambda body, call, change=change: answer_with(body, change(call))) for name, change in HOSTILE.items()},
    "spender": lambda body, call: answer_with(body, call, spender=THIEF),
    "spender, the bridge": lambda body, call: answer_with(body, call, spender=POOL),
    "target": lambda body, call: answer_with(body, call, to=THIEF),
    "target, the bridge": lambda body, call: answer_with(body, call, to=POOL, spender=POOL),
    "bytes behind": lambda body, call: answer_with(body, call, data(call) + "00" * 32),
    "padding": lambda body, call: answer_with(body, call, data(call)[:-2] + "01"),
    "another total": lambda body, call: (answer_with(body, call), body["metadata"].update(sourceAmount="12.68"))[0],
}


def answer_with(body: Json, call: Call, raw: str = "", to: str = DIAMOND, spender: str = DIAMOND) -> None:
    """Makes a response of /pay one through the diamond, whose total is what the call takes."""
    approval = approve(USDC_ON_BASE, spender, BaseUnits(call.taken))
    body["transactions"] = [
        {"to": approval.to, "data": approval.data, "value": "0x0"},
        {"to": to, "data": raw or data(call), "value": "0x0"},
    ]
    body["metadata"]["sourceAmount"] = str(Decimal(call.taken).scaleb(-6))


def answering(visitor: Visitor, answer: Callable[[Json], None]) -> None:
    """Changes what /pay answers for routes."""
    forge(visitor, "/pay", lambda body: answer(body) if body["metadata"]["routeType"] == "crosschain" else None)


def test_no_hostile_answer_through_the_diamond_is_signed(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    """Of each, approval and total are those of what it takes."""
    visitor = new_visitor(traveller).open(bridge_transfers.link())
    names: list[str] = []
    answering(visitor, lambda body: ANSWERS[names[-1]](body, through_diamond(body)))
    for name in ANSWERS:
        names.append(name)
        (visitor.frame.locator("#from-base-USDC") if len(names) > 1 else visitor.button(traveller.name)).click()
        visitor.reach("unsafe")
        assert not visitor.can_pay() and SENT not in traveller.asked
        visitor.press("Pay on Arbitrum One instead").reach("review")


@pytest.mark.parametrize(("fees", "total", "cost"), [((), "12.6551", "0.0301"), (FEES, "12.6866", "0.0616")])
def test_a_true_answer_through_the_diamond_is_shown_in_full_and_asked_for_in_its_very_bytes(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor, fees: Any, total: str, cost: str
) -> None:
    """The local chain has no diamond, so the wallet keeps silent when it is asked for the deposit."""
    visitor = new_visitor(traveller).open(bridge_transfers.link())
    answered: list[Json] = []
    asked: list[Json] = []

    def answer(body: Json) -> None:
        answer_with(body, through_diamond(body, fees))
        answered[:] = body["transactions"]

    def ask(request: Json) -> Json:
        asked.append(request)
        return HANGS if len(asked) == 2 else {"result": traveller.send(request)}

    answering(visitor, answer)
    traveller.says[SENT] = ask
    chosen(visitor, traveller).shows(f"{total} USDC on Base", "12.625 USDC on Arbitrum One", f"{cost} USDC")
    visitor.frame.locator(".exact summary").last.click()
    visitor.shows(DIAMOND, "LiFiDiamond.", traveller.address)
    visitor.pay("signing").until(lambda: len(asked) == 2)
    assert [(each["to"], each["data"]) for each in asked] == [(each["to"], each["data"]) for each in answered]


# --- several payments ---


def test_payments_on_several_networks_are_opened_one_by_one_and_each_can_come_from_another_chain(
    bridge_transfers: BridgeTransfers, traveller: TwoChains, new_visitor: NewVisitor
) -> None:
    stack = bridge_transfers.stack
    children = [
        payout(stack, traveller, network=name, currency=f"USDC-{name}", amount=amount)
        for name, amount in (("base", "10"), ("arbitrum-one", "2.5"))
    ]
    visitor = new_visitor(traveller).open(stack.made("/multicall-payouts", {"childTokens": children}), "blocked")
    visitor.shows("10 USDC-base and 2.5 USDC-arbitrum-one", "These payments are made one by one", "several networks")
    links = visitor.page.get_by_role("link", name="Pay this one")
    assert [each.get_attribute("href") for each in links.all()] == [f"?token={each}" for each in children]
    assert visitor.button(traveller.name).count() == 0 and axe_findings(visitor.page) == []
    links.last.click()
    chosen(visitor.reach("choose"), traveller).shows("2.5 USDC on Arbitrum One")
    visitor.pay("route-source")
    assert bridge_transfers.deposited(traveller).output_amount == 2_500_000
