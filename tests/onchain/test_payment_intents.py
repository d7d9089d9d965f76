"""Signed payments on two real chains with Permit2's own code: keys, delegating keys and contract wallets sign."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from chalicelib.base.errors import BadRequest, Conflict, Locked
from chalicelib.base.money import BaseUnits, Fee
from chalicelib.chains.calldata.tokens import erc2612, permit2
from chalicelib.chains.catalogue.contracts import PERMIT2, address_of
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.chains import Chains
from chalicelib.crosschain.service.payment_intents import flows as payment_intents
from chalicelib.crosschain.service.payment_intents import running as intent_running
from chalicelib.crosschain.service.payment_intents import stages
from chalicelib.crosschain.service.payment_intents import store as intent_store
from chalicelib.crosschain.service.payment_intents.flows import SentSignature
from chalicelib.crosschain.service.payment_intents.records import End, PaymentIntent, Stage
from chalicelib.crosschain.service.sources.rules import Payer
from chalicelib.payments.payable.rules import Owed, direct
from chalicelib.payments.requests.records import Request, RequestStatus
from chalicelib.platform.access.callers import Owner
from chalicelib.relayer import flows as relayer_flows
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.delays import check_not_delayed
from chalicelib.relayer.records import CallStatus
from chalicelib.relayer.tracking import track
from infra.local.across import Bridge
from infra.local.across_relayer import Relayer
from infra.local.bytecode import MODULES
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.requests import load_request, store_request
from tests.fakes.world import World, in_process_aws
from tests.onchain.conftest import Nodes

pytestmark = pytest.mark.xdist_group("bridge")

USDC, THERE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
CONTRACT = address_of(PERMIT2, "base")
HAD, APPROVE_ALL = 10**9, "0x095ea7b3" + CONTRACT[2:].lower().rjust(64, "0") + "f" * 64
SAYS_YES = "0x631626ba7e60e01b60005260206000f3"
"""Returns the magic value of ERC-1271 to whoever asks."""
TOKEN_WITH_PERMITS = MODULES / "@across-protocol/contracts/artifacts/contracts/test/MockERC20.sol/MockERC20.json"
BURNS_WHERE_GAS_COSTS = "0x3a156009575b6005565b" + SAYS_YES[2:]
"""Says yes where the price of gas is 0, and else takes all the gas there is."""
BURNS = "0x5b600056"
"""Takes all the gas there is."""
SAYS_NO = "0x60006000526020" + "6000f3"
PLACE = "0x" + "a7" * 20


class Shop:
    """A deployment on both chains, whose own account has coins, and a payer on base with tokens and a key."""

    def __init__(self, client: Any, bridge: Bridge, relayer: Relayer) -> None:
        self.bridge, self.relayer, self.base, self.there = (
            bridge, relayer, bridge.chains["base"], bridge.chains["arbitrum-one"]
        )
        nodes = Nodes({name: chain.url for name, chain in bridge.chains.items()})
        self.world = World(
            client,
            Chains(nodes),
            relayer_keys={"base": "secret"},
            confirmations={"base": 2, "arbitrum-one": 2},
        )
        self.world.now = datetime.fromtimestamp(
            int(self.base.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16), UTC
        )
        self.executor = self.world.services.signing_keys.address  # type: ignore[attr-defined]
        self.base.fund_native(self.executor, 10**20)
        self.account = Account.create()
        self.payer = self.account.address
        self.base.fund_native(self.payer, 10**19)
        self.base.fund_token(self.payer, USDC, HAD)
        self.base.send({"to": USDC, "data": APPROVE_ALL}, self.account.key.hex())
        self.tick()
        self.request = store_request(self.services, currency="USDC-arbitrum-one")

    @property
    def services(self) -> Any:
        return self.world.services

    def tick(self) -> None:
        for chain in self.bridge.chains.values():
            chain.mine(3)
        self.world.tick(network="arbitrum-one")

    def offer(self, payer: str | None = None) -> PaymentIntent:
        request = self.loaded()
        position = direct(Owed(request, BaseUnits(request.amount), Fee("1", FEE_ADDRESS)))
        source, wallet = token_with_id("USDC-base"), payer or self.payer
        assert source is not None
        return payment_intents.offer(self.services, self.owner, position, source, Payer(wallet, wallet)).intent

    @property
    def owner(self) -> Owner:
        return Owner("acct", None, None, uses_payment_intents=True)

    def loaded(self) -> Request:
        return load_request(self.services, self.request)

    def signature(self, intent: PaymentIntent, change: Callable[[dict[str, Any]], None] = lambda typed: None) -> bytes:
        typed = permit2.typed_data(intent.permit)
        change(typed)
        return bytes(self.account.sign_message(signable(typed)).signature)

    def accept(self, intent: PaymentIntent, signature: bytes, approval: bytes | None = None) -> PaymentIntent:
        sent, allowed = (
            SentSignature("0x" + signature.hex(), str(intent.permit.nonce), str(intent.permit.deadline)),
            None,
        )
        if approval is not None and intent.token_permit is not None:
            permit = intent.token_permit
            allowed = SentSignature("0x" + approval.hex(), str(permit.nonce), str(permit.deadline))
        return payment_intents.accept(self.services, self.owner, intent.intent_id, sent, allowed)

    def has_permits(self) -> None:
        """From now on the token is OpenZeppelin's ERC20Permit, of which Permit2 may take nothing yet."""
        self.base.etch(json.loads(TOKEN_WITH_PERMITS.read_text())["bytecode"], (USDC,))
        self.base.fund_token(self.payer, USDC, HAD)
        self.approve(0)

    def approve(self, amount: int) -> None:
        self.base.send({"to": USDC, "data": APPROVE_ALL[:74] + f"{amount:064x}"}, self.account.key.hex())

    def approval(self, intent: PaymentIntent) -> bytes:
        assert intent.token_permit is not None
        return bytes(self.account.sign_message(signable(erc2612.typed_data(intent.token_permit))).signature)

    def nonce(self) -> int:
        data = "0x7ecebe00" + self.payer[2:].lower().rjust(64, "0")
        return int(self.base.rpc("eth_call", {"to": USDC, "data": data}, "latest"), 16)

    def load(self, intent: PaymentIntent) -> PaymentIntent:
        found = intent_store.payment_intent(self.services.store, intent.intent_id)
        assert found is not None
        return found

    def run_to(self, intent: PaymentIntent, stage: Stage) -> PaymentIntent:
        for _ in range(12):
            intent_running.run_due(self.services)
            self.world.advance(15)
            self.tick()
            track(self.services, "base")
            self.world.advance(15)
            if self.load(intent).stage is stage:
                return self.load(intent)
        raise AssertionError(self.load(intent))

    def balance(self, address: str) -> int:
        return self.base.token_balance(USDC, address)


def signable(typed: dict[str, Any]) -> Any:
    def number(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: number(each) for name, each in value.items()}
        if isinstance(value, list):
            return [number(each) for each in value]
        return int(value) if isinstance(value, str) and not value.startswith("0x") else value

    return encode_typed_data(typed["domain"], typed["types"], number(typed["values"]))


@pytest.fixture
def shop(bridge: Bridge, bridge_relayer: Relayer) -> Iterator[Shop]:
    with in_process_aws() as client:
        yield Shop(client, bridge, bridge_relayer)


def test_a_payer_signs_once_and_the_payee_is_paid_on_the_other_chain(shop: Shop) -> None:
    intent = shop.offer()
    accepted = shop.accept(intent, shop.signature(intent))
    with pytest.raises(Locked):
        shop.accept(shop.offer(), shop.signature(intent))
    bridged = shop.run_to(intent, Stage.BRIDGED)
    (deposited,) = shop.bridge.deposits("base")
    assert deposited.depositor == shop.payer and deposited.input_amount == accepted.taking
    assert (shop.balance(shop.payer), shop.balance(shop.executor)) == (HAD - accepted.taking, 0)
    shop.relayer.step()
    ended = shop.run_to(bridged, Stage.ENDED)
    assert ended.end is End.SETTLED and shop.loaded().status is RequestStatus.PAID
    assert shop.there.token_balance(THERE, shop.request.payee) == 12_500_000
    # the signature is of no use any more
    (again,) = shop.services.chains.evm("base").run_each(
        shop.executor, [(permit2.take(intent.permit, 0, shop.signature(intent)), 500_000)]
    )
    assert again.reason == "the nonce of the payment was used before, or withdrawn"


def test_a_payment_that_cannot_be_brought_comes_back(shop: Shop) -> None:
    intent = shop.offer()
    shop.accept(intent, shop.signature(intent))
    shop.run_to(intent, Stage.TAKEN)
    shop.world.advance(timedelta(minutes=16).total_seconds())
    ended = shop.run_to(intent, Stage.ENDED)
    assert ended.end is End.REFUNDED and (shop.balance(shop.payer), shop.balance(shop.executor)) == (HAD, 0)


@pytest.mark.parametrize("form", ["compact", "small v"])
def test_other_forms_of_a_keys_signature_are_accepted(shop: Shop, form: str) -> None:
    intent = shop.offer()
    raw = shop.signature(intent)
    compact = raw[:32] + bytes([raw[32] | (raw[64] - 27) << 7]) + raw[33:64]
    sent = compact if form == "compact" else raw[:64] + bytes([raw[64] - 27])
    accepted = shop.accept(intent, sent)
    assert accepted.signature == "0x" + (compact if form == "compact" else raw).hex()
    assert shop.accept(intent, sent) == shop.load(intent)
    with pytest.raises(Conflict):
        shop.accept(intent, bytes(64) + b"\x1b")


def _chain(typed: dict[str, Any]) -> None:
    typed["domain"]["chainId"] = 42161


def _amount(typed: dict[str, Any]) -> None:
    typed["values"]["permitted"][0]["amount"] = "1"


def _witness(typed: dict[str, Any]) -> None:
    typed["values"]["witness"]["destination"]["account"] = PLACE


def _spender(typed: dict[str, Any]) -> None:
    typed["values"]["spender"] = PLACE


@pytest.mark.parametrize("change", [_chain, _amount, _witness, _spender])
def test_a_signature_over_anything_else_is_refused(shop: Shop, change: Callable[[dict[str, Any]], None]) -> None:
    intent = shop.offer()
    with pytest.raises(BadRequest, match="not that of"):
        shop.accept(intent, shop.signature(intent, change))
    assert shop.load(intent).stage is Stage.OFFERED and not shop.loaded().is_executed


@pytest.mark.parametrize(("code", "is_right"), [(SAYS_YES, True), (SAYS_NO, False)])
def test_a_contract_wallet_judges_its_signature_itself(shop: Shop, code: str, is_right: bool) -> None:
    for chain in (shop.base, shop.there):
        chain.rpc("anvil_setCode", PLACE, code)
    shop.base.fund_token(PLACE, USDC, HAD)
    shop.base.fund_native(PLACE, 10**18)
    shop.base.send_as(PLACE, {"to": USDC, "data": APPROVE_ALL})
    intent = shop.offer(PLACE)
    if not is_right:
        with pytest.raises(BadRequest, match="not that of"):
            shop.accept(intent, b"\x01" * 65)
        return
    shop.accept(intent, b"\x01" * 65)
    shop.run_to(intent, Stage.BRIDGED)
    assert shop.balance(PLACE) < HAD


def contract_wallet(shop: Shop, code: str) -> None:
    for chain in (shop.base, shop.there):
        chain.rpc("anvil_setCode", PLACE, code)
    shop.base.fund_token(PLACE, USDC, HAD)
    shop.base.fund_native(PLACE, 10**18)
    shop.base.send_as(PLACE, {"to": USDC, "data": APPROVE_ALL})


def test_a_wallet_that_behaves_while_gas_costs_nothing_is_refused_before_anything_is_sent(shop: Shop) -> None:
    contract_wallet(shop, BURNS_WHERE_GAS_COSTS)
    intent = shop.offer(PLACE)
    with pytest.raises(BadRequest, match="signedPaymentIntent"):
        shop.accept(intent, b"\x01" * 65)
    assert shop.load(intent).stage is Stage.OFFERED and not shop.loaded().is_executed


@pytest.mark.parametrize("has_permit", [False, True])
def test_a_key_whose_delegate_behaves_while_gas_costs_nothing_is_refused_before_anything_is_sent(
    shop: Shop, has_permit: bool
) -> None:
    """EIP-7702: neither for the payment nor for an approval that is signed, whose owner has code."""
    if has_permit:
        shop.has_permits()
    shop.base.rpc("anvil_setCode", PLACE, BURNS_WHERE_GAS_COSTS)
    shop.base.rpc("anvil_setCode", shop.payer, "0xef0100" + PLACE[2:])
    for _ in range(4):
        intent = shop.offer()
        approval = (shop.approval(intent),) if has_permit else ()
        with pytest.raises(BadRequest, match="signed"):
            shop.accept(intent, shop.signature(intent), *approval)
        assert shop.load(intent).stage is Stage.OFFERED and not shop.loaded().is_executed
    assert relayer_store.transactions_from(shop.services.store, "base", shop.executor, 0, 10) == ()


def test_a_wallet_that_changes_after_every_dry_run_burns_no_more_than_the_limit_that_was_counted(shop: Shop) -> None:
    contract_wallet(shop, SAYS_YES)
    shop.accept(shop.offer(PLACE), b"\x01" * 65)
    shop.base.rpc("evm_setAutomine", False)
    intent_running.run_due(shop.services)
    shop.base.rpc("anvil_setCode", PLACE, BURNS)
    shop.base.rpc("evm_setAutomine", True)
    shop.base.mine()
    (taken,) = relayer_store.transactions_from(shop.services.store, "base", shop.executor, 0, 10)
    receipt = shop.base.receipt(taken.hashes[-1])
    assert receipt["status"] == "0x0" and int(receipt["gasUsed"], 16) <= taken.gas_limit == 300_000
    account = relayer_store.account(shop.services.store, "base", shop.executor)
    assert account is not None and account.spent >= taken.gas_limit * taken.max_fee


def test_a_contract_wallet_that_is_on_the_source_alone_is_refused(shop: Shop) -> None:
    shop.base.rpc("anvil_setCode", PLACE, SAYS_YES)
    with pytest.raises(BadRequest, match="deploy it there first"):
        shop.offer(PLACE)


@pytest.mark.parametrize(("delegate", "is_right"), [(SAYS_YES, True), (SAYS_NO, False)])
def test_a_key_that_delegates_is_judged_by_its_delegate_as_permit2_does(
    shop: Shop, delegate: str, is_right: bool
) -> None:
    """EIP-7702: the key signs as a wallet does, and Permit2 asks the code."""
    shop.base.rpc("anvil_setCode", PLACE, delegate)
    shop.base.rpc("anvil_setCode", shop.payer, "0xef0100" + PLACE[2:])
    intent = shop.offer()
    if not is_right:
        with pytest.raises(BadRequest, match="not that of"):
            shop.accept(intent, shop.signature(intent))
        return
    shop.accept(intent, shop.signature(intent))
    assert shop.run_to(intent, Stage.BRIDGED).taking == HAD - shop.balance(shop.payer)


def test_a_payer_without_an_approval_is_told_so(shop: Shop) -> None:
    shop.approve(0)
    intent = shop.offer()
    with pytest.raises(BadRequest, match="send approvalCalldata first"):
        shop.accept(intent, shop.signature(intent))


def test_an_approval_that_is_signed_is_made_with_the_payment(shop: Shop) -> None:
    shop.has_permits()
    intent = shop.offer()
    assert intent.token_permit is not None and (intent.token_permit.name, intent.token_permit.nonce) == ("MockERC20", 0)
    shop.accept(intent, shop.signature(intent), shop.approval(intent))
    accepted = shop.run_to(intent, Stage.BRIDGED)
    assert (shop.balance(shop.payer), shop.nonce()) == (HAD - accepted.taking, 1)
    shop.relayer.step()
    assert shop.run_to(intent, Stage.ENDED).end is End.SETTLED


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_approval_that_anybody_sends_first_is_as_good(shop: Shop, when: str) -> None:
    """A signed approval can be sent by whoever sees it, once: the payment goes on with the allowance that is there."""
    shop.has_permits()
    intent = shop.offer()
    assert intent.token_permit is not None
    signature, approval = shop.signature(intent), shop.approval(intent)

    def run_ahead() -> None:
        assert intent.token_permit is not None
        made = erc2612.permit_transaction(intent.token_permit, approval)
        sent = shop.base.send_as(PLACE, {"to": made.to, "data": made.data})
        shop.base.mine()
        assert shop.base.receipt(sent)["status"] == "0x1" and shop.nonce() == 1

    shop.base.fund_native(PLACE, 10**18)
    if when == "before":
        run_ahead()
    shop.accept(intent, signature, approval)
    if when == "after":
        run_ahead()
    accepted = shop.run_to(intent, Stage.BRIDGED)
    assert (shop.balance(shop.payer), shop.nonce()) == (HAD - accepted.taking, 1)


def test_an_approval_that_a_stranger_takes_from_the_pool_and_sends_first_delays_nothing_of_its_payer(
    shop: Shop,
) -> None:
    shop.has_permits()
    intent = shop.offer()
    assert intent.token_permit is not None
    approval = shop.approval(intent)
    shop.accept(intent, shop.signature(intent), approval)
    shop.base.fund_native(PLACE, 10**18)
    made = erc2612.permit_transaction(intent.token_permit, approval)
    shop.base.rpc("evm_setAutomine", False)
    try:
        intent_running.run_due(shop.services)
        first = {"maxFeePerGas": hex(10**12), "maxPriorityFeePerGas": hex(10**12), "gas": hex(200_000)}
        shop.base.rpc("anvil_impersonateAccount", PLACE)
        shop.base.rpc("eth_sendTransaction", {"from": PLACE, "to": made.to, "data": made.data, **first})
        shop.base.mine()
    finally:
        shop.base.rpc("evm_setAutomine", True)
    shop.run_to(intent, Stage.BRIDGED)
    known = relayer_flows.outcome(shop.services, stages.call_key(intent, "permit"))
    assert known is not None and (known.status, shop.nonce()) == (CallStatus.REVERTED, 1)
    check_not_delayed(shop.services, "base", shop.payer)


def test_an_approval_of_another_key_is_refused(shop: Shop) -> None:
    shop.has_permits()
    intent, payer = shop.offer(), shop.account
    signature = shop.signature(intent)
    shop.account = Account.create()
    approval, shop.account = shop.approval(intent), payer
    with pytest.raises(BadRequest, match="signedApprovalPermit: USDC does not accept it"):
        shop.accept(intent, signature, approval)
    assert shop.load(intent).stage is Stage.OFFERED


def test_who_revokes_the_approval_after_signing_loses_nothing(shop: Shop) -> None:
    shop.has_permits()
    intent = shop.offer()
    shop.accept(intent, shop.signature(intent), shop.approval(intent))
    permit = intent.token_permit
    assert permit is not None
    shop.base.send_as(shop.executor, {"to": USDC, "data": erc2612.permit_transaction(permit, shop.approval(intent)).data})
    shop.approve(0)
    for _ in range(3):
        intent_running.run_due(shop.services)
        shop.world.advance(60)
        shop.tick()
        track(shop.services, "base")
    shop.world.advance(timedelta(minutes=75).total_seconds())
    assert shop.run_to(intent, Stage.ENDED).end is End.FAILED
    assert (shop.balance(shop.payer), shop.balance(shop.executor)) == (HAD, 0)


def test_a_contract_wallet_gets_an_approval_to_send(shop: Shop) -> None:
    """A token's permit takes the signature of a key only."""
    shop.has_permits()
    for chain in (shop.base, shop.there):
        chain.rpc("anvil_setCode", PLACE, SAYS_YES)
    assert shop.offer().token_permit is not None
    assert shop.offer(PLACE).token_permit is None
