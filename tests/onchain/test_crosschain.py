"""A link on arbitrum-one is paid from base, over Across's own contracts on two real chains, and every end is seen."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.errors import BadRequest, Locked
from chalicelib.chains.catalogue.contracts import MULTICALL3, address_of
from chalicelib.chains.nodes.chains import Chains
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.crosschain.core.records import BridgeTransfer, Stage
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkStatus, PayableLink
from chalicelib.payments.links.rules import check_payable
from chalicelib.payments.payable.rules import SourceToken
from chalicelib.payments.requests.payments import store as payment_store
from chalicelib.payments.requests.payments.records import PaymentKind
from chalicelib.payments.transfers import flows as transfers
from chalicelib.platform.outbound.lifi import Lifi
from infra.local.across import RELAYER, Bridge, Deposited
from infra.local.across_contracts import call_data, send_good_call
from infra.local.chain import Chain
from infra.local.router import Router
from tests.fakes.world import World, in_process_aws
from tests.onchain.conftest import Nodes
from tests.onchain.payer import pay_body

pytestmark = pytest.mark.xdist_group("bridge")

HOUR = 3600
GAS = 1_000_000


class Wallet:
    """A payer with a million coins and a million of every token on both chains."""

    def __init__(self, shop: "Shop") -> None:
        account = Account.create()
        self.address, self._key, self._chain = account.address, account.key.hex(), shop.source
        for chain in shop.bridge.chains.values():
            chain.fund(self.address, 10**6)

    def send(self, transaction: dict[str, Any]) -> str:
        """Sends it, also if it will revert; returns its hash."""
        wanted = {**transaction, "gas": GAS}
        return str(self._chain.send(wanted, self._key)["transactionHash"])


class Shop:
    """A deployment that reads both chains, and asks the local router. Its clock is that of the chains."""

    def __init__(self, client: Any, bridge: Bridge, router: Router) -> None:
        self.bridge, self.router = bridge, router
        self.source, self.destination = bridge.chains["base"], bridge.chains["arbitrum-one"]
        nodes = Chains(Nodes({network: chain.url for network, chain in bridge.chains.items()}))
        self.world = World(client, chains=nodes, confirmations={"base": 2, "arbitrum-one": 2})
        self.world.services = replace(self.world.services, router=Lifi(router.url, "test"))
        self.world.register_webhook()
        self.pass_time(0)
        self.scan()

    def pass_time(self, seconds: int) -> None:
        for chain in self.bridge.chains.values():
            behind = max(self.now.timestamp() - _time(chain), 0)
            chain.rpc("evm_increaseTime", int(seconds + behind))
            chain.mine(1)

    @property
    def now(self) -> datetime:
        self.world.now = datetime.fromtimestamp(max(map(_time, self.bridge.chains.values())), UTC)
        return self.world.now

    def scan(self) -> None:
        for chain in self.bridge.chains.values():
            chain.mine(3)
        assert self.now
        self.world.tick(network="arbitrum-one")

    def track(self, minutes: int = 6) -> None:
        self.pass_time(60 * minutes)
        self.scan()
        tracking.track_due(self.world.services)

    def link(self) -> PayableLink:
        return self.world.create_link(currency="USDC-arbitrum-one")

    def quote(self, payable: PayableLink, wallet: Wallet) -> list[dict[str, Any]]:
        body = pay_body(self.world, payable, wallet.address, source=SourceToken("BASE", "USDC"))
        return list(body["transactions"])

    def announce(self, payable: PayableLink, tx_hash: str) -> AnnouncedTransaction:
        draft = Announcement(tx_hash, None, None, "BASE", "USDC", None)
        viewer = Viewer(self.world.account_id, None)
        return announcements.record(self.world.services, payable.link.token, viewer, draft)[1]

    def pay(self, payable: PayableLink, wallet: Wallet) -> Deposited:
        """Pays as the page does: quote, approval, deposit, announcement."""
        *approvals, bridging = self.quote(payable, wallet)
        for approval in approvals:
            wallet.send(approval)
        tx_hash = wallet.send(bridging)
        self.announce(payable, tx_hash)
        (deposited,) = self.bridge.deposits_of("base", tx_hash)
        return deposited

    def state(self, payable: PayableLink) -> tuple[AnnouncedStatus, Stage]:
        (announced,) = self.announcements(payable)
        return announced.status, bridge_transfer_of(announced).stage

    def announcements(self, payable: PayableLink) -> tuple[AnnouncedTransaction, ...]:
        record = self.world.load(payable).announcements
        assert record is not None
        return record.all

    def is_free(self, payable: PayableLink) -> bool:
        try:
            check_payable(self.world.load(payable), self.world.now)
        except Locked:
            return False
        return True

    def failures(self) -> list[dict[str, Any]]:
        self.world.drain()
        bodies = [json.loads(posted.body) for posted in self.world.receiver.posted]
        return [body for body in bodies if body["event"] == "payment.failed"]


def bridge_transfer_of(announced: AnnouncedTransaction) -> BridgeTransfer:
    assert announced.bridge_transfer is not None
    return announced.bridge_transfer


def _time(chain: Chain) -> int:
    return int(chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)


@pytest.fixture
def shop(bridge: Bridge, router: Router) -> Iterator[Shop]:
    with in_process_aws() as client:
        yield Shop(client, bridge, router)


@pytest.fixture
def wallet(shop: Shop) -> Wallet:
    return Wallet(shop)


def test_a_filled_deposit_pays_the_link_and_both_transactions_are_known(shop: Shop, wallet: Wallet) -> None:
    payment = shop.link()
    deposited = shop.pay(payment, wallet)
    assert not shop.is_free(payment)
    shop.track()
    assert shop.state(payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
    chain, relay = (
        shop.world.services.chains.evm("arbitrum-one"),
        bridge_transfer_of(shop.announcements(payment)[0]).relay_hash,
    )
    assert relay is not None
    assert chain.fill_status(relay, chain.head()) == 0
    filled = shop.bridge.fill(deposited)["transactionHash"]
    assert chain.fill_status(relay, chain.head()) == 2, "the contract knows it by this hash"
    shop.track()
    assert shop.state(payment) == (AnnouncedStatus.SETTLED, Stage.DESTINATION)
    assert shop.world.load(payment).link.status is LinkStatus.COMPLETED
    (paid,) = payment_store.payments(shop.world.services.store, payment.requests[0].request_id)
    assert (paid.type, paid.payer, paid.tx_hash) == (PaymentKind.CROSSCHAIN, wallet.address, filled)
    assert (paid.source_network, paid.source_hash) == ("base", deposited.transaction_hash)
    assert shop.failures() == []


def test_a_payment_that_fails_at_the_destination_leaves_the_tokens_with_the_payer(shop: Shop, wallet: Wallet) -> None:
    payment = shop.link()
    deposited = shop.pay(payment, wallet)
    before = shop.destination.token_balance(deposited.output_token, wallet.address)
    shop.bridge.fill(deposited, fails=True)
    shop.track()
    assert shop.state(payment) == (AnnouncedStatus.PARTIAL, Stage.DESTINATION)
    returned = bridge_transfer_of(shop.announcements(payment)[0]).returned
    assert returned is not None and returned.wallet == wallet.address
    assert shop.destination.token_balance(deposited.output_token, wallet.address) - before == returned.amount
    assert shop.is_free(payment)
    (body,) = shop.failures()
    assert (body["subStatus"], body["txHash"]) == ("bounced", deposited.transaction_hash)


def test_a_deposit_that_nobody_fills_is_refunding_until_the_refund_is_on_the_source_chain(
    shop: Shop, wallet: Wallet
) -> None:
    payment = shop.link()
    deposited = shop.pay(payment, wallet)
    shop.track()
    shop.pass_time(max(deposited.fill_deadline - _time(shop.destination), 0))
    shop.track(15)
    assert shop.state(payment) == (AnnouncedStatus.PENDING, Stage.REFUNDING)
    assert shop.bridge.fill(deposited)["status"] == "0x0", "nobody can fill it any more"
    assert not shop.is_free(payment)
    refunded = shop.bridge.refund(deposited)["transactionHash"]
    shop.track(15)
    assert shop.state(payment) == (AnnouncedStatus.REFUNDED, Stage.RETURNED)
    assert bridge_transfer_of(shop.announcements(payment)[0]).refund_hash == refunded
    assert shop.is_free(payment)
    assert [body["subStatus"] for body in shop.failures()] == ["bounced"]


def test_a_deposit_that_reverts_takes_nothing_and_frees_the_link(shop: Shop, wallet: Wallet) -> None:
    payment = shop.link()
    *_, bridging = shop.quote(payment, wallet)
    tx_hash = wallet.send(bridging)  # without the approval
    with pytest.raises(BadRequest, match="This transaction failed"):
        shop.announce(payment, tx_hash)
    shop.source.rpc("evm_setAutomine", False)
    try:
        sent = shop.source.rpc("eth_sendRawTransaction", _signed(shop, wallet, bridging))
        shop.announce(payment, sent)
        shop.source.rpc("evm_mine")
    finally:
        shop.source.rpc("evm_setAutomine", True)
    shop.track()
    assert shop.state(payment) == (AnnouncedStatus.FAILED, Stage.SOURCE)
    assert shop.is_free(payment)
    (body,) = shop.failures()
    assert body["subStatus"] in ("failed", "insufficient_funds")


def _signed(shop: Shop, wallet: Wallet, transaction: dict[str, Any]) -> str:
    """The transaction, signed for the next nonce, as it is sent to a node."""
    price = int(shop.source.rpc("eth_gasPrice"), 16)
    signed = Account.sign_transaction(
        {
            "to": transaction["to"],
            "data": transaction["data"],
            "value": 0,
            "gas": GAS,
            "nonce": int(shop.source.rpc("eth_getTransactionCount", wallet.address, "latest"), 16),
            "chainId": 8453,
            "maxFeePerGas": 2 * price,
            "maxPriorityFeePerGas": min(price, 10**9),
        },
        wallet._key,
    )
    return "0x" + bytes(signed.raw_transaction).hex()


def test_a_stale_quote_reverts_after_its_deadline_and_frees_the_link(shop: Shop, wallet: Wallet) -> None:
    payment = shop.link()
    *approvals, bridging = shop.quote(payment, wallet)
    for approval in approvals:
        wallet.send(approval)
    shop.source.rpc("evm_setAutomine", False)
    try:
        sent = shop.source.rpc("eth_sendRawTransaction", _signed(shop, wallet, bridging))
        assert shop.announce(payment, sent).wallet == wallet.address
        shop.source.rpc("evm_increaseTime", HOUR + 60)
        shop.source.rpc("evm_mine")
    finally:
        shop.source.rpc("evm_setAutomine", True)
    shop.pass_time(0)
    shop.track()
    assert shop.state(payment) == (AnnouncedStatus.FAILED, Stage.SOURCE)
    assert shop.bridge.deposits_of("base", sent) == []
    assert shop.is_free(payment)


def test_done_without_our_event_is_no_payment_and_frees_nothing(shop: Shop, wallet: Wallet) -> None:
    payment = shop.link()
    deposited = shop.pay(payment, wallet)
    for substatus in ("COMPLETED", "PARTIAL", "REFUNDED"):
        shop.router.says[deposited.transaction_hash] = {"status": "DONE", "substatus": substatus}
        shop.track()
        assert shop.state(payment) == (AnnouncedStatus.PENDING, Stage.BRIDGE)
        assert shop.world.load(payment).link.status is LinkStatus.PENDING
        assert not shop.is_free(payment)
    assert shop.failures() == []


@pytest.mark.parametrize("ends_as", ["paid", "refunded"])
def test_refund_in_progress_ends_as_the_chains_end_it(shop: Shop, wallet: Wallet, ends_as: str) -> None:
    payment = shop.link()
    deposited = shop.pay(payment, wallet)
    shop.router.says[deposited.transaction_hash] = {"status": "PENDING", "substatus": "REFUND_IN_PROGRESS"}
    shop.track()
    assert not shop.is_free(payment)
    if ends_as == "paid":
        shop.bridge.fill(deposited)
        shop.track()
        assert shop.state(payment) == (AnnouncedStatus.SETTLED, Stage.DESTINATION)
        return
    shop.pass_time(max(deposited.fill_deadline - _time(shop.destination), 0) + 60)
    shop.bridge.refund(deposited)
    shop.track(15)
    shop.track(15)
    assert shop.state(payment) == (AnnouncedStatus.REFUNDED, Stage.RETURNED)


def test_of_two_payers_at_once_one_is_counted_and_the_other_is_refunded_by_the_payee(shop: Shop) -> None:
    payment = shop.link()
    mine, theirs = Wallet(shop), Wallet(shop)
    sent = []
    quoted = [(each, shop.quote(payment, each)) for each in (mine, theirs)]  # both before either announces
    for each, (*approvals, bridging) in quoted:
        for approval in approvals:
            each.send(approval)
        sent.append(each.send(bridging))
    for tx_hash in sent:
        shop.announce(payment, tx_hash)
    for tx_hash in sent:
        (deposited,) = shop.bridge.deposits_of("base", tx_hash)
        shop.bridge.fill(deposited)
        shop.scan()
    shop.track()
    assert {each.status for each in shop.announcements(payment)} == {AnnouncedStatus.SETTLED}
    surplus = {each.wallet: bridge_transfer_of(each).is_surplus for each in shop.announcements(payment)}
    assert surplus == {mine.address: False, theirs.address: True}
    listing = transfers.list_of_link(shop.world.services, payment.link.token, Viewer(shop.world.account_id, None))
    offers = [each.refund for each in listing.transfers if each.refund is not None]
    assert [(offer.payer, offer.amount) for offer in offers] == [(theirs.address, payment.requests[0].amount)]
    assert shop.failures() == []


@pytest.mark.parametrize("attacker_first", [True, False])
def test_two_deposits_that_are_filled_in_one_transaction_are_each_refunded_to_their_own_depositor(
    shop: Shop, attacker_first: bool
) -> None:
    """A relayer fills the deposit of a victim and one of his own, for the same amount, by one call of Multicall3."""
    payment = shop.link()
    victim, attacker = Wallet(shop), Wallet(shop)
    quoted = [(each, shop.quote(payment, each)) for each in (victim, attacker)]
    deposits = {}
    for each, (*approvals, bridging) in quoted:
        for approval in approvals:
            each.send(approval)
        tx_hash = each.send(bridging)
        shop.announce(payment, tx_hash)
        (deposits[each.address],) = shop.bridge.deposits_of("base", tx_hash)
    order = [attacker, victim] if attacker_first else [victim, attacker]
    chain, sender = shop.destination, address_of(MULTICALL3, "arbitrum-one")
    calls = list[tuple[str, bool, bytes]]()
    for each in order:
        deposited = deposits[each.address]
        chain.fund_token(sender, deposited.output_token, 2 * deposited.output_amount)
        calls += [(to, False, bytes.fromhex(data[2:])) for to, data in shop.bridge.fill_calls(deposited)]
    aggregated = "(address,bool,bytes)[]"
    receipt = send_good_call(chain, RELAYER, sender, call_data(f"aggregate3({aggregated})", [aggregated], [calls]))
    shop.scan()
    shop.track()
    assert {each.status for each in shop.announcements(payment)} == {AnnouncedStatus.SETTLED}
    made = payment_store.payments(shop.world.services.store, payment.requests[0].request_id)
    assert {each.tx_hash for each in made} == {receipt["transactionHash"]}
    owners = {each.payer: each.origin and each.origin.refund_to for each in made}
    assert owners == {each.address: each.address for each in order}
    listing = transfers.list_of_link(shop.world.services, payment.link.token, Viewer(shop.world.account_id, None))
    offers = [each.refund.payer for each in listing.transfers if each.refund is not None]
    assert offers == [order[1].address]
