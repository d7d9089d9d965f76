"""The escrow of commerce payments and a token in memory on the chain of a World, with a merchant and payers."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from eth_abi import decode

from chalicelib.base.addresses import evm_address, hex_address
from chalicelib.base.errors import ChainUnavailable
from chalicelib.base.money import BaseUnits
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.payment_info import INFO_BYTES, PaymentInfo, decode_info, payment_hash
from chalicelib.chains.calldata.transaction import Transaction
from chalicelib.chains.catalogue.escrows import EscrowContracts
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.chains.nodes.escrow import transfers as escrow_transfers
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.commerce.core.records import CommercePayment, OperationKind, PendingOperation
from chalicelib.commerce.service import due_payments as commerce_due_payments
from chalicelib.commerce.service import execution
from chalicelib.commerce.service import flows as commerce
from chalicelib.commerce.service import store as commerce_store
from chalicelib.commerce.service.creation import Draft
from chalicelib.commerce.service.flows import Created
from chalicelib.commerce.service.rules import Asked
from chalicelib.platform.access.callers import ClientSettings, Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.webhooks.records import Event
from tests.fakes.crash import Guarded
from tests.fakes.memory_store import MemoryStore
from tests.fakes.mempool import Raw
from tests.fakes.world import PAYEE, PlainSigningKeys, World

PAYER = evm_address("0x" + "c0ffee" * 6 + "c0ff")
OPERATOR = PlainSigningKeys.address
CONTRACTS = EscrowContracts("sepolia", *(evm_address("0x" + f"{number:02x}" * 20) for number in range(0xE1, 0xE6)))
FEES = evm_address("0x" + "fe" * 20)
CURRENCY, AMOUNT, HAD = "fUSDC-sepolia", 100_000_000, 10**9


@dataclass
class Authorized:
    """What the escrow knows of a payment."""

    info: PaymentInfo
    capturable: int
    refundable: int = 0


class Escrow:
    """The contracts on a chain in memory: the token of CURRENCY, which PAYER has 1,000 of, and the escrow."""

    def __init__(self, chain: Any, clock: Callable[[], datetime]) -> None:
        self.chain, self.clock = chain, clock
        token = token_with_id(CURRENCY)
        assert token is not None
        self.token = token.address
        self.balances: Counter[str] = Counter({PAYER.lower(): HAD})
        self.allowances: Counter[tuple[str, str]] = Counter()
        self.pre_approved: set[str] = set()
        self.payments: dict[str, Authorized] = {}
        self.made: Counter[str] = Counter()
        """How many calls of each kind had an effect."""
        self.fails: set[str] = set()
        """Which calls revert when they are executed, though they succeed before."""
        self.refuses: dict[str, str] = {}
        """Which calls revert from now on, and why."""
        self.approves_from_zero_only = False
        """Whether the token refuses to change an allowance that is not zero, as Tether does."""
        self.chain.escrow = CONTRACTS
        self.chain.mempool.executes = self._execute
        self.chain.mempool.dry_run = self.refusal
        self.chain.mempool.balance_of = lambda account, token: self.balance(account)
        self.chain.read_wallet = self._read_wallet
        self.chain.read_escrow = self._read_escrow
        self.chain.read_able_payers = self._read_able_payers
        self.chain.read_erc3009_domain = lambda info: None

    def balance(self, address: str) -> int:
        return self.balances[address.lower()]

    def refusal(self, to: str, data: str, sender: str = OPERATOR) -> str | None:
        """Why a call reverts on the newest state; None if it does not."""
        name = _name(to, data)
        if name in self.refuses:
            return self.refuses[name]
        if self._contract(to) == "token":
            return self._token_refusal(name, sender.lower(), data)
        return self._escrow_refusal(name, sender, bytes.fromhex(data[10:]))

    def _token_refusal(self, name: str, sender: str, data: str) -> str | None:
        raw = bytes.fromhex(data[10:])
        if name == "transfer" and decode(["address", "uint256"], raw)[1] > self.balances[sender]:
            return "the balance of the token is too small"
        if name == "approve" and self.approves_from_zero_only:
            spender, amount = decode(["address", "uint256"], raw)
            return "approve from zero" if amount and self.allowances[sender, spender] else None
        if name == "transferFrom":
            owner, _, amount = decode(["address", "address", "uint256"], raw)
            if amount > min(self.balances[owner], self.allowances[owner, sender]):
                return "the token's allowance is too small"
        return None

    def _escrow_refusal(self, name: str, sender: str, raw: bytes) -> str | None:
        info, now = decode_info(raw), self.clock().timestamp()
        name_of, words = payment_hash(info, CONTRACTS), _after_info(raw)
        authorized = self.payments.get(name_of)
        if name == "preApprove":
            return None if sender.lower() == info.payer.lower() and now < info.pre_approval_expiry else "InvalidSender"
        if sender.lower() != (info.payer if name == "reclaim" else info.operator).lower():
            return "InvalidSender"
        if name in ("authorize", "charge"):
            payer = info.payer.lower()
            funds = min(self.balances[payer], self.allowances[payer, CONTRACTS.pre_approval.lower()])
            if authorized is not None:
                return "PaymentAlreadyCollected"
            if now >= info.pre_approval_expiry:
                return "AfterPreApprovalExpiry"
            if name_of not in self.pre_approved:
                return "PaymentNotPreApproved"
            return None if words[0] <= min(funds, info.max_amount) else "TokenCollectionFailed"
        if authorized is None:
            return "ZeroAuthorization"
        if name == "capture":
            is_covered = words[0] <= authorized.capturable
            return None if now < info.authorization_expiry and is_covered else "InsufficientAuthorization"
        if name == "refund":
            allowed = self.allowances[info.operator.lower(), CONTRACTS.operator_refund.lower()]
            if now >= info.refund_expiry or words[0] > authorized.refundable:
                return "RefundExceedsCapture"
            return None if words[0] <= min(allowed, self.balances[info.operator.lower()]) else "TokenCollectionFailed"
        if name == "reclaim" and now < info.authorization_expiry:
            return "BeforeAuthorizationExpiry"
        return None if authorized.capturable else "ZeroAuthorization"

    def _execute(self, raw: Raw) -> str | None:
        if raw.data == "0x":
            return None  # another use of the service's key
        if _name(raw.to, raw.data) in self.fails:
            return "reverted without a reason"
        return self._run(raw.sender, raw.to, raw.data, raw.tx_hash)

    def _run(self, sender: str, to: str, data: str, tx_hash: str | None = None) -> str | None:
        if (reason := self.refusal(to, data, sender)) is not None:
            return reason
        name, raw = _name(to, data), bytes.fromhex(data[10:])
        self.made[name] += 1
        if self._contract(to) == "token":
            self._run_token(name, sender.lower(), raw)
        else:
            self._run_escrow(name, raw, tx_hash)
        return None

    def _run_token(self, name: str, sender: str, raw: bytes) -> None:
        if name == "approve":
            spender, amount = decode(["address", "uint256"], raw)
            self.allowances[sender, spender] = amount
        elif name == "transfer":
            self._move(sender, *decode(["address", "uint256"], raw))
        else:
            owner, receiver, amount = decode(["address", "address", "uint256"], raw)
            self.allowances[owner, sender] -= amount
            self._move(owner, receiver, amount)

    def _run_escrow(self, name: str, raw: bytes, tx_hash: str | None) -> None:
        info, escrow = decode_info(raw), CONTRACTS.escrow
        known, words = payment_hash(info, CONTRACTS), _after_info(raw)
        if name == "preApprove":
            self.pre_approved.add(known)
            self._log(CONTRACTS.pre_approval, escrow_transfers.PRE_APPROVED_TOPIC, known, b"", tx_hash)
        elif name in ("authorize", "charge"):
            amount = words[0]
            self.allowances[info.payer.lower(), CONTRACTS.pre_approval.lower()] -= amount
            self._move(info.payer, escrow, amount)
            self.payments[known] = Authorized(info, amount)
            shown = raw[:INFO_BYTES] + _words(amount, words[1])
            if name == "authorize":
                self._log(escrow, escrow_transfers.AUTHORIZED_TOPIC, known, shown, tx_hash)
            else:
                self._pay_out(known, amount, *words[3:5])
                self._log(escrow, escrow_transfers.CHARGED_TOPIC, known, shown + _words(*words[3:5]), tx_hash)
        elif name == "capture":
            self._pay_out(known, *words[:3])
            self._log(escrow, escrow_transfers.CAPTURED_TOPIC, known, _words(*words[:3]), tx_hash)
        elif name == "refund":
            self.allowances[info.operator.lower(), CONTRACTS.operator_refund.lower()] -= words[0]
            self._move(info.operator, info.payer, words[0])
            self.payments[known].refundable -= words[0]
            self._log(escrow, escrow_transfers.REFUNDED_TOPIC, known, _words(words[0], words[1]), tx_hash)
        else:
            topic = escrow_transfers.VOIDED_TOPIC if name == "void" else escrow_transfers.RECLAIMED_TOPIC
            amount, self.payments[known].capturable = self.payments[known].capturable, 0
            self._move(escrow, info.payer, amount)
            self._log(escrow, topic, known, _words(amount), tx_hash)

    def _pay_out(self, known: str, amount: int, fee_bps: int, receiver: int) -> None:
        authorized, fee = self.payments[known], amount * fee_bps // 10_000
        authorized.capturable, authorized.refundable = authorized.capturable - amount, authorized.refundable + amount
        self._move(CONTRACTS.escrow, authorized.info.receiver, amount - fee)
        if fee:
            self._move(CONTRACTS.escrow, f"0x{receiver:040x}", fee)

    def _move(self, sender: str, receiver: str, amount: int) -> None:
        assert self.balances[sender.lower()] >= amount, "tokens of nobody"
        self.balances[sender.lower()] -= amount
        self.balances[receiver.lower()] += amount
        self.chain.mempool.moved(self.token, sender, receiver, amount)

    def _log(self, emitter: str, topic: str, known: str, data: bytes, tx_hash: str | None) -> None:
        block = self.chain.blocks[-1]
        log: Mapping[str, Any] = {
            "address": hex_address(emitter),
            "topics": [topic, known],
            "data": "0x" + data.hex(),
            "transactionHash": tx_hash or "0x" + f"{block.number:x}".rjust(64, "a"),
            "logIndex": hex(len(block.logs)),
            "blockNumber": hex(block.number),
            "blockHash": block.hash,
        }
        block.logs.append(log)

    def _contract(self, to: str) -> str:
        return "token" if hex_address(to) == hex_address(self.token) else "escrow"

    def _read_wallet(
        self, wallet: str, tokens: Any, spender: str, *, batch_fee: bool = False, code_of: str | None = None
    ) -> WalletReading:
        if self.chain.is_down:
            raise ChainUnavailable("the node does not answer")
        authorized = BaseUnits(self.balances[wallet.lower()])
        allowed = BaseUnits(self.allowances[wallet.lower(), spender.lower()])
        readings = {token: TokenReading(authorized, allowed) for token in tokens}
        return WalletReading(BaseUnits(10**18), readings, BaseUnits(10**9), 0, False)

    def _read_able_payers(self, token: str, amount: int, wallets: Mapping[str, str]) -> tuple[str, ...]:
        if self.chain.is_down:
            raise ChainUnavailable("the node does not answer")
        collector = CONTRACTS.pre_approval.lower()
        return tuple(
            wallet
            for wallet, named in wallets.items()
            if min(self.balances[wallet.lower()], self.allowances[wallet.lower(), collector]) >= amount
            and named in self.pre_approved
        )

    def _read_escrow(self, payment_hashes: Any, block: int | None = None) -> tuple[EscrowState, ...]:
        known = [self.payments.get(each) for each in payment_hashes]
        return tuple(
            EscrowState(True, BaseUnits(authorized.capturable), BaseUnits(authorized.refundable), True)
            if authorized is not None
            else EscrowState(False, BaseUnits(0), BaseUnits(0), False)
            for authorized in known
        )


class Commerce(Escrow):
    """A merchant PAYEE whose payments on sepolia are operated by the service, and PAYER, who has 1,000 fUSDC."""

    def __init__(self, seed: int = 0, **settings: Any) -> None:
        known = {"relayer_keys": {"sepolia": "secret"}, "escrow_contracts": {"sepolia": CONTRACTS}, **settings}
        self.world = World(client=object(), seed=seed, **known)
        self.world.services = replace(self.world.services, store=MemoryStore())
        self.world.register_webhook()
        self.world.chain.clock = self.world.clock
        super().__init__(self.world.chain, self.world.clock)
        self.world.tick()

    # --- what callers do ---

    @property
    def services(self) -> Any:
        return self.world.services

    def owner(self, **changes: Any) -> Owner:
        return Owner("acct", None, None, ClientSettings(**changes), mode=Mode.API_KEY)

    def draft(self, **changes: Any) -> Draft:
        draft = Draft("shop-1", PAYEE, PAYER, AMOUNT, CURRENCY, AMOUNT, None, None, None, 0, 10_000, None)
        return replace(draft, **changes)

    def create(self, **changes: Any) -> Created:
        return commerce.create(self.services, self.owner(), self.draft(**changes))

    def load(self, created: Created) -> CommercePayment:
        found = commerce_store.payment(self.services.store, created.payment.payable_id)
        assert found is not None
        return found

    def execute(
        self, created: Created, kind: OperationKind, asked: Asked, services: Any = None, owner: Owner | None = None
    ) -> PendingOperation:
        request_id = created.payment.request_id
        return execution.execute(services or self.services, owner or self.owner(), request_id, kind, asked)

    def authorize(self, created: Created, services: Any = None) -> PendingOperation:
        return self.execute(created, OperationKind.AUTHORIZE, Asked(), services)

    def capture(self, created: Created, amount: int, fee_bps: int = 0, services: Any = None) -> PendingOperation:
        asked = Asked(amount, fee_bps=fee_bps, fee_receiver=FEES if fee_bps else None)
        return self.execute(created, OperationKind.CAPTURE, asked, services)

    def void(self, created: Created, services: Any = None) -> PendingOperation:
        return self.execute(created, OperationKind.VOID, Asked(), services)

    def refund(self, created: Created, amount: int, services: Any = None) -> PendingOperation:
        return self.execute(created, OperationKind.REFUND, Asked(amount), services)

    # --- what wallets and time do ---

    def pre_approve(self, created: Created, payer: str = PAYER) -> None:
        """The payer sends both transactions of the answer, or those of the link."""
        assert created.options is not None
        self.send(payer, *created.options.transactions)

    def send(self, sender: str, *transactions: Transaction) -> None:
        self.chain.mine()
        for each in transactions:
            reason = self._run(sender, each.to, each.data)
            assert reason is None, reason

    def allow(self, owner: str, spender: str, amount: int) -> None:
        self.allowances[owner.lower(), spender.lower()] = amount

    def minute(self, services: Any = None) -> None:
        """What schedules and chain do in a minute: payments, the service's transactions, and recording."""
        commerce_due_payments.run_due(services or self.services)
        self.world.advance(60)
        with suppress(ChainUnavailable):
            self.world.relay()
        self.world.scan()

    def settle(self, minutes: int = 4) -> None:
        for _ in range(minutes):
            self.minute()

    def authorized(self, **changes: Any) -> Created:
        """One whose money the escrow holds."""
        created = self.create(**changes)
        self.pre_approve(created)
        self.authorize(created)
        self.settle(2)
        assert self.load(created).authorized == AMOUNT
        return created

    def captured(self, amount: int = 60_000_000, fee_bps: int = 250) -> Created:
        created = self.authorized()
        self.capture(created, amount, fee_bps)
        self.settle(2)
        assert self.load(created).captured == amount
        return created

    def events(self, kind: str) -> list[Event]:
        return [each for each in self.services.store.all(Event) if each.kind == kind]

    def guarded(self, wire: Any) -> Any:
        """The services of a process whose calls to the store and the node are guarded by a tripwire."""
        stored = ("get", "get_many", "query", "due", "write", "put_many")
        chain = Guarded(self.chain, ("read_account", "run_each", "send_raw", "read_wallet", "read_funds", "token_balances"), wire)
        chains = SimpleNamespace(of=lambda _: chain, evm=lambda _: chain, networks=self.services.chains.networks)
        return replace(self.services, store=Guarded(self.services.store, stored, wire), chains=chains)


def check_conserved(commerce: Commerce) -> None:
    """Nothing is left with the service, and no token has come or gone."""
    assert commerce.balance(OPERATOR) == 0
    assert sum(commerce.balances.values()) == HAD


_SELECTORS = {
    escrow_calls.AUTHORIZE: "authorize", escrow_calls.CHARGE: "charge", escrow_calls.CAPTURE: "capture", escrow_calls.VOID: "void",
    escrow_calls.RECLAIM: "reclaim", escrow_calls.REFUND: "refund", escrow_calls.PRE_APPROVE: "preApprove",
    bytes.fromhex("095ea7b3"): "approve", bytes.fromhex("a9059cbb"): "transfer", bytes.fromhex("23b872dd"): "transferFrom",
}  # fmt: skip


def _name(to: str, data: str) -> str:
    return _SELECTORS[bytes.fromhex(data[2:10])]


def _after_info(raw: bytes) -> list[int]:
    return [int.from_bytes(raw[start : start + 32]) for start in range(INFO_BYTES, len(raw), 32)]


def _words(*values: int) -> bytes:
    return b"".join(each.to_bytes(32) for each in values)
