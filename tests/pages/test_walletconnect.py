"""Payments with a wallet on another device, by WalletConnect over a relay of our own, with the library that wallets use."""

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Page, Route, expect

from chalicelib.chains.catalogue.networks import require_network
from infra.local.walletconnect import PROJECT, Relay
from tests.fakes.world import PAYEE
from tests.onchain.ledger import NATIVE, Ledger
from tests.pages.batch_purse import BatchPurse, refuses
from tests.pages.conftest import NewVisitor
from tests.pages.purse import HANGS, REJECTS, Purse
from tests.pages.stack import Stack
from tests.pages.test_apps import IPHONE
from tests.pages.test_gasless import SIGN, Service
from tests.pages.test_never_twice import age
from tests.pages.visitor import Visitor, axe_findings
from tests.pages.walletconnect_wallet import BATCHES, PAYS, RemoteWallet
from tests.support.items import native
from tests.support.patience import patience
from tests.support.running import restart

pytestmark = pytest.mark.xdist_group("browser")
IMPATIENT = """{
  const patient = window.setTimeout;
  window.setTimeout = (task, ms, ...given) => patient(task, ms === 15_000 ? 15_001 : ms, ...given);
}"""
"""The page waits no longer than it says, also here."""
NODE = require_network("sepolia").public_rpc_urls[0]


@contextmanager
def operating(stack: Stack, relay_url: str) -> Iterator[None]:
    """The operator has a project, and this relay."""
    settings = {"WALLETCONNECT_PROJECT_ID": PROJECT, "WALLETCONNECT_RELAY_URL": relay_url}
    with stack.lock:
        os.environ.update(settings)
        restart()
    yield
    with stack.lock:
        for name in settings:
            del os.environ[name]
        restart()


@pytest.fixture
def relay(stack: Stack) -> Iterator[Relay]:
    with Relay() as running, operating(stack, running.url):
        yield running


@pytest.fixture
def remote(purse: Purse, relay: Relay) -> Iterator[RemoteWallet]:
    with remote_wallet(purse, relay) as wallet:
        yield wallet


@contextmanager
def remote_wallet(purse: Purse, relay: Relay) -> Iterator[RemoteWallet]:
    wallet = RemoteWallet(purse, relay.url)
    try:
        yield wallet
    finally:
        wallet.stop()


class Guest(Visitor):
    """`foreign` are the hosts that the browser asks besides the service; the public node of sepolia is the local chain."""

    foreign: list[str]

    def watched(self) -> Self:
        self.foreign = []
        self.context.on("request", lambda each: self._note(each.url))
        self.context.route(f"{NODE}/**", self._answer)
        self.page.on("websocket", lambda each: self._note(each.url))
        return self

    def _note(self, url: str) -> None:
        own = {urlsplit(each).netloc for each in (self.stack.pay_url, self.stack.api_url)}
        if url.startswith(("http", "ws")) and urlsplit(url).netloc not in own:
            self.foreign.append(urlsplit(url).netloc)

    def _answer(self, route: Route) -> None:
        headers = {"access-control-allow-origin": "*", "access-control-allow-headers": "content-type"}
        if route.request.method == "OPTIONS":
            route.fulfill(status=204, headers=headers)
            return
        reply = requests.post(self.stack.chain.url, json=route.request.post_data_json, timeout=patience())
        route.fulfill(body=reply.content, content_type="application/json", headers=headers)

    def choose_remote(self, state: str = "pairing") -> Self:
        self.button("WalletConnect").click()
        self.reach(state)
        return self

    @property
    def uri(self) -> str:
        return self.page.locator("#pairing").input_value()

    def pair(self, purse: RemoteWallet, state: str = "review") -> Self:
        self.choose_remote()
        purse.pair_wholly(self.uri)
        self.reach(state)
        return self


def guest_of(visitor: Visitor) -> Guest:
    visitor.__class__ = Guest
    assert isinstance(visitor, Guest)
    return visitor.watched()


@pytest.fixture
def guest(new_visitor: NewVisitor) -> Guest:
    return guest_of(new_visitor())


def policy(page: Page) -> str:
    return str(page.evaluate("fetch(location.href).then((each) => each.headers.get('content-security-policy'))"))


def test_a_wallet_that_scans_the_code_pays_both_steps(stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest) -> None:
    """Nothing but the relay and a node of the network is asked for, and the relay is told nothing of the payment."""
    token = stack.shop.link()
    relay.published.clear()
    guest.open(token)
    assert guest.foreign == []
    guest.choose_remote()
    code = guest.page.locator("svg.qr")
    side = int(str(code.get_attribute("viewBox")).split()[2])
    dark = [[int(x), int(y)] for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", str(code.locator("path").get_attribute("d")))]
    assert remote.scan(side, dark) == guest.uri
    remote.pair_wholly(guest.uri)
    guest.reach("review").shows("Far Wallet")
    wanted = remote.proposals[-1]
    assert (wanted["required"], wanted["wanted"]["eip155"]["chains"]) == ({}, ["eip155:11155111"])
    assert wanted["wanted"]["eip155"]["methods"] == [*PAYS, "eth_signTypedData_v4", *BATCHES]
    assert (wanted["proposer"]["name"], wanted["proposer"]["url"]) == ("Payment Request Service", stack.pay_url)
    guest.pay("confirming")
    assert remote.purse.asked.count("eth_sendTransaction") == 2
    stack.settle()
    guest.reach("completed")
    stack.assert_completed(token)
    assert {*guest.foreign} == {urlsplit(relay.url).netloc, urlsplit(NODE).netloc}
    assert {each["tag"] for each in relay.published} > {1100, 1108} and token not in str(relay.published)
    asked = [each for each in relay.published if each["tag"] in (1100, 1108)]
    assert {name for each in asked for name in each.get("tvf", {})} == {"correlationId"}


@pytest.mark.parametrize("signs", [True, False])
def test_a_wallet_far_away_pays_by_a_signature_if_it_grants_that(
    stack: Stack, relay: Relay, new_visitor: NewVisitor, signs: bool
) -> None:
    """Typed data over the relay. Of one that does not grant it nothing is asked but transactions."""
    service = Service(stack)
    purse, token = service.purse(0 if signs else 10**18), stack.shop.link()
    guest = guest_of(new_visitor())
    with remote_wallet(purse, relay) as remote:
        guest.open(token).choose_remote()
        remote.pair_wholly(guest.uri, namespaces=remote.grants(methods=[*PAYS, *[SIGN][:signs]]))
        guest.reach("gasless" if signs else "review")
        if not signs:
            assert guest.page.locator("#gasless").count() == 0
            return
        guest.page.locator("#sign").click()
        guest.reach("gasless-made").reload("gasless-made")
        for _ in range(6):
            service.look()
        guest.reach("completed").shows("Payment complete")
    stack.assert_completed(token)
    assert (purse.asked.count(SIGN), purse.asked.count("eth_sendTransaction")) == (1, 0)


def test_only_the_page_that_was_opened_with_it_has_its_scripts_and_may_ask_its_relay(
    stack: Stack, relay: Relay, guest: Guest
) -> None:
    """Also a link that names it, which somebody else may have made, begins nothing."""
    token = stack.shop.link()
    guest.open(token)
    assert relay.url not in policy(guest.page) and NODE not in policy(guest.page)
    assert "walletconnect_vendor" not in guest.page.content()
    guest.open(token, connect="walletconnect")
    assert relay.url in policy(guest.page) and f"{NODE} " in policy(guest.page).replace(";", " ")
    guest.page.wait_for_timeout(500)
    assert guest.foreign == [] and guest.state == "choose"
    assert relay.methods == []


def test_without_a_project_it_is_neither_named_nor_loaded(stack: Stack, new_visitor: NewVisitor) -> None:
    token = stack.shop.link()
    visitor = new_visitor()
    for query in ({}, {"connect": "walletconnect"}):
        visitor.open(token, **query)
        assert visitor.button("WalletConnect").count() == 0
        assert "walletconnect" not in visitor.page.content().lower()
        assert "walletconnect" not in policy(visitor.page) and "wss:" not in policy(visitor.page)


def test_a_payer_who_reloads_goes_on_with_the_wallet_that_is_paired(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    token = stack.shop.link(native())
    guest.open(token).pair(remote)
    guest.reload("review").shows("Far Wallet")
    assert len(remote.proposals) == 1
    guest.pay("confirming").reload("confirming")
    stack.settle()
    guest.reach("completed")
    assert remote.purse.asked.count("eth_sendTransaction") == 1
    stack.assert_completed(token)


def test_another_link_of_the_same_network_needs_no_second_pairing(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    guest.open(stack.shop.link()).pair(remote)
    guest.open(stack.shop.link(native()))
    guest.choose_remote("review").pay("confirming")
    assert (len(remote.proposals), remote.purse.asked.count("eth_sendTransaction")) == (1, 1)


def test_the_payer_disconnects_the_wallet_and_pairs_another_one(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    guest.open(stack.shop.link(native())).pair(remote)
    guest.press("Use another wallet").reach("choose")
    guest.choose_remote("paired").shows("Far Wallet is connected")
    assert axe_findings(guest.page) == []
    guest.press("Go on with Far Wallet").reach("review")
    guest.press("Use another wallet").reach("choose")
    guest.choose_remote("paired").press("Disconnect").reach("choose")
    assert remote.await_event("deleted")["topic"] == remote.topic
    with remote_wallet(Purse(stack.chain), relay) as other:
        guest.pair(other).pay("confirming")
        assert other.purse.asked.count("eth_sendTransaction") == 1


def test_a_wallet_that_disconnects_is_asked_for_nothing(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    guest.open(stack.shop.link(native())).pair(remote)
    remote.tell("disconnect", topic=remote.topic)
    guest.reach("choose").shows("Your wallet is locked or no longer connected to this page")
    assert "eth_sendTransaction" not in remote.purse.asked


@pytest.mark.parametrize(
    ("granted", "words"),
    [
        ({"chain_id": 1}, "did not connect on the network of this payment"),
        ({"methods": ["personal_sign"]}, "did not allow this page to ask for payments"),
    ],
)
def test_a_wallet_that_approves_other_chains_or_methods_is_refused_in_words(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest, granted: dict[str, Any], words: str
) -> None:
    guest.open(stack.shop.link(native())).choose_remote()
    remote.pair(guest.uri, namespaces=remote.grants(**granted))
    guest.reach("choose").shows(words, "ry again")
    remote.await_event("deleted")
    assert remote.purse.asked == []
    guest.pair(remote)


def test_a_wallet_that_approves_more_is_asked_for_no_more(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    more = remote.grants(methods=[*PAYS, "personal_sign", "eth_sign", "wallet_switchEthereumChain"])
    other = remote.grants(chain_id=1)["eip155"]
    both = {name: [*more["eip155"][name], *other[name]] for name in other}
    guest.open(stack.shop.link()).choose_remote()
    remote.pair_wholly(guest.uri, namespaces={"eip155": both, "cosmos": {"chains": [], "accounts": [], "methods": ["cosmos_x"], "events": []}})
    guest.reach("review").pay("confirming")
    assert {*remote.purse.asked} == {"eth_sendTransaction"}


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ({"code": 5000, "message": "User rejected."}, "The wallet was not connected. You can try again."),
        ({"code": 5100, "message": "Unsupported chains."}, "did not connect on the network of this payment"),
        ({"code": 5101, "message": "Unsupported methods."}, "did not allow this page to ask for payments"),
        ({"code": 5104, "message": "<b>Unsupported namespace key.</b>"}, "did not connect on the network of this payment"),
    ],
)
def test_a_wallet_that_rejects_the_pairing_says_why(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest, reason: dict[str, Any], words: str
) -> None:
    guest.open(stack.shop.link(native())).choose_remote()
    remote.pair(guest.uri, reject=reason)
    guest.reach("choose").shows(words)


def test_a_payment_that_the_wallet_rejects_is_offered_again(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    token = stack.shop.link(native())
    remote.purse.says["eth_sendTransaction"] = REJECTS
    guest.open(token).pair(remote).pay("wallet-rejected")
    assert guest.note(token) is None
    del remote.purse.says["eth_sendTransaction"]
    guest.press("Try again").reach("review")
    guest.pay("confirming")


# --- wallets that lie ---

Answer = dict[str, Any]


def stranger_hash(stack: Stack) -> str:
    """Of another account's transaction, in a block."""
    sent = stack.chain.send_as(Purse(stack.chain).address, {"to": PAYEE, "value": "0x1", "data": "0x"})
    stack.mine(2)
    return sent


@pytest.mark.parametrize(
    "answers",
    [
        lambda own, other: (own, other),
        lambda own, other: (other, own),
        lambda own, other: (own, REJECTS),
        lambda own, other: (REJECTS, own),
        lambda own, other: (refuses(-32603), own),
        lambda own, other: ({"result": None}, own),
    ],
)  # fmt: skip
def test_a_wallet_that_answers_twice_pays_once(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest, answers: Callable[[Answer, Answer], tuple[Answer, Answer]]
) -> None:
    token, other = stack.shop.link(native()), {"result": stranger_hash(stack)}
    ledger = Ledger(stack.chain, [NATIVE], [PAYEE])

    def twice(asked: Answer) -> Answer:
        first, second = answers({"result": remote.purse.send(asked)}, other)
        return {**first, "again": second}

    remote.purse.says["eth_sendTransaction"] = twice
    guest.open(token).pair(remote).frame.locator("#pay").click()
    guest.until(lambda: len(remote.purse.sent) == 1)
    guest.reach("confirming", "settling", "doubt", "asked")
    assert not guest.can_pay()
    guest.page.reload()
    stack.settle()
    guest.reach("completed")
    assert (remote.purse.asked.count("eth_sendTransaction"), ledger.moved()) == (1, {NATIVE: [5 * 10**17]})
    stack.assert_completed(token)


def test_the_hash_of_another_account_is_no_payment_and_offers_none(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    token = stack.shop.link(native())
    remote.purse.says["eth_sendTransaction"] = {"result": stranger_hash(stack)}
    guest.open(token).pair(remote).pay("settling")
    guest.until(lambda: "deepAt" in (guest.note(token) or {}))
    age(guest, token, "deepAt")
    guest.reload("uncounted").shows("Your transaction is confirmed, but this payment is not complete")
    assert not guest.can_pay() and not stack.payment(token).is_paid
    assert remote.purse.asked.count("eth_sendTransaction") == 1


@pytest.mark.parametrize("answer", [None, 7, "0x12", {"hash": "0x" + "12" * 32}, "0x" + "12" * 5_000, ["0x" + "12" * 32]])
def test_what_is_no_hash_is_a_question_to_the_payer(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest, answer: Any
) -> None:
    token = stack.shop.link(native())
    remote.purse.says["eth_sendTransaction"] = {"result": answer}
    guest.open(token).pair(remote).pay("asked").shows("It was asked to pay from this account:", remote.purse.address.lower())
    assert not guest.can_pay()


def test_of_a_batch_that_is_answered_twice_the_first_id_is_followed(stack: Stack, relay: Relay, guest: Guest) -> None:
    with remote_wallet(BatchPurse(stack.chain), relay) as remote:
        purse, token = remote.purse, stack.shop.link()
        assert isinstance(purse, BatchPurse)
        purse.says["wallet_sendCalls"] = lambda asked: {"result": purse.make(asked), "again": {"result": {"id": "0xother"}}}
        guest.open(token).choose_remote()
        remote.pair_wholly(guest.uri, namespaces=remote.grants(methods=[*PAYS, *BATCHES]))
        guest.reach("review")
        guest.page.get_by_text("Your wallet will ask you once.").wait_for()
        guest.pay("confirming")
        assert (guest.note(token) or {})["batch"]["answered"] in purse.made
        stack.settle()
        guest.reach("completed")
        assert (purse.asked.count("wallet_sendCalls"), purse.asked.count("eth_sendTransaction")) == (1, 0)


def test_a_wallet_that_goes_over_to_another_chain_is_told_and_connected_anew(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    guest.open(stack.shop.link(native())).pair(remote)
    remote.tell("update", topic=remote.topic, namespaces=remote.grants(chain_id=1))
    guest.reach("choose").shows("Your wallet is locked or no longer connected to this page")
    assert "eth_sendTransaction" not in remote.purse.asked
    guest.pair(remote).pay("confirming")


def test_a_wallet_that_takes_the_leave_to_ask_for_payments_back_is_not_said_to_have_been_asked(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    token = stack.shop.link(native())
    guest.open(token).pair(remote)
    remote.tell("update", topic=remote.topic, namespaces=remote.grants(methods=["personal_sign"]))
    remote.await_event("updated")
    guest.frame.locator("#main:not([data-state=review]), #pay").first.wait_for()
    if guest.can_pay():
        guest.frame.locator("#pay").click()
    guest.reach("choose", "wallet-unsupported")
    assert guest.note(token) is None and "eth_sendTransaction" not in remote.purse.asked


def test_a_wallet_that_goes_over_to_another_account_while_it_is_asked_pays_once(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    """The page begins again with that account once it is certain what became of the first one's payment."""
    token, other = stack.shop.link(native()), Purse(stack.chain)
    guest.open(token).pair(remote)
    asked = list[Answer]()
    remote.purse.says["eth_sendTransaction"] = lambda wanted: asked.append(wanted) or HANGS
    guest.pay("signing").until(lambda: len(asked) == 1)
    granted = remote.grants()
    granted["eip155"]["accounts"] = [f"eip155:11155111:{other.address}"]
    remote.tell("update", topic=remote.topic, namespaces=granted)
    guest.shows("another account")
    remote.purse.send(asked[0])
    stack.settle()
    guest.reload("completed")
    assert remote.purse.asked.count("eth_sendTransaction") == 1
    stack.assert_completed(token)


def test_what_a_wallet_asks_of_the_page_or_proposes_to_it_changes_nothing(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    granted = remote.grants(methods=[*PAYS, "personal_sign"])
    guest.open(stack.shop.link(native())).choose_remote()
    remote.pair_wholly(guest.uri, namespaces=granted)
    guest.reach("review")
    chain = f"eip155:{remote.purse.chain_id}"
    foreign, event = guest.foreign.copy(), {"name": "chainChanged", "data": 1}
    request = {"method": "personal_sign", "params": ["0x00", PAYEE]}
    wanted = {"eip155": {"chains": ["eip155:1"], "methods": ["eth_sign"], "events": []}}
    remote.tell("turn", topic=remote.topic, chainId=chain, event=event, request=request, wanted=wanted)
    remote.await_event("turned")
    guest.page.wait_for_timeout(500)
    assert guest.state == "review" and {*guest.foreign} == {*foreign}, "it would ask who has vouched for the wallet"
    guest.pay("confirming")
    assert {*remote.purse.asked} == {"eth_sendTransaction"}


@pytest.mark.parametrize("name", ["\u202egnilaed elbuod", "<b onclick=x>Bold</b>", "W" * 255, "\u0000\u200b"])
def test_the_name_of_a_wallet_is_a_text_of_one_line(stack: Stack, relay: Relay, purse: Purse, guest: Guest, name: str) -> None:
    remote = RemoteWallet(purse, relay.url, name)
    try:
        guest.open(stack.shop.link(native())).pair(remote)
        shown = guest.page.locator(".who .name").inner_text()
        assert len(shown) <= 40 and shown.isprintable() and guest.page.locator(".who .name *").count() == 0
        assert shown == (name.strip("\u202e\u0000\u200b")[:40] or "WalletConnect")
    finally:
        remote.stop()


# --- what wallets can do ---


def test_a_wallet_that_can_is_asked_once_for_both_steps(stack: Stack, relay: Relay, guest: Guest) -> None:
    with remote_wallet(BatchPurse(stack.chain), relay) as remote:
        token = stack.shop.link()
        guest.open(token).choose_remote()
        remote.pair_wholly(guest.uri, namespaces=remote.grants(methods=[*PAYS, *BATCHES]))
        guest.reach("review")
        guest.page.get_by_text("Your wallet will ask you once.").wait_for()
        guest.pay("confirming")
        stack.settle()
        guest.reach("completed")
        stack.assert_completed(token)
        assert "eth_sendTransaction" not in remote.purse.asked


ATOMIC: dict[str, Any] = {"atomic": {"status": "supported"}}
STATED: list[Callable[[str], dict[str, Any]]] = [
    lambda address: {"sessionProperties": {"capabilities": json.dumps({address: {"0xaa36a7": ATOMIC}})}},
    lambda address: {"sessionProperties": {"capabilities": {address: {"0xaa36a7": ATOMIC}}}},
    lambda address: {"sessionProperties": ATOMIC},
    lambda address: {"sessionProperties": {"atomic": json.dumps(ATOMIC["atomic"])}},
    lambda address: {"scopedProperties": {"eip155:11155111": ATOMIC}},
    lambda address: {"scopedProperties": {"eip155:11155111": json.dumps(ATOMIC)}},
    lambda address: {"scopedProperties": {"eip155:11155111": {f"eip155:11155111:{address}": ATOMIC}}},
]


@pytest.mark.parametrize("stated", STATED)
def test_what_it_stated_of_itself_when_it_was_paired_counts_if_it_says_nothing_later(
    stack: Stack, relay: Relay, guest: Guest, stated: Callable[[str], dict[str, Any]]
) -> None:
    purse = BatchPurse(stack.chain)
    with remote_wallet(purse, relay) as remote:
        guest.open(stack.shop.link()).choose_remote()
        granted = remote.grants(methods=[*PAYS, *BATCHES[:2]])
        remote.pair_wholly(guest.uri, namespaces=granted, **stated(purse.address))
        guest.reach("review")
        guest.page.get_by_text("Your wallet will ask you once.").wait_for()


def test_what_it_stated_of_another_chain_or_account_counts_for_nothing(stack: Stack, relay: Relay, guest: Guest) -> None:
    purse, other = BatchPurse(stack.chain), f"eip155:11155111:0x{'12' * 20}"
    with remote_wallet(purse, relay) as remote:
        guest.open(stack.shop.link()).choose_remote()
        granted = remote.grants(methods=[*PAYS, *BATCHES[:2]])
        stated = {"eip155:1": ATOMIC, "eip155:11155111": {other: ATOMIC}}
        remote.pair_wholly(guest.uri, namespaces=granted, scopedProperties=stated)
        guest.reach("review").page.wait_for_timeout(300)
        guest.shows("Your wallet will ask you 2 times.")


def test_a_relay_that_loses_acknowledgements_alone_is_no_refusal_of_the_wallet(
    stack: Stack, relay: Relay, remote: RemoteWallet, guest: Guest
) -> None:
    """The library gives up after a minute, while the request has arrived: it can still be confirmed."""
    token, asked = stack.shop.link(native()), list[dict[str, Any]]()
    relay.unacknowledged = frozenset({1108})
    remote.purse.says["eth_sendTransaction"] = lambda wanted: asked.append(wanted) or HANGS
    guest.context.clock.install()
    guest.context.add_init_script(IMPATIENT)
    guest.open(token).pair(remote).pay("signing").until(lambda: len(asked) > 0)
    states = set[str | None]()
    for _ in range(90):
        guest.page.clock.run_for(1_000)
        guest.page.wait_for_timeout(20)
        states.add(guest.state)
    guest.reach("asked").shows("Your wallet was asked to pay and has not answered")
    assert not states & {"wallet-failed", "wallet-rejected", "review"} and not guest.can_pay()
    remote.purse.send(asked[0])
    stack.settle()
    for _ in range(60):
        guest.page.clock.run_for(1_000)
    guest.reach("completed")
    stack.assert_completed(token)
    assert len(remote.purse.sent) == 1


def test_after_fifteen_seconds_it_says_that_the_relay_does_not_answer(stack: Stack, guest: Guest) -> None:
    """And is not asked again until the payer tries again."""
    with Relay() as gone:
        pass
    guest.context.add_init_script(IMPATIENT)
    with operating(stack, gone.url):
        guest.open(stack.shop.link(native())).choose_remote("choose")
        guest.shows("The WalletConnect relay does not answer, so your wallet was not asked for anything.")
        refused = len(guest.foreign)
        guest.page.wait_for_timeout(3_000)
        assert refused > 0 and len(guest.foreign) == refused
        with Relay(gone.port) as back, remote_wallet(Purse(stack.chain), back) as remote:
            guest.pair(remote).pay("confirming")
    guest.complaints.clear()  # the browser's, of the connections


def test_a_relay_that_ends_while_the_wallet_is_asked_costs_nothing(
    stack: Stack, remote: RemoteWallet, relay: Relay, guest: Guest
) -> None:
    """It is said in words, and once it is back the answer comes."""
    token = stack.shop.link(native())
    guest.context.add_init_script(IMPATIENT)
    guest.open(token).pair(remote)
    answers = threading.Event()
    remote.purse.says["eth_sendTransaction"] = lambda asked: {"result": answers.wait(patience()) and remote.purse.send(asked)}
    guest.pay("signing").until(lambda: "eth_sendTransaction" in remote.purse.asked)
    relay.stop()
    guest.reach("slow")
    with Relay(relay.port):
        answers.set()
        guest.reach("confirming")
    assert remote.purse.asked.count("eth_sendTransaction") == 1
    guest.complaints.clear()  # the browser's, of the connections


def test_a_phone_is_given_a_link_into_its_wallet_apps_and_no_code(
    stack: Stack, relay: Relay, remote: RemoteWallet, new_visitor: NewVisitor
) -> None:
    visitor = guest_of(new_visitor(user_agent=IPHONE, viewport={"width": 390, "height": 844}))
    visitor.open(stack.shop.link(native())).choose_remote()
    link = visitor.page.get_by_role("link", name="Open a wallet app")
    expect(link).to_have_attribute("href", visitor.uri)
    assert visitor.uri.startswith("wc:") and visitor.page.locator(".qr").count() == 0
    assert axe_findings(visitor.page) == []
    remote.pair_wholly(visitor.uri)
    visitor.reach("review")


def test_whoever_does_not_see_the_code_copies_it_and_it_leaves_the_browser_in_no_url(
    stack: Stack, relay: Relay, guest: Guest
) -> None:
    sent = list[str]()
    guest.page.on("request", lambda each: sent.append(f"{each.url} {each.post_data}"))
    guest.open(stack.shop.link()).choose_remote()
    assert axe_findings(guest.page) == []
    guest.shows("Whoever has this code could pose as your wallet here.")
    key = guest.uri.partition("symKey=")[2][:64]
    assert len(key) == 64 and not [each for each in sent if key in each]
    guest.press("Use another wallet").reach("choose")
