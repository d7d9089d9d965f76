"""USDC, the fee proxy and the account that delegates in memory on base, with a payer who signs and has no coin."""

import json
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from typing import Any

from eth_abi import decode

from chalicelib.base.addresses import evm_address, same_address
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.base.signatures import domain_separator
from chalicelib.chains.calldata.abi import bytes_tail, uint_word
from chalicelib.chains.calldata.tokens.token_domains import TokenDomain
from chalicelib.chains.calldata.wallets.delegate import delegated_code
from chalicelib.chains.catalogue.contracts import DELEGATE, ERC20_FEE_PROXY, address_of
from chalicelib.chains.nodes.accounts.balances import TokenReading, WalletReading
from chalicelib.gasless import flows as gasless
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless import store as gasless_store
from chalicelib.gasless.records import GaslessPayment
from chalicelib.payments.links.reading import Viewer
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.requests.records import Request
from chalicelib.platform.access.callers import Owner
from chalicelib.platform.access.modes import Mode
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer.records import Role
from chalicelib.relayer.tracking import track
from infra.local.bytecode import MODULES
from tests.fakes.chain import FEE_ADDRESS, FakeChain, FakeChains
from tests.fakes.memory_store import MemoryStore
from tests.fakes.mempool import Raw
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World

NETWORK, HAD = "base", 10**9
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
PAYER = evm_address("0x" + "c0ffee" * 6 + "c0ff")
PROXY = address_of(ERC20_FEE_PROXY, NETWORK)
RIGHT = bytes(range(64)) + b"\x1b"
PAGE = Viewer("", "cli_hosted_payment_page", reads_any_link=True, mode=Mode.CLIENT_ID)
"""Whoever has a link."""
_ARTEFACT = MODULES / "@account-abstraction/contracts/artifacts/Simple7702Account.json"
_RECEIVE = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"]
_PAY = ["address", "address", "uint256", "bytes", "uint256", "address"]


@cache
def delegate_code() -> bytes:
    return bytes.fromhex(json.loads(_ARTEFACT.read_text())["deployedBytecode"][2:])


@dataclass
class State:
    """That of the token: balances, what its owners allow the fee proxy, and the nonces that are used."""

    balances: Counter[str] = field(default_factory=Counter)
    allowances: Counter[str] = field(default_factory=Counter)
    nonces: set[bytes] = field(default_factory=set)
    made: Counter[str] = field(default_factory=Counter)
    """How many transfers that payers have signed were made, and payments from them."""


class Gasless:
    """A request of 12.50 USDC on base with a fee of 1 %, alone or of a link, which PAYER pays by a signature; the
    account that makes it has no code at first. A link is paid by its page."""

    def __init__(self, seed: int = 0, of_link: bool = False, **settings: Any) -> None:
        self.chain = FakeChain(NETWORK, seed)
        known: dict[str, Any] = {"relayer_keys": {NETWORK: "secret"}, "confirmations": {NETWORK: 2}, **settings}
        self.world = World(object(), FakeChains(self.chain), seed, **known)
        self.world.chain, self.chain.clock = self.chain, self.world.clock
        self.chain.genesis = self.world.now - timedelta(seconds=len(self.chain.blocks))
        self.world.services = replace(self.services, store=MemoryStore())
        self.services.secrets.gasless_networks = NETWORK
        self.world.prices.set("ETH", "USD", "3000")
        self.world.prices.set("USDC", "USD", "1")
        self.account = relayer_flows.account_address(self.services, NETWORK, Role.GASLESS)
        self.state = State(Counter({PAYER.lower(): HAD}))
        self.delegations = 0
        """How often the account has delegated."""
        self.fails = False
        """Whether payments revert when they are executed, though they succeed before."""
        self.reverted = 0
        self.chain.mempool.executes = self._execute
        self.chain.mempool.dry_run = lambda to, data: self._run(deepcopy(self.state), to, data)
        self.chain.mempool.balance_of = lambda account, token: self.state.balances[account.lower()]
        for name in ("read_wallet", "read_codes", "read_transfer_answers"):
            setattr(self.chain, name, getattr(self, f"_{name}"))
        self.world.scan()
        self.link = self.world.create_link(currency="USDC-base") if of_link else None
        self.request = self.link.requests[0] if self.link else store_request(self.services, currency="USDC-base")

    @property
    def services(self) -> Any:
        return self.world.services

    @property
    def owner(self) -> Owner:
        return Owner(self.world.account_id, None, None)

    def loaded(self) -> Request:
        return load_request(self.services, self.request)

    def offer(self, payer: str = PAYER) -> GaslessPayment:
        if self.link is not None:
            return gasless.offer_for_link(self.services, PAGE, self.world.load(self.link), payer)
        request = self.loaded()
        owed = Owed(request, BaseUnits(request.amount - request.paid), Fee("1", FEE_ADDRESS))
        return gasless.offer(self.services, self.owner, direct(owed), payer)

    def accept(self, made: GaslessPayment, services: Any = None) -> GaslessPayment:
        known, text = services or self.services, "0x" + RIGHT.hex()
        if made.link_token is not None:
            return gasless.accept_for_link(known, made.link_token, PAGE, made.payment_id, text)
        return gasless.accept(known, self.owner, made.payment_id, text)

    def load(self, made: GaslessPayment) -> GaslessPayment:
        found = gasless_store.payment(self.services.store, made.payment_id)
        assert found is not None
        return found

    def run(self) -> None:
        """What the schedules of a minute do about signed payments and the service's transactions."""
        gasless_running.run_due(self.services)
        track(self.services, NETWORK)

    # --- what the contracts and the node do ---

    def _read_wallet(self, wallet: str, tokens: Any, spender: str, **others: Any) -> WalletReading:
        balance, allowance = (of[wallet.lower()] for of in (self.state.balances, self.state.allowances))
        read = TokenReading(BaseUnits(balance), BaseUnits(allowance))
        return WalletReading(BaseUnits(10**18), dict.fromkeys(tokens, read), BaseUnits(10**9), 0, False)

    def _read_codes(self, *addresses: str) -> tuple[bytes, ...]:
        delegate = address_of(DELEGATE, NETWORK)
        codes = {delegate: delegate_code(), self.account: delegated_code(delegate) if self.delegations else b""}
        return tuple(codes.get(each, b"") for each in addresses)

    def _read_transfer_answers(self, token: str, payer: str, nonce: str) -> tuple[bytes | None, ...]:
        separator = domain_separator(TokenDomain(token, "USD Coin", "2", 8453).values)
        texts = (uint_word(32) + bytes_tail(each) for each in (b"USD Coin", b"2"))
        return (*texts, separator, uint_word(bytes.fromhex(nonce[2:]) in self.state.nonces))

    def _execute(self, raw: Raw) -> str | None:
        assert raw.sender == self.account
        if raw.delegate is not None:
            self.delegations += 1
            return None
        after = deepcopy(self.state)
        reason = "reverted without a reason" if self.fails else self._run(after, raw.to, raw.data)
        if reason is not None:
            self.reverted += 1
            return reason
        paid = after.made["paid"] - self.state.made["paid"]
        self.state = after
        for _ in range(paid):
            self.chain.pay_too(self.request, fee=self.request.amount // 100)
        return None

    def _run(self, state: State, to: str, data: str) -> str | None:
        """Why a call of the account reverts; None if it does not, after it has changed the `state`."""
        raw = bytes.fromhex(data[10:])
        if same_address(to, self.account):  # without code a call does nothing, and succeeds
            calls = decode(["(address,uint256,bytes)[]"], raw)[0] if self.delegations else ()
            reasons = (self._run(state, each, "0x" + called.hex()) for each, _, called in calls)
            return next((reason for reason in reasons if reason is not None), None)
        if same_address(to, PROXY):
            return self._pay(state, raw)
        assert same_address(to, USDC), to
        if data.startswith("0x095ea7b3"):
            state.allowances[self.account.lower()] = decode(["address", "uint256"], raw)[1]
            return None
        return self._take(state, raw)

    def _take(self, state: State, raw: bytes) -> str | None:
        payer, receiver, value, _, valid_before, nonce, signature = decode(_RECEIVE, raw)
        if not same_address(receiver, self.account) or signature != RIGHT:
            return "FiatTokenV2: invalid signature"
        if self.world.now.timestamp() >= valid_before:
            return "FiatTokenV2: authorization is expired"
        if nonce in state.nonces:
            return "FiatTokenV2: authorization is used or canceled"
        if state.balances[payer] < value:
            return "ERC20: transfer amount exceeds balance"
        state.nonces.add(nonce)
        state.made["taken"] += 1
        state.balances[payer] -= value
        state.balances[receiver] += value
        return None

    def _pay(self, state: State, raw: bytes) -> str | None:
        _, payee, amount, _, fee, fee_address = decode(_PAY, raw)
        account, total = self.account.lower(), amount + fee
        if total > min(state.balances[account], state.allowances[account]):
            return "ERC20: transfer amount exceeds allowance or balance"
        state.made["paid"] += 1
        state.balances[account] -= total
        state.allowances[account] -= total
        state.balances[payee] += amount
        state.balances[fee_address] += fee
        return None
