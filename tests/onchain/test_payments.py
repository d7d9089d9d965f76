"""The API's transactions executed unchanged on real contracts, and detected from their real logs."""

import pytest

from chalicelib.base.addresses import evm_address
from chalicelib.base.errors import BadRequest
from chalicelib.chains.nodes.evm import EvmChain
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.payments.links.records import LinkStatus, PayableLink
from infra.local.chain import Chain, RpcError
from tests.fakes.chain import FakeChains
from tests.fakes.world import FEE_ADDRESS, PAYEE, World
from tests.onchain.payer import FAU, FUSDC, Payer
from tests.onchain.tether_double import CREATION as TETHER

FEE_PROXY = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"
BASE_USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
BASE_FEE_PROXY = "0x1892196E80C4c17ea5100Da765Ab48c1fE2Fb814"
NATIVE_PROXY = "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687"


def scan(world: World, chain: Chain, network: str = "sepolia") -> int:
    chain.mine(2)
    return world.tick(network=network)


def test_a_token_payment_moves_exactly_the_promised_sums_and_is_detected(
    world: World, chain: Chain, payer: Payer
) -> None:
    payment = world.create_link()
    before = [chain.token_balance(FUSDC, holder) for holder in (payer.address, PAYEE, FEE_ADDRESS)]
    quote = payer.quote(world, payment)
    assert [t["to"] for t in quote["transactions"]] == [FUSDC, FEE_PROXY]
    assert [t["value"] for t in quote["transactions"]] == [0, 0]
    payer.pay(world, payment)
    after = [chain.token_balance(FUSDC, holder) for holder in (payer.address, PAYEE, FEE_ADDRESS)]
    assert [a - b for a, b in zip(after, before, strict=True)] == [-12_625_000, 12_500_000, 125_000]
    assert scan(world, chain) == 1
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_a_native_payment_moves_exactly_the_promised_sums_and_is_detected(
    world: World, chain: Chain, payer: Payer
) -> None:
    payment = world.create_link(currency="ETH-sepolia-sepolia", amount="0.5")
    before = [chain.native_balance(holder) for holder in (PAYEE, FEE_ADDRESS)]
    (transaction,) = payer.quote(world, payment)["transactions"]
    assert (transaction["to"], int(transaction["value"], 16)) == (NATIVE_PROXY, 505 * 10**15)
    payer.send(transaction)
    after = [chain.native_balance(holder) for holder in (PAYEE, FEE_ADDRESS)]
    assert [a - b for a, b in zip(after, before, strict=True)] == [5 * 10**17, 5 * 10**15]
    assert scan(world, chain) == 1
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_without_a_fee_nothing_but_the_amount_moves(world: World, chain: Chain, payer: Payer) -> None:
    token = world.create_link(fee_percentage=None, fee_address=None)
    native = world.create_link(fee_percentage=None, fee_address=None, currency="ETH-sepolia-sepolia", amount="1")
    before = chain.token_balance(FUSDC, payer.address)
    payer.pay(world, token)
    payer.pay(world, native)
    assert before - chain.token_balance(FUSDC, payer.address) == 12_500_000
    assert scan(world, chain) == 2


def test_an_allowance_that_suffices_needs_no_approval(world: World, chain: Chain, payer: Payer) -> None:
    payment = world.create_link()
    approve, pay = payer.quote(world, payment)["transactions"]
    payer.send(approve)
    quote = payer.quote(world, payment)
    assert quote["transactions"] == [pay]
    assert (quote["metadata"]["needsApproval"], quote["metadata"]["stepsRequired"]) == (False, 1)
    assert "approvalTransactionIndex" not in quote["metadata"]
    payer.send(pay)
    assert scan(world, chain) == 1


def test_an_allowance_that_is_short_is_replaced_by_the_exact_one(world: World, chain: Chain, payer: Payer) -> None:
    payer.send(payer.quote(world, world.create_link(amount="1"))["transactions"][0])
    payment = world.create_link()
    quote = payer.quote(world, payment)
    assert quote["metadata"]["approvalTransactionsCount"] == 1
    payer.pay(world, payment)
    assert scan(world, chain) == 1


def test_a_token_that_refuses_a_second_approval_gets_its_allowance_withdrawn_first(
    world: World, chain: Chain, payer: Payer
) -> None:
    chain.etch(TETHER, [FUSDC])
    chain.fund_token(payer.address, FUSDC, 10**12)
    first = world.create_link(amount="1")
    payer.send(payer.quote(world, first)["transactions"][0])
    payment = world.create_link()
    quote = payer.quote(world, payment)
    assert quote["metadata"]["approvalTransactionsCount"] == 2
    assert quote["metadata"]["approvalTransactionIndex"] == 1
    with pytest.raises(RpcError):
        payer.send(quote["transactions"][1])
    payer.pay(world, payment)
    assert scan(world, chain) == 1
    assert world.load(payment).link.status is LinkStatus.COMPLETED


def test_paying_a_part_leaves_the_rest_to_pay(world: World, chain: Chain, payer: Payer) -> None:
    payment = world.create_link()
    approve, pay = payer.quote(world, payment)["transactions"]
    payer.send(approve)
    part = pay["data"].replace(f"{12_500_000:064x}", f"{2_500_000:064x}").replace(f"{125_000:064x}", f"{25_000:064x}")
    payer.send({**pay, "data": part})
    assert scan(world, chain) == 1
    assert world.load(payment).link.status is LinkStatus.PENDING
    assert payer.quote(world, payment)["metadata"]["requiredAmount"] == "10.1"
    payer.pay(world, payment)
    assert scan(world, chain) == 1
    assert world.load(payment).link.status is LinkStatus.COMPLETED
    assert world.load(payment).requests[0].paid == 12_500_000


def test_a_contract_as_fee_address_is_refused_for_native_payments(world: World, chain: Chain, payer: Payer) -> None:
    contract = evm_address("0x" + "0c" * 20)
    chain.rpc("anvil_setCode", contract, "0x60006000fd")
    with pytest.raises(BadRequest, match="feeAddress is a contract"):
        world.create_link(currency="ETH-sepolia-sepolia", amount="1", fee_address=contract)


def test_a_fee_address_that_becomes_a_contract_later_is_refused_when_paying(
    world: World, chain: Chain, payer: Payer
) -> None:
    payment = world.create_link(currency="ETH-sepolia-sepolia", amount="1")
    chain.rpc("anvil_setCode", FEE_ADDRESS, "0x60006000fd")
    with pytest.raises(BadRequest, match="feeAddress is a contract"):
        payer.quote(world, payment)


def look_alikes(chain: Chain, payable: PayableLink, pay: dict[str, str]) -> dict[str, dict[str, str]]:
    """The same payment by another proxy with the same code, in another token, to another payee."""
    impostor = evm_address("0x" + "0f" * 20)
    chain.rpc("anvil_setCode", impostor, chain.rpc("eth_getCode", FEE_PROXY, "latest"))
    stranger = "0x" + "77" * 20
    return {
        "proxy": {**pay, "to": impostor},
        "token": {**pay, "data": _put(pay["data"], FUSDC, FAU)},
        "payee": {**pay, "data": _put(pay["data"], PAYEE, stranger)},
    }


def _put(data: str, old: str, new: str) -> str:
    """Calldata with one address exchanged for another."""
    assert old[2:].lower() in data
    return data.replace(old[2:].lower(), new[2:].lower())


def head_of(chain: Chain) -> int:
    return int(chain.rpc("eth_blockNumber"), 16)


@pytest.mark.parametrize("kind", ["proxy", "token", "payee"])
def test_a_look_alike_payment_is_ignored(world: World, chain: Chain, payer: Payer, kind: str) -> None:
    payment = world.create_link()
    _, pay = payer.quote(world, payment)["transactions"]
    fake = look_alikes(chain, payment, pay)[kind]
    chain.fund_token(payer.address, FAU, 10**12)
    spender = fake["to"][2:].lower().rjust(64, "0")
    for token in (FUSDC, FAU):
        payer.send({"to": token, "data": f"0x095ea7b3{spender}{10**12:064x}", "value": 0})
    receipt = payer.send(fake)
    assert len(receipt["logs"]) >= 2
    assert scan(world, chain) == 0
    assert world.load(payment).requests[0].paid == 0


def test_the_same_payment_on_another_chain_is_ignored(world: World, chain: Chain, payer: Payer) -> None:
    payment = world.create_link()
    approve, pay = payer.quote(world, payment)["transactions"]
    with Chain.start("base") as base:
        # Base's own proxy emits our reference, for our payee and amount: all is right but the chain.
        twin = Payer(base)
        twin.send({**approve, "to": BASE_USDC, "data": _put(approve["data"], FEE_PROXY, BASE_FEE_PROXY)})
        twin.send({**pay, "to": BASE_FEE_PROXY, "data": _put(pay["data"], FUSDC, BASE_USDC)})
        base.mine(20)
        both = FakeChains(EvmChain("sepolia", chain.url), EvmChain("base", base.url))  # type: ignore[arg-type]
        elsewhere = World(world.client, chains=both)
        assert elsewhere.tick(network="base") == 0
        assert len(EvmChain("base", base.url).read_range(BlockRange(0, head_of(base)), None).logs) == 1
    assert world.load(payment).requests[0].paid == 0


def test_a_reorganisation_that_drops_the_payment_before_confirmation_sends_nothing(
    world: World, chain: Chain, payer: Payer
) -> None:
    world.register_webhook()
    scan(world, chain)
    payment = world.create_link()
    snapshot = chain.snapshot()
    payer.pay(world, payment)
    assert world.tick() == 0
    chain.revert(snapshot)
    chain.mine(3)
    assert scan(world, chain) == 0
    world.drain()
    assert world.receiver.posted == []
    assert world.load(payment).requests[0].paid == 0


def test_a_reorganisation_deeper_than_the_confirmations_is_corrected(world: World, chain: Chain, payer: Payer) -> None:
    world.register_webhook()
    scan(world, chain)
    payment = world.create_link()
    payer.pay(world, payment)
    assert scan(world, chain) == 1
    chain.rpc("anvil_reorg", 5, [])
    chain.mine(1)
    assert scan(world, chain) == 1, "the removed payment"
    world.drain()
    assert world.receiver.events[-1] == "payment.failed"
    assert world.load(payment).link.status is LinkStatus.PENDING
