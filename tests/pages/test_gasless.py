"""A payer without coins pays by one signature, which the service turns into a payment: on a real chain, in real browsers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route, expect

from chalicelib.chains.calldata.tokens import erc20
from chalicelib.gasless import running as gasless_running
from chalicelib.relayer.flows import account_address
from chalicelib.relayer.records import Role
from chalicelib.relayer.tracking import track
from infra.local.scenes_gasless import GASLESS_LINK, GASLESS_SCENES, offer_of
from infra.local.screens import Stage
from tests.fakes.world import FEE_ADDRESS, PAYEE
from tests.onchain.ledger import Ledger
from tests.onchain.payer import FUSDC
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, REJECTS, Purse
from tests.pages.stack import Stack
from tests.pages.test_answers import THIEF, forge
from tests.pages.test_troubles import ANSWERS_LATER
from tests.pages.test_two_devices import lapse
from tests.pages.visitor import Visitor
from tests.support.client import item
from tests.support.running import running

pytestmark = pytest.mark.xdist_group("browser")
FEE = {"feePercentage": "1", "feeAddress": FEE_ADDRESS}
HAS = 20_000_000
SIGN = "eth_signTypedData_v4"


class Service:
    """The workers of a deployment that makes gasless payments on sepolia; each look of theirs is a minute later."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self._ahead = stack, 0
        with stack.lock:
            self._secrets: Any = running().secrets
            self._secrets.gasless_networks = "sepolia"
            self.account = account_address(running(), "sepolia", Role.GASLESS)
            self.name_account(self.account)
        stack.chain.fund_native(self.account, 10**20)

    def name_account(self, account: str) -> None:
        """What the operator says whose account it is, which the page is told."""
        self._secrets.gasless_networks = f"sepolia={account}"

    def stop(self) -> None:
        del self._secrets.gasless_networks

    def look(self) -> None:
        self._ahead += 60
        ahead = timedelta(seconds=self._ahead)
        with self.stack.lock:
            services = replace(running(), clock=lambda: running().clock() + ahead)
            gasless_running.run_due(services)
        self.stack.settle()
        with self.stack.lock:
            track(services, "sepolia")

    def purse(self, coins: int = 0) -> Purse:
        """A wallet with twenty dollars that signs typed data."""
        purse = Purse(self.stack.chain, whole=0)
        self.stack.chain.fund_token(purse.address, FUSDC, HAS)
        self.stack.chain.fund_native(purse.address, coins)
        purse.signs_typed_data()
        return purse


@pytest.fixture
def service(stack: Stack) -> Iterator[Service]:
    service = Service(stack)
    yield service
    service.stop()


def offered(visitor: Visitor, purse: Purse, token: str) -> Visitor:
    return visitor.open(token).connect(purse, "gasless")


def signed(visitor: Visitor) -> Visitor:
    visitor.frame.locator("#sign").click()
    return visitor.reach("gasless-made")


def files(loaded: list[str]) -> set[str]:
    return {urlsplit(each).path.removeprefix("/pages/").partition(".")[0] for each in loaded if "/pages/" in each} - {"qr"}


def test_a_wallet_without_coins_pays_by_one_signature_and_every_page_of_the_link_follows_it(
    service: Service, new_visitor: NewVisitor
) -> None:
    stack, purse = service.stack, service.purse()
    token = stack.shop.link(**FEE)
    ledger = Ledger(stack.chain, [FUSDC], [purse.address, PAYEE, FEE_ADDRESS])
    visitor = offered(new_visitor(purse), purse, token)
    visitor.shows("Pay the network fee in fUSDC", "You need no ETH", "Network fee", "Taken in all")
    assert not visitor.can_pay()
    signed(visitor).shows("The payment is being made", "Do not pay again")
    visitor.reload("gasless-made")
    other = new_visitor(Purse(stack.chain, "Other")).open(token, "gasless-made")
    for _ in range(6):
        service.look()
    visitor.reach("completed").shows("Payment complete", "Transaction")
    other.reach("completed")
    stack.assert_completed(token)
    ((_, paid, fee),) = ledger.moved().values()
    assert (paid, fee) == (12_500_000, 125_000)
    spent = HAS - stack.chain.token_balance(FUSDC, purse.address)
    assert 12_625_000 < spent < 13_500_000
    assert (purse.asked.count(SIGN), purse.asked.count("eth_sendTransaction")) == (1, 0)


def test_who_closes_the_page_after_signing_is_told_of_the_own_payment_on_every_later_visit(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse, token = service.purse(), service.stack.shop.link(**FEE)
    visitor = signed(offered(new_visitor(purse), purse, token))
    visitor.page.goto("about:blank")
    for _ in range(6):
        service.look()
    for _ in range(2):
        visitor.open(token, "completed").shows("Payment complete")


def test_who_signs_and_is_overtaken_by_another_payer_is_not_told_of_a_payment_of_theirs(
    service: Service, new_visitor: NewVisitor
) -> None:
    stack, purse, other = service.stack, service.purse(), Purse(service.stack.chain, "Other")
    token = stack.shop.link(**FEE)
    visitor = offered(new_visitor(purse), purse, token)
    reply = stack.shop.get(f"/v2/secure-payments/{token}/pay?wallet={other.address}")
    signed(visitor)
    for each in reply.json["transactions"]:
        other.send({**each, "from": other.address, "value": hex(each["value"])})
    stack.settle()
    for _ in range(3):
        service.look()
    visitor.reach("completed").shows("Already paid")
    assert stack.chain.token_balance(FUSDC, purse.address) == HAS


def test_who_pays_as_usual_is_offered_it_and_loads_nothing_new(service: Service, new_visitor: NewVisitor) -> None:
    purse = service.purse(10**18)
    visitor, loaded = new_visitor(purse), list[str]()
    visitor.page.on("request", lambda request: loaded.append(request.url))
    visitor.open(service.stack.shop.link(**FEE)).connect(purse)
    expect(visitor.frame.locator("#gasless")).to_have_text("Pay the network fee in fUSDC")
    visitor.pay("confirming")
    service.stack.settle()
    visitor.reach("completed")
    assert files(loaded) == {"page", "payment", "locales/en"}
    assert purse.asked.count(SIGN) == 0


def test_who_chooses_it_sees_its_price_and_may_choose_otherwise(service: Service, new_visitor: NewVisitor) -> None:
    purse = service.purse(10**18)
    visitor = new_visitor(purse).open(service.stack.shop.link(**FEE)).connect(purse)
    visitor.frame.locator("#gasless").click()
    visitor.reach("gasless").shows("Taken in all")
    visitor.press("Pay the network fee in ETH").reach("review")
    assert visitor.can_pay()


def test_a_link_of_which_the_service_says_nothing_has_no_such_choice(service: Service, new_visitor: NewVisitor) -> None:
    purse = service.purse()
    native = {"invoiceCurrency": "ETH-sepolia-sepolia", "paymentCurrency": "ETH-sepolia-sepolia", "payee": PAYEE, "amount": "0.1"}
    service.stack.chain.fund_native(purse.address, 10**18)
    visitor = new_visitor(purse).open(service.stack.shop.link(native)).connect(purse)
    assert visitor.frame.locator("#gasless").count() == 0


def test_who_declines_has_paid_nothing_and_a_wallet_that_signs_no_such_data_is_offered_transactions(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse = service.purse()
    signs, token = purse.says.pop(SIGN), service.stack.shop.link(**FEE)
    purse.says[SIGN] = REJECTS
    visitor = offered(new_visitor(purse), purse, token)
    visitor.frame.locator("#sign").click()
    visitor.reach("wallet-rejected").press("Try again").reach("gasless")
    purse.says[SIGN] = {"error": {"code": 4200, "message": "not supported"}}
    visitor.frame.locator("#sign").click()
    visitor.reach("wallet-unsupported").press("Try again").reach("review")
    assert visitor.frame.locator("#gasless").count() == 0
    purse.says[SIGN] = signs
    assert service.stack.payment(token).requests[0].execution is None


def test_of_two_browsers_that_sign_one_pays_and_the_other_says_so(service: Service, new_visitor: NewVisitor) -> None:
    token, purses = service.stack.shop.link(**FEE), [service.purse(), service.purse()]
    first, second = (offered(new_visitor(each).unwatched(), each, token) for each in purses)
    signed(first)
    second.frame.locator("#sign").click()
    second.reach("gasless-made")
    for _ in range(5):
        service.look()
    for each in (first, second):
        each.reach("completed")
    balances = sorted(service.stack.chain.token_balance(FUSDC, each.address) for each in purses)
    assert balances[0] < HAS == balances[1]


def asked(visitor: Visitor, purse: Purse) -> Visitor:
    """The wallet, which keeps silent until `window.answer` is called, is asked for the signature."""
    purse.says[SIGN] = HANGS
    times = purse.asked.count(SIGN)
    visitor.frame.locator("#sign").click()
    return visitor.until(lambda: purse.asked.count(SIGN) > times)


@pytest.mark.parametrize("answer", ["signs", "declines"])
def test_what_is_signed_after_somebody_has_paid_with_transactions_is_sent_to_nobody(
    service: Service, new_visitor: NewVisitor, answer: str
) -> None:
    stack, token, purse, other = service.stack, service.stack.shop.link(**FEE), service.purse(), Purse(service.stack.chain, "Other")
    visitor, texts = new_visitor(purse).unwatched(), list[str]()
    visitor.page.add_init_script(ANSWERS_LATER)
    offered(visitor, purse, token)
    signs: Any = purse.says[SIGN]
    purse.says[SIGN] = lambda address, text: texts.append(text) or HANGS
    reply = stack.shop.get(f"/v2/secure-payments/{token}/pay?wallet={other.address}")
    visitor.frame.locator("#sign").click()
    visitor.until(lambda: len(texts) == 1)
    for each in reply.json["transactions"]:
        other.send({**each, "from": other.address, "value": hex(each["value"])})
    stack.settle()
    visitor.reach("withdrawn").shows("reject it there")
    visitor.page.evaluate("said => window.answer(said)", signs(purse.address, texts[0]) if answer == "signs" else REJECTS)
    visitor.reach("completed").shows("Already paid")
    service.look()
    assert stack.chain.token_balance(FUSDC, purse.address) == HAS
    assert not any("/gasless/" in each and each.startswith("POST") and token in each for each in stack.asked)


def test_while_a_wallet_is_asked_for_a_signature_no_other_device_is_offered_the_payment(
    service: Service, new_visitor: NewVisitor
) -> None:
    stack, token, purse, other = service.stack, service.stack.shop.link(**FEE), service.purse(), Purse(service.stack.chain, "Other")
    phone = new_visitor(purse)
    phone.page.add_init_script(ANSWERS_LATER)
    computer = new_visitor(other).open(token).connect(other)
    asked(offered(phone, purse, token), purse)
    computer.reach("claimed")
    another = phone.another_tab()
    another.open(token, "gasless").frame.locator("#sign").click()
    another.reach("elsewhere")
    phone.page.evaluate("said => window.answer(said)", REJECTS)
    phone.reach("wallet-rejected")
    computer.reach("review").pay("confirming")
    stack.settle()
    computer.reach("completed")


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_link_that_ends_or_is_claimed_elsewhere_while_a_wallet_is_asked_is_told_and_nothing_is_sent(
    service: Service, new_visitor: NewVisitor, is_cancelled: bool
) -> None:
    stack, token, purse, other = service.stack, service.stack.shop.link(**FEE), service.purse(), service.purse()
    visitor = new_visitor(purse)
    visitor.page.add_init_script(ANSWERS_LATER)
    asked(offered(visitor, purse, token), purse)
    if is_cancelled:
        shop = stack.shop
        assert shop.api.request("POST", f"/v2/secure-payments/{token}/cancel", None, shop.by_key).status == 200
    else:
        with stack.lock:
            lapse(token)  # while the device sleeps
        asked(offered(new_visitor(other), other, token), other)
    visitor.reach("withdrawn").shows("Do not confirm this any more")
    visitor.page.evaluate("said => window.answer(said)", {"result": "0x" + "5a" * 65})
    visitor.reach("cancelled" if is_cancelled else "claimed")
    assert stack.payment(token).requests[0].execution is None


def test_a_wallet_that_is_silent_about_a_signature_is_named_after_some_seconds(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse = service.purse()
    visitor = new_visitor(purse)
    visitor.page.clock.install()
    asked(offered(visitor, purse, service.stack.shop.link(**FEE)), purse).reach("signing")
    visitor.page.clock.fast_forward(20_000)
    visitor.reach("slow").shows("Your wallet has not answered yet", purse.name)
    visitor.page.clock.fast_forward(600_000)
    visitor.reach("wallet-timeout").press("Try again").reach("gasless")


def test_who_signs_while_payments_are_stopped_or_the_service_is_away_pays_once_it_answers(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse, stack, answers = service.purse(), service.stack, [503, 502, 0]
    visitor = offered(new_visitor(purse), purse, token := stack.shop.link(**FEE))
    stopped = {"statusCode": 503, "message": "stopped", "error": "Service Unavailable", "code": "payments_stopped"}

    def answer(route: Route) -> None:
        if route.request.method != "POST" or not answers:
            return route.continue_()
        status = answers[0]
        return route.fulfill(status=status, json=stopped if status == 503 else {}) if status else route.abort()

    visitor.page.route("**/gasless/*", answer)
    visitor.frame.locator("#sign").click()
    for words in ("Payments are stopped for now", "The payment service does not answer", "The payment service does not answer"):
        visitor.reach("gasless-sends").shows(words, "This page sends the signature again by itself")
        answers.pop(0)
    visitor.reach("gasless-made")
    assert len(stack.payment(token).requests) == 1 and purse.asked.count(SIGN) == 1


def test_a_signature_that_nobody_has_accepted_before_its_end_is_told_to_have_paid_nothing(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse = service.purse()
    visitor = new_visitor(purse)
    visitor.page.clock.install()
    offered(visitor, purse, token := service.stack.shop.link(**FEE))
    lost = list[str]()
    visitor.page.route("**/gasless/*", lambda route: (lost.append(route.request.url), route.fulfill(status=503, json={}, headers={"retry-after": "60"})))
    visitor.frame.locator("#sign").click()
    visitor.reach("gasless-sends").until(lambda: len(lost) > 0)
    visitor.page.evaluate("() => { const real = Date.now; Date.now = () => real() + 1_000_000; }")
    visitor.page.clock.run_for(120_000)
    visitor.reach("unpayable").shows("nothing was taken from the wallet")
    assert service.stack.payment(token).requests[0].execution is None


def test_a_look_that_fails_ends_no_following_and_never_calls_the_own_payment_another_ones(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse, token = service.purse(), service.stack.shop.link(**FEE)
    visitor = signed(offered(new_visitor(purse), purse, token))
    failed = list[str]()
    visitor.page.route("**/gasless/*", lambda route: (failed.append(route.request.url), route.fulfill(status=503, json={})))
    visitor.until(lambda: len(failed) > 1)
    for _ in range(6):
        service.look()
    visitor.reach("trouble-away").page.unroute("**/gasless/*")
    visitor.reach("completed").shows("Payment complete")
    visitor.page.goto("about:blank")
    visitor.page.route("**/gasless/*", lambda route: route.abort())
    visitor.open(token, "completed").shows("Payment complete")


def test_a_signature_whose_answer_is_lost_is_sent_again_and_pays_once(service: Service, new_visitor: NewVisitor) -> None:
    purse, lost = service.purse(), list[str]()
    visitor = offered(new_visitor(purse), purse, token := service.stack.shop.link(**FEE))

    def lose(route: Route) -> None:
        if route.request.method != "POST" or len(lost) > 1:
            return route.continue_()
        lost.append(route.request.url)
        if len(lost) > 1:
            route.fetch()  # it arrives, and its answer does not
        return route.abort()

    visitor.page.route("**/gasless/*", lose)
    signed(visitor)
    assert len(lost) == 2
    for _ in range(5):
        service.look()
    visitor.reach("completed")
    service.stack.assert_completed(token)
    assert purse.asked.count(SIGN) == 1


def test_a_payment_that_cannot_be_made_is_told_with_its_reason_and_the_link_is_offered_again(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse, token = service.purse(), service.stack.shop.link(**FEE)
    visitor = signed(offered(new_visitor(purse), purse, token))
    stack = service.stack
    stack.chain.fund_native(purse.address, 10**18)
    away = vars(erc20.transfer(FUSDC, PAYEE, HAS))
    purse.send({"from": purse.address, "to": away["to"], "data": away["data"], "value": "0x0"})
    for _ in range(3):
        service.look()
    visitor.reach("gasless-failed").shows("Nothing was paid", "Nothing was taken: reverted")
    visitor.press("Try again").reach("review")
    assert visitor.frame.locator("#gasless").count() == 0


def test_a_failure_is_told_to_who_comes_back_later(service: Service, new_visitor: NewVisitor) -> None:
    purse, token = service.purse(), service.stack.shop.link(**FEE)
    visitor = signed(offered(new_visitor(purse), purse, token))
    visitor.page.goto("about:blank")
    service.stack.chain.fund_native(purse.address, 10**18)
    away = vars(erc20.transfer(FUSDC, PAYEE, HAS))
    purse.send({"from": purse.address, "to": away["to"], "data": away["data"], "value": "0x0"})
    for _ in range(3):
        service.look()
    visitor.open(token, "gasless-failed")
    visitor.reload("review")


# ---- what is not signed


def test_a_page_names_the_account_that_the_service_signs_with(service: Service, new_visitor: NewVisitor) -> None:
    purse, token = service.purse(), service.stack.shop.link()
    visitor = offered(new_visitor(purse), purse, token)
    named = visitor.page.locator('meta[name="gasless"]').get_attribute("content")
    assert named == f"sepolia {account_of_offer(service, token, purse)}" == f"sepolia {service.account}"


def account_of_offer(service: Service, token: str, purse: Purse) -> str:
    reply = service.stack.shop.get(f"/v2/secure-payments/{token}/pay?wallet={purse.address}&gasless=true")
    return str(json.loads(reply.json["typedData"])["values"]["to"])


def test_an_answer_that_names_another_account_is_refused_in_words_and_nothing_is_signed(
    service: Service, new_visitor: NewVisitor
) -> None:
    purse, token = service.purse(), service.stack.shop.link(**FEE)
    visitor = new_visitor(purse)

    def to_a_thief(body: dict[str, Any]) -> None:
        if "typedData" in body:
            body["typedData"] = body["typedData"].replace(service.account, THIEF)

    forge(visitor, "/pay", to_a_thief)
    visitor.open(token).connect(purse, "unsafe").shows("Stopped for your safety", "pays somebody else", THIEF)
    assert visitor.page.locator("#sign").count() == 0 and SIGN not in purse.asked


def test_an_offer_of_the_service_itself_for_another_link_is_refused_in_words_and_nothing_is_signed(
    service: Service, new_visitor: NewVisitor
) -> None:
    """With the signature the service would pay the thief's link of the same amount."""
    purse, token, shop = service.purse(), service.stack.shop.link(**FEE), service.stack.shop
    stolen = shop.link(item(payee=THIEF), **FEE)
    visitor = new_visitor(purse)

    def of_the_thief(body: dict[str, Any]) -> Any:
        if "typedData" in body:
            return shop.get(f"/v2/secure-payments/{stolen}/pay?wallet={purse.address}&gasless=true").json
        return None

    forge(visitor, "/pay", of_the_thief)
    visitor.open(token).connect(purse, "unsafe").shows("Stopped for your safety", "pays for something else")
    assert SIGN not in purse.asked


def test_a_page_that_names_no_account_has_no_such_choice(service: Service, new_visitor: NewVisitor) -> None:
    purse = service.purse(10**18)
    service.name_account("")
    visitor = new_visitor(purse).open(service.stack.shop.link()).connect(purse)
    assert visitor.frame.locator("#gasless").count() == 0


TYPED = offer_of()["typedData"]


def changed(old: str, new: str) -> dict[str, Any]:
    assert old in TYPED
    return offer_of(typedData=TYPED.replace(old, new))


@pytest.mark.parametrize(
    "body",
    [
        offer_of(amount="12.6"), offer_of(platformFee="0.1"), offer_of(networkFee="13", total="25.625"), offer_of(total="99"),
        offer_of(currency="fUSDT-sepolia"), offer_of(gaslessPaymentId="../pay"), offer_of(typedData="{}"), offer_of(typedData="x"),
        changed('"ReceiveWithAuthorization"', '"TransferWithAuthorization"'), changed('"12745000"', '"99999000"'),
        changed("11155111", "1"), changed('"validAfter": "0"', '"validAfter": "1"'), changed('"validBefore": "1', '"validBefore": "9'),
        changed(GASLESS_LINK["destination"]["tokenAddress"], "0x" + "11" * 20), changed("0x627306090abab3a6e1400e9345bc60c78a8bef57", PAYEE),
    ],
)  # fmt: skip
def test_what_is_not_the_payment_of_the_link_is_not_signed(stage: Stage, body: dict[str, Any]) -> None:
    scene = replace(GASLESS_SCENES["gasless"], offer=(200, body), state="trouble-odd")
    with stage.show_scene(scene) as page:
        assert page.locator("#sign").count() == 0


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (offer_of(account=PAYEE), "The transaction pays somebody else."),
        (offer_of(payee=FEE_ADDRESS), "The transaction pays for something else."),
        (offer_of(gaslessPaymentId="01M7W6TC8F5481TMW6M18FVN1Q"), "The transaction pays for something else."),
    ],
)
def test_what_is_signed_to_another_account_or_for_another_payment_is_refused_in_words(
    stage: Stage, body: dict[str, Any], words: str
) -> None:
    """The second is what the service itself offers for another link, which would be paid with the signature."""
    scene = replace(GASLESS_SCENES["gasless"], offer=(200, body), state="unsafe")
    with stage.show_scene(scene) as page:
        assert page.locator("#sign").count() == 0
        assert {"Stopped for your safety", words} <= set(page.locator("#panel").inner_text().splitlines())


def test_who_has_too_little_for_the_network_as_well_is_told_that_before_signing(stage: Stage) -> None:
    with stage.show_scene(GASLESS_SCENES["gasless-short"]) as page:
        assert page.locator("#sign").count() == 0
        assert "does not have enough" in page.locator("#panel-body").inner_text()
