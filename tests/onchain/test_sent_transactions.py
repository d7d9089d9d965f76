"""A link waits for a transaction that a real node has, and no longer than that one can pay it."""

from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account

from chalicelib.base.errors import BadRequest
from chalicelib.chains.nodes.chains import Chains
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkStatus, PayableLink, Proof
from infra.local.chain import Chain
from tests.fakes.announcements import is_free
from tests.fakes.world import World, in_process_aws
from tests.onchain.conftest import Nodes
from tests.onchain.payer import pay_body

KEY = "0x" + "d4" * 32
PAYER = Account.from_key(KEY).address


class Shop:
    """A deployment on a chain that mines only when it is told to."""

    def __init__(self, world: World, chain: Chain) -> None:
        self.world, self.chain = world, chain

    def link(self) -> PayableLink:
        return self.world.create_link(currency="ETH-sepolia-sepolia", amount="0.5", fee_percentage=None, fee_address=None)

    def send(self, payable: PayableLink, **changed: Any) -> str:
        """Signs and sends what the API returns, with other fields if a test wants so; returns the hash."""
        (transaction,) = pay_body(self.world, payable, PAYER)["transactions"]
        fields = {
            "chainId": self.chain.chain_id,
            "nonce": int(self.chain.rpc("eth_getTransactionCount", PAYER, "latest"), 16),
            "gas": 200_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
            "to": bytes.fromhex(transaction["to"][2:]),
            "data": transaction["data"],
            "value": int(str(transaction["value"]), 0),
            **changed,
        }
        signed = Account.sign_transaction(fields, KEY).raw_transaction
        sent: str = self.chain.rpc("eth_sendRawTransaction", "0x" + bytes(signed).hex())
        return sent

    def announce(self, payable: PayableLink, tx_hash: str) -> AnnouncedTransaction:
        draft = Announcement(tx_hash, None, None, "SEPOLIA", "ETH-sepolia", None)
        return announcements.record(self.world.services, payable.link.token, Viewer(self.world.account_id, None), draft)[1]

    def look(self, payable: PayableLink, seconds: float = 301) -> AnnouncedTransaction:
        self.world.advance(seconds)
        tracking.track_due(self.world.services)
        announcements = self.world.load(payable).announcements
        assert announcements is not None
        return announcements.first

    def scan(self) -> None:
        self.chain.mine(3)
        self.world.tick()

    def is_free(self, payable: PayableLink) -> bool:
        return is_free(self.world, payable)


@pytest.fixture(scope="module")
def shop(running_chain: Chain) -> Iterator[Shop]:
    before = running_chain.snapshot()
    running_chain.fund(PAYER, 10**6)
    running_chain.rpc("evm_setAutomine", False)
    with in_process_aws() as client:
        made = Shop(World(client, chains=Chains(Nodes({"sepolia": running_chain.url}))), running_chain)
        made.scan()
        yield made
    running_chain.rpc("evm_setAutomine", True)
    running_chain.revert(before)


def test_a_transaction_in_the_mempool_locks_the_link_until_it_has_paid(shop: Shop) -> None:
    payment = shop.link()
    announced = shop.announce(payment, shop.send(payment))
    assert (announced.proof, announced.wallet) == (Proof.SENT, PAYER)
    assert shop.look(payment).status is AnnouncedStatus.PENDING
    shop.chain.mine(1)
    assert shop.look(payment).status is AnnouncedStatus.PENDING
    assert not shop.is_free(payment)
    shop.scan()
    assert shop.world.load(payment).link.status is LinkStatus.COMPLETED
    assert shop.look(payment).status is AnnouncedStatus.SETTLED


def test_one_that_reverts_frees_the_link_once_it_is_confirmed(shop: Shop) -> None:
    payment = shop.link()
    shop.announce(payment, shop.send(payment, gas=25_000))
    shop.chain.mine(1)
    assert shop.look(payment).status is AnnouncedStatus.PENDING
    shop.scan()
    assert shop.look(payment).status is AnnouncedStatus.FAILED
    assert shop.is_free(payment)


def test_one_whose_nonce_another_transaction_takes_frees_the_link(shop: Shop) -> None:
    payment = shop.link()
    shop.announce(payment, shop.send(payment))
    nothing = {"to": bytes.fromhex(PAYER[2:]), "data": "0x", "value": 0}
    shop.send(shop.link(), **nothing, maxFeePerGas=3 * 10**11, maxPriorityFeePerGas=10**10)
    shop.scan()
    assert shop.look(payment).status is AnnouncedStatus.REPLACED
    assert shop.is_free(payment)


def test_one_that_the_node_drops_frees_the_link(shop: Shop) -> None:
    payment = shop.link()
    tx_hash = shop.send(payment)
    shop.announce(payment, tx_hash)
    shop.chain.rpc("anvil_dropTransaction", tx_hash)
    assert shop.look(payment).status is AnnouncedStatus.PENDING
    shop.chain.rpc("evm_increaseTime", 10**7)
    shop.scan()
    assert shop.look(payment).status is AnnouncedStatus.LAPSED
    assert shop.is_free(payment)


def test_the_payment_of_another_link_and_a_plain_transfer_are_refused(shop: Shop) -> None:
    payment, other = shop.link(), shop.link()
    paid = shop.send(other)
    with pytest.raises(BadRequest, match="does not pay this link"):
        shop.announce(payment, paid)
    shop.chain.mine(1)
    plain = shop.send(payment, to=bytes.fromhex(PAYER[2:]), data="0x", value=0)
    with pytest.raises(BadRequest, match="does not pay this link"):
        shop.announce(payment, plain)
    shop.chain.mine(1)
