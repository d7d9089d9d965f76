"""Permit2 and USDC in memory on the source chain of a Bridge, with a payer who signs and a service that executes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from eth_abi import decode

from chalicelib.base.addresses import evm_address, hex_address, same_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata.bridges.across import decode_deposit
from chalicelib.chains.calldata.reverts import NOT_THE_OWNERS
from chalicelib.chains.calldata.transaction import SentTransaction
from chalicelib.chains.catalogue.contracts import ACROSS_SPOKE_POOL, PERMIT2, address_of
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.crosschain.service.payment_intents import flows as payment_intents
from chalicelib.crosschain.service.payment_intents import running as intent_running
from chalicelib.crosschain.service.payment_intents import store as intent_store
from chalicelib.crosschain.service.payment_intents.flows import Offer, SentSignature
from chalicelib.crosschain.service.payment_intents.records import PaymentIntent
from chalicelib.crosschain.service.sources.rules import Payer
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.requests import store as request_store
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.relayer.tracking import track
from chalicelib.webhooks.records import Event
from tests.fakes.bridge import SOURCE, SOURCE_USDC, Bridge, Sent
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.crash import Guarded
from tests.fakes.mempool import Raw
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import PlainSigningKeys

PAYER = evm_address("0x" + "c0ffee" * 6 + "c0ff")
EXECUTOR, POOL, CONTRACT = PlainSigningKeys.address, address_of(ACROSS_SPOKE_POOL, SOURCE), address_of(PERMIT2, SOURCE)
RIGHT, WRONG = bytes(range(64)) + b"\x1b", bytes(range(1, 65)) + b"\x1b"
ENOUGH, HAD = 10**30, 10**9
_TAKE = ["((address,uint256)[],uint256,uint256)", "(address,uint256)[]", "address", "bytes32", "string", "bytes"]


class Permit2:
    """The contracts on a chain in memory: USDC, of which PAYER has HAD, Permit2 and the bridge's pool."""

    def __init__(self, chain: Any, clock: Callable[[], datetime]) -> None:
        self.chain, self.clock = chain, clock
        self.balances: Counter[str] = Counter({PAYER.lower(): HAD})
        self.allowances: Counter[tuple[str, str]] = Counter({(PAYER.lower(), CONTRACT.lower()): ENOUGH})
        self.nonces: set[int] = set()
        self.right = {RIGHT}
        """The signatures that Permit2 accepts."""
        self.fails: set[str] = set()
        """Which calls revert when they are executed, though they succeed before: take, approve, deposit, transfer."""
        self.refuses: dict[str, str] = {}
        """Which calls revert from now on, and why."""
        self.keeps_allowance = False
        """Whether the token refuses to change an allowance that is not zero."""
        self.made: Counter[str] = Counter()
        self.sent: list[Sent] = []
        self.chain.mempool.executes = self._execute
        self.chain.mempool.dry_run = lambda to, data: self._refusal(to, data)
        self.chain.mempool.balance_of = lambda account, token: self.balance(account)
        self.chain.read_wallet = self._read_wallet
        self.chain.read_permit_answers = lambda token, owner: (None,) * 4

    def balance(self, address: str) -> int:
        return self.balances[address.lower()]

    def _read_wallet(
        self, wallet: str, tokens: Any, spender: str, *, batch_fee: bool = False, code_of: str | None = None
    ) -> WalletReading:
        if self.chain.is_down:
            raise ChainUnavailable("the node does not answer")
        balance = BaseUnits(self.balances[wallet.lower()])
        allowed = BaseUnits(self.allowances[wallet.lower(), spender.lower()])
        readings = {token: TokenReading(balance, allowed) for token in tokens}
        return WalletReading(BaseUnits(10**18), readings, BaseUnits(10**9), 0, code_of in self.chain.contracts)

    def _refusal(self, to: str, data: str) -> str | None:
        name = _name(to, data)
        if name in self.refuses:
            return self.refuses[name]
        raw = bytes.fromhex(data[10:])
        executor = EXECUTOR.lower()
        if name == "take":
            (_, nonce, deadline), transfers, owner, _, _, signature = decode(_TAKE, raw)
            amount = sum(each for _, each in transfers)
            if self.clock().timestamp() > deadline:
                return "the signature of the payment has expired"
            if nonce in self.nonces:
                return "the nonce of the payment was used before, or withdrawn"
            if signature not in self.right:
                return NOT_THE_OWNERS
            if amount > min(self.balances[owner], self.allowances[owner, CONTRACT.lower()]):
                return "TRANSFER_FROM_FAILED"
        elif name == "approve":
            spender, amount = decode(["address", "uint256"], raw)
            if self.keeps_allowance and amount and self.allowances[executor, spender]:
                return "reverted without a reason"
        elif name == "transfer":
            if decode(["address", "uint256"], raw)[1] > self.balances[executor]:
                return "the balance of the token is too small"
        elif name == "deposit":
            deposit = decode_deposit(data)
            assert deposit is not None
            if deposit.input_amount > min(self.balances[executor], self.allowances[executor, POOL.lower()]):
                return "the token's allowance is too small"
            if self.clock().timestamp() > deposit.quote_timestamp + 3600:
                return "the quote is too old"
        return None

    def _execute(self, raw: Raw) -> str | None:
        assert same_address(raw.sender, EXECUTOR)
        name = _name(raw.to, raw.data)
        if (reason := self._refusal(raw.to, raw.data)) is not None:
            return reason
        if name in self.fails:
            return "reverted without a reason"
        self.made[name] += 1
        data, executor = bytes.fromhex(raw.data[10:]), EXECUTOR.lower()
        if name == "take":
            (_, nonce, _), transfers, owner, *_ = decode(_TAKE, data)
            self.nonces.add(nonce)
            self.move(owner, executor, sum(each for _, each in transfers))
        elif name == "approve":
            spender, amount = decode(["address", "uint256"], data)
            self.allowances[executor, spender] = amount
        elif name == "permit":
            self.allowances[PAYER.lower(), CONTRACT.lower()] = ENOUGH
        elif name == "transfer":
            self.move(executor, *decode(["address", "uint256"], data))
        else:
            self._deposit(raw)
        return None

    def _deposit(self, raw: Raw) -> None:
        deposit = decode_deposit(raw.data)
        assert deposit is not None
        self.allowances[EXECUTOR.lower(), POOL.lower()] -= deposit.input_amount
        self.move(EXECUTOR.lower(), POOL.lower(), deposit.input_amount)
        sent = Sent(raw.tx_hash, deposit, 100 + len(self.sent))
        self.sent.append(sent)
        block = self.chain.blocks[-1]
        self.chain.transactions[raw.tx_hash] = SentTransaction(
            sender=EXECUTOR,
            to=POOL,
            data=raw.data,
            nonce=raw.nonce,
            block=block.number,
            block_hash=block.hash,
            success=True,
            deposits=(sent.logged,),
        )

    def move(self, sender: str, receiver: str, amount: int) -> None:
        assert self.balances[sender.lower()] >= amount, "tokens of nobody"
        self.balances[sender.lower()] -= amount
        self.balances[receiver.lower()] += amount
        self.chain.mempool.moved(SOURCE_USDC, sender, receiver, amount)


class PaymentIntents(Permit2):
    """A request of 12.50 USDC on arbitrum-one with a fee of 1 %, which PAYER pays from base by a signature."""

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        self.bridge = Bridge(seed=seed, relayer_keys={SOURCE: "secret"}, **settings)
        self.world = self.bridge.world
        super().__init__(self.bridge.source, self.world.clock)
        self.request = self.new_request()

    @property
    def services(self) -> Any:
        return self.world.services

    @property
    def owner(self) -> Owner:
        return Owner("acct", None, None, uses_payment_intents=True)

    def new_request(self, **changes: Any) -> Request:
        return store_request(self.services, **{"currency": "USDC-arbitrum-one", **changes})

    def stored(self, request_id: str) -> Request:
        """A request by its id, which stands by itself."""
        return request_store.standing_alone(self.services.store, [request_id])[request_id]

    def loaded(self) -> Request:
        return load_request(self.services, self.request)

    def offer(self, request: Request | None = None) -> Offer:
        found = load_request(self.services, request or self.request)
        position = direct(Owed(found, BaseUnits(found.amount - found.paid), Fee("1", FEE_ADDRESS)))
        source = token_with_id("USDC-base")
        assert source is not None
        return payment_intents.offer(self.services, self.owner, position, source, Payer(PAYER, PAYER))

    def sign(self, intent: PaymentIntent, signature: bytes = RIGHT) -> SentSignature:
        return SentSignature("0x" + signature.hex(), str(intent.permit.nonce), str(intent.permit.deadline))

    def accept(self, intent: PaymentIntent, signature: bytes = RIGHT) -> PaymentIntent:
        return payment_intents.accept(self.services, self.owner, intent.intent_id, self.sign(intent, signature), None)

    def begun(self) -> PaymentIntent:
        """One that is accepted."""
        return self.accept(self.offer().intent)

    def load(self, intent: PaymentIntent) -> PaymentIntent:
        found = intent_store.payment_intent(self.services.store, intent.intent_id)
        assert found is not None
        return found

    def run(self, services: Any = None) -> None:
        intent_running.run_due(services or self.services)

    def minute(self, services: Any = None) -> None:
        """What the schedules do in a minute, and what the chains and the relayer do meanwhile."""
        self.run(services)
        self.bridge.tick(1)
        track(self.services, SOURCE)

    def run_until_bridged(self, intent: PaymentIntent, minutes: int = 12) -> Sent:
        for _ in range(minutes):
            if self.sent:
                return self.sent[-1]
            self.minute()
        raise AssertionError(self.load(intent))

    def settle(self, minutes: int = 5) -> None:
        for _ in range(minutes):
            self.minute()

    def fill(self, sent: Sent, fails: bool = False, fee: int = 125_000) -> None:
        self.bridge.fill(sent, self.loaded(), fails, fee)

    def events(self, kind: str) -> list[Event]:
        return [each for each in self.services.store.all(Event) if each.kind == kind]

    def guarded(self, wire: Any) -> Any:
        """The services of a process whose calls to the store and the source's node are guarded by a tripwire."""
        stored = ("get", "get_many", "query", "due", "write", "put_many")
        chain = Guarded(self.chain, ("read_account", "run_each", "send_raw", "read_wallet", "read_funds", "token_balances"), wire)
        chains = self.services.chains

        def of(name: str) -> Any:
            return chain if name == SOURCE else chains.of(name)

        served = SimpleNamespace(of=of, evm=of, networks=chains.networks)
        return replace(self.services, store=Guarded(self.services.store, stored, wire), chains=served)


def check_conserved(payment_intents: PaymentIntents) -> None:
    """What was taken is in the bridge or back, each at most once, and nothing is left with the service."""
    assert payment_intents.made["take"] <= 1
    assert payment_intents.made["deposit"] + payment_intents.made["transfer"] == payment_intents.made["take"]
    assert payment_intents.balance(EXECUTOR) == 0
    assert payment_intents.balance(PAYER) + payment_intents.balance(POOL) == HAD


def _name(to: str, data: str) -> str:
    by_contract = {hex_address(CONTRACT): "take", hex_address(POOL): "deposit"}
    if hex_address(to) != hex_address(SOURCE_USDC):
        return by_contract[hex_address(to)]
    return {"0x095ea7b3": "approve", "0xa9059cbb": "transfer", "0xd505accf": "permit"}[data[:10]]
