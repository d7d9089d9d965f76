"""A link waits for the transaction of a real Safe, whose own events say what became of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata.wallets import safe
from chalicelib.chains.calldata.wallets.safe import SafeTerms
from chalicelib.chains.nodes.chains import Chains
from chalicelib.chains.nodes.safes.records import Proposal
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedStatus, AnnouncedTransaction, LinkStatus, PayableLink, Proof
from chalicelib.platform.access.modes import Mode
from infra.local.chain import Chain
from infra.local.safe import Safe, SafeTransaction
from tests.fakes.announcements import is_free
from tests.fakes.chain import SENDER
from tests.fakes.world import PAYEE, World, in_process_aws
from tests.onchain.conftest import SAFE_OWNERS, Nodes
from tests.onchain.payer import FUSDC, pay_body


@dataclass
class Merchant:
    """One deployment for the module, on a chain where one Safe executes what it is told."""

    world: World
    chain: Chain
    safe: Safe

    def link(self) -> PayableLink:
        return self.world.create_link(fee_percentage=None, fee_address=None)

    def payment_of(self, payable: PayableLink, safe_tx_gas: int = 0) -> SafeTransaction:
        """What the API returns for a Safe, as its next transaction."""
        body = pay_body(self.world, payable, self.safe.address, is_safe=True)
        return self.safe.transaction(body["safeTransaction"], safe_tx_gas=safe_tx_gas)

    def announce(self, payable: PayableLink, transaction: SafeTransaction, **changes: Any) -> None:
        """The owners' service knows the transaction, and the payer announces it."""
        safe_tx_hash = self.safe.hash(transaction)
        proposed = safe.SafeTransaction(
            transaction.to, transaction.value, transaction.data, transaction.operation
        )
        terms = SafeTerms(transaction.nonce, transaction.safe_tx_gas)
        self.world.safes.known["sepolia", safe_tx_hash] = Proposal(self.safe.address, proposed, terms)
        self.claim(payable, safe_tx_hash, **{"payer_address": self.safe.address, **changes})
        assert not self.is_free(payable)

    def claim(self, payable: PayableLink, safe_tx_hash: str, **changes: Any) -> AnnouncedTransaction:
        """Somebody announces a hash."""
        fields = {"deadline": None, "viewer": Viewer(self.world.account_id, None), **changes}
        viewer = fields.pop("viewer")
        draft = Announcement(None, safe_tx_hash, chain="SEPOLIA", token="USDC", **fields)
        return announcements.record(self.world.services, payable.link.token, viewer, draft)[1]

    def scan(self) -> None:
        self.chain.mine(2)
        self.world.tick()

    def look(self, payable: PayableLink) -> AnnouncedTransaction:
        """A few minutes later the schedule fires."""
        self.world.advance(301)
        tracking.track_due(self.world.services)
        announcements = self.world.load(payable).announcements
        assert announcements is not None
        return announcements.first

    def is_free(self, payable: PayableLink) -> bool:
        return is_free(self.world, payable)


@pytest.fixture(scope="module")
def merchant(running_chain: Chain) -> Iterator[Merchant]:
    before = running_chain.snapshot()
    safe = Safe.deploy(running_chain, SAFE_OWNERS)
    running_chain.fund(safe.address, 10**6)
    with in_process_aws() as client:
        world = World(client, chains=Chains(Nodes({"sepolia": running_chain.url})))
        made = Merchant(world, running_chain, safe)
        made.scan()
        yield made
    running_chain.revert(before)


def test_what_the_safe_pays_completes_the_link_and_settles_the_announced_transaction(merchant: Merchant) -> None:
    payment = merchant.link()
    transaction = merchant.payment_of(payment)
    merchant.announce(payment, transaction)
    before = merchant.chain.token_balance(FUSDC, PAYEE)
    receipt = merchant.safe.execute(transaction)
    assert merchant.chain.token_balance(FUSDC, PAYEE) - before == 12_500_000
    assert merchant.look(payment).status is AnnouncedStatus.PENDING, "its block is not confirmed"
    merchant.scan()
    assert merchant.world.load(payment).link.status is LinkStatus.COMPLETED
    announced = merchant.look(payment)
    assert (announced.status, announced.transaction_hash) == (AnnouncedStatus.SETTLED, receipt["transactionHash"])
    assert announced.executed_block == int(receipt["blockNumber"], 16)


def test_a_call_that_fails_within_a_transaction_that_succeeds_frees_the_link(merchant: Merchant) -> None:
    payment = merchant.link()
    broke = merchant.safe.transaction({"to": FUSDC, "data": "0x" + "ff" * 4}, safe_tx_gas=100_000)
    merchant.announce(payment, broke)
    assert merchant.safe.execute(broke)["status"] == "0x1"
    merchant.scan()
    assert merchant.look(payment).status is AnnouncedStatus.FAILED
    assert merchant.is_free(payment)


def test_a_transaction_that_succeeds_and_is_no_payment_frees_the_link(merchant: Merchant) -> None:
    payment = merchant.link()
    nothing = merchant.safe.rejection(merchant.safe.nonce())
    merchant.announce(payment, nothing)
    merchant.safe.execute(nothing)
    merchant.scan()
    assert merchant.look(payment).status is AnnouncedStatus.FAILED
    assert merchant.is_free(payment)


def test_another_transaction_with_its_nonce_frees_the_link(merchant: Merchant) -> None:
    payment = merchant.link()
    transaction = merchant.payment_of(payment)
    merchant.announce(payment, transaction)
    seen = merchant.look(payment)
    assert (seen.status, seen.nonce) == (AnnouncedStatus.PENDING, transaction.nonce)
    merchant.safe.execute(merchant.safe.rejection(transaction.nonce))
    assert merchant.look(payment).status is AnnouncedStatus.PENDING, "a fork may still undo it"
    merchant.scan()
    assert merchant.look(payment).status is AnnouncedStatus.REPLACED
    assert merchant.is_free(payment)


def test_without_the_owners_service_the_events_of_the_safe_are_enough(merchant: Merchant) -> None:
    payment = merchant.link()
    transaction = merchant.payment_of(payment)
    merchant.world.safes.is_down = True
    try:
        merchant.announce(payment, transaction)
        merchant.safe.execute(transaction)
        merchant.scan()
        assert merchant.look(payment).status is AnnouncedStatus.SETTLED
    finally:
        merchant.world.safes.is_down = False


def test_a_deadline_that_the_chain_has_passed_frees_the_link(merchant: Merchant) -> None:
    head = merchant.chain.rpc("eth_getBlockByNumber", "latest", False)
    merchant.world.now = datetime.fromtimestamp(int(head["timestamp"], 16), UTC)
    payment = merchant.link()
    deadline = merchant.world.now + timedelta(minutes=10)
    merchant.announce(payment, merchant.payment_of(payment), deadline=deadline)
    merchant.scan()
    assert merchant.look(payment).status is AnnouncedStatus.PENDING
    assert merchant.look(payment).status is AnnouncedStatus.PENDING, "no block after the deadline is confirmed"
    merchant.chain.rpc("evm_increaseTime", 601)
    merchant.scan()
    assert merchant.look(payment).status is AnnouncedStatus.LAPSED
    assert merchant.is_free(payment)


FAILURE = "23428b18acfb3ea64b08dc0c1d296ea9c09702c09083ca5272e64d115b687d23"
EMITTING = "0x36600414603157" + "600035" + "7f" + FAILURE + "60206000a200" + "5b60206000f3"
"""A contract that answers nonce(), with 0, and for any longer calldata emits ExecutionFailure of its first word."""


def test_a_contract_that_emits_the_failure_of_the_safes_transaction_does_not_free_the_link(merchant: Merchant) -> None:
    hostile, payment = "0x00000000000000000000000000000000000e7117", merchant.link()
    merchant.chain.rpc("anvil_setCode", hostile, EMITTING)
    merchant.chain.fund_native(SENDER, 10**18)
    transaction = merchant.payment_of(payment)
    safe_tx_hash = merchant.safe.hash(transaction)
    stranger = Viewer("", None, reads_any_link=True, mode=Mode.CLIENT_ID)
    claim = merchant.claim(payment, safe_tx_hash, payer_address=evm_address(hostile), viewer=stranger)
    mined = merchant.chain.receipt(merchant.chain.send_as(SENDER, {"to": hostile, "data": safe_tx_hash}))
    assert mined["logs"][0]["topics"] == ["0x" + FAILURE, safe_tx_hash]
    merchant.scan()
    assert merchant.look(payment).status is AnnouncedStatus.FAILED
    merchant.world.safes.is_down = True
    try:
        announced = merchant.claim(payment, safe_tx_hash, payer_address=merchant.safe.address)
        assert (announced.announced_id != claim.announced_id, announced.proof, announced.nonce) == (
            True, Proof.COMPUTED, transaction.nonce,
        )
        merchant.chain.receipt(merchant.chain.send_as(SENDER, {"to": hostile, "data": safe_tx_hash}))
        merchant.scan()
        merchant.look(payment)
        assert not merchant.is_free(payment)
    finally:
        merchant.world.safes.is_down = False
    merchant.safe.execute(transaction)
    merchant.scan()
    assert merchant.world.load(payment).link.status is LinkStatus.COMPLETED
    assert merchant.look(payment).status is AnnouncedStatus.SETTLED
