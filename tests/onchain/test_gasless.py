"""Gasless payments on a real chain, with the real code of the delegate, the fee proxy and a token with ERC-3009."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from eth_account import Account

from chalicelib.base.errors import BadRequest, Conflict, Locked
from chalicelib.base.money import Fee
from chalicelib.chains.calldata.tokens import erc20
from chalicelib.chains.calldata.wallets.delegate import delegated_code
from chalicelib.chains.catalogue.contracts import DELEGATE, address_of
from chalicelib.checkout import flows as checkout
from chalicelib.checkout.requests.rules import Part
from chalicelib.checkout.rules import PayOptions
from chalicelib.gasless import rules as gasless_rules
from chalicelib.gasless import running as gasless_running
from chalicelib.gasless.records import Stage
from chalicelib.payments.links.records import LinkStatus
from chalicelib.payments.requests.executions import ExecutionStatus
from chalicelib.payments.requests.records import RequestStatus
from chalicelib.relayer import store as relayer_store
from chalicelib.relayer.records import Reverts
from chalicelib.relayer.reverts import payer_name
from infra.local.chain import Chain, RpcError
from tests.fakes.chain import FEE_ADDRESS
from tests.fakes.gasless import PAGE
from tests.fakes.world import in_process_aws
from tests.onchain.gasless import HAD, USDC, Shop
from tests.onchain.geth_pool import IN_FLIGHT, GethPool

SAYS_YES, SAYS_NO = "0x631626ba7e60e01b60005260206000f3", "0x60006000526020" + "6000f3"
SAYS_YES_BEFORE = "0x4263{until:08x}11631626ba7e0260e01b60005260206000f3"
"""In blocks before a time."""
PLACE, STRANGER = "0x" + "a7" * 20, "0x" + "ef" * 20
SIMPLE = address_of(DELEGATE, "base")


@pytest.fixture
def shop(chain_of: Callable[[str], Chain]) -> Iterator[Shop]:
    with in_process_aws() as client:
        yield Shop(client, chain_of("base"))


def test_a_payer_without_coins_pays_a_request_exactly(shop: Shop) -> None:
    payer = shop.payer()
    made = shop.offer(shop.request(), payer.address, Part(fee=Fee("1", FEE_ADDRESS)))
    before = [shop.balance(each) for each in (made.payee, FEE_ADDRESS, shop.account)]
    shop.accept(made, shop.sign(made, payer))
    paid = shop.run_to(made, Stage.PAID)
    after = [shop.balance(each) for each in (made.payee, FEE_ADDRESS, shop.account)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [made.amount, made.fee, made.network_fee]
    assert shop.balance(payer.address) == HAD - made.amount - made.fee - made.network_fee
    assert shop.chain.native_balance(payer.address) == 0
    request = shop.loaded(made)
    assert (request.status, request.paid) == (RequestStatus.PAID, request.amount)
    assert shop.payers(made) == [payer.address]
    assert request.execution is not None and request.execution.status is ExecutionStatus.SETTLED
    assert paid.tx_hash is not None and made.fee > 0 and made.network_fee > 0


def test_whoever_has_a_link_pays_it_exactly(shop: Shop) -> None:
    payer, link = shop.payer(), shop.link()
    made = shop.offer_link(link, payer.address)
    before = [shop.balance(each) for each in (made.payee, FEE_ADDRESS, shop.account)]
    shop.accept(made, shop.sign(made, payer))
    with pytest.raises(Locked):
        shop.offer_link(link, shop.payer().address)
    shop.run_to(made, Stage.PAID)
    after = [shop.balance(each) for each in (made.payee, FEE_ADDRESS, shop.account)]
    assert [b - a for a, b in zip(before, after, strict=True)] == [made.amount, made.fee, made.network_fee]
    assert shop.balance(payer.address) == HAD - made.authorization.value
    assert shop.world.load(link).link.status is LinkStatus.COMPLETED
    assert shop.payers(made) == [payer.address]
    assert made.fee > 0 and made.network_fee > 0


def test_a_payer_who_pays_a_link_by_a_transaction_meanwhile_pays_it_once(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    payer, link = shop.payer(), shop.link()
    made = shop.offer_link(link, payer.address)
    prepared = checkout.pay(shop.services, link.link.token, PAGE, PayOptions(payer.address))
    shop.accept(made, shop.sign(made, payer))
    shop.chain.fund_native(payer.address, 10**18)
    for each in prepared.checkout.transactions:
        shop.chain.send(vars(each), payer.key.hex())
    shop.tick()
    shop.run_to(made, Stage.FAILED)
    assert shop.balance(payer.address) == HAD - made.amount - made.fee
    assert shop.world.load(link).link.status is LinkStatus.COMPLETED


def test_the_merchant_hears_of_it_once_as_of_any_payment(shop: Shop) -> None:
    shop.world.register_webhook()
    payer = shop.payer()
    made = shop.signed(payer, client_id=shop.world.client_id)
    shop.run_to(made, Stage.PAID)
    shop.run()
    (confirmed,) = [each for each in shop.announced() if each["event"] == "payment.confirmed"]
    assert (confirmed["requestId"], confirmed["payerAddress"]) == (made.request_id, payer.address)


def test_twenty_payments_are_one_transaction(shop: Shop) -> None:
    first = shop.signed(shop.payer())
    shop.run_to(first, Stage.PAID)
    payers = [shop.payer() for _ in range(20)]
    made = [shop.signed(each) for each in payers]
    for each in made:
        shop.run_to(each, Stage.PAID)
    loaded = [shop.load(each) for each in made]
    assert len({each.tx_hash for each in loaded}) == 1
    assert [shop.balance(each.address) for each in payers] == [HAD - each.authorization.value for each in made]
    assert [shop.payers(each) for each in made] == [[each.address] for each in payers]
    receipt = shop.chain.rpc("eth_getTransactionReceipt", loaded[0].tx_hash)
    assert int(receipt["gasUsed"], 16) / 20 < 80_000


def test_one_that_cannot_be_made_is_left_out_and_holds_up_no_other(shop: Shop) -> None:
    payers = [shop.payer() for _ in range(3)]
    made = [shop.signed(each) for each in payers]
    shop.chain.fund_native(payers[1].address, 10**18)
    shop.chain.send(vars(erc20.transfer(USDC, STRANGER, HAD)), payers[1].key.hex())
    assert [shop.run_to(each, Stage.PAID).stage for each in (made[0], made[2])] == [Stage.PAID] * 2
    failed = shop.run_to(made[1], Stage.FAILED)
    request = shop.loaded(made[1])
    assert request.execution is not None and request.execution.status is ExecutionStatus.FAILED
    assert failed.reason is not None and failed.reason.startswith("Nothing was taken")
    assert not request.is_executed and request.paid == 0


def test_a_payer_who_takes_the_money_back_in_the_same_block_pays_nobody_and_fails_alone(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)  # the account is delegated
    cheat, honest = shop.payer(), shop.payer()
    shop.chain.fund_native(cheat.address, 10**18)
    made = [shop.signed(each) for each in (cheat, honest)]
    shop.chain.rpc("evm_setAutomine", False)
    try:
        gasless_running.run_due(shop.services)
        taken = {"to": USDC, "data": erc20.transfer(USDC, STRANGER, HAD).data, "gas": 100_000, "value": 0}
        fees = {"maxFeePerGas": 10**12, "maxPriorityFeePerGas": 10**11, "chainId": 8453, "nonce": 0}
        raw = Account.sign_transaction({**taken, **fees}, cheat.key).raw_transaction
        shop.chain.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex())
        shop.chain.mine(1)
    finally:
        shop.chain.rpc("evm_setAutomine", True)
    assert shop.run_to(made[1], Stage.PAID).reverts == 1
    assert shop.run_to(made[0], Stage.FAILED).reverts == 1
    assert shop.balance(honest.address) == HAD - made[1].authorization.value
    account, payer = (relayer_store.reverts(shop.services.store, "base", each) for each in (
        shop.world.account_id, payer_name(cheat.address)
    ))
    assert account is None, "the merchant's other calls are not delayed"
    assert payer is None or payer.count <= 1


def test_a_payer_whose_transaction_was_reverted_waits_alone_for_a_day(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    cheat, honest = shop.payer(), shop.payer()
    name = payer_name(cheat.address)
    made = [shop.signed(each) for each in (cheat, honest)]
    reverted = shop.services.store.write(Reverts("base", name, 1, shop.services.clock()))
    with pytest.raises(Conflict, match="was reverted"):
        shop.signed(cheat)
    gasless_running.run_due(shop.services)
    waits, sent = map(shop.load, made)
    assert (waits.stage, sent.stage) == (Stage.SIGNED, Stage.SENDING)
    assert waits.reason is not None and "was reverted" in waits.reason
    shop.run_to(made[1], Stage.PAID)
    shop.services.store.write(replace(reverted, last_at=shop.services.clock() - timedelta(days=1)))
    shop.run_to(made[0], Stage.PAID)


@pytest.mark.parametrize(("delegate", "is_right"), [(SIMPLE, True), (PLACE, False)])
def test_a_payer_that_delegates_is_judged_by_its_delegate_as_the_token_does(
    shop: Shop, delegate: str, is_right: bool
) -> None:
    payer = shop.payer()
    shop.chain.rpc("anvil_setCode", PLACE, SAYS_NO)
    shop.chain.rpc("anvil_setCode", payer.address, "0x" + delegated_code(delegate).hex())
    made = shop.offer(shop.request(), payer.address)
    if not is_right:
        with pytest.raises(BadRequest, match="does not accept it"):
            shop.accept(made, shop.sign(made, payer))
        return
    shop.accept(made, shop.sign(made, payer))
    shop.run_to(made, Stage.PAID)
    assert shop.balance(payer.address) == HAD - made.authorization.value


def test_a_contract_wallet_pays_by_what_its_code_accepts(shop: Shop) -> None:
    shop.chain.rpc("anvil_setCode", PLACE, SAYS_YES)
    shop.chain.fund_token(PLACE, USDC, HAD)
    before = shop.balance(PLACE)
    made = shop.offer(shop.request(), PLACE)
    shop.accept(made, "0x" + "5a" * 130)
    shop.run_to(made, Stage.PAID)
    assert before - shop.balance(PLACE) == made.authorization.value


def test_a_wallet_that_changes_its_mind_is_left_out(shop: Shop) -> None:
    shop.chain.rpc("anvil_setCode", PLACE, SAYS_YES)
    shop.chain.fund_token(PLACE, USDC, HAD)
    before = shop.balance(PLACE)
    made = shop.offer(shop.request(), PLACE)
    shop.accept(made, "0x" + "5a" * 130)
    shop.chain.rpc("anvil_setCode", PLACE, SAYS_NO)
    shop.run_to(made, Stage.FAILED)
    assert shop.balance(PLACE) == before


def test_a_wallet_that_refuses_in_the_block_alone_is_reverted_once_and_pays_nothing(shop: Shop) -> None:
    """Whenever it is run it accepts the signature, until the block that has its payment."""
    shop.run_to(shop.signed(honest := shop.payer()), Stage.PAID)  # the account is delegated
    until = int(shop.chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16) + 60
    shop.chain.rpc("anvil_setCode", PLACE, SAYS_YES_BEFORE.format(until=until))
    shop.chain.fund_token(PLACE, USDC, HAD)
    before, made = shop.balance(PLACE), shop.offer(shop.request(), PLACE)
    shop.accept(made, "0x" + "5a" * 130)
    shop.chain.rpc("evm_setAutomine", False)
    try:
        gasless_running.run_due(shop.services)
        assert shop.load(made).stage is Stage.SENDING
        shop.chain.rpc("evm_setNextBlockTimestamp", hex(until))
        shop.chain.mine(1)
    finally:
        shop.chain.rpc("evm_setAutomine", True)
    failed = shop.run_to(made, Stage.FAILED, most=40)  # the payer's next call would be a day later
    assert failed.reverts == 1 and "was reverted" in str(failed.reason)
    assert (shop.balance(PLACE), shop.loaded(made).is_executed) == (before, False)
    shop.run_to(shop.signed(honest), Stage.PAID)


def test_strangers_can_neither_use_a_signature_nor_the_account(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)
    payer = shop.payer()
    made = shop.load(shop.signed(payer))
    taken, _ = gasless_rules.calls_of(made)
    batch = gasless_rules.transaction_of(shop.account, [made], [USDC.lower()])
    for call, reason in ((taken, "caller must be the payee"), (batch, "not from self or EntryPoint")):
        with pytest.raises(RpcError, match=reason):
            shop.chain.rpc("eth_call", {"from": STRANGER, "to": call.to, "data": call.data}, "latest")
    assert shop.run_to(made, Stage.PAID).stage is Stage.PAID


def test_a_request_is_locked_while_its_payment_is_made_and_paid_once(shop: Shop) -> None:
    payer = shop.payer()
    request = shop.request()
    made = shop.offer(request, payer.address)
    shop.world.advance(120)
    other = shop.offer(request, payer.address)
    signature = shop.sign(made, payer)
    shop.accept(made, signature)
    with pytest.raises(Locked):
        shop.accept(other, shop.sign(other, payer))
    with pytest.raises(Locked):
        shop.offer(request, payer.address)
    assert shop.accept(made, signature).stage is Stage.SIGNED
    shop.run_to(made, Stage.PAID)
    with pytest.raises(Conflict):
        shop.accept(other, shop.sign(other, payer))
    assert shop.balance(payer.address) == HAD - made.authorization.value


def test_who_asks_again_and_again_for_an_offer_has_one_stored(shop: Shop) -> None:
    request, payer, other = shop.request(), shop.payer().address, shop.payer().address
    made = shop.offer(request, payer)
    assert {shop.offer(request, payer).payment_id for _ in range(3)} == {made.payment_id}
    assert shop.stored() == 1
    assert shop.offer(request, other).payment_id != made.payment_id
    assert shop.offer(request, payer, Part("1")).amount == 10**6 != made.amount
    shop.world.advance(120)
    assert shop.offer(request, payer).deadline > made.deadline
    assert shop.stored() == 4


def test_a_payment_waits_while_gas_costs_more_than_was_paid_for_and_fails_at_its_deadline(shop: Shop) -> None:
    shop.run_to(shop.signed(shop.payer()), Stage.PAID)  # the account is delegated
    made = shop.signed(shop.payer())
    shop.chain.rpc("anvil_setNextBlockBaseFeePerGas", hex(2 * made.gas_price))
    shop.chain.mine(1)
    gasless_running.run_due(shop.services)
    shop.world.advance(gasless_rules.LIFETIME.total_seconds())
    gasless_running.run_due(shop.services)
    failed = shop.load(made)
    assert (failed.stage, failed.reason) == (
        Stage.FAILED, f"Nothing was taken: its deadline is over: {gasless_rules.GAS_COSTS_MORE}"
    )


def test_another_code_of_the_delegate_is_neither_delegated_to_nor_called(shop: Shop) -> None:
    made = shop.signed(shop.payer())
    shop.chain.rpc("anvil_setCode", SIMPLE, SAYS_YES)
    with pytest.raises(BadRequest, match="does not have the known code"):
        shop.offer(shop.request(), shop.payer().address)
    shop.run()
    assert shop.load(made).stage is Stage.SIGNED
    assert shop.chain.rpc("eth_getTransactionCount", shop.account, "latest") == "0x0"


def test_the_node_never_has_to_refuse_a_second_transaction_of_the_account(shop: Shop) -> None:
    """geth takes one transaction of a delegated account at a time."""
    pool = GethPool(shop.chain)
    try:
        shop.services.chains._secrets.urls["base"] = pool.url
        made = [shop.signed(shop.payer()) for _ in range(3)]
        shop.run_to(made[0], Stage.PAID)
        shop.chain.rpc("evm_setAutomine", False)
        later = [shop.signed(shop.payer()) for _ in range(2)]
        gasless_running.run_due(shop.services)
        more = shop.signed(shop.payer())
        shop.world.advance(15)
        gasless_running.run_due(shop.services)
        assert [shop.load(each).stage for each in (*later, more)] == [Stage.SENDING, Stage.SENDING, Stage.SIGNED]
        waits = shop.load(more)
        assert waits.check_at == shop.services.clock() + gasless_rules.RETRY_AFTER, "behind the payments of other networks"
        shop.chain.rpc("evm_setAutomine", True)
        shop.chain.mine(1)
        shop.run_to(more, Stage.PAID)
        assert pool.refused == []
        assert IN_FLIGHT.startswith("in-flight")
    finally:
        shop.chain.rpc("evm_setAutomine", True)
        pool.stop()
