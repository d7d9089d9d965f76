"""Every check of the contract of recurring payments, to the second, and what a payment moves.

The contract on the chain is a double (infra/local/contracts); that it takes signatures over our digest and decodes our
calls shows that all three agree about the permit.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account
from eth_utils import keccak

from chalicelib.base.addresses import evm_address
from chalicelib.chains.calldata.recurring import SchedulePermit, trigger, typed_data
from chalicelib.chains.calldata.reverts import NOT_DUE_YET
from chalicelib.chains.catalogue.contracts import ERC20_FEE_PROXY, RECURRING_PROXY, address_of
from infra.local.bytecode import creation_code
from infra.local.chain import Chain
from tests.onchain.hostile import assemble
from tests.onchain.payer import FAU, FUSDC
from tests.onchain.schedules import (
    DAY,
    MONEY,
    RELAYER,
    Schedule,
    Subscriber,
    as_owner,
    call,
    digest_elsewhere,
)
from tests.onchain.tether_double import CREATION as TETHER

PROXY = address_of(RECURRING_PROXY, "sepolia")
FEE_PROXY = address_of(ERC20_FEE_PROXY, "sepolia")
PAYEE, COLLECTOR, OTHER = (evm_address("0x" + byte * 20) for byte in ("c1", "c2", "c3"))
BAD_SIGNATURE = "the schedule's signature is not that of its subscriber"
EXPIRED = "the schedule has expired"
OUT_OF_ORDER = "an earlier payment of the schedule was not made, or this one was"
NO_SUCH_PAYMENT = "the schedule has no such payment"
ALREADY_MADE = "the payment of the schedule was already made"
REENTERED = "ReentrancyGuard: reentrant call"
ROLE = keccak(text="RELAYER_ROLE").hex()


@pytest.fixture(scope="module")
def running() -> Iterator[Chain]:
    """A chain of its own, because its clock is moved by months."""
    with Chain.start("sepolia") as chain:
        chain.set_relayer(RELAYER)
        yield chain


@pytest.fixture
def chain(running: Chain) -> Iterator[Chain]:
    before = running.snapshot()
    yield running
    running.revert(before)


@pytest.fixture
def subscriber(chain: Chain) -> Subscriber:
    return Subscriber(chain)


def due(schedule: Schedule, index: int) -> int:
    return schedule.permit.first_payment + (index - 1) * schedule.permit.period_seconds


def balances(chain: Chain, *holders: str) -> list[int]:
    return [chain.token_balance(FUSDC, holder) for holder in holders]


# --- what a payment moves ---


def test_a_payment_pays_the_payee_the_fee_and_the_relayer_and_is_the_fee_proxys_event(subscriber: Subscriber) -> None:
    chain, reference = subscriber.chain, bytes.fromhex("11497d24d1a76c9b")
    permit = subscriber.permit(recipient=PAYEE, fee_address=COLLECTOR, fee_amount=10_000, relayer_fee=500)
    schedule = Schedule(subscriber, permit)
    before = balances(chain, subscriber.address, PAYEE, COLLECTOR, RELAYER, PROXY)
    assert schedule.pay(1, at=due(schedule, 1), reference=reference) is None
    after = balances(chain, subscriber.address, PAYEE, COLLECTOR, RELAYER, PROXY)
    moved = [now - then for now, then in zip(after, before, strict=True)]
    assert moved == [-1_010_500, 1_000_000, 10_000, 500, 0]
    (event,) = schedule.payments()
    assert event["address"] == FEE_PROXY.lower()
    assert event["topics"][1] == "0x" + keccak(reference).hex()
    words = [event["data"][2:][start : start + 64] for start in range(0, 5 * 64, 64)]
    assert [word[-40:] for word in words[:2] + words[4:]] == [each[2:].lower() for each in (FUSDC, PAYEE, COLLECTOR)]
    assert [int(word, 16) for word in words[2:4]] == [1_000_000, 10_000]
    assert allowance(chain, PROXY, FEE_PROXY) == 0
    assert allowance(chain, subscriber.address, PROXY) == MONEY - permit.payment_total


def allowance(chain: Chain, owner: str, spender: str) -> int:
    return int(chain.rpc("eth_call", {"to": FUSDC, "data": call("dd62ed3e", owner, spender)}, "latest"), 16)


def test_a_payment_that_failed_can_be_made_later(subscriber: Subscriber) -> None:
    schedule = Schedule(subscriber, subscriber.permit(recipient=PAYEE, strict_order=True))
    subscriber.allow(FUSDC, 0)
    assert "allowance" in str(schedule.pay(1, at=due(schedule, 1)))
    subscriber.allow(FUSDC, MONEY)
    assert schedule.pay(1) is None
    assert len(schedule.payments()) == 1


# --- the checks, each by itself ---


@pytest.mark.parametrize("name", [name for name in SchedulePermit.__dataclass_fields__ if name != "subscriber"])
def test_a_permit_that_differs_in_one_member_is_not_the_signed_one(subscriber: Subscriber, name: str) -> None:
    permit = subscriber.permit(fee_address=COLLECTOR)
    value = getattr(permit, name)
    other = not value if isinstance(value, bool) else OTHER if isinstance(value, str) else value + 1
    changed = replace(permit, **{name: other})
    late = permit.first_payment + DAY
    assert Schedule(subscriber, changed, subscriber.sign(permit)).pay(1, at=late) == BAD_SIGNATURE
    assert Schedule(subscriber, changed).pay(1) != BAD_SIGNATURE, "signed as it is, it is accepted"


def test_a_signature_of_somebody_else_of_another_chain_or_of_another_contract_is_refused(
    subscriber: Subscriber, chain: Chain
) -> None:
    permit = subscriber.permit()
    typed = typed_data(permit, "sepolia")
    thief = Subscriber(chain)
    forged = [
        thief.sign(permit),
        *(
            bytes(subscriber.account.unsafe_sign_hash(digest_elsewhere(permit, domain, typed)).signature)
            for domain in ({"chainId": 1}, {"verifyingContract": FEE_PROXY}, {"version": "2"}, {"name": "Other"})
        ),
    ]
    for signature in forged:
        assert Schedule(subscriber, permit, signature).pay(1) == BAD_SIGNATURE
    schedule = Schedule(subscriber, permit)
    assert schedule.pay(1, at=due(schedule, 1)) is None


def test_signatures_of_another_form_are_refused(subscriber: Subscriber) -> None:
    permit = subscriber.permit()
    good = subscriber.sign(permit)
    r, s, v = good[:32], int.from_bytes(good[32:64]), good[64]
    order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    high = r + (order - s).to_bytes(32) + bytes([55 - v])
    assert good[64] in (27, 28)
    for wrong in (high, good[:64] + bytes([v - 27]), bytes(64) + b"\x1b"):
        assert "ECDSA: invalid signature" in str(Schedule(subscriber, permit, wrong).pay(1))


def test_a_payment_is_due_at_its_second_and_not_before(subscriber: Subscriber) -> None:
    schedule = Schedule(subscriber, subscriber.permit(period_seconds=2_419_200, total_payments=12))
    for index in (1, 2, 12):
        assert schedule.pay(index, at=due(schedule, index) - 1) == NOT_DUE_YET
        assert schedule.pay(index, at=due(schedule, index)) is None


def test_a_schedule_expires_after_the_second_of_its_deadline(subscriber: Subscriber) -> None:
    permit = subscriber.permit()
    schedule = Schedule(subscriber, replace(permit, deadline=permit.first_payment + 3 * DAY))
    assert schedule.pay(1, at=schedule.permit.deadline) is None
    assert schedule.pay(2, at=schedule.permit.deadline + 1) == EXPIRED


def test_in_strict_order_each_payment_is_the_one_after_the_last(subscriber: Subscriber) -> None:
    schedule = Schedule(subscriber, subscriber.permit(strict_order=True))
    assert schedule.pay(2, at=due(schedule, 3)) == OUT_OF_ORDER
    assert schedule.pay(1) is None
    assert schedule.pay(1) == OUT_OF_ORDER
    assert schedule.pay(3) == OUT_OF_ORDER
    assert schedule.pay(2) is None
    assert schedule.pay(3) is None


def test_without_strict_order_payments_can_be_passed_over_and_each_is_made_once(subscriber: Subscriber) -> None:
    schedule = Schedule(subscriber, subscriber.permit())
    assert schedule.pay(3, at=due(schedule, 3)) is None
    assert schedule.pay(1) is None
    assert schedule.pay(3) == ALREADY_MADE
    assert schedule.pay(1) == ALREADY_MADE
    assert schedule.pay(2) is None
    assert len(schedule.payments()) == 3


def test_payments_are_numbered_from_1_to_their_total(subscriber: Subscriber) -> None:
    schedule = Schedule(subscriber, subscriber.permit())
    late = due(schedule, 9)
    assert schedule.pay(4, at=late) == NO_SUCH_PAYMENT
    assert schedule.pay(0) == "panic 0x11: arithmetic overflow"
    assert schedule.pay(3) is None


def test_a_schedule_has_up_to_255_payments_each_of_which_is_kept_by_itself(subscriber: Subscriber) -> None:
    schedule = Schedule(subscriber, subscriber.permit(total_payments=255, deadline=2**40))
    schedule.chain.rpc("evm_setNextBlockTimestamp", due(schedule, 255))
    for index in (255, 254, 1, 128):
        assert schedule.pay(index) is None
        assert schedule.pay(index) == ALREADY_MADE
    bitmap = schedule.chain.rpc("eth_call", {"to": PROXY, "data": "0x" + bitmap_of(schedule)}, "latest")
    assert int(bitmap, 16) == 2**255 + 2**254 + 2 + 2**128


def bitmap_of(schedule: Schedule) -> str:
    return keccak(text="triggeredPaymentsBitmap(bytes32)")[:4].hex() + schedule.digest.hex()


def test_schedules_that_differ_in_their_nonce_alone_are_paid_each(subscriber: Subscriber) -> None:
    permit = subscriber.permit()
    one, two = Schedule(subscriber, permit), Schedule(subscriber, replace(permit, nonce=permit.nonce + 10**6))
    assert one.pay(1, at=due(one, 1)) is None
    assert two.pay(1) is None
    assert (one.pay(1), two.pay(1)) == (ALREADY_MADE, ALREADY_MADE)


# --- the order of the checks ---


def test_what_is_wrong_in_several_ways_is_refused_for_the_first_of_them(subscriber: Subscriber) -> None:
    permit = subscriber.permit(strict_order=True)
    expired = replace(permit, deadline=1)
    assert Schedule(subscriber, expired, subscriber.sign(permit)).pay(9) == BAD_SIGNATURE
    assert Schedule(subscriber, expired).pay(9) == EXPIRED
    assert Schedule(subscriber, permit).pay(9) == OUT_OF_ORDER
    assert Schedule(subscriber, replace(permit, strict_order=False)).pay(9) == NO_SUCH_PAYMENT
    assert Schedule(subscriber, replace(permit, strict_order=False)).pay(3) == NOT_DUE_YET


# --- who may call ---


def test_only_the_relayer_makes_payments_and_only_the_owner_names_it(subscriber: Subscriber, chain: Chain) -> None:
    schedule = Schedule(subscriber, subscriber.permit())
    missing = f"is missing role 0x{ROLE}"
    for stranger in (subscriber.address, OTHER):
        assert missing in str(schedule.pay(1, sender=stranger))
    name = call("69d775a4", RELAYER, OTHER)
    assert "not the owner" in str(as_owner(chain, name, sender=RELAYER))
    assert as_owner(chain, name) is None
    assert missing in str(schedule.pay(1, at=due(schedule, 1)))
    assert schedule.pay(1, sender=OTHER) is None


def test_nothing_is_paid_while_the_owner_has_paused_it(subscriber: Subscriber, chain: Chain) -> None:
    schedule = Schedule(subscriber, subscriber.permit())
    pause, unpause = (f"0x{keccak(text=name)[:4].hex()}" for name in ("pause()", "unpause()"))
    assert "not the owner" in str(as_owner(chain, pause, sender=OTHER))
    assert as_owner(chain, pause) is None
    assert schedule.pay(1, at=due(schedule, 1)) == "Pausable: paused"
    assert as_owner(chain, unpause) is None
    assert schedule.pay(1) is None


def test_the_owner_names_another_fee_proxy(subscriber: Subscriber, chain: Chain) -> None:
    other = chain.deploy(creation_code(ERC20_FEE_PROXY))
    setting = call(keccak(text="setFeeProxy(address)")[:4].hex(), other)
    assert "not the owner" in str(as_owner(chain, setting, sender=RELAYER))
    assert as_owner(chain, setting) is None
    schedule = Schedule(subscriber, subscriber.permit(recipient=PAYEE))
    assert schedule.pay(1, at=due(schedule, 1)) is None
    assert [event["address"] for event in schedule.payments()] == [other.lower()]


# --- tokens ---


def placed(chain: Chain, program: str) -> str:
    """A contract with a program, at a new address."""
    address = str(Account.create().address)
    chain.rpc("anvil_setCode", address, "0x" + assemble(program).hex())
    return address


def paid_with(subscriber: Subscriber, token: str, **changes: Any) -> str | None:
    schedule = Schedule(subscriber, subscriber.permit(token=token, **changes))
    return schedule.pay(1, at=due(schedule, 1))


def test_a_token_that_returns_false_pays_nothing(subscriber: Subscriber, chain: Chain) -> None:
    said = paid_with(subscriber, placed(chain, "PUSH0 PUSH0 MSTORE 0x20 PUSH0 RETURN"))
    assert said == "SafeERC20: ERC20 operation did not succeed"


def test_what_is_no_token_pays_nothing(subscriber: Subscriber) -> None:
    assert paid_with(subscriber, OTHER) == "Address: call to non-contract"


def test_a_token_that_returns_nothing_is_paid_again_and_again(chain: Chain) -> None:
    """Tether's token refuses to change an allowance that is not zero, so the fee proxy's must be used up or set to 0."""
    chain.etch(TETHER, [FAU])
    subscriber = Subscriber(chain, token=FAU)
    schedule = Schedule(subscriber, subscriber.permit(token=FAU, recipient=PAYEE))
    for index in (1, 2, 3):
        assert schedule.pay(index, at=due(schedule, index)) is None
    assert chain.token_balance(FAU, PAYEE) == 3_000_000
    assert len(schedule.payments()) == 3


def test_too_little_money_or_allowance_is_said_by_the_token(chain: Chain) -> None:
    poor = Subscriber(chain)
    chain.fund_token(poor.address, FUSDC, 999_999)
    assert "exceeds balance" in str(paid_with(poor, FUSDC))
    careful = Subscriber(chain, allowed=999_999)
    assert "allowance" in str(paid_with(careful, FUSDC))
    exact = Subscriber(chain, allowed=1_000_000)
    chain.fund_token(exact.address, FUSDC, 1_000_000)
    assert paid_with(exact, FUSDC) is None


def test_a_token_cannot_begin_another_payment_while_one_is_made(subscriber: Subscriber, chain: Chain) -> None:
    """It calls the proxy from its transferFrom, as a relayer that the owner has named."""
    inner = trigger(subscriber.permit(), "sepolia", bytes(65), 1, bytes(8))
    token = placed(chain, calls_proxy(bytes.fromhex(inner.data[2:])))
    assert as_owner(chain, call("69d775a4", OTHER, token)) is None
    assert paid_with(subscriber, token) == REENTERED


def calls_proxy(data: bytes) -> str:
    """A program that calls the proxy with the data, and reverts with the 100 bytes of its refusal."""
    padded = data.ljust(-(-len(data) // 32) * 32, b"\0")
    stores = " ".join(f"0x{padded[at : at + 32].hex()} 0x{at:04x} MSTORE" for at in range(0, len(padded), 32))
    made = f"PUSH0 PUSH0 0x{len(data):04x} PUSH0 PUSH0 {PROXY} GAS CALL POP"
    return f"{stores} {made} 0x64 PUSH0 PUSH0 RETURNDATACOPY 0x64 PUSH0 REVERT"
