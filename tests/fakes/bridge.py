"""Across in memory over two chains of a world: deposits on base pay links in USDC on arbitrum-one."""

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from chalicelib.base.addresses import hex_address
from chalicelib.base.keccak import keccak256
from chalicelib.chains.calldata import fee_proxy
from chalicelib.chains.calldata.abi import address_word, uint_word
from chalicelib.chains.calldata.bridges.across import Deposit, encode_deposit
from chalicelib.chains.calldata.transaction import LoggedDeposit, SentTransaction
from chalicelib.chains.catalogue.bridges import source_token
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, LIFI_RECEIVER, address_of
from chalicelib.chains.catalogue.networks import Network, find_network
from chalicelib.chains.nodes.bridges.deposits import FILLED_TOPIC, relay_hash
from chalicelib.chains.nodes.history.logs import TRANSFER_TOPIC
from chalicelib.checkout.announcements import flows as announcements
from chalicelib.payments.announcements import tracking
from chalicelib.payments.announcements.admission import Announcement
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.links.records import AnnouncedTransaction, PayableLink
from chalicelib.payments.requests.records import Request
from chalicelib.platform.outbound.lifi import QuoteCall
from tests.fakes.chain import FEE_ADDRESS, SENDER, FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.router import deposit_of
from tests.fakes.world import World

SOURCE, DESTINATION = "base", "arbitrum-one"
SOURCE_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
DESTINATION_USDC = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
RELAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
EXECUTOR = "0x2dfaDAB8266483beD9Fd9A292Ce56596a2D1378D"
"""The contract that makes the calls of LI.FI's receiver."""
CONFIRMATIONS = 3
MINUTE = 60


@dataclass
class Sent:
    """A deposit that a payer sent, by its transaction's hash; `deposit_id` once it is in a block."""

    tx_hash: str
    deposit: Deposit
    deposit_id: int = 0
    network: str = SOURCE

    @property
    def logged(self) -> LoggedDeposit:
        return LoggedDeposit(self.deposit, self.deposit_id)


class Bridge:
    """The world and its two chains, whose blocks have the world's time. What is not mined is not deep enough."""

    def __init__(self, client: Any = None, seed: int = 0, others: tuple[str, ...] = (), **settings: Any) -> None:
        """Without a client the tables are in memory, which is faster. `others` are more networks to pay from."""
        self.sources = {name: FakeChain(name, seed) for name in (SOURCE, *others)}
        self.source, self.destination = self.sources[SOURCE], FakeChain(DESTINATION, seed)
        self._all = [*self.sources.values(), self.destination]
        confirmations = {chain.network: CONFIRMATIONS for chain in self._all}
        chains = FakeChains(*self._all)
        self.world = World(client or object(), chains, seed, confirmations=confirmations, **settings)
        if client is None:
            self.world.services = replace(self.world.services, store=MemoryStore())
        self.world.chain = self.destination
        for chain in self._all:
            chain.clock = self.world.clock
            chain.genesis = self.world.now - timedelta(seconds=len(chain.blocks))
        self._ids = 0
        self.tick()

    def link(self, **changes: Any) -> PayableLink:
        return self.world.create_link(currency="USDC-arbitrum-one", **changes)

    def tick(self, minutes: float = 0) -> None:
        """Lets time pass, both chains grow, and detection and the recorder run."""
        self.world.advance(minutes * MINUTE)
        for chain in self._all:
            chain.mine(CONFIRMATIONS)
        self.world.tick()

    def track(self, minutes: float = 1) -> None:
        """What the schedule does, some time later."""
        self.tick(minutes)
        tracking.track_due(self.world.services)

    def deposit_for(
        self,
        request: Request,
        payer: str = SENDER,
        amount: int | None = None,
        fee: int = 125_000,
        source: str = SOURCE,
    ) -> Deposit:
        """The deposit of a true quote that pays a request now."""
        paid = request.amount if amount is None else amount
        call = fee_proxy.pay_erc20(
            DESTINATION,
            token=DESTINATION_USDC,
            payee=request.payee,
            amount=paid,
            reference=bytes.fromhex(request.payment_reference[2:]),
            fee_amount=fee,
            fee_address="0xC5fdf4076b8F3A5357c5E395ab970B5B54098Fef" if fee else None,
        )
        chain = _network(source)
        token = source_token(chain.label, "USDC")
        assert token is not None
        wanted = QuoteCall(
            chain.chain_id,
            token.address,
            payer,
            42161,
            DESTINATION_USDC,
            paid + fee,
            call.to,
            call.data,
            200_000,
            payer,
        )
        return deposit_of(wanted, int(self.world.now.timestamp()))

    def send(
        self, payable: PayableLink, payer: str = SENDER, nonce: int = 0, source: str = SOURCE, **changes: Any
    ) -> Sent:
        """A payer sends the deposit, which is in no block yet."""
        deposit = replace(self.deposit_for(payable.requests[0], payer, source=source), **changes)
        return self.send_deposit(deposit, payer, nonce, source)

    def send_deposit(self, deposit: Deposit, payer: str = SENDER, nonce: int = 0, source: str = SOURCE) -> Sent:
        data = encode_deposit(deposit)
        tx_hash = "0x" + hashlib.sha256(f"{payer}/{nonce}/{data}".encode()).hexdigest()
        pool = address_of(ACROSS_SPOKE_POOL, source)
        self.sources[source].transactions[tx_hash] = SentTransaction(payer, pool, data, nonce)
        return Sent(tx_hash, deposit, network=source)

    def include(self, sent: Sent, success: bool = True) -> None:
        """Mines the transaction on the source chain; a success deposits."""
        source = self.sources[sent.network]
        source.include(sent.tx_hash, success)
        if success:
            self._ids += 1
            sent.deposit_id = self._ids
            known = source.transactions[sent.tx_hash]
            source.transactions[sent.tx_hash] = replace(known, deposits=(sent.logged,))
        source.counts[source.transactions[sent.tx_hash].sender] = 1

    def fill(
        self, sent: Sent, request: Request, fails: bool = False, fee: int = 125_000, together: bool = False
    ) -> str:
        """A relayer fills the deposit: the call pays the request, or fails and the fallback gets the tokens.

        With `together` it is in the transaction of the newest block.
        """
        chain, deposit = self.destination, sent.deposit
        if not together:
            chain.mine()
        self._log(chain, address_of(ACROSS_SPOKE_POOL, DESTINATION), self._filled(sent))
        self._log(chain, DESTINATION_USDC, transferred(RELAYER, deposit.recipient, deposit.output_amount))
        if fails:
            self._log(chain, DESTINATION_USDC, transferred(deposit.recipient, deposit.depositor, deposit.output_amount))
        else:
            amount, caller = deposit.output_amount - fee, deposit.recipient
            if caller == address_of(LIFI_RECEIVER, DESTINATION):
                caller = EXECUTOR
                self._log(chain, DESTINATION_USDC, transferred(deposit.recipient, caller, deposit.output_amount))
            self._log(chain, DESTINATION_USDC, transferred(caller, request.payee, amount))
            if fee:
                self._log(chain, DESTINATION_USDC, transferred(caller, FEE_ADDRESS, fee))
            chain.pay_too(request, amount, fee)
        chain.filled[relay_hash(sent.logged, _network(sent.network).chain_id)] = len(chain.blocks) - 1
        return str(chain.blocks[-1].logs[0]["transactionHash"])

    def forge(self, sent: Sent, request: Request | None = None, **changes: Any) -> None:
        """Somebody fills a deposit that was never made, with the number of a true one and their own money.

        With a request they pay one cent of it in the same transaction.
        """
        self.destination.mine()
        forged = replace(sent, deposit=replace(sent.deposit, **changes))
        self._log(self.destination, address_of(ACROSS_SPOKE_POOL, DESTINATION), self._filled(forged))
        if request is not None:
            self.destination.pay_too(request, 10_000, 0)

    def pay_beside(self, deposit: Deposit, request: Request) -> None:
        """Somebody brings their own tokens to the recipient of a deposit, which pays the request with them."""
        chain = self.destination
        self._log(chain, DESTINATION_USDC, transferred(RELAYER, deposit.recipient, request.amount))
        self._log(chain, DESTINATION_USDC, transferred(deposit.recipient, request.payee, request.amount))
        chain.pay_too(request)

    def refund(self, sent: Sent) -> str:
        """The bridge returns the deposit on the source chain."""
        pool = address_of(ACROSS_SPOKE_POOL, SOURCE)
        self.source.mine()
        transfer = transferred(pool, sent.deposit.depositor, sent.deposit.input_amount)
        return self._log(self.source, sent.deposit.input_token, transfer)

    def announce(
        self, payable: PayableLink, sent: Sent | str, viewer: Viewer | None = None, **changes: Any
    ) -> AnnouncedTransaction:
        tx_hash = sent if isinstance(sent, str) else sent.tx_hash
        source = _network(SOURCE if isinstance(sent, str) else sent.network).label
        draft = replace(Announcement(tx_hash, None, None, source, "USDC", None), **changes)
        viewer = viewer or Viewer(self.world.account_id, None)
        return announcements.record(self.world.services, payable.link.token, viewer, draft)[1]

    def announcements(self, payable: PayableLink) -> tuple[AnnouncedTransaction, ...]:
        record = self.world.load(payable).announcements
        return record.all if record is not None else ()

    def announced(self, payable: PayableLink) -> AnnouncedTransaction:
        (found,) = self.announcements(payable)
        return found

    def _filled(self, sent: Sent) -> tuple[list[str], bytes]:
        deposit, origin = sent.deposit, uint_word(_network(sent.network).chain_id)
        topics = [
            FILLED_TOPIC,
            *("0x" + word.hex() for word in (origin, uint_word(sent.deposit_id), address_word(SENDER))),
        ]
        words = [
            address_word(deposit.input_token),
            address_word(deposit.output_token),
            uint_word(deposit.input_amount),
            uint_word(deposit.output_amount),
            origin,
            uint_word(deposit.fill_deadline),
            uint_word(0),
            bytes(32),
            address_word(deposit.depositor),
            address_word(deposit.recipient),
            keccak256(deposit.message),
            address_word(deposit.recipient),
            keccak256(deposit.message),
            uint_word(deposit.output_amount),
            uint_word(0),
        ]
        return topics, b"".join(words)

    def _log(self, chain: FakeChain, address: str, event: tuple[list[str], bytes]) -> str:
        block = chain.blocks[-1]
        tx_hash = "0x" + hashlib.sha256(f"tx{block.hash}".encode()).hexdigest()
        log = {
            "address": hex_address(address),
            "topics": event[0],
            "data": "0x" + event[1].hex(),
            "transactionHash": tx_hash,
            "logIndex": hex(len(block.logs)),
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
        }
        block.logs.append(log)
        return tx_hash


def transferred(sender: str, receiver: str, amount: int) -> tuple[list[str], bytes]:
    return [TRANSFER_TOPIC, *("0x" + address_word(each).hex() for each in (sender, receiver))], uint_word(amount)


def _network(name: str) -> Network:
    known = find_network(name)
    assert known is not None
    return known
