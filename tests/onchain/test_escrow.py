"""Each operation of the commerce escrow, executed with our calldata: what moves, what is held, and which event tells it.

The contracts on the chain are doubles (infra/local/contracts), or the code that ESCROW_RUNTIME names.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
from eth_account import Account

from chalicelib.base.addresses import hex_address
from chalicelib.chains.calldata.escrow import calls as escrow_calls
from chalicelib.chains.calldata.escrow.calls import CaptureFee, Collection
from chalicelib.chains.calldata.escrow.payment_info import PaymentInfo, payment_hash
from chalicelib.chains.catalogue.tokens import token_with_id
from chalicelib.chains.nodes.escrow.logs import EscrowEventKind, LoggedEscrow
from chalicelib.chains.nodes.escrow.reads import EscrowState
from chalicelib.chains.nodes.history.logs import BlockRange
from chalicelib.chains.nodes.history.transfers import transfers_of
from infra.local.chain import Chain
from tests.onchain.commerce import FEE_RECEIVER, MERCHANT, NO_FEE, OPERATOR, Commerce

FEE = CaptureFee(250, FEE_RECEIVER)
NOTHING = [0, 0, 0, 0, 0]
WAYS = ("pre-approval", "erc3009", "permit2")


@pytest.fixture(params=["base", "sepolia"])
def commerce(request: pytest.FixtureRequest, chain_of: Callable[[str], Chain]) -> Commerce:
    return Commerce(chain_of(request.param))


@pytest.fixture
def moved(commerce: Commerce) -> Callable[[], list[int]]:
    """moved(): what payer, merchant, fee receiver, operator and a stranger have more than before the test."""
    before = commerce.balances()
    return lambda: [now - then for now, then in zip(commerce.balances(), before, strict=True)]


def test_of_several_wallets_those_are_found_that_the_escrow_can_take_an_amount_from(commerce: Commerce) -> None:
    info = commerce.info()
    named, nobody = payment_hash(info, commerce.contracts), "0x" + "99" * 20
    wallets = {commerce.payer: named, nobody: payment_hash(replace(info, payer=nobody), commerce.contracts)}
    assert commerce.node.read_able_payers(commerce.token, info.max_amount, wallets) == ()
    assert commerce.pre_approve(info) is None
    assert commerce.node.read_able_payers(commerce.token, info.max_amount, wallets) == (commerce.payer,)
    assert commerce.node.read_able_payers(commerce.token, info.max_amount + 1, wallets) == ()


def state(commerce: Commerce, info: PaymentInfo) -> tuple[bool, int, int]:
    found = commerce.state(info)
    return found.collected, found.capturable, found.refundable


def logged(commerce: Commerce, info: PaymentInfo) -> list[LoggedEscrow]:
    named = payment_hash(info, commerce.contracts)
    events = [each for each in commerce.events() if each.reference_topic == named]
    assert all(each.escrow is not None and each.amount == each.escrow.amount for each in events)
    return [each.escrow for each in events if each.escrow is not None]


def collection(commerce: Commerce, info: PaymentInfo, way: str) -> Collection:
    """What the payer does in one of the ways; what the operator is then given."""
    if way == "erc3009":
        return commerce.sign_erc3009(info)
    if way == "permit2":
        commerce.allow_permit2()
        return commerce.sign_permit2(info)
    assert commerce.pre_approve(info) is None
    return Collection(commerce.contracts.pre_approval)


# --- what each operation moves ---


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("amount", [1_000_000, 700_000, 1])
def test_an_authorization_takes_its_amount_from_the_payer_alone_and_holds_it(
    commerce: Commerce, moved: Callable[[], list[int]], way: str, amount: int
) -> None:
    info = commerce.info()
    assert state(commerce, info) == (False, 0, 0)
    assert commerce.authorize(info, amount, collection(commerce, info, way)) is None
    assert moved() == [-amount, 0, 0, 0, 0]
    assert state(commerce, info) == (True, amount, 0)
    assert logged(commerce, info)[-1] == LoggedEscrow(
        EscrowEventKind.AUTHORIZED, payment_hash(info, commerce.contracts), amount, hex_address(commerce.payer)
    )


def test_a_pre_approval_moves_nothing_and_is_told_by_the_collector(
    commerce: Commerce, moved: Callable[[], list[int]]
) -> None:
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    assert moved() == NOTHING
    assert commerce.state(info) == EscrowState(False, 0, 0, pre_approved=True)
    assert logged(commerce, info) == [
        LoggedEscrow(EscrowEventKind.PRE_APPROVED, payment_hash(info, commerce.contracts), 0)
    ]


@pytest.mark.parametrize(("bps", "fee"), [(0, 0), (1, 60), (250, 15_000), (500, 30_000)])
def test_a_capture_pays_the_merchant_less_the_fee(
    commerce: Commerce, moved: Callable[[], list[int]], bps: int, fee: int
) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 600_000, CaptureFee(bps, FEE_RECEIVER)) is None
    assert moved() == [-1_000_000, 600_000 - fee, fee, 0, 0]
    assert state(commerce, info) == (True, 400_000, 600_000)
    captured = logged(commerce, info)[-1]
    assert (captured.kind, captured.amount) == (EscrowEventKind.CAPTURED, 600_000)
    assert (captured.fee_bps, captured.fee_receiver) == (bps, hex_address(FEE_RECEIVER))


def test_a_fee_is_rounded_down(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    info = commerce.authorized(199)
    assert commerce.capture(info, 199, CaptureFee(499, FEE_RECEIVER)) is None
    assert moved() == [-199, 190, 9, 0, 0]


def test_a_fee_of_all_leaves_the_merchant_nothing(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    info = commerce.authorized(max_fee_bps=10_000)
    assert commerce.capture(info, 1_000_000, CaptureFee(10_000, FEE_RECEIVER)) is None
    assert moved() == [-1_000_000, 0, 1_000_000, 0, 0]


def test_captures_in_parts_add_up_to_the_authorization(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    info = commerce.authorized()
    for part in (500_000, 499_999, 1):
        assert commerce.capture(info, part) is None
    assert moved() == [-1_000_000, 1_000_000, 0, 0, 0]
    assert state(commerce, info) == (True, 0, 1_000_000)


def test_equal_captures_in_one_block_are_two_events(commerce: Commerce) -> None:
    info = commerce.authorized()
    call = escrow_calls.capture(info, commerce.contracts, 1, NO_FEE)
    commerce.chain.rpc("evm_setAutomine", False)
    sent = [commerce.chain.send_as(OPERATOR, {"to": call.to, "data": call.data}) for _ in range(2)]
    commerce.chain.mine()
    commerce.chain.rpc("evm_setAutomine", True)
    assert [commerce.chain.receipt(each)["status"] for each in sent] == ["0x1"] * 2
    first, second = commerce.events()[-2:]
    assert first.escrow == second.escrow
    assert (first.tx_hash, first.event_key) != (second.tx_hash, second.event_key)


def test_a_void_gives_all_that_is_held_back(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 600_000, FEE) is None
    assert commerce.void(info) is None
    assert moved() == [-600_000, 585_000, 15_000, 0, 0]
    assert state(commerce, info) == (True, 0, 600_000)
    assert (logged(commerce, info)[-1].kind, logged(commerce, info)[-1].amount) == (EscrowEventKind.VOIDED, 400_000)


def test_a_reclaim_gives_the_payer_all_that_is_held(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 300_000) is None
    assert commerce.reclaim(info, at=info.authorization_expiry) is None
    assert moved() == [-300_000, 300_000, 0, 0, 0]
    assert (logged(commerce, info)[-1].kind, logged(commerce, info)[-1].amount) == (EscrowEventKind.RECLAIMED, 700_000)


def test_a_charge_takes_and_pays_at_once(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    info = commerce.info()
    assert commerce.pre_approve(info) is None
    assert commerce.charge(info, 800_000, FEE) is None
    assert moved() == [-800_000, 780_000, 20_000, 0, 0]
    assert state(commerce, info) == (True, 0, 800_000)
    assert logged(commerce, info)[-1] == LoggedEscrow(
        kind=EscrowEventKind.CHARGED,
        payment_hash=payment_hash(info, commerce.contracts),
        amount=800_000,
        payer=hex_address(commerce.payer),
        fee_bps=250,
        fee_receiver=hex_address(FEE_RECEIVER),
    )


def test_refunds_come_from_the_operator_up_to_what_was_captured(
    commerce: Commerce, moved: Callable[[], list[int]]
) -> None:
    info = commerce.authorized()
    assert commerce.capture(info, 600_000, FEE) is None
    for part in (100_000, 500_000):
        assert commerce.refund(info, part) is None
    assert moved() == [-400_000, 585_000, 15_000, -600_000, 0]
    assert state(commerce, info) == (True, 400_000, 0)
    assert (logged(commerce, info)[-1].kind, logged(commerce, info)[-1].amount) == (EscrowEventKind.REFUNDED, 500_000)


def test_the_whole_life_of_a_payment_moves_exact_amounts(commerce: Commerce, moved: Callable[[], list[int]]) -> None:
    """The amounts that were recorded with the original contracts: 400,000 captured at 2.5 %, the rest voided, 100,000
    refunded."""
    info = commerce.authorized()
    assert commerce.capture(info, 400_000, FEE) is None
    assert commerce.void(info) is None
    assert commerce.refund(info, 100_000) is None
    assert moved() == [-300_000, 390_000, 10_000, -100_000, 0]
    assert state(commerce, info) == (True, 0, 300_000)
    assert [each.kind.value for each in logged(commerce, info)] == [
        "pre_approved", "authorized", "captured", "voided", "refunded"
    ]  # fmt: skip


# --- signatures ---


def test_what_a_payer_signs_for_more_than_is_authorized_is_given_back(
    commerce: Commerce, moved: Callable[[], list[int]]
) -> None:
    info = commerce.info()
    assert commerce.authorize(info, 1, commerce.sign_erc3009(info)) is None
    assert moved() == [-1, 0, 0, 0, 0]
    assert commerce.balances(commerce.contracts.erc3009) == [0]


@pytest.mark.parametrize("way", ["erc3009", "permit2"])
def test_a_payer_who_signs_sends_nothing(commerce: Commerce, way: str) -> None:
    if way == "permit2":
        commerce.allow_permit2()
    before = commerce.chain.rpc("eth_getTransactionCount", commerce.payer, "latest")
    info = commerce.info()
    signed = commerce.sign_erc3009(info) if way == "erc3009" else commerce.sign_permit2(info)
    assert commerce.authorize(info, by=signed) is None
    assert commerce.chain.rpc("eth_getTransactionCount", commerce.payer, "latest") == before


def test_a_token_without_signed_transfers_has_no_domain_to_sign_in(commerce: Commerce) -> None:
    plain = {"base": "DAI-base", "sepolia": "FAU-sepolia"}[commerce.chain.network]
    assert commerce.node.read_erc3009_domain(commerce.info(token=token_address(plain))) is None


def test_a_transfer_that_was_signed_and_used_is_not_offered_again(commerce: Commerce) -> None:
    info = commerce.info()
    assert commerce.authorize(info, by=commerce.sign_erc3009(info)) is None
    assert commerce.node.read_erc3009_domain(info) is None


def token_address(currency: str) -> str:
    token = token_with_id(currency)
    assert token is not None
    return token.address


# --- reads ---


def test_many_payments_are_read_at_once_and_at_a_past_block(commerce: Commerce) -> None:
    authorized, other = commerce.authorized(), commerce.info()
    block = int(commerce.chain.rpc("eth_blockNumber"), 16)
    assert commerce.capture(authorized, 1_000_000) is None
    names = [payment_hash(each, commerce.contracts) for each in (authorized, other)]
    assert commerce.node.read_escrow(names) == (EscrowState(True, 0, 1_000_000, True), EscrowState(False, 0, 0, False))
    assert commerce.node.read_escrow(names, block)[0] == EscrowState(True, 1_000_000, 0, True)


def test_the_range_of_blocks_that_is_read_for_payments_has_the_events_of_the_escrow(commerce: Commerce) -> None:
    info = commerce.authorized()
    head = int(commerce.chain.rpc("eth_blockNumber"), 16)
    reading = commerce.node.read_range(BlockRange(head - 1, head), None)
    found = transfers_of(commerce.chain.network, reading.logs, commerce.contracts)
    assert [each.escrow.kind.value for each in found if each.escrow] == ["pre_approved", "authorized"]
    assert {each.reference_topic for each in found} == {payment_hash(info, commerce.contracts)}


# --- gas ---


def test_the_gas_of_each_operation_is_near_what_was_recorded(commerce: Commerce) -> None:
    """Those of `authorize`, with a pre-approval and with Permit2, were recorded with the original contracts."""
    used = dict[str, int]()

    def record(name: str, refused: str | None) -> None:
        assert refused is None
        (receipt,) = commerce.chain.rpc("eth_getBlockReceipts", "latest")
        used[name] = int(receipt["gasUsed"], 16)

    def approved() -> PaymentInfo:
        info = commerce.info()
        record("preApprove", commerce.pre_approve(info))
        return info

    info = approved()
    record("authorize", commerce.authorize(info))
    record("capture", commerce.capture(info, 400_000, FEE))
    record("void", commerce.void(info))
    record("refund", commerce.refund(info, 100_000))
    record("charge", commerce.charge(approved(), 1_000_000, FEE))
    commerce.allow_permit2()
    info = commerce.info()
    record("authorize by Permit2", commerce.authorize(info, by=commerce.sign_permit2(info)))
    info = commerce.info()
    record("authorize by ERC-3009", commerce.authorize(info, by=commerce.sign_erc3009(info)))
    recorded = {
        "preApprove": 57_577,
        "authorize": 105_936,
        "capture": 150_522,  # the first of an operator makes its store of tokens
        "void": 54_338,
        "refund": 85_320,
        "charge": 121_809,
        "authorize by Permit2": 140_755,
        "authorize by ERC-3009": 130_986,
    }
    assert {name: gas for name, gas in used.items() if not 0.9 < gas / recorded[name] < 1.1} == {}
    assert used.keys() == recorded.keys()


def test_each_operator_has_a_store_of_tokens_of_its_own(commerce: Commerce) -> None:
    other = Account.create().address
    first, second = commerce.authorized(), commerce.info(operator=other)
    assert commerce.pre_approve(second) is None
    assert commerce.authorize(second, sender=other) is None
    assert commerce.void(first) is None
    assert state(commerce, second) == (True, 1_000_000, 0)
    assert commerce.capture(second, 1_000_000, sender=other) is None
    assert commerce.balances(MERCHANT) == [1_000_000]
